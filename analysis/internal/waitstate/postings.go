package waitstate

import "github.com/weft-trace/weft/analysis/internal/synclog"

// postings holds the non-blocking collective operations of a location in the order in which it posts
// them, beginning with the oldest incomplete one. The order of posting, and not the order of
// completion, determines which calls of different members belong to one operation.
type postings struct {
	list    []posting
	dropped int            // number of postings that have been removed from list
	open    map[uint64]int // indexed by request: number of its posting, counted from the first one of the location
}

// posting is a non-blocking collective operation at a location.
type posting struct {
	place     Place // call that posts it
	enter     int64 // begin of that call in ticks
	open      bool
	completed bool
	// communicator, operation, root and member are valid if completed is set.
	communicator, operation, root uint64
	member                        Member
}

// post adds the operation of a request, which call c posts.
func (e *engine) post(c *synclog.Call, at Place, request uint64) {
	p := e.postings[c.Location]
	if p == nil {
		p = &postings{open: map[uint64]int{}}
		e.postings[c.Location] = p
	}
	if i, ok := p.open[request]; ok { // the earlier request with this number never completes
		p.list[i-p.dropped].open = false
	}
	p.open[request] = p.dropped + len(p.list)
	p.list = append(p.list, posting{place: at, enter: c.Enter, open: true})
	e.joinPosted(p, false)
}

// complete completes the operation of a request with a member. It reports whether the request was
// posted.
func (e *engine) complete(request, communicator, operation, root uint64, m Member) bool {
	p := e.postings[m.Place.Location]
	if p == nil {
		return false
	}
	i, ok := p.open[request]
	if !ok {
		return false
	}
	delete(p.open, request)
	x := &p.list[i-p.dropped]
	m.Arrival, m.ArrivalPlace = x.enter, x.place
	*x = posting{place: x.place, enter: x.enter, completed: true, communicator: communicator, operation: operation,
		root: root, member: m}
	e.joinPosted(p, false)
	return true
}

// joinPosted joins the completed operations before the oldest open one, and removes them from the list. If all is
// set, it joins all completed operations.
func (e *engine) joinPosted(p *postings, all bool) {
	n := 0
	for ; n < len(p.list) && (all || !p.list[n].open); n++ {
		if x := &p.list[n]; x.completed {
			e.join(synclog.Sequence{Communicator: x.communicator, Posted: true}, x.operation, x.root, x.member)
		}
	}
	p.dropped += n
	p.list = p.list[n:]
}

// joinRemaining joins the completed operations that follow an operation that never completes.
func (e *engine) joinRemaining() {
	for loc := range e.numbers {
		if p := e.postings[uint32(loc)]; p != nil {
			e.joinPosted(p, true)
		}
	}
}
