package etf

import (
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// rules are the defects that reading and checking report (docs/formats/etf.md,
// "Rules").
var rules = []format.Rule{
	{ID: "etf.number", Severity: trace.Error, Doc: "An id, time or amount is not a number; the trace is read without the line.", Example: "C 0 x 1 0 1 ;"},
	{ID: "etf.field-count", Severity: trace.Error, Doc: "A line has too few or too many fields; the trace is read without it.", Example: "C 0 0 1 0 1 2 3 ;"},
	{ID: "etf.unit", Severity: trace.Error, Doc: "TU names a unit that does not exist; the line does not count.", Example: "TU DAYS"},
	{ID: "etf.second-unit", Severity: trace.Error, Doc: "There is a second TU line; the first one counts.", Example: "TU SECONDS, and further on TU HOURS"},
	{ID: "etf.second-offset", Severity: trace.Error, Doc: "There is a second O line; the first one counts.", Example: "O 5, and further on O 6"},
	{ID: "etf.offset-range", Severity: trace.Error, Doc: "The offset is no date between 1678 and 2262; it is ignored.", Example: "O 99999999999999"},
	{ID: "etf.duplicate-id", Severity: trace.Error, Doc: "Two items of the same kind have the same id.", Example: "E 5 0 ; and further on E 5 2 ;", Stays: true},
	{ID: "etf.unknown-resource", Severity: trace.Error, Doc: "A claim names a resource that no R line defines; it is kept under a stand-in.", Example: "C 0 0 1 7 1 ; without a line R 7"},
	{ID: "etf.unknown-reference", Severity: trace.Error, Doc: "A dependency, fragment or sample names something that is not in the trace.", Example: "D 0 4 0 9 ; without a line E 9", Stays: true},
	{ID: "etf.dependency-type", Severity: trace.Error, Doc: "A dependency's type is not 0 to 8; the trace is read without it.", Example: "D 0 9 0 1 ;"},
	{ID: "etf.claim-times", Severity: trace.Error, Doc: "A claim ends before it starts; the trace is read without it.", Example: "C 0 2 1 0 1 ;"},
	{ID: "etf.claim-offset", Severity: trace.Error, Doc: "A claim has an offset though its resource uses none, or lacks one.", Example: "R 0 1 false ; and C 0 0 1 0 0 1 ;", Stays: true},
	{ID: "etf.fragment-times", Severity: trace.Error, Doc: "A fragment does not end after its start, or a range of samples ends before it; the trace is read without it.", Example: "F 0 1 1 1 0 0"},
	{ID: "etf.fragment-gap", Severity: trace.Error, Doc: "There is a gap between two fragments of a signal.", Example: "F 0 0 1 1 0 0, then F 0 2 3 1 0 0", Stays: true},
	{ID: "etf.fragment-overlap", Severity: trace.Error, Doc: "Two fragments of a signal overlap.", Example: "F 0 0 2 1 0 0, then F 0 1 3 1 0 0", Stays: true},
	{ID: "etf.fragment-order", Severity: trace.Error, Doc: "The fragments of a signal are not in time order.", Example: "F 0 1 2 1 0 0, then F 0 0 1 1 0 0", Stays: true},
	{ID: "etf.empty-signal", Severity: trace.Error, Doc: "A signal has no fragment.", Example: "S 0 ; without a line F 0", Stays: true},
	{ID: "etf.attribute", Severity: trace.Error, Doc: "An attribute has no \"=\" or no key; without \"=\" it is a key with an empty value.", Example: "E 0 1 ; name"},
	{ID: "etf.escape", Severity: trace.Warning, Doc: "A key or value has a \"=\" without a \"\\\" before it, or a \"\\\" before a character that needs none; what is meant cannot be told.", Example: `E 0 1 ; path=c:\dir`},
	{ID: "etf.line-too-long", Severity: trace.Error, Doc: "A line is longer than the limit (option etf.max-line); it is skipped.", Example: "a line of 17 MB"},
	{ID: "etf.legacy-line", Severity: trace.Error, Doc: "A line of the dialect V0.1 cannot be read; it becomes a comment.", Example: "R 1 2 B 7 1 x in a trace of V0.1 that has no resource 7"},
	{ID: "etf.keyword", Severity: trace.Warning, Doc: "A line begins with an unknown keyword; the trace is read without it.", Example: "X 1 2"},
	{ID: "etf.semicolon", Severity: trace.Warning, Doc: "The \";\" before the attributes is missing.", Example: "E 0 1", Stays: true},
	{ID: "etf.capacity", Severity: trace.Warning, Doc: "A resource's capacity is not above 0.", Example: "R 0 0 false ;", Stays: true},
	{ID: "etf.capacity-exceeded", Severity: trace.Warning, Doc: "A claim holds more than its resource's capacity, or lies outside it.", Example: "R 0 1 false ; and C 0 0 1 0 2 ;", Stays: true},
	{ID: "etf.amount", Severity: trace.Warning, Doc: "A claim holds a negative amount.", Example: "C 0 0 1 0 -5 ;", Stays: true},
	{ID: "etf.overload", Severity: trace.Warning, Doc: "Claims that overlap hold more than the capacity together.", Example: "R 0 1 false ; with C 0 0 2 0 1 ; and C 1 1 2 0 1 ;", Stays: true},
	{ID: "etf.offset-overlap", Severity: trace.Warning, Doc: "Two claims hold the same part of a resource at the same time.", Example: "C 0 0 2 0 0 5 ; and C 1 1 2 0 4 5 ;", Stays: true},
	{ID: "etf.duplicate-key", Severity: trace.Warning, Doc: "A key occurs twice in one list; the last one counts.", Example: "E 0 1 ; a=1, b=2, a=3"},
	{ID: "etf.late-definition", Severity: trace.Warning, Doc: "A claim or fragment stands before the line that defines its resource or signal.", Example: "C 0 0 1 0 1 ; before R 0 1 false ;", Stays: true},
	{ID: "etf.negative-time", Severity: trace.Warning, Doc: "A time stamp is negative.", Example: "E 0 -1 ;", Stays: true},
	{ID: "etf.zero-claim", Severity: trace.Warning, Doc: "A claim has no length.", Example: "C 0 1 1 0 1 ;", Stays: true},
	{ID: "etf.self-dependency", Severity: trace.Warning, Doc: "A dependency ends where it begins.", Example: "D 0 4 0 0 ;", Stays: true},
	{ID: "etf.offset-fraction", Severity: trace.Warning, Doc: "The offset is not written as an integer; a fraction is cut off.", Example: "O 1.5"},
	{ID: "etf.fragment-rounding", Severity: trace.Warning, Doc: "Fragments of a signal meet only within rounding.", Example: "F 0 0 10.000000001 1 0 0, then F 0 10.000000002 11 1 0 0", Stays: true},
	{ID: "etf.time-rounded", Severity: trace.Warning, Doc: "A time has more digits than one tick size can hold; it is rounded.", Example: "E 0 10000000000 ; and E 1 0.0000000000001 ;"},
	{ID: "etf.configuration", Severity: trace.Warning, Doc: "The configuration file of a V0.1 trace is missing; attributes are numbered.", Example: "ConfigurationID none.txt, where there is no such file"},
	{ID: "etf.carrier", Severity: trace.Warning, Doc: "A line that weft wrote for another format's trace has been changed; it is skipped.", Example: "T weft.definitions.0 = {}"},
	{ID: "etf.tsr", Severity: trace.Note, Doc: "A TSR line is read by a rule that no document confirms.", Example: "TSR 0 0 0 1 5 6"},
}
