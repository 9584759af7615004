package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/analysis/internal/iterations"
	"github.com/weft-trace/weft/analysis/internal/retime"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// delay is the waiting time at other locations that a call path causes, in ticks. cost is the sum. locations
// divides the sum by the location that causes the waits, and patterns divides it by wait pattern.
type delay struct {
	path      uint32
	names     []string
	cost      float64
	locations map[uint32]float64
	patterns  map[string]float64
}

// delays sums the costs of all wait patterns by call path, in descending order of cost.
func (ex *explainer) delays() []*delay {
	byPath := map[uint32]*delay{}
	patterns := ex.causes.Patterns
	if ex.causes.Ends != nil {
		patterns = append(slices.Clip(patterns), *ex.causes.Ends)
	}
	for _, p := range patterns {
		for _, c := range p.Costs {
			d := byPath[c.Number]
			if d == nil {
				d = &delay{path: c.Number, names: c.Path, locations: map[uint32]float64{}, patterns: map[string]float64{}}
				byPath[c.Number] = d
			}
			cost := c.ShortTerm + c.LongTerm
			d.cost += cost
			d.locations[c.Location] += cost
			d.patterns[p.Pattern] += cost
		}
	}
	list := make([]*delay, 0, len(byPath))
	for _, d := range byPath {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b *delay) int {
		return cmp.Or(cmp.Compare(b.cost, a.cost), cmp.Compare(a.path, b.path))
	})
	return list
}

// keysByValue returns the keys of a map in descending order of their values.
func keysByValue[K cmp.Ordered](m map[K]float64) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b K) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	return keys
}

// late finds call paths in which some locations come late, so that others wait for them.
func (ex *explainer) late() {
	// A gain may be large although few locations wait, or although most of the costs are those of locks for which the
	// late locations wait themselves. The number of such paths is limited, because each takes time.
	least := leastShare * float64(ex.page.Ran.Runtime)
	much := min(least*float64(ex.page.Ran.Processes+ex.page.Ran.Streams), leastShare*ex.core)
	planned := 0
	for _, d := range ex.delays() {
		if d.cost < min(least, much)/4 || d.cost < much && planned >= mostFindings {
			break
		}
		if ex.times.Synchronises(d.path) {
			continue // the findings about transfer and barriers include this time
		}
		if d.cost < much && ex.idleDevices(d) {
			continue
		}
		ex.planLate(d)
		planned++
	}
}

// planLate plans a finding about the waits that a call path causes.
func (ex *explainer) planLate(d *delay) {
	f := Finding{ID: "late", Loss: d.cost, Path: d.names, Evidence: []string{}, At: d.places()}
	spread := ex.times.Spread(d.path)
	onDevice := ex.h.Log.Defs.IsStream(spread[0].Location)
	withDevices := onDevice || d.awaitsDevice()
	slow, waits := spread.Slowest(), ex.waitsOf(spread, d)
	share := 0.0
	for _, t := range slow {
		share += d.locations[t.Location]
	}
	if share <= causeShare*d.cost {
		slow = nil
	}
	reference, shortened := spread, spread
	if slow != nil {
		reference, shortened = spread[:len(spread)-len(slow)], slow
	}
	changes, limited := ex.balancedOptions(d.path, shortened, reference)
	balancings := len(changes)
	locks := d.patterns[waitstate.LockContention.String()]*ex.locks + d.patterns[waitstate.WindowLock.String()]
	locked := locks > causeShare/2*d.cost
	if locked {
		changes = append(changes, retime.Options{Transfer: 1, WithoutLocks: true})
	}
	single, isSingle := ex.times.SingleLate(d.path)
	var at []uint32 // where the times change in a run without noise
	if isSingle {
		at = []uint32{single}
	}
	if s := ex.times.WithoutNoise(d.path, at); s != nil {
		changes = append(changes, retime.Options{Transfer: 1, Stretch: s})
	}
	if withDevices {
		changes = append(changes, withoutPath(d.path))
	}
	kinds := len(changes) // the changes by which the kind of the finding is determined
	if limited != nil {
		changes = append(changes, retime.Options{Transfer: 1, Stretch: limited})
	}
	ex.planRuntimes(func(times []int64) {
		limitedGain := int64(0)
		for _, t := range times[kinds:] {
			limitedGain = ex.gain(t)
		}
		times = times[:kinds]
		if n := len(times) - 1; withDevices {
			if 2*ex.gain(slices.Min(times[:n])) <= ex.gain(times[n]) {
				ex.addDevice(f, d, onDevice, times[n])
				return
			}
			times = times[:n]
		}
		lateness := lateTimes{all: spread, slow: slow, target: reference.Mean()}
		f.Gain, times = ex.gain(slices.Min(times[:balancings])), times[balancings:]
		f.WhatIf = ex.whatIfWord(d.path, slow.Locations(), criticalpath.Mean)
		if locked {
			lateness.lockGain, times = ex.gain(times[0]), times[1:]
		}
		for _, t := range times {
			g := ex.gain(t)
			if !isSingle {
				lateness.noiseGain = g
				explains := float64(g)*float64(len(spread)) >= leastNoise*waits
				lateness.byNoise = explains && (g > 2*f.Gain || g > f.Gain && ex.times.Varies(d.path))
			} else if one, others := spread.Split(at); g > f.Gain && one != nil {
				f.Gain, f.WhatIf = g, ex.whatIfWord(d.path, at, criticalpath.Median)
				if !slices.Equal(slow.Locations(), at) {
					limitedGain = 0 // it is that of other locations
				}
				lateness.slow, lateness.target = one, others.Mean()
			}
		}
		// Locks that gain nothing explain no waits: the holder itself is late, as a thread that signals a condition is.
		without := lateness.lockGain
		held := float64(without) >= leastShare*float64(ex.page.Ran.Runtime)
		lateness.byLocks = without > max(f.Gain, lateness.noiseGain) ||
			locks > causeShare*d.cost && (held || without == f.Gain)
		lateness.inTurn = !lateness.byLocks && !withDevices &&
			inTurn(d.path, waits, lateness, max(f.Gain, lateness.noiseGain, limitedGain))
		ex.describeLate(&f, d, lateness)
		switch f.ID {
		case "lock":
			f.WhatIf = ex.whatIf(changes[balancings])
		case "noise":
			f.WhatIf = ex.whatIfWord(d.path, nil, criticalpath.Median)
		default:
			if f.Gain < limitedGain {
				f.Gain, f.WhatIf = limitedGain, ex.whatIfWord(d.path, slow.Locations(), criticalpath.Mean)
			}
			if f.ID == "chain" && lateness.byNoise && lateness.noiseGain > f.Gain {
				f.Gain, f.WhatIf = lateness.noiseGain, ex.whatIfWord(d.path, nil, criticalpath.Median)
			}
		}
		ex.addFinding(f)
	}, changes...)
}

// balancedOptions returns options in which the times of a path are as long as the mean of the reference locations. In
// limited only the longest times become shorter; it is nil if no times can be limited.
func (ex *explainer) balancedOptions(path uint32, shortened, reference iterations.Spread) (list []retime.Options,
	limited iterations.Stretch) {
	b := ex.times.Balance(path, shortened, reference)
	byFactor := retime.Options{Transfer: 1, At: func(p, loc uint32) float64 {
		if factor, ok := b.Factors[loc]; ok && p == path {
			return factor
		}
		return 1
	}}
	if path == synclog.NoPath {
		byFactor.Start = func(loc uint32) float64 { return byFactor.At(path, loc) }
	}
	list = []retime.Options{byFactor}
	if b.InProportion != nil {
		list = append(list, retime.Options{Transfer: 1, Stretch: b.InProportion},
			retime.Options{Transfer: 1, Stretch: b.Equally})
	}
	return list, b.Limited
}

// withoutPath returns the options of a run in which a path takes no time.
func withoutPath(path uint32) retime.Options {
	return retime.Options{Transfer: 1, Scale: func(p uint32) float64 {
		if p == path {
			return 0
		}
		return 1
	}}
}

// addDevice adds a finding about a call path for which threads wait on a device, or during which devices wait for
// work. onDevice states whether the path is work of devices. without is the runtime without the path.
func (ex *explainer) addDevice(f Finding, d *delay, onDevice bool, without int64) {
	f.ID = "device"
	f.Gain = ex.gain(without)
	if cost := int64(d.cost); f.Gain > cost {
		f.Gain = cost
	} else {
		f.WhatIf = ex.whatIf(withoutPath(d.path))
	}
	byDevice := onDevice || d.patterns[waitstate.Device.String()] > d.patterns[waitstate.Launch.String()]
	switch {
	case byDevice && len(d.names) == 0 && ex.transfers(d):
		f.Title = "Threads wait for transfers to or from devices"
		f.Advice = "Transfer less, or let the threads compute something else meanwhile."
	case byDevice && len(d.names) == 0:
		f.Title = "Threads wait for devices while these have no work"
		f.Advice = "Launch work earlier."
		if !ex.h.Log.Launches || ex.waits.UnknownLaunches() {
			f.Advice += " The trace does not tell which calls launch it."
		}
	case byDevice:
		f.Title = "Threads wait for " + d.region() + " on a device"
		f.Advice = "Make this work faster, or let the threads compute something else meanwhile."
	default:
		f.Title = d.region() + " runs while devices wait for work"
		f.Advice = "Launch work before this call rather than after it, from several threads, or let the device do this work."
	}
	ex.describePlaces(&f, d)
	if f.Gain == 0 && byDevice && (!ex.h.Log.Launches || ex.waits.UnknownLaunches()) {
		f.Evidence = append(f.Evidence, "the gain is unknown, because the trace does not record which calls launch the work")
		f.Confidence = LowConfidence
	}
	ex.addFinding(f)
}

// slowing adds findings about paths whose times grow from iteration to iteration.
func (ex *explainer) slowing() {
	for _, path := range ex.times.Paths() {
		steady, growths := ex.times.WithoutGrowth(path, nil)
		if steady == nil {
			continue
		}
		names := ex.h.Log.PathNames(path, ex.regions)
		f := Finding{ID: "slowing", Path: names, Title: names[len(names)-1] + " takes longer from iteration to iteration",
			Advice: "Look for what grows with each iteration: lists, files, memory that is scattered; or for a clock " +
				"frequency that falls."}
		for _, g := range growths {
			f.Loss += g.Lost
			f.Evidence = append(f.Evidence, fmt.Sprintf("%s in the first of %s, %s in the last one",
				ex.formatDuration(g.First), plural.Of(g.Iterations, "iteration"), ex.formatDuration(g.Last)))
		}
		ex.planRuntimes(func(times []int64) {
			f.Gain, f.WhatIf = ex.gain(times[0]), ex.whatIfWord(path, nil, criticalpath.Steady)
			ex.addFinding(f)
		}, retime.Options{Transfer: 1, Stretch: steady})
	}
}

// transfers reports whether the streams that cause the waits of a delay spend most of their time outside of all regions
// in transfers.
func (ex *explainer) transfers(d *delay) bool {
	var all, transfers int64
	for loc := range d.locations {
		if ex.h.Log.Defs.IsStream(loc) {
			all += ex.own[synclog.PathLocation{Path: d.path, Location: loc}]
			transfers += ex.h.Locations[loc].OutsideWork()
		}
	}
	return 2*transfers > all
}

// outside is the subject of sentences about the time outside of all regions.
const outside = "The time outside of all regions"

// leastPlace is the least share that the costs of a place must have in those of the first one for a finding to name the
// place.
const leastPlace = 0.1

// places returns the locations that cause the longest waits, at most three.
func (d *delay) places() []uint32 {
	late := keysByValue(d.locations)
	little := func(loc uint32) bool { return d.locations[loc] < leastPlace*d.locations[late[0]] }
	if i := slices.IndexFunc(late, little); i >= 0 {
		late = late[:i]
	}
	return late[:min(3, len(late))]
}

// awaitsDevice reports whether more than half of the waits are those of threads for devices, or of devices for work.
func (d *delay) awaitsDevice() bool {
	return d.patterns[waitstate.Device.String()]+d.patterns[waitstate.Launch.String()] > causeShare*d.cost
}

// idleDevices reports whether most of a delay is time in which devices have no work, for which threads or devices wait.
func (ex *explainer) idleDevices(d *delay) bool {
	return d.path == synclog.NoPath && d.awaitsDevice() && ex.h.Log.Defs.IsStream(d.places()[0])
}

// region returns the innermost region of the call path, as the subject of a sentence.
func (d *delay) region() string {
	if n := len(d.names); n > 0 {
		return d.names[n-1]
	}
	return outside
}

// leastEvidence is the least share of a pattern in the costs of a finding for which the finding names the pattern.
const leastEvidence = 0.001

// describePlaces adds the names of the locations to a finding about the waits that a call path causes. It adds
// the patterns of these waits to the evidence.
func (ex *explainer) describePlaces(f *Finding, d *delay) {
	for _, loc := range f.At {
		f.Locations = append(f.Locations, ex.locationName(loc))
	}
	for _, p := range keysByValue(d.patterns)[:min(3, len(d.patterns))] {
		if d.patterns[p] < leastEvidence*d.cost {
			break
		}
		f.Evidence = append(f.Evidence, fmt.Sprintf("%s of %s", ex.formatDuration(d.patterns[p]), p))
	}
}

// lateTimes holds the times on which the description of a finding about late locations is based, in
// ticks.
type lateTimes struct {
	all, slow           iterations.Spread // times of all locations, and of those that are clearly slower than the others
	target              float64           // time to which the times of the slow locations are shortened
	noiseGain, lockGain int64             // gains of a run without noise, and of a run without waits for locks
	byLocks, byNoise    bool              // locks, or else noise, explain the waits of the finding
	inTurn              bool              // the locations work one after another, which explains the waits
}

// leastInTurn is the least share of the time of a path that locations other than the slowest one have, if locations
// work one after another.
const leastInTurn = 0.05

// leastNoise is the least share that n times the gain of a run without noise has in the costs of a call path at n
// locations, if noise explains the waits.
const leastNoise = 0.1

// waitsOf returns the part of a delay for which the locations of a list wait. If these are the first threads of
// processes, others wait for them in barriers of threads.
func (ex *explainer) waitsOf(list iterations.Spread, d *delay) float64 {
	waits, later := d.cost, ex.h.Log.Defs.LaterThreads()
	if slices.ContainsFunc(list, func(t iterations.LocationTime) bool {
		return int64(t.Location) < int64(len(later)) && later[t.Location]
	}) {
		return waits
	}
	for p := waitstate.ImplicitBarrier; p <= waitstate.ThreadBarrier; p++ {
		waits -= d.patterns[p.String()]
	}
	return waits
}

// inTurn reports whether the n locations of a call path work one after another: during more than half of the path's
// time, all others wait for it. Neither the greatest gain of equal times, which n locations have, nor the difference of
// the times of locations, for which n - 1 locations wait, explains half of these waits.
func inTurn(path uint32, waits float64, t lateTimes, gain int64) bool {
	n, mean := float64(len(t.all)), t.all.Mean()
	most := float64(t.all[len(t.all)-1].Time)
	return path != synclog.NoPath && n*mean-most >= leastInTurn*n*mean && waits > causeShare*(n-1)*n*mean &&
		n*float64(gain) < causeShare*waits && (n-1)*(most-mean) < causeShare*waits
}

// describeLate sets the title, the evidence and the advice of a finding about the waits that a call
// path causes.
func (ex *explainer) describeLate(f *Finding, d *delay, t lateTimes) {
	region := d.region()
	most := float64(t.all[len(t.all)-1].Time)
	begins := d.path == synclog.NoPath && ex.begins(t.all[len(t.all)-1])
	ends := d.patterns[waitstate.EarlyEnd.String()] > causeShare*d.cost+1 // costs have rounding errors of less than a tick
	switch {
	case t.byLocks:
		f.ID, f.Gain = "lock", t.lockGain
		where := "in " + region
		if len(d.names) == 0 {
			where = "outside of all regions"
		}
		f.Title = "A lock is held " + where + " while others wait for it"
		f.Advice = "Do less while the lock is held, or divide what it protects among several locks."
	case t.inTurn:
		f.ID = "chain"
		f.Title = region + " runs at one location after another, and the others wait meanwhile"
		f.Advice = "Let locations work at the same time: send parts of the data as soon as they are ready, or remove " +
			"dependencies. With equal times, most of these waits remain."
		f.Evidence = append(f.Evidence, fmt.Sprintf("at most %s at a location, %s in the mean", ex.formatDuration(most),
			ex.formatDuration(t.all.Mean())))
	case t.byNoise:
		f.ID, f.Gain = "noise", t.noiseGain
		f.Title = region + " takes longer now at one location, now at another, and others wait"
		f.Advice = "Look for what disturbs it, such as other programs on the node, or let locations go on without waiting " +
			"for each other."
		f.Evidence = append(f.Evidence, fmt.Sprintf("at most %s at a location, %s in the mean", ex.formatDuration(most),
			ex.formatDuration(t.all.Mean())))
	case t.slow != nil:
		place := ex.placeName(t.slow, t.all)
		switch {
		case begins:
			f.Title = "The late begin of " + place + " delays the others or the end"
		case ends:
			f.Title = fmt.Sprintf("%s takes longer at %s than elsewhere, and others end earlier", region, place)
		default:
			f.Title = fmt.Sprintf("%s takes longer at %s than elsewhere, and others wait for it", region, place)
		}
		f.At = nil
		for _, s := range t.slow[max(0, len(t.slow)-3):] {
			f.At = append(f.At, s.Location)
		}
		f.Advice = "Look at what this location does there that others do not: its data, its node, or work that only it has."
		if len(t.slow) > 1 {
			f.Advice = "Look at what these locations have in common: their node, their data, or work that only they have."
		}
		f.Evidence = append(f.Evidence, fmt.Sprintf("%s there, %s in the mean of the others",
			ex.formatDuration(t.slow.Mean()), ex.formatDuration(t.target)))
		if len(t.slow) == 1 {
			o := ex.times.Outliers(d.path, t.slow[0].Location, causeShare*(t.slow.Mean()-t.target))
			if o.Longer > 0 {
				f.Evidence = append(f.Evidence, fmt.Sprintf("%s of it in %d of %d iterations", ex.formatDuration(float64(o.Time)),
					o.Longer, o.Iterations))
			}
		}
	default:
		f.Advice = "Divide its work more evenly, or let locations go on without waiting for each other."
		switch {
		case begins:
			f.Title = "The late begin of some locations delays the others or the end"
		case most <= (1+leastShare)*t.target:
			f.Title = region + " delays others, although it takes as long at all locations in total"
			f.Advice = "Look at when others wait for it: its order or its times may differ from iteration to iteration."
		case ends:
			f.Title = region + " takes longer at some locations than at others, and these end earlier"
		default:
			f.Title = region + " takes longer at some locations than at others, and they wait for each other"
		}
		f.Evidence = append(f.Evidence, fmt.Sprintf("at most %s at a location, %s in the mean", ex.formatDuration(most),
			ex.formatDuration(t.target)))
	}
	if begins {
		f.Advice = "Find out why the processes do not start together, or explain a window without the begin (--window)."
	}
	ex.describePlaces(f, d)
}

// begins reports whether most of a location's time outside of all regions, as spread returns it, comes before its first
// event.
func (ex *explainer) begins(t iterations.LocationTime) bool {
	return 2*ex.times.Start(t.Location) > t.Time
}

// placeName returns a name for the locations of list: the name of a single location; or the name of the group
// that contains exactly these of all locations; or their number.
func (ex *explainer) placeName(list, all iterations.Spread) string {
	if len(list) == 1 {
		return ex.locationName(list[0].Location)
	}
	d := ex.h.Log.Defs
	above := func(loc uint32, f func(group uint32) (goOn bool)) {
		if !d.Locations.Has(loc) {
			return
		}
		g := d.Locations.At(loc).Group
		for range d.Groups.Len() { // a limit, because the parents of a damaged trace may form a cycle
			if !d.Groups.Has(g) || !f(g) {
				return
			}
			g = d.Groups.At(g).Parent
		}
	}
	number := func(s iterations.Spread) map[uint32]int { // counts the locations of s in each group
		n := map[uint32]int{}
		for _, t := range s {
			above(t.Location, func(g uint32) bool { n[g]++; return true })
		}
		return n
	}
	inside, total := number(list), number(all)
	name := plural.Of(len(list), "location")
	above(list[0].Location, func(g uint32) bool {
		found := inside[g] == len(list) && total[g] == len(list)
		if found {
			name = d.Groups.At(g).Name
		}
		return !found
	})
	return name
}

// locationName returns the full name of a location.
func (ex *explainer) locationName(loc uint32) string {
	if int64(loc) < int64(len(ex.names)) {
		return ex.names[loc]
	}
	return "unknown"
}

// leastOutside is the share of the serial time from which on its part outside of all regions counts in the gain of the
// finding about serial time. With this part, weft path also shortens the time before the first event of a location, in
// which nobody works; a smaller part is not worth that.
const leastOutside = 0.01

// findSerial adds a finding about the time during which only one thread of each process works.
func (ex *explainer) findSerial() {
	if ex.page.Ran.Threads == ex.page.Ran.Processes {
		return
	}
	serial, threads := efficiency.Serial(ex.h), ex.threadsOfFirst()
	outside, all := int64(0), int64(0)
	for at, t := range ex.own {
		if threads[at.Location] > 0 && (at.Path == synclog.NoPath || serial[at.Path]) {
			if all += t; at.Path == synclog.NoPath {
				outside += t
			}
		}
	}
	opt := retime.Options{Transfer: 1, At: func(path, loc uint32) float64 {
		if path == synclog.NoPath && float64(outside) >= leastOutside*float64(all) || path != synclog.NoPath && serial[path] {
			return 1 / float64(max(1, threads[loc]))
		}
		return 1
	}}
	ex.planRuntimes(func(times []int64) {
		e := ex.page.Efficiency
		if e.Hybrid == nil {
			return
		}
		ex.addFinding(Finding{ID: "serial", Title: "One thread of a process works alone for " +
			formatPercent(1-e.Hybrid.SerialRegion) + " of the time of all threads",
			Loss: (1 - e.Hybrid.SerialRegion) * ex.core, Gain: ex.gain(times[0]), WhatIf: ex.whatIf(opt),
			Evidence: []string{fmt.Sprintf("the factor of serial regions is %.2f", e.Hybrid.SerialRegion)},
			Advice:   "Let the other threads take part in what lies between the parallel regions."})
	}, opt)
}

// threadsOfFirst returns the number of threads of each process with events, by the first one of these threads.
func (ex *explainer) threadsOfFirst() map[uint32]int {
	threads, first := map[uint32]int{}, map[uint32]uint32{}
	d := ex.h.Log.Defs
	for i, l := range ex.h.Locations {
		loc := uint32(i)
		if l == nil || !d.Locations.Has(loc) {
			continue
		}
		x := d.Locations.At(loc)
		if !x.Kind.IsProcessor() || x.Kind == trace.StreamLocation || !d.Groups.Has(x.Group) ||
			d.Groups.At(x.Group).Kind != "process" {
			continue
		}
		if _, ok := first[x.Group]; !ok {
			first[x.Group] = loc
		}
		threads[first[x.Group]]++
	}
	return threads
}

// wrongOrder adds a finding about messages that are received in another order than they were sent.
func (ex *explainer) wrongOrder() {
	var all, wrong trace.Ticks
	for _, p := range ex.waits.Patterns {
		switch p.Pattern {
		case waitstate.LateSender.String():
			all = p.Time
		case waitstate.WrongOrder.String():
			wrong = p.Time
		}
	}
	if wrong.Float() < 0.25*all.Float() {
		return
	}
	ex.addFinding(Finding{ID: "wrong-order", Title: "Messages are received in another order than they are sent",
		Loss: wrong.Float(),
		Evidence: []string{fmt.Sprintf("%s of the %s that wait for late senders", ex.formatDuration(wrong.Float()),
			ex.formatDuration(all.Float()))},
		Advice: "Receive in the order of arrival: MPI_ANY_SOURCE, or MPI_Waitany on posted receives."})
}
