package states

import (
	"math"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/testtrace"
	"github.com/weft-trace/weft/trace"
)

// TestSeries checks shares that were computed by hand. Processor 0 is busy from 0 to 5 and in
// overhead from 5 to 7, its last event. Processor 1 is busy from 2 on and waits from 6 to 8.
func TestSeries(t *testing.T) {
	rows := []testtrace.Row{testtrace.Enter(0, 0, user), testtrace.Enter(2, 2, user), testtrace.Leave(0, 3, user),
		testtrace.Enter(0, 5, send), testtrace.Enter(2, 6, wait), testtrace.Leave(0, 7, send), testtrace.Leave(2, 8, wait),
		testtrace.Leave(2, 10, user)}
	for _, test := range []struct {
		w                    Columns
		busy, overhead, idle []float64
	}{
		{Columns{trace.Window{From: 0, To: 10}, 5}, []float64{.5, 1, .75, 0, .5}, []float64{0, 0, .25, .25, 0},
			[]float64{.5, 0, 0, .75, .5}},
		{Columns{trace.Window{From: 0, To: 10}, 1}, []float64{.55}, []float64{.1}, []float64{.35}},
		{Columns{trace.Window{From: 1, To: 4}, 2}, []float64{2. / 3, 1}, []float64{0, 0}, []float64{1. / 3, 0}},
		{Columns{trace.Window{From: 9, To: 13}, 2}, []float64{.25, 0}, []float64{0, 0}, []float64{.25, 0}},
		{Columns{trace.Window{From: -4, To: 4}, 2}, []float64{0, .75}, []float64{0, 0}, []float64{0, .25}},
		{Columns{trace.Window{From: 20, To: 30}, 1}, []float64{0}, []float64{0}, []float64{0}},
	} {
		for i := range 6 {
			// All bases except 0 are times at which neighbouring floats are more than 500 ticks apart.
			changes, base := i%2 == 1, []int64{0, 1 << 62, math.MinInt64 + 4}[i/2]
			test.w.From, test.w.To = test.w.From+base, test.w.To+base
			p := New(picl(), Options{Changes: changes, Series: &test.w})
			if err := p.Batch(testtrace.Mixed(p.defs, shifted(rows, base))); err != nil {
				t.Fatal(err)
			}
			p.Result() // must not change later results
			s := p.Result().Series
			for _, x := range []struct {
				name      string
				got, want []float64
			}{{"busy", s.Busy, test.busy}, {"overhead", s.Overhead, test.overhead}, {"idle", s.Idle, test.idle}} {
				if len(x.got) != len(x.want) {
					t.Fatalf("%+v %s: found %d columns", test.w, x.name, len(x.got))
				}
				for i := range x.got {
					if math.Abs(x.got[i]-x.want[i]) > 1e-9 {
						t.Errorf("%+v %s: found %v, want %v (changes kept: %t)", test.w, x.name, x.got, x.want, changes)
						break
					}
				}
			}
			test.w.From, test.w.To = test.w.From-base, test.w.To-base
		}
	}
}

// shifted returns the rows with all times increased by by.
func shifted(rows []testtrace.Row, by int64) []testtrace.Row {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Time += by
	}
	return rows
}

// TestSeriesOfNothing checks that without events no processor is busy or idle.
func TestSeriesOfNothing(t *testing.T) {
	s := New(picl(), Options{Series: &Columns{trace.Window{From: 0, To: 1}, 2}}).Result().Series
	if len(s.Busy) != 2 || s.Busy[0] != 0 || s.Idle[1] != 0 {
		t.Errorf("found %+v, want two columns of 0", s)
	}
}

// TestTimes checks shares that were computed by hand, for two processors over ten ticks in two
// columns. One is busy except from 4 to 6, when it is in overhead. The other one is idle.
func TestTimes(t *testing.T) {
	w := Columns{trace.Window{From: 0, To: 10}, 2}
	a, b := NewTimes(w), NewTimes(w)
	a.Add(Busy, -5, 10)
	a.Remove(Busy, 4, 6)
	a.Add(Overhead, 4, 6)
	b.Add(Idle, 0, 20)
	a.Merge(b)
	s := a.Series(2)
	for i := range 2 {
		if math.Abs(s.Busy[i]-.4) > 1e-9 || math.Abs(s.Overhead[i]-.1) > 1e-9 || math.Abs(s.Idle[i]-.5) > 1e-9 {
			t.Errorf("column %d: found %v, %v, %v, want 0.4, 0.1 and 0.5", i, s.Busy[i], s.Overhead[i], s.Idle[i])
		}
	}
}
