package etf

import (
	"strconv"

	"github.com/weft-trace/weft/format"
)

// mapping states how the encoder writes a subject of another format. docs/mapping.md has the resulting
// table. Events without an entry become E lines.
var mapping = format.MappingTable(map[format.Subject]format.Mapped{
	format.ClockTicks: {How: format.Exact,
		As: "TU and decimals; rounded to 1 ns where a tick has no finite decimals"},
	format.ClockStart:          {How: format.Exact, As: "O in ms; weft only: nanoseconds"},
	format.TraceProperties:     {How: format.WeftOnly, As: "T attribute; those of TRACE stay as they are"},
	format.LocationDefinitions: {How: format.WeftOnly, As: "an R line for each location, and T attributes"},
	format.LocationIDs: {How: format.WeftOnly, As: "T attribute; R numbers them from 0 on",
		Kept: format.LocationsWithID(strconv.Itoa)},
	format.RegionDefinitions:    {How: format.WeftOnly, As: "claim attribute name, T attribute"},
	format.ResourceDefinitions:  {How: format.Exact, As: "R"},
	format.MetricDefinitions:    {How: format.WeftOnly, As: "T attribute; those of TRACE stay S, TS and TSS"},
	format.AttributeDefinitions: {How: format.Exact, As: "attribute"},
	format.OpaqueDefinitions:    {How: format.WeftOnly, As: "T attribute, up to 4 KiB"},
	format.EventAttributes:      {How: format.Exact, As: "attribute; weft only: other types than text"},
	format.Visits: {How: format.WeftOnly,
		As: "claim of 1 on the location's resource, with its depth; E lines for unmatched events"},
	format.UnnestedLeaves: {How: format.Exact, As: "claim: claims need not nest"},
	format.Marks:          {How: format.Exact, As: "E"},
	format.Claims:         {How: format.Exact, As: "C; weft only: E lines unless the resource has a location of its own"},
	format.Fragments:      {How: format.Exact, As: "F"},
	format.MetricValues:   {How: format.Exact, As: "TSP, TSR; counters of other formats weft only: E lines"},
	format.Links:          {How: format.Exact, As: "D 0 … 8; other links weft only: E lines"},
}, format.Mapped{How: format.WeftOnly, As: "T attribute"}, format.Mapped{How: format.WeftOnly, As: "E with attributes"})
