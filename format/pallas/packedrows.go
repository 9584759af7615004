package pallas

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// rowsKey is the key, without the number of the thread, of the metadata with the packed rows of a thread. Attributes of
// events would need ten times the space, because Pallas does not compress them.
const rowsKey = "weft.rows."

// packedRow is the attribute that stands for the packed row of an occurrence, in memory only.
const packedRow Ref = 0xfffffff3

// maxPackedRow is the greatest length of such a row in bytes. A list of attributes has less than 64 KiB.
const maxPackedRow = 4 << 10

// packedRows holds the packed rows of the occurrences of an event (docs/formats/pallas.md, "Traces of other formats").
type packedRows struct {
	count, next uint64 // number of rows, and the occurrence after that of the last row
	data        []byte
}

// pack adds a packed row to the last event.
func (r *Recorder) pack(row []byte) {
	e := r.events[r.recent]
	if e.rows == nil {
		e.rows = &packedRows{}
	}
	occurrence := e.times.size - 1
	e.rows.data = binary.AppendUvarint(e.rows.data, occurrence-e.rows.next)
	e.rows.data = append(binary.AppendUvarint(e.rows.data, uint64(len(row))), row...)
	e.rows.count, e.rows.next = e.rows.count+1, occurrence+1
}

// packedRows returns the packed rows of all events as a text. It returns "" if there are none.
func (r *Recorder) packedRows() string {
	var b []byte
	for _, e := range r.events {
		if e.rows == nil {
			continue
		}
		b = binary.AppendUvarint(b, uint64(e.record))
		b = append(binary.AppendUvarint(b, uint64(len(e.payload))), e.payload...)
		b = append(binary.AppendUvarint(b, e.rows.count), e.rows.data...)
	}
	if b == nil {
		return ""
	}
	return carrier.Text(carrier.Compress(b))
}

// addRowMetadata adds the packed rows of all threads to the metadata.
func (e *encoder) addRowMetadata() {
	for i, t := range e.threads {
		if t == nil {
			continue
		}
		text := t.rows
		if text == "" {
			text = t.r.packedRows()
		}
		if text != "" {
			e.w.Metadata = append(e.w.Metadata, Metadata{rowsKey + strconv.Itoa(i), text})
		}
	}
}

// findRows notes which metadata have the packed rows of which thread. It reports metadata whose thread the trace does
// not have, or whose thread has rows already.
func (m *model) findRows(opt *format.ReadOptions) error {
	m.rows = map[uint32]string{}
	for _, x := range m.t.Metadata {
		number, ok := strings.CutPrefix(x.Key, rowsKey)
		if !ok {
			continue
		}
		i, err := strconv.ParseUint(number, 10, 32)
		if _, known := m.rows[uint32(i)]; err == nil && !known && m.defs.Locations.Has(uint32(i)) {
			m.rows[uint32(i)] = x.Value
			continue
		}
		if err := opt.Defect(&trace.Defect{Rule: "pallas.carried", Severity: trace.Error,
			Position: trace.Position{File: m.t.src.Path}, Found: fmt.Sprintf("metadata %q", x.Key),
			Expected: fmt.Sprintf("one text for each of %s; weft leaves it out",
				plural.Of(m.defs.Locations.Len(), "thread"))}); err != nil {
			return err
		}
	}
	return nil
}

// restoreRows adds the packed rows of a thread to the attributes of its events.
func (d *decoder) restoreRows(id threadID, t *Thread) error {
	text, ok := d.model.rows[id.id]
	if !ok || int64(id.archive) == d.lanes {
		return nil
	}
	data, err := carrier.FromText(nil, text)
	if err == nil {
		data, err = carrier.Decompress(data)
	}
	if err == nil {
		err = t.addPackedRows(data)
	}
	if err == nil {
		return nil
	}
	return d.opt.Defect(&trace.Defect{Rule: "pallas.carried", Severity: trace.Error,
		Position: trace.Position{File: t.path}, Found: err.Error(),
		Expected: "packed rows that weft wrote; weft reads the other events without them"})
}

// addPackedRows adds the packed rows that [Recorder.packedRows] has returned to the attributes of the thread's events.
// Events are identified by their content, because their numbers change when tokens are unified.
func (t *Thread) addPackedRows(data []byte) error {
	type eventKey struct {
		record  Record
		payload string
	}
	events := map[eventKey]*Event{}
	for i := range t.Events {
		e := &t.Events[i]
		events[eventKey{e.Record, string(e.Payload)}] = e
	}
	r := carrier.Unpacker{Data: data}
	for len(r.Data) > 0 {
		record, payload := r.Uvarint(), r.Bytes()
		key := eventKey{Record(record), string(payload)}
		e := events[key]
		if r.Err == nil && e == nil {
			return fmt.Errorf("packed rows of an event %s that the thread does not have, or has had before", Record(record))
		}
		delete(events, key)
		if lists := packedLists(&r, e); r.Err == nil {
			e.attributes = lists
		}
	}
	return r.Err
}

// packedLists returns the attribute lists of an event with the packed rows that r reads.
func packedLists(r *carrier.Unpacker, e *Event) (b []byte) {
	occurrence, most := uint64(0), uint64(0)
	var rest []byte
	if e != nil {
		rest, most = e.attributes, min(e.Timestamps.Size, math.MaxInt32)
	}
	count := r.Uvarint()
	const usual = 32 // bytes of a list with a row
	b = make([]byte, 0, len(rest)+usual*int(min(count, most, uint64(len(r.Data)))))
	for ; count > 0 && r.Err == nil; count-- {
		skipped, row := r.Uvarint(), r.Bytes()
		if r.Err == nil && (occurrence >= most || skipped >= most-occurrence || len(row) > maxPackedRow) {
			r.Err = fmt.Errorf("a packed row of %d bytes, %d after occurrence %d of %d", len(row), skipped, occurrence, most)
		}
		if r.Err != nil {
			return nil
		}
		occurrence += skipped
		list := attributeList{occurrence: -1}
		for len(rest) > 0 {
			l, more, ok := nextList(rest)
			if !ok || uint64(l.occurrence) > occurrence {
				break
			}
			if uint64(l.occurrence) == occurrence {
				list, rest = l, more
				break
			}
			b, rest = append(b, rest[:len(rest)-len(more)]...), more
		}
		at := len(b)
		b = append(le32(b, uint32(occurrence)), 0, 0)
		if list.occurrence < 0 {
			b = append(b, 1)
		} else {
			b = append(append(b, list.body[0]+1), list.body[1:]...)
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(6+len(row)))
		b = append(le32(b, packedRow), row...)
		if n := len(b) - at; n <= math.MaxUint16 {
			binary.LittleEndian.PutUint16(b[at+4:], uint16(n))
		} else {
			r.Err = fmt.Errorf("a packed row with %d bytes of attributes", n)
		}
		occurrence++
	}
	return append(b, rest...)
}
