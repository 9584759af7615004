package cli

import (
	"github.com/spf13/cobra"
)

// cutCommand returns the command weft cut.
func (a *app) cutCommand() *cobra.Command {
	var x rewriteFlags
	c := &cobra.Command{
		Use:   "cut TRACE OUT",
		Short: "Cut a piece of time out of a trace, as a complete trace",
		Long: `Cut the events of a time window out of a trace and write them as a trace of their own,
in any format. Regions, claims, collective operations and messages that are open where
the piece begins get a new begin there, with the attribute cut.began, which holds the
original time. Regions and claims that are open where the piece ends get an end there,
with the attribute cut.ends. The times of consecutive pieces therefore add up to those
of the whole trace. Collective operations, requests, locks and messages stay open at the
end of the piece; weft check does not report them.

Choose the window by --from and --to, --percent, --around a time, --event or
--occurrence. --occurrence REGION#N is the N-th visit of a region over all locations;
with --each it is the N-th visit at each location, such as iteration 5 of a loop. weft
cut also accepts all flags of weft filter, and then cuts and filters in one pass.`,
		Example: "  weft cut --from 20% --to 40% trace.otf2 piece.otf2\n" +
			"  weft cut --occurrence 'iteration#5' --each trace.otf2 fifth.otf2\n" +
			"  weft cut --occurrence 'MPI_Barrier#2' --margin 1ms trace.otf2 piece.otf\n" +
			"  weft cut --from 2s --to 3s --region 'MPI_*' big.otf2 piece.otf",
		Args: exactArgs(2, "TRACE and OUT"),
		RunE: func(c *cobra.Command, args []string) error {
			if !x.piece.selectsPiece() {
				return usageError("found no time, expected --window, --from, --to, --percent, --around, --event or "+
					"--occurrence; see %s --help", c.CommandPath())
			}
			return a.rewriteOne(c, args, &x, nil, nil)
		},
	}
	x.flags(c.Flags())
	a.defineForceFlag(c)
	return c
}

// filterCommand returns the command weft filter.
func (a *app) filterCommand() *cobra.Command {
	var x rewriteFlags
	c := &cobra.Command{
		Use:   "filter TRACE OUT",
		Short: "Drop events by location, region, kind, duration or depth",
		Long: `Write a trace with some of its events. A visit of a region is kept or dropped as a
whole, so the remaining regions still nest. The time of a dropped visit counts for the
region around it. An event is kept unless one of the flags excludes it. --region does
not exclude events without a region, and --communicator does not exclude events without
a communicator.

weft filter also accepts all flags of weft cut.`,
		Example: "  weft filter --region 'MPI_*' trace.otf2 mpi.otf2\n" +
			"  weft filter --not-region 're:^(get|set)_' --min-duration 10us trace.otf2 small.otf2\n" +
			"  weft filter --location 0,1 --kind enter,leave trace.otf first.etf",
		Args: exactArgs(2, "TRACE and OUT"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.rewriteOne(c, args, &x, nil, nil)
		},
	}
	x.flags(c.Flags())
	a.defineForceFlag(c)
	return c
}
