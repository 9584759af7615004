package trace

import (
	"math"
	"slices"
	"strings"
)

// BatchRows is the number of rows of a full batch. A batch has more rows if a decoder adds a larger
// piece of a file at once.
const BatchRows = 4096

// MixedLoc is the value of Loc in a batch whose rows may be of different locations. The column Locs
// of such a batch holds the location of each row.
const MixedLoc = ^uint32(0)

// Batch is a sequence of events in the order of time, stored as columns. Time, Kind and Ref have an
// element for each row. The columns of operands, attributes and derived rows are sparse: they consist
// of the values and of an ascending list of the numbers of the rows that have values.
//
// A batch belongs to the code that delivers it, and is valid until the call that delivers it returns.
// Texts in attributes may share the memory of a read buffer. [Batch.Clone] returns a copy that stays
// valid.
type Batch struct {
	Loc  uint32   // location of all rows, or MixedLoc
	Locs []uint32 // location of each row, if Loc is MixedLoc

	Time []int64
	Kind []Kind
	Ref  []uint32

	// OpRow[i] is the number of a row with operands, which are Op[OpEnd[i-1]:OpEnd[i]].
	OpRow []uint32
	OpEnd []uint32
	Op    []uint64

	// Attribute i belongs to row AttrRow[i]. AttrKey[i] is the index of its name in
	// Definitions.Attributes, and AttrVal[i] its value.
	AttrRow []uint32
	AttrKey []uint32
	AttrVal []Value

	// Pos is the position in the file of each row's record: a line number in text formats, a byte
	// offset in binary formats. It is nil if positions are unknown.
	Pos []int64
	// Order ranks rows of the same time. It is only set if the file defines an order that differs
	// from that of the positions, as in a trace that was converted from another format.
	Order []int64

	// Derived lists the rows that repeat information of another row of the same record, such as a
	// send that the decoder derives from a PICL entry. Encoders of the same format skip them, and
	// they do not count as records.
	Derived []uint32
}

// Len returns the number of rows.
func (b *Batch) Len() int { return len(b.Time) }

// Reset removes all rows and keeps the memory. Texts that the removed rows refer to stay in memory
// until further rows take their place.
func (b *Batch) Reset(loc uint32) {
	*b = Batch{Loc: loc, Locs: b.Locs[:0], Time: b.Time[:0], Kind: b.Kind[:0], Ref: b.Ref[:0],
		OpRow: b.OpRow[:0], OpEnd: b.OpEnd[:0], Op: b.Op[:0],
		AttrRow: b.AttrRow[:0], AttrKey: b.AttrKey[:0], AttrVal: b.AttrVal[:0], Derived: b.Derived[:0], Pos: b.Pos[:0],
		Order: b.Order[:0]}
}

// Add appends a row and returns its number. Operands and attributes of the row must be added before
// the next row.
func (b *Batch) Add(loc uint32, t int64, k Kind, ref uint32) uint32 {
	if b.Loc == MixedLoc {
		b.Locs = append(b.Locs, loc)
	}
	b.Time = append(b.Time, t)
	b.Kind = append(b.Kind, k)
	b.Ref = append(b.Ref, ref)
	return uint32(len(b.Time) - 1)
}

// AddOps sets the operands of the last row, in the order of [Kind.Spec]. An operand whose type the
// trace declares, such as a counter value, is stored as bits: an integer unchanged, and a
// floating-point number as [math.Float64bits] returns it.
func (b *Batch) AddOps(ops ...uint64) {
	b.OpRow = append(b.OpRow, uint32(len(b.Time)-1))
	b.Op = append(b.Op, ops...)
	b.OpEnd = append(b.OpEnd, uint32(len(b.Op)))
}

// AddAttr adds an attribute to the last row.
func (b *Batch) AddAttr(key uint32, v Value) {
	b.AttrRow = append(b.AttrRow, uint32(len(b.Time)-1))
	b.AttrKey = append(b.AttrKey, key)
	b.AttrVal = append(b.AttrVal, v)
}

// LastOps returns the operands of the last row, or nil if it has none. The slice belongs to the
// batch.
func (b *Batch) LastOps() []uint64 {
	k := len(b.OpRow) - 1
	if k < 0 || b.OpRow[k] != uint32(len(b.Time)-1) {
		return nil
	}
	return b.Op[b.opStart(k):b.OpEnd[k]]
}

// opStart returns the index in Op of the first operand of row OpRow[k].
func (b *Batch) opStart(k int) uint32 {
	if k == 0 {
		return 0
	}
	return b.OpEnd[k-1]
}

// SetLastOps replaces the operands of the last row.
func (b *Batch) SetLastOps(ops []uint64) {
	if k := len(b.OpRow) - 1; b.LastOps() != nil {
		b.Op, b.OpRow, b.OpEnd = b.Op[:b.opStart(k)], b.OpRow[:k], b.OpEnd[:k]
	}
	if len(ops) > 0 {
		b.AddOps(ops...)
	}
}

// EndLastOps makes the operands in Op from index start on the operands of the last row. Start must be the index of the
// row's first operand before the call, or the length of Op if the row had none.
func (b *Batch) EndLastOps(start int) {
	k := len(b.OpRow) - 1
	switch had := k >= 0 && b.OpRow[k] == uint32(len(b.Time)-1); {
	case had && start < len(b.Op):
		b.OpEnd[k] = uint32(len(b.Op))
	case had:
		b.OpRow, b.OpEnd = b.OpRow[:k], b.OpEnd[:k]
	case start < len(b.Op):
		b.OpRow, b.OpEnd = append(b.OpRow, uint32(len(b.Time)-1)), append(b.OpEnd, uint32(len(b.Op)))
	}
}

// DropLastAttrs removes all attributes of the last row.
func (b *Batch) DropLastAttrs() {
	for k := len(b.AttrRow) - 1; k >= 0 && b.AttrRow[k] == uint32(len(b.Time)-1); k-- {
		b.AttrRow, b.AttrKey, b.AttrVal = b.AttrRow[:k], b.AttrKey[:k], b.AttrVal[:k]
	}
}

// MarkDerived marks the last row as derived (see Derived).
func (b *Batch) MarkDerived() { b.Derived = append(b.Derived, uint32(len(b.Time)-1)) }

// DropLast removes the last row with its operands and attributes. It must be called before a Pos or
// an Order is added for the row.
func (b *Batch) DropLast() {
	n := len(b.Time) - 1
	row := uint32(n)
	if b.Loc == MixedLoc {
		b.Locs = b.Locs[:n]
	}
	b.Time, b.Kind, b.Ref = b.Time[:n], b.Kind[:n], b.Ref[:n]
	for k := len(b.OpRow) - 1; k >= 0 && b.OpRow[k] == row; k-- {
		b.OpRow, b.OpEnd, b.Op = b.OpRow[:k], b.OpEnd[:k], b.Op[:b.opStart(k)]
	}
	for k := len(b.AttrRow) - 1; k >= 0 && b.AttrRow[k] == row; k-- {
		b.AttrRow, b.AttrKey, b.AttrVal = b.AttrRow[:k], b.AttrKey[:k], b.AttrVal[:k]
	}
	if k := len(b.Derived) - 1; k >= 0 && b.Derived[k] == row {
		b.Derived = b.Derived[:k]
	}
}

// AppendRows copies the rows [from, to) of src to the end of b, with operands, attributes and positions. Both
// batches must have the same Loc. If only one of the batches has positions, rows of the other batch get
// position 0. The same applies to Order.
func (b *Batch) AppendRows(src *Batch, from, to int) {
	if from >= to {
		return
	}
	had := len(b.Time)
	shift := uint32(had) - uint32(from) // the subtraction may wrap around; the additions below then wrap back
	if b.Loc == MixedLoc {
		b.Locs = append(b.Locs, src.Locs[from:to]...)
	}
	b.Time = append(b.Time, src.Time[from:to]...)
	b.Kind = append(b.Kind, src.Kind[from:to]...)
	b.Ref = append(b.Ref, src.Ref[from:to]...)
	b.Pos, b.Order = appendColumn(b.Pos, had, src.Pos, from, to), appendColumn(b.Order, had, src.Order, from, to)
	lo, hi := rowRange(src.OpRow, from, to)
	if lo < hi {
		start := uint32(0)
		if lo > 0 {
			start = src.OpEnd[lo-1]
		}
		move := uint32(len(b.Op)) - start
		b.Op = append(b.Op, src.Op[start:src.OpEnd[hi-1]]...)
		for i := lo; i < hi; i++ {
			b.OpRow = append(b.OpRow, src.OpRow[i]+shift)
			b.OpEnd = append(b.OpEnd, src.OpEnd[i]+move)
		}
	}
	lo, hi = rowRange(src.AttrRow, from, to)
	for _, r := range src.AttrRow[lo:hi] {
		b.AttrRow = append(b.AttrRow, r+shift)
	}
	b.AttrKey = append(b.AttrKey, src.AttrKey[lo:hi]...)
	b.AttrVal = append(b.AttrVal, src.AttrVal[lo:hi]...)
	lo, hi = rowRange(src.Derived, from, to)
	for _, r := range src.Derived[lo:hi] {
		b.Derived = append(b.Derived, r+shift)
	}
}

// rowRange returns the range [lo, hi) of entries of a sparse column that belong to the rows [from,
// to).
func rowRange(rows []uint32, from, to int) (lo, hi int) {
	if from > 0 {
		lo, _ = slices.BinarySearch(rows, uint32(from))
	}
	hi, _ = slices.BinarySearch(rows[lo:], uint32(to))
	return lo, lo + hi
}

// Tail returns the rows of b from number n on as a batch of its own. It shares the columns of b and
// changes their row numbers: afterwards, only Reset may be called on b.
func (b *Batch) Tail(n int) Batch {
	t := *b
	if n == 0 {
		return t
	}
	if b.Loc == MixedLoc {
		t.Locs = b.Locs[n:]
	}
	t.Time, t.Kind, t.Ref = b.Time[n:], b.Kind[n:], b.Ref[n:]
	if len(b.Pos) > 0 {
		t.Pos = b.Pos[n:]
	}
	if len(b.Order) > 0 {
		t.Order = b.Order[n:]
	}
	cut := func(rows []uint32) int {
		lo, _ := slices.BinarySearch(rows, uint32(n))
		for i := lo; i < len(rows); i++ {
			rows[i] -= uint32(n)
		}
		return lo
	}
	if k := cut(b.OpRow); k > 0 {
		start := b.OpEnd[k-1]
		t.OpRow, t.OpEnd, t.Op = b.OpRow[k:], b.OpEnd[k:], b.Op[start:]
		for i := range t.OpEnd {
			t.OpEnd[i] -= start
		}
	}
	k := cut(b.AttrRow)
	t.AttrRow, t.AttrKey, t.AttrVal = b.AttrRow[k:], b.AttrKey[k:], b.AttrVal[k:]
	t.Derived = b.Derived[cut(b.Derived):]
	return t
}

// Location returns the location of a row.
func (b *Batch) Location(row int) uint32 {
	if b.Loc == MixedLoc {
		return b.Locs[row]
	}
	return b.Loc
}

// Clone returns a deep copy of the batch.
func (b *Batch) Clone() *Batch {
	c := &Batch{}
	c.Copy(b)
	return c
}

// Copy makes b a deep copy of src, and reuses the memory of b.
func (b *Batch) Copy(src *Batch) {
	b.Loc, b.Locs = src.Loc, append(b.Locs[:0], src.Locs...)
	b.Time, b.Kind, b.Ref = append(b.Time[:0], src.Time...), append(b.Kind[:0], src.Kind...), append(b.Ref[:0], src.Ref...)
	b.OpRow, b.OpEnd, b.Op = append(b.OpRow[:0], src.OpRow...), append(b.OpEnd[:0], src.OpEnd...),
		append(b.Op[:0], src.Op...)
	b.AttrRow, b.AttrKey, b.AttrVal = append(b.AttrRow[:0], src.AttrRow...), append(b.AttrKey[:0], src.AttrKey...),
		append(b.AttrVal[:0], src.AttrVal...)
	b.Derived, b.Pos, b.Order = append(b.Derived[:0], src.Derived...), append(b.Pos[:0], src.Pos...),
		append(b.Order[:0], src.Order...)
	for i := range b.AttrVal {
		if v := &b.AttrVal[i]; v.Str != "" {
			v.Str = strings.Clone(v.Str)
		}
	}
}

// AppendRow copies the current row of the cursor c to the end of b, with operands and attributes.
func (b *Batch) AppendRow(c *Cursor) {
	src := c.b
	b.Add(src.Location(c.Row), src.Time[c.Row], src.Kind[c.Row], src.Ref[c.Row])
	if ops := c.Ops(); ops != nil {
		b.AddOps(ops...)
	}
	lo, hi := c.attrs()
	for i := lo; i < hi; i++ {
		b.AddAttr(src.AttrKey[i], src.AttrVal[i])
	}
	if c.Derived() {
		b.MarkDerived()
	}
	had := len(b.Time) - 1
	b.Pos = appendColumn(b.Pos, had, src.Pos, c.Row, c.Row+1)
	b.Order = appendColumn(b.Order, had, src.Order, c.Row, c.Row+1)
}

// appendColumn appends the entries [from, to) of an optional column of another batch. had is the
// number of rows before. If only one of the columns exists, the missing entries become zeros.
func appendColumn[T any](column []T, had int, src []T, from, to int) []T {
	if len(src) == 0 && len(column) == 0 {
		return column
	}
	var zero T
	for len(column) < had {
		column = append(column, zero)
	}
	if len(src) > 0 {
		return append(column, src[from:to]...)
	}
	for range to - from {
		column = append(column, zero)
	}
	return column
}

// Cursor iterates over the rows of a batch. It finds the operands and attributes of each row
// without searching.
//
//	c := b.Cursor()
//	for c.Next() {
//		use(b.Time[c.Row], c.Ops())
//	}
//
// A cursor that is declared in the for statement is copied for each row.
type Cursor struct {
	Row int // number of the current row
	b   *Batch
	op  int // index of the first entry of OpRow that is at least Row
	at  int // index of the first entry of AttrRow that is at least Row
	der int
}

// Cursor returns a cursor before the first row.
func (b *Batch) Cursor() Cursor { return Cursor{Row: -1, b: b} }

// Next moves to the next row. It reports whether there is one.
func (c *Cursor) Next() bool {
	c.Row++
	r := uint32(c.Row)
	if c.op < len(c.b.OpRow) && c.b.OpRow[c.op] < r {
		c.op++
	}
	for c.at < len(c.b.AttrRow) && c.b.AttrRow[c.at] < r {
		c.at++
	}
	if c.der < len(c.b.Derived) && c.b.Derived[c.der] < r {
		c.der++
	}
	return c.Row < len(c.b.Time)
}

// Skip moves to a row, which must be the current one or one after it.
func (c *Cursor) Skip(row int) {
	c.Row = row
	r := uint32(row)
	for c.op < len(c.b.OpRow) && c.b.OpRow[c.op] < r {
		c.op++
	}
	for c.at < len(c.b.AttrRow) && c.b.AttrRow[c.at] < r {
		c.at++
	}
	for c.der < len(c.b.Derived) && c.b.Derived[c.der] < r {
		c.der++
	}
}

// End returns the time in ticks at which the current row ends: the end time of a fragment or of a range of
// samples, and the row's own time for all other kinds.
func (c *Cursor) End() int64 {
	t := c.b.Time[c.Row]
	if !c.b.Kind[c.Row].HasEndTime() || len(c.Ops()) == 0 {
		return t
	}
	return max(t, int64(c.Op(0)))
}

// End returns the latest end of a row (see [Cursor.End]), or math.MinInt64 if the batch is empty.
func (b *Batch) End() int64 {
	last := int64(math.MinInt64)
	for _, t := range b.Time {
		last = max(last, t)
	}
	for k, row := range b.OpRow {
		if b.Kind[row].HasEndTime() && b.OpEnd[k] > b.opStart(k) {
			last = max(last, int64(b.Op[b.opStart(k)]))
		}
	}
	return last
}

// Ops returns the operands of the current row, or nil if it has none. They belong to the batch.
func (c *Cursor) Ops() []uint64 {
	b := c.b
	if c.op >= len(b.OpRow) || b.OpRow[c.op] != uint32(c.Row) {
		return nil
	}
	lo := uint32(0)
	if c.op > 0 {
		lo = b.OpEnd[c.op-1]
	}
	return b.Op[lo:b.OpEnd[c.op]]
}

// Op returns operand i of the current row, or [Undefined] if the row does not have it.
func (c *Cursor) Op(i int) uint64 {
	if ops := c.Ops(); i < len(ops) {
		return ops[i]
	}
	return Undefined
}

func (c *Cursor) attrs() (int, int) {
	hi := c.at
	for hi < len(c.b.AttrRow) && c.b.AttrRow[hi] == uint32(c.Row) {
		hi++
	}
	return c.at, hi
}

// Attrs returns the attributes of the current row. keys are indexes into Definitions.Attributes.
func (c *Cursor) Attrs() (keys []uint32, values []Value) {
	lo, hi := c.attrs()
	return c.b.AttrKey[lo:hi], c.b.AttrVal[lo:hi]
}

// Derived reports whether the current row is derived (see Batch.Derived).
func (c *Cursor) Derived() bool {
	return c.der < len(c.b.Derived) && c.b.Derived[c.der] == uint32(c.Row)
}

// Location returns the current row's location.
func (c *Cursor) Location() uint32 { return c.b.Location(c.Row) }

// Time returns the current row's time in ticks.
func (c *Cursor) Time() int64 { return c.b.Time[c.Row] }

// Kind returns the current row's kind.
func (c *Cursor) Kind() Kind { return c.b.Kind[c.Row] }

// Ref returns the Ref of the current row. Its meaning depends on the kind; see [Kind.Spec].
func (c *Cursor) Ref() uint32 { return c.b.Ref[c.Row] }

// Pos returns the position of the current row's record, or 0 when it is unknown.
func (c *Cursor) Pos() int64 {
	if len(c.b.Pos) > c.Row {
		return c.b.Pos[c.Row]
	}
	return 0
}

// Order returns the rank of the current row among the rows of the same time. It is 0 if the batch
// has no ranks.
func (c *Cursor) Order() int64 {
	if len(c.b.Order) > c.Row {
		return c.b.Order[c.Row]
	}
	return 0
}

// EndKind is the kind of point at which a link ends.
type EndKind uint8

// The values of EndKind.
const (
	AtEvent      EndKind = iota // an event, identified by its id
	AtClaimStart                // the begin of a claim, identified by its id
	AtClaimEnd                  // the end of a claim, identified by its id
	AtLocation                  // a time at a location
)

// String returns the name of the kind of end in JSON.
func (e EndKind) String() string {
	return [...]string{"event", "claim-begin", "claim-end", "location"}[e&3]
}

// End is one end of a link.
type End struct {
	Kind     EndKind
	ID       int64  // id of the claim or event
	Location uint32 // NoRef if the trace has no claim or event with the id
	Time     int64
	// Pos is the position in the file of the claim or event, or 0 when it is unknown.
	Pos int64 `json:"-"`
}

// Link is a stored arrow between two points of a trace, such as a TRACE dependency. A link is not
// an event of a location. Scans deliver it after the events of both of its ends.
type Link struct {
	ID    int64
	Src   End
	Dst   End
	Attrs []Attr
	// Pos is the position of its record in the file, or 0 when it is unknown.
	Pos int64 `json:",omitempty"`
}
