package tracetest

import (
	"bytes"
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// memory returns the source of a trace that consists of one file in memory.
func memory(name string, text []byte) format.Source {
	return files{name, map[string][]byte{name: text}}.withText(name, text)
}

// files holds the content of the files of a trace, by name.
type files struct {
	main string
	data map[string][]byte
}

// load reads the files of a trace. If the format does not store a trace as a single text, the files of a trace
// are all files whose names begin with the name of the main file, without its extension, and all files in the
// folder of that name.
func load(t testing.TB, f format.Format, path string) files {
	t.Helper()
	x := files{filepath.Base(path), map[string][]byte{}}
	list := []string{path}
	if !f.About().SingleText {
		begin := strings.TrimSuffix(path, filepath.Ext(path))
		list, _ = filepath.Glob(begin + ".*")
		inside, _ := filepath.Glob(begin + "/*")
		list = append(list, inside...)
	}
	for _, name := range list {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(filepath.Dir(path), name)
		if err != nil {
			t.Fatal(err)
		}
		x.data[filepath.ToSlash(rel)] = b
	}
	return x
}

// withText returns the source of the trace in which the file called name has the given text.
func (f files) withText(name string, text []byte) format.Source {
	m := fstest.MapFS{}
	for n, b := range f.data {
		m[n] = &fstest.MapFile{Data: b}
	}
	m[name] = &fstest.MapFile{Data: text}
	return format.Source{FS: seekable{m}, Name: f.main, Path: f.main}
}

// seekable is a MapFS whose files allow random access.
type seekable struct{ fstest.MapFS }

type seekableFile struct {
	*bytes.Reader
	fs.File
}

// Read implements [fs.File].
func (f seekableFile) Read(p []byte) (int, error) { return f.Reader.Read(p) }

// Open implements [fs.FS].
func (s seekable) Open(name string) (fs.File, error) {
	f, err := s.MapFS.Open(name)
	if err != nil {
		return nil, err
	}
	m := s.MapFS[name]
	if m == nil {
		return f, nil
	}
	return seekableFile{bytes.NewReader(m.Data), f}, nil
}

// Workloads writes a small trace of each generated workload in format f, and returns the texts as
// seeds for fuzzing. All texts are in format f. Data of a workload for which f has no record is packed
// (package carrier).
func Workloads(tb testing.TB, f format.Format) (texts [][]byte) {
	for _, w := range generate.Workloads() {
		t, err := generate.New(generate.Options{Workload: w.Name, Events: 40, Seed: 987654})
		if err != nil {
			tb.Fatal(err)
		}
		var b bytes.Buffer
		out := format.StreamOutput(&b)
		e, err := f.Create(out, &format.WriteOptions{Workers: 1})
		if err == nil {
			err = format.Convert(context.Background(), t, trace.Everything(), e)
		}
		if err == nil {
			err = out.Commit()
		}
		if err != nil {
			tb.Fatal(err)
		}
		texts = append(texts, b.Bytes())
	}
	return texts
}

// Read opens and scans an arbitrary text and returns the number of its events. Tests use it to find
// panics and hangs.
func Read(f format.Format, name string, text []byte, opt *format.ReadOptions) (int, error) {
	return ReadSource(f, memory(name, text), opt)
}

// ReadSource does the same as Read for a trace of several files.
func ReadSource(f format.Format, src format.Source, opt *format.ReadOptions) (int, error) {
	d, err := f.Open(context.Background(), src, opt)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	n := 0
	sink := format.Sink(format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		c := b.Cursor()
		for c.Next() {
			_ = row(d.Defs(), &c)
			n++
		}
		return nil
	}})
	if c := d.NewChecker(); c != nil {
		if err := d.Scan(context.Background(), trace.Everything(), format.PerLocation, c); err != nil {
			return n, err
		}
		if err := c.Finish(context.Background()); err != nil {
			return n, err
		}
	}
	err = d.Scan(context.Background(), trace.Everything(), format.GlobalOrder, sink)
	return n, err
}

// checkTruncation cuts the files of a trace at several positions, and checks that reading the cut files
// neither panics nor hangs. The positions are step bytes apart. If step is 0, there are about places
// positions.
func checkTruncation(t *testing.T, f format.Format, x files, step, places int) {
	effort.Sequential(t)
	for name, text := range x.data {
		step := step
		if step == 0 {
			step = effort.Step(len(text), places)
		}
		if k := len(x.data); k > 1 { // if there are many files, each is cut at fewer positions
			step = max(step*k, effort.Step(len(text)*k, 400))
		}
		if effort.Soak() {
			step = 1
		}
		for n := 0; n <= len(text); n += step {
			src := x.withText(name, text[:n])
			ReadSource(f, src, &format.ReadOptions{Workers: 1, Report: format.NewReport()})
			ReadSource(f, src, &format.ReadOptions{Workers: 1, Strict: true})
		}
	}
}

// checkBitFlips changes bytes of the files of a trace at random, and checks that reading the changed files
// neither panics nor hangs.
func checkBitFlips(t *testing.T, f format.Format, x files, rounds int) {
	effort.Sequential(t)
	alphabet := []byte("0123456789-+.eE;,=\\\"%# \t\n\r\x00\xff")
	for name, text := range x.data {
		if len(text) == 0 {
			continue
		}
		r := rand.New(rand.NewPCG(1, uint64(len(text))))
		for range effort.Rounds(rounds) / (len(x.data) * len(x.data)) {
			b := slices.Clone(text)
			for range 1 + r.IntN(4) {
				i := r.IntN(len(b))
				switch r.IntN(4) {
				case 0:
					b[i] ^= 1 << r.IntN(8)
				case 1:
					b[i] = alphabet[r.IntN(len(alphabet))]
				case 2:
					b = slices.Insert(b, i, alphabet[r.IntN(len(alphabet))])
				case 3:
					b = slices.Delete(b, i, min(len(b), i+1+r.IntN(8)))
				}
				if len(b) == 0 {
					break
				}
			}
			ReadSource(f, x.withText(name, b), &format.ReadOptions{Workers: 1, Report: format.NewReport()})
		}
	}
}

// checkEmpty checks that reading an empty file or random bytes returns an error, or a trace without
// events.
func checkEmpty(t *testing.T, f format.Format) {
	noise := make([]byte, 5000)
	r := rand.New(rand.NewPCG(7, 7))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for _, text := range [][]byte{nil, []byte("\n"), []byte("\n\n  \n"), noise} {
		if n, err := Read(f, "x"+f.About().Extensions[0], text, &format.ReadOptions{Report: format.NewReport()}); n > 0 &&
			err == nil && len(text) < 10 {
			t.Errorf("%d events in %q", n, text)
		}
	}
}
