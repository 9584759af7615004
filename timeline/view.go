// Package timeline makes, from the event stream of a trace, the interval view
// that a picture of it shows: rows with spans, instants, curves and arrows. Its
// size is bounded by rows and pixel columns, never by the number of events: what
// is smaller than a pixel column is merged into that column.
package timeline

import "github.com/weft-trace/weft/trace"

// RowKind says what a row shows.
type RowKind uint8

// The kinds of rows.
const (
	StateRow  RowKind = iota // regions, nested by level
	ClaimRow                 // claims, in lanes or stacked by amount
	SignalRow                // a signal, counter or series as a curve
	EventsRow                // instants alone
)

// String is the kind's name in JSON and texts.
func (k RowKind) String() string { return [...]string{"state", "claim", "signal", "events"}[k&3] }

// View is what a picture of a trace shows. It belongs to the caller of [Build]
// and does not refer to the decoder. All times are ticks of Clock.
type View struct {
	Clock trace.Clock
	// Origin is the time of the trace's first event: labels count from it.
	Origin int64
	// From and To are the left and the right edge. To > From always.
	From, To int64
	// Width is the number of pixel columns; spans that are narrower than one
	// are merged.
	Width int
	// Title is the trace's own name, if it has one.
	Title string
	// RowsBy and ColorBy are the options that made the view.
	RowsBy, ColorBy string

	Rows []Row
	// MoreRows is how many rows were left out because of Options.MaxRows; at
	// least that many when MoreRowsInexact is set.
	MoreRows        int
	MoreRowsInexact bool

	// Keys are the names by which spans and instants are coloured.
	Keys []Key
	// Colors is the legend: the keys with the most time first, and, when there
	// are more than Options.MaxColors, a last one for all others.
	Colors []Color

	Arrows []Arrow
	// Links and Messages count the arrows.
	Links, Messages ArrowCount

	// Notes are one-line remarks on what the view leaves out.
	Notes []string
}

// Key is what spans are coloured by: a region or a value of an attribute.
type Key struct {
	Name  string
	Color int // index into View.Colors
}

// Color is an entry of the legend.
type Color struct {
	Name string
	// Ticks is the time covered in all shown rows. Nested regions count each.
	Ticks float64
	// Count is the number of spans and instants.
	Count int64
	// Other is set for the entry that stands for all further keys.
	Other bool
}

// Row is one line of the picture.
type Row struct {
	Label string
	// Group is the place of the row's location above it (node, process), empty
	// when it has none.
	Group string
	Kind  RowKind
	// Unit is that of Capacity or of the curve's values.
	Unit string
	// Capacity is the resource's, 0 when the row is not that of a resource.
	Capacity float64
	// Amounts is set when Span.Low and Span.High are amounts of a resource,
	// counted upwards from 0; else they are levels, counted downwards.
	Amounts bool
	// Height is the number of levels, or the amount at the upper edge.
	Height float64
	// Peak is the greatest amount held at once in the window, in Unit.
	Peak float64
	// Spans are sorted by Low, then by time. Those of one level do not overlap.
	Spans []Span
	// Instants are sorted by time, at most one a pixel column.
	Instants []Instant
	// Gaps are intervals in which nothing was recorded.
	Gaps []Interval
	// Curve is nil but for signal rows.
	Curve *Curve
	// Hidden counts spans that are not drawn because they are nested too deep
	// or too many overlap.
	Hidden int64
}

// Span is an interval of a row, cut to the window. One that stands for several
// spans smaller than a pixel column reaches over that column, and its key is
// the one that covers the most time.
type Span struct {
	From, To  int64
	Low, High float64 // vertical extent, see Row.Amounts
	Key       uint32  // index into View.Keys
	Count     uint32  // spans that it stands for
	// Cover is the part of [From, To) that is covered, 1 for a single span.
	Cover float32
}

// Instant is an event without duration.
type Instant struct {
	Time  int64
	Key   uint32
	Count uint32 // instants in this pixel column; the first one is told
	Label string
}

// Interval is a half-open interval of time.
type Interval struct{ From, To int64 }

// CurveKind says how the values between those recorded are to be drawn.
type CurveKind uint8

// The kinds of curves.
const (
	Smooth CurveKind = iota // polynomials: values are known everywhere
	Steps                   // a value holds until the next
	Points                  // samples: nothing is known between them
)

// Curve holds, for each pixel column, what a signal does in it. Columns without
// a value are NaN in all four slices.
type Curve struct {
	Kind CurveKind
	Min  []float64
	Max  []float64
	// First and Last are the values at the column's beginning and end.
	First, Last []float64
	// Lowest and Highest bound the values of all columns; NaN when there are none.
	Lowest, Highest float64
	// Values is the number of pieces or samples in the window.
	Values int64
}

// ArrowKind says what an arrow is.
type ArrowKind uint8

// The kinds of arrows.
const (
	Dependency ArrowKind = iota // a stored link
	Message                     // a send matched with a receive
)

// Arrow leads from one row to another, or the same. Its ends may lie outside of
// the window.
type Arrow struct {
	Kind     ArrowKind
	Src, Dst ArrowEnd
	Label    string // the dependency's attribute `type` or `name`
}

// ArrowEnd is an end of an arrow.
type ArrowEnd struct {
	Row  int // index into View.Rows
	Time int64
	// Level is the vertical place, as Span.Low; negative: the row's middle.
	Level float64
}

// ArrowCount counts arrows of one kind.
type ArrowCount struct {
	Total int64 // that touch the window
	Drawn int64 // that are in View.Arrows
	// Unmatched counts links with an end that the trace does not have, sends
	// without a receive and receives without a send.
	Unmatched int64
}
