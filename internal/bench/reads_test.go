package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format/pallas"
)

// file writes a file of a given size that begins with head.
func file(t *testing.T, path string, size int64, head ...byte) {
	t.Helper()
	if err := os.WriteFile(path, head, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

// TestBytesRead checks that the bytes of a process are those of the files that it has read, and
// that a failure of the process is still reported.
func TestBytesRead(t *testing.T) {
	cat, err := exec.LookPath("cat")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("needs Linux, which counts the bytes, and cat")
	}
	path := filepath.Join(t.TempDir(), "file")
	file(t, path, 3_000_000)
	r := &runner{ctx: t.Context(), tmp: t.TempDir(), log: &strings.Builder{}}
	start, err := r.run(nil, cat, os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	u, err := r.run(nil, cat, path)
	if err != nil {
		t.Fatal(err)
	}
	if n := u.read - start.read; start.read <= 0 || n != 3_000_000 {
		t.Errorf("found %d bytes, %d of them without a file, expected 3000000 more", u.read, start.read)
	}
	if _, err := r.run(nil, cat, path+"x"); err == nil {
		t.Error("a file that is missing: expected an error")
	}
	if _, err := r.run(nil, path); err == nil {
		t.Error("no program: expected an error")
	}
}

// blocks returns the number of bytes that must be read for a part of a trace.
func blocks(t *testing.T, path string, p tracePart) int64 {
	t.Helper()
	n, err := p.leastBytes(path)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// wholeTracePart returns the part that is the whole of a trace of 1000 ticks.
func wholeTracePart() tracePart {
	return tracePart{from: 0, to: 1000, first: 0, last: 999, location: -1}
}

func TestBlocksOTF(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ring.otf")
	file(t, path, 20)
	file(t, filepath.Join(dir, "ring.0.def"), 3000)
	file(t, filepath.Join(dir, "ring.1.events"), 10_000_000)
	file(t, filepath.Join(dir, "ring.2.events"), 20_000_000)
	// both ends of a file have 32768 bytes, and a piece of records has 262144
	for name, test := range map[string]struct {
		change func(p *tracePart)
		want   int64
	}{
		"whole":    {func(*tracePart) {}, 30_003_020},
		"a tenth":  {func(p *tracePart) { p.from, p.to = 500, 600 }, 3_003_020 + 2*(32768+262144)},
		"location": {func(p *tracePart) { p.location = 1 }, 10_003_020 + 32768},
		"both":     {func(p *tracePart) { p.from, p.to, p.location = 500, 600, 2 }, 2_003_020 + 2*32768 + 262144},
	} {
		p := wholeTracePart()
		test.change(&p)
		if got := blocks(t, path, p); got != test.want {
			t.Errorf("%s: found %d, expected %d", name, got, test.want)
		}
	}
}

func TestBlocksOTF2(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ring.otf2")
	file(t, path, 600)
	file(t, filepath.Join(dir, "ring.def"), 700)
	if err := os.Mkdir(filepath.Join(dir, "ring"), 0o777); err != nil {
		t.Fatal(err)
	}
	// Location 0 has chunks that begin at the times 0, 400 and 800; location 1 has one chunk.
	var b [2<<20 + 100]byte
	for k, time := range []uint64{0, 400, 800} {
		b[k<<20+18] = 5
		binary.LittleEndian.PutUint64(b[k<<20+19:], time)
	}
	file(t, filepath.Join(dir, "ring", "0.evt"), int64(len(b)), b[:]...)
	file(t, filepath.Join(dir, "ring", "1.evt"), 5000, b[:27]...)
	file(t, filepath.Join(dir, "ring", "1.def"), 30)
	const others = 600 + 700 + 30
	for name, test := range map[string]struct {
		change func(p *tracePart)
		want   int64
	}{
		"whole":        {func(*tracePart) {}, others + 5000 + 2<<20 + 100},
		"middle":       {func(p *tracePart) { p.from, p.to = 500, 600 }, others + 5000 + 1<<20},
		"border":       {func(p *tracePart) { p.from, p.to = 390, 410 }, others + 5000 + 2<<20},
		"up to a time": {func(p *tracePart) { p.to = 800 }, others + 5000 + 2<<20},
		"location":     {func(p *tracePart) { p.location = 1 }, others + 5000},
	} {
		p := wholeTracePart()
		test.change(&p)
		if got := blocks(t, path, p); got != test.want {
			t.Errorf("%s: found %d, expected %d", name, got, test.want)
		}
	}
	b[1<<20+18] = 12
	file(t, filepath.Join(dir, "ring", "0.evt"), int64(len(b)), b[:]...)
	if _, err := wholeTracePart().leastBytes(path); err == nil {
		t.Error("a chunk that does not begin with a time: expected an error")
	}
}

func TestBlocksPallas(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ring.pallas")
	w, err := pallas.Create(path, &pallas.WriterOptions{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	w.LocationGroups = []pallas.LocationGroup{{ID: 0, Name: pallas.NoRef, Parent: pallas.NoRef}}
	// Each thread has the enters and leaves of 2500 calls, in blocks of 1000, 1000 and 500 times of
	// 8 bytes.
	for id := range uint32(2) {
		r, err := w.Archive(0).Record(id, pallas.NoRef)
		if err != nil {
			t.Fatal(err)
		}
		for k := range uint64(2500) {
			if err := r.Enter(10*k, 1); err != nil {
				t.Fatal(err)
			}
			if err := r.Leave(10*k+5, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const whole, half = 8 + 8000, 8 + 4000
	thread := func(id int) int64 {
		return bytesIn(filepath.Join(dir, "archive_0", fmt.Sprintf("thread_%d", id), "thread.pallas"))
	}
	others := bytesIn(path) + bytesIn(filepath.Join(dir, "archive_0", "archive.pallas"))
	for name, test := range map[string]struct {
		change func(p *tracePart)
		want   int64
	}{
		"whole":    {func(*tracePart) {}, others + thread(0) + thread(1) + 2*2*(2*whole+half)},
		"middle":   {func(p *tracePart) { p.from, p.to = 15000, 15100 }, others + thread(0) + thread(1) + 2*2*whole},
		"border":   {func(p *tracePart) { p.from, p.to = 9980, 10001 }, others + thread(0) + thread(1) + 2*3*whole},
		"location": {func(p *tracePart) { p.location = 1 }, others + thread(1) + 2*(2*whole+half)},
	} {
		p := tracePart{from: 0, to: 24996, first: 0, last: 24995, location: -1}
		test.change(&p)
		if got := blocks(t, path, p); got != test.want {
			t.Errorf("%s: found %d, expected %d", name, got, test.want)
		}
	}
	p, err := tracePartOf(t.Context(), path, 500, 1000, 3)
	if want := (tracePart{12497, 24996, 0, 24995, 3}); err != nil || p != want {
		t.Errorf("found %+v %v, expected %+v", p, err, want)
	}
}

// sampleReads returns a report in which all limits are kept: 10 MB must be read; programs read 11
// MB in total, of which 1 MB when they start.
func sampleReads() *readsReport {
	used := func(cpu float64, read int64) []usage {
		x := testUsage(cpu, cpu, 9)
		x.read = read
		return []usage{x}
	}
	tools := map[string][]usage{"otfprint": used(0.01, 2e6)}
	x := &readsTrace{format: "otf", bytes: 40e6, start: used(0.01, 1e6), tools: tools}
	for _, q := range questions {
		a := &answer{question: q, blocks: 10e6, ours: used(0.1, 12e6)}
		if q.wholeTrace() {
			a.ours = used(0.1, 81e6)
		}
		if strings.HasPrefix(q.tools["otf"], "otfprint") {
			a.tool, a.theirs = "otfprint", used(0.2, 42e6)
		}
		x.answers = append(x.answers, a)
	}
	return &readsReport{result: resultOf(8e6), traces: []*readsTrace{x}}
}

func TestReadsDocument(t *testing.T) {
	checkDocument(t, string(sampleReads().document()),
		"| otf: a window or a location reads what it holds | ≤ 1.20 × its blocks | "+
			"1.10 × (`print --window 50%..50.1%`) | "+
			"pass |",
		"| otf: the format's own tool is never faster, CPU | ≥ 1.00 × | 2.00 × (`print`) | pass |",
		"| `print` | 10.00 MB | 80.00 MB | 200.0 % | 8.00 × | otfprint | 40.00 MB | 0.100 s | 0.200 s | 2.00 × |",
		"| `comm` | 10.00 MB | 80.00 MB | 200.0 % | 8.00 × | – | – | 0.100 s | – | – |",
		"`rchar` of Linux",
	)
}

func TestReadsVerdicts(t *testing.T) {
	for name, test := range map[string]struct {
		change func(x *readsTrace)
		want   string
	}{
		"much": {func(x *readsTrace) { x.answers[3].ours[0].read = 14e6 }, "1.30 × (`print --location 1`) | **fail**"},
		"slow": {func(x *readsTrace) { x.answers[2].ours[0].cpu *= 4 }, "0.50 × (`print --window 50%..60%`) | **fail**"},
		"tool": {func(x *readsTrace) {
			for _, a := range x.answers {
				a.tool, a.theirs = "", nil
			}
		}, "| ≥ 1.00 × | – | not measured |"},
		"other system": {func(x *readsTrace) {
			x.start = []usage{testUsage(0.01, 1, 9)}
			for _, a := range x.answers {
				a.ours = []usage{testUsage(0.1, 1, 9)}
			}
		}, "| ≤ 1.20 × its blocks | – | not measured |"},
		"sentence": {func(x *readsTrace) { x.start = nil }, "these figures are missing"},
		"nothing":  {func(x *readsTrace) { *x = readsTrace{format: "otf"} }, "| ≥ 1.00 × | – | not measured |"},
	} {
		r := sampleReads()
		test.change(r.traces[0])
		doc := string(r.document())
		if !strings.Contains(doc, test.want) || strings.Contains(doc, "NaN") || strings.Contains(doc, "%!") {
			t.Errorf("%s: expected %s, found\n%s", name, test.want, doc)
		}
	}
}
