// Package analysis contains the analyses that weft offers, one package each. Each package has
// parts. A part is a [github.com/weft-trace/weft/format.Sink] that consumes batches, can be merged
// with parts that saw other locations of the same trace (with the same definitions), and returns
// its result as plain structs:
//
//	p := profile.New(d.Defs(), profile.Options{})
//	err := d.Scan(ctx, trace.Everything(), format.PerLocation, p)
//	r := p.Result()
//
// Times and durations in results are in ticks of the Clock in the same result. The order of lists
// does not depend on the distribution of the work.
package analysis
