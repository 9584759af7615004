package transform

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// definitionRecord is a definition record of PICL, as an element of [trace.Definitions.Opaque].
type definitionRecord struct {
	typ, event, processor, process int64
	time, data                     string
}

// The types of PICL's definition records: labels, descriptors, and subsets of processors, processes and
// event types.
const (
	labelRecord        = -5
	descriptorRecord   = -6
	processorSetRecord = -201
	processSetRecord   = -202
	eventSetRecord     = -203
)

// parseDefinition parses an opaque definition. ok is false if it is not a definition record.
func parseDefinition(text string) (r definitionRecord, ok bool) {
	_, line, _ := strings.Cut(text, "\t")
	f := strings.SplitN(line, " ", 6)
	if len(f) < 6 {
		return r, false
	}
	for i, to := range map[int]*int64{0: &r.typ, 1: &r.event, 3: &r.processor, 4: &r.process} {
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			return r, false
		}
		*to = n
	}
	r.time, r.data = f[2], f[5]
	return r, true
}

// String returns the record as an opaque definition without a position.
func (r *definitionRecord) String() string {
	return fmt.Sprintf("-1\t%d %d %s %d %d %s", r.typ, r.event, r.time, r.processor, r.process, r.data)
}

// key returns the record as text, without its time.
func (r *definitionRecord) key() string {
	return fmt.Sprint(r.typ, " ", r.event, " ", r.processor, " ", r.process, " ", r.data)
}

// text returns the text of a label record.
func (r *definitionRecord) text() string {
	f := strings.SplitN(r.data, " ", 3)
	return f[len(f)-1]
}

// counts reports whether the definitions of the trace contain the subset that the record defines. They do not
// contain the subset if the record has a defect, or if a later record replaces the subset.
func (r *definitionRecord) counts(d *definedNumbers) bool {
	data := r.data
	if i, j := strings.IndexByte(data, '"'), strings.LastIndexByte(data, '"'); i >= 0 {
		// the record has a control string as descriptor; this code puts 0 in its place
		data = data[:i] + "0" + data[j+1:]
	}
	var list []int64
	for _, word := range strings.FieldsFunc(data, func(c rune) bool { return c != '-' && (c < '0' || c > '9') }) {
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			list = append(list, n)
		}
	}
	kind := map[int64]string{processorSetRecord: processorSets, processSetRecord: processSets,
		eventSetRecord: eventSets}[r.typ]
	if len(list) < 3 {
		return false
	}
	i, ok := d.set(subsetID{kind, list[2]})
	return ok && slices.Equal(d.defs.Sets.At(i).Members, list[3:])
}

// definedNumbers is an index of the subsets and regions in definitions. The keys are their numbers in the file.
type definedNumbers struct {
	defs    *trace.Definitions
	sets    map[subsetID]uint32
	regions map[int64]bool
	seen    [2]int // how many sets and regions of defs the maps have; defs may grow
}

// read adds the definitions that were added since its last call to the index.
func (d *definedNumbers) read() {
	if d.sets == nil {
		d.sets, d.regions = map[subsetID]uint32{}, map[int64]bool{}
	}
	for i, s := range d.defs.Sets.All()[d.seen[0]:] {
		if _, _, joint := jointSet(s.ID); joint {
			continue
		}
		k := subsetID{s.Kind, idNumber(s.ID)}
		if _, ok := d.sets[k]; !ok {
			d.sets[k] = uint32(d.seen[0] + i)
		}
	}
	for _, r := range d.defs.Regions.All()[d.seen[1]:] {
		d.regions[idNumber(r.ID)] = true
	}
	d.seen = [2]int{d.defs.Sets.Len(), d.defs.Regions.Len()}
}

// set returns the first subset with an id.
func (d *definedNumbers) set(k subsetID) (uint32, bool) {
	d.read()
	i, ok := d.sets[k]
	return i, ok
}

// isRegion reports whether a number is the id of a region.
func (d *definedNumbers) isRegion(id int64) bool {
	d.read()
	return d.regions[id]
}

// isEventSet reports whether a number is the id of a subset of event types.
func (d *definedNumbers) isEventSet(id int64) bool {
	_, ok := d.set(subsetID{eventSets, id})
	return ok || slices.Contains(predefinedSets, id)
}

// definition returns a definition record with the numbers of the merged trace. It returns false if the
// merged definitions already contain the record, or if the record cannot be kept; in the latter case it
// counts the record.
func (on *ownNumbers) definition(text string) (string, bool) {
	r, ok := parseDefinition(text)
	switch {
	case !ok:
		return "", false
	case r.typ == descriptorRecord:
		on.described++
		return "", false
	case r.typ != labelRecord:
		if !r.counts(&on.named.defined) {
			on.dropped++
		}
		return "", false
	}
	everywhere := on.labels[r.key()] == on.traces
	if r.event != -1 && !on.named.events[r.event] && !on.named.defined.isEventSet(r.event) &&
		on.named.defined.isRegion(r.event) {
		return "", false // a region of the merged trace already contains the label
	}
	switch {
	case r.processor != -1:
		r.processor = on.processor(r.processor)
	case r.event == -1 && r.process == -1 || r.event >= 0 || everywhere:
	default:
		r.processor = on.allProcessors()
	}
	if r.event != -1 {
		r.event = on.event(r.event)
	}
	r.process = on.process(r.process)
	had := on.written[r.key()]
	on.written[r.key()] = true
	return r.String(), !had
}

// needed returns a definition record of the trace without its position. ok is false for labels that the
// definitions contain, for labels to which nothing refers, for descriptors, and for subsets that the
// definitions contain.
func (d *dataNumbers) needed(text string) (string, bool) {
	r, ok := parseDefinition(text)
	switch {
	case !ok || r.typ == descriptorRecord:
		return "", false
	case r.typ != labelRecord:
		ok = !r.counts(&d.defined)
	case r.event == -1:
		ok = r.processor < 0 || d.processors[r.processor]
	default:
		ok = d.events[r.event] || d.defined.isEventSet(r.event)
	}
	return r.String(), ok
}
