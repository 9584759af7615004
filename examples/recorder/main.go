// Recorder is a simulator that writes a trace of its simulation, in the format for the extension of
// the file name:
//
//	go run ./examples/recorder queue.otf2
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: recorder FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(path string) error {
	f, ok := format.ByExtension(all.Formats(), path)
	if !ok {
		return fmt.Errorf("%s: no format has such names", path)
	}
	return format.Save(context.Background(), path, f, simulate())
}

// simulate simulates a producer that sends jobs of growing length to two workers. A tick is a
// microsecond.
func simulate() *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	machine := r.Machine("node1")
	producer := r.Thread("producer", r.Process("producer", machine))
	process := r.Process("workers", machine)
	workers := []uint32{r.Thread("worker 0", process), r.Thread("worker 1", process)}
	produce, work := r.Region("produce"), r.Region("work")
	sent := r.Counter("bytes sent", "B")
	for job := range int64(6) {
		start := 100 * job
		worker := workers[job%2]
		r.Enter(producer, start, produce)
		r.Send(producer, start+40, worker, job, 1024)
		r.Value(producer, start+40, sent, float64(1024*(job+1)))
		r.Leave(producer, start+50, produce)
		r.Recv(worker, start+60, producer, job, 1024)
		r.Enter(worker, start+60, work, trace.Attr{Key: "job", Value: trace.IntValue(job)})
		r.Leave(worker, start+90+15*job, work)
	}
	return r
}
