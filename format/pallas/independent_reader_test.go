package pallas

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// TestRecordOutside checks recorded traces with a reader that was written from the format's description alone.
// This reader must find the recorded events, and no contradictions.
func TestRecordOutside(t *testing.T) {
	effort.Long(t)
	effort.Sequential(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	for seed := range uint64(effort.Rounds(15)) {
		p := program{rng: rand.New(rand.NewPCG(seed, 77))}
		for range 1 + seed%4 {
			p.body(int(seed % 7))
		}
		if seed%5 == 0 { // one block has more than 1000 values
			for range 1500 {
				p.put(Enter, region(1))
				p.put(Leave, region(1))
			}
		}
		th := recorded(t, p.list, &WriterOptions{Plain: true, MaxLoopLength: 5 + int(seed), Compatible: seed%2 == 1})
		out, err := exec.Command(python, "testdata/check.py", filepath.FromSlash(th.Archive.Trace.src.Path)).CombinedOutput()
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, out)
		}
		var want strings.Builder
		for _, f := range p.list {
			payload := fmt.Sprintf("%x", f.payload)
			if payload == "" {
				payload = "-"
			}
			fmt.Fprintf(&want, "7 %d %d %s\n", f.time, f.record, payload)
		}
		if string(out) != want.String() {
			t.Fatalf("seed %d: %d bytes, want %d", seed, len(out), want.Len())
		}
	}
}
