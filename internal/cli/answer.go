package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/trace"
)

// answer runs a command that answers a question about the trace in. If err is not nil, answer returns
// it; callers can therefore pass both results of open. f computes the answer. answer prints it as JSON
// or with the function text, then reports defects, and closes the trace.
func (a *app) answer(in *input, err error, asJSON bool, r *inputFlags,
	f func(in *input) (answer any, text func() error, err error)) error {
	if err != nil {
		return err
	}
	defer in.Close()
	x, text, err := f(in)
	if err != nil {
		return asTraceDefect(in.src.Path, err)
	}
	in.bar.remove()
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

// bounds holds the bounds of a window for JSON, in ticks. A bound is null if no flag sets it.
type bounds struct {
	From *int64 `json:"from"`
	To   *int64 `json:"to"`
}

// selectedBounds returns the bounds that the flags set, with their values from sel. It also returns the
// window, which is nil if the flags set no bound.
func (s *selectionFlags) selectedBounds(sel trace.Selection) (b bounds, w *trace.Window) {
	if s.from != "" {
		b.From = &sel.From
	}
	if s.to != "" && !isWhole(s.to) {
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
			nearest.Hint(value, words))
	}
	return i, nil
}

// completions is the key of the annotation of a flag that lists the completions of its value.
const completions = "completions"

// registerCompletions registers words as the completions of a flag's value. cobra keeps all registered completions for
// ever, so [app.completeFlags] gives them to cobra only if a shell asks for completions.
func registerCompletions(c *cobra.Command, flag string, words ...string) {
	c.Flags().SetAnnotation(flag, completions, words)
}

// someArgs requires at least one argument, as cobra's MinimumNArgs(1) does, but with weft's exit
// code.
func someArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError("found no trace, expected at least one; see %s --help", c.CommandPath())
	}
	return nil
}

// missingAnswer is the JSON of a command for a trace that lacks what the analysis needs. The fields of the answer are
// absent.
type missingAnswer struct {
	heading
	Missing string `json:"missing"` // the reason
}

// lacks returns the error with which a command ends after its output, if the trace lacks what the analysis needs.
// reason describes that. If the flags select a part of the trace, the error is nil, and reason is reported as a
// notice.
func (in *input) lacks(reason string, part bool) error {
	if part {
		in.notFound = reason
		return nil
	}
	return &exitError{exitDefects, fmt.Errorf("%s: %s", in.src.Path, reason)}
}

// answerPart opens a trace, restricts it to the part that the flags select, and returns the answer of find. The
// argument part of find is set if the flags select times. The result missing of find is the reason why the part has no
// answer, or ""; answerPart returns it. If it is not "", the result lack is that of [input.lacks], whose text ends with
// impossible: what is impossible for this trace. It is an error for a part, too, if the whole trace has no answer.
func answerPart[T any](a *app, ctx context.Context, path string, r *inputFlags, s *selectionFlags, impossible string,
	find func(in *input, part bool) (answer T, missing string, err error)) (answer T, missing string, lack, err error) {
	in, err := a.open(ctx, path, r)
	if err != nil {
		return answer, "", nil, err
	}
	defer in.Close()
	part, err := s.narrowRunning(ctx, in)
	if err != nil {
		return answer, "", nil, err
	}
	if answer, missing, err = find(in, s.selectsTimes()); err != nil {
		return answer, "", nil, asTraceDefect(path, err)
	}
	if missing != "" {
		if part { // does the rest of the trace lack it, too?
			in.Events = in.whole
			_, everywhere, err := find(in, false)
			if err != nil {
				return answer, "", nil, asTraceDefect(path, err)
			}
			part = everywhere == ""
		}
		lack = in.lacks(missing+"; "+impossible, part)
	}
	in.bar.remove()
	a.reportDefects(in, r.quiet)
	return answer, missing, lack, nil
}

// asTraceDefect turns analysis.ErrTimeRange into a defect of the trace. It returns other errors unchanged.
func asTraceDefect(path string, err error) error {
	if errors.Is(err, analysis.ErrTimeRange) {
		return &exitError{exitDefects, fmt.Errorf("%s: %w", path, err)}
	}
	return err
}
