package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// finish closes what is open and makes the view.
func (b *builder) finish(e Extent) (*View, error) {
	if err := b.checkNames(); err != nil {
		return nil, err
	}
	b.closeAll()
	v := &View{Clock: b.defs.Clock, Origin: e.First, From: b.opt.From, To: b.opt.To, Width: b.opt.Width,
		RowsBy: b.opt.RowsBy, ColorBy: b.opt.ColorBy, MoreRows: b.lost, MoreRowsInexact: b.inexact}
	for _, key := range []string{"name", "title"} {
		if x, ok := b.defs.Property(key); ok && v.Title == "" {
			v.Title = x.String()
		}
	}
	for _, r := range b.shown {
		r.finish(&b.sc)
	}
	keys := b.legend(v)
	number := map[*row]int{}
	for i, r := range b.shown {
		number[r] = i
		v.Rows = append(v.Rows, b.describe(r, keys))
	}
	v.Arrows = b.sample.arrows(func(r *row) int {
		if i, ok := number[r]; ok {
			return i
		}
		return -1
	})
	for _, w := range b.match.open {
		for _, list := range [2][]point{w.sends, w.recvs} {
			for _, p := range list {
				b.unmatched(p.time)
			}
		}
	}
	v.Links, v.Messages = b.sample.count[Dependency], b.sample.count[Message]
	b.notes(v)
	return v, nil
}

// checkNames refuses attributes that no event has.
func (b *builder) checkNames() error {
	check := func(option, name string, used bool) error {
		if name == "" || used || len(b.locs) == 0 {
			return nil
		}
		var have []string
		for _, a := range b.defs.Attributes.All() {
			if len(have) < 12 && !slices.Contains(have, a.Name) {
				have = append(have, a.Name)
			}
		}
		want := "the name of an attribute; the trace has none"
		if len(have) > 0 {
			want = "an attribute that events have: " + strings.Join(have, ", ")
		}
		return &format.OptionError{Option: option, Value: name, Expected: want}
	}
	if err := check("rows", b.rowAttr, b.usedRow); err != nil {
		return err
	}
	return check("color", b.colorAttr, b.usedColor)
}

// closeAll ends regions and claims that nothing ends, at their location's last
// event.
func (b *builder) closeAll() {
	for _, l := range b.locs {
		if l == nil {
			continue
		}
		for i := range l.stack {
			if e := &l.stack[i]; !e.left {
				b.close(e, l.last)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(l.claims)) {
			for x := l.claims[id]; x != nil; x = x.next {
				b.closeClaim(x, l.last)
			}
		}
		for _, c := range l.curves {
			c.hold(&b.sc, l.last)
		}
	}
}

// legend makes the keys and colours of a view; it maps the builder's keys to
// the view's.
func (b *builder) legend(v *View) map[uint32]uint32 {
	byName := map[string]*Color{}
	rawNames := map[uint32]string{}
	for _, r := range b.shown {
		for _, k := range slices.Sorted(maps.Keys(r.totals)) {
			name, seen := rawNames[k]
			if !seen {
				name = b.keyName(k)
				rawNames[k] = name
			}
			c := byName[name]
			if c == nil {
				c = &Color{Name: name}
				byName[name] = c
			}
			c.Ticks += r.totals[k].ticks
			c.Count += r.totals[k].count
		}
	}
	list := make([]Color, 0, len(byName))
	for _, c := range byName {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b Color) int {
		return cmp.Or(cmp.Compare(b.Ticks, a.Ticks), cmp.Compare(b.Count, a.Count), natural(a.Name, b.Name))
	})
	index := map[string]uint32{}
	n := len(list)
	if n > b.opt.MaxColors+1 { // an entry for one other would save nothing
		n = b.opt.MaxColors
	}
	for i, c := range list {
		index[c.Name] = uint32(i)
		v.Keys = append(v.Keys, Key{c.Name, min(i, n)})
		if i < n {
			v.Colors = append(v.Colors, c)
			continue
		}
		if i == n {
			v.Colors = append(v.Colors, Color{Name: fmt.Sprintf("%d others", len(list)-n), Other: true})
		}
		v.Colors[n].Ticks += c.Ticks
		v.Colors[n].Count += c.Count
	}
	keys := map[uint32]uint32{}
	for k, name := range rawNames {
		keys[k] = index[name]
	}
	return keys
}

func (b *builder) keyName(k uint32) string {
	switch {
	case k == otherKey:
		return "(further values)"
	case b.colorAttr != "" && int(k) < len(b.names):
		return b.names[k]
	case b.colorAttr != "":
		return "(no " + b.colorAttr + ")"
	case int(k) < b.defs.Regions.Len():
		if n := b.defs.Regions.At(int(k)).Name; n != "" {
			return n
		}
	}
	return "(unnamed)"
}

// describe makes a row of the view.
func (b *builder) describe(r *row, keys map[uint32]uint32) Row {
	out := Row{Kind: EventsRow, Height: 1, Spans: r.spans, Instants: r.inst, Gaps: r.gaps, Hidden: r.hidden}
	for i := range out.Spans {
		s := &out.Spans[i]
		s.Key = keys[s.Key]
		if r.amounts == nil {
			out.Height = max(out.Height, s.High)
		}
	}
	for i := range out.Instants {
		out.Instants[i].Key = keys[out.Instants[i].Key]
	}
	switch {
	case r.curve != nil:
		out.Kind, out.Curve = SignalRow, &r.curve.Curve
	case r.claims:
		out.Kind = ClaimRow
	case len(r.spans) > 0 || r.hidden > 0 || len(r.inst) == 0:
		out.Kind = StateRow
	}
	if a := r.amounts; a != nil {
		out.Amounts, out.Peak = true, a.peak
		out.Height = max(a.capacity, min(a.top, 2*a.capacity))
		if math.IsInf(out.Height, 0) || math.IsNaN(out.Height) {
			// Amounts near the end of what numbers can say.
			out.Height = a.capacity
		}
	}
	switch r.id.class {
	case valueRow:
		out.Label = r.id.value
		if out.Label == "" {
			out.Label = "(empty)"
		}
	case missingRow:
		out.Label = "(no " + b.rowAttr + ")"
	default:
		b.label(r, &out)
	}
	return out
}

// label names a row of a location.
func (b *builder) label(r *row, out *Row) {
	name := ""
	own := trace.NoRef // where the resource or metric lives by definition
	switch r.id.kind {
	case 1:
		if int(r.id.sub) < b.defs.Resources.Len() {
			d := b.defs.Resources.At(int(r.id.sub))
			name, own, out.Unit, out.Capacity = labelled(d.Name, "resource", d.ID), d.Location, d.Unit, d.Capacity
		}
	case 2:
		d := b.defs.Metrics.At(int(r.id.sub))
		what := string(d.Kind)
		if what == "" {
			what = "metric"
		}
		name, own, out.Unit = labelled(d.Name, what, d.ID), d.Location, d.Unit
	}
	if int(r.id.loc) >= b.defs.Locations.Len() {
		out.Label = cmp.Or(name, "unknown location")
		return
	}
	l := b.defs.Locations.At(int(r.id.loc))
	var groups []string
	for g, n := l.Group, 0; int(g) < b.defs.Groups.Len() && n < 8; n++ {
		d := b.defs.Groups.At(int(g))
		groups = append(groups, labelled(d.Name, d.Kind, d.ID))
		g = d.Parent
	}
	slices.Reverse(groups)
	out.Group = strings.Join(groups, " / ")
	switch {
	case name == "":
		out.Label = labelled(l.Name, string(l.Kind), l.ID)
	case own == r.id.loc:
		out.Label = name
	default:
		out.Label = name + " (" + labelled(l.Name, string(l.Kind), l.ID) + ")"
	}
}

func labelled(name, kind, id string) string {
	if name != "" {
		return name
	}
	return strings.TrimSpace(kind + " " + id)
}

// notes says what the view leaves out.
func (b *builder) notes(v *View) {
	note := func(f string, args ...any) { v.Notes = append(v.Notes, fmt.Sprintf(f, args...)) }
	hidden, rows, first := int64(0), 0, ""
	for i := range v.Rows {
		r := &v.Rows[i]
		if r.Hidden > 0 {
			if hidden += r.Hidden; rows == 0 {
				first = r.Label
			}
			rows++
		}
		if r.Amounts && r.Peak > r.Capacity*(1+1e-9) {
			note("%s: claims hold up to %s of %s", r.Label, amount(r.Peak, ""), amount(r.Capacity, r.Unit))
		}
	}
	if hidden > 0 {
		where := first
		if rows > 1 {
			where = fmt.Sprintf("%s and %d other rows", first, rows-1)
		}
		note("spans not drawn, too many levels: %d, in %s", hidden, where)
	}
	for _, x := range []struct {
		what, lone string
		c          ArrowCount
	}{{"dependencies", "dependencies with an end that the trace does not have: %d", v.Links}, {"messages", "sends and receives without their other side: %d", v.Messages}} {
		if x.c.Drawn < x.c.Total {
			note("%d of %d %s drawn", x.c.Drawn, x.c.Total, x.what)
		}
		if x.c.Unmatched > 0 {
			note(x.lone, x.c.Unmatched)
		}
	}
	if b.match.failed {
		note("more than %d messages under way at once: no more were matched", maxHalves)
	}
}

// amount writes a number with its unit.
func amount(x float64, unit string) string {
	s := fmt.Sprintf("%.4g", x)
	if math.Abs(x) >= 1e4 && math.Abs(x) < 1e15 {
		s = fmt.Sprintf("%.0f", x)
	}
	return strings.TrimSpace(s + " " + unit)
}
