package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestSelectionFlags checks that each command that reads a trace has all flags that select events, except for those
// that docs/commands.md lists with a reason.
func TestSelectionFlags(t *testing.T) {
	all := []string{"window", "from", "to", "location", "group", "region"}
	text, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("`([^`]+)`")
	lacks := map[string][]string{} // the missing flags of each command, according to the table
	_, rows, _ := strings.Cut(string(text), "| command | is without | because |\n|---|---|---|\n")
	rows, _, _ = strings.Cut(rows, "\n\n")
	for row := range strings.Lines(rows) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 || strings.TrimSpace(cells[3]) == "" {
			t.Fatalf("found the row %q, expected a command, flags and a reason", row)
		}
		flags := all
		if strings.TrimSpace(cells[2]) != "all" {
			flags = nil
			for _, m := range code.FindAllStringSubmatch(cells[2], -1) {
				flags = append(flags, strings.TrimPrefix(m[1], "--"))
			}
		}
		for _, m := range code.FindAllStringSubmatch(cells[1], -1) {
			lacks[m[1]] = flags
		}
	}
	readsNone := []string{"generate", "formats", "otf", "version", "help", "completion"}
	root := Command()
	for _, c := range withSubcommands(root.Commands()) {
		name := strings.TrimPrefix(c.CommandPath(), root.Name()+" ")
		if slices.Contains(readsNone, name) || strings.HasPrefix(name, "completion ") {
			continue
		}
		for _, flag := range all {
			if has, listed := hasFlag(c, flag), slices.Contains(lacks[name], flag); has == listed {
				t.Errorf("weft %s: has --%s: %t; the table of commands without it in docs/commands.md lists it: %t; "+
					"expected one of both", name, flag, has, listed)
			}
		}
		delete(lacks, name)
	}
	for name := range lacks {
		t.Errorf("docs/commands.md lists %q, expected a command", name)
	}
}

// hasFlag reports whether the help of a command lists a flag.
func hasFlag(c *cobra.Command, name string) bool {
	f := c.Flags().Lookup(name)
	return f != nil && !f.Hidden
}
