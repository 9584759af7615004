package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestStrictOnce checks that a command which stops at the first defect reports it once, and nothing else.
func TestStrictOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"a.trf": "-3 -21 0.1 0 0 3 2 10 1 1\nfoo bar\n-4 -21 0.2 0 0 0\n-4 -52 x 0 0 0\n",
		"a.etf": "TU SECONDS\nR 1 1 true ; name=r\nC 1 2 x ; name=a\nC 2 3 x ; name=b\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"print"}, {"print", "--json"}, {"print", "--limit", "3"}, {"print", "--raw"},
			{"messages"}, {"messages", "--list"}, {"profile"}, {"info"}, {"check"}, {"states"}, {"comm"}} {
			var out, errs bytes.Buffer
			code := Main(append(args, "--strict", name), strings.NewReader(""), &out, &errs)
			if args[len(args)-1] == "--raw" && code == exitGood {
				continue // the format's text is printed as it is
			}
			text := errs.String()
			if n := strings.Count(text, "\n"); code != exitDefects || n != 1 || !strings.Contains(text, name+":") {
				t.Errorf("%v --strict %s: found exit code %d and %d lines, expected %d and 1:\n%s", args, name, code, n,
					exitDefects, text)
			}
		}
	}
}

// TestStrictStopsAtTheFirstLine checks that --strict names the first line with a defect, although readers find
// defects of definitions, and of lines in the order of time, before those of earlier lines.
func TestStrictStopsAtTheFirstLine(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"definition.etf": "TU SECONDS\nE 0 x ;\nR 0 0 false ;\n",
		"time.etf":       "R 0 1 false ;\nC 0 5 4 0 1 ;\nC 1 6 7 0 2 ;\nC 2 0 1 0 2 ;\n",
		"stdin":          "TU SECONDS\nE 0 x ;\nR 0 0 false ;\n",
		"time.trf":       "-3 1 5.0 0 0 0\n-4 1 6.0 0 0 1 2 x\n-3 1 1.0 0 0 1 2 y\n-4 1 2.0 0 0 0\n-1 1\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"check"}, {"print"}, {"info"}, {"profile"}, {"verify", "--never", "start x"}} {
			file := name
			if name == "stdin" {
				file = "-"
			}
			var out, errs bytes.Buffer
			code := Main(append(args, "--strict", file), strings.NewReader(text), &out, &errs)
			if text := errs.String(); code != exitDefects || !strings.HasPrefix(text, "weft: "+name+":2: ") {
				t.Errorf("%v --strict %s: found exit code %d and %q, expected line 2", args, name, code, text)
			}
		}
	}
	// Line 4 repeats an id, which only the comparison of all lines finds.
	text := "R 0 1 false ;\nC 0 0 1 0 1 ;\nE 0 0 ;\nC 0 2 3 0 1 ;\nC 2 2 5 0 2 ;\n"
	for args, line := range map[string]string{"": "4", "--rule etf.overload,etf.capacity-exceeded": "5",
		"--rule etf.number": "", "--window @3..@5": "4"} {
		var out, errs bytes.Buffer
		code := Main(append(strings.Fields("check --strict "+args), "-"), strings.NewReader(text), &out, &errs)
		if line == "" && code == exitGood && errs.Len() == 0 {
			continue
		}
		if !strings.HasPrefix(errs.String(), "weft: stdin:"+line+": ") || code != exitDefects {
			t.Errorf("check --strict %s: found exit code %d and %q, expected line %q", args, code, errs.String(), line)
		}
	}
}

// TestStrictInTheWindow checks that weft check --strict stops at no defect outside of the window.
func TestStrictInTheWindow(t *testing.T) {
	// The claims overlap from 2 s on.
	text := "R 0 1 false ;\nC 0 0 5 0 1 ;\nC 1 2 3 0 1 ;\n"
	for window, expected := range map[string]int{"@0..@1": exitGood, "@1..@3": exitDefects} {
		var out, errs bytes.Buffer
		if code := Main([]string{"check", "--strict", "--window", window, "-"}, strings.NewReader(text), &out,
			&errs); code != expected {
			t.Errorf("--window %s: found exit code %d, expected %d: %s%s", window, code, expected, &out, &errs)
		}
	}
}
