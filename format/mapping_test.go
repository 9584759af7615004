package format_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/format/etf"
	"github.com/weft-trace/weft/trace"
)

var update = flag.Bool("update", false, "rewrite docs/mapping.md")

// Every common kind belongs to exactly one subject, and every format speaks of every subject.
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
			if m := f.Mapping(s); m.Keep == "" || m.As == "" {
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

// coarse is a format that keeps clocks otherwise.
type coarse struct{ format.Format }

func (c coarse) About() format.About {
	a := c.Format.About()
	a.Mapping = func(s format.Subject) format.Mapped {
		if s == format.ClockTicks {
			return format.Mapped{Keep: format.Substitute, As: "something else"}
		}
		return c.Format.About().Mapping(s)
	}
	return a
}

// What definitions show is said before events are read.
func TestForesee(t *testing.T) {
	d := &trace.Definitions{Clock: trace.Seconds(3)}
	if rows := format.Foresee(d, etf.Format{}); len(rows) != 0 {
		t.Errorf("etf: %v", rows)
	}
	rows := format.Foresee(d, coarse{etf.Format{}})
	if len(rows) != 1 || rows[0].How != format.Degraded || rows[0].Kind != "clock: ticks per second" {
		t.Errorf("etf: %v", rows)
	}
}

func columns() (out []format.About) {
	for _, f := range all.Formats() {
		if f.About().Writes != "" {
			out = append(out, f.About())
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
		b.WriteString(" " + c.Name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columns())) + "\n")
	for _, s := range format.Subjects() {
		b.WriteString("| " + s.String() + " |")
		for _, c := range columns() {
			m := c.Mapping(s)
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
