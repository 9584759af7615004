package otf2

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/weft-trace/weft/format/internal/archive"
)

// A record whose id, length or time is damaged says little of where the next one begins. Then
// the reader tries what it can have been, and takes the first meaning behind which valid records
// follow. It looks at few records, so that it is fast, and at no more bytes of a file than
// resyncBudget allows, so that reading takes linear time whatever is in the file.
const (
	timeSize      = 9       // bytes of a time and its id
	resyncRecords = 6       // that must be valid
	resyncWindow  = 2 << 10 // bytes in which they are
	resyncFew     = 2       // that suffice where the window ends
	resyncBeyond  = 512     // bytes behind the end of a damaged record in which the next one is looked for
	resyncBudget  = 16      // times the size of the file
)

// place is where reading goes on.
type place struct {
	at    int64 // 0 if there is no such place
	timed bool  // the damaged record is the time before it
	time  uint64
}

// oddTime reports whether a time is unusual behind the one in hand: it goes back, or more than doubles.
func oddTime(t, before uint64) bool { return t-before > before }

// atEnd reports whether bytes, which begin with a mark that a chunk or the file ends, are its end. They
// are where all events that the chunk's header announces have been read, or nothing follows.
func (r *EventReader) atEnd(at int64, b []byte) bool {
	return r.number >= r.c.last || padding(b) || b[0] == endOfFile && r.c.size-at <= 2
}

// padding reports whether bytes are what stands behind the last record of a chunk.
func padding(b []byte) bool {
	b = bytes.TrimRight(b, "\x00")
	return len(b) == 0 || len(b) <= 2 && b[0] == endOfFile && b[len(b)-1] <= endOfFile
}

// damaged goes on behind a record at a place that cannot be read, which ends at natural if its length
// can be right. It returns the error, which says where reading goes on if that is not there.
func (r *EventReader) damaged(at, natural int64, err error) error {
	var bad *FileError
	if !errors.As(err, &bad) {
		return r.skip(err)
	}
	most := natural
	if !r.later {
		most += resyncBeyond
	}
	to := r.resync(at, natural, most)
	if to.at == 0 {
		return r.skip(err)
	}
	r.goTo(to)
	if to.at == natural {
		return err
	}
	return goesOn(bad, to)
}

// goesOn adds where reading goes on to an error.
func goesOn(bad *FileError, to place) error {
	what := ""
	if to.timed {
		what = "it is read as a time, and "
	}
	return archive.Damaged(bad.Path, bad.Offset, bad.Found,
		fmt.Sprintf("%s; %sreading goes on at 0x%x", bad.Expected, what, to.at))
}

// goTo goes to a place behind an event that cannot be read, or behind a time.
func (r *EventReader) goTo(to place) {
	r.c.seek(to.at)
	if to.timed {
		r.setTime(to.time)
	} else {
		r.number++
	}
}

// setTime takes a time.
func (r *EventReader) setTime(t uint64) {
	if r.fresh {
		r.began, r.fresh = t, false
	}
	r.time = t
}

// deliver is the event in hand, unless what follows tells that something else stands there: where its id
// is unknown, and where no writer makes its bytes.
func (r *EventReader) deliver(t *recordType) (*Event, error) {
	e := &r.event
	natural := r.c.offset()
	if natural > r.trusted && (t == nil || r.loose || r.spare > 0 && !r.later) {
		if to := r.resync(e.Offset, natural, natural); to.at != natural {
			found := fmt.Sprintf("record %d", e.ID)
			if t != nil {
				found = t.name + " with bytes that no writer makes"
			}
			r.goTo(to)
			return nil, goesOn(r.c.bad(e.Offset, r.what, "%s", found), to)
		}
		r.c.seek(natural)
	}
	r.number = e.Number
	return e, nil
}

// damagedList is damaged for a list of attributes, which is no event.
func (r *EventReader) damagedList(at, natural int64, err error) error {
	n := r.number
	err = r.damaged(at, natural, err)
	r.number = n
	return err
}

// misread is where reading goes on behind a record at a place that begins as an odd time, if it is
// none: an event whose id is damaged.
func (r *EventReader) misread(at int64) (to place) {
	if at < r.trusted || r.follows(at+timeSize) {
		return place{}
	}
	if to := r.byLength(at); to > 0 && r.follows(to) {
		return place{at: to}
	}
	return place{}
}

// resync is where reading goes on behind a record at a place, about which something is odd. Its own
// end, if it has one, is natural. The next record is looked for up to most, or up to the end of the chunk
// if the record has no end.
func (r *EventReader) resync(at, natural, most int64) place {
	c := r.c
	if b := r.look(at, timeSize); len(b) == timeSize && b[0] != timestampRecord {
		cur := cursor{b: b, at: 1, big: c.big}
		if t := cur.fixed(8); (r.fresh || !oddTime(t, r.time)) && r.valid(at, true) {
			return place{at + timeSize, true, t}
		}
	}
	switch {
	case natural > 0 && r.follows(natural):
		return place{at: natural}
	case natural == 0:
		if to := r.byLength(at); to > 0 && r.follows(to) {
			return place{at: to}
		}
		most = c.end
	}
	for p := at + 1; p < min(most, c.end) && r.budget > 0; p++ {
		b := r.look(p, min(partSize, int(min(most, c.end)-p)))
		i := bytes.IndexByte(b, timestampRecord)
		r.budget -= int64(cmp.Or(i+1, len(b)))
		if i < 0 {
			p += int64(len(b)) - 1
			continue
		}
		if p += int64(i); r.follows(p) {
			return place{at: p}
		}
	}
	return place{at: natural}
}

// look is that of the reader's file. What it reads from the file counts, too.
func (r *EventReader) look(at int64, n int) []byte {
	c := r.c
	was := c.base
	b := c.look(at, n)
	if c.base != was {
		r.budget -= int64(len(c.part))
	}
	return b
}

// byLength is where an event at a place ends by its length, whatever its id; 0 if it is no event.
func (r *EventReader) byLength(at int64) int64 {
	if r.budget <= 0 {
		return 0
	}
	b := r.look(at, 2+0xfe)
	if len(b) < 2 {
		return 0
	}
	n := int(b[1])
	switch {
	case n == 0xff: // a number of an event that has no length
		return at + 2
	case 2+n > len(b):
		return 0
	case n <= 8: // it may be a number
		return at + 2 + int64(n)
	}
	for i := firstEvent; i < len(r.types); i++ {
		if t := &r.types[i]; t.name != "" && !t.bare && r.fits(t, b[2:2+n]) {
			return at + 2 + int64(n)
		}
	}
	return 0
}

// fits reports whether the fields of a record take all bytes.
func (r *EventReader) fits(t *recordType, b []byte) bool {
	cur := cursor{b: b, big: r.c.big}
	r.budget -= int64(len(b))
	cur.record(t, &r.scratch)
	return !cur.bad && !cur.loose && (cur.at == len(b) || r.later)
}

// follows reports whether valid records begin at a place.
func (r *EventReader) follows(at int64) bool { return r.valid(at, false) }

// valid is follows; the first record may be one whose id is that of a time.
func (r *EventReader) valid(at int64, timed bool) bool {
	c := r.c
	if r.budget <= 0 || at > c.end {
		return false
	}
	b := r.look(at, resyncWindow)
	inside := at+int64(len(b)) < c.end // the window ends before the chunk
	pos, time := 0, r.began
	defer func() { r.budget -= int64(pos) + 1 }()
	good := func() bool {
		r.trusted = max(r.trusted, at+int64(pos))
		return true
	}
	ends := func(n int) bool { return inside && n >= resyncFew && good() } // the window does
	for n := 0; n < resyncRecords; n++ {
		if pos == len(b) {
			return (!inside || n >= resyncFew) && good()
		}
		id := b[pos]
		if n == 0 && timed {
			id = timestampRecord
		}
		cur := cursor{b: b, at: pos + 1, big: c.big}
		switch id {
		case endOfChunk:
			return padding(b[pos:]) && good()
		case endOfFile:
			return (padding(b[pos:]) || c.size-at-int64(pos) <= 2) && good()
		case endOfBuffer:
			return false
		case timestampRecord:
			t := cur.fixed(8)
			if cur.bad {
				return ends(n)
			}
			if t < time {
				return false
			}
			time = t
		default:
			t := known(r.types, id)
			if t != nil && t.bare {
				cur.compressed(t.size())
				if cur.bad && len(b)-pos < 1+timeSize {
					return ends(n)
				}
				if cur.bad || cur.loose {
					return false
				}
				break
			}
			size := cur.length()
			if left := uint64(c.end - at - int64(cur.at)); cur.bad || size > uint64(len(b)-cur.at) {
				return (cur.bad || size <= left) && ends(n)
			}
			body := b[cur.at : cur.at+int(size)]
			cur.at += int(size)
			switch {
			case id == attributeRecord:
				x := cursor{b: body, big: c.big}
				if x.attributes(); x.bad || x.at < len(body) && !r.later {
					return false
				}
			case t != nil:
				if !r.fits(t, body) {
					return false
				}
			case !r.later || id < firstEvent:
				return false
			}
		}
		pos = cur.at
	}
	return good()
}
