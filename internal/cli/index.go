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
		Long: `Build the index of a trace that weft view and weft serve need, and print its path. Without
-o, weft writes the index to the cache: the folder that WEFT_CACHE names, or weft in the
user's cache folder. weft keeps an existing index. With -o, weft replaces an existing index
of this name, and another file only with --force.

The cache identifies a trace by the names, sizes, modification times and parts of the
content of its files, not by their folder. weft builds an index again if the trace has
changed since, if another version of weft has built the index, or if the index is damaged.
To find damage, weft index reads an existing index completely.`,
		Example: "  weft index trace.otf2\n  weft index -o trace.weftidx trace.otf2 && weft view --index trace.weftidx " +
			"trace.otf2",
		Args: exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkNotPacked(out, "an index"); err != nil {
				return err
			}
			r, err := a.viewerSettings(&v)
			if err != nil {
				return err
			}
			in := &input{}
			if err := a.findFile(c.Context(), in, args[0], &v.inputFlags); err != nil {
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
	c.Flags().BoolVar(&force, "force", false, "build the index even if it exists; with -o, replace any existing file")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
