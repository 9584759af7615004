package history

import (
	"encoding/binary"
	"math"
	"sort"

	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/internal/chunks"
)

// pair is a pair of locations. The location with the lower index is a.
type pair struct{ a, b uint32 }

// meeting is a synchronisation of a pair of locations by a message. Times are in ticks.
type meeting struct {
	a, b int32 // numbers of the calls at pair.a and pair.b
	met  int64 // time at which both calls had begun and one of them had ended
	left int64 // time at which the first of the two locations left its call
}

// meetingsPerBlock is the number of meetings in a block.
const meetingsPerBlock = 32

// meetings holds the meetings of a pair of locations, in the order in which they were found.
type meetings struct {
	blocks []meetingBlock
	tail   []meeting // the meetings after the last block
	// unpacked holds the meetings of the block with the index inMemory. inMemory is -1 if there is none.
	unpacked []meeting
	inMemory int
}

// meetingBlock has meetingsPerBlock packed meetings.
type meetingBlock struct {
	packed chunks.Chunk
	// least is the least number of a call at pair.a in this and all later blocks.
	least int32
	// latest is the greatest time meeting.left in this and all earlier blocks.
	latest int64
}

// addMeeting adds a meeting of two calls.
func (h *History) addMeeting(a, b waitstate.Place, enterA, leaveA, enterB, leaveB int64) {
	if a.Location > b.Location {
		a, b = b, a
	}
	m := meeting{a: a.Number, b: b.Number}
	m.met = max(min(leaveA, leaveB), enterA, enterB)
	m.left = min(leaveA, leaveB, m.met)
	k := pair{a.Location, b.Location}
	x := h.meetings[k]
	if x == nil {
		x = &meetings{inMemory: -1}
		h.meetings[k] = x
	}
	x.tail = append(x.tail, m)
	if len(x.tail) == meetingsPerBlock {
		h.packMeetings(x)
	}
}

// packMeetings makes a block of the tail.
func (h *History) packMeetings(x *meetings) {
	b := make([]byte, 0, 8*meetingsPerBlock)
	block := meetingBlock{least: math.MaxInt32, latest: math.MinInt64}
	var last meeting
	for _, m := range x.tail {
		block.least, block.latest = min(block.least, m.a), max(block.latest, m.left)
		for _, v := range [...]int64{int64(m.a - last.a), int64(m.b - last.b), m.left - last.left, m.met - m.left} {
			b = binary.AppendVarint(b, v)
		}
		last = m
	}
	var err error
	if block.packed, _, err = h.chunks.Keep(b[:len(b):len(b)]); err != nil {
		h.fail(err)
	}
	if n := len(x.blocks); n > 0 {
		block.latest = max(block.latest, x.blocks[n-1].latest)
	}
	x.blocks, x.tail = append(x.blocks, block), x.tail[:0]
	for i := len(x.blocks) - 2; i >= 0 && x.blocks[i].least > block.least; i-- {
		x.blocks[i].least = block.least
	}
}

// meetingsIn returns the meetings of a block.
func (h *History) meetingsIn(x *meetings, block int) []meeting {
	if x.inMemory == block {
		return x.unpacked
	}
	x.inMemory, x.unpacked = block, x.unpacked[:0]
	b, err := h.chunks.Read(x.blocks[block].packed, &h.room)
	if err != nil {
		h.fail(err)
		return nil
	}
	number := func() int64 {
		v, n := binary.Varint(b)
		b = b[n:]
		return v
	}
	var m meeting
	for len(b) > 0 {
		m.a += int32(number())
		m.b += int32(number())
		m.left += number()
		m.met = m.left + number()
		x.unpacked = append(x.unpacked, m)
	}
	return x.unpacked
}

// Opening is the last synchronisation of two locations before a given call of each location.
type Opening struct {
	A, B int32 // number of the call of the synchronisation at each location; -1 without a synchronisation
	// Met is the time at which both calls had begun and one of them had ended, in ticks.
	Met  int64
	left int64 // time at which the first of the locations left its call
	// Created is set if one of the locations is a thread that the other one has created since then. The thread has no
	// call of the synchronisation.
	Created bool
}

// mostLooks limits the number of operations of two locations that Opening examines. Locations leave operations
// in different orders only if their clocks differ.
const mostLooks = 16

// Opening returns the last synchronisation of two locations before the calls a and b. It considers the
// messages between the two locations, and the operations in which one of them waits for the other. The last
// synchronisation is the one whose calls both locations left last. If there is none, it is the creation of one location
// by the other one.
func (h *History) Opening(a, b waitstate.Place) Opening {
	o := h.lastSynchronisation(a, b)
	if o.left > math.MinInt64 {
		return o
	}
	for _, x := range [...][2]waitstate.Place{{a, b}, {b, a}} {
		thread, creator := h.Locations[x[0].Location], h.Locations[x[0].Location].Creator
		if !thread.Created || creator.Location != x[1].Location || creator.Number >= x[1].Number {
			continue
		}
		c := h.Locations[creator.Location].Call(creator.Number)
		o.Created, o.Met = true, max(c.Enter, min(c.Leave, thread.First))
		if x[0] == a {
			o.B = creator.Number
		} else {
			o.A = creator.Number
		}
	}
	return o
}

// lastSynchronisation returns the last synchronisation of two locations before the calls a and b.
func (h *History) lastSynchronisation(a, b waitstate.Place) Opening {
	o := Opening{A: -1, B: -1, left: math.MinInt64}
	if a.Location < b.Location {
		h.setLastMeeting(&o, pair{a.Location, b.Location}, a.Number, b.Number)
	} else {
		h.setLastMeeting(&o, pair{b.Location, a.Location}, b.Number, a.Number)
		o.A, o.B = o.B, o.A
	}
	l := h.Locations[a.Location]
	looks := mostLooks
	n, _ := l.SpanOf(a.Number)
	for ; looks > 0 && n >= 0; n-- {
		page := &l.pages[n]
		if page.operations == 0 {
			if page.chunk.Since <= o.left {
				return o
			}
			continue
		}
		x := l.load(page.chunk.First)
		i := sort.Search(len(x.operations), func(i int) bool { return x.operations[i].call >= a.Number })
		for i--; i >= 0 && looks > 0; i-- {
			p := x.operations[i]
			c := &x.list[p.call-x.first]
			if c.Leave <= o.left {
				return o
			}
			op := h.Operation(p.operation)
			k, ok := op.Member(b.Location)
			if ok && op.Members[k].Number < b.Number && op.relates(a.Location, b.Location) {
				h.consider(&o, c, b.Location, p.call, op.Members[k].Number)
				looks--
			}
		}
		if page.chunk.Since <= o.left {
			return o
		}
	}
	return o
}

// setLastMeeting searches the meetings of a pair before the calls a and b for the one whose first side left it
// last. If that is later than the synchronisation in o, setLastMeeting sets o to it.
func (h *History) setLastMeeting(o *Opening, k pair, a, b int32) {
	x := h.meetings[k]
	if x == nil {
		return
	}
	search := func(list []meeting) {
		for i := len(list) - 1; i >= 0; i-- {
			m := &list[i]
			if m.a < a && m.b < b && (m.left > o.left || m.left == o.left && m.before(o)) {
				*o = Opening{A: m.a, B: m.b, Met: m.met, left: m.left}
			}
		}
	}
	search(x.tail)
	i := sort.Search(len(x.blocks), func(i int) bool { return x.blocks[i].least >= a })
	for i--; i >= 0 && x.blocks[i].latest > o.left; i-- {
		search(h.meetingsIn(x, i))
	}
}

// before compares a meeting with a synchronisation that the first of the locations left at the same time. It
// reports whether the meeting took place earlier. At equal times, it reports whether the meeting has the later
// call.
func (m *meeting) before(o *Opening) bool { return m.met < o.Met || m.met == o.Met && m.a > o.A }

// consider compares the synchronisation in call c, with number a, and in call b of location locB with the
// synchronisation in o. If the locations left its calls later, consider sets o to it.
func (h *History) consider(o *Opening, c *Call, locB uint32, a, b int32) {
	y := h.Locations[locB].Call(b)
	met := max(min(c.Leave, y.Leave), c.Enter, y.Enter)
	if left := min(c.Leave, y.Leave, met); left > o.left {
		*o = Opening{A: a, B: b, Met: met, left: left}
	}
}
