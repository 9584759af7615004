package messages

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/testtrace"
	"github.com/weft-trace/weft/trace"
)

func TestMessages(t *testing.T) {
	for _, test := range []struct {
		name string
		rows []testtrace.Row
		want Result // without Matrix
	}{
		{"in order", []testtrace.Row{testtrace.Send(0, 0, 1, 5, 10), testtrace.Send(0, 1, 1, 5, 20),
			testtrace.Recv(1, 2, 0, 5, 10), testtrace.Recv(1, 3, 0, 5, 21)},
			Result{Sent: 2, SentBytes: 30, Received: 2, ReceivedBytes: 31, Matched: 2, MatchedBytes: 30, SizeMismatches: 1,
				MaxPending: 2, MaxBytes: 30}},
		{"sizes missing", []testtrace.Row{testtrace.Send(0, 0, 1, 5, 10), testtrace.Send(0, 0, 1, 5, -1),
			testtrace.Recv(1, 2, 0, 5, -1), testtrace.Recv(1, 3, 0, 5, 20)},
			Result{SentUnsized: 1, ReceivedUnsized: 1, MatchedUnsized: 1,
				Sent: 2, SentBytes: 10, Received: 2, ReceivedBytes: 20, Matched: 2, MatchedBytes: 10, MaxPending: 2,
				MaxBytes: 10}},
		{"tags", []testtrace.Row{testtrace.Send(0, 0, 1, 5, 10), testtrace.Send(0, 1, 1, 6, 20),
			testtrace.Recv(1, 2, 0, 6, 20), testtrace.Recv(1, 3, 0, 7, 0)},
			Result{Sent: 2, SentBytes: 30, Received: 2, ReceivedBytes: 20, Matched: 1, MatchedBytes: 20, SendsUnmatched: 1,
				ReceivesUnmatched: 1, MaxPending: 1, MaxBytes: 20}},
		{"tags missing", []testtrace.Row{testtrace.Send(0, 0, 1, 5, 10), testtrace.Send(0, 0, 1, -1, 20),
			testtrace.Recv(1, 2, 0, -1, 10), testtrace.Recv(1, 3, 0, 7, 20)},
			Result{Sent: 2, SentBytes: 30, Received: 2, ReceivedBytes: 30, Matched: 2, MatchedBytes: 30, MaxPending: 2,
				MaxBytes: 30}},
		{"early", []testtrace.Row{testtrace.Recv(1, 2, 0, 5, 10), testtrace.Send(0, 3, 1, 5, 10)},
			Result{Sent: 1, SentBytes: 10, Received: 1, ReceivedBytes: 10, Matched: 1, MatchedBytes: 10, Early: 1}},
		{"no time", []testtrace.Row{testtrace.Send(0, 3, 1, 5, 10), testtrace.Recv(1, 3, 0, 5, 10)},
			Result{Sent: 1, SentBytes: 10, Received: 1, ReceivedBytes: 10, Matched: 1, MatchedBytes: 10}},
		{"arrival before departure", []testtrace.Row{testtrace.Send(0, 0, 1, 5, 10), testtrace.Send(1, 3, 0, 5, 1),
			testtrace.Recv(1, 3, 0, 5, 10), testtrace.Recv(0, 4, 1, 5, 1)},
			Result{Sent: 2, SentBytes: 11, Received: 2, ReceivedBytes: 11, Matched: 2, MatchedBytes: 11, MaxPending: 1,
				MaxBytes: 10}},
		// The first receive that is posted gets the first message: 10 bytes from 1 to 8, 20 from 2 to 5, 40 from 6 to 9.
		{"order of posts", []testtrace.Row{row(1, 0, trace.RecvBegin, 70), row(1, 0, trace.RecvBegin, 71),
			row(1, 0, trace.RecvBegin, 72), testtrace.Send(0, 1, 1, 5, 10), testtrace.Send(0, 2, 1, 5, 20),
			row(1, 5, trace.RecvComplete, 0, trace.Undefined, 5, 20, 71), testtrace.Send(0, 6, 1, 5, 40),
			row(1, 8, trace.RecvComplete, 0, trace.Undefined, 5, 10, 70),
			row(1, 9, trace.RecvComplete, 0, trace.Undefined, 5, 40, 72)},
			Result{Sent: 3, SentBytes: 70, Received: 3, ReceivedBytes: 70, Matched: 3, MatchedBytes: 70, MaxPending: 2,
				MaxBytes: 50}},
		// Request 70 never completes. So the receive that waits for it is paired at the end of the trace.
		{"receive without end", []testtrace.Row{row(1, 0, trace.RecvBegin, 70), testtrace.Send(0, 1, 1, 5, 10),
			testtrace.Recv(1, 2, 0, 5, 10)},
			Result{Sent: 1, SentBytes: 10, Received: 1, ReceivedBytes: 10, Matched: 1, MatchedBytes: 10, MaxPending: 1,
				MaxBytes: 10}},
		{"cancelled receive", []testtrace.Row{row(1, 0, trace.RecvBegin, 70), testtrace.Send(0, 1, 1, 5, 10),
			row(1, 2, trace.RequestCancelled, 70), testtrace.Recv(1, 3, 0, 5, 10)},
			Result{Sent: 1, SentBytes: 10, Received: 1, ReceivedBytes: 10, Matched: 1, MatchedBytes: 10, MaxPending: 1,
				MaxBytes: 10}},
		// Nothing receives the send of 10 bytes. The other one is pending from 3 to 5, although its request has the same
		// number.
		{"cancelled send", []testtrace.Row{row(0, 1, trace.SendBegin, 1, trace.Undefined, 5, 10, 7),
			row(0, 2, trace.RequestCancelled, 7), row(0, 3, trace.SendBegin, 1, trace.Undefined, 5, 20, 7),
			row(0, 4, trace.SendComplete, 7), testtrace.Recv(1, 5, 0, 5, 20)},
			Result{Sent: 2, SentBytes: 30, Received: 1, ReceivedBytes: 20, Matched: 1, MatchedBytes: 20, SendsUnmatched: 1,
				MaxPending: 1, MaxBytes: 20}},
		// When a receive gets the number of the send's request, the send has already completed. So the
		// cancellation concerns the receive.
		{"number used again", []testtrace.Row{row(0, 1, trace.SendBegin, 1, trace.Undefined, 5, 10, 7),
			row(0, 2, trace.SendComplete, 7), row(0, 3, trace.RecvBegin, 7), row(0, 4, trace.RequestCancelled, 7),
			testtrace.Recv(1, 5, 0, 5, 10)},
			Result{Sent: 1, SentBytes: 10, Received: 1, ReceivedBytes: 10, Matched: 1, MatchedBytes: 10, MaxPending: 1,
				MaxBytes: 10}},
		{"peer unknown", []testtrace.Row{testtrace.Send(0, 0, trace.Undefined, 5, 10),
			testtrace.Recv(1, 2, trace.Undefined, 5, 10)},
			Result{Sent: 1, SentBytes: 10, Received: 1, ReceivedBytes: 10, SendsUnmatched: 1, ReceivesUnmatched: 1}},
		{"self", []testtrace.Row{testtrace.Send(0, 0, 0, 5, 10), testtrace.Recv(0, 2, 0, 5, 10)},
			Result{Sent: 1, SentBytes: 10, Received: 1, ReceivedBytes: 10, Matched: 1, MatchedBytes: 10, MaxPending: 1,
				MaxBytes: 10}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, opt := range []Options{{}, {Intervals: true}} {
				d := testtrace.Defs(2, 0, 0)
				p := New(d, opt)
				if err := p.Batch(testtrace.Mixed(d, test.rows)); err != nil {
					t.Fatal(err)
				}
				r := *p.Result()
				r.Matrix, r.Sizes = nil, nil
				test.want.PendingKnown = true
				if !reflect.DeepEqual(r, test.want) {
					t.Errorf("%+v:\nfound    %+v\nexpected %+v", opt, r, test.want)
				}
			}
		})
	}
}

// TestSelectedNumbers checks that a request of a send that does not count takes the place of an earlier one with the
// same number: the send to location 1 is received, and the one to location 2 is cancelled.
func TestSelectedNumbers(t *testing.T) {
	d := testtrace.Defs(3, 0, 0)
	p := New(d, Options{Locations: func(loc uint32) bool { return loc == 1 }})
	rows := []testtrace.Row{row(0, 1, trace.SendBegin, 1, trace.Undefined, 5, 10, 7), row(0, 2, trace.SendComplete, 7),
		row(0, 3, trace.SendBegin, 2, trace.Undefined, 5, 10, 7), row(0, 4, trace.RequestCancelled, 7),
		testtrace.Recv(1, 5, 0, 5, 10)}
	if err := p.Batch(testtrace.Mixed(d, rows)); err != nil {
		t.Fatal(err)
	}
	if r := p.Result(); r.Sent != 1 || r.Matched != 1 {
		t.Errorf("found %+v, expected one message that is received", r)
	}
}

// TestLocations checks that messages of other locations do not count, and that their receives keep their places in the
// order of posts: the sends of location 0 at 1 and 2 are received at 8 and 5.
func TestLocations(t *testing.T) {
	d := testtrace.Defs(3, 0, 0)
	p := New(d, Options{Latency: true, Locations: func(loc uint32) bool { return loc == 0 }})
	rows := []testtrace.Row{row(1, 0, trace.RecvBegin, 69), row(1, 0, trace.RecvBegin, 70), row(1, 0, trace.RecvBegin, 71),
		testtrace.Send(2, 1, 1, 5, 99), testtrace.Send(0, 1, 1, 5, 10), testtrace.Send(0, 2, 1, 5, 20),
		row(1, 5, trace.RecvComplete, 0, trace.Undefined, 5, 20, 71),
		row(1, 8, trace.RecvComplete, 0, trace.Undefined, 5, 10, 70),
		row(1, 9, trace.RecvComplete, 2, trace.Undefined, 5, 99, 69)}
	if err := p.Batch(testtrace.Mixed(d, rows)); err != nil {
		t.Fatal(err)
	}
	r := p.Result()
	if r.Sent != 2 || r.Matched != 2 || r.SizeMismatches != 0 || r.Latency.Min != 3 || r.Latency.Max != 7 {
		t.Errorf("found %+v, latency %+v", r, r.Latency)
	}
}

func TestMatrix(t *testing.T) {
	d := testtrace.Defs(2, 0, 0)
	p := New(d, Options{})
	rows := []testtrace.Row{testtrace.Send(1, 0, 0, 5, 10), testtrace.Send(0, 1, trace.Undefined, 5, 1),
		testtrace.Send(0, 1, 1, 5, 2), testtrace.Send(0, 2, 1, 6, 3)}
	if err := p.Batch(testtrace.Mixed(d, rows)); err != nil {
		t.Fatal(err)
	}
	name := func(loc int) string { return d.Locations.At(uint32(loc)).Name }
	want := []Cell{{0, 1, "0", "1", name(0), name(1), 2, 5, nil}, {0, trace.NoRef, "0", "", name(0), "", 1, 1, nil},
		{1, 0, "1", "0", name(1), name(0), 1, 10, nil}}
	if m := p.Result().Matrix; !reflect.DeepEqual(m, want) {
		t.Errorf("found %+v, expected %+v", m, want)
	}
}

// TestOrders compares, for random traces, the results of four ways: in global time order, with
// Options.Intervals, one location after another, and merged from one part per location.
func TestOrders(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		const locations = 3
		d := testtrace.Defs(locations, 0, 0)
		var rows []testtrace.Row
		for range 30 {
			at, peer := uint32(rnd.IntN(locations)), uint64(rnd.IntN(locations))
			time, tag, size := rnd.Int64N(20), rnd.Int64N(4)-1, rnd.Int64N(100)
			if rnd.IntN(2) == 0 {
				rows = append(rows, testtrace.Send(at, time, peer, tag, size))
			} else {
				rows = append(rows, testtrace.Recv(at, time, peer, tag, size))
			}
		}
		slices.SortStableFunc(rows, func(a, b testtrace.Row) int { return int(a.Time - b.Time) })
		take := func(p *Part, b ...*trace.Batch) *Part {
			for _, x := range b {
				if err := p.Batch(x); err != nil {
					t.Fatal(err)
				}
			}
			return p
		}
		ordered := take(New(d, Options{}), testtrace.Mixed(d, rows)).Result()
		if !ordered.PendingKnown {
			t.Fatal("pending messages are not known after a scan in order")
		}
		kept := Options{Intervals: true}
		merged := New(d, kept)
		batches := testtrace.PerLocation(d, rows)
		for i := range batches {
			if err := merged.Merge(take(New(d, kept), batches[(i+2)%locations])); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range []*Result{take(New(d, kept), testtrace.Mixed(d, rows)).Result(),
			take(New(d, kept), batches...).Result(), merged.Result()} {
			if !reflect.DeepEqual(r, ordered) {
				t.Fatalf("found    %+v\nexpected %+v", r, ordered)
			}
		}
		if r := take(New(d, Options{}), batches...).Result(); r.PendingKnown && r.Sent+r.Received > 0 &&
			!reflect.DeepEqual(r, ordered) {
			t.Fatalf("one location after another: found %+v, expected %+v", r, ordered)
		}
	}
}

// TestBounded checks that a part does not keep messages that have arrived.
func TestBounded(t *testing.T) {
	d := testtrace.Defs(2, 0, 0)
	p := New(d, Options{})
	lost := testtrace.Send(0, 0, 1, 1<<40, 1)
	if err := p.Batch(testtrace.Mixed(d, []testtrace.Row{lost})); err != nil {
		t.Fatal(err)
	}
	for i := range int64(10000) {
		if err := p.Batch(testtrace.Mixed(d,
			[]testtrace.Row{testtrace.Send(0, 2*i+1, 1, i, 1), testtrace.Recv(1, 2*i+2, 0, i, 1)})); err != nil {
			t.Fatal(err)
		}
	}
	if m := p.pending.moments.Places(); m > 8 {
		t.Errorf("found %d moments, expected few", m)
	}
	if r := p.Result(); r.MaxPending != 1 || r.SendsUnmatched != 1 {
		t.Errorf("found %+v", r)
	}
}

// TestPairs checks the pairs that Options.Pair receives, in any order of locations and in a merge.
func TestPairs(t *testing.T) {
	d := testtrace.Defs(2, 0, 0)
	batches := testtrace.PerLocation(d, []testtrace.Row{testtrace.Send(0, 10, 1, 5, 1), testtrace.Send(0, 20, 1, 6, 1),
		testtrace.Recv(1, 3, 0, 6, 1), testtrace.Recv(1, 15, 0, 5, 1), testtrace.Send(1, 30, 0, 5, 1)})
	want := []Pair{{0, 1, 10, 15}, {0, 1, 20, 3}}
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		for _, merged := range []bool{false, true} {
			var got []Pair
			opt := Options{Pair: func(p Pair) { got = append(got, p) }}
			p := New(d, opt)
			for _, i := range order {
				q := p
				if merged {
					q = New(d, Options{})
				}
				if err := q.Batch(batches[i]); err != nil {
					t.Fatal(err)
				}
				if merged {
					if err := p.Merge(q); err != nil {
						t.Fatal(err)
					}
				}
			}
			slices.SortFunc(got, func(a, b Pair) int { return int(a.Sent - b.Sent) })
			if !slices.Equal(got, want) {
				t.Errorf("order %v, merged %v: found %v, expected %v", order, merged, got, want)
			}
		}
	}
}

// TestLengthsBeyond63Bits checks that lengths are unsigned, and that sums that exceed 64 bits are
// clamped and reported as saturated. The bytes in transit are exact in any case.
func TestLengthsBeyond63Bits(t *testing.T) {
	const long = uint64(math.MaxUint64 - 1)
	rows := []testtrace.Row{
		testtrace.Send(0, 10, 1, 1, -2), testtrace.Recv(1, 15, 0, 1, -2), // 2⁶⁴ − 2 bytes
		testtrace.Send(0, 20, 1, 1, 5), testtrace.Recv(1, 25, 0, 1, 5),
	}
	d := testtrace.Defs(2, 0, 0)
	for _, opt := range []Options{{}, {Intervals: true}} {
		p := New(d, opt)
		if err := p.Batch(testtrace.Mixed(d, rows)); err != nil {
			t.Fatal(err)
		}
		r := p.Result()
		if r.SentBytes != math.MaxUint64 || r.ReceivedBytes != math.MaxUint64 || r.MatchedBytes != math.MaxUint64 ||
			!r.Saturated || r.Matrix[0].Bytes != math.MaxUint64 {
			t.Errorf("found %+v, expected sums at the greatest number, and that they are", r)
		}
		if want := []Size{{5, 5, 1, 5}, {long, long, 1, long}}; !slices.Equal(r.Sizes, want) {
			t.Errorf("sizes: found %v, expected %v", r.Sizes, want)
		}
		if want := []Size{{4, 7, 1, 5}, {1 << 63, math.MaxUint64, 1, long}}; !slices.Equal(GroupByPowerOfTwo(r.Sizes), want) {
			t.Errorf("sizes by powers: found %v, expected %v", GroupByPowerOfTwo(r.Sizes), want)
		}
		if r.MaxPending != 1 || r.MaxBytes != long {
			t.Errorf("pending: found %d messages, %d bytes, expected 1 of %d", r.MaxPending, r.MaxBytes, long)
		}
	}
	p := New(d, Options{})
	if err := p.Batch(testtrace.Mixed(d, rows[2:])); err != nil || p.Result().Saturated {
		t.Errorf("a message of 5 bytes exceeds the counters (%v)", err)
	}
}

// TestUnknownSizes checks that messages of unknown size are counted, in one part and in merged ones.
func TestUnknownSizes(t *testing.T) {
	d := testtrace.Defs(2, 0, 0)
	sends := []testtrace.Row{testtrace.Send(0, 1, 1, 5, 10), testtrace.Send(0, 2, 1, 5, -1),
		testtrace.Send(0, 3, 1, 5, 0), testtrace.Send(0, 4, 1, 6, -1)}
	recvs := []testtrace.Row{testtrace.Recv(1, 5, 0, 5, -1), testtrace.Recv(1, 6, 0, 5, 20),
		testtrace.Recv(1, 7, 0, 5, -1)}
	whole, first, second := New(d, Options{}), New(d, Options{}), New(d, Options{})
	if err := errors.Join(whole.Batch(testtrace.Mixed(d, slices.Concat(sends, recvs))), first.Batch(testtrace.Mixed(d,
		sends)),
		second.Batch(testtrace.Mixed(d, recvs)), first.Merge(second)); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Result{whole.Result(), first.Result()} {
		got := [6]int64{r.SentUnsized, r.ReceivedUnsized, r.MatchedUnsized, int64(r.SentBytes), int64(r.ReceivedBytes),
			int64(r.MatchedBytes)}
		if want := [6]int64{2, 2, 1, 10, 20, 10}; got != want {
			t.Errorf("found %v, expected %v", got, want)
		}
	}
}

// TestThreadsOfRanks checks messages of two processes with two threads each, of which the first one has the rank: a
// second thread sends to the other rank, where a second thread receives the message.
func TestThreadsOfRanks(t *testing.T) {
	d := testtrace.Defs(4, 1, 0)
	for i := range uint32(4) {
		if i < 2 {
			d.Groups.Add(trace.LocationGroup{Kind: "process", Parent: trace.NoRef})
		}
		d.Locations.At(i).Group = i % 2
	}
	d.Sets.Add(trace.Set{Kind: "communicating locations", Members: []int64{0, 1},
		Attrs: []trace.Attr{{Key: "paradigm", Value: trace.StringValue("mpi")}}})
	p := New(d, Options{})
	rows := []testtrace.Row{testtrace.Send(2, 10, 1, 5, 8), testtrace.Recv(3, 15, 0, 5, 8)}
	if err := p.Batch(testtrace.Mixed(d, rows)); err != nil {
		t.Fatal(err)
	}
	if r := p.Result(); r.Matched != 1 || len(r.Matrix) != 1 || r.Matrix[0].Source != 0 || r.Matrix[0].Destination != 1 {
		t.Errorf("found %+v, expected a message from rank 0 to rank 1", r)
	}
}
