package report

import (
	"cmp"
	"encoding/base64"
	"html/template"
	"math"
	"strings"

	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/trace"
)

// view is the data for the template of the page.
type view struct {
	Title, Lead string
	Window      string // the window and other restrictions of the selection; empty for the whole trace
	Figures     []keyFigure
	Picture     picture
	First       []section // sections before the time line
	Sections    []section // sections after the time line
	Path        string
}

// keyFigure is one of the key numbers at the top of the page. Hint explains it.
type keyFigure struct{ Value, Exact, Name, Hint string }

// picture is the time line for the template. Light and Dark hold SVG elements. If they are empty, the page
// uses the data URLs of the images.
type picture struct {
	Light, Dark        template.HTML
	Source, DarkSource template.URL
	Width              int
	Caption            string
}

// section is a part of the page with a title: facts, tables and a heat map. Each of these may
// be missing.
type section struct {
	ID, Title, Hint string
	Lead            string // text before the hint, in larger letters
	Facts           []fact
	Tables          []table
	Heat            *heat
	Remark          string // text after the tables
}

// fact is a line of a section that shows a value with its name.
type fact struct {
	Name   string
	Values []cell
}

// table is a list with named columns. It appears below the facts of a section.
type table struct {
	Title string
	Head  []column
	Rows  [][]cell
	More  string // states how many rows are not shown
}

// column is a column of a table, with the text of its head.
type column struct {
	Name, Hint string
	Number     bool
}

// cell is the content of a field of a table, or the value of a fact.
type cell struct {
	Text   string
	Exact  string // the exact value, which appears when the pointer is over the cell
	Number bool
	Depth  int     // depth of a call path in the tree
	Color  string  // colour of a region, as "#rrggbb"
	Bar    float64 // length of the bar, in percent
	HasBar bool
	Stack  []barPart
	Class  string
}

// Indent returns a slice with one element for each level of indentation, because templates repeat
// by ranging over slices.
func (c cell) Indent() []struct{} { return make([]struct{}, c.Depth) }

// barPart is a part of a stacked bar. X and W are its left edge and its width, in thousandths of
// the bar.
type barPart struct {
	X, W  float64
	Color string
	Name  string
}

// These limits keep the page small.
const (
	maxRows        = 20
	maxPaths       = 40
	maxLocations   = 32 // largest number of locations of which all are shown
	endsShown      = 12 // number of first locations and number of last locations that are shown if there are more
	maxStragglers  = 10
	maxFacts       = 24
	maxFiles       = 10
	maxNameLength  = 160 // largest number of characters of a name
	maxHeatRows    = 64  // largest number of locations in a heat map
	stackParts     = 8
	minPathPercent = 0.5 // least inclusive time of a shown path, as a percentage of the time of all paths
)

// maxSentenceLength is the largest number of characters of a sentence that contains names.
const maxSentenceLength = 800

// view returns the data for the template.
func (r *Report) view() *view {
	x := r.Info
	v := &view{Title: name(r.Title), Path: name(x.Path)}
	lead := []string{name(r.Format)}
	if x.First != nil {
		lead = append(lead, r.Clock.FormatDuration(x.Length()))
	}
	lead = append(lead, plural(int64(len(x.Locations)), "location"), plural(x.Events, "event"))
	v.Lead = strings.Join(lead, " · ")
	var parts []string
	if r.From != nil || r.To != nil {
		parts = append(parts, "Window: "+r.bound(r.From, "its begin")+" to "+r.bound(r.To, "its end"))
	}
	for _, s := range r.Restrictions {
		parts = append(parts, name(s))
	}
	v.Window = strings.Join(parts, ", ")
	v.Figures = r.figures()
	v.Picture = r.Picture.view()
	if s := r.findings(); s.ID != "" {
		v.First = []section{s}
	}
	for _, s := range []section{r.overview(), r.regions(), r.paths(), r.locations(), r.efficiency(),
		r.waits(), r.criticalPath(), r.messages(), r.collectives(), r.resources(), r.checks()} {
		if s.ID != "" {
			v.Sections = append(v.Sections, s)
		}
	}
	return v
}

// bound formats a bound of the window, as a time since the first event if possible. It returns the text none
// if the bound is not set.
func (r *Report) bound(t *int64, none string) string {
	if t == nil || *t == math.MaxInt64 {
		return none
	}
	if origin := cmp.Or(r.Begin, r.Info.First); origin != nil && (*t >= *origin) == (*t-*origin >= 0) {
		return r.Clock.FormatDuration(*t - *origin)
	}
	return r.Clock.FormatSeconds(*t) + " s"
}

// length returns the duration of the window in ticks. Only the part between the first and last
// event counts.
func (r *Report) length() int64 {
	if r.Info.Window != nil || r.Info.First == nil {
		return r.Info.Length()
	}
	from, to := *r.Info.First, *r.Info.Last
	if r.From != nil {
		from = max(from, *r.From)
	}
	if r.To != nil {
		to = min(to, *r.To)
	}
	return max(0, to-from)
}

// figures returns the key numbers for the top of the page.
func (r *Report) figures() []keyFigure {
	l := []keyFigure{{Value: r.Clock.FormatDuration(r.length()), Exact: r.Clock.FormatSeconds(r.length()) + " s",
		Name: "duration"}}
	if waits, covered := r.waiting().Float(), r.Covered.Float(); covered > 0 && waits > 0 {
		l = append(l, keyFigure{Value: percent(waits, covered), Name: "communicating and waiting",
			Hint: "of the time in which any region is open; waits for threads and locks included"})
	}
	if x := r.Explanation; x != nil && x.Efficiency != nil && x.Efficiency.Threads > 1 {
		l = append(l, keyFigure{Value: percentOf(x.Efficiency.Factors.LoadBalance), Name: "load balance",
			Hint: "mean useful time of threads as a percentage of the greatest"})
	} else if w := r.workers(); x == nil && len(w) > 1 {
		if most, mean := w.maxAndMean(); most > 0 {
			l = append(l, keyFigure{Value: percentOf(mean / float64(most)), Name: "load balance",
				Hint: "mean work of locations as a percentage of the greatest"})
		}
	}
	if m := r.Messages; m != nil && m.Sent > 0 {
		l = append(l, keyFigure{Value: count(m.Sent), Name: noun(m.Sent, "message") + ", " + size(m.SentBytes),
			Exact: exactSize(m.SentBytes)})
	}
	if n := r.operations(); n > 0 {
		l = append(l, keyFigure{Value: count(n), Name: noun(n, "call") + " of collective operations"})
	}
	claims := int64(0)
	for _, a := range r.Activities {
		claims += a.Count
	}
	if claims > 0 {
		l = append(l, keyFigure{Value: count(claims), Name: noun(claims, "claim")})
	}
	switch {
	case r.Errors > 0:
		l = append(l, keyFigure{Value: count(r.Errors), Name: noun(r.Errors, "error"), Hint: "found by weft check"})
	case r.Warnings > 0:
		l = append(l, keyFigure{Value: count(r.Warnings), Name: noun(r.Warnings, "warning"), Hint: "found by weft check"})
	default:
		l = append(l, keyFigure{Value: "none", Name: "errors", Hint: "found by weft check"})
	}
	return l
}

// waiting returns the sum of the exclusive times of the regions for which Waits returns true, and of the waits in other
// regions.
func (r *Report) waiting() (n trace.Ticks) {
	add := func(list []profile.Region) {
		for i := range list {
			if x := &list[i]; r.Waits(x.Region) {
				n = n.Plus(x.Exclusive)
			}
		}
	}
	for i := range r.Definitions {
		add(r.Definitions[i].Regions)
	}
	if r.Definitions == nil {
		add(r.Regions)
	}
	for _, t := range r.waitsAtWork() {
		n = n.Plus(t)
	}
	return n
}

// operations returns the number of calls of collective operations.
func (r *Report) operations() (n int64) {
	if r.Collectives == nil {
		return 0
	}
	for i := range r.Collectives.Operations {
		n += r.Collectives.Operations[i].Calls
	}
	return n
}

// view returns the picture's data for the template.
func (p *Picture) view() picture {
	v := picture{Width: p.Width, Caption: name(p.Caption)}
	// Package draw writes well-formed SVG and escapes its texts.
	v.Light, v.Dark = template.HTML(p.SVG), template.HTML(p.DarkSVG)
	data := func(png []byte) template.URL {
		if len(png) == 0 {
			return ""
		}
		return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(png))
	}
	if len(p.SVG) == 0 {
		v.Source, v.DarkSource = data(p.PNG), data(p.DarkPNG)
	}
	return v
}
