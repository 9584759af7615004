package otf

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/flate"

	"github.com/weft-trace/weft/format/internal/archive"
)

// readSize is the number of bytes that are read at once from a file, unless there are many files.
const readSize = 256 << 10

// slack is the number of bytes after the text in a buffer that code may read.
const slack = 64

// lineReader reads the lines of a file, which may be compressed.
type lineReader struct {
	h     *archive.Input
	name  string // name of the file as the user wrote it
	r     io.Reader
	zip   io.ReadCloser // decompressor; nil for a plain file
	read  int64         // number of bytes of the file that have been read
	begun int64         // position in a compressed file at which decompression began
	stop  int64         // position in the file at which reading ends
	buf   []byte
	at    int   // index in buf at which the current line begins
	from  int   // index in buf at which the next line begins
	base  int64 // offset of buf in the text; in a compressed file, in the text that begins at begun
	end   bool  // the end of the file has been read
	bad   error // error of the compressed data
	max   int   // length in bytes of the longest line that is read
	// readSize is the number of bytes that are read at once; 0 means the constant readSize.
	readSize int
	// few is the number of bytes to read next if only a part of the file may be needed. It grows by a
	// quarter with each read. 0 means chunk.
	few  int
	kept *readCache // bytes that were read earlier
	// probes holds the results of earlier searches; nil keeps none.
	probes *probes
	long   int64 // number of bytes in skipped lines, which were longer than max
	skip   bool  // the current line is being skipped

	progress *progress
}

// zipChunk returns the number of bytes that are read at once from a compressed file.
func (t *lineReader) zipChunk() int {
	n := 64 << 10
	if t.readSize > 0 {
		n = min(n, t.readSize)
	}
	if t.few > 0 {
		n = min(n, 4*window)
	}
	return n
}

// expectFew makes the first reads small, because only a part of the file may be needed. Nothing must have been read
// yet.
func (t *lineReader) expectFew() {
	t.few = 4 * window
	if t.zip != nil {
		t.begin(t.begun)
	}
}

// section reads the bytes of a file between read and stop, and advances read.
type section struct{ t *lineReader }

func (s section) Read(p []byte) (int, error) {
	t := s.t
	if t.read >= t.stop {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), t.stop-t.read)]
	if t.zip != nil && t.few > 0 {
		p = p[:min(len(p), max(window, t.few/4))]
	}
	n, err := t.kept.readAt(t.h, p, t.read)
	t.read += int64(n)
	t.progress.add(int64(n))
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// openLines begins to read a file.
func openLines(h *archive.Input, name string, compressed bool, max, readSize int) *lineReader {
	t := &lineReader{h: h, name: name, stop: h.Size, max: max, readSize: readSize}
	t.r = section{t}
	if compressed {
		t.begun = 2
		t.read = t.begun // the header of the zlib stream has been read
		t.zip = flate.NewReader(bufio.NewReaderSize(t.r, t.zipChunk()))
		t.r = t.zip
	}
	return t
}

// fill moves the unread text to the front of the buffer and reads more after it.
func (t *lineReader) fill() error {
	rest := len(t.buf) - t.from
	if t.from > 0 {
		copy(t.buf, t.buf[t.from:])
		t.base += int64(t.from)
		t.buf, t.from = t.buf[:rest], 0
	}
	most := t.readSize
	if most == 0 {
		most = readSize
	}
	few := t.few > 0 && t.few < most
	if few {
		most, t.few = t.few, t.few+t.few/4
	} else {
		t.few = 0
	}
	room := most
	if t.zip == nil { // for a small file, a buffer of the size of the file is enough
		room = int(min(int64(most), max(t.stop-t.read, 0))) + 1
	}
	if cap(t.buf)-slack-rest < min(room, most/2) {
		b := make([]byte, rest, max(room, 2*rest)+slack)
		copy(b, t.buf)
		t.buf = b
	}
	end := cap(t.buf) - slack
	if few {
		end = min(end, rest+most)
	}
	for {
		n, err := t.r.Read(t.buf[rest:end])
		t.buf = t.buf[:rest+n]
		switch {
		case err == nil && n == 0:
			continue
		case err == nil:
		case err == io.EOF, t.zip != nil && errors.Is(err, io.ErrUnexpectedEOF):
			// libotf writes no end mark in compressed data, so the end of the file is the end of the data.
			t.end = true
		case t.zip != nil && isCorrupt(err):
			t.end, t.bad = true, err
		default:
			return fmt.Errorf("%s:0x%x: %w", t.name, t.read, err)
		}
		return nil
	}
}

func isCorrupt(err error) bool {
	var c flate.CorruptInputError
	var i flate.InternalError
	return errors.As(err, &c) || errors.As(err, &i)
}

// line returns the next line without its line end, and its offset in the text. The line is valid until
// the next call. whole is false for a last line without a line end.
func (t *lineReader) line() (l []byte, off int64, whole, ok bool, err error) {
	seen := 0
	for {
		if i := bytes.IndexByte(t.buf[t.from+seen:], '\n'); i >= 0 {
			l, off = t.buf[t.from:t.from+seen+i], t.base+int64(t.from)
			t.at = t.from
			t.from += seen + i + 1
			if t.skip {
				t.skip, seen = false, 0
				t.long += int64(len(l))
				continue
			}
			return l, off, true, true, nil
		}
		seen = len(t.buf) - t.from
		if seen > t.max {
			// Skip the line: continue after its end.
			t.long += int64(seen)
			t.from, seen = len(t.buf), 0
			t.skip = true
		}
		if t.end {
			l, off = t.buf[t.from:], t.base+int64(t.from)
			t.from = len(t.buf)
			if t.skip {
				t.skip = false
				t.long += int64(len(l))
				l = nil
			}
			return l, off, false, len(l) > 0, nil
		}
		if err := t.fill(); err != nil {
			return nil, 0, false, false, err
		}
	}
}

// extend returns the current line joined with the next one. more is the number of bytes that were
// added. ok is false if no further line exists or the joined line would be too long. The slice that
// line returned becomes invalid.
func (t *lineReader) extend() (l []byte, more int, ok bool, err error) {
	for seen := t.from; ; {
		if i := bytes.IndexByte(t.buf[seen:], '\n'); i >= 0 {
			more = seen + i - (t.from - 1)
			t.from = seen + i + 1
			return t.buf[t.at : seen+i], more, true, nil
		}
		if t.end || len(t.buf)-t.at > t.max {
			return nil, 0, false, nil
		}
		seen = len(t.buf) - t.at
		size := t.from - t.at
		t.from = t.at
		if err := t.fill(); err != nil {
			return nil, 0, false, err
		}
		t.at, t.from = 0, size
	}
}

// window is the number of bytes that a search reads at each position. nearWindow is the distance from
// the wanted time at which a search ends.
const (
	window     = 4 << 10
	nearWindow = 2 * window
)

// restartMark is the sequence of bytes before a restart point of a compressed file. If the writer has reset
// its dictionary there, decompression can begin after these bytes.
var restartMark = []byte{0, 0, 0xff, 0xff}

// mostGuesses is the number of positions of a search that are guessed from times. The others halve the file.
const mostGuesses = 8

// searchZip is like search, for compressed files. It looks for times after restart points. In a file without
// restart points, the position stays at the beginning.
func (t *lineReader) searchZip(from uint64) error {
	lo, hi := int64(2), t.h.Size            // decompression can begin at lo
	known, end := t.probes.ends(t.name), hi // times at lo and end
	below, margin := true, int64(2*window)
	for step := 0; hi-lo > 4*window; step++ {
		mid := lo + (hi-lo)/2
		guess := step < mostGuesses && known.last > known.first && margin < hi-lo
		if guess {
			// Times mostly ascend evenly. One position lies before the expected one, and then one after it. Their
			// distance from the expected one grows as long as that fails.
			mid = lo + known.place(from, end-lo) + margin
			if below {
				mid -= 2 * margin
			}
			mid = min(max(mid, lo+window), hi-window)
		}
		at, time, err := t.probes.findOnce(t.name, mid, hi, func() (int64, uint64, error) {
			at, _, time, err := t.restartAfter(mid, hi)
			return at, time, err
		})
		if err != nil {
			return err
		}
		early := at >= 0 && time < from
		if early {
			lo, known.first = at, time
		} else {
			hi, end, known.last = mid, at, time
		}
		if !guess {
			continue
		}
		if early == below {
			below = !below
		} else {
			margin *= 4
		}
	}
	if lo == 2 {
		return nil
	}
	return t.beginAfter(lo)
}

// beginAfter reads a compressed file from the first time line after a restart point on. The first reads are small.
func (t *lineReader) beginAfter(restart int64) error {
	t.few, t.stop = 4*window, t.h.Size
	t.begin(restart)
	if err := t.fill(); err != nil {
		return err
	}
	if i, _ := firstTime(t.buf); i >= 0 {
		t.from = i
	}
	return nil
}

// begin reads a compressed file from offset off on.
func (t *lineReader) begin(off int64) {
	t.begun, t.read, t.buf, t.from, t.base, t.end = off, off, t.buf[:0], 0, 0, false
	t.kept.begin(off)
	t.zip.(flate.Resetter).Reset(bufio.NewReaderSize(section{t}, t.zipChunk()), nil)
}

// limitToPiece limits reading to a piece of the file.
func (t *lineReader) limitToPiece(p piece) error {
	t.stop = p.to
	if t.zip == nil {
		t.read, t.base = p.from, p.from
		return nil
	}
	if p.from > 0 {
		t.begin(p.from)
	}
	t.r = io.MultiReader(unterminated{t.zip}, bytes.NewReader(p.tail))
	_, err := io.CopyN(io.Discard, t.r, int64(p.skip))
	return err
}

// unterminated reads compressed data that has no end mark. It turns the missing end into a normal end
// of the data.
type unterminated struct{ r io.Reader }

func (e unterminated) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// restartAfter returns the first restart point between off and end that is soon followed by a time
// line with a process line. at is -1 if there is none. before is the text between the restart point
// and the time line.
func (t *lineReader) restartAfter(off, end int64) (at int64, before []byte, time uint64, err error) {
	buf := make([]byte, 64<<10)
	for size := int64(window); end-off >= int64(len(restartMark)); size = min(size+size/4, int64(len(buf))) {
		n, err := t.h.ReadAt(buf[:min(size, end-off)], off)
		if err != nil && !errors.Is(err, io.EOF) {
			return -1, nil, 0, fmt.Errorf("%s:0x%x: %w", t.name, off, err)
		}
		i := bytes.Index(buf[:n], restartMark)
		if i < 0 {
			off += int64(max(n-len(restartMark)+1, 1))
			continue
		}
		off += int64(i + len(restartMark))
		// The data can contain the same bytes by chance. Decompression from such a position fails, or yields a
		// text that is not in the format.
		before, time, ok, err := t.firstTimeAfter(off, buf[i+len(restartMark):n])
		if ok || err != nil {
			return off, before, time, err
		}
	}
	return -1, nil, 0, nil
}

// firstTimeAfter returns the first time in the text after a restart point, and the text before its time line. have
// holds the bytes of the file after the restart point that have been read. firstTimeAfter reads few more if there is a
// time soon. ok is false if there is none in 16 KiB of text, or if the data is not a text.
func (t *lineReader) firstTimeAfter(off int64, have []byte) (before []byte, time uint64, ok bool, err error) {
	text := make([]byte, 16<<10)
	data := bytes.Clone(have)
	for size := window / 2; ; size *= 2 {
		if missing := min(int64(size), t.h.Size-off) - int64(len(data)); missing > 0 {
			more := make([]byte, missing)
			if _, err := t.h.ReadAt(more, off+int64(len(data))); err != nil && !errors.Is(err, io.EOF) {
				return nil, 0, false, fmt.Errorf("%s:0x%x: %w", t.name, off, err)
			}
			data = append(data, more...)
		}
		z := flate.NewReader(bytes.NewReader(data))
		n, err := io.ReadFull(z, text)
		z.Close()
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			return nil, 0, false, nil
		}
		if i, time := firstTime(text[:n]); i >= 0 {
			return text[:i], time, true, nil
		}
		if n == len(text) || off+int64(len(data)) >= t.h.Size {
			return nil, 0, false, nil
		}
	}
}

// restartNearEnd returns the first restart point in a part of the file that begins back bytes before its end, or -1.
// Calls with twice as many bytes search the file backwards. The parts overlap by more than a restart mark.
func (t *lineReader) restartNearEnd(back int64) (at int64, err error) {
	off, end := t.h.Size-back, min(t.h.Size, t.h.Size-back/2+endBytes)
	at, _, err = t.probes.findOnce(t.name, off, end, func() (int64, uint64, error) {
		at, _, time, err := t.restartAfter(off, end)
		return at, time, err
	})
	return at, err
}

// firstTime returns the position of the first time line that is followed by a process line, or -1 if there is
// none. firstTime ignores the first line, which may be incomplete.
func firstTime(text []byte) (at int, time uint64) {
	for i := bytes.IndexByte(text, '\n') + 1; i > 0; {
		k := bytes.IndexByte(text[i:], '\n')
		if k < 0 || i+k+1 >= len(text) {
			break
		}
		kind, _ := lineType(text[i : i+k])
		if next, _ := lineType(text[i+k+1:]); kind == timeLine && next == processLine {
			s := scanner{l: text[i : i+k]}
			return i, s.hex()
		}
		i += k + 1
	}
	return -1, 0
}

// search moves by bisection to a position before the first time that is not less than from. The
// position is near that time if the times ascend (docs/formats/otf.md, "Time search").
func (t *lineReader) search(from uint64) error {
	if t.zip != nil {
		return t.searchZip(from)
	}
	lo, hi := int64(0), t.h.Size
	buf := make([]byte, window)
	for hi-lo > nearWindow {
		mid := lo + (hi-lo)/2
		at, time, err := t.probes.findOnce(t.name, mid, hi, func() (int64, uint64, error) {
			return t.timeAfter(mid, hi, buf)
		})
		if err != nil {
			return err
		}
		if at >= 0 && time < from {
			lo = at
		} else {
			hi = mid
		}
	}
	t.readFrom(lo)
	return nil
}

// readFrom reads a plain file from off to its end. The first reads are small, because only a part of
// the file may be needed.
func (t *lineReader) readFrom(off int64) {
	t.read, t.stop, t.base, t.few = off, t.h.Size, off, 4*window
	t.kept.begin(off)
	t.buf, t.at, t.from, t.end = t.buf[:0], 0, 0, false
}

// timeAfter returns the position of the first time line between off and end that is followed by a
// process line, or -1 if there is none.
func (t *lineReader) timeAfter(off, end int64, buf []byte) (at int64, time uint64, err error) {
	for off < end {
		n, err := t.h.ReadAt(buf[:min(int64(len(buf)), end-off)], off)
		if err != nil && !errors.Is(err, io.EOF) {
			return -1, 0, fmt.Errorf("%s:0x%x: %w", t.name, off, err)
		}
		data := buf[:n]
		if i, time := firstTime(data); i >= 0 {
			return off + int64(i), time, nil
		}
		// Go back to the line end before the last two lines, because the first of these may be the time line.
		last := bytes.LastIndexByte(data, '\n')
		if last > 0 {
			last = bytes.LastIndexByte(data[:last], '\n')
		}
		if last <= 0 {
			last = max(n, 1)
		}
		off += int64(last)
		if n < len(buf) {
			break
		}
	}
	return -1, 0, nil
}

// Close closes the file.
func (t *lineReader) Close() {
	if t.zip != nil {
		t.zip.Close()
	}
	t.h.Close()
}
