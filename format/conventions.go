package format

import "github.com/weft-trace/weft/trace"

// conventions are those of formats whose ids a trace may bear after it went through another one.
var conventions = map[string]trace.Conventions{
	"otf":    {Nested: true, OwnOperations: true, Words: true},
	"otf2":   {Nested: true, Words: true},
	"pallas": {Nested: true, Words: true},
	"picl":   {EventTypes: true},
}

// Conventions are those of the format with this name: none for one that is not known.
func Conventions(name string) trace.Conventions { return conventions[name] }
