package all

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/etf"
	"github.com/weft-trace/weft/format/otf"
	"github.com/weft-trace/weft/trace"
)

// update is the flag that makes TestMappingDocument rewrite the document.
var update = flag.Bool("update", false, "rewrite docs/mapping.md")

// TestMappingIsComplete checks that every common kind belongs to exactly one subject, and that
// every format maps every subject.
func TestMappingIsComplete(t *testing.T) {
	rows := map[trace.Kind]format.Subject{}
	for _, s := range format.Subjects() {
		for _, k := range s.Kinds() {
			if was, ok := rows[k]; ok {
				t.Errorf("kind %s belongs to %q and %q", k.Spec().Name, was, s)
			}
			rows[k] = s
		}
		for _, f := range columns() {
			if m := f.Mapping(s); m.How == "" || m.As == "" {
				t.Errorf("%s says nothing of %q", f.Name, s)
			}
		}
	}
	for _, k := range trace.Kinds() {
		if _, ok := rows[k]; !ok {
			t.Errorf("no subject has kind %s", k.Spec().Name)
		}
	}
}

// degradedClock wraps a format. It maps the clock as degraded.
type degradedClock struct{ format.Format }

func (c degradedClock) About() format.About {
	a := c.Format.About()
	a.Mapping = func(s format.Subject) format.Mapped {
		if s == format.ClockTicks {
			return format.Mapped{How: format.Degraded, As: "something else"}
		}
		return c.Format.About().Mapping(s)
	}
	return a
}

// TestDefinitionLosses checks that losses of definitions are counted by the mapping, and that
// definitions that only weft restores are lost in a plain trace.
func TestDefinitionLosses(t *testing.T) {
	d := &trace.Definitions{Clock: trace.TicksPerSecond(3)}
	d.Regions.Add(trace.Region{Name: "f"})
	attr := func(key, value string) trace.Attr { return trace.Attr{Key: key, Value: trace.StringValue(value)} }
	// The description has a row of its own, and "name" repeats the name.
	signals := &trace.Definitions{Clock: trace.TicksPerSecond(3)}
	signals.Metrics.Add(trace.MetricDef{Name: "load", Attrs: []trace.Attr{attr("description", "x"), attr("name", "load"),
		attr("color", "red")}})
	for _, x := range []struct {
		f     format.Format
		d     *trace.Definitions
		plain bool
		want  []format.LossRow
	}{
		{etf.Format{}, d, false, []format.LossRow{{Kind: "region and its name", How: format.WeftOnly, Count: 1}}},
		{etf.Format{}, d, true, []format.LossRow{{Kind: "region and its name", How: format.Lost, Count: 1}}},
		{degradedClock{etf.Format{}}, d, false, []format.LossRow{
			{Kind: "clock: ticks per second", How: format.Degraded, Count: 1},
			{Kind: "region and its name", How: format.WeftOnly, Count: 1}}},
		{otf.Format{}, signals, false, []format.LossRow{
			{Kind: "description of a counter", How: format.WeftOnly, Count: 1},
			{Kind: "property of a signal, series or counter", How: format.WeftOnly, Count: 1}}},
	} {
		var l format.Loss
		l.AddDefinitions(x.d, x.f.About().Mapping, x.plain)
		rows := l.Rows()
		for i := range rows {
			rows[i].Reason = ""
		}
		if !slices.Equal(rows, x.want) {
			t.Errorf("found %v, expected %v", rows, x.want)
		}
	}
}

// columns returns the formats that have a column in the table.
func columns() (out []format.About) {
	for _, f := range Formats() {
		if f.About().Writes != "" {
			out = append(out, f.About())
		}
	}
	return out
}

// TestMappingDocument checks that the table in docs/mapping.md equals the mapping of the formats.
func TestMappingDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# How a conversion changes a trace

The table lists the parts of weft's model. For each format it states how well the format keeps the part, and
in which record or field.

- *exact*: the tools of the format read the same data.
- *weft only*: weft stores the data in the file and restores it; other tools do not see it. With ` + "`--plain`" + `,
  weft does not write the data, and it is lost. Ids of locations are degraded then, because the locations have others.
- *degraded*: the format stores the data in another form, which keeps the meaning.
- *recomputed*: weft does not write the data, because it follows from the events.
- *lost*: the format cannot store the data. ` + "`weft convert`" + ` then refuses to convert, unless
  ` + "`--allow-loss` or `--plain`" + ` is set.

The table that a conversion prints counts everything except the exact parts.

`)
	b.WriteString("| model |")
	for _, c := range columns() {
		b.WriteString(" " + c.Name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columns())) + "\n")
	for _, s := range format.Subjects() {
		b.WriteString("| " + s.String() + " |")
		for _, c := range columns() {
			m := c.Mapping(s)
			fmt.Fprintf(&b, " %s: %s |", m.How, m.As)
		}
		b.WriteString("\n")
	}
	const path = "../../docs/mapping.md"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != b.String() {
		t.Errorf("%s differs from the table; run go test ./format/all -update", path)
	}
}
