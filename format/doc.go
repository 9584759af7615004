// Package format says what a trace format is to weft: one [Format] value with
// its name, its options as data, and functions to recognise, open and create
// traces. Packages below it implement one format each; format/all lists them.
//
// Reading is lenient: what has one plausible meaning is repaired, what has none
// is skipped, and both are reported as [trace.Defect] values. Writing accounts
// for every record, attribute and definition that the target cannot keep, in a
// [Loss], by the mapping of its [About].
package format
