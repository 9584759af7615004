package otf

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// sameFiles compares the contents of two directories.
func sameFiles(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if x, ok := got[name]; !ok {
			t.Errorf("%s: %s is not there", what, name)
		} else if x != want[name] {
			t.Errorf("%s: %s: found\n%.300swant\n%.300s", what, name, x, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s should not be there", what, name)
		}
	}
}

func augment(t *testing.T, m string, opt *AugmentOptions) {
	t.Helper()
	if err := Augment(t.Context(), m, opt); err != nil {
		t.Fatal(err)
	}
}

// TestAugmentRemove checks that removing snapshots and summaries restores the trace except for the
// time range, that augmenting again gives the same bytes, and that snapshots and summaries can be
// changed separately.
func TestAugmentRemove(t *testing.T) {
	effort.Sequential(t)
	for name, m := range sortedTraces(t) {
		t.Run(name, func(t *testing.T) {
			m := duplicate(t, m)
			here := func() map[string]string { return contents(t, filepath.Dir(m)) }
			augment(t, m, &AugmentOptions{Points: EqualParts(5)})
			augment(t, m, &AugmentOptions{Remove: true})
			bare := here()
			augment(t, m, &AugmentOptions{Points: EqualParts(5)})
			both := here()
			augment(t, m, nil)
			augment(t, m, &AugmentOptions{Points: EqualParts(5)})
			sameFiles(t, "once more", here(), both)
			augment(t, m, &AugmentOptions{Summaries: true, Remove: true})
			snapshots := here()
			augment(t, m, &AugmentOptions{Snapshots: true, Remove: true})
			sameFiles(t, "removed", here(), bare)
			augment(t, m, &AugmentOptions{Snapshots: true, Points: EqualParts(5)})
			sameFiles(t, "snapshots", here(), snapshots)
			augment(t, m, &AugmentOptions{Summaries: true, Points: EqualParts(5)})
			augment(t, m, &AugmentOptions{Snapshots: true, Remove: true})
			augment(t, m, &AugmentOptions{Snapshots: true, Remove: true})
			augment(t, m, &AugmentOptions{Summaries: true, Remove: true})
			sameFiles(t, "removed again", here(), bare)
		})
	}
}

// TestAugmentDefinitions checks that definitions that are not replaced stay unchanged, in any spelling.
func TestAugmentDefinitions(t *testing.T) {
	const events = "a\n*1\nE1\n14\n*1\nL1\n14\n*1\n"
	for _, c := range []struct{ name, before, after string }{
		{"none", "", "DTRGaT14\nDAUX10Y0\n"},
		{"others", "DTR3e8\n# x\n DP1NM\"a\"\r\n\nK1Y6V5\nDP2\nZZZ\n",
			"DTR3e8\n# x\n DP1NM\"a\"\r\n\nK1Y6V5\nDP2\nZZZ\nDTRGaT14\nDAUX10Y0\n"},
		{"old points", "DAUX5Y0\nDAUX6Y1\nDAUX7Y2\nDAUX8\nDTR1\nDAUX5Y0\n",
			"DAUX6Y1\nDAUX7Y2\nDAUX8\nDTR1\nDTRGaT14\nDAUX10Y0\n"},
		{"old points with pairs", "K1Y6V5\nK2Y6V5\nDAUX5Y0\nK1Y6V5\nDAUX6Y1\n", "K1Y6V5\nDAUX6Y1\nDTRGaT14\nDAUX10Y0\n"},
		{"narrow range", "DTRGbTc\nDTR1\n", "DTR1\nDTRGaT14\nDAUX10Y0\n"},
		{"wide range", "DTRG0Tff\nDTR1\n", "DTRG0Tff\nDTR1\nDAUX10Y0\n"},
		{"long", "DEFTIMERRESOLUTION 1\nDEFAUXSAMPLEPOINT 5 TYPE 0\nDEFAUXSAMPLEPOINT 5 TYPE 1\nDEFTIMERANGE b TIME c\n",
			"DEFTIMERRESOLUTION 1\nDEFAUXSAMPLEPOINT 5 TYPE 1\nDEFTIMERANGE a TIME 14\nDEFAUXSAMPLEPOINT 10 TYPE 0\n"},
		{"no line end", "DTR1\nDAUX5Y0", "DTR1\nDTRGaT14\nDAUX10Y0\nDAUX5Y0"},
		{"pairs without a record", "DTR1\nK1Y6V5\n", "DTR1\nK1Y6V5\nDTRGaT14\nDAUX10Y0\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := handTrace(t, events)
			def := strings.TrimSuffix(m, ".otf") + ".0.def"
			writeFile(t, def, c.before)
			augment(t, m, &AugmentOptions{Snapshots: true, Points: pointsAt(16)})
			got, err := os.ReadFile(def)
			if err != nil || string(got) != c.after {
				t.Errorf("found %q, %v, want %q", got, err, c.after)
			}
		})
	}
}

// TestAugmentCompressed checks that new files are compressed if the files of events are compressed, and that
// old files of the other kind are removed.
func TestAugmentCompressed(t *testing.T) {
	effort.Sequential(t)
	plain := randomTrace(t, 9, &WriterOptions{Streams: 2})
	zipped := randomTrace(t, 9, &WriterOptions{Streams: 2, Level: 6})
	writeFile(t, strings.TrimSuffix(zipped, ".otf")+".1.snaps", "1\n*1\nTE1O0\n1\n*1\n")
	augment(t, plain, nil)
	augment(t, zipped, nil)
	want := contents(t, filepath.Dir(plain))
	for name := range contents(t, filepath.Dir(zipped)) {
		short, z := strings.CutSuffix(name, ".z")
		if z == (name == "random.otf") {
			t.Errorf("%s: found a file that is compressed: %t", name, z)
		}
		text := string(inflated(t, filepath.Join(filepath.Dir(zipped), name)))
		if text != want[short] {
			t.Errorf("%s: found\n%.300swant\n%.300s", name, text, want[short])
		}
		delete(want, short)
	}
	if len(want) > 0 {
		t.Errorf("not there: %v", slices.Sorted(maps.Keys(want)))
	}
}

// TestAugmentOutput checks that a copy gets the same files as an augmented trace, and that the trace
// stays unchanged.
func TestAugmentOutput(t *testing.T) {
	m := randomTrace(t, 11, &WriterOptions{Streams: 2})
	augment(t, m, &AugmentOptions{Summaries: true, Points: EqualParts(3)})
	writeFile(t, strings.TrimSuffix(m, ".otf")+".thumb", "0:0,0\n")
	before := contents(t, filepath.Dir(m))
	out := filepath.Join(t.TempDir(), "copy")
	for _, old := range []string{".1.events.z", ".2.snaps", ".0.marker", ".9.events"} {
		writeFile(t, out+old, "old")
	}
	augment(t, m, &AugmentOptions{Snapshots: true, Points: EqualParts(9), Output: out + ".otf"})
	sameFiles(t, "trace", contents(t, filepath.Dir(m)), before)
	augment(t, m, &AugmentOptions{Snapshots: true, Points: EqualParts(9)})
	want := map[string]string{"copy.9.events": "old"} // this file belongs to a stream that the copy does not have
	for name, text := range contents(t, filepath.Dir(m)) {
		want["copy"+strings.TrimPrefix(name, "random")] = text
	}
	sameFiles(t, "copy", contents(t, filepath.Dir(out)), want)
	if err := Augment(t.Context(), m, &AugmentOptions{Output: m}); err == nil ||
		!strings.Contains(err.Error(), "expected the name of a copy") {
		t.Errorf("on itself: %v", err)
	}
	augment(t, m, &AugmentOptions{Remove: true, Output: out})
	if l, _ := filepath.Glob(out + ".*s"); slices.ContainsFunc(l,
		func(s string) bool { return strings.HasSuffix(s, ".stats") || strings.HasSuffix(s, ".snaps") }) {
		t.Errorf("not removed: %v", l)
	}
}

// TestAugmentFails checks that the directory is unchanged after an error.
func TestAugmentFails(t *testing.T) {
	effort.Sequential(t)
	failed := errors.New("failed")
	var d *trace.Defect
	for _, c := range []struct {
		name string
		opt  *AugmentOptions
		do   func(m string, cancel func())
		is   func(error) bool
	}{
		{"points", &AugmentOptions{Points: func(TimeRange) ([]uint64, error) { return nil, failed }}, nil,
			func(err error) bool { return errors.Is(err, failed) }},
		{"too many points", &AugmentOptions{Points: EqualParts(1 << 30)}, nil, func(err error) bool { return err != nil }},
		{"too close points", &AugmentOptions{Points: PointsEvery(0)}, nil, func(err error) bool { return err != nil }},
		{"canceled", nil, func(_ string, cancel func()) { cancel() },
			func(err error) bool { return errors.Is(err, context.Canceled) }},
		{"unsorted", nil, func(m string, _ func()) {
			writeFile(t, strings.TrimSuffix(m, ".otf")+".1.events", "9\n*1\nE1\n8\n*1\nL1\n8\n*1\n")
		}, func(err error) bool { return errors.As(err, &d) && d.Rule == "otf.unsorted" }},
		{"a directory in the way", nil, func(m string, _ func()) {
			if err := os.Mkdir(strings.TrimSuffix(m, ".otf")+".1.snaps.z", 0o777); err != nil {
				t.Fatal(err)
			}
		}, func(err error) bool { return err != nil && strings.Contains(err.Error(), "directory") }},
		{"no master file", nil, func(m string, _ func()) { os.Remove(m) }, func(err error) bool { return err != nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := randomTrace(t, 12, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.do != nil {
				c.do(m, cancel)
			}
			names := func() (l []string) {
				entries, err := os.ReadDir(filepath.Dir(m))
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					st, err := e.Info()
					if err != nil {
						t.Fatal(err)
					}
					l = append(l, fmt.Sprint(e.Name(), st.Size(), st.ModTime()))
				}
				return l
			}
			before := names()
			if err := Augment(ctx, m, c.opt); !c.is(err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("found error %v", err)
			}
			if after := names(); !slices.Equal(before, after) {
				t.Errorf("found %v, before it was %v", after, before)
			}
		})
	}
}

// TestAugmentSpread checks a process that has events in streams of other processes. It counts as one process,
// whose records are in the stream to which the master file assigns it, or in the stream of its first event if
// the master file does not name the process.
func TestAugmentSpread(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "spread")
	writeFile(t, name+".otf", "1:1\n2:2\n")
	writeFile(t, name+".0.def", "")
	writeFile(t, name+".1.events", "a\n*1\nE1\n*9\nE2\n10\n*1\nL1\n10\n*1\n")
	writeFile(t, name+".2.events", "c\n*1\nE2\n*9\nL2\nd\n*1\nL2\n*2\nE1\nd\n*1\n")
	augment(t, name, &AugmentOptions{Summaries: true, Points: pointsAt(0xe)})
	alone := contents(t, dir)
	for file, want := range map[string]string{
		"spread.1.stats": "e\n*1\nSF1N1E3I4\nSF2N1E1I1\nSG0N2E4I5\n*9\nSF2N1E2I2\nSG0N1E2I2\n11\n*1\nSF1N1E5I6\nSF2N1E1I1\n" +
			"SG0N2E6I7\n*9\nSF2N1E2I2\nSG0N1E2I2\n11\n*9\n",
		"spread.2.stats": "e\n*2\nSF1N1E1I1\nSG0N1E1I1\n11\n*2\nSF1N1E4I4\nSG0N1E4I4\n11\n*2\n",
	} {
		if alone[file] != want {
			t.Errorf("%s: found\n%swant\n%s", file, alone[file], want)
		}
	}
	augment(t, name, &AugmentOptions{Remove: true})
	augment(t, name, &AugmentOptions{Points: pointsAt(0xe)})
	with := contents(t, dir)
	for _, file := range []string{"spread.1.stats", "spread.2.stats"} {
		if with[file] != alone[file] {
			t.Errorf("%s: with snapshots\n%swithout\n%s", file, with[file], alone[file])
		}
	}
}

// TestAugmentCores checks that the result does not depend on the number of cores.
func TestAugmentCores(t *testing.T) {
	var first map[string]string
	for _, cores := range []int{1, 2, 7} {
		m := randomTrace(t, 31, nil)
		done := int64(0)
		var mu sync.Mutex
		read := &format.ReadOptions{Workers: cores, Progress: func(n, total int64) {
			mu.Lock()
			defer mu.Unlock()
			done = max(done, n)
			if n > total {
				t.Errorf("progress %d of %d", n, total)
			}
		}}
		for _, opt := range []AugmentOptions{{Read: read, Summaries: true}, {Read: read, Snapshots: true}} {
			augment(t, m, &opt)
		}
		if got := contents(t, filepath.Dir(m)); first == nil {
			first = got
		} else {
			sameFiles(t, fmt.Sprint(cores, " cores"), got, first)
		}
	}
}

// TestAugmentWithoutEvents checks that augmenting keeps the statistics that weft cannot compute again:
// statistics of traces and streams without events.
func TestAugmentWithoutEvents(t *testing.T) {
	for _, events := range []string{"", "none"} {
		m := handTrace(t, events)
		stub := strings.TrimSuffix(m, ".otf")
		writeFile(t, stub+".0.def", "DAUX5Y1\n")
		writeFile(t, stub+".1.stats", "5\n*1\nSF1N1E1I1\n5\n*1\n")
		if events == "none" {
			if err := os.Remove(stub + ".1.events"); err != nil {
				t.Fatal(err)
			}
		}
		before := contents(t, filepath.Dir(m))
		if err := Augment(t.Context(), m, nil); !errors.Is(err, ErrNoEvents) {
			t.Errorf("found error %v", err)
		}
		sameFiles(t, "no events", contents(t, filepath.Dir(m)), before)
		writeFile(t, m, "1:1\n2:2\n")
		writeFile(t, stub+".2.events", "5\n*2\nE1\n6\n*2\nL1\n6\n*2\n")
		augment(t, m, &AugmentOptions{Summaries: true})
		after := contents(t, filepath.Dir(m))
		if name := filepath.Base(stub) + ".1.stats"; after[name] != before[name] {
			t.Errorf("found %q, want %q", after[name], before[name])
		}
		augment(t, m, &AugmentOptions{Remove: true})
		if exists(stub + ".1.stats") {
			t.Error("not removed")
		}
	}
}

// TestEqualParts checks that regular break points equal the break points that otfaux chooses.
func TestEqualParts(t *testing.T) {
	effort.Sequential(t)
	for _, c := range []struct {
		first, last uint64
		n           int
		want        []uint64
	}{
		// The points were printed by otfaux.
		{10, 20, 2, []uint64{15}},
		{10, 20, 3, []uint64{13, 17}},
		{10, 20, 4, []uint64{12, 15, 18}},
		{10, 20, 7, []uint64{11, 13, 14, 16, 17, 19}},
		{0, 20, 3, []uint64{7, 14}},
		{10, 42, 4, []uint64{18, 26, 34}},
		{10, 20, 100, []uint64{11, 12, 13, 14, 15, 16, 17, 18, 19, 20}},
		// The points were computed by hand.
		{10, 20, 1, nil},
		{5, 5, 200, nil},
		{0, 1<<64 - 1, 4, []uint64{1 << 62, 1 << 63, 3 << 62}},
		{1, 1<<64 - 2, 2, []uint64{1 << 63}},
	} {
		got, err := EqualParts(c.n)(TimeRange{First: c.first, Last: c.last})
		if got = slices.Compact(got); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: found %v, %v", c, got, err)
		}
	}
	otfaux := tool(t, "otfaux")
	for n := 2; n < 60; n += 3 {
		m := handTrace(t, "3e9\n*1\nE1\n2777\n*1\nL1\n2777\n*1\n")
		theirs := duplicate(t, m)
		augment(t, m, &AugmentOptions{Points: EqualParts(n)})
		if out, err := exec.Command(otfaux, "--all", "-n", fmt.Sprint(n), theirs).CombinedOutput(); err != nil {
			t.Fatalf("otfaux: %v: %s", err, out)
		}
		got, want := samplePoints(t, m), samplePoints(t, theirs)
		// otfaux adds up fractions. If the sum stays below the end of the range, otfaux adds a point at the
		// last event.
		want = slices.DeleteFunc(want, func(s string) bool { return strings.Contains(s, "DAUX2777Y") })
		sameTexts(t, fmt.Sprintf("%d points", n), got, want)
	}
}

func TestPointsEvery(t *testing.T) {
	for _, c := range []struct {
		first, last, d uint64
		want           []uint64
	}{
		{10, 20, 5, []uint64{15, 20}},
		{10, 20, 3, []uint64{13, 16, 19}},
		{10, 20, 100, nil},
		{0, 1<<64 - 1, 1 << 63, []uint64{1 << 63}},
	} {
		got, err := PointsEvery(c.d)(TimeRange{First: c.first, Last: c.last})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: found %v, %v", c, got, err)
		}
	}
	if _, err := PointsEvery(1)(TimeRange{Last: 1 << 40}); err == nil ||
		!strings.Contains(err.Error(), "expected at most 1048576") {
		t.Errorf("too many: %v", err)
	}
}

// TestStateRestore checks that a replay from a snapshot and a summary gives the same results as a
// replay from the beginning.
func TestStateRestore(t *testing.T) {
	m := randomTrace(t, 21, &WriterOptions{Streams: 1})
	first, last, _ := span(t, m)
	r, err := Open(t.Context(), format.FileSource(m), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Cursor(t.Context(), Events)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	whole := NewState(2, nil)
	var half *State
	middle := first + (last-first)/2
	for c.Next() {
		x := c.Record()
		if x.Process != 2 {
			continue
		}
		if half == nil && x.Time >= middle {
			half = NewState(2, nil)
			restore := func(r *Record) error {
				half.Restore(r.Clone())
				return nil
			}
			if err := errors.Join(whole.Summary(middle, restore), whole.Snapshot(middle, restore)); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range []*State{whole, half} {
			if s != nil {
				if err := s.Event(x); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	var text [2]string
	for i, s := range []*State{whole, half} {
		put := func(r *Record) error {
			text[i] += string(r.Append(nil, false))
			return nil
		}
		if err := errors.Join(s.Summary(last+9, put), s.Snapshot(last+9, put)); err != nil {
			t.Fatal(err)
		}
	}
	if text[0] != text[1] || len(text[0]) < 100 {
		t.Errorf("found\n%swant\n%s", text[1], text[0])
	}
	var o *OrderError
	if err := whole.Event(&Record{Type: NoOp, Process: 2, Time: first}); !errors.As(err, &o) {
		t.Errorf("an event of the past: %v", err)
	}
	if err := whole.Summary(first, func(*Record) error { return nil }); !errors.As(err, &o) {
		t.Errorf("a summary of the past: %v", err)
	}
}
