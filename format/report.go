package format

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/weft-trace/weft/trace"
)

// Report collects defects: for each rule their number and the first few of them. It is safe for
// concurrent use. Its content does not depend on the order in which defects are added. Its size is
// bounded by the number of rules.
type Report struct {
	// Keep is the number of defects that are kept for each rule. 0 means 10.
	Keep int
	// Only, if it is not nil, reports whether a defect counts. It must be set before a pass begins. Only must
	// be safe for concurrent use.
	Only   func(d *trace.Defect) bool
	mu     sync.Mutex
	rules  map[string]*ruleDefects
	passes int
}

// ruleDefects are the defects of a rule.
type ruleDefects struct {
	before int64 // number of defects found before the first pass
	pass   int64 // number of defects found in this pass
	most   int64 // greatest number of defects found in one pass
	first  []*trace.Defect
}

// total returns the number of different defects that are known so far.
func (r *ruleDefects) total() int64 { return max(r.before+r.most, int64(len(r.first))) }

// NewReport returns an empty report.
func NewReport() *Report {
	return &Report{rules: map[string]*ruleDefects{}}
}

// Pass begins another pass over the events. A pass finds the defects of earlier passes again, but each
// defect counts once.
func (r *Report) Pass() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passes++
	for _, x := range r.rules {
		if r.passes == 1 {
			x.before = x.pass
			x.most = 0
		}
		x.pass = 0
	}
}

// Add adds a defect to the report.
func (r *Report) Add(d *trace.Defect) {
	r.add(d)
}

// add adds a defect to the report, and reports whether it counts.
func (r *Report) add(d *trace.Defect) bool {
	if r.Only != nil && !r.Only(d) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rule(d.Rule).count(max(1, d.Count))
	r.keepFirst(d)
	return true
}

// Merge adds the defects of the last pass of another report. No other goroutine may add defects to that report
// at the same time.
func (r *Report) Merge(o *Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, x := range o.rules {
		r.rule(name).count(x.pass)
		for _, d := range x.first {
			r.keepFirst(d)
		}
	}
}

// rule returns the defects of a rule, which it creates if needed.
func (r *Report) rule(name string) *ruleDefects {
	x := r.rules[name]
	if x == nil {
		x = &ruleDefects{}
		r.rules[name] = x
	}
	return x
}

// count adds n defects to the current pass.
func (r *ruleDefects) count(n int64) {
	r.pass += n
	r.most = max(r.most, r.pass)
}

// keepFirst keeps a defect if it belongs to the first ones of its rule.
func (r *Report) keepFirst(d *trace.Defect) {
	keep := cmp.Or(r.Keep, 10)
	x := r.rules[d.Rule]
	i, _ := slices.BinarySearchFunc(x.first, d, comparePlaces)
	// Defects at the same place stay in the order in which they were added.
	for i < len(x.first) && comparePlaces(x.first[i], d) == 0 {
		if r.passes > 1 && *x.first[i] == *d {
			return
		}
		i++
	}
	if i >= keep {
		return
	}
	x.first = slices.Insert(x.first, i, d)
	if len(x.first) > keep {
		x.first = x.first[:keep]
	}
}

// comparePlaces orders defects by their times, and those with equal or unknown times by their
// positions in the file.
func comparePlaces(a, b *trace.Defect) int {
	return cmp.Or(compareTimes(&a.Event, &b.Event), cmp.Compare(a.Position.Line, b.Position.Line),
		cmp.Compare(a.Position.Offset, b.Position.Offset), cmp.Compare(a.Record, b.Record), cmp.Compare(a.Found, b.Found),
		cmp.Compare(a.Position.File, b.Position.File))
}

// compareTimes compares the times of events. An unknown time comes first.
func compareTimes(a, b *trace.Place) int {
	switch {
	case a.HasTime && b.HasTime:
		return cmp.Compare(a.Time, b.Time)
	case a.HasTime:
		return 1
	case b.HasTime:
		return -1
	}
	return 0
}

// IsMissing reports whether a rule is about missing files.
func IsMissing(rule string) bool {
	return strings.HasSuffix(rule, ".missing-file") || strings.HasSuffix(rule, ".missing-definitions")
}

// RuleCount holds the number of defects of a rule, and the first ones of them.
type RuleCount struct {
	Rule     string
	Severity trace.Severity
	Count    int64
	First    []*trace.Defect
}

// Rules returns the broken rules, the most severe first, then by name.
func (r *Report) Rules() []RuleCount {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []RuleCount
	for name, x := range r.rules {
		sev := trace.Note
		for _, d := range x.first {
			sev = max(sev, d.Severity)
		}
		out = append(out, RuleCount{name, sev, x.total(), slices.Clone(x.first)})
	}
	slices.SortFunc(out, func(a, b RuleCount) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Rule, b.Rule))
	})
	return out
}
