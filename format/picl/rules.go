package picl

import (
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// rules are the defects that reading and checking report (docs/formats/picl.md,
// "Rules").
var rules = []format.Rule{
	{ID: "picl.malformed-record", Severity: trace.Error, Doc: "A line lacks one of the six first fields or has something else there; it is skipped."},
	{ID: "picl.line-too-long", Severity: trace.Error, Doc: "A line is longer than the limit (option picl.max-line); it is skipped."},
	{ID: "picl.count-missing", Severity: trace.Warning, Doc: "A record ends before the number of data fields; 0 is assumed."},
	{ID: "picl.data-missing", Severity: trace.Warning, Doc: "A record has fewer data than it says."},
	{ID: "picl.extra-data", Severity: trace.Warning, Doc: "A record has more data than it says; the rest is ignored."},
	{ID: "picl.one-structure", Severity: trace.Warning, Doc: "A record has the data of one structure though it says several; they are taken as one."},
	{ID: "picl.data-type", Severity: trace.Warning, Doc: "A value does not fit its conversion; it is kept as a word."},
	{ID: "picl.text-length", Severity: trace.Warning, Doc: "A text is not as long as the record says; all of it is taken."},
	{ID: "picl.descriptor", Severity: trace.Warning, Doc: "A control string or a record that defines one cannot be read."},
	{ID: "picl.unknown-descriptor", Severity: trace.Warning, Doc: "A data descriptor is neither predefined nor defined; the values are kept as words."},
	{ID: "picl.subset", Severity: trace.Warning, Doc: "A record that defines a subset has no subset id, or something that is no number."},
	{ID: "picl.time-rounded", Severity: trace.Warning, Doc: "A time has more digits than one tick size can hold; it is rounded."},
	{ID: "picl.old-record", Severity: trace.Warning, Doc: "A record of the old format cannot be read; it is skipped."},
	{ID: "picl.statistics", Severity: trace.Warning, Doc: "A figure of a statistics record disagrees with the events."},
	{ID: "picl.carrier", Severity: trace.Warning, Doc: "A record that weft wrote for another format's trace has been changed; it is skipped."},
	{ID: "picl.statistics-unknown", Severity: trace.Note, Doc: "A figure of a statistics record cannot be held against the events (bytes of trace data)."},
	{ID: "picl.unknown-record-type", Severity: trace.Note, Doc: "A record type is not known; the record is kept as it is."},
	{ID: "picl.unknown-event-type", Severity: trace.Note, Doc: "A system event type is not known; the record is kept as it is."},
	{ID: "picl.unsorted", Severity: trace.Note, Doc: "The records are not in time order; they are sorted while reading."},
}
