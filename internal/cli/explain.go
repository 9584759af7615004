package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/explain"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// explainResult is the JSON of weft explain (docs/json/explain.md).
type explainResult struct {
	heading
	// Missing is the reason why the trace cannot be explained.
	Missing string `json:"missing,omitempty"`
	*explain.Page
	Baseline *explain.Baseline `json:"baseline,omitempty"`
	// viewable states whether weft view --finding shows the same findings.
	viewable bool
}

func (a *app) explainCommand() *cobra.Command {
	var r inputFlags
	var s selectionFlags
	var asJSON, markdown bool
	var baseline string
	c := &cobra.Command{
		Use:   "explain TRACE",
		Short: "Explain in words why a run takes as long as it does, and what to fix first",
		Long: `Explain in words why a run takes as long as it does. The output describes the run and the
defects of the trace, gives a verdict in one sentence, and lists at most ten findings,
each with its loss, cause, place, evidence and advice. At the end it lists the analyses
that were not possible, and the records that the trace lacks for them.

LOSS is the time that all threads lose, in percent of the time of all threads. GAIN is
an upper bound of the time by which the run would be shorter without the loss; weft
computes all times again without the loss. Losses below 2 % are not listed. The
figures come from weft waits, weft path and weft efficiency, which show the details.

--baseline TRACE compares the run with another one. --markdown prints Markdown, for an
issue or a wiki. --window, or --from and --to, restrict the explanation to a part of the
time, and --location and --group to these locations and the messages between them. There is
no --region, because the findings compare all regions.`,
		Example: "  weft explain trace.otf2\n  weft explain --baseline before.otf2 --markdown after.otf2\n" +
			"  weft explain --window 20%..80% --json trace.otf",
		Args: exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			if asJSON && markdown {
				return usageError("--json and --markdown: expected one of them")
			}
			x, lack, err := a.explainOne(c, args[0], &r, &s)
			if err != nil {
				return err
			}
			if baseline != "" && x.Missing == "" {
				var b *explainResult
				if b, lack, err = a.explainOne(c, baseline, &r, &s); err != nil {
					return err
				}
				if b.Missing == "" {
					x.Baseline = explain.Compare(b.Page, x.Page)
					x.Baseline.Path = baseline
				}
			}
			if asJSON {
				err = a.writeJSON(a.out, x)
			} else if x.Missing == "" {
				printExplanation(a.out, x, markdown)
			}
			return cmp.Or(err, lack)
		},
	}
	definePartFlags(c.Flags(), &r, &s,
		"the page weighs the regions against each other; weft waits and profile have --region")
	c.Flags().StringVar(&baseline, "baseline", "", "compare with this run")
	markInputFlag(c.Flags(), "baseline")
	c.Flags().BoolVar(&markdown, "markdown", false, "print Markdown")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// explainOne explains a trace. lack is the error of [answerPart].
func (a *app) explainOne(c *cobra.Command, path string, r *inputFlags, s *selectionFlags) (x *explainResult, lack,
	err error) {
	a.garbage.tuneForExplain()
	x, _, lack, err = answerPart(a, c.Context(), path, r, s, "nothing can be explained",
		func(in *input, part bool) (x *explainResult, missing string, err error) {
			x = &explainResult{heading: in.heading(), viewable: !s.anySet() && r.roles == "" && path != "-"}
			page, ok, err := explain.Explain(c.Context(), in.Events, explain.Options{Rows: trace.NewRows(in.Defs()), Part: part})
			switch {
			case err != nil:
				return nil, "", err
			case !ok:
				x.Missing = page.Missing()
			default:
				x.Missing, err = in.lacksCalls(c.Context(), page.Efficiency)
			}
			if x.Missing == "" {
				x.Page = page
			}
			return x, x.Missing, err
		})
	return x, lack, err
}

// printExplanation prints a page.
func printExplanation(w io.Writer, x *explainResult, markdown bool) {
	f := x.Page.Clock.FormatDuration
	title, item, text := func(s string) string { return s }, "  ", func(s string) string { return s }
	if markdown {
		title, item, text = func(s string) string { return "## " + s }, "- ", markdownText
	}
	share := func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
	printf(w, "%s\n\n", title(text(x.Path)))
	var regions []string
	for _, r := range x.Ran.Regions {
		regions = append(regions, fmt.Sprintf("%s %s", r.Region, share(r.Share)))
	}
	threads := plural.Of(x.Ran.Threads, "thread")
	if x.Ran.Streams > 0 {
		threads += " and " + plural.Of(x.Ran.Streams, "stream of devices", "streams of devices")
	}
	printf(w, "%s with %s ran for %s.", plural.Of(x.Ran.Processes, "process", "processes"), threads, f(x.Ran.Runtime))
	most := "Most time"
	if x.Ran.WaitingShare > 0 {
		printf(w, " Waits take %s of the time.", share(x.Ran.WaitingShare))
		most = "Most time without waits"
	}
	if len(regions) > 0 {
		printf(w, " %s: %s.\n", most, text(strings.Join(regions, ", ")))
	} else {
		printf(w, " No region has any time.\n")
	}
	printf(w, "\n%s\n", text(x.Verdict))
	e := x.Efficiency.Factors
	printf(w, "Parallel efficiency %.2f: load balance %.2f, serialisation %.2f, transfer %.2f.\n", e.Parallel,
		e.LoadBalance,
		e.Serialisation, e.Transfer)
	if b := x.Baseline; b != nil {
		printf(w, "\n%s\n", text(b.Sentence()))
		list := b.Regions
		if b.Waits.Earlier > 0 || b.Waits.Later > 0 {
			list = append([]explain.RegionChange{{Region: "waits", TimeChange: b.Waits}}, list...)
		}
		for _, r := range list {
			printf(w, "%s%s: %s, was %s (%+.1f %% of the runtime)\n", item, text(r.Region), f(r.Later), f(r.Earlier),
				100*r.Change)
		}
	}
	viewable := x.viewable
	for i, x := range x.Findings {
		printf(w, "\n%s\n", title(fmt.Sprintf("%d. %s", i+1, text(x.Title))))
		printf(w, "%sloss %s, gain %s of the runtime (%s), confidence %s\n", item, share(x.LossShare), share(x.GainShare),
			f(x.Gain),
			x.Confidence)
		if command := plain(x.Command()); command != "" {
			if markdown {
				command = "`" + command + "`"
			}
			printf(w, "%sgain by %s\n", item, command)
		}
		if viewable {
			command := fmt.Sprintf("weft view --finding %d", i+1)
			if markdown {
				command = "`" + command + "`"
			}
			printf(w, "%sshown by %s\n", item, command)
		}
		if len(x.Path) > 0 {
			printf(w, "%sat %s", item, text(strings.Join(x.Path, " > ")))
			if len(x.Locations) > 0 {
				printf(w, ", %s", text(strings.Join(x.Locations, ", ")))
			}
			fmt.Fprintln(w)
		}
		printf(w, "%s%s\n", item, text(strings.Join(x.Evidence, "; ")))
		printf(w, "%s%s\n", item, text(x.Advice))
	}
	if len(x.Page.Unjudged) > 0 {
		printf(w, "\n%s\n", title("Not judged"))
		for _, u := range x.Page.Unjudged {
			printf(w, "%s%s\n", item, text(u))
		}
	}
}
