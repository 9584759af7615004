package carrier

import (
	"encoding/base64"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/flate"

	"github.com/weft-trace/weft/trace"
)

// TestLinks checks that links are the same after packing and unpacking.
func TestLinks(t *testing.T) {
	links := []trace.Link{{ID: 7, Src: trace.End{Time: 3}},
		{ID: 8, Dst: trace.End{Kind: trace.AtLocation, Location: 5, Time: -9},
			Attrs: []trace.Attr{{Key: "k", Value: trace.IntValue(4)}}}}
	data, err := FromText(nil, Text(PackLinks(links)))
	if err != nil {
		t.Fatal(err)
	}
	if back, err := UnpackLinks(data, 6); err != nil || !reflect.DeepEqual(back, links) {
		t.Errorf("found %v, %v; expected %v", back, err, links)
	}
	if _, err := UnpackLinks(data[:len(data)-3], 6); err == nil {
		t.Error("links that are cut off were read")
	}
	if _, err := UnpackLinks(data, 5); err == nil {
		t.Error("a link to a location that is not there was read")
	}
}

// TestPack checks that packed definitions are restored, from bytes and from texts in pieces. Damaged data, and
// data that grows beyond the limit, must be errors.
func TestPack(t *testing.T) {
	d := &trace.Definitions{Clock: trace.TicksPerSecond(1000), Origin: "x"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		name := make([]byte, 60)
		for i := range name {
			name[i] = byte('a' + r.IntN(26))
		}
		d.Regions.Add(trace.Region{Name: string(name)})
	}
	data, tooLong := Pack(d, nil, Pair{"base", "17"})
	texts := Texts(data, "p.")
	if tooLong != 0 || len(texts) < 2 {
		t.Fatalf("%d too long, %d pieces", tooLong, len(texts))
	}
	m := map[string]string{"other": "x"}
	for _, p := range texts {
		m[p.Key] = p.Value
	}
	again, err := FromTexts(maps.All(m), "p.")
	if err != nil || !slices.Equal(again, data) {
		t.Fatalf("%d bytes of %d, %v", len(again), len(data), err)
	}
	pairs, err := Unpack(again)
	if err != nil || !slices.Contains(pairs, Pair{"base", "17"}) {
		t.Fatalf("%d pairs, %v", len(pairs), err)
	}
	back := &trace.Definitions{}
	if _, err := NewRestorer(back, pairs); err != nil || back.Regions.Len() != 2000 ||
		back.Regions.At(1999).Name != d.Regions.At(1999).Name {
		t.Fatalf("%d regions, %v", back.Regions.Len(), err)
	}
	delete(m, "p.0")
	if again, err := FromTexts(maps.All(m), "p."); err == nil {
		if _, err := Unpack(again); err == nil {
			t.Error("a piece is missing, and nothing was said")
		}
	}
	for i := range 200 {
		damaged := slices.Clone(data[:len(data)-i%7])
		damaged[r.IntN(len(damaged))] ^= 1 << r.IntN(8)
		if pairs, err := Unpack(damaged); err == nil {
			NewRestorer(&trace.Definitions{}, pairs) // this call must not panic
		}
	}
	// Packed data must not shrink by compression more than readers allow. Otherwise it is compressed less.
	same := &trace.Definitions{Clock: trace.TicksPerSecond(1)}
	for range 1000 {
		same.Strings.Add(strings.Repeat("a", 30000))
	}
	data, _ = Pack(same, nil)
	if _, err := Unpack(data); err != nil || len(data) < 1000*30000/maxGrowth {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if pairs, err := Unpack(compress(magic, make([]byte, 100<<20), flate.BestCompression)); err == nil {
		t.Errorf("%d pairs", len(pairs))
	}
}

// TestOpaqueBytes checks that packed definitions of other formats keep bytes that are no text in UTF-8, as those of the
// records of OTF2.
func TestOpaqueBytes(t *testing.T) {
	d, back := &trace.Definitions{Clock: trace.TicksPerSecond(1), Origin: "x"}, &trace.Definitions{}
	list := []trace.Opaque{{Format: "otf2", Type: "InterruptGenerator", Data: "\x24\x08\xfa\xff\xff\x80\x00"},
		{Format: "picl", Data: "-7 -1 \"é\""}, {Format: "etf"}}
	for _, o := range list {
		d.Opaque.Add(o)
	}
	data, _ := Pack(d, nil)
	pairs, err := Unpack(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewRestorer(back, pairs); err != nil || back.Opaque.Len() != len(list) {
		t.Fatalf("%d opaque definitions, %v", back.Opaque.Len(), err)
	}
	for i, want := range list {
		if got := *back.Opaque.At(uint32(i)); got != want {
			t.Errorf("found %q, expected %q", got, want)
		}
	}
}

// TestRows checks that a packed row is restored relative to any other row, and that invalid
// bytes do not change that row.
func TestRows(t *testing.T) {
	d := &trace.Definitions{Clock: trace.TicksPerSecond(1000)}
	for i := range 9 {
		d.Locations.Add(trace.Location{ID: string(rune('0' + i)), Group: trace.NoRef})
		d.Regions.Add(trace.Region{Name: "r"})
		d.Attributes.Add(trace.AttributeDef{Name: string(rune('a' + i))})
	}
	d.Kinds.Add(trace.KindDef{KindSpec: trace.KindSpec{Name: "own"}})
	r := rand.New(rand.NewPCG(3, 4))
	kinds := append(trace.Kinds(), trace.Declared)
	row := func(b *trace.Batch) {
		k := kinds[r.IntN(len(kinds))]
		ref := trace.NoRef
		if d.Spec(k).Ref == trace.RefRegion && r.IntN(4) > 0 {
			ref = r.Uint32N(9)
		}
		b.Add(2, 5, k, ref)
		var ops []uint64
		spec := d.Spec(k)
		for i := range r.IntN(20) {
			if i >= len(spec.Operands) && !spec.Variadic {
				break
			}
			v := []uint64{0, 1, 5, 300, math.MaxUint64, 1 << 63, r.Uint64()}[r.IntN(7)]
			if !IsValidOperand(d, operandType(spec, i), v) {
				v = trace.Undefined
			}
			ops = append(ops, v)
		}
		if len(ops) > 0 {
			b.AddOps(ops...)
		}
		for range r.IntN(3) {
			b.AddAttr(r.Uint32N(9), []trace.Value{trace.StringValue("text"), trace.StringValue(""), trace.IntValue(-3),
				{Type: trace.Bytes, Str: "\x00\xff"}, {Type: trace.Float64, Num: math.Float64bits(0.1)}}[r.IntN(5)])
		}
		if r.IntN(9) == 0 {
			b.MarkDerived()
		}
	}
	var rows Rows
	type packed struct {
		row, base *trace.Batch
		data      []byte
	}
	var list []packed
	for i := range 3000 {
		x, base := &trace.Batch{Loc: 2}, &trace.Batch{Loc: 2}
		row(x)
		if row(base); i%3 == 0 {
			base = x.Clone()
			base.SetLastOps(slices.Clone(base.LastOps())[:len(base.LastOps())/2])
		}
		c, y := x.Cursor(), base.Cursor()
		c.Next()
		y.Next()
		if i%5 == 0 {
			claim := HasClaim(&c) && i%2 == 0
			base = &trace.Batch{Loc: 2}
			base.Add(2, x.Time[0], trace.NoOp, trace.NoRef)
			if claim {
				base.AddOps(c.Op(0))
			}
			keys, values := c.Attrs()
			var held []AttributeStorage
			for k := range keys {
				h := AttributeStorage(r.IntN(int(StoredInexactly + 1)))
				if held = append(held, h); h == StoredExactly {
					base.AddAttr(keys[k], values[k])
				} else if h == StoredInexactly {
					base.AddAttr(keys[k], trace.StringValue("the beginning"))
				}
			}
			data := rows.AppendWhole(nil, d, &c, claim, held)
			all := !slices.Contains(held, StoredInexactly) && !slices.Contains(held, NotStored)
			if all && data[0]&withAttrs != 0 {
				t.Fatalf("%x: found attributes that the record has", data)
			}
			list = append(list, packed{x, base, append(data, 0, 0)}) // bytes after the row are ignored
		} else if base.Derived == nil {
			list = append(list, packed{x, base, rows.Append(nil, d, &c, &y)})
		}
	}
	data, _ := Pack(d, &rows)
	pairs, err := Unpack(data)
	if err != nil {
		t.Fatal(err)
	}
	restorer, err := NewRestorer(&trace.Definitions{}, pairs)
	if err != nil {
		t.Fatal(err)
	}
	same := func(a, b *trace.Batch) bool {
		return a.Len() == b.Len() && slices.Equal(a.Kind, b.Kind) && slices.Equal(a.Ref, b.Ref) &&
			slices.Equal(a.LastOps(), b.LastOps()) &&
			slices.Equal(a.AttrKey, b.AttrKey) && slices.Equal(a.AttrVal, b.AttrVal) && slices.Equal(a.Derived, b.Derived)
	}
	for _, p := range list {
		got := p.base.Clone()
		if err := restorer.Amend(got, p.data); err != nil || !same(got, p.row) {
			t.Fatalf("%v: found %+v, expected %+v", err, got, p.row)
		}
		damaged := slices.Clone(p.data[:r.IntN(len(p.data)+1)])
		if len(damaged) > 0 {
			damaged[r.IntN(len(damaged))] ^= 1 << r.IntN(8)
		}
		got = p.base.Clone()
		if err := restorer.Amend(got, damaged); err != nil && !same(got, p.base) {
			t.Fatalf("%v left %+v, expected %+v", err, got, p.base)
		}
	}
}

// TestPackedNumbers checks that definitions keep their numbers if some are left out, and that weft reads definitions of
// earlier versions, which state all numbers.
func TestPackedNumbers(t *testing.T) {
	d := &trace.Definitions{Clock: trace.TicksPerSecond(1000), Origin: "x"}
	d.Regions.Add(trace.Region{Name: "a"})
	for _, a := range []trace.AttributeDef{{Name: "x"}, {Name: "y", Reserved: true}, {Name: "z"}} {
		d.Attributes.Add(a)
	}
	data, _ := PackUsed(d, 1)
	pairs, err := Unpack(data)
	var keys []string
	for _, p := range pairs {
		keys = append(keys, p.Key)
	}
	if want := []string{"trace", "region.0", "attribute.0", "attribute.2"}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("found %v, %v; expected %v", keys, err, want)
	}
	pairs, err = Unpack(pack([]byte("trace {}\nregion.1 {}\nregion 7\n")))
	if want := []Pair{{"trace", "{}"}, {"region.1", "{}"}, {"region", "7"}}; err != nil || !slices.Equal(pairs, want) {
		t.Errorf("earlier version: found %v, %v; expected %v", pairs, err, want)
	}
}

// TestAttributesOfEarlierVersions checks that weft reads packed rows that state all attributes of an event, as earlier
// versions wrote them: kind 0 with attributes, no operands, 1 attribute with the number 0, type 8 (int64), value 7.
func TestAttributesOfEarlierVersions(t *testing.T) {
	pairs := []Pair{{"trace", `{"version":1,"origin":"x","clock":{"num":1000,"den":1},"kinds":["enter"]}`},
		{"attribute.0", `{"name":"n"}`}}
	restorer, err := NewRestorer(&trace.Definitions{}, pairs)
	if err != nil {
		t.Fatal(err)
	}
	b := &trace.Batch{}
	b.Add(0, 0, trace.NoOp, trace.NoRef)
	b.AddAttr(0, trace.IntValue(3))
	row := []byte{withAttrs, 0, 1, 0, 8, 7}
	if err := restorer.Amend(b, row); err != nil || restorer.NeedsAttributes(row) {
		t.Fatalf("found %v, needs attributes: %v", err, restorer.NeedsAttributes(row))
	}
	if want := []trace.Value{trace.IntValue(7)}; b.Kind[0] != trace.Enter || !slices.Equal(b.AttrVal, want) {
		t.Errorf("found %v of kind %v, expected %v", b.AttrVal, b.Kind[0], want)
	}
}

// TestTextsCompressedTwice checks that the growth of packed data is limited also in a text of compressed data. Bytes
// that are equal take a thousandth of the space each time they are compressed.
func TestTextsCompressedTwice(t *testing.T) {
	zeros := make([]byte, 2_000_000)
	text := compressed + base64.RawStdEncoding.EncodeToString(pack(compress(magic, make([]byte, 10*len(zeros)),
		flate.HuffmanOnly)))
	if data, err := FromText(nil, text); err == nil {
		t.Errorf("%d bytes of text became %d bytes of compressed data", len(text), len(data))
	}
	if text := Text(Compress(zeros)); strings.HasPrefix(text, compressed) {
		t.Error("compressed data were compressed again")
	}
	r := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 2*longText)
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	packed := pack(random) // earlier versions compressed long links twice
	data, err := FromText(nil, compressed+base64.RawStdEncoding.EncodeToString(pack(packed)))
	if err != nil || !slices.Equal(data, packed) {
		t.Errorf("%d bytes, %v; expected %d", len(data), err, len(packed))
	}
}
