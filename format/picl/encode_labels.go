package picl

import (
	"math"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/trace"
)

// writeDefinitions writes the kept records that precede the event record with number rows.
func (e *encoder) writeDefinitions(rows int64) error {
	for len(e.kept) > 0 && e.kept[0].before <= rows {
		if err := e.writeKept(); err != nil {
			return err
		}
	}
	return nil
}

// writeKept writes the next kept record.
func (e *encoder) writeKept() error {
	r := &e.kept[0].rec
	e.kept = e.kept[1:]
	if r.Type == TypeLabel {
		e.written.add(r)
		delete(e.ownLabels, scope{r.Event, r.Processor, r.Process, 0})
	}
	return e.w.Write(r)
}

// writeLabel makes sure that the event type of a record has the given name, and writes labels for it if
// necessary. The kept labels give it that name unless a change of the trace has removed or added
// records before them. In that case, writeLabel writes the kept labels with earlier times. It then
// writes a new label if the name still differs.
func (e *encoder) writeLabel(loc uint32, event int64, name string, r *Record) error {
	k := locationEvent{loc, event}
	for {
		now := labelState{name, r.Process, len(e.written.labels) - e.ownLabelCount}
		if e.labelled[k] == now {
			return nil
		}
		have, ok := e.written.labelOf(event, r.Processor, r.Process, math.MaxInt64)
		if !ok {
			have = eventName(event)
		}
		if have == name {
			e.labelled[k] = now
			return nil
		}
		if len(e.kept) == 0 || e.kept[0].rec.Time.Cmp(r.Time) > 0 {
			break
		}
		if err := e.writeKept(); err != nil {
			return err
		}
	}
	l := Record{Type: TypeLabel, Event: event, Time: r.Time, Processor: r.Processor, Process: r.Process,
		Values: []trace.Value{trace.StringValue(name)}}
	e.encodeTexts(&l)
	sc := scope{event, r.Processor, r.Process, 0}
	if i, ok := e.ownLabels[sc]; ok {
		e.written.labels[i].text = name
	} else {
		e.written.add(&l)
		// A label for one process does not change the names of event types in other processes.
		if r.Processor >= 0 && r.Process >= 0 && e.rewriter == nil && !e.written.isSubset(event) {
			e.ownLabels[sc] = len(e.written.labels) - 1
			e.ownLabelCount++
		}
	}
	e.labelled[k] = labelState{name, r.Process, len(e.written.labels) - e.ownLabelCount}
	return e.w.Write(&l)
}

// labelState holds the name that an event type of a process has after a given number of labels.
type labelState struct {
	name    string
	process int64
	labels  int
}

// writeLabels writes the labels that the event types in the record of a row need.
func (e *encoder) writeLabels(c *trace.Cursor, r *Record) error {
	if ref := c.Ref(); ref != trace.NoRef {
		// An exit has the name of its entry, so it needs no label. If an original file is rewritten, its own
		// labels already give all unchanged names.
		if ev := e.events[ref]; !(e.keptLabels && c.Kind() == trace.Leave) && (e.rewriter == nil || e.severalNames[ev]) {
			if err := e.writeLabel(c.Location(), ev, e.Defs.Regions.At(ref).Name, r); err != nil {
				return err
			}
		}
	}
	if c.Kind() != trace.Statistics {
		return nil
	}
	keys, _ := c.Attrs()
	for _, key := range keys {
		a := e.Defs.Attributes.At(key)
		if n, err := strconv.ParseInt(a.Name, 10, 64); err == nil && a.Doc != "" && !e.ambiguous[n] {
			if err := e.writeLabel(c.Location(), n, a.Doc, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// keptRecord is a definition record of the original trace and the number of event records before it.
type keptRecord struct {
	before int64
	rec    Record
}

// keepRecord encodes a definition record as a text for trace.Definitions.Opaque.
func keepRecord(before int64, r *Record) string {
	k := *r
	k.Values = cloneValues(r.Values)
	if t := trace.ToUTF8(k.Text); t != k.Text && k.Type == TypeLabel {
		k.Text = "" // the text contains a number of bytes, which a change of the encoding may change
	} else {
		k.Text = t
	}
	for i := range k.Values {
		k.Values[i].Str = trace.ToUTF8(k.Values[i].Str)
	}
	r = &k
	b := digits.AppendInt(nil, before)
	return string(r.Append(append(b, '\t'), 0))
}

// parseKept decodes a text of keepRecord, and adds the record to the definitions before it.
func parseKept(s string, before *definitions) (k keptRecord) {
	n, line, _ := strings.Cut(s, "\t")
	k.before, _ = strconv.ParseInt(n, 10, 64)
	var h head
	i, _, skip := parseLine([]byte(line), &h)
	if skip {
		return k
	}
	k.rec.setHead(&h, 0)
	k.rec.decodeData([]byte(line)[i:], &h, &descriptorResolver{defs: &definitions{}})
	k.rec.decodeAgain([]byte(line)[i:], before)
	if k.rec.Type != TypeLabel {
		before.add(&k.rec)
	}
	return k
}
