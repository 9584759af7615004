package otf

import (
	"context"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// original is the OTF trace that is written again. Its definitions are written unchanged, and its
// events keep their tokens (docs/formats/otf.md, "Rewriting a trace"). A trace with definitions for
// single streams is not written in this way, because the meaning of its tokens depends on the stream.
type original struct {
	r      *Reader
	model  *model
	groups map[namedGroup]uint64 // tokens of the groups of functions and files
	keys   map[int]bool          // attributes that events use, by index
}

// Renamable marks that the encoder can change the texts of definitions.
func (o *original) Renamable() {}

// namedGroup identifies a group by its table and name.
type namedGroup struct {
	table int
	name  string
}

// rewrite prepares the encoder to write the trace that the events were read from, with the changes
// made since.
func (e *encoder) rewrite(o *original) error {
	e.original = &original{r: o.r, model: o.model, groups: map[namedGroup]uint64{}, keys: map[int]bool{}}
	for _, t := range e.tokens.all() {
		t.own = true
	}
	if e.defaultStreams && o.r.master.Len() > 0 {
		e.w.master = o.r.master.Clone()
		e.files.master = e.w.master
	}
	e.w.headed = true // the trace has a version and a unique id of its own
	return e.eachOriginal(Definitions, func(r *Record) error {
		group := namedGroup{fileGroups, trace.Text(r.Name)}
		switch r.Type {
		case DefFunctionGroup:
			group.table = functionGroups
		case DefFileGroup:
		default:
			return nil
		}
		if _, twice := e.original.groups[group]; !twice {
			e.original.groups[group] = r.Token
		}
		return nil
	})
}

// eachOriginal calls use with each definition of a part of the original trace, renamed as necessary.
func (e *encoder) eachOriginal(part Part, use func(r *Record) error) error {
	c, err := e.original.r.Cursor(context.Background(), part)
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

// rename replaces the parts of a definition that show where a trace comes from, if the definitions ask
// for that.
func (e *encoder) rename(r *Record) {
	rename := e.defs.Rename
	if rename == nil {
		return
	}
	text := func(f field, word bool) {
		if s := r.text(f); specs[r.Type].hasField(f) && *s != "" {
			*s = rename(trace.Text(*s), word)
		}
	}
	for i := range r.KeyValues {
		r.KeyValues[i].Bytes = nil
	}
	switch r.Type {
	case DefVersion: // a constant of libotf
		return
	case DefUniqueID: // libotf derives it from the time of day
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

// rewriteDefinitions writes the definitions of the original trace and those that were added to the
// model.
func (e *encoder) rewriteDefinitions() error {
	write := func(r *Record) error {
		if r.Type == Unknown {
			e.loss.Add("definition", "", format.Degraded, "a record that OTF does not have", 1)
			return nil
		}
		return e.w.Write(r)
	}
	for _, part := range []Part{Definitions, Markers} {
		if err := e.eachOriginal(part, write); err != nil {
			return err
		}
	}
	// Entries that the model has added have no id. Stand-ins for undefined tokens have one; they stay
	// undefined.
	for i, a := range e.defs.Attributes.All() {
		if a.ID == "" && e.original.keys[i] {
			t, ok := pairTypes[a.Type]
			if !ok {
				t = Bytes
			}
			if err := write(&Record{Type: DefKeyValue, Token: uint64(e.tokens.attributes.at(i)), Kind: uint64(t), Name: a.Name,
				Text: a.Doc}); err != nil {
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

// originalRecord sets r to the record from which a row was read. It returns false if there is no
// record to write.
func (e *encoder) originalRecord(c *trace.Cursor, r *Record) bool {
	if c.Derived() {
		return false // the row comes from a record that is written for another row
	}
	if frequent := e.native(c, r); frequent {
		if r.Type == Leave && e.original.model.onlyUnnamedLeaves {
			r.Function = 0
		}
		return true
	}
	if r.Type == EventComment && c.Kind() != trace.Comment {
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "", format.Lost, "OTF has no record for it", 1)
		return false
	}
	if r.check() != nil {
		e.truncate(r)
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "number", format.Degraded, "it has more bits than the record has room for", 1)
	}
	return true
}

// groupToken returns the token of the group whose name is entry ref of the strings.
func (e *encoder) groupToken(table int, ref uint32) uint64 {
	if e.original == nil {
		return stringToken(ref)
	}
	return e.original.groups[namedGroup{table, *e.defs.Strings.At(ref)}]
}
