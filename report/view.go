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

// view holds the contents of the page for its template.
type view struct {
	Title, Lead string
	Window      string // the window and the rest of the selection; empty for the whole trace
	Figures     []figure
	Picture     picture
	Sections    []section
	Path        string
}

// figure is one of the main numbers at the top of the page.
type figure struct{ Value, Exact, Name, Hint string }

// picture is the time line, as SVG elements or as the sources of images.
type picture struct {
	Light, Dark        template.HTML
	Source, DarkSource template.URL
	Width              int
	Caption            string
}

// section is a part of the page: facts, tables and a heat map, with a remark.
type section struct {
	ID, Title, Hint string
	Facts           []fact
	Tables          []table
	Heat            *heat
	Remark          string // stands after the tables
}

// fact is a named line of a section.
type fact struct {
	Name   string
	Values []cell
}

// table is a table of a section.
type table struct {
	Title string
	Head  []column
	Rows  [][]cell
	More  string // describes the rows that are not shown
}

// column is the head of a column.
type column struct {
	Name, Hint string
	Number     bool
}

// cell is a field of a table or a value of a fact.
type cell struct {
	Text   string
	Exact  string // the exact value, shown when the pointer is over the cell
	Number bool
	Depth  int     // depth of a call path
	Color  string  // colour of a region
	Bar    float64 // length of the bar, in percent
	HasBar bool
	Stack  []part
	Class  string
}

// Indent returns an element for each level by which the cell is indented.
func (c cell) Indent() []struct{} { return make([]struct{}, c.Depth) }

// part is a part of a stacked bar. X and W are thousandths of the bar.
type part struct {
	X, W  float64
	Color string
	Name  string
}

// Limits of what the page shows.
const (
	mostRows       = 20
	mostPaths      = 40
	mostLocations  = 32 // greatest number of locations that are all shown
	endsShown      = 12 // number of first, and of last, locations shown if there are more
	mostStragglers = 10
	mostFacts      = 24
	mostFiles      = 10
	mostName       = 160 // characters
	mostHeat       = 64  // locations
	stackParts     = 8
	minPathPercent = 0.5 // least time of a shown path, in percent of the time of all paths
)

// view returns the contents of the page.
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
	for _, s := range r.Chosen {
		parts = append(parts, name(s))
	}
	v.Window = strings.Join(parts, ", ")
	v.Figures = r.figures()
	v.Picture = r.Picture.view()
	for _, s := range []section{r.overview(), r.regions(), r.paths(), r.locations(), r.messages(), r.collectives(),
		r.resources(), r.checks()} {
		if s.ID != "" {
			v.Sections = append(v.Sections, s)
		}
	}
	return v
}

// bound formats a bound of the window, as a time after the first event where possible. It returns none
// for a bound that is not set.
func (r *Report) bound(t *int64, none string) string {
	if t == nil || *t == math.MaxInt64 {
		return none
	}
	if origin := cmp.Or(r.Begin, r.Info.First); origin != nil && (*t >= *origin) == (*t-*origin >= 0) {
		return r.Clock.FormatDuration(*t - *origin)
	}
	return r.Clock.FormatSeconds(*t) + " s"
}

// length returns the length in ticks of the part of the window that lies in the trace.
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

// figures returns the main numbers.
func (r *Report) figures() []figure {
	l := []figure{{Value: r.Clock.FormatDuration(r.length()), Exact: r.Clock.FormatSeconds(r.length()) + " s",
		Name: "duration"}}
	if waits, covered := r.waiting().Float(), r.Covered.Float(); covered > 0 && waits > 0 {
		l = append(l, figure{Value: percent(waits, covered), Name: "communicating and waiting",
			Hint: "of the time in which any region is open"})
	}
	if w := r.workers(); len(w) > 1 {
		if most, mean := w.maxAndMean(); most > 0 {
			l = append(l, figure{Value: percentOf(mean / float64(most)), Name: "load balance",
				Hint: "mean work of locations as a percentage of the greatest"})
		}
	}
	if m := r.Messages; m != nil && m.Sent > 0 {
		l = append(l, figure{Value: count(m.Sent), Name: "messages, " + size(m.SentBytes),
			Exact: count(m.SentBytes) + " bytes"})
	}
	if n := r.operations(); n > 0 {
		l = append(l, figure{Value: count(n), Name: "calls of collective operations"})
	}
	claims := int64(0)
	for _, a := range r.Activities {
		claims += a.Count
	}
	if claims > 0 {
		l = append(l, figure{Value: count(claims), Name: "claims"})
	}
	switch {
	case r.Errors > 0:
		l = append(l, figure{Value: count(r.Errors), Name: "errors", Hint: "found by weft check"})
	case r.Warnings > 0:
		l = append(l, figure{Value: count(r.Warnings), Name: "warnings", Hint: "found by weft check"})
	default:
		l = append(l, figure{Value: "none", Name: "errors", Hint: "found by weft check"})
	}
	return l
}

// waiting returns the exclusive time of the regions for which Waits returns true.
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

// view returns the picture for the template.
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
