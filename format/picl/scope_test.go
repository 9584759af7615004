package picl

import (
	"math/rand/v2"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// TestScope_2_2 compares the definitions that apply to records with the rule of specification section 4: exact before
// subset before all, compared first by event type, then by processor, then by process; of equal ones the last.
func TestScope_2_2(t *testing.T) {
	for seed := range uint64(effort.Rounds(100)) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		d := newDefinitions()
		sets := map[setKey][]int64{}
		number := func() int64 { return []int64{-1, 0, 1, 2, 3, -2000, -2001, -1001}[rnd.IntN(8)] }
		in := func(typ, have, want int64) int64 {
			switch {
			case have == want:
				return 3
			case have == -1:
				return 1
			case typ == TypeEventSet && have == -1001 && want >= 0: // all user events
				return 2
			}
			for _, m := range sets[setKey{typ, have}] {
				if m == want {
					return 2
				}
			}
			return 0
		}
		type definition struct {
			at   scope
			text string
		}
		var all []definition
		line := int64(0)
		compare := func() {
			r := scope{rnd.Int64N(2), rnd.Int64N(2), rnd.Int64N(4), line - rnd.Int64N(2)*rnd.Int64N(line+1)}
			best, want := int64(0), ""
			for _, x := range all {
				e, p, q := in(TypeEventSet, x.at.event, r.event), in(TypeProcessorSet, x.at.processor, r.processor),
					in(TypeProcessSet, x.at.process, r.process)
				if rank := e*16 + p*4 + q; x.at.line <= r.line && e*p*q > 0 && rank >= best {
					best, want = rank, x.text
				}
			}
			if got, _ := d.labelOf(r.event, r.processor, r.process, r.line); got != want {
				t.Fatalf("seed %d: %+v: found label %q, expected %q", seed, r, got, want)
			}
		}
		for range 1 + rnd.IntN(600) {
			line++
			compare()
			if rnd.IntN(20) == 0 {
				k := setKey{TypeProcessorSet - rnd.Int64N(3), -2000 - rnd.Int64N(2)}
				members := []int64{rnd.Int64N(4), rnd.Int64N(4)}
				sets[k] = members
				d.add(&Record{Type: k.typ, Event: -1, Processor: -1, Process: -1, Line: line, Values: []trace.Value{
					trace.IntValue(k.id), trace.IntValue(members[0]), trace.IntValue(members[1])}})
				continue
			}
			x := definition{scope{number(), number(), number(), line}, string(rune('a' + len(all)))}
			if x.at.event == -1 {
				continue // the name of a process
			}
			all = append(all, x)
			d.add(&Record{Type: TypeLabel, Event: x.at.event, Processor: x.at.processor, Process: x.at.process, Line: line,
				Values: []trace.Value{trace.StringValue(x.text)}})
		}
	}
}
