package transform

import (
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// postings holds the requests of the non-blocking collective operations of a location. The order in which members post
// operations, and not the order in which they complete them, determines which operations belong together.
type postings struct {
	posted int64                           // number of requests so far
	open   openset.Queue[posting, pairKey] // requests that are not complete
	early  []earlyEnd                      // the last operations that ended before one that was posted earlier
}

// posting is a request: its number and its time, and the key of the pair of the request and its completion.
type posting struct {
	seq, time int64
	key       pairKey
}

// earlyEnd is an operation that has ended, while its location has not ended one that it posted earlier.
type earlyEnd struct {
	seq int64 // number of its request
	memberOf
}

// post adds the request that a row posts.
func (p *postings) post(x *trace.Cursor) {
	k := pairOf(x.Kind()).key(x)
	if i := p.open.Find(k); i >= 0 {
		p.open.Close(i) // the earlier request with this number never completes
	}
	p.posted++
	p.open.Open(posting{p.posted, x.Time(), k}, [2]pairKey{k})
}

// complete removes and returns the request that a row completes. ok is false if the request is unknown.
func (p *postings) complete(x *trace.Cursor) (request posting, ok bool) {
	i := p.open.Find(pairOf(x.Kind()).key(x))
	if i < 0 {
		return request, false
	}
	request = p.open.At(i)
	p.open.Close(i)
	return request, true
}

// oldest returns the number of the oldest open request, or the greatest number if there is none.
func (p *postings) oldest() int64 {
	if p.open.Len() == 0 {
		return math.MaxInt64
	}
	return p.open.At(p.open.First()).seq
}

// end notes that member m has ended the operation of a request.
func (p *postings) end(request posting, m memberOf) {
	oldest := p.oldest()
	p.early = slices.DeleteFunc(p.early, func(e earlyEnd) bool { return e.seq < oldest })
	if request.seq > oldest {
		p.early = append(p.early, earlyEnd{request.seq, m})
	}
	if len(p.early) > mostAhead {
		p.early = slices.Delete(p.early, 0, 1)
	}
}

// earlyAfter returns the number of operations that member m posted after request seq and has ended before it.
func (p *postings) earlyAfter(seq int64, m memberOf) (n int64) {
	for _, e := range p.early {
		if e.memberOf == m && e.seq > seq {
			n++
		}
	}
	return n
}

// newer returns the number of the requests after request seq that are open in b.
func (p *postings) newer(seq int64, b *openBegins) (n int) {
	for _, o := range p.open.All() {
		if _, open := b.rest.Get(o.key); open && o.seq > seq {
			n++
		}
	}
	return n
}
