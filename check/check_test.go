package check

import (
	"context"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Each rule once, and a sound trace without any.
func TestRules(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1000))
	loc, a, b := r.Location("x"), r.Region("a"), r.Region("b")
	for name, rows := range map[string][]struct {
		t   int64
		k   trace.Kind
		ref uint32
		id  uint64
	}{
		"":                              {{0, trace.Enter, a, 0}, {1, trace.Enter, b, 0}, {2, trace.Leave, a, 0}, {2, trace.Leave, b, 0}, {3, trace.ClaimBegin, a, 5}, {4, trace.ClaimEnd, a, 5}},
		"trace.leave-without-enter":     {{0, trace.Enter, a, 0}, {1, trace.Leave, a, 0}, {2, trace.Leave, a, 0}},
		"trace.enter-without-leave":     {{0, trace.Enter, a, 0}, {1, trace.Enter, b, 0}, {2, trace.Leave, b, 0}},
		"trace.claim-end-without-begin": {{0, trace.ClaimEnd, a, 5}},
		"trace.claim-without-end":       {{0, trace.ClaimBegin, a, 5}},
		"trace.time-order":              {{5, trace.Enter, a, 0}, {4, trace.Leave, a, 0}},
	} {
		rep := format.NewReport()
		c := New(r.Defs(), "x", &format.ReadOptions{Report: rep})
		batch := &trace.Batch{Loc: loc}
		for i, x := range rows {
			batch.Add(loc, x.t, x.k, x.ref)
			if x.id > 0 {
				batch.AddOps(x.id, 0)
			}
			batch.Pos = append(batch.Pos, int64(i+1))
		}
		if err := c.Batch(batch); err != nil {
			t.Fatal(err)
		}
		if err := c.Finish(context.Background()); err != nil {
			t.Fatal(err)
		}
		found := rep.Rules()
		if name == "" && len(found) > 0 || name != "" && (len(found) != 1 || found[0].Rule != name || found[0].Count != 1) {
			t.Errorf("%q: found %v", name, found)
		}
		if name != "" {
			strict := New(r.Defs(), "x", &format.ReadOptions{Strict: true})
			err := strict.Batch(batch)
			if err == nil {
				err = strict.Finish(context.Background())
			}
			if err == nil {
				t.Errorf("%q: strict checking found nothing", name)
			}
		}
	}
}
