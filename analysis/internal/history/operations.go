package history

import (
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/internal/chunks"
	"github.com/weft-trace/weft/trace"
)

// Operation is an operation, such as a collective operation or a barrier, in which several
// locations take part.
type Operation struct {
	Relation waitstate.Relation
	Root     uint32 // location of the root; trace.NoRef if there is none
	// Members holds the calls that complete the operation, ordered by location.
	Members []waitstate.Place
	// Arrivals holds the calls that begin the operation, in the order of Members. In a blocking operation,
	// these calls are equal to Members, and Arrivals is nil.
	Arrivals []waitstate.Place
	// Free reports for each member whether it waits for no other member. If Free is nil, all members wait in
	// the way that Relation states.
	Free []bool
	// Ranks holds the ranks of the members. It is set only if Relation is RanksWait.
	Ranks []int32
	// Last is the call with which the last member arrives. LastEnter is the begin of that call in ticks.
	Last      waitstate.Place
	LastEnter int64
}

// operations holds packed operations, which are numbered from 0.
type operations struct {
	blocks []operationBlock
	tail   []byte // packed operations after the last block
	first  int32  // number of the first operation in tail
	count  int32
	// memory holds the operations of some blocks. The block with index i is in element i % cachedBlocks.
	memory [cachedBlocks]struct {
		block int // 1 + the index of the block, or 0
		list  []Operation
	}
}

// operationBlock holds consecutive packed operations.
type operationBlock struct {
	packed chunks.Chunk
	first  int32 // number of the first operation in the block
}

// Limits of operations.
const (
	cachedBlocks       = 16
	operationBlockSize = 4 << 10 // in bytes
)

// Flags of packed operations.
const (
	hasArrivals = 1 << iota
	hasFree
	hasRanks
)

// addOperation adds an operation, and returns its number.
func (h *History) addOperation(o *Operation) int32 {
	x := &h.operations
	flags := byte(0)
	for i, set := range [...]bool{o.Arrivals != nil, o.Free != nil, o.Ranks != nil} {
		if set {
			flags |= 1 << i
		}
	}
	b := append(x.tail, byte(o.Relation), flags)
	b = binary.AppendUvarint(b, uint64(o.Root+1)) // turns trace.NoRef into 0
	b = binary.AppendUvarint(b, uint64(len(o.Members)))
	b = binary.AppendUvarint(b, uint64(o.Last.Location))
	b = binary.AppendUvarint(b, uint64(o.Last.Number))
	b = binary.AppendVarint(b, o.LastEnter)
	var last waitstate.Place
	for i, m := range o.Members {
		b = binary.AppendVarint(b, int64(m.Location)-int64(last.Location))
		b = binary.AppendVarint(b, int64(m.Number)-int64(last.Number))
		last = m
		if o.Arrivals != nil {
			b = binary.AppendVarint(b, int64(m.Number)-int64(o.Arrivals[i].Number))
		}
		if o.Free != nil {
			free := byte(0)
			if o.Free[i] {
				free = 1
			}
			b = append(b, free)
		}
		if o.Ranks != nil {
			b = binary.AppendVarint(b, int64(o.Ranks[i]))
		}
	}
	x.tail = b
	x.count++
	if len(x.tail) >= operationBlockSize {
		h.packOperations()
	}
	return x.count - 1
}

// packOperations makes a block of the tail.
func (h *History) packOperations() {
	x := &h.operations
	if len(x.tail) == 0 {
		return
	}
	c, _, err := h.chunks.Keep(slices.Clone(x.tail))
	if err != nil {
		h.fail(err)
	}
	x.blocks = append(x.blocks, operationBlock{c, x.first})
	x.first, x.tail = x.count, x.tail[:0]
}

// Operation returns operation number i. The caller must not change it.
func (h *History) Operation(i int32) *Operation {
	x := &h.operations
	block := sort.Search(len(x.blocks), func(k int) bool { return x.blocks[k].first > i }) - 1
	m := &x.memory[block%cachedBlocks]
	if m.block != block+1 {
		m.block, m.list = block+1, h.unpackOperations(block)
	}
	if k := int(i - x.blocks[block].first); k < len(m.list) {
		return &m.list[k]
	}
	return &Operation{Relation: waitstate.Independent, Root: trace.NoRef} // for a block that cannot be read
}

// unpackOperations returns the operations of a block.
func (h *History) unpackOperations(block int) (list []Operation) {
	b, err := h.chunks.Read(h.operations.blocks[block].packed, &h.room)
	if err != nil {
		h.fail(err)
		return nil
	}
	unsigned := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return v
	}
	number := func() int64 {
		v, n := binary.Varint(b)
		b = b[n:]
		return v
	}
	for len(b) > 0 {
		o := Operation{Relation: waitstate.Relation(b[0])}
		flags := b[1]
		b = b[2:]
		o.Root = uint32(unsigned()) - 1
		n := int(unsigned())
		o.Last = waitstate.Place{Location: uint32(unsigned()), Number: int32(unsigned())}
		o.LastEnter = number()
		o.Members = make([]waitstate.Place, n)
		if flags&hasArrivals != 0 {
			o.Arrivals = make([]waitstate.Place, n)
		}
		if flags&hasFree != 0 {
			o.Free = make([]bool, n)
		}
		if flags&hasRanks != 0 {
			o.Ranks = make([]int32, n)
		}
		var last waitstate.Place
		for i := range n {
			last.Location = uint32(int64(last.Location) + number())
			last.Number = int32(int64(last.Number) + number())
			o.Members[i] = last
			if o.Arrivals != nil {
				o.Arrivals[i] = waitstate.Place{Location: last.Location, Number: int32(int64(last.Number) - number())}
			}
			if o.Free != nil {
				o.Free[i] = b[0] != 0
				b = b[1:]
			}
			if o.Ranks != nil {
				o.Ranks[i] = int32(min(max(number(), math.MinInt32), math.MaxInt32))
			}
		}
		list = append(list, o)
	}
	return list
}

// Member returns the index of a location in Members. ok is false if the location is not a member.
func (o *Operation) Member(loc uint32) (i int, ok bool) {
	return slices.BinarySearchFunc(o.Members, loc, func(p waitstate.Place, loc uint32) int {
		return int(p.Location) - int(loc)
	})
}

// Waits reports whether the member at a location waits for other members.
func (o *Operation) Waits(loc uint32) bool {
	if o.Free == nil {
		return true
	}
	i, ok := o.Member(loc)
	return ok && !o.Free[i]
}

// relates reports whether one of two members waits for the other.
func (o *Operation) relates(a, b uint32) bool {
	switch o.Relation {
	case waitstate.RootSends, waitstate.RootWaits:
		return (o.Root == a || o.Root == b) && (o.Waits(a) || o.Waits(b))
	}
	return o.Waits(a) || o.Waits(b)
}

// EachCause calls f with the calls with which the members for which the member at a location waits begin their parts.
// One of them can be its own.
func (o *Operation) EachCause(loc uint32, f func(arrival waitstate.Place)) {
	if !o.Waits(loc) {
		return
	}
	arrival := func(k int) waitstate.Place {
		if o.Arrivals == nil {
			return o.Members[k]
		}
		return o.Arrivals[k]
	}
	switch o.Relation {
	case waitstate.AllWait, waitstate.RootWaits:
		for k := range o.Members {
			f(arrival(k))
		}
	case waitstate.RootSends:
		if k, ok := o.Member(o.Root); ok {
			f(arrival(k))
		}
	case waitstate.RanksWait:
		own, _ := o.Member(loc)
		for k := range o.Members {
			if o.Ranks[k] <= o.Ranks[own] {
				f(arrival(k))
			}
		}
	}
}

// LacksMembers reports whether a communicator with collective operations has members without any of them, as after
// weft filter --location. Waits for these members count as communication.
func (h *History) LacksMembers() bool {
	d := h.Log.Defs
	ranks := d.RankLocations()
	callers := map[uint64]map[uint32]bool{} // locations by communicator
	h.Log.Sequences(func(k synclog.Sequence, loc uint32, _ int64) {
		if k.Windows || d.IsSelf(k.Communicator) {
			return
		}
		if int64(loc) < int64(len(ranks)) {
			loc = ranks[loc]
		}
		if callers[k.Communicator] == nil {
			callers[k.Communicator] = map[uint32]bool{}
		}
		callers[k.Communicator][loc] = true
	})
	for c, list := range callers {
		if n, known := d.MemberCount(uint32(min(c, uint64(trace.NoRef)))); known && 1 < len(list) && len(list) < n {
			return true // waits are unknown if there is only one member
		}
	}
	return false
}
