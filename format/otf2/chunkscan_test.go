package otf2

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// longArchive writes an archive with one location of many chunks and one of few events. It has calls, messages,
// metrics, attributes and buffer flushes. The flush with the number far ends after many later events.
// Each other flush ends before the next event.
func longArchive(t testing.TB, events int, offsets []ClockOffset, far int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "long.otf2")
	dst, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(dst, Anchor{})
	if err != nil {
		t.Fatal(err)
	}
	const none = undefined32
	for i := range uint64(10) {
		err = errors.Join(err,
			w.Define(&Record{ID: defRegion, Values: []uint64{i, none, none, 0, none, 0, 0, none, 1, 2, 0}}))
	}
	for _, v := range [][]uint64{
		{defClock, 1, 0, 1 << 40, undefined64},
		{defAttribute, 0, none, typeUint8, none}, {defAttribute, 1, none, typeString, none},
		{defMetricMember, 0, none, none, 0, 0, 4, 0, 0, none}, {defMetricMember, 1, none, none, 0, 0, 4, 0, 0, none},
		{defMetricClass, 0, 2, 0, 1, 0, 1},
		{defGroup, 0, none, 0, 2, 0, 1, communicatingLocations, 4, 0},
		{defGroup, 1, none, 0, 2, 0, 1, 5, 4, 0},
		{defComm, 0, none, 1, none, 0},
	} {
		err = errors.Join(err, w.Define(&Record{ID: uint8(v[0]), Values: v[1:]}))
	}
	err = errors.Join(err, w.Define(&Record{ID: defString, Values: []uint64{3, 0}, Texts: []string{"text"}}))
	rng := rand.New(rand.NewPCG(1, 2))
	for i, n := range []int{events, 100} {
		l := w.Location(uint64(i))
		for _, x := range offsets {
			err = errors.Join(err, l.Clock(x))
		}
		const mpiSend = 14
		time := uint64(0)
		for k := range n {
			time += rng.Uint64N(20)
			x := Event{Time: time, Record: Record{ID: enter + uint8(k%2), Values: []uint64{1 + rng.Uint64N(9)}}}
			switch rng.IntN(12) {
			case 0:
				x.Record = Record{ID: mpiSend, Values: []uint64{rng.Uint64N(2), 0, 5, 1 + rng.Uint64N(1<<40)}}
			case 1:
				x.Record = Record{ID: metricEvent, Values: []uint64{0, 2, 4, rng.Uint64(), 4, rng.Uint64()}}
			case 2:
				x.Attributes = []Attribute{{0, typeUint8, rng.Uint64N(256)}, {1, typeString, 3}}
			}
			if k%3000 == 2999 {
				x.Record = Record{ID: bufferFlush, Values: []uint64{time + 50}}
				time += 50
			}
			if k == far {
				x.Record = Record{ID: bufferFlush, Values: []uint64{math.MaxInt64 / 2}}
			}
			err = errors.Join(err, l.Write(&x))
		}
		err = errors.Join(err, w.Define(&Record{ID: defLocation, Values: []uint64{uint64(i), none, 1, l.Count, none}}))
	}
	if err := errors.Join(err, w.Close(), dst.Commit()); err != nil {
		t.Fatal(err)
	}
	return path
}

// manyOffsets returns clock offsets with intervals that end in the middle of chunks.
func manyOffsets() (l []ClockOffset) {
	for i := range uint64(9) {
		l = append(l, ClockOffset{100 + i*100_000, int64(1000 + i*i*31), 0})
	}
	return l
}

// bigEndianChunks returns a file of events in big-endian byte order.
func bigEndianChunks(t testing.TB, path string, location uint64, chunk int) []byte {
	t.Helper()
	a, err := Open(format.FileSource(path))
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Events(location, EventOptions{RawClocks: true, RawIDs: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var file, part big
	first, last := uint64(1), uint64(0)
	end := func() {
		head := binary.BigEndian.AppendUint64([]byte{chunkHeader, bigEndian}, first)
		file = append(append(file, binary.BigEndian.AppendUint64(head, last)...), part...)
		part, first = nil, last+1
	}
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b := big(binary.BigEndian.AppendUint64([]byte{timestampRecord}, e.Time))
		if len(e.Attributes) > 0 {
			list := big{}.compressed(uint64(len(e.Attributes)), 4)
			for _, x := range e.Attributes {
				list = append(list.compressed(uint64(x.ID), 4), x.Type).typed(uint64(x.Type), x.Value)
			}
			b = append(append(b, attributeRecord).length(len(list)), list...)
		}
		b = b.record(&eventTypes[e.ID], &e.Record)
		if headerSize+len(part)+len(b)+endMarkSize > chunk {
			part = append(part, make([]byte, chunk-headerSize-len(part))...)
			end()
		}
		part, last = append(part, b...), last+1
	}
	part = append(part, endOfFile, endOfBuffer)
	end()
	return file
}

// rowsSink collects the rows of each location. It checks that each sink receives one location at a time and
// that each location has only one sink.
type rowsSink struct {
	mu   sync.Mutex
	rows map[uint32]*trace.Batch
	at   map[uint32]int
}

func (s *rowsSink) sink(w int) format.Sink {
	var busy atomic.Bool
	return format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		if !busy.CompareAndSwap(false, true) {
			return errors.New("two batches at a time")
		}
		defer busy.Store(false)
		s.mu.Lock()
		defer s.mu.Unlock()
		to := s.rows[b.Loc]
		if to == nil {
			to = &trace.Batch{Loc: b.Loc}
			s.rows[b.Loc], s.at[b.Loc] = to, w
		}
		if s.at[b.Loc] != w {
			return errors.New("a location at two sinks")
		}
		to.AppendRows(b, 0, b.Len())
		return nil
	}}
}

// readings holds the rows that a scan delivers, and the defects that it reports.
type readings struct {
	rows       map[uint32]*trace.Batch
	rules      []format.RuleCount
	attributes int
}

// rowsOf scans an archive with the given number of workers, and a second time if the first scan asks for it.
// It scans serially if workers is 0. The result tried reports whether the first attempt succeeded.
func rowsOf(t testing.TB, src format.Source, sel trace.Selection, workers int) (x readings, tried bool) {
	t.Helper()
	opt := &format.ReadOptions{Report: format.NewReport(), Workers: workers}
	d, err := (Format{}).Open(context.Background(), src, opt)
	if err != nil {
		t.Fatal(err)
	}
	var s *rowsSink
	passes := 0
	fresh := func() func(int) format.Sink {
		passes++
		s = &rowsSink{rows: map[uint32]*trace.Batch{}, at: map[uint32]int{}}
		return s.sink
	}
	if workers == 0 {
		err = d.Scan(context.Background(), sel, format.PerLocation, fresh()(0))
	} else {
		err = d.ScanParallel(context.Background(), sel, fresh)
	}
	if err != nil {
		t.Fatal(err)
	}
	return readings{s.rows, opt.Report.Rules(), d.Defs().Attributes.Len()}, passes == 1
}

// sameRows checks that scans by several workers give the same rows as a serial scan.
func sameRows(t *testing.T, src format.Source, sel trace.Selection, try bool, workers ...int) readings {
	t.Helper()
	if effort.Race && len(workers) > 1 {
		workers = workers[1:2] // the race detector finds the same with each number
	}
	want, _ := rowsOf(t, src, sel, 0)
	for _, n := range workers {
		got, tried := rowsOf(t, src, sel, n)
		if tried != try {
			t.Errorf("%d workers: the first try succeeded: %t", n, tried)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d workers read other events or defects than a serial scan: %d locations, %d defects, %d attributes; "+
				"want %d, %d, %d", n, len(got.rows), len(got.rules), got.attributes, len(want.rows), len(want.rules),
				want.attributes)
		}
	}
	return want
}

const longEvents = 90_000

// TestChunks checks that several workers read the same events of a long location as one worker: with and
// without clock offsets, in both byte orders, in full and in windows.
func TestChunks(t *testing.T) {
	clocks, workers := [][]ClockOffset{nil, manyOffsets()[:2], manyOffsets()}, []int{1, 2, 3, 4, 5, 6, 7, 8}
	if effort.Race {
		clocks, workers = clocks[2:], []int{3}
	}
	for _, offsets := range clocks {
		path := longArchive(t, longEvents, offsets, -1)
		bigEndian := mapped(t, path, "long/0.evt", func(b []byte) []byte {
			if len(b) < 5*minChunk {
				t.Fatalf("found %d bytes, expected several chunks", len(b))
			}
			return bigEndianChunks(t, path, 0, minChunk)
		})
		x := sameRows(t, format.FileSource(path), trace.Everything(), true, workers...)
		if y := sameRows(t, bigEndian, trace.Everything(), true, workers...); !reflect.DeepEqual(x, y) {
			t.Errorf("%d offsets: the other byte order says something else", len(offsets))
		}
		if n := x.rows[0].Len(); n < longEvents {
			t.Errorf("%d rows", n)
		}
		for _, sel := range []trace.Selection{{From: 1000, To: 1100}, {From: 500_000, To: 700_000},
			{From: 800_000, To: math.MaxInt64}, {From: math.MinInt64, To: 300_000}, {From: -5, To: 0}} {
			sameRows(t, format.FileSource(path), sel, true, 2, 8)
		}
	}
}

// TestChunksNeedOthers checks chunks that can be read only after earlier chunks. They lack the time, the
// interval of clock offsets after a flush that ends much later, or attributes.
func TestChunksNeedOthers(t *testing.T) {
	path := longArchive(t, longEvents, nil, -1)
	sameRows(t, mapped(t, path, "long/0.evt", func(b []byte) []byte {
		// Two enter records replace a time record.
		copy(b[3*minChunk+headerSize:], []byte{enter, 4, 3, 0, 0, 0, enter, 1, 4})
		return b
	}), trace.Everything(), false, 2, 3, 8)
	sameRows(t, mapped(t, path, "long/0.evt", func(b []byte) []byte {
		list := []byte{attributeRecord, 5, 1, 1, 0, typeUint8, 77}
		for k := minChunk; k < len(b)-minChunk; k += minChunk {
			at := k + len(bytes.TrimRight(b[k:k+minChunk], "\x00"))
			if at+len(list) <= k+minChunk {
				copy(b[at:], list)
				return b
			}
		}
		t.Fatal("no chunk has room for attributes")
		return nil
	}), trace.Everything(), false, 2, 3, 8)
	// The flush is in the third chunk. Without the flush, the clock would stay in the first interval of clock
	// offsets for a while, where times are less by a tick.
	bent := []ClockOffset{{100, 1000, 0}, {600_000, 1000, 0}, {1_000_000, 998, 0}}
	x := sameRows(t, format.FileSource(longArchive(t, longEvents, bent, longEvents/3)), trace.Everything(), false, 2, 3, 8)
	if len(x.rules) > 0 {
		t.Errorf("times go back: %v", x.rules)
	}
	sameRows(t, format.FileSource(longArchive(t, longEvents, manyOffsets(), longEvents/3)), trace.Everything(),
		false, 2, 3, 8)
	// Two offsets make only one interval.
	sameRows(t, format.FileSource(longArchive(t, longEvents, manyOffsets()[:2], longEvents/3)), trace.Everything(),
		true, 2, 3,
		8)
}

// TestChunksDamaged checks that workers report damage in the middle of a file like a serial scan.
func TestChunksDamaged(t *testing.T) {
	path := longArchive(t, longEvents, nil, -1)
	const middle = 3 * minChunk
	for i, x := range []struct {
		what, rule string
		change     func(b []byte) []byte
	}{
		{"no header", "otf2.damaged", func(b []byte) []byte { b[middle] = 9; return b }},
		{"no byte order", "otf2.damaged", func(b []byte) []byte { b[middle+1] = 9; return b }},
		{"no record", "otf2.damaged", func(b []byte) []byte { b[middle+headerSize] = 9; return b }},
		{"no record after the first event", "otf2.damaged", func(b []byte) []byte {
			copy(b[middle+headerSize+9:], []byte{enter, 1, 3, 9})
			return b
		}},
		{"an unknown event", "otf2.unknown-record", func(b []byte) []byte {
			copy(b[middle+headerSize+9:], []byte{200, 1, 0})
			return b
		}},
		{"an unknown region", "otf2.undefined", func(b []byte) []byte {
			copy(b[middle+headerSize+9:], []byte{enter, 1, 99})
			return b
		}},
		{"the mark of a chunk's end, and no end", "otf2.damaged",
			func(b []byte) []byte { b[middle+headerSize] = endOfChunk; return b }},
		{"the mark of the file's end, and no end", "otf2.damaged",
			func(b []byte) []byte { b[middle+headerSize] = endOfFile; return b }},
		{"a time before", "otf2.time-order", func(b []byte) []byte {
			binary.LittleEndian.PutUint64(b[middle+headerSize+1:], 5)
			return b
		}},
		{"a time too late", "otf2.time-range", func(b []byte) []byte {
			binary.LittleEndian.PutUint64(b[middle+headerSize+1:], 1<<63)
			return b
		}},
		{"cut off", "otf2.damaged", func(b []byte) []byte { return b[:middle+100_000] }},
		{"cut off between chunks", "otf2.damaged", func(b []byte) []byte { return b[:middle] }},
	} {
		if effort.Race && i%4 > 0 {
			continue // a few kinds of damage show what the workers share
		}
		t.Run(x.what, func(t *testing.T) {
			got := sameRows(t, mapped(t, path, "long/0.evt", x.change), trace.Everything(), false, 2, 3, 8)
			if len(got.rules) != 1 || got.rules[0].Rule != x.rule {
				t.Errorf("%v, want %s", got.rules, x.rule)
			}
		})
	}
	if effort.Race {
		return // the scans below share no more than those above
	}
	// These changes make a chunk empty, or end the file with a chunk.
	for what, change := range map[string]func(b []byte) []byte{
		"an empty chunk": func(b []byte) []byte { clear(b[middle+headerSize : middle+minChunk]); return b },
		"an empty chunk at the end": func(b []byte) []byte {
			return append(b[:middle+headerSize:middle+headerSize], endOfFile, endOfBuffer)
		},
	} {
		whole := sameRows(t, format.FileSource(path), trace.Everything(), true, 2)
		got := sameRows(t, mapped(t, path, "long/0.evt", change), trace.Everything(), true, 2, 3, 8)
		if len(got.rules) > 0 || got.rows[0].Len() >= whole.rows[0].Len() {
			t.Errorf("%s: %d rows, %v", what, got.rows[0].Len(), got.rules)
		}
	}
}

// denseArchive writes an archive whose events need far more bytes of memory than of the file.
func denseArchive(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dense.otf2")
	dst, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(dst, Anchor{})
	if err != nil {
		t.Fatal(err)
	}
	const values = 100
	class := []uint64{0, values}
	v := []uint64{0, values}
	for i := range uint64(values) {
		err = errors.Join(err,
			w.Define(&Record{ID: defMetricMember, Values: []uint64{i, undefined32, undefined32, 0, 0, 4, 0, 0, undefined32}}))
		class, v = append(class, i), append(v, 4, 0)
	}
	l := w.Location(0)
	for i := range uint64(8_000) {
		v[3] = i
		err = errors.Join(err, l.Write(&Event{Time: i, Record: Record{ID: metricEvent, Values: v}}))
	}
	err = errors.Join(err, w.Define(&Record{ID: defMetricClass, Values: append(class, 0, 1)}),
		w.Define(&Record{ID: defLocation, Values: []uint64{0, undefined32, 1, l.Count, undefined32}}))
	if err := errors.Join(err, w.Close(), dst.Commit()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestChunksDense checks chunks that wait for their turn because their batches exceed the memory
// limit.
func TestChunksDense(t *testing.T) {
	sameRows(t, format.FileSource(denseArchive(t)), trace.Everything(), true, 2, 3)
}

// TestChunksEnd checks that a scan ends even if its sink fails or stops, also if chunks wait for their turn.
func TestChunksEnd(t *testing.T) {
	stop := errors.New("stop")
	for _, path := range []string{longArchive(t, longEvents, nil, -1), denseArchive(t)} {
		for _, workers := range []int{2, 4} {
			for _, at := range []int{1, 20} {
				d, err := (Format{}).Open(context.Background(), format.FileSource(path), &format.ReadOptions{Workers: workers})
				if err != nil {
					t.Fatal(err)
				}
				scan := func(ctx context.Context, do func() error) error {
					n := 0
					_, err := d.(*decoder).tryParallel(ctx, trace.Everything(), func(int) format.Sink {
						return format.SinkFuncs{OnBatch: func(*trace.Batch) error {
							if n++; n == at {
								time.Sleep(10 * time.Millisecond) // the other workers are waiting after this time
								return do()
							}
							return nil
						}}
					})
					return err
				}
				if err := scan(context.Background(), func() error { return stop }); err != stop {
					t.Errorf("%d workers, batch %d: %v", workers, at, err)
				}
				ctx, cancel := context.WithCancel(context.Background())
				if err := scan(ctx, func() error { cancel(); return nil }); err != context.Canceled {
					t.Errorf("%d workers, batch %d: %v", workers, at, err)
				}
				func() {
					defer func() {
						if x := recover(); x != "out" {
							t.Errorf("%d workers, batch %d: %v", workers, at, x)
						}
					}()
					scan(context.Background(), func() error { panic("out") })
				}()
			}
		}
	}
}

// TestLarge checks which locations all cores read together: the locations at which a single core would finish
// last.
func TestLarge(t *testing.T) {
	path := longArchive(t, longEvents, nil, -1)
	d, err := (Format{}).Open(context.Background(), format.FileSource(path), &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		ids   []uint64
		cores int
		want  string
	}{{[]uint64{0, 1}, 1, "[] [0 1]"}, {[]uint64{1, 0}, 2, "[0] [1]"}, {[]uint64{1}, 8, "[] [1]"},
		{[]uint64{0, 0, 0}, 2, "[] [0 0 0]"}, {[]uint64{0, 7}, 4, "[0] [7]"}} {
		large, others := d.(*decoder).splitLarge(x.ids, x.cores)
		if got := fmt.Sprint(large, others); got != x.want {
			t.Errorf("%v, %d cores: %s, want %s", x.ids, x.cores, got, x.want)
		}
	}
}

// undefinedTexts writes an archive with one location of several chunks. Event n has time n, and an attribute that
// refers to the undefined string 9. It returns the path and the number of events.
func undefinedTexts(t *testing.T) (path string, events int64) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x.otf2")
	dst, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(dst, Anchor{EventChunk: minChunk})
	if err != nil {
		t.Fatal(err)
	}
	const none = undefined32
	err = errors.Join(w.Define(&Record{ID: defAttribute, Values: []uint64{0, none, typeString, none}}),
		w.Define(&Record{ID: defRegion, Values: []uint64{0, none, none, 0, none, 0, 0, none, 1, 2, 0}}))
	l := w.Location(0)
	for n := range uint64(8 * minChunk / 16) {
		err = errors.Join(err, l.Write(&Event{Time: n, Record: Record{ID: enter, Values: []uint64{0}},
			Attributes: []Attribute{{0, typeString, 9}}}))
	}
	err = errors.Join(err, w.Define(&Record{ID: defLocation, Values: []uint64{0, none, 1, l.Count, none}}))
	if err := errors.Join(err, w.Close(), dst.Commit()); err != nil {
		t.Fatal(err)
	}
	return path, int64(l.Count)
}

// TestCountOfSelectedReferences counts the references that the model does not keep in a selection of 5000 events
// with one reference each. Several workers must find the same number as one worker. Yet each of several workers
// begins with a whole chunk, and may read chunks after the end of the selection.
func TestCountOfSelectedReferences(t *testing.T) {
	path, _ := undefinedTexts(t)
	for _, workers := range []int{1, 6} {
		d, err := (Format{}).Open(t.Context(), format.FileSource(path), &format.ReadOptions{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		sel := trace.Events()
		sel.From, sel.To = 10000, 15000
		if err := d.ScanParallel(t.Context(), sel, func() func(int) format.Sink {
			return func(int) format.Sink { return format.SinkFuncs{} }
		}); err != nil {
			t.Fatal(err)
		}
		if n := d.(*decoder).lostValues.Load(); n != 5000 {
			t.Errorf("%d workers: found %d references, expected 5000", workers, n)
		}
	}
}

// TestScanAfterChunks checks that a scan that begins where several workers have read before delivers all events up to
// the end of the file, and not only those of one worker's chunk.
func TestScanAfterChunks(t *testing.T) {
	path, events := undefinedTexts(t)
	for k := range int64(40) {
		d, err := (Format{}).Open(t.Context(), format.FileSource(path), &format.ReadOptions{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		from := events * (k + 1) / 42
		before := trace.Selection{From: math.MinInt64, To: from, Repeated: true}
		if err := d.ScanParallel(t.Context(), before, func() func(int) format.Sink {
			return func(int) format.Sink { return format.SinkFuncs{} }
		}); err != nil {
			t.Fatal(err)
		}
		rest, n := trace.Selection{From: from, To: math.MaxInt64}, int64(0)
		if err := d.Scan(t.Context(), rest, format.PerLocation, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			for _, t := range b.Time {
				if t >= from {
					n++
				}
			}
			return nil
		}}); err != nil {
			t.Fatal(err)
		}
		if n != events-from {
			t.Errorf("from event %d on: found %d events, expected %d", from, n, events-from)
		}
	}
}

// TestCountAfterChunks checks that several workers find the number of events of a location, and not the number up to
// the end of a chunk. If the number is wrong, the snapshots of the location are lost.
func TestCountAfterChunks(t *testing.T) {
	path, events := undefinedTexts(t)
	for range 20 {
		d, err := (Format{}).Open(t.Context(), format.FileSource(path), &format.ReadOptions{Workers: 6})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.ScanParallel(t.Context(), trace.Events(), func() func(int) format.Sink {
			return func(int) format.Sink { return format.SinkFuncs{} }
		}); err != nil {
			t.Fatal(err)
		}
		if n := d.(*decoder).eventCount(0); n != uint64(events) {
			t.Errorf("found %d events, expected %d", n, events)
		}
	}
}
