// Package transform changes traces between a file and the consumer of their events. It cuts pieces,
// drops events, merges traces, corrects clocks, repairs defects and replaces names.
//
// Each transform returns [format.Events] that wrap other ones, so that transforms can be combined:
// the events pass through all of them in one scan. Prepare collects data that a transform needs
// beforehand, such as what is open at the begin of a piece. To do so it reads a part of the trace.
package transform
