// Package trace defines the model of an execution trace: a clock, definitions, and one sequence of
// events per location, delivered as columnar batches. The package depends on no file format and
// does no input or output.
//
// A program that records a trace fills a [Recorder] and passes it to the encoder of any format; see
// the package example.
//
// The terms are those of the field. A location is one ordered source of events (thread, process,
// GPU stream, PICL processor and process, TRACE resource). A region is named code or an activity
// that is entered and left. A claim is an interval in which an activity holds an amount of a
// resource. Times are int64 ticks of the trace's [Clock], never floating point numbers.
package trace
