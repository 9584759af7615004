package cli

import (
	"syscall"
	"testing"
	"time"

	"github.com/weft-trace/weft/internal/effort"
)

// processorTime returns the processor time used by this program.
func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestHostileShapesAreLinear checks commands whose time once grew with the square of the trace's
// length. In the long run of make soak, eight times as many events may take at most 40 times as
// long; the square would be 64. Times depend on what else the machine does, so the default run only
// checks that the commands answer.
func TestHostileShapesAreLinear(t *testing.T) {
	effort.Long(t)
	effort.Sequential(t)
	t.Setenv("WEFT_CACHE", t.TempDir())
	for _, x := range []struct {
		shape   string
		n       int
		command []string
	}{
		{"collectives backwards", 5_000, []string{"index"}},
		{"collectives backwards", 5_000, []string{"plot"}},
		{"collectives in the order of their begins", 3_000, []string{"check"}},
		{"collectives in the order of their begins", 3_000, []string{"comm"}},
		{"collectives in the order of their begins", 3_000, []string{"efficiency"}},
		{"collectives in the order of their begins", 5_000, []string{"cut", "--from", "99%"}},
		{"kinds of collective operations", 1_000, []string{"check"}},
		{"kinds of collective operations", 1_000, []string{"comm"}},
		{"kinds of collective operations", 1_000, []string{"print"}},
		{"kinds of collective operations", 500, []string{"merge", "IN"}},
		{"groups of groups", 300, []string{"filter", "--prune"}},
		{"location groups in each other", 3_000, []string{"info"}},
		{"comments", 200, []string{"merge", "IN"}},
		{"attributes of one claim", 2_000, []string{"convert", "--to", "otf2"}},
		{"claims of one place", 1_000, []string{"check"}},
		{"claims at once", 3_000, []string{"check"}},
		{"claims at once", 3_000, []string{"convert", "--to", "otf"}},
		{"claims at once", 3_000, []string{"convert", "--to", "otf2"}},
		{"file operations without ends", 25_000, []string{"convert", "--to", "otf2"}},
		{"calls that end at a snapshot", 5_000, []string{"filter", "--max-depth", "7"}},
		{"calls of an instant in a snapshot", 5_000, []string{"filter", "--max-depth", "7"}},
		{"claims that end backwards", 3_000, []string{"check"}},
		{"claims that end backwards", 3_000, []string{"convert", "--to", "otf"}},
		{"claims of one id", 1_500, []string{"repair"}},
		{"claims of one id that end backwards", 1_500, []string{"anonymize"}},
		{"claims of an instant", 2_500, []string{"check"}},
		{"two claims for one that ends", 10_000, []string{"index"}},
		{"attributes of one claim", 2_000, []string{"info"}},
		{"attributes of one claim", 2_000, []string{"convert", "--to", "etf"}},
		{"fragments that overlap", 3_000, []string{"index"}},
		{"fragments that overlap", 3_000, []string{"plot"}},
		{"recursive", 1_000, []string{"path"}},
		{"recursive", 1_000, []string{"explain"}},
		{"received first", 2_000, []string{"waits", "--causes"}},
		{"received first", 2_000, []string{"efficiency"}},
		{"received inside of another", 10_000, []string{"waits"}},
		{"orphaned", 5_000, []string{"behaviour", "--iterations", "f0"}},
		{"first in, first out", 4_000, []string{"flow", "--visits", "f*"}},
		{"first in, first out", 2_000, []string{"verify", "--suggest", "--by", "id"}},
		{"labels of subsets of processors", 300, []string{"info"}},
		{"labels of subsets of event types", 500, []string{"info"}},
		{"labels of processors", 500, []string{"info"}},
		{"labels", 400, []string{"merge", "IN"}},
		{"labels of subsets of event types", 200, []string{"merge", "IN"}},
		{"destinations of many processes", 250, []string{"messages"}},
		{"receives of any type", 1_500, []string{"check"}},
		{"receives of any type", 1_500, []string{"comm"}},
		{"receives of any type", 1_500, []string{"waits"}},
		{"receives of any type", 1_500, []string{"convert", "--to", "otf2"}},
		{"subsets of many processors", 500, []string{"states"}},
		{"subsets of the same members", 700, []string{"repair"}},
		{"barriers of pairs", 250, []string{"comm"}},
		{"barriers of pairs", 250, []string{"waits"}},
		{"barriers of pairs", 250, []string{"check"}},
		{"barriers of pairs", 150, []string{"convert", "--to", "otf2"}},
		{"statistics of a large subset", 500, []string{"check"}},
		{"statistics of many subsets", 500, []string{"check"}},
		{"statistics of all processors", 500, []string{"check"}},
		{"event types in each other", 250, []string{"check"}},
		{"descriptors", 500, []string{"info"}},
		{"descriptors", 500, []string{"repair"}},
	} {
		var args [2][]string
		for i, n := range []int{x.n, 8 * x.n} {
			if i == 0 || effort.Soak() {
				dir := t.TempDir()
				args[i] = hostileArgs(x.command, hostileTrace(t, dir, x.shape, n), dir)
			}
		}
		if !effort.Soak() {
			if code, _, errs := runWeft(t, args[0]...); code > 1 {
				t.Errorf("%s: %q: exit code %d: %s", x.shape, x.command, code, errs)
			}
			continue
		}
		took := [2]time.Duration{time.Hour, time.Hour}
		// quadratic time would be 64 times as much; on a busy machine, linear time was 24 times as much
		slow := func() bool { return took[1] > 40*max(took[0], 2*time.Millisecond) }
		for range 8 { // a busy machine may slow down one of the two runs
			for i := range args {
				before := processorTime(t)
				if code, _, errs := runWeft(t, args[i]...); code > 1 {
					t.Fatalf("%s: %q: exit code %d: %s", x.shape, x.command, code, errs)
				}
				took[i] = min(took[i], processorTime(t)-before)
			}
			if !slow() {
				break
			}
		}
		t.Logf("%s: %q: %v, %v", x.shape, x.command, took[0], took[1])
		if slow() {
			t.Errorf("%s: %q: found %v for %d events and %v for %d, expected eight times as much, about",
				x.shape, x.command, took[0], 4*x.n, took[1], 32*x.n)
		}
	}
}
