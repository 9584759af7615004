// Package etf reads and writes the execution traces of Eclipse TRACE4CPS: texts
// of one item a line (TU, O, T, R, C, E, D, S, F and the time series TS, TSS,
// TSP, TSR), and reads the older dialect "TraceVersion V0.1".
//
// The face of the format is [Record], [Reader] and [Writer]. [Format] is built
// on it: claims become claim-begin and claim-end events at the location of their
// resource, events become marks, fragments and samples live at the location of
// their signal or series, dependencies are links.
package etf
