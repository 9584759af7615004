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

// event holds the fields of an event by which tests compare events.
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

// began reports whether the event is repeated at the begin of a piece.
func (e *event) began() bool { return e.attrs[transform.BeganAttribute] != "" }

// list returns the events of a trace, and its links. The events are in time order if ordered is set, and
// otherwise by location.
func list(t *testing.T, d format.Events, ordered bool) (out []event, links []trace.Link) {
	t.Helper()
	last := map[uint32]int64{}
	global := int64(math.MinInt64)
	sink := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		if len(links) > 0 {
			t.Error("events after links")
		}
		c := b.Cursor()
		for c.Next() {
			e := event{loc: c.Location(), time: c.Time(), kind: c.Kind(), ref: c.Ref(), ops: slices.Clone(c.Ops())}
			keys, vals := c.Attrs()
			for i, k := range keys {
				if e.attrs == nil {
					e.attrs = map[string]string{}
				}
				e.attrs[d.Defs().Attributes.At(k).Name] = vals[i].String()
			}
			if l, ok := last[e.loc]; ok && e.time < l || ordered && e.time < global {
				t.Errorf("%v after %d and %d", e, l, global)
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

// listBoth returns the events of a trace by location. It checks that a scan in time order delivers the same
// events.
func listBoth(t *testing.T, d format.Events) ([]event, []trace.Link) {
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

// put records the rows of a batch at a location.
func put(r *trace.Recorder, loc uint32, b *trace.Batch) {
	c := b.Cursor()
	for c.Next() {
		var attrs []trace.Attr
		keys, vals := c.Attrs()
		for i, k := range keys {
			attrs = append(attrs, trace.Attr{Key: r.Defs().Attributes.At(k).Name, Value: vals[i]})
		}
		r.Event(loc, c.Time(), c.Kind(), c.Ref(), c.Ops(), attrs...)
	}
}

// chooser returns a number below n, from a generator or from a fuzzer's bytes, for decisions in
// random traces.
type chooser func(n int) int

func seeded(seed uint64) chooser {
	r := rand.New(rand.NewPCG(seed, 7))
	return func(n int) int { return r.IntN(n) }
}

func fromBytes(b []byte) chooser {
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

// randomTrace returns a trace with nested and, if wild is set, contradicting regions, claims,
// messages that arrive in order, collective operations and links. All messages have different
// lengths, so that a wrong partner is detected.
func randomTrace(pick chooser, steps int, wild bool) *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
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

// cell holds the sums of a region or activity.
type cell struct{ inclusive, exclusive, count int64 }

// profiled returns the sums of a trace by region and activity.
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

// checkPieces checks consecutive pieces of a trace. Together they must have the times of the whole
// trace and, without repeated events, its counts. Repeated events must find their ends, and
// messages their partners.
func checkPieces(t *testing.T, r *trace.Recorder, cuts []int64) {
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
		list, _ := listBoth(t, piece)
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
		r := randomTrace(pick, 20+pick(200), seed%2 == 1)
		var cuts []int64
		for range 1 + pick(4) {
			cuts = append(cuts, int64(pick(350)))
		}
		slices.Sort(cuts)
		checkPieces(t, r, cuts)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestSelectWindow checks that a trace from SelectWindow has exactly the events of its window.
func TestSelectWindow(t *testing.T) {
	r := randomTrace(seeded(4), 300, true)
	all, _ := list(t, format.Recorded(r), true)
	for from := int64(0); from < 400; from += 57 {
		w := trace.Window{From: from, To: from + 90}
		got, _ := listBoth(t, transform.SelectWindow(format.Recorded(r), w))
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
		checkPieces(t, randomTrace(fromBytes(b), len(b)/3, true), cuts)
	})
}

// checkRepaired checks that a repaired trace has no defects, that repairing it again changes nothing, and that
// repairing does not change a consistent trace.
func checkRepaired(t *testing.T, r *trace.Recorder, how transform.RepairOptions) {
	mend := func(d format.Events) (format.Events, *format.Report) {
		rep := format.NewReport()
		how.Report = rep
		return transform.Repair(d, how), rep
	}
	d, changes := mend(format.Recorded(r))
	list, _ := listBoth(t, d)
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
		case "trace.leave-without-enter", "trace.enter-without-leave", "trace.claim-end-without-begin",
			"trace.claim-without-end", "trace.time-order":
			t.Errorf("after repair: %d of %s: %v", x.Count, x.Rule, x.First[0])
		}
	}
	e, none := mend(d)
	again, _ := listBoth(t, e)
	if len(none.Rules()) > 0 || !reflect.DeepEqual(list, again) {
		t.Errorf("repair of a repaired trace: %v", none.Rules())
	}
	before, _ := listBoth(t, format.Recorded(r))
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
		checkRepaired(t, randomTrace(pick, 20+pick(200), true),
			transform.RepairOptions{Enter: seed%3 == 0, Nest: seed%2 == 0})
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
		checkRepaired(t, randomTrace(fromBytes(b), len(b)/3, true), transform.RepairOptions{Enter: enter, Nest: nest})
	})
}

// TestCorrect checks that the events of a corrected trace are in order, at the times that the
// curves determine.
func TestCorrect(t *testing.T) {
	for seed := range uint64(60) {
		pick := seeded(seed)
		r := randomTrace(pick, 200, false)
		c := &transform.Correction{Clock: trace.TicksPerSecond(1000), Locations: map[string]transform.Curve{}}
		for i := range 3 {
			c.Locations[r.Defs().Locations.At(uint32(i)).ID] = transform.Curve{{Read: 0, True: int64(pick(100) - 50)},
				{Read: 300, True: int64(60 + pick(500))}}
		}
		for _, streams := range []bool{false, true} {
			var inner format.Events = format.Recorded(r)
			if !streams {
				inner = struct{ format.Events }{inner} // this hides the method Streams
			}
			d, err := transform.Correct(inner, c, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := listBoth(t, d)
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
	r := randomTrace(seeded(1), 20, false)
	other := trace.TicksPerSecond(999)
	if _, err := transform.Correct(format.Recorded(r), &transform.Correction{Clock: other}, 0); err == nil {
		t.Error("a correction for another clock is taken")
	}
	if _, err := transform.Correct(format.Recorded(r),
		&transform.Correction{Clock: trace.TicksPerSecond(1000), Locations: map[string]transform.Curve{"nobody": nil}},
		0); err == nil {
		t.Error("a correction for other locations is taken")
	}
}

// TestCorrectSnapshots checks the original times of a snapshot. In a cut piece they lie before the first event, so that
// a correction can move them before 0.
func TestCorrectSnapshots(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, region := r.Location("a"), r.Region("f")
	b := &trace.Batch{}
	for _, original := range []uint64{120, 30} {
		b.Add(loc, 150, trace.EnterSnapshot, region)
		b.AddOps(original)
	}
	put(r, loc, b)
	d, err := transform.Correct(format.Recorded(r), &transform.Correction{Clock: trace.TicksPerSecond(1000),
		Locations: map[string]transform.Curve{r.Defs().Locations.At(loc).ID: {{Read: 0, True: -100}}}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := listBoth(t, d)
	if len(got) != 2 || got[0].time != 50 || got[0].ops[0] != 20 || got[1].ops[0] != 0 {
		t.Errorf("found %v", got)
	}
}

// TestAnonymize checks that no name of the trace remains, except the names to keep.
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
	d.Files.Add(trace.Named{ID: "0", Name: "/secret/file",
		Attrs: []trace.Attr{{Key: "host", Value: trace.StringValue("secret host")}}})
	// The name of a calling context of OTF2 names a source file and a line. OTF2 does not restrict names of files.
	d.Contexts.Add(trace.Named{ID: "0", Name: "MPI_Send@secret.c:12"})
	d.Contexts.Add(trace.Named{ID: "1", Name: "MPI_user@home",
		Attrs: []trace.Attr{{Key: "parent", Value: trace.StringValue("MPI_Send@secret.c:12")}}})
	d.Contexts.Add(trace.Named{ID: "2", Name: `MPI_Send@C:\secret\solver@home.c:12`})
	d.Contexts.Add(trace.Named{ID: "3", Name: "MPI_Send@secret.c:-1"})
	key := d.Attributes.Add(trace.AttributeDef{Name: "note", Type: trace.String, Doc: "secret doc"})
	b := &trace.Batch{}
	b.Add(loc, 1, trace.Enter, region)
	b.AddAttr(key, trace.StringValue("secret_solve"))
	b.Add(loc, 2, trace.Enter, mpi)
	b.AddAttr(key, trace.StringValue("42"))
	put(r, loc, b)
	var names []string
	x := transform.Anonymize(format.Recorded(r), transform.AnonymizeOptions{
		Keep:     func(s string) bool { return strings.HasPrefix(s, "MPI_") },
		Replaced: func(name, by string) { names = append(names, by+" = "+name) },
	})
	if err := x.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	list, _ := listBoth(t, x)
	n := x.Defs()
	text := fmt.Sprint(n.Locations.All(), n.Groups.All(), n.Regions.All(), n.Properties.All(), n.Strings.All(),
		n.Opaque.All(), n.Files.All(), n.Attributes.All(), n.Contexts.All(), list)
	if strings.Contains(text, "secret") {
		t.Error(text)
	}
	if n.Clock.HasEpoch || n.Regions.At(1).Name != "MPI_Send" || list[1].attrs["note"] != "42" {
		t.Error("the time of day is kept, or what may be known is not:", text)
	}
	for i, want := range []string{"MPI_Send", "MPI_user@home", "MPI_Send", "MPI_Send"} {
		if got := n.Contexts.At(uint32(i)).Name; got != want {
			t.Errorf("calling context %d is %q, expected %q", i, got, want)
		}
	}
	if got := list[0].attrs["note"]; got != n.Regions.At(0).Name {
		t.Errorf("the same name becomes %q and %q", got, n.Regions.At(0).Name)
	}
	if !slices.Contains(names, "region 1 = secret_solve") {
		t.Error("not in the table:", names)
	}
}

// TestPrune checks that exactly the definitions without references are removed.
func TestPrune(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
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
	list, _ := listBoth(t, x)
	if n := x.Defs(); n.Locations.Len() != 2 || n.Locations.At(0).Name != "busy" || n.Locations.At(1).Name != "peer" ||
		n.Regions.Len() != 1 || n.Regions.At(0).Name != "used" {
		t.Errorf("found locations %v and regions %v", n.Locations.All(), n.Regions.All())
	}
	if len(list) != 2 || list[0].loc != 0 || list[0].ref != 0 || list[1].ops[0] != 1 {
		t.Errorf("found %v", list)
	}
	if d.Locations.Len() != 3 {
		t.Error("the trace itself has changed")
	}
}
