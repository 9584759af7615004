package otf

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// FuzzAugment checks that augmenting any files succeeds or returns an error of one line.
func FuzzAugment(f *testing.F) {
	f.Add("1:1\n2:2\n", handDefinitions,
		"a\n*1\nE1\nS2L1T1C0\nCOPB1H1C1RT1S1R1\nFA1\n*2\nR1L1T1C0\n10\n*1\nFF1MI1H1OP0B1\nCOPE1\nL\n", uint64(12), uint64(3))
	f.Add("1:1\n", "DAUX5Y0\nDTRGaT2\nK1Y6V5", "a\n*1\nL1\nL1\nCOPE5\nFF1MI1H1OP1B1\n5\nE1\n", uint64(0), uint64(1))
	f.Add("1:1\n", "DAUXaY1\nDAUXaY0\n", "fffffffffffffffe\n*1\nE1\n", uint64(1)<<63, ^uint64(0))
	f.Fuzz(func(t *testing.T, master, definitions, events string, point, every uint64) {
		dir := t.TempDir()
		name := filepath.Join(dir, "fuzz")
		writeFile(t, name+".otf", master)
		writeFile(t, name+".0.def", definitions)
		writeFile(t, name+".1.events", events)
		oneLine := func(err error) {
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("found more than one line: %v", err)
			}
		}
		oneLine(Augment(context.Background(), name, &AugmentOptions{Points: func(r TimeRange) ([]uint64, error) {
			// This limits the number of points, to save time.
			more, err := PointsEvery(max(every, (r.Last-r.First)/50, 1))(r)
			return append(more, point, r.First, r.Last), err
		}}))
		r, err := Open(context.Background(), format.FileSource(name+".otf"), nil)
		if err != nil {
			return
		}
		_, err = r.Summary(context.Background(), 1, min(point, every), max(point, every))
		oneLine(err)
		oneLine(Augment(context.Background(), name, &AugmentOptions{Remove: true}))
		if l, _ := filepath.Glob(dir + "/.*"); len(l) > 0 {
			t.Errorf("left behind: %v", l)
		}
	})
}
