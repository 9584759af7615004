package otf2

// recordState is the state of a record of a definition file, as far as its bytes show it.
type recordState int

const (
	valid      recordState = iota
	unusual                // unknown, or with bytes that no writer produces
	incomplete             // without its last fields
	unreadable
)

// recordSearch finds the record at which reading of a definition, marker or thumbnail file continues after a damaged
// record.
type recordSearch struct {
	c      *chunkReader
	state  func(id uint8, c *cursor) recordState
	budget int64 // number of bytes that may still be examined (see resyncBudget)
}

// resume moves to the record at which reading continues after the record at an offset, and returns the error with
// the offset of that record. natural is the end of the record by its length, or 0 if the length cannot be right. bad is
// nil for an unusual record, which is damaged only if valid records follow elsewhere than at its end.
func (s *recordSearch) resume(h *recordHead, natural int64, bad *FileError) error {
	c := s.c
	to := s.next(h.at, natural)
	switch {
	case to == natural && natural > 0:
	case to > 0:
		c.seek(to)
		if bad == nil {
			bad = c.errorAt(h.at, "one of another length", "record %d of %d bytes", h.id, natural-h.at)
		}
		return resumeError(bad, resumePoint{at: to})
	case natural > 0:
		to = natural
	default:
		to = c.end
	}
	c.seek(to)
	if bad == nil {
		return nil
	}
	return bad
}

// next returns the first of these offsets that valid records follow: natural, and the offsets after at. It returns 0 if
// there is none.
func (s *recordSearch) next(at, natural int64) int64 {
	b := s.c.peekAt(at, int(s.c.end-at))
	if natural > 0 {
		rest := b[min(natural-at, int64(len(b))):]
		if s.validRecords(rest, 0) || s.validRecords(rest, resyncDamaged) {
			return natural
		}
	}
	for i := 1; i < len(b) && s.budget > 0; i++ {
		if s.validRecords(b[i:], 0) {
			return at + int64(i)
		}
	}
	return 0
}

// validRecords reports whether the rest of a chunk begins with resyncRecords valid records, or consists of fewer ones.
// The parameter damaged is the greatest number of records after the first one that may have wrong fields; these records
// do not count.
func (s *recordSearch) validRecords(b []byte, damaged int) bool {
	pos := 0
	for n := 0; n < resyncRecords; n++ {
		s.budget--
		if pos == len(b) {
			return n > 0
		}
		if b[pos] <= endOfFile {
			s.budget -= int64(len(b) - pos)
			return padding(b[pos:]) && (n > 0 || b[pos] == endOfFile)
		}
		cur := cursor{b: b, at: pos + 1, big: s.c.big}
		size := cur.length()
		if cur.bad || size > uint64(len(b)-cur.at) {
			return false
		}
		id, end := b[pos], cur.at+int(size)
		s.budget -= int64(size)
		if s.state(id, &cursor{b: b[cur.at:end], big: s.c.big}) != valid {
			if n == 0 || damaged == 0 {
				return false
			}
			n, damaged = n-1, damaged-1
		}
		pos = end
	}
	return true
}
