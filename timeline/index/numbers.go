package index

import "math"

// numbers is a column that is being built. It stores most numbers in four bytes.
type numbers struct {
	narrow []uint32 // the numbers; tooWide in place of a number that does not fit
	wide   []uint64 // the numbers that do not fit, in the order of the column
}

const tooWide = math.MaxUint32

func (c *numbers) uint(x uint64) {
	if x >= tooWide {
		c.wide = append(c.wide, x)
		x = tooWide
	}
	c.narrow = append(c.narrow, uint32(x))
}

// int appends a number that may be negative.
func (c *numbers) int(x int64) { c.uint(zigzagEncode(x)) }

// read copies the numbers of the column to the beginning of to, which must be long enough.
func (c *numbers) read(to []uint64) {
	to = to[:len(c.narrow)]
	for i, x := range c.narrow {
		to[i] = uint64(x)
	}
	if len(c.wide) == 0 {
		return
	}
	next := 0
	for i, x := range c.narrow {
		if x == tooWide {
			to[i] = c.wide[next]
			next++
		}
	}
}

// reset removes all numbers and keeps the memory.
func (c *numbers) reset() { c.narrow, c.wide = c.narrow[:0], c.wide[:0] }
