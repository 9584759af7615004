package efficiency_test

import (
	"context"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestSentenceOnTransfer checks what the sentence about transfer names. Each location computes for 50 ticks and is then
// for 50 ticks in an operation to which all come at the same time: a barrier of MPI, or one of a team of threads, which
// may have a single thread. If the trace lacks some members of the communicator, the time may be a wait for them. If it
// lacks all other members, the wait is unknown, and a sentence says only this.
func TestSentenceOnTransfer(t *testing.T) {
	for _, test := range []struct {
		name                string
		region              string
		members, recorded   int
		sentence, forbidden string
	}{
		{"library", "MPI_Barrier", 3, 3, "Transfer: the network and the library take 50 % of", ""},
		{"missing members", "MPI_Barrier", 3, 2,
			"Transfer: communication, and waits for members of communicators that the trace lacks, take 50 % of", ""},
		{"single member", "MPI_Barrier", 3, 1, "Calls whose waits are unknown take 50 % of", "Transfer:"},
		{"threads", "OpenMP barrier", 2, 2,
			"Transfer: the runtime of the threads, such as their barriers, takes 50 % of", ""},
		{"single thread", "OpenMP barrier", 1, 1,
			"Transfer: the runtime of the threads, such as their barriers, takes 50 % of", ""},
	} {
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		node := r.Machine("node")
		compute, operation := r.Region("compute"), r.Region(test.region)
		team := r.Process("process", node)
		set := trace.Set{ID: "0", Kind: "locations"}
		mpi := strings.HasPrefix(test.region, "MPI")
		var locations []uint32
		for i := range test.members {
			process := team
			if mpi && i > 0 {
				process = r.Process("process", node)
			}
			locations = append(locations, r.Thread("thread", process))
			set.Members = append(set.Members, int64(i))
		}
		d := r.Defs()
		world := uint64(d.Communicator.Add(trace.Communicator{ID: "0", Name: "world", Set: d.Sets.Add(set)}))
		for _, loc := range locations[:test.recorded] {
			r.Enter(loc, 0, compute)
			r.Leave(loc, 50, compute)
			r.Enter(loc, 50, operation)
			if mpi {
				r.Event(loc, 50, trace.CollectiveBegin, trace.NoRef, nil)
				r.Event(loc, 100, trace.CollectiveEnd, trace.NoRef, []uint64{0, world, trace.Undefined, 0, 0, trace.Undefined})
			}
			r.Leave(loc, 100, operation)
		}
		x, ok, err := efficiency.Find(context.Background(), format.Recorded(r), efficiency.Options{})
		if err != nil || !ok {
			t.Fatal(test.name, ok, err)
		}
		text := strings.Join(x.Sentences(), "\n")
		if !strings.Contains(text, test.sentence) || test.forbidden != "" && strings.Contains(text, test.forbidden) {
			t.Errorf("%s: found %q", test.name, text)
		}
	}
}
