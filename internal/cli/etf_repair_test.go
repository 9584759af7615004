package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestRepairOfTRACEDefinitions checks that repair defines the groups of time series, and gives
// attributes without a key one that no other attribute has, and repeated ids a free one. Nothing is left to
// mend then.
func TestRepairOfTRACEDefinitions(t *testing.T) {
	for _, x := range []struct{ in, want string }{
		{"TSP 0 0 1 2\n", "TU SECONDS\nTS 0 ; name=undefined time series 0\nTSS 0 0 ; name=undefined series 0/0\nTSP 0 0 " +
			"1 2\n"},
		{"TSS 1 7 ; name=a\nTSP 1 7 1 2\nTSS 1 8 ; name=b\nTSP 1 8 1 2\n", "TU SECONDS\nTS 1 ; name=undefined time series " +
			"1\n" +
			"TSS 1 7 ; name=a\nTSP 1 7 1 2\nTSS 1 8 ; name=b\nTSP 1 8 1 2\n"},
		{"TU SECONDS\nT =x\nE 1 1 ;\n", "TU SECONDS\nT unknown=x\nE 1 1 ;\n"},
		{"TU SECONDS\nT a=1\nE 1 1 ; =y, unknown=z\nE 2 1 ; k=v\nD 1 4 1 2 ; =w\n",
			"TU SECONDS\nT a=1\nE 1 1 ; unknown 2=y, unknown=z\nE 2 1 ; k=v\nD 1 4 1 2 ; unknown 2=w\n"},
		{"TU SECONDS\nR 1 1 false ; =a\nC 1 0 1 1 1 ; =b\nS 1 ; =c\nF 1 0 1 1 0 0\nTS 1 ; =d\nTSS 1 1 ; =e\nTSP 1 1 0 1\n",
			"TU SECONDS\nR 1 1 false ; unknown=a\nC 1 0 1 1 1 ; unknown=b\nS 1 ; unknown=c\nF 1 0 1 1 0 0\n" +
				"TS 1 ; unknown=d\nTSS 1 1 ; unknown=e\nTSP 1 1 0 1\n"},
		{"E 9223372036854775807 1 ;\nE -5 2 ;\nE 9223372036854775807 3 ;\nE 9223372036854775807 3 ;\n",
			"TU SECONDS\nE 9223372036854775807 1 ;\nE -5 2 ;\nE -6 3 ;\nE -7 3 ;\n"},
	} {
		in, out := textFile(t, "in.etf", x.in), filepath.Join(t.TempDir(), "out.etf")
		mustRun(t, "repair", "-q", in, out)
		if got := readText(t, out); got != x.want {
			t.Errorf("%q: found\n%s\nexpected\n%s", x.in, got, x.want)
		}
		if code, printed, _ := runWeft(t, "check", out); code != 0 || !strings.Contains(printed, " 0 errors, 0 warnings") {
			t.Errorf("%q: check finds %s", x.in, printed)
		}
	}
}

// TestTRACEIntervalsThatEndFirst checks lines whose interval ends before it starts. Their times affect
// neither the resolution nor other lines, even if the start does not fit.
func TestTRACEIntervalsThatEndFirst(t *testing.T) {
	for line, rule := range map[string]string{
		"TSR 0 0 9223372036854775807 4.5 1 2 3\n": "etf.fragment-times",
		"F 0 9223372036854775807 4.5 1 2 3\n":     "etf.fragment-times",
		"C 0 9223372036854775807 4.5 0 1 ;\n":     "etf.claim-times",
		"C 0 9223372036854775807.0 4.50 0 1 ;\n":  "etf.claim-times",
		"TSR 0 0 5 0.123456789012345678 1 2 3\n":  "etf.fragment-times",
	} {
		const rest = "TU SECONDS\nR 0 1 false ;\nE 0 1.25 ;\nE 1 8000000000000000 ;\nS 0 ;\nF 0 0 1 1 0 0\nTS 0 ;\nTSS 0 " +
			"0 ;\nTSP 0 0 1 2\n"
		in, out := textFile(t, "in.etf", rest+line), filepath.Join(t.TempDir(), "out.etf")
		code, printed, _ := runWeft(t, "check", in)
		if code != 1 || !strings.Contains(printed, rule) || strings.Contains(printed, "etf.time-rounded") {
			t.Errorf("%q: check finds %s, expected %s and no rounded time", line, printed, rule)
		}
		mustRun(t, "repair", "-q", in, out)
		if got := readText(t, out); got != rest {
			t.Errorf("%q: found\n%s\nexpected\n%s", line, got, rest)
		}
	}
}

// TestTRACEOffsetOutOfRange checks that an offset that is ignored becomes a comment where the trace is written again.
func TestTRACEOffsetOutOfRange(t *testing.T) {
	got, _ := rewriteTRACE(t, "TU SECONDS\nO 9223372036854775807\nE 0 1 ;\n", "filter", "-q")
	if want := "TU SECONDS\n# O 9223372036854775807\nE 0 1 ;\n"; got != want {
		t.Errorf("found\n%s\nexpected\n%s", got, want)
	}
}

// TestRepairListsNoLinesThatStay checks that repair lists no change for lines that it writes as they stand.
func TestRepairListsNoLinesThatStay(t *testing.T) {
	for name, text := range map[string]string{
		"in.etf": "TU SECONDS\nX 1 2\nE 1 1 ;\n",
		"in.trf": "-203 -1 0.100000 -1 -1 3 2 -21 -51 -52\n-2 0 0.100000 0 0 0\n",
	} {
		in := textFile(t, name, text)
		out := filepath.Join(t.TempDir(), name)
		code, printed, errs := runWeft(t, "repair", in, out)
		if got := readText(t, out); code != 0 || got != text || !strings.HasSuffix(printed, ": 0 changes\n") {
			t.Errorf("%q: found\n%s\n%s%s", text, got, printed, errs)
		}
	}
}
