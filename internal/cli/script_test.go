package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/weft-trace/weft/internal/effort"
)

// TestMain lets scripts run this test program as weft. Files that tests write are not added to the
// user's list of written files.
func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); name != "weft" && name != "weft.exe" {
		os.Setenv("XDG_CACHE_HOME", filepath.Join(os.TempDir(), "weft-test-cache"))
	}
	testscript.Main(m, map[string]func(){
		"weft": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs testdata/script/*.txtar. In addition to testscript's own commands, scripts can
// use scriptCommands.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                scriptCommands,
		Setup: func(e *testscript.Env) error {
			// Without this setting, each program with the race detector sleeps for a second at its end.
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
			repo, err := filepath.Abs("../..")
			e.Setenv("REPO", repo)
			return err
		},
		Condition: func(cond string) (bool, error) {
			if cond == "fulldevice" { // true if the system has the device /dev/full
				_, err := os.Stat("/dev/full")
				return err == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

// scriptCommands are the commands of scripts.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	// exits CODE COMMAND...: the command ends with this exit code.
	"exits": func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < 2 {
			ts.Fatalf("usage: exits CODE COMMAND...")
		}
		want, err := strconv.Atoi(args[0])
		ts.Check(err)
		code := 0
		if err := ts.Exec(args[1], args[2:]...); err != nil {
			var e *exec.ExitError
			if !errors.As(err, &e) {
				ts.Fatalf("%v", err)
			}
			code = e.ExitCode()
		}
		if code != want {
			ts.Fatalf("exit code %d, want %d", code, want)
		}
	},
	// json FILE PATH VALUE: the value at PATH in a JSON file is VALUE. Slashes separate the steps of
	// a path: keys, indices from 0, or "len" for the length. In JSON Lines the first step is the
	// line.
	"json": func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) != 3 {
			ts.Fatalf("usage: json FILE PATH VALUE")
		}
		v, err := readJSON(ts.ReadFile(args[0]))
		ts.Check(err)
		got, err := lookJSON(v, args[1])
		ts.Check(err)
		want, err := readJSON(args[2])
		ts.Check(err)
		if g, w := jsonText(got), jsonText(want); g == w == neg {
			ts.Fatalf("%s: found %s, want (negated: %t) %s", args[1], g, neg, w)
		}
	},
	// lines FILE N: the file has N lines.
	"lines": func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 2 {
			ts.Fatalf("usage: lines FILE N")
		}
		if n := strings.Count(ts.ReadFile(args[0]), "\n"); strconv.Itoa(n) != args[1] {
			ts.Fatalf("%s: found %d lines, want %s", args[0], n, args[1])
		}
	},
	// dir NAME FILE...: the directory contains exactly these files.
	"dir": func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < 1 {
			ts.Fatalf("usage: dir NAME FILE...")
		}
		entries, err := os.ReadDir(ts.MkAbs(args[0]))
		ts.Check(err)
		got := []string{}
		for _, e := range entries {
			got = append(got, e.Name())
		}
		want := slices.Sorted(slices.Values(args[1:]))
		if !slices.Equal(got, want) {
			ts.Fatalf("%s: found %q, want %q", args[0], got, want)
		}
	},
	// png FILE WIDTH: the file is a PNG picture with this width.
	"png": func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 2 {
			ts.Fatalf("usage: png FILE WIDTH")
		}
		img, err := png.Decode(strings.NewReader(ts.ReadFile(args[0])))
		ts.Check(err)
		if w := img.Bounds().Dx(); strconv.Itoa(w) != args[1] {
			ts.Fatalf("%s: width %d, want %s", args[0], w, args[1])
		}
	},
	// write FILE TEXT: write a Go string literal without its quotes, for bytes that a script cannot
	// contain.
	"write": func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 2 {
			ts.Fatalf("usage: write FILE TEXT")
		}
		s, err := strconv.Unquote(`"` + args[1] + `"`)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(s), 0o666))
	},
}

// readJSON decodes one value, or several values as an array. Numbers keep their text.
func readJSON(s string) (any, error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var all []any
	for {
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

// lookJSON returns the value at a path.
func lookJSON(v any, path string) (any, error) {
	for step := range strings.SplitSeq(path, "/") {
		switch x := v.(type) {
		case map[string]any:
			y, ok := x[step]
			if step == "len" {
				y, ok = json.Number(strconv.Itoa(len(x))), true
			}
			if !ok {
				return nil, fmt.Errorf("%s: no key %q in %s", path, step, jsonText(v))
			}
			v = y
		case []any:
			if step == "len" {
				v = json.Number(strconv.Itoa(len(x)))
				continue
			}
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(x) {
				return nil, fmt.Errorf("%s: no item %q in %s", path, step, jsonText(v))
			}
			v = x[i]
		default:
			return nil, fmt.Errorf("%s: no step %q in %s", path, step, jsonText(v))
		}
	}
	return v, nil
}

// jsonText formats a value for comparison.
func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

// conformanceTraces returns the traces of the formats' own tests.
func conformanceTraces(t *testing.T) []string {
	var all []string
	for _, p := range []string{"../../format/picl/testdata/ok/*.trf", "../../format/etf/testdata/ok/*.etf"} {
		m, err := filepath.Glob(p)
		if err != nil || len(m) == 0 {
			t.Fatalf("%s: found %d traces, %v", p, len(m), err)
		}
		all = append(all, m...)
	}
	return all
}

// weft runs a command line in this process. It checks the exit code and returns the output.
func weft(t *testing.T, want int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Main(args, strings.NewReader(""), &out, &errs); code != want {
		t.Fatalf("weft %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, want, &errs)
	}
	return out.String()
}

// comparison is the answer of testdata/compare.py.
type comparison struct {
	Code        int
	Out, Errors string
}

// newComparer returns testdata/compare.py as a function of its arguments. One interpreter runs all
// comparisons of a test, as starting one takes longer than a comparison.
func newComparer(t *testing.T) func(args ...string) comparison {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	c := exec.CommandContext(t.Context(), python, "-c", `
import contextlib, io, json, runpy, sys
for line in sys.stdin:
    sys.argv, code, out, errors = json.loads(line), None, io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        except SystemExit as e:
            code = e.code or 0
    print(json.dumps({"code": code, "out": out.getvalue(), "errors": errors.getvalue()}), flush=True)
`)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		c.Wait()
	})
	to, from := json.NewEncoder(in), json.NewDecoder(out)
	return func(args ...string) (answer comparison) {
		if err := to.Encode(append([]string{"../../testdata/compare.py"}, args...)); err != nil {
			t.Fatal(err)
		}
		if err := from.Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
}

// TestCompare converts each trace to another format and back. An independent program compares the
// events with the loss tables.
func TestCompare(t *testing.T) {
	effort.Long(t)
	effort.Sequential(t)
	comparePrints := newComparer(t)
	for _, path := range conformanceTraces(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			own, other := "picl", "etf"
			if filepath.Ext(path) == ".etf" {
				own, other = other, own
			}
			dir := t.TempDir()
			file := func(name, text string) string { return writeText(t, filepath.Join(dir, name), text) }
			ticks := func(p string) string {
				v, err := readJSON(weft(t, 0, "info", "--json", p))
				if err != nil {
					t.Fatal(err)
				}
				n, err := lookJSON(v, "clock/ticksPerSecond")
				if err != nil {
					t.Fatal(err)
				}
				return n.(string)
			}
			compare := func(a, b, loss1, loss2 string) {
				t.Helper()
				c := comparePrints(file("a.json", weft(t, 0, "print", "--json", a)),
					file("b.json", weft(t, 0, "print", "--json", b)),
					file("loss1.json", loss1), file("loss2.json", loss2), "--ticks-a", ticks(a), "--ticks-b", ticks(b))
				if c.Code != 0 {
					t.Errorf("%s and %s: exit code %d\n%s%s", a, b, c.Code, c.Out, c.Errors)
				}
			}
			there, back := filepath.Join(dir, "there."+other), filepath.Join(dir, "back."+own)
			loss1 := weft(t, 0, "convert", "--json", "--to", other, path, there)
			loss2 := weft(t, 0, "convert", "--json", "--to", own, there, back)
			compare(path, there, loss1, "[]")
			compare(path, back, loss1, loss2)
		})
	}
}

// TestCompareProgram checks that the comparing program finds differences.
func TestCompareProgram(t *testing.T) {
	effort.Long(t)
	effort.Sequential(t)
	comparePrints := newComparer(t)
	const (
		enter = `{"time":1,"location":"0","kind":"enter","region":"f","attributes":{"x":1,"y":"2"}}`
		leave = `{"time":2,"location":"0","kind":"leave","region":"f"}`
	)
	for _, c := range []struct {
		name, a, b string
		loss       string // loss table of the first conversion
		args       []string
		code       int
		out        string
	}{
		{"same", enter + leave, enter + leave, ``, nil, 0, `[]`},
		{"number spelling", `{"kind":"metric","value":1}`, `{"value":1.0,"kind":"metric"}`, ``, nil, 0, `[]`},
		{"types", `{"kind":"metric","value":1}`, `{"kind":"metric","value":"1"}`, ``, nil, 1,
			`[{"kind":"metric","field":"value","how":"degraded","count":1}]`},
		{"one of two", leave + leave, leave, ``, nil, 1, `[{"kind":"leave","field":"","how":"lost","count":1}]`},
		{"listed", leave + leave, leave, `{"kind":"leave","field":"","how":"lost","reason":"r","count":1}`, nil, 0,
			`[{"kind":"leave","field":"","how":"lost","count":1}]`},
		{"too many listed", leave + leave, leave, `{"kind":"leave","field":"","how":"lost","reason":"r","count":2}`, nil, 1,
			`[{"kind":"leave","field":"","how":"lost","count":1}]`},
		{"listed without a loss", leave, leave, `{"kind":"leave","field":"region","how":"degraded","reason":"r","count":1}`,
			nil, 1, `[]`},
		{"reasons add up", leave + leave, ``,
			`{"kind":"leave","field":"","how":"lost","reason":"r","count":1},` +
				`{"kind":"leave","field":"","how":"lost","reason":"s","count":1}`, nil, 0,
			`[{"kind":"leave","field":"","how":"lost","count":2}]`},
		{"added", leave, leave + enter, ``, nil, 1, `[{"kind":"enter","field":"","how":"added","count":1}]`},
		{"region", enter, strings.Replace(enter, `"f"`, `"g"`, 1), ``, nil, 1,
			`[{"kind":"enter","field":"region","how":"degraded","count":1}]`},
		{"attribute", enter, strings.Replace(enter, `"x":1,"y":"2"`, `"y":"3","z":null`, 1), ``, nil, 1,
			`[{"kind":"enter","field":"x","how":"lost","count":1},` +
				`{"kind":"enter","field":"y","how":"degraded","count":1},{"kind":"enter","field":"z","how":"added","count":1}]`},
		{"closest partner", enter + strings.Replace(enter, `"f"`, `"g"`, 1),
			strings.Replace(strings.Replace(enter, `"f"`, `"g"`, 1), `"x":1`, `"x":5`, 1) + enter, ``, nil, 1,
			`[{"kind":"enter","field":"x","how":"degraded","count":1}]`},
		{"time", enter, strings.Replace(enter, `"time":1`, `"time":3`, 1), ``, nil, 1,
			`[{"kind":"enter","field":"time","how":"degraded","count":1}]`},
		{"clocks", `{"time":15,"kind":"gap","end":20,"attributes":{"time":4}}`,
			`{"time":3,"kind":"gap","end":4,"attributes":{"time":4}}`, ``, []string{"--ticks-a", "10", "--ticks-b", "2"},
			0, `[]`},
		{"order", enter + leave, leave + enter, `{"kind":"enter","field":"order","how":"degraded","reason":"r","count":1}`,
			nil, 0, `[]`},
		{"order listed without a loss", enter + leave, enter + leave,
			`{"kind":"enter","field":"order","how":"degraded","reason":"r","count":1}`, nil, 1, `[]`},
		{"no loss table", leave + leave, leave, `-`, nil, 0, `[{"kind":"leave","field":"","how":"lost","count":1}]`},
		{"no JSON", "x", leave, ``, nil, 2, ``},
		{"key twice", `{"kind":"leave","kind":"enter"}`, leave, ``, nil, 2, ``},
		{"usage", leave, leave, ``, []string{"more"}, 2, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := func(name, text string) string { return writeText(t, filepath.Join(dir, name), text) }
			lines := func(s string) string { return strings.ReplaceAll(s, "}{", "}\n{") }
			args := []string{file("a", lines(c.a)), file("b", lines(c.b))}
			if c.loss != "-" {
				args = append(args, file("l1", "["+c.loss+"]"), file("l2", "[]"))
			}
			out := comparePrints(append(args, c.args...)...)
			if out.Code != c.code {
				t.Fatalf("exit code %d, want %d\n%s%s", out.Code, c.code, out.Out, out.Errors)
			}
			if c.code == 2 {
				return
			}
			got, err := readJSON(out.Out)
			if err != nil {
				t.Fatal(err)
			}
			want, err := readJSON(c.out)
			if err != nil {
				t.Fatal(err)
			}
			if g, w := jsonText(got), jsonText(want); g != w {
				t.Errorf("found %s, want %s", g, w)
			}
		})
	}
}

// writeText writes a file and returns its path.
func writeText(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}
