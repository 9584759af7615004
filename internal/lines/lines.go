// Package lines reads large line-oriented texts. It divides them into chunks of whole lines that
// can be parsed independently, finds the runs in which a text is in time order, and delivers the
// lines in time order with bounded memory for any order in the file.
package lines

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/pipeline"
)

// ChunkSize is the number of bytes of text that are parsed at once. The result should fit the
// processor's cache.
const ChunkSize = 64 << 10

// DefaultMaxLine is the default limit on the length of a line.
const DefaultMaxLine = 16 << 20

// ByteOrderMark may precede the first line of a text. It belongs to no line.
const ByteOrderMark = "\uFEFF"

// File is a text that can be read at any offset.
type File struct {
	R     io.ReaderAt
	Begin int64 // offset of the first line
	Size  int64
	Name  string
	// MaxLine is the limit on the length of a line. 0 means DefaultMaxLine. Longer lines are skipped
	// and reported through TooLong.
	MaxLine int
	// TooLong is called for each line that was skipped.
	TooLong func(line, offset, length int64) error
	// Continued reports that a backslash at the end of a line joins it to the next one.
	Continued bool
	// Numbered reports that each line begins with the number of its original line in the user's file,
	// and a tab.
	Numbered bool
	// Skipped is the number of lines of the user's file that were too long or had nothing to convert. It is nil
	// if they are not counted.
	Skipped *int64
}

// Chunk is a piece of a file that consists of whole lines.
type Chunk struct {
	Off  int64
	Len  int
	Line int64 // number of its first line, from 1
}

// Block is the text of a chunk with the number of its first line. If the lines are not consecutive
// in the file, Numbers has one number per line.
type Block struct {
	Data    []byte
	Line    int64
	Numbers []int64
	Seq     int // position of the block in its scan, from 0
	from    *File
	off     int64
	pool    *sync.Pool
}

// Load reads the block's text if it has not been read. Blocks of one file may be loaded
// concurrently.
func (b *Block) Load() error {
	f := b.from
	if f == nil {
		return nil
	}
	b.from = nil
	return f.Read(b.Data, b.off)
}

// Read fills data with the text at off.
func (f *File) Read(data []byte, off int64) error {
	n, err := f.R.ReadAt(data, off)
	if n == len(data) {
		return nil
	}
	if err == io.EOF || err == nil {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s:0x%x: %w", f.Name, off+int64(n), err)
}

// Release frees the block's memory. Nothing may refer to it afterwards.
func (b *Block) Release() {
	if b.pool != nil {
		b.pool.Put(b)
	}
}

var blockPool = sync.Pool{}

func newBlock(n int) *Block {
	b, _ := blockPool.Get().(*Block)
	if b == nil {
		b = &Block{pool: &blockPool}
	}
	if cap(b.Data) < n {
		b.Data = make([]byte, max(n, ChunkSize)) // most are nearly as large
	}
	b.Data = b.Data[:n]
	b.Numbers, b.from = b.Numbers[:0], nil
	return b
}

// Shift returns the number to add to the line numbers in a block that was scanned by Index.
func (f *File) Shift(c Chunk) int64 {
	if f.Numbered {
		return 0
	}
	return c.Line - 1
}

// Index reads the whole file once. It calls scan for each chunk, on several cores. The first line
// of its block is always 1, unless lines are numbered. done receives the results in file order,
// with the chunk's real first line. Index returns the chunks.
func Index[R any](ctx context.Context, f *File, workers int, scan func(b *Block) R,
	done func(c Chunk, r R) error) ([]Chunk, error) {
	type result struct {
		Chunk         // without its line number
		lines   int64 // number of lines
		tooLong bool  // a single line, to be skipped
		r       R
	}
	var chunks []Chunk
	off, line := f.Begin, int64(1)
	maxLine := f.MaxLine
	if maxLine <= 0 {
		maxLine = DefaultMaxLine
	}
	usual := min(ChunkSize, maxLine+1)
	size := usual
	var tail []byte
	next := func() (result, bool, error) {
		for off < f.Size {
			n := int(min(int64(size), f.Size-off))
			end := n
			if off+int64(n) < f.Size {
				var err error
				if end, err = f.lastBreak(off, n, &tail); err != nil {
					return result{}, false, err
				}
			}
			j := result{Chunk: Chunk{Off: off, Len: end}}
			if end == 0 {
				if n <= maxLine {
					size = min(size*4, maxLine+1)
					continue
				}
				// The line is longer than the limit: skip to its end.
				var err error
				if j.Len, j.lines, err = f.lineEnd(ctx, off); err != nil {
					return result{}, false, err
				}
				j.tooLong = true
			}
			size = usual
			off += int64(j.Len)
			return j, true, nil
		}
		return result{}, false, nil
	}
	work := func(_ int, j result) (result, error) {
		if j.tooLong {
			return j, nil
		}
		b := newBlock(j.Len)
		defer b.Release()
		b.from, b.off, b.Line = f, j.Off, 1
		if err := b.Load(); err != nil {
			return j, err
		}
		j.lines = int64(bytes.Count(b.Data, newline))
		if b.Data[j.Len-1] != '\n' {
			j.lines++
		}
		j.r = scan(b)
		return j, nil
	}
	err := pipeline.Run(ctx, workers, next, work, func(j result) error {
		j.Line = line
		line += j.lines
		if !j.tooLong {
			chunks = append(chunks, j.Chunk)
			return done(j.Chunk, j.r)
		}
		if f.TooLong != nil {
			return f.TooLong(j.Line, j.Off, int64(j.Len))
		}
		return nil
	})
	return chunks, err
}

var newline = []byte{'\n'}

// tailSize is the number of bytes at a chunk's end that are searched first.
const tailSize = 1 << 10

// lastBreak returns the end of the last whole line in the n bytes at off, relative to off, or 0 if
// there is none. It reads backwards, into buf.
func (f *File) lastBreak(off int64, n int, buf *[]byte) (int, error) {
	for size := min(n, tailSize); ; size = min(n, size*16) {
		if cap(*buf) < size {
			*buf = make([]byte, size)
		}
		data := (*buf)[:size]
		from := n - size
		if err := f.Read(data, off+int64(from)); err != nil {
			return 0, err
		}
		for {
			i := bytes.LastIndexByte(data, '\n')
			if i < 0 {
				break
			}
			if !f.Continued {
				return from + i + 1, nil
			}
			// Whether the line is continued is known only if its last word was read.
			l := bytes.TrimRight(data[:i], blanks)
			if len(l) == 0 && from > 0 && bytes.IndexByte(data[:i], '\n') < 0 {
				break
			}
			if !Continues(data[:i]) {
				return from + i + 1, nil
			}
			data = data[:i]
		}
		if size == n {
			return 0, nil
		}
	}
}

// blanks may stand between a backslash that continues a line and the line's end.
const blanks = "\r \t"

// Continues reports whether a line, without its line end, is continued by the next one.
func Continues(l []byte) bool {
	l = bytes.TrimRight(l, blanks)
	return len(l) > 0 && l[len(l)-1] == '\\'
}

// lineEnd returns the length of the line at off including the lines that continue it, and the
// number of these lines.
func (f *File) lineEnd(ctx context.Context, off int64) (n int, lines int64, err error) {
	buf := make([]byte, 1<<20)
	kept := 0 // bytes kept from the previous read, as a backslash may be the last one
	for at := off; at < f.Size; {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		m, err := f.R.ReadAt(buf[kept:], at)
		data := buf[:kept+m]
		for i := kept; ; {
			j := bytes.IndexByte(data[i:], '\n')
			if j < 0 {
				break
			}
			i += j
			lines++
			if !f.Continued || !Continues(data[:i]) {
				return int(at-off) - kept + i + 1, lines, nil
			}
			i++
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, err
		}
		if at += int64(m); m == 0 {
			break
		}
		if at == f.Size && data[len(data)-1] != '\n' {
			lines++
		}
		kept = copy(buf, data[max(0, len(data)-tailSize):])
	}
	return int(f.Size - off), lines, nil
}

// Source returns blocks of lines. Its Next is the next function of a pipeline.
type Source interface {
	// Next returns the next block, or nil after the last. Load reads its text.
	Next() (*Block, error)
}

// Next returns the next block of a source with its text, or nil after the last.
func Next(s Source) (*Block, error) {
	b, err := s.Next()
	if err != nil || b == nil {
		return nil, err
	}
	return b, b.Load()
}

// Chunks returns the given chunks of a file, one after another.
func (f *File) Chunks(list []Chunk) Source { return &chunkSource{f: f, list: list} }

type chunkSource struct {
	f    *File
	list []Chunk
	i    int
}

func (s *chunkSource) Next() (*Block, error) {
	if s.i >= len(s.list) {
		return nil, nil
	}
	c := s.list[s.i]
	b := newBlock(c.Len)
	b.Line, b.Seq = c.Line, s.i
	b.from, b.off = s.f, c.Off
	s.i++
	return b, nil
}

// Cut returns the parts of the chunks that lie in the bytes [from, to).
func Cut(list []Chunk, from, to, line int64) []Chunk {
	var out []Chunk
	for _, c := range list {
		end := c.Off + int64(c.Len)
		if end <= from || c.Off >= to {
			continue
		}
		if c.Off < from {
			c.Len -= int(from - c.Off)
			c.Off, c.Line = from, line
		}
		if end > to {
			c.Len -= int(end - to)
		}
		out = append(out, c)
	}
	return out
}

// Sorted returns the lines that were added to a sorter in the order of its keys. A line's payload
// begins with its number, 8 bytes, little endian.
func Sorted(it *extsort.Iterator) Source { return &sortedSource{it: it} }

type sortedSource struct {
	it  *extsort.Iterator
	seq int
}

func (s *sortedSource) Next() (*Block, error) {
	b := newBlock(0)
	for len(b.Data) < ChunkSize {
		r, ok, err := s.it.Next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		b.Numbers = append(b.Numbers, int64(binary.LittleEndian.Uint64(r.Data)))
		b.Data = append(b.Data, r.Data[8:]...)
		if n := len(b.Data); n == 0 || b.Data[n-1] != '\n' {
			b.Data = append(b.Data, '\n')
		}
	}
	if len(b.Data) == 0 {
		b.Release()
		return nil, nil
	}
	b.Seq = s.seq
	s.seq++
	return b, nil
}

// Walker iterates over the lines of a block.
type Walker struct {
	data     []byte
	numbers  []int64
	line     int64
	numbered bool
	join     bool
	plain    bool
	n        int
}

// Walk returns a walker before the first line of the block.
func (f *File) Walk(b *Block) Walker {
	w := Walker{data: b.Data, line: b.Line - 1, numbered: f.Numbered, join: f.Continued}
	if len(b.Numbers) > 0 {
		w.numbers = b.Numbers
	}
	w.plain = !f.Numbered && w.numbers == nil && len(b.Data) > 0 && b.Data[len(b.Data)-1] == '\n'
	return w
}

// Next returns the next line without its line end, and its number. ok is false
// after the last line. A joined line is a copy.
func (w *Walker) Next() (line []byte, number int64, ok bool) {
	l, ok := w.cut()
	if !ok {
		return nil, 0, false
	}
	number = w.line
	if w.join && len(l) > 0 && (l[len(l)-1] == '\\' || l[len(l)-1] <= ' ') && Continues(l) {
		first := number
		joined := append([]byte(nil), TrimContinuation(l)...)
		for {
			m, more := w.cut()
			if !more {
				break
			}
			cont := Continues(m)
			joined = append(joined, ' ')
			joined = append(joined, TrimContinuation(m)...)
			if !cont {
				break
			}
		}
		return joined, first, true
	}
	return l, number, true
}

// Plain reports whether the text is neither numbered nor reordered and ends in a line end, as Rest,
// Number and Skip require.
func (w *Walker) Plain() bool { return w.plain }

// Rest returns the text from the next line on. It is for readers that parse plain lines themselves
// and advance with Skip.
func (w *Walker) Rest() []byte { return w.data }

// Number returns the number of the next line.
func (w *Walker) Number() int64 { return w.line + 1 }

// Skip advances over the next line of n bytes with its line end, and returns its number.
func (w *Walker) Skip(n int) int64 {
	w.data = w.data[n:]
	w.line++
	return w.line
}

// Reader iterates over the lines of a whole file. It holds one chunk of text.
type Reader struct {
	Walker
	file    *File
	src     Source
	block   *Block
	skipped int64
}

// NewReader indexes the file and returns a reader before its first line.
func NewReader(ctx context.Context, f *File) (*Reader, error) {
	r := &Reader{file: f}
	counting := *f
	counting.TooLong = func(line, offset, length int64) error {
		r.skipped++
		if f.TooLong == nil {
			return nil
		}
		return f.TooLong(line, offset, length)
	}
	chunks, err := Index(ctx, &counting, 1, func(*Block) struct{} { return struct{}{} },
		func(Chunk, struct{}) error { return nil })
	r.src = f.Chunks(chunks)
	return r, err
}

// Skipped returns the number of lines that exceed the limit.
func (r *Reader) Skipped() int64 { return r.skipped }

// More reports whether there is another line, and reads more text if necessary. This invalidates
// lines that were returned before.
func (r *Reader) More() (bool, error) {
	for r.block == nil || len(r.data) == 0 {
		if r.block != nil {
			r.block.Release()
			r.block = nil
		}
		b, err := Next(r.src)
		if err != nil || b == nil {
			return false, err
		}
		r.block, r.Walker = b, r.file.Walk(b)
	}
	return true, nil
}

// Quote returns at most n bytes of a text in the form for messages.
func Quote(b []byte, n int) string {
	if len(b) > n {
		return fmt.Sprintf("%q…", b[:n])
	}
	return fmt.Sprintf("%q", b)
}

// TrimContinuation removes the backslash, and the blanks after it, from the end of a line.
func TrimContinuation(l []byte) []byte {
	l = bytes.TrimRight(l, blanks)
	if n := len(l); n > 0 && l[n-1] == '\\' {
		l = l[:n-1]
	}
	return l
}

func (w *Walker) cut() ([]byte, bool) {
	if len(w.data) == 0 {
		return nil, false
	}
	var l []byte
	if i := bytes.IndexByte(w.data, '\n'); i >= 0 {
		l, w.data = w.data[:i], w.data[i+1:]
	} else {
		l, w.data = w.data, nil
	}
	w.line++
	if w.numbers != nil {
		w.line = w.numbers[w.n]
		w.n++
	}
	if w.numbered {
		n, i := int64(0), 0
		for i < len(l) && l[i]-'0' <= 9 {
			n = n*10 + int64(l[i]-'0')
			i++
		}
		if i < len(l) && l[i] == '\t' {
			l = l[i+1:]
			w.line = n
		}
	}
	return l, true
}
