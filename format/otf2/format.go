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
	Mapping:    func(s format.Subject) format.Mapped { return mapping[s] },
	Name:       "otf2",
	Title:      "Open Trace Format 2 (OTF2)",
	Extensions: []string{".otf2"},
	FilesEach:  2,
	Reads:      "archives of OTF2 1.0 to 3.1 without compression, in plain files",
	Writes:     "OTF2 3.0, exactly",
	Seeks:      "by the first times of chunks",
	Options: []format.Option{
		{Name: orderOption, Default: "raise", Values: []string{"raise", "sort"},
			Doc: "What becomes of times of a location that go back: they are raised to the latest, or the location's events " +
				"are sorted, which needs another look at the archive."},
		{Name: "otf2.raw-clocks", Default: "false", Values: []string{"true", "false"},
			Doc: "Times are those of each location's own clock, not corrected by its clock offsets."},
		{Name: likeOption, Default: likeWeft, Generated: likeScoreP, Values: []string{likeWeft, likeScoreP},
			Write: true,
			Doc: "scorep lays the archive out as Score-P does, for Scalasca's analyser: a location group for each " +
				"process, with its master thread first, and the paradigms and roles of regions that their names tell. An " +
				"archive of OTF2 is then written anew."},
	},

	Rules: []format.Rule{
		{ID: "otf2.damaged", Severity: trace.Error,
			Doc: "A file ends too early, or contains bytes that the format does not allow; records before them, and in " +
				"later chunks, are read.",
			Example: "an event file that ends in the middle of a record, or has no end-of-file mark"},
		{ID: "otf2.missing-file", Severity: trace.Error,
			Doc: "A file is not there that the definitions or the anchor file name; the location has no events, or no " +
				"snapshots.", Example: "location 1 is defined, and there is no traces/1.evt"},
		{ID: "otf2.missing-definitions", Severity: trace.Error,
			Doc:     "A location has no definitions of its own though others have: its references and times may be wrong.",
			Example: "traces/0.def is there, and traces/1.def is not"},
		{ID: "otf2.chunk-numbers", Severity: trace.Error,
			Doc: "A file has more or fewer events, or records of snapshots, than the headers of its chunks say: some are " +
				"lost, or a bit is wrong.", Example: "a chunk whose header says events 1 to 500, with 499 of them"},
		{ID: "otf2.counts", Severity: trace.Warning,
			Doc: "The anchor file says another number of definitions or locations than there are, a thumbnail another number " +
				"of samples, the begin of a snapshot another number of records until its end, or the definition of a location " +
				"another number of events (a note, since EZTrace writes 2 for all). " +
				"Nothing in weft depends on it, but OTF2's library refuses an archive with another number of definitions (an " +
				"error).", Example: "4 locations in the anchor file, and 3 definitions of locations"},
		{ID: "otf2.carried", Severity: trace.Error,
			Doc: "What weft put into an archive of another format's trace cannot be read; OTF2's own records take its " +
				"place.",
			Example: "a changed byte in what weft keeps of a PICL trace"},
		{ID: "otf2.clock", Severity: trace.Error,
			Doc:     "The clock has no ticks, or too many in a second; a tick is taken to be a second.",
			Example: "ClockProperties with 0 ticks per second"},
		{ID: "otf2.undefined", Severity: trace.Warning,
			Doc: "An event, one of its attributes or a definition names something that nothing defines, or a rank that its " +
				"communicator does not have; a stand-in takes its place, or nothing.",
			Example: "Enter of region 9 without such a definition; MpiSend to rank 7 of a communicator of 4"},
		{ID: "otf2.value", Severity: trace.Warning,
			Doc: "A field has a number that its enumeration does not have, or a metric or an attribute another type, or " +
				"fewer values, than its definition; a bit may be wrong.",
			Example: "MpiCollectiveEnd with operation 77; a metric defined as UINT64 with a value of type DOUBLE"},
		{ID: "otf2.record-bytes", Severity: trace.Warning,
			Doc: "A record has bytes after its fields, or no bytes for the last field, or a number with more bytes than " +
				"it needs. No writer does this; a bit may be wrong.",
			Example: "an MpiSend of 12 bytes whose fields end after 11; the tag 5 as 02 05 00"},
		{ID: "otf2.trace-length", Severity: trace.Warning,
			Doc: "An event is farther from the time that the clock properties state than that is long, while nearly all " +
				"others of its location are within; a bit of its time may be wrong.",
			Example: "a trace that lasts 1 s by its clock properties, with one event 9 s after its begin"},
		{ID: "otf2.unknown-record", Severity: trace.Warning,
			Doc: "A definition, an event, or a record of a snapshot, is of a later version of OTF2, or its id is damaged; it " +
				"is read without what it says.", Example: "event 200"},
		{ID: "otf2.time-order", Severity: trace.Warning,
			Doc: "Times of a location go back, in the file or because of its clock offsets; the later time is taken, or they " +
				"are sorted.", Example: "a time of 500 ticks after one of 600"},
		{ID: "otf2.time-range", Severity: trace.Error, Doc: "Times are 2⁶³ ticks or more; those events are skipped.",
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
	return 0
}
