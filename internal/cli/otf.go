package cli

import "github.com/spf13/cobra"

// otfCommand returns the command weft otf, which holds the commands for OTF only.
func (a *app) otfCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "otf",
		Short: "Compress, shrink, extend and sum up OTF 1 traces",
		Long: `Commands for traces in the Open Trace Format, version 1, that have no counterpart in
other formats.`,
		Example: "  weft otf shrink --processes 1-16 trace.otf part.otf\n  weft otf compress trace.otf\n  weft otf " +
			"snapshots trace.otf",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.otfShrinkCommand(), a.otfCompressCommand(), a.otfDecompressCommand(),
		a.otfSnapshotsCommand(), a.otfSummariesCommand(), a.otfSummaryCommand())
	return c
}
