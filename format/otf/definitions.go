package otf

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
)

// Tables of definitions that tokens name.
const (
	functions = iota
	groups    // of processes: communicators
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
	processes // that are in several streams
)

// scopedToken is a token of one table in the definitions of one stream.
type scopedToken struct {
	table  int
	stream uint32
	token  uint64
}

// model makes the common definitions of a trace.
type model struct {
	defs   *trace.Definitions
	index  map[scopedToken]uint32 // into the model's tables, or into texts
	places map[scopedToken]sourcePlace
	kinds  map[uint32]uint64 // collective operations: what sort
	local  map[uint32]bool   // streams with definitions of their own
	// bareLeaves: no leave says what it leaves. Preparing finds that.
	bareLeaves bool
	// Locations by process; of those that the master file does not name, by stream.
	locations map[uint64]uint32
	// undefined is told of each token that nothing defines, once.
	undefined     func(what string, stream uint32, token uint64)
	marked        bool                    // there are markers
	async         map[uint32]bool         // keys of pairs with the time at which a counter was read, if that is to be its time
	near          []uint32                // the locations of small processes, plus 1; 0 where that has not been asked
	small         [processes + 1][]uint32 // what small global tokens name, plus 1, by table; 0 where index has to be asked
	scl, comments uint32                  // attributes that are not the trace's own, NoRef until used
	// frozen: nothing may be added; odd tells that something was to be.
	frozen, odd bool
	// Of a trace that weft wrote: what restores what it carries, its clock, and how
	// many entries of each table are known.
	carried  bool
	restorer *carrier.Restorer
	clock    fileClock
	learnt   [processes + 1]int
	process  []uint64 // of each location
}

// sourcePlace is a source code location.
type sourcePlace struct {
	file string
	line int64
}

func id(stream uint32, token uint64) string {
	if stream == 0 {
		return strconv.FormatUint(token, 10)
	}
	return fmt.Sprintf("%d/%d", stream, token)
}

// find is the definition that a token of a stream names: the stream's own, else
// the global one.
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

// valueTypes are the types of pairs in the model.
var valueTypes = [...]trace.Type{Char: trace.Char, Int8: trace.Int8, Uint8: trace.Uint8, Int16: trace.Int16, Uint16: trace.Uint16, Int32: trace.Int32,
	Uint32: trace.Uint32, Int64: trace.Int64, Uint64: trace.Uint64, Float32: trace.Float32, Float64: trace.Float64, Bytes: trace.Bytes}

// value is a pair's value in the model, which refers to no buffer.
func (v *KeyValue) value() trace.Value {
	t := valueTypes[v.Type]
	switch v.Type {
	case Bytes:
		return trace.Value{Str: string(v.Bytes), Type: t}
	case Int8, Int16, Int32, Int64:
		return trace.Value{Num: uint64(v.Int()), Type: t}
	}
	return trace.Value{Num: v.Bits, Type: t}
}

// counterType is how a counter's values are read.
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

// defaultResolution is what a trace without DefTimerResolution counts in.
const defaultResolution = 1_000_000

func emptyModel(d *trace.Definitions) *model {
	return &model{defs: d, index: map[scopedToken]uint32{}, places: map[scopedToken]sourcePlace{}, local: map[uint32]bool{}, locations: map[uint64]uint32{}, kinds: map[uint32]uint64{},
		scl: trace.NoRef, comments: trace.NoRef, clock: fileClock{scale: 1}}
}

// newModel reads all definitions and markers' definitions.
func newModel(ctx context.Context, r *Reader) (*model, error) {
	m := emptyModel(&trace.Definitions{Format: "otf", Origin: "otf", Conventions: format.Conventions("otf"), Clock: trace.Seconds(defaultResolution)})
	var list []*Record
	for _, part := range []Part{Definitions, Markers} {
		c, err := r.Cursor(ctx, part)
		if err != nil {
			return nil, err
		}
		for c.Next() {
			switch x := c.Record(); {
			case x.Type == Marker:
				m.marked = true
			case x.Type == DefAuxSamplePoint && x.Stream == 0 && len(x.KeyValues) == 0:
				// There may be many, which nothing refers to: no more than their text is kept.
				m.opaque(x)
			default:
				list = append(list, x.Clone())
			}
		}
		c.Close()
		if c.Err() != nil {
			return nil, c.Err()
		}
	}
	if data := carried(list); data != nil {
		x, err := restore(data)
		if err == nil {
			x.marked = m.marked
			x.settle()
			return x, nil
		}
		if err := r.opt.Read.Defect(&trace.Defect{Rule: "otf.carried", Severity: trace.Error, Position: trace.Position{File: r.path(fileName(r.stub, 0, Definitions))},
			Found: err.Error(), Expected: "the definitions of a trace that weft wrote; OTF's own ones take their place"}); err != nil {
			return nil, err
		}
	}
	d := m.defs
	// What others refer to comes first, as definitions may stand in any order.
	texts := func(table int, r *Record) {
		m.index[scopedToken{table, r.Stream, r.Token}] = d.Strings.Add(trace.Text(r.Name))
	}
	for _, r := range list {
		if r.Type.Part() == Definitions && r.Stream != 0 {
			m.local[r.Stream] = true
		}
		switch r.Type {
		case DefTimerResolution:
			if r.TicksPerSecond > 0 && r.TicksPerSecond < 1<<62 {
				d.Clock = trace.Seconds(int64(r.TicksPerSecond))
			}
		case DefFunctionGroup:
			texts(functionGroups, r)
		case DefCounterGroup:
			texts(counterGroups, r)
		case DefFileGroup:
			texts(fileGroups, r)
		case DefSCLFile:
			texts(sclFiles, r)
		case DefCollectiveOperation:
			texts(collectives, r)
			m.kinds[m.index[scopedToken{collectives, r.Stream, r.Token}]] = r.Kind
			d.Operations.Add(trace.Named{ID: id(r.Stream, r.Token), Name: trace.Text(r.Name),
				Attrs: []trace.Attr{{Key: "type", Value: trace.StringValue(operationKind(r.Kind))}}})
		}
	}
	name := func(table int, r *Record, token uint64) string {
		if i, ok := m.find(table, r.Stream, token); ok {
			return *d.Strings.At(i)
		}
		return ""
	}
	for _, r := range list {
		if r.Type == DefSCL {
			m.places[scopedToken{scls, r.Stream, r.Token}] = sourcePlace{name(sclFiles, r, r.File), int64(r.Line)}
		}
	}
	unify, err := r.yes(unifyOption)
	if err != nil {
		return nil, err
	}
	async, err := r.yes(asyncOption)
	if err != nil {
		return nil, err
	}
	known := map[string]uint32{}
	for _, r := range list {
		attrs := m.attrs(r)
		// set notes what the token names. Where tokens are to be unified, equal
		// definitions are one; like is the definition without its id.
		set := func(table int, like any, add func() uint32) {
			key := ""
			if unify {
				key = fmt.Sprintf("%d %#v", table, like)
			}
			i, ok := known[key]
			if !ok || !unify {
				i = add()
				known[key] = i
			}
			m.index[scopedToken{table, r.Stream, r.Token}] = i
		}
		switch r.Type {
		case DefCreator:
			d.Properties.Add(trace.Attr{Key: "creator", Value: trace.StringValue(trace.Text(r.Text))})
		case DefVersion:
			d.Properties.Add(trace.Attr{Key: "otf.version", Value: trace.StringValue(fmt.Sprintf("%d.%d.%d %s", r.Major, r.Minor, r.Sub, trace.Text(r.Text)))})
		case DefUniqueID:
			d.Properties.Add(trace.Attr{Key: "otf.unique-id", Value: trace.Value{Num: r.UniqueID, Type: trace.Uint64}})
		case DefinitionComment:
			m.comment(r)
		case DefTimeRange:
			d.Properties.Add(trace.Attr{Key: "otf.time-range", Value: trace.StringValue(fmt.Sprintf("%d %d", r.MinTime, r.MaxTime))})
		case DefProcessGroup:
			s := trace.Set{ID: id(r.Stream, r.Token), Name: trace.Text(r.Name), Kind: "processes", Attrs: attrs}
			for _, p := range r.Members {
				s.Members = append(s.Members, int64(p))
			}
			set(groups, [2]any{s.Name, s.Members}, func() uint32 {
				return d.Communicator.Add(trace.Communicator{ID: s.ID, Name: s.Name, Set: d.Sets.Add(s), Parent: trace.NoRef})
			})
		case DefFunction:
			x := trace.Region{Name: trace.Text(r.Name), Group: name(functionGroups, r, r.Group), Attrs: attrs}
			if p, ok := m.places[scopedToken{scls, r.Stream, r.SCL}]; ok {
				x.File, x.Line = p.file, p.line
			} else if p, ok := m.places[scopedToken{scls, 0, r.SCL}]; ok {
				x.File, x.Line = p.file, p.line
			}
			set(functions, x, func() uint32 {
				x.ID = id(r.Stream, r.Token)
				return d.Regions.Add(x)
			})
		case DefCounter:
			x := trace.MetricDef{Name: trace.Text(r.Name), Unit: trace.Text(r.Unit), Kind: trace.CounterMetric,
				Mode: properties(r.Properties), Group: name(counterGroups, r, r.Group), Type: counterType(r.Properties), Location: trace.NoRef, Attrs: attrs}
			set(counters, x, func() uint32 {
				x.ID = id(r.Stream, r.Token)
				return d.Metrics.Add(x)
			})
		case DefFile:
			x := trace.Named{Name: trace.Text(r.Name), Attrs: attrs}
			set(files, x, func() uint32 {
				x.ID = id(r.Stream, r.Token)
				return d.Files.Add(x)
			})
		case DefKeyValue:
			x := trace.AttributeDef{Name: trace.Text(r.Name), Doc: trace.Text(r.Text)}
			if r.Kind < uint64(len(valueTypes)) {
				x.Type = valueTypes[r.Kind]
			}
			if async && strings.HasPrefix(r.Name, asyncName) && x.Type == trace.Uint64 {
				if m.async == nil {
					m.async = map[uint32]bool{}
				}
				m.async[uint32(r.Token)] = true
			}
			set(keys, x, func() uint32 {
				x.ID = id(r.Stream, r.Token)
				return d.Attributes.Add(x)
			})
		case DefMarker:
			x := trace.Named{Name: trace.Text(r.Name),
				Attrs: []trace.Attr{{Key: "severity", Value: trace.StringValue(strings.ToLower(enum(r.Kind, "UNKNOWN", "ERROR", "WARNING", "HINT")))}}}
			set(markers, x, func() uint32 {
				x.ID = id(r.Stream, r.Token)
				return d.Markers.Add(x)
			})
		case DefProcess, DefTimerResolution, DefFunctionGroup, DefCounterGroup, DefFileGroup, DefSCLFile, DefSCL, DefCollectiveOperation:
		default:
			m.opaque(r)
		}
	}
	m.processes(list, r.master)
	if len(m.local) == 0 {
		d.Native = &original{r: r, m: m}
	}
	if len(m.places) > 0 {
		m.own(&m.scl, sclName, trace.Uint32) // events will refer to them
	}
	m.settle()
	return m, nil
}

// opaque adds a definition that the model has no other place for.
func (m *model) opaque(r *Record) {
	m.defs.Opaque.Add(trace.Opaque{Format: "otf", Data: string(r.appendLine(nil, false))})
}

// Attributes for what the model has no other place for.
const (
	sclName  = "otf.scl" // source code location, by its token
	textName = "text"
)

// yes is a setting that is true or false, false if it is not given.
func (r *Reader) yes(option string) (bool, error) {
	switch s := r.opt.Read.Value(option, "false"); s {
	case "true":
		return true, nil
	case "false":
		return false, nil
	default:
		return false, &format.OptionError{Option: option, Value: s, Expected: "true or false"}
	}
}

const (
	unifyOption = "otf.unify-tokens" // equal definitions of several streams are one
	asyncOption = "otf.async-times"  // counters have the times at which they were read
)

// asyncName begins the names of the keys that VampirTrace gives to those times.
const asyncName = "__ASYNC_SOURCE__"

// attrs are the pairs of a definition.
func (m *model) attrs(r *Record) (out []trace.Attr) {
	for i := range r.KeyValues {
		v := &r.KeyValues[i]
		out = append(out, trace.Attr{Key: m.defs.Attributes.At(m.key(r.Stream, v)).Name, Value: v.value()})
	}
	return out
}

// key is the attribute that a pair's key is.
func (m *model) key(stream uint32, v *KeyValue) uint32 {
	if i, ok := m.find(keys, stream, uint64(v.Key)); ok {
		return i
	}
	if m.frozen {
		m.odd = true
		return trace.NoRef
	}
	t := trace.None
	if int(v.Type) < len(valueTypes) {
		t = valueTypes[v.Type]
	}
	i := m.defs.Attributes.Add(trace.AttributeDef{ID: strconv.FormatUint(uint64(v.Key), 10), Name: fmt.Sprintf("key %d", v.Key), Type: t})
	m.index[scopedToken{keys, 0, uint64(v.Key)}] = i
	return i
}

// Comments in which VampirTrace says when the wall clock was read.
const startTime = "__STARTTIME__"

// comment takes a comment: most are a line of the trace's history.
func (m *model) comment(r *Record) {
	if _, s, ok := strings.Cut(r.Text, startTime); ok {
		s = strings.TrimSpace(strings.TrimLeft(s, ": "))
		if t, err := strconv.ParseInt(s, 10, 64); err == nil && t > 0 {
			switch { // seconds, microseconds or nanoseconds since 1970
			case t < 1e11:
				t *= 1e9
			case t < 1e17:
				t *= 1e3
			}
			m.defs.Clock.Epoch, m.defs.Clock.HasEpoch = t, true
		}
	}
	m.defs.Properties.Add(trace.Attr{Key: "comment", Value: trace.StringValue(trace.Text(r.Text))})
}

// nodeGroup begins the names of groups that are machines.
const nodeGroup = "__NODE__"

// processes makes the locations and the tree above them: machines that groups
// name, and processes with threads.
func (m *model) processes(list []*Record, master *MasterControl) {
	d := m.defs
	nodes := map[uint64]uint32{} // by process
	for _, r := range list {
		if name, ok := strings.CutPrefix(r.Name, nodeGroup); ok && r.Type == DefProcessGroup {
			g := d.Groups.Add(trace.LocationGroup{ID: id(r.Stream, r.Token), Name: trace.Text(name), Kind: "node", Parent: trace.NoRef})
			for _, p := range r.Members {
				if _, twice := nodes[uint64(p)]; !twice {
					nodes[uint64(p)] = g
				}
			}
		}
	}
	parents := map[uint64]bool{}
	for _, r := range list {
		if r.Type == DefProcess && r.Parent != 0 {
			parents[r.Parent] = true
		}
	}
	group := map[uint64]uint32{} // of a process and its threads
	above := func(p uint64) uint32 {
		if g, ok := nodes[p]; ok {
			return g
		}
		return trace.NoRef
	}
	for _, r := range list {
		if r.Type == DefProcess && parents[r.Token] {
			if _, twice := group[r.Token]; !twice {
				group[r.Token] = d.Groups.Add(trace.LocationGroup{ID: id(r.Stream, r.Token), Name: trace.Text(r.Name), Kind: "process", Parent: above(r.Token)})
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
		l := trace.Location{ID: strconv.FormatUint(r.Token, 10), Name: trace.Text(r.Name), Kind: trace.ProcessLocation, Group: above(r.Token), Attrs: m.attrs(r)}
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

// fewTokens bounds the tables that find what small tokens name.
const fewTokens = 1 << 16

// remember notes in a table of small tokens what one names, plus 1.
func remember(table []uint32, token uint64, i uint32) []uint32 {
	if token >= fewTokens {
		return table
	}
	for uint64(len(table)) <= token {
		table = append(table, 0)
	}
	table[token] = i + 1
	return table
}

// settle notes what small tokens name, when all definitions are there.
func (m *model) settle() {
	for k, i := range m.index {
		if k.stream == 0 {
			m.small[k.table] = remember(m.small[k.table], k.token, i)
		}
	}
}

// location is that of a process, defined or not.
func (m *model) location(process uint64) uint32 {
	if process < uint64(len(m.near)) {
		if i := m.near[process]; i > 0 {
			return i - 1
		}
	}
	i, ok := m.locations[process]
	if m.frozen {
		m.odd = m.odd || !ok
		return i
	}
	if ok {
		m.near = remember(m.near, process, i)
	} else {
		i = m.defs.Locations.Add(trace.Location{ID: strconv.FormatUint(process, 10), Name: fmt.Sprintf("undefined process %d", process), Kind: trace.ProcessLocation, Group: trace.NoRef})
		m.locations[process] = i
	}
	return i
}
