package pallas

import (
	"encoding/binary"

	"github.com/weft-trace/weft/internal/plural"
)

// Block is a part of a vector whose values are stored together. Its fields summarise the values, so
// that many queries need not load them.
type Block struct {
	Count uint64
	// First and Last are the first and the last value of a block of times.
	First, Last uint64
	// Min, Max and Mean summarise a block of durations. The mean is rounded down.
	Min, Max, Mean uint64
	// Offset is the position in bytes of the stored values in their file.
	Offset uint64
}

// Vector is a list of times or durations in nanoseconds, in the order of occurrence (in Pallas:
// LinkedVector and LinkedDurationVector).
type Vector struct {
	Size   uint64
	Blocks []Block
	// Min, Max and Mean summarise all durations. The mean is rounded down. They are 0 for a vector of times.
	Min, Max, Mean uint64

	durations bool
	event     bool // the values are the times of an event
	// position and number of the vector's blocks in the list of all blocks, while the thread is being read
	from, n int
}

// Total returns the sum of all durations, computed from the mean. The mean is rounded down, so the sum
// may be too small.
func (v *Vector) Total() uint64 { return v.Mean * v.Size }

// layout describes the layout of a thread's file.
type layout struct {
	abi     uint8
	counted bool // vectors state the number of their blocks
	wanted  threadPart
}

// threadPart states how much of a thread to load.
type threadPart uint8

const (
	wholeThread threadPart = iota
	// everything except the blocks of one-block vectors of sequences, because such a block repeats the sums of
	// its vector
	threadSums
	leanThread   // all data except the blocks of sequences
	threadEvents // only the events and the blocks of their times
)

// skipVector reads the size of a vector and moves past the vector. If the vector has a defect, it reads
// nothing and returns false.
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
	stated := uint64(1)
	if l.counted {
		stated = s.u64() // files may state 1 block for an empty vector
	}
	if v.Size == 0 || s.err != nil {
		return v
	}
	if stated == 0 {
		s.fail(at+8, "at least 1", "no blocks")
		return v
	}
	n := -1
	if l.counted && stated <= uint64(s.left()/size) {
		n = int(stated)
	} else if l.counted { // the number of values also determines the blocks
		s.note(at+8, "no more than the file has room for", plural.Of(stated, "block"))
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
	// certain is set if the numbers of values do not determine where the vector ends.
	certain := n > 0 && l.abi > 17
	if certain {
		if blocks := s.blocksOf(v.Size, size); blocks > 0 {
			s.note(at+8, plural.Of(blocks, "block")+", because these have all values of the vector",
				plural.Of(stated, "block"))
			n, certain = blocks, false
		}
	}
	total := uint64(0)
	for i := 0; n < 0 && left > 0 || i < n; i++ {
		at := s.at
		x := Block{Count: s.u64()}
		if durations {
			x.Min, x.Max, x.Mean = s.u64(), s.u64(), s.u64()
		} else {
			x.First, x.Last = s.u64(), s.u64()
		}
		x.Offset = s.u64()
		empty := x.Count == 0 && (n < 0 || certain && i == n-1 && left > 0)
		if s.err == nil && (x.Count > left || empty) {
			s.mismatch(certain, at, "1 to the number of values left in its vector", "a block of "+plural.Of(x.Count, "value"))
		}
		if s.err != nil {
			return v
		}
		if certain && (x.Count > maxBlock || empty) {
			x.Count = min(left, maxBlock)
		}
		total += x.Count
		left -= min(x.Count, left)
		*all = append(*all, x)
		v.n++
	}
	if left > 0 {
		s.mismatch(certain, at, "as many as its blocks have", "a vector of "+plural.Of(v.Size, "value"))
	}
	if certain {
		v.Size = total
	}
	if l.abi <= 17 && durations {
		// Some writers of these versions stored the sum in place of the mean.
		v.Mean = repairMean(v.Mean, v.Min, v.Max, v.Size)
		for i := v.from; i < len(*all); i++ {
			x := &(*all)[i]
			x.Mean = repairMean(x.Mean, x.Min, x.Max, x.Count)
		}
	}
	return v
}

// mismatch stores a defect of the numbers of values of a vector. It ends reading unless the end of the vector is
// certain.
func (s *source) mismatch(certain bool, at int, expected, found string) {
	if certain {
		s.note(at, expected, found)
	} else {
		s.fail(at, expected, "%s", found)
	}
}

// blocksOf returns the number of the following blocks of a size in bytes whose values add up to a number of values,
// or 0.
func (s *source) blocksOf(values uint64, size int) (blocks int) {
	for values > 0 && blocks < s.left()/size {
		b := s.peek((blocks + 1) * size)
		count := binary.LittleEndian.Uint64(b[blocks*size:])
		if count == 0 || count > values {
			return 0
		}
		values -= count
		blocks++
	}
	if values > 0 {
		return 0
	}
	return blocks
}

// appendBlocks reads all blocks of a vector. If the numbers of values in the blocks do not add up to the
// number of values, it appends nothing and returns false. The caller then reads the blocks one by one to find
// the defect.
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

// repairMean returns mean, or mean ÷ n if mean must be the sum of n values. It recognises a sum by its size:
// the mean of values is at most max, and equals max only if all values are equal.
func repairMean(mean, min, max, n uint64) uint64 {
	if mean > max || mean == max && min < max {
		return mean / n
	}
	return mean
}
