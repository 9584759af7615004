package clocks

import (
	"context"
	"encoding/binary"

	"github.com/weft-trace/weft/internal/chunks"
)

// The sizes in bytes of the memory that the log uses before it uses a file, and of a piece of the log.
const (
	logBytes  = 8 << 20
	logPieces = 64 << 10
)

// constraintLog is a list of messages and collective operations, each packed into a few bytes. They are
// numbered from 0.
type constraintLog struct {
	store *chunks.Store
	list  []chunks.Chunk
	buf   []byte
	last  []int64 // indexed by location: the last time in the current piece
	count int64
	err   error
}

func newLog() *constraintLog { return &constraintLog{store: chunks.New(logBytes)} }

// close removes the temporary file.
func (l *constraintLog) close() { l.store.Close() }

// addMessage adds a message.
func (l *constraintLog) addMessage(sent, received end) {
	l.beginEntry(uint64(sent.loc)<<1, sent)
	l.beginEntry(uint64(received.loc), received)
	l.endEntry()
}

// addOperation adds a collective operation. It requires that no member in ends leaves before all members in begins
// have entered. together must be set if all members leave at nearly the same time.
func (l *constraintLog) addOperation(begins, ends []end, together bool) {
	l.buf = binary.AppendUvarint(l.buf, uint64(len(begins))<<1|1)
	x := uint64(len(ends)) << 1
	if together {
		x |= 1
	}
	l.buf = binary.AppendUvarint(l.buf, x)
	for _, e := range begins {
		l.beginEntry(uint64(e.loc), e)
	}
	for _, e := range ends {
		l.beginEntry(uint64(e.loc), e)
	}
	l.endEntry()
}

// beginEntry begins an entry of the log: it adds the number x, and the time of the end e.
func (l *constraintLog) beginEntry(x uint64, e end) {
	for int(e.loc) >= len(l.last) {
		l.last = append(l.last, 0)
	}
	l.buf = binary.AppendUvarint(l.buf, x)
	l.buf = binary.AppendVarint(l.buf, e.time-l.last[e.loc])
	l.last[e.loc] = e.time
}

// endEntry ends the entry.
func (l *constraintLog) endEntry() {
	l.count++
	if len(l.buf) >= logPieces {
		l.flush()
	}
}

// flush stores the current piece.
func (l *constraintLog) flush() {
	if l.err != nil || len(l.buf) == 0 {
		return
	}
	c, taken, err := l.store.Keep(l.buf)
	l.list, l.err = append(l.list, c), err
	if taken {
		l.buf = make([]byte, 0, logPieces+256)
	} else {
		l.buf = l.buf[:0]
	}
}

// record is an entry of the log. The only begin of a message is its send, and the only end its
// receive.
type record struct {
	number       int64
	message      bool
	together     bool // all members of the operation leave at nearly the same time
	begins, ends []end
}

// each calls f for each entry in the order of the numbers. The entry is valid during the call.
func (l *constraintLog) each(ctx context.Context, f func(r *record) error) error {
	l.flush()
	if l.err != nil {
		return l.err
	}
	var room []byte
	var r record
	last := make([]int64, len(l.last))
	number := int64(0)
	for _, c := range l.list {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := l.store.Read(c, &room)
		if err != nil {
			return err
		}
		next := func() uint64 {
			if x := b[0]; x < 0x80 {
				b = b[1:]
				return uint64(x)
			}
			x, n := binary.Uvarint(b)
			b = b[n:]
			return x
		}
		at := func(loc uint64) end {
			x := next()
			last[loc] += int64(x>>1) ^ -int64(x&1)
			return end{uint32(loc), last[loc]}
		}
		for len(b) > 0 {
			r.begins, r.ends = r.begins[:0], r.ends[:0]
			x := next()
			if r.message, r.together = x&1 == 0, false; r.message {
				r.begins = append(r.begins, at(x>>1))
				r.ends = append(r.ends, at(next()))
			} else {
				ends := next()
				for range x >> 1 {
					r.begins = append(r.begins, at(next()))
				}
				r.together = ends&1 != 0
				for range ends >> 1 {
					r.ends = append(r.ends, at(next()))
				}
			}
			r.number = number
			number++
			if err := f(&r); err != nil {
				return err
			}
		}
	}
	return nil
}
