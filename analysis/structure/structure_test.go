package structure

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/testtrace"
	"github.com/weft-trace/weft/trace"
)

// randomRows returns the events of a random program with calls and loops. Both of its locations
// have the same events.
func randomRows(seed uint64) []testtrace.Row {
	rng := rand.New(rand.NewPCG(seed, 1))
	var rows []testtrace.Row
	time := int64(0)
	var body func(depth int)
	body = func(depth int) {
		for range 1 + rng.IntN(3) {
			switch n := rng.IntN(5); {
			case depth > 0 && n < 2:
				r := rng.Uint32N(3)
				rows = append(rows, testtrace.Enter(0, 0, r))
				body(depth - 1)
				rows = append(rows, testtrace.Leave(0, 0, r))
			case depth > 0 && n == 2:
				from := len(rows)
				body(depth - 1)
				once := slices.Clone(rows[from:])
				for range rng.IntN(5) {
					rows = append(rows, once...)
				}
			default:
				rows = append(rows, testtrace.Row{Kind: trace.Mark, Ref: rng.Uint32N(3)})
			}
		}
	}
	body(int(seed % 6))
	if seed%4 == 0 {
		rows = append(rows, testtrace.Enter(0, 0, 1)) // never left
	}
	if seed%5 == 0 {
		rows = slices.Insert(rows, 0, testtrace.Leave(0, 0, 2)) // never entered
	}
	n := len(rows)
	for i := range 2 * n {
		if i >= n {
			rows = append(rows, rows[i-n])
			rows[i].Loc = 1
		}
		time += rng.Int64N(9)
		rows[i].Time = time
	}
	return rows
}

// TestStepJSON checks that the sequence of an event is null in JSON, and that of a call is its
// index, even 0.
func TestStepJSON(t *testing.T) {
	b, err := json.Marshal([]Step{{Kind: "mark", Name: "a", Sequence: -1}, {Sequence: 0, Iterations: 2}})
	const want = `[{"kind":"mark","name":"a","sequence":null},{"sequence":0,"iterations":2}]`
	if err != nil || string(b) != want {
		t.Errorf("found %s, %v, expected %s", b, err, want)
	}
}

// TestStructure checks that the expanded steps of a location equal its events, and that the times
// of the sequences agree with those of the events.
func TestStructure(t *testing.T) {
	for seed := range uint64(200) {
		rows := randomRows(seed)
		d := testtrace.Defs(2, 3, 0)
		p := New(d)
		for _, b := range testtrace.PerLocation(d, rows) {
			if err := p.Batch(b); err != nil {
				t.Fatal(err)
			}
		}
		r, err := p.Result()
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Shapes) != 1 || len(r.Shapes[0].Locations) != 2 || r.Shapes[0].Events != int64(len(rows)) {
			t.Fatalf("seed %d: %+v", seed, r.Shapes)
		}
		times := make([]Times, len(r.Sequences))
		for loc := range uint32(2) {
			var mine []testtrace.Row
			for _, row := range rows {
				if row.Loc == loc {
					mine = append(mine, row)
				}
			}
			next := 0
			var follow func(steps []Step) (first, last, calls int64)
			follow = func(steps []Step) (first, last, calls int64) {
				for i, s := range steps {
					for k := range max(1, s.Iterations) {
						var a, b, c int64
						if s.Sequence < 0 {
							e := mine[next]
							next++
							if name := d.Spec(e.Kind).Name; name != s.Kind || d.Regions.At(e.Ref).Name != s.Name {
								t.Fatalf("seed %d: event %d is %s %d, the steps say %s %s", seed, next, name, e.Ref, s.Kind, s.Name)
							}
							a, b = e.Time, e.Time
						} else {
							x := &r.Sequences[s.Sequence]
							a, b, c = follow(x.Steps)
							blocks := c
							if x.Call {
								blocks, c = b-a-c, b-a
							}
							times[s.Sequence].add(Times{1, trace.TicksOf(b - a), b - a, b - a, blocks})
						}
						if i == 0 && k == 0 {
							first = a
						}
						last = b
						calls += c
					}
				}
				return first, last, calls
			}
			follow(r.Shapes[0].Steps)
			if next != len(mine) {
				t.Fatalf("seed %d: the steps have %d events of %d", seed, next, len(mine))
			}
		}
		for i, x := range r.Sequences {
			if x.Times != times[i] && !(seed%4 == 0 && x.Call) { // an unclosed call ends at the location's last event
				t.Fatalf("seed %d: sequence %d: %+v, want %+v", seed, i, x.Times, times[i])
			}
			if x.Locations != 2 {
				t.Errorf("seed %d: sequence %d occurs at %d locations", seed, i, x.Locations)
			}
		}
	}
}

// TestTextOfSeveral checks that the text marks sums over several locations, and that the duration is the duration
// of one location.
func TestTextOfSeveral(t *testing.T) {
	for locations, want := range map[int]string{
		1: "a0: 2 events, 5 s\n ",
		2: "a0, a1: 4 events, 5 s each at most\nfigures over all 2 locations",
	} {
		d := testtrace.Defs(locations, 1, 0)
		var rows []testtrace.Row
		for loc := range uint32(locations) {
			d.Locations.At(loc).Name = fmt.Sprint("a", loc)
			rows = append(rows, testtrace.Enter(loc, 0, 0), testtrace.Leave(loc, 5, 0))
		}
		p := New(d)
		for _, b := range testtrace.PerLocation(d, rows) {
			if err := p.Batch(b); err != nil {
				t.Fatal(err)
			}
		}
		r, err := p.Result()
		if err != nil {
			t.Fatal(err)
		}
		if text := r.Text(trace.TicksPerSecond(1), 8); !strings.HasPrefix(text, want) {
			t.Errorf("found %q, want %q at its begin", text, want)
		}
	}
}

// TestLoops checks that loops are found as a whole, including nested ones.
func TestLoops(t *testing.T) {
	var rows []testtrace.Row
	time := int64(0)
	put := func(r testtrace.Row) {
		time++
		r.Time = time
		rows = append(rows, r)
	}
	for range 7 {
		put(testtrace.Enter(0, 0, 0))
		for range 4 {
			put(testtrace.Enter(0, 0, 1))
			put(testtrace.Leave(0, 0, 1))
			put(testtrace.Row{Kind: trace.Mark, Ref: 2})
		}
		put(testtrace.Leave(0, 0, 0))
	}
	p := New(testtrace.Defs(1, 3, 0))
	if err := p.Batch(testtrace.Mixed(p.defs, rows)); err != nil {
		t.Fatal(err)
	}
	r, err := p.Result()
	if err != nil {
		t.Fatal(err)
	}
	var text func(steps []Step) string
	text = func(steps []Step) (s string) {
		for _, x := range steps {
			if x.Sequence < 0 {
				s += " " + x.Kind + x.Name
				continue
			}
			s += fmt.Sprintf(" %d×(%s)", x.Iterations, text(r.Sequences[x.Sequence].Steps)[1:])
		}
		return s
	}
	if got := text(r.Shapes[0].Steps); got != " 7×(enterA 4×(1×(enterB leaveB) markC) leaveA)" {
		t.Error(got)
	}
	// Two merged parts have the same result as one.
	a, b := New(p.defs), New(p.defs)
	if err := b.Batch(testtrace.Mixed(p.defs, rows)); err != nil {
		t.Fatal(err)
	}
	if err := a.Merge(b); err != nil {
		t.Fatal(err)
	}
	if q, err := a.Result(); err != nil || !reflect.DeepEqual(q, r) {
		t.Errorf("merged: %+v, %v", q, err)
	}
}
