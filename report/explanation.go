package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/constraints"
	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/trace"
)

// findings returns the section that explains why the run takes as long as it does.
func (r *Report) findings() section {
	x := r.Explanation
	if r.Unexplained != "" {
		none := "no factors of efficiency and no critical path"
		if r.criticalPath().ID != "" {
			none = "no factors of efficiency"
		}
		return section{ID: "findings", Title: "Findings", Lead: "Nothing can be explained, and there are " + none + ": " +
			sentence(r.Unexplained) + "."}
	}
	if x == nil {
		return section{}
	}
	s := section{ID: "findings", Title: "Findings", Lead: sentence(x.Verdict), Hint: "Loss is the time that all threads " +
		"lose, in percent of the time of all threads. Gain is an upper bound for the time by which the run would be " +
		"shorter without the loss, in percent of the runtime."}
	t := table{Head: []column{{Name: "finding"}, {Name: "loss", Number: true}, {Name: "gain", Number: true},
		{Name: "part", Hint: "gain in percent of the runtime"}, {Name: "confidence"}, {Name: "where"}, {Name: "evidence"},
		{Name: "what to do"}}}
	for i := range x.Findings {
		f := &x.Findings[i]
		where := strings.Join(f.Path, " > ")
		if len(f.Locations) > 0 {
			where = strings.TrimPrefix(where+", "+strings.Join(f.Locations, ", "), ", ")
		}
		evidence := f.Evidence
		if c := f.Command(); c != "" {
			evidence = append(slices.Clip(evidence), "gain by "+c)
		}
		if r.Viewable {
			evidence = append(slices.Clip(evidence), fmt.Sprintf("shown by weft view --finding %d", i+1))
		}
		t.Rows = append(t.Rows, []cell{prose(fmt.Sprintf("%d. %s", i+1, f.Title)),
			{Text: percentOf(f.LossShare), Number: true}, r.time(f.Gain), bar(float64(f.Gain), float64(x.Ran.Runtime)),
			text(string(f.Confidence)), {Text: name(where), Class: "prose"},
			prose(strings.Join(evidence, "; ")), prose(f.Advice)})
	}
	s.table(t, maxRows)
	t = table{Title: "Not judged", Head: []column{{Name: "what and why"}}}
	for _, u := range x.Unjudged {
		t.Rows = append(t.Rows, []cell{{Text: sentence(u)}})
	}
	s.table(t, maxRows)
	return s
}

// prose returns a cell for sentences, which is wide enough to read them on a narrow screen. Its table then scrolls.
func prose(s string) cell { return cell{Text: sentence(s), Class: "prose"} }

// efficiency returns the section of the efficiency factors.
func (r *Report) efficiency() section {
	if r.Explanation == nil || r.Explanation.Efficiency == nil || r.Unexplained != "" {
		return section{}
	}
	x := r.Explanation.Efficiency
	s := section{ID: "efficiency", Title: "Efficiency", Hint: "The factors of the POP project: parallel efficiency is " +
		"the product of load balance and communication, and communication that of serialisation and transfer."}
	add := func(name string, c cell) { s.Facts = append(s.Facts, fact{name, []cell{c}}) }
	add("Processes", number(int64(x.Processes)))
	add("Threads", number(int64(x.Threads)))
	add("Runtime", r.time(x.Runtime))
	add("Runtime without transfers", r.time(x.Ideal))
	var list []efficiency.Factor
	for _, m := range efficiency.Models() {
		if m.Has(x) {
			list = append(list, m.Factors...)
		}
	}
	t := table{Head: []column{{Name: "factor"}, {Name: "value", Hint: "1 is the best", Number: true}}}
	for _, f := range list {
		value := f.Value(x)
		c := bar(value, 1)
		c.Text, c.Class = fmt.Sprintf("%.3f", value), factorClass(value)
		t.Rows = append(t.Rows, []cell{{Text: f.Name, Depth: f.Level}, c})
	}
	s.table(t, 2*maxRows)
	s.Remark = strings.Join(x.Sentences(), " ")
	return s
}

// factorClass returns the class of a factor for the style of the page: factors below 0.8 are marked as
// notable, and factors below 0.6 as bad.
func factorClass(value float64) string {
	switch {
	case value < 0.6:
		return "error"
	case value < 0.8:
		return "warning"
	}
	return ""
}

// waits returns the section of the wait states and of their causes.
func (r *Report) waits() section {
	x := r.WaitStates
	if x == nil {
		return section{}
	}
	s := section{ID: "waits", Title: "Waits", Hint: "A location waits if it sits in a call because another one is " +
		"late. The patterns are those of Scalasca."}
	add := func(name string, values ...cell) { s.Facts = append(s.Facts, fact{name, values}) }
	switch {
	case x.Missing() != "":
		s.Lead, s.Hint = x.NothingJudged(), ""
	case len(x.Patterns)+len(x.Unjudged) == 0:
		return section{}
	default:
		add("Waiting", r.sum(x.Waiting), text(percent(x.Waiting.Float(), x.Time.Float())+" of the time of all locations"))
	}
	for _, u := range x.Unjudged {
		add("Not judged", cell{Text: sentence(u.Text(x.Clock))})
	}
	t := table{Title: "Patterns", Head: []column{{Name: "pattern"}, {Name: "waits", Number: true},
		{Name: "time", Number: true}, {Name: "part", Hint: "part of the time of all locations"}, {Name: "mean", Number: true},
		{Name: "max", Number: true}, {Name: "most in"}}}
	depths := map[string]int{}
	for i := range x.Patterns {
		p := &x.Patterns[i]
		c := cell{Text: p.Pattern}
		if p.PartOf != "" {
			c.Depth = depths[p.PartOf] + 1
		}
		depths[p.Pattern] = c.Depth
		t.Rows = append(t.Rows, []cell{c, number(p.Count), r.sum(p.Time), bar(p.Time.Float(), x.Time.Float()),
			r.mean(p.Time, p.Count), r.time(p.Statistics.Max), r.mostIn(p)})
	}
	s.table(t, maxRows)
	s.table(r.causes(r.Causes), maxRows)
	t = table{Title: "Last to come to collective operations", Head: []column{{Name: "location"}, {Name: "communicator"},
		{Name: "operations", Number: true}, {Name: "of", Number: true}, {Name: "others lost", Number: true}}}
	for i := range x.Late {
		l := &x.Late[i]
		t.Rows = append(t.Rows, []cell{text(l.LocationName), text(l.Communicator), number(l.Operations),
			number(l.AllOperations), r.sum(l.Lost)})
	}
	s.table(t, stackParts)
	if v := x.Violations; v != (waits.Violations{}) {
		s.Remark = fmt.Sprintf("Clocks differ: %s. Waits are not reliable; see %s.", v.Text(r.Clock), v.Remedy())
	}
	return s
}

// mostIn returns a cell with the region that has the most waits of a pattern.
func (r *Report) mostIn(p *waits.Pattern) cell {
	if len(p.Regions) == 0 {
		return cell{}
	}
	x := &p.Regions[0]
	return text(fmt.Sprintf("%s, %s", x.Region, percent(x.Time.Float(), p.Time.Float())))
}

// causes returns the table of the call paths whose work made other locations wait.
func (r *Report) causes(x *causes.Result) table {
	t := table{Title: "Causes", Head: []column{{Name: "call path"}, {Name: "location"}, {Name: "pattern"},
		{Name: "waits caused", Number: true}, {Name: "part", Hint: "part of all waits of the pattern"},
		{Name: "for others that wait for it", Number: true}, {Name: "through other waits", Number: true}}}
	if x == nil {
		return t
	}
	for i := range x.Patterns {
		p := &x.Patterns[i]
		for j := range p.Costs[:min(len(p.Costs), causesShown)] {
			c := &p.Costs[j]
			path := strings.Join(c.Path, " > ")
			if path == "" {
				path = outside
			}
			t.Rows = append(t.Rows, []cell{text(path), text(c.LocationName), {Text: p.Pattern},
				r.ticks(c.ShortTerm + c.LongTerm), bar(c.ShortTerm+c.LongTerm, p.Waiting.Float()), r.ticks(c.ShortTerm),
				r.ticks(c.LongTerm)})
		}
	}
	return t
}

// causesShown is the number of causes that are shown for each pattern.
const causesShown = 5

// outside is the text for the time outside of all regions.
const outside = "(outside of all regions)"

// ticks returns a cell with a duration that can have a fraction of a tick.
func (r *Report) ticks(t float64) cell {
	const coarse = 1 << 20
	if t >= 1<<62 {
		return r.sum(trace.TicksOf(int64(t / coarse)).Times(coarse))
	}
	return r.time(int64(t + 0.5))
}

// criticalPath returns the section of the critical path.
func (r *Report) criticalPath() section {
	if r.ClaimPath != nil {
		return r.claimPath(r.ClaimPath)
	}
	if r.NoClaimPath != "" {
		return section{ID: "critical", Title: "Critical path", Lead: sentence(r.NoClaimPath)}
	}
	if r.Explanation == nil || r.Explanation.CriticalPath == nil {
		return section{}
	}
	x := r.Explanation.CriticalPath
	if missing := x.Missing(); missing != "" && r.Unexplained != "" {
		return section{}
	} else if missing != "" {
		return section{ID: "critical", Title: "Critical path", Lead: sentence(missing)}
	}
	s := section{ID: "critical", Title: "Critical path", Hint: "The chain of work that determines how long the run " +
		"takes. Imbalance is the part of a region's time on the path by which it exceeds the mean of all locations.",
		Remark: x.Sentence()}
	add := func(name string, values ...cell) { s.Facts = append(s.Facts, fact{name, values}) }
	add("Length", r.time(x.Length))
	add("Pieces", number(int64(x.Pieces.Len())))
	length := float64(x.Length)
	t := table{Title: "Regions", Head: []column{{Name: "region"}, {Name: "time", Number: true},
		{Name: "part", Hint: "part of the path"}, {Name: "imbalance", Number: true}}}
	for i := range x.Regions {
		y := &x.Regions[i]
		region := text(y.Region)
		if y.Region == "" {
			region.Text = outside
		}
		t.Rows = append(t.Rows, []cell{region, r.time(y.Time), bar(float64(y.Time), length), r.ticks(y.Imbalance)})
	}
	s.table(t, maxRows)
	t = table{Title: "Locations", Head: []column{{Name: "location"}, {Name: "time", Number: true},
		{Name: "part", Hint: "part of the path"}}}
	for i := range x.Locations {
		y := &x.Locations[i]
		t.Rows = append(t.Rows, []cell{text(y.LocationName), r.time(y.Time), bar(float64(y.Time), length)})
	}
	s.table(t, maxRows)
	t = table{Title: "If a region took half of its time", Head: []column{{Name: "region"},
		{Name: "the run is shorter by", Number: true}, {Name: "part", Hint: "part of the runtime"}}}
	for i := range x.Gains {
		g := &x.Gains[i]
		t.Rows = append(t.Rows, []cell{text(g.Region), r.time(g.Half), bar(float64(g.Half), float64(x.Runtime))})
	}
	s.table(t, maxRows)
	return s
}

// claimPath returns the section of the critical path of a trace of claims.
func (r *Report) claimPath(x *constraints.Result) section {
	s := section{ID: "critical", Title: "Critical path", Hint: "The chains of claims that determine how long the trace " +
		"takes, from the dependencies between claims."}
	s.Facts = []fact{{"Length", []cell{r.time(x.Length)}},
		{"Critical claims", []cell{number(int64(len(x.Critical))), text("of " + plural(int64(x.Claims), "claim"))}},
		{"Dependencies", []cell{number(int64(x.Dependencies)), text(fmt.Sprintf("and %d inferred", x.Inferred))}}}
	t := table{Title: "Activities", Head: []column{{Name: "activity"}, {Name: "critical claims", Number: true},
		{Name: "time", Number: true}, {Name: "part", Hint: "part of the path"}}}
	for i := range x.Regions {
		y := &x.Regions[i]
		t.Rows = append(t.Rows, []cell{text(y.Region), number(int64(y.Claims)), r.sum(y.Time),
			bar(y.Time.Float(), float64(x.Length))})
	}
	s.table(t, maxRows)
	return s
}
