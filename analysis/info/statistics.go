package info

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// Statistic holds the statistics that the trace stores about a region inside another one at a location. If the
// trace stores a value several times, the last value is used.
type Statistic struct {
	Location   string `json:"location"` // id of the location in the file
	Inside     string `json:"inside"`
	InsideName string `json:"insideName,omitempty"`
	Region     string `json:"region"`
	RegionName string `json:"regionName,omitempty"`
	// The following values are null if the trace does not store them.
	Seconds        any `json:"seconds"`
	Count          any `json:"count"`
	VolumeSent     any `json:"volumeSent"`
	VolumeReceived any `json:"volumeReceived"`
	Volume         any `json:"volume"`
}

// statistics collects the values of Statistics events.
type statistics struct {
	defs    *trace.Definitions
	figures map[statisticKey]*figures
}

// statisticKey identifies a Statistic.
type statisticKey struct {
	location, inside uint32
	region           string // id of the region: the name of the event's attribute, of which there may be several
}

// figures are the values of a Statistic.
type figures struct {
	columns [5]figure
	named   uint32 // the latest attribute whose description is the name of the region, or NoRef
}

// figure is the latest value of a column, valid if any is set.
type figure struct {
	time  int64
	value trace.Value
	any   bool
}

// addBatch processes a batch, whose events may belong to one location or to several.
func (s *statistics) addBatch(b *trace.Batch) {
	if !slices.Contains(b.Kind, trace.Statistics) {
		return
	}
	c := b.Cursor()
	for c.Next() {
		if c.Kind() != trace.Statistics || len(c.Ops()) == 0 || c.Op(0) >= 5 {
			continue
		}
		keys, vals := c.Attrs()
		for i, k := range keys {
			if vals[i].Type == trace.String && vals[i].Str == "" {
				continue // the record has no value for this column
			}
			a := s.defs.Attributes.At(k)
			named := uint32(trace.NoRef)
			if a.Doc != "" {
				named = k
			}
			s.add(statisticKey{c.Location(), c.Ref(), a.Name}, named, int(c.Op(0)), figure{c.Time(), vals[i], true})
		}
	}
}

// add stores a value of a column if it is later than the stored one. named is the attribute that has the name of
// the region, or NoRef.
func (s *statistics) add(k statisticKey, named uint32, what int, f figure) {
	x := s.figures[k]
	if x == nil {
		x = &figures{named: trace.NoRef}
		s.figures[k] = x
	}
	if named != trace.NoRef {
		x.named = named
	}
	if !x.columns[what].any || f.time >= x.columns[what].time {
		f.value.Str = trace.ToUTF8(f.value.Str)
		x.columns[what] = f
	}
}

// merge adds the values of another part.
func (s *statistics) merge(o *statistics) {
	for k, x := range o.figures {
		for what, f := range x.columns {
			if f.any {
				s.add(k, x.named, what, f)
			}
		}
	}
}

// result returns the statistics by location, enclosing region and region.
func (s *statistics) result() (out []Statistic) {
	d := s.defs
	byID := map[string]string{}
	for i := range d.Regions.Len() {
		r := d.Regions.At(uint32(i))
		byID[r.ID] = r.Name
	}
	keys := slices.SortedFunc(maps.Keys(s.figures), func(a, b statisticKey) int {
		return cmp.Or(cmp.Compare(a.location, b.location), cmp.Compare(a.inside, b.inside),
			compareIDs(a.region, b.region), cmp.Compare(a.region, b.region))
	})
	for _, k := range keys {
		f := s.figures[k]
		name, ok := byID[k.region]
		if _, err := strconv.ParseInt(k.region, 10, 64); err != nil && !ok {
			continue // the attribute names no region
		}
		if f.named != trace.NoRef {
			name = d.Attributes.At(f.named).Doc
		}
		x := Statistic{Location: d.Locations.At(k.location).ID, Region: k.region, RegionName: name}
		if k.inside != trace.NoRef {
			r := d.Regions.At(k.inside)
			x.Inside, x.InsideName = r.ID, r.Name
		}
		for i, to := range []*any{&x.Seconds, &x.Count, &x.VolumeSent, &x.VolumeReceived, &x.Volume} {
			if f := f.columns[i]; f.any && f.value.Float() != -1 { // -1 stands for a value that was not measured
				*to = f.value.Any()
			}
		}
		out = append(out, x)
	}
	return out
}

// compareIDs orders ids: negative numbers from -1 down, then other numbers from 0 up. Ids that are
// not numbers are compared as text.
func compareIDs(a, b string) int {
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	switch {
	case errX != nil || errY != nil:
		return cmp.Compare(a, b)
	case x < 0 && y < 0:
		return cmp.Compare(y, x)
	}
	return cmp.Compare(x, y)
}
