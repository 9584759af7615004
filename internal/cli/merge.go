package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/transform"
)

// mergeOptions holds the flags of weft merge.
type mergeOptions struct {
	rewriteFlags
	anchor string
	unify  bool
}

// mergeCommand returns the command weft merge.
func (a *app) mergeCommand() *cobra.Command {
	var x mergeOptions
	c := &cobra.Command{
		Use:   "merge TRACE... OUT",
		Short: "Put several traces on one time line",
		Long: `Merge traces of any formats into one. Regions and other definitions with equal names
become one definition. Locations, communicators and resources of different traces stay
separate. They get new ids if another trace already uses their ids. --unify joins those with
the same id and name, for runs in which each process wrote its own file.

--anchor states which moments of the traces are simultaneous:
  wall          equal times of day
  first         the first events
  none          equal times of the clocks
  NAME, NAME#N  the first or N-th visit of a region, or event of a kind, such as MPI_Init,
                sync#2 or marker
The default is wall if all traces have the time of day, else none.

weft merge also accepts all flags of weft cut and weft filter. They apply to the merged
trace.`,
		Example: "  weft merge rank0.otf2 rank1.otf2 all.otf2\n" +
			"  weft merge --anchor first before.etf after.etf both.etf\n" +
			"  weft merge --anchor MPI_Init --unify node1.otf node2.otf all.otf",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usageError("found %s, expected TRACE... and OUT; see %s --help", plural.Of(len(args), "argument"),
					c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.runMerge(c.Context(), args, &x) },
	}
	x.flags(c.Flags())
	c.Flags().StringVar(&x.anchor, "anchor", "",
		"moment at which the traces coincide: wall, first, none, or the first (NAME) or N-th (NAME#N) visit of a region "+
			"or event of a kind")
	c.Flags().BoolVar(&x.unify, "unify", false,
		"join locations, groups, communicators and resources that have the same id and name")
	registerCompletions(c, "anchor", "wall", "first", "none")
	a.defineForceFlag(c)
	return c
}

// runMerge runs weft merge.
func (a *app) runMerge(ctx context.Context, args []string, x *mergeOptions) error {
	var ins []*input
	defer func() {
		for _, in := range ins {
			in.Close()
		}
	}()
	var list []format.Events
	for _, name := range args[:len(args)-1] {
		in, err := a.open(ctx, name, x.inputFlagsOnly())
		if err != nil {
			return err
		}
		ins = append(ins, in)
		list = append(list, in.Events)
	}
	zero, wall, err := x.commonTimes(ctx, args, list)
	if err != nil {
		return err
	}
	m, err := transform.Merge(ctx, list, transform.MergeOptions{Zero: zero, Wall: wall, Unify: x.unify})
	if err != nil {
		return err
	}
	x.lostBefore = m.Lost
	d, err := x.transform(ctx, m)
	if err != nil {
		return err
	}
	return a.writeRewritten(ctx, ins, d, args[len(args)-1], &x.rewriteFlags, func(res *rewriteResult) (any, error) {
		if m.Rounded > 0 && !x.quiet {
			fmt.Fprintf(a.err, "%s rounded to a tick of the common clock\n", plural.Of(m.Rounded, "time"))
		}
		return res, nil
	})
}

// commonTimes returns a time for each trace. In the merged trace, all these times become the same time. wall
// is true if the traces are aligned by the time of day instead.
func (m *mergeOptions) commonTimes(ctx context.Context, names []string, list []format.Events) (zero []int64, wall bool,
	err error) {
	switch m.anchor {
	case "none":
		return nil, false, nil
	case "first":
		for _, d := range list {
			first, _, _, err := format.Extent(ctx, d)
			if err != nil {
				return nil, false, err
			}
			zero = append(zero, first)
		}
		return zero, false, nil
	case "", "wall":
		for i, d := range list {
			if d.Defs().Clock.HasEpoch {
				continue
			}
			if m.anchor == "" {
				return nil, false, nil
			}
			return nil, false, &exitError{exitDefects,
				fmt.Errorf("%s: found no time of day of the recording, expected one for --anchor wall", names[i])}
		}
		return nil, true, nil
	}
	for i, d := range list {
		p := pieceFlags{occurrence: m.anchor, flag: "--anchor"}
		name, _, _ := strings.Cut(m.anchor, "#")
		if _, err := chooseKinds(d.Defs(), "", []string{name}); err == nil {
			p = pieceFlags{event: m.anchor, flag: p.flag}
		}
		w, err := p.find(ctx, d)
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", names[i], err)
		}
		zero = append(zero, w.From)
	}
	return zero, false, nil
}
