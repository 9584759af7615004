// Package lines reads large texts line by line. It divides a text into chunks of whole lines, which can be
// parsed independently. It can also deliver lines in another order than that of the file, from an external
// sort, with limited memory.
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

// ChunkSize is the number of bytes that are parsed together. The result of parsing them should fit
// into the processor's cache.
const ChunkSize = 64 << 10

// DefaultMaxLine is the default for the length limit of lines, in bytes.
const DefaultMaxLine = 16 << 20

// ByteOrderMark may precede the first line of a text. It is not part of the line.
const ByteOrderMark = "\uFEFF"

// File is a text that can be read at any offset, and the way in which it is divided into lines.
type File struct {
	R     io.ReaderAt
	Begin int64 // offset of the first line
	Size  int64
	Name  string
	// MaxLine is the length limit of lines, in bytes. 0 means DefaultMaxLine. Longer lines are
	// skipped and passed to TooLong.
	MaxLine int
	// TooLong is called for each line above the limit. length is the length of the line in bytes, and offset
	// its position in the file.
	TooLong func(line, offset, length int64) error
	// Continued is set if a backslash at the end of a line joins it to the next line.
	Continued bool
	// Numbered is set if each line begins with a number and a tab. The number is the number of the line in the
	// user's file, from which this text was converted.
	Numbered bool
	// Skipped points to the number of lines of the user's file that were too long or could not be converted.
	// It is nil if these lines are not counted.
	Skipped *int64
}

// Chunk is a part of a file that consists of whole lines.
type Chunk struct {
	Off  int64
	Len  int
	Line int64 // number of the chunk's first line; the first line of a file is 1
}

// Block is the text of a chunk. Line is the number of its first line. If the lines are not consecutive in the
// file, Numbers holds the number of each line.
type Block struct {
	Data    []byte
	Line    int64
	Numbers []int64
	Seq     int // index of the block in its scan
	from    *File
	off     int64
	pool    *sync.Pool
}

// Load reads the text of the block unless the text has already been read. Several goroutines may call Load for
// different blocks of a file at the same time.
func (b *Block) Load() error {
	f := b.from
	if f == nil {
		return nil
	}
	b.from = nil
	return f.Read(b.Data, b.off)
}

// Read reads the text at the offset off into data, which it must fill completely.
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

// Release returns the memory of the block for reuse. Nothing may refer to the text afterwards.
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
		b.Data = make([]byte, max(n, ChunkSize)) // most blocks have almost this size
	}
	b.Data = b.Data[:n]
	b.Numbers, b.from = b.Numbers[:0], nil
	return b
}

// Shift returns the number that converts line numbers in a block of [Index] to line numbers in the file, by
// addition.
func (f *File) Shift(c Chunk) int64 {
	if f.Numbered {
		return 0
	}
	return c.Line - 1
}

// Index reads the whole file once, and calls scan for each chunk, on several cores. In each block, the first
// line has the number 1, unless File.Numbered is set. done gets the results in the order of the file, with
// chunks that have the right line numbers. Index returns all chunks.
func Index[R any](ctx context.Context, f *File, workers int, scan func(b *Block) R,
	done func(c Chunk, r R) error) ([]Chunk, error) {
	type result struct {
		Chunk         // the number of the chunk's first line is set later
		lines   int64 // number of lines in the chunk
		tooLong bool  // the chunk is a single line above the limit
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
				// The line is longer than the limit. Find the end of the line, and skip the line.
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

// tailSize is the number of bytes at the end of a chunk that are first searched for a line end.
const tailSize = 1 << 10

// lastBreak returns the end of the last whole line in the n bytes at off, relative to off. It returns 0 if no
// line ends there. lastBreak reads backwards into buf, and enlarges buf if necessary.
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
			// The last word of the line shows whether the next line continues it, so the word must have been
			// read.
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

// blanks are the characters that may follow the backslash of a continued line.
const blanks = "\r \t"

// Continues reports whether the next line continues the line l. l must not contain the line end.
func Continues(l []byte) bool {
	l = bytes.TrimRight(l, blanks)
	return len(l) > 0 && l[len(l)-1] == '\\'
}

// lineEnd returns the length of the line at off, including the lines that continue it, and the number of all
// these lines.
func (f *File) lineEnd(ctx context.Context, off int64) (n int, lines int64, err error) {
	buf := make([]byte, 1<<20)
	kept := 0 // bytes at the end of the previous read that are kept, because they may contain the backslash
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

// Source returns blocks of lines. Its method Next can be used as the next function of a pipeline.
type Source interface {
	// Next returns the next block, whose text has not been read, or nil after the last block.
	Next() (*Block, error)
}

// Next returns the next block of a source and reads its text. It returns nil after the last block.
func Next(s Source) (*Block, error) {
	b, err := s.Next()
	if err != nil || b == nil {
		return nil, err
	}
	return b, b.Load()
}

// Chunks returns a source of the given chunks of the file, in this order.
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

// Cut returns the parts of chunks that lie in the bytes [from, to) of the file. line is the number of the
// first line in this range.
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

// Sorted returns a source with the lines that were added to a sorter, in the order of their keys.
// The data of a record must be the number of the line, as 8 bytes in little-endian order, and its
// text.
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

// Next returns the next line, without its line end, and its number. ok is false after the last line. A line
// that is joined from several lines is a copy; other lines share the memory of the block.
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

// Plain reports whether Rest, Number and Skip may be used: the lines are neither numbered nor
// reordered, and the text ends in a line end.
func (w *Walker) Plain() bool { return w.plain }

// Rest returns the text from the next line on, for readers that find the ends of simple lines
// themselves and call Skip.
func (w *Walker) Rest() []byte { return w.data }

// Number returns the number of the next line.
func (w *Walker) Number() int64 { return w.line + 1 }

// Skip moves past the next line, which has n bytes including its line end, and returns its number.
func (w *Walker) Skip(n int) int64 {
	w.data = w.data[n:]
	w.line++
	return w.line
}

// Reader iterates over the lines of a whole file. It keeps one chunk of text in memory.
type Reader struct {
	Walker
	file    *File
	src     Source
	block   *Block
	skipped int64
}

// NewReader indexes the file, and returns a reader before the first line.
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

// Skipped returns the number of lines above the length limit.
func (r *Reader) Skipped() int64 { return r.skipped }

// More reports whether the file has another line. It may read more text, which makes lines that were returned
// before invalid.
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

// Quote returns at most n bytes of a text, quoted for a message.
func Quote(b []byte, n int) string {
	if len(b) > n {
		return fmt.Sprintf("%q…", b[:n])
	}
	return fmt.Sprintf("%q", b)
}

// TrimContinuation removes the backslash of a continued line, and the blanks after it.
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
