package transform

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// mostEpochs is the largest number of epochs of a window that a piece repeats at a side of a location.
const mostEpochs = 16

// oneSided holds the one-sided communication of a location that a piece repeats.
type oneSided struct {
	epochs   map[epochSide]*epochs
	synced   *epoch    // the epoch that the innermost open call has begun or ended; nil if there is none
	accesses []openRow // accesses to remote memory in the innermost open call
	// synchronised holds the rows of calls that begin and end epochs, and the accesses.
	synchronised []openRow
}

// epochSide identifies a window that groups of locations synchronise, and a side: a location starts and completes its
// accesses to the memory of others, or it posts its own memory and waits for the others.
type epochSide struct {
	window uint32
	posts  bool
}

// epochs holds the epochs at a side of a location that began before the piece. The n-th epoch of an origin with a
// target in its group belongs to the n-th epoch of the target with the origin in its group.
type epochs struct {
	begun    map[uint64]int64 // number of epochs by group
	last     []*epoch         // the last ones
	repeated int              // how many of the last ones the piece repeats
}

// epoch is the time between two calls that synchronise a window with a group.
type epoch struct {
	group uint64
	ended bool
	rows  []openRow // the rows of the two calls; seq is their order at the location
}

// synchronise notes that a row synchronises a group in the innermost open call.
func (b *openBegins) synchronise(d *trace.Definitions, x *trace.Cursor) {
	if len(b.regions) == 0 {
		return
	}
	call := b.regions[len(b.regions)-1]
	side, begins := epochSide{window: x.Ref()}, false
	switch d.MPICall(call.ref) {
	case "win_start":
		begins = true
	case "win_complete":
	case "win_post":
		side.posts, begins = true, true
	case "win_wait", "win_test":
		side.posts = true
	default:
		return
	}
	e := b.epochs[side]
	if e == nil {
		e = &epochs{begun: map[uint64]int64{}}
		setElement(&b.epochs, side, e)
	}
	if begins {
		e.begun[x.Op(1)]++
		if e.last = append(e.last, &epoch{group: x.Op(1)}); len(e.last) > mostEpochs {
			e.last = slices.Delete(e.last, 0, 1)
		}
	}
	n := len(e.last) - 1
	if n < 0 || e.last[n].ended {
		return
	}
	b.synced = e.last[n]
	b.synced.ended = !begins
	b.seq++
	b.synced.rows = append(b.synced.rows, openRow{call.kind, call.ref, call.time, b.seq, nil},
		openRow{x.Kind(), x.Ref(), x.Time(), b.seq, copyRow(x)})
}

// isOneSided reports whether rows of a kind synchronise groups, or are accesses to remote memory or their ends.
func isOneSided(k trace.Kind) bool {
	switch k {
	case trace.RMAGroupSync, trace.RMAPut, trace.RMAGet, trace.RMAAtomic, trace.RMACompleteBlocking,
		trace.RMACompleteNonBlocking:
		return true
	}
	return false
}

// updateOneSided processes a row of one-sided communication before the piece.
func (b *openBegins) updateOneSided(d *trace.Definitions, x *trace.Cursor) {
	if d.IsStream(x.Location()) {
		b.updateTransfer(x)
		return
	}
	switch x.Kind() {
	case trace.RMAGroupSync:
		b.synchronise(d, x)
	case trace.RMACompleteBlocking, trace.RMACompleteNonBlocking:
		b.completeAccess(x)
	default:
		b.access(d, x)
	}
}

// callHasRows reports whether the innermost open call has rows that a piece repeats if the call is open at its begin.
func (s *oneSided) callHasRows() bool { return s.synced != nil || len(s.accesses) > 0 }

// leaveCall processes the end of a call. It adds this end to the epoch whose group the call has synchronised.
func (b *openBegins) leaveCall(x *trace.Cursor) {
	b.accesses = b.accesses[:0]
	if e := b.synced; e != nil && e.rows[len(e.rows)-2].ref == x.Ref() {
		e.rows = append(e.rows, openRow{x.Kind(), x.Ref(), x.Time(), b.seq, nil})
		b.synced = nil
	}
}

// mostAccesses is the largest number of accesses in an open call that a piece repeats.
const mostAccesses = 64

// access notes that a row accesses the memory of another location. A piece repeats it if its call is open.
func (b *openBegins) access(d *trace.Definitions, x *trace.Cursor) {
	n := len(b.regions)
	if n > 0 && d.Communicates(b.regions[n-1].ref) && len(b.accesses) < mostAccesses {
		b.seq++
		b.accesses = append(b.accesses, openRow{x.Kind(), x.Ref(), x.Time(), b.seq, copyRow(x)})
	}
}

// completeAccess removes the access that a row completes.
func (b *openBegins) completeAccess(x *trace.Cursor) {
	b.accesses = slices.DeleteFunc(b.accesses, func(o openRow) bool {
		number := 2 // the operand that completions refer to
		if o.kind == trace.RMAAtomic {
			number = 4
		}
		ops := o.row.operands()
		return o.ref == x.Ref() && len(ops) > number && ops[number] == x.Op(0)
	})
}

// findEpochs finds the epochs that the piece repeats: those that have not ended, or end in an open call, and those that
// another location has not ended, so that the n-th epochs of two locations belong together in the piece as well.
func (c *cut) findEpochs() {
	members, memberships := map[uint64][]uint32{}, c.Defs().Memberships()
	for _, l := range c.openBegins {
		if l == nil {
			continue
		}
		if e := l.synced; e != nil { // the call is open, and repeated itself
			e.rows = slices.Delete(e.rows, len(e.rows)-2, len(e.rows)-1)
		}
		for _, e := range l.epochs {
			if n := len(e.last); n > 0 && (!e.last[n-1].ended || e.last[n-1] == l.synced) {
				e.repeated = 1
			}
			for group := range e.begun {
				if _, known := members[group]; !known && group < uint64(c.Defs().Sets.Len()) {
					members[group] = memberships.SetMembers(uint32(group))
					slices.Sort(members[group])
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for loc, l := range c.openBegins {
			if l == nil {
				continue
			}
			for side, e := range l.epochs {
				if e.repeated < len(e.last) && c.lacksEpochs(uint32(loc), side, e, members) {
					e.repeated++
					changed = true
				}
			}
		}
	}
	for _, l := range c.openBegins {
		if l == nil {
			continue
		}
		for _, e := range l.epochs {
			for _, x := range e.last[len(e.last)-e.repeated:] {
				l.synchronised = append(l.synchronised, x.rows...)
			}
		}
		l.synchronised = append(l.synchronised, l.accesses...)
		slices.SortStableFunc(l.synchronised, func(a, b openRow) int { return cmp.Compare(a.seq, b.seq) })
	}
}

// lacksEpochs reports whether the other side of some epochs repeats an earlier one than a location does.
func (c *cut) lacksEpochs(loc uint32, side epochSide, e *epochs, members map[uint64][]uint32) bool {
	other := epochSide{side.window, !side.posts}
	for group := range e.begun {
		for _, partner := range members[group] {
			l := c.openBegins.Get(partner)
			if l == nil || l.epochs[other] == nil {
				continue
			}
			ahead := e.firstWith(partner, members) - l.epochs[other].firstWith(loc, members)
			if ahead > 0 && ahead <= mostEpochs {
				return true
			}
		}
	}
	return false
}

// firstWith returns the number of the first epoch in the piece with a partner, among all epochs with it. members holds
// the locations of each group in ascending order.
func (e *epochs) firstWith(partner uint32, members map[uint64][]uint32) (n int64) {
	for group, begun := range e.begun {
		if _, in := slices.BinarySearch(members[group], partner); in {
			n += begun
		}
	}
	for _, x := range e.last[len(e.last)-e.repeated:] {
		if _, in := slices.BinarySearch(members[x.group], partner); in {
			n--
		}
	}
	return n + 1
}
