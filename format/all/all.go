// Package all lists all formats of weft, and opens traces of any of them.
package all

import (
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/etf"
	"github.com/weft-trace/weft/format/otf"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/format/pallas"
	"github.com/weft-trace/weft/format/picl"
)

// Formats returns all formats, in the order in which users see them.
func Formats() []format.Format {
	return []format.Format{
		etf.Format{},
		picl.Format{},
		otf.Format{},
		pallas.Format{},
		otf2.Format{},
	}
}
