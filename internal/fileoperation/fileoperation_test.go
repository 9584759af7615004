package fileoperation

import (
	"math/rand/v2"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// row returns a cursor at a row.
func row(location uint32, kind trace.Kind, ref uint32, ops ...uint64) trace.Cursor {
	var b trace.Batch
	b.Reset(location)
	b.Add(location, 0, kind, ref)
	b.AddOps(ops...)
	c := b.Cursor()
	c.Next()
	return c
}

// TestThereAndBack converts random I/O operations to operations on files and back. The events must have the same
// handle, mode and size. In between, the open operations of a location must have different matching numbers, although
// the numbers of different handles are the same.
func TestThereAndBack(t *testing.T) {
	const handles = 3
	d := &trace.Definitions{}
	file := d.Files.Add(trace.Named{ID: "7", Name: "/a"})
	for i := range handles {
		h := trace.Named{ID: string(rune('4' + i))}
		if i > 0 {
			h.Attrs = []trace.Attr{{Key: trace.FileAttribute, Value: trace.Value{Num: uint64(file), Type: trace.FileRef}}}
		}
		d.Handles.Add(h)
	}
	type operation struct {
		handle             uint32
		mode, flags, bytes uint64
		matching           uint64
		begun              Operation
	}
	rng := rand.New(rand.NewPCG(1, 2))
	from, to := NewFromIO(d), NewToIO(0)
	var open []operation
	numbers := map[uint64]bool{}
	refs := map[uint32]uint32{} // handles of to by those of d
	for step := range 10_000 {
		if len(open) < 20 && rng.IntN(2) == 0 {
			o := operation{rng.Uint32N(handles), rng.Uint64N(3), rng.Uint64N(4), rng.Uint64N(100), rng.Uint64N(4), Operation{}}
			used := false
			for _, x := range open {
				used = used || x.handle == o.handle && x.matching == o.matching
			}
			if used {
				continue
			}
			c := row(0, trace.IOBegin, o.handle, o.mode, o.flags, 2*o.bytes, o.matching)
			o.begun, _ = from.Convert(&c)
			if o.begun.Kind != trace.FileOperationBegin || numbers[o.begun.Matching] {
				t.Fatalf("step %d: found %+v, expected a begin with another matching number", step, o.begun)
			}
			numbers[o.begun.Matching] = true
			open = append(open, o)
			continue
		}
		if len(open) == 0 {
			continue
		}
		i := rng.IntN(len(open))
		o := open[i]
		open = append(open[:i], open[i+1:]...)
		delete(numbers, o.begun.Matching)
		c := row(0, trace.IOComplete, o.handle, o.bytes, o.matching)
		end, _ := from.Convert(&c)
		wantFile := trace.NoRef
		if o.handle > 0 {
			wantFile = file
		}
		if end.Matching != o.begun.Matching || end.File != wantFile || end.Handle != uint64(4+o.handle) ||
			end.Bytes != o.bytes {
			t.Fatalf("step %d: found the end %+v of %+v", step, end, o)
		}
		endOps := []uint64{end.Handle, end.Code, end.Bytes, end.Matching}
		c = row(0, trace.FileOperationBegin, trace.NoRef, end.Matching)
		x, _ := to.Convert(&c, end.File, endOps)
		if x.Kind != trace.IOBegin || x.Operands[0] != o.mode || x.Operands[1] != o.flags || x.Operands[2] != o.bytes {
			t.Fatalf("step %d: found the begin %+v of %+v", step, x, o)
		}
		if ref, known := refs[o.handle]; known && ref != x.Ref {
			t.Fatalf("step %d: handle %d becomes %d and %d", step, o.handle, ref, x.Ref)
		}
		refs[o.handle] = x.Ref
		c = row(0, trace.FileOperationEnd, end.File, endOps...)
		if y, _ := to.Convert(&c, 0, nil); y.Kind != trace.IOComplete || y.Ref != x.Ref || y.Operands[0] != o.bytes ||
			y.Operands[1] != x.Operands[3] {
			t.Fatalf("step %d: found the end %+v of %+v", step, y, x)
		}
	}
	if len(to.Handles()) != handles {
		t.Errorf("found %d handles, expected %d", len(to.Handles()), handles)
	}
}
