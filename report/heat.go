package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/trace"
)

// heat is a heat map: for each pair of locations, it shows the number of bytes that the first location has
// sent to the second. All sizes are in pixels.
type heat struct {
	Width, Height int
	Left, Top     int
	Cell          int // width and height of a cell
	Size          int // width and height of all cells together
	Columns, Rows []heatName
	Shades        []shade
	Tips          []tip
	Legend        []heatKey
	Hint          string
}

// heatName is the name of a location next to or above the map.
type heatName struct {
	X, Y int
	Name string
}

// shade is the common outline of all cells of a colour level.
type shade struct {
	Level int
	Path  string
}

// tip is a cell whose explanation appears when the pointer is over the cell.
type tip struct {
	X, Y, Level int
	Text        string
}

// heatKey is the sample of a colour level in the legend of the map.
type heatKey struct{ X, Level int }

// The sizes of the heat map, in pixels.
const (
	heatLetter  = 6  // width of a letter in a name
	heatLetters = 20 // largest number of letters of a name
	heatWidth   = 480
	heatCell    = 24
	heatLevels  = 6
	heatTips    = 20 // largest number of locations for which cells have tips
)

// heat returns the heat map of the messages in m. It returns nil if fewer than 3 or more than maxHeatRows
// locations exchange messages.
func (r *Report) heat(m *messages.Result) *heat {
	var locs []uint32
	most, least := uint64(0), uint64(math.MaxUint64)
	for _, c := range m.Matrix {
		if c.Destination == trace.NoRef || c.Source == trace.NoRef {
			continue
		}
		locs = append(locs, c.Source, c.Destination)
		most, least = max(most, c.Bytes), min(least, c.Bytes)
	}
	slices.Sort(locs)
	locs = slices.Compact(locs)
	n := len(locs)
	if n < 3 || n > maxHeatRows {
		return nil
	}
	longest := 8
	names := make([]string, n)
	for i, l := range locs {
		names[i] = name(r.LocationName(l))
		if runes := []rune(names[i]); len(runes) > heatLetters {
			names[i] = string(runes[:heatLetters-1]) + "…"
		}
		longest = max(longest, len([]rune(names[i])))
	}
	h := &heat{Cell: min(heatCell, heatWidth/n), Left: 12 + longest*heatLetter, Top: 12 + longest*heatLetter}
	h.Size = n * h.Cell
	h.Width, h.Height = h.Left+h.Size+10, h.Top+h.Size+40
	every := 1 // only every n-th location has its name next to the map, where n is every
	if h.Cell < 11 {
		every = (11 + h.Cell - 1) / h.Cell
	}
	at := map[uint32]int{}
	for i, l := range locs {
		at[l] = i
		if i%every != 0 {
			continue
		}
		middle := i*h.Cell + h.Cell/2
		h.Rows = append(h.Rows, heatName{h.Left - 6, h.Top + middle + 4, names[i]})
		h.Columns = append(h.Columns, heatName{h.Left + middle + 4, h.Top - 6, names[i]})
	}
	// The colour scale is logarithmic if the largest size is more than 16 times the smallest.
	low, high := float64(0), float64(max(1, most))
	scale, hint := func(f float64) float64 { return f }, "0 to "+size(most)
	if high > 16*float64(max(1, least)) {
		scale, hint = math.Log, size(least)+" to "+size(most)+", by their logarithms"
		low, high = math.Log(float64(max(1, least))), math.Log(high)
	}
	level := func(bytes uint64) int {
		f := (scale(float64(max(1, bytes))) - low) / (high - low)
		return 1 + min(heatLevels-1, int(max(0, f)*heatLevels))
	}
	paths := make([]strings.Builder, heatLevels+1)
	for _, c := range m.Matrix {
		if c.Destination == trace.NoRef || c.Source == trace.NoRef {
			continue
		}
		x, y, v := h.Left+at[c.Destination]*h.Cell, h.Top+at[c.Source]*h.Cell, level(c.Bytes)
		if n <= heatTips {
			h.Tips = append(h.Tips, tip{x, y, v,
				fmt.Sprintf("%s to %s: %s, %s", name(r.LocationName(c.Source)), name(r.LocationName(c.Destination)),
					plural(c.Count, "message"), size(c.Bytes))})
			continue
		}
		fmt.Fprintf(&paths[v], "M%d %dh%dv%dh-%dz", x, y, h.Cell-1, h.Cell-1, h.Cell-1)
	}
	for v := range paths {
		if paths[v].Len() > 0 {
			h.Shades = append(h.Shades, shade{v, paths[v].String()})
		}
	}
	for v := 1; v <= heatLevels; v++ {
		h.Legend = append(h.Legend, heatKey{h.Left + (v-1)*24, v})
	}
	h.Hint = hint
	return h
}
