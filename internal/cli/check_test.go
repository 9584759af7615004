package cli

import (
	"strings"
	"testing"
)

// TestCheckLinesOfRules checks the lines for a rule with more places than are kept: one line has
// the number, the times of the first places and the note about the recorder. Other rules have a
// line for each place.
func TestCheckLinesOfRules(t *testing.T) {
	const anchor = "../../format/otf2/testdata/ok/ring/eztrace_log.otf2"
	for _, x := range []struct {
		places string
		lines  int
		ends   string
	}{
		{"10", 3, ", expected a leave of EZTrace finalize, which was entered last"},
		{"2", 1,
			", expected a leave of EZTrace finalize, which was entered last (3 times; also location 1610612733 at " +
				"0.087876351 s)"},
		{"1", 1, ", expected a leave of EZTrace finalize, which was entered last (3 times)"},
	} {
		var lines []string
		for _, l := range strings.Split(weft(t, 0, "check", "--places", x.places, anchor), "\n") {
			if strings.Contains(l, "trace.leave-not-innermost") {
				lines = append(lines, l)
			}
		}
		if len(lines) != x.lines || !strings.HasSuffix(lines[0], x.ends) {
			t.Errorf("--places %s: found %q, expected %d lines, the first of which ends %q", x.places, lines, x.lines, x.ends)
		}
	}
}

// TestCheckLocation checks that --location leaves out a format's notes about other locations. In
// this trace EZTrace has written a wrong number of events for each of four locations.
func TestCheckLocation(t *testing.T) {
	notes := func(args ...string) int {
		_, out, _ := runWeft(t, append([]string{"check", realTraces["ring"]}, args...)...)
		return strings.Count(out, "otf2.counts")
	}
	if all, one, none := notes(), notes("--location", "1073741822"), notes("--location", "nobody"); all != 4 || one != 1 ||
		none != 0 {
		t.Errorf("found %d notes, %d of one location and %d of none; expected 4, 1 and 0", all, one, none)
	}
}
