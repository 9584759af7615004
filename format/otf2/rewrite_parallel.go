package otf2

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// rewriteEvents writes the events of an archive that is rewritten. Each goroutine of the scan has an encoder of
// its own, which writes the events of some locations. The written bytes do not depend on the number of
// goroutines. The texts that a transform has added to events, and markers, stay in memory until the end of the
// scan.
func (e *encoder) rewriteEvents(ctx context.Context, events format.Events, sel trace.Selection) error {
	sel.Links = trace.NoLinks // OTF2 has no links
	var mu sync.Mutex
	var workers []*encoder
	planned := e.original.added
	var removed error // error of a scan that began again
	err := events.ScanParallel(ctx, sel, func() func(int) format.Sink {
		if len(workers) > 0 {
			removed = e.w.removeEvents()
		}
		workers = nil
		e.original.unkeptBefore = e.original.unkeptCount()
		e.original.added, e.original.locations = planned.clone(), uint32(e.defs.Locations.Len())
		return func(int) format.Sink {
			mu.Lock()
			defer mu.Unlock()
			w := e.worker()
			workers = append(workers, w)
			return w
		}
	})
	for _, w := range workers {
		if err == nil {
			err = w.flushMetric()
		}
		e.join(w)
	}
	if err == nil {
		err = removed
	}
	if err == nil {
		err = e.err
	}
	if err != nil {
		return err
	}
	e.defineAddedStrings(workers)
	return nil
}

// worker returns an encoder for the events of some locations of a rewritten archive. The encoder and e share the
// added definitions, and all data that do not change while events are written.
func (e *encoder) worker() *encoder {
	o := *e.original
	for t := range o.ids {
		o.ids[t] = slices.Clone(o.ids[t])
	}
	o.members = slices.Clone(o.members)
	o.ranks, o.seenRanks = map[groupView]rankings{}, nil
	o.localizers, o.clocks, o.texts = nil, 0, map[uint32]map[string]uint64{}
	if o.referred != nil {
		o.referred = map[uint64]bool{}
	}
	return &encoder{w: e.w, defs: e.defs, base: e.base, loss: &format.Loss{}, ids: e.ids, first: undefined64,
		original: &o}
}

// join adds the results of a worker to the encoder.
func (e *encoder) join(w *encoder) {
	e.first, e.final = min(e.first, w.first), max(e.final, w.final)
	for _, r := range w.loss.Rows() {
		e.loss.Add(r.Kind, r.Field, r.How, r.Reason, r.Count)
	}
	e.describes = e.describes || w.describes
	o, own := e.original, w.original
	o.clocks += own.clocks
	for loc, x := range own.localizers {
		for len(o.localizers) <= loc {
			o.localizers = append(o.localizers, foundLocalizer{})
		}
		if x.known {
			o.localizers[loc] = x
		}
	}
	maps.Copy(o.referred, own.referred)
	for _, r := range w.markers {
		if e.err == nil {
			e.err = e.w.Mark(r)
		}
	}
	if e.err == nil {
		e.err = w.err
	}
}

// additions holds the entries that a rewritten archive has in addition to those of its source archives. The
// goroutines that write the archive share it.
type additions struct {
	mu   sync.Mutex
	next [tables]uint64            // next free id of each table; that of strings changes only after the scan
	ids  [tables]map[uint32]uint64 // ids of entries of the trace that no archive defines, by index
	// defined holds the indexes of the entries that must be defined, because a record refers to them.
	defined [tables]map[uint32]bool
}

// clone returns an independent copy.
func (a *additions) clone() *additions {
	c := &additions{next: a.next}
	for t := range a.ids {
		c.ids[t], c.defined[t] = maps.Clone(a.ids[t]), maps.Clone(a.defined[t])
	}
	return c
}

// id returns the id of an entry that no archive defines.
func (a *additions) id(t Table, i uint32) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	id, ok := a.ids[t][i]
	if !ok {
		id = a.next[t]
		a.next[t]++
		if a.ids[t] == nil {
			a.ids[t] = map[uint32]uint64{}
		}
		a.ids[t][i] = id
	}
	return id
}

// use notes that a record refers to an entry that no archive defines.
func (a *additions) use(t Table, i uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.defined[t] == nil {
		a.defined[t] = map[uint32]bool{}
	}
	a.defined[t][i] = true
}

// used returns the entries of a table that must be defined, in any order. An unused entry is defined if its id is
// less than that of a used one, because otf2-print expects consecutive ids.
func (a *additions) used(t Table) []uint32 {
	last := uint64(0)
	for i := range a.defined[t] {
		last = max(last, a.ids[t][i])
	}
	list := slices.Collect(maps.Keys(a.defined[t]))
	for i, id := range a.ids[t] {
		if id < last && !a.defined[t][i] {
			list = append(list, i)
		}
	}
	return list
}

// refer notes that an event refers to a string, and returns its id.
func (o *originalArchives) refer(id uint64) uint64 {
	if o.referred != nil {
		o.referred[id] = true
	}
	return id
}

// tableString returns the id of a text in the model's table of strings. Unlike the texts of attributes, such a text has
// been decoded if the archive's string is no UTF-8.
func (e *encoder) tableString(s string) uint64 {
	o := e.original
	if _, ok := o.strings[s]; !ok {
		if id, ok := o.decoded[s]; ok {
			return o.refer(id)
		}
	}
	return e.string(s)
}

// rewrittenString returns the id of a text in an archive that is rewritten. While events are written, a text that
// the source archives do not have gets an id that depends only on the location and on the earlier texts of the
// location: goroutines that write other locations cannot change it.
func (e *encoder) rewrittenString(s string) uint64 {
	o := e.original
	if id, ok := o.strings[s]; ok {
		return o.refer(id)
	}
	texts := e.strings
	if o.texts != nil {
		if texts = o.texts[e.loc]; texts == nil {
			texts = map[string]uint64{}
			o.texts[e.loc] = texts
		}
	}
	id, ok := texts[s]
	if ok {
		return id
	}
	switch {
	case o.texts == nil:
		id = o.added.next[Strings]
		o.added.next[Strings]++
		e.writeString(id, s)
	case e.loc < o.locations:
		id = o.added.next[Strings] + uint64(len(texts))*uint64(o.locations) + uint64(e.loc)
	case e.err == nil:
		e.err = fmt.Errorf("found events of location %d, expected %s", e.loc, plural.Of(int(o.locations), "location"))
	}
	texts[strings.Clone(s)] = id // texts of attributes belong to the decoder
	return id
}

// defineAddedStrings defines the texts that the workers have added.
func (e *encoder) defineAddedStrings(workers []*encoder) {
	added := map[uint64]string{}
	for _, w := range workers {
		for _, texts := range w.original.texts {
			for text, id := range texts {
				added[id] = text
			}
		}
	}
	a := e.original.added
	for _, id := range slices.Sorted(maps.Keys(added)) {
		e.writeString(id, added[id])
		a.next[Strings] = id + 1
	}
}

// assignIDs assigns ids to the entries that no archive defines: attributes that a transform has added, and
// stand-ins for undefined ids. It does so before the scan, so that the ids do not depend on the order in which
// locations are written.
func (e *encoder) assignIDs() {
	o := e.original
	for _, t := range []Table{Attributes, Regions, Comms, Parameters, Windows, CallingContexts, IOFiles, IOHandles} {
		for i := uint32(0); ; i++ {
			table, _ := modelTable(e.defs, t, i)
			if table == nil {
				break
			}
			if t == Attributes && isField(e.defs.Attributes.At(i)) {
				continue
			}
			if !e.isDefined(t, i) {
				o.added.id(t, i)
			}
		}
	}
	o.eventParameter = o.added.next[Parameters]
}

// isDefined reports whether an archive defines an entry, or names its id.
func (e *encoder) isDefined(t Table, i uint32) bool {
	o := e.original
	if i < uint32(len(o.ids[t])) && o.ids[t][i] != unknownID {
		return true
	}
	_, text := modelTable(e.defs, t, i)
	_, err := strconv.ParseUint(text, 10, 64)
	return o.partOf == nil && err == nil
}

// addedEntries returns the entries of a table that must be defined and that no archive defines, in the order of
// their ids.
func (e *encoder) addedEntries(t Table) []uint32 {
	list := e.original.added.used(t)
	slices.SortFunc(list, func(i, j uint32) int { return cmp.Compare(e.id(t, i), e.id(t, j)) })
	return list
}
