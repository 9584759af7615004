package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/counts"
	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// infoOptions holds the flags of weft info.
type infoOptions struct {
	inputFlags
	selectionFlags
	json, definitions, details, exact bool
	by                                string
	top                               int
	picture                           string // file for the time line
}

// infoCommand returns the command weft info.
func (a *app) infoCommand() *cobra.Command {
	var o infoOptions
	c := &cobra.Command{
		Use:   "info TRACE",
		Short: "Show what is in a trace",
		Long: `Show what is in a trace: format, span, locations, events by kind, the regions
with the most time, resources, signals and attributes. --definitions also lists all
definitions. --details also lists data that only this format has: for Pallas the threads,
events, sequences and loops of the grammars. --plot also draws the time line, as weft plot
does. Regions with the same name, file and line are one row; --by definition keeps them
apart.

--window, or --from and --to, --location, --group and --region restrict the output to a
part of the trace, as weft cut and weft filter would write it.

If a format stores sums in addition to the events, as Pallas does, weft shows these sums
and does not read the events. It reads the events if the sums are not sufficient: for
values and attributes of events, for calls that do not nest, and for the same calls inside
and outside of a call of their region. The line "Sums" shows that weft used stored sums;
sums of times may then be too small by 1 ns for each visit. --exact reads all events.`,
		Example: "  weft info trace.etf\n  weft info --json trace.trf\n  weft info --definitions trace.otf\n" +
			"  weft info --plot overview.svg trace.etf",
		Args: exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error { return a.info(c.Context(), args[0], &o) },
	}
	defineAnalysisFlags(c.Flags(), &o.inputFlags, &o.selectionFlags)
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	c.Flags().BoolVar(&o.definitions, "definitions", false, "also list all definitions")
	c.Flags().BoolVar(&o.details, "details", false, "also list data that only this format has")
	c.Flags().BoolVar(&o.exact, "exact", false, "read all events, even if the trace stores sums of them")
	c.Flags().Var(newInteger(&o.top, 10, 0, 0), "top", "how many regions, locations and attributes to list; 0 lists all")
	defineByFlag(c, &o.by)
	c.Flags().StringVar(&o.picture, "plot", "", "draw the time line to this .svg or .png file")
	a.defineForceFlag(c)
	return c
}

// info runs weft info.
func (a *app) info(ctx context.Context, arg string, o *infoOptions) error {
	if _, err := wordIndex("--by", o.by, byRegion, byDefinition); err != nil {
		return err
	}
	if o.picture == "-" {
		return usageError("--plot -: expected the name of a file, since the text goes to standard output; weft plot -o - " +
			"draws to it")
	}
	in, err := a.openUnprepared(ctx, arg, &o.inputFlags)
	if err != nil {
		return err
	}
	defer in.Close()
	part, err := o.infoPart(ctx, in)
	if err != nil {
		return err
	}
	var details []*format.Table
	if o.details { // Details are read before the sums, because a format may compute the sums from the same data.
		if details, err = in.file.Details(ctx); err != nil {
			return err
		}
		defer func() {
			for _, t := range details {
				t.Close()
			}
		}()
	}
	x, records, err := in.info(o.by, part).Describe(ctx, o.exact)
	if err != nil {
		return err
	}
	if part != nil && x.Events == 0 {
		in.notFound = noEvent
	}
	x.Attributes = slices.DeleteFunc(x.Attributes,
		func(a counts.Attribute) bool { return in.hidesAttribute(a.Attribute) })
	var tables []definitionTable
	if o.definitions {
		tables = definitionTables(in.Defs(), records, in.hidesAttribute)
		x.Definitions = map[string][]map[string]any{}
		for i := range tables {
			x.Definitions[tables[i].key] = tables[i].objects()
		}
	}
	if o.picture != "" {
		p := plotFlags{drawingFlags: drawingFlags{scale: 1}, rows: rowsByLocation, color: colorByRegion, maxRows: 64,
			links: true, messages: true}
		if err := a.plotTrace(ctx, in, o.picture, &selectionFlags{}, &p); err != nil {
			return err
		}
	}
	in.bar.remove()
	if o.json {
		if !o.quiet {
			a.reportFlagNames(in)
		}
		return a.writeInfoJSON(x, details)
	}
	a.printInfo(x, in, o.by, o.top)
	a.printDefinitions(tables)
	if err := a.printDetails(details); err != nil {
		return err
	}
	if o.picture != "" {
		printf(a.out, "\nTime line drawn to %s\n", o.picture)
	}
	a.reportDefects(in, o.quiet)
	return nil
}

// info returns the trace as input of package info. part describes the selected part if the events are
// only a part of the trace. by determines whether regions are listed by name or by definition.
func (in *input) info(by string, part *info.Part) *info.Trace {
	return &info.Trace{
		Rows: rowsBy(in.Defs(), by), File: in.file, Events: in.Events, Format: in.format, Source: in.src,
		Report: in.report, Part: part,
	}
}

// writeInfoJSON writes info as JSON. It writes details row by row, as they may not fit into memory.
func (a *app) writeInfoJSON(x *info.Info, details []*format.Table) error {
	var b bytes.Buffer
	if err := a.writeJSON(&b, x); err != nil {
		return err
	}
	if len(details) == 0 {
		_, err := a.out.Write(b.Bytes())
		return err
	}
	w := bufio.NewWriter(a.out)
	w.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n}\n")))
	w.WriteString(",\n  \"details\": {")
	slices.SortFunc(details, func(a, b *format.Table) int { return cmp.Compare(a.Key, b.Key) })
	e := json.NewEncoder(&b)
	e.SetIndent("      ", "  ")
	e.SetEscapeHTML(false)
	separator := ""
	for _, t := range details {
		fmt.Fprintf(w, "%s\n    %q: [", separator, t.Key)
		separator = ""
		object := map[string]any{}
		for row, err := range t.Rows() {
			if err != nil {
				return err
			}
			for k, v := range row {
				object[t.Columns[k]] = v
			}
			b.Reset()
			if err := e.Encode(object); err != nil {
				return err
			}
			w.WriteString(separator + "\n      ")
			w.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
			separator = ","
		}
		w.WriteString("\n    ]")
		separator = ","
	}
	w.WriteString("\n  }\n}\n")
	return w.Flush()
}

// printDetails prints the tables that are specific to the format of the trace. The layout is the layout of
// [printTable].
func (a *app) printDetails(tables []*format.Table) error {
	w := bufio.NewWriter(a.out)
	for _, t := range tables {
		printf(w, "\n%s (%d)\n", t.Title, t.Len())
		wide := make([]int, len(t.Columns))
		for k, c := range t.Columns {
			wide[k] = text.StringWidthWithoutEscSequences(c)
		}
		each := func(f func(k int, cell string)) error {
			for row, err := range t.Rows() {
				if err != nil {
					return err
				}
				for k, v := range row {
					if x, ok := v.(trace.Real); ok {
						v = fmt.Sprintf("%.6g", float64(x))
					}
					f(k, plain(valueText(v)))
				}
			}
			return nil
		}
		err := each(func(k int, cell string) { wide[k] = max(wide[k], text.StringWidthWithoutEscSequences(cell)) })
		if err != nil {
			return err
		}
		put := func(k int, cell string) {
			w.WriteString(text.AlignLeft.Apply(cell, wide[k]) + "  ")
			if k == len(wide)-1 {
				w.WriteByte('\n')
			}
		}
		for k, c := range t.Columns {
			put(k, strings.ToUpper(c))
		}
		if err := each(put); err != nil {
			return err
		}
	}
	return w.Flush()
}

// printInfo prints info as text, with at most top rows for each table; 0 prints all rows.
func (a *app) printInfo(x *info.Info, in *input, by string, top int) {
	d := in.Defs()
	w := a.out
	field := func(name, format string, args ...any) {
		printf(w, "%-12s "+format+"\n", append([]any{name}, args...)...)
	}
	field("Trace", "%s", x.Path)
	origin := ""
	if x.Origin != "" {
		origin = ", written from another format"
	}
	field("Format", "%s%s", in.format.About().Title, origin)
	size := int64(0)
	for _, f := range x.Files {
		size += f.Size
	}
	others := ""
	if n := len(x.Files) - 1; n > 0 {
		others = " in " + plural.Of(n, "file") + " and a main file"
	}
	field("Size", "%s%s", plural.Of(size, "byte"), others)
	if x.First == nil {
		field("Events", "none")
	} else {
		field("Span", "%s (from %s s to %s s)", d.Clock.FormatDuration(*x.Last-*x.First),
			d.Clock.FormatSeconds(*x.First), d.Clock.FormatSeconds(*x.Last))
		if w := x.Window; w != nil {
			field("Window", "%s (from %s s to %s s)", d.Clock.FormatDuration(w.Last-w.First),
				d.Clock.FormatSeconds(w.First), d.Clock.FormatSeconds(w.Last))
		}
		if x.Start != "" {
			field("Started", "%s", x.Start)
		}
		field("Resolution", "%s", x.Clock.Resolution)
		field("Events", "%d%s", x.Events, unlessZero(x.Derived, " and %d derived from them"))
	}
	switch {
	case x.TimesChanged:
		field("Sums",
			"of times are those that the trace stores; they are too small by at most %s; its "+
				"compression has changed the times of events "+
				"(--exact reads those)", d.Clock.FormatDuration(*x.Missing))
	case x.Missing != nil && *x.Missing > 0:
		field("Sums", "of times are those that the trace stores; they are too small by at most %s (--exact reads all events)",
			d.Clock.FormatDuration(*x.Missing))
	}
	if x.Links > 0 {
		field("Links", "%d", x.Links)
	}
	props := d.Properties.All()
	for _, p := range slices.SortedStableFunc(slices.Values(props),
		func(a, b trace.Attr) int { return cmp.Compare(a.Key, b.Key) }) {
		field("Property", "%s = %v", p.Key, p.Value.Any())
	}
	a.printInfoTables(x, d, by, top)
	if x.Unclosed > 0 {
		fmt.Fprintf(w, "\n%s of regions never left, which count until the last event of the location.\n",
			plural.Of(x.Unclosed, "visit"))
	}
}

// printInfoTables prints the tables of info, with at most top rows each; 0 prints all rows.
func (a *app) printInfoTables(x *info.Info, d *trace.Definitions, by string, top int) {
	regionName := regionNames(d, by)
	w := a.out
	tables := func(title string, header table.Row, n int, row func(i int) table.Row) {
		if n == 0 {
			return
		}
		fmt.Fprintf(w, "\n%s\n", title)
		if more := printTable(w, header, n, top, row); more > 0 {
			fmt.Fprintf(w, "  … and %d more (--top 0 lists all)\n", more)
		}
	}
	tables("Kinds", table.Row{"kind", "events"}, len(x.Kinds), func(i int) table.Row {
		return table.Row{x.Kinds[i].Name, x.Kinds[i].Events + x.Kinds[i].Derived}
	})
	tables("Records that define", table.Row{"type", "records"}, len(x.Records), func(i int) table.Row {
		return table.Row{x.Records[i].Type, x.Records[i].Count}
	})
	tables("Locations", table.Row{"id", "name", "kind", "events", "first", "last"}, len(x.Locations),
		func(i int) table.Row {
			l := x.Locations[i]
			first, last := "", ""
			if l.First != nil {
				first, last = d.Clock.FormatSeconds(*l.First)+" s", d.Clock.FormatSeconds(*l.Last)+" s"
			}
			return table.Row{l.ID, l.FullName, l.Kind, l.Events, first, last}
		})
	regions := slices.Clone(x.Regions)
	slices.SortStableFunc(regions, func(a, b profile.Region) int { return b.Exclusive.Cmp(a.Exclusive) })
	tables("Regions by exclusive time", table.Row{"region", "count", "exclusive", "inclusive", "min", "max"}, len(regions),
		func(i int) table.Row {
			r := regions[i]
			f := d.Clock.FormatDuration
			return table.Row{regionName(r.Region, r.Name), r.Count, d.Clock.FormatSum(r.Exclusive),
				d.Clock.FormatSum(r.Inclusive), f(r.Min), f(r.Max)}
		})
	acts := slices.Clone(x.Activities)
	slices.SortStableFunc(acts, func(a, b profile.Activity) int { return b.Time.Cmp(a.Time) })
	tables("Activities by claimed time", table.Row{"activity", "claims", "time"}, len(acts), func(i int) table.Row {
		return table.Row{regionName(acts[i].Region, acts[i].Name), acts[i].Count, d.Clock.FormatSum(acts[i].Time)}
	})
	tables("Resources", table.Row{"resource", "capacity", "claims", "busy", "busy %", "most at once", "highest amount"},
		len(x.Resources), func(i int) table.Row {
			r := x.Resources[i]
			share := "-"
			if n := x.Length(); n > 0 {
				share = fmt.Sprintf("%.1f", 100*float64(r.Busy)/float64(n))
			}
			return table.Row{cmp.Or(r.Name, r.ID), strings.TrimSpace(fmt.Sprintf("%v %s", r.Capacity, r.Unit)), r.Count,
				d.Clock.FormatDuration(r.Busy), share, r.MaxOpen, r.MaxAmount}
		})
	tables("Signals, series and counters",
		table.Row{"id", "name", "kind", "unit", "values", "min", "max", "last", "average /s",
			"highest /s"}, len(x.Metrics), func(i int) table.Row {
			m := x.Metrics[i]
			return table.Row{m.ID, m.Name, m.Kind, m.Unit, m.Events, valueText(m.Min), valueText(m.Max), valueText(m.Last),
				rateText(m.AverageRate), rateText(m.HighestRate)}
		})
	tables("Statistics records", table.Row{"location", "inside", "", "region", "", "seconds", "count", "volume sent",
		"received", "volume"}, len(x.Statistics), func(i int) table.Row {
		s := x.Statistics[i]
		return table.Row{s.Location, s.Inside, s.InsideName, s.Region, s.RegionName, valueText(s.Seconds), valueText(s.Count),
			valueText(s.VolumeSent), valueText(s.VolumeReceived), valueText(s.Volume)}
	})
	attributes := joinByName(x.Attributes)
	tables("Attributes", table.Row{"attribute", "uses"}, len(attributes), func(i int) table.Row {
		return table.Row{attributes[i].Name, attributes[i].Uses}
	})
}

// joinByName joins attributes with the same name, which differ in their type or description. The list is in the order
// of the names.
func joinByName(l []counts.Attribute) (out []counts.Attribute) {
	for _, a := range l {
		if n := len(out); n > 0 && out[n-1].Name == a.Name {
			out[n-1].Uses += a.Uses
			continue
		}
		out = append(out, a)
	}
	return out
}

// valueText formats a value; nil becomes "".
func valueText(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// rateText formats a rate; nil becomes "".
func rateText(r *trace.Real) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%.5g", float64(*r))
}

// unlessZero formats n. It returns "" if n is 0.
func unlessZero(n int64, format string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}
