// Package analysis contains the code that all analyses of weft share. Each analysis has a package of its own
// below this one, with a type Part. A part is a [github.com/weft-trace/weft/format.Sink] that consumes
// batches. It can be merged with parts that processed other locations of the same trace (with the same
// definitions), and returns its result as plain structs:
//
//	p := profile.New(d.Defs(), profile.Options{})
//	err := d.Scan(ctx, trace.Everything(), format.PerLocation, p)
//	r := p.Result()
//
// Times and durations in results are in ticks of the trace's clock. The order of lists in a result does not
// depend on how the locations were distributed over parts.
package analysis
