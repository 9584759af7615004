// Package format defines what a trace format is in weft: one [Format] value with its name, its
// options as data, and functions to recognise, open and create traces. Packages below it implement
// one format each; format/all lists them.
//
// Reading is lenient: it repairs a defect that has only one plausible meaning, skips other defects,
// and reports both as [trace.Defect] values. An encoder adds each record, attribute and definition that
// its format cannot keep to a [Loss]. The function Mapping of [About] returns how a format keeps each subject.
package format
