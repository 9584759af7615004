package otf

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// writeRecorded writes what r has recorded as an OTF trace, and returns the loss.
func writeRecorded(t *testing.T, m string, r *trace.Recorder, opt *format.WriteOptions) *format.Loss {
	t.Helper()
	out, err := format.CreateFile(m)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	e, err := Format{}.Create(out, opt)
	if err == nil {
		err = format.Convert(t.Context(), format.Recorded(r), trace.Everything(), e)
	}
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	return e.Loss()
}

// writeAgain writes an opened trace as an OTF trace, and returns the loss.
func writeAgain(t *testing.T, d format.File, m string) *format.Loss {
	t.Helper()
	return writeSelected(t, d, trace.Everything(), m)
}

// writeSelected writes the selected events of an opened trace as an OTF trace, and returns the loss.
func writeSelected(t *testing.T, d format.File, sel trace.Selection, m string) *format.Loss {
	t.Helper()
	out, err := format.CreateFile(m)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	e, err := Format{}.Create(out, &format.WriteOptions{})
	if err == nil {
		err = format.Convert(t.Context(), d, sel, e)
	}
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	return e.Loss()
}

// readCounts reads a trace and returns the number of events of each kind, and the names that the
// summaries of groups refer to. The trace must have no defect.
func readCounts(t *testing.T, m string) (d format.File, counts map[trace.Kind]int, groups []string) {
	t.Helper()
	opt := &format.ReadOptions{Workers: 1, Report: format.NewReport()}
	d, err := Format{}.Open(t.Context(), format.FileSource(m), opt)
	if err != nil {
		t.Fatal(err)
	}
	counts = map[trace.Kind]int{}
	count := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		c := b.Cursor()
		for c.Next() {
			counts[c.Kind()]++
			if c.Kind() == trace.RegionGroupSummary {
				groups = append(groups, *d.Defs().Strings.At(c.Ref()))
			}
		}
		return nil
	}}
	if err := d.Scan(t.Context(), trace.Everything(), format.GlobalOrder, count); err != nil {
		t.Fatal(err)
	}
	if l := opt.Report.Rules(); len(l) > 0 {
		t.Errorf("found %v, expected no defect", l)
	}
	return d, counts, groups
}

// TestAugmentCarriedData checks that snapshots and summaries of a trace of another format add only their own
// events. The data that weft packs for an event ("carried data") is not repeated. The groups of summaries have
// the names from OTF's own definitions. The lanes of resources do not become locations.
func TestAugmentCarriedData(t *testing.T) {
	r := trace.NewRecorder(trace.Clock{Num: 1000, Den: 7})
	a, b := r.Location("a"), r.Location("b")
	f := r.Region("MPI_Isend")
	r.Defs().Regions.At(f).Group = "MPI"
	for i := range int64(3) { // non-blocking messages, each of which is under way for most of the time
		r.Enter(a, 10*i, f)
		r.Event(a, 10*i+1, trace.SendBegin, trace.NoRef,
			[]uint64{uint64(b), trace.Undefined, 0, 8, uint64(i)})
		r.Leave(a, 10*i+2, f)
		r.Recv(b, 100+10*i, a, 0, 8)
		r.Event(a, 200+10*i, trace.SendComplete, trace.NoRef, []uint64{uint64(i)})
	}
	c := r.Claim(r.Resource("cpu", 2, ""), 0, f, 1)
	r.Release(c, 220)
	m := filepath.Join(t.TempDir(), "x.otf")
	writeRecorded(t, m, r, &format.WriteOptions{})
	events := map[trace.Kind]int{trace.Enter: 3, trace.SendBegin: 3, trace.SendComplete: 3, trace.Recv: 3, trace.Send: 0,
		trace.ClaimBegin: 1}
	check := func(what string, snapshots int) {
		t.Helper()
		d, counts, groups := readCounts(t, m)
		events[trace.SendSnapshot] = snapshots
		for k, want := range events {
			if counts[k] != want {
				t.Errorf("%s: found %d events %s, expected %d", what, counts[k], d.Defs().Spec(k).Name, want)
			}
		}
		if n := d.Defs().Locations.Len(); n != 3 { // the locations are a, b and the location of the resource
			t.Errorf("%s: found %d locations, expected 3", what, n)
		}
		if slices.ContainsFunc(groups, func(g string) bool { return g != "MPI" }) || len(groups) == 0 != (snapshots == 1) {
			t.Errorf("%s: found summaries of the groups %q, expected MPI only", what, groups)
		}
	}
	// The break points divide the time into five equal parts. All messages are sent before the first point,
	// and received between the second and the third one.
	augment(t, m, &AugmentOptions{Points: EqualParts(5)})
	check("augmented", 6)
	augment(t, m, &AugmentOptions{Remove: true})

	// otfaux repeats the pairs of an event in its snapshot.
	s, err := OpenStream(format.FileSource(strings.TrimSuffix(m, ".otf")), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Cursor(t.Context(), Events)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	w := NewStreamWriter(strings.TrimSuffix(m, ".otf"), 1, nil)
	defer w.Abort()
	for e.Next() {
		if x := e.Record(); x.Type == SendMsg && len(x.KeyValues) > 0 {
			snapshot := *x
			snapshot.Type, snapshot.OriginalTime, snapshot.Time = SendSnapshot, x.Time, x.Time+1
			if err := w.Write(&snapshot); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if err := errors.Join(e.Err(), w.Close()); err != nil {
		t.Fatal(err)
	}
	check("snapshots of otfaux", 1)
}

// TestMembersOfProcessGroups checks that the members of process groups are tokens of processes. If a location has
// the id 0, tokens differ from the ids of locations. Members that are no locations are left out and counted.
func TestMembersOfProcessGroups(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	f := r.Region("main")
	for i := range 3 {
		l := r.Location("rank")
		r.Defs().Locations.At(l).ID = strconv.Itoa(i)
		r.Enter(l, 1, f)
		r.Leave(l, 2, f)
	}
	for _, x := range []trace.Set{{Kind: "locations", Members: []int64{0, 2}}, {Kind: "ranks", Members: []int64{0, 1,
		2}}} {
		r.Defs().Communicator.Add(trace.Communicator{Name: x.Kind, Set: r.Defs().Sets.Add(x), Parent: trace.NoRef})
	}
	m := filepath.Join(t.TempDir(), "x.otf")
	loss := writeRecorded(t, m, r, &format.WriteOptions{Plain: true})
	text, err := os.ReadFile(strings.TrimSuffix(m, ".otf") + ".0.def")
	if err != nil {
		t.Fatal(err)
	}
	// Token 0 is reserved, so that the locations 0, 1 and 2 are the processes 1, 2 and 3.
	for _, line := range []string{`DPG1M1,3,NM"locations"`, `DPG2MNM"ranks"`} {
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("found definitions\n%s\nexpected a line %s", text, line)
		}
	}
	lost := int64(0)
	for _, x := range loss.Rows() {
		if x.Kind == "communicator" && x.How == format.Lost {
			lost += x.Count
		}
	}
	if lost != 3 {
		t.Errorf("found %d lost members, expected 3", lost)
	}
}

// TestCarriedSnapshotsStay checks that the snapshots and summaries of a converted trace stay OTF's own
// records, and that the events do not change, when the trace is written again.
func TestCarriedSnapshotsStay(t *testing.T) {
	r := trace.NewRecorder(trace.Clock{Num: 1000, Den: 1})
	r.Defs().Origin = "otf2"
	a, b := r.Location("a"), r.Location("b")
	f := r.Region("f")
	r.Defs().Regions.At(f).Group = "G" // summaries of groups refer to this name
	for i := range int64(4) {          // one event is at the time of a break point
		r.Enter(a, 10*i, f)
		r.Event(a, 10*i+5, trace.Send, trace.NoRef, []uint64{uint64(b), trace.Undefined, 0, 8})
		r.Event(a, 10*i+7, trace.ThreadBegin, trace.NoRef, nil)
	}
	r.Recv(b, 40, a, 0, 8)
	folder := t.TempDir()
	m, again := filepath.Join(folder, "x.otf"), filepath.Join(folder, "y.otf")
	writeRecorded(t, m, r, &format.WriteOptions{})
	augment(t, m, &AugmentOptions{Points: EqualParts(4), Snapshots: true, Summaries: true})
	d, _, _ := readCounts(t, m)
	writeAgain(t, d, again)
	for _, part := range []string{".1.snaps", ".1.stats", ".1.events"} {
		want, err := os.ReadFile(filepath.Join(folder, "x"+part))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(filepath.Join(folder, "y"+part)); string(got) != string(want) {
			t.Errorf("%s: found %q, expected %q", part, got, want)
		}
	}
}

// TestRepeatedKeys checks that an event keeps several attributes with the same key. Readers of OTF take only the first
// pair with a key.
func TestRepeatedKeys(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, region := r.Location("rank 0"), r.Region("work")
	pair := func(typ trace.Type, n uint64, s string) trace.Attr {
		return trace.Attr{Key: "key", Value: trace.Value{Type: typ, Num: n, Str: s}}
	}
	r.Enter(loc, 1, region, pair(trace.Uint16, 1, ""), pair(trace.Uint16, 2, ""))
	r.Enter(loc, 2, region, pair(trace.Uint16, 1, ""), pair(trace.Bytes, 0, "abc"))
	r.Event(loc, 3, trace.NoOp, trace.NoRef, nil, pair(trace.Int64, 1, ""), pair(trace.Int64, 1, ""))
	r.Enter(loc, 4, region, slices.Repeat([]trace.Attr{pair(trace.Uint16, 7, "")}, 100)...)
	m := filepath.Join(t.TempDir(), "x.otf")
	writeRecorded(t, m, r, &format.WriteOptions{})
	want := tracetest.Dump(t, format.Recorded(r), trace.Everything())
	got := tracetest.Dump(t, tracetest.Open(t, Format{}, format.FileSource(m), nil), trace.Everything())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows differ:\n%s", diff)
	}
}

// TestLinksOfWindow checks that a part of a trace has the links with an end in it, although they follow the last event.
func TestLinksOfWindow(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	region := r.Region("work")
	locs := []uint32{r.Location("rank 0"), r.Location("rank 1"), r.Location("rank 2")}
	for i := range int64(1000) {
		for k, loc := range locs {
			r.Enter(loc, 10*i, region)
			r.Leave(loc, 10*i+5, region)
			if i%10 == 0 {
				r.Link(trace.End{Kind: trace.AtLocation, Location: loc, Time: 10 * i},
					trace.End{Kind: trace.AtLocation, Location: locs[(k+1)%3], Time: 10*i + 100})
			}
		}
	}
	linksOf := func(events format.Events, sel trace.Selection) (links []trace.Link) {
		sink := format.SinkFuncs{OnLinks: func(l []trace.Link) error {
			for _, x := range l {
				x.Pos, x.Src.Pos, x.Dst.Pos = 0, 0, 0
				links = append(links, x)
			}
			return nil
		}}
		one := func() func(int) format.Sink { return func(int) format.Sink { return sink } }
		if err := events.ScanParallel(t.Context(), sel, one); err != nil {
			t.Error(err)
		}
		inParallel := links
		links = nil
		if err := events.Scan(t.Context(), sel, format.GlobalOrder, sink); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(links, inParallel); diff != "" {
			t.Errorf("%+v: scans in time order and in parallel differ:\n%s", sel, diff)
		}
		return links
	}
	second := func(loc uint32) bool { return loc == locs[1] }
	for _, values := range []map[string]string{nil, {"otf.level": "4"}, {"otf.spelling": "long"},
		{"otf.spelling": "long", "otf.level": "1"}} {
		m := filepath.Join(t.TempDir(), "x.otf")
		writeRecorded(t, m, r, &format.WriteOptions{Values: values})
		for _, sel := range []trace.Selection{{From: 1000, To: 2000}, {From: math.MinInt64, To: 500}, {From: 5000, To: 5001,
			Stacks: true}, {From: math.MinInt64, To: math.MaxInt64, Location: second}, {From: 20000, To: 30000}} {
			sel.Links = trace.SelectedLinks
			want := linksOf(format.Recorded(r), sel)
			got := linksOf(tracetest.Open(t, Format{}, format.FileSource(m), nil), sel)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%v, from %d to %d: links differ:\n%s", values, sel.From, sel.To, diff)
			}
		}
	}
}

// TestGenericEvents checks that a generic event is a comment without data that only weft reads, and that comments with
// the same text stay comments.
func TestGenericEvents(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := r.Location("rank 0")
	for i, name := range []string{"", "step", "two\nlines", "step"} {
		r.Event(loc, int64(i), trace.Generic, r.Defs().Strings.Add(name), nil)
	}
	r.Event(loc, 4, trace.Generic, 1, nil, trace.Attr{Key: "n", Value: trace.IntValue(7)})
	for _, text := range []string{"generic step", "generic", "generic other"} {
		r.Event(loc, 5, trace.Comment, trace.NoRef, nil, trace.Attr{Key: textName, Value: trace.StringValue(text)})
	}
	m := filepath.Join(t.TempDir(), "x.otf")
	loss := writeRecorded(t, m, r, &format.WriteOptions{})
	d := tracetest.Open(t, Format{}, format.FileSource(m), nil)
	want, got := tracetest.Dump(t, format.Recorded(r), trace.Everything()), tracetest.Dump(t, d, trace.Everything())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows differ:\n%s", diff)
	}
	events, err := os.ReadFile(strings.TrimSuffix(m, ".otf") + ".1.events")
	if err != nil {
		t.Fatal(err)
	}
	// weft's pair has the key 1. A text with a line end, the second string "step" and the comment "generic step" need
	// one. The key of n is 5.
	lines := strings.Split(string(events), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" || l[0] != '#' && l[0] != 'K' })
	for i, l := range lines {
		lines[i], _, _ = strings.Cut(l, "Y")
	}
	wantLines := []string{`#"generic "`, `#"generic step"`,
		"K1", `#"generic two lines"`, "K1", `#"generic step"`, "K5",
		`#"generic step"`, "K1", `#"generic step"`, `#"generic"`, `#"generic other"`}
	if diff := cmp.Diff(wantLines, lines); diff != "" {
		t.Errorf("comments:\n%s\n%s", diff, events)
	}
	for _, x := range loss.Rows() {
		if x.Kind == "generic" && (x.Field != "" || x.How != format.WeftOnly || x.Count != 5) {
			t.Errorf("loss table: found %+v, expected 5 events that only weft restores", x)
		}
	}
}
