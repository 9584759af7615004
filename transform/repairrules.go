package transform

import (
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// RepairRules returns the rules under which [Repair] reports its changes. The caller owns the
// slice.
func RepairRules() []format.Rule { return slices.Clone(repairRules) }

var repairRules = []format.Rule{
	{ID: "repair.closed-region", Severity: trace.Warning,
		Doc: "Repair leaves a region that is never left, at the last event of its location. In a PICL trace, " +
			"repair leaves the region before the exit of event type -901, if the region is open there.",
		Example: "enter main at 1 s; the last event of the location is at 9 s: main is left at 9 s"},
	{ID: "repair.dropped-leave", Severity: trace.Warning,
		Doc:     "Repair removes a leave of a region that is not open.",
		Example: "leave f where f is not open"},
	{ID: "repair.entered-region", Severity: trace.Warning,
		Doc:     "Repair enters a region that is left but never entered, at the first event of its location.",
		Example: "with --orphans enter: the first event of a location is leave f at 3 s: f is entered at 3 s"},
	{ID: "repair.closed-inner-region", Severity: trace.Warning,
		Doc:     "If a location leaves a region, repair also leaves the regions that are still open inside of it.",
		Example: "enter f, enter g, leave f: g is left before f"},
	{ID: "repair.closed-claim", Severity: trace.Warning,
		Doc:     "Repair ends a claim that never ends.",
		Example: "claim 5 begins at 2 s and never ends: it ends at the last event"},
	{ID: "repair.dropped-claim-end", Severity: trace.Warning,
		Doc:     "Repair removes the end of a claim that has not begun.",
		Example: "the end of claim 5 without its begin"},
	{ID: "repair.renumbered", Severity: trace.Warning,
		Doc:     "Repair gives a new id to a claim, mark or link whose id is already in use.",
		Example: "two claims 5: the later one becomes claim 6"},
	{ID: "repair.claim-offset", Severity: trace.Warning,
		Doc: "Repair adds the offset 0 to a claim without an offset if the resource uses offsets. It removes the " +
			"offset of a claim if the resource does not use offsets.",
		Example: "C 0 0 1 0 1 where R 0 uses offsets"},
	{ID: "repair.signal", Severity: trace.Warning,
		Doc:     "Repair makes a fragment of a signal end where the next fragment begins.",
		Example: "F 0 0 2 1 0 0 and F 0 3 4 1 0 0: the first one ends at 3"},
	{ID: "repair.dropped-link", Severity: trace.Warning,
		Doc:     "Repair removes a link to something that is not in the trace.",
		Example: "a dependency of claim 7, which no line defines"},
	{ID: "repair.defined", Severity: trace.Warning,
		Doc:     "Repair adds a missing definition to which events refer.",
		Example: "a claim of resource 3, which has no R line: repair adds a resource with the name undefined resource 3"},
	{ID: "repair.definition", Severity: trace.Warning,
		Doc: "Repair corrects the number of events in the definition of a location of an OTF2 archive, or gives a " +
			"new id to a group of communicating locations that has the id of another group, as in archives of EZTrace.",
		Example: "a location with 286 events whose definition states 2; two groups 0"},
	{ID: "repair.time", Severity: trace.Warning,
		Doc: "Repair gives an event that is earlier than the event before it at its location the time of that " +
			"event.",
		Example: "an event at 4 s after one at 5 s: it gets 5 s"},
	{ID: "repair.named-attribute", Severity: trace.Warning,
		Doc:     "Repair gives an attribute of a TRACE file that has no key the key \"unknown\".",
		Example: "E 1 1 ; =x: it becomes E 1 1 ; unknown=x"},
	{ID: "repair.named-region", Severity: trace.Warning,
		Doc:     "Repair turns a visit without a region into a visit of a region with the name \"unknown\".",
		Example: "an enter without a region, as of OTF2's undefined"},
}
