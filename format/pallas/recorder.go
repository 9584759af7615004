package pallas

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/weft-trace/weft/grammar"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/internal/plural"
)

// Recorder writes the events of a thread. It takes them in the order of time and finds repetitions. It writes
// times in blocks of 1000, as soon as a block is full. If there are many threads or events, it writes smaller
// blocks. It uses memory for the grammar, about 100 KB for itself, and a share of 64 MB for all threads
// together. Only one goroutine at a time may use it. To get the same bytes in each run, begin all threads
// before you record any of them.
//
// A recorder finds a repetition when the last tokens of a function, up to MaxLoopLength of them, occur twice
// in a row.
type Recorder struct {
	w *threadWriter
	g finder

	open      []openRecord
	openIndex openset.Index[openRecord] // finds elements of open
	last      uint64                    // time of the last event, in nanoseconds
	start     uint64
	started   bool

	// 1 + the numbers of the enter and leave events of each region with a small id
	visits [2][]uint32
	byKey  map[string]uint32 // numbers of all other events, by key
	key    []byte

	events    []*recordedEvent
	recent    uint32                             // number of the last event
	sequences []*[sequencePiece]recordedSequence // indexed by their numbers in the grammar
}

// finder finds repetitions: it is a [grammar.Builder] or a [grammar.Reference].
type finder interface {
	Open(time uint64)
	Add(event uint32, time uint64) error
	Close(time uint64) error
	End()
	Tokens() [][]grammar.Token
	Grammar() ([]grammar.SequenceInfo, []grammar.LoopInfo)
}

// openRecord is the record that began an open level of the grammar.
type openRecord struct {
	record Record
	region uint32
}

type recordedEvent struct {
	record     Record
	payload    string
	attributes *[]byte // nil if no occurrence has attributes
	rows       *packedRows
	times      recordedVector
}

// attributeLists returns the attributes of all occurrences.
func (e *recordedEvent) attributeLists() []byte {
	if e.attributes == nil {
		return nil
	}
	return *e.attributes
}

// recordedSequence holds the occurrences of a sequence. In irregular programs, most sequences occur once. A
// sequence that occurs once has no vectors.
type recordedSequence struct {
	once    bool
	first   [3]uint64 // duration, exclusive duration and start of the first occurrence
	vectors *[3]recordedVector
}

// sequencePiece is the number of sequences in one allocation.
const sequencePiece = 64

func newRecorder(w *threadWriter) *Recorder {
	r := &Recorder{w: w, byKey: map[string]uint32{}}
	block := func(event uint32) bool { return r.events[event].record == Enter }
	occurred := func(s uint32, o grammar.Occurrence) error {
		return w.addOccurrence(r.occurrences(s), o.Start, o.Duration, o.Blocks)
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

// occurrences returns the occurrences of a sequence.
func (r *Recorder) occurrences(s uint32) *recordedSequence {
	for uint32(len(r.sequences)) <= s/sequencePiece {
		r.sequences = append(r.sequences, &[sequencePiece]recordedSequence{})
	}
	return &r.sequences[s/sequencePiece][s%sequencePiece]
}

// OrderError reports an event with an earlier time than the event before it.
type OrderError struct{ Time, Last uint64 }

// Error describes the time of the event and the later time of the event before it.
func (e *OrderError) Error() string {
	return fmt.Sprintf("found an event at %d ns, expected one at %d ns or later", e.Time, e.Last)
}

// Enter records the enter of a region. The time is in nanoseconds. If the time is less than the time of the
// previous event, Enter records nothing and returns an [OrderError].
func (r *Recorder) Enter(time uint64, region Ref) error { return r.visit(time, Enter, region) }

// Leave records the leave of a region. It also ends the visits inside that region that are still open,
// without an event for each of them. A leave of a region that is not open is recorded, but has no
// effect on other visits.
func (r *Recorder) Leave(time uint64, region Ref) error { return r.visit(time, Leave, region) }

const smallRegions = 1 << 12

// errClosed is the error for an event of a thread that has been closed.
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

// Record records an event of any other kind. The payload has the form of docs/formats/pallas.md ("Event
// records"), and at most 250 bytes. Record copies it. The attributes may be nil.
func (r *Recorder) Record(time uint64, record Record, payload []byte, attributes []Value) error {
	if len(payload) > maxPayload {
		return fmt.Errorf("found a payload of %s, expected %d at most", plural.Of(len(payload), "byte"), maxPayload)
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

// event returns the number of an event. It defines the event on first use.
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
	if !r.started {
		r.started, r.start = true, time
	}
	if r.w.w.compatible {
		region = 0 // any leave ends the level of the innermost enter
	}
	closes := false
	if start, ok := record.opening(); ok {
		var err error
		if closes, err = r.endMatching(start, region); err != nil {
			return err
		}
	}
	r.last = time
	if _, ok := record.closing(); ok {
		r.openIndex.Open(openRecord{record, region}, len(r.open))
		r.open = append(r.open, openRecord{record, region})
		r.g.Open(time)
	}
	if err := r.appendEvent(time, event, attributes); err != nil {
		return err
	}
	if closes {
		if err := r.endLevel(); err != nil {
			return err
		}
	}
	if t := r.w; t.flushed > t.enough && r.checkpointDue() {
		return r.Checkpoint()
	}
	return nil
}

// checkpointDue reports whether to write a checkpoint. It returns false until enough bytes of times have been
// written since the last checkpoint. Then a checkpoint is due in three cases: it is the first; it would be
// much smaller than the times written since the last checkpoint; or ten times as many bytes have been written
// as at the last checkpoint.
func (r *Recorder) checkpointDue() bool {
	const bytes = 230 // size in bytes of a sequence with its sums
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

// endMatching ends levels up to and including the innermost level that the record start opened for the region.
// If there is no such level, it ends no levels and returns false.
func (r *Recorder) endMatching(start Record, region uint32) (found bool, err error) {
	k := openRecord{start, region}
	at := len(r.open) - 1
	if at >= 0 && r.open[at] != k {
		at = r.openIndex.Find(k, len(r.open), func(i int) openRecord { return r.open[i] })
	}
	for at >= 0 && len(r.open)-1 > at {
		if err := r.endLevel(); err != nil {
			return false, err
		}
	}
	return at >= 0, nil
}

// endLevel ends the innermost level at the time of the last event.
func (r *Recorder) endLevel() error {
	n := len(r.open) - 1
	if r.openIndex.Mapped() {
		r.open = openset.Close(&r.openIndex, r.open, n, r.open[n])
	} else {
		r.open = r.open[:n]
	}
	return r.g.Close(r.last)
}

// appendEvent appends an event to the innermost level.
func (r *Recorder) appendEvent(time uint64, event uint32, attributes []Value) error {
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
	r.recent = event
	if err := r.w.addTime(&e.times, time); err != nil {
		return err
	}
	return r.g.Add(event, time)
}

// Checkpoint writes the current grammar, so that everything recorded so far can be read even if the program
// dies. Visits that are open then have no end. Its cost is proportional to the length of the grammar. The
// recorder also writes checkpoints by itself: the first after 130,000 times, and then one for every two
// million times. If the grammar is nearly as long as the thread, the recorder waits until ten times as many
// times have been recorded as at the last checkpoint. Compatible recordings have no checkpoints; see
// [WriterOptions].
func (r *Recorder) Checkpoint() error {
	if r.w.finished || !r.started || r.w.w.compatible {
		return nil
	}
	return r.w.write(r.g.Tokens())
}

// firstCheckpoint is the number of bytes of times, before compression, that a thread writes before its first
// checkpoint. checkpointBytes is the smallest number of bytes that it writes between later checkpoints.
const (
	firstCheckpoint = 1 << 20
	checkpointBytes = 16 << 20
)

// finish ends the open levels and writes the thread.
func (r *Recorder) finish() error {
	for len(r.open) > 0 {
		if err := r.endLevel(); err != nil {
			return err
		}
	}
	r.g.End()
	return nil
}
