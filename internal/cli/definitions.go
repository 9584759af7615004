package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// definitionTable is a table of definitions, for text and JSON.
type definitionTable struct {
	key     string // the key in JSON
	title   string
	columns []string
	rows    [][]any // strings, numbers, lists of numbers, and attributes
}

// definitionTables returns the tables of all definitions of a trace. Empty tables and hidden attributes are
// left out.
func definitionTables(d *trace.Definitions, records []format.DefinitionRecords,
	hidden func(attribute uint32) bool) []definitionTable {
	var out []definitionTable
	add := func(key, title string, columns string, n int, row func(i int) []any) {
		if n == 0 {
			return
		}
		t := definitionTable{key: key, title: title, columns: strings.Fields(columns)}
		for i := range n {
			if r := row(i); r != nil {
				t.rows = append(t.rows, r)
			}
		}
		if len(t.rows) > 0 {
			out = append(out, t)
		}
	}
	group := func(i uint32) string {
		if i == trace.NoRef {
			return ""
		}
		g := d.Groups.At(i)
		return cmp.Or(g.Name, g.ID)
	}
	add("locations", "Locations", "id name kind group attributes", d.Locations.Len(), func(i int) []any {
		l := d.Locations.At(uint32(i))
		return []any{l.ID, l.Name, string(l.Kind), group(l.Group), l.Attrs}
	})
	add("groups", "Groups of locations", "id name kind parent attributes", d.Groups.Len(), func(i int) []any {
		g := d.Groups.At(uint32(i))
		return []any{g.ID, g.Name, g.Kind, group(g.Parent), g.Attrs}
	})
	add("regions", "Regions", "id name group role file line attributes", d.Regions.Len(), func(i int) []any {
		r := d.Regions.At(uint32(i))
		return []any{r.ID, r.Name, r.Group, r.Role, r.File, r.Line, r.Attrs}
	})
	// sets of members of communicators; they are shown with the communicators
	members := map[uint32]bool{}
	add("communicators", "Communicators", "id name members attributes", d.Communicator.Len(), func(i int) []any {
		c := d.Communicator.At(uint32(i))
		var l []int64
		if c.Set != trace.NoRef {
			members[c.Set] = true
			l = d.Sets.At(c.Set).Members
		}
		return []any{c.ID, c.Name, l, c.Attrs}
	})
	add("sets", "Sets", "id name kind members attributes", d.Sets.Len(), func(i int) []any {
		s := d.Sets.At(uint32(i))
		if members[uint32(i)] {
			return nil
		}
		return []any{s.ID, s.Name, s.Kind, s.Members, s.Attrs}
	})
	add("signals", "Signals, series and counters", "id name kind unit mode group type attributes", d.Metrics.Len(),
		func(i int) []any {
			m := d.Metrics.At(uint32(i))
			return []any{m.ID, m.Name, string(m.Kind), m.Unit, m.Mode, m.Group, m.Type.String(), m.Attrs}
		})
	add("resources", "Resources", "id name unit capacity attributes", d.Resources.Len(), func(i int) []any {
		r := d.Resources.At(uint32(i))
		return []any{r.ID, r.Name, r.Unit, trace.Real(r.Capacity), r.Attrs}
	})
	add("attributes", "Attributes of events", "id name type description", d.Attributes.Len(), func(i int) []any {
		a := d.Attributes.At(uint32(i))
		if hidden(uint32(i)) {
			return nil
		}
		return []any{a.ID, a.Name, a.Type.String(), a.Doc}
	})
	add("kinds", "Kinds of events that the trace declares", "name description", d.Kinds.Len(), func(i int) []any {
		k := d.Kinds.At(uint32(i))
		return []any{k.Name, k.Doc}
	})
	for _, x := range []struct {
		key, title string
		t          *trace.Table[trace.Named]
	}{{"parameters", "Parameters", &d.Parameters}, {"windows", "Windows", &d.Windows},
		{"contexts", "Contexts", &d.Contexts},
		{"files", "Files", &d.Files}, {"handles", "Handles", &d.Handles}, {"markers", "Markers", &d.Markers},
		{"operations", "Collective operations with numbers of the trace's own", &d.Operations}} {
		add(x.key, x.title, "id name attributes", x.t.Len(), func(i int) []any {
			n := x.t.At(uint32(i))
			return []any{n.ID, n.Name, n.Attrs}
		})
	}
	for _, x := range records {
		add(x.Type, x.Type, "id name", len(x.Names), func(i int) []any { return []any{x.Names[i].ID, x.Names[i].Name} })
	}
	add("opaque", "Other definitions, in the format's own text", "record", d.Opaque.Len(),
		func(i int) []any { return []any{d.Opaque.At(uint32(i)).Data} })
	return out
}

// objects returns the table as an array of JSON objects. An object lacks the empty columns.
func (t *definitionTable) objects() []map[string]any {
	out := make([]map[string]any, 0, len(t.rows))
	for _, r := range t.rows {
		o := map[string]any{}
		for i, v := range r {
			switch x := v.(type) {
			case string:
				if x == "" && t.columns[i] != "id" && t.columns[i] != "name" {
					continue
				}
			case int64:
				if x == 0 {
					continue
				}
			case []int64:
				if x == nil {
					v = []int64{}
				}
			case []trace.Attr:
				if len(x) == 0 {
					continue
				}
				v = info.Object(x)
			}
			o[t.columns[i]] = v
		}
		out = append(out, o)
	}
	return out
}

// displayCell returns a value for a text table. Lists become one text, and 0 becomes empty.
func displayCell(v any) any {
	switch x := v.(type) {
	case int64:
		if x == 0 {
			return ""
		}
	case []int64:
		s := strings.Trim(fmt.Sprint(x), "[]")
		if cut := 80; len(s) > cut {
			s = fmt.Sprintf("%s … (%d)", s[:strings.LastIndexByte(s[:cut], ' ')], len(x))
		}
		return s
	case []trace.Attr:
		var l []string
		for _, a := range x {
			l = append(l, a.Key+"="+a.Value.String())
		}
		return strings.Join(l, ", ")
	}
	return v
}

// printDefinitions prints all tables. It leaves out columns without values.
func (a *app) printDefinitions(tables []definitionTable) {
	for _, t := range tables {
		printf(a.out, "\n%s (%d)\n", t.title, len(t.rows))
		var used []int
		header := table.Row{}
		for i, c := range t.columns {
			for _, r := range t.rows {
				if displayCell(r[i]) != "" {
					used, header = append(used, i), append(header, c)
					break
				}
			}
		}
		printTable(a.out, header, len(t.rows), 0, func(k int) (row table.Row) {
			for _, i := range used {
				row = append(row, displayCell(t.rows[k][i]))
			}
			return row
		})
	}
}
