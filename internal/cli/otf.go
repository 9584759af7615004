package cli

import "github.com/spf13/cobra"

// otfCommand groups what only traces of OTF 1 need.
func (a *app) otfCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "otf",
		Short:   "Jobs for OTF 1 traces",
		Example: "  weft otf shrink --processes 1-16 trace.otf part.otf\n  weft otf compress trace.otf",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("unknown command %q; see %s --help", args[0], c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.otfShrinkCommand(), a.otfCompressCommand(), a.otfDecompressCommand())
	return c
}
