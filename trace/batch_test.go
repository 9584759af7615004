package trace

import (
	"math"
	"reflect"
	"slices"
	"testing"
)

// TestCursor checks that a cursor finds the operands and attributes of each row, and that AppendRow
// and Clone copy them.
func TestCursor(t *testing.T) {
	b := &Batch{Loc: MixedLoc}
	for i := range int64(6) {
		b.Add(uint32(i%2), i*10, Enter, uint32(i))
		if i%2 == 0 {
			b.AddOps(uint64(i), uint64(i+1))
		}
		if i%3 == 0 {
			b.AddAttr(7, IntValue(i))
			b.AddAttr(8, StringValue("x"))
		}
		if i == 4 {
			b.MarkDerived()
		}
		b.Pos = append(b.Pos, 100+i)
	}
	check := func(b *Batch) {
		n := int64(0)
		for c := b.Cursor(); c.Next(); n++ {
			keys, vals := c.Attrs()
			if c.Time() != n*10 || c.Location() != uint32(n%2) || c.Ref() != uint32(n) || c.Derived() != (n == 4) ||
				c.Pos() != 100+n ||
				(len(c.Ops()) == 2) != (n%2 == 0) || n%2 == 0 && c.Op(1) != uint64(n+1) || c.Op(5) != Undefined ||
				(len(keys) == 2) != (n%3 == 0) || n%3 == 0 && (keys[1] != 8 || vals[0].Int() != n) {
				t.Errorf("row %d: %d %v %v %v", n, c.Time(), c.Ops(), keys, vals)
			}
		}
		if n != 6 {
			t.Errorf("%d rows", n)
		}
	}
	check(b)
	check(b.Clone())
	o := &Batch{Loc: MixedLoc}
	c := b.Cursor()
	for c.Next() {
		o.AppendRow(&c)
	}
	check(o)
	// Copy the same rows with AppendRows in two pieces, for each row at which the second piece can begin.
	for at := range 7 {
		o := &Batch{Loc: MixedLoc}
		o.AppendRows(b, 0, at)
		o.AppendRows(b, at, 6)
		check(o)
		head := &Batch{Loc: MixedLoc}
		head.AppendRows(o, 0, at)
		tail := o.Tail(at)
		head.AppendRows(&tail, 0, 6-at)
		check(head)
	}
}

func TestValueText(t *testing.T) {
	for _, v := range []Value{StringValue("a b"), IntValue(-5), FloatValue(0.1), FloatValue(math.Inf(1)),
		{Type: Float32, Num: 0x3dcccccd},
		{Type: Bytes, Str: "\x00\xff"}, {Type: Bool, Num: 1}, {Type: Uint64, Num: math.MaxUint64}, {Type: Char, Num: 200},
		{Type: MetricRef, Num: 9}, {}} {
		if got, err := ParseValue(v.Type, v.String()); err != nil || got != v {
			t.Errorf("%+v as %q reads back as %+v, %v", v, v.String(), got, err)
		}
		b, err := v.MarshalJSON()
		var got Value
		if err == nil {
			err = got.UnmarshalJSON(b)
		}
		if err != nil || got != v {
			t.Errorf("%+v as %s reads back as %+v, %v", v, b, got, err)
		}
	}
	for i := range Type(typeCount) {
		if got, ok := ParseType(i.String()); !ok || got != i {
			t.Errorf("type %d: %s", i, i)
		}
	}
	if got := ToUTF8("caf\xe9 é"); got != "café é" {
		t.Errorf("Latin-1: %q", got)
	}
}

// TestKindTable checks that names of kinds and operands are unique and are valid JSON field names.
func TestKindTable(t *testing.T) {
	names := map[string]bool{}
	for i := range kindTable {
		k := &kindTable[i]
		if k.Name == "" || k.Doc == "" || names[k.Name] {
			t.Errorf("kind %d: name %q, doc %q", i, k.Name, k.Doc)
		}
		names[k.Name] = true
		ops := map[string]bool{"time": true, "location": true, "kind": true, "region": true, "attributes": true,
			"derived": true}
		for _, o := range k.Operands {
			if ops[o.Name] || o.Name == k.Ref.String() {
				t.Errorf("kind %s: operand %q collides", k.Name, o.Name)
			}
			ops[o.Name] = true
		}
		if got, ok := KindByName(k.Name); !ok || int(got) != i {
			t.Errorf("kind %s is not found by its name", k.Name)
		}
	}
}

func TestDropLast(t *testing.T) {
	for _, loc := range []uint32{2, MixedLoc} {
		var want, got Batch
		for _, b := range []*Batch{&want, &got} {
			b.Reset(loc)
			b.Add(1, 10, Send, NoRef)
			b.AddOps(1, 2, 3)
			b.AddAttr(4, IntValue(5))
			b.MarkDerived()
		}
		got.Add(1, 11, Recv, 6)
		got.AddOps(7)
		got.AddAttr(8, IntValue(9))
		got.AddAttr(8, IntValue(9))
		got.MarkDerived()
		got.DropLast()
		if !reflect.DeepEqual(want.Clone(), got.Clone()) {
			t.Errorf("found %+v, expected %+v", got, want)
		}
	}
}

// TestAppendWithAndWithoutPositions appends rows with positions before, between and after rows
// without positions. The positions must stay with their rows.
func TestAppendWithAndWithoutPositions(t *testing.T) {
	with, without := &Batch{}, &Batch{}
	for i := range 3 {
		with.Add(0, int64(i), Enter, 0)
		with.Pos = append(with.Pos, int64(10+i))
		without.Add(0, int64(i), Enter, 0)
	}
	all := &Batch{}
	all.AppendRows(without, 0, 2)
	all.AppendRows(with, 1, 3)
	for _, b := range []*Batch{without, with} {
		c := b.Cursor()
		c.Next()
		all.AppendRow(&c)
	}
	if want := []int64{0, 0, 11, 12, 0, 10}; !slices.Equal(all.Pos, want) || all.Len() != len(want) {
		t.Errorf("found the positions %d, expected %d", all.Pos, want)
	}
}
