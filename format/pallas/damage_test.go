package pallas

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// handMade describes a trace of one thread that no writer made. It has events with the blocks of their times,
// sequences and loops. The first sequence is the root.
type handMade struct {
	records   []Record
	blocks    [][][]uint64 // times of each block of each event
	sequences [][]Token
	loops     []Loop
	groups    []LocationGroup
	lists     map[int][]byte // attributes of events, by the number of the event
}

func (h handMade) files() fstest.MapFS {
	b := le64(le32([]byte{MaxABI}, 0, 0), 3)
	b = le32(le64(le32(b, 2), 100), 1)
	b = le64(b, 0, 0, 0, 0, 0, uint64(len(h.groups)))
	for _, g := range h.groups {
		b = le32(b, g.ID, g.Name, g.Parent)
	}
	m := fstest.MapFS{"main.pallas": {Data: le64(b, 0, 0)}}
	b = le64(le32(nil, 0, 1), 0, 0, 0, 0, 0, 0, 1)
	m["archive_0/archive.pallas"] = &fstest.MapFile{Data: le64(le32(b, 0, NoRef, 0), 0)}
	var data []byte
	b = le64(le32(nil, 0, 0), uint64(len(h.records)), uint64(len(h.sequences)), uint64(len(h.loops)))
	b = le64(le32(b, 0), 0)
	for i, r := range h.records {
		b = append(le64(append(le32(b, uint32(r)), 5), uint64(len(h.lists[i]))), h.lists[i]...)
		n := 0
		for _, l := range h.blocks[i] {
			n += len(l)
		}
		b = le64(b, uint64(n), uint64(len(h.blocks[i])))
		if n == 0 {
			continue
		}
		for _, l := range h.blocks[i] {
			first, last := uint64(0), uint64(0)
			if len(l) > 0 {
				first, last = l[0], l[len(l)-1]
			}
			at := len(data)
			if len(l) == 0 {
				at = 0 // the position belongs to another block
			}
			b = le64(b, uint64(len(l)), first, last, uint64(at))
			data = le64(le64(data, uint64(8*len(l))), l...)
		}
	}
	b = identity(b, len(h.records))
	for _, tokens := range h.sequences {
		b = le64(le32(b, 0), uint64(len(tokens)))
		if len(tokens) == 0 {
			continue
		}
		for _, k := range tokens {
			b = le32(b, uint32(k))
		}
		b = le64(b, 0, 1, 0, 1, 0, 1)
	}
	b = identity(b, len(h.sequences))
	for _, l := range h.loops {
		b = le64(le32(b, uint32(l.Sequence), l.Iterations), l.Occurrences)
	}
	m["archive_0/thread_0/thread.pallas"] = &fstest.MapFile{Data: identity(b, len(h.loops))}
	m["archive_0/thread_0/event_durations.dat"] = &fstest.MapFile{Data: data}
	return m
}

// TestLostEvents_saturated checks that the defect does not state a number of occurrences that is only a bound: four
// loops inside of each other repeat an event (2³²−1)⁴ times.
func TestLostEvents_saturated(t *testing.T) {
	e := func(id uint32) Token { return MakeToken(EventToken, id) }
	s := func(id uint32) Token { return MakeToken(SequenceToken, id) }
	l := func(id uint32) Token { return MakeToken(LoopToken, id) }
	m := handMade{[]Record{Enter}, [][][]uint64{{{1}}}, [][]Token{{l(0)}, {l(1)}, {l(2)}, {l(3)}, {e(0)}},
		[]Loop{{s(1), math.MaxUint32, 1}, {s(2), math.MaxUint32, 1}, {s(3), math.MaxUint32, 1}, {s(4), math.MaxUint32, 1}},
		[]LocationGroup{{0, NoRef, NoRef}}, nil}.files()
	var found []string
	opt := &format.ReadOptions{Report: format.NewReport()}
	opt.Report.Only = func(d *trace.Defect) bool {
		found = append(found, d.Rule+": "+d.Found)
		return true
	}
	d, err := (Format{}).Open(t.Context(), format.Source{FS: m, Name: "main.pallas", Path: "main.pallas"}, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Scan(t.Context(), trace.Everything(), format.PerLocation, format.SinkFuncs{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"pallas.lost-events: 2⁶⁴ or more occurrences of event 0 in the grammar"}
	if !slices.Equal(found, want) {
		t.Errorf("found %q, expected %q", found, want)
	}
}

// readTimes returns the times of a trace's events, and the rules that the trace breaks.
func readTimes(t *testing.T, m fstest.MapFS) (times []int64, rules string) {
	t.Helper()
	rep := format.NewReport()
	d, err := (Format{}).Open(context.Background(), format.Source{FS: m, Name: "main.pallas", Path: "main.pallas"},
		&format.ReadOptions{Report: rep})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Scan(context.Background(), trace.Everything(), format.PerLocation,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			times = append(times, b.Time...)
			return nil
		}}); err != nil {
		t.Fatal(err)
	}
	for i := range d.Defs().Groups.Len() {
		n := 0
		for g := uint32(i); g != trace.NoRef; g = d.Defs().Groups.At(g).Parent {
			if n++; n > 10 {
				t.Fatal("a group is in itself")
			}
		}
	}
	for _, r := range rep.Rules() {
		if r.Rule != "pallas.occurrences" { // handMade does not write times of sequences
			rules += r.Rule + " "
		}
	}
	return times, strings.TrimSpace(rules)
}

func TestHandMade(t *testing.T) {
	e := func(i uint32) Token { return MakeToken(EventToken, i) }
	s := func(i uint32) Token { return MakeToken(SequenceToken, i) }
	l := func(i uint32) Token { return MakeToken(LoopToken, i) }
	one := []LocationGroup{{0, NoRef, NoRef}}
	events := []Record{Enter, ThreadBegin}
	times := [][][]uint64{{{1}}, {{2, 3, 4}, {5}}}
	for _, test := range []struct {
		name  string
		trace handMade
		want  string
		rules string
	}{
		{"sound", handMade{events, times, [][]Token{{e(0), l(0)}, {e(1)}}, []Loop{{s(1), 4, 1}}, one, nil}, "[1 2 3 4 5]",
			""},
		{"empty block", handMade{events, [][][]uint64{{{1}}, {{2, 3, 4}, {}, {5}}}, [][]Token{{e(0), l(0)}, {e(1)}},
			[]Loop{{s(1), 4, 1}}, one, nil}, "[1 2 3 4 5]", ""},
		{"loop of nothing", handMade{events, times, [][]Token{{e(0), l(0), l(1), s(3), s(3)}, {e(1)}, {}, {l(1), l(1), e(1)}},
			[]Loop{{s(1), 2, 1}, {s(2), math.MaxUint32, 1}}, one, nil}, "[1 2 3 4 5]", ""},
		{"placeholder", handMade{[]Record{Enter, maxRecord, ThreadBegin}, [][][]uint64{{{1}}, {}, {{2}}},
			[][]Token{{e(0), e(1), e(2)}}, nil, one, nil}, "[1 2]", ""},
		{"circle", handMade{events, times, [][]Token{{e(0), s(1)}, {e(1), s(1)}}, nil, one, nil}, "[1 2 3 4 5]",
			"pallas.grammar"},
		{"token to nowhere", handMade{events, times, [][]Token{{e(0), e(7)}}, nil, one, nil}, "[1 2 3 4 5]",
			"pallas.grammar"},
		{"lost iterations", handMade{events, times, [][]Token{{e(0), l(0)}, {e(1)}}, []Loop{{s(1), 3, 1}}, one, nil},
			"[1 2 3 4 5]", "pallas.lost-events"},
		{"times go back", handMade{events, [][][]uint64{{{3}}, {{2, 3, 4}, {5}}}, [][]Token{{e(0), l(0)}, {e(1)}},
			[]Loop{{s(1), 4, 1}}, one, nil}, "[2 3 3 4 5]", "pallas.time-order"},
		{"groups in each other", handMade{events, times, [][]Token{{e(0), l(0)}, {e(1)}}, []Loop{{s(1), 4, 1}},
			[]LocationGroup{{0, NoRef, 5}, {5, NoRef, 0}, {6, NoRef, 6}}, nil}, "[1 2 3 4 5]", "pallas.circle"},
	} {
		got, rules := readTimes(t, test.trace.files())
		if fmt.Sprint(got) != test.want || rules != test.rules {
			t.Errorf("%s: %v, %q; want %s, %q", test.name, got, rules, test.want, test.rules)
		}
	}
	// One block is damaged. The reader must read the others.
	m := handMade{events, [][][]uint64{{{1}}, {{2, 3, 4}, {5, 6, 7}}}, [][]Token{{e(0), l(0)}, {e(1)}},
		[]Loop{{s(1), 6, 1}}, one, nil}.files()
	data := m["archive_0/thread_0/event_durations.dat"].Data
	data[16] = 7 // length of the first of three blocks
	if got, rules := readTimes(t, m); fmt.Sprint(got) != "[1 5 6 7]" || rules != "pallas.damaged" {
		t.Errorf("a damaged block: %v, %q", got, rules)
	}
	// The main file ends before the location groups. The reader must find the archives by their folders.
	m = handMade{events, times, [][]Token{{e(0), l(0)}, {e(1)}}, []Loop{{s(1), 4, 1}}, one, nil}.files()
	m["main.pallas"].Data = m["main.pallas"].Data[:40]
	if got, rules := readTimes(t, m); fmt.Sprint(got) != "[1 2 3 4 5]" || rules != "pallas.damaged" {
		t.Errorf("a main file that is cut off: %v, %q", got, rules)
	}
	// A location without its file has lost its events. A location without a folder has lost its events, too,
	// if the archive counts its thread.
	delete(m, "archive_0/thread_0/thread.pallas")
	if got, rules := readTimes(t, m); len(got) > 0 || rules != "pallas.damaged pallas.missing-file" {
		t.Errorf("a thread without grammar: %v, %q", got, rules)
	}
	delete(m, "archive_0/thread_0/event_durations.dat")
	if got, rules := readTimes(t, m); len(got) > 0 || rules != "pallas.damaged pallas.missing-file" {
		t.Errorf("a location without folder: %v, %q", got, rules)
	}
}

// TestTimesGoBack checks that the message names the first event with an earlier time than one before it, and both
// times.
func TestTimesGoBack(t *testing.T) {
	m := handMade{[]Record{Enter, ThreadBegin}, [][][]uint64{{{3}}, {{2, 3, 4}, {5}}},
		[][]Token{{MakeToken(EventToken, 0), MakeToken(LoopToken, 0)}, {MakeToken(EventToken, 1)}},
		[]Loop{{MakeToken(SequenceToken, 1), 4, 1}},
		[]LocationGroup{{0, NoRef, NoRef}}, nil}.files()
	rep := format.NewReport()
	d, err := (Format{}).Open(t.Context(), format.Source{FS: m, Name: "main.pallas", Path: "main.pallas"},
		&format.ReadOptions{Report: rep})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Scan(t.Context(), trace.Everything(), format.PerLocation, format.SinkFuncs{}); err != nil {
		t.Fatal(err)
	}
	const want = "event 1 at 2 ns after a time of 3 ns"
	if !slices.ContainsFunc(rep.Rules(), func(r format.RuleCount) bool {
		return r.Rule == "pallas.time-order" && len(r.First) == 1 && r.First[0].Found == want
	}) {
		t.Errorf("found %+v, expected %s", rep.Rules(), want)
	}
}

// TestLostBlock checks a thread with an unreadable block. The events after the block keep their times, but not
// attributes that may belong to other events. A window may begin after such a block.
func TestLostBlock(t *testing.T) {
	e, l := MakeToken(EventToken, 0), MakeToken(LoopToken, 0)
	list, err := appendList(nil, 4, []Value{{9, []byte{1, 2, 3, 4}}})
	if err != nil {
		t.Fatal(err)
	}
	h := handMade{[]Record{ThreadBegin}, [][][]uint64{{{2, 3, 4}, {5, 6, 7}, {8}}}, [][]Token{{l}, {e}},
		[]Loop{{MakeToken(SequenceToken, 1), 7, 1}}, []LocationGroup{{0, NoRef, NoRef}}, map[int][]byte{0: list}}
	rows := func(m fstest.MapFS, from int64) (s string) {
		d, err := (Format{}).Open(context.Background(), format.Source{FS: m, Name: "main.pallas", Path: "main.pallas"},
			&format.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		sel := trace.Everything()
		sel.From = from
		if err := d.Scan(context.Background(), sel, format.PerLocation, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			c := b.Cursor()
			for c.Next() {
				s += fmt.Sprint(c.Time())
				if keys, _ := c.Attrs(); len(keys) > 0 {
					s += "*"
				}
				s += " "
			}
			return nil
		}}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if got := rows(h.files(), 0); got != "2 3 4 5 6* 7 8 " {
		t.Errorf("sound: %s", got)
	}
	if got := rows(h.files(), 6); got != "6* 7 8 " {
		t.Errorf("a window: %s", got)
	}
	m := h.files()
	m["archive_0/thread_0/event_durations.dat"].Data[0] = 7
	if got := rows(m, 0); got != "5 6 7 8 " {
		t.Errorf("the first block is damaged: %s", got)
	}
	h.lists = nil
	m = h.files()
	m["archive_0/thread_0/event_durations.dat"].Data[8+24] = 7 // this byte is in the second block
	if got := rows(m, 6); got != "8 " {
		t.Errorf("a window that begins in a damaged block: %s", got)
	}
}

// TestLetter_7_damage changes a number in the vector of the first of two events. The second event stays, because the
// numbers of blocks or the numbers of values determine where the vector ends.
func TestLetter_7_damage(t *testing.T) {
	e := func(id uint32) Token { return MakeToken(EventToken, id) }
	h := handMade{[]Record{ThreadTaskSwitch, ThreadTaskCreate}, [][][]uint64{{{1, 2}, {3}}, {{4, 5}}},
		[][]Token{{e(0), e(0), e(0), e(1), e(1)}}, nil, []LocationGroup{{0, NoRef, NoRef}}, nil}
	const size = 44 + 4 + 1 + 8 // position of the first vector
	for _, x := range []struct {
		name        string
		at          int
		number      uint64
		want, found string
	}{
		{"less values than the blocks have", size, 1, "[1 2 3 4 5]", "a block of 2 values"},
		{"more values than the blocks have", size, 4, "[1 2 3 4 5]", "a vector of 4 values"},
		{"fewer blocks", size + 8, 1, "[1 2 3 4 5]", "1 block"},
		{"more blocks", size + 8, 3, "[1 2 3 4 5]", "3 blocks"},
		{"no values in the last block", size + 16 + 32, 0, "[1 2 3 4 5]", "a block of 0 values"},
		{"too many values in the last block", size + 16 + 32, 1 << 60, "[1 2 3 4 5]",
			"a block of 1152921504606846976 values"},
		{"too many values in the first block", size + 16, 7, "[3 4 5]", "a block of 7 values"},
	} {
		t.Run(x.name, func(t *testing.T) {
			m := h.files()
			binary.LittleEndian.PutUint64(m["archive_0/thread_0/thread.pallas"].Data[x.at:], x.number)
			if times, _ := readTimes(t, m); fmt.Sprint(times) != x.want {
				t.Errorf("found %v, expected %s", times, x.want)
			}
			var found []string
			for _, r := range checked(t, format.Source{FS: m, Name: "main.pallas", Path: "main.pallas"}).Rules() {
				for _, d := range r.First {
					found = append(found, d.Found)
				}
			}
			if !slices.Contains(found, x.found) {
				t.Errorf("found the defects %q, expected %q", found, x.found)
			}
		})
	}
}

// countingFS is a file system that counts the files that are open at the same time.
type countingFS struct {
	fstest.MapFS
	open, most *int
}

type countedFile struct {
	*bytes.Reader
	fs.File
	open *int
}

// Read reads from the file.
func (f countedFile) Read(b []byte) (int, error) { return f.Reader.Read(b) }

// Close counts the file as closed.
func (f countedFile) Close() error {
	*f.open--
	return nil
}

func (c countingFS) Open(name string) (fs.File, error) {
	f, err := c.MapFS.Open(name)
	if err != nil || c.MapFS[name] == nil {
		return f, err
	}
	*c.open++
	*c.most = max(*c.most, *c.open)
	return countedFile{bytes.NewReader(c.MapFS[name].Data), f, c.open}, nil
}

// TestOpenFiles checks that many threads can be read in the order of time with few open files.
func TestOpenFiles(t *testing.T) {
	h := handMade{[]Record{ThreadBegin}, [][][]uint64{{{2, 3, 4}, {5, 6, 7}}},
		[][]Token{{MakeToken(LoopToken, 0)}, {MakeToken(EventToken, 0)}}, []Loop{{MakeToken(SequenceToken, 1), 6, 1}},
		[]LocationGroup{{0, NoRef, NoRef}}, nil}
	m := h.files()
	const n = 200
	b := le64(le32(nil, 0, n), 0, 0, 0, 0, 0, 0, n)
	for i := range uint32(n) {
		b = le32(b, i, NoRef, 0)
		for _, name := range []string{"thread.pallas", "event_durations.dat"} {
			m[fmt.Sprintf("archive_0/thread_%d/%s", i, name)] = m["archive_0/thread_0/"+name]
		}
	}
	m["archive_0/archive.pallas"] = &fstest.MapFile{Data: le64(b, 0)}
	files, most := 0, 0
	d, err := (Format{}).Open(context.Background(), format.Source{FS: countingFS{m, &files, &most}, Name: "main.pallas",
		Path: "main.pallas"}, &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	if err := d.Scan(context.Background(), trace.Everything(), format.GlobalOrder,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			rows += b.Len()
			return nil
		}}); err != nil {
		t.Fatal(err)
	}
	if rows != 6*n || most > 128+2 || files != 0 {
		t.Errorf("%d events, %d files open at once, %d at the end", rows, most, files)
	}
}

// identity appends an id map in which n ids are indexes.
func identity(b []byte, n int) []byte {
	b = le64(b, uint64(n))
	for i := range n {
		b = le32(b, uint32(i))
	}
	return b
}

// TestWindowBack checks a thread in which times go back. A window of the thread must have the events that the
// whole thread has in this window, in any order of the grammar.
func TestWindowBack(t *testing.T) {
	e := func(i uint32) Token { return MakeToken(EventToken, i) }
	long := make([][]uint64, 2)
	for i := range uint64(3000) {
		long[i/1500] = append(long[i/1500], 1000+10*i)
	}
	for i, h := range []handMade{
		{records: []Record{OMPJoin, ThreadJoin, ThreadBegin}, blocks: [][][]uint64{{{10}}, {{5}}, {{20}}},
			sequences: [][]Token{{e(0), e(1), e(2)}}},
		{records: []Record{OMPJoin, ThreadJoin, ThreadBegin}, blocks: [][][]uint64{{{10}}, {{100}}, {{20}}},
			sequences: [][]Token{{e(0), e(1), e(2)}}},
		{records: []Record{OMPJoin, ThreadJoin}, blocks: [][][]uint64{long, {{2000}}},
			sequences: [][]Token{{MakeToken(LoopToken, 0), e(1)}, {e(0)}},
			loops:     []Loop{{MakeToken(SequenceToken, 1), 3000, 1}}},
	} {
		h.groups = []LocationGroup{{0, NoRef, NoRef}}
		all, _ := readTimes(t, h.files())
		if len(all) < 3 {
			t.Fatalf("%d: found the times %v, expected those of all events", i, all)
		}
		for _, w := range [][2]int64{{0, 7}, {7, 1 << 40}, {6, 30}, {15, 50}, {50, math.MaxInt64}, {0, 3000}, {1500, 2500},
			{1990, 2011}, {2000, 2001}, {20000, math.MaxInt64}, {31000, math.MaxInt64}} {
			var want, got []int64
			for _, at := range all {
				if at >= w[0] && at < w[1] {
					want = append(want, at)
				}
			}
			d, err := (Format{}).Open(context.Background(),
				format.Source{FS: h.files(), Name: "main.pallas", Path: "main.pallas"}, &format.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			sel := trace.Everything()
			sel.From, sel.To = w[0], w[1]
			fresh := func() func(int) format.Sink {
				got = nil
				return func(int) format.Sink {
					return format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
						got = append(got, b.Time...)
						return nil
					}}
				}
			}
			if err := d.ScanParallel(context.Background(), sel, fresh); err != nil {
				t.Fatalf("%d: window %v: %v", i, w, err)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%d: window %v: %v, want %v", i, w, got, want)
			}
		}
	}
}

// TestSortedThread checks a thread whose times go back many times, and whose events take more memory than sorting may
// use: 500000 events of 24 bytes or more. The loop of a few bytes that repeats them must not need that memory.
func TestSortedThread(t *testing.T) {
	effort.Sequential(t)
	const n, period = 250_000, 1000
	h := handMade{records: []Record{OMPJoin, ThreadJoin}, blocks: make([][][]uint64, 2),
		sequences: [][]Token{{MakeToken(LoopToken, 0)}, {MakeToken(EventToken, 0), MakeToken(EventToken, 1)}},
		loops:     []Loop{{MakeToken(SequenceToken, 1), n, 1}}, groups: []LocationGroup{{0, NoRef, NoRef}}}
	for e := range uint64(2) {
		var times []uint64
		for i := range uint64(period) {
			times = append(times, 2*i+e)
		}
		h.blocks[e] = slices.Repeat([][]uint64{times}, n/period)
	}
	d, err := (Format{}).Open(t.Context(), format.Source{FS: h.files(), Name: "main.pallas", Path: "main.pallas"},
		&format.ReadOptions{Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	heap := func() int64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	for _, order := range []format.Order{format.PerLocation, format.GlobalOrder} {
		before, taken, seen := heap(), int64(0), int64(0)
		if err := d.Scan(t.Context(), trace.Everything(), order, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			if taken == 0 {
				taken = heap() - before
			}
			for _, at := range b.Time {
				if want := seen / (n / period); at != want {
					return fmt.Errorf("event %d: found the time %d, expected %d", seen, at, want)
				}
				seen++
			}
			return nil
		}}); err != nil || seen != 2*n {
			t.Errorf("order %v: found %d events, %v, expected %d", order, seen, err, 2*n)
		}
		t.Logf("order %v: %d bytes", order, taken)
		if taken > 6<<20 {
			t.Errorf("order %v: found %d bytes in memory, expected about 1 MiB", order, taken)
		}
	}
}

// TestBlockBeyondFile checks the position in the error for a block that begins beyond the end of its file, also for
// an offset that is negative as a signed number.
func TestBlockBeyondFile(t *testing.T) {
	for _, offset := range []uint64{93, 1 << 40, 1<<63 | 5} {
		_, err := (&blockReader{}).loadFrom(nil, 100, "x.dat", &Block{Count: 5, Offset: offset})
		want := fmt.Sprintf("x.dat:0x64: found the end of the file, expected a block of values at 0x%x", offset)
		if err == nil || err.Error() != want {
			t.Errorf("found %v, expected %s", err, want)
		}
	}
}

// TestLargeBlocks checks vectors whose blocks need far more memory than their file: several events refer to the same
// block of 2^20 values, which a reader holds for each of them. A file of 8 MiB may lead to 8 GiB.
func TestLargeBlocks(t *testing.T) {
	effort.Sequential(t)
	const n = 1100
	shared := make([]byte, 8+8*maxBlock)
	binary.LittleEndian.PutUint64(shared, 8*maxBlock)
	h := handMade{groups: []LocationGroup{{0, NoRef, NoRef}}, loops: []Loop{{MakeToken(SequenceToken, 1), maxBlock, 1}},
		sequences: [][]Token{{MakeToken(LoopToken, 0)}, nil}}
	for e := range uint32(n) {
		h.records = append(h.records, OMPJoin)
		h.blocks = append(h.blocks, [][]uint64{{1, 1, 1}})
		h.sequences[1] = append(h.sequences[1], MakeToken(EventToken, e))
	}
	m := h.files()
	m["archive_0/thread_0/event_durations.dat"] = &fstest.MapFile{Data: shared}
	thread := m["archive_0/thread_0/thread.pallas"].Data
	for at := 44; at < 44+n*61; at += 61 { // event: record, size, attributes, and a vector of one block
		copy(thread[at+13:], le64(nil, maxBlock, 1, maxBlock, 0, 0, 0))
	}
	rep := format.NewReport()
	rep.Only = func(d *trace.Defect) bool { return d.Rule == "pallas.damaged" }
	d, err := (Format{}).Open(t.Context(), format.Source{FS: m, Name: "main.pallas", Path: "main.pallas"},
		&format.ReadOptions{Report: rep})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Scan(t.Context(), trace.Everything(), format.PerLocation, format.SinkFuncs{}); err != nil {
		t.Fatal(err)
	}
	const want = "archive_0/thread_0/event_durations.dat:0x0: error: pallas.damaged: found a block of 1048576 values, " +
		"and blocks that take 9227468800 bytes in memory together, expected at most 8589942784 bytes " +
		"for a file of 8388616 bytes"
	if l := rep.Rules(); len(l) != 1 || l[0].First[0].Error() != want {
		t.Errorf("found %v, expected %s", l, want)
	}
}

// TestDamagedGrammarLong checks that a thread whose grammar is damaged is read to its end.
func TestDamagedGrammarLong(t *testing.T) {
	var blocks [][]uint64
	for i := range uint64(10) {
		var l []uint64
		for k := range uint64(1000) {
			l = append(l, 1000*i+k)
		}
		blocks = append(blocks, l)
	}
	h := rootOf(ThreadTaskSwitch, blocks...)
	for _, damage := range []Loop{{MakeToken(SequenceToken, 1), 77, 1}, {MakeToken(SequenceToken, 0), 1, 1}} {
		h.loops = []Loop{damage}
		times, rules := readTimes(t, h.files())
		if len(times) != 10_000 || !slices.IsSorted(times) || times[9_999] != 9_999 {
			t.Errorf("%v: found %d times (%s), expected 10000 in order", damage, len(times), rules)
		}
	}
}
