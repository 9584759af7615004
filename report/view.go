package report

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/collectives"
	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/trace"
)

// view is what the page is made of.
type view struct {
	Title, Lead string
	Window      string // and what else is chosen, "" for all of the trace
	Figures     []figure
	Picture     picture
	Sections    []section
	Path        string
}

// figure is a number that matters most.
type figure struct{ Value, Exact, Name, Hint string }

type picture struct {
	Light, Dark        template.HTML
	Source, DarkSource template.URL
	Width              int
	Caption            string
}

// section is a part of the page: facts, tables and a heat map.
type section struct {
	ID, Title, Hint string
	Facts           []fact
	Tables          []table
	Heat            *heat
	Remark          string // behind the tables
}

type fact struct {
	Name   string
	Values []cell
}

type table struct {
	Title string
	Head  []column
	Rows  [][]cell
	More  string // what is left out
}

type column struct {
	Name, Hint string
	Number     bool
}

// cell is a field of a table.
type cell struct {
	Text   string
	Exact  string // shown when the mouse is over it
	Number bool
	Depth  int     // of a call path
	Color  string  // of a region
	Bar    float64 // part of the whole, in percent
	HasBar bool
	Stack  []part
	Class  string
}

// Indent has an element for each step to the right.
func (c cell) Indent() []struct{} { return make([]struct{}, c.Depth) }

// part is a part of a bar, in thousandths.
type part struct {
	X, W  float64
	Color string
	Name  string
}

// How much is shown of each.
const (
	mostRows       = 20
	mostPaths      = 40
	mostLocations  = 32 // more are shown by their ends
	endsShown      = 12
	mostStragglers = 10
	mostFacts      = 24
	mostFiles      = 10
	mostName       = 160 // characters
	mostHeat       = 64  // locations
	stackParts     = 8
	leastPath      = 0.5 // percent
)

// straggling is by how much more than the mean a location works that the others wait for,
// and which part of the duration that is at least.
const (
	straggling = 1.1
	matters    = 0.01
)

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
	for _, s := range []section{r.overview(), r.regions(), r.paths(), r.locations(), r.messages(), r.collectives(), r.resources(), r.checks()} {
		if s.ID != "" {
			v.Sections = append(v.Sections, s)
		}
	}
	return v
}

// bound is a bound of the window, counted from the first event.
func (r *Report) bound(t *int64, none string) string {
	if t == nil || *t == math.MaxInt64 {
		return none
	}
	if origin := cmp.Or(r.Begin, r.Info.First); origin != nil && (*t >= *origin) == (*t-*origin >= 0) {
		return r.Clock.FormatDuration(*t - *origin)
	}
	return r.Clock.FormatSeconds(*t) + " s"
}

// length is that of the window, within the trace.
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

func (r *Report) figures() []figure {
	l := []figure{{Value: r.Clock.FormatDuration(r.length()), Exact: r.Clock.FormatSeconds(r.length()) + " s", Name: "duration"}}
	if waits, covered := r.waiting().Float(), r.Covered.Float(); covered > 0 && waits > 0 {
		l = append(l, figure{Value: percent(waits, covered), Name: "communicating and waiting", Hint: "of the time in which any region is open"})
	}
	if w := r.work(); len(w) > 1 {
		if most, mean := w.ends(); most > 0 {
			l = append(l, figure{Value: percentOf(mean / float64(most)), Name: "load balance", Hint: "mean work of locations, of the most that one has"})
		}
	}
	if m := r.Messages; m != nil && m.Sent > 0 {
		l = append(l, figure{Value: count(m.Sent), Name: "messages, " + size(m.SentBytes), Exact: count(m.SentBytes) + " bytes"})
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
		l = append(l, figure{Value: count(r.Errors), Name: "errors", Hint: "that weft check finds"})
	case r.Warnings > 0:
		l = append(l, figure{Value: count(r.Warnings), Name: "warnings", Hint: "that weft check finds"})
	default:
		l = append(l, figure{Value: "none", Name: "errors", Hint: "that weft check finds"})
	}
	return l
}

// waiting is the time in regions that only communicate or wait.
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

func (r *Report) operations() (n int64) {
	if r.Collectives == nil {
		return 0
	}
	for i := range r.Collectives.Operations {
		n += r.Collectives.Operations[i].Calls
	}
	return n
}

func (p *Picture) view() picture {
	v := picture{Width: p.Width, Caption: name(p.Caption)}
	// What package draw has written is sound, and its texts are escaped.
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

func (r *Report) overview() section {
	x := r.Info
	s := section{ID: "overview", Title: "Overview"}
	add := func(name string, values ...cell) { s.Facts = append(s.Facts, fact{name, values}) }
	format := r.Format
	if x.Origin != "" {
		format += ", written from another format"
	}
	add("Format", text(format))
	bytes := int64(0)
	for _, f := range x.Files {
		bytes += f.Size
	}
	if n := int64(len(x.Files)); n == 1 {
		add("Size", sized(bytes))
	} else {
		c := sized(bytes)
		c.Text += " in " + plural(n, "file")
		add("Size", c)
	}
	if x.First == nil {
		add("Events", text("none"))
	} else {
		add("Duration", r.time(r.length()))
		add("First event", r.exactly(*x.First))
		add("Last event", r.exactly(*x.Last))
		if x.Start != "" {
			add("Started", text(x.Start))
		}
		add("Events", number(x.Events))
		if x.Derived > 0 {
			add("Derived from them", number(x.Derived))
		}
	}
	add("Locations", number(int64(len(x.Locations))))
	if x.Links > 0 {
		add("Dependencies", number(x.Links))
	}
	c := text(x.Clock.TicksPerSecond + " ticks a second")
	c.Text += ", resolution " + x.Clock.Resolution
	add("Clock", c)
	if x.Unclosed > 0 {
		add("Never left", cell{Text: plural(x.Unclosed, "visit") + " of regions; they count until their location's last event"})
	}
	if x.Orphans > 0 {
		add("Never entered", cell{Text: plural(x.Orphans, "leave") + " of regions"})
	}
	defects := cell{Text: "none"}
	if x.Errors+x.Warnings > 0 {
		defects = cell{Text: plural(x.Errors, "error") + ", " + plural(x.Warnings, "warning")}
	}
	add("Found while reading", defects)
	if x.Missing != nil && *x.Missing > 0 {
		add("Sums", cell{Text: "that the trace keeps itself were not used here"})
	}
	keys := make([]string, 0, len(x.Properties))
	for k := range x.Properties {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys[:min(len(keys), mostFacts)] {
		add(name(k), text(fmt.Sprint(x.Properties[k])))
	}
	if n := len(keys) - mostFacts; n > 0 {
		add("…", cell{Text: plural(int64(n), "more property", "more properties")})
	}
	kinds := table{Title: "Events by kind", Head: []column{{Name: "kind"}, {Name: "events", Number: true}}}
	for _, k := range x.Kinds {
		kinds.Rows = append(kinds.Rows, []cell{text(k.Name), number(k.Events + k.Derived)})
	}
	s.table(kinds, mostRows)
	if len(x.Files) > 1 {
		files := table{Title: "Files", Head: []column{{Name: "file"}, {Name: "bytes", Number: true}}}
		for _, f := range x.Files {
			files.Rows = append(files.Rows, []cell{text(f.Path), number(f.Size)})
		}
		s.table(files, mostFiles)
	}
	return s
}

// table adds a table, of which no more than some rows are shown.
func (s *section) table(t table, most int) {
	if n := len(t.Rows); n > most {
		t.Rows, t.More = t.Rows[:most], fmt.Sprintf("… and %d more", n-most)
	}
	if len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
}

func (r *Report) regions() section {
	if len(r.Regions) == 0 {
		return section{}
	}
	s := section{ID: "regions", Title: "Regions", Hint: "Exclusive time is that in which a region is the innermost open one; min, mean and max are those of its visits."}
	t := table{Head: []column{{Name: "region"}, {Name: "group"}, {Name: "exclusive", Number: true}, {Name: "", Hint: "part of the time in which any region is open"}, {Name: "inclusive", Number: true}, {Name: "visits", Number: true},
		{Name: "min", Number: true}, {Name: "mean", Number: true}, {Name: "max", Number: true}}}
	for i := range r.Regions {
		x := &r.Regions[i]
		t.Rows = append(t.Rows, []cell{r.region(x.Region, x.Name), text(x.Group), r.sum(x.Exclusive), bar(x.Exclusive.Float(), r.Covered.Float()), r.sum(x.Inclusive), number(x.Count), r.time(x.Min), r.mean(x.Sum, x.Count), r.time(x.Max)})
	}
	s.table(t, mostRows)
	return s
}

func (r *Report) paths() section {
	total := trace.Ticks{}
	for i := range r.Paths {
		if r.Paths[i].Depth == 0 {
			total = total.Plus(r.Paths[i].Inclusive)
		}
	}
	if total == (trace.Ticks{}) || !slices.ContainsFunc(r.Paths, func(n calltree.Node) bool { return n.Depth > 0 }) {
		return section{} // no more than the regions tell
	}
	s := section{ID: "paths", Title: "Call paths", Hint: "Each region inside of those that are open around it, most inclusive time first."}
	t := table{Head: []column{{Name: "call path"}, {Name: "inclusive", Number: true}, {Name: "", Hint: "part of all"}, {Name: "exclusive", Number: true}, {Name: "visits", Number: true}, {Name: "min", Number: true}, {Name: "mean", Number: true}, {Name: "max", Number: true}}}
	// A path that is shown is inside of one that is.
	list := slices.Clone(r.Paths)
	least, part := leastInclusive(list), leastOf(len(list), total.Float())
	left := 0
	for i := range list {
		n := &list[i]
		if n.Inclusive.Cmp(least) < 0 || n.Inclusive.Float() < part || len(t.Rows) == mostPaths {
			left++
			continue
		}
		c := r.region(n.Region, n.Name)
		c.Depth = min(n.Depth, 24)
		t.Rows = append(t.Rows, []cell{c, r.sum(n.Inclusive), bar(n.Inclusive.Float(), total.Float()), r.sum(n.Exclusive), number(n.Count), r.time(n.Min), r.mean(n.Inclusive, n.Count), r.time(n.Max)})
	}
	if left > 0 {
		t.More = fmt.Sprintf("… and %d more paths with less time", left)
	}
	s.table(t, mostPaths)
	return s
}

// leastOf is what a path of many has to have.
func leastOf(paths int, total float64) float64 {
	if paths <= mostRows {
		return 0
	}
	return math.Trunc(leastPath / 100 * total)
}

// leastInclusive is the inclusive time of the path that is the last one to be shown, if
// those with most are.
func leastInclusive(list []calltree.Node) trace.Ticks {
	if len(list) <= mostPaths {
		return trace.Ticks{}
	}
	times := make([]trace.Ticks, len(list))
	for i := range list {
		times[i] = list[i].Inclusive
	}
	slices.SortFunc(times, func(a, b trace.Ticks) int { return b.Cmp(a) })
	return times[mostPaths-1]
}

// worker is a location in which regions were open, and how long it worked in its own ones.
type worker struct {
	*profile.Location
	work int64
}

type workers []worker

// work is what the locations did.
func (r *Report) work() (l workers) {
	definitions := map[uint32][]profile.Region{}
	for _, d := range r.Definitions {
		definitions[d.Location] = d.Regions
	}
	for i := range r.Locations {
		w := worker{&r.Locations[i], 0}
		list := w.Regions
		if r.Definitions != nil {
			list = definitions[w.Location.Location]
		}
		for k := range list {
			if x := &list[k]; !r.Waits(x.Region) {
				w.work += x.Exclusive.Int64()
			}
		}
		if w.Covered > 0 {
			l = append(l, w)
		}
	}
	return l
}

// ends are the most work, and the mean.
func (l workers) ends() (most int64, mean float64) {
	for _, w := range l {
		most = max(most, w.work)
		mean += float64(w.work) / float64(len(l))
	}
	return most, mean
}

func (r *Report) locations() section {
	all := r.work()
	if len(all) == 0 {
		return section{}
	}
	s := section{ID: "locations", Title: "Locations", Hint: "Busy is the time in which any region is open; work is the part of it outside of regions that communicate, synchronise or wait."}
	length := r.length()
	busy, work := spread{}, spread{}
	for _, w := range all {
		busy.add(w.Covered)
		work.add(w.work)
	}
	t := table{Head: []column{{Name: plural(int64(len(all)), "location")}, {Name: "min", Number: true}, {Name: "mean", Number: true}, {Name: "max", Number: true}, {Name: "mean / max", Number: true}}}
	row := func(what string, p *spread) []cell {
		return []cell{{Text: what}, r.time(p.least), r.mean(p.sum, p.n), r.time(p.most), {Text: ofMost(p), Number: true}}
	}
	share := func(n int64) cell { return cell{Text: percent(float64(n), float64(length)), Number: true} }
	t.Rows = [][]cell{row("busy", &busy), {{Text: "busy, of the duration"}, share(busy.least), {Text: percentOf(busy.mean() / float64(max(1, length))), Number: true}, share(busy.most), {}}, row("work", &work)}
	s.Tables = append(s.Tables, t)

	head := []column{{Name: "location"}, {Name: "busy", Number: true}, {Name: "", Hint: "part of the duration"}, {Name: "work", Number: true}, {Name: "to mean", Hint: "work, and how much more or less than the mean of all", Number: true}, {Name: "exclusive time by region"}}
	line := func(w worker) []cell {
		return []cell{r.location(w.Location), r.time(w.Covered), bar(float64(w.Covered), float64(length)), r.time(w.work), deviation(float64(w.work), work.mean()), {Stack: r.stack(w.Regions, busy.most)}}
	}
	byWork := slices.Clone(all)
	slices.SortStableFunc(byWork, func(a, b worker) int { return cmp.Compare(b.work, a.work) })
	var late workers
	for _, w := range byWork {
		if more := float64(w.work) - work.mean(); len(all) > 1 && more > (straggling-1)*work.mean() && more >= matters*float64(length) {
			late = append(late, w)
		}
	}
	rule := fmt.Sprintf("A straggler works over %.0f %% longer than the mean of all locations, and by at least %.0f %% of the duration, so that others wait for it. ", 100*(straggling-1), 100*matters)
	if len(late) == 0 {
		s.Remark = rule + "There is none."
	} else {
		s.Remark = rule + fmt.Sprintf("Here %d of %d do.", len(late), len(all))
		t := table{Title: "Stragglers", Head: head}
		for _, w := range late {
			t.Rows = append(t.Rows, line(w))
		}
		s.table(t, mostStragglers)
	}
	t = table{Title: "All locations", Head: head}
	list := all
	if len(all) > mostLocations {
		t.Title = fmt.Sprintf("The %d locations with most work, and the %d with least", endsShown, endsShown)
		list = slices.Concat(byWork[:endsShown], byWork[len(byWork)-endsShown:])
		t.More = fmt.Sprintf("… and %d more between them", len(all)-2*endsShown)
	}
	for _, w := range list {
		t.Rows = append(t.Rows, line(w))
	}
	s.Tables = append(s.Tables, t)
	return s
}

// spread is the least, the most and the sum of times.
type spread struct {
	n, least, most int64
	sum            trace.Ticks
}

func (s *spread) add(t int64) {
	if s.n == 0 || t < s.least {
		s.least = t
	}
	s.n++
	s.sum.Add(t)
	s.most = max(s.most, t)
}

// ofMost is the mean, of the most.
func ofMost(s *spread) string {
	if s.most <= 0 {
		return "–"
	}
	return percentOf(s.mean() / float64(s.most))
}

func (s *spread) mean() float64 { return s.sum.Float() / float64(max(1, s.n)) }

// stack is the exclusive times of a location as parts of a bar.
func (r *Report) stack(list []profile.Region, whole int64) (out []part) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b profile.Region) int { return b.Exclusive.Cmp(a.Exclusive) })
	at := 0.0
	for i := range list {
		x := &list[i]
		w := 1000 * x.Exclusive.Float() / float64(max(1, whole))
		if i == stackParts || w < 0.5 {
			break
		}
		out = append(out, part{round(at), round(w), r.Color(x.Region), name(x.Name) + ": " + r.Clock.FormatSum(x.Exclusive)})
		at += w
	}
	return out
}

func round(f float64) float64 { return math.Round(f*10) / 10 }

func (r *Report) messages() section {
	m := r.Messages
	if m == nil || m.Sent+m.Received == 0 {
		return section{}
	}
	s := section{ID: "messages", Title: "Messages", Hint: "Latency is the time from a send to its receive."}
	add := func(name string, values ...cell) { s.Facts = append(s.Facts, fact{name, values}) }
	with := func(n int64, bytes uint64) []cell { return []cell{number(n), sized(bytes)} }
	add("Sent", with(m.Sent, m.SentBytes)...)
	add("Received", with(m.Received, m.ReceivedBytes)...)
	add("Matched", with(m.Matched, m.MatchedBytes)...)
	for _, x := range []struct {
		name string
		n    int64
	}{{"Sent, never received", m.SendsUnmatched}, {"Received, never sent", m.ReceivesUnmatched}, {"Received before sent", m.Early}, {"Of different sizes", m.SizeMismatches}} {
		if x.n > 0 {
			add(x.name, number(x.n))
		}
	}
	if l := m.Latency; l != nil && l.Count > 0 {
		for _, x := range []struct {
			name string
			c    cell
		}{{"Least latency", r.time(l.Min)}, {"Median latency", r.time(l.Median)}, {"Mean latency", r.mean(l.Sum, l.Count)}, {"99 % below", r.time(l.P99)}, {"Greatest latency", r.time(l.Max)}} {
			add(x.name, x.c)
		}
	}
	if m.Early > 0 {
		s.Remark = "Messages are received before they are sent: clocks differ, or records are missing, and latencies are not to be trusted; see weft align."
	}
	list := slices.Clone(m.Matrix)
	slices.SortStableFunc(list, func(a, b messages.Cell) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Count, a.Count))
	})
	t := table{Title: "Pairs with most bytes", Head: []column{{Name: "from"}, {Name: "to"}, {Name: "messages", Number: true}, {Name: "bytes", Number: true}, {Name: "", Hint: "part of all bytes"}, {Name: "min", Hint: "latency", Number: true}, {Name: "mean", Hint: "latency", Number: true}, {Name: "max", Hint: "latency", Number: true}}}
	for i := range list {
		c := &list[i]
		row := []cell{r.place(c.Source), r.place(c.Destination), number(c.Count), number(c.Bytes), bar(float64(c.Bytes), float64(m.SentBytes)), {Text: "–", Number: true}, {Text: "–", Number: true}, {Text: "–", Number: true}}
		if l := c.Latency; l != nil {
			row = append(row[:5], r.time(l.Min), r.mean(l.Sum, l.Count), r.time(l.Max))
		}
		t.Rows = append(t.Rows, row)
	}
	s.table(t, mostRows)
	s.Heat = r.heat(m)
	return s
}

// place names a location.
func (r *Report) place(loc uint32) cell {
	if loc == trace.NoRef {
		return cell{Text: "not known"}
	}
	return text(r.LocationName(loc))
}

func (r *Report) collectives() section {
	if r.operations() == 0 {
		return section{}
	}
	s := section{ID: "collectives", Title: "Collective operations", Hint: "Wait is how long the first member to come was there before the last one."}
	list := slices.Clone(r.Collectives.Operations)
	slices.SortStableFunc(list, func(a, b collectives.Operation) int { return b.Time.Sum.Cmp(a.Time.Sum) })
	t := table{Head: []column{{Name: "communicator"}, {Name: "operation"}, {Name: "members", Number: true}, {Name: "calls", Number: true}, {Name: "sent bytes", Number: true}, {Name: "received bytes", Number: true}, {Name: "time", Hint: "of all calls", Number: true}, {Name: "mean", Hint: "of a call", Number: true}, {Name: "max", Hint: "of a call", Number: true}, {Name: "mean wait", Number: true}, {Name: "max wait", Number: true}}}
	early := int64(0)
	for i := range list {
		o := &list[i]
		early += o.Early
		what := name(o.Name)
		if o.NonBlocking {
			what += " (non-blocking)"
		}
		none := cell{Text: "–", Number: true}
		row := []cell{text(o.Label), {Text: what}, number(int64(o.Members)), number(o.Calls), number(o.Sent), number(o.Received), none, none, none, none, none}
		if d := o.Time; d.Count > 0 {
			row[6], row[7], row[8] = r.sum(d.Sum), r.mean(d.Sum, d.Count), r.time(d.Max)
		}
		if d := o.Waiting; d.Count > 0 {
			row[9], row[10] = r.mean(d.Sum, d.Count), r.time(d.Max)
		}
		t.Rows = append(t.Rows, row)
	}
	s.table(t, mostRows)
	if early > 0 {
		s.Remark = plural(early, "operation") + " were left by somebody before all had come: clocks differ, or records are missing, and waits are not to be trusted; see weft align."
	}
	return s
}

func (r *Report) resources() section {
	x := r.Info
	if len(x.Resources)+len(r.Activities) == 0 {
		return section{}
	}
	s := section{ID: "resources", Title: "Resources", Hint: "Busy is the time with at least one claim; use is the mean amount held, of the capacity."}
	length := r.length()
	t := table{Head: []column{
		{Name: "resource"}, {Name: "capacity", Number: true}, {Name: "claims", Number: true}, {Name: "busy", Number: true},
		{Name: "", Hint: "busy part of the duration"}, {Name: "use", Number: true},
		{Name: "most at once", Hint: "claims", Number: true}, {Name: "highest amount", Number: true},
	}}
	for i := range x.Resources {
		y := &x.Resources[i]
		use := cell{Text: "–", Number: true}
		if y.Capacity > 0 && length > 0 {
			use.Text = percentOf(float64(y.AmountTime) / float64(length) / y.Capacity)
		}
		t.Rows = append(t.Rows, []cell{text(cmp.Or(y.Name, y.ID)), {Text: strings.TrimSpace(float(y.Capacity) + " " + name(y.Unit)), Number: true}, number(y.Count), r.time(y.Busy), bar(float64(y.Busy), float64(length)), use, number(y.MaxOpen), {Text: float(float64(y.MaxAmount)), Number: true}})
	}
	s.table(t, 2*mostRows)
	t = table{Title: "Activities", Head: []column{{Name: "activity"}, {Name: "claims", Number: true}, {Name: "time", Hint: "of all its claims", Number: true}, {Name: "min", Number: true}, {Name: "mean", Number: true}, {Name: "max", Number: true}}}
	for i := range r.Activities {
		y := &r.Activities[i]
		t.Rows = append(t.Rows, []cell{r.region(y.Region, y.Name), number(y.Count), r.sum(y.Time), r.time(y.Min), r.mean(y.Time, y.Count), r.time(y.Max)})
	}
	s.table(t, mostRows)
	return s
}

func (r *Report) checks() section {
	s := section{ID: "checks", Title: "Checks", Hint: fmt.Sprintf("weft check finds %s, %s and %s.", plural(r.Errors, "error"), plural(r.Warnings, "warning"), plural(r.Notes, "note"))}
	t := table{Head: []column{{Name: "rule"}, {Name: "times", Number: true}, {Name: "what it means"}, {Name: "first place"}}}
	rank := map[string]int{"error": 0, "warning": 1}
	list := slices.Clone(r.Rules)
	slices.SortStableFunc(list, func(a, b Rule) int {
		order := func(s string) int {
			if n, ok := rank[s]; ok {
				return n
			}
			return 2
		}
		return cmp.Or(cmp.Compare(order(a.Severity), order(b.Severity)), cmp.Compare(b.Count, a.Count))
	})
	for _, x := range list {
		rule := text(x.Rule)
		rule.Class = "rule " + x.Severity
		where := name(x.Place)
		if x.Found != "" {
			where += ": found " + name(x.Found)
		}
		if x.Expected != "" {
			where += ", expected " + name(x.Expected)
		}
		t.Rows = append(t.Rows, []cell{rule, number(x.Count), {Text: name(x.Doc)}, {Text: where}})
	}
	s.table(t, mostRows)
	return s
}

// name makes a name fit for the page: no longer than it has room for, of characters alone.
func name(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if n := 0; len(s) > mostName {
		for i := range s {
			if n++; n == mostName {
				return s[:i] + "…"
			}
		}
	}
	return s
}

func text(s string) cell { return cell{Text: name(s)} }

func (r *Report) region(ref uint32, s string) cell {
	return cell{Text: name(s), Color: r.Color(ref)}
}

func (r *Report) location(l *profile.Location) cell { return r.place(l.Location) }

// time is a length of time, and exactly.
func (r *Report) time(t int64) cell {
	return cell{Text: r.Clock.FormatDuration(t), Exact: r.Clock.FormatSeconds(t) + " s", Number: true}
}

// sum is a sum of times.
func (r *Report) sum(t trace.Ticks) cell {
	return cell{Text: r.Clock.FormatSum(t), Exact: r.Clock.FormatSumSeconds(t) + " s", Number: true}
}

func (r *Report) exactly(t int64) cell { return cell{Text: r.Clock.FormatSeconds(t) + " s"} }

func (r *Report) mean(sum trace.Ticks, n int64) cell {
	if n == 0 {
		return cell{Text: "–", Number: true}
	}
	return cell{Text: r.Clock.FormatMean(sum, n), Number: true}
}

// number is how many; groups of three digits stand apart.
func number[T int64 | uint64](n T) cell { return cell{Text: count(n), Number: true} }

func count[T int64 | uint64](n T) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// sized is a number of bytes.
func sized[T int64 | uint64](n T) cell {
	return cell{Text: size(n), Exact: count(n) + " bytes", Number: true}
}

func size[T int64 | uint64](n T) string {
	f, units := float64(n), []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for ; math.Abs(f) >= 1024 && i < len(units)-1; i++ {
		f /= 1024
	}
	if i == 0 {
		if n == 1 {
			return "1 byte"
		}
		return count(n) + " bytes"
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + units[i]
}

// bar is a part of a whole as a bar with its percents.
func bar(n, whole float64) cell {
	p := 100 * n / max(1, whole)
	return cell{Text: percent(n, whole), Bar: round(min(max(p, 0), 100)), HasBar: true, Number: true}
}

func percent(n, whole float64) string {
	if whole <= 0 {
		return "–"
	}
	return percentOf(n / whole)
}

func percentOf(f float64) string { return strconv.FormatFloat(100*f, 'f', 1, 64) + " %" }

func deviation(x, mean float64) cell {
	if mean <= 0 {
		return cell{Text: "–", Number: true}
	}
	s := strconv.FormatFloat(100*(x/mean-1), 'f', 1, 64)
	if s = strings.TrimPrefix(s, "-"); x < mean && s != "0.0" {
		s = "−" + s
	} else if s != "0.0" {
		s = "+" + s
	}
	return cell{Text: s + " %", Number: true}
}

func float(f float64) string {
	short, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 6, 64), 64)
	if err != nil {
		return strconv.FormatFloat(f, 'g', 6, 64)
	}
	if a := math.Abs(short); a >= 1e9 || a < 1e-4 && a > 0 {
		return strconv.FormatFloat(short, 'g', 6, 64)
	}
	return strconv.FormatFloat(short, 'f', -1, 64)
}

// plural is a number with what it counts.
func plural(n int64, words ...string) string {
	switch {
	case n == 1:
		return "1 " + words[0]
	case len(words) > 1:
		return count(n) + " " + words[1]
	}
	return count(n) + " " + words[0] + "s"
}
