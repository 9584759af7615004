package pallas

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/weft-trace/weft/grammar"
	"github.com/weft-trace/weft/internal/openset"
)

// Recorder writes a thread: it takes its events in the order of time and finds what
// repeats. Blocks of 1000 times are written as soon as they are full, or smaller ones
// where there are many threads or events, so that its memory is that of the grammar,
// some 100 KB, and its part of the 64 MB that all threads have together. It serves one
// goroutine. For the same bytes in each run all threads must be begun before any is
// recorded.
//
// A repetition is found when the last tokens of a function, up to MaxLoopLength of
// them, come twice in a row.
type Recorder struct {
	w *threadWriter
	g finder

	open  []openRecord
	among openset.Index[openRecord] // where open has which
	last  uint64                    // time
	start uint64
	any   bool

	visits [2][]uint32       // the events of enter and leave of small regions, +1
	byKey  map[string]uint32 // the other events
	key    []byte

	events    []*recordedEvent
	sequences []*[sequencePiece]recordedSequence // by the numbers of the grammar
}

// finder finds what repeats: a [grammar.Builder] or a [grammar.Reference].
type finder interface {
	Open(time uint64)
	Add(event uint32, time uint64) error
	Close(time uint64) error
	End()
	Tokens() [][]grammar.Token
	Grammar() ([]grammar.SequenceInfo, []grammar.LoopInfo)
}

// openRecord is what began a level of the grammar.
type openRecord struct {
	record Record
	region uint32
}

type recordedEvent struct {
	record     Record
	payload    string
	attributes *[]byte // nil if no occurrence has any
	times      recordedVector
}

// lists are the attributes of the occurrences.
func (e *recordedEvent) lists() []byte {
	if e.attributes == nil {
		return nil
	}
	return *e.attributes
}

// recordedSequence are the occurrences of a sequence. Of irregular programs most occur
// once, and have no vectors.
type recordedSequence struct {
	once    bool
	first   [3]uint64 // of the only occurrence: duration, exclusive duration, start
	vectors *[3]recordedVector
}

// sequencePiece is how many sequences lie together.
const sequencePiece = 64

func newRecorder(w *threadWriter) *Recorder {
	r := &Recorder{w: w, byKey: map[string]uint32{}}
	block := func(event uint32) bool { return r.events[event].record == Enter }
	occurred := func(s uint32, o grammar.Occurrence) error {
		return w.occur(r.occurrences(s), o.Start, o.Duration, o.Blocks)
	}
	p := &w.w.p
	switch {
	case !w.w.compatible:
		r.g = grammar.New(int(p.MaxLoopLength), block, occurred)
	case p.LoopFinding == NoLoops:
		r.g = grammar.NewReference(0, block, occurred)
	case p.LoopFinding == BasicLoops:
		r.g = grammar.NewReference(math.MaxInt, block, occurred)
	default:
		r.g = grammar.NewReference(int(p.MaxLoopLength), block, occurred)
	}
	return r
}

// occurrences are those of a sequence.
func (r *Recorder) occurrences(s uint32) *recordedSequence {
	for uint32(len(r.sequences)) <= s/sequencePiece {
		r.sequences = append(r.sequences, &[sequencePiece]recordedSequence{})
	}
	return &r.sequences[s/sequencePiece][s%sequencePiece]
}

// OrderError is a time that is before that of the event before.
type OrderError struct{ Time, Last uint64 }

// Error says what was found.
func (e *OrderError) Error() string {
	return fmt.Sprintf("found an event at %d ns, expected one at %d ns or later", e.Time, e.Last)
}

// Enter records that a region is entered at a time in nanoseconds. Times must not
// decrease: one that does is an [OrderError], and nothing is recorded.
func (r *Recorder) Enter(time uint64, region Ref) error { return r.visit(time, Enter, region) }

// Leave records that a region is left. What is open inside of it ends before, and a leave
// of what is not open is an event like any other: neither adds anything to the thread.
func (r *Recorder) Leave(time uint64, region Ref) error { return r.visit(time, Leave, region) }

const smallRegions = 1 << 12

// errClosed is that something is recorded in a thread that has ended.
var errClosed = errors.New("pallas: found an event after the end of its thread, expected none")

func (r *Recorder) visit(time uint64, record Record, region Ref) error {
	if r.w.finished {
		return errClosed
	}
	table := &r.visits[record-Enter]
	if region < uint32(len(*table)) && (*table)[region] > 0 {
		return r.add(time, record, region, (*table)[region]-1, nil)
	}
	var payload [4]byte
	binary.LittleEndian.PutUint32(payload[:], region)
	return r.add(time, record, region, r.event(record, payload[:]), nil)
}

// Record records an event of any other kind, with the payload of docs/formats/pallas.md
// ("Event records"), 250 bytes at most, which is copied. Attributes may be nil.
func (r *Recorder) Record(time uint64, record Record, payload []byte, attributes []Value) error {
	if len(payload) > maxPayload {
		return fmt.Errorf("found a payload of %d bytes, expected %d at most", len(payload), maxPayload)
	}
	if r.w.finished {
		return errClosed
	}
	region := uint32(0)
	if (record == Enter || record == Leave) && len(payload) == 4 {
		region = binary.LittleEndian.Uint32(payload)
	}
	return r.add(time, record, region, r.event(record, payload), attributes)
}

const maxPayload = 250

// event is the number of an event.
func (r *Recorder) event(record Record, payload []byte) uint32 {
	if (record == Enter || record == Leave) && len(payload) == 4 {
		if region := binary.LittleEndian.Uint32(payload); region < smallRegions {
			table := &r.visits[record-Enter]
			for uint32(len(*table)) <= region {
				*table = append(*table, 0)
			}
			if (*table)[region] == 0 {
				(*table)[region] = r.newEvent(record, string(payload)) + 1
			}
			return (*table)[region] - 1
		}
	}
	r.key = append(binary.LittleEndian.AppendUint32(r.key[:0], uint32(record)), payload...)
	e, ok := r.byKey[string(r.key)]
	if !ok {
		key := string(r.key)
		e = r.newEvent(record, key[4:])
		r.byKey[key] = e
	}
	return e
}

func (r *Recorder) newEvent(record Record, payload string) uint32 {
	r.events = append(r.events, &recordedEvent{record: record, payload: payload})
	return uint32(len(r.events) - 1)
}

// add records an occurrence of an event.
func (r *Recorder) add(time uint64, record Record, region, event uint32, attributes []Value) error {
	if time < r.last {
		return &OrderError{time, r.last}
	}
	if !r.any {
		r.any, r.start = true, time
	}
	if r.w.w.compatible {
		region = 0 // any leave closes the level of the innermost enter
	}
	closes := false
	if start, ok := record.opening(); ok {
		var err error
		if closes, err = r.match(start, region); err != nil {
			return err
		}
	}
	r.last = time
	if _, ok := record.closing(); ok {
		r.among.Open(openRecord{record, region}, len(r.open))
		r.open = append(r.open, openRecord{record, region})
		r.g.Open(time)
	}
	if err := r.store(time, event, attributes); err != nil {
		return err
	}
	if closes {
		if err := r.end(); err != nil {
			return err
		}
	}
	if t := r.w; t.flushed > t.enough && r.due() {
		return r.Checkpoint()
	}
	return nil
}

// due tells whether it is time for a checkpoint, for which as much as is enough has been
// written of times: it is the first one, or costs a few times less than they do, or ten
// times as much has been written as at the last one.
func (r *Recorder) due() bool {
	const bytes = 230 // of a sequence with its sums
	t := r.w
	sequences, _ := r.g.Grammar()
	step := min(max(t.last, firstCheckpoint), checkpointBytes)
	t.enough = min(10*max(t.last, firstCheckpoint), t.last+max(step, 12*bytes*int64(len(sequences))))
	if t.last > 0 && t.flushed <= t.enough {
		return false
	}
	t.last, t.enough = t.flushed, t.flushed+step
	return true
}

// match makes the level in hand one that start opened, if there is one.
func (r *Recorder) match(start Record, region uint32) (found bool, err error) {
	k := openRecord{start, region}
	at := len(r.open) - 1
	if at >= 0 && r.open[at] != k {
		at = r.among.Find(k, len(r.open), func(i int) openRecord { return r.open[i] })
	}
	for at >= 0 && len(r.open)-1 > at {
		if err := r.end(); err != nil {
			return false, err
		}
	}
	return at >= 0, nil
}

// end ends the level in hand with the last event.
func (r *Recorder) end() error {
	n := len(r.open) - 1
	if r.among.Mapped() {
		r.open = openset.Close(&r.among, r.open, n, r.open[n])
	} else {
		r.open = r.open[:n]
	}
	return r.g.Close(r.last)
}

// store appends an event to the level in hand.
func (r *Recorder) store(time uint64, event uint32, attributes []Value) error {
	e := r.events[event]
	if len(attributes) > 0 {
		var err error
		if e.attributes == nil {
			e.attributes = new([]byte)
		}
		if *e.attributes, err = appendList(*e.attributes, e.times.size, attributes); err != nil {
			return err
		}
	}
	if err := r.w.times(&e.times, time); err != nil {
		return err
	}
	return r.g.Add(event, time)
}

// Checkpoint writes the grammar as it is now, so that all that has been recorded can be
// read when the program dies; what is open then has no end. It costs as much as the
// grammar is long, and happens by itself now and then: after 130,000 times for the first
// time, every two million later; where the grammar is nearly as long as the thread, when
// that is ten times as long as before. A compatible recording has none: see
// [WriterOptions].
func (r *Recorder) Checkpoint() error {
	if r.w.finished || !r.any || r.w.w.compatible {
		return nil
	}
	return r.w.write(r.g.Tokens())
}

// What is written of times, before compression, before the first checkpoint of a thread,
// and between two of them at least when there have been some.
const (
	firstCheckpoint = 1 << 20
	checkpointBytes = 16 << 20
)

// finish ends what is open, and the thread.
func (r *Recorder) finish() error {
	for len(r.open) > 0 {
		if err := r.end(); err != nil {
			return err
		}
	}
	r.g.End()
	return nil
}
