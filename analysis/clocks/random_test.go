package clocks_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/weft-trace/weft/analysis/clocks"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// program records a trace while it runs. Each location has its own clock.
type program struct {
	defs    *trace.Definitions
	batches []*trace.Batch
	clocks  []clockFunc
	// now is the true time at each location.
	now []int64
	// pairs holds the send and the receive of each message. rounds holds the begins and ends of each
	// collective operation; no end comes before any begin in true time. The stored times are those that
	// the clocks show.
	pairs  [][2]moment
	rounds [][2][]moment
}

// moment is an event of a location, at the time that its clock shows.
type moment struct {
	loc  int
	time int64
}

// newProgram returns a program of locations with the given clocks.
func newProgram(list []clockFunc) *program {
	p := &program{defs: &trace.Definitions{Clock: trace.TicksPerSecond(1_000_000_000), Origin: "otf2"}, clocks: list,
		now: make([]int64, len(list))}
	var members []int64
	for i := range list {
		p.defs.Locations.Add(trace.Location{ID: strconv.Itoa(100 + i), Kind: trace.ProcessLocation, Group: trace.NoRef})
		b := &trace.Batch{}
		b.Reset(uint32(i))
		p.batches = append(p.batches, b)
		members = append(members, int64(100+i))
	}
	set := p.defs.Sets.Add(trace.Set{ID: "0", Kind: "communicating locations", Members: members})
	p.defs.Communicator.Add(trace.Communicator{ID: "0", Set: set, Parent: trace.NoRef})
	return p
}

// add records an event at the current time of a location.
func (p *program) add(loc int, k trace.Kind, ops ...uint64) moment {
	t := p.clocks[loc](p.now[loc])
	p.batches[loc].Add(uint32(loc), t, k, trace.NoRef)
	if len(ops) > 0 {
		p.batches[loc].AddOps(ops...)
	}
	return moment{loc, t}
}

// message sends a message that takes the given number of ticks, and receives it.
func (p *program) message(from, to int, takes int64) {
	s := p.add(from, trace.Send, uint64(to), trace.Undefined, 1, 8)
	p.now[to] = max(p.now[to], p.now[from]+takes)
	p.pairs = append(p.pairs, [2]moment{s, p.add(to, trace.Recv, uint64(from), trace.Undefined, 1, 8)})
}

// collective runs an operation of all locations, which takes the given number of ticks. Operations
// without a root ignore root.
func (p *program) collective(operation, root uint64, takes int64) {
	last := slices.Max(p.now)
	begins, ends := make([]moment, len(p.now)), make([]moment, len(p.now))
	for i := range p.now {
		begins[i] = p.add(i, trace.CollectiveBegin)
	}
	began := slices.Clone(p.now)
	for i := range p.now {
		switch {
		case operation == 1 && i != int(root):
			p.now[i] = max(p.now[i], began[root]+takes)
		case operation == 1, operation == 12 && i != int(root):
			p.now[i] += takes
		default:
			p.now[i] = last + takes
		}
		ends[i] = p.add(i, trace.CollectiveEnd, operation, 0, root, 8, 8)
	}
	switch operation {
	case 1:
		begins, ends = begins[root:root+1], slices.Delete(ends, int(root), int(root)+1)
	case 12:
		begins, ends = slices.Delete(begins, int(root), int(root)+1), ends[root:root+1]
	}
	p.rounds = append(p.rounds, [2][]moment{begins, ends})
}

// events returns the recorded trace.
func (p *program) events() format.Events { return &batches{defs: p.defs, list: p.batches} }

func (p *program) solve(t testing.TB, opt clocks.Options) *clocks.Result {
	t.Helper()
	return solve(t, p.events(), opt)
}

// check checks all properties of a correction without code of package clocks.
func (p *program) check(r *clocks.Result) error {
	at := func(m moment) int64 { return r.Correction.Locations[strconv.Itoa(100+m.loc)].At(m.time) }
	for _, m := range p.pairs {
		if m[0].loc != m[1].loc && at(m[1]) < at(m[0])+r.Latency {
			return fmt.Errorf("message from %v, corrected %d, to %v, corrected %d", m[0], at(m[0]), m[1], at(m[1]))
		}
	}
	for _, c := range p.rounds {
		for _, b := range c[0] {
			for _, e := range c[1] {
				if at(e) < at(b) {
					return fmt.Errorf("operation: begin %v, corrected %d; end %v, corrected %d", b, at(b), e, at(e))
				}
			}
		}
	}
	for i, b := range p.batches {
		c := r.Correction.Locations[strconv.Itoa(100+i)]
		if err := c.Check(); err != nil {
			return err
		}
		for k := 1; k < b.Len(); k++ {
			if c.At(b.Time[k]) < c.At(b.Time[k-1]) {
				return fmt.Errorf("location %d: %d, corrected %d, after it %d, corrected %d", i, b.Time[k], c.At(b.Time[k]),
					b.Time[k-1], c.At(b.Time[k-1]))
			}
		}
	}
	if r.After.Any() || r.Contradictions.Any() {
		return errors.New("violations or contradictions are counted")
	}
	return nil
}

// wildClock returns a clock that jumps and changes its speed, but never runs backward.
func wildClock(r *rand.Rand) clockFunc {
	type piece struct {
		from, offset int64
		speed        float64
	}
	pieces := []piece{{0, r.Int64N(1_000_000), 1}}
	for range r.IntN(5) {
		last := pieces[len(pieces)-1]
		from := last.from + 1 + r.Int64N(20_000)
		shown := last.offset + int64(float64(from-last.from)*last.speed)
		pieces = append(pieces, piece{from, shown + r.Int64N(5_000), 0.5 + r.Float64()})
	}
	return func(t int64) int64 {
		i := len(pieces) - 1
		for pieces[i].from > t {
			i--
		}
		return pieces[i].offset + int64(float64(t-pieces[i].from)*pieces[i].speed)
	}
}

// randomProgram runs a program of random messages and operations.
func randomProgram(r *rand.Rand, n, steps int, list []clockFunc) *program {
	p := newProgram(list)
	for range steps {
		switch i, j := r.IntN(n), r.IntN(n); {
		case r.IntN(8) > 0:
			p.now[i] += r.Int64N(300)
			p.message(i, j, 200+r.Int64N(200)*r.Int64N(2))
		case n > 1:
			p.collective([]uint64{0, 1, 11, 12}[r.IntN(4)], uint64(j), r.Int64N(100))
		}
	}
	return p
}

// TestRandom corrects random programs whose clocks no linear correction corrects.
func TestRandom(t *testing.T) {
	effort.Sequential(t)
	amortised := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 1 + r.IntN(20)
		var list []clockFunc
		for range n {
			list = append(list, wildClock(r))
		}
		p := randomProgram(r, n, r.IntN(400), list)
		opt := clocks.Options{Latency: r.Int64N(2) * r.Int64N(200), Reference: uint32(r.IntN(n)), Always: r.IntN(2) == 0}
		x := p.solve(t, opt)
		if err := p.check(x); err != nil {
			t.Fatalf("seed %d, %+v: %v", seed, opt, err)
		}
		if x.Amortised {
			amortised++
		}
		sameInPieces(t, p, opt, x)
	}
	if amortised < 50 {
		t.Errorf("%d programs needed amortisation, expected 50 or more", amortised)
	}
}

// sameInPieces checks that the result is the same for any number of waiting nodes that starts a
// search for contradictions.
func sameInPieces(t testing.TB, p *program, opt clocks.Options, want *clocks.Result) {
	t.Helper()
	for _, waiting := range []int{1, 8} {
		r, err := clocks.SolveWith(context.Background(), p.events(), opt, waiting)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r, want) {
			t.Fatalf("%+v: with a search for every %d nodes found %+v, expected %+v", opt, waiting, r, want)
		}
	}
}

// TestContradictionsInPieces removes events of random programs. Then messages are matched wrongly
// and contradict each other.
func TestContradictionsInPieces(t *testing.T) {
	contradictory := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		n := 2 + r.IntN(8)
		var list []clockFunc
		for range n {
			list = append(list, wildClock(r))
		}
		p := randomProgram(r, n, r.IntN(300), list)
		for i, b := range p.batches {
			left := &trace.Batch{}
			left.Reset(uint32(i))
			c := b.Cursor()
			for c.Next() {
				if r.IntN(60) > 0 {
					left.AppendRow(&c)
				}
			}
			p.batches[i] = left
		}
		opt := clocks.Options{Latency: r.Int64N(2) * r.Int64N(200), Model: clocks.Model(r.IntN(3))}
		x := p.solve(t, opt)
		if x.Contradictions.Any() {
			contradictory++
		}
		if opt.Model == clocks.Full && (x.After.Messages > x.Contradictions.Messages ||
			x.After.Collectives > x.Contradictions.Collectives) {
			t.Errorf("seed %d: found violations that are no contradictions: %+v", seed, x)
		}
		sameInPieces(t, p, opt, x)
	}
	if contradictory < 20 {
		t.Errorf("%d programs had contradictions, expected 20 or more", contradictory)
	}
}

// TestInnocent checks that messages that only follow contradictory ones do not count as
// contradictions.
func TestInnocent(t *testing.T) {
	p := newProgram([]clockFunc{linear(0, 0), linear(0, 0), linear(0, 0)})
	at := func(loc int, time int64, k trace.Kind, peer uint64) {
		p.now[loc] = time
		p.add(loc, k, peer, trace.Undefined, 0, 8)
	}
	at(0, 10, trace.Recv, 1) // locations 0 and 1 receive an answer before they send the question
	at(0, 20, trace.Send, 1)
	at(1, 10, trace.Recv, 0)
	at(1, 20, trace.Send, 0)
	at(1, 30, trace.Send, 2)
	at(2, 5, trace.Recv, 1) // before all contradictory events of its clock
	r := p.solve(t, clocks.Options{})
	if r.Contradictions.Messages != 1 || r.After.Messages != 1 {
		t.Errorf("found %+v, expected one contradiction", r)
	}
}

// TestNonBlocking checks that non-blocking operations are matched in the order of their requests,
// regardless of the order in which they complete. The members' third operations differ, so that neither
// these nor the fourth ones count.
func TestNonBlocking(t *testing.T) {
	p := newProgram([]clockFunc{linear(0, 0), linear(0, 0)})
	for i, kinds := range [][]uint64{{0, 11, 0, 11}, {0, 11, 11, 11}} {
		p.now[i] = 100
		p.add(i, trace.CollectiveRequest, 99) // never completes
		for k := range kinds {
			p.add(i, trace.CollectiveRequest, uint64(k))
		}
		order := [][]int{{0, 1, 2, 3}, {3, 1, 0, 2}}[i]
		for _, k := range order {
			p.now[i]++
			p.add(i, trace.CollectiveComplete, kinds[k], 0, trace.Undefined, 8, 8, uint64(k))
		}
	}
	if r := p.solve(t, clocks.Options{}); r.Collectives != 2 {
		t.Errorf("found %d operations, expected 2", r.Collectives)
	}
}

// TestJump corrects a clock that is set forward while the program runs, which no linear correction
// corrects.
func TestJump(t *testing.T) {
	const jump = 50_000
	jumping := func(t int64) int64 {
		if t > 1_000_000 {
			return t + jump
		}
		return t
	}
	p := newProgram([]clockFunc{linear(0, 0), jumping})
	for range 2000 {
		p.now[0] += 1000
		p.message(0, 1, 300)
		p.message(1, 0, 300)
	}
	line := p.solve(t, clocks.Options{Model: clocks.Linear})
	if !line.Before.Any() || !line.After.Any() || line.Amortised || line.Linear != line.After {
		t.Errorf("a line alone: found %+v", line)
	}
	r := p.solve(t, clocks.Options{})
	if err := p.check(r); err != nil {
		t.Error(err)
	}
	if !r.Amortised || r.Moved == 0 || r.Moved > jump {
		t.Errorf("found %+v, expected amortisation by up to %d", r, jump)
	}
}

// TestNothingToCorrect checks the results for traces without violations.
func TestNothingToCorrect(t *testing.T) {
	r := newProgram([]clockFunc{linear(0, 0), linear(5, 0)}).solve(t, clocks.Options{})
	if len(r.Clocks) != 0 || len(r.Correction.Locations) != 0 || r.Before.Any() {
		t.Errorf("without events: found %+v", r)
	}
	// Clocks without violations are not corrected, unless Always is set.
	p := newProgram([]clockFunc{linear(0, 0), linear(0, 0), linear(7, 0)})
	p.now = []int64{10, 10, 10}
	p.add(2, trace.Enter)
	for range 10 {
		p.message(0, 1, 100)
		p.message(1, 0, 300)
	}
	if r = p.solve(t, clocks.Options{}); len(r.Correction.Locations) != 0 || r.Before.Any() || r.After.Any() ||
		r.Untied != 1 {
		t.Errorf("good clocks: found %+v", r)
	}
	// Clock 1 can be moved by −100 to 300 ticks without a violation. The middle is 100.
	r = p.solve(t, clocks.Options{Always: true})
	if c := r.Clocks[1]; c.Offset != 100 || c.Drift != 0 || len(r.Correction.Locations) != 1 {
		t.Errorf("good clocks to the middle: found %+v", r)
	}
	if r.Clocks[2].Reference != 2 || r.Clocks[1].Reference != 0 {
		t.Errorf("found references %+v", r.Clocks)
	}
}

// TestOneWay checks that a clock that is bounded from one side only is moved no more than
// necessary.
func TestOneWay(t *testing.T) {
	p := newProgram([]clockFunc{linear(1000, 0), linear(0, 0)})
	for range 5 {
		p.message(0, 1, 300)
	}
	r := p.solve(t, clocks.Options{})
	if c := r.Clocks[1]; c.Offset != 700 || r.After.Any() {
		t.Errorf("found %+v", r)
	}
	r = p.solve(t, clocks.Options{Reference: 1, Latency: 50})
	if c := r.Clocks[0]; c.Offset != -750 || r.After.Any() {
		t.Errorf("found %+v", r)
	}
	if err := p.check(r); err != nil {
		t.Error(err)
	}
}

// TestContradiction checks messages whose answer is received before the question is sent, on any
// clock.
func TestContradiction(t *testing.T) {
	d := newProgram([]clockFunc{linear(0, 0), linear(0, 0)}).defs
	build := func(times ...int64) []*trace.Batch {
		var out []*trace.Batch
		for loc := range uint32(2) {
			b := &trace.Batch{}
			b.Reset(loc)
			for i, k := range []trace.Kind{trace.Recv, trace.Send} {
				b.Add(loc, times[2*int(loc)+i], k, trace.NoRef)
				b.AddOps(uint64(1-loc), trace.Undefined, 0, 1)
			}
			out = append(out, b)
		}
		return out
	}
	run := func(opt clocks.Options, times ...int64) *clocks.Result {
		p := &program{defs: d, batches: build(times...)}
		return p.solve(t, opt)
	}
	if r := run(clocks.Options{}, 10, 20, 10, 20); r.Contradictions.Messages != 1 || r.After.Messages != 1 {
		t.Errorf("found %+v, expected one contradiction", r)
	}
	// Question and answer with equal times contradict nothing, since ticks are not infinitely short.
	// With a latency they do.
	if r := run(clocks.Options{}, 10, 10, 15, 15); r.Contradictions.Any() || r.After.Any() || r.Clocks[1].Offset != -5 {
		t.Errorf("found %+v, expected none", r)
	}
	if r := run(clocks.Options{Latency: 1}, 10, 10, 15, 15); r.Contradictions.Messages != 1 {
		t.Errorf("found %+v, expected one contradiction", r)
	}
	nothing := (&program{defs: d}).events()
	if _, err := clocks.Solve(context.Background(), nothing, clocks.Options{Latency: -1}); err == nil {
		t.Error("a negative latency is taken")
	}
}

// TestCollectives checks which operations constrain clocks. By its clock, location 1 leaves each
// operation before location 0 has entered it; location 0 does not leave before location 1 has
// entered.
func TestCollectives(t *testing.T) {
	for _, test := range []struct {
		operation, root, sent uint64
		origin, name          string // name of operation 7 of the trace
		whole                 bool   // the operation is a single event with a duration
		early                 bool
	}{
		{operation: 0, root: trace.Undefined, early: true},
		{operation: 0, root: trace.Undefined, whole: true, early: true},
		{operation: 1, root: 1, sent: 4, whole: true},
		{operation: 1, root: 0, sent: 4, early: true},
		{operation: 1, root: 1, sent: 4},
		{operation: 2, root: 1, sent: 4, early: true},
		{operation: 2, root: 0, sent: 4},
		{operation: 3, root: 1, sent: 4, early: true},
		{operation: 3, root: 1},
		{operation: 6, root: trace.Undefined, sent: 4, early: true},
		{operation: 9, root: trace.Undefined, sent: 4},
		{operation: 12, root: 1, sent: 4, early: true},
		{operation: 14, root: trace.Undefined, sent: 4},
		{operation: 17, root: trace.Undefined},
		{operation: 0, root: trace.Undefined, origin: "otf"},
		{operation: 7, root: trace.Undefined, origin: "otf", name: "MPI_Allreduce", early: true},
		{operation: 7, root: 100, sent: 4, origin: "otf", name: "MPI_Bcast", early: true},
		{operation: 7, root: 100, sent: 4, origin: "otf", name: "MPI_Bcast", whole: true, early: true},
		{operation: 7, root: 100, sent: 4, origin: "otf", name: "exchange", whole: true},
		{operation: 7, root: 101, sent: 4, origin: "otf", name: "MPI_Bcast"},
		{operation: 7, root: 0, sent: 4, origin: "otf", name: "MPI_Bcast"},
		{operation: 7, root: trace.Undefined, origin: "otf", name: "exchange"},
		{operation: 1, root: 7, sent: 4},
	} {
		p := newProgram([]clockFunc{linear(0, 0), linear(-50, 0)})
		if test.origin != "" {
			p.defs.Origin, p.defs.Conventions = test.origin, format.Conventions(test.origin)
			p.defs.Operations.Add(trace.Named{ID: "7", Name: test.name})
		}
		for i := range 2 {
			p.now[i] = 100
			if test.whole {
				p.add(i, trace.Collective, test.operation, 0, test.root, test.sent, test.sent, 40)
				continue
			}
			p.add(i, trace.CollectiveBegin)
			p.now[i] = 140
			p.add(i, trace.CollectiveEnd, test.operation, 0, test.root, test.sent, test.sent)
		}
		r := p.solve(t, clocks.Options{})
		if (r.Before.Collectives == 1) != test.early || r.After.Any() {
			t.Errorf("%+v: found %+v", test, r)
		}
	}
}

// FuzzSolve corrects programs that are built from the input, with arbitrary clocks and orders of
// events.
func FuzzSolve(f *testing.F) {
	f.Add([]byte{3, 0, 1, 5, 9, 1, 2, 0, 7, 40, 1, 1, 8}, int64(0))
	f.Add([]byte{2, 1, 0, 1, 1, 0, 1, 9, 2, 1, 3, 3, 0, 0, 1, 1}, int64(1))
	f.Add([]byte{7, 200, 3, 100, 4, 5, 6, 9, 120, 8, 7, 100, 50, 1, 3, 5, 2, 4, 6, 8}, int64(1)<<61)
	f.Fuzz(func(t *testing.T, data []byte, latency int64) {
		if len(data) < 2 {
			return
		}
		n := 1 + int(data[0])%8
		p := newProgram(make([]clockFunc, n))
		scale := int64(1) << (data[1] % 62)
		for i := range n {
			p.clocks[i] = func(t int64) int64 { return t }
		}
		kinds := []trace.Kind{trace.Send, trace.Recv, trace.CollectiveBegin, trace.CollectiveEnd, trace.Enter,
			trace.CollectiveRequest, trace.CollectiveComplete, trace.SendBegin, trace.RecvComplete, trace.Collective}
		for data = data[2:]; len(data) >= 3; data = data[3:] {
			loc := int(data[0]) % n
			if step := int64(data[1]%16) * scale; p.now[loc]+step >= p.now[loc] {
				p.now[loc] += step
			}
			k := kinds[int(data[2]>>4)%len(kinds)]
			x := uint64(data[2] & 15)
			switch {
			case k.IsSend() || k.IsRecv():
				p.add(loc, k, x%uint64(n), trace.Undefined, uint64(int64(x/8)-1), 1)
			case k == trace.CollectiveRequest:
				p.add(loc, k, x%4)
			default:
				p.add(loc, k, x, 0, x%uint64(n+1), x%3, x%2, x%4)
			}
		}
		for _, m := range []clocks.Model{clocks.Full, clocks.Linear, clocks.Offset} {
			opt := clocks.Options{Latency: latency & (1<<30 - 1), Model: m, Always: latency < 0, Reference: uint32(n / 2)}
			r, err := clocks.Solve(context.Background(), p.events(), opt)
			if err != nil {
				if scale < 1<<40 {
					t.Fatal(err)
				}
				return
			}
			sameInPieces(t, p, opt, r)
			if m == clocks.Full && (r.After.Messages > r.Contradictions.Messages ||
				r.After.Collectives > r.Contradictions.Collectives) {
				t.Fatalf("found violations: %+v", r)
			}
			for id, c := range r.Correction.Locations {
				if err := c.Check(); err != nil {
					t.Fatalf("location %s: %v", id, err)
				}
			}
		}
	})
}

// TestDistantTimes checks that very late times are corrected, and that times too far apart are an
// error.
func TestDistantTimes(t *testing.T) {
	const late = math.MaxInt64 - 1_000_000
	p := newProgram([]clockFunc{linear(late, 0), linear(late-2000, 0)})
	for range 10 {
		p.message(0, 1, 100)
		p.message(1, 0, 100)
	}
	r := p.solve(t, clocks.Options{})
	if err := p.check(r); err != nil || r.Clocks[1].Offset != 2000 {
		t.Errorf("found %+v: %v", r, err)
	}
	p = newProgram([]clockFunc{linear(math.MinInt64/2, 0), linear(math.MaxInt64/2, 0)})
	p.message(0, 1, 100)
	if _, err := clocks.Solve(context.Background(), p.events(), clocks.Options{}); !errors.Is(err, clocks.ErrTimeRange) {
		t.Errorf("found %v, expected %v", err, clocks.ErrTimeRange)
	}
}
