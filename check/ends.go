package check

import (
	"encoding/binary"
	"slices"

	"github.com/weft-trace/weft/internal/chunks"
)

// packedEnds holds the sends, or the receives, of a channel in the order of their events. It packs an end into 3 to 20
// bytes.
type packedEnds struct {
	buf   []byte // the ends after the stored ones
	last  end    // the last end that was added
	count int64  // number of ends that were added
	more  *moreEnds
}

// moreEnds holds the fields that only long channels and channels with cancelled sends need. They are stored apart,
// because a trace can have millions of channels with few messages each.
type moreEnds struct {
	stored []chunks.Chunk
	// cancelled holds the indexes of the sends that were cancelled. Nothing receives them.
	cancelled []int64
}

// rest returns the field more. It creates the field's value if there is none.
func (p *packedEnds) rest() *moreEnds {
	if p.more == nil {
		p.more = &moreEnds{}
	}
	return p.more
}

// endsPerChunk is the number of bytes of packed ends that are stored together.
const endsPerChunk = 4 << 10

// maxPackedEnd is the greatest number of bytes of a packed end.
const maxPackedEnd = 1 + 4*binary.MaxVarintLen64

// The flags of a packed end.
const (
	otherTag    = 1 << iota // the tag differs from that of the end before, and follows
	otherLength             // the length differs from that of the end before, and follows
)

// add adds an end. An error comes from the temporary file.
func (p *packedEnds) add(store *chunks.Store, e end) error {
	flags := byte(0)
	if e.tag != p.last.tag {
		flags |= otherTag
	}
	if e.length != p.last.length {
		flags |= otherLength
	}
	b := append(p.buf, flags)
	b = appendNumber(b, e.time-p.last.time)
	b = appendNumber(b, e.pos-p.last.pos)
	if flags&otherTag != 0 {
		b = appendNumber(b, e.tag)
	}
	if flags&otherLength != 0 {
		b = appendNumber(b, e.length)
	}
	p.buf, p.last, p.count = b, e, p.count+1
	if len(b) < endsPerChunk {
		return nil
	}
	c, taken, err := store.Keep(b)
	p.rest().stored = append(p.rest().stored, c)
	if p.buf = b[:0]; taken {
		p.buf = make([]byte, 0, endsPerChunk+maxPackedEnd)
	}
	return err
}

// appendNumber appends a signed number, which takes one byte if it is from -64 to 63.
func appendNumber(b []byte, x int64) []byte {
	u := uint64(x)<<1 ^ uint64(x>>63)
	if u < 0x80 {
		return append(b, byte(u))
	}
	return binary.AppendUvarint(b, u)
}

// endReader reads packed ends one after the other.
type endReader struct {
	stored []chunks.Chunk
	buf    []byte // the packed ends after the stored ones
	store  *chunks.Store
	next   int    // index in stored of the next chunk
	data   []byte // the packed ends after the current one, in its chunk
	room   []byte // buffer for chunks from the file
	// end is the current end. It is valid unless done is set.
	end
	done      bool
	count     int64   // number of ends that were read
	cancelled []int64 // numbers of the cancelled ends that have not been read yet
}

// start begins to read ends, at the first one. Nil stands for no ends.
func (r *endReader) start(ends *packedEnds) error {
	*r = endReader{store: r.store, room: r.room}
	if ends == nil {
		r.done = true
		return nil
	}
	if r.buf = ends.buf; ends.more != nil {
		r.stored, r.cancelled = ends.more.stored, ends.more.cancelled
		slices.Sort(r.cancelled)
	}
	return r.advance()
}

// advance moves to the next end that was not cancelled. An error comes from the temporary file.
func (r *endReader) advance() error {
	for {
		if err := r.read(); err != nil || r.done || len(r.cancelled) == 0 || r.cancelled[0] != r.count-1 {
			return err
		}
		r.cancelled = r.cancelled[1:]
	}
}

// read reads the next end. An error comes from the temporary file.
func (r *endReader) read() (err error) {
	if len(r.data) == 0 {
		switch {
		case r.next < len(r.stored):
			if r.data, err = r.store.Read(r.stored[r.next], &r.room); err != nil {
				return err
			}
		case r.next == len(r.stored):
			r.data = r.buf
		}
		r.next++
		if len(r.data) == 0 {
			r.done = true
			return nil
		}
	}
	r.count++
	flags := r.data[0]
	r.data = r.data[1:]
	r.time += r.number()
	r.pos += r.number()
	if flags&otherTag != 0 {
		r.tag = r.number()
	}
	if flags&otherLength != 0 {
		r.length = r.number()
	}
	return nil
}

// number reads a number that appendNumber has written.
func (r *endReader) number() int64 {
	u := uint64(r.data[0])
	if u < 0x80 {
		r.data = r.data[1:]
	} else {
		var n int
		u, n = binary.Uvarint(r.data)
		r.data = r.data[n:]
	}
	return int64(u>>1) ^ -int64(u&1)
}
