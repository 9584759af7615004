package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/analysis/efficiency"
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
	// A gain may be large although few locations wait. The number of such paths is limited, because each takes time.
	least := leastShare * float64(ex.page.Ran.Runtime)
	much := min(least*float64(ex.page.Ran.Processes+ex.page.Ran.Streams), leastShare*ex.core)
	planned := 0
	for _, d := range ex.delays() {
		if d.cost < min(least, much) || d.cost < much && planned >= mostFindings {
			break
		}
		if ex.synchronises(d.path) {
			continue // the finding about transfer includes this time
		}
		if d.cost < much && d.awaitsDevice() {
			continue // the gain is at most the loss
		}
		ex.planLate(d)
		planned++
	}
}

// planLate plans a finding about the waits that a call path causes.
func (ex *explainer) planLate(d *delay) {
	late := keysByValue(d.locations)
	f := Finding{ID: "late", Loss: d.cost, Path: d.names, Evidence: []string{}}
	f.At = late[:min(3, len(late))]
	if d.awaitsDevice() {
		ex.planDevice(f, d)
		return
	}
	spread := ex.spread(d.path)
	slow := spread.slowest()
	share := 0.0
	for _, t := range slow {
		share += d.locations[t.location]
	}
	if share <= causeShare*d.cost {
		slow = nil
	}
	// scaled holds the times to shorten, and wanted is the time to which they are shortened.
	reference, scaled := spread, spread
	if slow != nil {
		reference, scaled = spread[:len(spread)-len(slow)], slow
	}
	wanted := reference.mean()
	factors := map[uint32]float64{}
	for _, t := range scaled {
		factors[t.location] = shorteningFactor(wanted, float64(t.time))
	}
	changes := []retime.Options{{Transfer: 1, At: func(p, loc uint32) float64 {
		if factor, ok := factors[loc]; ok && p == d.path {
			return factor
		}
		return 1
	}}}
	if d.path == synclog.NoPath {
		changes[0].Start = func(loc uint32) float64 {
			if factor, ok := factors[loc]; ok {
				return factor
			}
			return 1
		}
	}
	changes = append(changes, ex.balancedOptions(d.path, scaled, reference)...)
	shortened := len(changes)
	locks := d.patterns[waitstate.LockContention.String()]*ex.locks + d.patterns[waitstate.WindowLock.String()]
	locked := locks > causeShare/2*d.cost
	if locked {
		changes = append(changes, retime.Options{Transfer: 1, WithoutLocks: true})
	}
	noiseless, noisy := ex.withoutNoise(d.path)
	ex.planRuntimes(func(times []int64) {
		inProportion := ex.gain(times[0])
		f.Gain, times = ex.gain(slices.Min(times[:shortened])), times[shortened:]
		without := int64(0)
		if locked {
			without, times = ex.gain(times[0]), times[1:]
		}
		noise, byNoise := int64(0), false
		balanced := f.Gain
		for i, t := range times {
			g := ex.gain(t)
			if noisy[i].hasLate {
				if at, others := spread.split(noisy[i].late); g > f.Gain && at != nil {
					f.Gain, slow, wanted = g, at, others.mean()
				}
			} else if g > noise {
				noise, byNoise = g, g > 2*balanced || g > balanced && noisy[i].varies()
			}
		}
		// Locks that gain nothing explain no waits: the holder itself is late, as a thread that signals a condition is.
		held := float64(without) >= leastShare*float64(ex.page.Ran.Runtime)
		byLocks := without > max(f.Gain, noise) || locks > causeShare*d.cost && (held || without == f.Gain)
		ex.describeLate(&f, d, lateTimes{spread, slow, wanted, noise, without, byLocks, byNoise})
		switch {
		case f.ID == "lock":
			f.WhatIf = ex.whatIf(changes[shortened])
		case f.ID == "late" && f.Gain == inProportion:
			f.WhatIf = ex.whatIf(changes[0])
		}
		ex.addFinding(f)
	}, append(changes, noiseless...)...)
}

// planDevice plans a finding about a call path for which threads wait on a device, or during which devices wait for
// work.
func (ex *explainer) planDevice(f Finding, d *delay) {
	f.ID = "device"
	ex.planRuntimes(func(times []int64) {
		f.Gain = min(ex.gain(times[0]), int64(d.cost))
		byDevice := d.patterns[waitstate.Device.String()] > d.patterns[waitstate.Launch.String()]
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
	}, retime.Options{Transfer: 1, Scale: func(path uint32) float64 {
		if path == d.path {
			return 0
		}
		return 1
	}})
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

// awaitsDevice reports whether more than half of the waits are those of threads for devices, or of devices for work.
func (d *delay) awaitsDevice() bool {
	return d.patterns[waitstate.Device.String()]+d.patterns[waitstate.Launch.String()] > causeShare*d.cost
}

// region returns the innermost region of the call path, as the subject of a sentence.
func (d *delay) region() string {
	if n := len(d.names); n > 0 {
		return d.names[n-1]
	}
	return outside
}

// describePlaces adds the names of the locations to a finding about the waits that a call path causes. It adds
// the patterns of these waits to the evidence.
func (ex *explainer) describePlaces(f *Finding, d *delay) {
	for _, loc := range f.At {
		f.Locations = append(f.Locations, ex.locationName(loc))
	}
	for _, p := range keysByValue(d.patterns)[:min(3, len(d.patterns))] {
		f.Evidence = append(f.Evidence, fmt.Sprintf("%s of %s", ex.formatDuration(d.patterns[p]), p))
	}
}

// lateTimes holds the times on which the description of a finding about late locations is based, in
// ticks.
type lateTimes struct {
	all, slow           spread  // times of all locations, and of the locations that are clearly slower than the others
	target              float64 // time to which the times of the slow locations are shortened
	noiseGain, lockGain int64   // gains of a run without noise, and of a run without waits for locks
	byLocks, byNoise    bool    // locks, or else noise, explain the waits of the finding
}

// describeLate sets the title, the evidence and the advice of a finding about the waits that a call
// path causes.
func (ex *explainer) describeLate(f *Finding, d *delay, t lateTimes) {
	region := d.region()
	most := float64(t.all[len(t.all)-1].time)
	begins := d.path == synclog.NoPath && ex.begins(t.all[len(t.all)-1])
	ends := d.patterns[waitstate.EarlyEnd.String()] > causeShare*d.cost
	switch {
	case t.byLocks:
		f.ID, f.Gain = "lock", t.lockGain
		f.Title = "A lock is held in " + region + " while others wait for it"
		f.Advice = "Do less while the lock is held, or divide what it protects among several locks."
	case t.byNoise:
		f.ID, f.Gain = "noise", t.noiseGain
		f.Title = region + " takes longer now at one location, now at another, and others wait"
		f.Advice = "Look for what disturbs it, such as other programs on the node, or let locations go on without waiting " +
			"for each other."
		f.Evidence = append(f.Evidence, fmt.Sprintf("at most %s at a location, %s in the mean", ex.formatDuration(most),
			ex.formatDuration(t.all.mean())))
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
			f.At = append(f.At, s.location)
		}
		f.Advice = "Look at what this location does there that others do not: its data, its node, or work that only it has."
		if len(t.slow) > 1 {
			f.Advice = "Look at what these locations have in common: their node, their data, or work that only they have."
		}
		f.Evidence = append(f.Evidence, fmt.Sprintf("%s there, %s in the mean of the others",
			ex.formatDuration(t.slow.mean()), ex.formatDuration(t.target)))
	default:
		switch {
		case begins:
			f.Title = "The late begin of some locations delays the others or the end"
		case ends:
			f.Title = region + " takes longer at some locations than at others, and these end earlier"
		default:
			f.Title = region + " takes longer at some locations than at others, and they wait for each other"
		}
		f.Advice = "Divide its work more evenly, or let locations go on without waiting for each other."
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
func (ex *explainer) begins(t locationTime) bool { return 2*ex.start(t.location) > t.time }

// start returns the time in ticks between the first event of the trace and that of a location.
func (ex *explainer) start(loc uint32) int64 {
	if int64(loc) < int64(len(ex.h.Locations)) && ex.h.Locations[loc] != nil {
		return ex.h.Locations[loc].First - ex.h.Log.First
	}
	return 0
}

// shorteningFactor returns the factor by which time must be multiplied to get wanted, but at most 1.
func shorteningFactor(wanted, time float64) float64 {
	if time <= wanted || time == 0 {
		return 1
	}
	return wanted / time
}

// spread is a list of the times of a call path at locations, in ascending order of the time.
type spread []locationTime

// locationTime is the time in ticks of a call path at a location.
type locationTime struct {
	location uint32
	time     int64
}

// spread returns the times of a path at the processors that could do the work of the path. The time outside of all
// regions includes the time before the first event. The processors are the first threads of processes. If any later
// thread spends time in the path, they are all threads. Streams of devices are not among them.
func (ex *explainer) spread(path uint32) spread {
	var first, later spread
	visited := false
	for _, loc := range ex.h.Log.Locations() {
		if d := ex.h.Log.Defs; d.Locations.Has(loc) {
			if k := d.Locations.At(loc).Kind; !k.IsProcessor() || k == trace.StreamLocation {
				continue
			}
		}
		t := locationTime{loc, ex.own[synclog.PathLocation{Path: path, Location: loc}]}
		if path == synclog.NoPath {
			t.time += ex.start(loc)
		}
		if int64(loc) < int64(len(ex.later)) && ex.later[loc] {
			later, visited = append(later, t), visited || t.time > 0
		} else {
			first = append(first, t)
		}
	}
	if visited {
		first = append(first, later...)
	}
	if len(first) == 0 { // no location is a processor
		first = spread{{}}
	}
	slices.SortFunc(first, func(a, b locationTime) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.location, b.location))
	})
	return first
}

// mean returns the mean of the times, or 0 for an empty list.
func (s spread) mean() float64 {
	sum := 0.0
	for _, t := range s {
		sum += float64(t.time)
	}
	return sum / float64(max(1, len(s)))
}

// slowest returns the locations that are clearly slower than the others, or none. These are at most half of
// all locations. The gap between both groups is at least twice as large as the differences within each group.
func (s spread) slowest() (slow spread) {
	widest := int64(0)
	for i := (len(s) + 1) / 2; i < len(s); i++ {
		gap := s[i].time - s[i-1].time
		if gap > widest && gap/2 >= max(s[i-1].time-s[0].time, s[len(s)-1].time-s[i].time) {
			widest, slow = gap, s[i:]
		}
	}
	return slow
}

// split returns the time of a location, and those of the others.
func (s spread) split(loc uint32) (one, others spread) {
	for _, t := range s {
		if t.location == loc {
			one = append(one, t)
		} else {
			others = append(others, t)
		}
	}
	return one, others
}

// placeName returns a name for the locations of list: the name of a single location; or the name of the group
// that contains exactly these of all locations; or their number.
func (ex *explainer) placeName(list, all spread) string {
	if len(list) == 1 {
		return ex.locationName(list[0].location)
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
	number := func(s spread) map[uint32]int { // counts the locations of s in each group
		n := map[uint32]int{}
		for _, t := range s {
			above(t.location, func(g uint32) bool { n[g]++; return true })
		}
		return n
	}
	inside, total := number(list), number(all)
	name := plural.Of(len(list), "location")
	above(list[0].location, func(g uint32) bool {
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

// communicates reports whether a path ends in a call of a communication library, or inside of one.
func (ex *explainer) communicates(path uint32) bool {
	return path != synclog.NoPath && ex.communicating[path]
}

// communicatingPaths returns, for each call path of a log, whether it ends in a call of a communication library, or
// inside of one.
func communicatingPaths(log *synclog.Log) []bool {
	list := make([]bool, len(log.Paths))
	for i, p := range log.Paths { // a path follows the path above it
		list[i] = log.Defs.Communicates(p.Region) || p.Parent != synclog.NoPath && list[p.Parent]
	}
	return list
}

// synchronises reports whether a path ends in or inside of a call of a communication library, or in a barrier of
// threads. Threads may wait for work in a barrier of their runtime system.
func (ex *explainer) synchronises(path uint32) bool {
	if path == synclog.NoPath {
		return false
	}
	role := ex.h.Log.Defs.RoleOf(ex.h.Log.Paths[path].Region)
	return role >= trace.SendRole && role <= trace.CommunicationRole || ex.communicates(path)
}

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

// communication returns the time in ticks of all calls of communication libraries, without waits. startup is
// the time of the calls that initialise or finalise MPI, unknown the time of calls whose waits are unknown, and other
// the time of all other calls.
func (ex *explainer) communication() (startup, other, unknown float64) {
	for s, t := range ex.own {
		switch {
		case !ex.communicates(s.Path):
		case ex.startsOrEndsMPI(s.Path):
			startup += float64(t)
		default:
			u := ex.unknown(s, t)
			unknown += float64(u)
			other += float64(t - u)
		}
	}
	return startup, other, unknown
}

// transfer adds a finding about the time of communication without waits.
func (ex *explainer) transfer() {
	_, loss, _ := ex.communication()
	if loss < leastShare*ex.core {
		return
	}
	f := Finding{ID: "transfer", Title: "Communication itself takes " + formatPercent(loss/ex.core) +
		" of the time, waits left out",
		Loss:     loss,
		Evidence: []string{fmt.Sprintf("%s in calls of communication libraries", ex.formatDuration(loss))},
		Advice: "Send fewer or larger messages, or compute while they are on their way. weft comm shows sizes and " +
			"latencies."}
	partly := map[uint32]bool{} // the paths of which Counts.Unknown has a part
	for at := range ex.h.Counts.Unknown {
		partly[at.Path] = true
	}
	opt := retime.Options{Transfer: 1, Scale: func(path uint32) float64 {
		if ex.communicates(path) && !ex.startsOrEndsMPI(path) && !ex.silentCall(path) && !partly[path] {
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

// startup adds a finding about the time in which MPI is initialised and finalised.
func (ex *explainer) startup() {
	loss, _, _ := ex.communication()
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
			Evidence: []string{fmt.Sprintf("%s in both", ex.formatDuration(loss))},
			Advice:   "Trace a longer run, or a window of it, to judge the rest."})
	}, opt)
}

// findSerial adds a finding about the time during which only one thread of each process works.
func (ex *explainer) findSerial() {
	if ex.page.Ran.Threads == ex.page.Ran.Processes {
		return
	}
	serial, threads := efficiency.Serial(ex.h), ex.threadsOfFirst()
	opt := retime.Options{Transfer: 1, At: func(path, loc uint32) float64 {
		if path == synclog.NoPath || serial[path] {
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
