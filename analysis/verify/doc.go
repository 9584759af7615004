// Package verify checks properties of traces that are written in ETL, the specification language of
// Eclipse TRACE4CPS: temporal logic over the events of a trace (MTL) and over its signals (STL).
//
// [Parse] reads a specification. [Spec.Part] returns a sink that records which propositions hold at
// each event, and [Part.Check] decides the checks. A verdict comes with an explanation: the events
// and intervals that decide it.
//
// A trace is a sequence of states, one for each event and for each begin and end of a claim, in time
// order. A visit of a region counts as a claim. A formula without the times of signals is evaluated
// at the first state. docs/analyses/verify.md describes the language and its semantics.
package verify
