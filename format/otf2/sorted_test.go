package otf2

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// descending returns the ring trace with n more events at the end of each location, in descending order of
// time. The events need more than the least memory of a sorter.
func descending(t *testing.T, n int) format.Source {
	t.Helper()
	src := mapped(t, "testdata/ok/ring/eztrace_log.otf2", "", nil)
	for name, f := range src.FS.(fstest.MapFS) {
		if !strings.HasSuffix(name, ".evt") || len(f.Data) == 0 {
			continue
		}
		b := f.Data[:len(f.Data)-2]
		for i := range n {
			b = append(b, 5)
			b = binary.LittleEndian.AppendUint64(b, uint64(n-i))
			b = append(b, 22, 0)
		}
		f.Data = append(b, 2, 1)
	}
	return src
}

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

var errStop = errors.New("enough")

// TestSortedFiles checks that a sorted scan uses the memory of one sorter for all locations
// together, which the number of its files shows. It leaves no file open, whether it is completed or
// not.
func TestSortedFiles(t *testing.T) {
	src := descending(t, 40_000)
	for _, order := range []format.Order{format.PerLocation, format.GlobalOrder} {
		for _, stop := range []int{0, 1, 5, 1 << 30} {
			t.Run(fmt.Sprintf("order %v, %d batches", order, stop), func(t *testing.T) {
				before := sortFiles(t)
				d, err := Format{}.Open(t.Context(), src,
					&format.ReadOptions{Memory: 1 << 20, Values: map[string]string{"otf2.order": "sort"}})
				if err != nil {
					t.Fatal(err)
				}
				if err := d.Prepare(t.Context()); err != nil {
					t.Fatal(err)
				}
				batches, most := 0, 0
				err = d.Scan(t.Context(), trace.Everything(), order, format.SinkFuncs{OnBatch: func(*trace.Batch) error {
					most = max(most, sortFiles(t)-before)
					if batches++; batches > stop {
						return errStop
					}
					return nil
				}})
				if d.Close(); (err == errStop) != (stop < 1<<30) || err != nil && err != errStop {
					t.Errorf("found the error %v after %d batches", err, batches)
				}
				if n := sortFiles(t) - before; n != 0 {
					t.Errorf("%d files of sorters are open after it", n)
				}
				// A location has runs of 1 MiB. All locations in order of time have one file together.
				if limit := map[format.Order]int{format.PerLocation: 4, format.GlobalOrder: 1}[order]; most == 0 || most > limit {
					t.Errorf("%d files of sorters are open at a time, expected 1 to %d", most, limit)
				}
			})
		}
	}
}

// TestSortedUnprepared checks that a scan sorts without a call of Prepare, and that in order of
// time equal times come in the order of the locations.
func TestSortedUnprepared(t *testing.T) {
	src := descending(t, 10_000)
	read := func(scan func(d format.File, sink format.Sink) error) string {
		var out bytes.Buffer
		report := format.NewReport()
		d, err := Format{}.Open(t.Context(), src,
			&format.ReadOptions{Report: report, Memory: 1 << 20, Values: map[string]string{"otf2.order": "sort"}})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		last := map[uint32]int64{}
		lastTime, lastLoc := int64(-1<<62), uint32(0)
		sink := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			for i, at := range b.Time {
				loc := b.Location(i)
				if x, ok := last[loc]; ok && at < x {
					t.Errorf("location %d: found %d after %d", loc, at, x)
				}
				last[loc] = at
				if b.Loc == trace.MixedLoc {
					if at < lastTime || at == lastTime && loc < lastLoc {
						t.Errorf("found location %d at %d after location %d at %d", loc, at, lastLoc, lastTime)
					}
					lastTime, lastLoc = at, loc
				}
				fmt.Fprintln(&out, loc, at, b.Kind[i])
			}
			return nil
		}}
		if err := scan(d, sink); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	sorted := func(s string) []string { l := strings.Split(s, "\n"); slices.Sort(l); return l }
	scan := func(order format.Order) func(format.File, format.Sink) error {
		return func(d format.File, sink format.Sink) error {
			return d.Scan(context.Background(), trace.Everything(), order, sink)
		}
	}
	want := read(func(d format.File, sink format.Sink) error {
		if err := d.Prepare(context.Background()); err != nil {
			return err
		}
		return scan(format.PerLocation)(d, sink)
	})
	if got := read(scan(format.PerLocation)); got != want {
		t.Error("without Prepare other events are delivered")
	}
	if got := read(scan(format.GlobalOrder)); !slices.Equal(sorted(got), sorted(want)) {
		t.Error("in the order of time other events are delivered")
	}
	got := read(func(d format.File, sink format.Sink) error {
		return d.ScanParallel(context.Background(), trace.Everything(), func() func(int) format.Sink {
			return func(int) format.Sink { return sink }
		})
	})
	if got != want {
		t.Error("a parallel scan delivers other events")
	}
}
