// Package explain explains in sentences why a run takes as long as it does. An explanation describes the run,
// the factor of its efficiency with the lowest value, the largest losses, and the events that could not be
// judged. For each loss, it has the cause, and an estimate of the gain if the loss were avoided. The package
// combines package waits with the analyses that use it, and reads the trace once.
//
// The gain of a finding is the runtime of the trace minus the runtime without the loss. For the runtime
// without the loss, all waits are computed again. [Explain] keeps the calls and waits of the trace in 12 MiB
// of memory and, above that, in temporary files of about 30 bytes per call. It also uses 16 bytes per call for
// the times of paths that repeat.
package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/iterations"
	"github.com/weft-trace/weft/analysis/internal/retime"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Options are the settings of an explanation.
type Options struct {
	// Rows maps regions to the rows that count as one. Nil counts each region by itself.
	Rows *trace.Rows
	// Gains is the number of regions for which Page.CriticalPath states the runtime of the run if the region
	// took half of its time. If Gains is 0, the page has no critical path and no causes.
	Gains int
	// Part is set if the events are those of a part of a trace. It is the value of [efficiency.Options.Part].
	Part bool
}

// Page is an explanation. Times are in ticks of Clock.
type Page struct {
	Clock trace.Clock `json:"-"`
	// Ran describes the run: its processes, its runtime, and its regions.
	Ran RunSummary `json:"ran"`
	// Verdict is a sentence about the efficiency and the largest loss.
	Verdict string `json:"verdict"`
	// Efficiency holds the factors on which the verdict is based.
	Efficiency *efficiency.Result `json:"efficiency"`
	// Findings holds at most ten findings, in descending order of their gain.
	Findings []Finding `json:"findings"`
	// Unjudged holds a sentence for each sort of events that could not be judged, with the reason.
	Unjudged []string `json:"unjudged"`
	// Waits, Causes and CriticalPath are the results of other analyses. Causes and CriticalPath are nil unless
	// Options.Gains is set.
	Waits        *waits.Result        `json:"-"`
	Causes       *causes.Result       `json:"-"`
	CriticalPath *criticalpath.Result `json:"-"`

	regions []Region // all regions, in descending order of their time
}

// RunSummary describes a run. Runtime is in ticks.
type RunSummary struct {
	Processes int   `json:"processes"`
	Threads   int   `json:"threads"`
	Streams   int   `json:"streams"` // number of streams of devices
	Runtime   int64 `json:"runtime"`
	// Waiting is the time of all waits, and WaitingShare its share of the time of all threads and streams, from 0 to 1.
	Waiting      trace.Ticks `json:"waiting"`
	WaitingShare float64     `json:"waitingShare"`
	// Regions holds the regions with the most time, at most five. After the first one, it leaves out those with less than
	// 0.05 % of the time.
	Regions []Region `json:"regions"`
}

// Region is the time in a region, summed over all locations, without waits.
type Region struct {
	Region string      `json:"region"`
	Time   trace.Ticks `json:"time"`
	Share  float64     `json:"share"` // share of the time of all threads and streams, from 0 to 1
}

// Confidence is the degree of certainty of a finding.
type Confidence string

// These are the values of Confidence. A finding has LowConfidence if the clocks of the trace contradict
// causality, or if its gain is unknown. It has MediumConfidence if calls that could not be judged take at least
// leastShare of the time of all threads and streams, if their time is unknown, or if the trace lacks members of
// communicators or the begins of parallel regions.
const (
	HighConfidence   Confidence = "high"
	MediumConfidence Confidence = "medium"
	LowConfidence    Confidence = "low"
)

// Finding is a loss with its cause.
type Finding struct {
	// ID is the type of the finding: "late", "chain", "lock", "device", "noise", "slowing", "transfer", "barriers",
	// "startup", "serial" or "wrong-order".
	ID    string `json:"id"`
	Title string `json:"title"`
	// Loss is the time in ticks that all threads and streams of devices lose together. LossShare is the share
	// of this time in the total time of all threads and streams.
	Loss      float64 `json:"loss"`
	LossShare float64 `json:"lossShare"`
	// Gain is the time in ticks by which the run would be shorter without the loss. GainShare is Gain divided
	// by the runtime.
	Gain      int64   `json:"gain"`
	GainShare float64 `json:"gainShare"`
	// WhatIf holds the changes with which weft path --what-if computes the same gain, such as solve@rank 3=mean. It is
	// empty if the finding has no gain, or if the names in it cannot be told apart.
	WhatIf string `json:"whatIf,omitempty"`
	// Path is the call path in which the loss has its cause. Locations holds the names of at most three
	// locations that contribute most to the loss. At holds their indices in Definitions.Locations.
	Path       []string   `json:"path,omitempty"`
	Locations  []string   `json:"locations,omitempty"`
	At         []uint32   `json:"-"`
	Evidence   []string   `json:"evidence"`
	Advice     string     `json:"advice"`
	Confidence Confidence `json:"confidence"`
}

// The limits for findings.
const (
	// leastShare is the least share of the time of all threads that a loss must have to be a finding.
	leastShare   = iterations.LeastShare
	leastShown   = 0.0005 // least share of a region on the page, which is not 0.0 % when rounded
	causeShare   = 0.5    // share of a loss above which a single cause explains the loss
	mostFindings = 10     // greatest number of findings on a page
)

// explainer finds the losses of a history.
type explainer struct {
	h      *history.History
	page   *Page
	waits  *waits.Result
	causes *causes.Result
	// own is the time of each path at each location, without waits, in ticks.
	own   map[synclog.PathLocation]int64
	times *iterations.Times
	names []string // full names by location
	// regions holds the names of the regions; it is indexed by region.
	regions    []string
	silent     map[uint32]bool // the rows of regions whose waits are unknown, see [synclog.Log]
	changes    []change
	core       float64 // time of all threads and streams: the runtime times their number, in ticks
	confidence Confidence
	// communication holds the times of calls of communication libraries.
	communication communication
	// locks is the share of the waits of the pattern lock-contention for a location that has the lock. The others are
	// waits for signals of conditions and semaphores.
	locks float64
}

// Missing returns the reason why a trace cannot be explained, or "" if it can.
func (p *Page) Missing() string { return p.Efficiency.Missing() }

// Explain explains a trace. ok is false if [Page.Missing] returns a reason. The error is
// analysis.ErrTimeRange, or an error of the scan, of the temporary file, or of the context.
func Explain(ctx context.Context, events format.Events, opt Options) (page *Page, ok bool, err error) {
	w, h, err := waits.FindWithHistory(ctx, events, waits.Options{Rows: opt.Rows, Part: opt.Part})
	if err != nil {
		return nil, false, err
	}
	defer h.Close()
	log := h.Log
	x := &explainer{h: h, waits: w, own: h.ExclusiveTimes(), names: log.Defs.FullNames(),
		regions: log.Defs.RegionNames(opt.Rows), silent: map[uint32]bool{}}
	x.locks = x.lockShare()
	for _, s := range log.Silent {
		if !s.Unended {
			x.silent[s.Region] = true
		}
	}
	if x.causes, err = causes.FromHistory(ctx, h, causes.Options{Rows: opt.Rows, Ends: true}); err != nil {
		return nil, false, err
	}
	e, ok, setFactors := efficiency.FromHistory(h, opt.Part)
	x.page = &Page{Clock: log.Defs.Clock, Efficiency: e, Findings: []Finding{}, Unjudged: []string{},
		Ran: RunSummary{Processes: e.Processes, Threads: e.Threads, Streams: e.Streams, Runtime: e.Runtime,
			Regions: []Region{}}}
	x.page.Waits = x.waits
	if opt.Gains > 0 {
		if x.page.Causes, err = causes.FromHistory(ctx, h, causes.Options{Rows: opt.Rows}); err != nil {
			return nil, false, err
		}
		x.page.CriticalPath, err = criticalpath.FromHistory(ctx, h, criticalpath.Options{Rows: opt.Rows, Gains: opt.Gains})
		if err != nil {
			return nil, false, err
		}
	}
	if !ok {
		return x.page, false, nil
	}
	if x.times, err = iterations.New(h, x.own); err != nil {
		return nil, false, err
	}
	x.core = x.times.All()
	x.communication = x.communicationTimes()
	x.listUnjudged()
	x.summarizeTimes()
	x.planRuntimes(func(times []int64) { setFactors(times[0]) }, efficiency.IdealNetwork())
	x.late()
	x.slowing()
	x.transfer()
	x.barriers()
	x.startup()
	x.findSerial()
	x.wrongOrder()
	if err := x.carryOut(ctx); err != nil {
		return nil, false, err
	}
	slices.SortStableFunc(x.page.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Gain, a.Gain), cmp.Compare(b.Loss, a.Loss))
	})
	x.page.Findings = x.page.Findings[:min(len(x.page.Findings), mostFindings)]
	x.setVerdict()
	return x.page, true, nil
}

// lockShare returns the value of the field locks.
func (ex *explainer) lockShare() float64 {
	for _, p := range ex.waits.Patterns {
		if t := p.Time.Float(); p.Pattern == waitstate.LockContention.String() && t > 0 {
			return 1 - ex.h.Counts.Signals.Float()/t
		}
	}
	return 1
}

// listUnjudged lists the events that could not be judged on the page, and sets the confidence of all findings
// accordingly.
func (ex *explainer) listUnjudged() {
	ex.confidence = HighConfidence
	for _, u := range ex.waits.Unjudged {
		ex.page.Unjudged = append(ex.page.Unjudged, u.Text(ex.page.Clock))
	}
	if t, known := ex.unjudgedTime(); !known || t >= leastShare*ex.core {
		ex.confidence = MediumConfidence
	}
	if ex.h.LacksMembers() {
		ex.page.Unjudged = append(ex.page.Unjudged, "waits for members of a communicator that the trace lacks: it is "+
			"unknown when these members come, so the waits count as communication")
		ex.confidence = MediumConfidence
	}
	if ex.lacksForks() {
		ex.page.Unjudged = append(ex.page.Unjudged, "begins of parallel regions: the trace does not record which thread "+
			"starts the others, so weft lets them begin no earlier, and gains may be too small")
		ex.confidence = MediumConfidence
	}
	if v := ex.waits.Violations; v != (waits.Violations{}) {
		ex.page.Unjudged = append(ex.page.Unjudged,
			fmt.Sprintf("clocks differ: %s; see %s", v.Text(ex.page.Clock), v.Remedy()))
		ex.confidence = LowConfidence
	}
	if ex.waits.Judged == 0 && len(ex.waits.Unjudged) == 0 {
		ex.page.Unjudged = append(ex.page.Unjudged,
			"waits: the trace records no messages, collective operations, barriers or locks in calls that take time")
	}
	if ex.page.Ran.Streams > 0 && !ex.h.Log.Launches {
		ex.page.Unjudged = append(ex.page.Unjudged,
			"waits of devices for work: the trace does not record which calls launch it")
	}
	switch d := ex.h.Log.Defs; {
	case d.Metrics.Len() == 0:
		ex.page.Unjudged = append(ex.page.Unjudged, "instructions and cycles: the trace has no counters")
	case !efficiency.HasCounters(d):
		ex.page.Unjudged = append(ex.page.Unjudged, "instructions and cycles: the trace has other counters only")
	}
}

// lacksForks reports whether later threads of a process work in parallel regions, and the trace does not record for
// any thread of this process when it begins to work in a team.
func (ex *explainer) lacksForks() bool {
	l, later := ex.h.Log, ex.h.Log.Defs.LaterThreads()
	teams := map[uint32]bool{} // processes whose threads work in teams
	for _, loc := range l.Locations() {
		if l.InTeams(loc) {
			teams[l.Defs.ProcessOf(loc)] = true
		}
	}
	for at := range ex.own {
		if int64(at.Location) >= int64(len(later)) || !later[at.Location] || teams[l.Defs.ProcessOf(at.Location)] {
			continue
		}
		for p := at.Path; p != synclog.NoPath; p = l.Paths[p].Parent {
			if l.Role(p) == trace.ForkRole {
				return true
			}
		}
	}
	return false
}

// summarizeTimes sets the waiting time and the regions with the most time on the page.
func (ex *explainer) summarizeTimes() {
	ex.page.Ran.Waiting, ex.page.Ran.WaitingShare = ex.waits.Waiting, ex.waits.Waiting.Float()/ex.core
	sums := map[uint32]trace.Ticks{}
	for s, t := range ex.own {
		if s.Path != synclog.NoPath {
			r := ex.h.Log.Paths[s.Path].Region
			sums[r] = sums[r].Plus(trace.TicksOf(t))
		}
	}
	for r, t := range sums {
		if int64(r) < int64(len(ex.regions)) {
			ex.page.regions = append(ex.page.regions, Region{ex.regions[r], t, t.Float() / ex.core})
		}
	}
	slices.SortFunc(ex.page.regions, func(a, b Region) int {
		return cmp.Or(b.Time.Cmp(a.Time), cmp.Compare(a.Region, b.Region))
	})
	for i, r := range ex.page.regions[:min(5, len(ex.page.regions))] {
		if i == 0 || r.Share >= leastShown {
			ex.page.Ran.Regions = append(ex.page.Ran.Regions, r)
		}
	}
}

// addFinding adds a finding to the page if its loss or its gain is large enough. The loss can be a small share of the
// time of all threads if only the first threads of processes wait, while the other ones are idle.
func (ex *explainer) addFinding(f Finding) {
	f.LossShare, f.GainShare = f.Loss/ex.core, float64(f.Gain)/float64(ex.page.Ran.Runtime)
	if max(f.LossShare, f.GainShare) < leastShare {
		return
	}
	f.Confidence = cmp.Or(f.Confidence, ex.confidence)
	same := func(x Finding) bool { return x.ID == "lock" && f.ID == "lock" }
	if i := slices.IndexFunc(ex.page.Findings, same); i >= 0 { // the gain is that without waits for all locks
		first := &ex.page.Findings[i]
		if f.Loss >= leastPlace*first.Loss {
			place := "the time outside of all regions"
			if len(f.Path) > 0 {
				place = strings.Join(f.Path, " > ")
			}
			first.Evidence = append(first.Evidence, ex.formatDuration(f.Loss)+" also because of "+place)
		}
		first.Loss += f.Loss
		first.LossShare += f.LossShare
		return
	}
	ex.page.Findings = append(ex.page.Findings, f)
}

// change is a change of durations, which is made to compute the gain of a finding.
type change struct {
	options []retime.Options
	// finish gets the runtimes in ticks, one for each of the options.
	finish func(times []int64)
}

// planRuntimes lets carryOut compute the runtime with each of several options, and pass these runtimes, in
// ticks, to finish.
func (ex *explainer) planRuntimes(finish func(times []int64), options ...retime.Options) {
	ex.changes = append(ex.changes, change{options, finish})
}

// carryOut computes the runtimes with all planned changes in one pass over the history, and finishes the
// changes in order. The error comes from a temporary file or from the context.
func (ex *explainer) carryOut(ctx context.Context) error {
	var list []retime.Options
	for _, c := range ex.changes {
		list = append(list, c.options...)
	}
	times, err := retime.Makespans(ctx, ex.h, list)
	if err != nil {
		return err
	}
	for _, c := range ex.changes {
		c.finish(times[:len(c.options)])
		times = times[len(c.options):]
	}
	return nil
}

// gain returns the number of ticks by which a run with the given runtime would be shorter than the run of the
// trace. It returns 0 if the run would be longer.
func (ex *explainer) gain(time int64) int64 { return max(0, ex.page.Ran.Runtime-time) }

// formatDuration formats a number of ticks. As a sum over locations, the number may exceed 64 bits.
func (ex *explainer) formatDuration(t float64) string {
	const coarse = 1 << 20
	if t >= 1<<62 {
		return ex.page.Clock.FormatSum(trace.TicksOf(int64(t / coarse)).Times(coarse))
	}
	return ex.page.Clock.FormatDuration(int64(t))
}

// formatPercent formats a share as a whole number of percent or, below 1 %, in tenths of a percent.
func formatPercent(share float64) string {
	if 0 < share && share < 0.01 {
		return fmt.Sprintf("%.1f %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// setVerdict sets the sentence about the efficiency and the largest loss.
func (ex *explainer) setVerdict() {
	f := ex.page.Efficiency.Factors
	text := formatPercent(f.Parallel) + " of the time is useful."
	name, lowest := "load balance", f.LoadBalance
	if f.Serialisation < lowest {
		name, lowest = "serialisation", f.Serialisation
	}
	if f.Transfer < lowest {
		name, lowest = "transfer", f.Transfer
	}
	waiting := ex.waits.Waiting.Float() / ex.core
	unknown := ex.communication.unknown / ex.core
	switch {
	case len(ex.page.Findings) == 0 && unknown >= leastShare:
	case len(ex.page.Findings) == 0 && waiting >= leastShare:
		text += fmt.Sprintf(" Waits take %s of the time of all threads, but no single cause takes more than %s.",
			formatPercent(waiting), formatPercent(leastShare))
	case len(ex.page.Findings) == 0 && f.Parallel < 1-leastShare:
		text += fmt.Sprintf(" The lowest factor is %s, %.2f, but no cause takes more than %s of the time of all threads.",
			name, lowest, formatPercent(leastShare))
	case len(ex.page.Findings) == 0:
		text += " No loss exceeds " + formatPercent(leastShare) + " of the time of all threads."
	case lowest < 1-leastShare:
		text += fmt.Sprintf(" The lowest factor is %s, %.2f", name, lowest)
		first := ex.page.Findings[0]
		cause := ex.causeOf(name)
		if cause != nil {
			text += ": " + lowerTitle(cause.Title)
		}
		text += "."
		if cause == nil || cause.Title != first.Title {
			text += " The largest gain: " + lowerTitle(first.Title) + "."
		}
	default:
		text += " The largest loss: " + lowerTitle(ex.page.Findings[0].Title) + "."
	}
	if unknown >= leastShare {
		text += fmt.Sprintf(" Calls whose waits are unknown take %s of the time of all threads.", formatPercent(unknown))
	}
	v := ex.waits.Violations
	if v.Worst > 0 && float64(v.Worst) >= leastShare*float64(ex.page.Ran.Runtime) {
		text += fmt.Sprintf(" Clocks differ by up to %s: the figures are not to be trusted; see %s.",
			ex.page.Clock.FormatDuration(v.Worst), v.Remedy())
	}
	ex.page.Verdict = text
}

// causeOf returns the finding with the greatest loss of those that can explain a factor; nil if there is none.
func (ex *explainer) causeOf(factor string) *Finding {
	var cause *Finding
	for i := range ex.page.Findings {
		f := &ex.page.Findings[i]
		transfer := f.ID == "transfer" || f.ID == "barriers" || f.ID == "startup"
		if transfer != (factor == "transfer") || f.ID == "slowing" { // growth alone lowers no factor
			continue
		}
		if cause == nil || f.Loss > cause.Loss {
			cause = f
		}
	}
	return cause
}

// lowerTitle returns the title with a small first letter, for use inside of a sentence. It does not change a
// title that begins with the name of a region.
func lowerTitle(s string) string {
	for _, word := range []string{"A ", "One ", "Barriers ", "Communication ", "Messages ", "Threads wait ", "The late "} {
		if strings.HasPrefix(s, word) && !strings.Contains(s, " takes longer ") {
			return strings.ToLower(s[:1]) + s[1:]
		}
	}
	if strings.HasPrefix(s, outside) {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}
