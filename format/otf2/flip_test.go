package otf2

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/check"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// archiveFiles returns the files of an archive in testdata.
func archiveFiles(t *testing.T, name string) (m fstest.MapFS, anchor string) {
	t.Helper()
	m = fstest.MapFS{}
	dir := filepath.Join("testdata/ok", name)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".gz") {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		rel = filepath.ToSlash(rel)
		if m[rel] = (&fstest.MapFile{Data: b}); strings.HasSuffix(rel, ".otf2") {
			anchor = rel
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m, anchor
}

// findings checks an archive like the command weft check, and returns the number of defects by rule.
func findings(t *testing.T, m fs.FS, anchor string) map[string]int64 {
	t.Helper()
	ctx := context.Background()
	opt := &format.ReadOptions{Report: format.NewReport(), Workers: 1}
	src := format.Source{FS: m, Name: anchor, Path: anchor}
	d, err := Format{}.Open(ctx, src, opt)
	if err != nil {
		return map[string]int64{err.Error(): 1}
	}
	defer d.Close()
	checkers := []format.Checker{check.New(d.Defs(), anchor, opt), d.NewChecker()}
	err = d.Scan(ctx, trace.Everything(), format.PerLocation,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error { return checkers[0].Batch(b) }})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checkers {
		if err := c.Finish(ctx); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string]int64{}
	for _, r := range opt.Report.Rules() {
		out[r.Rule] = r.Count
	}
	return out
}

// parts returns a name for the meaning of each byte of an event file of one chunk.
func parts(t *testing.T, b []byte) []string {
	t.Helper()
	out := make([]string, len(b))
	mark := func(from, to int, what string) {
		for ; from < to; from++ {
			out[from] = what
		}
	}
	mark(0, headerSize, "chunk header")
	at := headerSize
	for at < len(b) {
		id := b[at]
		switch {
		case id == endOfFile || id == endOfChunk:
			mark(at, at+1, "end of the file")
			mark(at+1, len(b), "padding")
			return out
		case id == timestampRecord:
			mark(at, at+1, "record id")
			mark(at+1, at+9, "time")
			at += 9
			continue
		}
		task := "" // the document states nothing about tasks
		if id != attributeRecord && strings.HasPrefix(eventTypes[id].name, "ThreadTask") {
			task = eventTypes[id].name + " "
		}
		mark(at, at+1, task+"record id")
		c := cursor{b: b, at: at + 1}
		var body int
		if id != attributeRecord && eventTypes[id].noLength {
			body = c.at
			c.compressed(8)
		} else {
			n := int(c.length())
			mark(at+1, c.at, "record length")
			body, c.at = c.at, c.at+n
		}
		end := c.at
		c = cursor{b: b[:end], at: body}
		number := func(size int, what string) {
			from := c.at
			c.compressed(size)
			mark(from, from+1, task+"size of a number")
			mark(from+1, c.at, what)
		}
		if id == attributeRecord {
			from := c.at
			n := c.compressed(4)
			mark(from, c.at, "number of attributes")
			for range n {
				number(4, "id of an attribute")
				mark(c.at, c.at+1, "type of an attribute")
				typ := c.byte()
				from := c.at
				c.typed(typ)
				mark(from, c.at, "value of an attribute")
			}
			at = end
			continue
		}
		typ := &eventTypes[id]
		field := func(f *field) uint64 {
			from := c.at
			what := typ.name + " " + f.name
			if f.enc == encByte {
				v := c.byte()
				mark(from, c.at, what)
				return v
			}
			v := cursor{b: c.b, at: c.at}
			value := v.compressed(8)
			number(8, what)
			return value
		}
		n := uint64(0)
		for i := range typ.fields {
			n = field(&typ.fields[i])
		}
		for ; typ.each != nil && n > 0; n-- {
			for i := range typ.each {
				field(&typ.each[i])
			}
		}
		if c.bad || c.at != end {
			t.Fatalf("event %d at 0x%x: %d of %d bytes", id, at, c.at-body, end-body)
		}
		at = end
	}
	return out
}

// silent lists the parts in which a flipped bit may remain unnoticed according to
// docs/formats/otf2.md: values that nothing repeats, and times that stay in order.
var silent = []string{"time", "padding", "value of an attribute", "Metric value", "ParameterInt value",
	"ProgramBegin argument", "MpiCollectiveEnd sent", "MpiCollectiveEnd received", "Thread"}

// TestFlips checks that flipped bits inside of events are found, except in the parts that the document names.
// It flips every 307th bit, and in a long run of the tests every bit. With the flag -v it prints the numbers
// that the document states.
func TestFlips(t *testing.T) {
	effort.Sequential(t)
	step := 307
	if effort.Soak() {
		step = 1
	}
	for _, x := range []struct {
		archive, file string
		least         float64  // minimum percentage of flips that must be found
		more          []string // further parts in which a few flips remain unnoticed
	}{
		{"heat2d-mt", "traces/0.evt", 91, nil},
		{"ring", "eztrace_log/0.evt", 84, []string{"record id"}},
		{"omp", "eztrace_log/1.evt", 84, []string{"record id", "Enter region", "Leave region"}},
	} {
		silent := slices.Concat(silent, x.more)
		m, anchor := archiveFiles(t, x.archive)
		was := findings(t, m, anchor)
		sound := m[x.file].Data
		of := parts(t, sound)
		type figure struct{ found, all int }
		figures := map[string]*figure{}
		byte8 := [8]figure{}
		sum := figure{}
		lastTime := -1
		for bit := 0; bit < 8*len(sound); bit += step {
			b := bytes.Clone(sound)
			b[bit/8] ^= 1 << (bit % 8)
			m[x.file] = &fstest.MapFile{Data: b}
			what := of[bit/8]
			f := figures[what]
			if f == nil {
				f = &figure{}
				figures[what] = f
			}
			f.all++
			sum.all++
			found := !maps.Equal(was, findings(t, m, anchor))
			if found {
				f.found++
				sum.found++
			} else if !slices.ContainsFunc(silent, func(s string) bool { return strings.HasPrefix(what, s) }) {
				t.Errorf("%s: bit %d of byte 0x%x (%s) is flipped, and nothing is found", x.archive, bit%8, bit/8, what)
			}
			if what == "time" {
				for lastTime = bit / 8; of[lastTime-1] == "time"; lastTime-- {
				}
				k := &byte8[min(bit/8-lastTime, 7)]
				k.all++
				if found {
					k.found++
				}
			}
		}
		percent := func(f figure) float64 { return 100 * float64(f.found) / float64(max(1, f.all)) }
		if p := percent(sum); p < x.least {
			t.Errorf("%s: %.1f %% of flipped bits are found, expected %.0f", x.archive, p, x.least)
		}
		t.Logf("%s %s: %d of %d bits, %.1f %%", x.archive, x.file, sum.found, sum.all, percent(sum))
		for _, what := range slices.Sorted(maps.Keys(figures)) {
			f := figures[what]
			t.Logf("  %-32s %6d of %6d, %.1f %%", what, f.found, f.all, percent(*f))
		}
		line := "  bytes of times:"
		for _, f := range byte8 {
			line += fmt.Sprintf(" %.1f", percent(f))
		}
		t.Log(line)
	}
}

// TestEventRules breaks each rule about the bytes and values of events once, and requires its defect.
func TestEventRules(t *testing.T) {
	m, anchor := archiveFiles(t, "heat2d-mt")
	const name = "traces/0.evt"
	sound := m[name].Data
	of := parts(t, sound)
	place := func(what string) int {
		t.Helper()
		i := slices.Index(of, what)
		if i < 0 {
			t.Fatalf("nothing is %s", what)
		}
		return i
	}
	last := len(of) - 1
	for of[last] != "time" {
		last--
	}
	for _, x := range []struct {
		rule  string
		at    int
		value byte
	}{
		{"otf2.undefined", place("MpiIsend communicator"), 99},
		{"otf2.undefined", place("MpiIsend receiver"), 99},
		{"otf2.value", place("MpiCollectiveEnd operation"), 99},
		{"otf2.value", place("Metric type"), typeFloat},
		{"otf2.record-bytes", place("MpiIsend tag"), 0},
		{"otf2.trace-length", last, 0x7f},
	} {
		b := bytes.Clone(sound)
		b[x.at] = x.value
		m[name] = &fstest.MapFile{Data: b}
		if found := findings(t, m, anchor); found[x.rule] == 0 {
			t.Errorf("%s at 0x%x: found %v", x.rule, x.at, found)
		}
	}
}
