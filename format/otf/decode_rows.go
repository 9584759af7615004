package otf

import (
	"fmt"
	"strings"

	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// locate returns the location of a record's process.
func (d *decoder) locate(r *Record) uint32 {
	if d.severalStreams {
		if i, ok := d.model.index[scopedToken{processes, r.Stream, r.Process}]; ok && r.Type != Marker {
			return i
		}
	}
	return d.location(r.Process)
}

// addRow adds the event of a record to b.
func (d *decoder) addRow(b *trace.Batch, r *Record) {
	loc := d.locate(r)
	t := d.clock.toModel(r.Time)
	stream := r.Stream
	add := func(k trace.Kind, ref uint32, ops ...uint64) {
		b.Add(loc, t, k, ref)
		if len(ops) > 0 {
			b.AddOps(ops...)
		}
	}
	location := func(p uint64) uint64 { return uint64(d.location(p)) }
	communicator := func(c uint64) uint64 {
		if c == 0 {
			return trace.Undefined
		}
		return uint64(d.communicator(stream, c))
	}
	text, texted := "", false
	switch r.Type {
	case Enter:
		f := d.region(stream, r.Function)
		add(trace.Enter, f)
		if d.unnamedLeaves {
			d.open(loc).enter(f)
		}
	case Leave:
		add(trace.Leave, d.leave(loc, stream, r.Function))
		if d.marksLeaves && r.Function == 0 && d.unnamedLeaves && d.namedLeaves {
			b.AddAttr(d.ownAttribute(&d.unnamed, unnamedName, trace.Uint8), trace.Value{Num: 1, Type: trace.Uint8})
		}
	case SendMsg:
		add(trace.Send, trace.NoRef, location(r.Peer), communicator(r.Communicator), r.Tag, r.Length)
	case RecvMsg:
		add(trace.Recv, trace.NoRef, location(r.Peer), communicator(r.Communicator), r.Tag, r.Length)
	case Counter:
		if metric := d.metric(stream, r.Counter); d.defs.Conventions.MetricMembers {
			add(trace.Metric, metric, r.Value, 0)
		} else {
			add(trace.Metric, metric, r.Value)
		}
	case EventComment, SnapshotComment, SummaryComment:
		if name, ok := d.model.genericEvent(r); ok {
			add(trace.Generic, name)
		} else {
			add(trace.Comment, trace.NoRef)
			text, texted = r.Text, true
		}
	default:
		m := &eventModels[r.Type]
		if m.kind == trace.NoKind {
			m = &eventModel{kind: trace.Generic, table: noTable}
		}
		ref := trace.NoRef
		switch {
		case m.table == noTable || d.carried && m.table == files && r.File >= handleFile:
		case r.Type == FileOperationSummary && r.File == 0: // the summary of all files, unless the trace defines file 0
			if file, ok := d.find(files, stream, 0); ok {
				ref = file
			}
		default:
			ref = d.ref(m.table, stream, *r.number(m.ref))
		}
		var room [8]uint64
		ops := room[:0]
		for _, o := range m.ops {
			v := o.value
			if o.source != constant {
				v = *r.number(o.f)
			}
			switch o.source {
			case processLocation:
				v = location(v)
			case optionalLocation, optionalRoot:
				if v == 0 {
					v = trace.Undefined
				} else if o.source == optionalLocation {
					v = location(v)
				} else if d.defs.Origin != "otf" { // the model has ranks
					v = d.rootRank(d.location(v), communicator(r.Communicator))
				}
			case optionalCommunicator:
				v = communicator(v)
			case fileTime:
				v = uint64(d.clock.toModel(v))
			case fromField:
				if o.f == fieldCollective {
					v = d.operationNumber(stream, v)
				}
			}
			ops = append(ops, v)
		}
		if specs[r.Type].hasField(fieldCollective) && !d.carried && (r.Collective != 0 || r.Type.Part() == Events) {
			d.addOperationStandIn(stream, r.Collective)
		}
		add(m.kind, ref, ops...)
		text, texted = r.Text, m.kind == trace.Generic || m.kind == trace.Marker
	}
	d.addAttributes(b, r, text, texted)
}

// addAttributes adds the attributes of a record to the last row of b. text is the text of the row, and texted
// is set if the row has one.
func (d *decoder) addAttributes(b *trace.Batch, r *Record, text string, texted bool) {
	stream := r.Stream
	carries := false // weft carries the row itself, so attributes that repeat a field are left out
	if d.carried {
		v, ok := r.Find(rowKey)
		carries = ok && !d.repeatsEvent(r, v.Bytes)
	}
	if texted && !carries {
		b.AddAttr(d.ownAttribute(&d.comments, textName, trace.String), trace.StringValue(strings.Clone(text)))
	}
	if r.Type == Marker && stream != 0 && !carries {
		b.AddAttr(d.ownAttribute(&d.model.place, streamName, trace.Uint32),
			trace.Value{Num: uint64(stream), Type: trace.Uint32})
	}
	if r.SCL != 0 && hasSCL(r.Type) && !carries {
		b.AddAttr(d.ownAttribute(&d.scl, sclName, trace.Uint32), trace.Value{Num: r.SCL, Type: trace.Uint32})
	}
	if (r.Type == SnapshotComment || r.Type == SummaryComment) && !carries {
		b.AddAttr(d.ownAttribute(&d.record, recordName, trace.Uint32), trace.Value{Num: uint64(r.Type), Type: trace.Uint32})
	}
	for i := range r.KeyValues {
		v := &r.KeyValues[i]
		if d.carried && v.Key <= lastKey {
			continue
		}
		b.AddAttr(d.attribute(stream, v, nil))
	}
	if carries && d.restorer != nil {
		d.applyCarried(b, r)
	}
}

// attribute returns the attribute for a key-value pair, and its value. texts may be nil.
func (d *decoder) attribute(stream uint32, v *KeyValue, texts *shortTexts) (key uint32, x trace.Value) {
	key, x = d.key(stream, v), v.value(texts)
	if x.Type == trace.Bytes && key != trace.NoRef && d.defs.Attributes.At(key).Type == trace.String {
		x.Type = trace.String
	}
	return key, x
}

func hasSCL(t Type) bool {
	l := specs[t].fields
	return len(l) > 0 && l[len(l)-1].f == fieldSCL
}

// leave returns the region that a leave closes, even if the record does not name it.
func (d *decoder) leave(loc, stream uint32, function uint64) uint32 {
	switch {
	case !d.unnamedLeaves && function == 0 && d.trying:
		d.metUnnamedLeave, d.needsDefinition = true, true
		return trace.NoRef
	case !d.unnamedLeaves:
		return d.region(stream, function)
	case function == 0:
		return d.open(loc).leave(trace.NoRef)
	}
	return d.open(loc).leave(d.region(stream, function))
}

// openRegions holds the open regions of a location, with the innermost region last.
type openRegions struct {
	list  []uint32
	among openset.Index[uint32]
}

// open returns the open regions of a location.
func (d *decoder) open(loc uint32) *openRegions {
	for uint64(len(d.stacks)) <= uint64(loc) {
		d.stacks = append(d.stacks, &openRegions{})
	}
	return d.stacks[loc]
}

func (s *openRegions) enter(region uint32) {
	s.among.Open(region, len(s.list))
	s.list = append(s.list, region)
}

// leave closes a region, or the innermost one if region is NoRef. It returns the region that it
// closed, or NoRef if none was open.
func (s *openRegions) leave(region uint32) uint32 {
	l := s.list
	i := len(l) - 1
	if region != trace.NoRef {
		i = s.among.Find(region, len(l), func(i int) uint32 { return l[i] })
	}
	if i >= 0 {
		region = l[i]
		s.list = openset.Close(&s.among, l, i, region)
	}
	return region
}

// ownAttribute returns an attribute that weft adds to the attributes of the trace. It defines the attribute on
// the first call.
func (m *model) ownAttribute(at *uint32, name string, t trace.Type) uint32 {
	if *at == trace.NoRef {
		if m.frozen {
			m.needsDefinition = true
			return trace.NoRef
		}
		*at = m.defs.Attributes.Add(trace.AttributeDef{Name: name, Type: t})
	}
	return *at
}

// definitionOf returns the definition that a token names. For an undefined token, the function add makes a
// stand-in. Token 0 in a table of groups means that there is no group, unless the trace defines token 0.
func (m *model) definitionOf(table int, what string, stream uint32, token uint64,
	add func(id, name string) uint32) uint32 {
	i, ok := m.find(table, stream, token)
	if !ok && token == 0 && (table == groups || table == functionGroups || table == counterGroups || table == fileGroups) {
		return trace.NoRef
	}
	if !ok {
		if m.frozen {
			m.needsDefinition = true
			return trace.NoRef
		}
		m.undefined(what, stream, token)
		name := fmt.Sprintf("undefined %s %d", what, token)
		i = add(definitionID(0, token), name)
		m.index[scopedToken{table, 0, token}] = i
		m.addStandIn(table, token, name)
	}
	return i
}

func (m *model) region(stream uint32, token uint64) uint32 {
	return m.definitionOf(functions, "function", stream, token, func(id, name string) uint32 {
		return m.defs.Regions.Add(trace.Region{ID: id, Name: name})
	})
}

func (m *model) communicator(stream uint32, token uint64) uint32 {
	return m.definitionOf(groups, "process group", stream, token, func(id, name string) uint32 {
		return m.defs.Communicator.Add(trace.Communicator{ID: id, Name: name, Set: trace.NoRef, Parent: trace.NoRef})
	})
}

func (m *model) metric(stream uint32, token uint64) uint32 {
	return m.definitionOf(counters, "counter", stream, token, func(id, name string) uint32 {
		return m.defs.Metrics.Add(trace.MetricDef{ID: id, Name: name, Kind: trace.CounterMetric, Type: trace.Uint64,
			Location: trace.NoRef, Undefined: true})
	})
}

// addOperationStandIn makes a stand-in for a collective operation that has no definition.
func (m *model) addOperationStandIn(stream uint32, token uint64) {
	m.definitionOf(collectives, "collective operation", stream, token, func(_, name string) uint32 {
		return m.defs.Strings.Add(name)
	})
}

func (m *model) file(stream uint32, token uint64) uint32 {
	return m.definitionOf(files, "file", stream, token, func(id, name string) uint32 {
		return m.defs.Files.Add(trace.Named{ID: id, Name: name})
	})
}

func (m *model) marker(stream uint32, token uint64) uint32 {
	return m.definitionOf(markers, "marker", stream, token, func(id, name string) uint32 {
		return m.defs.Markers.Add(trace.Named{ID: id, Name: name})
	})
}

// ref returns the index of the definition that a token of a table names.
func (m *model) ref(table int, stream uint32, token uint64) uint32 {
	switch table {
	case functions:
		return m.region(stream, token)
	case groups:
		return m.communicator(stream, token)
	case counters:
		return m.metric(stream, token)
	case files:
		return m.file(stream, token)
	case markers:
		return m.marker(stream, token)
	}
	return m.text(table, stream, token)
}

func (m *model) text(table int, stream uint32, token uint64) uint32 {
	k := scopedToken{table, 0, token}
	if name, ok := m.groupNames[k]; ok && !m.frozen {
		if _, known := m.find(table, stream, token); !known {
			m.index[k] = m.defs.Strings.Add(trace.ToUTF8(name))
		}
	}
	return m.definitionOf(table, "group", stream, token, func(_, name string) uint32 { return m.defs.Strings.Add(name) })
}
