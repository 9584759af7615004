package report

import (
	"bufio"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"sync"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/collectives"
	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/trace"
)

// Report is what was found in a trace. Slices are in the order in which they are to be
// shown, and whole: the page shows what comes first, and says how much more there is.
type Report struct {
	Title  string // above all; the name of the trace
	Format string // of the trace, for people

	// Info is of the window and what is chosen beside it, as is all else.
	Info  *info.Info
	Clock trace.Clock
	// From and To bound the window in ticks, To exclusive; nil is a bound that was not set.
	From, To *int64
	// Begin is the time of the first event of the whole trace, from which the window is counted; nil is that of Info.
	Begin *int64
	// Chosen names what is chosen beside the window, such as locations; empty for all.
	Chosen []string

	// Picture is the time line.
	Picture Picture

	Covered    trace.Ticks // time in which a region was open, added up over locations
	Regions    []profile.Region
	Activities []profile.Activity
	Locations  []profile.Location
	Paths      []calltree.Node // one tree for all locations

	// Definitions are the regions of locations by definition. They are needed where regions of one name, which
	// Regions and Locations put together, are of two kinds for Waits; else they may be nil.
	Definitions []profile.Location
	// Waits reports whether a location does nothing of its own in a region, but communicates,
	// synchronises or waits. Nil means that it never does.
	Waits func(region uint32) bool
	// Color is the colour of a region in the picture, "#rrggbb". Nil leaves regions without one.
	Color func(region uint32) string

	Messages    *messages.Result
	Collectives *collectives.Result
	// LocationName is the name of a location, by its index in the definitions. Nil numbers them.
	LocationName func(location uint32) string

	Errors, Warnings, Notes int64 // that checking found
	Rules                   []Rule
}

// Picture is the time line of a trace. What is empty is left out.
type Picture struct {
	// SVG are the documents of the picture, for light and for dark paper, which become a
	// part of the page. Without them PNG are images.
	SVG, DarkSVG []byte
	PNG, DarkPNG []byte
	// Width is how wide it is shown at most, in pixels.
	Width int
	// Caption says what the picture does not show.
	Caption string
}

// Rule is a rule of weft check that the trace breaks.
type Rule struct {
	Rule     string
	Severity string // error, warning, note
	Doc      string
	Count    int64
	Place    string // the first one
	Found    string
	Expected string
}

//go:embed page.html
var page string

var parsed = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(page))
})

// Write writes the page.
func (r *Report) Write(w io.Writer) error {
	whole := *r
	if whole.Waits == nil {
		whole.Waits = func(uint32) bool { return false }
	}
	if whole.Color == nil {
		whole.Color = func(uint32) string { return "" }
	}
	if whole.LocationName == nil {
		whole.LocationName = func(location uint32) string { return fmt.Sprint("location ", location) }
	}
	b := bufio.NewWriter(w)
	if err := parsed().Execute(b, whole.view()); err != nil {
		return err
	}
	return b.Flush()
}
