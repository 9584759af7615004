package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeLongTrace writes a trace of three processes. Each is in main, and within it in sub, for
// 4·10¹⁸ ns: 1.2·10¹⁹ ns together, more than 2⁶³.
func writeLongTrace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"o.otf": "1:1,2,3\n",
		"o.0.def": "DTR3b9aca00\nDP1NM\"a\"\nDP2NM\"b\"\nDP3NM\"c\"\n" +
			"DPG9M1,2,3,NM\"w\"\nDFG1NM\"g\"\nDF1G1NM\"main\"\nDF2G1NM\"sub\"\n",
		"o.1.events": "0\n*1\nE1\nE2\n*2\nE1\nE2\n*3\nE1\nE2\n3782dace9d900000\n*1\nL2\nL1\n*2\nL2\nL1\n*3\nL2\nL1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "o.otf")
}

// TestSumsBeyond64Bits checks that sums of durations beyond 2⁶³ ticks are right in all outputs.
func TestSumsBeyond64Bits(t *testing.T) {
	t.Setenv("WEFT_CACHE", t.TempDir())
	path := writeLongTrace(t)
	for args, want := range map[string]string{
		"profile": "sub     g          3  3333333.333 h  100.0  3333333.333 h  1111111.111 h  " +
			"1111111.111 h  1111111.111 h",
		"profile --by group":        "sub     g          3  3333333.333 h  100.0",
		"profile --json":            `"covered": 12000000000000000000,`,
		"profile --by group --json": `"exclusive": 12000000000000000000,`,
		"profile --csv": "region,sub,g,3,12000000000,12000000000,12000000000,4000000000," +
			"4000000000,4000000000,0,0\n",
		"profile --window @1s..@3000000001s": "sub     g          3  2500000 h  100.0",
		"profile --tree":                     "3333333.333 h  100.0  3333333.333 h      3  1111111.111 h    sub",
		"profile --tree --csv": "all locations,1,main;sub,3,12000000000,12000000000," +
			"4000000000,4000000000,4000000000\n",
		"profile --folded":    "main;sub 12000000000000000000\n",
		"profile --sort mean": "3333333.333 h",
		"structure": "sub                                                3 1111111.111 h " +
			"1111111.111 h 1111111.111 h 3333333.333 h  0.000",
		"structure --json": `"sum": 12000000000000000000,`,
		"states":           "a          1111111.111 h  100.0  0 s       0.0  0 s   0.0",
		"info --json":      `"last": 4000000000000000000,`,
	} {
		code, out, errs := runWeft(t, append(strings.Fields(args), path)...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d, %s%s\nexpected %q in it", args, code, errs, out, want)
		}
	}
	// weft refuses numbers that do not fit into pprof's.
	code, _, errs := runWeft(t, "profile", "--pprof", path+".gz", path)
	if _, err := os.Stat(path + ".gz"); code == 0 || err == nil ||
		!strings.Contains(errs, "found 12000000000000000000 ns in sub, expected less than 2^63") {
		t.Errorf("--pprof: exit %d, %v, %s", code, err, errs)
	}
	for _, args := range [][]string{{"plot"}, {"plot", "--index"}} {
		code, out, errs := runWeft(t, append(args, "--force", "--output", path+".svg", path)...)
		svg, err := os.ReadFile(path + ".svg")
		if code != 0 || err != nil || !strings.Contains(string(svg), ">3333333.333 h exclusive<") {
			t.Errorf("%s: exit %d, %v, %s%s, found %.3000s", args, code, err, out, errs, svg)
		}
	}
	code, out, errs := runWeft(t, "report", "--output", path+".html", path)
	html, err := os.ReadFile(path + ".html")
	if code != 0 || err != nil || !strings.Contains(string(html), "3333333.333 h") ||
		strings.Contains(string(html), "-1790762") {
		t.Errorf("report: exit %d, %v, %s%s", code, err, out, errs)
	}
}

// TestLongMessages checks messages of 2⁶⁴ − 2 and 5 bytes. Their sum does not fit into 64 bits,
// which standard error and JSON report.
func TestLongMessages(t *testing.T) {
	const path, note = "testdata/long-messages/traces.otf2",
		"Sums of bytes exceed 64 bits: 18446744073709551615 stands for all greater sums\n"
	for args, want := range map[string]string{
		"comm":                          "18446744073709551614         1  18446744073709551614",
		"comm --csv --show sizes":       "18446744073709551614,18446744073709551614,1,18446744073709551614\n",
		"comm --json":                   "\"saturated\": true\n",
		"messages":                      "Sent       2 messages, 18446744073709551615 bytes\n",
		"messages --json":               `"maxPendingBytes": 18446744073709551614,`,
		"messages --sizes":              "18446744073709551614         1  18446744073709551614",
		"messages --list --csv":         ",18446744073709551614,",
		"messages --window @0ns..@12ns": "Sent       1 message, 18446744073709551614 bytes\n",
	} {
		code, out, errs := runWeft(t, append(strings.Fields(args), path)...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d, %s%s\nexpected %q in it", args, code, errs, out, want)
		}
		if sums := !strings.Contains(args, "--list") &&
			!strings.Contains(args, "--window"); strings.Contains(errs, note) != sums {
			t.Errorf("%s: found the message %q", args, errs)
		}
	}
	if _, _, errs := runWeft(t, "comm", "--quiet", path); strings.Contains(errs, note) {
		t.Errorf("--quiet: found the message %q", errs)
	}
}
