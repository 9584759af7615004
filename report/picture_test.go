package report

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/timeline/index"
)

// indexOf returns the index of a generated trace.
func indexOf(t *testing.T, workload string, events int64, locations int) *index.Index {
	t.Helper()
	d, err := generate.New(generate.Options{Workload: workload, Events: events, Locations: locations})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.weftidx")
	if err := index.Build(context.Background(), d, path, index.Options{Workers: 1}); err != nil {
		t.Fatal(err)
	}
	x, err := index.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// track returns the number of the row with a name.
func track(x *index.Index, name string) int {
	return slices.IndexFunc(x.Tracks(), func(t index.Track) bool { return t.Name == name })
}

// TestDraw checks what the picture of a trace leaves out. The picture has at most 48 rows and 400 arrows. A ring of n
// locations has n rows; loops of n locations have a row and curves of the counters of each.
func TestDraw(t *testing.T) {
	row := regexp.MustCompile(`rank \d+<`)
	small := indexOf(t, "ring", 400, 4)
	for _, x := range []struct {
		name    string
		index   *index.Index
		chosen  []int
		rows    int // names of locations in the picture
		caption string
		has     string
	}{
		{"few", small, nil, 4, "", "rank 3"},
		{"chosen", small, []int{track(small, "rank 2")}, 1, "", "rank 2"},
		{"many rows", indexOf(t, "ring", 700, 96), nil, 48,
			"48 of 96 rows, at equal distances; the times in its legend are theirs.", "rank 94"},
		{"curves", indexOf(t, "loops", 400, 30), nil, 30, "Without the curves of ", "rank 29"},
		{"many messages", indexOf(t, "ring", 4000, 4), nil, 4, "messages and dependencies are not drawn.", "rank 3"},
	} {
		var r Report
		if err := r.Draw(t.Context(), x.index, x.index, 0, 0, x.chosen); err != nil {
			t.Fatal(err)
		}
		p := &r.Picture
		if len(p.SVG) == 0 || len(p.DarkSVG) == 0 || len(p.PNG) > 0 {
			t.Fatalf("%s: found %d, %d and %d bytes, expected SVG in light and dark", x.name, len(p.SVG), len(p.DarkSVG),
				len(p.PNG))
		}
		if n := len(row.FindAll(p.SVG, -1)); n != x.rows || !strings.Contains(string(p.SVG), x.has+"<") {
			t.Errorf("%s: found %d rows, expected %d with %s", x.name, n, x.rows, x.has)
		}
		if p.Caption != x.caption && (x.caption == "" || !strings.Contains(p.Caption, x.caption)) {
			t.Errorf("%s: found the caption %q, expected %q", x.name, p.Caption, x.caption)
		}
		v := p.view()
		if v.Light == "" || v.Dark == "" || v.Source != "" {
			t.Errorf("%s: the page does not show the SVG", x.name)
		}
	}
	page := Picture{PNG: []byte("png")}
	if v := page.view(); v.Source != "data:image/png;base64,cG5n" || v.DarkSource != "" {
		t.Errorf("found %q and %q, expected the light image alone", v.Source, v.DarkSource)
	}
}
