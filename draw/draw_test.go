package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/timeline"
	"github.com/weft-trace/weft/trace"
)

// sample is a view with all that can be drawn, 100 ticks of a second wide.
func sample() *timeline.View {
	n := Columns(0)
	c := &timeline.Curve{Lowest: -1, Highest: 3, Values: 1}
	for i := range n {
		v := 1 + 2*math.Sin(float64(i)/100)
		if i > n/2 {
			v = math.NaN()
		}
		c.Min, c.Max, c.First, c.Last = append(c.Min, v), append(c.Max, v), append(c.First, v), append(c.Last, v)
	}
	v := &timeline.View{Clock: trace.Seconds(10), From: 0, To: 100, Width: n, Title: `a <b> & "c"`, MoreRows: 3,
		Keys:   []timeline.Key{{Name: "compute <&> 'x'", Color: 0}, {Name: "wait", Color: 1}},
		Colors: []timeline.Color{{Name: "compute <&> 'x'", Ticks: 60, Count: 2}, {Name: "wait", Ticks: 10, Count: 1}},
		Notes:  []string{"a remark"},
		Rows: []timeline.Row{
			{Label: "process 0 with a label that is much too long for the place that it has", Group: "node & 1", Height: 2, Spans: []timeline.Span{
				{From: 0, To: 50, Low: 0, High: 1, Key: 0, Count: 1, Cover: 1},
				{From: 90, To: 91, Low: 0, High: 1, Key: 1, Count: 7, Cover: 0.5},
				{From: 10, To: 20, Low: 1, High: 2, Key: 1, Count: 1, Cover: 1}},
				Gaps: []timeline.Interval{{From: 60, To: 70}}, Instants: []timeline.Instant{{Time: 80, Key: 0, Count: 1, Label: "m"}}},
			{Label: "memory", Kind: timeline.ClaimRow, Unit: "MB", Capacity: 512, Height: 512, Amounts: true, Spans: []timeline.Span{
				{From: 0, To: 50, Low: 0, High: 256, Key: 0, Count: 1, Cover: 1}}},
			{Label: "signal", Kind: timeline.SignalRow, Unit: "V", Height: 1, Curve: c},
			{Label: "events", Kind: timeline.EventsRow, Height: 1, Instants: []timeline.Instant{{Time: 20, Key: 1, Count: 1, Label: "an event\x01"}, {Time: 100, Key: 1, Count: 1, Label: "the last"}}},
		},
		Arrows: []timeline.Arrow{{Src: timeline.ArrowEnd{Row: 0, Time: 50, Level: 0.5}, Dst: timeline.ArrowEnd{Row: 3, Time: 60, Level: -1}}, {Kind: timeline.Message, Src: timeline.ArrowEnd{Row: 3, Time: 20, Level: -1}, Dst: timeline.ArrowEnd{Row: 3, Time: 500, Level: -1}}},
		Links:  timeline.ArrowCount{Total: 1, Drawn: 1}, Messages: timeline.ArrowCount{Total: 1, Drawn: 1},
	}
	return v
}

func TestPNGColours(t *testing.T) {
	for _, scale := range []int{1, 2} {
		var b bytes.Buffer
		if err := PNG(&b, sample(), Options{Scale: scale}); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		if w := img.Bounds().Dx(); w != DefaultWidth*scale {
			t.Errorf("%d pixels wide", w)
		}
		p, err := newPicture(sample(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		at := func(tick float64, row int, down float64) color.Color {
			r := p.rows[row]
			return img.At(int((p.plot.x+p.plot.w*tick/100)*float64(scale)), int((r.y+down)*float64(scale)))
		}
		compute, wait := p.colors[0], p.colors[1]
		for _, x := range []struct {
			what  string
			tick  float64
			row   int
			down  float64
			color rgb
		}{
			{"outer region", 40, 0, 9, compute}, {"inner region", 15, 0, 18 + 3, wait}, {"beside the inner region", 25, 0, 18 + 9, light.band},
			{"after the region", 55, 0, 9, light.band}, {"gap", 65, 0, 9, light.gap},
			{"merged, half covered", 90.3, 0, 9, light.band.mix(wait, 0.75)},
			{"claim of half the memory", 25, 1, 42, compute}, {"the free half", 25, 1, 14, light.band},
		} {
			if got := at(x.tick, x.row, x.down); !near(got, x.color) {
				t.Errorf("scale %d, %s: found %v, expected %v", scale, x.what, got, x.color)
			}
		}
	}
}

func near(c color.Color, want rgb) bool {
	r, g, b, _ := c.RGBA()
	d := func(x uint32, y uint8) bool { return math.Abs(float64(x>>8)-float64(y)) <= 2 }
	return d(r, want.r) && d(g, want.g) && d(b, want.b)
}

func TestSVGIsXML(t *testing.T) {
	var b bytes.Buffer
	if err := SVG(&b, sample(), Options{Dark: true}); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	var texts []string
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := tok.(type) {
		case xml.StartElement:
			found[x.Name.Local]++
			for _, a := range x.Attr {
				if a.Name.Local == "href" || a.Name.Local != "xmlns" && strings.Contains(a.Value, "://") || strings.Contains(a.Value, "NaN") {
					t.Errorf("%s has %s=%q", x.Name.Local, a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			texts = append(texts, string(x))
		}
	}
	if found["svg"] != 1 || found["rect"] < 10 || found["path"] < 5 || found["text"] < 15 {
		t.Errorf("elements %v", found)
	}
	all := strings.Join(texts, "\n")
	for _, want := range []string{`a <b> & "c"`, "compute <&> 'x'", "node & 1", "… and 3 more rows", "a remark", "512 MB", "not recorded", "dependency", "message"} {
		if !strings.Contains(all, want) {
			t.Errorf("the text %q is missing", want)
		}
	}
}

func TestSameInputSameBytes(t *testing.T) {
	for name, draw := range map[string]func(io.Writer, *timeline.View, Options) error{"svg": SVG, "png": PNG} {
		var first []byte
		for range 5 {
			var b bytes.Buffer
			if err := draw(&b, sample(), Options{}); err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = b.Bytes()
			}
			if !bytes.Equal(first, b.Bytes()) {
				t.Errorf("%s: two pictures of the same view differ", name)
			}
		}
	}
}

func TestTextsDoNotOverlap(t *testing.T) {
	v := sample()
	for i := range 40 {
		v.Colors = append(v.Colors, timeline.Color{Name: fmt.Sprintf("a region with quite a long name %d", i), Ticks: 1})
	}
	p, err := newPicture(v, Options{Width: 700})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	p.draw(r)
	for i, a := range r.texts {
		if a.x < 0 || a.x+a.w > float64(p.width)+0.5 || a.y+a.h > float64(p.height) {
			t.Errorf("%q at %+v leaves the picture of %d × %d", r.names[i], a, p.width, p.height)
		}
		for j, b := range r.texts[:i] {
			if a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h {
				t.Errorf("%q overlaps %q: %+v, %+v", r.names[i], r.names[j], a, b)
			}
		}
	}
}

// recorder notes where texts are.
type recorder struct {
	texts []box
	names []string
}

func (*recorder) boxes(rgb, float64, string, ...box)      {}
func (*recorder) polygons(rgb, float64, ...[]point)       {}
func (*recorder) lines(rgb, float64, float64, ...[]point) {}
func (r *recorder) text(l label) {
	if l.s == "" {
		return
	}
	r.names = append(r.names, l.s)
	r.texts = append(r.texts, box{l.left(), l.y - l.size*0.75, l.face().measure(l.s, l.size), l.size * 0.8})
}

func TestTicks(t *testing.T) {
	measure := func(s string) float64 { return 6 * float64(len(s)) }
	for _, x := range []struct {
		clock    trace.Clock
		from, to int64
		want     string
	}{
		{trace.Seconds(10), 0, 500, "0 s, 10 s, 20 s, 30 s, 40 s, 50 s"},
		{trace.Seconds(1e9), 0, 340_000, "0 µs, 50 µs, 100 µs, 150 µs, 200 µs, 250 µs, 300 µs"},
		{trace.Seconds(1e9), 0, 7, "0 ns, 1 ns, 2 ns, 3 ns, 4 ns, 5 ns, 6 ns, 7 ns"},
		{trace.Seconds(1e6), 1_234_567_890, 1_234_567_900, "1234.567890 s, 1234.567892 s, 1234.567894 s, 1234.567896 s, 1234.567898 s, 1234.567900 s"},
		{trace.Clock{Num: 1, Den: 60}, 0, 2, "0 s, 20 s, 40 s, 60 s, 80 s, 100 s, 120 s"},
	} {
		v := &timeline.View{Clock: x.clock, From: x.from, To: x.to}
		var got []string
		for _, k := range ticks(v.Clock, v.From, v.To, v.Origin, 640, measure) {
			if k.at < -1e-9 || k.at > 1+1e-9 {
				t.Errorf("%s lies outside, at %v", k.label, k.at)
			}
			got = append(got, k.label)
		}
		if s := strings.Join(got, ", "); s != x.want {
			t.Errorf("found    %s\nexpected %s", s, x.want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, s := range []string{"short", "a text that is longer than its place", "zwölf Boxkämpfer", "日本語のテキスト", "line\nbreak", ""} {
		for width := 0.0; width < 300; width += 7 {
			got := regular.fit(s, 12, width)
			if w := regular.measure(got, 12); w > width {
				t.Errorf("%q is %v wide, more than %v", got, w, width)
			}
		}
	}
	if got := regular.fit("abc", 12, 1000); got != "abc" {
		t.Error(got)
	}
}

func TestColors(t *testing.T) {
	list := []timeline.Color{{Name: "x"}, {Name: "y"}, {Name: "z"}, {Name: "9 others", Other: true}}
	a := colors(list, &light)
	b := colors([]timeline.Color{list[2], list[0], list[3], list[1]}, &light)
	if a[0] != b[1] || a[1] != b[3] || a[2] != b[0] || a[3] != light.other {
		t.Errorf("colours depend on the order: %v, %v", a, b)
	}
	seen := map[rgb]bool{}
	var many []timeline.Color
	for i := range len(lightPalette) {
		many = append(many, timeline.Color{Name: fmt.Sprint(i)})
	}
	for _, c := range colors(many, &light) {
		if seen[c] {
			t.Errorf("%v is used twice", c)
		}
		seen[c] = true
	}
}

func TestBadOptions(t *testing.T) {
	for _, o := range []Options{{Width: 10}, {Width: 1 << 20}, {Scale: -1}} {
		if PNG(io.Discard, sample(), o) == nil || SVG(io.Discard, sample(), o) == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	if err := PNG(io.Discard, &timeline.View{Clock: trace.Seconds(1), To: 1, Width: 10}, Options{}); err != nil {
		t.Errorf("an empty view: %v", err)
	}
}

func TestGlyphs(t *testing.T) {
	// A letter with an accent is made of two outlines, above the small letters.
	dot := func(s string) int {
		c, err := newPNGCanvas(20, 30, 1)
		if err != nil {
			t.Fatal(err)
		}
		c.text(label{x: 2, y: 22, s: s, size: 20, color: rgb{0, 0, 0}})
		n := 0
		for y := range 10 {
			for x := range 20 {
				if c.img.RGBAAt(x, y) != (color.RGBA{}) {
					n++
				}
			}
		}
		return n
	}
	if dot("e") != 0 || dot("é") == 0 {
		t.Errorf("above the letters: e %d, é %d pixels", dot("e"), dot("é"))
	}
	c, err := newPNGCanvas(5, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	c.text(label{x: -50, y: 100, s: "outside", size: 12})
	c.lines(rgb{}, 1, 2, []point{{-10, -10}, {100, 100}}, []point{{3, 3}, {3, 3}})
	if c.img.Bounds() != image.Rect(0, 0, 5, 5) {
		t.Error("the picture grew")
	}
}

// TestColorOf: colours are distinct as long as there are enough, depend on the name, and
// not on the order of the first names.
func TestColorOf(t *testing.T) {
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprint("region ", i))
	}
	n := len(Palette(false))
	of := ColorOf(names)
	if len(of) != len(names) || len(Palette(true)) != n {
		t.Fatalf("found %d colours of %d names, palettes of %d and %d", len(of), len(names), n, len(Palette(true)))
	}
	seen := map[int]bool{}
	for i, c := range of {
		if c < 0 || c >= n {
			t.Fatalf("name %d: found colour %d of %d", i, c, n)
		}
		if i < n && seen[c] {
			t.Errorf("name %d: its colour %d is taken", i, c)
		}
		seen[c] = true
	}
	swapped := slices.Clone(names)
	swapped[0], swapped[5] = swapped[5], swapped[0]
	if s := ColorOf(swapped); s[0] != of[5] || s[5] != of[0] || s[7] != of[7] {
		t.Errorf("colours depend on the order of the first names")
	}
}
