package info

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// records collects the values in PICL's user records, for which the trace does not define metrics. It sums the
// values over all locations by record type, event type and data field.
type records struct {
	defs   *trace.Definitions
	values map[recordKey]*recordValues // nil for traces without such records
}

// recordKey identifies a data field of a record type and event type.
type recordKey struct {
	kind          trace.Kind
	region, field uint32 // index of the event type as region; index of the data field as attribute
}

// recordValues sums the values of a field.
type recordValues struct {
	count          int64
	min, max, last trace.Value
	latest         int64 // time of the value last, in ticks
	// location is the location of the value last.
	location uint32
}

func newRecords(d *trace.Definitions) *records {
	r := &records{defs: d}
	if d.Conventions.EventTypes {
		r.values = map[recordKey]*recordValues{}
	}
	return r
}

// addBatch processes a batch, whose events may belong to one location or to several.
func (r *records) addBatch(b *trace.Batch) {
	if r.values == nil || !slices.ContainsFunc(b.Kind, isDeclared) {
		return
	}
	c := b.Cursor()
	for c.Next() {
		if !isDeclared(c.Kind()) {
			continue
		}
		keys, vals := c.Attrs()
		for i, k := range keys {
			if v := vals[i]; isNumber(v) {
				x := recordValues{1, v, v, v, c.Time(), c.Location()}
				r.add(recordKey{c.Kind(), c.Ref(), k}, &x)
			}
		}
	}
}

// isDeclared reports whether the trace itself declares the kind k, as traces of PICL do for user records.
func isDeclared(k trace.Kind) bool { return k >= trace.Declared }

// isNumber reports whether a value is a number, and not NaN.
func isNumber(v trace.Value) bool {
	return v.Type >= trace.Uint8 && v.Type <= trace.Float64 && !math.IsNaN(v.Float())
}

// add adds values of a field. The latest value becomes the last value. At equal times, the value of the
// location with the greatest index does.
func (r *records) add(k recordKey, x *recordValues) {
	y := r.values[k]
	if y == nil {
		r.values[k] = x
		return
	}
	y.count += x.count
	if x.min.Float() < y.min.Float() {
		y.min = x.min
	}
	if x.max.Float() > y.max.Float() {
		y.max = x.max
	}
	if cmp.Or(cmp.Compare(x.latest, y.latest), cmp.Compare(x.location, y.location)) >= 0 {
		y.last, y.latest, y.location = x.last, x.latest, x.location
	}
}

// merge adds the values of another part.
func (r *records) merge(o *records) {
	for k, x := range o.values {
		r.add(k, x)
	}
}

// metrics returns a metric for each field.
func (r *records) metrics() (out []Metric) {
	d := r.defs
	keys := slices.SortedFunc(maps.Keys(r.values), func(a, b recordKey) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.region+1, b.region+1), cmp.Compare(a.field, b.field))
	})
	for _, k := range keys {
		x, field := r.values[k], d.Attributes.At(k.field).Name
		m := Metric{ID: d.Spec(k.kind).Name, Name: field, Kind: string(trace.CounterMetric), Events: x.count}
		if d.Regions.Has(k.region) {
			e := d.Regions.At(k.region)
			m.ID, m.Name = m.ID+"/"+e.ID, e.Name+" "+field
		}
		m.ID += "/" + field
		m.Min, m.Max, m.Last = x.min.Any(), x.max.Any(), x.last.Any()
		out = append(out, m)
	}
	return out
}
