package otf2

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// marker is one of an archive's, which belong to no location: they have one of their own
// in the model.
type marker struct {
	time            uint64
	duration, scope uint64
	of              uint64 // what the scope names, by its id
	ref             uint32
	text            string
}

const markersID = "markers"

// The records of a file of markers.
const (
	defMarker   = 5
	markerEvent = 6
)

// readMarkers adds the markers of the archive; it holds them, since they stand in no
// order.
func (m *model) readMarkers(opt *format.ReadOptions) error {
	kinds := map[uint64]uint32{}
	var places []uint64 // ids of the markers' definitions, which may come later
	err := m.a.Markers(func(_ int64, r *Record) error {
		v := r.Values
		switch r.ID {
		case defMarker:
			kinds[v[0]] = m.defs.Markers.Add(trace.Named{ID: id(v[0]), Name: trace.Text(r.Texts[1]), Attrs: slices.Concat(attr("group", trace.Text(r.Texts[0])), attr("severity", word(severities, v[3])))})
		case markerEvent:
			m.markers = append(m.markers, marker{time: v[0], duration: v[1], scope: v[3], of: v[4], text: r.Texts[0]})
			places = append(places, v[2])
		}
		return nil
	})
	if err := fail(opt, err); err != nil {
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
	m.marked = m.defs.Locations.Add(trace.Location{ID: markersID, Kind: trace.EventsLocation, Group: trace.NoRef})
	m.attribute(textName, trace.String)
	return nil
}

const textName = "text" // of a marker

// markerStream delivers the markers.
type markerStream struct {
	d  *decoder
	at int
	b  trace.Batch
}

// markerStream is nil if there are none that are wanted.
func (d *decoder) markerStream(sel trace.Selection) *markerStream {
	if len(d.markers) == 0 || sel.Location != nil && !sel.Location(d.marked) {
		return nil
	}
	return &markerStream{d: d}
}

// Next makes the next batch; nil at the end.
func (s *markerStream) Next(ctx context.Context) (*trace.Batch, error) {
	s.b.Reset(s.d.marked)
	for s.at < len(s.d.markers) && s.b.Len() < trace.BatchRows {
		x := &s.d.markers[s.at]
		s.at++
		if x.time > math.MaxInt64 {
			break // and so are all that follow
		}
		s.b.Add(s.d.marked, int64(x.time), trace.Marker, x.ref)
		s.b.AddOps(x.duration, x.scope, x.of)
		s.b.AddAttr(s.d.attribute(textName, trace.String), trace.StringValue(x.text))
	}
	if s.b.Len() == 0 {
		return nil, ctx.Err()
	}
	return &s.b, ctx.Err()
}
