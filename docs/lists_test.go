package docs_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/format/otf"
	"github.com/weft-trace/weft/internal/cli"
	"github.com/weft-trace/weft/tracetest"
)

// TestCommandLists checks that commands.md and README.md list all commands, and that json.md lists all commands that
// print JSON.
func TestCommandLists(t *testing.T) {
	root := cli.Command()
	root.InitDefaultCompletionCmd()
	commands, readme, json := read(t, "commands.md"), read(t, "../README.md"), read(t, "json.md")
	for _, c := range root.Commands() {
		name := c.Name()
		if c.Hidden || name == "help" {
			continue
		}
		if !strings.Contains(commands, "\n| ["+name+"](") {
			t.Errorf("commands.md lacks a row of %s", c.CommandPath())
		}
		// README.md names these two under Install.
		row := name != "completion" && name != "version"
		if !strings.Contains(readme, "`weft "+name) || row && !strings.Contains(readme, "\n| `weft "+name) {
			t.Errorf("README.md lacks a row of %s", c.CommandPath())
		}
		if printsJSON(c) && !strings.Contains(json, "`weft "+name+"`") {
			t.Errorf("json.md lacks a row of %s", c.CommandPath())
		}
	}
}

// printsJSON reports whether a command or one of its subcommands has the flag --json.
func printsJSON(c *cobra.Command) bool {
	return c.Flags().Lookup("json") != nil || slices.ContainsFunc(c.Commands(), printsJSON)
}

// TestFormatLists checks that README.md has a row for every format.
func TestFormatLists(t *testing.T) {
	readme := read(t, "../README.md")
	for _, f := range all.Formats() {
		if !strings.Contains(readme, "](docs/formats/"+f.About().Name+".md) | ") {
			t.Errorf("README.md lacks a row of %s", f.About().Title)
		}
	}
}

// TestRecordTypes checks that formats/otf.md lists the types of records that weft print --records takes.
func TestRecordTypes(t *testing.T) {
	text := read(t, "formats/otf.md")
	for x := range otf.Type(otf.NumTypes) {
		if name := x.String(); name != "" && !strings.Contains(text, fmt.Sprintf(" `%s` %d", name, x)) {
			t.Errorf("formats/otf.md lacks the type of records %s with its number %d", name, x)
		}
	}
}

// TestAnalysisLists checks that library.md lists all packages of analysis and all commands that answer questions.
func TestAnalysisLists(t *testing.T) {
	text := read(t, "library.md")
	list, err := filepath.Glob("../analysis/*/*_test.go")
	if err != nil || len(list) == 0 {
		t.Fatalf("found no packages: %v", err)
	}
	for _, file := range list {
		if name := filepath.Base(filepath.Dir(file)); !strings.Contains(text, "`"+name+"`") {
			t.Errorf("library.md lacks the package analysis/%s", name)
		}
	}
	for _, c := range cli.Command().Commands() {
		if c.GroupID == "Answer questions" && !strings.Contains(text, "`"+c.Name()+"`") {
			t.Errorf("library.md lacks the packages of weft %s", c.Name())
		}
	}
}

// exampleText returns the lines of a trace that the example of a rule describes, or "" if the example has no lines.
func exampleText(example string) string {
	text := strings.NewReplacer(", then a byte 0", "\x00", ", and further on ", "\n", " and further on ", "\n", ", then ",
		"\n", ", E ", "\nE ", " with ", "\n", " before ", "\n", " and ", "\n").Replace(example) + "\n"
	if strings.HasPrefix(example, "a ") || strings.Contains(example, ", where event ") {
		return ""
	}
	text, _, _ = strings.Cut(text, " without ")
	if line, _, ok := strings.Cut(text, " at the end of the file"); ok {
		return line
	}
	for _, old := range []string{" in a trace of V0.1", ", where there is no such file"} {
		if line, _, ok := strings.Cut(text, old); ok {
			text = "TraceVersion\tV0.1\n" + line + "\nR 0 1 B 0 0 x" // a line with an attribute needs the configuration
		}
	}
	return text + "\n"
}

// TestRuleExamples checks that the examples of rules of text formats have the defect that they show.
func TestRuleExamples(t *testing.T) {
	for _, f := range all.Formats() {
		about := f.About()
		if !about.SingleText {
			continue
		}
		tried := 0
		for _, r := range about.Rules {
			text := exampleText(r.Example)
			if text == "" {
				continue
			}
			tried++
			report := format.NewReport()
			_, err := tracetest.Read(f, "x"+about.Extensions[0], []byte(text), &format.ReadOptions{Report: report})
			if err != nil {
				t.Errorf("%s: %q: %v", r.ID, text, err)
			}
			if list := report.Rules(); !slices.ContainsFunc(list, func(x format.RuleCount) bool { return x.Rule == r.ID }) {
				t.Errorf("%s: %q: found no such defect, but %v", r.ID, text, list)
			}
		}
		if tried < len(about.Rules)*3/4 {
			t.Errorf("%s: tried %d of %d examples", about.Name, tried, len(about.Rules))
		}
	}
}
