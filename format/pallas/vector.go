package pallas

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-trace/weft/format/internal/archive"
)

// Block is a part of a vector whose values are stored together. Its fields summarise the values,
// so that many queries need not load them.
type Block struct {
	Count uint64
	// First and Last are the first and last value of a block of times, in the order of time.
	First, Last uint64
	// Min, Max and Mean are those of a block of durations; the mean is rounded down.
	Min, Max, Mean uint64
	// Offset is the position of the values in their file.
	Offset uint64
}

// Vector is a list of times or durations in nanoseconds, in the order of occurrence (in Pallas:
// LinkedVector and LinkedDurationVector).
type Vector struct {
	Size   uint64
	Blocks []Block
	// Min, Max and Mean are those of all durations; the mean is rounded down. They are 0 for
	// times.
	Min, Max, Mean uint64

	durations bool
	event     bool // it holds the times of an event
	from, n   int  // range of Blocks in the list of all blocks, while the thread is being read
}

// Total returns the sum of all durations as computed from the mean, which is rounded down.
func (v *Vector) Total() uint64 { return v.Mean * v.Size }

// layout describes the layout of a thread's file.
type layout struct {
	abi     uint8
	counted bool // vectors state their number of blocks
	wanted  threadPart
}

// threadPart is the part of a thread that is loaded.
type threadPart uint8

const (
	wholeThread threadPart = iota
	// without the blocks of sequences' vectors that have one block, which repeats the vector's own sums
	threadSums
	leanThread   // without blocks of sequences
	threadEvents // only events and the blocks of their times
)

// skipVector reads the size of a vector and moves past it. If the vector has a defect, skipVector
// reads nothing and returns false.
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

// vector reads a vector (docs/formats/pallas.md, "Vectors"). It appends the vector's blocks to all
// if they are wanted.
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
		said = s.u64() // 1 if the vector is empty
	}
	if v.Size == 0 || s.err != nil {
		return v
	}
	if said == 0 {
		s.fail(at+8, "1 at least", "no blocks")
		return v
	}
	n := -1
	if l.counted && said <= uint64(s.left()/size) {
		n = int(said)
	} else if l.counted && s.minor == nil { // the number of values determines the blocks too
		s.minor = archive.Damaged(s.path, int64(at)+8, fmt.Sprintf("%d blocks", said), "no more than the file has room for")
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
			s.fail(at, "at most what is left of its vector, and 1 at least", "a block of %d values", x.Count)
		}
		if s.err != nil {
			return v
		}
		left -= x.Count
		*all = append(*all, x)
		v.n++
	}
	if left > 0 {
		s.fail(at, "as many as its blocks have", "a vector of %d values", v.Size)
	}
	if l.abi <= 17 && durations {
		// Some writers of those versions stored the sum.
		v.Mean = repairMean(v.Mean, v.Min, v.Max, v.Size)
		for i := v.from; i < len(*all); i++ {
			x := &(*all)[i]
			x.Mean = repairMean(x.Mean, x.Min, x.Max, x.Count)
		}
	}
	return v
}

// appendBlocks reads all blocks of a vector. If their counts do not add up to the number of
// values, appendBlocks appends nothing and returns false; reading them one by one then finds the
// defect.
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

// repairMean returns mean, or mean ÷ n if mean must be the sum of the n values. A mean is less than
// max unless all values are equal.
func repairMean(mean, min, max, n uint64) uint64 {
	if mean > max || mean == max && min < max {
		return mean / n
	}
	return mean
}
