package otf2

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// returningTypes are the types of definitions that return to an archive from another format, although the model has no
// table for them. Attributes and samples refer to them.
var returningTypes = map[string]uint8{
	definitionTypes[defSourceLoc].name: defSourceLoc,
	definitionTypes[defInterrupt].name: defInterrupt,
}

// opaqueData returns the bytes of an opaque definition: the record, and the text of each string to which it refers,
// followed by a zero byte. The record has no ids of strings, because these differ between traces.
func (m *model) opaqueData(r *Record) string {
	var texts []byte
	x := Record{ID: r.ID, Values: slices.Clone(r.Values), Texts: r.Texts}
	r.eachReference(func(t Table, i int) {
		if t == Strings && r.Values[i] != undefined32 {
			text, _ := m.ranks.text(r.Values[i])
			texts, x.Values[i] = append(append(texts, text...), 0), 0
		}
	})
	return string(append(appendRecord(nil, &definitionTypes[r.ID], &x), texts...))
}

// returning reads an opaque definition that returns to an archive. ok is false if it is another definition. The text of
// the record, if it has one, is that of its string.
func returning(o *trace.Opaque) (r Record, ok bool) {
	id, ok := returningTypes[o.Type]
	if !ok || o.Format != "otf2" || len(o.Data) < 2 || o.Data[0] != id {
		return r, false
	}
	c := cursor{b: []byte(o.Data), at: 1}
	c.length()
	r.ID = id
	c.record(&definitionTypes[id], &r)
	text, found := strings.CutSuffix(o.Data[min(c.at, len(o.Data)):], "\x00")
	if found {
		r.Texts = []string{text}
	}
	return r, !c.bad && found == (r.Values[1] != undefined32)
}

// returningDefinitions returns the definitions that return to an archive. It leaves out ids that have two definitions:
// these come from different archives, and weft does not know to which of them an event refers.
func returningDefinitions(d *trace.Definitions) map[definition]Record {
	found := map[definition]Record{}
	data, differs := map[definition]string{}, map[definition]bool{}
	for _, o := range d.Opaque.All() {
		r, ok := returning(&o)
		if !ok {
			continue
		}
		key := definition{ownTables[r.ID], r.Values[0]}
		if first, known := data[key]; known && first != o.Data {
			differs[key] = true
		}
		data[key], found[key] = o.Data, r
	}
	maps.DeleteFunc(found, func(key definition, _ Record) bool { return differs[key] })
	return found
}

// returnedTypes returns how many of the opaque definitions return, by type.
func returnedTypes(d *trace.Definitions) map[string]int {
	n := map[string]int{}
	known := returningDefinitions(d)
	for _, o := range d.Opaque.All() {
		if r, ok := returning(&o); ok {
			if _, ok = known[definition{ownTables[r.ID], r.Values[0]}]; ok {
				n[o.Type]++
			}
		}
	}
	return n
}

// returningDefinitions returns the definitions that return to the written archive.
func (e *encoder) returningDefinitions() map[definition]Record {
	if e.returning == nil {
		e.returning = returningDefinitions(e.defs)
	}
	return e.returning
}

// defineReturning writes the definitions of a table that return, and, with a name for each id, other ones to which
// events refer.
func (e *encoder) defineReturning(put func(id uint8, v ...uint64), name func(string) uint64, t Table) {
	ids := e.otherIDs(t)
	for key := range e.returningDefinitions() {
		if key.table == t {
			ids = append(ids, key.id)
		}
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if r, ok := e.returning[definition{t, id}]; ok {
			v := slices.Clone(r.Values)
			if len(r.Texts) > 0 {
				v[1] = name(r.Texts[0])
			}
			put(r.ID, v...)
		} else if t == InterruptGenerators {
			put(defInterrupt, id, name(fmt.Sprintf("interrupt generator %d", id)), 0, 1, 0, 0)
		}
	}
}
