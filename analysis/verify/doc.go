// Package verify checks properties of traces that are written in ETL, the specification language of Eclipse
// TRACE4CPS: temporal logic over the events of a trace (MTL) and over its signals (STL).
//
// [Parse] reads a specification, and [Run] decides its checks for a trace; a [Monitor] decides them while the
// trace grows. A verdict comes with an explanation: the events and intervals that decide it. [Property]
// translates properties in plain words to the language.
//
// A trace is a sequence of states, one for each event and for each begin and end of a claim, in time order. A
// visit of a region counts as a claim. A formula is evaluated at the first state, or, if it consists of
// signals alone, at the begin of the trace. docs/analyses/verify.md describes the language and its semantics.
package verify
