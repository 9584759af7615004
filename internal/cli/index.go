package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/serve"
	"github.com/weft-trace/weft/serve/cache"
)

// indexResult is the JSON of weft index (docs/json/index.md).
type indexResult struct {
	Path    string `json:"path"`
	Format  string `json:"format"`
	Index   string `json:"index"`
	Bytes   int64  `json:"bytes"`
	Built   bool   `json:"built"` // false if the index existed
	Damage  string `json:"damage,omitempty"`
	Defects int64  `json:"defects"`
}

// indexCommand returns the command weft index.
func (a *app) indexCommand() *cobra.Command {
	var v viewerFlags
	var asJSON, force bool
	var out string
	c := &cobra.Command{
		Use:   "index TRACE",
		Short: "Build the index that weft view needs",
		Long: `Build the index that weft view and weft serve need for a trace ahead of time, and print
its path. Without -o the index goes to the cache: the folder named by WEFT_CACHE, or
weft in the user's cache folder. An existing index is kept. With -o the index replaces
an existing index of that name; it replaces another file only with --force.

The cache identifies a trace by the names, sizes, modification times and parts of the
content of its files, whatever their folder. weft builds an index again if the trace has
changed since, if another version of weft has built it, or if it is damaged. To find
damage, weft index reads an existing index completely.`,
		Example: "  weft index trace.otf2\n  weft index -o trace.weftidx trace.otf2 && weft view --index trace.weftidx " +
			"trace.otf2",
		Args: exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := a.viewerSettings(&v)
			if err != nil {
				return err
			}
			in := &input{}
			if err := a.findFile(c.Context(), in, args[0]); err != nil {
				return err
			}
			defer in.Close()
			store, err := v.openCache()
			if err != nil {
				return err
			}
			defer store.Close()
			if out == "" && !store.IsPersistent() {
				return fmt.Errorf("cannot keep indexes: found no cache folder of the user that can be written to, expected one, " +
					"or WEFT_CACHE, or -o")
			}
			in.bar = a.newBar("indexing " + in.src.Path)
			a.garbage.tuneForIndex()
			m, err := serve.MakeIndex(c.Context(), r, store, in.src,
				serve.IndexOptions{Path: out, Force: force, Verify: true, Progress: in.bar.setProgress})
			if err != nil {
				return err
			}
			in.bar.remove()
			if asJSON {
				r := indexResult{Path: in.src.Path, Format: m.Format.About().Name, Index: m.Path, Bytes: m.Size, Built: m.Built,
					Defects: m.Defects}
				if m.Damage != nil {
					r.Damage = m.Damage.Error()
				}
				a.reportIndexing(in.src.Path, cache.ReadDefects{Missing: m.Missing}, v.quiet)
				return a.writeJSON(a.out, r)
			}
			how := "made"
			switch {
			case m.Damage != nil:
				how = "made anew, as it was damaged"
			case !m.Built:
				how = "was there"
			}
			printf(a.out, "%s (%s, %s)\n", m.Path, plural.Of(m.Size, "byte"), how)
			a.reportIndexing(in.src.Path, m.ReadDefects, v.quiet)
			return nil
		},
	}
	v.register(c.Flags())
	c.Flags().StringVarP(&out, "output", "o", "", "write the index to this file instead of the cache")
	c.Flags().BoolVar(&force, "force", false, "build the index even if it exists; let -o replace any file")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
