// Package transform changes traces between a file and the consumer of their events: it cuts pieces,
// drops events, merges several traces, corrects clocks, repairs defects and replaces names.
//
// Each transform returns [format.Events] that wrap others, so that transforms compose: the events
// pass through all of them in one scan. Information that a transform needs beforehand (what is open
// where a piece begins) is collected by Prepare, which reads the necessary part of the trace first.
package transform
