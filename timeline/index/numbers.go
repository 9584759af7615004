package index

import "math"

// numbers is a column that is being built. It stores most numbers in four bytes.
type numbers struct {
	narrow []uint32 // the numbers; tooWide stands for a number that does not fit
	wide   []uint64 // the numbers that do not fit, in the order of the column
}

const tooWide = math.MaxUint32

func (n *numbers) uint(x uint64) {
	if x >= tooWide {
		n.wide = append(n.wide, x)
		x = tooWide
	}
	n.narrow = append(n.narrow, uint32(x))
}

// int appends a number that may be negative.
func (n *numbers) int(x int64) { n.uint(zigzagEncode(x)) }

// read copies the numbers of the column to the beginning of to, which must be long enough.
func (n *numbers) read(to []uint64) {
	to = to[:len(n.narrow)]
	for i, x := range n.narrow {
		to[i] = uint64(x)
	}
	if len(n.wide) == 0 {
		return
	}
	next := 0
	for i, x := range n.narrow {
		if x == tooWide {
			to[i] = n.wide[next]
			next++
		}
	}
}

// reset removes all numbers. It keeps the memory.
func (n *numbers) reset() { n.narrow, n.wide = n.narrow[:0], n.wide[:0] }
