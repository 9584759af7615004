package otf2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
)

// CarriedOption is the name of the option that determines whether the reader restores carried data. Carried
// data is data from a trace of another format that weft keeps in properties and attributes.
const CarriedOption = "otf2.carried"

// OwnRecords returns options with which a reader delivers the locations and times of OTF2's own records,
// unless values choose otherwise.
func OwnRecords(values map[string]string) map[string]string {
	own := map[string]string{CarriedOption: "false"}
	maps.Copy(own, values)
	return own
}

// restore builds the model from the definitions that weft has stored in the properties of the archive. It
// returns false if the archive has no such definitions.
func (m *model) restore() (bool, error) {
	pairs, err := carrier.UnpackTexts(m.a.properties(), definitionKey)
	if len(pairs) == 0 || err != nil {
		return false, err
	}
	layout, known := "", false
	for _, p := range pairs {
		if p.Key == layoutKey {
			layout = p.Value
		}
		if p.Key != baseKey {
			continue
		}
		if m.base, err = strconv.ParseUint(p.Value, 10, 64); err != nil || m.base > 1<<63 {
			return false, fmt.Errorf("carried %s: %q", p.Key, p.Value)
		}
		known = true
	}
	if !known {
		return false, fmt.Errorf("carried definitions: found no %s, expected those of this version of weft", baseKey)
	}
	d := &trace.Definitions{Format: "otf2", CheapNext: true}
	r, err := carrier.NewRestorer(d, pairs)
	if err != nil {
		return false, err
	}
	d.Clock = r.Clock
	d.Native, d.Layout = &restoredArchive{m}, layout
	m.defs, m.restorer = d, r
	for i, a := range slices.Backward(d.Attributes.All()) {
		if isField(&a) {
			m.attributes[attributeKey{a.Name, a.Type}] = uint32(i)
		}
	}
	for t := range mappedTables {
		for i := range entries(d, t) {
			m.index[t].set(uint64(i)+firstID[t], uint32(i))
		}
	}
	for i := range d.Locations.Len() {
		m.locations = append(m.locations, uint64(i))
	}
	return true, nil
}

// restoredArchive is the value of Definitions.Native for an archive that weft wrote and has restored. An encoder of
// OTF2 encodes the trace in the same layout, and copies the snapshots and thumbnails that other tools have added.
type restoredArchive struct{ m *model }

// restoreClass adds a class of metrics. The members have their indexes as ids.
func (m *model) restoreClass(r *Record) {
	classID, n := r.Values[0], min(r.Values[1], uint64(len(r.Values)-2))
	m.metrics[classID] = nil
	for _, i := range r.Values[2 : 2+n] {
		if i < uint64(m.defs.Metrics.Len()) {
			m.metrics[classID] = append(m.metrics[classID], uint32(i))
		}
	}
	if len(m.metrics[classID]) > 0 {
		m.index[Metrics].set(classID, m.metrics[classID][0])
	}
}

// isRestored reports whether weft has stored a row in an event.
func (lr *locationReader) isRestored(e *Event) bool {
	last := len(e.Attributes) - 1
	return lr.d.restorer != nil && last >= 0 && e.Attributes[last].ID <= longRow
}

// isGeneric reports whether an event of an archive that weft wrote is a generic event of the trace. The name of such
// an event is the value of the parameter kindParameter, and the id of the name is its index in the model. Names of all
// other events without a record have greater ids.
func (lr *locationReader) isGeneric(id uint8, parameter, name uint64) bool {
	return id == parameterString && parameter == kindParameter && lr.d.restorer != nil &&
		name < uint64(lr.d.defs.Strings.Len())
}

// entries returns the number of entries of a table in the model. It is 0 for tables that the model does not have.
func entries(d *trace.Definitions, t Table) int {
	switch t {
	case Strings:
		return d.Strings.Len()
	case Attributes:
		return d.Attributes.Len()
	case Locations:
		return d.Locations.Len()
	case LocationGroups:
		return d.Groups.Len()
	case Regions:
		return d.Regions.Len()
	case Groups:
		return d.Sets.Len()
	case Comms:
		return d.Communicator.Len()
	case Metrics:
		return d.Metrics.Len()
	case Parameters:
		return d.Parameters.Len()
	case Windows:
		return d.Windows.Len()
	case CallingContexts:
		return d.Contexts.Len()
	case IOFiles:
		return d.Files.Len()
	case IOHandles:
		return d.Handles.Len()
	}
	return 0
}

// addRestored adds the row that weft has stored in an event. It returns false if the event contains no row.
func (lr *locationReader) addRestored(e *Event, now int64) (ok bool, err error) {
	if !lr.isRestored(e) {
		return false, nil
	}
	if err = lr.restoreRow(e, now); err == nil || errors.Is(err, errStandIn) {
		return true, err
	}
	e.Attributes = slices.DeleteFunc(e.Attributes, func(a Attribute) bool { return uint64(a.ID) < firstID[Attributes] })
	return false, lr.opt().Defect(&trace.Defect{Rule: "otf2.carried", Severity: trace.Error, Position: lr.position(e),
		Found: err.Error(), Expected: "the data that weft wrote; weft reads the event without it"})
}

// restoreRow adds the row that weft has stored in an event. In case of an error it adds no row.
func (lr *locationReader) restoreRow(e *Event, now int64) (err error) {
	last := len(e.Attributes) - 1
	a, all := &e.Attributes[last], e.Attributes
	if a.ID == shortRow {
		lr.packed = binary.LittleEndian.AppendUint64(lr.packed[:0], a.Value)
	} else {
		text, _ := lr.d.ranks.text(a.Value)
		if lr.packed, err = carrier.FromText(lr.packed, text); err != nil {
			return err
		}
	}
	b := &lr.b
	b.Add(lr.loc, now, trace.NoOp, trace.NoRef)
	if last > 0 && all[last-1].ID == claimID {
		last--
		b.AddOps(all[last].Value)
	}
	if lr.d.restorer.NeedsAttributes(lr.packed) {
		e.Attributes = all[:last]
		err = lr.addAttributes(e)
		e.Attributes = all
	}
	if err == nil {
		err = lr.d.restorer.Amend(b, lr.packed)
	}
	if err != nil {
		b.DropLast()
	}
	return err
}

// deliverLinks reads the strings and delivers the links that weft has stored in them.
func (d *decoder) deliverLinks(sel trace.Selection, sink format.Sink) error {
	if d.restorer == nil || sel.Links == trace.NoLinks {
		return nil
	}
	var failed error
	d.a.Definitions(func(_ int64, r *Record) error { // defects of the file have already been reported
		if r.ID != defString || r.Values[0] < firstLink || len(r.Texts) == 0 {
			return nil
		}
		data, err := carrier.FromText(nil, r.Texts[0])
		var links []trace.Link
		if err == nil {
			links, err = carrier.UnpackLinks(data, d.defs.Locations.Len())
		}
		if err != nil {
			failed = d.opt.Defect(&trace.Defect{Rule: "otf2.carried", Severity: trace.Error,
				Position: trace.Position{File: d.a.src.Path}, Found: err.Error(), Expected: "links; weft leaves them out"})
			return failed
		}
		failed = sink.Links(links)
		return failed
	})
	return failed
}
