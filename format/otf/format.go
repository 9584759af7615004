package otf

import (
	"bytes"
	"path"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Format implements [format.Format] for the Open Trace Format, version 1.
type Format struct{ format.Unsupported }

// About returns the description of the format.
func (Format) About() format.About { return about }

var about = format.About{
	Mapping:    mapping,
	Name:       "otf",
	Title:      "Open Trace Format 1 (OTF)",
	Extensions: []string{".otf"},
	Place:      format.WithExtension(".otf"),
	EmptyMain:  true,
	Reads:      "all records, short and long spelling, plain and .z",
	Writes:     "all records; streams, spelling, compression",
	Seeks:      "time windows by bisection, in .z files at restart points",
	Options: []format.Option{
		{Name: "otf.max-line", Default: "16M",
			Doc: "Longest line that weft reads. weft skips longer lines and reports them."},
		{Name: FilesOption, Default: "128",
			Doc: "Greatest number of open files of a trace. By default, all traces together have at most 128 open files, " +
				"or a quarter of the open files that the system allows, if that is less."},
		{Name: "otf.unify-tokens", Default: "false", Values: []string{"true", "false"},
			Doc: "Join equal definitions of several streams; a copy then has only global definitions."},
		{Name: "otf.async-times", Default: "false", Values: []string{"true", "false"},
			Doc: "Use the time at which VampirTrace read an asynchronous counter as the time of its value, " +
				"and sort the events."},
		{Name: CarriedOption, Default: "true", Values: []string{"true", "false"},
			Doc: "Restore the ids, names and events of a trace that weft converted from another format. With false, weft " +
				"reads the records of OTF, as other tools do."},
		{Name: "otf.streams", Default: "keep", Write: true,
			Doc: "Number of streams to which the processes are distributed; 0 writes a stream for each process. Or a map " +
				"as in a master file, such as 1:1,2;2:3."},
		{Name: "otf.spelling", Default: "keep", Write: true, Values: []string{"keep", "short", "long"},
			Doc: "Spelling of the keywords; keep uses the spelling of the definitions."},
		{Name: "otf.level", Default: "keep", Write: true,
			Doc: "Level of compression, from 0 (none) to 9. keep compresses with level 4 if the events of a stream are " +
				"compressed."},
	},
	Rules: []format.Rule{
		{ID: "otf.master", Severity: trace.Warning,
			Doc: "A line of the master file does not have the form stream:process,process,…, or names a process for " +
				"a second time.",
			Example: "1:1,2 and 2:2 in the master file"},
		{ID: "otf.missing-file", Severity: trace.Error,
			Doc: "The file with the definitions, or the file with the events of a stream that the master file names, " +
				"does not exist. weft reads the other files.",
			Example: "a line 2: in the master file, and no x.2.events"},
		{ID: "otf.unlisted-process", Severity: trace.Warning,
			Doc: "A stream has records of a process that the master file does not list for this stream. weft reads " +
				"these records; libotf skips them.",
			Example: "a line *3 in x.1.events, where the master file says 1:1"},
		{ID: "otf.unsorted", Severity: trace.Warning,
			Doc:     "The records of a file are not in the order of time. weft sorts them while it reads the trace.",
			Example: "a time line 5, and further on a time line 3"},
		{ID: "otf.no-state", Severity: trace.Error,
			Doc: "A file has records before its first time line and its first process line. weft skips these " +
				"records.",
			Example: "E1 as the first line of x.1.events"},
		{ID: "otf.malformed", Severity: trace.Error,
			Doc: "A record lacks a field, or has a field that its record type does not have. weft skips the record; " +
				"libotf stops reading.",
			Example: "S2L8T5 without its communicator"},
		{ID: "otf.ignored-text", Severity: trace.Warning,
			Doc: "A line has text after its last field, often another line whose line end is damaged, or an array has a " +
				"number without a comma after it. weft ignores the text, as libotf does.",
			Example: "*2E5, a process line and an enter"},
		{ID: "otf.missing-keyword", Severity: trace.Warning,
			Doc: "A marker lacks the keyword of a field. weft reads on without it, as libotf does: without the keywords " +
				"of the time or the process, they are 0.",
			Example: "MSc8T7P1\"x\" without the keyword V"},
		{ID: "otf.unknown-record", Severity: trace.Note,
			Doc:     "A record begins with an unknown keyword. weft reads the record as a generic event.",
			Example: "QX1"},
		{ID: "otf.undefined", Severity: trace.Warning,
			Doc: "A record refers to a function, process group, counter or file that the trace does not define. weft " +
				"uses a stand-in for the definition.",
			Example: "E7 without a definition of function 7"},
		{ID: "otf.long-array", Severity: trace.Warning,
			Doc:     "A line has more than 100 bytes of a byte array. libotf cannot read the line.",
			Example: "a byte array of 120 bytes in one line"},
		{ID: "otf.repeated-key", Severity: trace.Warning,
			Doc: "A record has a second value for a key. weft keeps the first one, as libotf does, and a second array " +
				"beside it.",
			Example: "K1Y6V5 and K1Y6V6 before one record"},
		{ID: "otf.array-length", Severity: trace.Warning,
			Doc: "The length in a line of a byte array is not the number of its bytes in this line and the following " +
				"ones. weft uses the bytes that are there.",
			Example: "K2YbV0102L5, two bytes with the length 5"},
		{ID: "otf.unused-pair", Severity: trace.Warning,
			Doc:     "Key-value pairs at the end of a file belong to no record. weft and libotf leave them out.",
			Example: "K1Y6V5 in the last line of x.1.events"},
		{ID: "otf.duplicate", Severity: trace.Note,
			Doc: "A token has two different definitions in one file, a process in one or two files, or the trace has two " +
				"resolutions. The last definition counts, as for otfprofile.",
			Example: "DF1G0NM\"f\" and DF1G0NM\"g\""},
		{ID: "otf.zero-byte", Severity: trace.Warning,
			Doc: "A text of a definition, marker or comment has a byte 0. A part of the file may be lost. For libotf, the " +
				"text ends there.",
			Example: "DP1NM\"a, then a byte 0", Stays: true},
		{ID: "otf.resolution", Severity: trace.Note,
			Doc: "The trace does not define the ticks of a second (DefTimerResolution), or defines 0 ticks. weft assumes " +
				"1 000 000 ticks, as libotf does if there is no definition.",
			Example: "x.0.def without DTR", Stays: true},
		{ID: "otf.reversed-range", Severity: trace.Warning,
			Doc:     "A time range (DefTimeRange) ends before it begins.",
			Example: "DTRG64T0"},
		{ID: "otf.cut-off", Severity: trace.Error,
			Doc: "The last line of a file is incomplete. weft reads the line as a generic event, and leaves it out of " +
				"copies as OTF.",
			Example: "E1 at the end of the file without the end of the line"},
		{ID: "otf.corrupt", Severity: trace.Error,
			Doc:     "The compressed data of a file is damaged. The records after the damage are lost.",
			Example: "a flipped bit in x.1.events.z"},
		{ID: "otf.carried", Severity: trace.Error,
			Doc: "Data of another format that weft stored in the trace is damaged. weft uses the ordinary records of " +
				"OTF instead.",
			Example: "a changed byte in what weft keeps of a PICL trace"},
		{ID: "otf.time-range", Severity: trace.Error,
			Doc: "A record is 2⁶³ ticks or more after the first record. weft skips the record; the readers of " +
				"package format/otf deliver it.",
			Example: "a time line ffffffffffff0000 after one of 1"},
		{ID: "otf.line-too-long", Severity: trace.Error,
			Doc:     "A line is longer than the limit (option `otf.max-line`). weft skips the line.",
			Example: "a line of 17 MB"},
		{ID: "otf.no-trailer", Severity: trace.Note,
			Doc: "A file of events, snapshots or statistics does not end with a time line and a process line. The " +
				"program that wrote the file did not close it.",
			Example: "x.1.events that ends with E1 instead of a time line and *1"},
		{ID: "otf.refused", Severity: trace.Warning,
			Doc: "The time at the end of a file shows that libotf rejected a record that was not in the order of " +
				"time. This record and all later records are missing.",
			Example: "ffffffffffffffff and *1 at the end of x.1.events"},
		{ID: "otf.unlisted-stream", Severity: trace.Warning,
			Doc:     "A file belongs to a stream that the master file does not name. weft does not read the file.",
			Example: "x.b.events and a master file without a line b:"},
		{ID: "otf.hidden-file", Severity: trace.Note,
			Doc:     "A file exists both with and without compression. weft does not read the compressed file.",
			Example: "x.1.events and x.1.events.z"},
		{ID: "otf.thumbnail", Severity: trace.Warning,
			Doc: "The thumbnail `.thumb` is damaged, or it shows other functions than the events. weft computes " +
				"pictures from the events.",
			Example: "0:14,4 in x.thumb, and only three processes after it"},
	},
}

// Probe recognises a master file by its text. By its name, Probe recognises an unfinished file of a writer
// that was killed, and a file of a trace whose master file may be missing.
func (Format) Probe(name string, text []byte) int {
	if _, _, _, ok := parseUnfinishedName(path.Base(name)); ok {
		return 60
	}
	if _, _, ok := parsePartName(path.Base(name)); ok {
		return 15
	}
	named := strings.HasSuffix(name, ".otf")
	good, bad := 0, 0
	for rest := text; len(rest) > 0 && good+bad < 20; {
		l := rest
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			l, rest = rest[:i], rest[i+1:]
		} else if rest = nil; good+bad > 0 {
			break // the head ends inside this line
		}
		s := scanner{l: l}
		if s.end() {
			continue
		}
		start := s.i
		s.hex()
		if s.i == start || s.i == len(l) || l[s.i] != ':' {
			if isMultiplexed(l) {
				return 80
			}
			bad++
			continue
		}
		for s.i++; s.i < len(l); s.i++ {
			if c := l[s.i]; hexValue[c] > 15 && c != ',' && c != ' ' && c != '\t' && c != '\r' {
				break
			}
		}
		if s.i < len(l) {
			bad++
		} else {
			good++
		}
	}
	switch {
	case named && bad == 0:
		return 90
	case named && (good > 0 || bytes.IndexByte(text, 0) < 0):
		return 50
	case good > 0 && bad == 0:
		return 20
	}
	return 0
}
