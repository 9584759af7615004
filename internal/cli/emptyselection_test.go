package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestNothingChosen checks that every command reports a selection that finds nothing on standard
// error, with the nearest name, also with --json. The exit code is that of print, filter and cut.
func TestNothingChosen(t *testing.T) {
	t.Setenv("WEFT_CACHE", t.TempDir())
	t.Chdir(t.TempDir())
	const in = "in.otf2"
	weft(t, exitGood, "generate", "--workload", "ring", "--locations", "2", "--events", "100", in)
	weft(t, exitGood, "convert", "-q", in, "in.otf")
	flags := []struct {
		flag, value string
		want        string // text on standard error
		code        int
	}{
		{"location", "rank 9", "--location rank 9: the trace has no such location; did you mean rank 0?\n", exitGood},
		{"group", "node 9", "--group node 9: the trace has no such group; did you mean node 0?\n", exitGood},
		{"region", "MPI_Rec", "--region MPI_Rec: the trace has no such region; did you mean MPI_Recv?\n", exitGood},
		{"kind", "sned", "--kind sned: no such kind; did you mean send?\n", exitUsage},
		{"kind", "lock-acquire", "", exitGood},
		{"window", "10s..11s", "", exitGood},
		{"from", "10s", "", exitGood},
		{"to", "@0", "", exitGood},
		{"window", "50%..50%", "", exitGood}, // while regions are open
		{"occurrence", "MPI_Rec", "--occurrence MPI_Rec: the trace has no such region; did you mean MPI_Recv?\n",
			exitDefects},
		{"occurrence", "MPI_Recv#500", "--occurrence MPI_Recv#500: found 12 visits or claims, expected 500 or more\n",
			exitDefects},
	}
	variants := map[string][][]string{
		"profile": {{}, {"--tree"}, {"--folded"}, {"--pprof", "out.pprof"}, {"--csv"}},
		"plot":    {{"-o", "out.svg"}, {"--index", "-o", "out.svg"}},
		"report":  {{"-o", "out.html"}}, "messages": {{}, {"--list"}}, "print": {{}, {"--compat"}},
		"cut": {{"--from=0", "out.otf2"}}, "align": {{"out.otf2"}}, "diff": {{in}},
		"verify": {{"--never", "MPI_Abort"}}, "flow": {{"--visits", "*"}}, "distance": {{in, "--calls"}},
		"behaviour": {{"--locations"}}, "sort": {{"out.otf"}},
	}
	for _, name := range []string{"convert", "filter", "merge", "anonymize", "repair"} {
		variants[name] = [][]string{{"out.otf2"}}
	}
	refuses := func(arg string) bool {
		return slices.Contains([]string{"--tree", "--folded", "--pprof", "--compat"}, arg)
	}
	seen := 0
	check := func(c *cobra.Command, variant []string) {
		for _, f := range flags {
			lookup := c.Flags().Lookup(f.flag)
			if lookup == nil || lookup.Hidden || f.flag == "to" && c.Flags().Lookup("from") == nil {
				continue
			}
			args := []string{c.Name(), in, "--" + f.flag, f.value}
			if c.Name() == "sort" {
				args[1] = "in.otf" // weft sort has nothing to do for OTF2
			}
			for _, arg := range variant {
				if arg != "--from=0" || f.code != exitDefects && f.want != "" || f.flag == "kind" {
					args = append(args, arg) // weft cut needs a time
				}
			}
			seen++
			want, code := f.want, f.code
			if c.Name() == "diff" && f.flag == "region" {
				want = strings.Replace(want, "the trace has", "the traces have", 1)
			}
			switch kept := slices.Contains(variant, "--index"); {
			case kept && (f.flag == "location" || f.flag == "group"):
				want = strings.Replace(want, "the trace", "the picture", 1)
			case kept && (f.flag == "region" || f.flag == "kind"):
				want, code = "which lacks the events that it needs", exitUsage
			case f.flag == "region" && slices.ContainsFunc(variant, refuses):
				want, code = "--region", exitUsage
			}
			var out, errs bytes.Buffer
			got := Main(args, strings.NewReader(""), &out, &errs)
			text := errs.String()
			nothing := want != "" || strings.Contains(text, ": found no") || strings.Contains(text, "no region was open") ||
				strings.Contains(text, "no event is left\n")
			if got != code || !strings.Contains(text, want) || !nothing ||
				code == exitGood && want != "" && strings.Count(text, want) != 1 {
				t.Errorf("%v: found exit code %d and %q, expected %d and %q once, or that there is nothing", args, got, text,
					code, want)
			}
		}
	}
	for _, c := range Command().Commands() {
		list := variants[c.Name()]
		if list == nil {
			list = [][]string{{}}
		}
		for _, variant := range list {
			check(c, variant)
			if c.Flags().Lookup("json") != nil && !slices.ContainsFunc(variant, refuses) && !slices.Contains(variant, "--csv") {
				check(c, append([]string{"--json"}, variant...))
			}
		}
	}
	if seen < 200 {
		t.Errorf("found %d command lines, expected 200 or more", seen)
	}
}

// TestNothingLeftOfArchive checks that OTF2's own tools read the archive that a pruning edit leaves without locations.
func TestNothingLeftOfArchive(t *testing.T) {
	for _, in := range []string{richArchive, realTraces["otf2"]} {
		out := filepath.Join(t.TempDir(), "x.otf2")
		weft(t, exitGood, "filter", "-q", "--prune", "--location", "nobody", in, out)
		printed, errs := runTool(t, out, "otf2-print", "-A")
		if bytes.Contains(printed, []byte("ERROR")) || len(errs) > 0 {
			t.Errorf("%s: otf2-print: %s%s", in, printed, errs)
		}
	}
}

// TestNothingLeft checks that what an empty selection leaves can be read back in every format, or is not written, and
// that a file without text is no trace.
func TestNothingLeft(t *testing.T) {
	t.Chdir(t.TempDir())
	weft(t, exitGood, "generate", "--workload", "ring", "--locations", "2", "--events", "100", "in.otf2")
	weft(t, exitGood, "convert", "-q", "--allow-loss", "--plain", "in.otf2", "in.trf")
	for _, in := range []string{"in.otf2", "in.trf"} {
		for _, to := range []string{"out.otf2", "out.otf", "out.pallas", "out.etf", "out.trf"} {
			var out, errs bytes.Buffer
			args := []string{"filter", "--force", "--allow-loss", "--location", "nobody", in, to}
			code := Main(args, strings.NewReader(""), &out, &errs)
			if !strings.Contains(errs.String(), "no event is left\n") {
				t.Errorf("%v: found %q on standard error, expected that no event is left", args, errs.String())
			}
			if code == exitDefects && strings.Contains(errs.String(), "not written: no record is left") {
				if _, err := os.Stat(to); err == nil {
					t.Errorf("%v: found a file, expected none", args)
				}
				continue
			}
			if code != exitGood {
				t.Errorf("%v: found exit code %d and %q, expected 0, or that nothing is written", args, code, errs.String())
				continue
			}
			name := to
			if to == "out.pallas" {
				name = filepath.Join("out", "out.pallas")
			}
			if _, err := os.Stat(name); err != nil {
				name = to
			}
			weft(t, exitGood, "info", "-q", name)
		}
	}
	for _, name := range []string{"blank.etf", "blank.trf", "blank.otf2", "blank"} {
		for _, text := range []string{"", "\n", " \t\r\n\n", "\ufeff\n", strings.Repeat("\n", 100_000)} {
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"info", name}, {"check", name}, {"info", "--format", "etf", name},
				{"print", "--format", "picl", name}} {
				var out, errs bytes.Buffer
				if code := Main(args, strings.NewReader(""), &out, &errs); code != exitDefects ||
					!strings.Contains(errs.String(), "found an empty file") {
					t.Errorf("%v of %d blank bytes: found exit code %d and %q, expected %d and that the file is empty", args,
						len(text), code, errs.String(), exitDefects)
				}
			}
		}
	}
}

// TestListOfNames checks that the command which an unknown name leads to lists the names.
func TestListOfNames(t *testing.T) {
	t.Chdir(t.TempDir())
	weft(t, exitGood, "generate", "--workload", "ring", "--locations", "2", "--events", "100", "in.otf2")
	for flag, name := range map[string]string{"location": "rank 0", "group": "node 0", "region": "MPI_Recv",
		"communicator": "MPI_COMM_WORLD"} {
		var out, errs bytes.Buffer
		Main([]string{"filter", "--" + flag, "xyzzyxyzzy", "in.otf2", "out.otf2"}, strings.NewReader(""), &out, &errs)
		_, hint, ok := strings.Cut(errs.String(), "; weft ")
		hint, _, end := strings.Cut(hint, " lists them")
		if !ok || !end {
			t.Errorf("--%s: found %q, expected a command that lists the names", flag, errs.String())
			continue
		}
		if text := weft(t, exitGood, append(strings.Fields(hint), "in.otf2")...); !strings.Contains(text, name) {
			t.Errorf("--%s: weft %s does not list %s:\n%s", flag, hint, name, text)
		}
	}
}

// TestWindowWithoutTick checks the message about a window between two ticks, in which a claim of the trace
// is open. By the words of docs/commands.md, fractions of a tick are rounded up: 1.2 ms and 1.9 ms are tick 2. The
// window of all times of a trace with a single event has the tick of this event.
func TestWindowWithoutTick(t *testing.T) {
	t.Setenv("WEFT_CACHE", t.TempDir())
	t.Chdir(t.TempDir())
	for name, line := range map[string]string{"in.etf": "C 0 0 10 0 1 ; name=a\n", "single.etf": "E 5 0 ; name=a\n"} {
		if err := os.WriteFile(name, []byte("TU MILLISECONDS\nR 0 1 false ;\n"+line), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"profile"}, {"usage"}, {"info"}, {"report", "-o", "out.html"},
		{"plot", "-o", "out.svg"}, {"cut"}} {
		for _, x := range []struct {
			window, in string
			want       int
		}{{"1.2ms..1.9ms", "in.etf", 1}, {"1.2ms..2.1ms", "in.etf", 0}, {"2ms..2ms", "in.etf", 0},
			{"0%..100%", "single.etf", 0}} {
			all := append(slices.Clone(args), "--force", "--window", x.window, x.in)
			switch args[0] {
			case "profile", "usage", "info":
				all = append(slices.Clone(args), "--window", x.window, x.in)
			case "cut":
				all = append(all, "out.etf")
			}
			var out, errs bytes.Buffer
			Main(all, strings.NewReader(""), &out, &errs)
			message := "the window from 1.2ms to 1.9ms has no tick of the trace's clock; a tick is 1 ms\n"
			if n := strings.Count(errs.String(), message); n != x.want || strings.Count(errs.String(), "no tick") != x.want {
				t.Errorf("%v: found %q, expected the message about ticks %d times", all, errs.String(), x.want)
			}
		}
	}
}
