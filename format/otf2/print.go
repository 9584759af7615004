package otf2

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-trace/weft/format"
)

// printer writes the output of otf2-print.
type printer struct {
	*names
	w    *bufio.Writer
	line []byte
	// events and definitions hold the texts of events and definitions, split into parts. words holds the
	// beginnings of the lines of events.
	events, definitions [][]part
	words               [len(eventTypes)]string
}

// part is a part of a text: a literal text, and the index of the field that follows it. The index is -1 if no
// field follows.
type part struct {
	words string
	field int
}

// splitTexts splits the texts of a table into parts.
func splitTexts(types []recordType) [][]part {
	l := make([][]part, len(types))
	for i, t := range types {
		rest := t.text
		for rest != "" {
			words, after, ok := strings.Cut(rest, "%")
			if !ok {
				l[i] = append(l[i], part{rest, -1})
				break
			}
			n := len(after) - len(strings.TrimLeft(after, "0123456789"))
			f, _ := strconv.Atoi(after[:n])
			l[i] = append(l[i], part{words, f})
			rest = after[n:]
		}
	}
	return l
}

func newPrinter(w io.Writer) *printer {
	p := &printer{names: newNames(), w: bufio.NewWriterSize(w, 64<<10), events: splitTexts(eventTypes[:]),
		definitions: splitTexts(definitionTypes[:])}
	for i, t := range eventTypes {
		p.words[i] = string(append(padToColumn([]byte(t.word), 0, eventColumn), ' '))
	}
	return p
}

// enumWord returns the word for a value of an enumeration.
func enumWord(words []string, v uint64) string {
	if v < uint64(len(words)) && words[v] != "" {
		return words[v]
	}
	return "INVALID <" + strconv.FormatUint(v, 10) + ">"
}

// flagWords returns the words of the flags in v.
func flagWords(words []string, v uint64) string {
	if v == 0 {
		return "NONE"
	}
	var l []string
	for i, w := range words {
		if v>>i&1 == 1 {
			l = append(l, w)
			v &^= 1 << i
		}
	}
	if v != 0 {
		l = append(l, fmt.Sprintf("INVALID <0x%x>", v))
	}
	return "{" + strings.Join(l, ", ") + "}"
}

// flagBits returns the flags that a text of [flagWords] names.
func flagBits(words []string, text string) (bits uint64) {
	for _, word := range strings.Split(strings.Trim(text, "{}"), ", ") {
		if i := slices.Index(words, word); i >= 0 {
			bits |= 1 << i
		}
	}
	return bits
}

// appendFloat appends a number in the format %g of C's printf.
func appendFloat(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		if math.Signbit(v) {
			b = append(b, '-')
		}
		return append(b, "nan"...)
	case math.IsInf(v, 0):
		if v < 0 {
			b = append(b, '-')
		}
		return append(b, "inf"...)
	}
	return strconv.AppendFloat(b, v, 'g', 6, 64)
}

// appendTyped appends a value of a type.
func (n *names) appendTyped(b []byte, typ, v uint64) []byte {
	switch typ {
	case typeInt8, typeInt16, typeInt32, typeInt64:
		return strconv.AppendInt(b, int64(v), 10)
	case typeFloat:
		return appendFloat(b, float64(math.Float32frombits(uint32(v))))
	case typeDouble:
		return appendFloat(b, math.Float64frombits(v))
	}
	if t := tableOf(typ); t != noTable {
		return append(b, n.shown(t, v)...)
	}
	return strconv.AppendUint(b, v, 10)
}

// value returns the text of a value of the given type. For a reference, the text is the name of the
// definition.
func (n *names) value(typ, v uint64) string {
	if t := tableOf(typ); t != noTable {
		if name, ok := n.rawName(t, v); ok {
			return name
		}
	}
	return string(n.appendTyped(nil, typ, v))
}

// appendField appends field i of the values v. location is the location of the event.
func (p *printer) appendField(b []byte, f *field, v []uint64, i int, location uint64) []byte {
	x := v[i]
	switch f.show {
	case showRef:
		return append(b, p.shown(f.table, x)...)
	case showSigned:
		return strconv.AppendInt(b, int64(x), 10)
	case showID, showSignedID, showTime:
		if f.enc == enc32 && x == undefined32 || x == undefined64 && f.show != showSignedID ||
			f.show == showSignedID && int64(x) == math.MinInt64 {
			return append(b, "UNDEFINED"...)
		}
		if f.show == showSignedID {
			return strconv.AppendInt(b, int64(x), 10)
		}
	case showEnum:
		return append(b, enumWord(f.words, x)...)
	case showFlags:
		return append(b, flagWords(f.words, x)...)
	case showRoot, showWinRoot:
		switch x {
		case undefined32:
			return append(b, "NONE"...)
		case undefined32 - 1:
			return append(b, "SELF"...)
		case undefined32 - 2:
			return append(b, "THIS_GROUP"...)
		}
		if f.show == showRoot {
			return p.appendRank(b, location, p.comm(v[f.other]), x)
		}
		return p.appendRank(b, location, p.commOf(Windows, v[f.other]), x)
	case showRank:
		return p.appendRank(b, location, p.comm(v[f.other]), x)
	case showWinRank:
		return p.appendRank(b, location, p.commOf(Windows, v[f.other]), x)
	case showTopoRank:
		return p.appendRank(b, undefined64, p.commOf(CartTopologies, v[f.other]), x)
	case showParadigm:
		return append(b, p.paradigm(x)...)
	case showTyped:
		return p.appendTyped(b, v[f.other], x)
	case showType:
		if x == typeUint64 || x == typeInt64 || x == typeDouble {
			return append(b, typeNames[x]...)
		}
		return append(b, enumWord(nil, x)...)
	case showScope:
		if scope := v[f.other]; scope < 4 {
			return append(b, p.shown64([...]Table{Locations, LocationGroups, SystemTreeNodes, Groups}[scope], x)...)
		}
		if x == undefined64 {
			return append(b, "UNDEFINED"...)
		}
	}
	return strconv.AppendUint(b, x, 10)
}

// commOf returns the communicator of a window or a topology.
func (p *printer) commOf(t Table, id uint64) *printComm {
	if id == undefined32 {
		return nil
	}
	return p.communicators[t][id]
}

// paradigm returns the name of a paradigm. If the paradigm has no name, it returns otf2-print's word for the
// paradigm.
func (p *printer) paradigm(v uint64) string {
	if x := p.tables[Paradigms].get(v); x != nil {
		return x.shown
	}
	return enumWord(paradigms, v)
}

// padToColumn fills a line with spaces up to a column.
func padToColumn(b []byte, from, width int) []byte {
	for len(b)-from < width {
		b = append(b, ' ')
	}
	return b
}

// appendRight appends a number, right-aligned in a column of the given width.
func appendRight(b []byte, v uint64, width int) []byte {
	const blanks = "                    "
	room := [20]byte([]byte(blanks))
	at := len(room)
	for {
		at--
		room[at] = byte('0' + v%10)
		if v /= 10; v == 0 {
			break
		}
	}
	return append(b, room[min(at, len(room)-width):]...)
}

const (
	definitionColumn = 27
	idColumn         = 12
	eventColumn      = 32
	locationColumn   = 15
	timeColumn       = 20
)

// printEvent writes an event of a location. column is the text of the column with the location's number.
func (p *printer) printEvent(location uint64, column string, e *Event) error {
	t := typeByID(eventTypes[:], e.ID)
	if t == nil {
		return p.printUnknown(column, e)
	}
	b := appendTime(append(append(p.line[:0], p.words[e.ID]...), column...), e.Time)
	v := e.Values
	switch e.ID {
	case enter, leave:
		b = append(append(b, "Region: "...), p.shown(Regions, v[0])...)
	case metricEvent:
		b = p.appendMetric(b, v)
	case programBegin:
		b = append(append(b, "Name: "...), p.shown(Strings, v[0])...)
		b = append(strconv.AppendUint(append(b, ", "...), v[1], 10), " Argument"...)
		b = appendPlural(b, v[1])
		b = p.appendRefs(b, ": ", Strings, v[2:])
	default:
		for _, x := range p.events[e.ID] {
			b = append(b, x.words...)
			if x.field >= 0 {
				b = p.appendField(b, &t.fields[x.field], v, x.field, location)
			}
		}
	}
	return p.writeEvent(b, e.Attributes)
}

// printUnknown writes an event of a kind that a later version defines.
func (p *printer) printUnknown(column string, e *Event) error {
	b := append(append(padToColumn(append(p.line[:0], "UNKNOWN"...), 0, eventColumn), ' '), column...)
	p.line = append(appendRight(append(b, ' '), e.Time, timeColumn), '\n')
	_, err := p.w.Write(p.line)
	return err
}

// appendTime appends the column of a time and the gap after it.
func appendTime(b []byte, time uint64) []byte {
	b = append(b, ' ')
	if time == undefined64 {
		b = append(b, "           UNDEFINED"...)
	} else {
		b = appendRight(b, time, timeColumn)
	}
	return append(b, ' ', ' ')
}

// writeEvent writes the line of an event, and a second line with its attributes if it has any.
func (p *printer) writeEvent(b []byte, attributes []Attribute) error {
	b = append(b, '\n')
	if len(attributes) > 0 {
		b = padToColumn(b, len(b), eventColumn+38)
		b = append(b, " ADDITIONAL ATTRIBUTES: "...)
		for i, a := range attributes {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(append(b, '('), p.shown(Attributes, uint64(a.ID))...)
			b = append(append(b, "; "...), enumWord(typeNames, uint64(a.Type))...)
			b = append(p.appendTyped(append(b, "; "...), uint64(a.Type), a.Value), ')')
		}
		b = append(b, '\n')
	}
	p.line = b
	_, err := p.w.Write(b)
	return err
}

// printSnapshot writes a record of a snapshot.
func (p *printer) printSnapshot(location uint64, column string, e *Event) error {
	t := typeByID(snapshotTypes[:], e.ID)
	if t == nil {
		return p.printUnknown(column, e)
	}
	if t.event != 0 {
		past := *e
		past.ID, past.Time, past.Values = t.event, e.Values[0], e.Values[1:]
		return p.printEvent(location, column, &past)
	}
	b := append(append(padToColumn(append(p.line[:0], t.word...), 0, eventColumn), ' '), column...)
	words, _, _ := strings.Cut(t.text, "%")
	return p.writeEvent(strconv.AppendUint(append(appendTime(b, e.Time), words...), e.Values[0], 10), e.Attributes)
}

func appendPlural(b []byte, n uint64) []byte {
	if n != 1 {
		b = append(b, 's')
	}
	return b
}

// appendRefs appends a text and a list of references.
func (p *printer) appendRefs(b []byte, before string, t Table, l []uint64) []byte {
	for _, x := range l {
		b = append(append(b, before...), p.shown(t, x)...)
		before = ", "
	}
	return b
}

func (p *printer) appendMetric(b []byte, v []uint64) []byte {
	b = append(append(b, "Metric: "...), p.shown(Metrics, v[0])...)
	b = append(strconv.AppendUint(append(b, ", "...), v[1], 10), " Value"...)
	b = appendPlural(b, v[1])
	members := p.members[v[0]]
	for i := 2; i+1 < len(v); i += 2 {
		name := "INVALID"
		if k := i/2 - 1; k < len(members) && v[0] != undefined32 {
			name = p.shown(MetricMembers, members[k])
		}
		sep := ": "
		if i > 2 {
			sep = ", "
		}
		b = append(append(append(append(b, sep...), '('), name...), "; "...)
		switch v[i] {
		case typeInt64:
			b = strconv.AppendInt(append(b, "INT64; "...), int64(v[i+1]), 10)
		case typeUint64:
			b = strconv.AppendUint(append(b, "UINT64; "...), v[i+1], 10)
		case typeDouble:
			b = appendFloat(append(b, "DOUBLE; "...), math.Float64frombits(v[i+1]))
		default:
			b = fmt.Appendf(b, "%s; %08x", enumWord(nil, v[i]), v[i+1])
		}
		b = append(b, ')')
	}
	return b
}

// printDefinition writes a definition and records its name.
func (p *printer) printDefinition(r *Record) error {
	t := typeByID(definitionTypes[:], r.ID)
	if t == nil {
		_, err := p.w.WriteString("UNKNOWN                    \n")
		return err
	}
	p.define(r)
	v := r.Values
	b := padToColumn(append(p.line[:0], t.word...), 0, definitionColumn)
	b = append(b, ' ')
	if f := t.fields[0]; f.name == "self" || r.ID == defParadigm {
		b = appendRight(b, v[0], idColumn)
	} else {
		b = padToColumn(b, len(b), idColumn)
	}
	b = append(b, ' ', ' ')
	switch r.ID {
	case defClock:
		b = fmt.Appendf(b, "Ticks per Seconds: %d, Global Offset: %d, Length: %d, Date: %s", v[0], v[1], v[2], date(v[3]))
	case defParadigm:
		b = fmt.Appendf(b, "%s, Name: %s, Class: %s", enumWord(paradigms, v[0]), p.shown(Strings, v[1]),
			enumWord(paradigmClasses, v[2]))
	case defParadigmProp:
		typ, value := p.property(v[1], v[2], v[3])
		b = fmt.Appendf(b, "Paradigm: %s, Property: %s, Type: %s, Value: %s", p.paradigm(v[0]), enumWord(paradigmProps, v[1]),
			typ, value)
	case defIOParadigm:
		plural := "ies"
		if v[5] == 1 {
			plural = "y"
		}
		b = fmt.Appendf(b, "Identification: %s, Name: %s, Class: %s, Flags: %s, %d Propert%s", p.shown(Strings, v[1]),
			p.shown(Strings, v[2]), enumWord(ioClasses, v[3]), flagWords(ioFlags, v[4]), v[5], plural)
		sep := ": "
		for l := v[6:]; len(l) >= 3; l = l[3:] {
			value := fmt.Sprintf("UNKNOWN I/O PROPERTY <%d>", l[2])
			if l[0] == 0 && l[1] != typeString {
				value = fmt.Sprintf("TYPE MISMATCH <%d>", l[2])
			} else if l[0] == 0 {
				value = p.shown(Strings, l[2])
			}
			b = fmt.Appendf(b, "%s(%s; %s; %s)", sep, enumWord(ioProps, l[0]), enumWord(typeNames, l[1]), value)
			sep = ", "
		}
	case defString:
		b = append(append(append(b, '"'), r.Texts[0]...), '"')
	case defGroup:
		b = p.appendGroup(b, v)
	case defMetricClass:
		after := v[2+v[1]:]
		b = fmt.Appendf(b, "Occurrence: %s, Kind: %s, %d Member", enumWord(occurrences, after[0]),
			enumWord(recorderKinds, after[1]),
			v[1])
		b = p.appendRefs(appendPlural(b, v[1]), ": ", MetricMembers, v[2:2+v[1]])
	case defCartTopology:
		b = fmt.Appendf(b, "Name: %s, Communicator: %s, %d Dimension", p.shown(Strings, v[1]), p.shown(Comms, v[2]), v[3])
		b = append(p.appendRefs(append(appendPlural(b, v[3]), ": ("...), "", CartDimensions, v[4:]), ')')
	case defCartCoord:
		b = append(append(b, "Cartesian Topology: "...), p.shown(CartTopologies, v[0])...)
		b = p.appendField(append(b, ", Rank: "...), &t.fields[1], v, 1, undefined64)
		b = append(appendPlural(append(b, ", Coordinate"...), v[2]), ": ("...)
		for i, x := range v[3:] {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = strconv.AppendUint(b, x, 10)
		}
		b = append(b, ')')
	default:
		for _, x := range p.definitions[r.ID] {
			b = append(b, x.words...)
			if x.field >= 0 {
				b = p.appendField(b, &t.fields[x.field], v, x.field, undefined64)
			}
		}
	}
	p.line = append(b, '\n')
	_, err := p.w.Write(p.line)
	return err
}

// property returns the type and the value of a paradigm's property as texts.
func (p *printer) property(property, typ, v uint64) (string, string) {
	const names, rmaOnly = 2, 2
	switch {
	case property < names && typ == typeString:
		return enumWord(typeNames, typ), p.shown(Strings, v)
	case property == rmaOnly && typ == typeUint8:
		return "BOOLEAN", enumWord(booleans, v)
	case property <= rmaOnly:
		return enumWord(typeNames, typ), fmt.Sprintf("TYPE MISMATCH <%d>", v)
	}
	return enumWord(typeNames, typ), fmt.Sprintf("UNKNOWN PROPERTY <%d>", v)
}

func (p *printer) appendGroup(b []byte, v []uint64) []byte {
	_, paradigm, g := groupOf(v)
	after := v[4+v[3]:]
	b = fmt.Appendf(b, "Name: %s, Type: %s, Paradigm: %s, Flags: %s, %d Member", p.shown(Strings, v[1]),
		enumWord(groupTypes, after[0]), p.paradigm(paradigm), flagWords(groupFlags, after[2]), v[3])
	b = appendPlural(b, v[3])
	before := ": "
	for _, m := range g.members {
		b = append(b, before...)
		before = ", "
		switch g.typ {
		case 1, communicatingLocations:
			b = append(b, p.shown(Locations, m)...)
		case 2:
			b = append(b, p.shown64(Regions, m)...)
		case 3:
			b = append(b, p.shown64(MetricMembers, m)...)
		case commGroup:
			name := "INVALID"
			if l := p.communicating[paradigm]; l != nil && m < uint64(len(l.members)) {
				name = p.shown(Locations, l.members[m])
			}
			if m == undefined64 {
				b = append(b, "UNDEFINED"...)
				continue
			}
			b = fmt.Appendf(b, "%d (%s)", m, name)
		default:
			if m == undefined64 {
				b = append(b, "UNDEFINED"...)
				continue
			}
			b = strconv.AppendUint(b, m, 10)
		}
	}
	return b
}

// shown64 returns a 64-bit reference as otf2-print shows it. Only a reference with all bits set is
// undefined.
func (n *names) shown64(t Table, id uint64) string {
	if id == undefined32 && t != Locations {
		return fmt.Sprintf("INVALID <%d>", id)
	}
	return n.shown(t, id)
}

// date formats nanoseconds since the epoch in the local time zone.
func date(ns uint64) string {
	if ns == undefined64 {
		return "UNDEFINED"
	}
	return time.Unix(int64(ns/1e9), int64(ns%1e9)).Format("2006-01-02 15:04:05.000000000 -0700")
}

// printAnchor writes the contents of the anchor file.
func (p *printer) printAnchor(a *Anchor) {
	say := func(what string, value any) { fmt.Fprintf(p.w, "%-30s %v\n", what, value) }
	p.w.WriteString("\n=== OTF2-PRINT ===\n\nContent of OTF2 anchor file:\n")
	say("Version", fmt.Sprintf("%d.%d.%d", a.Version[0], a.Version[1], a.Version[2]))
	say("Chunk size events", a.EventChunk)
	say("Chunk size definitions", a.DefinitionChunk)
	say("File substrate", "POSIX")
	say("Compression", enumWord([]string{1: "NONE"}, uint64(a.Compression)))
	say("Number of locations", a.Locations)
	say("Number of global definitions", a.Definitions)
	say("Machine name", a.Machine)
	say("Creator", a.Creator)
	say("Description", a.Description)
	say("Number of properties", len(a.Properties))
	for _, x := range a.Properties {
		say("Property name", x.Name)
		say("Property value", x.Value)
	}
	say("Trace identifier", strconv.FormatUint(a.TraceID, 16))
	say("Number of snapshots", a.Snapshots)
	say("Number of thumbnails", a.Thumbnails)
}

// Compat writes the output of otf2-print -A for the selected locations, times and kinds of events.
// Locations are selected by their index in the common model. Snapshots have no kind and are omitted
// if kinds are selected.
func (Format) Compat(ctx context.Context, src format.Source, opt *format.ReadOptions, what format.Printing,
	w io.Writer) error {
	if what.Tool != nil {
		return format.ErrUnsupported
	}
	sel := what.Selection
	a, err := openArchive(src, opt)
	if err != nil {
		return err
	}
	p := newPrinter(w)
	p.printAnchor(&a.Anchor)
	if a.Anchor.Thumbnails > 0 {
		// otf2-print cannot read thumbnails
		p.w.WriteString("\nThumbnail headers:\n")
	}
	p.w.WriteString("\n=== Global Definitions =========================================================\n\n")
	fmt.Fprintf(p.w, "%-27s %12s  Attributes\n", "Definition", "ID")
	const rule = "--------------------------------------------------------------------------------\n"
	p.w.WriteString(rule)
	var locations []uint64
	seen := map[uint64]bool{}
	err = a.Definitions(func(_ int64, r *Record) error {
		if r.ID == defLocation && !seen[r.Values[0]] {
			seen[r.Values[0]] = true
			locations = append(locations, r.Values[0])
		}
		return p.printDefinition(r)
	})
	if err := reportDefect(opt, err); err != nil {
		return err
	}
	p.w.WriteString("=== Events =====================================================================\n")
	fmt.Fprintf(p.w, "%-32s %15s %20s  Attributes\n", "Event", "Location", "Timestamp")
	p.w.WriteString(rule)
	write, left := p.printEvent, what.Limit
	if what.Kind != nil || what.Limit > 0 {
		write = func(location uint64, column string, e *Event) error {
			if what.Kind != nil && !what.Kind(kindOf(e.ID)) {
				return nil
			}
			if what.Limit > 0 {
				if left == 0 {
					return errLimit
				}
				left--
			}
			return p.printEvent(location, column, e)
		}
	}
	err = p.writeMerged(ctx, locations, opt, sel, write, func(id uint64) (eventSource, error) {
		r, err := a.openEvents(id, opt)
		if r == nil || err != nil {
			return nil, err
		}
		if sel.From > 0 {
			r.Seek(uint64(sel.From))
		}
		if sel.To > 0 && sel.To != math.MaxInt64 {
			r.stopBefore(uint64(sel.To))
		}
		return r, nil
	})
	if err != nil && !errors.Is(err, errLimit) {
		return err
	}
	if what.Limit > 0 && left == 0 {
		return p.w.Flush()
	}
	if a.Anchor.Snapshots > 0 && what.Kind == nil {
		p.w.WriteString("=== Snapshots ==================================================================\n")
		fmt.Fprintf(p.w, "%-32s %15s %20s  Attributes\n", "Snapshot", "Location", "Timestamp")
		p.w.WriteString(rule)
		err = p.writeMerged(ctx, locations, opt, sel, p.printSnapshot, func(id uint64) (eventSource, error) {
			s, err := a.Snapshots(id)
			if err := reportDefect(opt, err); s == nil || err != nil {
				return nil, err
			}
			return s, nil
		})
		if err != nil {
			return err
		}
	}
	return p.w.Flush()
}
