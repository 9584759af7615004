package otf

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
)

// The tables of definitions. Each table has tokens of its own.
const (
	functions = iota
	groups    // groups of processes: communicators
	counters
	files
	keys
	collectives
	markers
	functionGroups
	counterGroups
	fileGroups
	sclFiles
	scls
	processes // processes that have events in several streams
)

// scopedToken is a token in one table of the definitions of one stream.
type scopedToken struct {
	table  int
	stream uint32
	token  uint64
}

// model builds the common definitions of a trace.
type model struct {
	defs   *trace.Definitions
	index  map[scopedToken]uint32 // index of the definition in its table of the model, or in the strings
	places map[scopedToken]sourcePlace
	// operations holds the collective operations that single streams define; nil if there are none.
	operations *localOperations
	local      map[uint32]bool // streams that have definitions of their own
	unified    bool            // equal definitions of several streams become one
	// onlyUnnamedLeaves is set if no leave names a function. It is known after Prepare.
	onlyUnnamedLeaves bool
	// marksLeaves is set by an encoder that writes the trace as OTF again. If some leaves name a function and
	// others do not, the leaves without a function get an attribute, so that the encoder can distinguish them.
	marksLeaves bool
	// locations holds the locations by process. Processes that the master file does not name also have an
	// entry in index for each stream.
	locations map[uint64]uint32
	// homeStreams maps processes that the master file does not name to the stream in which they were first found.
	homeStreams map[uint64]uint32
	// extent returns the times of the first and the last record, without markers.
	extent func() (extent, error)
	// undefined is called once for each token that has no definition.
	undefined func(what string, stream uint32, token uint64)
	marks     extent          // times of the markers
	roots     *sync.Map       // results of Memberships.Ranks as maps from locations to ranks, by communicator
	async     map[uint32]bool // tokens of the keys whose pairs hold the time at which a counter was read
	// 1 + the location of each process with a small number; 0 means that the location must be looked up in
	// locations
	nearLocations []uint32
	// small holds 1 + the index of the definition of each small global token, by table; 0 means that the index
	// must be looked up in the field index.
	small [processes + 1][]uint32
	// These are the attributes that weft adds. Each is NoRef until its first use.
	scl      uint32 // source places
	comments uint32 // texts of comments
	record   uint32 // record types
	unnamed  uint32 // leaves without a function
	place    uint32 // streams of markers
	// frozen forbids adding definitions. needsDefinition is set when a definition would have been added.
	frozen, needsDefinition bool
	// These fields are used for a trace that weft has converted: the restorer of the carried data, the clock,
	// and the number of entries of each table that are in the index.
	carried bool
	// entries of the strings by their text, if comments can stand for generic events; named is their number
	generic       map[string]uint32
	named         int
	restorer      *carrier.Restorer
	clock         fileClock
	indexedCounts [processes + 1]int
	process       []uint64  // process of each location; indexed by location
	standIns      []standIn // stand-ins for undefined tokens
	// groupNames holds the names of groups that OTF's own records define.
	groupNames map[scopedToken]string
}

// standIn is a definition that replaces a missing definition.
type standIn struct {
	table int
	token uint64
	name  string
}

// addStandIn records that a definition is a stand-in for a token.
func (m *model) addStandIn(table int, token uint64, name string) {
	m.standIns = append(m.standIns, standIn{table, token, name})
}

// sourcePlace is a source code location.
type sourcePlace struct {
	file string
	line int64
}

func definitionID(stream uint32, token uint64) string {
	if stream == 0 {
		return strconv.FormatUint(token, 10)
	}
	return fmt.Sprintf("%d/%d", stream, token)
}

// find returns the definition that a token of a stream names: the stream's own definition if there is one, and
// otherwise the global definition.
func (m *model) find(table int, stream uint32, token uint64) (uint32, bool) {
	if len(m.local) > 0 && m.local[stream] {
		if i, ok := m.index[scopedToken{table, stream, token}]; ok {
			return i, true
		}
	}
	if small := m.small[table]; token < uint64(len(small)) && small[token] > 0 {
		return small[token] - 1, true
	}
	i, ok := m.index[scopedToken{table, 0, token}]
	return i, ok
}

// valueTypes maps types of pairs to types of the model.
var valueTypes = [...]trace.Type{
	Char: trace.Char,
	Int8: trace.Int8, Uint8: trace.Uint8, Int16: trace.Int16, Uint16: trace.Uint16,
	Int32: trace.Int32, Uint32: trace.Uint32, Int64: trace.Int64, Uint64: trace.Uint64,
	Float32: trace.Float32, Float64: trace.Float64,
	Bytes: trace.Bytes,
}

// value returns the value of a pair as a value of the model. The result does not share the memory of the pair. texts
// may be nil.
func (v *KeyValue) value(texts *shortTexts) trace.Value {
	t := valueTypes[v.Type]
	switch v.Type {
	case Bytes:
		return trace.Value{Str: texts.text(v.Bytes), Type: t}
	case Int8, Int16, Int32, Int64:
		return trace.Value{Num: uint64(v.Int()), Type: t}
	}
	return trace.Value{Num: v.Bits, Type: t}
}

// counterType returns the type of a counter's values.
func counterType(properties uint64) trace.Type {
	switch properties & 0x1e0 {
	case 0x20, 0x60, 0xa0:
		return trace.Int64
	case 0x100:
		return trace.Float32
	case 0x120:
		return trace.Float64
	}
	return trace.Uint64
}

// defaultResolution is the number of ticks in a second if the trace has no DefTimerResolution.
const defaultResolution = 1_000_000

func emptyModel(d *trace.Definitions) *model {
	return &model{roots: &sync.Map{}, defs: d, index: map[scopedToken]uint32{}, places: map[scopedToken]sourcePlace{},
		local: map[uint32]bool{}, locations: map[uint64]uint32{}, homeStreams: map[uint64]uint32{},
		scl: trace.NoRef, comments: trace.NoRef, record: trace.NoRef, unnamed: trace.NoRef, place: trace.NoRef,
		clock: fileClock{scale: 1}}
}

// newModel reads all definitions, including those of markers.
func newModel(ctx context.Context, r *Reader) (*model, error) {
	m := emptyModel(&trace.Definitions{Format: "otf", Origin: "otf", Conventions: format.Conventions("otf"),
		Clock: trace.TicksPerSecond(defaultResolution)})
	list, err := m.readDefinitions(ctx, r)
	if err != nil {
		return nil, err
	}
	carried, err := r.boolOption(CarriedOption, "true")
	if err != nil {
		return nil, err
	}
	if data := carriedDefinitions(list); data != nil && carried {
		x, err := restoreModel(data)
		if err == nil {
			x.marks = m.marks
			x.addSamplePoints(m)
			x.nameGroups(list)
			x.defs.Native = restoredFrom(list, x.restorer)
			x.fillSmallTables()
			return x, nil
		}
		if err := r.opt.Read.Defect(&trace.Defect{Rule: "otf.carried", Severity: trace.Error,
			Position: trace.Position{File: r.path(fileName(r.stub, 0, Definitions))},
			Found:    err.Error(),
			Expected: "definitions that weft wrote; weft uses the definitions of OTF instead"}); err != nil {
			return nil, err
		}
	}
	m.addTexts(list)
	unify, err := r.boolOption(unifyOption, "false")
	if err != nil {
		return nil, err
	}
	async, err := r.boolOption(asyncOption, "false")
	if err != nil {
		return nil, err
	}
	var known map[string]uint32
	if unify {
		known = map[string]uint32{}
	}
	for _, r := range list { // the pairs of other definitions refer to keys, which may be defined behind them
		if r.Type == DefKeyValue {
			m.addKey(r, async, m.setter(r, known))
		}
	}
	for _, r := range list {
		if r.Type != DefKeyValue {
			m.addDefinition(r, m.setter(r, known))
		}
	}
	m.addProcesses(list, r.master)
	m.keepTokens(list)
	m.unified = unify
	m.defs.Native = &originalTrace{r: r, model: m}
	if len(m.places) > 0 {
		m.ownAttribute(&m.scl, sclName, trace.Uint32) // events will use this attribute
	}
	m.fillSmallTables()
	return m, nil
}

// readDefinitions reads the records of all definitions, including those of markers.
func (m *model) readDefinitions(ctx context.Context, r *Reader) (list []*Record, err error) {
	for x, err := range r.records(ctx, Definitions, Markers) {
		if err != nil {
			return nil, err
		}
		switch {
		case x.Type == Marker:
			m.marks.add(x.Time)
		case x.Type == DefAuxSamplePoint && x.Stream == 0 && len(x.KeyValues) == 0:
			// A trace may have many of these definitions, and no other record refers to them, so only
			// their text is kept.
			m.keepOpaque(x)
		default:
			list = append(list, x.Clone())
		}
	}
	return list, nil
}

// addTexts adds the definitions that other definitions refer to: groups, files and places in the source.
// They are added first, because definitions may be in any order.
func (m *model) addTexts(list []*Record) {
	d := m.defs
	add := func(table int, r *Record) {
		m.index[scopedToken{table, r.Stream, r.Token}] = d.Strings.Add(trace.ToUTF8(r.Name))
	}
	for _, r := range list {
		if r.Stream != 0 {
			m.local[r.Stream] = true
		}
		switch r.Type {
		case DefTimerResolution:
			if isResolution(r.TicksPerSecond) {
				d.Clock = trace.TicksPerSecond(int64(r.TicksPerSecond))
			}
		case DefFunctionGroup:
			add(functionGroups, r)
		case DefCounterGroup:
			add(counterGroups, r)
		case DefFileGroup:
			add(fileGroups, r)
		case DefSCLFile:
			add(sclFiles, r)
		case DefCollectiveOperation:
			add(collectives, r)
		}
	}
	m.numberOperations(list)
	for _, r := range list {
		if r.Type == DefSCL {
			m.places[scopedToken{scls, r.Stream, r.Token}] = sourcePlace{m.textOf(sclFiles, r.Stream, r.File), int64(r.Line)}
		}
	}
}

// numberOperations adds the collective operations. In the model, events refer to them by numbers. The number
// of a global operation is its token. An operation that a single stream defines gets the number of an equal
// operation, if there is one. Otherwise it gets its own token, if that number is free, or else another free
// number.
func (m *model) numberOperations(list []*Record) {
	type operation struct {
		name string
		kind uint64
	}
	numbers, used, next := map[operation]uint64{}, map[uint64]bool{}, uint64(1)
	add := func(r *Record, number uint64) {
		if x := (operation{r.Name, r.Kind}); !used[number] {
			numbers[x] = number
		}
		used[number] = true
		m.defs.Operations.Add(trace.Named{ID: strconv.FormatUint(number, 10), Name: trace.ToUTF8(r.Name),
			Attrs: []trace.Attr{{Key: "type", Value: trace.StringValue(operationKind(r.Kind))}}})
	}
	last := map[scopedToken]*Record{} // the last definition of a token counts
	for _, r := range list {
		if r.Type == DefCollectiveOperation {
			last[scopedToken{collectives, r.Stream, r.Token}] = r
		}
	}
	for _, r := range list {
		if r.Stream == 0 && r == last[scopedToken{collectives, 0, r.Token}] {
			add(r, r.Token)
		}
	}
	for _, r := range list {
		own := scopedToken{collectives, r.Stream, r.Token}
		if r.Stream == 0 || r != last[own] {
			continue
		}
		if m.operations == nil {
			m.operations = &localOperations{map[scopedToken]uint64{}, map[scopedToken]uint64{}}
		}
		number, known := numbers[operation{r.Name, r.Kind}]
		if _, taken := m.operations.token[scopedToken{collectives, r.Stream, number}]; !known || taken {
			for number = r.Token; used[number]; next++ {
				number = next
			}
			add(r, number)
		}
		m.operations.number[own] = number
		m.operations.token[scopedToken{collectives, r.Stream, number}] = r.Token
	}
}

// localOperations holds two maps for the collective operations that single streams define. number maps a token
// to the number that events have in the model, and token maps that number back to the token.
type localOperations struct{ number, token map[scopedToken]uint64 }

// operationNumber returns the number of the collective operation that a token of a stream names.
func (m *model) operationNumber(stream uint32, token uint64) uint64 {
	if m.operations != nil {
		if n, ok := m.operations.number[scopedToken{collectives, stream, token}]; ok {
			return n
		}
	}
	return token
}

// operationToken returns the token of a stream for the number of a collective operation.
func (m *model) operationToken(stream uint32, number uint64) uint64 {
	if m.operations != nil {
		if t, ok := m.operations.token[scopedToken{collectives, stream, number}]; ok {
			return t
		}
	}
	return number
}

// textOf returns the text that a token of a stream names in a table of texts. It returns "" if the
// token is undefined.
func (m *model) textOf(table int, stream uint32, token uint64) string {
	if i, ok := m.find(table, stream, token); ok {
		return *m.defs.Strings.At(i)
	}
	return ""
}

// addDefinition adds a definition other than one of a key.
func (m *model) addDefinition(r *Record, set setter) {
	d, attrs := m.defs, m.attrs(r)
	switch r.Type {
	case DefProcessGroup:
		s := trace.Set{ID: definitionID(r.Stream, r.Token), Name: trace.ToUTF8(r.Name), Kind: "processes", Attrs: attrs}
		for _, p := range r.Members {
			s.Members = append(s.Members, int64(p))
		}
		set(groups, [2]any{s.Name, s.Members}, func() uint32 {
			return d.Communicator.Add(trace.Communicator{ID: s.ID, Name: s.Name, Set: d.Sets.Add(s), Parent: trace.NoRef})
		})
	case DefFunction:
		x := trace.Region{Name: trace.ToUTF8(r.Name), Group: m.textOf(functionGroups, r.Stream, r.Group), Attrs: attrs}
		if p, ok := m.places[scopedToken{scls, r.Stream, r.SCL}]; ok {
			x.File, x.Line = p.file, p.line
		} else if p, ok := m.places[scopedToken{scls, 0, r.SCL}]; ok {
			x.File, x.Line = p.file, p.line
		}
		set(functions, x, func() uint32 {
			x.ID = definitionID(r.Stream, r.Token)
			return d.Regions.Add(x)
		})
	case DefCounter:
		x := trace.MetricDef{Name: trace.ToUTF8(r.Name), Unit: trace.ToUTF8(r.Unit), Kind: trace.CounterMetric,
			Mode: propertyNames(r.Properties), Group: m.textOf(counterGroups, r.Stream, r.Group),
			Type:     counterType(r.Properties),
			Location: trace.NoRef, Attrs: attrs}
		set(counters, x, func() uint32 {
			x.ID = definitionID(r.Stream, r.Token)
			return d.Metrics.Add(x)
		})
	case DefFile:
		x := trace.Named{Name: trace.ToUTF8(r.Name), Attrs: attrs}
		if r.Group != 0 {
			x.Attrs = append(attrs[:len(attrs):len(attrs)],
				trace.Attr{Key: fileGroupName, Value: trace.IntValue(int64(r.Group))})
		}
		set(files, x, func() uint32 {
			x.ID = definitionID(r.Stream, r.Token)
			return d.Files.Add(x)
		})
	case DefMarker:
		x := trace.Named{Name: trace.ToUTF8(r.Name),
			Attrs: []trace.Attr{{Key: "severity",
				Value: trace.StringValue(strings.ToLower(enumName(r.Kind, "UNKNOWN", "ERROR", "WARNING", "HINT")))}}}
		set(markers, x, func() uint32 {
			x.ID = definitionID(r.Stream, r.Token)
			return d.Markers.Add(x)
		})
	case DefProcess, DefTimerResolution, DefFunctionGroup, DefCounterGroup, DefFileGroup, DefSCLFile, DefSCL,
		DefCollectiveOperation:
	default:
		m.addProperty(r)
	}
}

// addProperty adds a definition that becomes a property of the trace, or that has no table in the model.
func (m *model) addProperty(r *Record) {
	d := m.defs
	switch r.Type {
	case DefCreator:
		d.Properties.Add(trace.Attr{Key: "creator", Value: trace.StringValue(trace.ToUTF8(r.Text))})
	case DefVersion:
		d.Properties.Add(trace.Attr{Key: "otf.version",
			Value: trace.StringValue(fmt.Sprintf("%d.%d.%d %s", r.Major, r.Minor, r.Sub, trace.ToUTF8(r.Text)))})
	case DefUniqueID:
		d.Properties.Add(trace.Attr{Key: uniqueIDName, Value: trace.Value{Num: r.UniqueID, Type: trace.Uint64}})
	case DefinitionComment:
		m.addComment(r)
	case DefTimeRange:
		d.Properties.Add(trace.Attr{Key: rangeName,
			Value: trace.StringValue(fmt.Sprintf("%d %d", r.MinTime, r.MaxTime))})
	default:
		m.keepOpaque(r)
	}
}

// keepOpaque adds a definition for which the model has no table.
func (m *model) keepOpaque(r *Record) {
	m.defs.Opaque.Add(trace.Opaque{Format: "otf", Type: r.Type.String(), Data: string(r.appendLine(nil, false))})
}

// The names of the attributes for fields that the model lacks.
const (
	sclName    = "otf.scl"    // source code location, as a token
	recordName = "otf.record" // type of a comment among snapshots or summaries, as OTF numbers records
	streamName = "otf.stream" // stream whose file contains a marker, unless the marker is in the global file
	// unnamedName is the name of the attribute that marks leaves without a function in a trace in which other
	// leaves have one.
	unnamedName = "otf.unnamed-leave"
	textName    = "text"
	// fileGroupName is the name of the property of a file with the token of its group.
	fileGroupName = "group"
	rangeName     = "otf.time-range" // property with the range of a DefTimeRange
	uniqueIDName  = "otf.unique-id"  // property with the unique id
)

// boolOption returns the value of an option that is true or false.
func (r *Reader) boolOption(option, standard string) (bool, error) {
	switch s := r.opt.Read.Value(option, standard); s {
	case "true":
		return true, nil
	case "false":
		return false, nil
	default:
		return false, &format.OptionError{Option: option, Value: s, Expected: "true or false"}
	}
}

const (
	unifyOption = "otf.unify-tokens" // merge equal definitions of several streams
	asyncOption = "otf.async-times"  // use the times at which counters were read
)

// CarriedOption is the name of the option that determines whether the reader restores carried data. Carried
// data is data from a trace of another format that weft keeps in comments and pairs.
const CarriedOption = "otf.carried"

// asyncName is the prefix of VampirTrace's keys for the times at which counters were read.
const asyncName = "__ASYNC_SOURCE__"

// startTime is the prefix of comments in which VampirTrace records the wall clock time.
const startTime = "__STARTTIME__"

// addComment adds a comment to the properties. It takes the epoch of the clock from a start time.
func (m *model) addComment(r *Record) {
	if _, s, ok := strings.Cut(r.Text, startTime); ok {
		s = strings.TrimSpace(strings.TrimLeft(s, ": "))
		if t, err := strconv.ParseInt(s, 10, 64); err == nil && t > 0 {
			switch { // the number counts seconds, microseconds or nanoseconds since 1970
			case t < 1e11:
				t *= 1e9
			case t < 1e17:
				t *= 1e3
			}
			m.defs.Clock.Epoch, m.defs.Clock.HasEpoch = t, true
		}
	}
	m.defs.Properties.Add(trace.Attr{Key: "comment", Value: trace.StringValue(trace.ToUTF8(r.Text))})
}

// nodeGroup is the prefix of the names of process groups that stand for machines.
const nodeGroup = "__NODE__"

// addProcesses creates the locations and the groups above them: machines, named by process groups, and
// processes with threads.
func (m *model) addProcesses(list []*Record, master *MasterControl) {
	d := m.defs
	nodes := map[uint64]uint32{} // nodes by process
	for _, r := range list {
		if name, ok := strings.CutPrefix(r.Name, nodeGroup); ok && r.Type == DefProcessGroup {
			g := d.Groups.Add(trace.LocationGroup{ID: definitionID(r.Stream, r.Token), Name: trace.ToUTF8(name), Kind: "node",
				Parent: trace.NoRef})
			for _, p := range r.Members {
				if _, twice := nodes[uint64(p)]; !twice {
					nodes[uint64(p)] = g
				}
			}
		}
	}
	parents, last := map[uint64]bool{}, map[uint64]*Record{} // the last definition of a process counts
	for _, r := range list {
		if r.Type == DefProcess {
			last[r.Token] = r
		}
	}
	for _, r := range last {
		if r.Parent != 0 {
			parents[r.Parent] = true
		}
	}
	group := map[uint64]uint32{} // groups by process; a thread is in the group of its process
	above := func(p uint64) uint32 {
		if g, ok := nodes[p]; ok {
			return g
		}
		return trace.NoRef
	}
	for _, r := range list {
		if r.Type == DefProcess && parents[r.Token] {
			r = last[r.Token]
			if _, twice := group[r.Token]; !twice {
				group[r.Token] = d.Groups.Add(trace.LocationGroup{ID: definitionID(r.Stream, r.Token), Name: trace.ToUTF8(r.Name),
					Kind: "process", Parent: above(r.Token)})
			}
		}
	}
	for _, r := range list {
		if r.Type != DefProcess {
			continue
		}
		if _, twice := m.locations[r.Token]; twice {
			continue
		}
		r = last[r.Token]
		l := trace.Location{ID: strconv.FormatUint(r.Token, 10), Name: trace.ToUTF8(r.Name), Kind: trace.ProcessLocation,
			Group: above(r.Token), Attrs: m.attrs(r)}
		if g, ok := group[r.Token]; ok {
			l.Group = g
		}
		if r.Parent != 0 {
			l.Kind = trace.ThreadLocation
			if g, ok := group[r.Parent]; ok {
				l.Group = g
			}
		}
		m.locations[r.Token] = d.Locations.Add(l)
	}
	for _, s := range master.Streams() {
		for _, p := range master.Processes(s) {
			m.location(uint64(p))
		}
	}
}

// maxSmallTokens is the maximum size of the tables for small tokens.
const maxSmallTokens = 1 << 16

// storeSmall stores 1 + i as the definition of a token in a table of small tokens, if the token is
// small. It returns the table, which may have grown.
func storeSmall(table []uint32, token uint64, i uint32) []uint32 {
	if token >= maxSmallTokens {
		return table
	}
	for uint64(len(table)) <= token {
		table = append(table, 0)
	}
	table[token] = i + 1
	return table
}

// fillSmallTables fills the tables of small tokens once all definitions have been read.
func (m *model) fillSmallTables() {
	for k, i := range m.index {
		if k.stream == 0 {
			m.small[k.table] = storeSmall(m.small[k.table], k.token, i)
		}
	}
}

// location returns the location of a process. It adds a stand-in if the process is undefined.
func (m *model) location(process uint64) uint32 {
	if process < uint64(len(m.nearLocations)) {
		if i := m.nearLocations[process]; i > 0 {
			return i - 1
		}
	}
	i, ok := m.locations[process]
	if m.frozen {
		m.needsDefinition = m.needsDefinition || !ok
		return i
	}
	if ok {
		m.nearLocations = storeSmall(m.nearLocations, process, i)
	} else {
		name, kind := fmt.Sprintf("undefined process %d", process), trace.ProcessLocation
		group, isGroup := m.find(groups, 0, process)
		switch { // markers may be about the whole trace or a group
		case process == 0:
			kind = trace.EventsLocation
		case isGroup:
			name, kind = m.defs.Communicator.At(group).Name, trace.EventsLocation
		}
		i = m.defs.Locations.Add(trace.Location{ID: strconv.FormatUint(process, 10), Name: name, Kind: kind,
			Group: trace.NoRef})
		m.locations[process] = i
		if !isGroup {
			m.addStandIn(processes, process, name)
		}
	}
	return i
}
