package cli

import (
	"context"
	"encoding/csv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/transform"
)

// knownNames lists patterns for names of libraries, which weft anonymize keeps.
var knownNames = []string{"MPI_*", "MPIX_*", "PMPI_*", "omp_*", "!$omp *", "pthread_*", "PAPI_*"}

// anonymizeCommand returns the command weft anonymize.
func (a *app) anonymizeCommand() *cobra.Command {
	var x rewriteFlags
	keep := replacingNames{nameList: knownNames}
	var names string
	c := &cobra.Command{
		Use:   "anonymize TRACE OUT",
		Short: "Replace names, paths and hosts, so that a trace can be shared",
		Long: `Write a trace without its names. Regions, files, locations, hosts, communicators, metrics
and all other definitions get names such as "region 1". Texts in attributes become
"text 1" and so on. Equal names get equal replacements. weft removes source lines, opaque
definitions and the time of day. Times, numbers, kinds of events, units, and the names of
attributes and properties stay.

weft keeps the names of known libraries: ` + strings.Join(knownNames, ", ") + `.
--keep replaces this list. --names writes a table of the replaced names, which you should not
share.

weft anonymize also accepts all flags of weft cut and weft filter. They use the original names.`,
		Example: "  weft anonymize trace.otf2 shared.otf2\n" +
			"  weft anonymize --keep 'MPI_*,solve' --names secret.csv trace.otf shared.otf",
		Args: exactArgs(2, "TRACE and OUT"),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := newPatterns(keep.nameList)
			if err != nil {
				return err
			}
			how := transform.AnonymizeOptions{Keep: func(name string) bool { return p.match(name) }}
			var table [][]string
			if names != "" {
				how.Replaced = func(name, by string) { table = append(table, []string{by, name}) }
			}
			var out *format.Output
			err = a.rewriteOne(c, args, &x, func(_ context.Context, d format.Events) (format.Events, error) {
				var err error
				if names != "" {
					// createText comes before the trace is written, so that an error comes early
					out, err = a.createText(names)
				}
				return transform.Anonymize(d, how), err
			}, nil)
			if out == nil {
				return err
			}
			defer out.Abort()
			if err == nil {
				err = csv.NewWriter(out).WriteAll(append([][]string{{"written", "name"}}, table...))
			}
			if err != nil {
				return err
			}
			return out.Commit()
		},
	}
	x.flags(c.Flags())
	c.Flags().Var(&keep, "keep",
		"names that are kept; * and ? match anything, re: begins a regular expression")
	c.Flags().StringVar(&names, "names", "",
		"write a table of the replaced names to this file, as comma-separated values")
	a.defineForceFlag(c)
	return c
}
