package format_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

var update = flag.Bool("update", false, "rewrite docs/mapping.md")

// Every common kind stands in exactly one row, and every row speaks of every
// format.
func TestMappingIsComplete(t *testing.T) {
	rows := map[trace.Kind]string{}
	for _, r := range format.Mapping {
		for _, k := range r.Kinds {
			if was, ok := rows[k]; ok {
				t.Errorf("kind %s stands in the rows %q and %q", trace.KindTable[k].Name, was, r.What)
			}
			rows[k] = r.What
		}
		for _, f := range columns() {
			if m, ok := r.By[f]; !ok || m.Keep == "" || m.As == "" {
				t.Errorf("row %q says nothing of %s", r.What, f)
			}
		}
	}
	for k := trace.NoKind + 1; int(k) < len(trace.KindTable); k++ {
		if _, ok := rows[k]; !ok {
			t.Errorf("no row has kind %s", trace.KindTable[k].Name)
		}
	}
}

// What definitions show is said before events are read.
func TestForesee(t *testing.T) {
	d := &trace.Definitions{Clock: trace.Seconds(3)}
	if rows := format.Foresee(d, "etf"); len(rows) != 0 {
		t.Errorf("etf: %v", rows)
	}
	i := slices.IndexFunc(format.Mapping, func(r format.MappingRow) bool { return r.What == "clock: ticks per second" })
	was := format.Mapping[i].By["etf"]
	defer func() { format.Mapping[i].By["etf"] = was }()
	format.Mapping[i].By["etf"] = format.Mapped{Keep: format.Substitute, As: "something else"}
	rows := format.Foresee(d, "etf")
	if len(rows) != 1 || rows[0].How != format.Degraded || rows[0].Kind != "clock: ticks per second" {
		t.Errorf("etf: %v", rows)
	}
}

func columns() (out []string) {
	for _, f := range all.Formats() {
		if f.About().Writes != "" {
			out = append(out, f.About().Name)
		}
	}
	return out
}

// docs/mapping.md is this table.
func TestMappingDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# What becomes of what

How each format keeps the parts of weft's model. *exact*: a record of its own.
*kept*: in attributes or texts of the format, restored when weft reads it back.
*degraded*: represented by something else; the meaning stays, the identity is
lost. *recomputed*: not written, since it follows from the events. *dropped*:
cannot be kept; ` + "`weft convert`" + ` then refuses without ` + "`--allow-loss`" + `. Every
degraded or dropped record is counted in the loss table of a conversion.

`)
	b.WriteString("| model |")
	for _, c := range columns() {
		b.WriteString(" " + c + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columns())) + "\n")
	for _, r := range format.Mapping {
		b.WriteString("| " + r.What + " |")
		for _, c := range columns() {
			m := r.By[c]
			fmt.Fprintf(&b, " %s: %s |", m.Keep, m.As)
		}
		b.WriteString("\n")
	}
	const path = "../docs/mapping.md"
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
		t.Errorf("%s is not what the table says; run go test ./format -update", path)
	}
}
