package pallas

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// restore builds the model from the definitions that the metadata carry. It returns false if the metadata
// carry no definitions. Links stay in the metadata until they are needed.
func (m *model) restore() (bool, error) {
	pairs, err := carrier.UnpackTexts(m.t.metadata(), definitionKey)
	if len(pairs) == 0 || err != nil {
		return false, err
	}
	for _, p := range pairs {
		ok := true
		switch p.Key {
		case timeKey:
			ok = json.Unmarshal([]byte(p.Value), &m.ticks) == nil && m.ticks.Scale > 0 && m.ticks.Scale <= 1e9
		case lanesKey:
			id, err := strconv.ParseUint(p.Value, 10, 32)
			m.lanes, ok = int64(id), err == nil
		}
		if !ok {
			return false, fmt.Errorf("carried %s: %q", p.Key, p.Value)
		}
	}
	d := &trace.Definitions{Format: "pallas", CheapNext: true}
	r, err := carrier.NewRestorer(d, pairs)
	if err != nil {
		return false, err
	}
	d.Clock = r.Clock
	m.defs, m.restorer = d, r
	m.types = make([]trace.Type, d.Attributes.Len())
	for _, a := range m.t.Definitions.Attributes {
		if uint64(a.Ref) < uint64(len(m.types)) {
			m.types[a.Ref] = trace.Type(a.Type)
		}
	}
	return true, nil
}

// placeThreads assigns the threads of an archive to the locations that the carried definitions name. It reports a
// thread that they do not name, which is not read.
func (m *model) placeThreads(a *Archive, opt *format.ReadOptions) error {
	s := newScope(a.Definitions, fmt.Sprintf("%d/", a.ID), nil)
	for i := range m.defs.Regions.Len() {
		s.regions[Ref(i)] = uint32(i)
	}
	m.scopes[a.ID] = s
	m.archives = append(m.archives, a)
	for _, l := range a.Locations {
		if int64(a.ID) == m.lanes {
			m.laneThreads = append(m.laneThreads, threadID{a.ID, l.ID})
			continue
		}
		at := threadID{a.ID, l.ID}
		found := ""
		if _, ok := m.anyID[l.ID]; ok {
			found = fmt.Sprintf("thread %d twice", l.ID)
		} else if !m.defs.Locations.Has(l.ID) {
			found = fmt.Sprintf("thread %d", l.ID)
		}
		if found != "" {
			if err := opt.Defect(&trace.Defect{Rule: "pallas.carried", Severity: trace.Error,
				Position: trace.Position{File: m.t.displayDir + archiveFile(a.ID)}, Found: found,
				Expected: fmt.Sprintf("each of the %s that weft wrote once; weft does not read the thread",
					plural.Of(m.defs.Locations.Len(), "location"))}); err != nil {
				return err
			}
			continue
		}
		m.location[at], m.anyID[l.ID] = l.ID, l.ID
		m.threads = append(m.threads, at)
	}
	return nil
}

// carriedOps converts the operands of a row in a trace that weft wrote. Such a trace stores locations
// instead of ranks.
func (m *model) carriedOps(record Record, v []uint64) ([]uint64, error) {
	ref := func(v uint64, n int) (uint64, error) {
		switch {
		case v == uint64(NoRef):
			return trace.Undefined, nil
		case v >= uint64(n):
			return trace.Undefined, fmt.Errorf("%s: found %d, expected less than %d", record, v, n)
		}
		return v, nil
	}
	var err, bad error
	switch record {
	case MPISend, MPIIsend, MPIRecv, MPIIrecv:
		v[0], err = ref(v[0], m.defs.Locations.Len())
		v[1], bad = ref(v[1], m.defs.Communicator.Len())
		if v[2] == uint64(NoRef) {
			v[2] = trace.Undefined
		}
	case MPICollectiveEnd:
		v[1], bad = ref(v[1], m.defs.Communicator.Len())
		if v[2] == uint64(NoRef) {
			v[2] = trace.Undefined
		}
	}
	return v, errors.Join(err, bad)
}

// addCarriedRows adds rows for events with attributes, in a trace that weft wrote.
func (tr *threadReader) addCarriedRows(events []uint32, times []uint64) error {
	b := &tr.b
	for i, e := range events {
		in := &tr.info[e]
		t := tr.d.ticks.model(times[i])
		tr.values = tr.values[:0]
		if tr.t.Events[e].HasAttributes() {
			if list, ok := tr.currentList(i, e); ok {
				var err error
				if tr.values, err = list.values(tr.values); err != nil {
					if err := tr.reportAttributes(e, err); err != nil {
						return err
					}
				}
			}
		}
		restored, err := tr.addRestored(t, in)
		if err != nil {
			err = tr.options().Defect(&trace.Defect{Rule: "pallas.carried", Severity: trace.Error,
				Position: tr.t.eventPosition(int(e)),
				Record:   fmt.Sprintf("%s at %d", tr.t.Events[e].Record, times[i]), Found: err.Error(),
				Expected: "the data that weft wrote; weft reads the event without it"})
		}
		if err != nil {
			return err
		}
		if restored {
			continue
		}
		b.Add(tr.loc, t, in.kind, in.ref)
		if len(in.ops) > 0 {
			b.AddOps(in.ops...)
		}
	}
	return nil
}

// addRestored adds the row that weft has stored in the attributes of an event, which are in tr.values. It returns
// false, and adds no row, if the event has no attributes or if they are damaged.
func (tr *threadReader) addRestored(t int64, in *eventInfo) (ok bool, err error) {
	if len(tr.values) == 0 {
		return false, nil
	}
	b, values := &tr.b, tr.values
	last := &values[len(values)-1]
	var packed []byte
	switch last.Attribute {
	case shortRow, packedRow:
		packed = last.Bytes
	case longRow:
		text, _ := tr.t.Archive.Definitions.Text(Ref(last.Uint()))
		if tr.packed, err = carrier.FromText(tr.packed, text); err != nil {
			return false, err
		}
		packed = tr.packed
	}
	if packed == nil {
		b.Add(tr.loc, t, in.kind, in.ref)
		if len(in.ops) > 0 {
			b.AddOps(in.ops...)
		}
	} else {
		b.Add(tr.loc, t, trace.NoOp, trace.NoRef)
		if values = values[:len(values)-1]; len(values) > 0 && values[len(values)-1].Attribute == claimID {
			b.AddOps(values[len(values)-1].Uint())
			values = values[:len(values)-1]
		}
	}
	if packed == nil || tr.d.restorer.NeedsAttributes(packed) {
		err = tr.addRestoredAttributes(values)
	}
	if err == nil && packed != nil {
		err = tr.d.restorer.Amend(b, packed)
	}
	if err != nil {
		b.DropLast()
	}
	return err == nil, err
}

// addRestoredAttributes adds attributes to the last row. Their refs are indexes of the model.
func (tr *threadReader) addRestoredAttributes(values []Value) error {
	for _, v := range values {
		if uint64(v.Attribute) >= uint64(len(tr.d.types)) {
			return fmt.Errorf("found attribute %d, expected less than %d", v.Attribute, len(tr.d.types))
		}
		x, known, ok := tr.t.Archive.Definitions.scalar(tr.d.types[v.Attribute], v)
		if !known || !ok {
			return fmt.Errorf("attribute %d: found %d, expected a number or the ref of a text", v.Attribute, v.Uint())
		}
		tr.b.AddAttr(v.Attribute, x)
	}
	return nil
}

// deliverLinks delivers the links that the metadata carry.
func (d *decoder) deliverLinks(sel trace.Selection, sink format.Sink) error {
	if d.restorer == nil || sel.Links == trace.NoLinks {
		return nil
	}
	for _, m := range d.t.Metadata {
		if !strings.HasPrefix(m.Key, linkKey) {
			continue
		}
		data, err := carrier.FromText(nil, m.Value)
		var links []trace.Link
		if err == nil {
			links, err = carrier.UnpackLinks(data, d.defs.Locations.Len())
		}
		if err != nil {
			err = d.opt.Defect(&trace.Defect{Rule: "pallas.carried", Severity: trace.Error,
				Position: trace.Position{File: d.t.src.Path}, Found: err.Error(), Expected: "links; weft leaves them out"})
		} else {
			err = sink.Links(links)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
