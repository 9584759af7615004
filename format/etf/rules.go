package etf

import (
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// rules are the defects that reading and checking report (docs/formats/etf.md,
// "Rules").
var rules = []format.Rule{
	{ID: "etf.number", Severity: trace.Error, Doc: "An id, time or amount is not a number; the line is skipped."},
	{ID: "etf.field-count", Severity: trace.Error, Doc: "A line has too few or too many fields; it is skipped."},
	{ID: "etf.unit", Severity: trace.Error, Doc: "TU names a unit that does not exist; SECONDS is used."},
	{ID: "etf.second-unit", Severity: trace.Error, Doc: "There is a second TU line; the first one counts."},
	{ID: "etf.second-offset", Severity: trace.Error, Doc: "There is a second O line; the first one counts."},
	{ID: "etf.offset-range", Severity: trace.Error, Doc: "The offset is no date between 1678 and 2262; it is ignored."},
	{ID: "etf.duplicate-id", Severity: trace.Error, Doc: "Two items of the same kind have the same id."},
	{ID: "etf.unknown-resource", Severity: trace.Error, Doc: "A claim names a resource that no R line defines; it is kept under a stand-in."},
	{ID: "etf.unknown-reference", Severity: trace.Error, Doc: "A dependency, fragment or sample names something that is not in the trace."},
	{ID: "etf.dependency-type", Severity: trace.Error, Doc: "A dependency's type is not 0 to 8; it is skipped."},
	{ID: "etf.claim-times", Severity: trace.Error, Doc: "A claim ends before it starts; it is skipped."},
	{ID: "etf.claim-offset", Severity: trace.Error, Doc: "A claim has an offset though its resource uses none, or lacks one."},
	{ID: "etf.fragment-times", Severity: trace.Error, Doc: "A fragment does not end after its start, or a range of samples ends before it; it is skipped."},
	{ID: "etf.fragment-gap", Severity: trace.Error, Doc: "There is a gap between two fragments of a signal."},
	{ID: "etf.fragment-overlap", Severity: trace.Error, Doc: "Two fragments of a signal overlap."},
	{ID: "etf.fragment-order", Severity: trace.Error, Doc: "The fragments of a signal are not in time order."},
	{ID: "etf.empty-signal", Severity: trace.Error, Doc: "A signal has no fragment."},
	{ID: "etf.attribute", Severity: trace.Error, Doc: "An attribute has no \"=\" or no key; without \"=\" it is a key with an empty value."},
	{ID: "etf.line-too-long", Severity: trace.Error, Doc: "A line is longer than the limit (option etf.max-line); it is skipped."},
	{ID: "etf.legacy-line", Severity: trace.Error, Doc: "A line of the dialect V0.1 cannot be read; it is skipped."},
	{ID: "etf.keyword", Severity: trace.Warning, Doc: "A line begins with an unknown keyword; it is skipped."},
	{ID: "etf.semicolon", Severity: trace.Warning, Doc: "The \";\" before the attributes is missing."},
	{ID: "etf.capacity", Severity: trace.Warning, Doc: "A resource's capacity is not above 0."},
	{ID: "etf.capacity-exceeded", Severity: trace.Warning, Doc: "A claim holds more than its resource's capacity, or lies outside it."},
	{ID: "etf.overload", Severity: trace.Warning, Doc: "Claims that overlap hold more than the capacity together."},
	{ID: "etf.offset-overlap", Severity: trace.Warning, Doc: "Two claims hold the same part of a resource at the same time."},
	{ID: "etf.duplicate-key", Severity: trace.Warning, Doc: "A key occurs twice in one list; the last one counts."},
	{ID: "etf.late-definition", Severity: trace.Warning, Doc: "A claim or fragment stands before the line that defines its resource or signal."},
	{ID: "etf.negative-time", Severity: trace.Warning, Doc: "A time stamp is negative."},
	{ID: "etf.zero-claim", Severity: trace.Warning, Doc: "A claim has no length."},
	{ID: "etf.self-dependency", Severity: trace.Warning, Doc: "A dependency ends where it begins."},
	{ID: "etf.offset-fraction", Severity: trace.Warning, Doc: "The offset is not an integer; the fraction is cut off."},
	{ID: "etf.fragment-rounding", Severity: trace.Warning, Doc: "Fragments of a signal meet only within rounding."},
	{ID: "etf.time-rounded", Severity: trace.Warning, Doc: "A time has more digits than one tick size can hold; it is rounded."},
	{ID: "etf.configuration", Severity: trace.Warning, Doc: "The configuration file of a V0.1 trace is missing; attributes are numbered."},
	{ID: "etf.carrier", Severity: trace.Warning, Doc: "A line that weft wrote for another format's trace has been changed; it is skipped."},
	{ID: "etf.tsr", Severity: trace.Note, Doc: "A TSR line is read by a rule that no document confirms."},
}
