package otf

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// streamFiles returns a trace whose only stream consists of these lines.
func streamFiles(text string) fstest.MapFS {
	const defs = "DTR3e8\nDP1NM\"a\"\nDP2NM\"b\"\nDPabcdeNM\"far\"\nDF1G0NM\"one\"\nDF2G0NM\"two\"\nDF1000G0NM\"big\"\n" +
		"DCNT1G0NM\"c\"P0U\"#\"\nDK1YbNM\"k\"T\"\"\nDK17YbNM\"l\"T\"\"\nDK2Y6NM\"m\"T\"\"\n" +
		"DK3Y8NM\"n\"T\"\"\nDPG7M1,2,NM\"comm\"\nDS3F1LN4\n"
	return fstest.MapFS{"x.otf": {Data: []byte("1:1,2,abcde\n")}, "x.0.def": {Data: []byte(defs)},
		"x.1.events": {Data: []byte(text)}}
}

// rowsOf returns the rows of the events of a stream by location. The argument way is one of three ways of
// reading; "ordered" reads line by line.
func rowsOf(t *testing.T, files fstest.MapFS, way string) (rows map[string][]string, defects string) {
	src := format.Source{FS: files, Name: "x.otf", Path: "x.otf"}
	rep := format.NewReport()
	d, err := (Format{}).Open(context.Background(), src, &format.ReadOptions{Report: rep, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	sink := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		c := b.Cursor()
		for c.Next() {
			x := d.Defs().Locations.At(c.Location())
			name := "-"
			if c.Ref() != trace.NoRef && (c.Kind() == trace.Enter || c.Kind() == trace.Leave) {
				name = d.Defs().Regions.At(c.Ref()).Name
			} else if c.Ref() != trace.NoRef && c.Kind() == trace.Generic {
				name = *d.Defs().Strings.At(c.Ref())
			}
			keys, values := c.Attrs()
			id := fmt.Sprint(x.ID, x.Name) // an undefined process 0 is not location 0
			rows[id] = append(rows[id], fmt.Sprint(c.Time(), c.Kind(), name, c.Ops(), keys, values))
		}
		return nil
	}}
	rows = map[string][]string{}
	switch all := trace.Everything(); way {
	case "try":
		ok, err := d.(*decoder).scanSpeculatively(context.Background(), all, func(int) format.Sink { return sink })
		if err == nil && !ok && d.(*decoder).metUnnamedLeave {
			clear(rows) // the scan has been restarted
			ok, err = d.(*decoder).scanSpeculatively(context.Background(), all, func(int) format.Sink { return sink })
		}
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return nil, ""
		}
	case "scan":
		err = d.Scan(context.Background(), all, format.PerLocation, sink)
	case "ordered":
		err = d.Scan(context.Background(), all, format.GlobalOrder, sink)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Rules() {
		defects += fmt.Sprintln(r.Rule, r.Count)
	}
	return rows, defects
}

// sameRows checks that all ways of reading give the same rows. It returns whether the speculative scan
// succeeded.
func sameRows(t *testing.T, text string) bool { return sameRowsOf(t, streamFiles(text)) }

// sameRowsOf is like sameRows, for the files of a trace.
func sameRowsOf(t *testing.T, files fstest.MapFS) bool {
	text := files["x.1.events"].Data
	want, defects := rowsOf(t, files, "ordered")
	got, found := rowsOf(t, files, "scan")
	if fmt.Sprint(got) != fmt.Sprint(want) || found != defects {
		t.Fatalf("%q:\nscan %v %s\nordered %v %s", text, got, found, want, defects)
	}
	tried, _ := rowsOf(t, files, "try")
	if tried != nil && (fmt.Sprint(tried) != fmt.Sprint(want) || defects != "") {
		t.Fatalf("%q:\ntry %v\nordered %v %s", text, tried, want, defects)
	}
	return tried != nil
}

// frequentLines returns random lines of a stream, most of which the fast path can read. If unnamed is
// set, half of the leaves have no function.
func frequentLines(rng *rand.Rand, n int, unnamed bool) string {
	var b strings.Builder
	time := rng.Uint64() >> rng.UintN(64) >> 4
	some := func(list ...string) string { return list[rng.IntN(len(list))] }
	process := "1"
	for range n {
		if rng.IntN(5) > 0 {
			time += rng.Uint64N(1 << rng.UintN(30))
			process = some("1", "2", "2", "abcde")
			fmt.Fprintf(&b, "%x\n*%s\n", time, process)
		} else if rng.IntN(3) == 0 {
			fmt.Fprintf(&b, "*%s\n", some("1", "2"))
		}
		if rng.IntN(12) == 0 {
			fmt.Fprintf(&b, "K%sYbV%sL%s\n", some("1", "17"), some("00", "00"), some("1", "1", "2", "01"))
		}
		for rng.IntN(4) == 0 {
			b.WriteString(pairLines(rng))
		}
		switch rng.IntN(9) {
		case 8:
			b.WriteString(some("N\n", "N\n", "NOOP\n"))
		case 0:
			fmt.Fprintf(&b, "%s%sL%xT%xC%s\n", some("S", "R"), some("1", "2", "abcde", "0000002"),
				rng.Uint64()>>rng.UintN(64)&noProcess, rng.IntN(20), some("0", "7"))
		case 1:
			fmt.Fprintf(&b, "CNT1V%x\n", rng.Uint64()>>rng.UintN(64))
		case 2:
			fmt.Fprintf(&b, "%s%sX3\n", some("E", "L"), some("1", "2"))
		default:
			if unnamed && rng.IntN(2) == 0 {
				b.WriteString(some("L0\n", "L0\n", "L\n", "L00\n", "L0X3\n"))
				break
			}
			fmt.Fprintf(&b, "%s%s\n", some("E", "L"), some("1", "2", "1000", "01", "0000001"))
		}
	}
	return b.String()
}

// pairLines returns the lines of a random key-value pair. Most of them are in libotf's spelling.
func pairLines(rng *rand.Rand) string {
	pair := KeyValue{Key: []uint32{1, 2, 3, 0x17}[rng.IntN(4)], Type: ValueType(rng.IntN(12))}
	if pair.Type == Bytes {
		pair.Bytes = make([]byte, rng.IntN([]int{3, 40, 260}[rng.IntN(3)]))
		for i := range pair.Bytes {
			pair.Bytes[i] = byte(rng.Uint32())
		}
	}
	pair.Bits = rng.Uint64() >> rng.UintN(64)
	return string(pair.append(nil, rng.IntN(12) == 0))
}

// oddPairs returns the lines of a text with some of the pairs in unusual or damaged spelling.
func oddPairs(rng *rand.Rand, text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, l := range lines {
		if !strings.HasPrefix(l, "K") {
			continue
		}
		switch rng.IntN(20) {
		case 0:
			l = strings.ToUpper(l)
		case 1:
			l = strings.Replace(l, "V", "V0000000000000000", 1)
		case 2:
			l = strings.Replace(l, "L", "L1", 1)
		case 3:
			l = strings.Replace(l, "Y", "Y1", 1)
		}
		lines[i] = l
	}
	return strings.Join(lines, "")
}

// TestFastPath checks that the fast path reads the same events as reading line by line.
func TestFastPath(t *testing.T) {
	effort.Sequential(t)
	const unusual = "\n\n\x0b g*E-0fFK\"X \r\x00\xff"
	tried := 0
	for seed := range uint64(effort.Rounds(150)) {
		rng := rand.New(rand.NewPCG(seed, 1))
		text := frequentLines(rng, 1+rng.IntN(200), seed%3 == 0)
		if sameRows(t, text) {
			tried++
		}
		sameRows(t, oddPairs(rng, text))
		// The text is damaged at random bytes.
		b := []byte(text)
		for range 1 + rng.IntN(3) {
			at := rng.IntN(len(b))
			switch c := unusual[rng.IntN(len(unusual))]; rng.IntN(3) {
			case 0:
				b[at] = c
			case 1:
				b = slices.Insert(b, at, c)
			default:
				b = slices.Delete(b, at, at+1)
			}
		}
		sameRows(t, string(b))
	}
	if tried < effort.Rounds(100) {
		t.Errorf("only %d of %d sound files were read at once", tried, effort.Rounds(150))
	}
	// This text is longer than a read buffer.
	sameRows(t, frequentLines(rand.New(rand.NewPCG(7, 7)), 60_000, false))
	sameRows(t, frequentLines(rand.New(rand.NewPCG(8, 8)), 60_000, true))
	// The second text has more processes than the reader has lanes.
	for _, processes := range []int{300, maxLanes + 100} {
		var b strings.Builder
		for i := range 2*maxLanes + 500 {
			fmt.Fprintf(&b, "%x\n*%x\nE1\n", i, i%processes)
		}
		sameRows(t, b.String())
	}
}

// TestFastPathRestores checks that the fast path reads the same events as reading line by line in a trace that weft
// has converted to OTF: claims on the lanes of resources, with attributes, and events of other kinds. The lines are
// also read in another order, and damaged.
func TestFastPathRestores(t *testing.T) {
	effort.Sequential(t)
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	rng := rand.New(rand.NewPCG(5, 6))
	p, counter := r.Location("p"), r.Counter("c", "#")
	resources := []uint32{r.Resource("cpu", 2, ""), r.Resource("memory", 9, "")}
	var open []int64
	for at := range int64(120) {
		x := trace.Attr{Key: "id", Value: trace.StringValue(strings.Repeat("i", rng.IntN(50)))}
		switch rng.IntN(7) {
		case 6:
			r.Event(p, at, trace.Generic, r.Defs().Strings.Add("g"), nil, x)
		case 0, 1, 2:
			open = append(open, r.Claim(resources[rng.IntN(2)], at, r.Region("a"), rng.Float64(), x))
		case 3:
			r.Mark(p, at, r.Region("m"), x)
		case 4:
			r.Value(p, at, counter, rng.Float64())
		default:
			r.Enter(p, at, r.Region("a"), x)
		}
		if len(open) > 0 && rng.IntN(2) == 0 {
			r.Release(open[0], at)
			open = open[1:]
		}
	}
	dir := t.TempDir()
	writeRecorded(t, filepath.Join(dir, "x.otf"), r, &format.WriteOptions{})
	files := fstest.MapFS{}
	for _, name := range []string{"x.otf", "x.0.def", "x.1.events"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: b}
	}
	if !sameRowsOf(t, files) {
		t.Error("the speculative scan did not read the trace")
	}
	text := files["x.1.events"].Data
	if n := bytes.Count(text, fmt.Appendf(nil, "\n*%x", laneProcess>>4)); n < 20 {
		t.Errorf("found %d lines that select the lane of a resource, expected at least 20", n)
	}
	// Packed rows that take their references from the comments that carry them.
	withRef := regexp.MustCompile(`(?m)^K1YbV(.)1..00L3\n#`) // the kind of the row, the reference, and no operands
	if !withRef.Match(text) {
		t.Error("no comment carries a row with a reference")
	}
	files["x.1.events"] = &fstest.MapFile{Data: withRef.ReplaceAll(text, []byte("K1YbV${1}000L2\n#"))}
	sameRowsOf(t, files)
	lines := strings.SplitAfter(string(text), "\n")
	for range effort.Rounds(300) {
		list := slices.Clone(lines)
		for range 1 + rng.IntN(4) {
			i, k := rng.IntN(len(list)), rng.IntN(len(list))
			switch line := []byte(list[i]); rng.IntN(5) {
			case 0:
				list[i], list[k] = list[k], list[i]
			case 1:
				list = slices.Delete(list, i, i+1)
			case 2:
				list = slices.Insert(list, k, list[i])
			case 3:
				list[i] = oddPairs(rng, list[i])
			default:
				if len(line) > 1 {
					line[rng.IntN(len(line)-1)] = "0123fK*ELNV"[rng.IntN(11)]
				}
				list[i] = string(line)
			}
		}
		files["x.1.events"] = &fstest.MapFile{Data: []byte(strings.Join(list, ""))}
		sameRowsOf(t, files)
	}
}

// FuzzFastPath looks for lines that the two ways of reading read differently.
func FuzzFastPath(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(frequentLines(rand.New(rand.NewPCG(seed, 2)), 8, seed%2 == 0))
	}
	f.Fuzz(func(t *testing.T, text string) { sameRows(t, text) })
}

// TestPieces checks that a large file that is read as several pieces in parallel gives the same events as one
// reader.
func TestPieces(t *testing.T) {
	events := 900_000
	if effort.Race {
		events = 350_000 // enough for several pieces of the plain text
	}
	text := "0\n*1\nE1\n" + frequentLines(rand.New(rand.NewPCG(3, 3)), events, false)
	if len(text) < 3*maxPiece {
		t.Fatalf("%d bytes are not enough", len(text))
	}
	scan := func(name, text string, workers int) (ok bool, sums map[string]uint64) {
		src := format.Source{FS: fstest.MapFS{"x.otf": {Data: []byte("1:1,2,abcde\n")}, name: {Data: []byte(text)},
			"x.0.def": {Data: []byte("DTR3e8\nDF1G0NM\"one\"\nDF2G0NM\"two\"\nDF1000G0NM\"big\"\nDCNT1G0NM\"c\"P0U\"#\"\n" +
				"DK1YbNM\"k\"T\"\"\nDK17YbNM\"l\"T\"\"\nDK2Y6NM\"m\"T\"\"\n" +
				"DK3Y8NM\"n\"T\"\"\nDPG7M1,2,NM\"comm\"\nDS3F1LN4\n")}}, Name: "x.otf", Path: "x.otf"}
		d, err := (Format{}).Open(context.Background(), src, &format.ReadOptions{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		sums = map[string]uint64{}
		ok, err = d.(*decoder).scanSpeculatively(context.Background(), trace.Everything(), func(int) format.Sink {
			return format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				id := d.Defs().Locations.At(b.Loc).ID
				c := b.Cursor()
				for c.Next() {
					// The result depends on the order.
					sums[id] = sums[id]*31 + uint64(c.Time())*7 + uint64(c.Kind())*3 + uint64(c.Ref())
					for _, v := range c.Ops() {
						sums[id] = sums[id]*31 + v
					}
				}
				return nil
			}}
		})
		if err != nil {
			t.Fatal(err)
		}
		return ok, sums
	}
	zipped := zipText(t, text, 1, 100_000)
	if len(zipped) < 3*maxPiece && !effort.Race {
		t.Fatalf("%d compressed bytes are not enough", len(zipped))
	}
	okOne, one := scan("x.1.events", text, 1)
	for _, f := range []struct{ name, text string }{{"x.1.events", text}, {"x.1.events.z", zipped}} {
		if ok, four := scan(f.name, f.text, 4); !okOne || !ok || fmt.Sprint(one) != fmt.Sprint(four) {
			t.Errorf("%s: by one %t %v, by four %t %v", f.name, okOne, one, ok, four)
		}
	}
	// The scan must notice that times decrease from one piece to the next.
	if ok, _ := scan("x.1.events", text+text, 4); ok {
		t.Error("a file that is not in the order of time was read at once")
	}
	// The scan must notice damaged data.
	bad := []byte(zipped)
	bad[len(bad)/2] ^= 0x55
	bad[len(bad)/2+1] ^= 0x55
	if ok, sums := scan("x.1.events.z", string(bad), 4); ok && fmt.Sprint(sums) == fmt.Sprint(one) {
		t.Error("a damaged file was read like the whole one")
	}
}

// zipText compresses a text as libotf does, with a restart point after each buffer.
func zipText(t *testing.T, text string, level, buffer int) string {
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	b.Write(zlibHeader(level))
	for len(text) > 0 {
		n := min(buffer, len(text))
		z.Reset(&b)
		z.Write([]byte(text[:n]))
		z.Flush()
		text = text[n:]
	}
	return b.String()
}

// TestZippedWindow checks that reading a window of a compressed stream begins at the restart point that the
// search found.
func TestZippedWindow(t *testing.T) {
	effort.Sequential(t)
	text := "0\n*1\nE1\n" + frequentLines(rand.New(rand.NewPCG(5, 5)), 300_000, false)
	src := format.Source{FS: fstest.MapFS{"x.otf": {Data: []byte("1:1,2,abcde\n")},
		"x.1.events.z": {Data: []byte(zipText(t, text, 1, 100_000))},
		"x.0.def": {Data: []byte("DTR3e8\nDF1G0NM\"one\"\nDF2G0NM\"two\"\nDF1000G0NM\"big\"\nDCNT1G0NM\"c\"P0U\"#\"\n" +
			"DK1YbNM\"k\"T\"\"\nDK17YbNM\"l\"T\"\"\nDK2Y6NM\"m\"T\"\"\n" +
			"DK3Y8NM\"n\"T\"\"\nDPG7M1,2,NM\"comm\"\nDS3F1LN4\n")}}, Name: "x.otf", Path: "x.otf"}
	rows := func(sel trace.Selection) (times []int64) {
		d, err := (Format{}).Open(context.Background(), src, &format.ReadOptions{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		ok, err := d.(*decoder).scanSpeculatively(context.Background(), sel, func(int) format.Sink {
			return format.Trim(d.Defs(), sel, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				times = append(times, b.Time...)
				return nil
			}})
		})
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		return times
	}
	all := rows(trace.Everything())
	slices.Sort(all)
	early, late := trace.Everything(), trace.Everything()
	early.To, late.From = all[len(all)/2], all[len(all)/2]
	if a, b := len(rows(early)), len(rows(late)); a < len(all)/4 || b < len(all)/4 || a+b != len(all) {
		t.Errorf("%d events before and %d after, of %d", a, b, len(all))
	}
}

// TestLinksOfParallelScan checks that a scan by several cores needs no survey of a trace with links, and delivers the
// same links in the same order as a scan by one.
func TestLinksOfParallelScan(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	resources := []uint32{r.Resource("cpu", 2, ""), r.Resource("memory", 9, "")}
	before := int64(-1)
	for at := range int64(60_000) {
		claim := r.Claim(resources[at%2], at, r.Region("a"), 1)
		r.Release(claim, at+1)
		if before >= 0 {
			r.Link(trace.End{Kind: trace.AtClaimEnd, ID: before}, trace.End{Kind: trace.AtClaimStart, ID: claim})
		}
		before = claim
	}
	path := filepath.Join(t.TempDir(), "x.otf")
	writeRecorded(t, path, r, &format.WriteOptions{Values: map[string]string{"otf.streams": "2"}})
	want := r.Links()
	for _, workers := range []int{1, 4} {
		d, err := (Format{}).Open(context.Background(), format.Source{FS: os.DirFS(filepath.Dir(path)), Name: "x.otf",
			Path: path}, &format.ReadOptions{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		var got []trace.Link
		ok, err := d.(*decoder).scanSpeculatively(context.Background(), trace.Everything(), func(int) format.Sink {
			return format.SinkFuncs{OnLinks: func(l []trace.Link) error {
				got = append(got, l...)
				return nil
			}}
		})
		if err != nil || !ok || len(got) != len(want) {
			t.Fatalf("%d workers: %t, %d links, %v; expected %d", workers, ok, len(got), err, len(want))
		}
		for i := range got {
			if got[i].Src.ID != want[i].Src.ID || got[i].Dst.ID != want[i].Dst.ID {
				t.Fatalf("%d workers: link %d is %+v, expected %+v", workers, i, got[i], want[i])
			}
		}
	}
}
