package generate

import (
	"maps"
	"math"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// openClaim is a claim whose end has not been read.
type openClaim struct {
	loc, ref       uint32
	begin, end     int64
	amount, offset float64
	object         string
}

// claimChecker checks the claims of a cps trace, row after row.
type claimChecker struct {
	t        *testing.T
	d        *trace.Definitions
	claims   map[int64]*openClaim
	open     []map[int64]*openClaim // indexed by resource
	running  map[uint32]string      // the object on which each task works; a task works on one object at a time
	class    map[string]string      // complexities by object
	classes  map[string]int         // number of objects by complexity
	parts    map[string]int         // number of claims of each object by task G
	done     map[string]int         // number of marks that confirm each object
	fragment int64                  // end of the last fragment of the signal
}

func newClaimChecker(t *testing.T, d *trace.Definitions) *claimChecker {
	k := &claimChecker{t: t, d: d, claims: map[int64]*openClaim{}, open: make([]map[int64]*openClaim, resources),
		running: map[uint32]string{}, class: map[string]string{}, classes: map[string]int{}, parts: map[string]int{},
		done: map[string]int{}}
	for i := range k.open {
		k.open[i] = map[int64]*openClaim{}
	}
	return k
}

// row checks the row at the cursor against the rows before it.
func (k *claimChecker) row(c *trace.Cursor) {
	t, d := k.t, k.d
	keys, vals := c.Attrs()
	get := func(name string) string {
		for i, k := range keys {
			if d.Attributes.At(k).Name == name {
				return vals[i].Str
			}
		}
		return ""
	}
	switch c.Kind() {
	case trace.Mark:
		if d.Regions.At(c.Ref()).Name == "done" {
			k.done[get("id")]++
			return
		}
		if get("id") == "" || k.class[get("id")] != "" || d.Locations.At(c.Location()).ID != "E" {
			t.Fatalf("arrival of %q", get("id"))
		}
		k.class[get("id")] = get("complexity")
		k.classes[get("complexity")]++
	case trace.ClaimBegin:
		id, r := int64(c.Op(0)), d.Resources.At(uint32(c.Op(1)))
		h := &openClaim{loc: c.Location(), ref: c.Ref(), begin: c.Time(), end: -1, amount: math.Float64frombits(c.Op(2)),
			object: get("id")}
		if k.claims[id] != nil || r.Location != h.loc || d.Locations.At(h.loc).ID != r.ID ||
			r.UsesOffset != (len(c.Ops()) == 4) {
			t.Fatalf("claim %d at %d", id, h.loc)
		}
		if get("name") != d.Regions.At(h.ref).Name {
			t.Fatalf("claim %d is named %q, %q", id, get("name"), h.object)
		}
		total := h.amount
		if r.UsesOffset {
			if h.offset = math.Float64frombits(c.Op(3)); h.offset < 0 || h.offset+h.amount > r.Capacity {
				t.Fatalf("claim %d from %v to %v", id, h.offset, h.offset+h.amount)
			}
		} else {
			if k.running[h.ref] != "" {
				t.Fatalf("two claims of task %s at once", get("name"))
			}
			k.running[h.ref] = h.object
			if h.ref == taskG {
				k.parts[h.object]++
			}
		}
		for _, q := range k.open[c.Op(1)] {
			total += q.amount
			if r.UsesOffset && q.offset < h.offset+h.amount && h.offset < q.offset+q.amount {
				t.Fatalf("claim %d overlaps another one", id)
			}
		}
		if total > r.Capacity {
			t.Fatalf("%v of %s are held at %d", total, r.Name, c.Time())
		}
		k.claims[id], k.open[c.Op(1)][id] = h, h
	case trace.ClaimEnd:
		id := int64(c.Op(0))
		h := k.open[c.Op(1)][id]
		if h == nil || h.loc != c.Location() || h.ref != c.Ref() || h.begin >= c.Time() {
			t.Fatalf("end of claim %d", id)
		}
		h.end = c.Time()
		delete(k.open[c.Op(1)], id)
		if h.loc < processors {
			delete(k.running, h.ref)
		}
	case trace.Fragment:
		if c.Time() != k.fragment || int64(c.Op(0)) <= k.fragment {
			t.Fatalf("a fragment from %d to %d after %d", c.Time(), c.Op(0), k.fragment)
		}
		k.fragment = int64(c.Op(0))
	default:
		t.Fatalf("a row of kind %d", c.Kind())
	}
}

// TestClaimsAndLinks checks the claims of cps traces, and the links between them.
func TestClaimsAndLinks(t *testing.T) {
	for _, o := range []Options{{Events: 1}, {Events: 2000}, {Events: 300_000, Seed: 3}, {Events: 1, Period: 1000},
		{Events: 20_000, Period: 1001}, {Events: 2000, Period: maxPeriod},
		{Events: 20_000, Faults: Faults{Violations: 5, Stragglers: 7, Anomalies: 11}}} {
		o.Workload = "cps"
		x := newTrace(t, o)
		d := x.Defs()
		k := newClaimChecker(t, d)
		links := rows(t, x, k.row)
		linked, last := map[int64]int{}, int64(0)
		for i, l := range links {
			src, dst := k.claims[l.Src.ID], k.claims[l.Dst.ID]
			if l.ID != int64(i) || src == nil || dst == nil || l.Src.Kind != trace.AtClaimEnd ||
				l.Dst.Kind != trace.AtClaimStart ||
				src.end != l.Src.Time || dst.begin != l.Dst.Time || src.end > dst.begin || src.loc != l.Src.Location ||
				dst.loc != l.Dst.Location ||
				src.object != dst.object || len(l.Attrs) != 1 || l.Attrs[0].Value.Str != "application" {
				t.Fatalf("link %+v from %+v to %+v", l, src, dst)
			}
			linked[l.Dst.ID]++
		}
		preempted := 0
		for id, h := range k.claims {
			last = max(last, h.end)
			want := 1
			switch {
			case h.ref == taskA || h.loc >= processors:
				want = 0
			case h.ref == taskG && k.class[h.object] == "high" && linked[id] == 2:
				want = 2
			}
			if h.end < 0 || linked[id] != want {
				t.Fatalf("claim %d (%+v) has %d links", id, h, linked[id])
			}
		}
		for id, h := range k.claims {
			if k.class[h.object] == "" {
				t.Fatalf("claim %d is of object %q, which has not arrived", id, h.object)
			}
		}
		for object := range k.class {
			if confirmed := o.Period != 0 || o.Faults != (Faults{}); confirmed != (k.done[object] == 1) {
				t.Fatalf("%+v: object %s is confirmed %d times", o, object, k.done[object])
			}
			if n := k.parts[object]; n == 2 {
				preempted++
			} else if n != 1 {
				t.Fatalf("object %s has %d claims of G", object, n)
			}
		}
		if k.fragment < last {
			t.Errorf("the signal ends at %d, claims at %d", k.fragment, last)
		}
		if n := len(k.class); n > 1000 {
			t.Logf("%d objects: %v, %d preempted", n, k.classes, preempted)
			for name, percent := range map[string]int{"low": 20, "medium": 50, "high": 30} {
				if p := 100 * k.classes[name] / n; p < percent-3 || p > percent+3 {
					t.Errorf("%d %% of the objects are %s", p, name)
				}
			}
			if preempted < n/100 || preempted > n/2 {
				t.Errorf("%d of %d objects are preempted", preempted, n)
			}
		}
	}
}

// TestPeriodic checks the number of objects and events of traces with a period. No object may have two faults.
func TestPeriodic(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 99} {
		// 100 objects: 25.2 events for each, and 0.8 fragments.
		x := newTrace(t, Options{Workload: "cps", Events: 2600, Faults: Faults{Violations: n, Anomalies: n, Stragglers: n,
			Late: DefaultPeriod}, Seed: uint64(n)})
		p := x.src.(*periodicPlan)
		if p.objects != 100 {
			t.Fatalf("found %d objects, expected 100", p.objects)
		}
		for stream, first := range map[uint64]int64{violationStream: 0, stragglerStream: 1, anomalyStream: 0} {
			chosen := map[int64]bool{}
			for i := range n {
				chosen[p.chosen(stream, first, n, i)] = true
			}
			has := map[int64]bool{}
			for object := range p.objects {
				if p.hasFault(stream, first, n, object) {
					has[object] = true
				}
			}
			if int64(len(chosen)) != n || !maps.Equal(chosen, has) {
				t.Errorf("stream %x: found %v and %v, expected %d objects", stream, chosen, has, n)
			}
		}
	}
	count := int64(0)
	x := newTrace(t, Options{Workload: "cps", Events: 100_000, Period: 3000})
	rows(t, x, func(*trace.Cursor) { count++ })
	if d := count - x.Count(); x.Count() < 99_900 || x.Count() > 100_100 || d < -2000 || d > 2000 {
		t.Errorf("found %d events, expected about %d", count, x.Count())
	}
}
