// Package transform changes traces on their way from a file to whatever takes
// their events: it cuts pieces out, leaves events away, merges several traces,
// corrects clocks, mends what is broken and replaces names.
//
// Each transform makes [format.Events] of others, so that they compose: the
// events go through all of them in one scan. What a transform has to know before
// (what is open where a piece begins) it finds in Prepare, which reads what it must
// of the trace first.
package transform
