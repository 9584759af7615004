package web_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/draw"
	"github.com/weft-trace/weft/draw/raster"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/timeline/index"
)

// pageView is a view of the page, with its pixels and layout, as pixels.mjs returns it.
type pageView struct {
	Name, Fragment string
	View           struct{ From, To string }
	Pixels         struct {
		Width, Height int
		Data          gzipData // RGBA
	}
	Layout struct {
		Background, Group, Line, Other, Mark, Curve string
		Regions                                     []string
		Rows                                        []drawnRow
		Arrows                                      []struct {
			X0, Y0, X1, Y1 float64
			Count          int
		}
	}
}

// drawnRow is a row of the page.
type drawnRow struct {
	Track, Y, Height int
	Members          []int
	Tile             *struct {
		From, To      string
		Width         int
		Scale, Offset float64
	}
	Strips []struct{ Track, Depth, Kind, Y, Height int }
}

// gzipData is data that the script sends compressed.
type gzipData []byte

// UnmarshalJSON reads gzip data in base64.
func (g *gzipData) UnmarshalJSON(text []byte) error {
	var b []byte
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return err
	}
	*g, err = io.ReadAll(r)
	return err
}

func parseColor(t *testing.T, hex string) color.RGBA {
	t.Helper()
	v, err := strconv.ParseUint(hex[1:], 16, 32)
	if err != nil || len(hex) != 7 {
		t.Fatalf("found the colour %q, expected one like #0072b2", hex)
	}
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

// openIndex returns the index of a trace.
func openIndex(t *testing.T, path string) *index.Index {
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

// TestPixels checks that the page draws the same pixels as package draw/raster from the same tiles,
// and that its rows equal those of a picture of package draw.
func TestPixels(t *testing.T) {
	needBrowser(t)
	traces := map[string]string{"pixels-otf2": "heat", "pixels-etf": "odse", "pixels-claims": "claims"}
	var list []map[string]any
	for _, name := range []string{"pixels-otf2", "pixels-etf", "pixels-claims"} {
		at := servedTrace(t, traces[name])
		f := waitReady(t, at)
		length, err := strconv.ParseInt(f.Length, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		var fragments []string
		// The views range from the whole trace to few ticks per pixel. looks are the settings of the
		// page for each view: the height of strips (sh) and closed groups (c).
		for _, v := range []struct {
			from, to int64
			looks    []string
		}{
			{0, length + 1, []string{"", "&sh=18", "&sh=4&c=0/g0", "&sh=8"}},
			{length / 7, length / 2, []string{"&sh=18", "&sh=4"}},
			{length / 3, length/3 + length/50, []string{"", "&sh=4&c=0/g0", "&sh=8"}},
			{length * 2 / 3, length*2/3 + 1500, []string{"", "&sh=4"}},
			{length / 2, length/2 + 300, []string{"&sh=18", "&sh=8"}},
		} {
			for _, look := range v.looks {
				fragments = append(fragments, fmt.Sprintf("t=%s&w=%d~%d&theme=light&a=0%s", f.ID, v.from, v.to, look))
			}
		}
		fragments = append(fragments, fmt.Sprintf("t=%s&w=%d~%d&a=0&theme=dark&sh=8", f.ID, length/4, length/2))
		list = append(list, map[string]any{"name": name, "url": at.url, "fragments": fragments})
	}
	var out []pageView
	runScript(t, "pixels", map[string]any{"traces": list}, &out)
	indexes := map[string]*index.Index{}
	strips, summaries, stacks := map[index.StripKind]int{}, 0, 0
	pictured, boxed := map[string]int{}, 0
	for _, v := range out {
		if indexes[v.Name] == nil {
			indexes[v.Name] = openIndex(t, servedTrace(t, traces[v.Name]).path)
		}
		s, n, several := v.compareRows(t, indexes[v.Name])
		for _, kind := range s {
			strips[kind]++
		}
		summaries += n
		stacks += several
		for _, look := range []string{"&sh=8", "&sh=4"} { // too low for names
			if strings.HasSuffix(v.Fragment, look) {
				n, several := v.comparePicture(t, indexes[v.Name])
				pictured[v.Name] += n
				boxed += several
			}
		}
	}
	for name := range traces {
		if pictured[name] < 20 {
			t.Errorf("%s: compared %d rows with those of a picture, expected 20 at least", name, pictured[name])
		}
	}
	if boxed < 20 {
		t.Errorf("compared %d stacks with those of a picture, expected 20 at least", boxed)
	}
	for _, kind := range []index.StripKind{index.SpanStrip, index.InstantStrip, index.CurveStrip, index.AmountStrip} {
		if strips[kind] < 10 {
			t.Errorf("compared %d strips of kind %d, expected 10 at least", strips[kind], kind)
		}
	}
	if summaries == 0 {
		t.Error("compared no group")
	}
	if stacks < 20 {
		t.Errorf("compared %d resources with several lanes, expected 20 at least", stacks)
	}
}

// comparePicture draws the rows with draw.Sheet, as weft plot --index does, and compares them with
// those of the page, each from its first line to the rule below it. The rows have other positions in
// the picture; they follow from the rules left of the names. comparePicture returns the number of
// compared rows, and how many of them were stacks.
func (v *pageView) comparePicture(t *testing.T, x *index.Index) (rows, stacks int) {
	t.Helper()
	_, look, _ := strings.Cut(v.Fragment, "&sh=")
	strip, err := strconv.Atoi(look)
	if err != nil {
		t.Fatal(err)
	}
	l := &v.Layout
	page := &image.RGBA{Pix: v.Pixels.Data, Stride: 4 * v.Pixels.Width,
		Rect: image.Rect(0, 0, v.Pixels.Width, v.Pixels.Height)}
	first, _, _ := x.Extent()
	all := x.Tracks()
	var sheet *draw.Sheet
	var shown []int // the tracks of the rows on the page
	for i, row := range l.Rows {
		if row.Track < 0 || row.Y < 0 || row.Y+row.Height > v.Pixels.Height {
			continue
		}
		if row.Tile == nil || row.Tile.Scale != 1 {
			t.Errorf("%s: track %d is drawn of %+v, expected a tile with columns of a pixel", v.Fragment, row.Track, row.Tile)
			return rows, stacks
		}
		from, err1 := strconv.ParseInt(row.Tile.From, 10, 64)
		to, err2 := strconv.ParseInt(row.Tile.To, 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if sheet == nil {
			sheet = &draw.Sheet{Index: x, From: first + from, To: first + to, MaxRows: len(l.Rows), StripHeight: strip,
				Options: draw.Options{Width: row.Tile.Width + draw.DefaultWidth - draw.Columns(0),
					Dark: strings.Contains(v.Fragment, "theme=dark")}}
		}
		if sheet.From != first+from || sheet.To != first+to || draw.Columns(sheet.Width) != row.Tile.Width {
			continue // drawn from another tile than the other rows
		}
		sheet.Tracks = append(sheet.Tracks, row.Track)
		shown = append(shown, i)
	}
	if sheet == nil {
		t.Errorf("%s: found no row", v.Fragment)
		return rows, stacks
	}
	var b bytes.Buffer
	if err := sheet.PNG(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(img.At(x, y)).(color.RGBA) }
	line, left := parseColor(t, l.Line), draw.DefaultWidth-draw.Columns(0)-16
	var rules []int
	for y := range img.Bounds().Dy() {
		if at(13, y) == line {
			rules = append(rules, y)
		}
	}
	if len(rules) != len(shown) {
		t.Errorf("%s: the picture has %d rows, expected %d", v.Fragment, len(rules), len(shown))
		return rows, stacks
	}
	for k, i := range shown {
		row := &l.Rows[i]
		top := rules[k] + 1 - row.Height
		if k > 0 && top <= rules[k-1] {
			t.Errorf("%s: the row of track %d is %d pixels high at most, expected %d", v.Fragment, row.Track,
				rules[k]-rules[k-1], row.Height)
			continue
		}
		rows++
		if c := &all[row.Track]; c.Kind == index.ResourceTrack && c.Depth > 1 && c.Capacity > 0 {
			stacks++
		}
		off := left - int(row.Tile.Offset) // distance of the first column of the page from that of the picture
		for y := range row.Height {
			for x := max(0, left-off); x < min(v.Pixels.Width, left-off+row.Tile.Width); x++ {
				if got, want := at(off+x, top+y), page.RGBAAt(x, row.Y+y); got != want {
					t.Errorf("%s: track %d, pixel %d,%d of its row: the picture has %v, the page %v", v.Fragment, row.Track, x, y, got,
						want)
					return rows, stacks
				}
			}
		}
	}
	return rows, stacks
}

// compareRows draws the rows again with package draw/raster and compares their pixels. It returns the
// kinds of strips, the number of summaries of groups, and the number of resources with several lanes.
func (v *pageView) compareRows(t *testing.T, x *index.Index) (kinds []index.StripKind, summaries, several int) {
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
		if row.Tile == nil {
			continue
		}
		lanes, stacked := false, false
		if row.Track >= 0 && tracks[row.Track].Kind == index.ResourceTrack {
			// A resource with a capacity shows its lanes as a stack.
			offsets := tracks[row.Track].Offsets && tracks[row.Track].Capacity > 0
			lanes = tracks[row.Track].Depth > 1 || offsets
			stacked = lanes && tracks[row.Track].Capacity > 0
		}
		if lanes {
			several++
		}
		from, err1 := strconv.ParseInt(row.Tile.From, 10, 64)
		to, err2 := strconv.ParseInt(row.Tile.To, 10, 64)
		if err1 != nil || err2 != nil || row.Tile.Scale != 1 || row.Tile.Offset != float64(int(row.Tile.Offset)) {
			t.Errorf("%s: track %d is drawn of %+v, expected a tile with columns of a pixel", v.Fragment, row.Track, *row.Tile)
			continue
		}
		q := index.TileRequest{Tracks: []int{row.Track}, From: first + from, To: first + to, Width: row.Tile.Width, Depths: 8}
		back := parseColor(t, l.Background)
		get := x.Tile
		if row.Track < 0 {
			q.Tracks, back, get = row.Members, parseColor(t, l.Group), x.Summary
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
		row.paintEmpty(img, back, parseColor(t, l.Line))
		c := &raster.Colors{Region: func(r uint32) color.RGBA { return parseColor(t, l.Regions[r]) },
			Other: parseColor(t, l.Other), Mark: parseColor(t, l.Mark), Curve: parseColor(t, l.Curve)}
		at := int(row.Tile.Offset)
		var stack []index.Strip
		var box struct{ y, h int }
		for i, s := range tile.Strips {
			p := row.Strips[i]
			kinds = append(kinds, s.Kind)
			switch s.Kind {
			case index.SpanStrip:
				if stacked {
					stack = append(stack, s)
					box.y, box.h = p.Y, p.Height
					continue
				}
				raster.Spans(img, at, p.Y, p.Height, raster.LeastClaim, tile, s, back, c)
			case index.InstantStrip:
				raster.Instants(img, at, p.Y, p.Height, tile, s, c)
			case index.CurveStrip:
				raster.Curve(img, at, p.Y, p.Height, tile, s, tracks[row.Track].Low, tracks[row.Track].High, c)
			default:
				if !lanes || tracks[row.Track].Offsets {
					kinds = kinds[:len(kinds)-1]
					continue // the amount is not drawn, because the claims show it by their heights or offsets
				}
				amounts := *c
				amounts.Curve = parseColor(t, l.Line)
				high := tracks[row.Track].Capacity
				if !stacked {
					amounts.Curve = raster.Blend(c.Curve, back, 110)
					if high = float64(slices.Max(tile.Max[s.First : s.First+s.Count])); high == 0 {
						high = 1
					}
				}
				raster.Curve(img, at, p.Y, p.Height, tile, s, 0, high, &amounts)
			}
		}
		if len(stack) > 0 {
			raster.Stack(img, at, box.y, box.h, tile, stack, max(0, -at), min(row.Tile.Width, size.Dx()-at), 1, c)
		}
		if !row.samePixels(t, v.Fragment, page, img) {
			break
		}
	}
	return kinds, summaries, several
}

// paintEmpty paints a row without strips: its background, and the line below it.
func (row *drawnRow) paintEmpty(img *image.RGBA, back, line color.RGBA) {
	for y := row.Y; y < row.Y+row.Height; y++ {
		for x := range img.Rect.Dx() {
			c := back
			if y == row.Y+row.Height-1 {
				c = line
			}
			img.SetRGBA(x, y, c)
		}
	}
}

// samePixels compares the pixels of the row on the page with those of img. It reports the first difference.
func (row *drawnRow) samePixels(t *testing.T, fragment string, page, img *image.RGBA) bool {
	t.Helper()
	for y := max(0, row.Y); y < min(row.Y+row.Height, img.Rect.Dy()); y++ {
		for x := range img.Rect.Dx() {
			if got, want := page.RGBAAt(x, y), img.RGBAAt(x, y); got != want {
				i := slices.IndexFunc(row.Strips, func(s struct{ Track, Depth, Kind, Y, Height int }) bool {
					return y >= s.Y && y < s.Y+s.Height
				})
				t.Errorf("%s: track %d, strip %d, pixel %d,%d: found %v, expected %v", fragment, row.Track, i, x, y, got, want)
				return false
			}
		}
	}
	return true
}

// TestArrowEnds checks that the arrows of the page and of a picture have the same ends.
func TestArrowEnds(t *testing.T) {
	needBrowser(t)
	traces := map[string]string{"arrows-picl": "ring", "arrows-etf": "odse"}
	var list []map[string]any
	for _, name := range []string{"arrows-picl", "arrows-etf"} {
		at := servedTrace(t, traces[name])
		f := waitReady(t, at)
		length, err := strconv.ParseInt(f.Length, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		var fragments []string
		for _, w := range [][2]int64{{0, length + 1}, {length / 5, length / 2}} {
			fragments = append(fragments, fmt.Sprintf("t=%s&w=%d~%d&theme=light&a=1&sh=18&d=0", f.ID, w[0], w[1]))
		}
		list = append(list, map[string]any{"name": name, "url": at.url, "fragments": fragments})
	}
	var out []pageView
	runScript(t, "pixels", map[string]any{"traces": list}, &out)
	left := float64(draw.DefaultWidth - draw.Columns(0) - 16)
	for _, v := range out {
		x := openIndex(t, servedTrace(t, traces[v.Name]).path)
		first, _, _ := x.Extent()
		from, err1 := strconv.ParseInt(v.View.From, 10, 64)
		to, err2 := strconv.ParseInt(v.View.To, 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		sheet := &draw.Sheet{Index: x, From: first + from, To: first + to, MaxRows: 100, StripHeight: 18, Links: 2000,
			Options: draw.Options{Width: v.Pixels.Width + draw.DefaultWidth - draw.Columns(0)}}
		for _, row := range v.Layout.Rows {
			if row.Track >= 0 {
				sheet.Tracks = append(sheet.Tracks, row.Track)
			}
		}
		var b bytes.Buffer
		if err := sheet.SVG(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		var picture [][4]float64
		for _, path := range regexp.MustCompile(
			`<path fill="none"[^>]* stroke-width="1.2"[^>]* d="([^"]*)"`).FindAllStringSubmatch(b.String(), -1) {
			for _, s := range regexp.MustCompile(`M([-\d.]+) ([-\d.]+)L([-\d.]+) ([-\d.]+)`).FindAllStringSubmatch(path[1], -1) {
				var p [4]float64
				for i := range p {
					p[i], _ = strconv.ParseFloat(s[i+1], 64)
				}
				picture = append(picture, p)
			}
		}
		// The distance of the first row from the top differs between page and picture. The difference
		// is the same for all arrows.
		above, found := math.NaN(), 0
		for _, a := range v.Layout.Arrows {
			if a.Count != 1 || min(a.X0, a.X1) < 0 || max(a.X0, a.X1) > float64(v.Pixels.Width) || math.Abs(a.Y0-a.Y1) < 4 {
				continue // the arrow is an arc, or is cut off at a side of the picture
			}
			i := slices.IndexFunc(picture, func(p [4]float64) bool {
				return math.Abs(p[0]-left-a.X0) < 0.2 && math.Abs(p[2]-left-a.X1) < 0.2 && math.Abs(p[3]-p[1]-a.Y1+a.Y0) < 0.2 &&
					(math.IsNaN(above) || math.Abs(p[1]-a.Y0-above) < 0.2)
			})
			if i < 0 {
				t.Errorf("%s: the picture has no arrow from %.1f,%.1f to %.1f,%.1f, as the page has one", v.Fragment, a.X0, a.Y0,
					a.X1, a.Y1)
				continue
			}
			above = picture[i][1] - a.Y0
			found++
		}
		if found < 8 {
			t.Errorf("%s: compared %d arrows, expected 8 at least", v.Fragment, found)
		}
	}
}
