package otf

import (
	"context"
	"slices"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// original is the native form of the definitions of an OTF trace, which can be written again. Its
// definitions are written unchanged, and its events keep their tokens (docs/formats/otf.md, "Rewriting a
// trace"). A trace with definitions for single streams is not written in this way, because the meaning of
// its tokens depends on the stream.
type original struct {
	r     *Reader
	model *model
}

// Renamable marks that the encoder can change the texts of definitions.
func (o *original) Renamable() {}

// Joinable marks that the encoder can write several traces as one, and parts of them. A location must be of one,
// since places in the source have other tokens in each trace.
func (o *original) Joinable() (shared bool) { return false }

// rewriting is the state of an encoder that writes OTF traces again.
type rewriting struct {
	sources  []*sourceTrace
	sourceOf []*sourceTrace        // by location; empty if there is one trace
	records  []*Record             // the definitions as they are written; nil if they are those of the only trace
	groups   map[namedGroup]uint64 // tokens of the groups of functions and files
	keys     map[int]bool          // attributes that events use, by index
	first    uint64                // the time of the first event
	referred map[tokenOf]bool      // what events refer to and the model has no table for, if the trace is pruned
}

// namedGroup identifies a group by its table and name.
type namedGroup struct {
	table int
	name  string
}

// rewrite prepares the encoder to write the traces that the events were read from, with the changes
// made since.
func (e *encoder) rewrite(sources []*sourceTrace) error {
	o := &rewriting{sources: sources, groups: map[namedGroup]uint64{}, keys: map[int]bool{}}
	e.original = o
	e.w.headed = true // the trace has a version and a unique id of its own
	master := sources[0].r.master
	if sources[0].Index != nil {
		o.records = e.join(sources)
		master = joinStreams(sources)
		for _, s := range sources {
			for i := range s.Defs.Locations.Len() {
				at := s.Index(&s.Defs.Locations, uint32(i))
				for at != trace.NoRef && at >= uint32(len(o.sourceOf)) {
					o.sourceOf = append(o.sourceOf, nil)
				}
				if at != trace.NoRef {
					o.sourceOf[at] = s
				}
			}
		}
	} else {
		for _, t := range e.tokens.all() {
			t.own = true
		}
		master = master.Clone()
	}
	if e.defs.Pruned {
		o.referred = map[tokenOf]bool{}
	}
	if o.only() != nil && sources[0].r.hasThumbnail() {
		e.written = &visitSum{}
	}
	if e.defaultStreams && master.Len() > 0 {
		e.w.master = master
		e.files.master = e.w.master
	}
	return e.eachDefinition(Definitions, func(r *Record) error {
		group := namedGroup{fileGroups, trace.Text(r.Name)}
		switch r.Type {
		case DefFunctionGroup:
			group.table = functionGroups
		case DefFileGroup:
		default:
			return nil
		}
		if _, twice := o.groups[group]; !twice {
			o.groups[group] = r.Token
		}
		return nil
	})
}

// isEveryone reports whether a location of a merged trace is the process 0 of one of the traces, which stands for
// all processes.
func (e *encoder) isEveryone(loc uint32) bool {
	if e.original == nil || e.original.sources[0].Index == nil || e.defs.Locations.At(loc).Name != undefinedProcess(0) {
		return false
	}
	for _, s := range e.original.sources {
		for i, l := range s.Defs.Locations.All() {
			if l.ID == "0" && s.Index(&s.Defs.Locations, uint32(i)) == loc {
				return true
			}
		}
	}
	return false
}

// source returns the trace that a location belongs to.
func (o *rewriting) source(loc uint32) *sourceTrace {
	if loc < uint32(len(o.sourceOf)) && o.sourceOf[loc] != nil {
		return o.sourceOf[loc]
	}
	return o.sources[0]
}

// eachDefinition calls use with each definition of a part as it is written.
func (e *encoder) eachDefinition(part Part, use func(r *Record) error) error {
	if e.original.records == nil {
		return e.eachOriginal(e.original.sources[0], part, use)
	}
	for _, r := range e.original.records {
		if (r.Type == DefMarker) != (part == Markers) {
			continue
		}
		if err := use(r); err != nil {
			return err
		}
	}
	return nil
}

// eachOriginal calls use with each definition of a part of a trace, renamed as necessary.
func (e *encoder) eachOriginal(s *sourceTrace, part Part, use func(r *Record) error) error {
	c, err := s.r.withoutReport().Cursor(context.Background(), part)
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
	merged := len(e.original.sources) > 1
	empty := true
	write := func(r *Record) error {
		empty = false
		if r.Type == Unknown {
			e.loss.Add("definition", "", format.Degraded, "a record that OTF does not have", 1)
			return nil
		}
		if merged && !e.updateMerged(r) {
			return nil
		}
		return e.w.Write(r)
	}
	if e.defs.Pruned {
		e.prune()
	}
	if merged && !slices.ContainsFunc(e.original.records, func(r *Record) bool { return r.Type == DefTimerResolution }) {
		if err := write(&Record{Type: DefTimerResolution}); err != nil {
			return err
		}
	}
	for _, part := range []Part{Definitions, Markers} {
		if err := e.eachDefinition(part, write); err != nil {
			return err
		}
	}
	if only := e.original.only(); only != nil && e.defs.Mended {
		if empty { // the file is missing, and libotf expects it
			if err := write(&Record{Type: DefTimerResolution, TicksPerSecond: uint64(e.defs.Clock.Num)}); err != nil {
				return err
			}
		}
		if err := only.writeStandIns(write); err != nil {
			return err
		}
	}
	// Entries that the model has added have no id. Stand-ins for undefined tokens have one; they stay
	// undefined unless the trace is repaired.
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

// only returns the trace that is written again with its own tokens, or nil if several become one.
func (o *rewriting) only() *sourceTrace {
	if o.sources[0].Index != nil {
		return nil
	}
	return o.sources[0]
}

// writeStandIns defines the tokens that the original trace does not define.
func (s *sourceTrace) writeStandIns(write func(*Record) error) error {
	for _, x := range s.model.standIns {
		t := [...]Type{functions: DefFunction, groups: DefProcessGroup, counters: DefCounter, files: DefFile,
			functionGroups: DefFunctionGroup, fileGroups: DefFileGroup, processes: DefProcess,
			collectives: DefCollectiveOperation}[x.table]
		r := Record{Type: t, Token: x.token, Name: x.name}
		if t == DefCollectiveOperation {
			r.Kind = allToAll // otfprofile aborts if an operation has no kind
		}
		if err := write(&r); err != nil {
			return err
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
	frequent := e.native(c, r)
	if s := e.original.source(c.Location()); s.Index != nil {
		r.SCL = s.token(sclTokens, r.SCL)
		if specs[r.Type].hasField(fRoot) {
			r.Root = s.token(processTokens, r.Root)
		}
	}
	if e.original.referred != nil {
		e.original.note(r)
	}
	if frequent {
		if r.Type == Leave && e.original.source(c.Location()).model.onlyUnnamedLeaves {
			r.Function = 0
		}
		return true
	}
	if r.Type == EventComment && c.Kind() != trace.Comment {
		if e.defs.Mended && e.original.source(c.Location()).r.cut.has(r) {
			return false // the decoder has reported the line
		}
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "", format.Lost, "OTF has no record for it", 1)
		return false
	}
	if r.check() != nil {
		e.truncate(r)
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "number", format.Degraded, "it has more bits than the record has room for", 1)
	}
	return true
}

// note records what a record refers to and the model has no table for.
func (o *rewriting) note(r *Record) {
	note := func(space tokenSpace, f field) {
		if specs[r.Type].hasField(f) && *r.number(f) != 0 {
			o.referred[tokenOf{space, *r.number(f)}] = true
		}
	}
	note(sclTokens, fSCL)
	note(operationTokens, fCollective)
	note(processTokens, fRoot)
	switch r.Type {
	case FunctionGroupSummary:
		note(functionGroupTokens, fGroup)
	case FileGroupOperationSummary:
		note(fileGroupTokens, fGroup)
	}
}

// groupToken returns the token of the group whose name is entry ref of the strings.
func (e *encoder) groupToken(table int, ref uint32) uint64 {
	if e.original == nil {
		return stringToken(ref)
	}
	k := namedGroup{table, *e.defs.Strings.At(ref)}
	token, ok := e.original.groups[k]
	if only := e.original.only(); !ok && only != nil {
		for _, x := range only.model.standIns {
			if x.table == table && x.index == ref {
				token = x.token
			}
		}
		e.original.groups[k] = token
	}
	return token
}
