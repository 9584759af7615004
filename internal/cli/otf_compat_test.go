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

// TestCompatOfTimesBeyondTheClock checks that --compat takes times from 2^63 on as otfprint does, which reads them as
// signed integers: they mean 2^63 - 1.
func TestCompatOfTimesBeyondTheClock(t *testing.T) {
	const most = "9223372036854775807"
	path := "../../format/otf/testdata/ok/bigtime/bigtime.otf" // 4 events before most, and 4 from it on
	for _, c := range []struct {
		from, to string
		events   int
	}{
		{"0", most, 4}, {"0", "9223372036854775808", 4}, {"0", "18446744073709551615", 4}, {"0", "18446744073709551616", 4},
		{most, "18446744073709551615", 0}, {"18446744073709551613", "18446744073709551615", 0},
	} {
		code, out, errs := runWeft(t, "print", "--compat", "--quiet", "--window", "@"+c.from+"..@"+c.to, path)
		if n := strings.Count(out, " Enter: "); code != 0 || n != c.events {
			t.Errorf("%s to %s: found exit code %d and %d events, expected %d: %s", c.from, c.to, code, n, c.events, errs)
		}
		if want := otfprinted(t, path, "--fullkeyvalue", "--time", c.from, c.to); want != "" && out != want {
			t.Errorf("%s to %s: found %q, expected what otfprint prints: %q", c.from, c.to, out, want)
		}
	}
	_, all, _ := runWeft(t, "print", "--compat", realTraces["otf2"])
	code, out, errs := runWeft(t, "print", "--compat", "--window", "@0..@18446744073709551615", realTraces["otf2"])
	if code != 0 || out != all {
		t.Errorf("OTF2: found exit code %d and %d bytes, expected all %d: %s", code, len(out), len(all), errs)
	}
	if code, _, errs := runWeft(t, "print", "--compat", "--from", "@"+most, "--to", "@5", path); code != exitUsage {
		t.Errorf("found exit code %d, expected a usage error: %s", code, errs)
	}
}
