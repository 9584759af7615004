package transform

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// definedTrace is a repaired trace with definitions for everything to which its events refer.
type definedTrace struct {
	*rewritten
	repair   *repair
	complete bool // groups, and keys of attributes, have been added
}

// Prepare finds the necessary repairs and adds the missing definitions.
func (dt *definedTrace) Prepare(ctx context.Context) error {
	if err := dt.repair.Prepare(ctx); err != nil {
		return err
	}
	dt.definer.copyAll()
	if !dt.complete {
		dt.complete = true
		dt.defineGroups()
		dt.nameAttributes()
	}
	return nil
}

// prepareLocal finds the necessary repairs and adds the missing definitions.
func (dt *definedTrace) prepareLocal(ctx context.Context) error { return dt.Prepare(ctx) }

// beginLocal begins a scan in several goroutines.
func (dt *definedTrace) beginLocal(sel trace.Selection) (func() stage, trace.Selection) {
	return func() stage { return &rewriteScan{definer: dt.definer.worker()} }, dt.originalSelection(sel)
}

// defineGroups defines the groups that occur in the ids GROUP/SERIES of time series.
func (dt *definedTrace) defineGroups() {
	d := dt.Defs()
	groups := map[string]uint32{}
	for i, g := range d.Groups.All() {
		if g.Kind == "time series" {
			groups[g.ID] = uint32(i)
		}
	}
	for i := range d.Metrics.Len() {
		x := d.Metrics.At(uint32(i))
		id, _, ok := strings.Cut(x.ID, "/")
		if x.Kind != trace.SeriesMetric || !ok {
			continue
		}
		group, known := groups[id]
		if !known {
			g := trace.LocationGroup{ID: id, Kind: "time series", Parent: trace.NoRef}
			undefined := true
			dt.repair.standIn("time series", id, "series of it", &undefined, &g.Name, &g.Attrs)
			group = d.Groups.Add(g)
			groups[id] = group
		}
		if d.Locations.Has(x.Location) {
			d.Locations.At(x.Location).Group = group
		}
	}
}

// nameAttributes gives each attribute without a key a key that is not in use, if the format requires
// keys.
func (dt *definedTrace) nameAttributes() {
	d := dt.Defs()
	if !d.Conventions.AttributeKeys {
		return
	}
	var keys []*string
	add := func(list []trace.Attr) {
		for i := range list {
			keys = append(keys, &list[i].Key)
		}
	}
	for i := range d.Properties.Len() {
		keys = append(keys, &d.Properties.At(uint32(i)).Key)
	}
	for i := range d.Resources.Len() {
		add(d.Resources.At(uint32(i)).Attrs)
	}
	for i := range d.Metrics.Len() {
		add(d.Metrics.At(uint32(i)).Attrs)
	}
	for i := range d.Groups.Len() {
		add(d.Groups.At(uint32(i)).Attrs)
	}
	for i := range d.Attributes.Len() {
		keys = append(keys, &d.Attributes.At(uint32(i)).Name)
	}
	used := map[string]bool{}
	for _, k := range keys {
		used[*k] = true
	}
	name := "unknown"
	for n := 2; used[name]; n++ {
		name = fmt.Sprintf("unknown %d", n)
	}
	dt.repair.unnamed = name
	for _, k := range keys {
		if *k == "" {
			*k = name
		}
	}
	if used[""] {
		dt.repair.reportUnnamed()
	}
}

// reportUnnamed reports that attributes without a key get a key. It reports this only once.
func (r *repair) reportUnnamed() {
	if !r.hasUnnamed {
		r.hasUnnamed = true
		r.how.Report.Add(&trace.Defect{Rule: "repair.named-attribute", Severity: trace.Warning,
			Position: trace.Position{File: r.how.Path}, Found: "attributes without a key",
			Expected: fmt.Sprintf("a key; repair sets %q", r.unnamed)})
	}
}

// beginPass begins a pass over the events, and reports the defects of the file that the encoder mends.
func (r *repair) beginPass() {
	r.how.Report.Pass()
	if native, ok := r.Defs().Native.(trace.Mendable); ok {
		for _, x := range native.Mended() {
			x.Rule, x.Severity = "repair.definition", trace.Warning
			r.how.Report.Add(&x)
		}
	}
}

// define makes a stand-in for a resource or metric an ordinary definition.
func (r *repair) define(_ table, v any) {
	switch e := v.(type) {
	case *trace.Resource:
		for i, h := range r.resourceUses {
			if e.Undefined && r.Defs().Resources.At(uint32(i)).ID == e.ID {
				e.Capacity, e.UsesOffset = max(e.Capacity, h.most), h.offset
			}
		}
		r.standIn("resource", e.ID, "events of it", &e.Undefined, &e.Name, &e.Attrs)
	case *trace.MetricDef:
		r.standIn("metric", e.ID, "events of it", &e.Undefined, &e.Name, &e.Attrs)
	}
}

// standIn turns a stand-in into a definition and reports the change.
func (r *repair) standIn(what, id, found string, undefined *bool, name *string, attrs *[]trace.Attr) {
	if !*undefined {
		return
	}
	*undefined = false
	*name = cmp.Or(*name, "undefined "+what+" "+id)
	if !slices.ContainsFunc(*attrs, func(a trace.Attr) bool { return a.Key == "name" }) {
		*attrs = append(slices.Clone(*attrs), trace.Attr{Key: "name", Value: trace.StringValue(*name)})
	}
	r.how.Report.Add(&trace.Defect{Rule: "repair.defined", Severity: trace.Warning,
		Position: trace.Position{File: r.how.Path},
		Record:   what + " " + id, Found: found, Expected: "its definition; repair adds it"})
}
