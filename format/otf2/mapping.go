package otf2

import (
	"slices"
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// mapping describes the result of a conversion for each subject; docs/mapping.md lists it as a table.
var mapping = format.MappingTable(map[format.Subject]format.Mapped{
	format.ClockTicks: {How: format.Exact,
		As: "ClockProperties; weft only: clocks whose second is not a whole number of ticks"},
	format.ClockStart:          {How: format.Exact, As: "ClockProperties"},
	format.LocationDefinitions: {How: format.Exact, As: "Location"},
	format.LocationIDs: {How: format.WeftOnly, As: "properties; Location numbers them from 0 on",
		Kept: format.LocationsWithID(strconv.Itoa)},
	format.LocationKinds: {How: format.WeftOnly, As: "properties; threads and streams as Location",
		Kept: format.LocationsOfKind(trace.ThreadLocation, trace.StreamLocation)},
	format.GroupDefinitions:  {How: format.Exact, As: "LocationGroup, SystemTreeNode"},
	format.GroupKinds:        {How: format.Exact, As: "LocationGroup, SystemTreeNode"},
	format.RegionDefinitions: {How: format.Exact, As: "Region"},
	format.RegionGroups: {How: format.WeftOnly, As: "properties; paradigms of OTF2 as Region",
		Kept: paradigmsOfRegions},
	format.RegionPlaces:         {How: format.Exact, As: "Region"},
	format.RegionEnds:           {How: format.Exact, As: "Region"},
	format.RegionRoles:          {How: format.Exact, As: "Region"},
	format.RegionDescriptions:   {How: format.Exact, As: "Region"},
	format.RegionCanonicalNames: {How: format.Exact, As: "Region"},
	format.MetricDefinitions:    {How: format.Exact, As: "MetricMember, MetricClass"},
	format.MetricGroups: {How: format.WeftOnly, As: "properties; types of OTF2 as MetricMember",
		Kept: typesOfMetrics},
	format.MetricDescriptions: {How: format.Exact, As: "MetricMember"},
	format.CommunicatorDefinitions: {How: format.WeftOnly,
		As:   "Comm or InterComm, and Group; without known members, over all locations, and the rest in properties",
		Kept: withMembers},
	format.CommunicatorParents: {How: format.WeftOnly, As: "Comm; in properties if the parent is defined later",
		Kept: earlierParents},
	format.AttributeDefinitions:  {How: format.Exact, As: "Attribute"},
	format.AttributeDescriptions: {How: format.Exact, As: "Attribute"},
	format.ParameterDefinitions:  {How: format.Exact, As: "Parameter"},
	format.WindowDefinitions:     {How: format.Exact, As: "RmaWin"},
	format.ContextDefinitions:    {How: format.WeftOnly, As: "CallingContext; its place and parent in properties"},
	format.FileDefinitions:       {How: format.Exact, As: "IoRegularFile, IoDirectory"},
	format.HandleDefinitions: {How: format.WeftOnly,
		As: "IoHandle with its file; its paradigm, communicator and parent in properties"},
	format.MarkerDefinitions: {How: format.Exact, As: "DefMarker"},
	format.MarkerGroups:      {How: format.Exact, As: "DefMarker"},
	format.OpaqueDefinitions: {How: format.WeftOnly,
		As: "property, up to 4 KiB; SourceCodeLocation and InterruptGenerator as such", KeptOpaque: returnedTypes},
	format.EventAttributes: {How: format.Exact, As: "attribute list; weft only: other types, as text"},
	format.Visits:          {How: format.Exact, As: "Enter, Leave"},
	format.UnnestedLeaves:  {How: format.Exact, As: "Leave"},
	format.Marks: {How: format.Exact,
		As: "Marker; weft only: attributes and place among events, in an event at the same time"},
	format.Claims: {How: format.WeftOnly,
		As: "Enter and Leave with an attribute; claims that overlap as ParameterString and on locations of their own"},
	format.Fragments:            {How: format.WeftOnly, As: "Metric with an attribute"},
	format.MetricValues:         {How: format.Exact, As: "Metric; ranges of samples weft only: ParameterString"},
	format.Messages:             {How: format.Exact, As: "MpiSend, MpiRecv"},
	format.MessagePhases:        {How: format.Exact, As: "MPI records"},
	format.CollectiveOperations: {How: format.Exact, As: "MpiCollectiveBegin, MpiCollectiveEnd"},
	format.CommunicatorEvents:   {How: format.Exact, As: "CommCreate, CommDestroy"},
	format.Interruptions: {How: format.Exact,
		As: "BufferFlush, MeasurementOnOff; gaps weft only: ParameterString"},
	format.ProcessEvents: {How: format.Exact,
		As: "Parameter records, ProgramBegin, ProgramEnd; weft only: others as ParameterString"},
	format.ThreadEvents: {How: format.Exact, As: "records for threads, tasks and locks"},
	format.RemoteMemoryAccess: {How: format.Exact,
		As: "Rma records; weft only: origin, tag and place of the end of those of OTF"},
	format.CallingContexts: {How: format.Exact, As: "CallingContext records"},
	format.InputOutput: {How: format.Exact,
		As: "Io records, also for those of OTF; weft only: seeks and others of OTF"},
	format.Markers: {How: format.Exact,
		As: "Marker; weft only: attributes and place among events, in an event at the same time"},
	format.Links: {How: format.WeftOnly, As: "properties"},
}, format.Mapped{How: format.WeftOnly, As: "properties"},
	format.Mapped{How: format.WeftOnly, As: "ParameterString with an attribute"})

// paradigmsOfRegions returns how many regions have a paradigm that OTF2 has.
func paradigmsOfRegions(d *trace.Definitions) (n int) {
	for _, r := range d.Regions.All() {
		if slices.Contains(paradigms, r.Group) && r.Group != "" {
			n++
		}
	}
	return n
}

// withMembers returns how many communicators have known members.
func withMembers(d *trace.Definitions) (n int) {
	members := d.Memberships()
	for i := range d.Communicator.All() {
		if _, known := members.Members(uint32(i)); known {
			n++
		}
	}
	return n
}

// earlierParents returns how many communicators have a parent that is defined before them.
func earlierParents(d *trace.Definitions) (n int) {
	for i, c := range d.Communicator.All() {
		if c.Parent < uint32(i) {
			n++
		}
	}
	return n
}

// typesOfMetrics returns how many metrics have a type that OTF2 has.
func typesOfMetrics(d *trace.Definitions) (n int) {
	for _, m := range d.Metrics.All() {
		if slices.Contains(metricTypes, m.Group) && m.Group != "" {
			n++
		}
	}
	return n
}
