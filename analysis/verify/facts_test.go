package verify

import (
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestObjectsOfMessages checks that operands name the objects of signals and response times. The message with tag 1 is
// on its way from 10 to 14, and the one with tag 2 from 20 to 30.
func TestObjectsOfMessages(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	a, b := rec.Location("rank 0"), rec.Location("rank 1")
	for _, x := range [][3]uint64{{10, 14, 1}, {20, 30, 2}} {
		rec.Event(a, int64(x[0]), trace.Send, trace.NoRef, []uint64{uint64(b), trace.Undefined, x[2], 8})
		rec.Event(b, int64(x[1]), trace.Recv, trace.NoRef, []uint64{uint64(a), trace.Undefined, x[2], 8})
	}
	e := format.Recorded(rec)
	for formula, want := range map[string]Verdict{
		"globally w <= 1":                 IsTrue,
		"globally within [0, 3] w == 1":   IsTrue,
		"globally within [4, 9] w == 0":   IsTrue,
		"globally within [10, 19] w == 1": IsTrue,
		"globally within [0, 9] s == 1":   IsTrue,
		"percentile 100 from {'kind'='send'} to {'kind'='recv'} by 'tag' <= 10":    IsTrue,
		"percentile 100 from {'kind'='send'} to {'kind'='recv'} by 'tag' < 10":     IsFalse,
		"percentile 50 from {'kind'='send'} to {'kind'='recv'} by 'tag' <= 4":      IsTrue,
		"percentile 100 from {'kind'='send'} to {'kind'='recv'} by 'sender' <= 20": IsTrue,
		"percentile 100 from {'kind'='send'} to {'kind'='recv'} by 'sender' < 20":  IsFalse,
	} {
		if got := verdict(t, e, formula+"\nsignal w : wip 'tag'\nsignal s : wip 'sender'", TwoValued); got.Verdict != want {
			t.Errorf("%s: found %s, expected %s", formula, got.Verdict, want)
		}
	}
}

// TestEventID checks that the operand of a mark, which is the id of its line in TRACE, is not available to formulas as
// the attribute "id".
func TestEventID(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	rec.Event(rec.Location("main"), 0, trace.Mark, rec.Region("x"), []uint64{3})
	e := format.Recorded(rec)
	for formula, want := range map[string]Verdict{"finally {'id' = '3'}": IsFalse, "finally {'name' = 'x'}": IsTrue} {
		if got := verdict(t, e, formula, TwoValued); got.Verdict != want {
			t.Errorf("%s: found %s, expected %s", formula, got.Verdict, want)
		}
	}
}
