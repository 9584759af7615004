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
		Doc: "A region that is never left is left at the last event of its location. In PICL it is left before the " +
			"exit of -901 if it is open there.",
		Example: "enter main at 1 s; the last event of the location is at 9 s: main is left at 9 s"},
	{ID: "repair.dropped-leave", Severity: trace.Warning, Doc: "A leave of a region that is not open is dropped.",
		Example: "leave f where f is not open"},
	{ID: "repair.entered-region", Severity: trace.Warning,
		Doc:     "A region that is left but never entered is entered at the first event of its location.",
		Example: "with --orphans enter: the first event of a location is leave f at 3 s: f is entered at 3 s"},
	{ID: "repair.closed-inner-region", Severity: trace.Warning,
		Doc:     "A region inside of one that is left is left with it.",
		Example: "enter f, enter g, leave f: g is left before f"},
	{ID: "repair.closed-claim", Severity: trace.Warning, Doc: "A claim that never ends is ended.",
		Example: "claim 5 begins at 2 s and never ends: it ends at the last event"},
	{ID: "repair.dropped-claim-end", Severity: trace.Warning, Doc: "An end of a claim that has not begun is dropped.",
		Example: "the end of claim 5 without its begin"},
	{ID: "repair.renumbered", Severity: trace.Warning, Doc: "A claim, mark or link whose id is taken gets another one.",
		Example: "two claims 5: the later one becomes claim 6"},
	{ID: "repair.claim-offset", Severity: trace.Warning,
		Doc: "A claim of a resource with offsets that has none gets offset 0; one of a resource without offsets " +
			"loses its own.",
		Example: "C 0 0 1 0 1 where R 0 uses offsets"},
	{ID: "repair.signal", Severity: trace.Warning,
		Doc:     "A fragment of a signal that does not end where the next one begins is made to.",
		Example: "F 0 0 2 1 0 0 and F 0 3 4 1 0 0: the first one ends at 3"},
	{ID: "repair.dropped-link", Severity: trace.Warning, Doc: "A link to something that is not in the trace is dropped.",
		Example: "a dependency of claim 7, which no line defines"},
	{ID: "repair.defined", Severity: trace.Warning, Doc: "A definition that events refer to is missing; repair adds it.",
		Example: "a claim of resource 3, which has no R line: repair adds a resource with the name undefined resource 3"},
	{ID: "repair.time", Severity: trace.Warning,
		Doc:     "An event that is earlier than its predecessor at the location gets the predecessor's time.",
		Example: "an event at 4 s after one at 5 s: it gets 5 s"},
	{ID: "repair.named-attribute", Severity: trace.Warning,
		Doc:     "An attribute of a TRACE file without a key gets the key unknown.",
		Example: "E 1 1 ; =x: it becomes E 1 1 ; unknown=x"},
	{ID: "repair.named-region", Severity: trace.Warning, Doc: "A visit of nothing becomes one of a region named unknown.",
		Example: "an enter without a region, as of OTF2's undefined"},
}
