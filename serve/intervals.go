package serve

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
)

// interval is an interval of time on a track: a wait, or a piece of the critical path.
type interval struct {
	track    int
	from, to int64 // begin and end in ticks since the first event of the trace
	// cause is the track for which a wait waits, or -1. begun is the time at which that track begins the call
	// that ends the wait. For pieces of a path, both fields are unset.
	cause int
	begun int64
}

// intervalBytes is the size of an interval in a stored answer, in bytes. maxIntervals is the largest number of
// intervals in a stored answer.
const (
	intervalBytes = 32
	maxIntervals  = 500_000
)

// storedIntervals encodes a stored answer: the length of the JSON of head, the JSON itself, and the intervals.
func storedIntervals(head any, list []interval) ([]byte, error) {
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	b = append(b, text...)
	for _, x := range list {
		b = binary.LittleEndian.AppendUint32(b, uint32(x.track))
		b = binary.LittleEndian.AppendUint64(b, uint64(x.from))
		b = binary.LittleEndian.AppendUint64(b, uint64(x.to))
		b = binary.LittleEndian.AppendUint32(b, uint32(x.cause))
		b = binary.LittleEndian.AppendUint64(b, uint64(x.begun))
	}
	return b, nil
}

// storedHead answers with the head of a stored answer, without the data that follow it.
func storedHead(stored []byte, _ *params) (any, error) { return headOf(stored), nil }

// headOf returns the JSON of the head of a stored answer.
func headOf(stored []byte) json.RawMessage {
	n := binary.LittleEndian.Uint64(stored)
	return json.RawMessage(stored[8 : 8+n])
}

// eachInterval calls f with the intervals of a stored answer.
func eachInterval(stored []byte, f func(interval)) {
	stored = stored[8+binary.LittleEndian.Uint64(stored):]
	for b := stored; len(b) >= intervalBytes; b = b[intervalBytes:] {
		f(interval{int(binary.LittleEndian.Uint32(b)), int64(binary.LittleEndian.Uint64(b[4:])),
			int64(binary.LittleEndian.Uint64(b[12:])), int(int32(binary.LittleEndian.Uint32(b[20:]))),
			int64(binary.LittleEndian.Uint64(b[24:]))})
	}
}

// columns divides a window into width columns of equal length.
type columns struct {
	from, to int64
	width    int
}

// columnOf returns the number of the column that contains the time t of the window.
func (c columns) columnOf(t int64) int {
	high, low := bits.Mul64(uint64(t)-uint64(c.from), uint64(c.width))
	n, _ := bits.Div64(high, low, uint64(c.to)-uint64(c.from))
	return int(n)
}

// startOf returns the time at which a column begins.
func (c columns) startOf(n int) int64 {
	high, low := bits.Mul64(uint64(n), uint64(c.to)-uint64(c.from))
	t, _ := bits.Div64(high, low, uint64(c.width))
	return c.from + int64(t)
}

// thinPath removes pieces of a path if a picture cannot show all of them. In each column, it keeps the first
// and the last piece, and the pieces on the lowest and on the highest track. The pieces are in the order of
// time.
func thinPath(list []interval, c columns) []interval {
	out := list[:0]
	for i := 0; i < len(list); {
		column := -1
		inside := func(x interval) bool {
			return x.from >= c.from && x.from < c.to && x.to <= c.to && c.columnOf(x.from) == c.columnOf(max(x.from, x.to-1))
		}
		n := i
		for n < len(list) && inside(list[n]) && (column < 0 || c.columnOf(list[n].from) == column) {
			column = c.columnOf(list[n].from)
			n++
		}
		if n-i <= 4 {
			n = max(n, i+1)
			out = append(out, list[i:n]...)
			i = n
			continue
		}
		least, most := i, i
		for k := i; k < n; k++ {
			if list[k].track < list[least].track {
				least = k
			}
			if list[k].track > list[most].track {
				most = k
			}
		}
		for k := i; k < n; k++ {
			if k == i || k == n-1 || k == least || k == most {
				out = append(out, list[k])
			}
		}
		i = n
	}
	return out
}
