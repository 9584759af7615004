package etf

import (
	"maps"
	"slices"

	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/internal/openset"
)

// openClaims finds the numbers of open claims in the queue by their ids. If ids are counted up in
// the order in which claims begin, the number follows from the id; maps have the other claims. Of
// several claims with the same id, the one of the line ends, else the first one.
type openClaims struct {
	any    bool
	offset int64 // number minus id
	others map[claimKey]int64
	same   map[claimKey]*openset.Queue[int64, int64] // several with one key, by their lines
}

type claimKey struct {
	id       int64
	res, ref uint32 // resource and region
}

// add adds claim number at, which has just begun.
func (o *openClaims) add(q *queue, at int64, k claimKey) {
	x := q.at(at)
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
		l.Open(first, [2]int64{q.at(first).pos})
		if o.same == nil {
			o.same = map[claimKey]*openset.Queue[int64, int64]{}
		}
		o.same[k] = l
	}
	l.Open(at, [2]int64{x.pos})
}

// take finds and removes an open claim. isGuess is set if there are several and none is of the line pos.
func (o *openClaims) take(q *queue, k claimKey, pos int64) (at int64, isGuess, ok bool) {
	at = k.id + o.offset
	x := q.at(at)
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
		if isGuess = counted && (pos <= 0 || q.at(n).pos != pos); isGuess && at < n {
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

// queueLimit is the number of claims that wait for an older one to end before that one is put
// aside. Texts of up to textLimit bytes are reused.
const (
	queueLimit = 1 << 14
	textLimit  = 256
	textRoom   = 160
)

// queue holds claims in the order in which they begin until they end, so that they can be written
// in that order. A claim that lasts longer than queueLimit others is put aside, and inserted at its
// place at the end.
type queue struct {
	w     *Writer
	list  []queued // ring buffer
	first int64    // number of the oldest
	next  int64
	aside map[int64]*queued // claims put aside, by number
	buf   []byte
	from  *rewriter
}

// append appends a claim's line.
func (q *queue) append(x *queued, b []byte) []byte {
	if q.from == nil {
		return x.append(b)
	}
	n := len(b)
	b = x.append(b)
	return append(q.from.line(x.pos, b[:len(b)-1], n), '\n')
}

// carry appends the attribute that restores a region: "region:order of the enter:order of the
// leave". The last part is missing if the region is never left.
func (x *queued) carry(b []byte, leave int64) []byte {
	b = append(b, ", "+carryKey+"="...)
	b = digits.AppendUint(b, uint64(x.region))
	b = digits.AppendInt(append(b, ':'), x.order)
	b = append(b, ':')
	if leave >= 0 {
		b = digits.AppendInt(b, leave)
	}
	return b
}

type queued struct {
	text   []byte // the line without the end, which is inserted at cut
	end    []byte
	cut    int
	order  int64    // other formats: rank of the enter among all rows
	region uint32   // other formats
	key    claimKey // TRACE's own
	done   bool
	other  bool  // the map of openClaims has the claim
	place  int64 // its place in the spool, if it was put aside
	pos    int64 // of its line in the file
}

// append appends the claim's line.
func (x *queued) append(b []byte) []byte {
	n := len(b)
	if x.cut > 32 || len(x.end) > 32 || cap(x.end) < 32 || len(x.text)-x.cut > 64 || cap(x.text) < textRoom ||
		cap(b)-n < textRoom {
		b = append(append(append(b, x.text[:x.cut]...), x.end...), x.text[x.cut:]...)
		return append(b, '\n')
	}
	// Copies a fixed length, which is faster.
	from, to := x.text[:textRoom], b[n:n+textRoom]
	copy32(to, from)
	i := x.cut
	copy32(to[i:], x.end[:32])
	i += len(x.end)
	copy32(to[i:], from[x.cut:])
	copy32(to[i+32:], from[x.cut+32:])
	i += len(x.text) - x.cut
	to[i] = '\n'
	return b[:n+i+1]
}

// empty reports whether no claim is waiting.
func (q *queue) empty() bool { return q.first == q.next && len(q.aside) == 0 }

// at returns claim number n, or nil if it has been written.
func (q *queue) at(n int64) *queued {
	if n < q.first || n >= q.next {
		return q.aside[n]
	}
	return &q.list[n&int64(len(q.list)-1)]
}

// begin adds a claim and returns its number. The caller appends its resource and all that follows
// to its text, which has room for at least 32 bytes. start must have as much memory.
func (q *queue) begin(id int64, start []byte) (int64, *queued) {
	if q.list == nil {
		q.list = make([]queued, 64) // small, so that it stays in the processor's cache
	}
	if q.next-q.first == int64(len(q.list)) {
		old := q.list
		q.list = make([]queued, 2*len(old))
		for n := q.first; n < q.next; n++ {
			q.list[n&int64(len(q.list)-1)] = old[n&int64(len(old)-1)]
		}
	}
	n := q.next
	q.next++
	x := q.at(n)
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

// end sets the end of claim n and appends more to its attributes.
func (q *queue) end(n int64, t []byte, more []byte) error {
	x := q.at(n)
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

// write writes the complete claims before which no claim is open.
func (q *queue) write() error {
	if q.first == q.next || !q.at(q.first).done && q.next-q.first <= queueLimit {
		return nil
	}
	err := q.w.begin()
	if err != nil {
		return err
	}
	s := &q.w.first.Spool
	for q.first < q.next {
		x := q.at(q.first)
		if !x.done {
			if q.next-q.first <= queueLimit {
				return nil
			}
			if q.aside == nil {
				q.aside = map[int64]*queued{}
			}
			y := *x
			y.place = q.w.claimsSize()
			q.aside[q.first] = &y
			*x = queued{}
			q.first++
			continue
		}
		if q.w.joined {
			err = q.w.claim(func(b []byte) []byte { return q.append(x, b) })
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

// drain ends all open claims at time t and writes everything. If carried is set, the claims are
// regions of another format's trace, and are marked as having no end.
func (q *queue) drain(t []byte, carried bool) (open int64, err error) {
	waiting := slices.Sorted(maps.Keys(q.aside))
	for n := q.first; n < q.next; n++ {
		if !q.at(n).done {
			waiting = append(waiting, n)
		}
	}
	for _, n := range waiting {
		var more []byte
		if carried {
			more = q.at(n).carry(nil, -1)
		}
		if err := q.end(n, t, more); err != nil {
			return 0, err
		}
	}
	return int64(len(waiting)), q.write()
}
