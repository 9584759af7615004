package pallas

import (
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// mapping states how the encoder writes each subject of another format. docs/mapping.md has the
// resulting table.
var mapping = format.MappingTable(map[format.Subject]format.Mapped{
	format.ClockTicks: {How: format.Exact,
		As: "nanoseconds; other ticks are written unchanged and counted as degraded"},
	format.LocationDefinitions: {How: format.Exact, As: "Location; weft only: locations without events"},
	format.LocationIDs: {How: format.WeftOnly, As: "metadata; Location numbers them from 0 on",
		Kept: format.LocationsWithID(strconv.Itoa)},
	format.LocationKinds: {How: format.WeftOnly, As: "metadata; all are threads",
		Kept: format.LocationsOfKind(trace.ThreadLocation)},
	format.GroupDefinitions:        {How: format.Exact, As: "LocationGroup"},
	format.RegionDefinitions:       {How: format.Exact, As: "Region"},
	format.CommunicatorDefinitions: {How: format.WeftOnly, As: "Comm over all threads; the rest in metadata"},
	format.CommunicatorParents:     {How: format.Exact, As: "Comm"},
	format.OpaqueDefinitions:       {How: format.WeftOnly, As: "metadata, up to 4 KiB"},
	format.EventAttributes: {How: format.WeftOnly,
		As: "attribute of the event, also with --plain; others in metadata"},
	format.Visits:   {How: format.Exact, As: "ENTER, LEAVE"},
	format.Messages: {How: format.Exact, As: "MPI_SEND, MPI_RECV"},
	format.MessagePhases: {How: format.Exact,
		As: "MPI_ISEND_COMPLETE, MPI_IRECV_REQUEST; weft only: others as GENERIC"},
	format.CollectiveOperations: {How: format.Exact, As: "MPI_COLLECTIVE_BEGIN, _END; weft only: others as GENERIC"},
	format.ThreadEvents:         {How: format.Exact, As: "THREAD_, OMP_ records"},
	format.Claims: {How: format.WeftOnly,
		As: "ENTER and LEAVE, the rest in metadata; claims that overlap as GENERIC and on threads of their own"},
	format.Links: {How: format.WeftOnly, As: "metadata"},
}, format.Mapped{How: format.WeftOnly, As: "metadata"},
	format.Mapped{How: format.WeftOnly, As: "GENERIC with its name, the rest in metadata"})

// countUnwritten counts the locations without events. They have no thread, because Pallas' tools abort at a thread
// without events.
func (e *encoder) countUnwritten() {
	n := e.defs.Locations.Len()
	for _, t := range e.threads {
		if t != nil {
			n--
		}
	}
	how, reason := format.WeftOnly, "a location without events has no thread; metadata"
	if e.plain {
		how, reason = format.Lost, "a location without events has no thread"
	}
	e.loss.Add(format.LocationDefinitions.String(), "without events", how, reason, int64(n))
}
