package docs_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/format/otf"
	"github.com/weft-trace/weft/internal/cli"
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
