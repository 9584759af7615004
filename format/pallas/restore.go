package pallas

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
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
		if p.Key != timeKey {
			continue
		}
		if err := json.Unmarshal([]byte(p.Value), &m.ticks); err != nil || m.ticks.Scale == 0 || m.ticks.Scale > 1e9 {
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
	return true, nil
}

// placeThreads assigns the threads of an archive to the locations that the carried definitions name.
func (m *model) placeThreads(a *Archive) error {
	s := newScope(a.Definitions, fmt.Sprintf("%d/", a.ID), nil)
	for i := range m.defs.Regions.Len() {
		s.regions[Ref(i)] = uint32(i)
	}
	m.scopes[a.ID] = s
	m.archives = append(m.archives, a)
	for _, l := range a.Locations {
		if !m.defs.Locations.Has(l.ID) {
			return fmt.Errorf("carried definitions: found thread %d, expected one of %d locations", l.ID, m.defs.Locations.Len())
		}
		at := threadID{a.ID, l.ID}
		if _, ok := m.anyID[l.ID]; ok {
			return fmt.Errorf("carried definitions: found thread %d twice", l.ID)
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
		row := ""
		if tr.t.Events[e].HasAttributes() {
			list, ok := tr.currentList(i, e)
			if ok {
				var err error
				if tr.values, err = list.values(tr.values[:0]); err != nil {
					if err := tr.reportAttributes(err); err != nil {
						return err
					}
				}
				for _, v := range tr.values {
					if v.Attribute == rowAttribute {
						row, _ = tr.t.Archive.Definitions.Text(Ref(v.Uint()))
					}
				}
			}
		}
		if row != "" {
			var err error
			if tr.packed, err = carrier.FromText(tr.packed, row); err == nil {
				err = tr.d.restorer.AddWhole(b, tr.loc, t, tr.packed)
			}
			if err == nil {
				continue
			}
			if err := tr.options().Defect(&trace.Defect{Rule: "pallas.carried", Severity: trace.Error,
				Position: trace.Position{File: tr.t.path},
				Record:   fmt.Sprintf("%s at %d", tr.t.Events[e].Record, times[i]), Found: err.Error(),
				Expected: "the data that weft wrote; weft reads the event without it"}); err != nil {
				return err
			}
		}
		b.Add(tr.loc, t, in.kind, in.ref)
		if len(in.ops) > 0 {
			b.AddOps(in.ops...)
		}
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
