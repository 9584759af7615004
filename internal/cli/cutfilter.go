package cli

import (
	"github.com/spf13/cobra"
)

// cutCommand returns the command weft cut.
func (a *app) cutCommand() *cobra.Command {
	var x rewriteFlags
	c := &cobra.Command{
		Use:   "cut TRACE OUT",
		Short: "Cut a piece out of a trace that stands for itself",
		Long: `Cut the events of a time out of a trace and write them as a trace of their own, in
any format. What is open where the piece begins (regions, claims, collective
operations, messages on their way) begins anew there, with the attribute cut.began that
says when it really began; what is open where it ends is ended there, with the attribute
cut.ends. So the times of pieces that follow each other add up to those of the whole.

The time is given by --from and --to, --percent, --around a time, --event or
--occurrence, which is the N-th visit of a region over all locations, or with --each the N-th
at each of them: iteration 5 of a loop. All flags of weft filter can be given, too: the piece is cut out and
filtered in one pass.`,
		Example: "  weft cut --from 20% --to 40% trace.otf2 piece.otf2\n" +
			"  weft cut --occurrence 'iteration#5' --each trace.otf2 fifth.otf2\n" +
			"  weft cut --occurrence 'MPI_Barrier#2' --margin 1ms trace.otf2 piece.otf\n" +
			"  weft cut --from 2s --to 3s --region 'MPI_*' big.otf2 piece.otf",
		Args: exactArgs(2, "TRACE and OUT"),
		RunE: func(c *cobra.Command, args []string) error {
			if !x.piece.cuts() {
				return usageError("found no time, expected --window, --from, --to, --percent, --around, --event or "+
					"--occurrence; see %s --help", c.CommandPath())
			}
			return a.rewriteOne(c, args, &x, nil, nil)
		},
	}
	x.flags(c.Flags())
	a.forceFlag(c)
	return c
}

// filterCommand returns the command weft filter.
func (a *app) filterCommand() *cobra.Command {
	var x rewriteFlags
	c := &cobra.Command{
		Use:   "filter TRACE OUT",
		Short: "Leave out events, by location, region, kind, duration, depth",
		Long: `Write a trace with some of its events. A visit of a region is kept or left out as a
whole, so that the regions nest as before, and the time inside of one that is left out
belongs to the region around it. Events that name no region are kept with --region,
events that name no communicator with --communicator. An event is kept if no flag is
against it.

All flags of weft cut can be given, too.`,
		Example: "  weft filter --region 'MPI_*' trace.otf2 mpi.otf2\n" +
			"  weft filter --not-region 're:^(get|set)_' --min-duration 10us trace.otf2 small.otf2\n" +
			"  weft filter --location 0,1 --kind enter,leave trace.otf first.etf",
		Args: exactArgs(2, "TRACE and OUT"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.rewriteOne(c, args, &x, nil, nil)
		},
	}
	x.flags(c.Flags())
	a.forceFlag(c)
	return c
}
