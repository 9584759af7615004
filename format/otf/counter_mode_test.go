package otf

import (
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestCounterPropertiesOfOtherFormats checks the bits that OTF_Definitions.h gives the properties of a counter
// whose mode has the words of another format: ABS 1, POINT 4, LAST 8, NEXT 12, SIGNED8 0x20, DOUBLE 0x120.
func TestCounterPropertiesOfOtherFormats(t *testing.T) {
	for _, x := range []struct {
		mode string
		typ  trace.Type
		want uint64
	}{
		{"ACCUMULATED_START", trace.Uint64, 0},
		{"ACCUMULATED_POINT", trace.Int64, 0x24},
		{"ACCUMULATED_LAST", trace.Uint64, 8},
		{"ACCUMULATED_NEXT", trace.Float64, 0x12c},
		{"ABSOLUTE_POINT", trace.Float64, 0x125},
		{"ABSOLUTE_LAST", trace.Uint64, 9},
		{"ABSOLUTE_NEXT", trace.Uint64, 13},
		{"ACC/LAST/UNSIGNED8", trace.Float64, 0x128}, // the values count, not the type that the mode names
		{"", trace.Uint64, 5},
	} {
		if got := counterProperties(&trace.MetricDef{Mode: x.mode, Type: x.typ}); got != x.want {
			t.Errorf("%q, %v: found %#x, expected %#x", x.mode, x.typ, got, x.want)
		}
	}
}
