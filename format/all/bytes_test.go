package all

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/trace"
)

// countedFS counts the bytes that are read from its files.
type countedFS struct {
	fs.FS
	read *atomic.Int64
}

func (c countedFS) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if x, ok := f.(*os.File); ok {
		if st, err := x.Stat(); err == nil && st.Mode().IsRegular() {
			return countedFile{x, c.read}, nil
		}
	}
	return f, err
}

// countedFile counts the bytes that are read from it.
type countedFile struct {
	*os.File
	read *atomic.Int64
}

func (f countedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.read.Add(int64(n))
	return n, err
}

func (f countedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.read.Add(int64(n))
	return n, err
}

// TestReadsWhatIsAskedFor counts the bytes that scans of parts of a trace read. Sections 2.5 and 4.3 of OTF's
// specification require that a reader finds the selected times by bisection, and the selected processes in the
// master file.
func TestReadsWhatIsAskedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("writes traces of 10 MB")
	}
	traces := map[string]func() (format.Source, int64){}
	for _, name := range []string{"otf", "otf one stream", "otf2", "pallas"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		traces[name] = sync.OnceValues(func() (format.Source, int64) { return writeRing(t, dir, name, 600_000) })
	}
	for _, x := range partialScans() {
		t.Run(x.format+" "+x.what, func(t *testing.T) {
			src, size := traces[x.format]()
			x.countBytes(t, src, size)
		})
	}
}

// The values parallel and extent stand for other ways of reading than a scan in an order: a scan by several
// workers, and reading only the extent of the trace.
const parallel, extent = format.Order(-1), format.Order(-2)

// partialScan is a scan of a part of a trace.
type partialScan struct {
	format, what string
	order        format.Order
	choose       func(sel *trace.Selection, first, last int64)
	most         float64 // greatest share of the trace's bytes that the scan may read
}

func partialScans() []partialScan {
	small := func(f float64) func(sel *trace.Selection, first, last int64) {
		return func(sel *trace.Selection, first, last int64) {
			at := func(f float64) int64 { return first + int64(f*float64(last-first)) }
			sel.From, sel.To = at(0.5), at(0.5+f)
		}
	}
	ofOne := func(sel *trace.Selection, _, _ int64) { sel.Location = func(l uint32) bool { return l == 1 } }
	stacks := func(sel *trace.Selection, first, last int64) {
		small(0.001)(sel, first, last)
		*sel = sel.Surrounding()
	}
	everything := func(*trace.Selection, int64, int64) {}
	return []partialScan{
		{"otf", "the extent", extent, nil, 0.05},
		{"otf", "0.1 % of the time", format.GlobalOrder, small(0.001), 0.03},
		{"otf", "10 % of the time", format.GlobalOrder, small(0.1), 0.20},
		{"otf", "10 % of the time, by location", format.PerLocation, small(0.1), 0.20},
		// Each stream is read in blocks of 256 KiB, so that a little more than the share of the
		// location is read.
		{"otf", "one of four locations", format.GlobalOrder, ofOne, 0.26},
		{"otf", "one of four locations, parallel", parallel, ofOne, 0.26},
		{"otf", "profile of 0.1 %", parallel, stacks, 0.60},
		// the scan reads pieces of 2 MiB, three for each core
		{"otf one stream", "profile of 0.1 %", parallel, stacks, 0.95},
		// the reader holds up to 32 MB while it checks the order
		{"otf", "everything", format.GlobalOrder, everything, 1.01},
		{"otf", "everything, parallel", parallel, everything, 1.01},
		// the scan reads a chunk of 1 MiB of each location
		{"otf2", "0.1 % of the time", format.GlobalOrder, small(0.001), 0.55},
		{"otf2", "one of four locations", format.GlobalOrder, ofOne, 0.27},
		{"otf2", "profile of 0.1 %", parallel, stacks, 0.55},
		{"otf2", "everything", format.GlobalOrder, everything, 1.01},
		{"pallas", "0.1 % of the time", format.GlobalOrder, small(0.001), 0.035},
		{"pallas", "10 % of the time", format.GlobalOrder, small(0.1), 0.10},
		{"pallas", "one of four locations", format.GlobalOrder, ofOne, 0.15},
		{"pallas", "profile of 0.1 %", parallel, stacks, 0.35},
		{"pallas", "everything, parallel", parallel, everything, 0.55},
	}
}

// countBytes scans the part and compares the number of bytes that were read with the greatest share.
func (p *partialScan) countBytes(t *testing.T, src format.Source, size int64) {
	name, _, _ := strings.Cut(p.format, " ")
	var read atomic.Int64
	src.FS = countedFS{src.FS, &read}
	f, _ := format.ByName(Formats(), name)
	d, err := f.Open(context.Background(), src, &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	sel := trace.Events()
	first, last, ok, err := d.Extent(context.Background())
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if p.order == extent {
		if part := float64(read.Load()) / float64(size); part > p.most {
			t.Errorf("%d of %d bytes were read, %.3f of them; expected at most %.3f", read.Load(), size, part, p.most)
		}
		return
	}
	read.Store(0)
	p.choose(&sel, first, last)
	var rows atomic.Int64
	sink := format.SinkFuncs{OnBatch: func(b *trace.Batch) error { rows.Add(int64(b.Len())); return nil }}
	if p.order == parallel {
		err = d.ScanParallel(context.Background(), sel, func() func(int) format.Sink {
			rows.Store(0)
			return func(int) format.Sink { return sink }
		})
	} else {
		err = d.Scan(context.Background(), sel, p.order, sink)
	}
	if err != nil {
		t.Fatal(err)
	}
	if rows.Load() == 0 {
		t.Error("found no event")
	}
	if part := float64(read.Load()) / float64(size); part > p.most {
		t.Errorf("%d of %d bytes were read, %.3f of them; expected at most %.3f", read.Load(), size, part, p.most)
	} else {
		t.Logf("%.3f of %d bytes", part, size)
	}
}

// writeRing writes a trace of a ring of four processes, and returns it with the size of its files
// in bytes.
func writeRing(t *testing.T, dir, name string, events int64) (src format.Source, size int64) {
	t.Helper()
	g, err := generate.New(generate.Options{Workload: "ring", Events: events, Locations: 4, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	name, one, _ := strings.Cut(name, " ")
	opt := &format.WriteOptions{}
	if name == "otf" && one == "" {
		opt.Values = map[string]string{"otf.streams": "0"}
	}
	f, _ := format.ByName(Formats(), name)
	path := filepath.Join(dir, "ring"+f.About().Extensions[0])
	out, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	e, err := f.Create(out, opt)
	if err == nil {
		err = format.Convert(context.Background(), g, trace.Everything(), e)
	}
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err == nil {
			size += st.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return format.FileSource(path), size
}
