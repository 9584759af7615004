package otf2

import (
	"context"
	"encoding/binary"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestRepeatedTimesAndAttributes checks events that have two times or the same attribute twice. otf2-print 3.0.2
// stops at the events for which the test expects damage, and reads the others.
func TestRepeatedTimesAndAttributes(t *testing.T) {
	at := func(t uint64) []byte { return binary.LittleEndian.AppendUint64([]byte{timestampRecord}, t) }
	list := func(ids ...byte) []byte {
		b := []byte{attributeRecord, byte(2 + 4*len(ids)), 1, byte(len(ids))}
		for _, id := range ids {
			b = append(b, 1, id, typeUint8, 7)
		}
		return b
	}
	const attribute = 9 // one that is not 0, so that its number has a byte
	enterLeave := []byte{enter, 0, leave, 0}
	for _, x := range []struct {
		name           string
		before, second []byte // records before and after a time of 2000
		damage         bool
		attributes     []int // numbers of attributes of the last two events
	}{
		{"nothing", nil, nil, false, []int{0, 0}},
		{"two times", at(1999), nil, true, []int{0, 0}},
		{"equal times", at(2000), nil, true, []int{0, 0}},
		{"list between times", slices.Concat(at(1999), list(attribute)), nil, false, []int{1, 0}},
		{"list before time", list(attribute), nil, false, []int{1, 0}},
		{"list before two times", slices.Concat(list(attribute), at(1999)), nil, true, []int{1, 0}},
		{"two lists", nil, slices.Concat(list(attribute), list(attribute+1)), false, []int{2, 0}},
		{"equal lists", nil, slices.Concat(list(attribute), list(attribute)), true, []int{1, 0}},
		{"one list", nil, list(attribute, attribute+1, attribute), true, []int{2, 0}},
	} {
		// The first events make the decoder take the fast path.
		body := at(1000)
		for range 40 {
			body = append(body, enterLeave...)
		}
		body = slices.Concat(body, x.before, at(2000), x.second, enterLeave)
		for range 40 {
			body = append(body, enterLeave...)
		}
		b := []byte{chunkHeader, littleEndian}
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, 1), 162)
		m, anchor := archiveFiles(t, "rma")
		m["traces/1.evt"] = &fstest.MapFile{Data: slices.Concat(b, body, []byte{endOfFile, endOfBuffer})}
		list, damage := events(t, m, anchor, 1)
		if len(list) != 162 || (len(damage) == 1) != x.damage {
			t.Errorf("%s: found %d events and %q, expected 162 events and damage: %t", x.name, len(list), damage, x.damage)
			continue
		}
		if list[79].Time != 1000 || list[80].Time != 2000 {
			t.Errorf("%s: found times %d and %d, expected 1000 and 2000", x.name, list[79].Time, list[80].Time)
		}
		if got := findings(t, m, anchor)[damagedRule]; (got == 1) != x.damage {
			t.Errorf("%s: check found %d damaged places, expected damage: %t", x.name, got, x.damage)
		}
		d, err := Format{}.Open(context.Background(), format.Source{FS: m, Name: anchor}, &format.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var counts []int
		err = d.Scan(context.Background(), trace.Everything(), format.PerLocation,
			format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				for c := b.Cursor(); b.Loc == 1 && c.Next(); {
					keys, _ := c.Attrs()
					counts = append(counts, len(keys))
				}
				return nil
			}})
		if err != nil || len(counts) != 162 || !slices.Equal(counts[80:82], x.attributes) {
			t.Errorf("%s: found attributes %v (%v), expected %v from event 80 on", x.name, counts, err, x.attributes)
		}
	}
}
