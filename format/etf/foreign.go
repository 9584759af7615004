package etf

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/attrlist"
	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/trace"
)

// writeForeignRow writes a row of a trace that was not read from a TRACE file.
func (e *encoder) writeForeignRow(c *trace.Cursor) error {
	if c.Derived() {
		// The decoder derives this row from other ones. A claim or visit would make it appear twice.
		return e.writeEvent(c)
	}
	loc, ref := c.Location(), c.Ref()
	k := stackKey{loc, ref}
	switch c.Kind() {
	case trace.Enter:
		if ref == trace.NoRef || len(c.Ops()) > 0 || int(loc) < len(e.claimed) && e.claimed[loc] != 0 {
			break
		}
		for int(loc) >= len(e.depth) {
			e.depth, e.deep, e.used = append(e.depth, 0), append(e.deep, 0), append(e.used, false)
		}
		e.depth[loc]++
		e.deep[loc] = max(e.deep[loc], e.depth[loc])
		at, x := e.queue.begin(e.seq, e.timeText())
		x.text = append(digits.AppendInt(x.text, int64(loc)), " 1"...)
		x.order, x.region, x.other = e.seq, ref, true // e.claims does not contain it
		x.text = e.appendPair(append(x.text, " ; "...), c.Kind(), "name", e.Defs.Regions.At(ref).Name)
		x.text = digits.AppendInt(append(x.text, ", depth="...), int64(e.depth[loc]))
		for _, p := range e.attributePairs(c) {
			x.text = e.appendPair(append(x.text, ", "...), c.Kind(), p.Key, p.Value)
		}
		e.stacks[k] = append(e.stacks[k], at)
		return e.queue.write()
	case trace.Leave:
		s := e.stacks[k]
		if len(s) == 0 || len(c.Ops()) > 0 {
			break
		}
		at := s[len(s)-1]
		e.stacks[k] = s[:len(s)-1]
		e.depth[loc]--
		return e.writeForeignEnd(c, at)
	case trace.ClaimBegin:
		if !e.canBeClaimLine(c) {
			break
		}
		ops := c.Ops()
		at, x := e.queue.begin(e.seq, e.timeText())
		x.order, x.region = e.seq, ref
		x.text = digits.AppendInt(x.text, int64(loc))
		if len(ops) > 3 {
			x.text = e.appendReal(x.text, math.Float64frombits(ops[3]))
		}
		x.text = append(e.appendReal(x.text, math.Float64frombits(ops[2])), " ; "...)
		if e.Defs.Regions.Has(ref) {
			x.text = append(e.appendPair(x.text, c.Kind(), "name", e.Defs.Regions.At(ref).Name), ", "...)
		}
		if e.Plain {
			e.attributePairs(c)
		} else {
			e.pairs = e.AppendRow(carrier.AppendKind(e.pairs[:0], e.Defs, c.Kind(), ref), c)
		}
		for i, p := range e.pairs {
			if i > 0 {
				x.text = append(x.text, ", "...)
			}
			x.text = e.appendPair(x.text, c.Kind(), p.Key, p.Value)
		}
		e.claims.add(&e.queue, at, claimKey{int64(ops[0]), uint32(ops[1]), ref})
		return e.queue.write()
	case trace.ClaimEnd:
		ops := c.Ops()
		if len(ops) != 2 {
			break
		}
		if at, _, ok := e.claims.remove(&e.queue, claimKey{int64(ops[0]), uint32(ops[1]), ref}, 0); ok {
			return e.writeForeignEnd(c, at)
		}
	}
	return e.writeEvent(c)
}

// writeForeignEnd completes the line of a visit or a claim.
func (e *encoder) writeForeignEnd(c *trace.Cursor, at int64) error {
	e.attributePairs(c)
	e.buf = e.buf[:0]
	if !e.Plain {
		leave := int64(firstOfTime)
		if e.tied {
			leave = e.seq
		}
		e.buf = e.queue.claim(at).appendCarryKey(e.buf, leave)
	}
	for _, p := range e.pairs {
		e.buf = append(e.buf, ", "...)
		e.buf = e.appendPair(e.buf, c.Kind(), "@"+p.Key, p.Value)
	}
	if err := e.queue.end(at, e.timeText(), e.buf); err != nil {
		return err
	}
	return e.queue.write()
}

// name returns the full name of a location.
func (e *encoder) name(loc uint32) string {
	if int(loc) >= len(e.names) {
		e.names = e.Defs.FullNames()
	}
	return e.names[loc]
}

// attributePairs returns the attributes of a row as pairs. In a plain trace, it writes the keys name
// and depth as @name and @depth, because the line of a visit uses these keys itself.
func (e *encoder) attributePairs(c *trace.Cursor) []carrier.Pair {
	if e.pairs = e.pairs[:0]; e.Plain {
		e.pairs = carrier.AppendPlainAttrs(e.pairs, e.Defs, c)
		for i, p := range e.pairs {
			if p.Key == "name" || p.Key == "depth" {
				e.pairs[i].Key = "@" + p.Key
			}
		}
	} else {
		e.pairs = e.AppendAttrs(e.pairs, c)
	}
	return e.pairs
}

// appendPair appends an attribute of an event.
func (e *encoder) appendPair(b []byte, kind trace.Kind, key, value string) []byte {
	b, replaced := attrlist.Append(b, key, value)
	e.countLineEnds(kind, replaced)
	return b
}

// countLineEnds counts an attribute of an event if its line ends are replaced. Data that only weft reads keep them.
func (e *encoder) countLineEnds(kind trace.Kind, replaced bool) {
	if replaced && e.Plain {
		e.Lost.Add(e.Defs.Spec(kind).Name, "attribute", format.Degraded, lineEndReplaced, 1)
	}
}

// canBeClaimLine reports whether a claim can be a C line of its resource. The claim's location must stand for
// its resource only, the claim must have an offset if the resource uses offsets, and its amount and offset must be
// finite. The R line of the location then describes the resource.
func (e *encoder) canBeClaimLine(c *trace.Cursor) bool {
	ops, loc := c.Ops(), c.Location()
	if len(ops) < 3 || len(ops) > 4 || ops[1] >= uint64(e.Defs.Resources.Len()) || !e.Defs.Locations.Has(loc) {
		return false
	}
	resource := uint32(ops[1])
	if r := e.Defs.Resources.At(resource); r.Location != loc || r.UsesOffset != (len(ops) == 4) ||
		e.Defs.Locations.At(loc).Kind != trace.ResourceLocation || slices.ContainsFunc(ops[2:], isInfinite) {
		return false
	}
	if int(loc) < len(e.deep) && e.deep[loc] > 0 {
		return false
	}
	for int(loc) >= len(e.claimed) {
		e.claimed = append(e.claimed, 0)
	}
	if e.claimed[loc] == 0 {
		e.claimed[loc] = 1 + resource
	}
	return e.claimed[loc] == 1+resource
}

// isInfinite reports whether the bits are those of an infinite number or NaN, which a line of TRACE cannot state.
func isInfinite(bits uint64) bool {
	const exponent = 0x7ff << 52
	return bits&exponent == exponent
}

// writeEvent writes a row as an E line, which has its kind and operands as attributes.
func (e *encoder) writeEvent(c *trace.Cursor) error {
	r := &e.rec
	*r = Record{Keyword: E, ID: e.seq, Start: e.last, Attrs: r.Attrs[:0]}
	if ref := c.Ref(); ref != trace.NoRef && e.Defs.Spec(c.Kind()).Ref == trace.RefRegion {
		r.Attrs = append(r.Attrs, Attr{"name", e.Defs.Regions.At(ref).Name})
	}
	switch {
	case c.Kind() == trace.Mark:
	case e.Plain:
		e.Lost.Add(e.Defs.Spec(c.Kind()).Name, "", format.Degraded,
			"written as an E line with the kind and fields as attributes", 1)
	default:
		e.Rows.NoteField(c, "")
	}
	if e.Plain {
		r.Attrs = append(r.Attrs, Attr{"location", e.name(c.Location())})
		e.pairs = carrier.AppendPlain(e.pairs[:0], e.Defs, c)
	} else {
		place := strconv.FormatUint(uint64(c.Location()), 10)
		if c.Derived() {
			place += ":derived"
		}
		r.Attrs = append(r.Attrs, Attr{carryKey, place})
		e.pairs = carrier.AppendKind(e.pairs[:0], e.Defs, c.Kind(), c.Ref())
		e.pairs = e.AppendRow(e.pairs, c)
	}
	for _, p := range e.pairs {
		if e.Plain && slices.ContainsFunc(r.Attrs, func(a Attr) bool { return a.Key == p.Key }) {
			p.Key = "@" + p.Key
		}
		r.Attrs = append(r.Attrs, Attr{p.Key, p.Value})
	}
	for _, a := range r.Attrs {
		e.countLineEnds(c.Kind(), hasLineEnd(a.Key) || hasLineEnd(a.Value))
	}
	return e.w.Write(r)
}

// Links writes dependencies. Most of them arrive after all events.
func (e *encoder) Links(links []trace.Link) error {
	if e.native && e.queue.empty() {
		if err := e.w.join(); err != nil {
			return err
		}
	}
	if !e.native {
		if e.Plain {
			e.Lost.Add("link", "", format.Lost, "TRACE has no dependencies of this type", int64(len(links)))
			return nil
		}
		return e.carryLinks(links)
	}
	for i := range links {
		l := &links[i]
		typ, ok := dependencyType(l.Src.Kind, l.Dst.Kind)
		if !ok {
			if err := e.carryLinks(links[i : i+1]); err != nil {
				return err
			}
			continue
		}
		if !slices.Equal(l.Attrs, e.linked) {
			e.linked, e.linkText, e.linkEnds = e.linked[:0], e.linkText[:0], 0
			for j, a := range l.Attrs {
				a.Key, a.Value.Str = strings.Clone(a.Key), strings.Clone(a.Value.Str)
				e.linked = append(e.linked, a)
				if j > 0 {
					e.linkText = append(e.linkText, ',')
				}
				var replaced bool
				if e.linkText, replaced = attrlist.Append(append(e.linkText, ' '), a.Key, a.Value.String()); replaced {
					e.linkEnds++
				}
			}
		}
		if e.from == nil && e.linkEnds > 0 { // a rewriter keeps the line
			e.Lost.Add("link", "attribute", format.Degraded, lineEndReplaced, e.linkEnds)
		}
		s := e.w.dependencies()
		from := len(s.Line())
		b := slices.Grow(s.Line(), 128)
		to := b[len(b) : len(b)+128]
		to[0], to[1] = 'D', ' '
		i := 2 + digits.Put(to[2:34], l.ID)
		to[i], to[i+1], to[i+2] = ' ', byte('0'+typ), ' '
		i += 3
		i += digits.Put(to[i:i+32], l.Src.ID)
		to[i] = ' '
		i += 1 + digits.Put(to[i+1:i+33], l.Dst.ID)
		to[i], to[i+1] = ' ', ';'
		b = appendShort(b[:len(b)+i+2], e.linkText)
		if err := s.Done(append(e.from.restoreLine(l.Pos, b, from), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// carryLinks writes links that TRACE cannot express as an E line.
func (e *encoder) carryLinks(links []trace.Link) error {
	e.Lost.Add("link", "", format.WeftOnly, "TRACE has no dependencies of this type", int64(len(links)))
	r := &e.rec
	e.seq++
	r.Keyword, r.ID, r.Start, r.Attrs = E, e.seq, e.Time(links[0].Src.Time),
		append(r.Attrs[:0], Attr{"weft.links", carrier.Text(carrier.PackLinks(links))})
	return e.w.Write(r)
}
