package pallas

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
)

// threads returns the threads of a trace that have events.
func threads(t testing.TB, main string) (l []*Thread) {
	t.Helper()
	tr, err := Open(format.FileSource(main))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range tr.ArchiveIDs() {
		a, err := tr.Archive(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, loc := range a.Locations {
			th, err := a.Thread(loc.ID)
			if archive.IsMissing(err) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(th.Close)
			l = append(l, th)
		}
	}
	return l
}

// TestReader checks that a reader that enters all sequences and loops meets the events of a replay. A reader
// that skips parts must meet the remaining events with the same numbers, times and durations.
func TestReader(t *testing.T) {
	for _, name := range []string{"nested", "abi18_mpi", "abi16_loops", "synced_empty_thread", "mismatched_leave",
		"deep99", "vecedge_1001"} {
		for _, th := range threads(t, mainFile(t, filepath.Join("testdata", "ok", name))) {
			readAlong(t, th, rand.New(rand.NewPCG(1, 1)))
		}
	}
	for seed := range uint64(40) {
		p := program{rng: rand.New(rand.NewPCG(seed, 9))}
		p.body(int(seed % 6))
		th := recorded(t, p.list, nil)
		readAlong(t, th, p.rng)
		th.Close()
	}
}

func readAlong(t *testing.T, th *Thread, rng *rand.Rand) {
	t.Helper()
	r, err := NewReader(th)
	if err != nil {
		t.Fatal(err)
	}
	// place returns a name for the token at the position of the reader. The name is the same for all readers.
	place := func() string {
		time, err := r.Time()
		if err != nil {
			t.Fatal(err)
		}
		duration, exclusive, err := r.Duration()
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(r.Token(), r.Occurrence(), time, duration, exclusive)
	}
	all := map[string]bool{}
	var got []string
	for more := r.Token() != NoToken; more; more = r.Step(true, true) {
		all[place()] = true
		if e := th.Event(r.Token()); e != nil {
			time, _ := r.Time()
			got = append(got, fmt.Sprint(time, " ", e.Record, fmt.Sprintf(" %x", e.Payload)))
		}
	}
	var want []string
	for _, f := range events(t, th) {
		want = append(want, fmt.Sprint(f.time, " ", f.record, fmt.Sprintf(" %x", f.payload)))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	if r.Token() != NoToken || r.Step(true, true) || r.Next() || r.Enter() || r.Leave() {
		t.Error("the reader goes on after the end")
	}
	if len(want) == 0 {
		return
	}
	for range 20 {
		if r, err = NewReader(th); err != nil {
			t.Fatal(err)
		}
		var back *Checkpoint
		at := ""
		for range 500 {
			if r.Token() != NoToken {
				if p := place(); !all[p] {
					t.Fatalf("%s is not where it is for a reader that skips nothing", p)
				}
			}
			switch n := rng.IntN(12); {
			case n < 4:
				r.Next()
			case n < 8:
				r.Enter()
			case n < 10:
				r.Step(rng.IntN(2) == 0, rng.IntN(2) == 0)
			case n == 10:
				r.Leave()
			case r.Token() == NoToken:
			case back == nil:
				back, at = r.Checkpoint(), place()
			default:
				r.Restore(back)
				if place() != at {
					t.Fatalf("back at %s, want %s", place(), at)
				}
			}
		}
	}
}
