package picl

import (
	"math/bits"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// derivedKinds lists the kinds of the events that readers derive from entries, exits and marks.
var derivedKinds = [...]trace.Kind{trace.Send, trace.SendBegin, trace.Recv, trace.RecvComplete, trace.CollectiveBegin,
	trace.CollectiveEnd}

// derivedSet is a set of indexes into derivedKinds.
type derivedSet uint8

// setOf returns the set with a kind. It is empty if the kind is not in derivedKinds.
func setOf(kind trace.Kind) derivedSet {
	for i, k := range derivedKinds {
		if k == kind {
			return 1 << i
		}
	}
	return 0
}

// removedEvents finds derived events that were removed from a trace although the record from which readers derive them
// remains. PICL cannot express this. In a trace, the derived events of an entry or a mark follow it, and those of an
// exit precede it. Therefore they are found between the two other events of the location around them.
type removedEvents struct {
	locations []derivedEvents
	counts    [len(derivedKinds)]int64
}

// derivedEvents are the derived events of a location since its last other event.
type derivedEvents struct{ expected, found derivedSet }

// at returns the state of a location.
func (r *removedEvents) at(loc uint32) *derivedEvents {
	for int(loc) >= len(r.locations) {
		r.locations = append(r.locations, derivedEvents{})
	}
	return &r.locations[loc]
}

// derived notes a derived event.
func (r *removedEvents) derived(loc uint32, kind trace.Kind) { r.at(loc).found |= setOf(kind) }

// record notes that a record was written, and counts the events that it should have at the location.
func (r *removedEvents) record(loc uint32, x *Record, markMessages bool) {
	var now derivedSet
	spec := specOf(x.Event)
	if kind, _, ok := messageOfRecord(x.Type, spec, x.Values, markMessages); ok {
		now = setOf(kind)
	}
	if _, ok := operationOf(x.Event); ok && x.Type == TypeEntry {
		now |= setOf(trace.CollectiveBegin)
	} else if ok && x.Type == TypeExit {
		now |= setOf(trace.CollectiveEnd)
	}
	l := r.at(loc)
	if x.Type == TypeExit {
		l.expected, now = l.expected|now, 0
	}
	r.count(l)
	*l = derivedEvents{expected: now}
}

// count counts the events that a location should have and does not have.
func (r *removedEvents) count(l *derivedEvents) {
	for missing := l.expected &^ l.found; missing != 0; missing &= missing - 1 {
		r.counts[bits.TrailingZeros8(uint8(missing))]++
	}
}

// addTo adds the counts to loss.
func (r *removedEvents) addTo(loss *format.Loss, d *trace.Definitions) {
	for i := range r.locations {
		r.count(&r.locations[i])
	}
	for i, n := range r.counts {
		loss.Add(d.Spec(derivedKinds[i]).Name, "", format.Degraded,
			"not removed, because readers derive it from the record of its call, which remains", n)
	}
}
