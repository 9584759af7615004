package picl

import (
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// mapping states how the encoder writes a subject of another format. docs/mapping.md has the resulting
// table. Events without an entry become marks or user records.
var mapping = format.MappingTable(map[format.Subject]format.Mapped{
	format.ClockTicks: {How: format.Exact,
		As: "seconds with the decimals needed; rounded to 1 ns where a tick has no finite decimals"},
	format.ClockStart:          {How: format.WeftOnly, As: "event message before the first event"},
	format.LocationDefinitions: {How: format.Exact, As: "(processor, process) with a label"},
	format.LocationIDs: {How: format.WeftOnly, As: "event message; processors number them from 0 on",
		Kept: numberedProcessors},
	format.RegionDefinitions: {How: format.Exact, As: "event type ≥ 0 with a label"},
	format.SetDefinitions:    {How: format.WeftOnly, As: "event message; those of PICL stay subset records"},
	format.LocationKinds: {How: format.WeftOnly, As: "event message; all are processes",
		Kept: format.LocationsOfKind(trace.ProcessLocation)},
	format.OpaqueDefinitions:    {How: format.WeftOnly, As: "event message, up to 4 KiB"},
	format.EventAttributes:      {How: format.Exact, As: "data field; weft only: others as character data"},
	format.Visits:               {How: format.Exact, As: "-3 and -4"},
	format.UnnestedLeaves:       {How: format.Exact, As: "-3 and -4"},
	format.Marks:                {How: format.Exact, As: "-2"},
	format.Comments:             {How: format.Exact, As: "-7 of PICL's own; weft only: others as user records"},
	format.Claims:               {How: format.WeftOnly, As: "-3 and -4 with character data under a label"},
	format.Messages:             {How: format.Exact, As: "-21 … -61; marks for other formats' messages"},
	format.MessagePhases:        {How: format.WeftOnly, As: "marks -30, -57, and others with the kind as label"},
	format.CollectiveOperations: {How: format.Exact, As: "-402, -780 … -793; weft only: other operations as marks"},
	format.Interruptions: {How: format.WeftOnly,
		As: "mark with the kind as label; PICL's own -912 … -914 as they are"},
	format.MetricValues: {How: format.Exact,
		As: "mark (-2) with the counter's name as label and the value as data; weft only: others as user record"},
	format.Summaries: {How: format.Exact, As: "-101 … -105 of PICL's own; weft only: others as marks or user records"},
	format.GenericEvents: {How: format.Exact,
		As: "user records of PICL's own; generic events as -2; weft only: others as user records"},
	format.Links: {How: format.WeftOnly, As: "user record after the last event"},
}, format.Mapped{How: format.WeftOnly, As: "event message"}, format.Mapped{How: format.WeftOnly,
	As: "mark (-2) with the kind as label and the operands as data; with other data than integers, user record"})

// numberedProcessors counts the locations whose processor has their id as its number. Those of PICL keep both numbers.
func numberedProcessors(d *trace.Definitions) int {
	return format.LocationsWithID(func(i int) string {
		if d.Origin == "picl" {
			return d.Locations.At(uint32(i)).ID
		}
		return strconv.FormatInt(processorOf(uint32(i)), 10)
	})(d)
}
