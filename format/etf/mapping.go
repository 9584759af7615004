package etf

import "github.com/weft-trace/weft/format"

// mapping says what becomes of what; docs/mapping.md has it as a table. Events that
// own does not name are written as an E line.
func mapping(s format.Subject) format.Mapped {
	if m, ok := own[s]; ok || len(s.Kinds()) == 0 {
		return m
	}
	return format.Mapped{Keep: format.Kept, As: "E with attributes"}
}

var own = map[format.Subject]format.Mapped{
	format.ClockTicks:              {Keep: format.Exact, As: "TU and decimals; rounded to 1 ns where a tick has no finite decimals"},
	format.ClockStart:              {Keep: format.Exact, As: "O in ms; finer ones kept in a T attribute"},
	format.TraceProperties:         {Keep: format.Exact, As: "T attributes"},
	format.LocationDefinitions:     {Keep: format.Kept, As: "R line a location and T attributes"},
	format.RegionDefinitions:       {Keep: format.Kept, As: "claim attribute name; all of it in T attributes"},
	format.ResourceDefinitions:     {Keep: format.Exact, As: "R"},
	format.MetricDefinitions:       {Keep: format.Exact, As: "S, TS, TSS; counters kept in T attributes"},
	format.CommunicatorDefinitions: {Keep: format.Kept, As: "T attribute"},
	format.OtherDefinitions:        {Keep: format.Kept, As: "T attribute"},
	format.OpaqueDefinitions:       {Keep: format.Kept, As: "T attribute, up to 4 KiB"},
	format.EventAttributes:         {Keep: format.Exact, As: "attribute; other types than text kept by a suffix of the key"},
	format.Visits:                  {Keep: format.Kept, As: "claim of 1 on the location's resource, with its depth; unmatched ones are E lines"},
	format.UnnestedLeaves:          {Keep: format.Exact, As: "claim: claims need not nest"},
	format.Marks:                   {Keep: format.Exact, As: "E"},
	format.Claims:                  {Keep: format.Exact, As: "C; kept as E lines unless the resource has a location of its own"},
	format.Fragments:               {Keep: format.Exact, As: "F"},
	format.MetricValues:            {Keep: format.Exact, As: "TSP, TSR; counters of other formats kept as E lines"},
	format.Links:                   {Keep: format.Exact, As: "D 0 … 8; other links kept as E lines"},
}
