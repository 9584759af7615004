package efficiency_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// operations returns a random run of ranks that compute and take part in all-reduce operations and barriers. With
// regions, each operation lies in a call of MPI with the same begin and end.
func operations(seed uint64, regions bool) *trace.Recorder {
	random := rand.New(rand.NewPCG(seed, 1))
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	machine := r.Machine("node")
	ranks := make([]uint32, 2+random.IntN(4))
	set := trace.Set{ID: "0", Kind: "locations"}
	now := make([]int64, len(ranks))
	for i := range ranks {
		name := string(rune('a' + i))
		ranks[i] = r.Thread(name, r.Process(name, machine))
		set.Members = append(set.Members, int64(i))
		now[i] = random.Int64N(50)
		r.Enter(ranks[i], now[i], r.Region("main"))
	}
	d := r.Defs()
	world := uint64(d.Communicator.Add(trace.Communicator{ID: "0", Name: "world", Set: d.Sets.Add(set)}))
	for range 20 {
		name, call := "barrier", r.Region("MPI_Barrier")
		if random.IntN(2) == 0 {
			name, call = "allreduce", r.Region("MPI_Allreduce")
		}
		number, ok := trace.OperationNumber(name)
		if !ok {
			panic(name)
		}
		all := int64(0)
		for i, rank := range ranks {
			r.Enter(rank, now[i], r.Region("work"))
			now[i] += 1 + random.Int64N(100)
			r.Leave(rank, now[i], r.Region("work"))
			now[i] += random.Int64N(10)
			all = max(all, now[i])
		}
		for i, rank := range ranks {
			if regions {
				r.Enter(rank, now[i], call)
			}
			r.Event(rank, now[i], trace.CollectiveBegin, trace.NoRef, nil)
			now[i] = all + random.Int64N(20) + 1
			r.Event(rank, now[i], trace.CollectiveEnd, trace.NoRef, []uint64{number, world, trace.Undefined, 8, 8,
				trace.Undefined})
			if regions {
				r.Leave(rank, now[i], call)
			}
		}
	}
	for i, rank := range ranks {
		r.Leave(rank, now[i]+random.Int64N(50), r.Region("main"))
	}
	return r
}

// TestOperationsOutsideOfCalls checks that the regions around collective operations do not matter: their time is time
// in MPI in either case.
func TestOperationsOutsideOfCalls(t *testing.T) {
	for seed := range uint64(200) {
		var found [2]*efficiency.Result
		for i, regions := range []bool{true, false} {
			r := operations(seed, regions)
			x, ok, err := efficiency.Find(t.Context(), format.Recorded(r), efficiency.Options{Rows: trace.NewRows(r.Defs())})
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			found[i] = x
		}
		if !reflect.DeepEqual(found[0], found[1]) {
			t.Fatalf("seed %d: found %+v with calls of MPI, and %+v without", seed, found[0], found[1])
		}
		if f := found[0].Factors; f.Communication >= 1 || f.Parallel <= 0 {
			t.Fatalf("seed %d: found %+v, expected time outside of useful time", seed, f)
		}
	}
}
