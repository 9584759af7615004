package generate

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

func newTrace(t testing.TB, o Options) *Trace {
	t.Helper()
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// sizes returns options for all workloads, with small and unusual numbers of locations.
func sizes() (out []Options) {
	for _, m := range makers {
		for _, events := range []int64{1, 100, 2000, 50_000} {
			for _, locations := range []int{0, 1, 2, 3, 7, 12, 100} {
				if locations != 0 && (m.fixed || locations < m.least) {
					continue
				}
				out = append(out, Options{Workload: m.Name, Events: events, Locations: locations,
					Seed: uint64(events) + uint64(locations)})
			}
		}
	}
	return out
}

// rows calls f for every row in the order of time, and returns the links.
func rows(t testing.TB, x *Trace, f func(c *trace.Cursor)) (links []trace.Link) {
	t.Helper()
	err := x.Scan(context.Background(), trace.Everything(), format.GlobalOrder,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			c := b.Cursor()
			for c.Next() {
				f(&c)
			}
			return nil
		}, OnLinks: func(l []trace.Link) error {
			links = append(links, l...)
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return links
}

// hashRow adds all data of a row to a hash.
func hashRow(h hash.Hash, c *trace.Cursor) {
	b := binary.LittleEndian.AppendUint32(nil, c.Location())
	b = binary.LittleEndian.AppendUint64(b, uint64(c.Time()))
	b = binary.LittleEndian.AppendUint16(b, uint16(c.Kind()))
	b = binary.LittleEndian.AppendUint32(b, c.Ref())
	for _, op := range c.Ops() {
		b = binary.LittleEndian.AppendUint64(b, op)
	}
	keys, vals := c.Attrs()
	for i, k := range keys {
		b = fmt.Appendf(b, "%d=%v,", k, vals[i])
	}
	h.Write(b)
}

func sum(t testing.TB, o Options) uint64 {
	h := fnv.New64a()
	links := rows(t, newTrace(t, o), func(c *trace.Cursor) { hashRow(h, c) })
	// These are the fields that the ends of links had when the expected sums were computed.
	type end struct {
		Kind     trace.EndKind
		ID       int64
		Location uint32
		Time     int64
	}
	type link struct {
		ID       int64
		Src, Dst end
		Attrs    []trace.Attr
		Pos      int64
	}
	var list []link
	for _, l := range links {
		list = append(list, link{l.ID, end{l.Src.Kind, l.Src.ID, l.Src.Location, l.Src.Time},
			end{l.Dst.Kind, l.Dst.ID, l.Dst.Location, l.Dst.Time}, l.Attrs, l.Pos})
	}
	fmt.Fprint(h, list)
	return h.Sum64()
}

func TestSameOptionsSameRows(t *testing.T) {
	for _, w := range Workloads() {
		o := Options{Workload: w.Name, Events: 20_000, Seed: 7}
		first := sum(t, o)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if again := sum(t, o); again != first {
					t.Errorf("%s: hash %x, then %x", w.Name, first, again)
				}
			})
		}
		wg.Wait()
		o.Seed++
		if other := sum(t, o); other == first {
			t.Errorf("%s: two seeds make the same trace", w.Name)
		}
	}
}

// TestRowsNeverChange compares the sums of rows with fixed values, because users compare traces that different
// versions of weft have generated on different machines.
func TestRowsNeverChange(t *testing.T) {
	want := map[string]uint64{
		"stencil":      0x3399ffb047d7b49a,
		"ring":         0xa8fd6481660aebcf,
		"masterworker": 0xf6287746bbd5956b,
		"calltree":     0x9ecdda3bd0e2aea0,
		"loops":        0x71c4e9d31f0f525f,
		"phases":       0xd482c3740b6b4f05,
		"cps":          0xeaa6168ae5e50075,
	}
	for _, w := range Workloads() {
		if got := sum(t, Options{Workload: w.Name, Events: 10_000, Seed: 1}); got != want[w.Name] {
			t.Errorf("%q: %#x,", w.Name, got)
		}
	}
}

func TestOrderNestingAndNumber(t *testing.T) {
	for _, o := range sizes() {
		x := newTrace(t, o)
		n, lastTime, lastLoc := int64(0), int64(-1), uint32(0)
		open := make([][]uint32, x.Defs().Locations.Len())
		closed := make([]bool, len(open))
		rows(t, x, func(c *trace.Cursor) {
			n++
			at, loc := c.Time(), c.Location()
			if at < lastTime || at == lastTime && loc < lastLoc && o.Workload != "cps" {
				t.Fatalf("%+v: time %d at %d after %d at %d", o, at, loc, lastTime, lastLoc)
			}
			lastTime, lastLoc = at, loc
			if o.Workload == "cps" {
				return
			}
			if closed[loc] || len(open[loc]) == 0 && (c.Kind() != trace.Enter || c.Ref() != mainRegion) {
				t.Fatalf("%+v: a row of %d outside main", o, loc)
			}
			switch c.Kind() {
			case trace.Enter:
				open[loc] = append(open[loc], c.Ref())
			case trace.Leave:
				top := len(open[loc]) - 1
				if open[loc][top] != c.Ref() {
					t.Fatalf("%+v: region %d is left inside %v", o, c.Ref(), open[loc])
				}
				open[loc] = open[loc][:top]
				closed[loc] = top == 0
			}
		})
		if o.Workload != "cps" && slices.Contains(closed, false) {
			t.Errorf("%+v: a location has open regions at the end", o)
		}
		count := x.Count()
		if count != n && (o.Workload != "cps" || n < count-40 || n > count+40) {
			t.Errorf("%+v: %d rows, %d announced", o, n, count)
		}
		// The largest iteration of a workload has 40 rows for each location.
		if slack := max(o.Events/50, 40*int64(len(open))); n < o.Events-slack || n > o.Events+slack {
			t.Errorf("%+v: %d rows", o, n)
		}
	}
}

type channel struct {
	from, to  uint32
	comm, tag uint64
}

func TestMessages(t *testing.T) {
	type message struct {
		time   int64
		length uint64
	}
	type request struct {
		loc uint32
		id  uint64
	}
	for _, o := range sizes() {
		if o.Workload == "cps" {
			continue
		}
		x := newTrace(t, o)
		flying := map[channel][]message{}
		pending := map[request]trace.Kind{}
		entered := map[uint32]int64{}
		late, received := 0, 0
		rows(t, x, func(c *trace.Cursor) {
			k, loc := c.Kind(), c.Location()
			spec := x.Defs().Spec(k)
			if len(c.Ops()) != len(spec.Operands) && k != trace.Metric {
				t.Fatalf("%+v: %d operands of %s", o, len(c.Ops()), spec.Name)
			}
			switch k {
			case trace.Enter:
				entered[loc] = c.Time()
			case trace.SendBegin, trace.RecvBegin:
				q := request{loc, c.Op(len(c.Ops()) - 1)}
				if pending[q] != trace.NoKind {
					t.Fatalf("%+v: request %v is open already", o, q)
				}
				pending[q] = k
			case trace.SendComplete, trace.RecvComplete:
				q := request{loc, c.Op(len(c.Ops()) - 1)}
				if pending[q] != k-1 && pending[q] != trace.RecvBegin ||
					(k == trace.SendComplete) != (pending[q] == trace.SendBegin) {
					t.Fatalf("%+v: request %v of kind %v completes as %v", o, q, pending[q], k)
				}
				delete(pending, q)
			}
			peer := uint32(c.Op(0))
			switch {
			case k.IsSend():
				ch := channel{loc, peer, c.Op(1), c.Op(2)}
				flying[ch] = append(flying[ch], message{c.Time(), c.Op(3)})
			case k.IsRecv():
				ch := channel{peer, loc, c.Op(1), c.Op(2)}
				if len(flying[ch]) == 0 {
					t.Fatalf("%+v: %v is received at %d before it is sent", o, ch, c.Time())
				}
				m := flying[ch][0]
				flying[ch] = flying[ch][1:]
				if m.length != c.Op(3) || m.time >= c.Time() {
					t.Fatalf("%+v: %v: sent %v, received at %d with length %d", o, ch, m, c.Time(), c.Op(3))
				}
				received++
				if m.time > entered[loc] {
					late++
				}
			}
		})
		for ch, m := range flying {
			if len(m) > 0 {
				t.Errorf("%+v: %d messages of %v are not received", o, len(m), ch)
			}
		}
		if len(pending) > 0 {
			t.Errorf("%+v: %d requests stay open", o, len(pending))
		}
		if o.Workload == "stencil" && o.Events == 50_000 && o.Locations == 12 &&
			(late < received/20 || late > received*19/20) {
			t.Errorf("%+v: %d of %d senders are late", o, late, received)
		}
	}
}

func TestCollectives(t *testing.T) {
	for _, n := range []int{1, 6, 16} {
		x := newTrace(t, Options{Workload: "stencil", Events: 30_000, Locations: n})
		begun, ended := map[uint64]int{}, map[uint64]int{}
		rows(t, x, func(c *trace.Cursor) {
			switch c.Kind() {
			case trace.CollectiveBegin:
				begun[c.Op(5)]++
			case trace.CollectiveEnd:
				if ended[c.Op(5)]++; begun[c.Op(5)] != n {
					t.Fatalf("%d of %d have begun the reduction that ends", begun[c.Op(5)], n)
				}
			}
		})
		if len(begun) == 0 || !maps.Equal(begun, ended) {
			t.Errorf("%d reductions begin, %d end", len(begun), len(ended))
		}
	}
}

func TestCallTreeIsDeepAndBroad(t *testing.T) {
	depth, most := map[uint32]int{}, 0
	seen := map[uint32]bool{}
	rows(t, newTrace(t, Options{Workload: "calltree"}), func(c *trace.Cursor) {
		if c.Kind() == trace.Enter {
			seen[c.Ref()] = true
			depth[c.Location()]++
			most = max(most, depth[c.Location()])
		} else {
			depth[c.Location()]--
		}
	})
	if most != maxDepth || len(seen) < functions/2 {
		t.Errorf("%d functions, %d deep", len(seen), most)
	}
}

func TestCounters(t *testing.T) {
	last := map[[2]uint32]uint64{}
	n := 0
	x := newTrace(t, Options{Workload: "loops"})
	rows(t, x, func(c *trace.Cursor) {
		if c.Kind() != trace.Metric {
			return
		}
		n++
		k := [2]uint32{c.Location(), c.Ref()}
		if x.Defs().Metrics.At(c.Ref()).Mode == "ACCUMULATED_START" && c.Op(0) < last[k] {
			t.Errorf("counter %v falls from %d to %d", k, last[k], c.Op(0))
		}
		last[k] = c.Op(0)
	})
	if len(last) != loopMetricCount*x.Defs().Locations.Len() || n < 1000 {
		t.Errorf("%d samples of %d counters", n, len(last))
	}
}

func TestScanIsScanOrdered(t *testing.T) {
	for _, w := range Workloads() {
		x := newTrace(t, Options{Workload: w.Name, Events: 30_000})
		n := x.Defs().Locations.Len()
		want, got := make([]hash.Hash64, n), make([]hash.Hash64, n)
		for i := range n {
			want[i], got[i] = fnv.New64a(), fnv.New64a()
		}
		links := rows(t, x, func(c *trace.Cursor) { hashRow(want[c.Location()], c) })
		linked := 0
		err := x.Scan(context.Background(), trace.Everything(), format.PerLocation,
			format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				if b.Loc == trace.MixedLoc {
					t.Fatal("a mixed batch")
				}
				c := b.Cursor()
				for c.Next() {
					hashRow(got[c.Location()], &c)
				}
				return nil
			}, OnLinks: func(l []trace.Link) error { linked += len(l); return nil }})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if want[i].Sum64() != got[i].Sum64() {
				t.Errorf("%s: location %d differs", w.Name, i)
			}
		}
		if linked != len(links) {
			t.Errorf("%s: %d links, then %d", w.Name, len(links), linked)
		}
	}
}

func TestTimeWindow(t *testing.T) {
	for _, w := range Workloads() {
		x := newTrace(t, Options{Workload: w.Name, Events: 30_000})
		var times []int64
		rows(t, x, func(c *trace.Cursor) { times = append(times, c.Time()) })
		sel := trace.Everything()
		sel.From, sel.To = times[len(times)/3], times[len(times)/3+9000]
		want, got, delivered := fnv.New64a(), fnv.New64a(), 0
		rows(t, x, func(c *trace.Cursor) {
			if c.Time() >= sel.From && c.Time() < sel.To {
				hashRow(want, c)
			}
		})
		err := x.Scan(context.Background(), sel, format.GlobalOrder, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			delivered += b.Len()
			c := b.Cursor()
			for c.Next() {
				hashRow(got, &c)
			}
			return nil
		}})
		if err != nil || want.Sum64() != got.Sum64() || delivered > 10_000 {
			t.Errorf("%s: %d rows in the window differ (%v)", w.Name, delivered, err)
		}
	}
}

// TestMemory checks the live heap during a scan of a million events.
func TestMemory(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for _, w := range Workloads() {
		x := newTrace(t, Options{Workload: w.Name, Events: 1_000_000})
		before, most, n := heap(), int64(0), 0
		look := func() {
			if n++; n%50 == 0 {
				most = max(most, heap()-before)
			}
		}
		err := x.Scan(context.Background(), trace.Everything(), format.GlobalOrder, format.SinkFuncs{
			OnBatch: func(*trace.Batch) error { look(); return nil },
			OnLinks: func([]trace.Link) error { look(); return nil }})
		if err != nil || most > 2<<20 {
			t.Errorf("%s: %d bytes (%v)", w.Name, most, err)
		}
		runtime.KeepAlive(x)
	}
}

func TestErrorsOfSinksAndCancellation(t *testing.T) {
	stop := errors.New("stop")
	for _, w := range Workloads() {
		x := newTrace(t, Options{Workload: w.Name, Events: 1e12})
		n := 0
		if err := x.Scan(context.Background(), trace.Everything(), format.GlobalOrder,
			format.SinkFuncs{OnBatch: func(*trace.Batch) error {
				n++
				return stop
			}}); err != stop || n != 1 {
			t.Errorf("%s: %v after %d batches", w.Name, err, n)
		}
		ctx, cancel := context.WithCancel(context.Background())
		if err := x.Scan(ctx, trace.Everything(), format.PerLocation,
			format.SinkFuncs{OnBatch: func(*trace.Batch) error { cancel(); return nil }}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, expected that it is cancelled", w.Name, err)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Workload: "tetris"}, "expected one of stencil, ring"},
		{Options{Workload: "ring", Locations: 1}, "found 1 location, expected 2 to"},
		{Options{Workload: "ring", Locations: -1}, "found -1 locations"},
		{Options{Workload: "cps", Locations: 3}, "cannot be chosen"},
		{Options{Workload: "loops", Events: -1}, "found -1 events"},
		{Options{Workload: "ring", Threads: 2}, "only workload phases has"},
		{Options{Workload: "ring", Problems: Problems{Noise: 0.1}}, "only workload phases has"},
		{Options{Workload: "phases", Threads: -1}, "threads: found -1, expected 1 to 131072"},
		{Options{Workload: "phases", Compute: -1}, "compute: found -1 ns"},
		{Options{Workload: "phases", Compute: 1e15, Events: 1e9}, "too long"},
		{Options{Workload: "phases", Problems: Problems{LateSender: -1}}, "late sender: found -1 ns"},
		{Options{Workload: "phases", Locations: 1, Problems: Problems{LateSender: 1}}, "expected 2 or more locations"},
		{Options{Workload: "phases", Locations: 1, Problems: Problems{Serial: 1}}, "expected 2 or more locations or threads"},
		{Options{Workload: "phases", Locations: 2, Problems: Problems{Imbalance: 3}}, "expected 3 or more locations"},
		{Options{Workload: "phases", Locations: 2, Problems: Problems{Noise: 0.1}}, "expected 3 or more locations"},
		{Options{Workload: "phases", Locations: 4, Problems: Problems{SlowNode: 2}}, "more than the 4 locations of a node"},
		{Options{Workload: "phases", Problems: Problems{SlowNode: 0.5}}, "slow node: found 0.5, expected 1 to 1000"},
		{Options{Workload: "phases", Problems: Problems{Imbalance: math.NaN()}}, "imbalance: found NaN"},
		{Options{Workload: "phases", Problems: Problems{SlowNode: 2, Noise: 0.1}}, "expected one of them"},
		{Options{Workload: "phases", Problems: Problems{Lock: 1}}, "lock: expected 2 or more threads"},
		{Options{Workload: "phases", Threads: 2, Compute: 5, Problems: Problems{Lock: 5}}, "less than the 5 ns of computing"},
		// The fastest rank computes for 2 / (1 + 3) of 100 ns.
		{Options{Workload: "phases", Threads: 2, Locations: 8, Compute: 100, Problems: Problems{Imbalance: 3, Lock: 50}},
			"less than the 50 ns of computing"},
		{Options{Workload: "ring", Period: 1000}, "only workload cps has"},
		{Options{Workload: "phases", Faults: Faults{Anomalies: 1}}, "only workload cps has"},
		{Options{Workload: "cps", Period: 999}, "period: found 999 µs, expected 1000 to"},
		{Options{Workload: "cps", Period: 1000, Faults: Faults{Late: 1000}}, "expected stragglers"},
		{Options{Workload: "cps", Faults: Faults{Stragglers: 1, Late: 7999}}, "late: found 7999 µs, expected at least"},
		{Options{Workload: "cps", Events: 2600, Faults: Faults{Stragglers: 100, Late: 8000}}, "found 100, expected 0 to 99"},
		{Options{Workload: "cps", Events: 2600, Faults: Faults{Violations: 101}}, "violations: found 101, expected 0 to 100"},
		{Options{Workload: "cps", Events: 2600, Faults: Faults{Anomalies: -1}}, "anomalies: found -1"},
		{Options{Workload: "cps", Events: 1e12, Period: 1e7}, "too long"},
	} {
		if _, err := New(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, expected %q", c.o, err, c.want)
		}
	}
	for _, w := range Workloads() {
		if x := newTrace(t, Options{Workload: w.Name}); x.Defs().Locations.Len() != w.Locations || w.Doc == "" {
			t.Errorf("%+v: %d locations", w, x.Defs().Locations.Len())
		}
	}
}
