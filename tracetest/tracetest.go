// Package tracetest is the conformance suite of formats: the test of each format calls [Run]. Other tests use
// the functions of the package that dump and compare traces.
package tracetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/trace"
)

// Options holds the input of the suite.
type Options struct {
	// Files lists the paths of traces that can be read without an error.
	Files []string
	// EditStep is the distance, in bytes, between the positions at which files are cut. With 0, files of up to
	// 1000 bytes are cut at every byte, and longer files at 500 to 1000 positions. In a long run (package
	// effort), files are cut at every byte.
	EditStep int
}

// Run runs the suite for a format.
func Run(t *testing.T, f format.Format, opt Options) {
	if len(opt.Files) == 0 {
		t.Fatal("no files to test with")
	}
	for _, file := range opt.Files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			src := format.FileSource(file)
			t.Run("probe", func(t *testing.T) {
				if p := f.Probe(src.Name, text); p < 50 {
					t.Errorf("probe of its own file: %d, want at least 50", p)
				}
			})
			t.Run("parallel", func(t *testing.T) { checkParallel(t, f, src) })
			t.Run("ended", func(t *testing.T) { checkEnds(t, f, src) })
			t.Run("selection", func(t *testing.T) { checkSelection(t, f, src) })
			t.Run("copy", func(t *testing.T) { checkCopy(t, f, src) })
			t.Run("encode", func(t *testing.T) {
				if f.About().Writes == "" {
					t.Skip("the format is not written")
				}
				checkEncoder(t, f, src)
			})
			t.Run("locations", func(t *testing.T) {
				checkContiguous(t, f, src)
				checkByLocation(t, f, src)
			})
			t.Run("cancel", func(t *testing.T) { checkCancelled(t, f, src) })
			t.Run("truncated", func(t *testing.T) { checkTruncation(t, f, load(t, f, file), opt.EditStep, 500) })
			t.Run("flipped", func(t *testing.T) { checkBitFlips(t, f, load(t, f, file), 400) })
		})
	}
	if f.About().Writes != "" {
		t.Run("kinds", func(t *testing.T) { checkKinds(t, f) })
		t.Run("clock", func(t *testing.T) { checkClock(t, f) })
		t.Run("commit", func(t *testing.T) { checkCommits(t, f) })
		t.Run("texts", func(t *testing.T) { checkTexts(t, f) })
	}
	t.Run("empty", func(t *testing.T) { checkEmpty(t, f) })
}

// Open opens a trace for a test.
func Open(t testing.TB, f format.Format, src format.Source, opt *format.ReadOptions) format.File {
	t.Helper()
	if opt == nil {
		opt = &format.ReadOptions{}
	}
	d, err := f.Open(context.Background(), src, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// checkParallel checks that one worker and four workers deliver the same events, and that Scan and
// ScanParallel deliver the same events of each location in the same order.
func checkParallel(t *testing.T, f format.Format, src format.Source) {
	one := Open(t, f, src, &format.ReadOptions{Workers: 1})
	four := Open(t, f, src, &format.ReadOptions{Workers: 4})
	a, b := Dump(t, one, trace.Everything()), Dump(t, four, trace.Everything())
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("1 and 4 workers differ:\n%s", d)
	}
	per := byLocation(t, Open(t, f, src, &format.ReadOptions{Workers: 4}))
	ordered := map[string][]string{}
	for _, l := range a {
		if strings.HasPrefix(l, "link ") {
			continue
		}
		id := strings.SplitN(l, " ", 3)[1]
		ordered[id] = append(ordered[id], l)
	}
	if d := cmp.Diff(ordered, per); d != "" {
		t.Errorf("the two deliveries differ:\n%s", d)
	}
}

// checkEnds checks that no event of a location is delivered after the location was reported to have ended, and
// that several workers deliver as many events as one worker.
func checkEnds(t *testing.T, f format.Format, src format.Source) {
	want := map[string]int{}
	for id, rows := range byLocation(t, Open(t, f, src, nil)) {
		want[id] = len(rows)
	}
	d := Open(t, f, src, &format.ReadOptions{Workers: 4})
	var mu sync.Mutex
	var got map[string]int
	var over map[uint32]bool
	err := d.ScanParallel(context.Background(), trace.Everything(), func() func(int) format.Sink {
		got, over = map[string]int{}, map[uint32]bool{}
		return func(int) format.Sink {
			return &ender{end: func(loc uint32) error {
				mu.Lock()
				defer mu.Unlock()
				if over[loc] {
					return fmt.Errorf("location %d ends twice", loc)
				}
				over[loc] = true
				return nil
			}, SinkFuncs: format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				mu.Lock()
				defer mu.Unlock()
				for i := range b.Time {
					loc := b.Location(i)
					if over[loc] {
						return fmt.Errorf("an event of location %d, which has ended", loc)
					}
					got[d.Defs().Locations.At(loc).ID]++
				}
				return nil
			}}}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events of each location, of one worker and of four:\n%s", d)
	}
}

// ender is a sink that calls a function when a location has ended.
type ender struct {
	format.SinkFuncs
	end func(uint32) error
}

// End implements [format.Ender].
func (e *ender) End(loc uint32) error { return e.end(loc) }

// checkSelection checks scans with a selection. Such a scan must deliver the same events as a filter of all
// events with the selection.
func checkSelection(t *testing.T, f format.Format, src format.Source) {
	d := Open(t, f, src, nil)
	var times []int64
	var kinds []trace.Kind
	var locations []uint32
	err := d.Scan(context.Background(), trace.Everything(), format.GlobalOrder,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			times = append(times, b.Time...)
			kinds = append(kinds, b.Kind...)
			for i := range b.Time {
				locations = append(locations, b.Location(i))
			}
			return nil
		}})
	if err != nil || len(times) == 0 {
		t.Fatal(err, "or no events")
	}
	all := Dump(t, d, trace.Everything())
	n := len(times)
	for _, w := range [][2]int64{{times[n/4], times[3*n/4]}, {times[0], times[n-1]}, {times[n/2], times[n/2]},
		{times[n-1], times[n-1] + 1}} {
		sel := trace.Everything()
		sel.From, sel.To, sel.Links = w[0], w[1], trace.NoLinks
		var want []string
		for i, l := range all[:n] {
			if times[i] >= w[0] && times[i] < w[1] {
				want = append(want, l)
			}
		}
		if d := cmp.Diff(want, Dump(t, d, sel)); d != "" {
			t.Errorf("window %v:\n%s", w, d)
		}
		if d := cmp.Diff(anyStandIn(want), anyStandIn(Dump(t, Open(t, f, src, nil), sel))); d != "" {
			t.Errorf("window %v, read at first:\n%s", w, d)
		}
	}
	for l := range uint32(min(d.Defs().Locations.Len(), 3)) {
		sel := trace.Everything()
		sel.Links = trace.NoLinks
		sel.Location = func(loc uint32) bool { return loc == l }
		var want []string
		for i, x := range all[:n] {
			if locations[i] == l {
				want = append(want, x)
			}
		}
		if d := cmp.Diff(want, Dump(t, d, sel)); d != "" {
			t.Errorf("location %d:\n%s", l, d)
		}
		if d := cmp.Diff(anyStandIn(want), anyStandIn(Dump(t, Open(t, f, src, nil), sel))); d != "" {
			t.Errorf("location %d, read at first:\n%s", l, d)
		}
	}
	for _, to := range []int64{times[n/4], times[n/2], times[n-1], times[n-1] + 1} {
		checkSurrounding(t, f, src, all[:n], times, kinds, locations, to)
	}
	sel := trace.Everything()
	sel.Links = trace.NoLinks
	sel.Kind = func(k trace.Kind) bool { return k == kinds[0] }
	var want []string
	for i, l := range all[:n] {
		if kinds[i] == kinds[0] {
			want = append(want, l)
		}
	}
	if d := cmp.Diff(want, Dump(t, d, sel)); d != "" {
		t.Errorf("kind: %s", d)
	}
}

// anyStandIn replaces the numbers of stand-ins in rows, because they depend on the order in which
// the stand-ins are needed.
func anyStandIn(rows []string) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = standIn.ReplaceAllString(r, "#")
	}
	return out
}

var standIn = regexp.MustCompile("#[0-9]+")

// checkSurrounding checks that a scan with [trace.Selection.Surrounding] delivers all rows before the time to
// except states, and at least one later event of each location that has later events.
func checkSurrounding(t *testing.T, f format.Format, src format.Source, rows []string, times []int64,
	kinds []trace.Kind, locations []uint32, to int64) {
	sel := trace.Selection{From: math.MinInt64, To: to}
	sel = sel.Surrounding()
	before, goesOn := map[string]int{}, map[uint32]bool{}
	for i, l := range rows {
		switch {
		case kinds[i].IsState():
		case times[i] < to:
			before[standIn.ReplaceAllString(l, "#")]++
		case kinds[i].IsActivity():
			goesOn[locations[i]] = true
		}
	}
	had := map[uint32]bool{} // locations with rows before to; other locations need no later event
	for i := range rows {
		if times[i] < to && kinds[i].IsEvent() {
			had[locations[i]] = true
		}
	}
	d := Open(t, f, src, &format.ReadOptions{Workers: 2})
	var mu sync.Mutex
	var found map[string]int
	var on map[uint32]bool
	err := d.ScanParallel(context.Background(), sel, func() func(int) format.Sink {
		found, on = map[string]int{}, map[uint32]bool{}
		return func(int) format.Sink {
			return format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				mu.Lock()
				defer mu.Unlock()
				x := b.Cursor()
				for x.Next() {
					if x.Kind().IsState() {
						continue
					}
					if x.Time() < to {
						found[standIn.ReplaceAllString(row(d.Defs(), &x), "#")]++
					} else if x.Kind().IsActivity() {
						on[x.Location()] = true
					}
				}
				return nil
			}}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, found); d != "" {
		t.Errorf("surrounding of what is before %d:\n%s", to, d)
	}
	for l := range goesOn {
		if had[l] && !on[l] {
			t.Errorf("location %d goes on after %d, and no event tells", l, to)
		}
	}
}

// checkCopy checks that a trace keeps every event if it is written in its own format.
func checkCopy(t *testing.T, f format.Format, src format.Source) {
	name := filepath.Join(t.TempDir(), "copy"+f.About().Extensions[0])
	out, err := format.CreateFile(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	loss, err := f.Copy(context.Background(), src, &format.ReadOptions{}, out, &format.WriteOptions{})
	if errors.Is(err, format.ErrUnsupported) {
		t.Skip("the format has no copy")
	}
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	if rows := loss.Rows(); len(rows) > 0 {
		t.Errorf("losses of a copy: %v", rows)
	}
	checkSame(t, f, src, format.FileSource(name))
}

// checkSame checks that two traces have the same events, links and clock.
func checkSame(t *testing.T, f format.Format, a, b format.Source) {
	t.Helper()
	x, y := Open(t, f, a, nil), Open(t, f, b, nil)
	if d := cmp.Diff(Dump(t, x, trace.Everything()), Dump(t, y, trace.Everything())); d != "" {
		t.Errorf("events differ:\n%s", d)
	}
	if x.Defs().Clock != y.Defs().Clock {
		t.Errorf("clocks differ: %+v and %+v", x.Defs().Clock, y.Defs().Clock)
	}
}

// checkEncoder checks a trace that an encoder has written from the model alone: the decoder must return
// everything except the losses that the encoder has reported.
func checkEncoder(t *testing.T, f format.Format, src format.Source) {
	name := filepath.Join(t.TempDir(), "encoded"+f.About().Extensions[0])
	d := Open(t, f, src, nil)
	d.Defs().Native = nil
	loss := Encode(t, f, d, name)
	x, y := Open(t, f, src, nil), Open(t, f, format.FileSource(name), nil)
	a, b := Dump(t, x, trace.Everything()), Dump(t, y, trace.Everything())
	for _, r := range loss.Rows() {
		switch {
		case r.How == format.WeftOnly:
		case r.Field == "order":
			slices.Sort(a)
			slices.Sort(b)
		default:
			t.Errorf("loss: %+v", r)
		}
	}
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("events differ:\n%s", d)
	}
}

// Encode writes a trace to a file with the format's encoder. It returns the loss that the encoder
// has reported.
func Encode(t testing.TB, f format.Format, d format.Events, path string) *format.Loss {
	t.Helper()
	out, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	e, err := f.Create(out, &format.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := format.Convert(context.Background(), d, trace.Everything(), e); err != nil {
		t.Fatal(err)
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
	return e.Loss()
}

// checkClock checks that windows are in ticks of the trace's clock, even if the file stores times in
// another way, such as decimal seconds for a clock with three ticks a second.
func checkClock(t *testing.T, f format.Format) {
	r := trace.NewRecorder(trace.TicksPerSecond(3))
	loc := r.Location("rank 0")
	region := r.Region("solve")
	for i := range int64(500) {
		r.Enter(loc, 10+7*i, region)
		r.Leave(loc, 12+7*i, region)
	}
	name := filepath.Join(t.TempDir(), "clock"+f.About().Extensions[0])
	Encode(t, f, format.Recorded(r), name)
	src := format.FileSource(name)
	first, last, ok, err := Open(t, f, src, nil).Extent(context.Background())
	if err != nil || !ok || first != 10 || last != 12+7*499 {
		t.Errorf("found times from %d to %d (%v, %v), expected 10 to %d", first, last, ok, err, 12+7*499)
	}
	checkSelection(t, f, src)
}

// checkCommits makes the renaming of each file of a new trace fail in turn. Each time, the older trace
// must be unchanged, and no other file may remain.
func checkCommits(t *testing.T, f format.Format) {
	dir := t.TempDir()
	name := filepath.Join(dir, "trace"+f.About().Extensions[0])
	write := func(seed uint64, locations, fail int) error {
		g, err := generate.New(generate.Options{Workload: "ring", Events: 500, Locations: locations, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		out, err := format.CreateFile(name)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Abort()
		e, err := f.Create(out, &format.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := format.Convert(context.Background(), g, trace.Everything(), e); err != nil {
			t.Fatal(err)
		}
		out.FailCommit(fail)
		return out.Commit()
	}
	contents := func() map[string]string {
		all := map[string]string{}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			all[path] = "a folder"
			if !d.IsDir() {
				b, err := os.ReadFile(path)
				all[path] = string(b)
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if err := write(1, 4, 0); err != nil {
		t.Fatal(err)
	}
	before := contents()
	fails := 0
	for {
		err := write(2, 3, fails+1)
		if err == nil {
			break
		}
		fails++
		if d := cmp.Diff(before, contents()); d != "" {
			t.Fatalf("step %d failed (%v) and changed the older trace:\n%s", fails, err, d)
		}
	}
	if fails == 0 {
		t.Error("no step failed")
	}
	if d := Open(t, f, format.FileSource(name), nil); d.Defs().Locations.Len() != 3 {
		t.Errorf("the new trace has %d locations, want 3", d.Defs().Locations.Len())
	}
	for path := range contents() {
		if strings.HasPrefix(filepath.Base(path), ".") {
			t.Errorf("%s is left", path)
		}
	}
}

// checkCancelled checks that a scan with a cancelled context returns the context's error.
func checkCancelled(t *testing.T, f format.Format, src format.Source) {
	d := Open(t, f, src, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	sink := format.SinkFuncs{}
	for name, err := range map[string]error{
		"scan":    d.Scan(ctx, trace.Everything(), format.PerLocation, sink),
		"ordered": d.Scan(ctx, trace.Everything(), format.GlobalOrder, sink),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want %v", name, err, context.Canceled)
		}
	}
}

// everyKind records events of every kind, with operands and attributes of every type, and links.
func everyKind() *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000_000))
	d := r.Defs()
	d.Clock.HasEpoch, d.Clock.Epoch = true, 1_700_000_000_123_456_789
	loc, other := r.Location("rank 0"), r.Location("räng, 1=x")
	r.Region("first")
	region := r.Region("solve; a,b=c\\d")
	d.Metrics.Add(trace.MetricDef{ID: "7", Name: "flops", Type: trace.Float64, Location: trace.NoRef})
	d.Resources.Add(trace.Resource{ID: "r", Name: "CPU", Capacity: 2, Location: loc})
	d.Communicator.Add(trace.Communicator{ID: "0", Name: "world", Set: trace.NoRef, Parent: trace.NoRef})
	for _, table := range []*trace.Table[trace.Named]{&d.Parameters, &d.Windows, &d.Contexts, &d.Files, &d.Handles,
		&d.Markers, &d.Operations} {
		table.Add(trace.Named{ID: "0", Name: "name"})
	}
	d.Strings.Add("a string")
	d.Sets.Add(trace.Set{ID: "0", Name: "set", Members: []int64{0, 1}})
	d.Kinds.Add(trace.KindDef{Format: "test", KindSpec: trace.KindSpec{Name: "own kind", Ref: trace.RefRegion,
		Operands: []trace.Operand{{Name: "x", Type: trace.OpInt}}}})
	d.Opaque.Add(trace.Opaque{Format: "test", Data: "\x00\x01"})
	d.Properties.Add(trace.Attr{Key: "machine", Value: trace.StringValue("x,y=z")})
	attrs := []trace.Attr{
		{Key: "text", Value: trace.StringValue("a, b = c; \"d\" \\ é")},
		{Key: "blank", Value: trace.StringValue(" lead and trail ")},
		{Key: "empty", Value: trace.StringValue("")}, {Key: "", Value: trace.FloatValue(2.5)},
		{Key: "i8", Value: trace.Value{Type: trace.Int8, Num: ^uint64(4)}},
		{Key: "u64", Value: trace.Value{Type: trace.Uint64, Num: ^uint64(0)}},
		{Key: "f32", Value: trace.Value{Type: trace.Float32, Num: 0x3dcccccd}},
		{Key: "f64", Value: trace.FloatValue(-1.5e-300)},
		{Key: "bytes", Value: trace.Value{Type: trace.Bytes, Str: "\x00\n\xff"}},
		{Key: "bool", Value: trace.Value{Type: trace.Bool, Num: 1}},
		{Key: "char", Value: trace.Value{Type: trace.Char, Num: 65}},
		{Key: "region", Value: trace.Value{Type: trace.RegionRef, Num: 0}},
	}
	at := int64(-5)
	for _, k := range trace.Kinds() {
		spec := k.Spec()
		ref := trace.NoRef
		switch spec.Ref {
		case trace.RefNone:
		case trace.RefRegion:
			ref = region
		default:
			ref = 0
		}
		var ops []uint64
		for i, o := range spec.Operands {
			v := uint64(i + 1)
			switch o.Type {
			case trace.OpLocation:
				v = uint64(other)
			case trace.OpResource, trace.OpCommunicator, trace.OpGroup, trace.OpString, trace.OpRegion, trace.OpMetric,
				trace.OpFile, trace.OpHandle, trace.OpWindow, trace.OpContext:
				v = 0
			case trace.OpInt:
				v = ^uint64(0) - uint64(i)
			case trace.OpFloat:
				v = 0x3ff8000000000000 + uint64(i)
			}
			ops = append(ops, v)
			if spec.Variadic && i == len(spec.Operands)-1 {
				ops = append(ops, v)
			}
		}
		r.Event(loc, at, k, ref, ops, attrs...)
		r.Event(loc, at, k, ref, ops)
		at += 7
	}
	r.Event(other, at, trace.Declared, region, []uint64{3}, attrs[0])
	r.Event(other, at, trace.Enter, region, nil)
	r.Event(other, at, trace.Enter, region, nil, attrs...)
	r.Event(other, at, trace.Leave, region, nil, attrs...)
	r.Event(other, at+1, trace.Leave, region, nil)
	r.Event(other, at+2, trace.Enter, region, nil)
	r.Link(trace.End{Kind: trace.AtLocation, Location: loc, Time: 3},
		trace.End{Kind: trace.AtLocation, Location: other, Time: 4}, attrs...)
	return r
}

// checkKinds checks that events of every kind, with operands and attributes of every type, are the same
// after writing and reading, except for reported losses.
func checkKinds(t *testing.T, f format.Format) {
	name := filepath.Join(t.TempDir(), "kinds"+f.About().Extensions[0])
	rec := format.Recorded(everyKind())
	loss := Encode(t, f, rec, name)
	back := Open(t, f, format.FileSource(name), nil)
	want, got := Dump(t, rec, trace.Everything()), Dump(t, back, trace.Everything())
	// Traces with carried data are damaged, too.
	t.Run("truncated", func(t *testing.T) { checkTruncation(t, f, load(t, f, name), 0, 150) })
	t.Run("flipped", func(t *testing.T) { checkBitFlips(t, f, load(t, f, name), 150) })
	lost, whole := map[string]bool{}, map[string]bool{}
	for _, x := range loss.Rows() {
		lost[x.Kind] = lost[x.Kind] || x.How != format.WeftOnly
		whole[x.Kind] = whole[x.Kind] || x.How != format.WeftOnly && x.Field == ""
	}
	keep := func(l []string) (out []string) {
		for _, s := range l {
			f := strings.SplitN(s, " ", 4)
			if len(f) > 2 && lost[f[2]] {
				continue
			}
			out = append(out, s)
		}
		return
	}
	if d := cmp.Diff(keep(want), keep(got)); d != "" {
		t.Errorf("events that the encoder does not call lost:\n%s", d)
	}
	// A loss may occur only for a kind for which the mapping table lists it.
	mapping := f.About().Mapping
	for _, k := range trace.Kinds() {
		name := k.Spec().Name
		s, ok := format.SubjectOf(k)
		if !ok {
			t.Errorf("no subject of the mapping has %s", name)
		}
		if m := mapping(s); whole[name] && (m.How == format.Exact || m.How == format.WeftOnly) {
			t.Errorf("%s is lost, but the mapping table says %s: %s", name, m.How, m.As)
		}
	}
	a, b := rec.Defs(), back.Defs()
	if a.Clock != b.Clock {
		t.Errorf("clock %+v, want %+v", b.Clock, a.Clock)
	}
	if d := cmp.Diff(a.Regions.All(), b.Regions.All()); d != "" {
		t.Errorf("regions:\n%s", d)
	}
	if d := cmp.Diff(a.Properties.All(), b.Properties.All()); d != "" {
		t.Errorf("properties:\n%s", d)
	}
}

// Glob returns the files that match a pattern. It fails the test if no file matches.
func Glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s (%v)", pattern, err)
	}
	return files
}

// checkTexts checks that an encoder keeps no text of a batch: the memory belongs to the decoder, which uses it again.
func checkTexts(t *testing.T, f format.Format) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, region := r.Location("rank 0"), r.Region("work")
	key := r.Defs().Attributes.Add(trace.AttributeDef{Name: "note", Type: trace.String})
	path := filepath.Join(t.TempDir(), "x"+f.About().Extensions[0])
	out, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	e, err := f.Create(out, &format.WriteOptions{})
	if err == nil {
		err = e.Begin(r.Defs())
	}
	text := make([]byte, 4)
	var want []string
	for i := range 1000 { // enough for texts that have the same place in a hash table
		copy(text, fmt.Sprintf("%04d", i))
		want = append(want, fmt.Sprintf(`%d 0 enter "work"(0) note:string="%04d"`, i, i))
		b := &trace.Batch{Loc: loc}
		b.Add(loc, int64(i), trace.Enter, region)
		b.AddAttr(key, trace.StringValue(unsafe.String(&text[0], len(text))))
		if err == nil {
			err = e.(format.Sink).Batch(b)
		}
	}
	copy(text, "late")
	if err == nil {
		err = errors.Join(e.Close(), out.Commit())
	}
	if err != nil {
		t.Fatal(err)
	}
	got := Dump(t, Open(t, f, format.FileSource(path), nil), trace.Everything())
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rows differ:\n%.2000s", d)
	}
}
