package messages

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/durations"
	"github.com/weft-trace/weft/trace"
)

// Size counts the messages with sizes from Least to Most bytes. Least and Most are equal unless the
// trace has more than 1024 different sizes. Then each Size covers the sizes from a power of 2 to just
// below the next power of 2.
type Size struct {
	Least uint64 `json:"least"`
	Most  uint64 `json:"most"`
	Count int64  `json:"count"`
	Bytes uint64 `json:"bytes"`
}

// maxSizes is the greatest number of different sizes that are counted separately.
const maxSizes = 1024

// sizes counts messages by their size in bytes. If powers is set, it counts them by the bit length of
// the size instead.
type sizes struct {
	exact  map[uint64]*cell
	powers *[65]cell
	last   uint64
	latest *cell // counts of the size that was looked up last in exact; nil if there is none
}

// add counts a message.
func (s *sizes) add(size uint64) {
	if s.latest != nil && s.last == size {
		s.latest.add(size)
		return
	}
	s.count(size, cell{1, size})
}

// count adds the messages counted by n, which all have the same size.
func (s *sizes) count(size uint64, n cell) {
	if s.powers != nil {
		s.powerCell(size).merge(n)
		return
	}
	if s.exact == nil {
		s.exact = map[uint64]*cell{}
	}
	x := s.exact[size]
	if x == nil {
		x = &cell{}
		s.exact[size] = x
	}
	x.merge(n)
	s.last, s.latest = size, x
	if len(s.exact) > maxSizes {
		s.switchToPowers()
	}
}

// powerCell returns the counts for the bit length of a size.
func (s *sizes) powerCell(size uint64) *cell { return &s.powers[bits.Len64(size)] }

// switchToPowers replaces the counts of exact sizes by counts of powers of 2.
func (s *sizes) switchToPowers() {
	s.powers = &[65]cell{}
	for size, n := range s.exact {
		s.powerCell(size).merge(*n)
	}
	s.exact, s.latest = nil, nil
}

func (s *sizes) merge(o *sizes) {
	if o.powers == nil {
		for size, n := range o.exact {
			s.count(size, *n)
		}
		return
	}
	if s.powers == nil {
		s.switchToPowers()
	}
	for i := range o.powers {
		s.powers[i].merge(o.powers[i])
	}
}

// merge adds the counts of another cell.
func (c *cell) merge(o cell) {
	c.count += o.count
	c.bytes = durations.SumBytes(c.bytes, o.bytes)
}

// list returns the counts in ascending order of size.
func (s *sizes) list() []Size {
	l := []Size{}
	for _, size := range slices.SortedFunc(maps.Keys(s.exact), cmp.Compare) {
		n := s.exact[size]
		l = append(l, Size{size, size, n.count, n.bytes})
	}
	for i := 0; s.powers != nil && i < len(s.powers); i++ {
		if n := s.powers[i]; n.count > 0 {
			low := uint64(1) << i >> 1
			if i == 64 {
				low = 1 << 63
			}
			l = append(l, Size{low, low + max(low, 1) - 1, n.count, n.bytes})
		}
	}
	return l
}

// GroupByPowerOfTwo returns the sizes of a result after joining all sizes between the same powers of 2.
func GroupByPowerOfTwo(l []Size) []Size {
	s := sizes{powers: &[65]cell{}}
	for _, x := range l {
		s.powerCell(x.Least).merge(cell{x.Count, x.Bytes})
	}
	return s.list()
}

// Bin counts the sends and receives in the part [From, To) of a window. Times are in ticks.
type Bin struct {
	From          int64  `json:"from"`
	To            int64  `json:"to"`
	Sent          int64  `json:"sent"` // messages
	SentBytes     uint64 `json:"sentBytes"`
	Received      int64  `json:"received"`
	ReceivedBytes uint64 `json:"receivedBytes"`
}

func (b *Bin) merge(o *Bin) {
	b.Sent += o.Sent
	b.SentBytes = durations.SumBytes(b.SentBytes, o.SentBytes)
	b.Received += o.Received
	b.ReceivedBytes = durations.SumBytes(b.ReceivedBytes, o.ReceivedBytes)
}

// newBins divides a window into n bins of equal length, or into fewer if some would be empty.
func newBins(w trace.Window, n int) []Bin {
	length := uint64(w.To) - uint64(w.From)
	if w.To <= w.From {
		return nil
	}
	if uint64(n) > length {
		n = int(length)
	}
	l := make([]Bin, n)
	for i := range l {
		l[i].From, l[i].To = w.From+binBorder(length, i, n), w.From+binBorder(length, i+1, n)
	}
	return l
}

// binBorder returns length·i/n, rounded down: the begin of bin i of n.
func binBorder(length uint64, i, n int) int64 {
	high, low := bits.Mul64(length, uint64(i))
	q, _ := bits.Div64(high, low, uint64(n))
	return int64(q)
}

// bin returns the bin that contains time t, or nil if none does.
func (p *Part) bin(t int64) *Bin {
	i, found := slices.BinarySearchFunc(p.bins, t, func(b Bin, t int64) int { return cmp.Compare(b.From, t) })
	if !found {
		i--
	}
	if i < 0 || t >= p.bins[i].To {
		return nil
	}
	return &p.bins[i]
}
