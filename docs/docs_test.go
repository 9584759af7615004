// Package docs_test runs the commands of the documents, so that they keep
// working, and holds the lists in the documents against the tables in the code.
package docs_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"github.com/weft-trace/weft/internal/effort"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-trace/weft/check"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// command is a line of a fenced sh block that begins with "weft ".
type command struct {
	file string
	line int
	text string
	exit int
	// want is the output that the document shows after the block, if the
	// command is the block's only line. A line "…" stands for any lines.
	want []string
}

var update = flag.Bool("update", false, "rewrite rules.md")

const failMark = "# exit 1"

// commands finds the commands of a document.
func commands(name, text string) []command {
	var out []command
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) != "```sh" {
			continue
		}
		first, all := len(out), 0
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
			l := strings.TrimSpace(lines[i])
			if l != "" {
				all++
			}
			if !strings.HasPrefix(l, "weft ") {
				continue
			}
			c := command{file: name, line: i + 1, text: l}
			if t, ok := strings.CutSuffix(l, failMark); ok {
				c.text, c.exit = strings.TrimSpace(t), 1
			}
			out = append(out, c)
		}
		if all != 1 || len(out) != first+1 {
			continue
		}
		j := i + 1
		for j < len(lines) && strings.TrimSpace(lines[j]) == "" {
			j++
		}
		if j < len(lines) && (lines[j] == "```json" || lines[j] == "```text") {
			for j++; j < len(lines) && lines[j] != "```"; j++ {
				out[first].want = append(out[first].want, lines[j])
			}
			i = j
		}
	}
	return out
}

// documents lists all documents of the repository but CHANGELOG.md, relative to this folder.
func documents(t *testing.T) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || path != ".." && d.Name()[0] == '.') {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".md") && d.Name() != "CHANGELOG.md" {
			list = append(list, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestCommands runs every command in a copy of the traces that the documents
// use, at their places under the root of the repository.
func TestCommands(t *testing.T) {
	effort.Long(t)
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-pgo=off", "-o", filepath.Join(bin, "weft"), "../cmd/weft")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	traces, err := filepath.Glob("../format/*/testdata/ok")
	if err != nil || len(traces) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	traces = append(traces, "../examples", "../analysis/waits/testdata")
	for _, doc := range documents(t) {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		list := commands(doc, string(text))
		if len(list) == 0 {
			continue
		}
		// The commands of one document may use each other's output.
		t.Run(strings.TrimPrefix(doc, "../"), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, x := range traces {
				if to := strings.TrimPrefix(x, "../"); strings.Contains(string(text), to) {
					if err := os.CopyFS(filepath.Join(dir, to), os.DirFS(x)); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, c := range list {
				run(t, shell, bin, dir, c)
			}
		})
	}
}

func run(t *testing.T, shell, bin, dir string, c command) {
	t.Helper()
	cmd := exec.Command(shell, "-c", c.text)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"WEFT_CACHE="+filepath.Join(dir, ".cache"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var x *exec.ExitError
	if err != nil && !errors.As(err, &x) {
		t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); code != c.exit {
		t.Errorf("%s:%d: %s: exit code %d, want %d\n%s", c.file, c.line, c.text, code, c.exit, errs.String())
	}
	if c.want == nil {
		return
	}
	got := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	for i := range got {
		got[i] = strings.TrimRight(got[i], " ")
	}
	if !matches(got, c.want) {
		t.Errorf("%s:%d: %s: the document shows another output; it is\n%s", c.file, c.line, c.text, out.String())
	}
}

// matches compares lines with a pattern in which "…" stands for any number of lines.
func matches(got, want []string) bool {
	for i, w := range want {
		if w == "…" {
			for skip := 0; skip <= len(got); skip++ {
				if matches(got[skip:], want[i+1:]) {
					return true
				}
			}
			return false
		}
		if len(got) == 0 || got[0] != w {
			return false
		}
		got = got[1:]
	}
	return len(got) == 0
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// ruleRow returns the line for a rule in the table "Rules" of a document.
func ruleRow(r format.Rule) string {
	return fmt.Sprintf("| `%s` | %s | %s |", r.ID, r.Severity, r.Doc)
}

// TestLists checks that every rule, option and kind stands in its document.
func TestLists(t *testing.T) {
	for _, f := range all.Formats() {
		name := filepath.Join("formats", f.About().Name+".md")
		text := read(t, name)
		for _, r := range f.About().Rules {
			if !strings.Contains(text, ruleRow(r)) {
				t.Errorf("%s lacks the row\n%s", name, ruleRow(r))
			}
		}
		for _, o := range f.About().Options {
			if row := fmt.Sprintf("| `%s` | %s | ", o.Name, o.Default); !strings.Contains(text, row) {
				t.Errorf("%s lacks a row that begins with\n%s", name, row)
			}
			for _, v := range o.Values {
				if !strings.Contains(text, v) {
					t.Errorf("%s does not tell the value %s of option %s", name, v, o.Name)
				}
			}
		}
	}
	text := read(t, "commands/look.md")
	for _, r := range check.Rules() {
		if !strings.Contains(text, ruleRow(r)) {
			t.Errorf("commands/look.md lacks the row\n%s", ruleRow(r))
		}
	}
	text = read(t, "json/print.md")
	for _, k := range trace.Kinds() {
		s := k.Spec()
		i := strings.Index(text, "\n| `"+s.Name+"` | ")
		if i < 0 {
			t.Errorf("json/print.md lacks the kind %s", s.Name)
			continue
		}
		row, _, _ := strings.Cut(text[i+1:], "\n")
		for _, o := range s.Operands {
			if !strings.Contains(row, "`"+o.Name+"`") {
				t.Errorf("json/print.md lacks the operand %s of %s", o.Name, s.Name)
			}
		}
	}
}

// TestRules holds rules.md against the tables of rules.
func TestRules(t *testing.T) {
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(`# Rules

A rule describes a defect of a trace. This page lists all rules: those that 'weft check' checks, those that other
commands check while they read a trace, and those by which 'weft repair' reports its changes. An example is a part of
a trace that breaks the rule.

'weft check --rules' prints the same table, and 'weft check --rule etf.capacity TRACE' checks a single rule.
[commands/look.md](commands/look.md#check) explains the severities.

`, "'", "`"))
	seen := map[string]bool{}
	section := func(title string, rules []format.Rule) {
		b.WriteString("## " + title + "\n\n| rule | severity | meaning | example |\n|---|---|---|---|\n")
		for _, r := range rules {
			if seen[r.ID] || r.Doc == "" || r.Example == "" || strings.Contains(r.Example, "|") {
				t.Errorf("rule %s is there twice, or lacks a sentence or an example", r.ID)
			}
			seen[r.ID] = true
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, r.Severity, r.Doc, r.Example)
		}
		b.WriteString("\n")
	}
	section("Every format", check.Rules())
	for _, f := range all.Formats() {
		section(f.About().Title, f.About().Rules)
	}
	section("What weft repair changes", transform.RepairRules())
	text := strings.TrimSuffix(b.String(), "\n")
	if *update {
		if err := os.WriteFile("rules.md", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, "rules.md") != text {
		t.Error("rules.md differs from the tables; run go test ./docs -run TestRules -update")
	}
}

// TestStatements compares the tables of statements and tests in the documents of the formats with the
// tests. The tests that a row names must exist, and so must subtests, whose names are in quotation marks
// and may be shortened by …, and rows of measurements.
func TestStatements(t *testing.T) {
	var all strings.Builder
	if err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			all.WriteString(read(t, path))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	code, bench := all.String(), ""
	files, err := filepath.Glob("../internal/bench/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range files {
		bench += read(t, x)
	}
	measured := regexp.MustCompile("performance: ((?:\"[^\"|]*\"(?:, )?)+)")
	name := regexp.MustCompile("`((?:Test|Example|Fuzz)[A-Za-z0-9_]*)`((?:,? \"[^\"|]*\")*)")
	rows := 0
	for _, doc := range documents(t) {
		for _, line := range strings.Split(read(t, doc), "\n") {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			for _, m := range measured.FindAllStringSubmatch(line, -1) {
				for i, row := range strings.Split(m[1], `"`) {
					if i%2 == 1 && !strings.Contains(bench, row) {
						t.Errorf("%s names the measurement %q, which is not there", doc, row)
					}
				}
			}
			for _, m := range name.FindAllStringSubmatch(line, -1) {
				if rows++; !strings.Contains(code, "func "+m[1]+"(") {
					t.Errorf("%s names the test %s, which is not there", doc, m[1])
				}
				for i, sub := range strings.Split(m[2], `"`) {
					if part := strings.Trim(sub, " …"); i%2 == 1 && !strings.Contains(code, part) {
						t.Errorf("%s names the subtest %q of %s, which is not there", doc, sub, m[1])
					}
				}
			}
		}
	}
	if rows < 100 {
		t.Errorf("found %d tests in the tables, expected those of five formats", rows)
	}
}
