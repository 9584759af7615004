package picl

import (
	"iter"
	"maps"
	"slices"
)

// statisticsSums decides which tables of totals there are, and keeps sums over several totals, so that the next
// statistics record with the same sum need not add them up again.
type statisticsSums struct {
	// keeps reports whether the events inside of an event type have a table. Nil stands for all event types.
	keeps       func(own int64) bool
	tables      map[int64][]int64 // the tables with the events inside of each event type
	records     int64             // number of event records
	updates     int64             // number of updates of tables other than -1
	overflowed  bool              // the tables other than -1 are incomplete, because there were too many updates
	kept        map[sumKey]*keptSum
	changes     []totalsChange
	dropped     int64                  // number of changes before those in changes
	stops       int                    // number of changes of the events that may lack records
	stopped     map[procKey]stoppedSum // indexed by the processor and process of statistics records
	subsetLacks map[int64]lostEvents   // the kinds of events in each subset
}

// Limits of updates of tables other than -1: maxUpdates, and updatesPerRecord for each record. They bound the time and
// memory that deeply nested events take.
const maxUpdates, updatesPerRecord = 1 << 18, 32

// maxChanges is the number of changes that are kept.
const maxChanges = 1 << 16

// sumKey identifies a value of a statistics record: its processes, the table, and an event type or subset.
type sumKey struct {
	about         procKey
	inside, event int64
}

// keptSum is a sum that contains all changes before the change at.
type keptSum struct {
	eventTotals
	at   int64
	cost int64 // number of totals that were visited to add it up
}

// totalsChange is an update of the totals of an event type in a table.
type totalsChange struct {
	process       procKey
	inside, event int64
	added         eventTotals
}

// stoppedSum holds the events of several processes that may lack records, and the numbers of processes and of stops
// that it takes into account.
type stoppedSum struct {
	stopped          lostEvents
	processes, stops int
}

// openTable is an element of a list of tables, from the innermost to the outermost one. Lists share elements.
type openTable struct {
	own   int64
	outer *openTable
}

func newStatisticsSums() statisticsSums {
	return statisticsSums{tables: map[int64][]int64{}, kept: map[sumKey]*keptSum{}, stopped: map[procKey]stoppedSum{},
		subsetLacks: map[int64]lostEvents{}}
}

// setDefinitions sets the subsets of the whole file, and the event types that its statistics records have.
func (s *Statistics) setDefinitions(d *definitions, own map[int64]bool) {
	s.defs.subsets, s.complete = d.subsets, true
	s.sums.keeps = func(e int64) bool { return own[e] }
}

// tablesWith returns the tables that have the events inside of an event type: its own one, and those of the subsets
// that contain it.
func (s *Statistics) tablesWith(event int64) []int64 {
	if event == -1 {
		return nil // the whole run
	}
	list, known := s.sums.tables[event]
	if known {
		return list
	}
	if s.sums.keeps == nil || s.sums.keeps(event) {
		list = append(list, event)
	}
	for own := range s.defs.subsetsOfEvent(event) {
		if own != event && s.complete && s.sums.keeps(own) {
			list = append(list, own)
		}
	}
	s.sums.tables[event] = list
	return list
}

// openTable notes that an entry opens a table.
func (s *Statistics) openTable(p *processStatistics, own int64) {
	if s.sums.overflowed {
		return
	}
	if p.opened[own]++; p.opened[own] == 1 {
		s.countUpdate()
		p.tables = &openTable{own, p.tables}
	}
}

// closeTable notes that an exit closes a table.
func (s *Statistics) closeTable(p *processStatistics, own int64) {
	if s.sums.overflowed {
		return
	}
	if p.opened[own]--; p.opened[own] > 0 {
		return
	}
	delete(p.opened, own)
	var inner []int64 // entries have the old list, so the elements before the closed one are copied
	t := p.tables
	for ; t.own != own; t = t.outer {
		inner = append(inner, t.own)
		s.countUpdate()
	}
	p.tables = t.outer
	for _, own := range slices.Backward(inner) {
		p.tables = &openTable{own, p.tables}
	}
}

// countUpdate counts an update of a table other than -1. A writer of statistics records needs all tables.
func (s *Statistics) countUpdate() {
	s.sums.updates++
	s.sums.overflowed = s.sums.overflowed || s.complete && s.sums.updates > maxUpdates+updatesPerRecord*s.sums.records
}

// addTotals adds the totals of an event to the table of the whole run and to the tables that were open around it.
func (s *Statistics) addTotals(k procKey, p *processStatistics, open *openTable, event int64, own *eventTotals) {
	s.addTo(k, p, -1, event, own)
	for t := open; t != nil && !s.sums.overflowed; t = t.outer {
		s.addTo(k, p, t.own, event, own)
		s.countUpdate()
	}
}

// addTo adds the totals of an event to a table.
func (s *Statistics) addTo(k procKey, p *processStatistics, inside, event int64, own *eventTotals) {
	t := p.inside[inside]
	if t == nil {
		t = map[int64]*eventTotals{}
		p.inside[inside] = t
	}
	f := t[event]
	if f == nil {
		f = &eventTotals{}
		t[event] = f
	}
	f.add(own)
	if x := &s.sums; len(x.kept) > 0 {
		if len(x.changes) == maxChanges {
			x.dropped += maxChanges
			x.changes = x.changes[:0]
		}
		x.changes = append(x.changes, totalsChange{k, inside, event, *own})
	}
}

// affected returns the processes that a statistics record is about. The record may be about several processes; k then
// is the processor and process in its head.
func (s *Statistics) affected(k procKey) (list []*processStatistics) {
	if k.processor >= 0 && k.process >= 0 {
		if p := s.process[k]; p != nil {
			list = append(list, p)
		}
		return list
	}
	for _, c := range s.candidates(k) {
		if s.covers(k, c) {
			list = append(list, s.process[c])
		}
	}
	return list
}

// candidates returns the processes among which those of a statistics record are.
func (s *Statistics) candidates(about procKey) []procKey {
	if about.processor >= 0 {
		return s.byProcessor[about.processor]
	}
	return s.order
}

// stoppedOf returns which events of the processes of a statistics record may lack records.
func (s *Statistics) stoppedOf(about procKey) (stopped lostEvents) {
	if len(s.lost) == 0 || about.processor >= 0 && about.process >= 0 {
		return s.lostOf(about)
	}
	x := s.sums.stopped[about]
	if x.stopped == (lostEvents{true, true, true}) || x.processes == len(s.order) && x.stops == s.sums.stops {
		return x.stopped
	}
	if about.processor >= 0 {
		stopped = s.lostOf(about)
	} else {
		for k, stop := range s.lost { // lost may also name processes without events
			if s.covers(about, k) || s.covers(k, about) || k.processor < 0 {
				stopped.add(stop)
			}
		}
	}
	for _, k := range s.candidates(about) {
		if s.covers(about, k) {
			stopped.add(s.lostOf(k))
		}
	}
	if s.complete {
		s.sums.stopped[about] = stoppedSum{stopped, len(s.order), s.sums.stops}
	}
	return stopped
}

// total returns the totals that a value of a statistics record states: those of an event type or subset inside of
// events of the type own, of the given processes.
func (s *Statistics) total(about procKey, own, event int64) eventTotals {
	if own == -901 {
		own = -1 // the whole run
	}
	k, x := sumKey{about, own, event}, &s.sums
	last := x.dropped + int64(len(x.changes))
	if f := x.kept[k]; f != nil && f.at >= x.dropped && last-f.at <= f.cost && s.update(k, f) {
		f.at = last
		return f.eventTotals
	}
	sum := keptSum{at: last}
	keep := s.complete
	for _, p := range s.affected(about) {
		for _, inside := range s.tablesOf(p, own) {
			keep = s.addSum(&sum, p.inside[inside], event) && keep
		}
		sum.cost++
	}
	if keep && sum.cost > 1 {
		x.kept[k] = &sum
	}
	return sum.eventTotals
}

// update adds the changes since a sum was added up. It returns false if the sum has to be added up again.
func (s *Statistics) update(k sumKey, f *keptSum) bool {
	several := k.event == -1 || s.defs.isSubset(k.event)
	for i := f.at - s.sums.dropped; i < int64(len(s.sums.changes)); i++ {
		c := &s.sums.changes[i]
		switch {
		case c.inside != k.inside || !s.covers(k.about, c.process):
		case c.event == k.event && !several:
			f.add(&c.added)
		case c.event == k.event && k.event != -1:
			return false // the subset's number is an event type, too
		case several && c.event != -1 && s.defs.inEventSubset(k.event, c.event):
			f.addMember(&c.added)
		}
	}
	return true
}

// addMember adds the totals g of an event type to the sum f over a subset.
func (f *eventTotals) addMember(g *eventTotals) {
	own := *g
	if own.waited = nil; g.waited != nil { // the subset contains the wait as well
		own.time = subtract(own.time, g.waited.time)
		own.count -= g.waited.count
		own.volume -= g.waited.volume
	}
	f.add(&own)
}

// tablesOf returns the keys of the tables that belong to the event type own of a statistics record. For a
// subset without a table, they are the event types in the subset that have a table.
func (s *Statistics) tablesOf(p *processStatistics, own int64) []int64 {
	if _, exact := p.inside[own]; exact || s.complete || !s.defs.isSubset(own) {
		return []int64{own}
	}
	var out []int64
	for _, e := range slices.Sorted(maps.Keys(p.inside)) {
		if e != -1 && s.defs.inEventSubset(own, e) {
			out = append(out, e)
		}
	}
	return out
}

// addSum adds the totals of an event type in a table, or of all event types in a subset, to a sum. It returns false if
// the subset's number is an event type of the table, too: its totals then stand for the subset.
func (s *Statistics) addSum(sum *keptSum, t map[int64]*eventTotals, event int64) bool {
	several := event == -1 || s.defs.isSubset(event)
	if f := t[event]; f != nil && event != -1 {
		sum.add(f)
		return !several
	}
	if !several {
		return true
	}
	for e, f := range s.ofSubset(t, event) {
		if sum.cost++; f != nil && e != -1 && s.defs.inEventSubset(event, e) {
			sum.addMember(f)
		}
	}
	return true
}

// ofSubset returns the totals of a table in which those of a subset are. It may return event types without totals.
func (s *Statistics) ofSubset(t map[int64]*eventTotals, id int64) iter.Seq2[int64, *eventTotals] {
	all := s.defs.all[setKey{TypeEventSet, id}]
	isPredefined := func(p eventSubset) bool { return s.defs.isMember(TypeEventSet, id, p.id) }
	if id == -1 || !s.defs.hasSubset(setKey{TypeEventSet, id}) || len(all) >= len(t) ||
		slices.ContainsFunc(eventSubsets, isPredefined) {
		return maps.All(t)
	}
	return func(yield func(int64, *eventTotals) bool) {
		known := map[int64]bool{}
		for _, e := range all {
			if !known[e] && !yield(e, t[e]) {
				return
			}
			known[e] = true
		}
	}
}

// mayLack reports whether some events of a type, or of a subset of types, may lack records.
func (s *Statistics) mayLack(stopped lostEvents, event int64) bool {
	if stopped == (lostEvents{}) {
		return false
	}
	groups := s.groupsOf(event)
	for i := range stopped {
		if stopped[i] && groups[i] {
			return true
		}
	}
	return false
}

// groupsOf returns the groups of events that an event type, or a subset, has.
func (s *Statistics) groupsOf(event int64) (groups lostEvents) {
	k := setKey{TypeEventSet, event}
	if !s.defs.hasSubset(k) {
		return groupsOf(event)
	}
	if groups, known := s.sums.subsetLacks[event]; known {
		return groups
	}
	for _, e := range s.defs.members(k) {
		groups.add(groupsOf(e))
	}
	if s.complete {
		s.sums.subsetLacks[event] = groups
	}
	return groups
}

// groupsOf returns the groups of events that an event type, or a predefined subset, has.
func groupsOf(event int64) lostEvents {
	switch {
	case event == -1:
		return lostEvents{true, true, true}
	case event >= 0 || event == -1001:
		return lostEvents{userEvents: true}
	case event == -1002:
		return lostEvents{piclEvents: true, tracingEvents: true}
	case event <= -901 && event >= -1000 || event == -1901 || event == -1902:
		return lostEvents{tracingEvents: true}
	}
	return lostEvents{piclEvents: true}
}
