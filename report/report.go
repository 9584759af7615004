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

// Report holds the results of analyses of a trace. Slices are complete and in the order in which the
// page shows them. The page shows the first entries and the number of the others.
type Report struct {
	Title  string // title of the page: the name of the trace
	Format string // display name of the trace's format

	// Info describes the selected part of the trace, as all other fields do.
	Info  *info.Info
	Clock trace.Clock
	// From and To bound the window in ticks, To exclusive. Nil is a bound that is not set.
	From, To *int64
	// Begin is the time of the first event of the whole trace. The page shows the window's bounds
	// relative to it. Nil means Info.First.
	Begin *int64
	// Chosen describes the selection other than the window, such as locations; it is empty if all are
	// selected.
	Chosen []string

	// Picture is the time line.
	Picture Picture

	Covered    trace.Ticks // time in which a region was open, added up over locations
	Regions    []profile.Region
	Activities []profile.Activity
	Locations  []profile.Location
	Paths      []calltree.Node // one tree for all locations

	// Definitions lists the locations with one entry per region definition. Regions and Locations merge
	// regions of the same name. Definitions may be nil unless Waits differs between such regions.
	Definitions []profile.Location
	// Waits reports whether a location in a region only communicates, synchronises or waits. Nil is a
	// function that returns false.
	Waits func(region uint32) bool
	// Color returns the colour of a region in the picture, "#rrggbb". Nil gives regions no colour.
	Color func(region uint32) string

	Messages    *messages.Result
	Collectives *collectives.Result
	// LocationName returns the name of a location, by its index in the definitions. Nil names locations
	// by number.
	LocationName func(location uint32) string

	Errors, Warnings, Notes int64  // defects that checking found
	Rules                   []Rule // broken rules
}

// Picture is the time line of a trace. The page leaves out what is empty.
type Picture struct {
	// SVG and DarkSVG are documents for light and dark mode. The page contains their elements. If SVG is
	// empty, the page shows the images PNG and DarkPNG.
	SVG, DarkSVG []byte
	PNG, DarkPNG []byte
	// Width is the greatest width of the picture on the page, in pixels.
	Width int
	// Caption describes what the picture does not show.
	Caption string
}

// Rule is a rule of weft check that the trace breaks.
type Rule struct {
	Rule     string
	Severity string // error, warning, note
	Doc      string
	Count    int64
	Place    string // place of the first defect
	Found    string
	Expected string
}

// page is the source of the template.
//
//go:embed page.html
var page string

// parsed returns the template of the page.
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
