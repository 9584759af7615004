package cli

import (
	"cmp"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-trace/weft/internal/wildcard"
	"github.com/weft-trace/weft/trace"
)

// completesNames holds the flags whose values name definitions of a trace.
var completesNames = map[string]definitionKind{
	"location": aLocation, "locations": aLocation, "not-location": aLocation, "reference": aLocation,
	"region": aRegion, "not-region": aRegion, "group": aGroup, "not-group": aGroup,
	"communicator": aCommunicator, "not-communicator": aCommunicator,
}

// completeNames returns a function that completes names of definitions in the traces among the arguments.
func (a *app) completeNames(what definitionKind) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []string
		for _, arg := range args {
			if d := a.definitionsOf(c, arg); d != nil {
				for i := range what.len(d) {
					id, name := what.names(d, uint32(i))
					names = append(names, cmp.Or(name, id))
				}
			}
		}
		return completeList(names, text), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeWords returns a function that completes the value of a flag, or the last word of a list with commas.
func completeWords(f *pflag.Flag, words []string) cobra.CompletionFunc {
	if _, ok := f.Value.(*nameList); !ok {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	return func(_ *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return completeList(words, text), cobra.ShellCompDirectiveNoFileComp
	}
}

// definitionsOf returns the definitions of a trace, or nil for an argument that is no trace.
func (a *app) definitionsOf(c *cobra.Command, arg string) *trace.Definitions {
	if st, err := os.Stat(arg); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	a.progress = false
	in, err := a.openUnprepared(c.Context(), arg, &inputFlags{quiet: true})
	if err != nil {
		return nil
	}
	defer in.Close()
	return in.Defs()
}

// completeList returns the completions of the last name in a list with commas. Each begins with the names before it.
// A name may have a description after a tab. After a comma it has none, because cobra's script for bash compares a
// completion that has a description only after it has escaped the comma. A name with a comma or a quote gets quotes,
// as [wildcard.SplitNames] reads them.
func completeList(names []string, text string) (list []cobra.Completion) {
	last := strings.LastIndexByte(text, ',') + 1
	if _, err := wildcard.SplitNames(text[:last]); err != nil {
		last = strings.LastIndexByte(text, '"') // the comma belongs to a name
	}
	before, begun := text[:last], text[last:]
	seen := map[string]bool{}
	for _, s := range names {
		name, _, _ := strings.Cut(s, "\t")
		if last > 0 {
			s = name
		}
		if strings.ContainsAny(name, `,"`) {
			s = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		}
		if strings.HasPrefix(s, begun) && !seen[s] {
			seen[s] = true
			list = append(list, before+s)
		}
	}
	return list
}
