package report

import (
	"bufio"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"sync"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/collectives"
	"github.com/weft-trace/weft/analysis/constraints"
	"github.com/weft-trace/weft/analysis/explain"
	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/trace"
)

// Report holds the results of analyses of a trace. Its slices hold all entries, in the order in which the page
// lists them. For each slice, the page shows the first entries and the number of the remaining ones.
type Report struct {
	Title  string // title of the page: the name of the trace
	Format string // display name of the trace's format

	// Info describes the selected part of the trace. All other fields also refer to this part.
	Info  *info.Info
	Clock trace.Clock
	// From and To are the bounds of the window in ticks; To is exclusive. A nil bound means that
	// the window is not limited there.
	From, To *int64
	// Begin is the time of the first event of the whole trace. The page shows the window's bounds
	// relative to it. Nil means Info.First.
	Begin *int64
	// Restrictions describes the restrictions of the selection other than the window, such as locations. It is empty
	// if there are no other restrictions.
	Restrictions []string

	// Picture is the picture of the time line at the top of the page.
	Picture Picture

	Covered    trace.Ticks // time in ticks in which any region was open, summed over locations
	Regions    []profile.Region
	Activities []profile.Activity
	Locations  []profile.Location
	Paths      []calltree.Node // a tree of call paths, summed over all locations

	// Definitions holds the same figures as Locations, with an entry for each definition of a region. Regions and
	// Locations combine regions of the same name. Definitions may be nil unless Waits returns different values
	// for regions of the same name.
	Definitions []profile.Location
	// Waits reports whether a location only communicates, synchronises or waits while the region is
	// the innermost open one. A nil function means that no region does.
	Waits func(region uint32) bool
	// Color returns the colour of a region in the picture as "#rrggbb". With a nil function,
	// regions have no colour.
	Color func(region uint32) string

	// Explanation explains the runtime. If a field of it is nil, the page leaves out the section of that
	// field.
	Explanation *explain.Page
	// Viewable states whether weft view --finding shows the findings of Explanation.
	Viewable bool
	// Unexplained is the reason why the trace cannot be explained, for the section about findings. It is "" if the
	// trace can be explained, or if nobody has tried to.
	Unexplained string
	// WaitStates holds the wait states of the selected part. If it is nil, the page has no section about wait
	// states.
	WaitStates *waits.Result
	// Causes holds the causes of the wait states. If it is nil, the page has no table of causes.
	Causes *causes.Result
	// ClaimPath is the critical path of a trace of claims. If it is nil, the page shows the critical path of
	// Explanation.
	ClaimPath *constraints.Result
	// NoClaimPath is a sentence with the reason why ClaimPath is nil although the trace has claims, or "".
	NoClaimPath string

	Messages    *messages.Result
	Collectives *collectives.Result
	// LocationName returns the name of a location, given its number in the definitions. With a nil
	// function, locations are named by their numbers.
	LocationName func(location uint32) string

	Errors, Warnings, Notes int64  // numbers of defects that checking found
	Rules                   []Rule // broken rules
}

// Picture is the picture of a trace's time line. The page leaves out its empty fields.
type Picture struct {
	// SVG and DarkSVG are SVG documents for light and dark mode, whose elements the page includes. If SVG is
	// empty, the page shows the images PNG and DarkPNG.
	SVG, DarkSVG []byte
	PNG, DarkPNG []byte
	// Width is the greatest width of the picture on the page, in pixels.
	Width int
	// Caption is a text that lists the parts of the trace that the picture leaves out.
	Caption string
}

// Rule is a rule of `weft check` that the trace breaks.
type Rule struct {
	Rule     string
	Severity string // error, warning, note
	Doc      string
	Count    int64
	Place    string // place of the first defect
	Found    string
	Expected string
}

// page is the source text of the template.
//
//go:embed page.html
var page string

// pageTemplate returns the parsed template of the page.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(page))
})

// Write writes the report to w as an HTML page. It returns the errors of w.
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
	if err := pageTemplate().Execute(b, whole.view()); err != nil {
		return err
	}
	return b.Flush()
}
