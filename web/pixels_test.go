package web_test

import (
	"fmt"
	"image"
	"image/color"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/weft-trace/weft/draw/raster"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/timeline/index"
)

// drawn is a view as pixels.mjs hands it out.
type drawn struct {
	Name, Fragment string
	View           struct{ From, To string }
	Pixels         struct {
		Width, Height int
		Data          []byte // RGBA
	}
	Layout struct {
		Background, Group, Line, Other, Mark, Curve string
		Regions                                     []string
		Rows                                        []struct {
			Track, Y, Height int
			Members          []int
			Tile             *struct {
				From, To      string
				Width         int
				Scale, Offset float64
			}
			Strips []struct{ Track, Depth, Kind, Y, Height int }
		}
	}
}

func paint(t *testing.T, hex string) color.RGBA {
	t.Helper()
	v, err := strconv.ParseUint(hex[1:], 16, 32)
	if err != nil || len(hex) != 7 {
		t.Fatalf("found the colour %q, expected one like #0072b2", hex)
	}
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

// indexed is the index of a trace.
func indexed(t *testing.T, path string) *index.Index {
	t.Helper()
	src := format.FileSource(path)
	f, err := format.Detect(all.Formats(), src)
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.Open(t.Context(), src, &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	at := filepath.Join(t.TempDir(), "index")
	if err := index.Build(t.Context(), d, at, index.Options{Workers: 2}); err != nil {
		t.Fatal(err)
	}
	x, err := index.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// The page draws the pixels that package draw/raster draws of the same tiles.
func TestPixels(t *testing.T) {
	browser(t)
	traces := map[string]string{"pixels-otf2": "../format/otf2/testdata/ok/heat2d-mt/traces.otf2", "pixels-etf": "../examples/odse.etf"}
	var list []map[string]any
	for _, name := range []string{"pixels-otf2", "pixels-etf"} {
		url := view(t, traces[name])
		f := meta(t, url)
		length, err := strconv.ParseInt(f.Length, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		var fragments []string
		for _, w := range [][2]int64{{0, length + 1}, {length / 7, length / 2}, {length / 3, length/3 + length/50}, {length * 2 / 3, length*2/3 + 1500}, {length / 2, length/2 + 300}} {
			for _, look := range []string{"", "&sh=18", "&sh=4&c=0/g0"} {
				fragments = append(fragments, fmt.Sprintf("t=%s&w=%d~%d&theme=light&a=0%s", f.ID, w[0], w[1], look))
			}
		}
		fragments = append(fragments, fmt.Sprintf("t=%s&w=%d~%d&theme=dark&a=0", f.ID, length/4, length/2))
		list = append(list, map[string]any{"name": name, "url": url, "fragments": fragments})
	}
	var out []drawn
	play(t, "pixels.mjs", map[string]any{"traces": list}, &out)
	indexes := map[string]*index.Index{}
	strips, summaries := map[index.StripKind]int{}, 0
	for _, v := range out {
		if indexes[v.Name] == nil {
			indexes[v.Name] = indexed(t, traces[v.Name])
		}
		s, n := v.compare(t, indexes[v.Name])
		for _, kind := range s {
			strips[kind]++
		}
		summaries += n
	}
	for _, kind := range []index.StripKind{index.SpanStrip, index.InstantStrip, index.CurveStrip} {
		if strips[kind] < 10 {
			t.Errorf("compared %d strips of kind %d, expected 10 at least", strips[kind], kind)
		}
	}
	if summaries == 0 {
		t.Error("compared no group")
	}
}

// compare draws the rows again and compares them; it tells which strips there were, and how
// many of them were summaries of groups.
func (v *drawn) compare(t *testing.T, x *index.Index) (kinds []index.StripKind, summaries int) {
	t.Helper()
	l := &v.Layout
	size := image.Rect(0, 0, v.Pixels.Width, v.Pixels.Height)
	if len(v.Pixels.Data) != 4*size.Dx()*size.Dy() || size.Empty() {
		t.Fatalf("%s: found %d bytes of %v", v.Fragment, len(v.Pixels.Data), size)
	}
	page := &image.RGBA{Pix: v.Pixels.Data, Stride: 4 * size.Dx(), Rect: size}
	first, _, _ := x.Extent()
	tracks := x.Tracks()
	for _, row := range l.Rows {
		// The lanes of a resource are stacked by the page alone.
		if row.Tile == nil || row.Track >= 0 && tracks[row.Track].Kind == index.ResourceTrack && tracks[row.Track].Depth > 1 {
			continue
		}
		from, err1 := strconv.ParseInt(row.Tile.From, 10, 64)
		to, err2 := strconv.ParseInt(row.Tile.To, 10, 64)
		if err1 != nil || err2 != nil || row.Tile.Scale != 1 || row.Tile.Offset != float64(int(row.Tile.Offset)) {
			t.Errorf("%s: track %d is drawn of %+v, expected a tile with columns of a pixel", v.Fragment, row.Track, *row.Tile)
			continue
		}
		q := index.TileRequest{Tracks: []int{row.Track}, From: first + from, To: first + to, Width: row.Tile.Width, Depths: 8}
		back := paint(t, l.Background)
		get := x.Tile
		if row.Track < 0 {
			q.Tracks, back, get = row.Members, paint(t, l.Group), x.Summary
			summaries++
		}
		tile, err := get(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(tile.Strips) != len(row.Strips) {
			t.Errorf("%s: track %d has %d strips, expected %d", v.Fragment, row.Track, len(row.Strips), len(tile.Strips))
			continue
		}
		img := image.NewRGBA(size)
		for y := row.Y; y < row.Y+row.Height; y++ {
			for x := range size.Dx() {
				c := back
				if y == row.Y+row.Height-1 {
					c = paint(t, l.Line)
				}
				img.SetRGBA(x, y, c)
			}
		}
		c := &raster.Colors{Region: func(r uint32) color.RGBA { return paint(t, l.Regions[r]) }, Other: paint(t, l.Other), Mark: paint(t, l.Mark), Curve: paint(t, l.Curve)}
		for i, s := range tile.Strips {
			p := row.Strips[i]
			at := int(row.Tile.Offset)
			kinds = append(kinds, s.Kind)
			switch s.Kind {
			case index.SpanStrip:
				raster.Spans(img, at, p.Y, p.Height, tile, s, back, c)
			case index.InstantStrip:
				raster.Instants(img, at, p.Y, p.Height, tile, s, c)
			case index.CurveStrip:
				raster.Curve(img, at, p.Y, p.Height, tile, s, tracks[row.Track].Low, tracks[row.Track].High, c)
			default:
				// The amount of a resource with one lane is not drawn.
				kinds = kinds[:len(kinds)-1]
			}
		}
		for y := max(0, row.Y); y < min(row.Y+row.Height, size.Dy()); y++ {
			for x := range size.Dx() {
				if got, want := page.RGBAAt(x, y), img.RGBAAt(x, y); got != want {
					i := slices.IndexFunc(row.Strips, func(s struct{ Track, Depth, Kind, Y, Height int }) bool { return y >= s.Y && y < s.Y+s.Height })
					t.Errorf("%s: track %d, strip %d, pixel %d,%d: found %v, expected %v", v.Fragment, row.Track, i, x, y, got, want)
					return kinds, summaries
				}
			}
		}
	}
	return kinds, summaries
}
