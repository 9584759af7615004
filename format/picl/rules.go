package picl

import (
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// rules lists the defects that reading and checking report (docs/formats/picl.md, "Rules").
var rules = []format.Rule{
	{ID: "picl.malformed-record", Severity: trace.Error, Doc: "A line lacks one of the first five fields, or one of " +
		"the first six is no number; it is skipped. A record with a negative number of data fields, or with a descriptor " +
		"that is no integer or has no closing quote, is kept, and its data are words.", Example: "-3 x 0.2 0 0 0"},
	{ID: "picl.line-too-long", Severity: trace.Error, Doc: "A line is longer than the limit (option picl.max-line); it " +
		"is skipped.", Example: "a line of 17 MB"},
	{ID: "picl.count-missing", Severity: trace.Warning, Doc: "A record ends before the number of data fields; 0 is " +
		"assumed.", Example: "-3 0 0.1 0 0"},
	{ID: "picl.data-missing", Severity: trace.Warning, Doc: "A record has fewer data than it says.",
		Example: "-3 0 0.1 0 0 2 2 5"},
	{ID: "picl.extra-data", Severity: trace.Warning, Doc: "A record has more data than it says; the rest is ignored.",
		Example: "-3 0 0.1 0 0 1 2 5 6"},
	{ID: "picl.one-structure", Severity: trace.Warning, Doc: "A record has the data of one structure though it says " +
		"several; they are taken as one.", Example: "-3 -911 0.1 0 0 4 \"%d %s %s %s\" 15 hello big world"},
	{ID: "picl.data-type", Severity: trace.Warning, Doc: "A value does not fit its conversion; it is kept as a word.",
		Example: "-3 0 0.1 0 0 1 2 five"},
	{ID: "picl.text-length", Severity: trace.Warning, Doc: "A text is not as long as the record says; all of it is " +
		"taken.", Example: "-7 -1 0.1 0 0 9 0 hello"},
	{ID: "picl.descriptor", Severity: trace.Warning, Doc: "A control string or a record that defines one cannot be " +
		"read, or such a record has another number of data fields than one.", Example: "-3 0 0.1 0 0 1 \"%y\" 5"},
	{ID: "picl.unknown-descriptor", Severity: trace.Warning, Doc: "A data descriptor is neither predefined nor " +
		"defined; the values are kept as words.", Example: "-3 0 0.1 0 0 1 9 5"},
	{ID: "picl.subset", Severity: trace.Warning, Doc: "A record that defines a subset has no subset id, something that " +
		"is no integer, the id of an event type, or -1, which is all.", Example: "-201 -1 0.1 -1 -1 0"},
	{ID: "picl.undefined", Severity: trace.Warning, Doc: "A record names, in its head or its data, a subset of " +
		"processors, processes or event types that no record defines.", Example: "-3 0 0.1 -77 0 0", Stays: true},
	{ID: "picl.time-rounded", Severity: trace.Warning, Doc: "A time has more digits than one tick size can hold; it is " +
		"rounded.", Example: "-3 0 10000000000.0 0 0 0 and -4 0 10000000000.0000000000001 0 0 0"},
	{ID: "picl.long-span", Severity: trace.Error, Doc: "The trace is longer than 2^63 - 1 ticks; times are right, " +
		"durations and shares of the trace are not.",
		Example: "-2 0 -9000000000000000000.0 0 0 0 and -2 0 9000000000000000000.0 0 0 0", Stays: true},
	{ID: "picl.old-record", Severity: trace.Warning, Doc: "A record of the old format cannot be read; it is " +
		"skipped. Or it has another number of values than it says, or than its kind has; those that are there count.",
		Example: "8 0 5 1 0 7 4"},
	{ID: "picl.statistics", Severity: trace.Warning, Doc: "A figure of a statistics record disagrees with the events.",
		Example: "-101 -1 0.3 0 0 1 \"%d%lf\" 0 0.5, where event 0 took 0.2 s", Stays: true},
	{ID: "picl.outside-tracing", Severity: trace.Warning, Doc: "An event of a process stands before its first entry of " +
		"-901 or -1, or after its last exit.", Example: "-3 0 0.1 0 0 0, then -3 -901 0.2 0 0 0", Stays: true},
	{ID: "picl.carrier", Severity: trace.Warning, Doc: "A record that weft wrote for another format's trace has been " +
		"changed; it is skipped.", Example: "-7 -1 0.0 -1 -1 21 0 weft:definitions.0 {}"},
	{ID: "picl.empty", Severity: trace.Warning, Doc: "The file is empty: a trace without events, or one that was " +
		"lost.", Example: "a file of 0 bytes that a program opens with the library; the commands refuse it as no trace",
		Stays: true},
	{ID: "picl.statistics-unknown", Severity: trace.Note, Doc: "A figure of a statistics record cannot be held against " +
		"the events (bytes of trace data).", Example: "-103 -1 0.3 0 0 1 \"%d%d\" -901 428"},
	{ID: "picl.unknown-record-type", Severity: trace.Note, Doc: "A record type is not known; the record is kept as it " +
		"is.", Example: "-99 0 0.1 0 0 0"},
	{ID: "picl.mark-message", Severity: trace.Note, Doc: "A mark of a send or receive is no message unless option " +
		"picl.marks says so.", Example: "-2 -21 0.1 0 0 3 2 8 1 1", Stays: true},
	{ID: "picl.unknown-event-type", Severity: trace.Note, Doc: "A system event type is not known; the record is kept " +
		"as it is.", Example: "-3 -777 0.1 0 0 0"},
	{ID: "picl.unsorted", Severity: trace.Note, Doc: "The records are not in time order; they are sorted while " +
		"reading.", Example: "-3 0 0.2 0 0 0, then -3 0 0.1 1 0 0"},
}
