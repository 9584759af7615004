package picl

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sync"
)

// scope is the place of a definition: it holds for this event type, processor and process, each of which may be
// exact, a subset or -1, from its line on.
type scope struct {
	event, processor, process int64
	line                      int64
}

// scopeIndex finds the definition that applies to a record. It takes few steps even if a trace has many
// definitions, or many records with definitions of their own.
type scopeIndex struct {
	events   map[int64]*eventScopes // by the event type of the scope
	resolved sync.Map               // scope without line -> []scoped, for records to which many definitions may apply
}

// eventScopes holds the definitions whose scopes have the same event type.
type eventScopes struct {
	all                   []int32
	byPlace               map[procKey][]scoped
	processors, processes map[int64]bool // of the scopes
}

// scoped is the number of a definition, with the line from which on it holds and its rank for a record.
type scoped struct {
	line  int64
	index int32
	rank  int32
}

func (x *scopeIndex) add(s scope, index int32) {
	if x.events == nil {
		x.events = map[int64]*eventScopes{}
	}
	e := x.events[s.event]
	if e == nil {
		e = &eventScopes{byPlace: map[procKey][]scoped{}, processors: map[int64]bool{}, processes: map[int64]bool{}}
		x.events[s.event] = e
	}
	at := procKey{s.processor, s.process}
	e.all = append(e.all, index)
	e.byPlace[at] = append(e.byPlace[at], scoped{s.line, index, 0})
	e.processors[s.processor], e.processes[s.process] = true, true
	x.resolved.Clear()
}

// find returns the number of the definition that applies to a record, or -1. An exact number is more specific than
// a subset, and a subset more than all. The event type has precedence over the processor, and the processor over the
// process. Of equally specific definitions the last one applies.
func (x *scopeIndex) find(d *definitions, record scope) int32 {
	if len(x.events) == 0 {
		return -1
	}
	line := record.line
	record.line = 0
	if r, ok := x.resolved.Load(record); ok {
		return lastBefore(r.([]scoped), line).index
	}
	const many = 16 // with fewer lists of definitions, the search costs less than its result is worth keeping
	best := scoped{index: -1}
	var lists [][]scoped
	var ranks []int32
	for _, event := range d.eventScopes(x.events, record.event) {
		e := x.events[event]
		for _, p := range d.placeScopes(e.processors, TypeProcessorSet, record.processor) {
			for _, q := range d.placeScopes(e.processes, TypeProcessSet, record.process) {
				list := e.byPlace[procKey{p, q}]
				if len(list) == 0 {
					continue
				}
				rank := int32(exactness(event, record.event)*16 + exactness(p, record.processor)*4 +
					exactness(q, record.process))
				lists, ranks = append(lists, list), append(ranks, rank)
				if s := lastBefore(list, line); s.index >= 0 && (rank > best.rank || rank == best.rank && s.index > best.index) {
					best = scoped{s.line, s.index, rank}
				}
			}
		}
	}
	if len(lists) > many {
		d.resolved.Store(true)
		x.resolved.Store(record, history(lists, ranks))
	}
	return best.index
}

// lastBefore returns the last definition that holds at a line.
func lastBefore(list []scoped, line int64) scoped {
	n := len(list)
	if n > 0 && list[n-1].line > line {
		n, _ = slices.BinarySearchFunc(list, line, func(s scoped, line int64) int {
			if s.line <= line {
				return -1
			}
			return 1
		})
	}
	if n == 0 {
		return scoped{index: -1}
	}
	return list[n-1]
}

// history returns the definitions that apply one after the other from their lines on.
func history(lists [][]scoped, ranks []int32) []scoped {
	var all []scoped
	for i, list := range lists {
		for _, s := range list {
			all = append(all, scoped{s.line, s.index, ranks[i]})
		}
	}
	slices.SortFunc(all, func(a, b scoped) int { return cmp.Compare(a.index, b.index) })
	best := int32(0)
	return slices.Clip(slices.DeleteFunc(all, func(s scoped) bool {
		if s.rank < best {
			return true
		}
		best = s.rank
		return false
	}))
}

// exactness returns 3 if a scope has the number of a record, 1 if it has -1 (all), and 2 for a subset.
func exactness(have, want int64) int {
	switch have {
	case want:
		return 3
	case -1:
		return 1
	}
	return 2
}

// eventScopes returns the event types of scopes that apply to an event type.
func (d *definitions) eventScopes(scopes map[int64]*eventScopes, event int64) []int64 {
	apply := make([]int64, 0, 4)
	add := func(id int64) {
		if scopes[id] != nil {
			apply = append(apply, id)
		}
	}
	add(event)
	if event == -1 {
		return apply
	}
	add(-1)
	for id := range d.subsetsOfEvent(event) {
		if id != event {
			add(id)
		}
	}
	return apply
}

// subsetsOfEvent returns the subsets that contain an event type.
func (d *definitions) subsetsOfEvent(event int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for _, id := range d.subsetsWith(TypeEventSet, event) {
			if !yield(id) {
				return
			}
		}
		var known map[int64]bool
		for i := range eventSubsets {
			s := &eventSubsets[i]
			if !s.has(event) || d.hasSubset(setKey{TypeEventSet, s.id}) {
				continue
			}
			if !yield(s.id) {
				return
			}
			// Members of a subset may be predefined subsets.
			list := d.subsetsWith(TypeEventSet, s.id)
			if len(list) > 0 && known == nil {
				known = map[int64]bool{}
			}
			for _, id := range list {
				if !known[id] && !d.isMember(TypeEventSet, id, event) && !yield(id) {
					return
				}
				known[id] = true
			}
		}
	}
}

// placeScopes returns the processors, or processes, of scopes that apply to a processor or process. typ is the record
// type that defines subsets of them.
func (d *definitions) placeScopes(scopes map[int64]bool, typ, number int64) []int64 {
	apply := make([]int64, 0, 4)
	if scopes[number] {
		apply = append(apply, number)
	}
	if number != -1 && scopes[-1] {
		apply = append(apply, -1)
	}
	if len(scopes) == len(apply) {
		return apply
	}
	for _, id := range d.subsetsWith(typ, number) {
		if id < -1 && id != number && scopes[id] {
			apply = append(apply, id)
		}
	}
	return apply
}

// labelsOf returns the numbers of all labels of an event type, first those that name the type alone.
func (d *definitions) labelsOf(event int64) []int32 {
	var labels, subsets []int32
	for _, e := range d.eventScopes(d.byEvent.events, event) {
		if e == event {
			labels = d.byEvent.events[e].all
		} else {
			subsets = append(subsets, d.byEvent.events[e].all...)
		}
	}
	slices.Sort(subsets)
	return slices.Concat(labels, subsets)
}

// labelOf returns the label that applies to an event type in a record.
func (d *definitions) labelOf(event, processor, process, line int64) (string, bool) {
	i := d.byEvent.find(d, scope{event, processor, process, line})
	if i < 0 {
		return "", false
	}
	return d.labels[i].text, true
}

// nameOf returns the label of a processor or process. The record of such a label has the event type -1,
// and a processor or process other than -1.
func (d *definitions) nameOf(processor, process int64) string {
	i := d.byProcess.find(d, scope{-1, processor, process, math.MaxInt64})
	if i < 0 {
		return ""
	}
	return d.names[i].text
}

// controlOf returns the control string that the integer descriptor n stands for in a record with the given event
// type, processor and process, in a line of the file.
func (d *definitions) controlOf(n int64, event, processor, process, line int64) *control {
	if x := d.byNumber[n]; x != nil {
		if i := x.find(d, scope{event, processor, process, line}); i >= 0 {
			return d.descriptors[i].control
		}
	}
	if n >= 0 && n < int64(len(predefined)) {
		return predefined[n]
	}
	return nil
}
