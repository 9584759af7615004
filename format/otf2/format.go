package otf2

import (
	"strings"

	"github.com/weft-trace/weft/format"
)

// Format is OTF2.
var Format = &format.Format{
	Name:       "otf2",
	Title:      "Open Trace Format 2 (OTF2)",
	Extensions: []string{".otf2"},
	Reads:      "archives of OTF2 1.0 to 3.1 without compression, in plain files",
	Options: []format.Option{
		{Name: "otf2.raw-clocks", Default: "false", Values: []string{"true", "false"}, Doc: "Times are those of each location's own clock, not corrected by its clock offsets."},
	},
	Probe:  probe,
	Compat: printCompat,
}

// probe recognises an anchor file.
func probe(name string, head []byte) int {
	if len(head) > 6 && head[0] == chunkHeader && string(head[2:6]) == "OTF2" {
		return 100
	}
	if strings.HasSuffix(name, ".otf2") {
		return 50
	}
	return 0
}
