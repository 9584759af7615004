package draw

import (
	"fmt"
	"hash/fnv"
	"image/color"
	"slices"
	"strings"
)

// rgb is a colour. Its opacity is passed separately.
type rgb struct{ r, g, b uint8 }

func hex(n uint32) rgb { return rgb{uint8(n >> 16), uint8(n >> 8), uint8(n)} }

func (c rgb) String() string { return fmt.Sprintf("#%02x%02x%02x", c.r, c.g, c.b) }

// ink returns the colour of text on a background of colour c: a dark colour on light backgrounds, and a light
// colour on dark backgrounds.
func (c rgb) ink() rgb {
	if 0.299*float64(c.r)+0.587*float64(c.g)+0.114*float64(c.b) > 140 {
		return hex(0x16191d)
	}
	return hex(0xffffff)
}

// Both palettes begin with the colours of Okabe and Ito, which people with any type of colour vision can
// distinguish. Yellow is the last of these, because it is too bright on large areas. Muted colours of Paul Tol
// follow, for pictures with more names. A colour whose contrast to the paper is below 1.75 is darker in the
// light palette, and lighter in the dark one.
var lightPalette = []rgb{hex(0x0072b2), hex(0xe69f00), hex(0x009e73), hex(0xd55e00), hex(0x56b4e9), hex(0xcc79a7),
	hex(0xcac037), hex(0x332288),
	hex(0x882255), hex(0x999933), hex(0x44aa99), hex(0xcc6677), hex(0xd4c472), hex(0x117733), hex(0xaa4499), hex(0x88ccee)}
var darkPalette = []rgb{hex(0x0072b2), hex(0xe69f00), hex(0x009e73), hex(0xd55e00), hex(0x56b4e9), hex(0xcc79a7),
	hex(0xf0e442), hex(0x433492),
	hex(0x882255), hex(0x999933), hex(0x44aa99), hex(0xcc6677), hex(0xddcc77), hex(0x117733), hex(0xaa4499), hex(0x88ccee)}

// Palette returns the colours for names as "#rrggbb", for light or dark paper. The colours at the
// beginning differ most from each other.
func Palette(onDark bool) []string {
	list := light.palette
	if onDark {
		list = dark.palette
	}
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.String()
	}
	return out
}

// ColorOf assigns a colour to each name, as an index into [Palette].
//
// Names are handled 16 at a time. A hash of each name selects one of the first 6 colours, so that the same
// name tends to have the same colour in pictures of different traces. If several names select the same colour,
// the first name in alphabetical order gets the colour. A second hash selects another colour for the other
// names, and names that still have no colour of their own get a free colour. If there are only a few names,
// ColorOf uses only the first 6, 8 or 12 colours. The first names get different colours, as long as the
// palette has unused colours. The order of these names has no influence on the colours.
func ColorOf(names []string) []int {
	out := make([]int, 0, len(names))
	for len(out) < len(names) {
		rest := names[len(out):]
		out = append(out, distinctColors(rest[:min(len(rest), len(lightPalette))], len(names))...)
	}
	return out
}

// clearColors is the number of colours at the beginning of the palette that are easiest to distinguish.
const clearColors = 6

// distinctColors returns a different colour for each name. The number of names must not exceed the number
// of colours in the palette. n is the number of all names of the picture: if there are few, only the first
// colours of the palette are used.
func distinctColors(names []string, n int) []int {
	// For few names, use only the first colours of the palette.
	choice := len(lightPalette)
	for _, size := range []int{clearColors, 8, 12} {
		if n <= size {
			choice = size
			break
		}
	}
	order, hashes := make([]int, len(names)), make([]int, len(names))
	for i, name := range names {
		h := fnv.New32a()
		h.Write([]byte(name))
		order[i], hashes[i] = i, int(h.Sum32()>>1)
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	out := make([]int, len(names))
	taken := make([]bool, choice)
	// assign gives each name in order the colour that wanted returns for its hash, unless another name has
	// this colour. Afterwards, order holds the names that still have no colour.
	assign := func(wanted func(hash int) int) {
		left := order[:0]
		for _, i := range order {
			if p := wanted(hashes[i]); taken[p] {
				left = append(left, i)
			} else {
				taken[p], out[i] = true, p
			}
		}
		order = left
	}
	assign(func(hash int) int { return hash % clearColors })
	assign(func(hash int) int {
		p := clearColors + hash>>8%(len(lightPalette)-clearColors)
		if p < choice {
			return p
		}
		return p % choice
	})
	assign(func(hash int) int {
		p := hash % choice
		for taken[p] {
			p = (p + 1) % choice
		}
		return p
	})
	return out
}

// theme holds the colours of a picture.
type theme struct {
	paper, text, dim, grid, band, rule, other, curve, arrow rgb
	palette                                                 []rgb // colours for names
}

// The background and the colours of strips are the same as on the viewer's page.
var (
	light = theme{paper: hex(0xffffff), text: hex(0x1c2127), dim: hex(0x5b6670), grid: hex(0xd9dee3), band: hex(0xf2f4f6),
		rule: hex(0xc3cad2), other: hex(0xa9b0b8), curve: hex(0x0072b2), arrow: hex(0x1c2127), palette: lightPalette}
	dark = theme{paper: hex(0x15181c), text: hex(0xe8ebee), dim: hex(0x9aa4ae), grid: hex(0x2b3138), band: hex(0x1d2126),
		rule: hex(0x3d454e), other: hex(0x6d757e), curve: hex(0x56b4e9), arrow: hex(0xe8ebee), palette: darkPalette}
)

// rgba returns the colour for images.
func (c rgb) rgba() color.RGBA { return color.RGBA{c.r, c.g, c.b, 255} }
