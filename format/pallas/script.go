package pallas

import (
	"math"
	"math/bits"
)

// script is the grammar of a thread in the form that a replay follows. A thread may have millions of
// sequences. Therefore the fields of each sequence are close together in memory, without pointers.
type script struct {
	root uint32
	// lists holds the sequences. In their tokens, the ids of events and sequences are indexes. A sequence with
	// a list in the field events has tokens of type listedEvents, whose id is the position of that list.
	lists     tokenLists
	sequences []scriptSequence
	loops     []scriptLoop // indexed by id
	// events contains the lists of events of sequences that are short and occur often. Each list is preceded
	// by its length. Some unused elements follow the last list.
	events []uint32
	// order lists the indexes of the sequences such that each sequence comes after the sequences to which its
	// tokens refer. It is nil if the sequences themselves have this order, except for the root.
	order []int
}

// scriptSequence holds the properties of a sequence.
type scriptSequence struct {
	size   uint64 // number of events in one occurrence
	left   uint32 // number of occurrences that are not accounted for by other sequences so far
	listed uint32 // position in events of the sequence's own list; notListed or noEvents if there is none
}

// scriptLoop is a loop: a sequence and the number of times that it is repeated.
type scriptLoop struct {
	sequence, listed uint32
	times            uint64
}

const (
	listedEvents = InvalidToken

	notListed = 0
	noEvents  = 1 // position of an empty list, at the start of events

	maxListed    = 512 // length of the longest sequence whose events are listed
	maxAllListed = 1 << 20
	copyWidth    = 4 // number of events that are copied at a time
)

func newScript(t *Thread, sequences int) *script {
	s := &script{sequences: make([]scriptSequence, sequences), loops: make([]scriptLoop, len(t.loopMap)),
		events: []uint32{notListed: 0, noEvents: 0}}
	for id := range s.loops {
		if to, ok := t.step(MakeToken(LoopToken, uint32(id))); ok {
			s.loops[id] = scriptLoop{sequence: uint32(to.sequence), times: to.times}
		}
	}
	return s
}

// newLeanScript returns the script of a lean thread whose sequences come after the sequences to which their
// tokens refer, as in the files of all writers. It goes through the tokens once. It assumes that each sequence
// occurs as often as its vectors have values. To check this, it counts the occurrences that other sequences
// account for, up to the root. If the check fails, or if the grammar is unusual, newLeanScript changes nothing
// and returns nil. Otherwise, the script takes over the lists of the thread.
func newLeanScript(t *Thread) *script {
	root, ok := indexOf(t.sequenceMap, t.Root.ID(), t.lists.len())
	if !t.inOrder || !ok {
		return nil
	}
	s := newScript(t, t.lists.len())
	s.root, s.lists = uint32(root), t.lists
	sizes := t.sizes
	events := make([]uint64, len(t.Events))
	open := 0 // number of sequences with occurrences that are not accounted for
	for at := range s.sequences {
		times := uint64(1)
		if len(sizes) > 0 && sizes[0].place == at {
			if times = sizes[0].times; sizes[0] != (vectorSizes{at, times, times, times}) {
				times = 0
			}
			sizes = sizes[1:]
		}
		n, ok := 0, times > 0 && times <= math.MaxUint32
		if at == root {
			ok = times == 1
		} else if ok {
			n, ok = s.follow(at, uint32(times), uint32(at), events, &open)
		}
		if !ok {
			s.undoFollow(at, at, n)
			return nil
		}
	}
	n, ok := s.follow(root, 1, uint32(len(s.sequences)), events, &open)
	ok = ok && open == 1
	for i, n := range events {
		e := &t.Events[i]
		ok = ok && n == e.Timestamps.Size && e.Record != maxRecord
	}
	if !ok {
		s.undoFollow(len(s.sequences), root, n)
		return nil
	}
	s.finish()
	t.lists = tokenLists{}
	return s
}

// follow goes through a sequence that occurs the given number of times, and whose tokens name only
// sequences before limit. It counts the events. It updates open, the number of sequences with
// occurrences that are not accounted for. If the sequence is unusual, follow stops at token n and
// returns false.
func (s *script) follow(at int, times, limit uint32, events []uint64, open *int) (n int, ok bool) {
	size, done := uint64(0), 0
	list := s.lists.at(at)
	for i, k := range list {
		id := k.ID()
		switch k.Type() {
		case EventToken:
			if id >= uint32(len(events)) {
				return i, false
			}
			events[id] += uint64(times)
			size++
		case SequenceToken:
			if id >= limit || id == s.root {
				return i, false
			}
			q := &s.sequences[id]
			if q.left < times {
				return i, false
			}
			if q.left -= times; q.left == 0 {
				done++
			}
			if size += q.size; size < q.size {
				return i, false
			}
			if q.listed != notListed {
				list[i] = MakeToken(listedEvents, q.listed)
			}
		case LoopToken:
			if id >= uint32(len(s.loops)) {
				return i, false
			}
			l := s.loops[id]
			if l.sequence >= limit || l.sequence == s.root || l.times == 0 {
				return i, false
			}
			q := &s.sequences[l.sequence]
			if l.times > uint64(q.left/times) {
				return i, false
			}
			if q.left -= times * uint32(l.times); q.left == 0 {
				done++
			}
			hi, more := bits.Mul64(q.size, l.times)
			if size += more; hi != 0 || size < more {
				return i, false
			}
		default:
			return i, false
		}
	}
	*open += 1 - done
	s.sequences[at] = scriptSequence{size: size, left: times}
	if times > 1 {
		s.listEvents(at)
	}
	return len(list), len(list) > 0
}

// undoFollow restores the tokens that follow has replaced. These are all tokens of the sequences whose index is less
// than before, except for the root, and the first n tokens of the sequence with index stopped, where follow stopped.
func (s *script) undoFollow(before, stopped, n int) {
	id := map[uint32]uint32{}
	for i, q := range s.sequences {
		if q.listed != notListed {
			id[q.listed] = uint32(i)
		}
	}
	for i := range s.sequences {
		list := s.lists.at(i)
		switch {
		case i == stopped:
			list = list[:n]
		case i == int(s.root) || i >= before:
			continue
		}
		for i, k := range list {
			if k.Type() == listedEvents {
				list[i] = MakeToken(SequenceToken, id[k.ID()])
			}
		}
	}
}

// newGeneralScript returns the script of any thread whose outline has no error.
func newGeneralScript(t *Thread, g *outline) *script {
	s := newScript(t, t.lists.len())
	s.root, s.order = uint32(g.root), g.order
	s.lists = tokenLists{make([]Token, len(t.lists.tokens)), t.lists.from}
	for _, at := range g.order {
		to := s.lists.at(at)
		for i, k := range t.lists.at(at) {
			to[i] = k
			if st, _ := t.step(k); st.event >= 0 {
				to[i] = MakeToken(EventToken, uint32(st.event))
			} else if q := s.sequences[st.sequence]; k.Type() == SequenceToken && q.listed != notListed {
				to[i] = MakeToken(listedEvents, q.listed)
			} else if k.Type() == SequenceToken {
				to[i] = MakeToken(SequenceToken, uint32(st.sequence))
			}
		}
		s.sequences[at].size = g.size[at]
		if g.sequences[at] > 1 {
			s.listEvents(at)
		}
	}
	s.finish()
	return s
}

// listEvents lists the events of a sequence if it is short. The sequences in it have already been
// listed, because they occur at least as often and are no longer.
func (s *script) listEvents(at int) {
	q := &s.sequences[at]
	if q.size == 0 {
		q.listed = noEvents
		return
	}
	if q.size > maxListed || len(s.events)+int(q.size) > maxAllListed {
		return
	}
	q.listed = uint32(len(s.events))
	s.events = append(s.events, uint32(q.size))
	for _, k := range s.lists.at(at) {
		from, times := k.ID(), uint64(1)
		switch k.Type() {
		case EventToken:
			s.events = append(s.events, k.ID())
			continue
		case LoopToken:
			l := s.loops[k.ID()]
			if from, times = s.sequences[l.sequence].listed, l.times; from == noEvents {
				continue
			}
		case SequenceToken:
			from = s.sequences[k.ID()].listed
		}
		for range times {
			s.events = append(s.events, s.eventList(from)...)
		}
	}
}

// countEvents adds to events the number of events in the given numbers of occurrences of sequences. It
// overwrites the numbers of sequences.
func (s *script) countEvents(sequences, events []uint64) {
	n := len(s.order)
	if s.order == nil {
		n = len(s.sequences)
	}
	for i := range n {
		at := n - 1 - i
		if s.order != nil {
			at = s.order[at]
		}
		c := sequences[at] // the root has no number of occurrences, because it is never skipped as a whole
		if c == 0 {
			continue
		}
		for _, k := range s.lists.at(at) {
			switch id := k.ID(); k.Type() {
			case EventToken:
				events[id] += c
			case listedEvents:
				for _, e := range s.eventList(id) {
					events[e] += c
				}
			case SequenceToken:
				sequences[id] += c
			default:
				sequences[s.loops[id].sequence] += c * s.loops[id].times
			}
		}
	}
}

// eventList returns the list of events at a position.
func (s *script) eventList(at uint32) []uint32 { return s.events[at+1:][:s.events[at]] }

// finish completes the script after the last sequence.
func (s *script) finish() {
	s.events = append(s.events, make([]uint32, copyWidth)...)
	for i := range s.loops {
		if l := &s.loops[i]; int(l.sequence) < len(s.sequences) {
			l.listed = s.sequences[l.sequence].listed
		}
	}
}
