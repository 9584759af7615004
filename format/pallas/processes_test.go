package pallas

import (
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// processesOf returns the number of locations in each process of a trace, and the number of locations outside of
// processes.
func processesOf(t *testing.T, path string) (sizes []int, outside int) {
	t.Helper()
	f, err := (Format{}).Open(t.Context(), format.FileSource(path), &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	members := map[uint32]int{}
	for i := range f.Defs().Locations.Len() {
		if g := f.Defs().ProcessOf(uint32(i)); g != trace.NoRef {
			members[g]++
		} else {
			outside++
		}
	}
	for _, n := range members {
		sizes = append(sizes, n)
	}
	slices.Sort(sizes)
	return sizes, outside
}

// TestDocument_TraceStructure_Processes checks that an archive is a process with threads. The trace abi18_mpi was
// recorded for 4 processes. In a plain trace, the locations that belong to no group are in one archive, which is no
// process.
func TestDocument_TraceStructure_Processes(t *testing.T) {
	if sizes, outside := processesOf(t, mainFile(t, "testdata/ok/abi18_mpi")); outside > 0 ||
		!slices.Equal(sizes, []int{1, 1, 1, 1}) {
		t.Errorf("abi18_mpi: found processes with %d threads, and %d threads outside, expected 4 with 1", sizes, outside)
	}
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000_000))
	node := r.Machine("node")
	locations := []uint32{r.Location("x"), r.Location("y")}
	for _, name := range []string{"p", "q"} {
		process := r.Process(name, node)
		locations = append(locations, r.Thread(name+" 0", process), r.Thread(name+" 1", process))
	}
	for _, l := range locations {
		r.Enter(l, 0, r.Region("main"))
		r.Leave(l, 100, r.Region("main"))
	}
	path := writePlain(t, r)
	if sizes, outside := processesOf(t, path); outside != 2 || !slices.Equal(sizes, []int{2, 2}) {
		t.Errorf("plain trace: found processes with %d threads, and %d threads outside, expected 2 with 2, and 2", sizes,
			outside)
	}
}
