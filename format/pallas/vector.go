package pallas

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-trace/weft/format/internal/archive"
)

// Block is a part of a vector whose values are stored together. What it says of them
// needs no look at the values.
type Block struct {
	Count uint64
	// First and Last are its first and last value, in the order of time, in vectors
	// of times.
	First, Last uint64
	// Min, Max and Mean are those of durations; the mean is rounded down.
	Min, Max, Mean uint64
	// Offset is where its values stand in their file.
	Offset uint64
}

// Vector is a list of times or durations in nanoseconds, in the order in which they
// occurred (in Pallas: LinkedVector and LinkedDurationVector).
type Vector struct {
	Size   uint64
	Blocks []Block
	// Min, Max and Mean are those of all durations; the mean is rounded down. They are
	// 0 for times.
	Min, Max, Mean uint64

	durations bool
	event     bool // it is an event's
	from, n   int  // of Blocks among all of the thread, while that is read
}

// Total is the sum of all durations, as far as the mean tells.
func (v *Vector) Total() uint64 { return v.Mean * v.Size }

// layout is how a thread's file is written.
type layout struct {
	abi     uint8
	counted bool // vectors say how many blocks they have
	wanted  threadPart
}

// threadPart is how much of a thread is loaded.
type threadPart uint8

const (
	wholeThread  threadPart = iota
	threadSums              // without those blocks of sequences whose sums are all that their vector has
	leanThread              // without blocks of sequences
	threadEvents            // events and the blocks of their times alone
)

// skipVector reads how many values a vector has, and goes behind it; ok is false, and
// nothing has been read, if anything is wrong with it.
func (s *source) skipVector(durations bool) (size uint64, ok bool) {
	each, head := 32, 16
	if durations {
		each = 40
	}
	b := s.peek(head)
	if b == nil {
		return 0, false
	}
	size = binary.LittleEndian.Uint64(b)
	n := binary.LittleEndian.Uint64(b[8:])
	if size == 0 {
		s.at += head
		return 0, true
	}
	if durations {
		head += 24
	}
	if n > uint64(s.left()/each) {
		return 0, false
	}
	end := head + int(n)*each
	if b = s.peek(end); b == nil {
		return 0, false
	}
	left := size
	for at := head; at < end; at += each {
		count := binary.LittleEndian.Uint64(b[at:])
		if count > left {
			return 0, false
		}
		left -= count
	}
	if left > 0 {
		return 0, false
	}
	s.at += end
	return size, true
}

// vector reads one (docs/formats/pallas.md, "Vectors"); its blocks are appended to
// all, where they are wanted.
func (s *source) vector(l layout, event, durations bool, all *[]Block) (v Vector) {
	if v = s.wholeVector(l, event, durations, all); l.wanted == threadSums && !event && v.n == 1 {
		*all, v.n = (*all)[:v.from], 0
	}
	return v
}

func (s *source) wholeVector(l layout, event, durations bool, all *[]Block) (v Vector) {
	at := s.at
	v.durations, v.from = durations, len(*all)
	if l.wanted >= leanThread && l.counted && s.err == nil && !event {
		if n, ok := s.skipVector(durations); ok {
			v.Size = n
			return v
		}
	}
	v.Size = s.u64()
	size := 32
	if durations {
		size = 40
	}
	said := uint64(1)
	if l.counted {
		said = s.u64() // with no values it is 1
	}
	if v.Size == 0 || s.err != nil {
		return v
	}
	if said == 0 {
		s.bad(at+8, "1 at least", "no blocks")
		return v
	}
	n := -1
	if l.counted && said <= uint64(s.left()/size) {
		n = int(said)
	} else if l.counted && s.odd == nil { // the number of values tells all the same
		s.odd = archive.Damaged(s.path, int64(at)+8, fmt.Sprintf("%d blocks", said), "no more than the file has room for")
	}
	if durations {
		v.Min, v.Max, v.Mean = s.u64(), s.u64(), s.u64()
	}
	left := v.Size
	if n > 0 && n <= s.left()/size && l.abi > 17 && appendBlocks(all, s.peek(n*size), durations, left) {
		v.n = n
		s.at += n * size
		return v
	}
	for i := 0; n < 0 && left > 0 || i < n; i++ {
		at := s.at
		x := Block{Count: s.u64()}
		if durations {
			x.Min, x.Max, x.Mean = s.u64(), s.u64(), s.u64()
		} else {
			x.First, x.Last = s.u64(), s.u64()
		}
		x.Offset = s.u64()
		if s.err == nil && (x.Count > left || x.Count == 0 && n < 0) {
			s.bad(at, "at most what is left of its vector, and 1 at least", "a block of %d values", x.Count)
		}
		if s.err != nil {
			return v
		}
		left -= x.Count
		*all = append(*all, x)
		v.n++
	}
	if left > 0 {
		s.bad(at, "as many as its blocks have", "a vector of %d values", v.Size)
	}
	if l.abi <= 17 && durations {
		// Some of its writers stored the sum.
		v.Mean = repaired(v.Mean, v.Min, v.Max, v.Size)
		for i := v.from; i < len(*all); i++ {
			x := &(*all)[i]
			x.Mean = repaired(x.Mean, x.Min, x.Max, x.Count)
		}
	}
	return v
}

// appendBlocks reads the blocks of a vector at once; ok is false, and nothing is
// appended, if they do not have as many values as it: what is wrong is found one by one
// then.
func appendBlocks(all *[]Block, b []byte, durations bool, values uint64) (ok bool) {
	l, left := *all, values
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	for len(b) > 0 {
		x := Block{Count: word(0)}
		if left < x.Count {
			return false
		}
		left -= x.Count
		if durations {
			x.Min, x.Max, x.Mean, x.Offset = word(8), word(16), word(24), word(32)
			b = b[40:]
		} else {
			x.First, x.Last, x.Offset = word(8), word(16), word(24)
			b = b[32:]
		}
		l = append(l, x)
	}
	if left > 0 {
		return false
	}
	*all = l
	return true
}

// repaired is a mean that may be the sum: a mean is less than the maximum if any value is.
func repaired(mean, min, max, n uint64) uint64 {
	if mean > max || mean == max && min < max {
		return mean / n
	}
	return mean
}
