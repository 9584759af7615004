package pallas

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
)

// inputEvent is an event that a recorder receives.
type inputEvent struct {
	time       uint64
	record     Record
	payload    []byte
	attributes []Value
}

func (f inputEvent) String() string {
	return fmt.Sprintf("%d %v %x %v", f.time, f.record, f.payload, f.attributes)
}

// recorded records events as a trace of one thread, reads the trace and returns the thread.
func recorded(t testing.TB, list []inputEvent, opt *WriterOptions) *Thread {
	t.Helper()
	w, err := Create(filepath.Join(t.TempDir(), "x", "main"), opt)
	if err != nil {
		t.Fatal(err)
	}
	w.LocationGroups = []LocationGroup{{ID: 3, Name: 0, Parent: NoRef}}
	w.Definitions.Strings = []String{{0, "name"}}
	for r := range Ref(10) {
		w.Definitions.Strings = append(w.Definitions.Strings, String{r + 1, fmt.Sprint("region ", r)})
		w.Definitions.Regions = append(w.Definitions.Regions, Region{r, r + 1})
	}
	r, err := w.Archive(3).Record(7, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if err := r.Record(f.time, f.record, f.payload, f.attributes); err != nil {
			t.Fatalf("%v: %v", f, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	th := threads(t, w.path)[0]
	if g := newOutline(th); !g.countsMatch() {
		t.Fatalf("the grammar is not sound: %v", g.err)
	} else {
		for i, n := range g.sequences {
			if x := &th.Sequences[i]; n != x.Durations.Size || n != x.Exclusive.Size || n != x.Timestamps.Size {
				t.Fatalf("sequence %d occurs %d times and has %d durations, %d and %d times", i, n, x.Durations.Size,
					x.Exclusive.Size, x.Timestamps.Size)
			}
		}
	}
	return th
}

// events returns the events of a thread.
func events(t testing.TB, th *Thread) []inputEvent {
	t.Helper()
	lists := map[occurrence]attributeList{}
	for e := range th.Events {
		for l, rest, ok := nextList(th.Events[e].attributes); ok; l, rest, ok = nextList(rest) {
			lists[occurrence{uint32(e), l.occurrence}] = l
		}
	}
	seen := make([]int64, len(th.Events))
	var l []inputEvent
	if err := th.Replay(context.Background(), func(events []uint32, times []uint64) error {
		for i, e := range events {
			f := inputEvent{time: times[i], record: th.Events[e].Record, payload: th.Events[e].Payload}
			if list, ok := lists[occurrence{e, seen[e]}]; ok {
				var err error
				if f.attributes, err = list.values(nil); err != nil {
					t.Fatal(err)
				}
			}
			seen[e]++
			l = append(l, f)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return l
}

func region(r uint32) []byte { return binary.LittleEndian.AppendUint32(nil, r) }

// program generates the events of a random program: calls, loops and messages.
type program struct {
	rng  *rand.Rand
	time uint64
	list []inputEvent
}

func (p *program) put(r Record, payload []byte) {
	p.time += p.rng.Uint64N(50)
	f := inputEvent{time: p.time, record: r, payload: payload}
	if p.rng.IntN(20) == 0 {
		f.attributes = []Value{{p.rng.Uint32N(5), region(p.rng.Uint32())}}
	}
	p.list = append(p.list, f)
}

func (p *program) body(depth int) {
	for range 1 + p.rng.IntN(3) {
		switch n := p.rng.IntN(6); {
		case n < 3 && depth > 0:
			r := region(p.rng.Uint32N(5))
			p.put(Enter, r)
			p.body(depth - 1)
			p.put(Leave, r)
		case n == 3 && depth > 0:
			times := 1 + p.rng.IntN(6)
			seed := p.rng.Uint64()
			for range times {
				// The program makes the same calls again, at other times.
				q := program{rng: rand.New(rand.NewPCG(seed, 1)), time: p.time}
				q.body(depth - 1)
				for _, f := range q.list {
					f.time += uint64(len(p.list) % 3)
					f.time = max(f.time, p.time)
					p.time = f.time
					p.list = append(p.list, f)
				}
			}
		case n == 4 && depth > 0:
			p.put(OMPFork, region(4))
			p.body(depth - 1)
			p.put(OMPJoin, nil)
		default:
			p.put(MPISend, binary.LittleEndian.AppendUint64([]byte{1, 0, 0, 0, 0, 0, 0, 0, byte(p.rng.IntN(3)), 0, 0, 0}, 8))
		}
	}
}

// TestRecord checks that a replay returns the recorded events.
func TestRecord(t *testing.T) {
	effort.Sequential(t)
	for seed := range uint64(effort.Rounds(240)) {
		p := program{rng: rand.New(rand.NewPCG(seed, 9))}
		for range 1 + seed%5 {
			p.body(int(seed % 7))
		}
		finding := LoopFinding(seed / 2 % 3)
		th := recorded(t, p.list, &WriterOptions{Plain: seed%3 == 0, Encoding: Encoding(seed % 2),
			MaxLoopLength: 1 + int(seed%40), Compatible: seed%4 >= 2, LoopFinding: &finding})
		if got := events(t, th); !slices.EqualFunc(got, p.list,
			func(a, b inputEvent) bool { return a.String() == b.String() }) {
			t.Fatalf("seed %d: %d events\n%v\nwant %d\n%v", seed, len(got), got, len(p.list), p.list)
		}
		durations(t, th)
	}
}

// durations checks the stored durations of sequences against the times of their events.
func durations(t testing.TB, th *Thread) {
	t.Helper()
	values := func(v *Vector) []uint64 {
		l, err := th.Values(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	seen := make([]int, len(th.Sequences))
	next := make([]int, len(th.Events))
	times := make([][]uint64, len(th.Events))
	for i := range th.Events {
		times[i] = values(&th.Events[i].Timestamps)
	}
	var starts, lengths, exclusive [][]uint64
	for i := range th.Sequences {
		x := &th.Sequences[i]
		starts, lengths, exclusive = append(starts, values(&x.Timestamps)), append(lengths, values(&x.Durations)),
			append(exclusive, values(&x.Exclusive))
	}
	// walk returns the times of the first and last event, and the durations of the blocks.
	var walk func(at int) (first, last, blocks uint64)
	walk = func(at int) (first, last, blocks uint64) {
		x := &th.Sequences[at]
		k := seen[at]
		seen[at]++
		any := false
		for _, token := range x.Tokens {
			s, _ := th.step(token)
			for range s.times {
				var a, b, n uint64
				if s.event >= 0 {
					a = times[s.event][next[s.event]]
					b = a
					next[s.event]++
				} else {
					a, b, n = walk(s.sequence)
				}
				if !any {
					first, any = a, true
				}
				last = b
				blocks += n
			}
		}
		want := blocks
		if root := MakeToken(SequenceToken, uint32(at)) == th.Root; root {
			want = 0
		} else if x.Type == BlockSequence {
			want = last - first - blocks
		}
		if starts[at][k] != first || lengths[at][k] != last-first || exclusive[at][k] != want {
			t.Fatalf("occurrence %d of sequence %d begins at %d, lasts %d, %d: want %d, %d, %d", k, at, starts[at][k],
				lengths[at][k], exclusive[at][k], first, last-first, want)
		}
		if x.Type == BlockSequence {
			blocks = last - first
		}
		return first, last, blocks
	}
	if len(th.Events) > 0 {
		walk(0)
	}
}

// TestRecordRegular checks that a regular program becomes few sequences, however long it runs.
func TestRecordRegular(t *testing.T) {
	var list []inputEvent
	time := uint64(0)
	put := func(r Record, n uint32) {
		time += 7
		list = append(list, inputEvent{time: time, record: r, payload: region(n)})
	}
	put(Enter, 0)
	for range 200 {
		for range 10 {
			put(Enter, 1)
			for range 3 {
				put(Generic, 5)
				put(Generic, 6)
			}
			put(Leave, 1)
			put(Enter, 2)
			put(Leave, 2)
		}
		put(Enter, 3)
		put(Leave, 3)
	}
	put(Leave, 0)
	th := recorded(t, list, nil)
	if got := events(t, th); len(got) != len(list) {
		t.Fatalf("%d events, want %d", len(got), len(list))
	}
	if len(th.Sequences) > 9 || len(th.Loops) > 4 {
		t.Errorf("%d sequences and %d loops", len(th.Sequences), len(th.Loops))
		for i, x := range th.Sequences {
			t.Log(i, x.Type, x.Tokens, x.Durations.Size)
		}
		t.Log(th.Loops)
	}
	durations(t, th)
}

// TestRecordUnclosed checks that the recorder keeps leaves that do not nest, calls that do not end, and leaves
// without an enter. Open calls end with the thread.
func TestRecordUnclosed(t *testing.T) {
	effort.Sequential(t)
	list := []inputEvent{{1, Leave, region(1), nil}, {2, Enter, region(1), nil}, {3, Enter, region(2), nil},
		{4, Leave, region(1), nil}, {4, Leave, region(2), nil}, {5, Enter, region(3), nil}, {6, OMPFork, region(2), nil}}
	for _, compatible := range []bool{false, true} {
		th := recorded(t, list, &WriterOptions{Compatible: compatible})
		if got := events(t, th); fmt.Sprint(got) != fmt.Sprint(list) {
			t.Errorf("%v\nwant %v", got, list)
		}
		durations(t, th)
	}
	for seed := range uint64(effort.Rounds(200)) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var list []inputEvent
		for i := range 3 + seed {
			r := []Record{Enter, Leave, Enter, Leave, OMPFork, OMPJoin, ThreadBegin, ThreadEnd}[rng.IntN(8)]
			f := inputEvent{time: i, record: r}
			if r != OMPJoin && r < ThreadBegin {
				f.payload = region(rng.Uint32N(3))
			}
			list = append(list, f)
		}
		th := recorded(t, list, &WriterOptions{Compatible: seed%2 == 0, MaxLoopLength: 1 + int(seed%10)})
		if got := events(t, th); fmt.Sprint(got) != fmt.Sprint(list) {
			t.Fatalf("seed %d: %v\nwant %v", seed, got, list)
		}
		durations(t, th)
	}
}

// TestRecordDeep checks that a leave ends the innermost call of its region and all calls inside of it, at any
// depth, and also after leaves of regions that were not open.
func TestRecordDeep(t *testing.T) {
	for _, deep := range []int{1, 1000} {
		var list []inputEvent
		put := func(r Record, n uint32) { list = append(list, inputEvent{uint64(len(list)), r, region(n), nil}) }
		put(Enter, 5)
		for range deep {
			put(Enter, 0)
		}
		for range deep {
			put(Leave, 9)
		}
		put(Enter, 5)
		put(Enter, 6)
		put(Leave, 5)
		put(Enter, 7)
		put(Leave, 7)
		put(Leave, 5)
		put(Enter, 8)
		put(Leave, 8)
		th := recorded(t, list, nil)
		if got := events(t, th); fmt.Sprint(got) != fmt.Sprint(list) {
			t.Errorf("%d deep: found %v\nexpected %v", deep, got, list)
		}
		durations(t, th)
		if g := newOutline(th); len(th.lists.at(g.root)) != 2 {
			t.Errorf("%d deep: found %v, expected the outer call of region 5 and that of region 8", deep, th.lists.at(g.root))
		}
	}
}

// TestCheckpoint checks that the events up to a checkpoint can be read if the program writes nothing after it.
func TestCheckpoint(t *testing.T) {
	effort.Sequential(t)
	for seed := range uint64(effort.Rounds(30)) {
		p := program{rng: rand.New(rand.NewPCG(seed, 5))}
		for range 6 {
			p.body(5)
		}
		w, err := Create(filepath.Join(t.TempDir(), "main"), nil)
		if err != nil {
			t.Fatal(err)
		}
		w.LocationGroups = []LocationGroup{{ID: 1, Parent: NoRef}}
		r, err := w.Archive(1).Record(0, NoRef)
		if err != nil {
			t.Fatal(err)
		}
		read := func() []inputEvent {
			tr, err := Open(format.FileSource(w.path))
			if err != nil {
				t.Fatal(err)
			}
			a, err := tr.Archive(1)
			if err != nil {
				t.Fatal(err)
			}
			th, err := a.Thread(0)
			if err != nil {
				t.Fatal(err)
			}
			if g := newOutline(th); !g.countsMatch() {
				t.Fatal("the grammar is not sound")
			}
			for i, n := range occurringLoops(th) {
				if l := th.Loops[i]; l.Occurrences != n || n == 0 && l != (Loop{Sequence: NoToken}) {
					t.Fatalf("seed %d: loop %d is %+v; it occurs %d times", seed, i, l, n)
				}
			}
			return events(t, th)
		}
		same := func(got, want []inputEvent) bool {
			return slices.EqualFunc(got, want, func(a, b inputEvent) bool { return a.String() == b.String() })
		}
		for i, f := range p.list {
			if err := r.Record(f.time, f.record, f.payload, f.attributes); err != nil {
				t.Fatal(err)
			}
			if i%(1+len(p.list)/4) == 0 {
				if err := r.Checkpoint(); err != nil {
					t.Fatal(err)
				}
				if err := w.Checkpoint(); err != nil {
					t.Fatal(err)
				}
				if got := read(); !same(got, p.list[:i+1]) {
					t.Fatalf("seed %d: %d events at a checkpoint after %d", seed, len(got), i+1)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := read(); !same(got, p.list) {
			t.Fatalf("seed %d: %d events, want %d", seed, len(got), len(p.list))
		}
	}
}

// occurringLoops counts the occurrences of the loops of a thread: it visits each event of the thread.
func occurringLoops(th *Thread) []uint64 {
	counts := make([]uint64, len(th.Loops))
	var visit func(list []Token)
	visit = func(list []Token) {
		for _, k := range list {
			switch k.Type() {
			case SequenceToken:
				visit(th.Sequences[k.ID()].Tokens)
			case LoopToken:
				counts[k.ID()]++
				for range th.Loops[k.ID()].Iterations {
					visit([]Token{th.Loops[k.ID()].Sequence})
				}
			}
		}
	}
	visit(th.Sequences[0].Tokens)
	return counts
}
