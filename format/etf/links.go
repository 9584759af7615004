package etf

import (
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
	d     *decoder
	ids   *extsort.Sorter // claims and events by (kind, id): location, line, start, end
	ends  *extsort.Sorter // ends of dependencies by (kind, id): line, side
	texts *extsort.Sorter // dependencies by line
	buf   []byte
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
		texts: extsort.New(linkMemory, "")}
}

const (
	claimIDs = 0
	eventIDs = 1
)

// addBlock adds the ids and dependencies of a block.
func (l *linker) addBlock(p *blockParser) error {
	for i := range p.places {
		x := &p.places[i]
		b := binary.LittleEndian.AppendUint32(l.buf[:0], x.loc)
		for _, v := range [...]int64{x.line, x.t0, x.t1} {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
		l.buf = b
		if err := l.ids.Add(x.kind, x.id, b); err != nil {
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

// addDependency stores the two ends of a dependency, which are matched with claims and events later, and the text of
// its attributes.
func (l *linker) addDependency(r *dependency) error {
	for side, id := range [2]int64{r.src, r.dst} {
		kind := int64(claimIDs)
		if dependencyEnds[r.typ][side] == trace.AtEvent {
			kind = eventIDs
		}
		b := binary.LittleEndian.AppendUint64(l.buf[:0], uint64(r.line))
		l.buf = append(b, byte(side))
		if err := l.ends.Add(kind, id, l.buf); err != nil {
			return err
		}
	}
	return l.texts.Add(r.line, 0, r.text)
}

// Close deletes the linker's temporary files.
func (l *linker) Close() {
	if l == nil {
		return
	}
	for _, s := range []*extsort.Sorter{l.ids, l.ends, l.texts} {
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
	texts, err := l.texts.Sort(ctx)
	if err != nil {
		return err
	}
	place, more, err := places.Next()
	if err != nil {
		return err
	}
	out := make([]trace.Link, 0, linkBatch)
	var rec Record
	for {
		t, ok, err := texts.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		text := append([]byte(nil), t.Data...)
		if _, err := rec.read(text, 0, func(problem) error { return nil }); err != nil {
			return err
		}
		ends := dependencyEnds[rec.Type]
		x := trace.Link{ID: rec.ID, Pos: t.A,
			Src: trace.End{Kind: ends[0], ID: rec.Src, Location: trace.NoRef},
			Dst: trace.End{Kind: ends[1], ID: rec.Dst, Location: trace.NoRef}}
		for more && place.A == t.A {
			e := &x.Src
			if place.B == 1 {
				e = &x.Dst
			}
			e.Location = binary.LittleEndian.Uint32(place.Data)
			e.Pos, e.Time = placeNumber(place.Data, 0), placeNumber(place.Data, 1)
			if e.Kind == trace.AtClaimEnd {
				e.Time = placeNumber(place.Data, 2)
			}
			if place, more, err = places.Next(); err != nil {
				return err
			}
		}
		for _, a := range rec.Attrs {
			x.Attrs = append(x.Attrs, trace.Attr{Key: a.Key, Value: trace.StringValue(a.Value)})
		}
		if out = append(out, x); len(out) == linkBatch {
			if err := sink.Links(out); err != nil {
				return err
			}
			out = make([]trace.Link, 0, linkBatch)
		}
	}
	if len(out) > 0 {
		return sink.Links(out)
	}
	return nil
}

// placeNumber returns number i of an encoded place: its line, start or end.
func placeNumber(data []byte, i int) int64 { return int64(binary.LittleEndian.Uint64(data[4+8*i:])) }

// isBefore reports whether the encoded place a begins earlier than b, or at the same time in an earlier
// line.
func isBefore(a, b []byte) bool {
	return cmp.Or(cmp.Compare(placeNumber(a, 1), placeNumber(b, 1)), cmp.Compare(placeNumber(a, 0), placeNumber(b, 0))) < 0
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
			dep := int64(binary.LittleEndian.Uint64(e.Data))
			if err := found.Add(dep, int64(e.Data[8]), have.data); err != nil {
				return err
			}
		}
	}
}
