package otf

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// originalTrace refers to the definitions of an OTF trace. If that trace is written as OTF again, its definitions
// are written unchanged, and its events keep their tokens (docs/formats/otf.md, "Rewriting a trace").
type originalTrace struct {
	r     *Reader
	model *model
}

// Renamable marks the trace as a trace whose texts an encoder can change.
func (o *originalTrace) Renamable() {}

// Joinable marks the trace as a trace that an encoder can join with others, and that it can write in part. It
// returns false, because a location must belong to a single trace: source places have different tokens in each
// trace.
func (o *originalTrace) Joinable() (shared bool) { return false }

// rewriting is the state of an encoder that writes OTF traces again.
type rewriting struct {
	sources []*sourceTrace
	origins []origin // origin of each location; empty if the only trace is not pruned
	// the definitions in their written form; nil if the definitions of the only trace are written unchanged
	records []*Record
	groups  map[namedGroup]uint64 // tokens of function groups and file groups
	keys    map[int]bool          // indexes of the attributes that events use
	// tokens in events that refer to definitions without a table in the model; nil unless the trace is pruned
	referred map[tokenOf]bool
	entries  map[*Record]bool // records that define an entry of the written trace, if definitions are joined
	moved    bool             // the only trace begins or ends at a different time than its original
	// global is set if the definitions of single streams become global.
	global bool
}

// origin describes where a location comes from: the trace, process and stream from which it was read.
type origin struct {
	source *sourceTrace // nil if the location does not come from an OTF trace
	stream uint32
	// listed is set if the master file assigns the process to the stream.
	listed bool
}

// namedGroup identifies a group by its table and name, and the stream that defines it.
type namedGroup struct {
	table  int
	name   string
	stream uint32
}

// rewrite prepares the encoder to write the traces that the events were read from, with the changes
// made since.
func (e *encoder) rewrite(sources []*sourceTrace) error {
	for _, s := range sources {
		s.model.marksLeaves = true
	}
	o := &rewriting{sources: sources, groups: map[namedGroup]uint64{}, keys: map[int]bool{}}
	e.original = o
	e.w.headed = true // the trace has a version and a unique id of its own
	kept, _, err := sources[0].r.copyOptions(&format.WriteOptions{})
	if err != nil {
		return err
	}
	if e.keepLevel {
		e.w.opt.Level = kept.Level
	}
	if e.keepSpelling {
		e.w.opt.Long = kept.Long
	}
	master := sources[0].r.master
	if sources[0].Index != nil {
		o.global = len(sources) > 1 || e.joinsStreams(sources[0])
		e.tokens.attributes.native = true
		master = numberStreams(sources)
		o.records = e.join(sources)
		for _, s := range sources {
			e.findLocations(s)
		}
		assignStreams(master, sources)
	} else {
		for _, t := range e.tokens.all() {
			t.own = true
		}
		e.tokens.locations.perStream = e.defs.Repaired
		master = master.Clone()
	}
	if e.defs.Pruned {
		o.referred = map[tokenOf]bool{}
	}
	if o.onlyTrace() != nil && sources[0].r.hasThumbnail() {
		e.written = &visitSum{}
	}
	if e.defaultStreams && master.Len() > 0 {
		e.w.master = master
		e.files.master = e.w.master
	}
	if !e.defs.Pruned { // definitions of markers precede the markers
		if err := e.eachDefinition(Markers, e.writeMarkerDefinition); err != nil {
			return err
		}
	}
	return e.eachDefinition(Definitions, func(r *Record) error {
		group := namedGroup{fileGroups, trace.ToUTF8(r.Name), r.Stream}
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

// hadStreams reports whether any of the traces has a stream.
func (o *rewriting) hadStreams() bool {
	return slices.ContainsFunc(o.sources, func(s *sourceTrace) bool { return s.r.master.Len() > 0 })
}

// joinsStreams reports whether the definitions of single streams in a trace become global. This is the case if
// its processes change their streams, or if equal definitions of several streams become one definition.
func (e *encoder) joinsStreams(s *sourceTrace) bool {
	return len(s.model.local) > 0 && (!e.defaultStreams || s.model.unified)
}

// markedGroup returns the token of the group of processes for which a location of a merged trace stands, or 0 if it
// stands for all processes of one of the traces. ok is false for other locations.
func (e *encoder) markedGroup(loc uint32) (token uint64, ok bool) {
	if e.original == nil || e.original.sources[0].Index == nil || e.defs.Locations.At(loc).Kind != trace.EventsLocation {
		return 0, false
	}
	for _, s := range e.original.sources {
		for i, l := range s.Defs.Locations.All() {
			if s.Index(&s.Defs.Locations, uint32(i)) != loc {
				continue
			}
			process, err := strconv.ParseUint(l.ID, 10, 32)
			token, ok = s.processOrGroup(process)
			if err == nil && (ok || process == 0) {
				return token, true
			}
		}
	}
	return 0, false
}

// processOrGroup returns the written token of a process or, if the trace defines no such process, of a group of
// processes. Markers may be about either.
func (s *sourceTrace) processOrGroup(token uint64) (written uint64, ok bool) {
	own := streamToken{0, token}
	if written, ok = s.tokens[processTokens][own]; !ok {
		written, ok = s.tokens[groupTokens][own]
	}
	return written, ok
}

// findLocations determines where the locations of a trace come from. It also sets the tokens of processes that
// the trace does not define.
func (e *encoder) findLocations(s *sourceTrace) {
	o := e.original
	for i, l := range s.Defs.Locations.All() {
		at := s.Index(&s.Defs.Locations, uint32(i))
		if at == trace.NoRef {
			continue
		}
		for at >= uint32(len(o.origins)) {
			o.origins = append(o.origins, origin{})
		}
		process, x, known := s.place(l.ID)
		if o.origins[at] = x; !known || process == 0 {
			continue
		}
		if t, ok := s.processOrGroup(process); ok {
			e.tokens.locations.set(int(at), uint32(t)) // this also applies if the process has events in a second stream
		} else {
			s.tokens[processTokens][streamToken{0, process}] = uint64(e.tokens.locations.at(int(at)))
		}
	}
}

// place returns the process that is named in the id of a location, and the location's origin.
func (s *sourceTrace) place(id string) (process uint64, x origin, ok bool) {
	x.source = s
	number, stream, stray := strings.Cut(id, "@")
	process, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return 0, x, false
	}
	if stray {
		n, err := strconv.ParseUint(stream, 16, 32)
		x.stream = uint32(n)
		return process, x, err == nil
	}
	if x.stream, x.listed = s.r.master.Stream(uint32(process)); !x.listed {
		x.stream = s.model.homeStreams[process]
	}
	return process, x, true
}

// origin returns the origin of a location with the given id.
func (o *rewriting) origin(loc uint32, id string) (x origin) {
	if o.sources[0].Index == nil {
		_, x, _ = o.sources[0].place(id)
	} else if loc < uint32(len(o.origins)) {
		x = o.origins[loc]
	}
	return x
}

// source returns the trace that a location belongs to.
func (o *rewriting) source(loc uint32) *sourceTrace {
	if loc < uint32(len(o.origins)) && o.origins[loc].source != nil {
		return o.origins[loc].source
	}
	return o.sources[0]
}

// stream returns the stream to which the events of a process are written. Processes stay in their streams,
// unless the trace is repaired. This includes processes that the master file does not name.
func (e *encoder) stream(loc, process uint32) uint32 {
	if e.original != nil && e.defaultStreams {
		x := e.original.origin(loc, e.defs.Locations.At(loc).ID)
		if x.source != nil && !x.listed {
			if id, ok := x.source.streams[x.stream]; ok {
				if e.defs.Repaired {
					e.w.master.Assign(process, id)
				}
				return id
			}
		}
	}
	return e.w.assign(process)
}

// markerStream returns the stream to whose file a marker at a location is written.
func (e *encoder) markerStream(loc, stream uint32) uint32 {
	if e.original == nil || !e.defaultStreams {
		return 0
	}
	return e.original.source(loc).streams[stream]
}

// eachDefinition calls use with each definition of a part, in the form in which the encoder writes it.
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

// eachOriginal calls use with each definition of a part of a trace. If texts are renamed, the definition has
// its new name.
func (e *encoder) eachOriginal(s *sourceTrace, part Part, use func(r *Record) error) error {
	for r, err := range s.r.withoutReport().records(context.Background(), part) {
		if err == nil && r.Type != Marker {
			e.rename(r)
			err = use(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rename replaces the parts of a definition that reveal the origin of a trace, if the texts of the trace are
// renamed.
func (e *encoder) rename(r *Record) {
	rename := e.defs.Rename
	if rename == nil {
		return
	}
	text := func(f field, word bool) {
		if s := r.text(f); specs[r.Type].hasField(f) && *s != "" {
			*s = rename(trace.ToUTF8(*s), word)
		}
	}
	for i := range r.KeyValues {
		r.KeyValues[i].Bytes = nil
	}
	switch r.Type {
	case DefVersion: // libotf's version text is a constant
		return
	case DefUniqueID: // libotf derives this id from the time of day
		r.UniqueID = 0
	case DefSCL:
		r.Line = 0
	case DefProcessGroup:
		if node, ok := strings.CutPrefix(r.Name, nodeGroup); ok {
			r.Name = nodeGroup + rename(trace.ToUTF8(node), false)
			return
		}
	}
	text(fieldName, r.Type == DefKeyValue)
	text(fieldUnit, true)
	text(fieldText, false)
}

// rewriteDefinitions writes the definitions of the original trace and the definitions that were added to the
// model.
func (e *encoder) rewriteDefinitions() error {
	merged := len(e.original.sources) > 1
	if !merged {
		had, err := e.original.sources[0].model.extent()
		if err != nil {
			return err
		}
		e.original.moved = e.defs.Retimed || e.extent.any && e.extent != had
	}
	empty := true
	write := func(r *Record) error {
		empty = false
		if r.Type == Unknown {
			e.loss.Add("definition", "", format.Degraded, "OTF does not define a record of this type", 1)
			return nil
		}
		if merged && !e.updateMerged(r) || !merged && !e.updateTimes(r) {
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
	if err := e.eachDefinition(Definitions, write); err != nil {
		return err
	}
	if e.defs.Pruned {
		if err := e.eachDefinition(Markers, e.writeMarkerDefinition); err != nil {
			return err
		}
	}
	if !merged && e.defs.Repaired {
		if empty { // the file is missing although libotf expects it
			if err := write(&Record{Type: DefTimerResolution, TicksPerSecond: uint64(e.defs.Clock.Num)}); err != nil {
				return err
			}
		}
		if err := e.writeStandIns(e.original.sources[0], write); err != nil {
			return err
		}
	}
	// Entries that the model has added have no id. Stand-ins for undefined tokens have an id; their tokens
	// stay undefined unless the trace is repaired.
	for i, a := range e.defs.Attributes.All() {
		if a.ID == "" && e.original.keys[i] {
			if err := write(&Record{Type: DefKeyValue, Token: uint64(e.tokens.attributes.at(i)),
				Kind: uint64(keyType(a.Type)), Name: a.Name, Text: a.Doc}); err != nil {
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

// writeMarkerDefinition writes the definition of a marker to the file of its stream.
func (e *encoder) writeMarkerDefinition(r *Record) error {
	if r.Type == Unknown {
		e.loss.Add("definition", "", format.Degraded, "OTF does not define a record of this type", 1)
		return nil
	}
	return e.w.Stream(r.Stream).Write(r)
}

// updateTimes updates the times in a definition if the written trace begins or ends at another time than the
// original one. It returns false if the definition is a sample point whose records are not written.
func (e *encoder) updateTimes(r *Record) bool {
	switch {
	case e.announcesDropped(r):
		return false
	case !e.original.moved:
	case r.Type == DefTimeRange && e.extent.any:
		r.MinTime, r.MaxTime = e.extent.first, e.extent.last
	case r.Type == DefAuxSamplePoint && e.defs.Retimed:
		e.loss.Add("trace", "sample points", format.Degraded, "the snapshots and summaries moved to other times", 1)
		return false
	case r.Type == DefAuxSamplePoint:
		return e.extent.has(r.SampleTime)
	}
	return true
}

// announcesDropped reports whether a definition is a sample point of whose records some kind has been dropped.
func (e *encoder) announcesDropped(r *Record) bool {
	if r.Type != DefAuxSamplePoint || e.defs.Dropped == nil {
		return false
	}
	first, last := trace.EnterSnapshot, trace.MetricSnapshot
	if r.Kind == summaryPoint {
		first, last = trace.RegionSummary, trace.FileGroupSummary
	}
	for k := first; k <= last; k++ {
		if e.defs.Dropped(k) {
			return true
		}
	}
	return false
}

// onlyTrace returns the trace that is written again with its own tokens. It returns nil if several traces are
// merged.
func (o *rewriting) onlyTrace() *sourceTrace {
	if o.sources[0].Index != nil {
		return nil
	}
	return o.sources[0]
}

// writeStandIns defines the tokens that the original trace does not define. If definitions were removed, it defines
// only the tokens that records of the written trace name.
func (e *encoder) writeStandIns(s *sourceTrace, write func(*Record) error) error {
	for _, x := range s.model.standIns {
		if _, listed := s.r.master.Stream(0); x.table == processes && x.token == 0 && !listed {
			continue // no process: markers of the whole trace have the process 0
		}
		t := [...]Type{functions: DefFunction, groups: DefProcessGroup, counters: DefCounter, files: DefFile,
			functionGroups: DefFunctionGroup, fileGroups: DefFileGroup, processes: DefProcess,
			collectives: DefCollectiveOperation, markers: DefMarker}[x.table]
		r := Record{Type: t, Token: x.token, Name: x.name}
		if t == DefCollectiveOperation {
			r.Kind = allToAll // otfprofile aborts if an operation has no kind
		}
		if s.Index != nil {
			space := tokensOfDefinitions[t].own
			if entry, ok := s.entry(&r); ok {
				r.Token = uint64(e.tokens.ofType(t).at(int(entry.index)))
			} else if !e.original.referred[tokenOf{space, streamToken{0, x.token}}] {
				continue
			}
		}
		if err := write(&r); err != nil {
			return err
		}
	}
	return nil
}

// setOriginalRecord sets r to the record from which a row was read. It returns false if there is no
// record to write.
func (e *encoder) setOriginalRecord(c *trace.Cursor, r *Record) bool {
	if c.Derived() {
		return false // another row writes the record from which this row was read
	}
	frequent := e.native(c, r)
	s := e.original.source(c.Location())
	if s.Index != nil {
		stream := e.original.origin(c.Location(), "").stream
		r.SCL = s.token(sclTokens, stream, r.SCL)
		if specs[r.Type].hasField(fieldRoot) {
			r.Root = e.rootToken(s, stream, r.Root)
		}
	}
	if s.model.operations != nil && !e.original.global && specs[r.Type].hasField(fieldCollective) {
		r.Collective = s.model.operationToken(r.Stream, r.Collective)
	}
	if e.original.referred != nil {
		e.original.noteReferences(r)
	}
	if r.Type == Leave && s.model.onlyUnnamedLeaves {
		r.Function = 0
	}
	if frequent {
		return true
	}
	if r.Type == EventComment && c.Kind() != trace.Comment {
		if e.defs.Repaired && s.r.cut.has(r) {
			return false // the decoder has already reported the line
		}
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "", format.Lost, "OTF has no record for it", 1)
		return false
	}
	if r.check() != nil {
		e.truncate(r)
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "number", format.Degraded,
			"the number is too large for the field of the record", 1)
	}
	return true
}

// rootToken returns the token of the process that is the root of a collective operation. root is the number of a
// location, or a process of the source that has no location.
func (e *encoder) rootToken(s *sourceTrace, stream uint32, root uint64) uint64 {
	if loc, ok := e.locationWithID(strconv.FormatUint(root, 10)); ok && root != 0 {
		return uint64(e.tokens.locations.at(int(loc)))
	}
	return s.token(processTokens, stream, root)
}

// noteReferences marks the definitions to which a record refers and for which the model has no table. Only collective
// operations may have the token 0.
func (o *rewriting) noteReferences(r *Record) {
	note := func(space tokenSpace, f field) {
		if specs[r.Type].hasField(f) && (*r.number(f) != 0 || f == fieldCollective) {
			markKept(o.referred, space, r.Stream, *r.number(f))
		}
	}
	note(sclTokens, fieldSCL)
	note(operationTokens, fieldCollective)
	note(processTokens, fieldRoot)
	switch r.Type {
	case FunctionGroupSummary:
		note(functionGroupTokens, fieldGroup)
	case FileGroupOperationSummary:
		note(fileGroupTokens, fieldGroup)
	}
}

// groupToken returns the token in a stream of the group whose name is entry ref of the strings.
func (e *encoder) groupToken(table int, stream, ref uint32) uint64 {
	if e.original == nil {
		return e.summaryGroup(table, ref)
	}
	k := namedGroup{table, *e.defs.Strings.At(ref), stream}
	token, ok := e.original.groups[k]
	if !ok {
		k.stream = 0
		token, ok = e.original.groups[k]
	}
	if ok {
		return token
	}
	space := functionGroupTokens
	if table == fileGroups {
		space = fileGroupTokens
	}
	for _, s := range e.original.sources {
		for _, x := range s.model.standIns {
			name := x.name
			if e.defs.Rename != nil {
				name = e.defs.Rename(name, false)
			}
			if x.table == table && name == k.name {
				token = s.token(space, stream, x.token)
			}
		}
	}
	e.original.groups[k] = token
	return token
}
