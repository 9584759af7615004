package otf

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestScanInWindows checks that a consumer that stops after the first events causes little reading, and that a
// consumer that does not stop gets all events in the order of time. The records of a file are sorted if its
// beginning shows that it is not in order.
func TestScanInWindows(t *testing.T) {
	const n = 100_000
	for _, x := range []struct {
		name  string
		late  int   // index of the record that has the time early; 0 for none
		early int64 // time of the record late, before the times of the records before it
		most  int   // maximum number of bytes read for the first five events
	}{
		{"in order", 0, 0, 400_000},
		{"not in order", 100, 33, 5_000_000},
		{"not in order at the beginning", 10, 1, 5_000_000},
	} {
		t.Run(x.name, func(t *testing.T) {
			files := fstest.MapFS{"x.otf": {Data: []byte("1:1\n2:2\n")},
				"x.0.def": {Data: []byte("DTR3e8\nDP1NM\"p\"\nDP2NM\"q\"\nDF1G0NM\"f\"\n")}}
			var want []int64
			for id := range uint32(2) {
				var text bytes.Buffer
				for i := range n {
					time := int64(3*i + int(id) + 1)
					if x.late > 0 && i == x.late && id == 1 {
						time = x.early
					}
					fmt.Fprintf(&text, "%x\n*%x\n%s\n", time, id+1, [2]string{"E1", "L1"}[i%2])
					want = append(want, time)
				}
				files[fileName("x", id+1, Events)] = &fstest.MapFile{Data: text.Bytes()}
			}
			slices.Sort(want)
			scan := func(stop int) (got []int64, read int) {
				var reads reads
				src := format.Source{FS: counting{files, &reads}, Name: "x.otf", Path: "x.otf"}
				d, err := Format{}.Open(t.Context(), src, &format.ReadOptions{})
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				sel := trace.Everything()
				sel.FirstEvents = true
				enough := errors.New("enough")
				err = d.Scan(t.Context(), sel, format.GlobalOrder, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
					c := b.Cursor()
					for c.Next() {
						if got = append(got, c.Time()); len(got) == stop {
							return enough
						}
					}
					return nil
				}})
				if err != nil && !errors.Is(err, enough) {
					t.Fatal(err)
				}
				return got, reads.bytes
			}
			if got, read := scan(5); !slices.Equal(got, want[:5]) || read > x.most {
				t.Errorf("found %v for %d bytes, expected %v for %d at most", got, read, want[:5], x.most)
			}
			if got, _ := scan(-1); !slices.Equal(got, want) {
				t.Errorf("found %d events, expected %d in the order of time", len(got), len(want))
			}
		})
	}
}
