package waits_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// unjudgedTrace is a trace of two ranks in which recorders left out data, as EZTrace does for several calls of MPI:
//
//   - rank 0 sends a message at 100 that is never received,
//   - rank 1 posts two receives at 110 and 120. The first one is complete at 210, the second one never.
//   - rank 0 posts a send at 130 that the trace never completes,
//   - both ranks are in MPI_Sendrecv, without events, from 300 to 350 and from 300 to 400,
//   - both ranks call MPI_Scan, which has events only at rank 1, and MPI_Bcast, which has events at both. So the first
//     operation of rank 0 is not that of rank 1, and three calls of 10 each do not belong together,
//   - rank 0 begins a collective operation in MPI_Ibarrier at 600 and never ends it.
func unjudgedTrace() *pairOfRanks {
	p := newPairOfRanks()
	nothing := func() {}
	event := func(loc uint32, at int64, k trace.Kind, ops ...uint64) func() {
		return func() { p.rec.Event(loc, at, k, trace.NoRef, ops) }
	}
	p.call(0, "MPI_Send", 100, 105, event(0, 101, trace.Send, 1, 0, 7, 8))
	p.call(1, "MPI_Irecv", 110, 115, event(1, 111, trace.RecvBegin, 1))
	p.call(1, "MPI_Irecv", 120, 125, event(1, 121, trace.RecvBegin, 2))
	p.call(0, "MPI_Isend", 130, 135, event(0, 131, trace.SendBegin, 1, 0, 9, 8, 1))
	p.call(1, "MPI_Wait", 200, 210, event(1, 209, trace.RecvComplete, 0, 0, 9, 8, 1))
	p.call(0, "MPI_Sendrecv", 300, 350, nothing)
	p.call(1, "MPI_Sendrecv", 300, 400, nothing)
	p.call(0, "MPI_Scan", 450, 460, nothing)
	p.collectiveCall(1, "MPI_Scan", "scan", 450, 460, trace.Undefined)
	for loc := range uint32(2) {
		p.collectiveCall(loc, "MPI_Bcast", "broadcast", 500, 510, 0)
	}
	p.call(0, "MPI_Bcast", 520, 530, nothing) // of the communicator MPI_COMM_SELF, for instance
	p.call(0, "MPI_Ibarrier", 600, 610, event(0, 601, trace.CollectiveBegin))
	p.call(1, "MPI_Finalize", 700, 710, nothing)
	p.call(0, "MPI_Finalize", 700, 710, nothing)
	return p
}

// collectiveCall adds a collective call with its events. It sends and receives 8 bytes.
func (p *pairOfRanks) collectiveCall(loc uint32, region, operation string, enter, leave int64, root uint64) {
	number, _ := trace.OperationNumber(operation)
	p.call(loc, region, enter, leave, func() {
		p.rec.Event(loc, enter+1, trace.CollectiveBegin, trace.NoRef, nil)
		p.rec.Event(loc, leave-1, trace.CollectiveEnd, trace.NoRef, []uint64{number, 0, root, 8, 8})
	})
}

// unjudgedTexts returns the counts of a result, with the times of calls without events.
func unjudgedTexts(r *waits.Result) (list []string) {
	for _, u := range r.Unjudged {
		list = append(list, fmt.Sprint(u.Count, " ", u.What, " ", u.Time))
	}
	return list
}

// TestUnknownIntercommunicators checks that there is a reason of its own if a trace records communicators that connect
// two groups like others, as EZTrace does: each side gets a communicator of its own group, and the ranks of the other
// group in the events of its messages.
func TestUnknownIntercommunicators(t *testing.T) {
	p := newPairOfRanks()
	for loc := range uint32(2) {
		p.call(loc, "MPI_Intercomm_create", 100, 110, func() {})
	}
	r := find(t, format.Recorded(p.rec), waits.Options{})
	expected := []string{"2 calls of MPI_Intercomm_create 20"}
	if found := unjudgedTexts(r); !slices.Equal(found, expected) {
		t.Fatalf("found %q, expected %q", found, expected)
	}
	if reason := r.Unjudged[0].Reason; !strings.HasPrefix(reason, "the trace does not show which communicators") {
		t.Errorf("found the reason %q", reason)
	}
}

// TestUnjudged checks that calls whose waits are unknown are counted.
func TestUnjudged(t *testing.T) {
	r := find(t, format.Recorded(unjudgedTrace().rec), waits.Options{})
	expected := []string{"1 sends 0", "2 non-blocking sends and receives 0", "3 collective calls 30",
		"1 collective calls 0", "2 calls of MPI_Sendrecv 150"}
	if found := unjudgedTexts(r); !slices.Equal(found, expected) {
		t.Errorf("found %q, expected %q", found, expected)
	}
}

// TestUnjudgedOperations checks that operations without a pattern are counted. Both ranks split a communicator, from
// 100 and from 150 to 160: 60 + 10. Then they are in a barrier.
func TestUnjudgedOperations(t *testing.T) {
	p := newPairOfRanks()
	for loc := range uint32(2) {
		p.collectiveCall(loc, "MPI_Comm_split", "create-handle", 100+50*int64(loc), 160, trace.Undefined)
		p.collectiveCall(loc, "MPI_Barrier", "barrier", 200, 210, trace.Undefined)
	}
	r := find(t, format.Recorded(p.rec), waits.Options{})
	if found, expected := unjudgedTexts(r), []string{"2 collective calls 70"}; !slices.Equal(found, expected) {
		t.Errorf("found %q, expected %q", found, expected)
	}
	if r.Judged != 2 {
		t.Errorf("found %d judged calls, expected 2", r.Judged)
	}
}

// TestUnjudgedAccesses checks that calls that access the memory of others without events are counted, as in EZTrace: an
// access may wait for the target. MPI_Win_get_name waits for nothing.
func TestUnjudgedAccesses(t *testing.T) {
	p := newPairOfRanks()
	for i, name := range []string{"MPI_Put", "MPI_Get", "MPI_Fetch_and_op", "MPI_Win_flush", "MPI_Win_get_name"} {
		at := int64(100 * (i + 1))
		p.call(0, name, at, at+10, func() {})
	}
	r := find(t, format.Recorded(p.rec), waits.Options{})
	expected := []string{"1 calls of MPI_Fetch_and_op 10", "1 calls of MPI_Get 10", "1 calls of MPI_Put 10",
		"1 calls of MPI_Win_flush 10"}
	if found := unjudgedTexts(r); !slices.Equal(found, expected) {
		t.Errorf("found %q, expected %q", found, expected)
	}
}

// TestUnknownLocks checks that calls that wait for unknown locks are counted: no event and no attribute names the
// lock. Calls that only release or create one wait for nothing.
func TestUnknownLocks(t *testing.T) {
	p := newPairOfRanks()
	calls := []string{"omp_set_lock", "omp_unset_lock", "omp_init_lock", "pthread_mutex_init", "pthread_mutex_lock",
		"pthread_mutex_trylock", "pthread_mutex_unlock", "pthread_cond_wait", "pthread_cond_signal", "sem_wait", "sem_post"}
	for i, name := range calls {
		at := int64(100 * (i + 1))
		region := p.rec.Defs().Regions.Add(trace.Region{Name: name})
		p.rec.Enter(0, at, region)
		p.rec.Leave(0, at+10, region)
	}
	r := find(t, format.Recorded(p.rec), waits.Options{})
	expected := []string{"1 calls of omp_set_lock 10", "1 calls of pthread_cond_wait 10",
		"1 calls of pthread_mutex_lock 10", "1 calls of sem_wait 10"}
	if found := unjudgedTexts(r); !slices.Equal(found, expected) {
		t.Errorf("found %q, expected %q", found, expected)
	}
}

// TestUnendedCalls checks that calls without events that go on after the end of the trace, or of a piece of it, are
// counted with their time there. Rank 1 waits in its second MPI_Recv from 300 on, and both ranks wait for locks.
func TestUnendedCalls(t *testing.T) {
	p := newPairOfRanks()
	lock := p.rec.Defs().Regions.Add(trace.Region{Name: "pthread_mutex_lock"})
	p.call(0, "MPI_Send", 200, 205, func() { p.rec.Event(0, 201, trace.Send, trace.NoRef, []uint64{1, 0, 7, 8}) })
	p.call(1, "MPI_Recv", 100, 210, func() { p.rec.Event(1, 209, trace.Recv, trace.NoRef, []uint64{0, 0, 7, 8}) })
	p.rec.Enter(0, 250, lock)
	p.rec.Enter(1, 300, p.mpi("MPI_Recv"))
	p.call(1, "omp_set_lock", 310, 390, func() {})
	p.rec.Event(1, 400, trace.NoOp, trace.NoRef, nil)
	p.rec.Event(0, 450, trace.NoOp, trace.NoRef, nil)
	events := format.Recorded(p.rec)
	for _, c := range []struct {
		to       int64
		expected []string
	}{
		{451, []string{"1 calls of MPI_Recv 100", "1 calls of omp_set_lock 80", "1 calls of pthread_mutex_lock 200"}},
		{350, []string{"1 calls of MPI_Recv 50", "1 calls of omp_set_lock 40", "1 calls of pthread_mutex_lock 100"}},
	} {
		piece := transform.Cut(events, trace.Window{From: 0, To: c.to})
		if found := unjudgedTexts(find(t, piece, waits.Options{})); !slices.Equal(found, c.expected) {
			t.Errorf("up to %d: found %q, expected %q", c.to, found, c.expected)
		}
	}
}

// TestUnendedWaitingReceive checks that a receive of PICL that has waited (-52) is counted like MPI_Recv if it goes on
// after the end of the trace. Rank 1 waits in its second receive from 300 to 400.
func TestUnendedWaitingReceive(t *testing.T) {
	p := newPairOfRanks()
	d := p.rec.Defs()
	d.Conventions.EventTypes = true
	send := d.Regions.Add(trace.Region{ID: "-21", Name: "send0"})
	receive := d.Regions.Add(trace.Region{ID: "-52", Name: "recv0 (waited)"})
	p.rec.Enter(0, 200, send)
	p.rec.Event(0, 201, trace.Send, trace.NoRef, []uint64{1, 0, 7, 8})
	p.rec.Leave(0, 205, send)
	p.rec.Enter(1, 100, receive)
	p.rec.Event(1, 209, trace.Recv, trace.NoRef, []uint64{0, 0, 7, 8})
	p.rec.Leave(1, 210, receive)
	p.rec.Enter(1, 300, receive)
	p.rec.Event(1, 400, trace.NoOp, trace.NoRef, nil)
	events := transform.Cut(format.Recorded(p.rec), trace.Window{From: 0, To: 401})
	expected := []string{"1 calls of recv0 (waited) 100"}
	if found := unjudgedTexts(find(t, events, waits.Options{})); !slices.Equal(found, expected) {
		t.Errorf("found %q, expected %q", found, expected)
	}
}

// TestUnjudgedBetweenGroups checks that operations of a communicator that connects two groups are counted with their
// time, 110 + 10: they are not judged, and do not vanish.
func TestUnjudgedBetweenGroups(t *testing.T) {
	p := newPairOfRanks()
	p.rec.Defs().Communicator.At(0).Attrs = []trace.Attr{{Key: "other", Value: trace.StringValue("1")}}
	p.collectiveCall(0, "MPI_Barrier", "barrier", 100, 210, trace.Undefined)
	p.collectiveCall(1, "MPI_Barrier", "barrier", 200, 210, trace.Undefined)
	r := find(t, format.Recorded(p.rec), waits.Options{})
	if found := unjudgedTexts(r); !slices.Equal(found, []string{"2 collective calls 120"}) || r.Waiting.Int64() != 0 {
		t.Errorf("found %q and %d ticks of waits, expected two calls that are not judged", found, r.Waiting.Int64())
	}
}

// TestSingleMember checks that operations with a single member are judged: the member waits for nobody.
func TestSingleMember(t *testing.T) {
	p := newRanks(1)
	p.collectiveCall(0, "MPI_Barrier", "barrier", 100, 210, trace.Undefined)
	p.collectiveCall(0, "MPI_Bcast", "broadcast", 300, 410, 0)
	r := find(t, format.Recorded(p.rec), waits.Options{})
	if r.Judged != 2 || len(r.Unjudged) > 0 || r.Waiting.Int64() != 0 {
		t.Errorf("found %d judged calls, %+v and %d ticks of waits, expected 2 calls without waits", r.Judged, r.Unjudged,
			r.Waiting.Int64())
	}
}

// TestUnjudgedText checks the number of the nouns in texts about calls that cannot be judged.
func TestUnjudgedText(t *testing.T) {
	r := find(t, format.Recorded(unjudgedTrace().rec), waits.Options{})
	var found []string
	for i := range r.Unjudged {
		noun, _, _ := strings.Cut(r.Unjudged[i].Text(r.Clock), ":")
		found = append(found, noun)
	}
	expected := []string{"1 send", "2 non-blocking sends and receives", "3 collective calls with a total time of 30 µs",
		"1 collective call",
		"2 calls of MPI_Sendrecv with a total time of 150 µs"}
	if !slices.Equal(found, expected) {
		t.Errorf("found %q, expected %q", found, expected)
	}
}

// TestOnlyUnjudged checks the reason for a trace, or a part of one, in which nothing can be judged. The reason does not
// say that a trace with a receive has no messages, or that the trace lacks a send that may be outside of the part.
func TestOnlyUnjudged(t *testing.T) {
	p := newPairOfRanks()
	p.call(1, "MPI_Recv", 100, 200, func() { p.rec.Event(1, 199, trace.Recv, trace.NoRef, []uint64{0, 0, 7, 8}) })
	for _, part := range []bool{false, true} {
		read := "the trace"
		if part {
			read = "the selected part of the trace"
		}
		r := find(t, format.Recorded(p.rec), waits.Options{Part: part})
		expected := "found only events whose waits cannot be judged, expected others; 1 receive: " + read +
			" has no matching send"
		if found := r.Missing(); found != expected {
			t.Errorf("found %q, expected %q", found, expected)
		}
	}
	r := find(t, format.Recorded(newPairOfRanks().rec), waits.Options{})
	if found := r.Missing(); !strings.HasPrefix(found, "found no messages, ") {
		t.Errorf("found %q for a trace without calls", found)
	}
}

// TestMissingMembers checks the operations of a communicator of two ranks if the trace has only the calls of one rank,
// as after `weft filter --location`: how long the other one lets it wait is unknown. In the operations of
// MPI_COMM_SELF, it waits for nobody.
func TestMissingMembers(t *testing.T) {
	for _, kind := range []string{"locations", "self"} {
		p := newPairOfRanks()
		d := p.rec.Defs()
		d.Sets.At(d.Communicator.At(0).Set).Kind = kind
		p.collectiveCall(1, "MPI_Allreduce", "allreduce", 100, 200, trace.Undefined)
		p.collectiveCall(1, "MPI_Bcast", "broadcast", 300, 310, 0)
		r := find(t, format.Recorded(p.rec), waits.Options{})
		expected, judged := []string{"2 collective calls 110"}, int64(0)
		if kind == "self" {
			expected, judged = nil, 2
		}
		if found := unjudgedTexts(r); !slices.Equal(found, expected) || r.Judged != judged {
			t.Errorf("%s: found %q and %d judged calls, expected %q and %d", kind, found, r.Judged, expected,
				judged)
		}
	}
}

// TestUnjudgedOfWindows checks that the counts of successive windows add up to those of the trace.
func TestUnjudgedOfWindows(t *testing.T) {
	late := newPairOfRanks() // the only message is posted at 110 and sent at 9000
	post := func() { late.rec.Event(1, 111, trace.RecvBegin, trace.NoRef, []uint64{1}) }
	late.call(1, "MPI_Irecv", 110, 115, post)
	send := func() { late.rec.Event(0, 9001, trace.Send, trace.NoRef, []uint64{1, 0, 7, 8}) }
	late.call(0, "MPI_Send", 9000, 9005, send)
	done := func() { late.rec.Event(1, 9009, trace.RecvComplete, trace.NoRef, []uint64{0, 0, 7, 8, 1}) }
	late.call(1, "MPI_Wait", 8000, 9010, done)
	for _, p := range []*pairOfRanks{unjudgedTrace(), late} {
		addUpUnjudged(t, p)
	}
}

// addUpUnjudged compares the counts of two windows with those of the trace, for several borders of the windows.
func addUpUnjudged(t *testing.T, p *pairOfRanks) {
	t.Helper()
	for _, border := range []int64{105, 118, 125, 133, 205, 310, 455, 525, 605, 705} {
		sums := map[string]int64{}
		for _, w := range []trace.Window{{From: 0, To: border}, {From: border, To: 10000}} {
			for _, u := range find(t, format.Recorded(p.rec), waits.Options{Window: &w}).Unjudged {
				sums[u.What+": "+u.Reason] += u.Count
			}
		}
		for _, u := range find(t, format.Recorded(p.rec), waits.Options{}).Unjudged {
			sums[u.What+": "+u.Reason] -= u.Count
		}
		for what, n := range sums {
			if n != 0 {
				t.Errorf("border %d: found a difference of %d %s", border, n, what)
			}
		}
	}
}

// TestUnjudgedChange checks the reason for calls that wait until another location has changed their memory. Such a call
// has an event, but the event names no location. The call at 300 returns at once, without an event.
func TestUnjudgedChange(t *testing.T) {
	for _, region := range []string{"shmem_wait_until", "MPI_Win_wait"} {
		p := newPairOfRanks()
		p.rec.Defs().Windows.Add(trace.Named{ID: "0"})
		p.call(1, region, 100, 210, func() {
			for at := range int64(2) {
				p.rec.Event(1, 150+at, trace.RMAWaitChange, 0, nil)
			}
		})
		p.collectiveCall(0, "MPI_Barrier", "barrier", 400, 420, trace.Undefined)
		p.collectiveCall(1, "MPI_Barrier", "barrier", 400, 420, trace.Undefined)
		r := find(t, format.Recorded(p.rec), waits.Options{})
		if len(r.Unjudged) != 1 || r.Unjudged[0].Count != 1 || r.Unjudged[0].Time.Int64() != 110 ||
			r.Unjudged[0].Reason != "the trace does not record which access made the change" {
			t.Errorf("%s: found %+v, expected one call of 110 whose access is unknown", region, r.Unjudged)
		}
	}
}

// TestWrongOrderAfterUnmatched checks that a receive without a send does not hide messages in the wrong order after it.
// Rank 1 waits from 200 to 900 for the message that is sent at 901, and later receives the one that was sent at 601.
func TestWrongOrderAfterUnmatched(t *testing.T) {
	for _, unmatched := range []bool{false, true} {
		p := newPairOfRanks()
		message := func(loc uint32, region string, enter, leave, at int64, k trace.Kind, tag uint64) {
			p.call(loc, region, enter, leave, func() {
				p.rec.Event(loc, at, k, trace.NoRef, []uint64{1 - uint64(loc), 0, tag, 8})
			})
		}
		message(0, "MPI_Send", 600, 605, 601, trace.Send, 8)
		message(0, "MPI_Send", 900, 905, 901, trace.Send, 7)
		if unmatched {
			message(1, "MPI_Recv", 100, 110, 109, trace.Recv, 9)
		}
		message(1, "MPI_Recv", 200, 910, 909, trace.Recv, 7)
		message(1, "MPI_Recv", 920, 930, 929, trace.Recv, 8)
		r := find(t, format.Recorded(p.rec), waits.Options{})
		found := map[string]int64{}
		for _, x := range r.Patterns {
			found[x.Pattern] = x.Time.Int64()
		}
		expected := map[string]int64{"late-sender": 700, "late-sender-wrong-order": 700,
			"late-sender-wrong-order-same-source": 700}
		if !maps.Equal(found, expected) {
			t.Errorf("unmatched receive %v: found %v, expected %v", unmatched, found, expected)
		}
	}
}

// TestBarrierOfSingleThread checks a barrier of a team that the trace does not record, with a single visit. If the
// process has another thread, this thread may be in the barrier without a record. Otherwise there is no wait.
func TestBarrierOfSingleThread(t *testing.T) {
	for threads, expected := range map[int]int64{1: 0, 2: 1} {
		x := newThreads(threads)
		x.call(0, "OpenMP implicit barrier", 20, 30, "", 0)
		found := int64(0)
		for _, u := range find(t, format.Recorded(x.Recorder), waits.Options{}).Unjudged {
			found += u.Count
		}
		if found != expected {
			t.Errorf("%d threads: found %d unjudged calls, expected %d", threads, found, expected)
		}
	}
}
