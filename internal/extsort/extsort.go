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
// Records that are added in order, or nearly so, cost no sorting. Records that are added in order form one run.
type Sorter struct {
	memory   int
	dir      string
	recs     []entry
	data     []byte
	unsorted bool // recs are not in order
	runs     []*os.File
	last     key // the last key in the last run
	count    int64
}

type entry struct {
	key
	off, n uint32
}

// entrySize is the size of an entry in bytes.
const entrySize = 24

// key is the sort key of a record.
type key struct{ a, b int64 }

func (k key) compare(l key) int {
	if c := cmp.Compare(k.a, l.a); c != 0 {
		return c
	}
	return cmp.Compare(k.b, l.b)
}

// New returns a sorter that needs about memory bytes, but at least 1 MiB. It creates temporary files in dir
// or, if dir is "", in the system's directory for temporary files.
func New(memory int, dir string) *Sorter {
	return &Sorter{memory: min(max(memory, 1<<20), 1<<30), dir: dir}
}

// Add adds a record with a copy of data.
func (s *Sorter) Add(a, b int64, data []byte) error {
	if len(s.data)+len(data)+(len(s.recs)+1)*entrySize > s.memory && len(s.recs) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	n := len(s.recs)
	s.recs = grow(s.recs, 1, s.memory/entrySize)
	s.data = grow(s.data, len(data), s.memory)
	s.recs = append(s.recs, entry{key{a, b}, uint32(len(s.data)), uint32(len(data))})
	if !s.unsorted {
		s.insert(n)
	}
	s.data = append(s.data, data...)
	s.count++
	return nil
}

// grow returns list with room for n more elements. It doubles the room as long as most elements suffice: append copies
// long lists four times as often.
func grow[T any](list []T, n, most int) []T {
	if cap(list)-len(list) >= n {
		return list
	}
	return slices.Grow(list, max(n, 64, min(len(list), most-len(list))))
}

// farthest limits how many records a record may pass when insert moves it forward.
const farthest = 128

// insert moves the new record n forward to its place among the records before it, which are in order. If the place is
// too far away, the record stays, and the records are unsorted.
func (s *Sorter) insert(n int) {
	x, i := s.recs[n], n
	for i > 0 && x.compare(s.recs[i-1].key) < 0 {
		if i--; n-i > farthest {
			s.unsorted = true
			return
		}
	}
	copy(s.recs[i+1:], s.recs[i:n])
	s.recs[i] = x
}

// Len returns the number of records that were added.
func (s *Sorter) Len() int64 { return s.count }

// Spilled reports whether the sorter has written records to a file.
func (s *Sorter) Spilled() bool { return len(s.runs) > 0 }

// sort brings the records in memory in order. Records with equal keys keep the order in which they were added,
// which is the order of their data in memory. Among several records with the same offset, only the last can
// have data.
func (s *Sorter) sort() {
	if !s.unsorted {
		return
	}
	slices.SortFunc(s.recs, func(x, y entry) int {
		if c := x.compare(y.key); c != 0 {
			return c
		}
		if c := cmp.Compare(x.off, y.off); c != 0 {
			return c
		}
		return cmp.Compare(x.n, y.n)
	})
	s.unsorted = false
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

// spill sorts the records in memory and appends them to the last run, if they belong after it, or to a new one.
func (s *Sorter) spill() error {
	s.sort()
	if len(s.runs) == 0 || s.recs[0].compare(s.last) < 0 {
		f, err := s.temp()
		if err != nil {
			return err
		}
		s.runs, s.last = append(s.runs, f), key{}
	}
	w := newRunWriter(s.runs[len(s.runs)-1], s.last)
	for _, e := range s.recs {
		if err := w.add(e.key, s.data[e.off:e.off+e.n]); err != nil {
			return err
		}
	}
	s.recs, s.data, s.last = s.recs[:0], s.data[:0], w.last
	return w.Flush()
}

// runWriter writes records in order. A record in a file consists of the difference of A to that of the record
// before, B (its difference, if A is the same), the length of the data, each as a varint, and the data.
type runWriter struct {
	*bufio.Writer
	last key
	size int64 // bytes that were written
	head []byte
}

// maxHead is the largest number of bytes before the data of a record in a file.
const maxHead = 3 * binary.MaxVarintLen64

// newRunWriter returns a writer of the records that follow a record with the key last in a run. Before the first
// record of a run, last is the zero key.
func newRunWriter(f *os.File, last key) *runWriter {
	return &runWriter{Writer: bufio.NewWriterSize(f, readBuffer), last: last}
}

func (w *runWriter) add(k key, data []byte) error {
	h := binary.AppendUvarint(w.head[:0], uint64(k.a-w.last.a))
	if k.a == w.last.a {
		h = binary.AppendUvarint(h, uint64(k.b-w.last.b))
	} else {
		h = binary.AppendVarint(h, k.b)
	}
	h = binary.AppendUvarint(h, uint64(len(data)))
	w.last, w.head = k, h
	w.size += int64(len(h) + len(data))
	w.Write(h)
	_, err := w.Write(data)
	return err
}

// Sort ends the adding of records, and returns all records in order.
func (s *Sorter) Sort(ctx context.Context) (*Iterator, error) {
	if len(s.runs) == 0 {
		s.sort()
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
		r := newRun(io.NewSectionReader(f, from, end-from), ahead)
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
	w := newRunWriter(f, key{})
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
			groups, ends = append(groups, Group{A: r.A}), append(ends, 0)
			w.last = key{} // each group is a run
		}
		if err := w.add(key{r.A, r.B}, r.Data); err != nil {
			return nil, nil, err
		}
		ends[len(ends)-1] = w.size
	}
}

// writeTo writes the remaining records of the iterator to a file.
func (it *Iterator) writeTo(f *os.File) error {
	w := newRunWriter(f, key{})
	for {
		r, ok, err := it.Next()
		if err != nil {
			return err
		}
		if !ok {
			return w.Flush()
		}
		if err := w.add(key{r.A, r.B}, r.Data); err != nil {
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
	r     *bufio.Reader
	rec   Record
	inBuf int    // bytes of the record that the reader still holds
	buf   []byte // data of a record that is longer than the reader's buffer
	done  bool
}

// newRun returns the run in a file, before its first record. It reads size bytes ahead.
func newRun(f io.Reader, size int) *run { return &run{r: bufio.NewReaderSize(f, size)} }

// merge returns an iterator over the records of several runs, in order.
func merge(files []*os.File) (*Iterator, error) {
	it := &Iterator{last: -1}
	for i, f := range files {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		r := newRun(f, readBuffer)
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

// next reads the next record. Its data stays valid until the next call.
func (r *run) next() error {
	r.r.Discard(r.inBuf) // cannot fail, because the bytes are in the buffer
	r.inBuf = 0
	head, err := r.r.Peek(maxHead)
	if len(head) == 0 {
		if r.done = err == io.EOF; r.done {
			return nil
		}
		return fmt.Errorf("sorting: temporary file: %w", err)
	}
	a, n := binary.Uvarint(head)
	b, m := binary.Uvarint(head[max(n, 0):])
	size, l := binary.Uvarint(head[max(n, 0)+max(m, 0):])
	if n <= 0 || m <= 0 || l <= 0 {
		return fmt.Errorf("sorting: temporary file: %w", io.ErrUnexpectedEOF)
	}
	if r.rec.A += int64(a); a == 0 {
		r.rec.B += int64(b)
	} else {
		r.rec.B = int64(b>>1) ^ -int64(b&1)
	}
	h := n + m + l
	if want := h + int(size); want <= r.r.Size() {
		if head, err = r.r.Peek(want); err != nil {
			return fmt.Errorf("sorting: temporary file: %w", err)
		}
		r.rec.Data, r.inBuf = head[h:], want
		return nil
	}
	r.r.Discard(h)
	r.buf = slices.Grow(r.buf[:0], int(size))[:size]
	r.rec.Data = r.buf
	if _, err := io.ReadFull(r.r, r.buf); err != nil {
		return fmt.Errorf("sorting: temporary file: %w", err)
	}
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
