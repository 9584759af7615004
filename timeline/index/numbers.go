package index

import "math"

// numbers is a column that is being built. Most numbers in it need four bytes.
type numbers struct {
	narrow []uint32 // tooWide for a number that does not fit
	wide   []uint64 // the numbers that do not fit, in order
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

// read copies the column to the beginning of to.
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

// reset empties the column.
func (c *numbers) reset() { c.narrow, c.wide = c.narrow[:0], c.wide[:0] }
