// Package analysis contains the code that all analyses of weft share. Each analysis has a package of its own below
// this one; docs/library.md states which package has the answer of which command. Most of them have a type Part. A
// part is a [github.com/weft-trace/weft/format.Sink] that consumes batches. It can be merged with parts that
// processed other locations of the same trace (with the same definitions), and returns its result as plain structs:
//
//	p := profile.New(d.Defs(), profile.Options{})
//	err := d.Scan(ctx, trace.Everything(), format.PerLocation, p)
//	r := p.Result()
//
// The other analyses, such as those of the packages waits and verify, have functions that scan the events
// themselves.
//
// Times and durations in results are in ticks of the trace's clock. The order of lists in a result does not
// depend on how the locations were distributed over parts.
package analysis
