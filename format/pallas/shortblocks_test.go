package pallas

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// TestRoom checks that a writer with many threads writes shorter blocks, and that the content is the same.
func TestRoom(t *testing.T) {
	effort.Sequential(t)
	w, err := Create(filepath.Join(t.TempDir(), "main"), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.LocationGroups = []LocationGroup{{1, NoRef, NoRef}}
	const threadsOfAll = 400
	var all []*Recorder
	for i := range uint32(threadsOfAll) {
		r, err := w.Archive(1).Record(i, NoRef)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	var want []inputEvent
	r := all[7]
	for i := range uint64(30_000) {
		f := inputEvent{time: 3*i + i%2, record: Enter, payload: region(uint32(i / 2 % 30))}
		if i%2 == 1 {
			f.record = Leave
		}
		want = append(want, f)
		if err := r.Record(f.time, f.record, f.payload, nil); err != nil {
			t.Fatal(err)
		}
		if most := r.w.held; most > allBuffers/threadsOfAll+8*blockValues {
			t.Fatalf("event %d: room for %d bytes", i, most)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for _, th := range threads(t, w.path) {
		if th.ID != 7 {
			continue
		}
		if got := events(t, th); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d events, want %d", len(got), len(want))
		}
		durations(t, th)
		for i := range th.Events {
			blocks += len(th.Events[i].Timestamps.Blocks)
		}
	}
	if blocks <= 60 {
		t.Errorf("%d blocks", blocks)
	}
}
