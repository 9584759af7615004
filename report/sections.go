package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/collectives"
	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/trace"
)

// overview returns the section with the properties, events and files of the trace.
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
		add("Size", byteSize(bytes))
	} else {
		c := byteSize(bytes)
		c.Text += " in " + plural(n, "file")
		add("Size", c)
	}
	if x.First == nil {
		add("Events", text("none"))
	} else {
		add("Duration", r.time(r.length()))
		add("First event", r.exactTime(*x.First))
		add("Last event", r.exactTime(*x.Last))
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
		add("Never left", cell{Text: plural(x.Unclosed, "visit") + " of regions; they count until their location's last " +
			"event"})
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
		add("Sums", cell{Text: "the sums that the trace itself holds were not used here"})
	}
	keys := make([]string, 0, len(x.Properties))
	for k := range x.Properties {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys[:min(len(keys), maxFacts)] {
		add(name(k), text(fmt.Sprint(x.Properties[k])))
	}
	if n := len(keys) - maxFacts; n > 0 {
		add("…", cell{Text: plural(int64(n), "more property", "more properties")})
	}
	kinds := table{Title: "Events by kind", Head: []column{{Name: "kind"}, {Name: "events", Number: true}}}
	for _, k := range x.Kinds {
		kinds.Rows = append(kinds.Rows, []cell{text(k.Name), number(k.Events + k.Derived)})
	}
	s.table(kinds, maxRows)
	if len(x.Files) > 1 {
		files := table{Title: "Files", Head: []column{{Name: "file"}, {Name: "bytes", Number: true}}}
		for _, f := range x.Files {
			files.Rows = append(files.Rows, []cell{text(f.Path), number(f.Size)})
		}
		s.table(files, maxFiles)
	}
	return s
}

// table adds t to the section unless it has no rows. The page shows at most most rows of the table, and the
// number of the other rows.
func (s *section) table(t table, most int) {
	if n := len(t.Rows); n > most {
		t.Rows, t.More = t.Rows[:most], fmt.Sprintf("… and %d more", n-most)
	}
	if len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
}

// regions returns the section of the profile by region.
func (r *Report) regions() section {
	if len(r.Regions) == 0 {
		return section{}
	}
	s := section{ID: "regions", Title: "Regions", Hint: "Exclusive time is the time in which a region is the innermost " +
		"open one; min, mean and max are durations of visits."}
	t := table{Head: []column{{Name: "region"}, {Name: "group"}, {Name: "exclusive", Number: true},
		{Name: "part", Hint: "part of the time in which any region is open"}, {Name: "inclusive", Number: true},
		{Name: "visits", Number: true},
		{Name: "min", Number: true}, {Name: "mean", Number: true}, {Name: "max", Number: true}}}
	for i := range r.Regions {
		x := &r.Regions[i]
		t.Rows = append(t.Rows, []cell{r.region(x.Region, x.Name), text(x.Group), r.sum(x.Exclusive),
			bar(x.Exclusive.Float(), r.Covered.Float()), r.sum(x.Inclusive), number(x.Count), r.time(x.Min),
			r.mean(x.Sum, x.Count), r.time(x.Max)})
	}
	s.table(t, maxRows)
	return s
}

// paths returns the section of the call paths.
func (r *Report) paths() section {
	total := trace.Ticks{}
	for i := range r.Paths {
		if r.Paths[i].Depth == 0 {
			total = total.Plus(r.Paths[i].Inclusive)
		}
	}
	if total == (trace.Ticks{}) || !slices.ContainsFunc(r.Paths, func(n calltree.Node) bool { return n.Depth > 0 }) {
		return section{} // the table of regions shows the same times
	}
	s := section{ID: "paths", Title: "Call paths", Hint: "Each region below the regions that are open around it; the " +
		"path with most inclusive time comes first."}
	t := table{Head: []column{{Name: "call path"}, {Name: "inclusive", Number: true}, {Name: "part", Hint: "part of all"},
		{Name: "exclusive", Number: true}, {Name: "visits", Number: true}, {Name: "min", Number: true},
		{Name: "mean", Number: true}, {Name: "max", Number: true}}}
	// A path has at least the inclusive time of each path below it. If a path is shown, its parents
	// are therefore shown too.
	list := slices.Clone(r.Paths)
	least, share := inclusiveOfLastPath(list), minTimeShown(len(list), total.Float())
	left := 0
	for i := range list {
		n := &list[i]
		if n.Inclusive.Cmp(least) < 0 || n.Inclusive.Float() < share || len(t.Rows) == maxPaths {
			left++
			continue
		}
		c := r.region(n.Region, n.Name)
		c.Depth = min(n.Depth, 24)
		t.Rows = append(t.Rows, []cell{c, r.sum(n.Inclusive), bar(n.Inclusive.Float(), total.Float()), r.sum(n.Exclusive),
			number(n.Count), r.time(n.Min), r.mean(n.Inclusive, n.Count), r.time(n.Max)})
	}
	if left > 0 {
		t.More = "… and " + plural(int64(left), "more path") + " with less time"
	}
	s.table(t, maxPaths)
	return s
}

// minTimeShown returns the inclusive time that a path needs to be shown. total is the time of all paths. The
// result is 0 if there are few paths, so that all paths are shown.
func minTimeShown(paths int, total float64) float64 {
	if paths <= maxRows {
		return 0
	}
	return math.Trunc(minPathPercent / 100 * total)
}

// inclusiveOfLastPath returns the maxPaths-th largest inclusive time of a path. It returns 0 if there are at most
// maxPaths paths.
func inclusiveOfLastPath(list []calltree.Node) trace.Ticks {
	if len(list) <= maxPaths {
		return trace.Ticks{}
	}
	times := make([]trace.Ticks, len(list))
	for i := range list {
		times[i] = list[i].Inclusive
	}
	slices.SortFunc(times, func(a, b trace.Ticks) int { return b.Cmp(a) })
	return times[maxPaths-1]
}

// messages returns the section of the messages.
func (r *Report) messages() section {
	m := r.Messages
	if m == nil || m.Sent+m.Received == 0 {
		return section{}
	}
	s := section{ID: "messages", Title: "Messages", Hint: "Latency is the time from a send to its receive."}
	add := func(name string, values ...cell) { s.Facts = append(s.Facts, fact{name, values}) }
	counted := func(n int64, bytes uint64) []cell { return []cell{number(n), byteSize(bytes)} }
	add("Sent", counted(m.Sent, m.SentBytes)...)
	add("Received", counted(m.Received, m.ReceivedBytes)...)
	add("Matched", counted(m.Matched, m.MatchedBytes)...)
	for _, x := range []struct {
		name string
		n    int64
	}{{"Sent, never received", m.SendsUnmatched}, {"Received, never sent", m.ReceivesUnmatched},
		{"Received before sent", m.Early}, {"Of different sizes", m.SizeMismatches},
		{"Sent, size unknown", m.SentUnsized}, {"Received, size unknown", m.ReceivedUnsized}} {
		if x.n > 0 {
			add(x.name, number(x.n))
		}
	}
	if l := m.Latency; l != nil && l.Count > 0 {
		for _, x := range []struct {
			name string
			c    cell
		}{{"Least latency", r.time(l.Min)}, {"Median latency", r.time(l.Median)}, {"Mean latency", r.mean(l.Sum, l.Count)},
			{"99 % below", r.time(l.P99)}, {"Greatest latency", r.time(l.Max)}} {
			add(x.name, x.c)
		}
	}
	if m.Early > 0 {
		s.Remark = "Messages are received before they are sent: clocks differ, or records are missing. Latencies are not " +
			"reliable; see weft align."
	}
	list := slices.Clone(m.Matrix)
	slices.SortStableFunc(list, func(a, b messages.Cell) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Count, a.Count))
	})
	t := table{Title: "Pairs with most bytes",
		Head: []column{{Name: "from"}, {Name: "to"}, {Name: "messages", Number: true}, {Name: "bytes", Number: true},
			{Name: "part", Hint: "part of all bytes"}, {Name: "min", Hint: "latency", Number: true},
			{Name: "mean", Hint: "latency", Number: true}, {Name: "max", Hint: "latency", Number: true}}}
	for i := range list {
		c := &list[i]
		row := []cell{r.place(c.Source), r.place(c.Destination), number(c.Count), number(c.Bytes),
			bar(float64(c.Bytes), float64(m.SentBytes)), {Text: "–", Number: true}, {Text: "–", Number: true},
			{Text: "–", Number: true}}
		if l := c.Latency; l != nil {
			row = append(row[:5], r.time(l.Min), r.mean(l.Sum, l.Count), r.time(l.Max))
		}
		t.Rows = append(t.Rows, row)
	}
	s.table(t, maxRows)
	s.Heat = r.heat(m)
	return s
}

// place returns a cell with the name of a location.
func (r *Report) place(loc uint32) cell {
	if loc == trace.NoRef {
		return cell{Text: "not known"}
	}
	return text(r.LocationName(loc))
}

// collectives returns the section of the collective operations.
func (r *Report) collectives() section {
	if r.operations() == 0 {
		return section{}
	}
	s := section{ID: "collectives", Title: "Collective operations",
		Hint: "Wait is the time from the arrival of the first member to that of the last."}
	list := slices.Clone(r.Collectives.Operations)
	slices.SortStableFunc(list, func(a, b collectives.Operation) int { return b.Time.Sum.Cmp(a.Time.Sum) })
	t := table{Head: []column{{Name: "communicator"}, {Name: "operation"}, {Name: "members", Number: true},
		{Name: "calls", Number: true}, {Name: "sent bytes", Number: true}, {Name: "received bytes", Number: true},
		{Name: "time", Hint: "of all calls", Number: true}, {Name: "mean", Hint: "of a call", Number: true},
		{Name: "max", Hint: "of a call", Number: true}, {Name: "mean wait", Number: true}, {Name: "max wait", Number: true}}}
	early := int64(0)
	for i := range list {
		o := &list[i]
		early += o.Early
		what := name(o.Name)
		if o.NonBlocking {
			what += " (non-blocking)"
		}
		none := cell{Text: "–", Number: true}
		row := []cell{text(o.Label), {Text: what}, number(int64(o.Members)), number(o.Calls), number(o.Sent),
			number(o.Received), none, none, none, none, none}
		if d := o.Time; d.Count > 0 {
			row[6], row[7], row[8] = r.sum(d.Sum), r.mean(d.Sum, d.Count), r.time(d.Max)
		}
		if d := o.Waiting; d.Count > 0 {
			row[9], row[10] = r.mean(d.Sum, d.Count), r.time(d.Max)
		}
		t.Rows = append(t.Rows, row)
	}
	s.table(t, maxRows)
	if early > 0 {
		s.Remark = plural(early, "operation") + " were left by a member before all had come: clocks differ, or records " +
			"are missing. Waits are not reliable; see weft align."
	}
	return s
}

// resources returns the section of the resources and activities.
func (r *Report) resources() section {
	x := r.Info
	if len(x.Resources)+len(r.Activities) == 0 {
		return section{}
	}
	s := section{ID: "resources", Title: "Resources", Hint: "Busy is the time with at least one claim; use is the mean " +
		"amount held as a percentage of the capacity."}
	length := r.length()
	t := table{Head: []column{
		{Name: "resource"}, {Name: "capacity", Number: true}, {Name: "claims", Number: true}, {Name: "busy", Number: true},
		{Name: "part", Hint: "busy part of the duration"}, {Name: "use", Number: true},
		{Name: "most at once", Hint: "claims", Number: true}, {Name: "highest amount", Number: true},
	}}
	for i := range x.Resources {
		y := &x.Resources[i]
		use := cell{Text: "–", Number: true}
		if y.Capacity > 0 && length > 0 {
			use.Text = percentOf(float64(y.AmountTime) / float64(length) / y.Capacity)
		}
		t.Rows = append(t.Rows, []cell{text(cmp.Or(y.Name, y.ID)),
			{Text: strings.TrimSpace(float(y.Capacity) + " " + name(y.Unit)), Number: true}, number(y.Count), r.time(y.Busy),
			bar(float64(y.Busy), float64(length)), use, number(y.MaxOpen), {Text: float(float64(y.MaxAmount)), Number: true}})
	}
	s.table(t, 2*maxRows)
	t = table{Title: "Activities",
		Head: []column{{Name: "activity"}, {Name: "claims", Number: true},
			{Name: "time", Hint: "of all its claims", Number: true}, {Name: "min", Number: true}, {Name: "mean", Number: true},
			{Name: "max", Number: true}}}
	for i := range r.Activities {
		y := &r.Activities[i]
		t.Rows = append(t.Rows, []cell{r.region(y.Region, y.Name), number(y.Count), r.sum(y.Time), r.time(y.Min),
			r.mean(y.Time, y.Count), r.time(y.Max)})
	}
	s.table(t, maxRows)
	return s
}

// checks returns the section of the broken rules, with the most severe rules first.
func (r *Report) checks() section {
	s := section{ID: "checks", Title: "Checks",
		Hint: fmt.Sprintf("weft check finds %s, %s and %s.", plural(r.Errors, "error"), plural(r.Warnings, "warning"),
			plural(r.Notes, "note"))}
	t := table{Head: []column{{Name: "rule"}, {Name: "times", Number: true}, {Name: "what it means"},
		{Name: "first place"}}}
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
	s.table(t, maxRows)
	return s
}
