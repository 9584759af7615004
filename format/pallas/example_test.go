package pallas_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/pallas"
)

// ExampleCreate writes a trace: definitions, a process, a thread, and its events in the order of time. The
// writer finds repetitions of events.
func ExampleCreate() {
	dir, err := os.MkdirTemp("", "pallas")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	w, err := pallas.Create(filepath.Join(dir, "trace", "main.pallas"), nil)
	if err != nil {
		panic(err)
	}
	w.Definitions.Strings = []pallas.String{{Ref: 0, Text: "rank 0"}, {Ref: 1, Text: "main"}, {Ref: 2, Text: "solve"}}
	w.Definitions.Regions = []pallas.Region{{Ref: 1, Name: 1}, {Ref: 2, Name: 2}}
	w.LocationGroups = []pallas.LocationGroup{{ID: 0, Name: 0, Parent: pallas.NoRef}}
	r, err := w.Archive(0).Record(0, 0)
	if err != nil {
		panic(err)
	}
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	must(r.Enter(1000, 1))
	for i := range uint64(100) {
		must(r.Enter(2000+10*i, 2))
		must(r.Leave(2007+10*i, 2))
	}
	must(r.Leave(4000, 1))
	must(w.Close())

	t, err := pallas.Open(format.FileSource(filepath.Join(dir, "trace", "main.pallas")))
	must(err)
	a, err := t.Archive(0)
	must(err)
	thread, err := a.Thread(0)
	must(err)
	fmt.Println(thread.Name(), thread.Count(), "events,", len(thread.Sequences), "sequences,", len(thread.Loops),
		"loop of", thread.Loops[0].Iterations)
	// Output: rank 0 202 events, 3 sequences, 1 loop of 100
}

// ExampleReader walks through the grammar of a thread. It enters sequences, but skips loops.
func ExampleReader() {
	t, err := pallas.Open(format.FileSource("testdata/ok/minimal/trace/main.pallas"))
	if err != nil {
		panic(err)
	}
	a, err := t.Archive(0)
	if err != nil {
		panic(err)
	}
	thread, err := a.Thread(0)
	if err != nil {
		panic(err)
	}
	defer thread.Close()
	r, err := pallas.NewReader(thread)
	if err != nil {
		panic(err)
	}
	for more := true; more; more = r.Step(true, false) {
		time, err := r.Time()
		if err != nil {
			panic(err)
		}
		word := r.Token().String()
		if e := thread.Event(r.Token()); e != nil {
			word += " " + e.Record.String()
		}
		fmt.Printf("%s%s at %d ns\n", strings.Repeat("  ", r.Depth()), word, time)
	}
	// Output:
	// S1 at 1000 ns
	//   E0 ENTER at 1000 ns
	//   E1 GENERIC at 1500 ns
	//   E2 LEAVE at 4000000000 ns
}

// ExampleSequence computes for how long the program was in functions of a library, without other functions
// that the library calls. The program reads no file of times, because the sums are stored with the grammar.
func ExampleSequence() {
	t, err := pallas.Open(format.FileSource("testdata/ok/abi18_mpi/trace/main.pallas"))
	if err != nil {
		panic(err)
	}
	total := uint64(0)
	for _, id := range t.ArchiveIDs() {
		a, err := t.Archive(id)
		if err != nil {
			panic(err)
		}
		for _, l := range a.Locations {
			thread, err := a.Thread(l.ID)
			if err != nil {
				panic(err)
			}
			for _, s := range thread.Sequences {
				if s.Type != pallas.BlockSequence {
					continue
				}
				e := thread.Event(s.Tokens[0])
				if e == nil || e.Record != pallas.Enter {
					continue
				}
				region, _ := e.Record.Values(e.Payload)
				if name, _ := a.Definitions.RegionName(uint32(region[0])); strings.HasPrefix(name, "MPI_") {
					total += s.Exclusive.Total()
				}
			}
		}
	}
	fmt.Printf("%.3f ms in MPI\n", float64(total)/1e6)
	// Output: 0.877 ms in MPI
}
