package draw

import (
	"fmt"
	"image"
	"image/color"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestTextsDoNotOverlap checks that texts do not overlap and do not leave the picture, however many names
// there are.
func TestTextsDoNotOverlap(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	for i := range int64(40) {
		loc := r.Location(fmt.Sprintf("a process with a label that is much too long for its place %d", i%4))
		region := r.Region(fmt.Sprintf("a region with quite a long name %d", i))
		r.Enter(loc, 10*i, region)
		r.Leave(loc, 10*i+9, region)
	}
	events := r.Location("events")
	for _, at := range []int64{3, 20, 21, 200, 395} {
		r.Mark(events, at, r.Region(fmt.Sprint("an event at ", at)))
	}
	cpu := r.Resource("CPU", 2, "cores")
	for id := range int64(3) {
		r.Release(r.Claim(cpu, 10*id, r.Region("job"), 1), 100)
	}
	s := &Sheet{Index: indexOf(t, format.Recorded(r)), Options: Options{Width: 700}}
	l, err := s.layOut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tile, err := l.tile(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	texts := &recorder{}
	if err := l.draw(texts, tile, 1, func() {}); err != nil {
		t.Fatal(err)
	}
	for i, a := range texts.texts {
		if a.x < 0 || a.x+a.w > float64(l.width)+0.5 || a.y+a.h > float64(l.height) {
			t.Errorf("%q at %+v leaves the picture of %d × %d", texts.names[i], a, l.width, l.height)
		}
		for j, b := range texts.texts[:i] {
			if a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h {
				t.Errorf("%q overlaps %q: %+v, %+v", texts.names[i], texts.names[j], a, b)
			}
		}
	}
	for _, want := range []string{"an event at 200", "an event at 395", "CPU: claims hold up to 3 of 2 cores."} {
		if !slices.Contains(texts.names, want) {
			t.Errorf("the text %q is missing in %q", want, texts.names)
		}
	}
}

// recorder is a canvas that records the positions of texts.
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
		{trace.TicksPerSecond(10), 0, 500, "0 s, 10 s, 20 s, 30 s, 40 s, 50 s"},
		{trace.TicksPerSecond(1e9), 0, 340_000, "0 µs, 50 µs, 100 µs, 150 µs, 200 µs, 250 µs, 300 µs"},
		{trace.TicksPerSecond(1e9), 0, 7, "0 ns, 1 ns, 2 ns, 3 ns, 4 ns, 5 ns, 6 ns, 7 ns"},
		{trace.TicksPerSecond(1e6), 1_234_567_890, 1_234_567_900,
			"1234.567890 s, 1234.567892 s, 1234.567894 s, 1234.567896 s, 1234.567898 s, 1234.567900 s"},
		{trace.Clock{Num: 1, Den: 60}, 0, 2, "0 s, 20 s, 40 s, 60 s, 80 s, 100 s, 120 s"},
	} {
		var got []string
		for _, k := range ticks(x.clock, x.from, x.to, 0, 640, measure) {
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
	for _, s := range []string{"short", "a text that is longer than its place", "zwölf Boxkämpfer",
		"日本語のテキスト",
		"line\nbreak", ""} {
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

func TestGlyphs(t *testing.T) {
	// An accented letter has a second outline above the height of small letters.
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

// TestColorOfClashes checks that a name has the same colour in lists with other names, unless an earlier name
// in the alphabet selects the same colour.
func TestColorOfClashes(t *testing.T) {
	alone := func(name string) int { return ColorOf([]string{name})[0] }
	kept := 0
	for n := range 17 {
		for seed := range 20 {
			var names []string
			for i := range n {
				names = append(names, fmt.Sprint("MPI_", seed, "_", i*i))
			}
			of := ColorOf(names)
			for i, name := range names {
				clash := slices.ContainsFunc(names, func(o string) bool { return o < name && alone(o) == alone(name) })
				if !clash && of[i] != alone(name) {
					t.Errorf("%s of %d names: found colour %d, expected %d as in other pictures", name, n, of[i], alone(name))
				}
				if !clash {
					kept++
				}
			}
		}
	}
	// 6 colours of 1 to 16 names
	if kept < 20*60 {
		t.Errorf("found that %d of %d names keep their colours", kept, 20*16*17/2)
	}
}

// TestColorOf checks that names have different colours as long as the palette has enough colours, and that the
// colours do not depend on the order of the first names.
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
