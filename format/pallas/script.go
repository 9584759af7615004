package pallas

import (
	"math"
	"math/bits"
)

// script is a thread's grammar as a replay follows it. Its sequences may be millions:
// what is needed of each lies together, without pointers.
type script struct {
	root uint32
	// lists are the sequences. Ids of events and sequences are places in them; a token
	// of type listedEvents has in its stead where the events of a sequence stand.
	lists     tokenLists
	sequences []scripted
	loops     []repeat // by id
	// events are those of sequences that occur often and are short, each list behind its
	// length, with some room behind the last one.
	events []uint32
	order  []int // sequences behind those that they lead to; nil where that is the order of places, but for the root
}

// scripted is what is known of a sequence.
type scripted struct {
	size   uint64 // events in an occurrence
	left   uint32 // occurrences that no other sequence has led to yet
	listed uint32 // where its events are listed; notListed, or noEvents if there are none
}

// repeat is what a loop does: it has a sequence occur some times.
type repeat struct {
	sequence, listed uint32
	times            uint64
}

const (
	listedEvents = InvalidToken

	notListed = 0
	noEvents  = 1 // the list at the beginning

	flatEvents = 512 // the longest sequence whose events are listed
	flatAll    = 1 << 20
	short      = 4 // events that are copied at once
)

func newScript(t *Thread, sequences int) *script {
	s := &script{sequences: make([]scripted, sequences), loops: make([]repeat, len(t.loopMap)), events: []uint32{notListed: 0, noEvents: 0}}
	for id := range s.loops {
		if to, ok := t.step(MakeToken(LoopToken, uint32(id))); ok {
			s.loops[id] = repeat{sequence: uint32(to.sequence), times: to.times}
		}
	}
	return s
}

// confirm makes the script of a lean thread in which sequences stand behind those that
// they lead to, as writers make them, going once through its tokens. It takes each
// sequence to occur as often as it has values: so it does if the sequences that lead to
// it, so counted, come to as many, and those that lead to them, up to the root. Nil if
// they do not or if anything is odd, and then nothing has changed; otherwise the lists
// are the script's.
func confirm(t *Thread) *script {
	root, ok := place(t.sequenceMap, t.Root.ID(), t.lists.len())
	if !t.inOrder || !ok {
		return nil
	}
	s := newScript(t, t.lists.len())
	s.root, s.lists = uint32(root), t.lists
	odd := t.sizes
	events := make([]uint64, len(t.Events))
	open := 0 // sequences that have occurrences left
	for at := range s.sequences {
		times := uint64(1)
		if len(odd) > 0 && odd[0].place == at {
			if times = odd[0].times; odd[0] != (vectorSizes{at, times, times, times}) {
				times = 0
			}
			odd = odd[1:]
		}
		n, ok := 0, times > 0 && times <= math.MaxUint32
		if at == root {
			ok = times == 1
		} else if ok {
			n, ok = s.follow(at, uint32(times), uint32(at), events, &open)
		}
		if !ok {
			s.undo(at, at, n)
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
		s.undo(len(s.sequences), root, n)
		return nil
	}
	s.end()
	t.lists = tokenLists{}
	return s
}

// follow goes through a sequence that occurs some times and leads to ones before limit.
// It counts the events, and the sequences that have occurrences left. If anything is odd,
// it stops at token n.
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
	s.sequences[at] = scripted{size: size, left: times}
	if times > 1 {
		s.list(at)
	}
	return len(list), len(list) > 0
}

// undo puts back the tokens that follow has changed: it has gone through the sequences
// before a place, but for the root, and stopped at token n of another one.
func (s *script) undo(before, stopped, n int) {
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

// rewrite makes the script of any thread whose outline has no error.
func rewrite(t *Thread, g *outline) *script {
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
			s.list(at)
		}
	}
	s.end()
	return s
}

// list lists the events of a sequence, if they are few. So are those of the sequences
// that it leads to, if they have any: they occur as often, and are no longer.
func (s *script) list(at int) {
	q := &s.sequences[at]
	if q.size == 0 {
		q.listed = noEvents
		return
	}
	if q.size > flatEvents || len(s.events)+int(q.size) > flatAll {
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
			s.events = append(s.events, s.listed(from)...)
		}
	}
}

// count adds the events of some occurrences of sequences, whose numbers it changes.
func (s *script) count(sequences, events []uint64) {
	n := len(s.order)
	if s.order == nil {
		n = len(s.sequences)
	}
	for i := range n {
		at := n - 1 - i
		if s.order != nil {
			at = s.order[at]
		}
		c := sequences[at] // never of the root, which is not skipped whole
		if c == 0 {
			continue
		}
		for _, k := range s.lists.at(at) {
			switch id := k.ID(); k.Type() {
			case EventToken:
				events[id] += c
			case listedEvents:
				for _, e := range s.listed(id) {
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

// listed are the events that are listed there.
func (s *script) listed(at uint32) []uint32 { return s.events[at+1:][:s.events[at]] }

// end is called when all sequences are known.
func (s *script) end() {
	s.events = append(s.events, make([]uint32, short)...)
	for i := range s.loops {
		if l := &s.loops[i]; int(l.sequence) < len(s.sequences) {
			l.listed = s.sequences[l.sequence].listed
		}
	}
}
