package transform_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/check"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// event is a row in a form that can be compared.
type event struct {
	loc   uint32
	time  int64
	kind  trace.Kind
	ref   uint32
	ops   []uint64
	attrs map[string]string
}

func (e event) String() string {
	return fmt.Sprint(e.loc, " ", e.time, " ", e.kind.Spec().Name, " ", int32(e.ref), e.ops, e.attrs)
}

// began is whether the event is repeated at the begin of a piece.
func (e *event) began() bool { return e.attrs[transform.BeganAttribute] != "" }

// list is the events of a trace, location by location, or in the order of time.
func list(t *testing.T, d format.Events, ordered bool) (out []event, links []trace.Link) {
	t.Helper()
	last := map[uint32]int64{}
	global := int64(math.MinInt64)
	sink := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		if len(links) > 0 {
			t.Error("events behind links")
		}
		for c := b.Cursor(); c.Next(); {
			e := event{loc: c.Location(), time: c.Time(), kind: c.Kind(), ref: c.Ref(), ops: slices.Clone(c.Ops())}
			keys, vals := c.Attrs()
			for i, k := range keys {
				if e.attrs == nil {
					e.attrs = map[string]string{}
				}
				e.attrs[d.Defs().Attributes.At(k).Name] = vals[i].String()
			}
			if l, ok := last[e.loc]; ok && e.time < l || ordered && e.time < global {
				t.Errorf("%v behind %d and %d", e, l, global)
			}
			last[e.loc], global = e.time, e.time
			out = append(out, e)
		}
		return nil
	}, OnLinks: func(l []trace.Link) error {
		links = append(links, l...)
		return nil
	}}
	var err error
	if ordered {
		err = d.Scan(context.Background(), trace.Everything(), format.GlobalOrder, sink)
	} else {
		err = d.Scan(context.Background(), trace.Everything(), format.PerLocation, sink)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out, links
}

// both lists a trace in both ways, which must be the same by location.
func both(t *testing.T, d format.Events) ([]event, []trace.Link) {
	t.Helper()
	a, links := list(t, d, false)
	b, l := list(t, d, true)
	byLocation := func(x, y event) int { return int(x.loc) - int(y.loc) }
	c := slices.Clone(b)
	slices.SortStableFunc(a, byLocation)
	slices.SortStableFunc(c, byLocation)
	if !slices.EqualFunc(a, c, func(x, y event) bool { return reflect.DeepEqual(x, y) }) {
		for i := range a {
			if i >= len(c) || !reflect.DeepEqual(a[i], c[i]) {
				t.Fatalf("scan and ordered scan differ: %v, %v", a[i:min(len(a), i+3)], c[min(i, len(c)):min(len(c), i+3)])
			}
		}
		t.Fatalf("ordered scan has %d more", len(c)-len(a))
	}
	if !reflect.DeepEqual(links, l) {
		t.Fatalf("scan and ordered scan have different links: %v, %v", links, l)
	}
	return b, links
}

// put records the rows of a batch.
func put(r *trace.Recorder, loc uint32, b *trace.Batch) {
	for c := b.Cursor(); c.Next(); {
		var attrs []trace.Attr
		keys, vals := c.Attrs()
		for i, k := range keys {
			attrs = append(attrs, trace.Attr{Key: r.Defs().Attributes.At(k).Name, Value: vals[i]})
		}
		r.Event(loc, c.Time(), c.Kind(), c.Ref(), c.Ops(), attrs...)
	}
}

// source makes decisions for random traces: of a generator, or of a fuzzer's bytes.
type source func(n int) int

func seeded(seed uint64) source {
	r := rand.New(rand.NewPCG(seed, 7))
	return func(n int) int { return r.IntN(n) }
}

func fromBytes(b []byte) source {
	return func(n int) int {
		if len(b) == 0 {
			return 0
		}
		x := int(b[0])
		if len(b) > 1 && n > 256 {
			x = int(binary.LittleEndian.Uint16(b))
			b = b[1:]
		}
		b = b[1:]
		return x % n
	}
}

// random makes a trace with nested and, if wild, contradicting regions, claims, messages
// that arrive in their order, collective operations and links. Lengths of messages are
// unique, so that a wrong partner shows.
func random(pick source, steps int, wild bool) *trace.Recorder {
	r := trace.NewRecorder(trace.Seconds(1000))
	d := r.Defs()
	const procs = 3
	var regions []uint32
	for i := range 4 {
		regions = append(regions, r.Region("r"+fmt.Sprint(i)))
	}
	for i := range procs {
		r.Location("p" + fmt.Sprint(i))
	}
	lane := r.Location("lane")
	d.Resources.Add(trace.Resource{ID: "7", Name: "cpu", Capacity: 4, Location: lane})
	comm := d.Communicator.Add(trace.Communicator{ID: "0", Name: "world", Set: trace.NoRef, Parent: trace.NoRef})
	rows := make([]*trace.Batch, procs+1)
	for i := range rows {
		rows[i] = &trace.Batch{}
		rows[i].Reset(uint32(i))
	}
	type msg struct{ from, to, length, tag int }
	var flying []msg
	var stack [procs][]uint32
	var colls [procs]int
	claims := map[int64]bool{}
	now, length := int64(0), 1
	for range steps {
		now += int64(pick(4))
		p := pick(procs)
		b := rows[p]
		switch pick(9) {
		case 0, 1:
			ref := regions[pick(4)]
			b.Add(0, now, trace.Enter, ref)
			stack[p] = append(stack[p], ref)
		case 2, 3:
			if wild && pick(6) == 0 {
				b.Add(0, now, trace.Leave, regions[pick(4)])
			} else if n := len(stack[p]); n > 0 {
				b.Add(0, now, trace.Leave, stack[p][n-1])
				stack[p] = stack[p][:n-1]
			}
		case 4:
			m := msg{p, pick(procs), length, pick(2)}
			length++
			b.Add(0, now, trace.Send, trace.NoRef)
			b.AddOps(uint64(m.to), uint64(comm), uint64(m.tag), uint64(m.length))
			flying = append(flying, m)
		case 5:
			i := slices.IndexFunc(flying, func(m msg) bool { return m.to == p })
			if i >= 0 {
				m := flying[i]
				flying = slices.Delete(flying, i, i+1)
				b.Add(0, now, trace.Recv, trace.NoRef)
				b.AddOps(uint64(m.from), uint64(comm), uint64(m.tag), uint64(m.length))
			}
		case 6:
			if colls[p] == 0 {
				b.Add(0, now, trace.CollectiveBegin, trace.NoRef)
				colls[p]++
			} else {
				b.Add(0, now, trace.CollectiveEnd, trace.NoRef)
				b.AddOps(1, uint64(comm), 0, 5, 6)
				colls[p]--
			}
		case 7:
			id := int64(pick(12))
			b = rows[procs]
			if claims[id] {
				b.Add(0, now, trace.ClaimEnd, regions[id%4])
				b.AddOps(uint64(id), 0)
				delete(claims, id)
			} else if wild || !claims[id+100] {
				b.Add(0, now, trace.ClaimBegin, regions[id%4])
				b.AddOps(uint64(id), 0, math.Float64bits(2), 0)
				claims[id], claims[id+100] = true, true
			}
		case 8:
			b.Add(0, now, trace.Comment, trace.NoRef)
		}
	}
	for i, b := range rows {
		put(r, uint32(i), b)
	}
	return r
}

type cell struct{ inclusive, exclusive, count int64 }

// profiled sums up a trace by region and activity.
func profiled(t *testing.T, d format.Events) map[string]cell {
	t.Helper()
	p := profile.New(d.Defs(), profile.Options{})
	if err := d.Scan(context.Background(), trace.Everything(), format.PerLocation, p); err != nil {
		t.Fatal(err)
	}
	x := p.Result()
	out := map[string]cell{}
	for _, r := range x.Regions {
		out[r.Name] = cell{r.Inclusive.Int64(), r.Exclusive.Int64(), r.Count}
	}
	for _, a := range x.Activities {
		out["claims of "+a.Name] = cell{a.Time.Int64(), 0, a.Count}
	}
	return out
}

// Pieces that follow each other have together the times of the whole, and the counts
// without what is repeated; what is repeated finds its end; messages find their partners.
func pieces(t *testing.T, r *trace.Recorder, cuts []int64) {
	whole := format.Recorded(r)
	want := profiled(t, whole)
	all, _ := list(t, whole, true)
	sum := map[string]cell{}
	events := 0
	for i := range len(cuts) + 1 {
		w := trace.Window{From: math.MinInt64, To: math.MaxInt64}
		if i > 0 {
			w.From = cuts[i-1]
		}
		if i < len(cuts) {
			w.To = cuts[i]
		}
		piece := transform.Cut(format.Recorded(r), w)
		list, _ := both(t, piece)
		again := map[string]int64{}
		for _, e := range list {
			if e.time < w.From || e.time >= w.To && e.attrs[transform.EndsAttribute] == "" {
				t.Errorf("%v outside of %v", e, w)
			}
			switch {
			case e.began() && e.kind == trace.Enter:
				again[r.Defs().Regions.At(e.ref).Name]++
			case e.began() && e.kind == trace.ClaimBegin:
				again["claims of "+r.Defs().Regions.At(e.ref).Name]++
			}
			if !e.began() && e.attrs[transform.EndsAttribute] == "" {
				events++
			}
		}
		for name, c := range profiled(t, piece) {
			x := sum[name]
			sum[name] = cell{x.inclusive + c.inclusive, x.exclusive + c.exclusive, x.count + c.count - again[name]}
		}
		m := messages.New(r.Defs(), messages.Options{})
		if err := piece.Scan(context.Background(), trace.Everything(), format.GlobalOrder, m); err != nil {
			t.Fatal(err)
		}
		if x := m.Result(); x.SizeMismatches > 0 || x.ReceivesUnmatched > 0 {
			t.Errorf("%v: %d messages of another size, %d receives without send", w, x.SizeMismatches, x.ReceivesUnmatched)
		}
	}
	for _, m := range []map[string]cell{sum, want} {
		maps.DeleteFunc(m, func(_ string, c cell) bool { return c == cell{} })
	}
	if !reflect.DeepEqual(sum, want) {
		t.Errorf("pieces at %v: found %v, expected %v", cuts, sum, want)
	}
	if events != len(all) {
		t.Errorf("pieces at %v: found %d events that are not repeated, expected %d", cuts, events, len(all))
	}
}

func TestPieces(t *testing.T) {
	for seed := range uint64(300) {
		pick := seeded(seed)
		r := random(pick, 20+pick(200), seed%2 == 1)
		var cuts []int64
		for range 1 + pick(4) {
			cuts = append(cuts, int64(pick(350)))
		}
		slices.Sort(cuts)
		pieces(t, r, cuts)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// Bare pieces have the events of their windows, no more and no less.
func TestBare(t *testing.T) {
	r := random(seeded(4), 300, true)
	all, _ := list(t, format.Recorded(r), true)
	for from := int64(0); from < 400; from += 57 {
		w := trace.Window{From: from, To: from + 90}
		got, _ := both(t, transform.Bare(format.Recorded(r), w))
		var want []event
		for _, e := range all {
			if e.time >= w.From && e.time < w.To {
				want = append(want, e)
			}
		}
		if !slices.EqualFunc(got, want, func(x, y event) bool { return reflect.DeepEqual(x, y) }) {
			t.Errorf("%v: found %d events, expected %d", w, len(got), len(want))
		}
	}
}

func FuzzPieces(f *testing.F) {
	f.Add([]byte("some bytes to begin with, which make enters, leaves and messages"), uint16(10), uint16(40))
	f.Fuzz(func(t *testing.T, b []byte, x, y uint16) {
		if len(b) > 2000 {
			return
		}
		cuts := []int64{int64(min(x, y)) % 1000, int64(max(x, y)) % 1000}
		slices.Sort(cuts)
		pieces(t, random(fromBytes(b), len(b)/3, true), cuts)
	})
}

// A filtered trace's profile is what a slow look at the whole one says.
func filtered(t *testing.T, r *trace.Recorder, pick source) {
	regions, short, depth := pick(16), int64(pick(6)), pick(4)
	wanted := func(ref uint32) bool { return regions>>(ref%4)&1 == 1 }
	d := transform.Filter(format.Recorded(r), transform.Wanted{Region: wanted, MinDuration: short, MaxDepth: depth})
	list_, _ := both(t, d)

	// A slow second opinion: which rows stay.
	all, _ := list(t, format.Recorded(r), false)
	keep := make([]bool, len(all))
	type visit struct {
		row  int
		kept bool
	}
	open := map[uint32][]visit{}
	claims := map[uint64]int{}
	for i, e := range all {
		ok := e.ref == trace.NoRef || wanted(e.ref)
		switch e.kind {
		case trace.Enter:
			n := 0
			for _, v := range open[e.loc] {
				if v.kept {
					n++
				}
			}
			keep[i] = ok && (depth == 0 || n < depth)
			open[e.loc] = append(open[e.loc], visit{i, keep[i]})
		case trace.Leave:
			l := open[e.loc]
			j := len(l) - 1
			for j >= 0 && all[l[j].row].ref != e.ref {
				j--
			}
			if j < 0 {
				keep[i] = ok
				break
			}
			if short > 0 && e.time-all[l[j].row].time < short {
				keep[l[j].row] = false
			}
			keep[i] = keep[l[j].row]
			open[e.loc] = slices.Delete(l, j, j+1)
		case trace.ClaimBegin:
			keep[i] = ok
			claims[e.ops[0]] = i
		case trace.ClaimEnd:
			j, begun := claims[e.ops[0]]
			if !begun {
				keep[i] = ok
				break
			}
			delete(claims, e.ops[0])
			if short > 0 && e.time-all[j].time < short {
				keep[j] = false
			}
			keep[i] = keep[j]
		default:
			keep[i] = ok
		}
	}
	var want []event
	for i, e := range all {
		if keep[i] {
			want = append(want, e)
		}
	}
	slices.SortStableFunc(list_, func(a, b event) int { return int(a.loc) - int(b.loc) })
	if !slices.EqualFunc(list_, want, func(x, y event) bool { return reflect.DeepEqual(x, y) }) {
		t.Fatalf("filter of regions %b, shorter than %d, deeper than %d: found %v, expected %v", regions, short, depth, list_, want)
	}
}

func TestFilter(t *testing.T) {
	for seed := range uint64(400) {
		pick := seeded(seed)
		filtered(t, random(pick, 20+pick(300), seed%2 == 1), pick)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add([]byte("some bytes to begin with, which make enters, leaves and messages"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 2000 {
			return
		}
		pick := fromBytes(b)
		filtered(t, random(pick, len(b)/3, true), pick)
	})
}

// Begins and ends are kept, and left away, together.
func TestFilterKinds(t *testing.T) {
	r := random(seeded(3), 300, false)
	count := func(w transform.Wanted) map[trace.Kind]int {
		n := map[trace.Kind]int{}
		list, _ := both(t, transform.Filter(format.Recorded(r), w))
		for _, e := range list {
			n[e.kind]++
		}
		return n
	}
	is := func(k trace.Kind) func(trace.Kind) bool { return func(o trace.Kind) bool { return o == k } }
	all := count(transform.Wanted{})
	if n := count(transform.Wanted{Kind: is(trace.Leave)}); len(n) != 2 || n[trace.Enter] != all[trace.Enter] || n[trace.Leave] != all[trace.Leave] {
		t.Errorf("kind leave: found %v, expected enters and leaves of %v", n, all)
	}
	n := count(transform.Wanted{NotKind: is(trace.Enter)})
	delete(all, trace.Enter)
	delete(all, trace.Leave)
	if !maps.Equal(n, all) {
		t.Errorf("not kind enter: found %v, expected %v", n, all)
	}
}

// Exclusive times of a filtered trace are those of the whole, with the time of what was
// left away given to what is around it.
func TestFilterGivesTimeToParent(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1000))
	loc := r.Location("p")
	a, b, c := r.Region("a"), r.Region("b"), r.Region("c")
	batch := &trace.Batch{}
	for _, x := range []struct {
		t   int64
		k   trace.Kind
		ref uint32
	}{{0, trace.Enter, a}, {10, trace.Enter, b}, {15, trace.Enter, c}, {40, trace.Leave, c}, {50, trace.Leave, b}, {100, trace.Leave, a}} {
		batch.Add(loc, x.t, x.k, x.ref)
	}
	put(r, loc, batch)
	d := transform.Filter(format.Recorded(r), transform.Wanted{Region: func(ref uint32) bool { return ref != b }})
	want := map[string]cell{"a": {100, 75, 1}, "c": {25, 25, 1}}
	if got := profiled(t, d); !reflect.DeepEqual(got, want) {
		t.Errorf("found %v, expected %v", got, want)
	}
}

// A region and a calling context with the same number are not taken for each other.
func TestFilterContexts(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1000))
	loc, a := r.Location("p"), r.Region("a")
	r.Defs().Contexts.Add(trace.Named{ID: "0", Name: "context"})
	b := &trace.Batch{}
	for i, k := range []trace.Kind{trace.Enter, trace.ContextEnter, trace.Leave, trace.ContextLeave} {
		b.Add(loc, int64(i), k, a)
	}
	put(r, loc, b)
	list, _ := both(t, transform.Filter(format.Recorded(r), transform.Wanted{Region: func(uint32) bool { return false }}))
	if len(list) != 2 || list[0].kind != trace.ContextEnter || list[1].kind != trace.ContextLeave {
		t.Errorf("found %v, expected the visit of the context", list)
	}
}

// A communicator's events go with the begins of its collective operations.
func TestFilterCommunicator(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1000))
	loc := r.Location("p")
	d := r.Defs()
	for _, name := range []string{"world", "row"} {
		d.Communicator.Add(trace.Communicator{ID: name, Name: name, Set: trace.NoRef, Parent: trace.NoRef})
	}
	b := &trace.Batch{}
	for i, comm := range []uint64{0, 1, 0} {
		b.Add(loc, int64(10*i), trace.CollectiveBegin, trace.NoRef)
		b.Add(loc, int64(10*i+5), trace.CollectiveEnd, trace.NoRef)
		b.AddOps(1, comm, 0, 0, 0)
	}
	b.Add(loc, 40, trace.SendBegin, trace.NoRef)
	b.AddOps(0, 1, 0, 4, 77)
	b.Add(loc, 41, trace.SendComplete, trace.NoRef)
	b.AddOps(77)
	for i, comm := range []uint64{0, 1} {
		b.Add(loc, int64(50+i), trace.RecvBegin, trace.NoRef)
		b.AddOps(uint64(5 + i))
		b.Add(loc, int64(60+i), trace.RecvComplete, trace.NoRef)
		b.AddOps(0, comm, 0, 4, uint64(5+i))
	}
	put(r, loc, b)
	list, _ := both(t, transform.Filter(format.Recorded(r), transform.Wanted{Communicator: func(c uint32) bool { return c == 0 }}))
	var times []int64
	for _, e := range list {
		times = append(times, e.time)
	}
	if !slices.Equal(times, []int64{0, 5, 20, 25, 50, 60}) {
		t.Errorf("found events at %v, expected those at 0, 5, 20, 25, 50 and 60", times)
	}
}

// Repaired traces have no defects, repairing them again changes nothing, and sound ones
// stay as they are.
func repaired(t *testing.T, r *trace.Recorder, how transform.Repairing) {
	mend := func(d format.Events) (format.Events, *format.Report) {
		rep := format.NewReport()
		how.Report = rep
		return transform.Repair(d, how), rep
	}
	d, changes := mend(format.Recorded(r))
	list, _ := both(t, d)
	rep := format.NewReport()
	c := check.New(d.Defs(), "x", &format.ReadOptions{Report: rep})
	if err := d.Scan(context.Background(), trace.Everything(), format.PerLocation, c); err != nil {
		t.Fatal(err)
	}
	if err := c.Finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, x := range rep.Rules() {
		switch x.Rule {
		case "trace.leave-without-enter", "trace.enter-without-leave", "trace.claim-end-without-begin", "trace.claim-without-end", "trace.time-order":
			t.Errorf("after repair: %d of %s: %v", x.Count, x.Rule, x.First[0])
		}
	}
	e, none := mend(d)
	again, _ := both(t, e)
	if len(none.Rules()) > 0 || !reflect.DeepEqual(list, again) {
		t.Errorf("repair of a repaired trace: %v", none.Rules())
	}
	before, _ := both(t, format.Recorded(r))
	if len(changes.Rules()) == 0 && !reflect.DeepEqual(before, list) {
		t.Error("changed without a word")
	}
	open := map[uint32][]uint32{}
	for _, e := range list {
		switch l := open[e.loc]; e.kind {
		case trace.Enter:
			open[e.loc] = append(l, e.ref)
		case trace.Leave:
			if how.Nest && l[len(l)-1] != e.ref {
				t.Errorf("%v leaves what is not innermost", e)
			}
			i := len(l) - 1
			for l[i] != e.ref {
				i--
			}
			open[e.loc] = slices.Delete(l, i, i+1)
		}
	}
}

func TestRepair(t *testing.T) {
	for seed := range uint64(300) {
		pick := seeded(seed)
		repaired(t, random(pick, 20+pick(200), true), transform.Repairing{Enter: seed%3 == 0, Nest: seed%2 == 0})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzRepair(f *testing.F) {
	f.Add([]byte("some bytes to begin with, which make enters, leaves and messages"), true, false)
	f.Fuzz(func(t *testing.T, b []byte, enter, nest bool) {
		if len(b) > 2000 {
			return
		}
		repaired(t, random(fromBytes(b), len(b)/3, true), transform.Repairing{Enter: enter, Nest: nest})
	})
}

// Corrected traces are in order, and what they have is at the times of the curves.
func TestCorrect(t *testing.T) {
	for seed := range uint64(60) {
		pick := seeded(seed)
		r := random(pick, 200, false)
		c := &transform.Correction{Clock: trace.Seconds(1000), Locations: map[string]transform.Curve{}}
		for i := range 3 {
			c.Locations[r.Defs().Locations.At(uint32(i)).ID] = transform.Curve{{Read: 0, True: int64(pick(100) - 50)}, {Read: 300, True: int64(60 + pick(500))}}
		}
		for _, streams := range []bool{false, true} {
			var inner format.Events = format.Recorded(r)
			if !streams {
				inner = struct{ format.Events }{inner} // without its streams
			}
			d, err := transform.Correct(inner, c, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := both(t, d)
			slices.SortStableFunc(got, func(a, b event) int { return int(a.loc) - int(b.loc) })
			want, _ := list(t, format.Recorded(r), false)
			for i := range want {
				want[i].time = c.Locations[r.Defs().Locations.At(want[i].loc).ID].At(want[i].time)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: found %v, expected %v", seed, got[:4], want[:4])
			}
		}
	}
	r := random(seeded(1), 20, false)
	if _, err := transform.Correct(format.Recorded(r), &transform.Correction{Clock: trace.Seconds(999)}, 0); err == nil {
		t.Error("a correction for another clock is taken")
	}
	if _, err := transform.Correct(format.Recorded(r), &transform.Correction{Clock: trace.Seconds(1000), Locations: map[string]transform.Curve{"nobody": nil}}, 0); err == nil {
		t.Error("a correction for other locations is taken")
	}
}

// Merged traces have the events of all, in the order of time, at the times that were
// asked for.
func TestMerge(t *testing.T) {
	ctx := context.Background()
	a, b := random(seeded(1), 300, false), random(seeded(2), 300, true)
	b.Defs().Clock = trace.Seconds(1500)
	for _, unify := range []bool{false, true} {
		m, err := transform.Merge(ctx, []format.Events{format.Recorded(a), format.Recorded(b)}, transform.Merging{Unify: unify, Zero: []int64{100, 30}})
		if err != nil {
			t.Fatal(err)
		}
		if c := m.Defs().Clock; c.Num != 3000 || c.Den != 1 {
			t.Errorf("found a clock of %d/%d ticks, expected 3000/1", c.Num, c.Den)
		}
		got, _ := both(t, m)
		locations := 8
		if unify {
			locations = 4
		}
		if n := m.Defs().Locations.Len(); n != locations {
			t.Errorf("unify %v: found %d locations, expected %d", unify, n, locations)
		}
		if n := m.Defs().Regions.Len(); n != 4 {
			t.Errorf("found %d regions, expected the 4 that are in both", n)
		}
		ids := map[string]bool{}
		for _, l := range m.Defs().Locations.All() {
			if ids[l.ID] {
				t.Errorf("two locations %s", l.ID)
			}
			ids[l.ID] = true
		}
		first, _ := list(t, format.Recorded(a), true)
		second, _ := list(t, format.Recorded(b), true)
		var want []string
		add := func(l []event, scale, zero int64, by uint32, number uint64) {
			for _, e := range l {
				if !unify {
					e.loc += by
				}
				e.time = (e.time-zero)*scale + 300
				switch e.kind {
				case trace.Send, trace.Recv:
					if !unify {
						e.ops[0] += uint64(by)
						e.ops[1] += uint64(by / 4)
					}
				case trace.CollectiveEnd:
					if !unify {
						e.ops[1] += uint64(by / 4)
					}
				case trace.ClaimBegin, trace.ClaimEnd:
					e.ops[0] = e.ops[0]*2 + number
					if !unify {
						e.ops[1] += uint64(by / 4)
					}
				}
				want = append(want, e.String())
			}
		}
		add(first, 3, 100, 0, 0)
		add(second, 2, 30, 4, 1)
		var found []string
		for _, e := range got {
			found = append(found, e.String())
		}
		slices.Sort(want)
		slices.Sort(found)
		if !slices.Equal(found, want) {
			t.Errorf("unify %v: the events differ: found %v …, expected %v …", unify, found[:3], want[:3])
		}
		if m.Rounded != 0 {
			t.Errorf("%d times were rounded", m.Rounded)
		}
	}
}

// By the wall clock each event has the time that it has on the first trace's clock, exactly, however
// coarse the clocks are.
func TestMergeByWallClock(t *testing.T) {
	const minute = 60
	one := func(c trace.Clock, at, epoch int64) format.Events {
		c.Epoch, c.HasEpoch = epoch, true
		r := trace.NewRecorder(c)
		r.Mark(r.Location("x"), at, trace.NoRef)
		return format.Recorded(r)
	}
	const ms = 1_000_000
	for _, x := range []struct {
		name        string
		a, b        format.Events
		num, den    int64 // the second trace's event in seconds
		rate, every int64 // ticks in so many seconds
	}{
		{"tenths", one(trace.Seconds(1), 1, 1500*ms), one(trace.Seconds(1), 1, 1100*ms), 6, 10, 5, 1},
		{"minutes", one(trace.Seconds(1), 1, 5000*ms), one(trace.Clock{Num: 1, Den: minute}, 1, 2000*ms), 57, 1, 1, 1},
		{"both minutes", one(trace.Clock{Num: 1, Den: minute, Unit: 1}, 2, 5000*ms), one(trace.Clock{Num: 1, Den: minute, Unit: 1}, 1, 2000*ms), 57, 1, 1, 3},
		{"seconds apart", one(trace.Seconds(1000), 1, 1000*ms), one(trace.Seconds(1500), 30, 3000*ms), 2020, 1000, 3000, 1},
		{"equal", one(trace.Seconds(1), 1, 5*ms), one(trace.Seconds(1), 4, 5*ms), 4, 1, 1, 1},
		{"years apart", one(trace.Seconds(1), 1, 0), one(trace.Seconds(1), 4, 1_000_000_000_000*ms), 1_000_000_004, 1, 1, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			m, err := transform.Merge(t.Context(), []format.Events{x.a, x.b}, transform.Merging{Wall: true})
			if err != nil {
				t.Fatal(err)
			}
			var at int64
			err = m.Scan(t.Context(), trace.Events(), format.PerLocation, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				at = b.Time[len(b.Time)-1]
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			c := m.Defs().Clock
			if at*c.Den*x.den != x.num*c.Num || m.Rounded != 0 {
				t.Errorf("found %d ticks of %d/%d s, %d rounded; expected %d/%d s", at, c.Den, c.Num, m.Rounded, x.num, x.den)
			}
			if c.Num != x.rate || c.Den != x.every {
				t.Errorf("found a clock of %d/%d ticks, expected %d/%d", c.Num, c.Den, x.rate, x.every)
			}
		})
	}
	// 10^15 ticks a second and a year: 3·10^22 ticks.
	if _, err := transform.Merge(t.Context(), []format.Events{one(trace.Seconds(1e15), 1, 0), one(trace.Seconds(1), 1, 31_536_000_000*ms)}, transform.Merging{Wall: true}); err == nil {
		t.Error("two traces are merged on a clock that cannot count the time between them")
	}
}

// An early end of a merged scan leaves nothing behind.
func TestMergeStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var all []format.Events
	for i := range 5 {
		all = append(all, format.Recorded(random(seeded(uint64(i)), 500, false)))
	}
	m, err := transform.Merge(ctx, all, transform.Merging{})
	if err != nil {
		t.Fatal(err)
	}
	stop := fmt.Errorf("enough")
	err = m.Scan(ctx, trace.Everything(), format.GlobalOrder, format.SinkFuncs{OnBatch: func(*trace.Batch) error { return stop }})
	if err != stop {
		t.Errorf("found %v, expected the sink's error", err)
	}
	cancel()
	if err := m.Scan(ctx, trace.Everything(), format.GlobalOrder, format.SinkFuncs{}); err == nil {
		t.Error("a cancelled scan succeeds")
	}
}

// No name of the trace is left, but for those that are kept.
func TestAnonymize(t *testing.T) {
	r := trace.NewRecorder(trace.Clock{Num: 1000, Den: 1, Epoch: 5, HasEpoch: true})
	d := r.Defs()
	loc := r.Location("secret host")
	region := r.Region("secret_solve")
	mpi := r.Region("MPI_Send")
	d.Groups.Add(trace.LocationGroup{ID: "0", Name: "secret node", Kind: "secret kind", Parent: trace.NoRef})
	d.Properties.Add(trace.Attr{Key: "path", Value: trace.StringValue("/secret/path")})
	d.Strings.Add("secret text")
	d.Opaque.Add(trace.Opaque{Format: "x", Data: "secret record"})
	d.Files.Add(trace.Named{ID: "0", Name: "/secret/file", Attrs: []trace.Attr{{Key: "host", Value: trace.StringValue("secret host")}}})
	key := d.Attributes.Add(trace.AttributeDef{Name: "note", Type: trace.String, Doc: "secret doc"})
	b := &trace.Batch{}
	b.Add(loc, 1, trace.Enter, region)
	b.AddAttr(key, trace.StringValue("secret_solve"))
	b.Add(loc, 2, trace.Enter, mpi)
	b.AddAttr(key, trace.StringValue("42"))
	put(r, loc, b)
	var names []string
	x := transform.Anonymize(format.Recorded(r), transform.Anonymizing{
		Keep:     func(s string) bool { return strings.HasPrefix(s, "MPI_") },
		Replaced: func(name, by string) { names = append(names, by+" = "+name) },
	})
	if err := x.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	list, _ := both(t, x)
	n := x.Defs()
	text := fmt.Sprint(n.Locations.All(), n.Groups.All(), n.Regions.All(), n.Properties.All(), n.Strings.All(), n.Opaque.All(), n.Files.All(), n.Attributes.All(), list)
	if strings.Contains(text, "secret") {
		t.Error(text)
	}
	if n.Clock.HasEpoch || n.Regions.At(1).Name != "MPI_Send" || list[1].attrs["note"] != "42" {
		t.Error("the time of day is kept, or what may be known is not:", text)
	}
	if got := list[0].attrs["note"]; got != n.Regions.At(0).Name {
		t.Errorf("the same name becomes %q and %q", got, n.Regions.At(0).Name)
	}
	if !slices.Contains(names, "region 1 = secret_solve") {
		t.Error("not in the table:", names)
	}
}

// Definitions that nothing refers to go, and only they.
func TestPrune(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1000))
	d := r.Defs()
	r.Location("idle")
	busy, peer := r.Location("busy"), r.Location("peer")
	r.Region("unused")
	used := r.Region("used")
	b := &trace.Batch{}
	b.Add(busy, 1, trace.Enter, used)
	b.Add(busy, 2, trace.Send, trace.NoRef)
	b.AddOps(uint64(peer), trace.Undefined, 0, 1)
	put(r, busy, b)
	x, err := transform.Prune(context.Background(), format.Recorded(r), transform.PruneAll)
	if err != nil {
		t.Fatal(err)
	}
	list, _ := both(t, x)
	if n := x.Defs(); n.Locations.Len() != 2 || n.Locations.At(0).Name != "busy" || n.Locations.At(1).Name != "peer" || n.Regions.Len() != 1 || n.Regions.At(0).Name != "used" {
		t.Errorf("found locations %v and regions %v", n.Locations.All(), n.Regions.All())
	}
	if len(list) != 2 || list[0].loc != 0 || list[0].ref != 0 || list[1].ops[0] != 1 {
		t.Errorf("found %v", list)
	}
	if d.Locations.Len() != 3 {
		t.Error("the trace itself has changed")
	}
}
