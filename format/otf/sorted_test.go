package otf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// sortFiles returns the number of temporary files that sorters have open.
func sortFiles(t *testing.T) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("open files cannot be counted here: ", err)
	}
	for _, e := range list {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil &&
			strings.Contains(filepath.Base(to), "weft-sort-") {
			n++
		}
	}
	return n
}

// TestSortMemoryOfAllStreams checks that the limit of memory for sorting applies to all files together. The
// records of each of four files take more than 1 MiB. They do not stay in memory with a limit of 4 MiB, but
// stay in memory with the default limit.
func TestSortMemoryOfAllStreams(t *testing.T) {
	const streams, records = 4, 30_000 // a record takes more than 40 bytes of memory
	files := fstest.MapFS{"x.otf": {Data: []byte("1:1\n2:2\n3:3\n4:4\n")}}
	defs := "DTR3b9aca00\n"
	for s := 1; s <= streams; s++ {
		var text strings.Builder
		for i := range records {
			fmt.Fprintf(&text, "%x\n*%d\nQ7\"a text of some length\"\n", records-i, s)
		}
		files[fmt.Sprintf("x.%d.events", s)] = &fstest.MapFile{Data: []byte(text.String())}
		defs += fmt.Sprintf("DP%dNM\"p%d\"\n", s, s)
	}
	files["x.0.def"] = &fstest.MapFile{Data: []byte(defs)}
	for _, x := range []struct{ memory, want int }{{4 << 20, streams}, {0, 0}} {
		before := sortFiles(t)
		d, err := Format{}.Open(t.Context(), format.Source{FS: files, Name: "x.otf", Path: "x.otf"},
			&format.ReadOptions{Memory: x.memory})
		if err != nil {
			t.Fatal(err)
		}
		most, rows, last := 0, 0, int64(0)
		sink := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			most = max(most, sortFiles(t)-before)
			for _, at := range b.Time {
				if at < last {
					t.Errorf("found %d after %d", at, last)
				}
				last = at
			}
			rows += b.Len()
			return nil
		}}
		if err := d.Scan(t.Context(), trace.Everything(), format.GlobalOrder, sink); err != nil {
			t.Fatal(err)
		}
		d.Close()
		if rows < streams*records || most < x.want || x.want == 0 && most > 0 {
			t.Errorf("memory %d: found %d rows and %d files of sorters, expected %d and at least %d", x.memory, rows, most,
				streams*records, x.want)
		}
		if n := sortFiles(t) - before; n != 0 {
			t.Errorf("%d files of sorters are open after it", n)
		}
	}
}
