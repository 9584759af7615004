package format

import "github.com/weft-trace/weft/trace"

// conventions maps names of formats to their [trace.Conventions]. It has the formats whose ids a trace
// may keep after a conversion to another format.
var conventions = map[string]trace.Conventions{
	"etf":    {SignedIDs: true, AttributeKeys: true},
	"otf":    {Nested: true, OwnOperations: true, Keywords: true},
	"otf2":   {Nested: true, Keywords: true, MetricMembers: true},
	"pallas": {Nested: true, Keywords: true},
	"picl":   {EventTypes: true},
}

// Conventions returns the conventions of the format with this name, and the zero value for an
// unknown name.
func Conventions(name string) trace.Conventions { return conventions[name] }

// CutPrefix begins the names of the attributes that a transform adds to the events of a piece of a trace. Their values
// are texts.
const CutPrefix = "cut."
