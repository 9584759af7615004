package otf2

import (
	"strings"
	"unicode/utf8"

	"github.com/weft-trace/weft/trace"
)

// maxTexts limits the number of strings whose ids can be found by their text. A string beyond this limit
// gets a new id each time.
const maxTexts = 1 << 16

// maxText limits the length of a text, so that it fits in a chunk of definitions.
const maxText = 250_000

// writeString writes the definition of a string.
func (e *encoder) writeString(id uint64, s string) {
	if e.err == nil {
		e.err = e.w.Define(&Record{ID: defString, Values: []uint64{id, 0},
			Texts: []string{strings.ReplaceAll(s, "\x00", "\\0")}})
	}
}

// string returns the id of a text. Texts of OTF2 are UTF-8: its readers in Python accept no other archives.
func (e *encoder) string(s string) uint64 {
	if e.original != nil {
		return e.rewrittenString(s)
	}
	id, ok := e.strings[s]
	if !ok {
		id = e.pooledID(s)
		if len(e.strings) >= maxTexts {
			clear(e.strings)
		}
		e.strings[strings.Clone(s)] = id // texts of attributes belong to the decoder
		e.writeString(id, e.text(s))
	}
	return id
}

// pooledID returns the id for a text that has no string yet. A text that the trace's own archive has keeps its id,
// whatever the order of the events.
func (e *encoder) pooledID(s string) uint64 {
	first := uint64(firstPooled)
	if e.restored != nil {
		pool := &e.restored.m.ranks.pool
		if first = max(first, pool.end); e.known == nil {
			e.known = pool.ids()
		}
		if id, ok := e.known[s]; ok {
			delete(e.known, s)
			return id
		}
	}
	e.texts++
	return first + e.texts - 1
}

// text returns a text as OTF2 can keep it. Of a text of more than maxText bytes, it returns the beginning.
func (e *encoder) text(s string) string {
	s = strings.ReplaceAll(trace.ToUTF8(s), "\x00", "\\0")
	if len(s) <= maxText {
		return s
	}
	e.countChanged("text", "end", "longer than OTF2 allows")
	return strings.ToValidUTF8(s[:maxText], "") // a character may be cut in two
}

// isText reports whether OTF2 keeps a text as it is.
func isText(s string) bool {
	return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 && len(s) <= maxText
}
