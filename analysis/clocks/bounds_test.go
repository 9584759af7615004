package clocks

import (
	"context"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// TestHull checks that a hull has exactly the points that lie above each line between an earlier
// and a later point, for numbers of any size.
func TestHull(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for round := range 400 {
		size := []int64{4, 20, 1000, 1 << 60}[round%4]
		var all, h []point
		for range 1 + r.IntN(40) {
			p := point{r.Int64N(size), r.Int64N(size) - r.Int64N(size)}
			if r.IntN(3) == 0 && len(all) > 0 { // one point in three comes out of order
				p.received += all[len(all)-1].received / 2
			}
			all = append(all, p)
			h = addPoint(h, p)
		}
		var want []point
		for _, p := range all {
			corner := true
			for _, a := range all {
				corner = corner && (a.received != p.received || a.need <= p.need)
				for _, b := range all {
					corner = corner && !(a.received < p.received && p.received < b.received && !isAbove(a, p, b))
				}
			}
			if corner && !slices.Contains(want, p) {
				want = append(want, p)
			}
		}
		slices.SortFunc(want, func(a, b point) int { return int(min(max(a.received-b.received, -1), 1)) })
		if !slices.Equal(h, want) {
			t.Fatalf("round %d, points %v: found corners %v, expected %v", round, all, h, want)
		}
	}
}

// isAbove reports whether p lies above the line from a to b, in exact numbers.
func isAbove(a, p, b point) bool {
	times := func(x, y int64) *big.Int { return new(big.Int).Mul(big.NewInt(x), big.NewInt(y)) }
	return times(p.need-a.need, b.received-a.received).Cmp(times(b.need-a.need, p.received-a.received)) > 0
}

// ringTrace is a trace in which a token is sent around a ring of locations. The clock of location i
// is ahead by skew·i ticks.
type ringTrace struct {
	format.Events
	defs    trace.Definitions
	batches []*trace.Batch
}

func newRingTrace(n, rounds int, skew int64) *ringTrace {
	e := &ringTrace{}
	for i := range n {
		e.defs.Locations.Add(trace.Location{ID: strconv.Itoa(i), Kind: trace.ProcessLocation, Group: trace.NoRef})
		e.batches = append(e.batches, &trace.Batch{Loc: uint32(i)})
	}
	now := int64(0)
	add := func(i int, k trace.Kind, peer int) {
		e.batches[i].Add(uint32(i), now+int64(i)*skew, k, trace.NoRef)
		e.batches[i].AddOps(uint64(peer), trace.Undefined, 0, 8)
		now += 100
	}
	for i := range n * rounds {
		add(i%n, trace.Send, (i+1)%n)
		add((i+1)%n, trace.Recv, i%n)
	}
	return e
}

func (e *ringTrace) Defs() *trace.Definitions { return &e.defs }

func (e *ringTrace) ScanParallel(_ context.Context, _ trace.Selection, begin func() func(int) format.Sink) error {
	s := begin()(0)
	for _, b := range e.batches {
		if err := s.Batch(b); err != nil {
			return err
		}
	}
	return nil
}

// observedContext is a context that calls look each time its error is requested.
type observedContext struct {
	context.Context
	look func()
}

func (w observedContext) Err() error {
	w.look()
	return nil
}

// TestWaitingEnds checks that few ends of messages wait for their partners at a time, even if
// clocks differ by more than the length of the trace, or if a location has no events.
func TestWaitingEnds(t *testing.T) {
	const n, rounds = 8, 5000
	for _, test := range []struct {
		name string
		skew int64
		lost bool
		most int // greatest number of waiting ends
	}{
		{"same clocks", 0, false, n * 256},
		{"clocks far apart", 1e9, false, n * (100 + 256)},
		{"clocks far apart, the other way", -1e9, false, n * (100 + 256)},
		{"a location without events", 0, true, n * 256},
	} {
		e := newRingTrace(n, rounds, test.skew)
		messages := int64(n * rounds)
		if test.lost {
			e.batches = slices.Delete(e.batches, 3, 4)
			messages -= 2 * rounds
		}
		c := &collector{limit: 100}
		c.log = newLog()
		most := 0
		ctx := observedContext{t.Context(), func() {
			sum := 0
			for i := range c.readers {
				sum += c.readers[i].waiting
			}
			most = max(most, sum)
		}}
		if err := c.run(ctx, e); err != nil {
			t.Fatal(err)
		}
		if c.log.count != messages {
			t.Errorf("%s: found %d messages, expected %d", test.name, c.log.count, messages)
		}
		if most > test.most {
			t.Errorf("%s: found %d ends waiting, expected %d at most", test.name, most, test.most)
		}
		c.log.close()
	}
}

// TestAgenda checks that nodes are visited at most a small part of the trace's length before their
// causes, even if a clock is set by more than the length of the rest of the trace.
func TestAgenda(t *testing.T) {
	const messages, jump = 20_000, 50_000_000
	q := &problem{clocks: []clock{{last: 400 * messages}, {last: 400*messages + jump}}, clockOf: []int32{0, 1},
		log: newLog()}
	defer q.log.close()
	at := func(loc uint32, time int64) end {
		if loc == 1 && time > 200*messages {
			time += jump
		}
		return end{loc, time}
	}
	for i := range int64(messages) {
		from := uint32(i % 2)
		q.log.addMessage(at(from, 400*i), at(1-from, 400*i+100))
	}
	s := &solution{q: q, linear: make([]transform.Curve, 2)}
	a, err := s.agenda(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	early := int64(0)
	err = q.each(t.Context(), func(c *constraint) error {
		early = max(early, a.key(c.from[0])-a.key(c.to[0]))
		return nil
	})
	if part := (int64(400*messages) + jump) / stepParts; err != nil || early > part {
		t.Errorf("found a node that is visited %d before its cause, error %v; expected %d at most", early, err, part)
	}
}
