package otf2

import (
	"context"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// TestExtentOfDamaged checks that, in damaged archives, the extent covers exactly the events that a
// scan delivers.
func TestExtentOfDamaged(t *testing.T) {
	effort.Sequential(t)
	m, anchor := archiveFiles(t, "heat2d-mt")
	var names []string
	for name, f := range m {
		if strings.HasSuffix(name, ".evt") {
			names = append(names, name)
			f.Data = f.Data[:min(len(f.Data), 900)] // the file is shorter than any chunk
		}
	}
	slices.Sort(names)
	files := maps.Clone(m)
	compared := 0
	for _, name := range names[:2] {
		file := m[name]
		whole := file.Data
		for _, other := range names {
			if other != name {
				m[other] = &fstest.MapFile{} // the other locations have neither the first event nor the last one
			}
		}
		for at := range whole {
			b := slices.Clone(whole)
			b[at] ^= 0x55
			file.Data = b
			d, err := Format{}.Open(context.Background(), format.Source{FS: m, Name: anchor, Path: anchor},
				&format.ReadOptions{Report: format.NewReport()})
			if err != nil {
				continue
			}
			first, last, ok, err := d.Extent(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			from, to := int64(math.MaxInt64), int64(math.MinInt64)
			err = d.Scan(context.Background(), trace.Everything(), format.PerLocation,
				format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
					from, to = min(from, slices.Min(b.Time)), max(to, slices.Max(b.Time))
					return nil
				}})
			d.Close()
			if err != nil {
				continue
			}
			if compared++; ok != (from <= to) || ok && (first != from || last != to) {
				t.Errorf("%s with another byte at 0x%x: found %d to %d, %t, but events from %d to %d", name, at, first, last, ok,
					from, to)
			}
		}
		file.Data = whole
		maps.Copy(m, files)
	}
	if compared < 100 {
		t.Errorf("%d archives were compared", compared)
	}
}

// TestExtent checks that the extent reaches from the first to the last event of all locations.
func TestExtent(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000_000))
	for i, w := range [][2]int64{{50, 100}, {10, 300}, {20, 500}, {70, 400}} {
		loc, g := r.Location(string('a'+rune(i))), r.Region("g")
		r.Enter(loc, w[0], g)
		r.Leave(loc, w[1], g)
	}
	path := filepath.Join(t.TempDir(), "x.otf2")
	if err := format.Save(t.Context(), path, Format{}, r); err != nil {
		t.Fatal(err)
	}
	d, err := Format{}.Open(t.Context(), format.FileSource(path), &format.ReadOptions{Report: format.NewReport()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if first, last, ok, err := d.Extent(t.Context()); !ok || err != nil || first != 10 || last != 500 {
		t.Errorf("found %d to %d, %t, %v, expected 10 to 500", first, last, ok, err)
	}
}
