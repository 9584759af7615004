package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/trace"
)

// ask opens a trace for a command that answers a question about it. f gives the answer, which is printed as JSON if
// that is wanted, and else by text, before a word on defects.
func (a *app) ask(in *input, err error, asJSON bool, r *reading,
	f func(in *input) (answer any, text func() error, err error)) error {
	if err != nil {
		return err
	}
	defer in.Close()
	x, text, err := f(in)
	if err != nil {
		return err
	}
	in.bar.done()
	if asJSON {
		if !r.quiet {
			a.tellNamed(in)
		}
		return a.writeJSON(a.out, x)
	}
	err = text()
	a.tell(in, r.quiet)
	return err
}

// heading is what the JSON of answers begins with.
type heading struct {
	Path   string     `json:"path"`
	Format string     `json:"format"`
	Clock  info.Clock `json:"clock"`
}

func (in *input) heading() heading {
	return heading{in.src.Path, in.format.About().Name, info.NewClock(in.Defs().Clock)}
}

// bounds are those of a window in JSON, in ticks; null without a bound.
type bounds struct {
	From *int64 `json:"from"`
	To   *int64 `json:"to"`
}

// bounds are those that the flags set, of what they select, and the window; nil without.
func (s *selecting) bounds(sel trace.Selection) (b bounds, w *trace.Window) {
	if s.from != "" {
		b.From = &sel.From
	}
	if s.to != "" {
		b.To = &sel.To
	}
	if b.From != nil || b.To != nil {
		w = &trace.Window{From: sel.From, To: sel.To}
	}
	return b, w
}

// oneOf is the number of the word that a flag has, among those that it may have.
func oneOf(flag, value string, words ...string) (int, error) {
	i := slices.Index(words, value)
	if last := len(words) - 1; i < 0 {
		return 0, usageError("%s %s: expected %s or %s%s", flag, value, strings.Join(words[:last], ", "), words[last],
			nearest(value, words))
	}
	return i, nil
}

// complete gives a flag its words for the shell's completion.
func complete(c *cobra.Command, flag string, words ...string) {
	c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// someArgs is cobra's MinimumNArgs(1), with our exit code.
func someArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError("found no trace, expected at least one; see %s --help", c.CommandPath())
	}
	return nil
}
