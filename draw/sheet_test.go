package draw

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/draw/raster"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/etf"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

var update = flag.Bool("update", false, "rewrite the pictures in testdata, which are to be looked at then")

func indexOf(t testing.TB, d format.Events) *index.Index {
	t.Helper()
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

func generatedIndex(t testing.TB, workload string, events int64, locations int) *index.Index {
	t.Helper()
	d, err := generate.New(generate.Options{Workload: workload, Events: events, Locations: locations})
	if err != nil {
		t.Fatal(err)
	}
	return indexOf(t, d)
}

func exampleIndex(t testing.TB) *index.Index {
	t.Helper()
	d, err := etf.Format{}.Open(context.Background(), format.FileSource("../examples/odse.etf"),
		&format.ReadOptions{Report: format.NewReport(), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	return indexOf(t, d)
}

func sheetPNG(t testing.TB, s *Sheet) image.Image {
	t.Helper()
	var b bytes.Buffer
	if err := s.PNG(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// sheets returns pictures that consist only of strips, without names and arrows on top.
func sheets(t testing.TB) map[string]*Sheet {
	cps, stencil, loops := generatedIndex(t, "cps", 2000, 0), generatedIndex(t, "stencil", 20000, 0),
		generatedIndex(t, "loops", 4000, 2)
	first, last, _ := cps.Extent()
	return map[string]*Sheet{
		"claims": {Index: cps, StripHeight: 11, MaxRows: 7},
		"claims, part": {Index: cps, From: first + (last-first)/3, To: first + (last-first)/2, StripHeight: 8,
			Options: Options{Dark: true, Width: 700}},
		"messages": {Index: stencil, StripHeight: 10, Options: Options{Width: 500}},
		"levels": {Index: generatedIndex(t, "calltree", 30000, 3), StripHeight: 6, MaxDepth: 12,
			Options: Options{Width: 640}},
		"counters":     {Index: loops, StripHeight: 8, MaxDepth: 2},
		"stacked":      {Index: stackedIndex(t), StripHeight: 8},
		"stacked, cut": {Index: stackedIndex(t), StripHeight: 16, MaxDepth: 2, Options: Options{Dark: true, Width: 500}},
	}
}

// stackedIndex returns an index of resources with and without a capacity that have overlapping
// claims, and of a resource whose claims do not overlap. The claims in stacks are too small for
// their names.
func stackedIndex(t testing.TB) *index.Index {
	t.Helper()
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	r.Location("main")
	heads, tokens, queue := r.Resource("heads", 10, "of it"), r.Resource("tokens", 0, ""), r.Resource("queue", 4, "")
	for i := range int64(60) {
		for k := range int64(3) {
			id := r.Claim(heads, 10*i+2*k, r.Region(fmt.Sprint("job ", k)), float64(1+k))
			r.Release(id, 10*i+2*k+8)
			id = r.Claim(tokens, 10*i+k, r.Region(fmt.Sprint("job ", k)), 1)
			r.Release(id, 10*i+k+5)
		}
		id := r.Claim(queue, 10*i, r.Region("job 0"), float64(i%5))
		r.Release(id, 10*i+9)
	}
	return indexOf(t, format.Recorded(r))
}

// rasterStrips returns an image in which package raster has drawn the rows on the picture's
// background, and the positions of the strips in it.
func rasterStrips(t testing.TB, s *Sheet, scale int) (*image.RGBA, []image.Rectangle) {
	t.Helper()
	l, err := s.layOut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	back, mark, curve, other, line := color.RGBA{255, 255, 255, 255}, color.RGBA{0x1c, 0x21, 0x27, 255},
		color.RGBA{0, 0x72, 0xb2, 255}, color.RGBA{0xa9, 0xb0, 0xb8, 255}, color.RGBA{0xd9, 0xde, 0xe3, 255}
	if s.Dark {
		back, mark, curve, other, line = color.RGBA{0x15, 0x18, 0x1c, 255}, color.RGBA{0xe8, 0xeb, 0xee, 255},
			color.RGBA{0x56, 0xb4, 0xe9, 255}, color.RGBA{0x6d, 0x75, 0x7e, 255}, color.RGBA{0x2b, 0x31, 0x38, 255}
	}
	first, last, _ := s.Index.Extent()
	of, err := RegionColors(s.Index.Regions(), s.Index.Tracks(), func(tracks []int) ([][]index.Sum, error) {
		return s.Index.Profiles(t.Context(), tracks, first, last+1)
	})
	if err != nil {
		t.Fatal(err)
	}
	colors := raster.Colors{Other: other, Mark: mark, Curve: curve, Region: func(r uint32) color.RGBA {
		v, err := strconv.ParseUint(Palette(s.Dark)[of[r]][1:], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
	}}
	soft := colors
	soft.Curve = raster.Blend(curve, back, 110)
	img := image.NewRGBA(image.Rect(0, 0, l.width*scale, l.height*scale))
	for i := range img.Pix {
		img.Pix[i] = []uint8{back.R, back.G, back.B, 255}[i%4]
	}
	var places []image.Rectangle
	width := Columns(l.width) * scale
	for i := range l.rows {
		r := &l.rows[i]
		tile, err := s.Index.Tile(t.Context(), index.TileRequest{Tracks: []int{r.track}, From: l.from, To: l.to,
			Width: width, Depths: l.depths})
		if err != nil {
			t.Fatal(err)
		}
		track := l.all[r.track]
		resource := track.Kind == index.ResourceTrack && (track.Depth > 1 || track.Offsets)
		box := resource && track.Capacity > 0 // whether the lanes are stacked, or drawn at the offsets of the claims
		var lanes []index.Strip
		for _, s := range tile.Strips {
			if s.Kind == index.AmountStrip && (!resource || track.Offsets) {
				continue
			}
			y, h := l.rect(r, s, scale)
			if box && s.Kind == index.SpanStrip {
				lanes = append(lanes, s)
				continue
			}
			places = append(places, image.Rect(gutter*scale, y, gutter*scale+width, y+h))
			switch s.Kind {
			case index.SpanStrip:
				raster.Spans(img, gutter*scale, y, h, raster.LeastClaim*scale, tile, s, back, &colors)
			case index.InstantStrip:
				raster.Instants(img, gutter*scale, y, h, tile, s, &colors)
			case index.CurveStrip:
				raster.Curve(img, gutter*scale, y, h, tile, s, track.Low, track.High, &colors)
			case index.AmountStrip:
				c, high := &soft, float64(slices.Max(tile.Max[s.First:s.First+s.Count]))
				if box {
					behind := colors
					behind.Curve = line
					c, high = &behind, track.Capacity
				}
				raster.Curve(img, gutter*scale, y, h, tile, s, 0, high, c)
			}
		}
		if len(lanes) > 0 {
			y, h := l.rect(r, lanes[0], scale)
			if want := min(128, max(36, l.strip*min(track.Depth, l.depths))) * scale; h != want {
				t.Errorf("%s: the stack is %d pixels high, expected %d", track.Name, h, want)
			}
			raster.Stack(img, gutter*scale, y, h, tile, lanes, 0, width, scale, &colors)
			places = append(places, image.Rect(gutter*scale, y, gutter*scale+width, y+h))
		}
	}
	return img, places
}

// TestSheetPixels checks that the strips of a PNG have the pixels that package raster draws, and therefore the
// same pixels as the viewer's page.
func TestSheetPixels(t *testing.T) {
	for name, s := range sheets(t) {
		for _, scale := range []int{1, 2, 3} {
			s.Scale = scale
			got := sheetPNG(t, s)
			want, places := rasterStrips(t, s, scale)
			if got.Bounds() != want.Bounds() || len(places) < 4 {
				t.Fatalf("%s: %v, expected %v; %d strips", name, got.Bounds(), want.Bounds(), len(places))
			}
			painted := 0
			for _, r := range places {
				for y := r.Min.Y; y < r.Max.Y; y++ {
					for x := r.Min.X; x < r.Max.X; x++ {
						g, w := color.RGBAModel.Convert(got.At(x, y)), want.RGBAAt(x, y)
						if g != w {
							t.Fatalf("%s, scale %d: at %d, %d found %v, expected %v", name, scale, x, y, g, w)
						}
						if w != want.RGBAAt(0, 0) {
							painted++
						}
					}
				}
			}
			if painted < 1000 {
				t.Errorf("%s: %d pixels are painted", name, painted)
			}
		}
	}
}

var subpath = regexp.MustCompile(`M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)h-[\d.]+z`)

// rasterise draws the boxes of an SVG document, which are rectangles and paths, into an image.
func rasterise(t testing.TB, text []byte) *image.RGBA {
	t.Helper()
	var img *image.RGBA
	number := func(s string) int {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return int(math.Round(v)) // positions in the legend are not integers
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return img
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		a := map[string]string{}
		for _, x := range e.Attr {
			a[x.Name.Local] = x.Value
		}
		if e.Name.Local == "svg" {
			img = image.NewRGBA(image.Rect(0, 0, number(a["width"]), number(a["height"])))
		}
		v, err := strconv.ParseUint(strings.TrimPrefix(a["fill"], "#"), 16, 32)
		if err != nil {
			continue
		}
		alpha := 1.0
		if o := a["fill-opacity"]; o != "" {
			if alpha, err = strconv.ParseFloat(o, 64); err != nil {
				t.Fatal(err)
			}
		}
		paint := func(x, y, w, h string) {
			for py := number(y); py < number(y)+number(h); py++ {
				for px := number(x); px < number(x)+number(w); px++ {
					old := img.RGBAAt(px, py)
					mix := func(f, b uint8) uint8 { return uint8(float64(f)*alpha + float64(b)*(1-alpha) + 0.5) }
					img.SetRGBA(px, py, color.RGBA{mix(uint8(v>>16), old.R), mix(uint8(v>>8), old.G), mix(uint8(v), old.B), 255})
				}
			}
		}
		switch e.Name.Local {
		case "rect":
			paint(a["x"], a["y"], a["width"], a["height"])
		case "path":
			for _, m := range subpath.FindAllStringSubmatch(a["d"], -1) {
				paint(m[1], m[2], m[3], m[4])
			}
		}
	}
}

// TestSheetBoxes checks that the boxes of an SVG cover the pixels of the PNG in the same colours.
func TestSheetBoxes(t *testing.T) {
	for name, s := range sheets(t) {
		var b bytes.Buffer
		if err := s.SVG(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		got := rasterise(t, b.Bytes())
		want, places := rasterStrips(t, s, 1)
		if got.Bounds() != want.Bounds() {
			t.Fatalf("%s: %v, expected %v", name, got.Bounds(), want.Bounds())
		}
		for _, r := range places {
			for y := r.Min.Y; y < r.Max.Y; y++ {
				for x := r.Min.X; x < r.Max.X; x++ {
					g, w := got.RGBAAt(x, y), want.RGBAAt(x, y)
					d := max(g.R, w.R) - min(g.R, w.R) + max(g.G, w.G) - min(g.G, w.G) + max(g.B, w.B) - min(g.B, w.B)
					if d > 3 { // where colours overlap, the two formats round differently
						t.Fatalf("%s: at %d, %d found %v, expected %v", name, x, y, g, w)
					}
				}
			}
		}
	}
}

// TestSheetGolden compares pictures with files that a person has inspected. After a change, run go test ./draw
// -run TestSheetGolden -update and inspect the files again.
func TestSheetGolden(t *testing.T) {
	odse, stencil := exampleIndex(t), generatedIndex(t, "stencil", 3000, 4)
	first, last, _ := stencil.Extent()
	for name, s := range map[string]*Sheet{
		"claims": {Index: odse, Links: 500, Options: Options{Title: "odse.etf"}},
		"messages": {Index: stencil, Links: 500, From: first, To: first + (last-first)/20,
			Options: Options{Title: "stencil <4>", Dark: true, Width: 900}},
	} {
		path := filepath.Join("testdata", "sheet-"+name+".svg")
		var got bytes.Buffer
		if err := s.SVG(t.Context(), &got); err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err := s.SVG(t.Context(), &again); err != nil || !bytes.Equal(got.Bytes(), again.Bytes()) {
			t.Errorf("%s: two pictures of the same index differ: %v", name, err)
		}
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: the picture is not the one in testdata", name)
		}
	}
}

// TestSheetTexts checks the texts of pictures.
func TestSheetTexts(t *testing.T) {
	texts := func(s *Sheet) string {
		var b bytes.Buffer
		if err := s.SVG(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		var out []string
		for d := xml.NewDecoder(&b); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				return strings.Join(out, "\n")
			}
			if err != nil {
				t.Fatal(err)
			}
			if c, ok := token.(xml.CharData); ok {
				out = append(out, string(c))
			}
		}
	}
	stencil := generatedIndex(t, "stencil", 4000, 8)
	for _, x := range []struct {
		name string
		s    *Sheet
		want []string
		not  []string
	}{
		{"all", &Sheet{Index: stencil, Links: 9000}, []string{"Timeline", "node 0", "node 1", "rank 0", "rank 7",
			"Communicators", "compute", "message", "0 ms"}, []string{"more row", "drawn rows", "dependency"}},
		{"few rows", &Sheet{Index: stencil, MaxRows: 3}, []string{"rank 2", "… and 6 more rows",
			"The figures in the legend are those of the drawn rows."}, []string{"rank 3", "message"}},
		{"one more", &Sheet{Index: stencil, MaxRows: 8}, []string{"… and 1 more row"}, []string{"more rows"}},
		{"chosen", &Sheet{Index: stencil, Tracks: []int{5, 1}}, []string{"node 1 · rank 5", "node 0 · rank 1"},
			[]string{"rank 0", "more row"}},
		{"none", &Sheet{Index: stencil, Tracks: []int{}}, []string{"no events"}, []string{"rank"}},
		{"shallow", &Sheet{Index: stencil, MaxDepth: 1}, []string{"No more than 1 of 2 strips of a row are shown."}, nil},
		{"few arrows", &Sheet{Index: stencil, Links: 10}, []string{"10 of 400 messages and dependencies are drawn."}, nil},
		{"stacked", &Sheet{Index: stackedIndex(t)}, []string{"10 of it", "0", "heads", "tokens", "queue"}, nil},
		{"bundles", &Sheet{Index: generatedIndex(t, "ring", 9000, 2), Links: 130},
			[]string{"messages and dependencies are drawn as 12"}, nil},
	} {
		all := texts(x.s)
		for _, w := range x.want {
			if !strings.Contains(all, w) {
				t.Errorf("%s: the text %q is missing in\n%s", x.name, w, all)
			}
		}
		for _, w := range x.not {
			if strings.Contains(all, w) {
				t.Errorf("%s: there is the text %q", x.name, w)
			}
		}
	}
	if err := (&Sheet{Index: stencil, Tracks: []int{99}}).SVG(t.Context(), io.Discard); err == nil {
		t.Error("found no error for a track that is not there")
	}
	for _, o := range []Options{{Width: 10}, {Width: 1 << 20}, {Scale: -1}, {Scale: 9}, {Width: 9000, Scale: 8}} {
		var e *format.OptionError
		if err := (&Sheet{Index: stencil, Options: o}).PNG(t.Context(), io.Discard); !errors.As(err, &e) {
			t.Errorf("%+v: found %v, expected an OptionError", o, err)
		}
	}
	for _, s := range []Sheet{{MaxRows: -1}, {MaxDepth: -1}, {StripHeight: -1}, {Links: -1}} {
		var e *format.OptionError
		s.Index = stencil
		if err := s.SVG(t.Context(), io.Discard); !errors.As(err, &e) {
			t.Errorf("%+v: found %v, expected an OptionError", s, err)
		}
	}
}

// TestLegendOfWholeTrace checks that the legend has exclusive times of the whole trace if the picture lacks regions.
// The region main takes 50 s, and work, which the picture lacks, takes 20 s of them.
func TestLegendOfWholeTrace(t *testing.T) {
	record := func(withWork bool) *index.Index {
		r := trace.NewRecorder(trace.TicksPerSecond(1))
		p, main, work := r.Location("p"), r.Region("main"), r.Region("work")
		r.Enter(p, 0, main)
		if withWork {
			r.Enter(p, 10, work)
			r.Leave(p, 30, work)
		}
		r.Leave(p, 50, main)
		return indexOf(t, format.Recorded(r))
	}
	whole, part := record(true), record(false)
	for _, x := range []struct {
		s    *Sheet
		want string
	}{{&Sheet{Index: part, Times: whole}, "30 s exclusive"}, {&Sheet{Index: part}, "50 s exclusive"}} {
		var b bytes.Buffer
		if err := x.s.SVG(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); !strings.Contains(text, x.want) || strings.Count(text, "exclusive") != 1 {
			t.Errorf("the picture lacks the legend %q:\n%s", x.want, text)
		}
	}
}

// TestSheetOfLittleAndMuch draws an empty trace, and traces with extreme content. It expects neither errors
// nor panics.
func TestSheetOfLittleAndMuch(t *testing.T) {
	empty := trace.NewRecorder(trace.TicksPerSecond(1000))
	one := trace.NewRecorder(trace.TicksPerSecond(1))
	loc, region := one.Location("p <&>\x01"), one.Region("r")
	one.Enter(loc, math.MaxInt64, region)
	one.Leave(loc, math.MaxInt64, region)
	wide := trace.NewRecorder(trace.TicksPerSecond(1))
	loc, region = wide.Location("p"), wide.Region("r")
	wide.Enter(loc, math.MinInt64, region)
	wide.Leave(loc, math.MaxInt64, region)
	many := trace.NewRecorder(trace.TicksPerSecond(1000))
	region = many.Region("r")
	for i := range 3000 {
		loc := many.Location(fmt.Sprint("rank ", i))
		many.Enter(loc, int64(i), region)
		many.Leave(loc, int64(i)+1000, region)
		many.Send(loc, int64(i)+1, (loc+1)%3000, 1, 10)
		many.Recv(loc, int64(i)+900, (loc+2999)%3000, 1, 10)
	}
	for name, r := range map[string]*trace.Recorder{"empty": empty, "one": one, "wide": wide, "many": many} {
		x := indexOf(t, format.Recorded(r))
		for _, s := range []*Sheet{{Index: x, Links: 100}, {Index: x, From: 5, To: 6, Links: 100},
			{Index: x, From: -50, To: math.MaxInt64, MaxDepth: 1, Links: 100}} {
			var b bytes.Buffer
			if err := s.SVG(t.Context(), &b); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := xml.Unmarshal(b.Bytes(), new(struct{})); err != nil || bytes.Contains(b.Bytes(), []byte("NaN")) ||
				bytes.Contains(b.Bytes(), []byte("Inf")) {
				t.Errorf("%s: no sound SVG: %v", name, err)
			}
			if img := sheetPNG(t, s); img.Bounds().Dx() != DefaultWidth || img.Bounds().Dy() > 4000 {
				t.Errorf("%s: a picture of %v", name, img.Bounds())
			}
		}
	}
}

// TestArrange checks that the tracks of a group become neighbours, whatever their order in the trace is, and
// that groups that contain each other cause no endless loop.
func TestArrange(t *testing.T) {
	loc := func(g uint32) index.Track { return index.Track{Kind: index.LocationTrack, Group: g, Parent: -1} }
	tracks := []index.Track{loc(1), loc(0), {Kind: index.CounterTrack, Group: 0, Parent: 1},
		{Kind: index.ResourceTrack, Group: trace.NoRef, Parent: -1}, loc(1), loc(trace.NoRef),
		{Kind: index.CounterTrack, Group: trace.NoRef, Parent: -1},
		{Kind: index.CommunicatorTrack, Group: trace.NoRef, Parent: -1}, loc(3), loc(77), loc(2)}
	groups := []trace.LocationGroup{{ID: "0", Parent: 2}, {ID: "1", Parent: trace.NoRef}, {ID: "2", Parent: trace.NoRef},
		{ID: "3", Parent: 4}, {ID: "4", Parent: 3}}
	want := []int{5, 9, 0, 4, 10, 1, 2, 8, 3, 6, 7}
	if got := arrange(tracks, groups); !slices.Equal(got, want) {
		t.Errorf("found %v, expected %v", got, want)
	}
	if s := groupPath(groups, 0); s != "2 / 0" {
		t.Errorf("found the heading %q", s)
	}
	if s := groupPath(groups, 3); s != "3 / 4 / 3" {
		t.Errorf("found the heading %q", s)
	}
}

// TestSheetNamesInStacks checks that a claim in a stack shows its name if the claim is large enough and strips
// are high enough. If the place of a claim changes, the claim shows its name again.
func TestSheetNamesInStacks(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	heads := r.Resource("heads", 100, "")
	first, second := r.Claim(heads, 0, r.Region("first"), 30), r.Claim(heads, 0, r.Region("second"), 40)
	r.Release(first, 40)
	flat := r.Claim(heads, 80, r.Region("flat"), 5)
	r.Release(second, 100)
	r.Release(flat, 100)
	x := indexOf(t, format.Recorded(r))
	name := regexp.MustCompile(`<text x="([\d.]+)" y="([\d.]+)" font-size="11"[^>]*>` +
		`(?:<title>[^<]*</title>)?(first|second|flat)<`)
	for _, c := range []struct {
		strip, width int
		want         []string
	}{
		// The plot begins at 200. The box of 50 pixels begins at 80, below the title, the axis,
		// the heading and 2 pixels. A claim of 30 is 15 pixels high; its upper edge is a line in
		// the colour of the paper. The base line is 4 pixels below the middle.
		{25, 1216, []string{"204 127 first", "204 109.5 second", "604 124.5 second", "1004 121.5 second"}},
		{8, 1216, nil},
		{25, 280, nil},
	} {
		var b bytes.Buffer
		if err := (&Sheet{Index: x, From: 0, To: 100, StripHeight: c.strip,
			Options: Options{Width: c.width}}).SVG(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range name.FindAllStringSubmatch(b.String(), -1) {
			got = append(got, strings.Join(m[1:], " "))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("strips of %d pixels, width %d: found %q, expected %q", c.strip, c.width, got, c.want)
		}
	}
}

// TestSheetArrowEnds checks that the arrow of a message begins at the strip of the sending span and
// ends at the strip of the receiving span.
func TestSheetArrowEnds(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	a, b := r.Location("a"), r.Location("b")
	r.Enter(a, 0, r.Region("main"))
	r.Enter(b, 0, r.Region("main"))
	r.Enter(b, 10, r.Region("work"))
	r.Enter(a, 200, r.Region("send"))
	r.Send(a, 250, b, 7, 8)
	r.Leave(a, 300, r.Region("send"))
	r.Enter(b, 400, r.Region("receive"))
	r.Recv(b, 500, a, 7, 8)
	r.Leave(b, 600, r.Region("receive"))
	r.Leave(b, 900, r.Region("work"))
	r.Leave(a, 1000, r.Region("main"))
	r.Leave(b, 1000, r.Region("main"))
	s := &Sheet{Index: indexOf(t, format.Recorded(r)), StripHeight: 10, Links: 10, Options: Options{Width: 1000}}
	l, err := s.layOut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tile, err := l.tile(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	var c lineCanvas
	l.drawArrows(&c, tile, 1)
	if len(c) == 0 {
		t.Fatal("found no arrow")
	}
	// A row begins with two pixels of padding, and its strips are ten pixels high. The send is in
	// the second strip of the first row, and the receive in the third strip of the second row.
	from, to := point{l.plot.x + l.plot.w*250/1001, float64(l.rows[0].y) + 2 + 15},
		point{l.plot.x + l.plot.w*500/1001, float64(l.rows[1].y) + 2 + 25}
	for _, got := range c {
		for i, want := range []point{from, to} {
			if end := got[i*(len(got)-1)]; math.Abs(end.x-want.x) > 0.01 || end.y != want.y {
				t.Errorf("found an end at %v, expected %v", end, want)
			}
		}
	}
}

// lineCanvas is a canvas that records lines.
type lineCanvas [][]point

func (c *lineCanvas) boxes(rgb, float64, string, ...box)      {}
func (c *lineCanvas) polygons(rgb, float64, ...[]point)       {}
func (c *lineCanvas) text(label)                              {}
func (c *lineCanvas) lines(_ rgb, _, _ float64, s ...[]point) { *c = append(*c, s...) }
