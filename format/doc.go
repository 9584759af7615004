// Package format defines what a trace format is in weft: one [Format] value with its name, its
// options as data, and functions to recognise, open and create traces. Packages below it implement
// one format each; format/all lists them.
//
// Reading is lenient: a defect that has one plausible meaning is repaired, other defects are
// skipped, and both are reported as [trace.Defect] values. Writing counts every record, attribute
// and definition that the target cannot keep in a [Loss], by the mapping of its [About].
package format
