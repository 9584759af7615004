package picl

import (
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// rules lists the defects that reading and checking report (docs/formats/picl.md, "Rules").
var rules = []format.Rule{
	{ID: "picl.malformed-record", Severity: trace.Error,
		Doc: "A line has fewer than five fields, or one of the first six fields is not a number. weft skips the " +
			"line. If the number of data fields is negative, or the descriptor is not an integer or has no " +
			"closing quote, weft keeps the record and reads its data as words.",
		Example: "-3 x 0.2 0 0 0"},
	{ID: "picl.line-too-long", Severity: trace.Error,
		Doc:     "A line is longer than the limit (option picl.max-line). weft skips the line.",
		Example: "a line of 17 MB"},
	{ID: "picl.zero-byte", Severity: trace.Warning,
		Doc:     "A line has a byte 0, which no text has. A part of the file may be lost. weft keeps the byte.",
		Example: "-5 3 0.0 0 0 3 0 a, then a byte 0", Stays: true},
	{ID: "picl.count-missing", Severity: trace.Warning,
		Doc:     "A record ends before the number of data fields. weft assumes 0.",
		Example: "-3 0 0.1 0 0"},
	{ID: "picl.data-missing", Severity: trace.Warning,
		Doc:     "A record has fewer data values than it declares.",
		Example: "-3 0 0.1 0 0 2 2 5"},
	{ID: "picl.extra-data", Severity: trace.Warning,
		Doc:     "A record has more data values than it declares. weft ignores the additional ones.",
		Example: "-3 0 0.1 0 0 1 2 5 6"},
	{ID: "picl.one-structure", Severity: trace.Warning,
		Doc: "A record declares several data structures, and has values for only one of them. weft reads the " +
			"values as one structure.",
		Example: "-3 -911 0.1 0 0 4 \"%d %s %s %s\" 15 hello big world"},
	{ID: "picl.data-type", Severity: trace.Warning,
		Doc:     "A data value does not fit its conversion in the control string. weft keeps the value as a word.",
		Example: "-3 0 0.1 0 0 1 2 five"},
	{ID: "picl.text-length", Severity: trace.Warning,
		Doc:     "A text is shorter or longer than the record declares. weft reads the complete text.",
		Example: "-7 -1 0.1 0 0 9 0 hello"},
	{ID: "picl.descriptor", Severity: trace.Warning,
		Doc: "weft cannot read a control string, or a record that defines a control string; or such a record " +
			"does not have exactly one data field.",
		Example: "-3 0 0.1 0 0 1 \"%y\" 5"},
	{ID: "picl.unknown-descriptor", Severity: trace.Warning,
		Doc:     "A data descriptor is neither predefined nor defined in the trace. weft keeps the values as words.",
		Example: "-3 0 0.1 0 0 1 9 5"},
	{ID: "picl.subset", Severity: trace.Warning,
		Doc: "A record that defines a subset has no subset id, has a value that is not an integer, or has an id " +
			"with another meaning: an event type, a predefined subset, or -1 for \"all\".",
		Example: "-201 -1 0.1 -1 -1 0", Stays: true},
	{ID: "picl.undefined", Severity: trace.Warning,
		Doc:     "A record refers to a subset of processors, processes or event types that no record defines.",
		Example: "-3 0 0.1 -77 0 0", Stays: true},
	{ID: "picl.time-rounded", Severity: trace.Warning,
		Doc: "A time has too many digits for the clock tick that all times of the trace share. weft rounds the " +
			"time.",
		Example: "-3 0 10000000000.0 0 0 0 and -4 0 10000000000.0000000000001 0 0 0"},
	{ID: "picl.long-span", Severity: trace.Error,
		Doc: "The trace is longer than 2^63 - 1 ticks. Times are right; durations, and shares of the duration of " +
			"the trace, are wrong.",
		Example: "-2 0 -9000000000000000000.0 0 0 0 and -2 0 9000000000000000000.0 0 0 0", Stays: true},
	{ID: "picl.old-record", Severity: trace.Warning,
		Doc: "weft cannot read a record of the old PICL format and skips the record. Or the record has another " +
			"number of values than it declares or than its type requires; then weft uses the values that the " +
			"record has.",
		Example: "8 0 5 1 0 7 4"},
	{ID: "picl.statistics", Severity: trace.Warning,
		Doc:     "A value of a statistics record differs from the value that the events give.",
		Example: "-101 -1 0.3 0 0 1 \"%d%lf\" 0 0.5, where event 0 took 0.2 s", Stays: true},
	{ID: "picl.outside-tracing", Severity: trace.Warning,
		Doc: "A process has an event before its first entry of event type -901 or -1 (the begin of tracing), or " +
			"after the last exit of this event type.",
		Example: "-3 0 0.1 0 0 0, then -3 -901 0.2 0 0 0", Stays: true},
	{ID: "picl.carrier", Severity: trace.Warning,
		Doc: "A record in which weft stored data of another format has been changed since. weft skips the " +
			"record.",
		Example: "-7 -1 0.0 -1 -1 21 0 weft:definitions.0 {}"},
	{ID: "picl.empty", Severity: trace.Warning,
		Doc:     "The file is empty. Either the trace has no events, or its content is lost.",
		Example: "a file of 0 bytes that a program opens with the library; the commands refuse it as no trace",
		Stays:   true},
	{ID: "picl.cut-off", Severity: trace.Note,
		Doc: "The last line has no line end. This is allowed; but the file may be cut off, and the line may lack its " +
			"last characters.",
		Example: "-3 0 0.1 0 0 0 at the end of the file"},
	{ID: "picl.statistics-unknown", Severity: trace.Note,
		Doc: "weft cannot compare a value of a statistics record with the events, such as a number of bytes of " +
			"trace data.",
		Example: "-103 -1 0.3 0 0 1 \"%d%d\" -901 428"},
	{ID: "picl.unknown-record-type", Severity: trace.Note,
		Doc:     "A record has an unknown type. weft keeps the record unchanged.",
		Example: "-99 0 0.1 0 0 0"},
	{ID: "picl.mark-message", Severity: trace.Note,
		Doc: "A mark names the event type of a send or receive. weft counts the mark as a message only with the " +
			"option picl.marks=messages.",
		Example: "-2 -21 0.1 0 0 3 2 8 1 1", Stays: true},
	{ID: "picl.unknown-event-type", Severity: trace.Note,
		Doc:     "A record has an unknown system event type. weft keeps the record unchanged.",
		Example: "-3 -777 0.1 0 0 0"},
	{ID: "picl.unsorted", Severity: trace.Note,
		Doc:     "The records are not in the order of time. weft sorts them while it reads the trace.",
		Example: "-3 0 0.2 0 0 0, then -3 0 0.1 1 0 0"},
}
