package cli

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCompatOfCarriedTrace checks that --location and times with --compat mean processes and times of
// OTF's own records, as the flags of otfprint do, also in a trace that weft converted from another
// format, whose locations have other ids.
func TestCompatOfCarriedTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.otf")
	if code, out, errs := runWeft(t, "convert", "-q", realTraces["otf2"], path); code != 0 {
		t.Fatalf("convert: exit code %d: %s%s", code, out, errs)
	}
	// The locations are 0 to 3, and no token is 0.
	owner := regexp.MustCompile(`(?m)^\(#\d+\) \t\d+ (?:Enter|Leave): .*process (\d+), source`)
	for _, process := range []string{"1", "2", "4"} {
		code, out, errs := runWeft(t, "print", "--compat", "--location", process, path)
		if code != 0 || errs != "" {
			t.Fatalf("--location %s: exit code %d: %s", process, code, errs)
		}
		found := owner.FindAllStringSubmatch(out, -1)
		if len(found) == 0 || slices.ContainsFunc(found, func(m []string) bool { return m[1] != process }) {
			t.Errorf("--location %s: found %.400q, expected events of that process alone", process, found)
		}
		if want := otfprinted(t, path, "--fullkeyvalue", "--procs", process); want != "" && out != want {
			t.Errorf("--location %s: differs from otfprint --procs %s", process, process)
		}
	}
	all := regexp.MustCompile(`(?m)^\(#\d+\) \t(\d+) Enter: `).FindAllStringSubmatch(otfprinted(t, path), -1)
	if len(all) == 0 {
		t.Skip("otfprint is not installed")
	}
	from, to := all[3][1], all[len(all)/2][1]
	_, out, _ := runWeft(t, "print", "--compat", "--from", "@"+from, "--to", "@"+to, path)
	if want := otfprinted(t, path, "--fullkeyvalue", "--time", from, to); out != want {
		t.Errorf("--from @%s --to @%s: differs from otfprint --time", from, to)
	}
}

// otfprinted returns what otfprint prints, without the time that it took. It is "" if the tool is not
// installed.
func otfprinted(t *testing.T, path string, flags ...string) string {
	t.Helper()
	out, _ := runTool(t, path, "otfprint", flags...)
	text, _, _ := strings.Cut(string(out), "processing time")
	return text
}
