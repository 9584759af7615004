package messages

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/testtrace"
	"github.com/weft-trace/weft/trace"
)

// message is a message of a random trace: the locations and times of its send and receive.
type message struct{ from, to, send, recv, bytes int64 }

// randomMessages returns messages between three locations, in the order of their sends. If they can overtake, their
// receives complete in any order.
func randomMessages(rng *rand.Rand, overtake bool) (all []message) {
	for i := range 200 {
		m := message{from: rng.Int64N(3), to: rng.Int64N(3), send: int64(i * 5), bytes: 1 + rng.Int64N(6)}
		m.recv = m.send + 1 + rng.Int64N(100)
		all = append(all, m)
	}
	// Messages of a pair of locations do not overtake each other.
	last := map[[2]int64]int64{}
	for i := range all {
		m := &all[i]
		if overtake {
			break
		}
		m.recv = max(m.recv, last[[2]int64{m.from, m.to}])
		last[[2]int64{m.from, m.to}] = m.recv
	}
	return all
}

// checkBins checks the counts of all bins of a window against a list of all messages. It returns
// the sum of the bins, and the end of the last one.
func checkBins(t *testing.T, seed uint64, w trace.Window, bins []Bin, all []message) (total Bin, end int64) {
	at := w.From
	for _, b := range bins {
		if b.From != at || b.To <= at {
			t.Errorf("seed %d: bin %+v at %d", seed, b, at)
		}
		at = b.To
		n := Bin{From: b.From, To: b.To}
		for _, m := range all {
			if b.From <= m.send && m.send < b.To {
				n.Sent++
				n.SentBytes += uint64(m.bytes)
			}
			if b.From <= m.recv && m.recv < b.To {
				n.Received++
				n.ReceivedBytes += uint64(m.bytes)
			}
		}
		if b != n {
			t.Errorf("seed %d: %+v, want %+v", seed, b, n)
		}
		total.merge(&b)
	}
	return total, at
}

// TestWindow compares the counts of windows with counts of a list of all messages. Messages cross
// the begin and the end of the windows in all ways. Half of the traces have non-blocking receives, which are posted in
// the order of the sends, and complete in any order.
func TestWindow(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 4))
		posted := seed%2 == 1
		all := randomMessages(rng, posted)
		var rows []testtrace.Row
		for i, m := range all {
			if posted {
				id, tag := uint64(i), uint64(1)
				rows = append(rows, testtrace.Send(uint32(m.from), m.send, uint64(m.to), 1, m.bytes),
					row(uint32(m.to), m.send, trace.RecvBegin, id),
					row(uint32(m.to), m.recv, trace.RecvComplete, uint64(m.from), trace.Undefined, tag, uint64(m.bytes), id))
				continue
			}
			rows = append(rows, testtrace.Send(uint32(m.from), m.send, uint64(m.to), 1, m.bytes),
				testtrace.Recv(uint32(m.to), m.recv, uint64(m.from), 1, m.bytes))
		}
		slices.SortStableFunc(rows, func(a, b testtrace.Row) int { return int(a.Time - b.Time) })
		w := trace.Window{From: rng.Int64N(800), To: 300 + rng.Int64N(800)}
		bins := 1 + rng.IntN(9)
		d := testtrace.Defs(3, 0, 0)
		var listed []message
		p := New(d, Options{Window: &w, Bins: bins})
		q := New(d, Options{Window: &w, List: func(m *Message) error {
			listed = append(listed, message{int64(m.Source), int64(m.Destination), m.Send, m.Recv, int64(m.Bytes)})
			return nil
		}})
		for _, x := range []*Part{p, q} {
			if err := x.Batch(testtrace.Mixed(d, rows)); err != nil {
				t.Fatal(err)
			}
		}
		if err := q.Finish(); err != nil {
			t.Fatal(err)
		}
		want := Result{Sizes: []Size{}}
		in := func(at int64) bool { return w.From <= at && at < w.To }
		matrix := map[[2]int64]cell{}
		for size := int64(1); size <= 6; size++ {
			s := Size{uint64(size), uint64(size), 0, 0}
			for _, m := range all {
				if m.bytes == size && in(m.send) {
					s.Count++
					s.Bytes += uint64(m.bytes)
				}
			}
			if s.Count > 0 {
				want.Sizes = append(want.Sizes, s)
			}
		}
		var list []message
		for _, m := range all {
			if in(m.send) {
				want.Sent++
				want.SentBytes += uint64(m.bytes)
				want.Matched++
				want.MatchedBytes += uint64(m.bytes)
				x := matrix[[2]int64{m.from, m.to}]
				matrix[[2]int64{m.from, m.to}] = cell{x.count + 1, x.bytes + uint64(m.bytes)}
			}
			if in(m.recv) {
				want.Received++
				want.ReceivedBytes += uint64(m.bytes)
			}
			if in(m.send) {
				list = append(list, m)
			}
		}
		got := *p.Result()
		for _, c := range got.Matrix {
			k := [2]int64{int64(c.Source), int64(c.Destination)}
			if matrix[k] != (cell{c.Count, c.Bytes}) {
				t.Errorf("seed %d: %+v, want %v", seed, c, matrix[k])
			}
			delete(matrix, k)
		}
		if len(matrix) > 0 {
			t.Errorf("seed %d: %v are missing", seed, matrix)
		}
		total, at := checkBins(t, seed, w, got.Bins, all)
		if w.To > w.From && (at != w.To || total.Sent != want.Sent || total.Received != want.Received) {
			t.Errorf("seed %d: bins have %+v", seed, total)
		}
		got.Matrix, got.Bins = nil, nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("seed %d: %+v, want %+v", seed, got, want)
		}
		for _, l := range [][]message{list, listed} {
			slices.SortFunc(l, func(a, b message) int { return int(a.send - b.send) })
		}
		if !slices.Equal(list, listed) {
			t.Errorf("seed %d: listed %v, want %v", seed, listed, list)
		}
	}
}

// row returns an event without a reference.
func row(loc uint32, time int64, kind trace.Kind, ops ...uint64) testtrace.Row {
	return testtrace.Row{Loc: loc, Time: time, Kind: kind, Ref: trace.NoRef, Ops: ops}
}

// TestList checks that requests join the phases of non-blocking messages. The message of tag 6 is known only when the
// receive that was posted before its own has completed.
func TestList(t *testing.T) {
	d := testtrace.Defs(2, 0, 0)
	rows := []testtrace.Row{
		row(1, 1, trace.RecvBegin, 70),
		row(1, 2, trace.RecvBegin, 71),
		row(0, 3, trace.SendBegin, 1, 0, 5, 8, 50),
		row(0, 4, trace.SendBegin, 1, 0, 6, 9, 51),
		row(1, 5, trace.RecvComplete, 0, 0, 6, 9, 71),
		row(0, 6, trace.SendComplete, 51),
		row(0, 7, trace.SendComplete, 50),
		row(0, 8, trace.Send, 1, 0, 5, 1), // never received
		row(1, 9, trace.RecvComplete, 0, 0, 5, 8, 70),
		row(0, 10, trace.SendBegin, trace.Undefined, 0, 5, 2, 50), // to an unknown receiver
		row(1, 11, trace.Recv, 0, 0, 9, 3),                        // never sent
	}
	var got []string
	p := New(d, Options{List: func(m *Message) error {
		got = append(got, fmt.Sprint(m.Source, m.Destination, m.Tag, m.Bytes, m.Send, m.SendComplete, m.RecvBegin, m.Recv))
		return nil
	}})
	if err := p.Batch(testtrace.Mixed(d, rows)); err != nil {
		t.Fatal(err)
	}
	if err := p.Finish(); err != nil {
		t.Fatal(err)
	}
	n := NoTime
	want := []string{
		fmt.Sprint(0, 1, 5, 8, 3, 7, 1, 9),
		fmt.Sprint(0, 1, 6, 9, 4, 6, 2, 5),
		fmt.Sprint(0, 1, 5, 1, 8, n, n, n),
		fmt.Sprint(0, trace.NoRef, 5, 2, 10, n, n, n),
		fmt.Sprint(0, 1, 9, 3, n, n, n, 11),
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSizes checks that more than maxSizes sizes are counted by powers of two, in one part and in
// merged parts.
func TestSizes(t *testing.T) {
	d := testtrace.Defs(2, 0, 0)
	part := func(loc uint32, from, to uint64) *Part {
		p := New(d, Options{})
		var rows []testtrace.Row
		for i := from; i < to; i++ {
			rows = append(rows, testtrace.Send(loc, int64(i), uint64(1-loc), 1, int64(i)))
		}
		if err := p.Batch(testtrace.Mixed(d, rows)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	few, many := part(0, 0, 1000), part(1, 500, 1600)
	if l := few.Result().Sizes; len(l) != 1000 || l[7] != (Size{7, 7, 1, 7}) {
		t.Errorf("%d sizes", len(l))
	}
	if l := GroupByPowerOfTwo(few.Result().Sizes); len(l) != 11 ||
		l[0] != (Size{0, 0, 1, 0}) || l[3] != (Size{4, 7, 4, 22}) ||
		l[10] != (Size{512, 1023, 488, 488 * (512 + 999) / 2}) {
		t.Errorf("by powers of 2: %v", l)
	}
	if err := few.Merge(many); err != nil {
		t.Fatal(err)
	}
	want := []Size{{0, 0, 1, 0}, {1, 1, 1, 1}, {2, 3, 2, 5}, {4, 7, 4, 22}, {8, 15, 8, 92}, {16, 31, 16, 376},
		{32, 63, 32, 1520}, {64, 127, 64, 6112}, {128, 255, 128, 24512}}
	l := few.Result().Sizes
	if !slices.Equal(GroupByPowerOfTwo(l), l) {
		t.Errorf("by powers of 2: %v", GroupByPowerOfTwo(l))
	}
	if len(l) != 12 || !slices.Equal(l[:9], want) || l[11] != (Size{1024, 2047, 576, 576 * (1024 + 1599) / 2}) {
		t.Errorf("%v", l)
	}
}
