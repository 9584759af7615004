package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
)

// localArchive writes the archive heat2d-mt with contents that no available recorder writes: local
// references with mapping tables of both kinds, clock corrections of three intervals, snapshots and
// a thumbnail. Its times differ from the original.
func localArchive(t *testing.T) string {
	t.Helper()
	from, err := otf2.Open(format.FileSource("../../format/otf2/testdata/ok/heat2d-mt/traces.otf2"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "local.otf2")
	out, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := otf2.NewWriter(out, otf2.Anchor{})
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	regions := uint64(0)
	must(from.Definitions(func(_ int64, r *otf2.Record) error {
		if r.ID == 15 { // a region
			regions = max(regions, r.Values[0]+1)
		}
		return w.Define(r)
	}))
	ids, err := from.LocationIDs()
	must(err)
	var mapped []uint64 // the global region for each local region, which is one less
	for i := range regions {
		mapped = append(mapped, (i+1)%regions)
	}
	for n, id := range ids {
		e, s := w.Location(id), w.Snapshots(id)
		must(e.Map(otf2.Regions, mapped))
		must(e.MapSome(otf2.Comms, [][2]uint64{{100, 0}, {101, 1}}))
		r, err := from.Events(id, otf2.EventOptions{})
		must(err)
		for {
			x, err := r.Next()
			if err == io.EOF {
				break
			}
			must(err)
			switch x.ID {
			case 12, 13: // an enter or a leave
				x.Values[0] = (x.Values[0] + regions - 1) % regions
			case 14, 15, 18, 19, 23: // a message or a collective operation
				x.Values[1] += 100
			}
			if e.Count == 0 {
				for k := range uint64(4) {
					must(e.Clock(otf2.ClockOffset{Time: x.Time + k*300_000, Offset: int64(n*1000) + []int64{0, 40, -70, 13}[k],
						Deviation: 0.5}))
				}
			}
			if e.Count%500 == 0 {
				must(s.Write(&otf2.Event{Time: x.Time, Record: otf2.Record{ID: 10, Values: []uint64{1}}}))
				must(s.Write(&otf2.Event{Time: x.Time, Record: otf2.Record{ID: 13, Values: []uint64{x.Time, uint64(n)}}}))
				must(s.Write(&otf2.Event{Time: x.Time, Record: otf2.Record{ID: 11, Values: []uint64{e.Count}}}))
			}
			must(e.Write(x))
		}
		r.Close()
	}
	must(w.Thumbnail(0, &otf2.Record{ID: 10, Values: []uint64{0, 1, 0, 1, 2, 0, 1},
		Texts: []string{"calls", "of two regions"}}))
	must(w.Thumbnail(0, &otf2.Record{ID: 11, Values: []uint64{10, 2, 3, 4}}))
	must(errors.Join(w.Close(), out.Commit()))
	return path
}

// localRecords returns the records of an archive's snapshots, the records of its events with local
// references, both as text, and the times of the events.
func localRecords(t *testing.T, path string) (snapshots, events []string, times []int64) {
	t.Helper()
	a, err := otf2.Open(format.FileSource(path))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := a.LocationIDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		read := func(next func() (*otf2.Event, error), use func(x *otf2.Event, text string)) {
			for {
				x, err := next()
				if err == io.EOF {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				use(x, fmt.Sprint(id, x.ID, x.Values, x.Texts, x.Attributes))
			}
		}
		if s, err := a.Snapshots(id); err == nil {
			read(s.Next, func(x *otf2.Event, text string) { snapshots = append(snapshots, fmt.Sprint(x.Time, text)) })
			s.Close()
		}
		r, err := a.Events(id, otf2.EventOptions{RawClocks: true, RawIDs: true})
		if err != nil {
			t.Fatal(err)
		}
		read(r.Next, func(x *otf2.Event, text string) { events, times = append(events, text), append(times, int64(x.Time)) })
		r.Close()
	}
	return snapshots, events, times
}

// TestVerbsKeepLocalDefinitions checks that commands that do not change times keep the local
// references and the clock of each location.
func TestVerbsKeepLocalDefinitions(t *testing.T) {
	path := localArchive(t)
	snapshots, events, times := localRecords(t, path)
	if len(snapshots) < 20 || len(events) < 4000 {
		t.Fatalf("found %d records of snapshots and %d events", len(snapshots), len(events))
	}
	for _, verb := range [][]string{{"filter", "--min-duration", "0"}, {"cut", "--to", "100%"}, {"merge", "-q"},
		{"repair", "-q"}, {"filter", "--not-region", "*a*"}} {
		out := filepath.Join(t.TempDir(), "x.otf2")
		weft(t, 0, append(slices.Clone(verb), "-q", "--allow-loss", path, out)...)
		s, e, at := localRecords(t, out)
		if verb[1] == "--not-region" {
			// The remaining events are unchanged.
			all := map[string]bool{}
			for _, x := range events {
				all[x] = true
			}
			if len(e) > len(events)-100 || slices.ContainsFunc(e, func(x string) bool { return !all[x] }) {
				t.Errorf("%q: of %d events, %d stay, or others", verb, len(events), len(e))
			}
			continue
		}
		if !slices.Equal(s, snapshots) {
			t.Errorf("%q: %d records of snapshots, or others, expected %d", verb, len(s), len(snapshots))
		}
		// Several recorded times can have the same corrected time, so a difference of 1 is allowed.
		if !slices.Equal(e, events) || !slices.EqualFunc(at, times, func(a, b int64) bool { return a-b <= 1 && b-a <= 1 }) {
			t.Errorf("%q: %d events, or others, expected %d", verb, len(e), len(events))
		}
		if _, err := exec.LookPath("otf2-print"); err != nil {
			continue
		}
		for flag, least := range map[string]int{"-A": 4000, "-M": 8, "-C": 16, "-T": 1} {
			want := toolLines(t, path, "otf2-print", flag)
			if len(want) < least {
				t.Errorf("otf2-print %s prints %d lines", flag, len(want))
			}
			if more, fewer := differences(want, toolLines(t, out, "otf2-print", flag)); len(more)+len(fewer) > 0 {
				t.Errorf("%q: otf2-print %s prints %d lines anew and %d no longer: %.300s", verb, flag, len(more), len(fewer),
					strings.Join(more, ""))
			}
		}
	}
	// Commands that change times drop the clocks of the original.
	out := filepath.Join(t.TempDir(), "x.otf2")
	weft(t, 0, "align", "-q", "--allow-loss", path, out)
	if _, err := exec.LookPath("otf2-print"); err == nil {
		if l := toolLines(t, out, "otf2-print", "-C"); slices.ContainsFunc(slices.Collect(maps.Keys(l)),
			func(x string) bool { return strings.Contains(x, "CLOCK_OFFSET") }) {
			t.Errorf("an aligned archive has clock offsets")
		}
	}
}
