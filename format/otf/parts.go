package otf

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// sourceTrace is an OTF trace whose definitions and events are written as OTF again. If several traces are
// merged into one, a definition gets another token if its own token is already in use (docs/formats/otf.md,
// "Rewriting a trace").
type sourceTrace struct {
	trace.SourceTrace
	number int // number of the trace, counted from 1
	r      *Reader
	model  *model
	joiner *joiner                             // nil if the trace is written with its own tokens
	tokens [tokenSpaces]map[streamToken]uint64 // written token for each token of the trace
	// streams maps the streams of the trace to the streams that are written.
	streams map[uint32]uint32
}

// streamToken is a token in the definitions of a stream, where stream 0 stands for the global
// definitions. A process has the same token in all streams.
type streamToken struct {
	stream uint32
	token  uint64
}

// tokenSpace identifies a set of tokens in which each token has one meaning. A group of processes may have the token of
// a process. Where a definition names either, such a token means the process.
type tokenSpace uint8

const (
	processTokens tokenSpace = iota
	functionTokens
	functionGroupTokens
	operationTokens
	counterTokens
	counterGroupTokens
	sclTokens
	sclFileTokens
	fileTokens
	fileGroupTokens
	keyTokens
	markerTokens
	attributeListTokens
	groupTokens
	tokenSpaces
)

// tokenField is a field of a definition with a token.
type tokenField struct {
	f     field
	space tokenSpace
}

// definitionTokens lists the tokens in a definition: its own token, the tokens in its fields, and the tokens
// of its members.
type definitionTokens struct {
	own     tokenSpace
	refs    []tokenField
	members bool // whether the members are processes or groups of processes
}

// tokensOfDefinitions describes the types of definitions that contain tokens.
var tokensOfDefinitions = map[Type]definitionTokens{
	DefProcess:                  {own: processTokens, refs: []tokenField{{fieldParent, processTokens}}},
	DefProcessGroup:             {own: groupTokens, members: true},
	DefProcessSubstitutes:       {own: processTokens, members: true},
	DefProcessOrGroupAttributes: {own: processTokens, refs: []tokenField{{fieldAttributeList, attributeListTokens}}},
	DefAttributeList:            {own: attributeListTokens},
	DefFunctionGroup:            {own: functionGroupTokens},
	DefFunction: {own: functionTokens, refs: []tokenField{{fieldGroup, functionGroupTokens}, {fieldSCL,
		sclTokens}}},
	DefCollectiveOperation: {own: operationTokens},
	DefCounterGroup:        {own: counterGroupTokens},
	DefCounter:             {own: counterTokens, refs: []tokenField{{fieldGroup, counterGroupTokens}}},
	DefCounterAssignments:  {own: counterTokens, members: true},
	DefSCLFile:             {own: sclFileTokens},
	DefSCL:                 {own: sclTokens, refs: []tokenField{{fieldFile, sclFileTokens}}},
	DefFileGroup:           {own: fileGroupTokens},
	DefFile:                {own: fileTokens, refs: []tokenField{{fieldGroup, fileGroupTokens}}},
	DefKeyValue:            {own: keyTokens},
	DefMarker:              {own: markerTokens},
}

// definitionTypes lists a type of definition for each set of tokens.
var definitionTypes = [tokenSpaces]Type{DefProcess, DefFunction, DefFunctionGroup, DefCollectiveOperation, DefCounter,
	DefCounterGroup, DefSCL, DefSCLFile, DefFile, DefFileGroup, DefKeyValue, DefMarker, DefAttributeList, DefProcessGroup}

// joinOrder lists the types of definitions with tokens in the order in which they are joined. A definition
// comes after the definitions to which it refers, except for definitions of its own type.
var joinOrder = []Type{DefKeyValue, DefProcess, DefProcessGroup, DefProcessSubstitutes, DefAttributeList,
	DefProcessOrGroupAttributes, DefSCLFile, DefSCL, DefFunctionGroup, DefFunction, DefCollectiveOperation,
	DefCounterGroup, DefCounter, DefCounterAssignments, DefFileGroup, DefFile, DefMarker}

// joiner joins the definitions of several traces.
type joiner struct {
	merged              bool // several traces are merged
	global              bool // all tokens are global
	globalWithoutTokens bool // definitions without tokens are global, too
	used                [tokenSpaces]map[streamToken]bool
	greatest            map[Type]uint64                     // the greatest token of the definitions of each type
	entries             [tokenSpaces]map[joinedEntry]uint64 // written token of each entry of the written trace
	creator             string                              // creator of the first trace, from its definitions
	// contents holds the written tokens of definitions for which the model has no table, by the content
	// of the definition.
	contents map[streamType]map[string]uint64
	records  map[*Record]bool     // records that define an entry of the written trace
	groups   map[streamToken]bool // written tokens of groups of processes
	// pairs holds the key-value pairs of the written definitions. dropped counts the definitions that are not written
	// and whose pairs differ from those of the written one.
	pairs   map[writtenDefinition][]KeyValue
	dropped int64
}

// writtenDefinition identifies a definition by its type and its written token.
type writtenDefinition struct {
	typ Type
	at  streamToken
}

// streamType is a record type together with a stream. It identifies the definitions of that type in that
// stream.
type streamType struct {
	stream uint32
	typ    Type
}

// joinedEntry is an entry of a table of the written trace.
type joinedEntry struct {
	typ   Type
	index uint32
}

// token returns the written token for a token of a stream of the trace. A token without a definition stays
// undefined: it changes if another definition has it.
func (s *sourceTrace) token(space tokenSpace, stream uint32, token uint64) uint64 {
	if s.Index == nil || token == 0 {
		return token
	}
	if t, ok := s.tokens[space][streamToken{stream, token}]; ok {
		return t
	}
	own := streamToken{0, token}
	t, ok := s.tokens[space][own]
	if !ok && space == processTokens {
		if t, ok = s.tokens[groupTokens][streamToken{stream, token}]; !ok {
			t, ok = s.tokens[groupTokens][own]
		}
		if ok {
			return t
		}
	}
	if !ok {
		t = s.joiner.freeToken(space, definitionTypes[space], own)
		s.tokens[space][own] = t
	}
	return t
}

// scope returns the key of a definition's token among the tokens of its trace.
func (r *Record) scope() streamToken {
	if r.Type == DefProcess {
		return streamToken{0, r.Token}
	}
	return streamToken{r.Stream, r.Token}
}

// writtenKey returns the key of a token of a stream among the written tokens.
func (j *joiner) writtenKey(stream uint32, token uint64) streamToken {
	if j.global {
		stream = 0
	}
	return streamToken{stream, token}
}

// entry returns the entry of the written trace that a definition defines. ok is false if the model has
// no table for the definition.
func (s *sourceTrace) entry(r *Record) (e joinedEntry, ok bool) {
	d, m := s.Defs, s.model
	find := func(table int, definition any) (joinedEntry, bool) {
		i, ok := m.index[scopedToken{table, r.Stream, r.Token}]
		if !ok {
			return joinedEntry{}, false
		}
		at := s.Index(definition, i)
		return joinedEntry{r.Type, at}, at != trace.NoRef
	}
	switch r.Type {
	case DefProcess:
		i, ok := m.locations[r.Token]
		if !ok {
			return joinedEntry{}, false
		}
		at := s.Index(&d.Locations, i)
		return joinedEntry{r.Type, at}, at != trace.NoRef
	case DefProcessGroup:
		return find(groups, &d.Communicator)
	case DefFunction:
		return find(functions, &d.Regions)
	case DefCounter:
		return find(counters, &d.Metrics)
	case DefFile:
		return find(files, &d.Files)
	case DefKeyValue:
		return find(keys, &d.Attributes)
	case DefMarker:
		return find(markers, &d.Markers)
	}
	return joinedEntry{}, false
}

// join returns the definitions of all sources, with the tokens with which they are written.
func (e *encoder) join(sources []*sourceTrace) (records []*Record) {
	j := &joiner{merged: len(sources) > 1, global: e.original.global, greatest: map[Type]uint64{},
		contents: map[streamType]map[string]uint64{}, records: map[*Record]bool{}, groups: map[streamToken]bool{},
		pairs: map[writtenDefinition][]KeyValue{}}
	j.globalWithoutTokens = j.global && (!j.merged || !e.defaultStreams)
	e.original.entries = j.records
	for i := range j.used {
		j.used[i], j.entries[i] = map[streamToken]bool{}, map[joinedEntry]uint64{}
	}
	j.used[groupTokens] = j.used[processTokens] // new tokens of groups are not those of processes
	var lists [][]*Record
	for _, s := range sources {
		list := s.definitions(e)
		lists = append(lists, list)
		for _, r := range list {
			if _, ok := tokensOfDefinitions[r.Type]; ok && (s.number == 1 || r.Type == DefProcess) {
				j.greatest[r.Type] = max(j.greatest[r.Type], r.Token)
			}
		}
	}
	for i, s := range sources {
		records = append(records, j.addNew(s, lists[i])...)
	}
	e.loss.Add("definition", "key-values", format.Degraded, "those of an equal definition stand for them", j.dropped)
	for _, typ := range []Type{DefProcess, DefProcessGroup, DefFunction, DefCounter, DefKeyValue, DefFile, DefMarker} {
		space, table := tokensOfDefinitions[typ].own, e.tokens.ofType(typ)
		for entry, token := range j.entries[space] {
			if entry.typ == typ {
				table.set(int(entry.index), uint32(token))
			}
		}
		for _, s := range sources {
			s.keepUndefined(typ, table)
		}
		for token := range j.used[space] { // entries that the model has added get tokens that are not in use
			table.markUsed(uint32(token.token))
		}
	}
	return records
}

// keepUndefined sets the tokens of entries without a definition to those that the definitions of the trace have for
// them. Otherwise events would get other tokens, because the tokens in definitions are in use.
func (s *sourceTrace) keepUndefined(typ Type, table *tokens) {
	space := tokensOfDefinitions[typ].own
	known := maps.Clone(s.tokens[space])
	if typ == DefProcessGroup { // a token that a definition names may be one of a group
		for own, token := range s.tokens[processTokens] {
			if _, ok := known[own]; !ok {
				known[own] = token
			}
		}
	}
	for own, token := range known {
		if entry, ok := s.entry(&Record{Type: typ, Stream: own.stream, Token: own.token}); ok {
			if _, defined := s.joiner.entries[space][entry]; !defined && !table.isSet(int(entry.index)) {
				table.set(int(entry.index), uint32(token))
			}
		}
	}
}

// definitions returns copies of the definitions of a trace.
func (s *sourceTrace) definitions(e *encoder) (list []*Record) {
	for _, part := range []Part{Definitions, Markers} {
		e.eachOriginal(s, part, func(r *Record) error { // the decoder has already reported damaged records
			list = append(list, r.Clone())
			return nil
		})
	}
	return list
}

// addNew returns the definitions of a source that no earlier source has.
func (j *joiner) addNew(s *sourceTrace, list []*Record) []*Record {
	s.joiner = j
	for i := range s.tokens {
		s.tokens[i] = map[streamToken]uint64{}
	}
	drop := map[*Record]bool{}
	for _, typ := range joinOrder {
		for _, r := range list {
			if own := r.scope(); r.Type == typ && !j.assign(s, r) {
				drop[r] = true
				r.Token = s.tokens[tokensOfDefinitions[typ].own][own]
				s.translateKeys(r)
				j.notePairs(r, false)
			}
		}
		for _, r := range list {
			if r.Type == typ && !drop[r] {
				s.translate(r)
				first, shared := j.assignByContent(s, r)
				if shared && !first {
					drop[r] = true
				}
				j.notePairs(r, !drop[r])
			}
		}
	}
	for _, id := range s.r.master.Streams() { // a process of the master file may have no definition
		for _, p := range s.r.master.Processes(id) {
			s.token(processTokens, id, uint64(p))
		}
	}
	for _, r := range list {
		if _, ok := tokensOfDefinitions[r.Type]; !ok {
			drop[r] = !j.translateOther(s, r)
			if r.Stream = s.streams[r.Stream]; j.globalWithoutTokens {
				r.Stream = 0
			}
		} else if j.global {
			r.Stream = 0
		}
	}
	return slices.DeleteFunc(list, func(r *Record) bool { return drop[r] })
}

// notePairs remembers the key-value pairs of a definition that is written. It counts another definition, which has the
// token of the written one, if its pairs are different.
func (j *joiner) notePairs(r *Record, written bool) {
	x := writtenDefinition{r.Type, j.writtenKey(r.scope().stream, r.Token)}
	if written {
		if len(r.KeyValues) > 0 {
			j.pairs[x] = r.KeyValues
		}
		return
	}
	if len(r.KeyValues) > 0 && !slices.EqualFunc(r.KeyValues, j.pairs[x], func(a, b KeyValue) bool {
		return a.Key == b.Key && a.Type == b.Type && a.Bits == b.Bits && bytes.Equal(a.Bytes, b.Bytes)
	}) {
		j.dropped++
	}
}

// contentTypes lists the types of definitions that are equal if their contents are equal.
var contentTypes = []Type{DefFunctionGroup, DefCounterGroup, DefFileGroup, DefSCLFile, DefSCL}

// assign gives a definition its written token, unless the token depends on the content of the definition. It
// returns false if the written trace already has the definition.
func (j *joiner) assign(s *sourceTrace, r *Record) bool {
	space := tokensOfDefinitions[r.Type].own
	switch r.Type {
	case DefFunctionGroup, DefCounterGroup, DefFileGroup, DefSCLFile, DefSCL:
		return true
	case DefProcessSubstitutes, DefProcessOrGroupAttributes, DefCounterAssignments: // these describe other definitions
		r.Token = s.token(space, r.Stream, r.Token)
		return true
	case DefCollectiveOperation:
		token := r.Token
		if j.global {
			token = s.Operation(s.model.operationNumber(r.Stream, token))
		}
		at := j.writtenKey(r.Stream, token)
		first := !j.used[space][at]
		j.used[space][at] = true
		s.tokens[space][r.scope()], r.Token = token, token
		return first
	}
	if token, twice := s.tokens[space][r.scope()]; twice {
		r.Token = token
		return false
	}
	entry, known := s.entry(r)
	if known {
		if token, ok := j.entries[space][entry]; ok {
			s.tokens[space][r.scope()] = token
			return false
		}
	}
	token, at := r.Token, j.writtenKey(r.scope().stream, r.Token)
	if process, ok := s.tokens[processTokens][streamToken{0, token}]; r.Type != DefProcessGroup || !ok ||
		process != token || j.groups[at] {
		token = j.freeToken(space, r.Type, at)
	}
	if r.Type == DefProcessGroup {
		j.groups[j.writtenKey(r.scope().stream, token)] = true
	}
	s.tokens[space][r.scope()], r.Token = token, token
	if known {
		j.entries[space][entry], j.records[r] = token, true
	}
	return true
}

// assignByContent handles the types of definitions that are equal if their contents are equal. It gives the
// definition the written token for its content. shared is false for other types. first is true if no earlier
// definition has the same content.
func (j *joiner) assignByContent(s *sourceTrace, r *Record) (first, shared bool) {
	if !slices.Contains(contentTypes, r.Type) {
		return true, false
	}
	space, own := tokensOfDefinitions[r.Type].own, r.scope()
	at := j.writtenKey(own.stream, own.token)
	r.Token = 0
	content, kind := string(r.appendLine(nil, false)), streamType{at.stream, r.Type}
	if j.contents[kind] == nil {
		j.contents[kind] = map[string]uint64{}
	}
	token, known := j.contents[kind][content]
	if !known {
		token = j.freeToken(space, r.Type, at)
		j.contents[kind][content] = token
	}
	if _, twice := s.tokens[space][own]; !twice {
		s.tokens[space][own] = token
	}
	r.Token = token
	return !known, true
}

// freeToken returns an unused token: the given token if it is unused, and otherwise a token after the greatest
// token of the type.
func (j *joiner) freeToken(space tokenSpace, typ Type, at streamToken) (token uint64) {
	for j.used[space][at] || at.token == 0 {
		if at.token = j.greatest[typ] + 1; at.token >= laneProcess {
			at.token = 1
			for j.used[space][at] {
				at.token++
			}
		}
		j.greatest[typ] = at.token
	}
	j.used[space][at] = true
	j.greatest[typ] = max(j.greatest[typ], at.token)
	return at.token
}

// translate replaces the tokens in a definition by the written tokens.
func (s *sourceTrace) translate(r *Record) {
	d := tokensOfDefinitions[r.Type]
	for _, x := range d.refs {
		n := r.number(x.f)
		*n = s.token(x.space, r.Stream, *n)
	}
	if d.members {
		for i, x := range r.Members {
			r.Members[i] = uint32(s.token(processTokens, r.Stream, uint64(x)))
		}
	}
	s.translateKeys(r)
}

// translateKeys replaces the keys of a definition's pairs.
func (s *sourceTrace) translateKeys(r *Record) {
	for i := range r.KeyValues {
		r.KeyValues[i].Key = uint32(s.token(keyTokens, r.Stream, uint64(r.KeyValues[i].Key)))
	}
}

// translateOther translates a definition without a token of its own. It returns false if a trace can
// have only one such definition and the written trace already has it.
func (j *joiner) translateOther(s *sourceTrace, r *Record) bool {
	s.translateKeys(r)
	switch r.Type {
	case DefVersion, DefUniqueID, DefTimerResolution, DefTimeRange:
		return s.number == 1
	case DefCreator:
		if s.number > 1 {
			if r.Text == j.creator {
				return false
			}
			r.Type, r.Text = DefinitionComment, fmt.Sprintf("creator of trace %d: %s", s.number, r.Text)
		} else {
			j.creator = r.Text
		}
	case DefAuxSamplePoint:
		if !j.merged {
			return true
		}
		t, ok := s.Time(s.model.clock.toModel(r.SampleTime))
		r.SampleTime = uint64(t) // until it is written, the field holds a time on the clock of the merged trace
		return ok
	}
	return true
}

// updateMerged converts the times in a definition of a merged trace. It returns false if the clock of the
// merged file cannot represent such a time, or if the definition is a sample point of which no records are
// left.
func (e *encoder) updateMerged(r *Record) bool {
	switch r.Type {
	case DefTimerResolution:
		r.TicksPerSecond = uint64(e.defs.Clock.Num)
	case DefTimeRange:
		if e.extent.any {
			r.MinTime, r.MaxTime = e.extent.first, e.extent.last
		}
	case DefAuxSamplePoint:
		t, ok := e.reader.clock.toFile(int64(r.SampleTime))
		r.SampleTime = t
		return ok && e.extent.has(t) && !e.announcesDropped(r)
	}
	return true
}

// tokenOf is a token together with its space.
type tokenOf struct {
	space tokenSpace
	streamToken
}

// markKept marks the definition that a token of a stream names as kept: the stream's own definition, or the
// global one.
func markKept(kept map[tokenOf]bool, space tokenSpace, stream uint32, token uint64) {
	kept[tokenOf{space, streamToken{0, token}}] = true
	kept[tokenOf{space, streamToken{stream, token}}] = true
}

// keptDefinitions finds the definitions that stay in a trace from which others are removed.
type keptDefinitions struct {
	kept    map[tokenOf]bool
	records map[tokenOf][]*Record // the definitions by their own tokens
	next    []tokenOf             // kept tokens whose records have not been followed
	// processes holds the tokens of processes. A group with another token has the definitions that name its token.
	processes map[uint64]bool
}

// mark marks a token as kept.
func (k *keptDefinitions) mark(t tokenOf) {
	if k.kept[t] {
		return
	}
	k.kept[t] = true
	k.next = append(k.next, t)
	if (t.space == processTokens || t.space == groupTokens) && !k.processes[t.token] {
		k.mark(tokenOf{processTokens, t.streamToken})
		k.mark(tokenOf{groupTokens, t.streamToken})
	}
}

// markName marks the definition that a token of a stream names as kept, as markKept does.
func (k *keptDefinitions) markName(space tokenSpace, stream uint32, token uint64) {
	k.mark(tokenOf{space, streamToken{0, token}})
	k.mark(tokenOf{space, streamToken{stream, token}})
}

// follow marks the definitions to which those that are kept refer, and so on. Each definition is followed once,
// because definitions may refer to each other in long chains.
func (k *keptDefinitions) follow() {
	for len(k.next) > 0 {
		t := k.next[len(k.next)-1]
		k.next = k.next[:len(k.next)-1]
		for _, r := range k.records[t] {
			d := tokensOfDefinitions[r.Type]
			for _, x := range d.refs {
				k.markName(x.space, r.Stream, *r.number(x.f))
			}
			if d.members {
				for _, p := range r.Members {
					k.markName(processTokens, r.Stream, uint64(p))
				}
			}
			for _, kv := range r.KeyValues {
				k.markName(keyTokens, r.Stream, uint64(kv.Key))
			}
		}
	}
}

// prune removes the definitions to which no entry of the written trace refers. A definition that
// describes others stays if one of them stays.
func (e *encoder) prune() {
	o, t := e.original, e.tokens
	k := keptDefinitions{kept: map[tokenOf]bool{}, records: map[tokenOf][]*Record{}, processes: map[uint64]bool{}}
	for _, r := range o.records {
		if r.Type == DefProcess {
			k.processes[r.Token] = true
		}
		if d, ok := tokensOfDefinitions[r.Type]; ok {
			own := tokenOf{d.own, r.scope()}
			k.records[own] = append(k.records[own], r)
		}
	}
	for i := range e.defs.Locations.Len() { // also locations that no record defines
		k.processes[uint64(t.locations.at(i))] = true
		k.markName(processTokens, 0, uint64(t.locations.at(i)))
	}
	for r := range o.entries {
		k.mark(tokenOf{tokensOfDefinitions[r.Type].own, r.scope()})
	}
	for x := range o.referred {
		k.mark(x)
	}
	k.follow()
	o.records = slices.DeleteFunc(o.records, func(r *Record) bool {
		d, ok := tokensOfDefinitions[r.Type]
		return ok && !k.kept[tokenOf{d.own, r.scope()}]
	})
	master := &MasterControl{}
	for _, stream := range e.w.master.Streams() {
		for _, p := range e.w.master.Processes(stream) {
			if k.kept[tokenOf{processTokens, streamToken{0, uint64(p)}}] {
				master.Assign(p, stream)
			}
		}
	}
	e.w.master, e.files.master = master, master
}

// numberStreams numbers the streams of all traces. The streams of the first trace keep their numbers, and the
// streams of the other traces get the following numbers. It returns the streams, with the processes of the
// first trace only.
func numberStreams(sources []*sourceTrace) *MasterControl {
	m := sources[0].r.master.Clone()
	for i, s := range sources {
		s.streams = map[uint32]uint32{}
		for _, id := range s.r.master.Streams() {
			stream := id
			if i > 0 {
				stream = m.NewStream()
				m.AddStream(stream)
			}
			s.streams[id] = stream
		}
	}
	return m
}

// assignStreams assigns the processes of all traces except the first to their streams.
func assignStreams(m *MasterControl, sources []*sourceTrace) {
	for _, s := range sources[1:] {
		for _, id := range s.r.master.Streams() {
			for _, p := range s.r.master.Processes(id) {
				m.Assign(uint32(s.token(processTokens, id, uint64(p))), s.streams[id])
			}
		}
	}
}

// sameTrace returns the description of a trace that is written alone. Its entries, times and operation numbers
// do not change.
func sameTrace(d *trace.Definitions) trace.SourceTrace {
	return trace.SourceTrace{Defs: d, Retimed: d.Retimed, Index: func(_ any, i uint32) uint32 { return i },
		Time: func(t int64) (int64, bool) { return t, true }, Operation: func(n uint64) uint64 { return n }}
}

// sourcesOf returns the traces from which a trace was merged. It returns nil if they are not OTF
// traces.
func sourcesOf(native *trace.SourceTraces) (sources []*sourceTrace) {
	for i, p := range native.List {
		o, ok := p.Defs.Native.(*originalTrace)
		if !ok {
			return nil
		}
		sources = append(sources, &sourceTrace{SourceTrace: p, number: i + 1, r: o.r, model: o.model})
	}
	return sources
}
