package otf

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// sumTexts returns the sums of an interval for each process of a trace.
func sumTexts(t *testing.T, m string, from, to uint64) (out []string) {
	t.Helper()
	r, err := Open(t.Context(), format.FileSource(m), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range r.Master().Streams() {
		for _, p := range r.Master().Processes(id) {
			l, err := r.Summary(t.Context(), uint64(p), from, to)
			if err != nil {
				t.Fatalf("%s: process %d from %d to %d: %v", m, p, from, to, err)
			}
			for i := range l {
				out = append(out, fmt.Sprintf("%d %d %s", p, l[i].Time, l[i].Append(nil, false)))
			}
		}
	}
	return out
}

// span returns the times of the first and the last event.
func span(t *testing.T, m string) (first, last uint64, ok bool) {
	t.Helper()
	r, err := Open(t.Context(), format.FileSource(m), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Cursor(t.Context(), Events)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for c.Next() {
		if last = c.Record().Time; !ok {
			first, ok = last, true
		}
	}
	return first, last, ok
}

var inclusive = regexp.MustCompile("I[0-9a-f]+")

// sameSums checks that the sums are the same from events only, and from events with summaries, with snapshots,
// or with both.
func sameSums(t *testing.T, m string, queries int) {
	t.Helper()
	first, last, _ := span(t, m)
	variants := map[string]string{}
	for name, opt := range map[string]*AugmentOptions{
		"events alone":      {Remove: true},
		"summaries":         {Summaries: true, Points: EqualParts(10)},
		"both":              {Points: EqualParts(10)},
		"snapshots alone":   {Snapshots: true, Points: EqualParts(10)},
		"no sample points":  {Points: EqualParts(10)},
		"without snapshots": {Points: EqualParts(10)},
	} {
		x := duplicate(t, m)
		if err := Augment(t.Context(), x, &AugmentOptions{Remove: true}); err != nil {
			t.Fatal(err)
		}
		if err := Augment(t.Context(), x, opt); err != nil {
			t.Fatal(err)
		}
		l, err := filepath.Glob(strings.TrimSuffix(x, "otf") + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range l {
			switch {
			case name == "no sample points" && strings.HasSuffix(f, ".0.def"):
				b, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				writeFile(t, f, strings.ReplaceAll(strings.ReplaceAll(string(b), "\nDAUX", "\nDCMT\"\"#"), "\nDEFAUX",
					"\nDEFCOMMENT \"\"#"))
			case name == "without snapshots" && strings.Contains(f, ".snaps"):
				if err := os.Remove(f); err != nil {
					t.Fatal(err)
				}
			}
		}
		variants[name] = x
	}
	rng := rand.New(rand.NewPCG(3, last))
	for n := range queries {
		from, to := first+rng.Uint64N(last-first+2), first+rng.Uint64N(last-first+2)
		from, to = min(from, to), max(from, to)
		switch step := (last - first + 1) / 10; n % 5 {
		case 0: // the interval is between break points
			from, to = first+from%9*step, first+to%9*step
			from, to = min(from, to), max(from, to)
		case 1:
			from = 0
		case 2:
			to = last + 1
		}
		want := strings.Join(sumTexts(t, variants["events alone"], from, to), "")
		for name, x := range variants {
			got, want := strings.Join(sumTexts(t, x, from, to), ""), want
			if strings.Contains(want, "Iffffffffffffffff") { // statistics hold only 64 bits of a sum that exceeds them
				got, want = inclusive.ReplaceAllString(got, ""), inclusive.ReplaceAllString(want, "")
			}
			if got != want {
				t.Fatalf("from %d to %d, %s: found\n%swant\n%s", from, to, name, got, want)
			}
		}
	}
}

func TestSummaryBothWays(t *testing.T) {
	effort.Long(t)
	effort.Sequential(t)
	for name, m := range sortedTraces(t) {
		t.Run(name, func(t *testing.T) {
			sameSums(t, m, 4)
		})
	}
	for seed := range uint64(effort.Rounds(2)) {
		sameSums(t, randomTrace(t, 100+seed, &WriterOptions{Streams: uint32(seed), Level: int(seed % 2), Long: seed == 1}), 8)
	}
}

// TestSummaryReadsLittle checks that sums between break points are computed from statistics only: they
// are correct even without the files of events.
func TestSummaryReadsLittle(t *testing.T) {
	m := randomTrace(t, 3, nil)
	first, last, _ := span(t, m)
	if err := Augment(t.Context(), m, &AugmentOptions{Summaries: true, Points: EqualParts(4)}); err != nil {
		t.Fatal(err)
	}
	from, to := first+(last+1-first)/4, last+1
	want := sumTexts(t, m, from, to)
	l, err := filepath.Glob(filepath.Dir(m) + "/*.events")
	if err != nil || len(l) == 0 || len(want) < 20 {
		t.Fatal(l, err, want)
	}
	for _, name := range l {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if got := sumTexts(t, m, from, to); strings.Join(got, "") != strings.Join(want, "") {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestSummaryErrors checks that queries without an answer return an error.
func TestSummaryErrors(t *testing.T) {
	m := handTrace(t, "a\n*1\nE1\n5\n*1\nL1\n5\n*1\n")
	r, err := Open(t.Context(), format.FileSource(m), nil)
	if err != nil {
		t.Fatal(err)
	}
	var d *trace.Defect
	if l, err := r.Summary(t.Context(), 1, 0, 100); !errors.As(err, &d) || d.Rule != "otf.unsorted" {
		t.Errorf("unsorted: found %v, %v", l, err)
	}
	for _, c := range []struct{ process, from, to uint64 }{{2, 0, 1}, {1 << 32, 0, 1}, {1, 2, 1}} {
		if l, err := r.Summary(t.Context(), c.process, c.from, c.to); err == nil ||
			!strings.Contains(err.Error(), "expected") {
			t.Errorf("%+v: found %v, %v", c, l, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m = randomTrace(t, 1, nil)
	if r, err = Open(t.Context(), format.FileSource(m), nil); err != nil {
		t.Fatal(err)
	}
	if l, err := r.Summary(ctx, 1, 0, 1<<40); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: found %v, %v", l, err)
	}
}
