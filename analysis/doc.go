// Package analysis holds the questions that weft answers about a trace, one
// package a question. Each package has parts: a part is a
// [github.com/weft-trace/weft/format.Sink] that consumes batches, can be merged
// with parts that saw other locations of the same trace (the same definitions),
// and gives its result as plain structs:
//
//	p := profile.New(d.Defs(), profile.Options{})
//	err := d.Scan(ctx, trace.Everything(), format.PerLocation, p)
//	r := p.Result()
//
// Times and durations in results are ticks of the clock that stands beside
// them. Lists have an order that does not depend on how the work was divided.
package analysis
