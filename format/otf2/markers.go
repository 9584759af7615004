package otf2

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// marker is a marker of an archive. A marker belongs to no location of the archive. In the model, all
// markers are events of an additional location.
type marker struct {
	time            uint64
	duration, scope uint64
	scopeID         uint64 // id of the definition to which the scope refers
	ref             uint32
	text            string
}

const markersID = "markers"

// The ids of the records in a marker file.
const (
	defMarker   = 5
	markerEvent = 6
)

// readMarkers adds the markers of the archive. It keeps them in memory because the file has no
// particular order.
func (m *model) readMarkers(opt *format.ReadOptions) error {
	kinds := map[uint64]uint32{}
	var places []uint64 // for each marker, the id of its definition, which may follow the marker in the file
	err := m.a.Markers(func(at int64, r *Record) error {
		v := r.Values
		switch r.ID {
		case defMarker:
			kinds[v[0]] = m.defs.Markers.Add(trace.Named{ID: id(v[0]), Name: trace.ToUTF8(r.Texts[1]),
				Attrs: slices.Concat(attrList(format.MarkerGroup, trace.ToUTF8(r.Texts[0])),
					attrList("severity", enumWord(severities, v[3])))})
		case markerEvent:
			if v[0] > math.MaxInt64 {
				return opt.Defect(&trace.Defect{Rule: "otf2.time-range", Severity: trace.Error,
					Position: trace.Position{File: m.a.path + ".marker", Offset: at, Binary: true},
					Found:    fmt.Sprintf("a marker at %d", v[0]), Expected: "a time of less than 2⁶³ ticks; weft skips the marker"})
			}
			if v[1] > math.MaxInt64 {
				if err := opt.Defect(&trace.Defect{Rule: "otf2.time-range", Severity: trace.Error,
					Position: trace.Position{File: m.a.path + ".marker", Offset: at, Binary: true},
					Found:    fmt.Sprintf("a marker of %d ticks", v[1]),
					Expected: "less than 2⁶³ ticks; weft keeps the bits, which are a negative duration"}); err != nil {
					return err
				}
			}
			m.markers = append(m.markers, marker{time: v[0], duration: v[1], scope: v[3], scopeID: v[4], text: r.Texts[0]})
			places = append(places, v[2])
		}
		return nil
	})
	if err := reportDefect(opt, err); err != nil {
		return err
	}
	if len(m.markers) == 0 {
		return nil
	}
	for i, place := range places {
		ref, ok := kinds[place]
		if !ok {
			ref = trace.NoRef
		}
		m.markers[i].ref = ref
	}
	slices.SortStableFunc(m.markers, func(a, b marker) int { return cmp.Compare(a.time, b.time) })
	m.markerLocation = m.defs.Locations.Add(trace.Location{ID: markersID, Kind: trace.EventsLocation, Group: trace.NoRef})
	m.attribute(textName, trace.String)
	return nil
}

const textName = "text" // attribute with the text of a marker

// markerStream delivers the markers of an archive as events in the order of time.
type markerStream struct {
	d  *decoder
	at int
	b  trace.Batch
}

// markerStream returns a stream of the markers, or nil if none are selected.
func (d *decoder) markerStream(sel trace.Selection) *markerStream {
	if len(d.markers) == 0 || sel.Location != nil && !sel.Location(d.markerLocation) {
		return nil
	}
	return &markerStream{d: d}
}

// Next returns the next batch, or nil at the end.
func (s *markerStream) Next(ctx context.Context) (*trace.Batch, error) {
	s.b.Reset(s.d.markerLocation)
	for s.at < len(s.d.markers) && s.b.Len() < trace.BatchRows {
		x := &s.d.markers[s.at]
		s.at++
		s.b.Add(s.d.markerLocation, int64(x.time), trace.Marker, x.ref)
		s.b.AddOps(x.duration, x.scope, x.scopeID)
		s.b.AddAttr(s.d.attribute(textName, trace.String), trace.StringValue(x.text))
	}
	if s.b.Len() == 0 {
		return nil, ctx.Err()
	}
	return &s.b, ctx.Err()
}

// scopeTables holds, for each scope, the table of the definition to which a marker with that scope belongs.
var scopeTables = [...]Table{noTable, Locations, LocationGroups, SystemTreeNodes, Groups, Comms}

// scopeEntry returns the entry of the written trace to which a marker belongs.
func (e *encoder) scopeEntry(scope, number uint64) (t Table, i uint32, ok bool) {
	if scope >= uint64(len(scopeTables)) || scopeTables[scope] == noTable {
		return noTable, 0, false
	}
	t = scopeTables[scope]
	if e.scopes[t] == nil {
		e.scopes[t] = map[string]uint32{}
		for i := uint32(0); ; i++ {
			table, id := modelTable(e.defs, t, i)
			if table == nil {
				break
			}
			e.scopes[t][id] = i
		}
	}
	text := id(number)
	if t == SystemTreeNodes {
		text = "node/" + text
	}
	i, ok = e.scopes[t][text]
	return t, i, ok
}

// scopedMarker is a marker that belongs to a group of locations. The id of the group is unknown until all
// events have been written.
type scopedMarker struct {
	record *Record
	group  uint32
}

// writeScopedMarkers writes the markers that belong to groups of locations, once these groups have ids. A
// group of the model is written as a group of locations or as a node of the system tree. A group without
// locations is written as neither, and its markers belong to the whole trace.
func (e *encoder) writeScopedMarkers() error {
	for _, x := range e.scoped {
		scope, marked := uint64(0), uint64(0)
		if n, ok := e.groupIDs[x.group]; ok {
			scope, marked = 2, n
		} else if n, ok := e.nodeIDs[x.group]; ok {
			scope, marked = 3, n
		}
		x.record.Values[3], x.record.Values[4] = scope, marked
		if err := e.w.Mark(x.record); err != nil {
			return err
		}
	}
	return nil
}

// addMarker writes the marker for a row of another format. The marker belongs to the scope of the row if the
// row has one, and otherwise to the row's location. The text of the marker for a mark is the name of the mark.
//
// Unless the archive is plain, the row is also written as an event: a marker cannot keep the position of the
// row among other events, and cannot hold attributes. A reader of that event ignores the marker.
func (e *encoder) addMarker(c *trace.Cursor) error {
	const global, location = 0, 1
	ref, text, rest := c.Ref(), "", false
	if c.Kind() == trace.Mark {
		if ref != trace.NoRef {
			text, rest = e.text(e.defs.Regions.At(ref).Name), !isText(e.defs.Regions.At(ref).Name)
		}
		ref = trace.NoRef
	}
	if err := e.defineMarker(ref); err != nil {
		return err
	}
	place := uint64(ref)
	if ref == trace.NoRef {
		place = uint64(e.defs.Markers.Len())
	}
	duration, scope, marked := uint64(0), uint64(location), e.id(Locations, c.Location())
	later, group := false, uint32(0)
	if ops := c.Ops(); c.Kind() == trace.Marker && len(ops) != 3 {
		if s, i, ok := e.markedProcesses(c.Location()); ok {
			scope, marked = s, i
		}
	} else if c.Kind() == trace.Marker {
		if duration = ops[0]; duration == trace.Undefined {
			duration = 0
		}
		if e.scale > 1 {
			var excess uint64
			if excess, duration = bits.Mul64(duration, uint64(e.scale)); excess > 0 {
				duration = math.MaxInt64
				e.loss.Add(e.defs.Spec(c.Kind()).Name, "duration", format.Degraded, "is cut to 63 bits in the clock of OTF2", 1)
			}
		}
		switch ops[1] {
		case global:
			scope, marked = global, 0
		case location:
			at, ok := e.locationByNumber(int64(ops[2]))
			if ok {
				marked = e.id(Locations, at)
			}
			rest = !ok
		default:
			t, i, ok := e.scopeEntry(ops[1], ops[2])
			switch {
			case !ok || t != Groups && t != Comms && e.scorep != nil:
				rest = ops[1] != trace.Undefined
			case t == Groups || t == Comms:
				scope, marked = ops[1], e.id(t, i)
			default:
				later, group = true, i
			}
		}
	}
	keys, values := c.Attrs()
	for i, k := range keys {
		switch v := &values[i]; {
		case c.Kind() == trace.Marker && e.defs.Attributes.At(k).Name == textName && v.Type == trace.String:
			text = e.text(v.Str)
			rest = rest || !isText(v.Str)
		case c.Kind() == trace.Mark && v.Type == trace.String && v.Str == text: // the name of an event of TRACE
		default:
			rest = true
		}
	}
	if rest {
		e.rows.NoteAttributes(c)
	}
	r := &Record{ID: markerEvent, Values: []uint64{e.event.Time, duration, place, scope, marked, 0}, Texts: []string{text}}
	if later {
		r.Texts[0] = strings.Clone(text)
		e.scoped = append(e.scoped, scopedMarker{r, group})
		return nil
	}
	return e.w.Mark(r)
}

// markedProcesses returns the scope of the markers at a location that stands for a group of processes of OTF or for all
// processes. Such a group is a communicator with the name and the id of the location. ok is false for other locations.
func (e *encoder) markedProcesses(loc uint32) (scope, marked uint64, ok bool) {
	const global, comm = 0, 5
	l := e.defs.Locations.At(loc)
	n, err := strconv.ParseUint(l.ID, 10, 32)
	if err != nil || l.Kind != trace.EventsLocation {
		return 0, 0, false
	}
	if n == 0 {
		return global, 0, true
	}
	t, i, ok := e.scopeEntry(comm, n)
	if !ok || e.defs.Communicator.At(i).Name != l.Name {
		return 0, 0, false
	}
	return comm, e.id(t, i), true
}

// defineMarker writes the definition of a marker, unless it has already been written. NoRef stands for markers
// without a definition. Two markers of a group have different names: otf2-marker leaves out the others.
func (e *encoder) defineMarker(ref uint32) error {
	if e.marked[ref] {
		return nil
	}
	e.marked[ref] = true
	place, x, severity := uint64(ref), &trace.Named{Name: "marker"}, uint64(0)
	if ref == trace.NoRef {
		place = uint64(e.defs.Markers.Len())
	} else {
		x = e.defs.Markers.At(ref)
	}
	group := "weft"
	for _, a := range x.Attrs {
		switch a.Key {
		case "group":
			group = a.Value.Str
		case "severity":
			severity = severityOf(a.Value.Str)
		}
	}
	for name, n := group, 2; e.markerNames[[2]string{group, x.Name}]; n++ {
		if group = fmt.Sprintf("%s (%d)", name, n); n == 2 {
			e.countChanged("marker definition", "group", "another marker with this name is in the group")
		}
	}
	e.markerNames[[2]string{group, x.Name}] = true
	return e.w.Mark(&Record{ID: defMarker, Values: []uint64{place, 0, 1, severity}, Texts: []string{group, x.Name}})
}

// severityOf returns the number of a severity from its name in OTF2 or OTF.
func severityOf(word string) uint64 {
	switch word {
	case "error":
		return 3
	case "warning":
		return 2
	case "hint":
		return 1
	}
	return uint64(max(0, slices.Index(severities, word)))
}
