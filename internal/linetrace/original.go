package linetrace

import (
	"bytes"
	"slices"
	"sort"

	"github.com/weft-trace/weft/internal/lines"
)

// Lines returns lines of a text by their numbers. Encoders use it to write unchanged lines with their original
// text. It caches the pieces of the text that were used recently.
type Lines struct {
	text        *Text
	pieces      map[piece]*pieceText
	cachedBytes int             // size of the cached pieces, in bytes
	starts      map[int][]int64 // offsets in the file at which the pieces of each chunk begin
	last        *pieceText
	chunk       []byte // buffer for reading a chunk
	joined      []byte
}

// pieceLines is the number of lines in a piece. Pieces are the units of the cache.
const pieceLines = 64

// maxHeld limits the total size of the cached pieces, in bytes. Each run of a file needs a piece, which has a
// few thousand bytes.
const maxHeld = 16 << 20

// piece identifies a piece by the number of its chunk and its index in the chunk.
type piece struct{ chunk, n int }

// pieceText is the text of a piece.
type pieceText struct {
	data      []byte
	line, end int64 // number of the first line of the piece, and number of the line after its last line
	// begin is the offset in data of the line with number at, which was requested last.
	at    int64
	begin int
}

// NewLines returns a Lines for a text whose lines have the same numbers as in the user's file.
func NewLines(t *Text) *Lines {
	return &Lines{text: t, pieces: map[piece]*pieceText{}, starts: map[int][]int64{}}
}

// At returns the line with the given number, without its line end. It appends the lines that continue the line. It
// returns nil if the line does not exist or is above the length limit. The result is valid until the next
// call.
func (ls *Lines) At(number int64) ([]byte, error) {
	l, err := ls.physical(number)
	if err != nil || !ls.text.File.Continued || !lines.Continues(l) {
		for len(l) > 0 && l[len(l)-1] == '\r' {
			l = l[:len(l)-1]
		}
		return l, err
	}
	ls.joined = append(ls.joined[:0], lines.TrimContinuation(l)...)
	for next := number + 1; ; next++ {
		if l, err = ls.physical(next); err != nil || l == nil {
			return ls.joined, err
		}
		more := lines.Continues(l)
		ls.joined = append(append(ls.joined, ' '), lines.TrimContinuation(l)...)
		if !more {
			return ls.joined, nil
		}
	}
}

// physical returns the line of the file with the given number, without its line feed. It does not join the line with
// the lines that continue it.
func (ls *Lines) physical(number int64) ([]byte, error) {
	p := ls.last
	if p == nil || number < p.line || number >= p.end {
		var err error
		if p, err = ls.piece(number); err != nil || p == nil {
			return nil, err
		}
		ls.last = p
	}
	if number < p.at {
		p.at, p.begin = p.line, 0
	}
	for ; p.at < number; p.at++ {
		i := bytes.IndexByte(p.data[p.begin:], '\n')
		if i < 0 {
			p.at, p.begin = p.line, 0
			return nil, nil
		}
		p.begin += i + 1
	}
	l := p.data[p.begin:]
	if i := bytes.IndexByte(l, '\n'); i >= 0 {
		return l[:i:i], nil
	}
	if len(l) == 0 {
		return nil, nil
	}
	return l, nil
}

// piece returns the piece that contains the line with the given number.
func (ls *Lines) piece(number int64) (*pieceText, error) {
	chunks := ls.text.Chunks
	i := sort.Search(len(chunks), func(i int) bool { return chunks[i].Line > number }) - 1
	if i < 0 {
		return nil, nil
	}
	c := chunks[i]
	k := piece{i, int(number-c.Line) / pieceLines}
	if p := ls.pieces[k]; p != nil {
		return p, nil
	}
	starts, err := ls.split(i)
	if err != nil || k.n >= len(starts) {
		return nil, err
	}
	end := c.Off + int64(c.Len)
	if k.n+1 < len(starts) {
		end = starts[k.n+1]
	}
	p := &pieceText{line: c.Line + int64(k.n)*pieceLines, data: make([]byte, end-starts[k.n])}
	p.at, p.end = p.line, p.line+pieceLines
	if i+1 < len(chunks) {
		p.end = min(p.end, chunks[i+1].Line)
	}
	if err := ls.text.File.Read(p.data, starts[k.n]); err != nil {
		return nil, err
	}
	if ls.cachedBytes += len(p.data); ls.cachedBytes > min(maxHeld, ls.text.Opt.SortMemory()) {
		clear(ls.pieces)
		ls.cachedBytes = len(p.data)
	}
	ls.pieces[k] = p
	return p, nil
}

// split returns the offsets in the file at which the pieces of a chunk begin.
func (ls *Lines) split(chunk int) ([]int64, error) {
	if s, ok := ls.starts[chunk]; ok {
		return s, nil
	}
	c := ls.text.Chunks[chunk]
	ls.chunk = slices.Grow(ls.chunk[:0], c.Len)[:c.Len]
	data := ls.chunk
	if err := ls.text.File.Read(data, c.Off); err != nil {
		return nil, err
	}
	var s []int64
	at := 0
	for line := 0; at < len(data); line++ {
		if line%pieceLines == 0 {
			s = append(s, c.Off+int64(at))
		}
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	ls.starts[chunk] = slices.Clip(s)
	return s, nil
}
