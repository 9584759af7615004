package pallas

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestFew checks callers that need few events. They must get the same events as other callers, from the begin
// of the trace and from its middle on, whether they stop or not.
func TestFew(t *testing.T) {
	var files []string
	for _, folder := range folders(t) {
		files = append(files, mainFile(t, folder))
	}
	for seed := range uint64(20) {
		p := program{rng: rand.New(rand.NewPCG(seed, 9)), time: seed * 1e17}
		for len(p.list) < 5000 {
			p.body(int(2 + seed%7))
		}
		if seed%2 == 0 { // only if no two events have the same time
			for i := range p.list {
				p.list[i].time += uint64(i)
			}
		}
		files = append(files, recorded(t, p.list, &WriterOptions{}).Archive.Trace.src.Path)
	}
	for _, file := range files {
		d, err := Format{}.Open(t.Context(), format.FileSource(file), &format.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		enough := errors.New("enough")
		scan := func(sel trace.Selection, most int) (rows []string, times []int64) {
			err := d.Scan(t.Context(), sel, format.GlobalOrder, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				c := b.Cursor()
				for c.Next() {
					if len(rows) == most {
						return enough
					}
					keys, values := c.Attrs()
					rows = append(rows, fmt.Sprint(c.Time(), c.Location(), c.Kind(), c.Ref(), c.Ops(), keys, values))
					times = append(times, c.Time())
				}
				return nil
			}})
			if err != nil && !errors.Is(err, enough) {
				t.Fatalf("%s: %v", file, err)
			}
			return rows, times
		}
		sel := trace.Everything()
		all, times := scan(sel, -1)
		few := sel
		few.FirstEvents = true
		for _, from := range []int{0, len(all) / 2} {
			if len(all) == 0 {
				continue
			}
			for from > 0 && times[from] == times[from-1] {
				from--
			}
			if few.From = times[from]; from == 0 {
				few.From = sel.From
			}
			want := all[from:]
			for _, most := range []int{-1, 5, 200} {
				if most > 0 {
					want = want[:min(most, len(want))]
				}
				if got, _ := scan(few, most); !slices.Equal(got, want) {
					t.Errorf("%s: from event %d on: found %d events, or others, expected %d", file, from, len(got), len(want))
				}
				want = all[from:]
			}
		}
		d.Close()
	}
}
