package pallas

import (
	"encoding/binary"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Format implements [format.Format] for Pallas.
type Format struct{ format.Unsupported }

// About returns the name and properties of the format.
func (Format) About() format.About { return about }

var about = format.About{
	Mapping:    mapping,
	Name:       "pallas",
	Title:      "Pallas",
	Extensions: []string{".pallas"},
	FilesEach:  3,
	Reads:      "ABI 16 to 20, all codecs but SZ, attributes, damaged traces as far as they go",
	Writes:     "ABI 20, exactly; what repeats is found while writing",
	Seeks:      "by the first and last times of blocks",
	Place:      mainFileName,
	Options: []format.Option{
		{Name: "pallas.compression", Default: "ZSTD", Values: []string{"ZSTD", "None"}, Write: true,
			Doc: "Compression of times. weft does not write the other compressions of Pallas, which lose digits. A copy of a " +
				"Pallas trace keeps this option and the next ones."},
		{Name: "pallas.encoding", Default: "None", Values: []string{"None", "Masking"}, Write: true,
			Doc: "Encoding of times before they are compressed."},
		{Name: "pallas.grammar", Default: "fast", Values: []string{"fast", "compatible", "keep"}, Write: true,
			Doc: "Method of finding repetitions: fast, or compatible, which gives the same grammar and bytes as Pallas' own " +
				"library, except for data that zstd compresses. keep copies the grammars of a Pallas trace."},
		{Name: "pallas.loop-finding", Default: "BasicTruncated", Values: []string{"BasicTruncated", "Basic", "None"},
			Write: true, Doc: "Search of the method compatible: in the last tokens, in all tokens, or none."},
		{Name: "pallas.unify-tokens", Default: "false", Values: []string{"true", "false"}, Write: true,
			Doc: "A copy gives equal items of several threads the same ids, and has one set of definitions."},
		{Name: requestsOption, Default: "slots", Values: []string{"slots", "keep"}, Write: true,
			Doc: "Numbers of requests in traces of other formats: slots numbers the open requests of a thread from 0, so that " +
				"equal calls have equal numbers; keep writes the numbers of the trace."},
		{Name: "pallas.level", Default: "1", Write: true, Doc: "Level of zstd, 1 to 22."},
		{Name: "pallas.loop-length", Default: "100", Write: true,
			Doc: "Greatest number of tokens of a repetition."},
	},

	Rules: []format.Rule{
		{ID: "pallas.damaged", Severity: trace.Error,
			Doc: "A file ends too early, or contains bytes that the format does not allow. weft reads the part " +
				"before the damage.",
			Example: "a thread.pallas that ends in the list of its sequences"},
		{ID: "pallas.missing-file", Severity: trace.Error,
			Doc:     "A file that another file requires does not exist.",
			Example: "archive_0/thread_0/event_durations.dat is not there"},
		{ID: "pallas.grammar", Severity: trace.Error,
			Doc: "A sequence of a thread refers to a sequence that does not exist, or contains itself. weft reads " +
				"the events of the thread in the order of time.",
			Example: "sequence 3 has token S3 in it"},
		{ID: "pallas.lost-events", Severity: trace.Error,
			Doc: "The grammar of a thread has more or fewer events than the files have times. Pallas' own writer " +
				"does this when a thread has many loops. weft reads the events in the order of time.",
			Example: "a loop of 3 iterations of an event that has 4 times"},
		{ID: "pallas.circle", Severity: trace.Error,
			Doc: "A location group contains itself, directly or through other groups. weft reads the group as one " +
				"without a parent.",
			Example: "location group 5 has parent 0, and 0 has parent 5"},
		{ID: "pallas.occurrences", Severity: trace.Warning,
			Doc: "The number of times or durations of a sequence, or the number of occurrences that a loop states, " +
				"differs from the number of its occurrences in the grammar. The events do not depend on these numbers.",
			Example: "a sequence that occurs 4 times, with 3 durations"},
		{ID: "pallas.definition-order", Severity: trace.Warning,
			Doc: "The definitions of a kind are not in the order of their refs, or two of them have the same ref, or the " +
				"keys of metadata are not in order. weft uses the first definition of a ref.",
			Example: "region 3 after region 7 in main.pallas"},
		{ID: "pallas.undefined", Severity: trace.Warning,
			Doc: "An event refers to a region, an attribute or a name that the trace does not define, or a definition " +
				"refers to another one that does not exist. weft uses a stand-in for the region or attribute, and an " +
				"empty name.",
			Example: "ENTER of region 9 without such a definition"},
		{ID: "pallas.attributes", Severity: trace.Error,
			Doc: "The attributes of an event are damaged, belong to no occurrence, or have another size than their type " +
				"has. weft reads the attributes before the damage.",
			Example: "a list of attributes of 40 bytes that ends after 20"},
		{ID: "pallas.carried", Severity: trace.Error,
			Doc: "Data of another format that weft stored in the trace is damaged. weft uses the ordinary records of " +
				"Pallas instead.",
			Example: "a changed byte in what weft keeps of a PICL trace"},
		{ID: "pallas.ids", Severity: trace.Warning,
			Doc: "An archive or thread has another number in its file than in the names of its folders. Or the file " +
				"of an archive states fewer threads than there are. Or there is a folder of an archive or thread that " +
				"no file lists; weft does not read it. Or a location of an archive names another location group as its " +
				"parent. Or an id refers to no entry of the list of events or sequences, or to the same entry as " +
				"another id.",
			Example: "archive_1/archive.pallas that says it is archive 2"},
		{ID: "pallas.settings", Severity: trace.Warning,
			Doc: "A setting in the main file has a value that Pallas does not know. Reading does not depend on the " +
				"setting.",
			Example: "loop finding 9 in main.pallas"},
		{ID: "pallas.payload", Severity: trace.Warning,
			Doc: "An event has more or fewer bytes than the fields of its record, or a record that Pallas does not " +
				"have. weft keeps the bytes unchanged.",
			Example: "ENTER with 3 bytes instead of 4"},
		{ID: "pallas.sums", Severity: trace.Warning,
			Doc: "The times, durations or sums that a file of a thread states for the thread, its events or its " +
				"sequences differ from the values that the events give. weft uses the events.",
			Example: "a sequence that lasts 90 ns by its file and 80 ns by its events"},
		{ID: "pallas.time-order", Severity: trace.Warning,
			Doc: "The times of an event or a sequence decrease from one occurrence to the next. weft sorts the " +
				"events of the thread.",
			Example: "times 100, 90 of one event"},
		{ID: "pallas.time-range", Severity: trace.Error,
			Doc:     "An event has a time of 2⁶³ ns or more. weft skips the event.",
			Example: "a time of 2⁶³ ns"},
	},
}

// Probe returns the confidence, from 0 to 100, that head is the start of a main file. A main file has no magic
// number, so Probe checks whether its settings are in range.
func (Format) Probe(name string, head []byte) int {
	sure := 0
	if strings.HasSuffix(name, ".pallas") {
		sure = 50
	}
	const size = 33
	if len(head) < size || head[0] < MinABI || head[0] > 64 {
		return sure
	}
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(head[at:]) }
	if word(1) > uint32(ZSTDHistogram) || word(5) > uint32(LeadingZeroes) || word(17) > uint32(BasicTruncated) ||
		word(13) != 0 || word(25) != 0 || word(29) > 2 {
		return sure
	}
	return sure + 50
}
