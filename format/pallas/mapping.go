package pallas

import "github.com/weft-trace/weft/format"

// mapping states how the encoder writes each subject of another format. docs/mapping.md has the
// resulting table.
var mapping = map[format.Subject]format.Mapped{
	format.ClockTicks: {How: format.Exact,
		As: "nanoseconds; ticks that are no whole ones stay as they are, which is counted"},
	format.ClockStart:              {How: format.WeftOnly, As: "metadata"},
	format.TraceProperties:         {How: format.WeftOnly, As: "metadata"},
	format.LocationDefinitions:     {How: format.Exact, As: "Location, LocationGroup; the rest in metadata"},
	format.RegionDefinitions:       {How: format.WeftOnly, As: "Region; the rest in metadata"},
	format.ResourceDefinitions:     {How: format.WeftOnly, As: "metadata"},
	format.MetricDefinitions:       {How: format.WeftOnly, As: "metadata"},
	format.CommunicatorDefinitions: {How: format.WeftOnly, As: "Comm over all threads; the rest in metadata"},
	format.OtherDefinitions:        {How: format.WeftOnly, As: "metadata"},
	format.OpaqueDefinitions:       {How: format.WeftOnly, As: "metadata, up to 4 KiB"},
	format.EventAttributes:         {How: format.WeftOnly, As: "text in an attribute of the event"},
	format.Visits:                  {How: format.Exact, As: "ENTER, LEAVE"},
	format.UnnestedLeaves:          {How: format.WeftOnly, As: "GENERIC with an attribute"},
	format.Marks:                   {How: format.WeftOnly, As: "GENERIC with an attribute"},
	format.Comments:                {How: format.WeftOnly, As: "GENERIC with an attribute"},
	format.Claims:                  {How: format.WeftOnly, As: "GENERIC with an attribute"},
	format.Fragments:               {How: format.WeftOnly, As: "GENERIC with an attribute"},
	format.MetricValues:            {How: format.WeftOnly, As: "GENERIC with an attribute"},
	format.Messages:                {How: format.Exact, As: "MPI_SEND, MPI_RECV"},
	format.MessagePhases: {How: format.Exact,
		As: "MPI_ISEND_COMPLETE, MPI_IRECV_REQUEST; others weft only: GENERIC"},
	format.CollectiveOperations: {How: format.Exact, As: "MPI_COLLECTIVE_BEGIN, _END; others weft only: GENERIC"},
	format.CommunicatorEvents:   {How: format.WeftOnly, As: "GENERIC with an attribute"},
	format.Interruptions:        {How: format.WeftOnly, As: "GENERIC with an attribute"},
	format.ProcessEvents:        {How: format.WeftOnly, As: "GENERIC with an attribute"},
	format.ThreadEvents:         {How: format.Exact, As: "THREAD_, OMP_ records"},
	format.RemoteMemoryAccess:   {How: format.WeftOnly, As: "GENERIC with an attribute"},
	format.CallingContexts:      {How: format.WeftOnly, As: "GENERIC with an attribute"},
	format.InputOutput:          {How: format.WeftOnly, As: "GENERIC with an attribute"},
	format.Markers:              {How: format.WeftOnly, As: "GENERIC with an attribute"},
	format.Snapshots:            {How: format.WeftOnly, As: "GENERIC with an attribute"},
	format.Summaries:            {How: format.WeftOnly, As: "GENERIC with an attribute"},
	format.GenericEvents:        {How: format.WeftOnly, As: "GENERIC with an attribute"},
	format.Links:                {How: format.WeftOnly, As: "metadata"},
}
