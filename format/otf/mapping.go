package otf

import (
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// mapping states how well OTF keeps each subject of other formats, and in which records.
// docs/mapping.md has the resulting table.
var mapping = format.MappingTable(map[format.Subject]format.Mapped{
	format.ClockTicks:          {How: format.Exact, As: "DefTimerResolution"},
	format.LocationDefinitions: {How: format.Exact, As: "DefProcess"},
	format.LocationIDs: {How: format.WeftOnly, As: "packed definitions; DefProcess numbers them from 1 on",
		Kept: processesWithID},
	format.LocationKinds: {How: format.WeftOnly,
		As: "packed definitions; processes, and threads of a process, as DefProcess", Kept: kindsOfProcesses},
	format.GroupDefinitions:  {How: format.WeftOnly, As: "packed definitions; nodes as DefProcessGroup", Kept: nodes},
	format.GroupKinds:        {How: format.WeftOnly, As: "packed definitions; nodes as DefProcessGroup", Kept: nodes},
	format.RegionDefinitions: {How: format.Exact, As: "DefFunction"},
	format.RegionGroups:      {How: format.Exact, As: "DefFunctionGroup"},
	format.RegionPlaces: {How: format.WeftOnly, As: "DefScl; lines without a file in packed definitions",
		Kept: placesWithFile},
	format.MetricDefinitions: {How: format.Exact,
		As: "DefCounter, with the scale in the unit; weft only: relative modes"},
	format.MetricGroups:            {How: format.Exact, As: "DefCounterGroup"},
	format.CommunicatorDefinitions: {How: format.Exact, As: "DefProcessGroup"},
	format.AttributeDefinitions:    {How: format.Exact, As: "DefKeyValue"},
	format.AttributeDescriptions:   {How: format.Exact, As: "DefKeyValue"},
	format.FileDefinitions:         {How: format.Exact, As: "DefFile"},
	format.MarkerDefinitions:       {How: format.Exact, As: "DefMarker"},
	format.OperationDefinitions:    {How: format.Exact, As: "DefCollectiveOperation"},
	format.OpaqueDefinitions:       {How: format.WeftOnly, As: "packed definitions, up to 4 KiB"},
	format.EventAttributes:         {How: format.Exact, As: "key-value"},
	format.Visits:                  {How: format.Exact, As: "Enter, Leave"},
	format.UnnestedLeaves:          {How: format.Exact, As: "Leave"},
	format.Marks:                   {How: format.WeftOnly, As: "EventComment with a key-value"},
	format.Comments:                {How: format.Exact, As: "EventComment"},
	format.Claims:                  {How: format.WeftOnly, As: "visit on a lane of the resource, with a key-value"},
	format.Fragments:               {How: format.WeftOnly, As: "Counter with a key-value"},
	format.MetricValues:            {How: format.Exact, As: "Counter"},
	format.Messages:                {How: format.Exact, As: "SendMsg, RecvMsg"},
	format.CollectiveOperations: {How: format.Exact,
		As: "BeginCollectiveOperation; weft only: non-blocking ones, as NoOp with a key-value"},
	format.ProcessEvents:      {How: format.Exact, As: "BeginProcess, EndProcess; weft only: others"},
	format.RemoteMemoryAccess: {How: format.Exact, As: "RMAPut, RMAGet, RMAEnd; weft only: others"},
	format.InputOutput: {How: format.Exact,
		As: "File records, also for those of OTF2; weft only: tests and others of OTF2"},
	format.Markers: {How: format.Exact,
		As: "Marker; weft only: its duration, and scopes other than a location and the trace"},
	format.Snapshots:     {How: format.Exact, As: ".snaps of OTF's own; weft only: others"},
	format.Summaries:     {How: format.Exact, As: ".stats of OTF's own; weft only: others"},
	format.GenericEvents: {How: format.WeftOnly, As: "EventComment or NoOp, with a key-value"},
	format.Links:         {How: format.WeftOnly, As: "NoOp after the last event"},
}, format.Mapped{How: format.WeftOnly, As: "packed definitions"},
	format.Mapped{How: format.WeftOnly, As: "NoOp with a key-value"})

// kindsOfProcesses returns how many locations are processes, or threads that have a parent.
func kindsOfProcesses(d *trace.Definitions) (n int) {
	p := parentsOf(d)
	for i := range d.Locations.Len() {
		if _, ok := p.of(i); ok || d.Locations.At(uint32(i)).Kind == trace.ProcessLocation {
			n++
		}
	}
	return n
}

// nodes returns the number of location groups that are nodes.
func nodes(d *trace.Definitions) (n int) {
	for _, g := range d.Groups.All() {
		if g.Kind == nodeKind {
			n++
		}
	}
	return n
}

// placesWithFile returns how many regions have a place in a source file that OTF can express.
func placesWithFile(d *trace.Definitions) (n int) {
	for i := range d.Regions.Len() {
		if hasSourcePlace(d.Regions.At(uint32(i))) {
			n++
		}
	}
	return n
}

// processesWithID counts the locations whose process has their id as its token.
func processesWithID(d *trace.Definitions) int {
	t := newTokens(d)
	return format.LocationsWithID(func(i int) string { return strconv.FormatUint(uint64(t.locations.at(i)), 10) })(d)
}
