// Package trace defines the data model of traces: a clock, definitions, and a sequence of events
// for each location, delivered in batches of columns. The package depends on no file format and
// does no input or output.
//
// A program that records a trace adds its events to a [Recorder], which an encoder of any format
// can write; see the package example.
//
// A location is a source of events in time order (thread, process, GPU stream, processor and
// process in PICL, resource in TRACE). A region is named code, or an activity, that is entered and
// left. A claim is an interval in which an activity holds an amount of a resource. Times are int64
// ticks of the trace's [Clock] and never floating-point numbers. docs/glossary.md lists all terms.
package trace
