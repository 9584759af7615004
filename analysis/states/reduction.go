package states

import (
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Reduction returns the reduction of a trace to the events that a part with these options needs. If the
// reduced events come in global time order, the result equals the result for all events.
func Reduction(d *trace.Definitions, opt Options) format.Reduction {
	return format.Reduction{Ends: trace.Kind.IsActivity, New: func() format.Reducer {
		p := New(d, opt)
		gapped := map[uint32]bool{} // locations whose last event begins a gap
		return func(b *trace.Batch, rows []int32) []int32 {
			for i, k := range b.Kind {
				change := (k == trace.Enter || k == trace.Leave) && p.class(b.Ref[i]).changes()
				switch {
				case k == trace.Gap:
					gapped[b.Location(i)] = true
				case len(gapped) == 0:
					if !change {
						continue
					}
				case k.IsActivity():
					loc := b.Location(i)
					if !change && !gapped[loc] {
						continue
					}
					delete(gapped, loc)
				default:
					continue
				}
				rows = append(rows, int32(i))
			}
			return rows
		}
	}}
}
