package collectives

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/testtrace"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

const none = trace.Undefined

// defs returns definitions with locations 0, 1 …, and the communicators 0 of all locations, 1 of
// the even ones, and 2 with unknown members.
func defs(locations int) *trace.Definitions {
	d := testtrace.Defs(locations, 0, 0)
	var all, even []int64
	for i := range int64(locations) {
		all = append(all, i)
		if i%2 == 0 {
			even = append(even, i)
		}
	}
	d.Communicator.Add(trace.Communicator{ID: "0", Name: "world",
		Set: d.Sets.Add(trace.Set{Kind: "processes", Members: all})})
	d.Communicator.Add(trace.Communicator{ID: "1", Set: d.Sets.Add(trace.Set{Kind: "processes", Members: even})})
	d.Communicator.Add(trace.Communicator{ID: "2", Set: trace.NoRef})
	return d
}

func row(loc uint32, t int64, k trace.Kind, ops ...uint64) testtrace.Row {
	return testtrace.Row{Loc: loc, Time: t, Kind: k, Ref: trace.NoRef, Ops: ops}
}

// callRows returns the events of a call as OTF2 records it: a begin without operands, and an end
// with all of them.
func callRows(loc uint32, begin, end int64, operation, communicator, root, sent, received uint64) []testtrace.Row {
	return []testtrace.Row{row(loc, begin, trace.CollectiveBegin),
		row(loc, end, trace.CollectiveEnd, operation, communicator, root, sent, received)}
}

func join(l ...[]testtrace.Row) []testtrace.Row { return slices.Concat(l...) }

// lines formats each operation as "communicator operation calls sent/received {time} matched {waiting}
// early", with durations as {count sum min max}. The last line is "unclosed orphans".
func lines(r *Result) string {
	var b strings.Builder
	for _, o := range r.Operations {
		fmt.Fprintf(&b, "%s %s %d %d/%d %v %d %v %d\n", o.CommunicatorID, o.Name, o.Calls, o.Sent, o.Received, o.Time,
			o.Matched, o.Waiting, o.Early)
	}
	fmt.Fprintf(&b, "%d %d", r.Unclosed, r.Orphans)
	return b.String()
}

// TestOperations checks cases that were counted by hand.
func TestOperations(t *testing.T) {
	for _, test := range []struct {
		name   string
		window *trace.Window
		origin string
		rows   []testtrace.Row
		want   string
	}{
		{"one after the other", nil, "", join(
			callRows(0, 10, 20, 0, 0, none, 0, 0), callRows(1, 15, 20, 0, 0, none, 0, 0), callRows(2, 12, 21, 0, 0, none, 0, 0),
			callRows(0, 30, 31, 1, 0, 0, 8, 0), callRows(1, 40, 42, 1, 0, 0, 0, 4), callRows(2, 50, 53, 1, 0, 0, 0, 4)),
			"0 barrier 3 0/0 {3 24 5 10} 1 {1 5 5 5} 0\n0 broadcast 3 8/8 {3 6 1 3} 1 {1 20 20 20} 0\n0 0"},
		{"left before entered", nil, "", join(
			callRows(0, 10, 12, 0, 0, none, 0, 0), callRows(1, 15, 20, 0, 0, none, 0, 0), callRows(2, 12, 21, 0, 0, none, 0, 0)),
			"0 barrier 3 0/0 {3 16 2 9} 1 {1 5 5 5} 1\n0 0"},
		{"numbers of OTF say nothing", nil, "otf", join(
			callRows(0, 10, 12, 0, 0, none, 0, 0), callRows(1, 15, 20, 0, 0, none, 0, 0), callRows(2, 12, 21, 0, 0, none, 0, 0)),
			"0 operation 0 3 0/0 {3 16 2 9} 1 {1 5 5 5} 0\n0 0"},
		{"what OTF says at the begin", nil, "otf", []testtrace.Row{
			row(0, 1, trace.CollectiveBegin, 7, 1, none, 3, 4, 55), row(0, 2, trace.CollectiveBegin, 8, 1, none, 1, 1, 56),
			row(0, 9, trace.CollectiveEnd, none, none, none, 0, 0, 55),
			row(2, 4, trace.CollectiveBegin, 7, 1, none, 3, 4, 55), row(2, 9, trace.CollectiveEnd, none, none, none, 0, 0, 55),
			row(2, 10, trace.CollectiveEnd, none, none, none, 0, 0, 99)},
			"1 operation 7 2 6/8 {2 13 5 8} 1 {1 3 3 3} 0\n unknown 1 0/0 {0 0 0 0} 0 {0 0 0 0} 0\n1 1"},
		{"whole ones of old OTF", nil, "otf", []testtrace.Row{row(0, 5, trace.Collective, 3, 1, none, 1, 2, 10),
			row(2, 8, trace.Collective, 3, 1, none, 1, 2, 7)},
			"1 operation 3 2 2/4 {2 17 7 10} 1 {1 3 3 3} 0\n0 0"},
		{"a record is missing", nil, "", join(
			callRows(0, 1, 2, 0, 0, none, 0, 0), callRows(1, 1, 2, 0, 0, none, 0, 0), callRows(2, 1, 2, 0, 0, none, 0, 0),
			callRows(0, 3, 4, 11, 0, none, 0, 0), callRows(1, 3, 4, 11, 0, none, 0, 0),
			callRows(0, 5, 6, 0, 0, none, 0, 0), callRows(1, 5, 6, 0, 0, none, 0, 0), callRows(2, 5, 6, 0, 0, none, 0, 0)),
			"0 barrier 6 0/0 {6 6 1 1} 1 {1 0 0 0} 0\n0 allreduce 2 0/0 {2 2 1 1} 0 {0 0 0 0} 0\n0 0"},
		{"another root", nil, "", join(
			callRows(0, 1, 2, 1, 1, 0, 0, 0), callRows(2, 1, 2, 1, 1, 1, 0, 0)),
			"1 broadcast 2 0/0 {2 2 1 1} 0 {0 0 0 0} 0\n0 0"},
		{"members not known", nil, "", join(
			callRows(0, 1, 2, 0, 2, none, 0, 0), callRows(2, 5, 6, 0, 2, none, 0, 0), callRows(0, 7, 8, 0, 2, none, 0, 0)),
			"2 barrier 3 0/0 {3 3 1 1} 1 {1 4 4 4} 1\n0 0"},
		{"one who is no member", nil, "", join(
			callRows(0, 1, 9, 0, 1, none, 0, 0), callRows(2, 5, 9, 0, 1, none, 0, 0), callRows(1, 7, 9, 0, 1, none, 0, 0)),
			"1 barrier 3 0/0 {3 14 2 8} 0 {0 0 0 0} 0\n0 0"},
		{"a member who has no events", nil, "", join(
			callRows(0, 1, 9, 0, 0, none, 0, 0), callRows(2, 5, 9, 0, 0, none, 0, 0)),
			"0 barrier 2 0/0 {2 12 4 8} 1 {1 4 4 4} 0\n0 0"},
		{"without a communicator", nil, "", callRows(0, 1, 9, 0, none, none, 3, 4),
			" barrier 1 3/4 {1 8 8 8} 0 {0 0 0 0} 0\n0 0"},
		{"an end alone", nil, "", join(callRows(0, 1, 9, 0, 1, none, 0, 0),
			[]testtrace.Row{row(2, 9, trace.CollectiveEnd, 0, 1, none, 0, 0)}, callRows(0, 20, 22, 0, 1, none, 0, 0),
			callRows(2, 21, 22, 0, 1, none, 0, 0)),
			"1 barrier 4 0/0 {3 11 1 8} 2 {1 1 1 1} 0\n0 1"},
		{"a window", &trace.Window{From: 10, To: 30}, "", join(
			callRows(0, 1, 12, 0, 1, none, 1, 1), callRows(2, 10, 12, 0, 1, none, 1, 1), callRows(0, 29, 40, 0, 1, none, 1, 1),
			callRows(2, 35, 41, 0, 1, none, 1, 1)),
			"1 barrier 2 2/2 {2 13 2 11} 1 {1 6 6 6} 0\n0 0"},
		// The requests complete in another order than posted. Number 3 never completes, and number
		// 4 is posted twice.
		{"posted", nil, "", []testtrace.Row{
			row(0, 1, trace.CollectiveRequest, 1), row(0, 2, trace.CollectiveRequest, 2),
			row(0, 8, trace.CollectiveComplete, 11, 1, none, 5, 5, 2), row(0, 9, trace.CollectiveComplete, 0, 1, none, 0, 0, 1),
			row(2, 3, trace.CollectiveRequest, 1), row(2, 4, trace.CollectiveRequest, 3), row(2, 6, trace.CollectiveRequest, 4),
			row(2, 7, trace.CollectiveRequest, 4),
			row(2, 8, trace.CollectiveComplete, 0, 1, none, 0, 0, 1), row(2, 9, trace.CollectiveComplete, 11, 1, none, 5, 5, 4)},
			"1 barrier 2 0/0 {2 13 5 8} 1 {1 2 2 2} 0\n1 allreduce 2 10/10 {2 8 2 6} 1 {1 5 5 5} 0\n2 0"},
		{"completed and never posted", nil, "", []testtrace.Row{row(0, 8, trace.CollectiveComplete, 11, 1, none, 5, 5, 2)},
			"1 allreduce 1 5/5 {0 0 0 0} 1 {0 0 0 0} 0\n0 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := defs(3)
			d.Origin, d.Conventions = test.origin, format.Conventions(test.origin)
			p := New(d, Options{Window: test.window})
			if err := p.Batch(testtrace.Mixed(d, test.rows)); err != nil {
				t.Fatal(err)
			}
			if got := lines(p.Result()); got != test.want {
				t.Errorf("found\n%s\nexpected\n%s", got, test.want)
			}
		})
	}
}

// TestNames checks that an operation that the trace defines has the name of its definition, and
// that an MPI function's name becomes the name of its operation.
func TestNames(t *testing.T) {
	d := defs(2)
	d.Conventions.OwnOperations = true
	d.Operations.Add(trace.Named{ID: "3", Name: "MPI_Bcast"})
	p := New(d, Options{})
	if err := p.Batch(testtrace.Mixed(d,
		append(callRows(0, 1, 2, 3, 0, none, 0, 0), callRows(0, 3, 4, 99, 0, none, 0, 0)...))); err != nil {
		t.Fatal(err)
	}
	r := p.Result()
	if l := r.Operations; len(l) != 2 || l[0].Name != "broadcast" || l[1].Name != "operation 99" ||
		l[0].CommunicatorName != "world" {
		t.Errorf("found %+v", l)
	}
}

// program is a random sequence of operations with the expected sums. Some members stop early, or
// record another operation than the others.
type program struct {
	rows []testtrace.Row
	want map[string]*expected // indexed by communicator, operation number and whether it is non-blocking
}

// expected has the expected sums of an operation on a communicator: byte counts, and durations in ticks.
type expected struct {
	calls          int64
	sent, received uint64
	times          []int64
	waits          []int64
	early          int64
}

// expectedOf returns the expected sums of an operation, which it creates if needed.
func (p *program) expectedOf(comm int, operation uint64, posted bool) *expected {
	k := fmt.Sprint(comm, operation, posted)
	if p.want[k] == nil {
		p.want[k] = &expected{}
	}
	return p.want[k]
}

// randomProgram returns a random program on the communicators of defs.
func randomProgram(rng *rand.Rand, locations int) *program {
	p := &program{want: map[string]*expected{}}
	now := make([]int64, locations)
	for i := range now {
		now[i] = rng.Int64N(50) // each location's clock has its own offset
	}
	begun, dead := map[string]bool{}, map[string]bool{} // indexed by series and member: has a call, makes no further calls
	broken := map[string]bool{}
	for range 60 {
		comm, operation, posted := rng.IntN(3), []uint64{0, 1, 8, 11}[rng.IntN(4)], rng.IntN(4) == 0
		var members []int
		for i := range locations {
			if comm != 1 || i%2 == 0 {
				members = append(members, i)
			}
		}
		series := fmt.Sprint(comm, posted)
		var begins, ends []int64
		wrong := -1
		if m := members[rng.IntN(len(members))]; rng.IntN(40) == 0 && !dead[fmt.Sprint(series, m)] {
			wrong = m
			broken[series] = true
		}
		// Let a member make no further calls in this series. Choose only members that have already made a call: the
		// analysis does not miss the calls of a member that never makes one.
		if m := fmt.Sprint(series, members[rng.IntN(len(members))]); rng.IntN(40) == 0 && begun[m] {
			dead[m] = true
			broken[series] = true
		}
		for _, i := range members {
			if dead[fmt.Sprint(series, i)] {
				continue
			}
			begun[fmt.Sprint(series, i)] = true
			b := now[i] + rng.Int64N(20)
			e := b + 1 + rng.Int64N(30)
			now[i] = e
			o, sent, received := operation, rng.Uint64N(10), rng.Uint64N(10)
			if i == wrong {
				o = 12
			}
			if posted {
				p.rows = append(p.rows, row(uint32(i), b, trace.CollectiveRequest, 5),
					row(uint32(i), e, trace.CollectiveComplete, o, uint64(comm), none, sent, received, 5))
			} else {
				p.rows = append(p.rows, callRows(uint32(i), b, e, o, uint64(comm), none, sent, received)...)
			}
			f := p.expectedOf(comm, o, posted)
			f.calls, f.sent, f.received, f.times = f.calls+1, f.sent+sent, f.received+received, append(f.times, e-b)
			begins, ends = append(begins, b), append(ends, e)
		}
		if broken[series] || len(begins) == 0 {
			continue
		}
		f := p.expectedOf(comm, operation, posted)
		f.waits = append(f.waits, slices.Max(begins)-slices.Min(begins))
		if slices.Min(ends) < slices.Max(begins) && operation != 1 {
			f.early++
		}
	}
	slices.SortStableFunc(p.rows, func(a, b testtrace.Row) int { return int(a.Time - b.Time) })
	return p
}

// summarize returns the number, sum and extremes of durations.
func summarize(l []int64) Durations {
	d := Durations{Count: int64(len(l))}
	for i, x := range l {
		if i == 0 {
			d.Min, d.Max = x, x
		}
		d.Sum.Add(x)
		d.Min, d.Max = min(d.Min, x), max(d.Max, x)
	}
	return d
}

// TestPrograms compares the result of random programs with the expected sums, for one part in time
// order and for parts of some locations each, filled and merged in any order.
func TestPrograms(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 10))
		const locations = 5
		d, p := defs(locations), randomProgram(rng, locations)
		one := New(d, Options{})
		if err := one.Batch(testtrace.Mixed(d, p.rows)); err != nil {
			t.Fatal(err)
		}
		want := one.Result()
		for _, o := range want.Operations {
			k := fmt.Sprint(o.Communicator, o.Number, o.NonBlocking)
			f := p.want[k]
			if f == nil {
				t.Fatalf("seed %d: found %+v, expected none", seed, o)
			}
			delete(p.want, k)
			if o.Calls != f.calls || o.Sent != f.sent || o.Received != f.received || o.Time != summarize(f.times) ||
				o.Matched != int64(len(f.waits)) || o.Waiting != summarize(f.waits) || o.Early != f.early {
				t.Errorf("seed %d: found %+v, expected %+v", seed, o, f)
			}
		}
		if len(p.want) > 0 || want.Unclosed+want.Orphans > 0 {
			t.Errorf("seed %d: %v are missing, %d, %d", seed, slices.Collect(maps.Keys(p.want)), want.Unclosed, want.Orphans)
		}
		parts := []*Part{New(d, Options{}), New(d, Options{}), New(d, Options{})}
		batches := testtrace.PerLocation(d, p.rows)
		for _, i := range rng.Perm(locations) {
			if err := parts[rng.IntN(3)].Batch(batches[i]); err != nil {
				t.Fatal(err)
			}
		}
		rng.Shuffle(3, func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		a, b, c := parts[0], parts[1], parts[2]
		if rng.IntN(2) == 0 {
			a, b, c = b, c, a // change the order of the two merges below
		}
		for _, m := range [][2]*Part{{a, b}, {c, a}} {
			if err := m[0].Merge(m[1]); err != nil {
				t.Fatal(err)
			}
		}
		x, _ := json.Marshal(c.Result())
		y, _ := json.Marshal(want)
		if string(x) != string(y) {
			t.Fatalf("seed %d: merged: found\n%s\nexpected\n%s", seed, x, y)
		}
	}
}

// TestBounded checks that a part in time order does not keep complete operations.
func TestBounded(t *testing.T) {
	d := defs(4)
	p := New(d, Options{})
	for i := range int64(10000) {
		for loc := range uint32(4) {
			r := callRows(loc, 10*i, 10*i+5, 0, 0, none, 0, 0)
			r = append(r, row(loc, 10*i+6, trace.CollectiveRequest, uint64(i)),
				row(loc, 10*i+7, trace.CollectiveComplete, 0, 0, none, 0, 0, uint64(i)))
			if err := p.Batch(testtrace.Mixed(d, r)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, s := range p.sequences {
		if cap(s.list) > 8 || s.done != 10000 {
			t.Errorf("%d operations of %d are kept", cap(s.list), s.done)
		}
	}
	for _, q := range p.queues {
		if cap(q.calls) > 8 || len(q.open) > 0 {
			t.Errorf("%d requests are kept", cap(q.calls))
		}
	}
}

func TestMergeErrors(t *testing.T) {
	d := defs(2)
	p, o := New(d, Options{}), New(d, Options{})
	for _, x := range []*Part{p, o} {
		if err := x.Batch(testtrace.Mixed(d, callRows(1, 1, 2, 0, 0, none, 0, 0))); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Merge(o); err == nil || !strings.Contains(err.Error(), "seen by both") {
		t.Errorf("found %v", err)
	}
	if New(d, Options{}).Merge(New(d, Options{Window: &trace.Window{}})) == nil ||
		New(d, Options{}).Merge(New(defs(2), Options{})) == nil {
		t.Error("parts with other options, or of other traces, were merged")
	}
}

// TestCommunicatorsOfOneName checks that equal definitions of a communicator by several processes
// count as one, and that another communicator with the same name and other members has its id in
// its label.
func TestCommunicatorsOfOneName(t *testing.T) {
	d := defs(4)
	again := uint64(d.Communicator.Add(trace.Communicator{ID: "3", Name: "world",
		Set: d.Sets.Add(trace.Set{Kind: "processes", Members: []int64{0, 1, 2, 3}})}))
	other := uint64(d.Communicator.Add(trace.Communicator{ID: "4", Name: "world",
		Set: d.Sets.Add(trace.Set{Kind: "processes", Members: []int64{0, 1}})}))
	unknown := uint64(d.Communicator.Add(trace.Communicator{ID: "5", Name: "world", Set: trace.NoRef}))
	p := New(d, Options{})
	rows := join(callRows(0, 10, 20, 0, 0, none, 0, 0), callRows(1, 15, 20, 0, again, none, 0, 0),
		callRows(2, 12, 21, 0, 0, none, 0, 0), callRows(3, 13, 20, 0, again, none, 0, 0),
		callRows(0, 30, 31, 0, other, none, 0, 0), callRows(1, 40, 41, 0, unknown, none, 0, 0),
		callRows(0, 50, 51, 0, 1, none, 0, 0))
	if err := p.Batch(testtrace.Mixed(d, rows)); err != nil {
		t.Fatal(err)
	}
	r := p.Result()
	want := "0 barrier 4 0/0 {4 31 5 10} 1 {1 5 5 5} 0\n1 barrier 1 0/0 {1 1 1 1} 1 {1 0 0 0} 0\n" +
		"4 barrier 1 0/0 {1 1 1 1} 1 {1 0 0 0} 0\n5 barrier 1 0/0 {1 1 1 1} 1 {1 0 0 0} 0\n0 0"
	if got := lines(r); got != want {
		t.Errorf("found\n%s\nexpected\n%s", got, want)
	}
	var labels []string
	for _, o := range r.Operations {
		labels = append(labels, o.Label)
	}
	if want := []string{"world (0)", "1", "world (4)", "world (5)"}; !slices.Equal(labels, want) {
		t.Errorf("labels: found %q, expected %q", labels, want)
	}
}

// TestComplete checks that a part is complete when all three members have come to the operation that begins in the
// window, and all calls that begin in it have ended.
func TestComplete(t *testing.T) {
	d := defs(3)
	p := New(d, Options{Window: &trace.Window{From: 10, To: 20}})
	for i, x := range []struct {
		rows     []testtrace.Row
		complete bool
	}{
		{callRows(0, 1, 2, 0, 0, none, 0, 0), true}, // before the window
		{join(callRows(1, 3, 4, 0, 0, none, 0, 0), callRows(2, 3, 4, 0, 0, none, 0, 0)), true},
		{[]testtrace.Row{row(0, 10, trace.CollectiveBegin)}, false},
		{[]testtrace.Row{row(0, 12, trace.CollectiveEnd, 0, 0, none, 0, 0)}, false},
		{callRows(1, 11, 12, 0, 0, none, 0, 0), false},
		{[]testtrace.Row{row(2, 30, trace.CollectiveBegin)}, false}, // the member comes after the window
		{[]testtrace.Row{row(2, 31, trace.CollectiveEnd, 0, 0, none, 0, 0)}, true},
		{callRows(0, 40, 41, 0, 0, none, 0, 0), true}, // another operation, after the window
	} {
		if err := p.Batch(testtrace.Mixed(d, x.rows)); err != nil {
			t.Fatal(err)
		}
		if found := p.Complete(); found != x.complete {
			t.Errorf("step %d: found %v, expected %v", i, found, x.complete)
		}
	}
}
