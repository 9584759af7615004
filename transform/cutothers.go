package transform

import (
	"context"
	"maps"
	"math"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// request identifies requests by their location and id. Several requests with the same id may be open at the
// same time.
type request struct {
	loc uint32
	key pairKey
}

// requestEnds counts events about the requests with the same id, from the begin of the piece on.
type requestEnds struct {
	open  int // number of requests that are open at the begin of the piece: the old requests
	begun int // number of open requests that were posted in or after the piece
	ended int // number of old requests that have ended; the newest end first
	named int // number of old requests that an end or a test names; the newest are named first
}

// isRequest reports whether pairs of a class are requests, whose completion a recorder may leave out.
func isRequest(class int8) bool {
	return class == pairings[trace.RecvBegin].class || class == pairings[trace.CollectiveRequest].class
}

// findOthers finds the messages in transit whose other end is in the times up to limit. It also removes the
// open requests that no event in these times names. It reads windows of growing length, beginning with the
// piece, until it has found all other ends and all names.
func (c *cut) findOthers(ctx context.Context, flows *flows) error {
	requests := map[request]*requestEnds{}
	for loc, l := range c.openBegins {
		if l == nil {
			continue
		}
		l.rest.All(func(k pairKey, x []openRow) bool {
			if isRequest(k.class) {
				requests[request{uint32(loc), k}] = &requestEnds{open: len(x)}
			}
			return true
		})
	}
	missing := map[request]*requestEnds{}
	maps.Copy(missing, requests)
	name := func(at request, ends, tests bool) {
		r := missing[at]
		switch {
		case r == nil:
		case tests:
			if r.begun == 0 {
				r.named = max(r.named, r.ended+1)
			}
		case !ends:
			r.begun++
		case r.begun > 0:
			r.begun--
		default:
			r.ended++
			r.named = max(r.named, r.ended)
		}
		if r != nil && r.named >= r.open {
			delete(missing, at)
		}
	}
	row := func(x *trace.Cursor) {
		k := x.Kind()
		flows.countOther(x)
		if x.Derived() {
			return
		}
		if k == trace.RequestTest {
			for _, begin := range []trace.Kind{trace.RecvBegin, trace.CollectiveRequest} {
				name(request{x.Location(), pairKey{class: pairings[begin].class, op: x.Op(0)}}, false, true)
			}
		} else if p := pairOf(k); isRequest(p.class) {
			name(request{x.Location(), p.key(x)}, k != trace.RecvBegin && k != trace.CollectiveRequest, false)
		}
	}
	kind := func(k trace.Kind) bool {
		return k.IsSend() || k.IsRecv() || k == trace.RequestTest || isRequest(pairOf(k).class)
	}
	from, length := c.window.From, max(c.Defs().Clock.Num/c.Defs().Clock.Den/1000, 1)
	limit := c.limit()
	for round := 0; ; round++ {
		wanted := map[uint32]bool{}
		for at := range missing {
			wanted[at.loc] = true
		}
		flows.eachMissing(func(loc uint32) { wanted[loc] = true })
		if len(wanted) == 0 {
			break
		}
		to := limit
		if round < 4 {
			to = min(trace.Add(from, length), limit)
		}
		sel := trace.Selection{From: from, To: to, Kind: kind, Location: func(l uint32) bool { return wanted[l] }}
		err := eachRow(ctx, c.inner, sel, format.PerLocation, func(x *trace.Cursor) bool {
			if t := x.Time(); wanted[x.Location()] && t >= from && (t < to || to == math.MaxInt64) {
				row(x)
			}
			return len(missing) > 0 || flows.missing > 0
		})
		if err != nil {
			return err
		}
		if to == limit {
			break
		}
		from, length = to, length*32
	}
	for at, r := range requests {
		rest := &c.openBegins[at.loc].rest
		if l, _ := rest.Take(at.key); r.named > 0 {
			rest.Put(at.key, l[r.open-min(r.named, r.open):])
		}
	}
	return nil
}

// limit returns the time up to which findOthers reads: the window's end plus the length of the window. Ends
// after that time change nothing in the piece.
func (c *cut) limit() int64 {
	length := uint64(c.window.To) - uint64(c.window.From)
	if c.window.To == math.MaxInt64 || length > uint64(math.MaxInt64-max(c.window.To, 0)) {
		return math.MaxInt64
	}
	return c.window.To + int64(length)
}
