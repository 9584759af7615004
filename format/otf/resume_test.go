package otf

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// visits holds the enters and leaves of each location, as texts of time and name.
type visits map[string][]string

func (v visits) sink(d format.Events) func(int) format.Sink {
	return func(int) format.Sink {
		return format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			l := d.Defs().Locations.At(b.Loc).ID
			c := b.Cursor()
			for c.Next() {
				kind := map[trace.Kind]string{trace.Enter: "enter", trace.Leave: "leave"}[c.Kind()]
				if kind != "" {
					v[l] = append(v[l], fmt.Sprintln(c.Time(), kind, d.Defs().Regions.At(c.Ref()).Name))
				}
			}
			return nil
		}}
	}
}

// TestResume checks a scan that resumes from snapshots. The scan must deliver the calls that a reader of the
// whole trace finds open at the time of the snapshots, and all later events.
func TestResume(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	m := filepath.Join(t.TempDir(), "x.otf")
	w := Create(m, &WriterOptions{Streams: 2})
	write := func(r Record) {
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	write(Record{Type: DefTimerResolution, TicksPerSecond: 1000})
	for p := uint64(1); p <= 3; p++ {
		write(Record{Type: DefProcess, Token: p, Name: fmt.Sprint("p", p)})
	}
	for f := uint64(1); f <= 9; f++ {
		write(Record{Type: DefFunction, Token: f, Name: fmt.Sprint("f", f)})
	}
	stacks := make([][]uint64, 4)
	for i := range uint64(3000) {
		p := 1 + rng.Uint64N(3)
		if s := &stacks[p]; len(*s) > 1 && rng.IntN(2) == 0 {
			n := len(*s) - 1
			write(Record{Type: Leave, Time: 2 * i, Process: p, Function: (*s)[n]})
			*s = (*s)[:n]
		} else {
			f := 1 + rng.Uint64N(9)
			write(Record{Type: Enter, Time: 2 * i, Process: p, Function: f})
			*s = append(*s, f)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	decode := func() *decoder {
		d, err := (Format{}).Open(context.Background(), format.FileSource(m), &format.ReadOptions{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		return d.(*decoder)
	}
	sel := trace.Everything()
	sel.From = 4001
	if ok, err := decode().scanFromSnapshots(context.Background(), sel, visits{}.sink(nil)); ok || err != nil {
		t.Fatalf("without snapshots: %t, %v", ok, err)
	}
	if err := Augment(context.Background(), m, &AugmentOptions{Snapshots: true, Points: EqualParts(6)}); err != nil {
		t.Fatal(err)
	}
	d := decode()
	all, got := visits{}, visits{}
	if err := d.Scan(context.Background(), trace.Everything(), format.PerLocation, all.sink(d)(0)); err != nil {
		t.Fatal(err)
	}
	d = decode()
	at, _, err := d.snapshotsAt(context.Background(), 4001)
	if err != nil || at < 3000 || at > 4001 {
		t.Fatalf("snapshots at %d, %v", at, err)
	}
	if ok, err := d.scanFromSnapshots(context.Background(), sel, got.sink(d)); !ok || err != nil {
		t.Fatalf("%t, %v", ok, err)
	}
	for l, rows := range all {
		var open, want []string
		for _, r := range rows {
			var time int64
			var kind, name string
			if _, err := fmt.Sscan(r, &time, &kind, &name); err != nil {
				t.Fatal(err)
			}
			switch {
			case time >= int64(at):
				want = append(want, r)
			case kind == "enter":
				open = append(open, r)
			default:
				open = open[:len(open)-1]
			}
		}
		if want = append(open, want...); !slices.Equal(got[l], want) {
			t.Errorf("location %s:\n%q\nwant\n%q", l, got[l], want)
		}
	}
}

// TestResumeUnnamedLeaves checks leaves without a function. A decoder that has met such leaves must find their
// functions in each of its scans, also in scans from snapshots. The functions depend on all earlier enters.
func TestResumeUnnamedLeaves(t *testing.T) {
	m := filepath.Join(t.TempDir(), "x.otf")
	w := Create(m, &WriterOptions{Streams: 1})
	list := []Record{{Type: DefTimerResolution, TicksPerSecond: 1000}, {Type: DefProcess, Token: 1, Name: "p"},
		{Type: DefFunction, Token: 1, Name: "outer"}, {Type: DefFunction, Token: 2, Name: "inner"},
		{Type: Enter, Time: 1, Process: 1, Function: 1}}
	for i := range uint64(100) {
		list = append(list, Record{Type: Enter, Time: 10*i + 10, Process: 1, Function: 2},
			Record{Type: Leave, Time: 10*i + 15, Process: 1})
	}
	for _, r := range append(list, Record{Type: Leave, Time: 2000, Process: 1}) {
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Augment(t.Context(), m, &AugmentOptions{Snapshots: true, Points: EqualParts(6)}); err != nil {
		t.Fatal(err)
	}
	d, err := (Format{}).Open(t.Context(), format.FileSource(m), &format.ReadOptions{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	sel := trace.Everything()
	sel.From, sel.Stacks = 600, true
	for range 2 {
		got := visits{}
		if err := d.ScanParallel(t.Context(), sel, func() func(int) format.Sink {
			clear(got)
			return got.sink(d)
		}); err != nil {
			t.Fatal(err)
		}
		if l := got["1"]; len(l) == 0 || l[len(l)-1] != "2000 leave outer\n" {
			t.Errorf("found %q, expected the leave of outer at 2000 last", l)
		}
	}
}

// TestResumeCarried checks that snapshots show what is open also in traces of other formats, even if a tick of
// the file is a fraction of a tick of the trace. A scan does not use the snapshots if OTF's own records do not
// contain all enters and leaves.
func TestResumeCarried(t *testing.T) {
	for _, x := range []struct {
		name  string
		clock trace.Clock
		add   func(r *trace.Recorder, loc, region uint32)
		whole bool // the scan must read all earlier events
	}{
		{"plain", trace.TicksPerSecond(1000), func(*trace.Recorder, uint32, uint32) {}, false},
		{"parts of ticks", trace.Clock{Num: 1000, Den: 7}, func(*trace.Recorder, uint32, uint32) {}, false},
		{"other events", trace.TicksPerSecond(1000), func(r *trace.Recorder, loc, region uint32) {
			r.Mark(loc, 5000, region)
		}, false},
		{"claim", trace.TicksPerSecond(1000), func(r *trace.Recorder, loc, region uint32) {
			r.Claim(r.Resource("cpu", 2, ""), 5000, region, 1)
		}, true},
		{"leave of no region", trace.TicksPerSecond(1000), func(r *trace.Recorder, loc, _ uint32) {
			r.Event(loc, 5000, trace.Leave, trace.NoRef, nil)
		}, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			r, locs := recordStacks(x.clock, x.add)
			m := writeSnapshots(t, r)
			for _, from := range []int64{1000, 5001, 7777, 9990} {
				d, err := (Format{}).Open(t.Context(), format.FileSource(m), &format.ReadOptions{Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				sel := trace.Events()
				sel.From, sel.Stacks, sel.NoStates = from, true, true
				found := openStacks{from: from, open: map[uint32][]uint32{}}
				err = d.ScanParallel(t.Context(), sel, func() func(int) format.Sink {
					return func(int) format.Sink {
						return format.SinkFuncs{OnBatch: func(b *trace.Batch) error { found.add(b); return nil }}
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				resumed, err := d.(*decoder).scanFromSnapshots(t.Context(), sel,
					func(int) format.Sink { return format.SinkFuncs{} })
				if err != nil || resumed == x.whole {
					t.Errorf("from %d: begun at snapshots: %t, %v; expected %t", from, resumed, err, !x.whole)
				}
				want := openStacks{from: from, open: map[uint32][]uint32{}}
				for _, l := range locs {
					for _, b := range r.Batches(l) {
						want.add(b)
					}
				}
				for _, l := range locs {
					if !slices.Equal(found.open[l], want.open[l]) {
						t.Errorf("from %d: found open %v, expected %v", from, found.open[l], want.open[l])
					}
				}
				if claims := x.name == "claim" && from < 5000; found.later != want.later && !claims {
					t.Errorf("from %d: found %d events, expected %d", from, found.later, want.later)
				}
			}
		})
	}
}

// recordStacks records enters and leaves of two locations. After half of them it calls add, which may record
// further events.
func recordStacks(clock trace.Clock, add func(r *trace.Recorder, loc, region uint32)) (r *trace.Recorder,
	locs []uint32) {
	rng := rand.New(rand.NewPCG(7, 7))
	r = trace.NewRecorder(clock)
	locs = []uint32{r.Location("a"), r.Location("b")}
	var regions []uint32
	for i := range 9 {
		regions = append(regions, r.Region(fmt.Sprint("f", i)))
	}
	stacks := make([][]uint32, len(locs))
	for i := range int64(5000) {
		if i == 2500 {
			add(r, locs[0], regions[0])
		}
		p := rng.IntN(len(locs))
		s := &stacks[p]
		if n := len(*s) - 1; n > 0 && rng.IntN(2) == 0 {
			r.Leave(locs[p], 2*i, (*s)[n])
			*s = (*s)[:n]
			continue
		}
		f := regions[rng.IntN(len(regions))]
		r.Enter(locs[p], 2*i, f)
		*s = append(*s, f)
	}
	return r, locs
}

// writeSnapshots writes a trace as OTF with ten snapshots, and returns the path of its master file.
func writeSnapshots(t *testing.T, r *trace.Recorder) string {
	t.Helper()
	m := filepath.Join(t.TempDir(), "x.otf")
	out, err := format.CreateFile(m)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := Format{}.Create(out, &format.WriteOptions{})
	if err == nil {
		err = format.Convert(t.Context(), format.Recorded(r), trace.Everything(), enc)
	}
	if err == nil {
		err = out.Commit()
	}
	if err == nil {
		err = Augment(t.Context(), m, &AugmentOptions{Snapshots: true, Points: EqualParts(10)})
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// openStacks holds the regions that are open in each location before a time, and the number of later events.
type openStacks struct {
	from  int64
	open  map[uint32][]uint32
	later int
}

func (o *openStacks) add(b *trace.Batch) {
	c := b.Cursor()
	for c.Next() {
		s := o.open[b.Loc]
		switch {
		case c.Time() >= o.from:
			o.later++
		case c.Kind() == trace.Enter:
			o.open[b.Loc] = append(s, c.Ref())
		case c.Kind() == trace.Leave && c.Ref() != trace.NoRef:
			o.open[b.Loc] = s[:len(s)-1]
		}
	}
}

// TestResumeWaitsForOpen checks that a scan from snapshots finds a later event of each process with open calls, even if
// the process has no event between the snapshots and the end of the window.
func TestResumeWaitsForOpen(t *testing.T) {
	m := filepath.Join(t.TempDir(), "x.otf")
	w := Create(m, &WriterOptions{Streams: 1})
	list := []Record{{Type: DefTimerResolution, TicksPerSecond: 1000}, {Type: DefProcess, Token: 1, Name: "busy"},
		{Type: DefProcess, Token: 2, Name: "quiet"}, {Type: DefFunction, Token: 1, Name: "f"},
		{Type: Enter, Time: 1, Process: 2, Function: 1}}
	for i := range uint64(1000) {
		list = append(list, Record{Type: Enter, Time: 10*i + 10, Process: 1, Function: 1},
			Record{Type: Leave, Time: 10*i + 18, Process: 1, Function: 1})
	}
	for _, r := range append(list, Record{Type: Leave, Time: 20000, Process: 2, Function: 1}) {
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Augment(t.Context(), m, &AugmentOptions{Snapshots: true, Points: PointsEvery(1000)}); err != nil {
		t.Fatal(err)
	}
	d, err := (Format{}).Open(t.Context(), format.FileSource(m), &format.ReadOptions{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	sel := trace.Events()
	sel.From, sel.To = 5000, 6000
	got := visits{}
	if ok, err := d.(*decoder).scanFromSnapshots(t.Context(), sel.Surrounding(), got.sink(d)); !ok || err != nil {
		t.Fatalf("%t, %v", ok, err)
	}
	if l := got["2"]; !slices.Equal(l, []string{"1 enter f\n", "20000 leave f\n"}) {
		t.Errorf("found %q, expected the enter and the leave of the quiet process", l)
	}
}
