// Package transform changes traces between a file and the consumer of their events. It cuts pieces, drops
// events, merges traces, corrects clocks, repairs defects and replaces names.
//
// Each transform wraps the [format.Events] of a trace and returns the [format.Events] of the changed trace.
// Transforms can be combined: the events pass through all transforms in one scan. Prepare collects data that a
// transform needs before a scan, such as the calls that are open at the begin of a piece. For this purpose,
// Prepare reads a part of the trace.
package transform
