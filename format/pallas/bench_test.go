package pallas

import (
	"context"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// benchEvents is the number of events in the traces of the benchmarks.
const benchEvents = 2_000_000

// workloads maps names to programs that record n events.
var workloads = map[string]func(r *Recorder, n int) error{
	"regular": func(r *Recorder, n int) error {
		time := uint64(0)
		visit := func(f func(uint64, Ref) error, region Ref) error {
			time += 100 + time%7
			return f(time, region)
		}
		if err := visit(r.Enter, 0); err != nil {
			return err
		}
		for i := 0; i < n; i += 12 {
			for _, region := range []Ref{1, 2, 3} {
				for _, inner := range []Ref{region, 4} {
					if err := visit(r.Enter, inner); err != nil {
						return err
					}
					if err := visit(r.Leave, inner); err != nil {
						return err
					}
				}
			}
		}
		return visit(r.Leave, 0)
	},
	"functions": func(r *Recorder, n int) error { // calls of 100 functions in random order
		rng := rand.New(rand.NewPCG(1, 1))
		time := uint64(0)
		for range n / 2 {
			f := rng.Uint32N(100)
			time += 50 + rng.Uint64N(1000)
			if err := r.Enter(time, f); err != nil {
				return err
			}
			time += 50 + rng.Uint64N(1000)
			if err := r.Leave(time, f); err != nil {
				return err
			}
		}
		return nil
	},
	"tree": func(r *Recorder, n int) error { // random calls, at most 12 deep
		rng := rand.New(rand.NewPCG(1, 1))
		time := uint64(0)
		var stack []Ref
		for range n {
			time += 50 + rng.Uint64N(1000)
			if k := len(stack); k > 0 && (k == 12 || rng.IntN(2) == 0) {
				if err := r.Leave(time, stack[k-1]); err != nil {
					return err
				}
				stack = stack[:k-1]
			} else {
				stack = append(stack, rng.Uint32N(50))
				if err := r.Enter(time, stack[k]); err != nil {
					return err
				}
			}
		}
		return nil
	},
}

// recordBench records benchEvents events of a workload in each of the given number of threads.
func recordBench(b testing.TB, name string, opt *WriterOptions, threads int) string {
	w, err := Create(filepath.Join(b.TempDir(), "main"), opt)
	if err != nil {
		b.Fatal(err)
	}
	w.Definitions.Strings = []String{{0, "x"}}
	for f := range Ref(100) {
		w.Definitions.Regions = append(w.Definitions.Regions, Region{f, 0})
	}
	w.LocationGroups = []LocationGroup{{0, 0, NoRef}}
	for id := range uint32(threads) {
		r, err := w.Archive(0).Record(id, 0)
		if err != nil {
			b.Fatal(err)
		}
		if err := workloads[name](r, benchEvents/threads); err != nil {
			b.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return w.path
}

func BenchmarkRecord(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(workloads)) {
		for mode, opt := range []*WriterOptions{{}, {Compatible: true}} {
			b.Run(name+[]string{"", "/compatible"}[mode], func(b *testing.B) {
				for b.Loop() {
					recordBench(b, name, opt, 1)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchEvents, "ns/event")
			})
		}
	}
}

func BenchmarkScan(b *testing.B) {
	for name := range workloads {
		b.Run(name, func(b *testing.B) {
			path := recordBench(b, name, nil, 1)
			for b.Loop() {
				d, err := (Format{}).Open(context.Background(), format.FileSource(path), &format.ReadOptions{Workers: 1})
				if err != nil {
					b.Fatal(err)
				}
				fresh := func() func(int) format.Sink { return func(int) format.Sink { return format.SinkFuncs{} } }
				if err := d.ScanParallel(context.Background(), trace.Everything(), fresh); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchEvents, "ns/event")
		})
	}
}

// BenchmarkLive measures memory for threads whose grammar is as long as their events. It reports the most
// memory in use at the end of a thread: once for a scan, and once for threads that the caller loads and does
// not keep.
func BenchmarkLive(b *testing.B) {
	path := recordBench(b, "tree", nil, 16)
	live := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / 1e6
	}
	b.Run("scan", func(b *testing.B) {
		most := 0.0
		for b.Loop() {
			before := live()
			d, err := (Format{}).Open(b.Context(), format.FileSource(path), &format.ReadOptions{Workers: 2})
			if err != nil {
				b.Fatal(err)
			}
			var mu sync.Mutex
			end := func() {
				mu.Lock()
				defer mu.Unlock()
				most = max(most, live()-before)
			}
			if err := d.ScanParallel(b.Context(), trace.Everything(), func() func(int) format.Sink {
				return func(int) format.Sink { return endSink{end: end} }
			}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(most, "MB-live")
	})
	b.Run("load", func(b *testing.B) {
		most := 0.0
		for b.Loop() {
			before := live()
			tr, err := Open(format.FileSource(path))
			if err != nil {
				b.Fatal(err)
			}
			a, err := tr.Archive(0)
			if err != nil {
				b.Fatal(err)
			}
			for _, l := range a.Locations {
				if _, err := a.Thread(l.ID); err != nil {
					b.Fatal(err)
				}
				most = max(most, live()-before)
			}
			runtime.KeepAlive(tr)
		}
		b.ReportMetric(most, "MB-live")
	})
}

// endSink is a sink that calls a function at the end of each location.
type endSink struct {
	format.SinkFuncs
	end func()
}

// End calls end.
func (e endSink) End(uint32) error {
	e.end()
	return nil
}
