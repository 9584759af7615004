package trace_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/etf"
	"github.com/weft-trace/weft/format/picl"
	"github.com/weft-trace/weft/trace"
)

// This example records events of a simulation, and writes them in two formats.
func Example() {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000)) // ticks of 1 µs
	cpu, solve := r.Location("cpu 0"), r.Region("solve")
	for step := range int64(3) {
		r.Enter(cpu, step*100, solve)
		r.Leave(cpu, step*100+60, solve)
	}
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	for name, f := range map[string]format.Format{"run.trf": picl.Format{}, "run.etf": etf.Format{}} {
		if err := format.Save(context.Background(), filepath.Join(dir, name), f, r); err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, "written as", f.About().Title)
	}
	// Unordered output:
	// run.trf written as PICL
	// run.etf written as Eclipse TRACE4CPS
}
