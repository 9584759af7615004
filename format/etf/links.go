package etf

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/trace"
)

// linker finds the events at the ends of dependencies. Dependencies refer to claims and events by id,
// in any order. Therefore the linker sorts the ids and the ends of dependencies, on disk if necessary,
// and joins both.
type linker struct {
	d    *decoder
	ids  *extsort.Sorter // places of claims and events by (kind, id)
	ends *extsort.Sorter // ends of dependencies by (kind, id): line and side
	deps *extsort.Sorter // dependencies by line
	buf  []byte
	// carried holds the links of a trace that was written from another format.
	carried carrier.Links
}

// linkMemory limits the memory of each of the linker's three sorters, in bytes.
const linkMemory = 3 << 20

// newLinker returns a linker, or nil if no links are selected or the trace has none.
func (d *decoder) newLinker(sel trace.Selection) *linker {
	if sel.Links == trace.NoLinks || d.deps == 0 && d.Restore == nil {
		return nil
	}
	return &linker{d: d, ids: extsort.New(linkMemory, ""), ends: extsort.New(linkMemory, ""),
		deps: extsort.New(linkMemory, "")}
}

const (
	claimIDs = 0
	eventIDs = 1
)

// addBlock adds the ids and dependencies of a block.
func (l *linker) addBlock(p *blockParser) error {
	for i := range p.places {
		x := &p.places[i]
		l.buf = x.append(l.buf[:0])
		if err := l.ids.Add(x.kind, x.id, l.buf); err != nil {
			return err
		}
	}
	for i := range p.deps {
		if err := l.addDependency(&p.deps[i]); err != nil {
			return err
		}
	}
	for i := range p.texts {
		if err := l.carried.Add(p.texts[i].line, p.texts[i].data); err != nil {
			return err
		}
	}
	return nil
}

// addDependency stores the two ends of a dependency, which are matched with claims and events later, and its
// fields.
func (l *linker) addDependency(r *dependency) error {
	for side, id := range [2]int64{r.src, r.dst} {
		kind := int64(claimIDs)
		if dependencyEnds[r.typ][side] == trace.AtEvent {
			kind = eventIDs
		}
		l.buf = binary.AppendVarint(l.buf[:0], 2*r.line+int64(side))
		if err := l.ends.Add(kind, id, l.buf); err != nil {
			return err
		}
	}
	b := binary.AppendVarint(l.buf[:0], r.id)
	b = binary.AppendVarint(append(b, byte(r.typ)), r.src)
	l.buf = append(binary.AppendVarint(b, r.dst), r.attrs...)
	return l.deps.Add(r.line, 0, l.buf)
}

// append appends the place in the form that the linker stores, without kind and id.
func (x *idPlace) append(b []byte) []byte {
	b = binary.AppendVarint(binary.AppendUvarint(b, uint64(x.loc)), x.line)
	return binary.AppendVarint(binary.AppendVarint(b, x.t0), x.t1-x.t0)
}

// readPlace decodes a place that append has encoded.
func readPlace(b []byte) (x idPlace) {
	loc, n := binary.Uvarint(b)
	x.loc, b = uint32(loc), b[n:]
	x.line, b = readVarint(b)
	x.t0, b = readVarint(b)
	d, _ := readVarint(b)
	x.t1 = x.t0 + d
	return x
}

// readVarint returns the number at the start of b, and the bytes after it.
func readVarint(b []byte) (int64, []byte) {
	v, n := binary.Varint(b)
	return v, b[n:]
}

// Close deletes the linker's temporary files.
func (l *linker) Close() {
	if l == nil {
		return
	}
	for _, s := range []*extsort.Sorter{l.ids, l.ends, l.deps} {
		s.Close()
	}
	l.carried.Close()
}

// linkBatch is the number of links in one delivery.
const linkBatch = 1024

// Links joins the dependencies with their claims and events, and delivers them in the order of their
// lines.
func (l *linker) Links(ctx context.Context, sink format.Sink) error {
	if l == nil {
		return nil
	}
	if l.d.Restore != nil {
		return l.carried.Deliver(ctx, l.d.Model.Locations.Len(), sink.Links)
	}
	found := extsort.New(linkMemory, "")
	defer found.Close()
	if err := l.join(ctx, found); err != nil {
		return err
	}
	l.ids.Close()
	l.ends.Close()
	places, err := found.Sort(ctx)
	if err != nil {
		return err
	}
	deps, err := l.deps.Sort(ctx)
	if err != nil {
		return err
	}
	place, more, err := places.Next()
	if err != nil {
		return err
	}
	var list linkList
	for {
		t, ok, err := deps.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		x := list.add(t.A, t.Data)
		for more && place.A == t.A {
			e := &x.Src
			if place.B == 1 {
				e = &x.Dst
			}
			at := readPlace(place.Data)
			if e.Location, e.Pos, e.Time = at.loc, at.line, at.t0; e.Kind == trace.AtClaimEnd {
				e.Time = at.t1
			}
			if place, more, err = places.Next(); err != nil {
				return err
			}
		}
		if len(list.links) == linkBatch {
			if err := sink.Links(list.links); err != nil {
				return err
			}
			list.links, list.attrs = nil, nil
		}
	}
	if len(list.links) > 0 {
		return sink.Links(list.links)
	}
	return nil
}

// linkList converts dependencies to links.
type linkList struct {
	links []trace.Link
	attrs []trace.Attr // the attributes of all links
	// text is the attribute list of the last dependency, and same are its attributes. Most dependencies have the
	// list of the one before.
	text []byte
	same []Attr
}

// add appends the dependency in a line, which addDependency has encoded. Its ends have no place yet.
func (t *linkList) add(line int64, b []byte) *trace.Link {
	id, b := readVarint(b)
	ends := dependencyEnds[b[0]]
	src, b := readVarint(b[1:])
	dst, b := readVarint(b)
	if t.links == nil {
		t.links = make([]trace.Link, 0, linkBatch)
	}
	if !bytes.Equal(b, t.text) {
		t.text = bytes.Clone(b) // the strings of parseAttrs share its memory
		t.same = parseAttrs(t.text, t.same, func(problem) {})
	}
	from := len(t.attrs)
	for _, a := range t.same {
		t.attrs = append(t.attrs, trace.Attr{Key: a.Key, Value: trace.StringValue(a.Value)})
	}
	t.links = append(t.links, trace.Link{ID: id, Pos: line, Attrs: t.attrs[from:len(t.attrs):len(t.attrs)],
		Src: trace.End{Kind: ends[0], ID: src, Location: trace.NoRef},
		Dst: trace.End{Kind: ends[1], ID: dst, Location: trace.NoRef}})
	return &t.links[len(t.links)-1]
}

// isBefore reports whether the encoded place a begins earlier than b, or at the same time in an earlier line.
func isBefore(a, b []byte) bool {
	x, y := readPlace(a), readPlace(b)
	return cmp.Or(cmp.Compare(x.t0, y.t0), cmp.Compare(x.line, y.line)) < 0
}

// join finds the claim or event for each end of a dependency. If several claims have the id, join takes the
// claim that begins first. This choice does not depend on whether the lines were sorted by time.
func (l *linker) join(ctx context.Context, found *extsort.Sorter) error {
	ids, err := l.ids.Sort(ctx)
	if err != nil {
		return err
	}
	ends, err := l.ends.Sort(ctx)
	if err != nil {
		return err
	}
	id, more, err := ids.Next()
	if err != nil {
		return err
	}
	var have struct {
		a, b int64
		ok   bool
		data []byte
	}
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		e, ok, err := ends.Next()
		if err != nil || !ok {
			return err
		}
		for more && (id.A < e.A || id.A == e.A && id.B <= e.B) {
			if id.A == e.A && id.B == e.B &&
				!(have.ok && have.a == id.A && have.b == id.B && !isBefore(id.Data, have.data)) {
				have.a, have.b, have.ok = id.A, id.B, true
				have.data = append(have.data[:0], id.Data...)
			}
			if id, more, err = ids.Next(); err != nil {
				return err
			}
		}
		if have.ok && have.a == e.A && have.b == e.B {
			end, _ := readVarint(e.Data)
			if err := found.Add(end>>1, end&1, have.data); err != nil {
				return err
			}
		}
	}
}
