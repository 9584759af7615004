package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestNothingChosen: a selection that finds nothing is told on standard error by every command that takes it, with the
// nearest name, also with --json; the exit code is that of print, filter and cut.
func TestNothingChosen(t *testing.T) {
	t.Setenv("WEFT_CACHE", t.TempDir())
	t.Chdir(t.TempDir())
	const in = "in.otf2"
	weft(t, exitGood, "generate", "--workload", "ring", "--locations", "2", "--events", "100", in)
	flags := []struct {
		flag, value string
		want        string // on standard error
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
			if lookup == nil || f.flag == "to" && c.Flags().Lookup("from") == nil {
				continue
			}
			args := []string{c.Name(), in, "--" + f.flag, f.value}
			for _, arg := range variant {
				if arg != "--from=0" || f.code != exitDefects && f.want != "" || f.flag == "kind" {
					args = append(args, arg) // cut needs a time
				}
			}
			seen++
			want, code := f.want, f.code
			picture := c.Name() == "plot" || c.Name() == "report"
			switch kept := slices.Contains(variant, "--index"); {
			case kept && (f.flag == "location" || f.flag == "group"):
				want = strings.Replace(want, "the trace", "the picture", 1)
			case kept && (f.flag == "region" || f.flag == "kind"):
				want, code = "an index does not have what that needs", exitUsage
			case f.flag == "region" && slices.ContainsFunc(variant, refuses):
				want, code = "--region", exitUsage
			case picture && (f.flag == "window" || f.flag == "from" || f.flag == "to"):
				want, code = "leave no time", exitUsage // there is nothing to draw on
			case c.Name() == "efficiency" || c.Name() == "explain" || c.Name() == "diff":
				code = exitDefects // of no time there is none
			case c.Name() == "states" && (f.flag == "location" || f.flag == "group"):
				code = exitDefects
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
