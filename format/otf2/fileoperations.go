package otf2

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/lookahead"
	"github.com/weft-trace/weft/trace"
)

// setFileOperation fills in the record of I/O for an operation on a file, as in OTF. It returns false if there is none.
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
	e.missing = 0 // the operands of the row are those of another kind
	e.noteOtherReferences()
	return ok
}

// defineHandles writes the definitions of I/O handles.
func (e *encoder) defineHandles(put func(id uint8, v ...uint64), name func(string) uint64) {
	files := e.defs.HandleFiles()
	for i, x := range e.defs.Handles.All() {
		file := uint64(undefined32)
		if files[i] != trace.NoRef {
			file = uint64(files[i])
		}
		put(defIOHandle, uint64(i), name(x.Name), file, 0, attrFlags(x.Attrs, handleFlags), undefined32, undefined32)
	}
	for i, h := range e.io.Handles() {
		file := uint64(undefined32)
		if h.File != trace.NoRef {
			file = uint64(h.File)
		}
		put(defIOHandle, uint64(len(files)+i), name(fmt.Sprintf("handle %d", h.Number)), file, 0, 0, undefined32, undefined32)
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
