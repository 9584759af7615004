package etf

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/chunks"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/trace"
)

// linker finds the events at the ends of dependencies. Dependencies refer to claims and events by id,
// in any order. Therefore the linker stores the places of all ids, and the dependencies, until the end of the trace.
type linker struct {
	d     *decoder
	store *chunks.Store
	ids   [2]idTable      // of claims and of events
	deps  *extsort.Sorter // dependencies by line
	buf   []byte
	// carried holds the links of a trace that was written from another format.
	carried carrier.Links
}

// linkMemory limits the memory of the places of ids, and that of each of the linker's sorters, in bytes.
const linkMemory = 3 << 20

// newLinker returns a linker, or nil if no links are selected or the trace has none.
func (d *decoder) newLinker(sel trace.Selection) *linker {
	if sel.Links == trace.NoLinks || d.deps == 0 && d.Restore == nil {
		return nil
	}
	l := &linker{d: d, store: chunks.New(linkMemory), deps: extsort.New(linkMemory, "")}
	for i := range l.ids {
		l.ids[i].store = l.store
	}
	return l
}

// The indexes of linker.ids.
const (
	claimIDs = 0
	eventIDs = 1
)

// addBlock adds the ids and dependencies of a block.
func (l *linker) addBlock(p *blockParser) error {
	for i := range p.places {
		x := &p.places[i]
		if err := l.ids[x.kind].add(x); err != nil {
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

// addDependency stores the fields of a dependency. Links finds its ends later.
func (l *linker) addDependency(r *dependency) error {
	b := binary.AppendVarint(l.buf[:0], r.id)
	b = binary.AppendVarint(append(b, byte(r.typ)), r.src)
	l.buf = append(binary.AppendVarint(b, r.dst), r.attrs...)
	return l.deps.Add(r.line, 0, l.buf)
}

// Close deletes the linker's temporary files.
func (l *linker) Close() {
	if l == nil {
		return
	}
	for i := range l.ids {
		l.ids[i].close()
	}
	l.store.Close()
	l.deps.Close()
	l.carried.Close()
}

// linkBatch is the number of links in one delivery.
const linkBatch = 1024

// Links finds the claims and events of the dependencies, and delivers them in the order of their lines.
func (l *linker) Links(ctx context.Context, sink format.Sink) error {
	if l == nil {
		return nil
	}
	if l.d.Restore != nil {
		return l.carried.Deliver(ctx, l.d.Model.Locations.Len(), sink.Links)
	}
	for i := range l.ids {
		if err := l.ids[i].finish(ctx); err != nil {
			return err
		}
	}
	deps, err := l.deps.Sort(ctx)
	if err != nil {
		return err
	}
	var list linkList
	for n := 0; ; n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		t, ok, err := deps.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		x := list.add(t.A, t.Data)
		if err := errors.Join(l.place(&x.Src), l.place(&x.Dst)); err != nil {
			return err
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

// place sets the place of an end of a dependency, if the trace has its id.
func (l *linker) place(e *trace.End) error {
	kind := claimIDs
	if e.Kind == trace.AtEvent {
		kind = eventIDs
	}
	at, err := l.ids[kind].find(e.ID)
	if at == nil || err != nil {
		return err
	}
	if e.Location, e.Pos, e.Time = at.loc, at.line, at.t0; e.Kind == trace.AtClaimEnd {
		e.Time = at.t1
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
