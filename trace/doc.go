// Package trace says what an execution trace is: a clock, definitions, and one
// sequence of events per location, delivered as columnar batches. It knows no
// file format and does no input or output.
//
// A program that records a trace of its own fills a [Recorder] and hands it to
// any format's encoder; see the package example.
//
// The vocabulary is the field's own. A location is one ordered source of events
// (thread, process, GPU stream, PICL processor and process, TRACE resource); a
// region is named code or an activity that is entered and left; a claim is an
// interval in which an activity holds an amount of a resource. Times are int64
// ticks of the trace's [Clock], never floating point numbers.
package trace
