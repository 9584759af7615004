package picl

import "github.com/weft-trace/weft/format"

// mapping says what becomes of what; docs/mapping.md has it as a table. Events that
// own does not name are written as a user record.
func mapping(s format.Subject) format.Mapped {
	if m, ok := own[s]; ok || len(s.Kinds()) == 0 {
		return m
	}
	return format.Mapped{Keep: format.Kept, As: "user record"}
}

var own = map[format.Subject]format.Mapped{
	format.ClockTicks:              {Keep: format.Exact, As: "seconds with the decimals needed; rounded to 1 ns where a tick has no finite decimals"},
	format.ClockStart:              {Keep: format.Kept, As: "event message before the first event"},
	format.TraceProperties:         {Keep: format.Kept, As: "event message"},
	format.LocationDefinitions:     {Keep: format.Exact, As: "(processor, process) with a label; groups kept in an event message"},
	format.RegionDefinitions:       {Keep: format.Exact, As: "event type ≥ 0 with a label; the rest kept in an event message"},
	format.ResourceDefinitions:     {Keep: format.Kept, As: "event message"},
	format.MetricDefinitions:       {Keep: format.Kept, As: "event message"},
	format.CommunicatorDefinitions: {Keep: format.Exact, As: "subset records for PICL's own; others kept in event messages"},
	format.OtherDefinitions:        {Keep: format.Kept, As: "event message"},
	format.OpaqueDefinitions:       {Keep: format.Kept, As: "event message, up to 4 KiB"},
	format.EventAttributes:         {Keep: format.Exact, As: "data field; others kept in character data"},
	format.Visits:                  {Keep: format.Exact, As: "-3 and -4"},
	format.UnnestedLeaves:          {Keep: format.Exact, As: "-3 and -4"},
	format.Marks:                   {Keep: format.Exact, As: "-2"},
	format.Comments:                {Keep: format.Exact, As: "-7 of PICL's own; others kept as user records"},
	format.Claims:                  {Keep: format.Kept, As: "-3 and -4 with character data under a label"},
	format.Messages:                {Keep: format.Exact, As: "-21 … -61; marks for other formats' messages"},
	format.MessagePhases:           {Keep: format.Kept, As: "marks -30 and -57; the others as user records"},
	format.CollectiveOperations:    {Keep: format.Kept, As: "user record; PICL's own event types -78x as they are"},
	format.Interruptions:           {Keep: format.Kept, As: "user record; PICL's own -912 … -914 as they are"},
	format.Summaries:               {Keep: format.Exact, As: "-101 … -105 of PICL's own; others kept as user records"},
	format.GenericEvents:           {Keep: format.Exact, As: "user records of PICL's own; others kept as user records"},
	format.Links:                   {Keep: format.Kept, As: "user record after the last event"},
}
