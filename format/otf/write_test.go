package otf

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// randomRecord returns a record of a type with random values.
func randomRecord(rng *rand.Rand, t Type) *Record {
	r := &Record{Type: t}
	text := func() string {
		b := make([]byte, rng.IntN(12))
		for i := range b {
			if b[i] = byte(rng.Uint32()); b[i] == '\n' || b[i] == '"' {
				b[i] = 'x'
			}
		}
		return string(b)
	}
	for _, f := range specs[t].fields {
		switch {
		case f.bits > 0:
			*r.number(f.f) = rng.Uint64() >> (64 - f.bits) >> rng.IntN(int(f.bits))
		case f.f == fieldMembers:
			for range rng.IntN(4) {
				r.Members = append(r.Members, rng.Uint32()>>rng.IntN(32))
			}
		default:
			*r.text(f.f) = text()
		}
	}
	if t == DefProcess && rng.IntN(3) == 0 {
		r.Name, r.Unnamed = "", true
	}
	for key := range rng.IntN(4) {
		v := KeyValue{Key: uint32(key), Type: ValueType(rng.IntN(12))}
		if v.Type == Bytes {
			v.Bytes = make([]byte, 1+rng.IntN(250))
			for i := range v.Bytes {
				v.Bytes[i] = byte(rng.Uint32())
			}
		} else {
			v.Bits = rng.Uint64() >> (64 - v.Type.bits())
		}
		r.KeyValues = append(r.KeyValues, v)
	}
	return r
}

// TestKeepsInText checks that an event for which keepsInText returns true is the same after its text is read,
// and that the test covers all types of events without a text.
func TestKeepsInText(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for typ := range Type(NumTypes) {
		if specs[typ].name == "" || !typ.Part().timed() {
			continue
		}
		kept := 0
		for range 2000 {
			r := randomRecord(rng, typ)
			r.Time, r.Process, r.Stream = 5, 6, 7
			if rng.IntN(4) == 0 {
				r.KeyValues = append(r.KeyValues, KeyValue{Key: 9, Type: Bytes})
			}
			if !r.keepsInText() {
				continue
			}
			kept++
			x := Record{Time: r.Time, Process: r.Process, Stream: r.Stream}
			if !x.reread(r.Append(nil, false), typ) || describe(&x) != describe(r) || len(x.KeyValues) != len(r.KeyValues) {
				t.Fatalf("%s: found %s, expected %s", typ, describe(&x), describe(r))
			}
		}
		if !specs[typ].hasField(fieldText) && kept == 0 {
			t.Errorf("%s: found no such record", typ)
		}
	}
}

// describe returns all fields of a record as text.
func describe(r *Record) string {
	return fmt.Sprintf("%d %d %d %t %s", r.Stream, r.Time, r.Process, r.Unnamed, r.Append(nil, false))
}

// TestWriteRead checks that the reader returns the records that the writer wrote: every record type with pairs
// of every type, in short and long spelling, in plain and compressed files, with few open files.
func TestWriteRead(t *testing.T) {
	effort.Sequential(t)
	ctx := context.Background()
	for n, opt := range []WriterOptions{{}, {Long: true}, {Level: 4}, {Level: 9, Long: true, Buffer: 100},
		{Streams: 2, Buffer: 1}, {Streams: 3, Files: NewFileManager(1), Buffer: 64, Level: 1}} {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		name := filepath.Join(t.TempDir(), "trace")
		opt.ZeroTokens = true // some random tokens are 0
		w := Create(name, &opt)
		want := map[Part][]string{}
		time := map[Part]uint64{}
		for typ := range Type(NumTypes) {
			if specs[typ].name == "" || typ == DefVersion || typ == DefUniqueID {
				continue
			}
			for range 20 {
				r := randomRecord(rng, typ)
				part := typ.Part()
				if part.timed() {
					time[part] += rng.Uint64N(5) + 1 // simultaneous records in several streams would have no certain order
					r.Time, r.Process = time[part], rng.Uint64N(5)
				}
				if part == Definitions {
					r.Stream = uint32(rng.IntN(3))
				}
				if err := w.Write(r); err != nil {
					t.Fatal(err)
				}
				want[part] = append(want[part], describe(r))
			}
		}
		if _, err := os.Stat(name + ".otf"); err == nil {
			t.Error("the master file is there before Close")
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if l, _ := filepath.Glob(filepath.Dir(name) + "/.*"); len(l) > 0 {
			t.Errorf("left behind: %v", l)
		}
		rep := format.NewReport()
		r, err := Open(ctx, format.FileSource(name+".otf"),
			&Options{Files: opt.Files, Read: &format.ReadOptions{Report: rep}})
		if err != nil {
			t.Fatal(err)
		}
		for part := range numParts {
			c, err := r.Cursor(ctx, part)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for c.Next() {
				x := c.Record()
				if x.Type == DefVersion || x.Type == DefUniqueID {
					continue
				}
				if part.timed() || part == Markers {
					x.Stream = 0
				}
				got = append(got, describe(x))
			}
			if c.Close(); c.Err() != nil {
				t.Fatal(c.Err())
			}
			exp := want[part]
			if part == Definitions {
				// The reader delivers such records stream by stream.
				slices.SortStableFunc(exp, func(a, b string) int { return int(a[0]) - int(b[0]) })
			}
			for i := range max(len(got), len(exp)) {
				if i >= len(got) || i >= len(exp) || got[i] != exp[i] {
					t.Fatalf("%+v: %s %d of %d, want %d:\n got %q\nwant %q", opt, part, i, len(got), len(exp), got[min(i, len(got)-1)],
						exp[min(i, len(exp)-1)])
				}
			}
		}
		for _, x := range rep.Rules() {
			t.Errorf("%+v: %v", opt, x.First[0])
		}
	}
}

// TestUnsorted checks that the writer refuses a record out of order, and accepts the records in order.
func TestUnsorted(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	w := Create(name, nil)
	for _, x := range []struct {
		t  uint64
		ok bool
	}{{5, true}, {4, false}, {5, true}, {6, true}, {0, true}, {3, true}} {
		if err := w.Write(&Record{Type: Enter, Time: x.t, Process: 1, Function: 1}); (err == nil) != x.ok {
			t.Errorf("time %d: %v", x.t, err)
		}
	}
	if err := w.Write(&Record{Type: Enter, Time: 3, Process: 1, Function: 1 << 32}); err == nil {
		t.Error("a function of more than 32 bits is written")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name + ".1.events")
	if err != nil {
		t.Fatal(err)
	}
	if want := "5\n*1\nE1\nE1\n6\n*1\nE1\n0\n*1\nE1\n3\n*1\nE1\n3\n*1\n"; string(b) != want {
		t.Errorf("%q, want %q", b, want)
	}
}

// TestHandlers checks that handlers get the records of their type, at most as many as requested, and
// that copying gives the same trace.
func TestHandlers(t *testing.T) {
	ctx := context.Background()
	src := "testdata/ok/all_short/all_short.otf"
	r, err := Open(ctx, format.FileSource(src), nil)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "all_short")
	w := Create(name, &WriterOptions{Master: r.Master()})
	for part := range numParts {
		c, err := r.Cursor(ctx, part)
		if err != nil {
			t.Fatal(err)
		}
		for {
			n, err := c.Each(w.Handlers(), 7)
			if err != nil {
				t.Fatal(err)
			}
			if n < 7 {
				break
			}
		}
		c.Close()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("testdata/ok/all_short/all_short.*")
	for _, f := range files {
		want, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(filepath.Dir(name), filepath.Base(f)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs", f)
		}
	}
}

// TestWindow checks that reading a time window gives the records that reading the whole trace gives in this
// window. A time line may be repeated many times, as some writers do.
func TestWindow(t *testing.T) {
	effort.Sequential(t)
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(3, 3))
	var text []byte
	time, times := uint64(0), []uint64{}
	for len(text) < 3*readSize {
		if rng.IntN(3) > 0 {
			time += rng.Uint64N(100)
		}
		for n := 1 + rng.IntN(4)*rng.IntN(400); n > 0; n-- {
			text = append(appendHex(text, time), "\n*1\nE1X"...)
			text = append(appendHex(text, uint64(len(times)+1)), '\n')
			times = append(times, time)
		}
	}
	src := source(Events, text, false)
	for range 300 {
		from := rng.Uint64N(time + 10)
		opt := &Options{From: from, To: from + 1 + rng.Uint64N(200)}
		var want []uint64
		for i, x := range times {
			if x >= opt.From && x < opt.To {
				want = append(want, uint64(i+1))
			}
		}
		r, err := Open(ctx, src, opt)
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.Cursor(ctx, Events)
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for c.Next() {
			got = append(got, c.Record().SCL)
		}
		if c.Close(); c.Err() != nil || !slices.Equal(got, want) {
			t.Fatalf("[%d, %d): %d records, want %d (%v)", opt.From, opt.To, len(got), len(want), c.Err())
		}
		if opt.From > time/2 && c.Progress().Read < int64(len(text))/2 {
			t.Fatalf("nothing was passed over")
		}
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestZipWindow checks that windows of compressed files begin at restart points and contain the same records
// as windows of plain files, whatever bytes are between the restart points.
func TestZipWindow(t *testing.T) {
	effort.Sequential(t)
	dir := t.TempDir()
	for level, name := range []string{"plain", "zip"} {
		w := Create(filepath.Join(dir, name+".otf"), &WriterOptions{Streams: 1, Level: 4 * level, Buffer: 50_000})
		rng := rand.New(rand.NewPCG(2, 9))
		for i := range uint64(400_000) {
			r := &Record{Type: Enter, Time: i / 3 * 1000, Process: rng.Uint64N(3) + 1, Function: rng.Uint64() & 0xffffffff}
			if err := w.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, from := range []uint64{0, 1, 999_000, 1_000_500, 66_666_000, 133_000_000, 133_332_000, 200_000_000} {
		opt := &Options{From: from, To: from + 40_000}
		plain := allDescriptions(t, format.FileSource(filepath.Join(dir, "plain.otf")), Events, opt)
		zip := allDescriptions(t, format.FileSource(filepath.Join(dir, "zip.otf")), Events, opt)
		if !slices.Equal(plain, zip) || len(plain) == 0 && from < 133_000_000 {
			t.Errorf("from %d: %d records of the plain file, %d of the compressed one", from, len(plain), len(zip))
		}
	}
}

// TestZipWindowUneven checks windows of a compressed trace whose times do not ascend evenly, so that the search begins
// at wrong positions.
func TestZipWindowUneven(t *testing.T) {
	effort.Sequential(t)
	for name, time := range map[string]func(i uint64) uint64{
		"late":  func(i uint64) uint64 { return i + i/150_000*1_000_000_000 },
		"cubic": func(i uint64) uint64 { return i * i * i / 1_000_000 },
		"root":  func(i uint64) uint64 { return uint64(math.Sqrt(float64(i)) * 1e6) },
	} {
		master := filepath.Join(t.TempDir(), "x.otf")
		w := Create(master, &WriterOptions{Streams: 1, Level: 1, Buffer: 50_000})
		rng := rand.New(rand.NewPCG(2, 9))
		for i := range uint64(200_000) {
			r := &Record{Type: Counter, Time: time(i), Process: 1, Counter: 1, Value: rng.Uint64()}
			if err := w.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for _, i := range []uint64{1, 1000, 99_999, 149_999, 150_000, 150_001, 199_000, 199_999} {
			d := tracetest.Open(t, Format{}, format.FileSource(master), nil)
			first, last, _, err := format.Extent(t.Context(), d)
			if err != nil || first != 0 || last != int64(time(199_999)) {
				t.Fatalf("%s: found the times %d to %d, %v", name, first, last, err)
			}
			sel := trace.Everything()
			sel.From, sel.To = int64(time(i)), int64(time(i+100))
			var got, want int
			for k := range uint64(200_000) {
				if at := int64(time(k)); at >= sel.From && at < sel.To {
					want++
				}
			}
			err = d.Scan(t.Context(), sel, format.GlobalOrder, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				got += b.Len()
				return nil
			}})
			if err != nil || got != want || want == 0 {
				t.Errorf("%s: found %d events from the event %d on, expected %d (%v)", name, got, i, want, err)
			}
			d.Close()
		}
	}
}
