package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// repairCommand returns the command weft repair.
func (a *app) repairCommand() *cobra.Command {
	var x rewriteFlags
	var orphans string
	var places int
	c := &cobra.Command{
		Use:   "repair TRACE OUT",
		Short: "Write a copy of a trace without its defects, and list every change",
		Long: `Write a trace without its contradictions:
  - Regions and claims that never end are ended at the last event of their location.
  - Leaves of regions that are not open are dropped.
  - If regions nest in the format, leaving a region also leaves those still open in it.
  - Visits that name no region get one.
  - Defects that weft repairs while reading (times out of order, wrong lengths and
    counts, missing definitions) are repaired in the file.
weft lists the changes by rule, with the first places of each. Added events have the
attribute repair.

--orphans enter keeps leaves of regions that were never entered, as in traces that begin
late: it adds an enter at the first event of the location.

To repair an OTF trace whose writer was killed, give the name of a file that it left, such
as .NAME.1.events.PID.tmp, or NAME.1.events if the master file is missing
(docs/formats/otf.md).

weft repair also accepts all flags of weft cut and weft filter. They apply to the
repaired trace.`,
		Example: "  weft repair broken.otf2 sound.otf2\n  weft repair --orphans enter --json late.otf sound.otf\n  weft " +
			"repair .late.1.events.4711.tmp sound.otf",
		Args: exactArgs(2, "TRACE and OUT"),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := wordIndex("--orphans", orphans, "drop", "enter"); err != nil {
				return err
			}
			return a.runRepair(c, args, &x, orphans == "enter", places)
		},
	}
	x.flags(c.Flags())
	c.Flags().StringVar(&orphans, "orphans", "drop", "how to treat leaves of regions that are not open: drop "+
		"removes them, enter adds an enter at the first event")
	c.Flags().Var(newInteger(&places, 10, 1, 0), "places", "how many places to name for each change")
	registerCompletions(c, "orphans", "drop", "enter")
	a.defineForceFlag(c)
	return c
}

// runRepair runs weft repair.
func (a *app) runRepair(c *cobra.Command, args []string, x *rewriteFlags, enter bool, places int) error {
	ctx := c.Context()
	r := x.inputFlagsOnly()
	if !slices.ContainsFunc(r.options, func(o string) bool { return strings.HasPrefix(o, "otf2.order=") }) {
		r.options = append([]string{"otf2.order=sort"}, r.options...)
	}
	in, err := a.open(ctx, args[0], r)
	if err != nil {
		return err
	}
	defer in.Close()
	in.report.Keep = places
	target, err := a.outputFormat(args[1], x.as, "--as")
	if err != nil {
		return err
	}
	changes := format.NewReport()
	changes.Keep = in.report.Keep
	d := transform.Repair(in.Events,
		transform.RepairOptions{Enter: enter, Nest: format.Conventions(in.format.About().Name).Nested ||
			format.Conventions(target.About().Name).Nested, Report: changes, Path: in.src.Path})
	if d, err = x.transform(ctx, d); err != nil {
		return err
	}
	rules := append(a.allRules(), transform.RepairRules()...)
	x.listsDefects = true // the command lists them together with the changes
	return a.writeRewritten(ctx, []*input{in}, d, args[1], x, func(res *rewriteResult) (any, error) {
		res.Changes = []checkRule{}
		total := int64(0)
		for _, r := range append(in.report.Rules(), changes.Rules()...) {
			if r.Severity == trace.Note ||
				slices.ContainsFunc(rules, func(x format.Rule) bool { return x.ID == r.Rule && x.Stays }) {
				continue // the rules of weft repair report the defect if repair removes it
			}
			rule := newCheckRule(r, rules, in.Events)
			res.Changes = append(res.Changes, rule)
			total += r.Count
			if !x.json {
				a.printRule(rule)
			}
		}
		if !x.json {
			err = printf(a.out, "%s: %s\n", in.src.Path, plural.Of(total, "change"))
		}
		return res, err
	})
}
