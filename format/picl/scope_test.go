package picl

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
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

// TestMemoryOfDestinations checks that records which each stand for many processes take memory in proportion to their
// number. Each record here names a processor or process that all locations have.
func TestMemoryOfDestinations(t *testing.T) {
	const n = 4000
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "-3 -21 0.0 %d -1 4 2 8 1 -1 %[1]d\n", i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	name := filepath.Join(t.TempDir(), "x.trf")
	if err := os.WriteFile(name, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	d := tracetest.Open(t, Format{}, format.FileSource(name), nil)
	if err := d.Scan(t.Context(), everything, format.PerLocation, format.SinkFuncs{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 12_000*n {
		t.Errorf("found %d bytes for %d records, expected at most 12 kB for each", allocated, n)
	}
}

// TestLocationsOf compares the processes for which the numbers of a record stand with the rule of docs/formats/picl.md:
// exact, -1 for all, or a member of a subset; a process that is not known may be any; the host only where it counts.
func TestLocationsOf(t *testing.T) {
	for seed := range uint64(effort.Rounds(300)) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		d := &decoder{defs: newDefinitions(), locations: map[procKey]uint32{}}
		d.scopes.locations = map[processes][]uint32{}
		for range rnd.IntN(6) {
			members := make([]int64, rnd.IntN(5))
			for i := range members {
				members[i] = rnd.Int64N(6) - 1
			}
			typ := [2]int64{TypeProcessorSet, TypeProcessSet}[rnd.IntN(2)]
			d.defs.define(setKey{typ, -2 - rnd.Int64N(3)}, members)
		}
		for range 1 + rnd.IntN(12) {
			processor := []int64{0, 1, 2, 3, 4, Host, -1, -2}[rnd.IntN(8)]
			d.locations[procKey{processor, rnd.Int64N(6) - 1}] = uint32(rnd.IntN(20))
		}
		is := func(typ, have, want int64) bool {
			return have == -1 || have == want || have < -1 && slices.Contains(d.defs.sets[setKey{typ, have}], want)
		}
		for processor := int64(-4); processor < 6; processor++ {
			for process := int64(-4); process < 6; process++ {
				for _, host := range []bool{false, true} {
					var want []uint32
					for to, loc := range d.locations {
						if to.processor >= 0 && (host || to.processor != Host) && is(TypeProcessorSet, processor, to.processor) &&
							(to.process == -1 || is(TypeProcessSet, process, to.process)) {
							want = append(want, loc)
						}
					}
					slices.Sort(want)
					want = slices.Compact(want)
					if got := d.locationsOf(processes{procKey{processor, process}, host}); !slices.Equal(got, want) {
						t.Fatalf("seed %d, %d/%d, host %t: found %v, expected %v", seed, processor, process, host, got, want)
					}
				}
			}
		}
	}
}
