package etf

import (
	"maps"
	"slices"

	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/internal/openset"
)

// openClaims finds open claims in the queue by their ids. If ids increase by one from claim to claim, it
// computes a claim's number from its id. All other claims are in maps. If several open claims have the same
// id, openClaims takes the claim whose line number matches, or else the oldest claim.
type openClaims struct {
	any    bool
	offset int64 // the number of a claim minus its id, for claims with consecutive ids
	others map[claimKey]int64
	same   map[claimKey]*openset.Queue[int64, int64] // used if several open claims have the same key; ordered by line
}

type claimKey struct {
	id       int64
	res, ref uint32 // index of the resource and of the region
}

// add adds claim number at, which has just begun.
func (o *openClaims) add(q *queue, at int64, k claimKey) {
	x := q.claim(at)
	if !o.any {
		o.any, o.offset = true, at-k.id
	}
	if x.key, x.other = k, at-k.id != o.offset; !x.other {
		return
	}
	l := o.same[k]
	if l == nil {
		first, ok := o.others[k]
		if !ok {
			o.others[k] = at
			return
		}
		delete(o.others, k)
		l = &openset.Queue[int64, int64]{}
		l.Open(first, [2]int64{q.claim(first).pos})
		if o.same == nil {
			o.same = map[claimKey]*openset.Queue[int64, int64]{}
		}
		o.same[k] = l
	}
	l.Open(at, [2]int64{x.pos})
}

// remove finds an open claim with the key k and removes it. If several match, remove chooses the one whose line
// is at position pos. isGuess is set if several match and none of them has this position.
func (o *openClaims) remove(q *queue, k claimKey, pos int64) (at int64, isGuess, ok bool) {
	at = k.id + o.offset
	x := q.claim(at)
	counted := x != nil && x.key == k && !x.other && !x.done
	if counted && x.pos == pos && pos > 0 {
		return at, false, true
	}
	l := o.same[k]
	if l == nil {
		n, ok := o.others[k]
		if !ok {
			return at, false, counted
		}
		if isGuess = counted && (pos <= 0 || q.claim(n).pos != pos); isGuess && at < n {
			return at, true, true
		}
		delete(o.others, k)
		return n, isGuess, true
	}
	i := l.Find(pos)
	isGuess = i < 0 && (counted || l.Len() > 1)
	if i < 0 {
		i = l.First()
		if counted && at < l.At(i) {
			return at, isGuess, true
		}
	}
	at = l.At(i)
	if l.Close(i); l.Len() == 0 {
		delete(o.same, k)
	}
	return at, isGuess, true
}

// queueLimit is the number of claims that may wait for an older claim to end. Beyond this number, the older
// claim is moved from list to aside. textLimit is the largest size, in bytes, of a claim's buffer that is reused.
const (
	queueLimit = 1 << 14
	textLimit  = 256
	textRoom   = 160
)

// queue stores claims until they end, and writes them in the order in which they begin. If more than
// queueLimit claims begin while an older claim is open, the older claim is moved to aside. When that claim
// ends, end inserts its line into the text that has been written.
type queue struct {
	w     *Writer
	list  []queuedClaim // ring buffer of claims by number
	first int64         // number of the oldest claim
	next  int64
	aside map[int64]*queuedClaim // claims whose lines are inserted later, by number
	buf   []byte
	from  *rewriter
}

// append appends the complete line of a claim to b.
func (q *queue) append(x *queuedClaim, b []byte) []byte {
	if q.from == nil {
		return x.append(b)
	}
	n := len(b)
	b = x.append(b)
	return append(q.from.restoreLine(x.pos, b[:len(b)-1], n), '\n')
}

// These values stand for the position of a leave among all rows.
const (
	firstOfTime = -1 // no row before the leave has its time, so that its position does not matter
	neverLeft   = -2 // the visit has no leave
)

// appendCarryKey appends the attribute from which a visit is restored (see carryKey). leave is the position of the
// leave among all rows, firstOfTime or neverLeft.
func (q *queuedClaim) appendCarryKey(b []byte, leave int64) []byte {
	b = append(b, ", "+carryKey+"="...)
	b = digits.AppendUint(b, uint64(q.region))
	if leave != firstOfTime {
		b = append(b, ':')
	}
	if leave >= 0 {
		b = digits.AppendInt(b, leave-q.order)
	}
	return b
}

type queuedClaim struct {
	text   []byte // the line without the end time, which belongs at position cut
	end    []byte
	cut    int
	order  int64    // position of the enter among all rows; used only for traces of other formats
	region uint32   // the region that is visited; used only for traces of other formats
	key    claimKey // resource and id of a claim
	done   bool
	other  bool  // a map of openClaims contains the claim, or it is a visit
	place  int64 // position in the spool at which the line of a claim in aside belongs
	pos    int64 // number of the claim's line in the original file
}

// append appends the complete line of the claim to b.
func (q *queuedClaim) append(b []byte) []byte {
	n := len(b)
	if q.cut > 32 || len(q.end) > 32 || cap(q.end) < 32 || len(q.text)-q.cut > 64 || cap(q.text) < textRoom ||
		cap(b)-n < textRoom {
		b = append(append(append(b, q.text[:q.cut]...), q.end...), q.text[q.cut:]...)
		return append(b, '\n')
	}
	// Copying a fixed number of bytes is faster than copying only the bytes in use.
	from, to := q.text[:textRoom], b[n:n+textRoom]
	copy32(to, from)
	i := q.cut
	copy32(to[i:], q.end[:32])
	i += len(q.end)
	copy32(to[i:], from[q.cut:])
	copy32(to[i+32:], from[q.cut+32:])
	i += len(q.text) - q.cut
	to[i] = '\n'
	return b[:n+i+1]
}

// empty reports whether no claim is waiting.
func (q *queue) empty() bool { return q.first == q.next && len(q.aside) == 0 }

// claim returns claim number n, or nil if it has been written.
func (q *queue) claim(n int64) *queuedClaim {
	if n < q.first || n >= q.next {
		return q.aside[n]
	}
	return &q.list[n&int64(len(q.list)-1)]
}

// begin adds a claim with the given id and start time, and returns its number. The caller appends the
// rest of the line to the claim's text, which has room for at least 32 bytes. The capacity of start
// must be at least 32 bytes, too.
func (q *queue) begin(id int64, start []byte) (int64, *queuedClaim) {
	if q.list == nil {
		q.list = make([]queuedClaim, 64) // a small buffer stays in the processor's cache
	}
	if q.next-q.first == int64(len(q.list)) {
		old := q.list
		q.list = make([]queuedClaim, 2*len(old))
		for n := q.first; n < q.next; n++ {
			q.list[n&int64(len(q.list)-1)] = old[n&int64(len(old)-1)]
		}
	}
	n := q.next
	q.next++
	x := q.claim(n)
	x.done = false
	if x.text == nil {
		x.text, x.end = make([]byte, 0, textRoom), make([]byte, 0, 32)
	}
	if len(start) > 32 {
		b := digits.AppendInt(append(x.text[:0], "C "...), id)
		b = append(append(append(b, ' '), start...), "  "...)
		x.cut, x.text = len(b)-1, slices.Grow(b, 32)
		return n, x
	}
	to := x.text[:textRoom]
	to[0], to[1] = 'C', ' '
	i := 2 + digits.Put(to[2:34], id)
	to[i] = ' '
	copy32(to[i+1:i+33], start[:32])
	i += 1 + len(start)
	to[i], to[i+1] = ' ', ' '
	x.cut, x.text = i+1, to[:i+2]
	return n, x
}

// end sets the end time of claim n and appends more to its attributes.
func (q *queue) end(n int64, t []byte, more []byte) error {
	x := q.claim(n)
	x.end, x.done = appendShort(x.end[:0], t), true
	if len(more) > 0 {
		x.text = append(x.text, more...)
	}
	if n < q.first {
		delete(q.aside, n)
		q.buf = q.append(x, q.buf[:0])
		return q.w.first.Insert(x.place, q.buf)
	}
	return nil
}

// write writes the oldest claims up to the first one that is still open.
func (q *queue) write() error {
	if q.first == q.next || !q.claim(q.first).done && q.next-q.first <= queueLimit {
		return nil
	}
	err := q.w.begin()
	if err != nil {
		return err
	}
	s := &q.w.first.Spool
	for q.first < q.next {
		x := q.claim(q.first)
		if !x.done {
			if q.next-q.first <= queueLimit {
				return nil
			}
			if q.aside == nil {
				q.aside = map[int64]*queuedClaim{}
			}
			y := *x
			y.place = q.w.claimsSize()
			q.aside[q.first] = &y
			*x = queuedClaim{}
			q.first++
			continue
		}
		if q.w.joined {
			err = q.w.addClaimLine(func(b []byte) []byte { return q.append(x, b) })
		} else {
			err = s.Done(q.append(x, s.Line()))
		}
		if err != nil {
			return err
		}
		if cap(x.text) > textLimit {
			x.text = nil
		}
		q.first++
	}
	return nil
}

// drain ends all open claims at time t and writes all claims. If carried is set, the claims are visits of
// another format's trace, and their lines state that they have no leave. It returns the number of claims that
// were open.
func (q *queue) drain(t []byte, carried bool) (open int64, err error) {
	waiting := slices.Sorted(maps.Keys(q.aside))
	for n := q.first; n < q.next; n++ {
		if !q.claim(n).done {
			waiting = append(waiting, n)
		}
	}
	for _, n := range waiting {
		var more []byte
		if carried {
			more = q.claim(n).appendCarryKey(nil, neverLeft)
		}
		if err := q.end(n, t, more); err != nil {
			return 0, err
		}
	}
	return int64(len(waiting)), q.write()
}
