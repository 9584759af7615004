package otf

import "github.com/weft-trace/weft/format"

// mapping states how well OTF keeps each subject of other formats, and in which records.
// docs/mapping.md has the resulting table.
var mapping = map[format.Subject]format.Mapped{
	format.ClockTicks:          {How: format.Exact, As: "DefTimerResolution"},
	format.ClockStart:          {How: format.WeftOnly, As: "packed definitions"},
	format.TraceProperties:     {How: format.WeftOnly, As: "packed definitions"},
	format.LocationDefinitions: {How: format.Exact, As: "DefProcess; the rest in packed definitions"},
	format.RegionDefinitions:   {How: format.Exact, As: "DefFunction, DefFunctionGroup, DefScl; the rest packed"},
	format.ResourceDefinitions: {How: format.WeftOnly, As: "packed definitions"},
	format.MetricDefinitions: {How: format.Exact,
		As: "DefCounter, with the scale in the unit; relative modes and the rest weft only"},
	format.CommunicatorDefinitions: {How: format.Exact, As: "DefProcessGroup; the rest in packed definitions"},
	format.OtherDefinitions:        {How: format.WeftOnly, As: "packed definitions"},
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
	format.MessagePhases:           {How: format.WeftOnly, As: "NoOp with a key-value"},
	format.CollectiveOperations:    {How: format.Exact, As: "BeginCollectiveOperation"},
	format.CommunicatorEvents:      {How: format.WeftOnly, As: "NoOp with a key-value"},
	format.Interruptions:           {How: format.WeftOnly, As: "NoOp with a key-value"},
	format.ProcessEvents:           {How: format.Exact, As: "BeginProcess, EndProcess; others weft only"},
	format.ThreadEvents:            {How: format.WeftOnly, As: "NoOp with a key-value"},
	format.RemoteMemoryAccess:      {How: format.Exact, As: "RMAPut, RMAGet, RMAEnd; others weft only"},
	format.CallingContexts:         {How: format.WeftOnly, As: "NoOp with a key-value"},
	format.InputOutput:             {How: format.Exact, As: "File records; others weft only"},
	format.Markers:                 {How: format.Exact, As: "Marker; its duration and scope weft only"},
	format.Snapshots:               {How: format.Exact, As: ".snaps of OTF's own; others weft only"},
	format.Summaries:               {How: format.Exact, As: ".stats of OTF's own; others weft only"},
	format.GenericEvents:           {How: format.WeftOnly, As: "EventComment or NoOp, with a key-value"},
	format.Links:                   {How: format.WeftOnly, As: "NoOp behind the last event"},
}
