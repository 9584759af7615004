package cli

import "github.com/spf13/cobra"

// otfCommand holds the commands for one format alone.
func (a *app) otfCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "otf",
		Short:   "Jobs for OTF 1 traces",
		Long:    `Jobs for traces in the Open Trace Format, version 1, that other formats do not have.`,
		Example: "  weft otf snapshots trace.otf\n  weft otf --help",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("unknown command %q; see weft otf --help", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.otfSnapshotsCommand(), a.otfSummariesCommand(), a.otfSummaryCommand())
	return c
}
