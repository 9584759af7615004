package otf2

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/lookahead"
	"github.com/weft-trace/weft/trace"
)

// setFileOperation fills in the I/O record for an event of an operation on a file, which only OTF has. It returns false
// if OTF2 has no such record.
func (e *encoder) setFileOperation(c *trace.Cursor) bool {
	var end lookahead.Operation
	if op := e.held.Begun(c); op != nil {
		end = *op
	}
	x, ok := e.io.Convert(c, end.Ref, end.Operands)
	if !ok {
		return false
	}
	if x.Complete != nil {
		e.ends.AddEvent(c, x.Duration, trace.IOComplete, x.Ref, x.Complete)
	}
	ok, _ = e.fillRecord(e.recordID(x.Kind), c, x.Ref, x.Operands)
	e.missing = 0 // fillRecord has set bits for operands of the I/O event, which are not those of the row
	e.noteOtherReferences()
	return ok
}

// defineHandles writes the definitions of I/O handles.
func (e *encoder) defineHandles(put func(id uint8, v ...uint64), name func(string) uint64) {
	own := e.defs.Handles.All()
	define := func(i int, text string, file uint32, flags uint64) {
		put(defIOHandle, uint64(i), name(text), uint64(file), 0, flags, undefined32, undefined32)
	}
	for i, x := range own {
		define(i, x.Name, e.defs.HandleFile(uint32(i)), attrFlags(x.Attrs, handleFlags))
	}
	for i, h := range e.io.Handles() {
		define(len(own)+i, fmt.Sprintf("handle %d", h.Number), h.File, 0)
	}
}

// attrFlags returns the flags of a definition, the inverse of flagAttrs.
func attrFlags(list []trace.Attr, words []string) (flags uint64) {
	text, _ := attr(list, "flags")
	for _, w := range strings.Split(strings.Trim(text, "{}"), ", ") {
		if at := slices.Index(words, w); at >= 0 {
			flags |= 1 << at
		}
	}
	return flags
}
