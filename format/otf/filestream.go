package otf

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/trace"
)

// fileStream delivers the records of one file as batches in the order of time.
type fileStream struct {
	d      *decoder
	s      *stream // nil if the records come from the sorter
	sorter *extsort.Sorter
	it     *extsort.Iterator
	to     uint64 // end of the selected times, in ticks of the file
	// from this time on, one record of each process is enough (see bulkReader); 0 if all records are needed
	enough uint64
	held   bool // the current record has not been delivered, because its time is at or after to
	rows   int  // number of rows in a batch
	rec    Record
	b      trace.Batch
}

func (f *fileStream) close() {
	if f.s != nil {
		f.s.t.Close()
	}
	if f.sorter != nil {
		f.sorter.Close()
	}
}

// batchRows is the number of rows of a batch. It is small because many files may be open.
const batchRows = 256

// Next returns the next batch, or nil at the end.
func (f *fileStream) Next(ctx context.Context) (*trace.Batch, error) {
	f.b.Reset(trace.MixedLoc)
	for f.b.Len() < max(1, f.rows) {
		r, err := f.next(ctx)
		if err != nil {
			return nil, err
		}
		if r == nil {
			break
		}
		if f.d.addRow(&f.b, r); f.d.err != nil {
			return nil, f.d.err
		}
	}
	if f.b.Len() == 0 {
		return nil, nil
	}
	return &f.b, nil
}

// next returns the next record with a time that the model can represent, or nil at the end.
func (f *fileStream) next(ctx context.Context) (*Record, error) {
	for {
		r := &f.rec
		if f.held {
			r, f.held = &f.s.rec, false
		} else if f.it == nil {
			ok, err := f.s.next(ctx)
			if !ok || err != nil {
				return nil, err
			}
			r = &f.s.rec
		} else {
			x, ok, err := f.it.Next()
			if !ok || err != nil {
				return nil, err
			}
			f.restore(x)
		}
		if r.Time >= f.to {
			f.held = f.it == nil
			return nil, nil
		}
		if f.d.carried && r.Time <= math.MaxInt64 { // a trace that weft has written has no later times
			if skip, err := f.d.restorePlace(r); skip || err != nil {
				if err != nil {
					return nil, err
				}
				continue
			}
			return r, nil
		}
		if !f.d.carried && r.Time-f.d.clock.base <= math.MaxInt64 {
			return r, nil
		}
		if err := f.d.reportTooLate(r); err != nil {
			return nil, err
		}
	}
}

// stream opens a file for a scan. If necessary, it sorts the records, in at most memory bytes of memory.
func (d *decoder) stream(ctx context.Context, x *survey, sel trace.Selection, memory int) (*fileStream, error) {
	s, err := d.r.open(x.id, x.part)
	if err != nil || s == nil {
		return nil, err
	}
	s.t.kept, x.kept = x.kept, nil
	f := &fileStream{d: d, s: s, to: math.MaxUint64}
	if !d.needsSorting(x) {
		if to, ok := d.clock.toFile(sel.To); ok {
			f.to = to
		}
		if enough, ok := d.clock.toFile(sel.OneEventFrom); ok && sel.OneEventFrom != 0 {
			f.enough = enough
		}
		if f.to < math.MaxUint64 || f.enough > 0 {
			s.t.expectFew()
		}
		if x.from > 0 {
			s.t.readFrom(x.from)
			return f, nil
		}
		// The region that an unnamed leave closes may depend on all earlier events.
		if from, ok := d.clock.toFile(sel.From); ok && from > x.first && !d.unnamedLeaves {
			if err := s.t.search(from); err != nil {
				f.close()
				return nil, err
			}
		}
		return f, nil
	}
	defer s.t.Close()
	f.s = nil
	return f, f.sort(ctx, memory, func() (*Record, error) {
		ok, err := s.next(ctx)
		if !ok || err != nil {
			return nil, err
		}
		if s.rec.Type == Counter && len(d.async) > 0 {
			for _, v := range s.rec.KeyValues {
				if d.async[v.Key] {
					s.rec.Time = v.Bits
				}
			}
		}
		return &s.rec, nil
	})
}

// needsSorting reports whether the records of a file have to be sorted.
func (d *decoder) needsSorting(x *survey) bool {
	return x.unsorted > 0 || x.part == Events && len(d.async) > 0
}

// markers returns the markers in the order of time. In the files, markers need not be in the order of time.
func (d *decoder) markers(ctx context.Context) (*fileStream, error) {
	c, err := d.r.withoutReport().Cursor(ctx, Markers) // defects were reported when the definitions were read
	if err != nil {
		return nil, err
	}
	defer c.Close()
	f := &fileStream{d: d, to: math.MaxUint64}
	return f, f.sort(ctx, 1<<20, func() (*Record, error) {
		for c.Next() {
			if r := c.Record(); r.Type == Marker {
				return r, nil
			}
		}
		return nil, c.Err()
	})
}

// sort sorts all records that next returns, until it returns nil. After that the fileStream delivers
// them in the order of time.
func (f *fileStream) sort(ctx context.Context, memory int, next func() (*Record, error)) error {
	f.sorter = extsort.New(memory, "")
	var buf []byte
	for n := int64(0); ; n++ {
		r, err := next()
		if r == nil && err == nil {
			f.it, err = f.sorter.Sort(ctx)
			return err
		}
		if err == nil {
			buf = appendSorted(buf[:0], r)
			// flipping the highest bit keeps the order of unsigned times in signed numbers
			err = f.sorter.Add(int64(r.Time^1<<63), n, buf)
		}
		if err != nil {
			return err
		}
	}
}

// appendSorted encodes a record for the sorter; restore decodes it.
func appendSorted(b []byte, r *Record) []byte {
	b = binary.LittleEndian.AppendUint64(b, r.Process)
	b = binary.LittleEndian.AppendUint32(b, r.Stream)
	b = append(b, byte(r.Type))
	return r.Append(b, false)
}

func (f *fileStream) restore(x extsort.Record) {
	r := &f.rec
	stream := binary.LittleEndian.Uint32(x.Data[8:])
	process, typ := binary.LittleEndian.Uint64(x.Data), Type(x.Data[12])
	r.reread(x.Data[13:], typ)
	r.Time, r.Process, r.Stream = uint64(x.A)^1<<63, process, stream
}

// reread parses the lines that Append has written for a record of type typ. It returns false if the
// lines are not those of such a record.
func (r *Record) reread(text []byte, typ Type) bool {
	r.KeyValues = r.KeyValues[:0]
	for {
		i := bytes.IndexByte(text, '\n')
		l := text[:max(i, 0)]
		kind, at := lineType(l)
		// The line of an unknown record may look like a pair, but pairs come first.
		if kind == pairLine && (typ != Unknown || i+1 < len(text)) {
			r.pair(l, at, false)
			text = text[i+1:]
			continue
		}
		if typ == Unknown {
			r.Type, r.Text = Unknown, stringOf(l)
			return true
		}
		return r.parse(l, 0, typ.Part(), false).rule == "" && i+1 == len(text)
	}
}
