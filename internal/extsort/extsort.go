// Package extsort sorts more records than fit into memory. It uses temporary files, which Close
// removes.
package extsort

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
)

// Record is a sort key with data. The key consists of A and then B.
type Record struct {
	A, B int64
	Data []byte // valid until the next call of Next
}

// maxRuns is the largest number of runs that are merged at the same time. Each run needs readBuffer bytes.
const (
	maxRuns    = 96
	readBuffer = 64 << 10
)

// Sorter sorts records by (A, B). Records with equal keys keep the order in which they were added. It keeps
// records in memory up to the limit that [New] sets, and all other records in sorted runs in temporary files.
type Sorter struct {
	memory int
	dir    string
	recs   []entry
	data   []byte
	runs   []*os.File
	count  int64
}

type entry struct {
	a, b   int64
	off, n uint32
}

// New returns a sorter that needs about memory bytes, but at least 1 MiB. It creates temporary files in dir
// or, if dir is "", in the system's directory for temporary files.
func New(memory int, dir string) *Sorter {
	return &Sorter{memory: min(max(memory, 1<<20), 1<<30), dir: dir}
}

// Add adds a record with a copy of data.
func (s *Sorter) Add(a, b int64, data []byte) error {
	if len(s.data)+len(data)+(len(s.recs)+1)*24 > s.memory && len(s.recs) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	if s.recs == nil {
		s.recs = make([]entry, 0, 1024)
	}
	s.recs = append(s.recs, entry{a, b, uint32(len(s.data)), uint32(len(data))})
	s.data = append(s.data, data...)
	s.count++
	return nil
}

// Len returns the number of records that were added.
func (s *Sorter) Len() int64 { return s.count }

// Spilled reports whether the sorter has written records to a file.
func (s *Sorter) Spilled() bool { return len(s.runs) > 0 }

// compare orders records by their keys. Records with equal keys keep the order in which they were added, which
// is the order of their data in memory. Among several records with the same offset, only the last can have
// data.
func compare(x, y entry) int {
	if c := cmp.Compare(x.a, y.a); c != 0 {
		return c
	}
	if c := cmp.Compare(x.b, y.b); c != 0 {
		return c
	}
	if c := cmp.Compare(x.off, y.off); c != 0 {
		return c
	}
	return cmp.Compare(x.n, y.n)
}

func (s *Sorter) temp() (*os.File, error) {
	f, err := os.CreateTemp(s.dir, "weft-sort-*")
	if err != nil {
		return nil, fmt.Errorf("sorting: cannot make a temporary file: %w", err)
	}
	// On most systems, an open file can be removed. It then disappears even if the process is
	// killed. On others, Close removes the file.
	os.Remove(f.Name())
	return f, nil
}

// spill sorts the records in memory and writes them to a temporary file, as a run.
func (s *Sorter) spill() error {
	slices.SortFunc(s.recs, compare)
	f, err := s.temp()
	if err != nil {
		return err
	}
	s.runs = append(s.runs, f)
	w := bufio.NewWriterSize(f, readBuffer)
	for _, e := range s.recs {
		if err := write(w, e.a, e.b, s.data[e.off:e.off+e.n]); err != nil {
			return err
		}
	}
	s.recs, s.data = s.recs[:0], s.data[:0]
	return w.Flush()
}

// recordHead is the number of bytes before the data of a record in a file.
const recordHead = 20

func write(w *bufio.Writer, a, b int64, data []byte) error {
	var h [recordHead]byte
	binary.LittleEndian.PutUint64(h[0:], uint64(a))
	binary.LittleEndian.PutUint64(h[8:], uint64(b))
	binary.LittleEndian.PutUint32(h[16:], uint32(len(data)))
	w.Write(h[:])
	_, err := w.Write(data)
	return err
}

// Sort ends the adding of records, and returns all records in order.
func (s *Sorter) Sort(ctx context.Context) (*Iterator, error) {
	if len(s.runs) == 0 {
		slices.SortFunc(s.recs, compare)
		return &Iterator{mem: s.recs, data: s.data}, nil
	}
	if len(s.recs) > 0 {
		if err := s.spill(); err != nil {
			return nil, err
		}
	}
	s.recs, s.data = nil, nil
	for len(s.runs) > maxRuns {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		it, err := merge(s.runs[:maxRuns])
		if err != nil {
			return nil, err
		}
		f, err := s.temp()
		if err != nil {
			return nil, err
		}
		if err := it.writeTo(f); err != nil {
			discard(f)
			return nil, err
		}
		for _, r := range s.runs[:maxRuns] {
			discard(r)
		}
		// The merged run takes the place of its parts, because records with equal keys must keep
		// their order.
		s.runs = append([]*os.File{f}, s.runs[maxRuns:]...)
	}
	return merge(s.runs)
}

// Group holds the records with the same A, in the order of B.
type Group struct {
	A       int64
	Records *Iterator
}

// Groups ends the adding of records, and returns a group for each A, in the order of A. The groups can be read
// independently of each other. They share one temporary file. Their read buffers together take about the
// memory of the sorter, but at least 4 KiB for each group.
func (s *Sorter) Groups(ctx context.Context) ([]Group, error) {
	it, err := s.Sort(ctx)
	if err != nil {
		return nil, err
	}
	if it.runs == nil {
		return memoryGroups(it), nil
	}
	f, err := s.temp()
	if err != nil {
		return nil, err
	}
	groups, ends, err := writeGroups(ctx, it, f)
	if err != nil {
		discard(f)
		return nil, err
	}
	for _, r := range s.runs {
		discard(r)
	}
	s.runs = append(s.runs[:0], f)
	from, ahead := int64(0), min(max(s.memory/len(groups), 4<<10), readBuffer)
	for i, end := range ends {
		r := &run{r: bufio.NewReaderSize(io.NewSectionReader(f, from, end-from), ahead)}
		if err := r.next(); err != nil {
			return nil, err
		}
		groups[i].Records = &Iterator{last: -1, runs: []*run{r}, heap: []int{0}}
		from = end
	}
	return groups, nil
}

// memoryGroups divides the records of an iterator into groups. All records must be in memory.
func memoryGroups(it *Iterator) (groups []Group) {
	for from, to := 0, 0; from < len(it.mem); from = to {
		a := it.mem[from].a
		for to = from; to < len(it.mem) && it.mem[to].a == a; to++ {
		}
		groups = append(groups, Group{a, &Iterator{mem: it.mem[from:to], data: it.data}})
	}
	return groups
}

// writeGroups writes all records to a file. It returns the groups, and the offset in the file at which each
// group ends.
func writeGroups(ctx context.Context, it *Iterator, f *os.File) (groups []Group, ends []int64, err error) {
	w, at := bufio.NewWriterSize(f, readBuffer), int64(0)
	for n := 0; ; n++ {
		r, ok, err := it.Next()
		if err == nil && n%4096 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			return groups, ends, w.Flush()
		}
		if len(groups) == 0 || groups[len(groups)-1].A != r.A {
			groups, ends = append(groups, Group{A: r.A}), append(ends, at)
		}
		if err := write(w, r.A, r.B, r.Data); err != nil {
			return nil, nil, err
		}
		at += int64(recordHead + len(r.Data))
		ends[len(ends)-1] = at
	}
}

// writeTo writes the remaining records of the iterator to a file.
func (it *Iterator) writeTo(f *os.File) error {
	w := bufio.NewWriterSize(f, readBuffer)
	for {
		r, ok, err := it.Next()
		if err != nil {
			return err
		}
		if !ok {
			return w.Flush()
		}
		if err := write(w, r.A, r.B, r.Data); err != nil {
			return err
		}
	}
}

// Close removes the temporary files.
func (s *Sorter) Close() error {
	for _, f := range s.runs {
		discard(f)
	}
	s.runs, s.recs, s.data = nil, nil, nil
	return nil
}

func discard(f *os.File) {
	f.Close()
	os.Remove(f.Name())
}

// Iterator returns the records of a sorter in order, from memory or from the merged runs.
type Iterator struct {
	mem  []entry
	data []byte
	runs []*run
	heap []int // indexes of runs, as a heap with the smallest record first
	last int   // run whose record was returned last, and which must advance next; -1 for none
}

// run is a sorted sequence of records in a temporary file that is being read.
type run struct {
	r    *bufio.Reader
	rec  Record
	buf  []byte
	done bool
}

// merge returns an iterator over the records of several runs, in order.
func merge(files []*os.File) (*Iterator, error) {
	it := &Iterator{last: -1}
	for i, f := range files {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		r := &run{r: bufio.NewReaderSize(f, readBuffer)}
		if err := r.next(); err != nil {
			return nil, err
		}
		it.runs = append(it.runs, r)
		if !r.done {
			it.heap = append(it.heap, i)
		}
	}
	for i := len(it.heap)/2 - 1; i >= 0; i-- {
		it.down(i)
	}
	return it, nil
}

func (r *run) next() error {
	var h [recordHead]byte
	if _, err := io.ReadFull(r.r, h[:]); err != nil {
		if err == io.EOF {
			r.done = true
			return nil
		}
		return fmt.Errorf("sorting: temporary file: %w", err)
	}
	n := int(binary.LittleEndian.Uint32(h[16:]))
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	r.buf = r.buf[:n]
	if _, err := io.ReadFull(r.r, r.buf); err != nil {
		return fmt.Errorf("sorting: temporary file: %w", err)
	}
	r.rec = Record{int64(binary.LittleEndian.Uint64(h[0:])), int64(binary.LittleEndian.Uint64(h[8:])), r.buf}
	return nil
}

func (it *Iterator) less(i, j int) bool {
	x, y := &it.runs[i].rec, &it.runs[j].rec
	if x.A != y.A {
		return x.A < y.A
	}
	if x.B != y.B {
		return x.B < y.B
	}
	return i < j
}

func (it *Iterator) down(i int) {
	h := it.heap
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && it.less(h[c+1], h[c]) {
			c++
		}
		if !it.less(h[c], h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

// Next returns the next record. ok is false after the last record.
func (it *Iterator) Next() (rec Record, ok bool, err error) {
	if it.runs == nil {
		if len(it.mem) == 0 {
			return Record{}, false, nil
		}
		e := it.mem[0]
		it.mem = it.mem[1:]
		return Record{e.a, e.b, it.data[e.off : e.off+e.n]}, true, nil
	}
	if it.last >= 0 {
		r := it.runs[it.last]
		if err := r.next(); err != nil {
			return Record{}, false, err
		}
		if r.done {
			it.heap[0] = it.heap[len(it.heap)-1]
			it.heap = it.heap[:len(it.heap)-1]
		}
		it.down(0)
		it.last = -1
	}
	if len(it.heap) == 0 {
		return Record{}, false, nil
	}
	it.last = it.heap[0]
	return it.runs[it.last].rec, true, nil
}
