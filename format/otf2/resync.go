package otf2

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/weft-trace/weft/format/internal/archive"
)

// If the id, length or time of a record is damaged, its bytes do not show where the next record begins. The
// reader then tries possible meanings of the record, and accepts the first one after which valid records
// follow. It examines few records for each possible meaning. In total it examines at most resyncBudget times
// the bytes of the file. Reading therefore takes linear time for any content of a file.
const (
	timeSize      = 9       // size in bytes of a time record
	resyncRecords = 6       // number of successive records that must be valid
	resyncWindow  = 2 << 10 // maximum number of bytes that these records may span
	// number of records that must be valid if they reach the end of the window before resyncRecords records
	resyncFew = 2
	// number of records with wrong fields that may be among the records behind a damaged record, if its length is right
	resyncDamaged = 2
	resyncBeyond  = 512 // number of bytes after a damaged record in which the next record is searched
	resyncBudget  = 16  // limit of examined bytes, as a multiple of the file's size
)

// resumePoint is an offset in the file at which reading can resume.
type resumePoint struct {
	at    int64 // offset in bytes; 0 if reading cannot resume
	timed bool  // read the damaged record as a time
	time  uint64
}

// unusualTime reports whether a time is earlier than the time before, or more than twice as large.
func unusualTime(t, before uint64) bool { return t-before > before }

// atEnd reports whether an end mark at an offset really ends the chunk or the file. It does if all
// events that the chunk's header announces have been read, or if nothing follows.
func (r *EventReader) atEnd(at int64, b []byte) bool {
	return r.number >= r.c.last || padding(b) || b[0] == endOfFile && r.c.size-at <= 2
}

// padding reports whether all bytes are valid as padding after the last record of a chunk.
func padding(b []byte) bool {
	b = bytes.TrimRight(b, "\x00")
	return len(b) == 0 || len(b) <= 2 && b[0] == endOfFile && b[len(b)-1] <= endOfFile
}

// recoverFrom resumes reading after an unreadable record at an offset. natural is the end of the record
// by its length, or 0 if the length cannot be right. recoverFrom returns err; if reading resumes
// elsewhere than at natural, it adds the offset to the error.
func (r *EventReader) recoverFrom(at, natural int64, err error) error {
	var bad *FileError
	if !errors.As(err, &bad) {
		return r.skip(err)
	}
	r.damaged = true
	most := natural
	if !r.later {
		most += resyncBeyond
	}
	to := r.resync(at, natural, most)
	if to.at == 0 {
		return r.skip(err)
	}
	r.resumeAt(to)
	if to.at == natural {
		return err
	}
	return resumeError(bad, to)
}

// resumeError adds the offset at which reading resumes to an error.
func resumeError(bad *FileError, to resumePoint) error {
	what := ""
	if to.timed {
		what = "weft reads it as a time, and "
	}
	return archive.Damaged(bad.Path, bad.Offset, bad.Found,
		fmt.Sprintf("%s; %sreading continues at 0x%x", bad.Expected, what, to.at))
}

// resumeAt moves to an offset after an unreadable event or after a time.
func (r *EventReader) resumeAt(to resumePoint) {
	r.c.seek(to.at)
	if to.timed {
		r.setTime(to.time)
	} else {
		r.number++
	}
}

// setTime sets the time of the following events.
func (r *EventReader) setTime(t uint64) {
	if r.chunkStart {
		r.began, r.chunkStart = t, false
	}
	r.time = t
}

// deliver returns the current event. If the id is unknown, or if no writer produces such bytes, the bytes may
// not be an event. If the records that follow confirm this, deliver returns an error and resumes after the
// bytes.
func (r *EventReader) deliver(t *recordType) (*Event, error) {
	e := &r.event
	natural := r.c.offset()
	if natural > r.validUntil && (t == nil || r.paddedNumbers || r.extraBytes > 0 && !r.later) {
		if to := r.resync(e.Offset, natural, natural); to.at != natural {
			found := fmt.Sprintf("record %d", e.ID)
			if t != nil {
				found = t.name + " with bytes that no writer produces"
			}
			r.damaged = true
			r.resumeAt(to)
			return nil, resumeError(r.c.errorAt(e.Offset, r.what, "%s", found), to)
		}
		r.c.seek(natural)
	}
	r.number = e.Number
	return e, nil
}

// recoverList does the same as recoverFrom for a list of attributes, which does not count as an event.
func (r *EventReader) recoverList(at, natural int64, err error) error {
	n := r.number
	err = r.recoverFrom(at, natural, err)
	r.number = n
	return err
}

// misreadTime examines a record that begins like a time record with an unusual time. If it is an event
// with a damaged id, misreadTime returns the offset at which reading resumes.
func (r *EventReader) misreadTime(at int64) (to resumePoint) {
	if at < r.validUntil || r.validFrom(at+timeSize) {
		return resumePoint{}
	}
	if to := r.endByLength(at); to > 0 && r.validFrom(to) {
		return resumePoint{at: to}
	}
	return resumePoint{}
}

// resync returns the offset at which reading resumes after an unusual record. at is the offset of that
// record, and natural is its end, or 0 if its end is unknown. resync searches for the next record up to
// offset most, or up to the end of the chunk if natural is 0.
func (r *EventReader) resync(at, natural, most int64) resumePoint {
	c := r.c
	if b := r.peekAt(at, timeSize); len(b) == timeSize && b[0] != timestampRecord {
		cur := cursor{b: b, at: 1, big: c.big}
		if t := cur.fixed(8); (r.chunkStart || !unusualTime(t, r.time)) && r.validRecords(at, true, 0) {
			return resumePoint{at + timeSize, true, t}
		}
	}
	switch {
	case natural > 0 && (r.validFrom(natural) || r.validRecords(natural, false, resyncDamaged)):
		return resumePoint{at: natural}
	case natural == 0:
		if to := r.endByLength(at); to > 0 && r.validFrom(to) {
			return resumePoint{at: to}
		}
		most = c.end
	}
	for p := at + 1; p < min(most, c.end) && r.budget > 0; p++ {
		b := r.peekAt(p, min(partSize, int(min(most, c.end)-p)))
		i := bytes.IndexByte(b, timestampRecord)
		r.budget -= int64(cmp.Or(i+1, len(b)))
		if i < 0 {
			p += int64(len(b)) - 1
			continue
		}
		if p += int64(i); r.validFrom(p) {
			return resumePoint{at: p}
		}
	}
	return resumePoint{at: natural}
}

// peekAt returns bytes of the file like [chunkReader.peekAt], and subtracts their number from the
// budget.
func (r *EventReader) peekAt(at int64, n int) []byte {
	c := r.c
	was := c.base
	b := c.peekAt(at, n)
	if c.base != was {
		r.budget -= int64(len(c.part))
	}
	return b
}

// endByLength returns the end of an event at an offset, as computed from its length. It ignores the id. It
// returns 0 if the bytes are not an event.
func (r *EventReader) endByLength(at int64) int64 {
	if r.budget <= 0 {
		return 0
	}
	b := r.peekAt(at, 2+0xfe)
	if len(b) < 2 {
		return 0
	}
	n := int(b[1])
	switch {
	case n == 0xff: // the number of an event without a length
		return at + 2
	case 2+n > len(b):
		return 0
	case n <= 8: // the byte may be the length of a number
		return at + 2 + int64(n)
	}
	for i := firstEvent; i < len(r.types); i++ {
		if t := &r.types[i]; t.name != "" && !t.noLength && r.fits(t, b[2:2+n]) {
			return at + 2 + int64(n)
		}
	}
	return 0
}

// fits reports whether the fields of a record fill all bytes.
func (r *EventReader) fits(t *recordType, b []byte) bool {
	cur := cursor{b: b, big: r.c.big}
	r.budget -= int64(len(b))
	cur.record(t, &r.scratch)
	return !cur.bad && !cur.loose && (cur.at == len(b) || r.later)
}

// validFrom reports whether valid records begin at an offset.
func (r *EventReader) validFrom(at int64) bool { return r.validRecords(at, false, 0) }

// validRecords reports whether valid records begin at an offset. If timed is true, the first record is read as
// a time, whatever its id is. The parameter damaged is the greatest number of records after the first one that may have
// wrong fields; these records do not count.
func (r *EventReader) validRecords(at int64, timed bool, damaged int) bool {
	c := r.c
	if r.budget <= 0 || at > c.end {
		return false
	}
	b := r.peekAt(at, resyncWindow)
	inside := at+int64(len(b)) < c.end // the window ends before the end of the chunk
	pos, time, sound := 0, r.began, true
	defer func() { r.budget -= int64(pos) + 1 }()
	good := func() bool {
		if sound {
			r.validUntil = max(r.validUntil, at+int64(pos))
		}
		return true
	}
	// ends reports whether n valid records before the end of the window are enough.
	ends := func(n int) bool { return inside && n >= resyncFew && good() }
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
			t := typeByID(r.types, id)
			if t != nil && t.noLength {
				cur.compressed(t.maxNumberSize())
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
				if x.skipAttributes(); x.bad || x.at < len(body) && !r.later {
					return false
				}
			case t != nil:
				if r.fits(t, body) {
					break
				}
				if n == 0 || damaged == 0 {
					return false
				}
				n, damaged, sound = n-1, damaged-1, false
			case !r.later || id < firstEvent:
				return false
			}
		}
		pos = cur.at
	}
	return good()
}
