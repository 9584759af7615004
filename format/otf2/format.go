package otf2

import (
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// orderOption is the name of the option that selects how the reader handles decreasing times.
const orderOption = "otf2.order"

// Format implements [format.Format] for OTF2.
type Format struct{ format.Unsupported }

// About returns the description of the format.
func (Format) About() format.About { return about }

var about = format.About{
	Mapping:    mapping,
	Name:       "otf2",
	Title:      "Open Trace Format 2 (OTF2)",
	Extensions: []string{".otf2"},
	Place:      format.WithExtension(".otf2"),
	FilesEach:  2,
	Reads:      "archives of OTF2 1.0 to 3.1 without compression, in plain files",
	Writes:     "OTF2 3.0, exactly",
	Seeks:      "by the first times of chunks",
	Options: []format.Option{
		{Name: orderOption, Default: "raise", Values: []string{"raise", "sort"},
			Doc: "How weft treats decreasing times of a location: raise uses the latest time so far, and sort sorts " +
				"the events of the location, for which weft reads the archive twice."},
		{Name: "otf2.raw-clocks", Default: "false", Values: []string{"true", "false"},
			Doc: "Do not correct the times of locations by their clock offsets."},
		{Name: CarriedOption, Default: "true", Values: []string{"true", "false"},
			Doc: "Restore the ids, names and events of a trace that weft converted from another format. With false, weft " +
				"reads the records of OTF2, as other tools do."},
		{Name: likeOption, Default: likeWeft, Generated: likeScoreP, Values: []string{likeWeft, likeScoreP},
			Write: true,
			Doc: "scorep writes an archive with the layout of Score-P, for the analyser of Scalasca: a location group " +
				"for each process, with its master thread first, and regions with the paradigms and roles that follow from their " +
				"names. weft then also encodes an archive of OTF2 again."},
	},

	Rules: []format.Rule{
		{ID: "otf2.damaged", Severity: trace.Error,
			Doc: "A file ends too early, or contains bytes that the format does not allow. weft reads the records " +
				"before the damage and in later chunks.",
			Example: "an event file that ends in the middle of a record, or has no end-of-file mark"},
		{ID: "otf2.missing-file", Severity: trace.Error,
			Doc: "A file that the definitions or the anchor file require does not exist. The location has no events, " +
				"or no snapshots.",
			Example: "location 1 is defined, and there is no traces/1.evt"},
		{ID: "otf2.missing-definitions", Severity: trace.Error,
			Doc: "A location has no file of local definitions, though other locations have one. References and times " +
				"of the location may be wrong.",
			Example: "traces/0.def is there, and traces/1.def is not"},
		{ID: "otf2.unlisted-location", Severity: trace.Warning,
			Doc:     "A file of events belongs to a location that the trace does not define. weft does not read the file.",
			Example: "traces/4.evt, and definitions of the locations 0 to 3"},
		{ID: "otf2.chunk-numbers", Severity: trace.Error,
			Doc: "A file has more or fewer events, or records of snapshots, than the headers of its chunks state. " +
				"Some are lost, or a bit is wrong.",
			Example: "a chunk whose header says events 1 to 500, with 499 of them"},
		{ID: "otf2.counts", Severity: trace.Warning,
			Doc: "A number differs from the number that the archive states: the definitions or locations in the " +
				"anchor file, the samples in a thumbnail and their values, the headers of a thumbnail, the begins of a " +
				"snapshot, the records in the begin of a snapshot, or the events in the definition of a location (a " +
				"note, because EZTrace states 2 for all locations). weft does not use these numbers. The OTF2 library " +
				"rejects an archive with another number of definitions (an error).",
			Example: "4 locations in the anchor file, and 3 definitions of locations"},
		{ID: "otf2.carried", Severity: trace.Error,
			Doc: "Data of another format that weft stored in the archive is damaged. weft uses the ordinary records " +
				"of OTF2 instead.",
			Example: "a changed byte in what weft keeps of a PICL trace"},
		{ID: "otf2.clock", Severity: trace.Error,
			Doc: "The clock has 0 ticks per second, or too many, or the archive does not define it. weft reads a tick " +
				"as a second.",
			Example: "ClockProperties with 0 ticks per second"},
		{ID: "otf2.undefined", Severity: trace.Warning,
			Doc: "An event, an attribute of an event, or a definition refers to a definition that does not exist, or " +
				"to a rank that its communicator does not have. weft uses a stand-in for the definition, or ignores " +
				"the reference.",
			Example: "Enter of region 9 without such a definition; MpiSend to rank 7 of a communicator of 4"},
		{ID: "otf2.duplicate", Severity: trace.Note,
			Doc: "Definitions of the same kind have the same id and different contents, as in archives of EZTrace. " +
				"weft compares the first 262144 definitions.",
			Example: "a group 0 of locations, and another group 0 of ranks"},
		{ID: "otf2.value", Severity: trace.Warning,
			Doc: "A field has a number that its enumeration does not have. Or a metric or an attribute has another " +
				"type, or fewer values, than its definition. A bit may be wrong.",
			Example: "MpiCollectiveEnd with operation 77; a metric defined as UINT64 with a value of type DOUBLE"},
		{ID: "otf2.record-bytes", Severity: trace.Warning,
			Doc: "A record has additional bytes after its fields, or no bytes for the last field, or a number with " +
				"more bytes than necessary. No known program writes such records; a bit may be wrong.",
			Example: "an MpiSend of 12 bytes whose fields end after 11; the tag 5 as 02 05 00"},
		{ID: "otf2.trace-length", Severity: trace.Warning,
			Doc: "The clock properties state when the trace begins and how long it is. An event is farther outside " +
				"of this interval than the interval is long, while nearly all other events of its location are " +
				"inside. A bit of its time may be wrong.",
			Example: "a trace that lasts 1 s by its clock properties, with one event 9 s after its begin"},
		{ID: "otf2.unknown-record", Severity: trace.Warning,
			Doc: "A definition, an event, or a record of a snapshot belongs to a later version of OTF2, or its type " +
				"is damaged. weft cannot interpret its content.",
			Example: "event 200"},
		{ID: "otf2.time-order", Severity: trace.Warning,
			Doc: "The times of a location decrease, in the file or after the correction by clock offsets. weft sorts " +
				"the events, or raises the smaller time to the time before it.",
			Example: "a time of 500 ticks after one of 600"},
		{ID: "otf2.time-range", Severity: trace.Error,
			Doc: "An event or a marker has a time of 2⁶³ ticks or more. weft skips it. Or a marker is longer; weft " +
				"keeps the bits, which are a negative duration.",
			Example: "a time of 2⁶³ ticks"},
	},
}

// Probe recognises an anchor file.
func (Format) Probe(name string, head []byte) int {
	if len(head) > 6 && head[0] == chunkHeader && string(head[2:6]) == "OTF2" {
		return 100
	}
	if strings.HasSuffix(name, ".otf2") {
		return 50
	}
	if isPart(name, head) {
		return 15 // Open names the anchor file
	}
	return 0
}
