// Package etf reads and writes the execution traces of Eclipse TRACE4CPS: text files with one item
// on each line (TU, O, T, R, C, E, D, S, F and the time series TS, TSS, TSP, TSR). It also reads
// the older dialect "TraceVersion V0.1".
//
// [Record], [Reader] and [Writer] handle single lines. [Format] is built on them and converts lines
// to the common model: a claim becomes a claim-begin and a claim-end event at the location of its
// resource, an event becomes a mark, fragments and samples are at the location of their signal or
// series, and dependencies are links.
package etf
