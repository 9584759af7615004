package explain

import (
	"fmt"

	"github.com/weft-trace/weft/analysis/internal/retime"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/trace"
)

// startsOrEndsMPI reports whether a path ends in a call that initialises or finalises MPI.
func (ex *explainer) startsOrEndsMPI(path uint32) bool {
	return path != synclog.NoPath && synclog.BeginsOrEndsMPI(ex.h.Log.Defs, ex.h.Log.Paths[path].Region)
}

// silentCall reports whether a path ends in a call of a region without events.
func (ex *explainer) silentCall(path uint32) bool {
	return path != synclog.NoPath && ex.silent[ex.h.Log.Paths[path].Region]
}

// unknown returns the part of a path's time t at a location that belongs to calls whose waits are unknown: no call of
// the region has events, or the trace lacks the other side or the end of what the call waits for.
func (ex *explainer) unknown(at synclog.PathLocation, t int64) int64 {
	if ex.silentCall(at.Path) {
		return t
	}
	return min(t, ex.h.Counts.Unknown[at])
}

// unjudgedTime returns the time in ticks of the calls that could not be judged. known is false if the trace does not
// show how long some of them take.
func (ex *explainer) unjudgedTime() (time float64, known bool) {
	c := &ex.h.Counts
	for _, t := range c.Unknown {
		time += float64(t)
	}
	for _, s := range ex.h.Log.Silent {
		barrier := ex.h.Log.Defs.RoleOf(s.Region) == trace.BarrierRole // in UnknownBarrier
		if !s.Unended && !barrier {                                    // visits without an end are in Unknown
			time += s.Time.Float()
		}
	}
	for _, k := range []waitstate.UnjudgedKind{waitstate.UnknownBarrier, waitstate.IncompleteBarrier,
		waitstate.UnrecordedWindow, waitstate.UnmatchedWindow} {
		time += c.UnjudgedTime[k].Float()
	}
	untimed := c.Unjudged[waitstate.BareReceive] + c.Unjudged[waitstate.BareCollective] +
		c.Unjudged[waitstate.UnknownDevice] + c.Unjudged[waitstate.UnknownLaunch]
	return time, untimed == 0
}

// communication holds the time in ticks of calls of communication libraries, without waits.
type communication struct {
	startup float64            // of the calls that initialise or finalise MPI
	unknown float64            // of calls whose waits are unknown
	other   float64            // of all other calls
	regions map[string]float64 // divides other by region
}

// communicationTimes returns the times of calls of communication libraries.
func (ex *explainer) communicationTimes() communication {
	c := communication{regions: map[string]float64{}}
	for s, t := range ex.own {
		switch {
		case !ex.times.Communicates(s.Path):
		case ex.startsOrEndsMPI(s.Path):
			c.startup += float64(t)
		default:
			t -= min(t, ex.h.PartialWaited(s.Path, s.Location))
			u := ex.unknown(s, t)
			c.unknown += float64(u)
			c.other += float64(t - u)
			if names := ex.h.Log.PathNames(s.Path, ex.regions); len(names) > 0 {
				c.regions[names[len(names)-1]] += float64(t - u)
			}
		}
	}
	return c
}

// completion returns the time in ticks that members stay in barriers and n-to-n operations after all have come and one
// has left.
func (ex *explainer) completion() float64 {
	sum := 0.0
	for _, p := range ex.waits.Patterns {
		if p.Pattern == waitstate.BarrierCompletion.String() || p.Pattern == waitstate.NxNCompletion.String() {
			sum += p.Time.Float()
		}
	}
	return sum
}

// leastCalls is the least share of a region in the time of communication for which the finding names the region.
const leastCalls = 0.1

// transfer adds a finding about the time of communication without waits.
func (ex *explainer) transfer() {
	c := &ex.communication
	loss := c.other
	if loss < leastShare*ex.core {
		return
	}
	f := Finding{ID: "transfer", Title: "Communication itself takes " + formatPercent(loss/ex.core) +
		" of the time, waits left out",
		Loss:     loss,
		Evidence: []string{fmt.Sprintf("%s in calls of communication libraries", ex.formatDuration(loss))},
		Advice: "Send fewer or larger messages, or compute while they are on their way. weft comm shows sizes and " +
			"latencies."}
	for _, region := range keysByValue(c.regions)[:min(2, len(c.regions))] {
		if t := c.regions[region]; t >= leastCalls*loss {
			f.Evidence = append(f.Evidence, fmt.Sprintf("%s in %s", ex.formatDuration(t), region))
		}
	}
	if t := ex.completion(); t > causeShare*loss {
		f.Evidence = append(f.Evidence, fmt.Sprintf("%s after another member had already left the same operation",
			ex.formatDuration(t)))
		f.Advice = "Members leave an operation at different times: look for what disturbs them, such as more threads " +
			"than cores, or for clocks that differ (weft align --always)."
	}
	partly := map[uint32]bool{} // the paths of which Counts.Unknown has a part
	for at := range ex.h.Counts.Unknown {
		partly[at.Path] = true
	}
	opt := retime.Options{Transfer: 1, Scale: func(path uint32) float64 {
		if ex.times.Communicates(path) && !ex.startsOrEndsMPI(path) && !ex.silentCall(path) && !partly[path] {
			return 0
		}
		return 1
	}}
	if len(partly) > 0 {
		opt.At = func(path, loc uint32) float64 {
			at := synclog.PathLocation{Path: path, Location: loc}
			if t := ex.own[at]; partly[path] && t > 0 && !ex.startsOrEndsMPI(path) {
				return float64(ex.unknown(at, t)) / float64(t)
			}
			return 1
		}
	}
	ex.planRuntimes(func(times []int64) {
		f.Gain, f.WhatIf = ex.gain(times[0]), ex.whatIf(opt)
		ex.addFinding(f)
	}, opt)
}

// barriers adds a finding about the time of barriers of threads without waits. It leaves out barriers in which threads
// execute tasks, because threads also wait for tasks there.
func (ex *explainer) barriers() {
	counted := make([]bool, len(ex.h.Log.Paths))
	for i, p := range ex.h.Log.Paths { // a path follows the path above it
		counted[i] = ex.times.Synchronises(uint32(i)) && !ex.times.Communicates(uint32(i))
		if p.Parent != synclog.NoPath {
			counted[p.Parent] = false
		}
	}
	loss, regions := 0.0, map[string]float64{}
	for at, t := range ex.own {
		if at.Path != synclog.NoPath && counted[at.Path] {
			loss += float64(t)
			name, _ := ex.h.Log.RegionName(at.Path, ex.regions)
			regions[name] += float64(t)
		}
	}
	u := &ex.h.Counts.UnjudgedTime
	unknown := u[waitstate.UnknownBarrier].Float() + u[waitstate.IncompleteBarrier].Float()
	if loss-unknown < leastShare*ex.core || unknown >= leastShare*ex.core {
		return
	}
	f := Finding{ID: "barriers", Title: "Barriers of threads themselves take " + formatPercent(loss/ex.core) +
		" of the time, waits left out", Loss: loss, Evidence: []string{},
		Advice: "Let threads meet less often: larger parallel regions, or loops with nowait. Use no more threads than cores."}
	for _, region := range keysByValue(regions)[:min(2, len(regions))] {
		if t := regions[region]; t >= leastCalls*loss {
			f.Evidence = append(f.Evidence, fmt.Sprintf("%s in %s", ex.formatDuration(t), region))
		}
	}
	opt := retime.Options{Transfer: 1, Scale: func(path uint32) float64 {
		if path != synclog.NoPath && counted[path] {
			return 0
		}
		return 1
	}}
	ex.planRuntimes(func(times []int64) {
		// Threads may stay in a barrier until they have work again, which no other thread waits for.
		if f.Gain = ex.gain(times[0]); float64(f.Gain) >= leastShare*float64(ex.page.Ran.Runtime) {
			f.WhatIf = ex.whatIf(opt)
			ex.addFinding(f)
		}
	}, opt)
}

// startup adds a finding about the time in which MPI is initialised and finalised.
func (ex *explainer) startup() {
	loss := ex.communication.startup
	if loss < 0.1*ex.core {
		return
	}
	opt := retime.Options{Transfer: 1, Scale: func(path uint32) float64 {
		if ex.startsOrEndsMPI(path) {
			return 0
		}
		return 1
	}}
	ex.planRuntimes(func(times []int64) {
		ex.addFinding(Finding{ID: "startup",
			Title:    "MPI_Init and MPI_Finalize take " + formatPercent(loss/ex.core) + " of the time",
			Loss:     loss,
			Gain:     ex.gain(times[0]),
			WhatIf:   ex.whatIf(opt),
			Evidence: append([]string{fmt.Sprintf("%s in both", ex.formatDuration(loss))}, ex.slowStarts()...),
			Advice:   "Trace a longer run, or a window of it, to judge the rest."})
	}, opt)
}

// slowStarts names the locations at which calls that initialise or finalise MPI take longer than elsewhere, by at least
// leastShare of the runtime.
func (ex *explainer) slowStarts() (evidence []string) {
	for i := range ex.h.Log.Paths {
		path := uint32(i)
		if !ex.startsOrEndsMPI(path) {
			continue
		}
		all := ex.times.Spread(path)
		slow := all.Slowest()
		most, others := slow.Mean(), all[:len(all)-len(slow)].Mean()
		if most-others >= leastShare*float64(ex.page.Ran.Runtime) {
			evidence = append(evidence, fmt.Sprintf("%s takes %s at %s, %s in the mean of the others",
				ex.regions[ex.h.Log.Paths[i].Region], ex.formatDuration(most), ex.placeName(slow, all),
				ex.formatDuration(others)))
		}
	}
	return evidence
}
