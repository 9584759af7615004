package pallas

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestRootsOfPlainTraces checks the roots in a plain trace. In it, all communicators have the group of all threads. In
// the trace that is written, the ranks 0 and 1 of the communicator are the locations 2 and 0.
func TestRootsOfPlainTraces(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000_000))
	for _, name := range []string{"a", "b", "c"} {
		loc := r.Location(name)
		r.Enter(loc, 0, r.Region("main"))
		r.Leave(loc, 100, r.Region("main"))
	}
	d := r.Defs()
	set := d.Sets.Add(trace.Set{ID: "0", Kind: "locations", Members: []int64{2, 0}})
	comm := uint64(d.Communicator.Add(trace.Communicator{ID: "0", Name: "part", Set: set, Parent: trace.NoRef}))
	for i, root := range []uint64{0, 1, trace.Undefined} {
		at := int64(10 * (i + 1))
		r.Event(2, at, trace.CollectiveBegin, trace.NoRef, nil)
		r.Event(2, at+1, trace.CollectiveEnd, trace.NoRef, []uint64{1, comm, root, 8, 8})
	}
	path := writePlain(t, r)
	f, err := (Format{}).Open(t.Context(), format.FileSource(path), &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var roots []uint64
	note := func(b *trace.Batch) error {
		x := b.Cursor()
		for x.Next() {
			if x.Kind() != trace.CollectiveEnd {
				continue
			}
			if x.Op(2) == trace.Undefined {
				roots = append(roots, x.Op(2))
				continue
			}
			ranks := f.Defs().Memberships().Ranks(uint32(x.Op(1)))
			roots = append(roots, uint64(ranks[x.Op(2)]))
		}
		return nil
	}
	err = f.Scan(t.Context(), trace.Everything(), format.PerLocation, format.SinkFuncs{OnBatch: note})
	if want := []uint64{2, 0, trace.Undefined}; err != nil || !slices.Equal(roots, want) {
		t.Errorf("found the roots %v, %v, expected the locations %v", roots, err, want)
	}
}

// writePlain writes recorded events as a plain trace, and returns the path of its main file.
func writePlain(t *testing.T, r *trace.Recorder) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "main.pallas")
	out, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := (Format{}).Create(out, &format.WriteOptions{Plain: true})
	if err == nil {
		err = format.Convert(t.Context(), format.Recorded(r), trace.Everything(), e)
	}
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
