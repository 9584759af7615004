package otf_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf"
)

// temp returns a temporary directory for an example, and a function that removes it.
func temp() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

// write writes a small trace of four processes in two streams.
func write(name string) {
	w := otf.Create(name, &otf.WriterOptions{Streams: 2})
	w.Write(&otf.Record{Type: otf.DefTimerResolution, TicksPerSecond: 1000})
	w.Write(&otf.Record{Type: otf.DefFunction, Token: 1, Name: "main"})
	for p := range uint64(4) {
		w.Write(&otf.Record{Type: otf.DefProcess, Token: p + 1, Name: fmt.Sprintf("rank %d", p)})
	}
	for t := range uint64(20) {
		w.Write(&otf.Record{Type: otf.Enter, Time: 1000 * t, Process: t%4 + 1, Function: 1})
		w.Write(&otf.Record{Type: otf.Leave, Time: 1000*t + 500, Process: t%4 + 1, Function: 1})
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
}

// ExampleCreate writes a trace: definitions, then events. The writer finds the stream of each process, and
// writes the master file when the writer is closed.
func ExampleCreate() {
	dir, remove := temp()
	defer remove()
	w := otf.Create(filepath.Join(dir, "test"), &otf.WriterOptions{Streams: 1, Files: otf.NewFileManager(100)})
	for _, r := range []otf.Record{
		{Type: otf.DefTimerResolution, TicksPerSecond: 1000},
		{Type: otf.DefProcess, Token: 1, Name: "proc one"},
		{Type: otf.DefFunctionGroup, Token: 1000, Name: "all functions"},
		{Type: otf.DefFunction, Token: 1, Name: "main", Group: 1000},
		{Type: otf.Enter, Time: 10000, Process: 1, Function: 1},
		{Type: otf.Leave, Time: 20000, Process: 1, Function: 1},
	} {
		if err := w.Write(&r); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	events, _ := os.ReadFile(filepath.Join(dir, "test.1.events"))
	fmt.Printf("%s", events)
	// Output:
	// 2710
	// *1
	// E1
	// 4e20
	// *1
	// L1
	// 4e20
	// *1
}

// ExampleNewStreamWriter writes one stream alone: the global definitions.
func ExampleNewStreamWriter() {
	dir, remove := temp()
	defer remove()
	w := otf.NewStreamWriter(filepath.Join(dir, "test"), 0, nil)
	w.Write(&otf.Record{Type: otf.DefTimerResolution, TicksPerSecond: 1000})
	w.Write(&otf.Record{Type: otf.DefProcess, Token: 1, Name: "proc one"})
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "test.0.def"))
	fmt.Printf("%s", text)
	// Output:
	// DTR3e8
	// DP1NM"proc one"
}

// ExampleOpen reads the events of all streams in the order of time. It gives the reader a function for each
// type of record that matters.
func ExampleOpen() {
	ctx := context.Background()
	r, err := otf.Open(ctx, format.FileSource("testdata/ok/hello/hello.otf"), &otf.Options{Files: otf.NewFileManager(100)})
	if err != nil {
		log.Fatal(err)
	}
	c, err := r.Cursor(ctx, otf.Events)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	h := &otf.Handlers{
		otf.Enter: func(r *otf.Record) error {
			fmt.Println("we just entered function", r.Function)
			return nil
		},
		otf.Leave: func(r *otf.Record) error {
			fmt.Println("byebye")
			return nil
		},
	}
	if _, err := c.Each(h, 0); err != nil {
		log.Fatal(err)
	}
	// Output:
	// we just entered function 1
	// byebye
}

// ExampleOpenStream reads one stream alone: the global definitions.
func ExampleOpenStream() {
	dir, remove := temp()
	defer remove()
	write(filepath.Join(dir, "mytrace"))
	s, err := otf.OpenStream(format.FileSource(filepath.Join(dir, "mytrace")), 0, nil)
	if err != nil {
		log.Fatal(err)
	}
	c, err := s.Cursor(context.Background(), otf.Definitions)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for c.Next() {
		if r := c.Record(); r.Type == otf.DefProcess {
			fmt.Printf("process %d is named %q\n", r.Token, r.Name)
		}
	}
	// Output:
	// process 1 is named "rank 0"
	// process 2 is named "rank 1"
	// process 3 is named "rank 2"
	// process 4 is named "rank 3"
}

// ExampleMasterControl writes and reads a master file.
func ExampleMasterControl() {
	dir, remove := temp()
	defer remove()
	name := filepath.Join(dir, "mytrace.otf")
	var m otf.MasterControl
	m.Assign(100, 1)
	m.Assign(101, 1)
	m.Assign(102, 2)
	m.Assign(103, 2)
	if err := otf.WriteMaster(name, &m); err != nil {
		log.Fatal(err)
	}
	again, err := otf.ReadMaster(format.FileSource(name), nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, stream := range again.Streams() {
		for _, process := range again.Processes(stream) {
			fmt.Printf("stream %d contains process %d\n", stream, process)
		}
	}
	// Output:
	// stream 1 contains process 100
	// stream 1 contains process 101
	// stream 2 contains process 102
	// stream 2 contains process 103
}

// This example is a tracing library: each process writes a stream of its own. One process writes the global
// definitions and the master file.
func Example_traceLibrary() {
	dir, remove := temp()
	defer remove()
	name := filepath.Join(dir, "run")
	var m otf.MasterControl
	var wg sync.WaitGroup
	for p := uint32(1); p <= 3; p++ {
		m.Assign(p, p)
		wg.Go(func() {
			w := otf.NewStreamWriter(name, p, nil)
			// a local definition
			w.Write(&otf.Record{Type: otf.DefFunction, Token: 1, Name: fmt.Sprintf("work of %d", p)})
			for t := range uint64(1000) {
				w.Write(&otf.Record{Type: otf.Enter, Time: 2 * t, Process: uint64(p), Function: 1})
				w.Write(&otf.Record{Type: otf.Leave, Time: 2*t + 1, Process: uint64(p), Function: 1})
			}
			if err := w.Close(); err != nil {
				log.Fatal(err)
			}
		})
	}
	wg.Wait()
	if err := otf.WriteMaster(name, &m); err != nil {
		log.Fatal(err)
	}
	r, err := otf.Open(context.Background(), format.FileSource(name+".otf"), nil)
	if err != nil {
		log.Fatal(err)
	}
	c, err := r.Cursor(context.Background(), otf.Events)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	n, err := c.Each(&otf.Handlers{}, 0)
	fmt.Println(n, err)
	// Output: 6000 <nil>
}

// This example merges a trace of two streams into one stream, with the handlers that copy records.
func Example_merging() {
	dir, remove := temp()
	defer remove()
	write(filepath.Join(dir, "in"))
	ctx := context.Background()
	r, err := otf.Open(ctx, format.FileSource(filepath.Join(dir, "in.otf")), nil)
	if err != nil {
		log.Fatal(err)
	}
	w := otf.Create(filepath.Join(dir, "out"), &otf.WriterOptions{Streams: 1})
	for _, part := range []otf.Part{otf.Definitions, otf.Events, otf.Snapshots, otf.Statistics, otf.Markers} {
		c, err := r.Cursor(ctx, part)
		if err != nil {
			log.Fatal(err)
		}
		if _, err := c.Each(w.Handlers(), 0); err != nil {
			log.Fatal(err)
		}
		c.Close()
	}
	fmt.Println(r.Master().Len(), "streams become", w.Master().Len())
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	// Output: 2 streams become 1
}

// This example reads a trace in parallel. Each goroutine reads the processes of one stream. Each reads only an
// interval of time, and finds its beginning by a search.
func Example_parallelReading() {
	dir, remove := temp()
	defer remove()
	name := filepath.Join(dir, "trace")
	write(name)
	ctx := context.Background()
	m, err := otf.ReadMaster(format.FileSource(name), nil)
	if err != nil {
		log.Fatal(err)
	}
	counts := make([]int64, m.Len())
	var wg sync.WaitGroup
	for i, stream := range m.Streams() {
		wg.Go(func() {
			r, err := otf.Open(ctx, format.FileSource(name), &otf.Options{From: 5000, To: 15000, Processes: func(p uint64) bool {
				s, _ := m.Stream(uint32(p))
				return s == stream
			}})
			if err != nil {
				log.Fatal(err)
			}
			c, err := r.Cursor(ctx, otf.Events)
			if err != nil {
				log.Fatal(err)
			}
			defer c.Close()
			if counts[i], err = c.Each(&otf.Handlers{}, 0); err != nil {
				log.Fatal(err)
			}
		})
	}
	wg.Wait()
	fmt.Println(counts)
	// Output: [10 10]
}
