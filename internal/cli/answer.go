package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/trace"
)

// answer runs a command that answers a question about the trace in. It returns err if that is not
// nil, so that callers can pass the results of open on. f computes the answer, which answer prints
// as JSON or with the function text. A message about defects follows. answer closes the trace.
func (a *app) answer(in *input, err error, asJSON bool, r *inputFlags,
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
			a.reportFlagNames(in)
		}
		return a.writeJSON(a.out, x)
	}
	err = text()
	a.reportDefects(in, r.quiet)
	return err
}

// heading holds the first fields of the JSON of answers.
type heading struct {
	Path   string     `json:"path"`
	Format string     `json:"format"`
	Clock  info.Clock `json:"clock"`
}

// heading returns the heading for the trace.
func (in *input) heading() heading {
	return heading{in.src.Path, in.format.About().Name, info.NewClock(in.Defs().Clock)}
}

// bounds are the bounds of a window in the JSON, in ticks. A bound that is not set is null.
type bounds struct {
	From *int64 `json:"from"`
	To   *int64 `json:"to"`
}

// bounds returns the bounds that the flags set, with the values in sel, and the window. The window
// is nil if neither bound is set.
func (s *selectionFlags) bounds(sel trace.Selection) (b bounds, w *trace.Window) {
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

// wordIndex returns the index of a flag's value in the list of its valid words.
func wordIndex(flag, value string, words ...string) (int, error) {
	i := slices.Index(words, value)
	if last := len(words) - 1; i < 0 {
		return 0, usageError("%s %s: expected %s or %s%s", flag, value, strings.Join(words[:last], ", "), words[last],
			nearest(value, words))
	}
	return i, nil
}

// complete registers words as the completions of a flag's value.
func complete(c *cobra.Command, flag string, words ...string) {
	c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// someArgs requires at least one argument, as cobra's MinimumNArgs(1) does, but with weft's exit
// code.
func someArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError("found no trace, expected at least one; see %s --help", c.CommandPath())
	}
	return nil
}
