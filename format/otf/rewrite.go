package otf

import (
	"context"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// original is the trace that is written again: its definitions are written as they are, and its
// events with the tokens that they had (docs/formats/otf.md, "Rewriting a trace"). Definitions
// that only one stream has are not written again: what their tokens mean depends on the stream.
type original struct {
	r      *Reader
	m      *model
	groups map[namedGroup]uint64 // tokens of groups of functions and files
	keys   map[int]bool          // attributes that events have, by index
}

// Renamable says that the encoder gives texts other names.
func (o *original) Renamable() {}

// namedGroup is a group of a table by its name.
type namedGroup struct {
	table int
	name  string
}

// rewrite has the encoder write what a trace was read from, with what has been changed since.
func (e *encoder) rewrite(o *original) error {
	e.from = &original{r: o.r, m: o.m, groups: map[namedGroup]uint64{}, keys: map[int]bool{}}
	for _, t := range e.tokens.all() {
		t.own = true
	}
	if e.anyStreams && o.r.master.Len() > 0 {
		e.w.master = o.r.master.Clone()
		e.files.master = e.w.master
	}
	e.w.headed = true // version and unique id are those of the trace
	return e.original(Definitions, func(r *Record) error {
		group := namedGroup{fileGroups, trace.Text(r.Name)}
		switch r.Type {
		case DefFunctionGroup:
			group.table = functionGroups
		case DefFileGroup:
		default:
			return nil
		}
		if _, twice := e.from.groups[group]; !twice {
			e.from.groups[group] = r.Token
		}
		return nil
	})
}

// original calls use with each definition of a part of the trace that is written again, as it is
// to be written.
func (e *encoder) original(part Part, use func(r *Record) error) error {
	c, err := e.from.r.Cursor(context.Background(), part)
	if err != nil {
		return err
	}
	defer c.Close()
	for c.Next() {
		if r := c.Record(); r.Type != Marker {
			e.rename(r)
			if err := use(r); err != nil {
				return err
			}
		}
	}
	return c.Err()
}

// rename takes from a definition what tells where a trace comes from, if that is wanted.
func (e *encoder) rename(r *Record) {
	rename := e.defs.Rename
	if rename == nil {
		return
	}
	text := func(f field, word bool) {
		if s := r.text(f); specs[r.Type].says(f) && *s != "" {
			*s = rename(trace.Text(*s), word)
		}
	}
	for i := range r.KeyValues {
		r.KeyValues[i].Bytes = nil
	}
	switch r.Type {
	case DefVersion: // libotf's own
		return
	case DefUniqueID: // libotf makes it of the time of day
		r.UniqueID = 0
	case DefSCL:
		r.Line = 0
	case DefProcessGroup:
		if node, ok := strings.CutPrefix(r.Name, nodeGroup); ok {
			r.Name = nodeGroup + rename(trace.Text(node), false)
			return
		}
	}
	text(fName, r.Type == DefKeyValue)
	text(fUnit, true)
	text(fText, false)
}

// definitionsAgain writes the definitions of the trace that was read, and those that were added.
func (e *encoder) definitionsAgain() error {
	write := func(r *Record) error {
		if r.Type == Unknown {
			e.loss.Add("definition", "", format.Degraded, "a record that OTF does not have", 1)
			return nil
		}
		return e.w.Write(r)
	}
	for _, part := range []Part{Definitions, Markers} {
		if err := e.original(part, write); err != nil {
			return err
		}
	}
	// What the model has added bears no id, or one that nothing defined: that is left so.
	for i, a := range e.defs.Attributes.All() {
		if a.ID == "" && e.from.keys[i] {
			t, ok := pairTypes[a.Type]
			if !ok {
				t = Bytes
			}
			if err := write(&Record{Type: DefKeyValue, Token: uint64(e.tokens.attributes.at(i)), Kind: uint64(t), Name: a.Name, Text: a.Doc}); err != nil {
				return err
			}
		}
	}
	for i, x := range e.defs.Regions.All() {
		if x.ID == "" {
			if err := write(&Record{Type: DefFunction, Token: uint64(e.tokens.regions.at(i)), Name: x.Name}); err != nil {
				return err
			}
		}
	}
	return nil
}

// asRead makes, of a row, the record that it was read from; false if there is none to write.
func (e *encoder) asRead(c *trace.Cursor, r *Record) bool {
	if c.Derived() {
		return false // its record is there
	}
	if usual := e.native(c, r); usual {
		if r.Type == Leave && e.from.m.bareLeaves {
			r.Function = 0
		}
		return true
	}
	if r.Type == EventComment && c.Kind() != trace.Comment {
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "", format.Lost, "OTF has no record for it", 1)
		return false
	}
	if r.check() != nil {
		e.cut(r)
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "number", format.Degraded, "it has more bits than the record has room for", 1)
	}
	return true
}

// groupToken is the token of a group of a table that has its name in the strings.
func (e *encoder) groupToken(table int, ref uint32) uint64 {
	if e.from == nil {
		return stringToken(ref)
	}
	return e.from.groups[namedGroup{table, *e.defs.Strings.At(ref)}]
}
