package cli

import (
	"cmp"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/trace"
)

// formatInfo is a format in the JSON of weft formats (docs/json/formats.md).
type formatInfo struct {
	Name       string       `json:"name"`
	Title      string       `json:"title"`
	Extensions []string     `json:"extensions"`
	Reads      string       `json:"reads"`
	Writes     string       `json:"writes"`
	Seeks      string       `json:"seeks"`
	Options    []optionInfo `json:"options"`
}

// optionInfo is an option of a format in the JSON.
type optionInfo struct {
	Name    string   `json:"name"`
	Default string   `json:"default"`
	Doc     string   `json:"doc"`
	Side    string   `json:"side"` // read or write
	Values  []string `json:"values,omitempty"`
}

// formatsCommand returns the command weft formats.
func (a *app) formatsCommand() *cobra.Command {
	var asJSON, options, kinds bool
	c := &cobra.Command{
		Use:   "formats",
		Short: "List the formats and what each can do",
		Long: `List the formats: their names, the names of their files, and whether weft reads and writes
them.

weft detects the format of a trace from its content. If this fails, --format NAME sets the
format. The name of an output determines its format, or --to NAME (weft convert, generate)
or --as NAME (weft cut, filter and other commands that change a trace). --option NAME=VALUE
sets how weft reads or writes a format; --options lists the options. When weft writes a
trace, it lists the data that the format cannot keep (see weft convert --help). The page of
each format in docs/formats states how weft converts its records.`,
		Example: "  weft formats\n  weft formats --options\n  weft formats --kinds --json",
		Args:    exactArgs(0, "none"),
		RunE: func(c *cobra.Command, _ []string) error {
			if kinds {
				return a.listKinds(asJSON)
			}
			var list []formatInfo
			for _, f := range a.formats {
				x := formatInfo{f.About().Name, f.About().Title, f.About().Extensions, f.About().Reads, f.About().Writes,
					f.About().Seeks, []optionInfo{}}
				for _, o := range f.About().Options {
					side := "read"
					if o.Write {
						side = "write"
					}
					x.Options = append(x.Options, optionInfo{o.Name, o.Default, o.Doc, side, o.Values})
				}
				list = append(list, x)
			}
			if asJSON {
				return a.writeJSON(a.out, list)
			}
			if !options {
				printTable(a.out, table.Row{"NAME", "FORMAT", "FILES", "READS", "WRITES", "SEEKS"}, len(list), 0,
					func(i int) table.Row {
						x := &list[i]
						return table.Row{x.Name, x.Title, strings.Join(x.Extensions, " "), orDash(x.Reads),
							orDash(x.Writes), orDash(x.Seeks)}
					})
				return nil
			}
			var all []optionInfo
			for _, x := range list {
				all = append(all, x.Options...)
			}
			printTable(a.out, table.Row{"OPTION", "DEFAULT", "SIDE", "MEANING"}, len(all), 0, func(i int) table.Row {
				o := &all[i]
				doc := o.Doc
				if len(o.Values) > 0 {
					doc += " (" + strings.Join(o.Values, ", ") + ")"
				}
				return table.Row{o.Name, o.Default, o.Side, doc}
			})
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&options, "options", false, "list the options of the formats")
	c.Flags().BoolVar(&kinds, "kinds", false, "list the kinds of events and what their operands mean")
	return c
}

// orDash returns s, or "-" if s is empty.
func orDash(s string) string { return cmp.Or(s, "-") }

// kindInfo is a kind of events in the JSON of weft formats --kinds (docs/json/formats.md).
type kindInfo struct {
	Name     string        `json:"name"`
	Doc      string        `json:"doc"`
	Ref      string        `json:"ref,omitempty"`
	Operands []operandInfo `json:"operands,omitempty"`
}

// operandInfo is an operand of a kind in the JSON.
type operandInfo struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
	Doc  string `json:"doc"`
}

// listKinds prints the kinds of events.
func (a *app) listKinds(asJSON bool) error {
	var list []kindInfo
	for _, kind := range trace.Kinds() {
		k := kind.Spec()
		x := kindInfo{Name: k.Name, Doc: k.Doc, Ref: k.Ref.String()}
		for _, o := range k.Operands {
			x.Operands = append(x.Operands, operandInfo{o.Name, o.Unit, o.Doc})
		}
		list = append(list, x)
	}
	if asJSON {
		return a.writeJSON(a.out, list)
	}
	printTable(a.out, table.Row{"KIND", "REFERS TO", "OPERANDS", "MEANING"}, len(list), 0, func(i int) table.Row {
		var ops []string
		for _, o := range list[i].Operands {
			ops = append(ops, o.Name)
		}
		return table.Row{list[i].Name, orDash(list[i].Ref), strings.Join(ops, " "), list[i].Doc}
	})
	return nil
}
