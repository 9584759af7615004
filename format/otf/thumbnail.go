package otf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// Thumbnail holds, for each process, the function on top of its call stack at Width equally spaced
// times. It is the content of the file NAME.thumb that otfaux writes with libotfaux. Sample i is taken
// at First + i·(Last−First)/Width, rounded down, after the events of that time. The file does not
// contain First and Last.
type Thumbnail struct {
	Width     int
	Processes []ThumbnailProcess
}

// ThumbnailProcess is a process of a [Thumbnail].
type ThumbnailProcess struct {
	Process uint64
	// Functions holds the token of the function at each sample; 0 if no function is open.
	Functions []uint32
}

// maxThumbnail limits the number of samples of a thumbnail, and maxThumbnailSize the size of its file in
// bytes. A sample has at least two bytes.
const (
	maxThumbnail     = 1 << 26
	maxThumbnailSize = 2 * maxThumbnail
)

// Thumbnail returns the thumbnail of the events that the reader selects. It contains all processes
// that the trace defines and the reader selects, in the order of their numbers. Its width is at
// most width, and at most the number of ticks between the first and the last event. Both are as in otfaux.
// The events are read twice and must be in the order of time.
func (r *Reader) Thumbnail(ctx context.Context, width int) (*Thumbnail, error) {
	t, _, err := r.thumbnail(ctx, width, r.selects)
	return t, err
}

// thumbnail returns the thumbnail of the processes for which shows returns true, and the times of the first and
// the last event.
func (r *Reader) thumbnail(ctx context.Context, width int, shows func(process uint64) bool) (*Thumbnail, TimeRange,
	error) {
	var span TimeRange
	if err := readSpan(ctx, r, &span, true); err != nil {
		return nil, span, err
	}
	t := &Thumbnail{Width: int(min(uint64(max(width, 0)), span.Last-span.First))}
	rows := map[uint64]*thumbnailRow{}
	if err := r.eachDefinition(ctx, func(x *Record) {
		if x.Type == DefProcess && shows(x.Token) {
			rows[x.Token] = &thumbnailRow{}
		}
	}); err != nil {
		return nil, span, err
	}
	if len(rows)*t.Width > maxThumbnail {
		return nil, span, fmt.Errorf("%s: found %s with %s, expected at most %d samples",
			r.src.Path, plural.Of(len(rows), "process", "processes"), plural.Of(t.Width, "sample"), maxThumbnail)
	}
	q := *r
	q.opt.OneByOne = true
	c, err := q.Cursor(ctx, Events)
	if err != nil {
		return nil, span, err
	}
	defer c.Close()
	at := func(i int) uint64 { return t.time(span, i) }
	for c.Next() {
		x := c.Record()
		row := rows[x.Process]
		if row == nil || x.Type != Enter && x.Type != Leave {
			continue
		}
		for len(row.functions) < t.Width && at(len(row.functions)) < x.Time {
			row.sample()
		}
		if x.Type == Enter {
			row.stack = append(row.stack, uint32(x.Function))
		} else if n := len(row.stack); n > 0 {
			row.stack = row.stack[:n-1]
		}
	}
	for p, row := range rows {
		for len(row.functions) < t.Width {
			row.sample()
		}
		t.Processes = append(t.Processes, ThumbnailProcess{p, row.functions})
	}
	slices.SortFunc(t.Processes, func(a, b ThumbnailProcess) int { return int(int64(a.Process) - int64(b.Process)) })
	return t, span, c.Err()
}

// time returns the time of sample i.
func (t *Thumbnail) time(span TimeRange, i int) uint64 {
	hi, lo := bits.Mul64(uint64(i), span.Last-span.First)
	v, _ := bits.Div64(hi, lo, uint64(t.Width))
	return span.First + v
}

// thumbnailRow is the state of a process whose thumbnail is computed.
type thumbnailRow struct {
	stack     []uint32
	functions []uint32
}

func (t *thumbnailRow) sample() {
	f := uint32(0)
	if n := len(t.stack); n > 0 {
		f = t.stack[n-1]
	}
	t.functions = append(t.functions, f)
}

// AppendTo appends the text of the thumbnail file to b.
func (t *Thumbnail) AppendTo(b []byte) []byte {
	b = appendHex(append(b, "0:"...), uint64(t.Width))
	b = append(appendHex(append(b, ','), uint64(len(t.Processes))), '\n')
	for i := range t.Processes {
		b = append(appendHex(b, t.Processes[i].Process), ':')
		for _, f := range t.Processes[i].Functions {
			b = append(appendHex(b, uint64(f)), ',')
		}
		b = append(b, '\n')
	}
	return b
}

// WriteTo writes the text of the thumbnail file.
func (t *Thumbnail) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(t.AppendTo(nil))
	return int64(n), err
}

// ReadThumbnail reads the thumbnail of the trace src, whose name may lack ".otf". If the trace has no
// thumbnail, the error is [io/fs.ErrNotExist]. If the text is not that of a thumbnail, the error is a
// [trace.Defect].
func ReadThumbnail(src format.Source) (*Thumbnail, error) {
	return readThumbnail(src, strings.TrimSuffix(src.Name, ".otf"))
}

// readThumbnail reads the thumbnail of the trace whose files have names that begin with stub.
func readThumbnail(src format.Source, stub string) (*Thumbnail, error) {
	path := strings.TrimSuffix(src.Path, src.Name) + stub + thumbnailSuffix
	f, size, err := src.OpenName(stub + thumbnailSuffix)
	if err != nil {
		return nil, fileError(path, err)
	}
	defer f.Close()
	if size > maxThumbnailSize {
		return nil, thumbnailDefect(path, 0, "a thumbnail of "+plural.Of(size, "byte"),
			fmt.Sprintf("at most %d", maxThumbnailSize))
	}
	text := make([]byte, size)
	if _, err := f.ReadAt(text, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fileError(path, err)
	}
	return parseThumbnail(text, path)
}

// parseThumbnail parses the text of a thumbnail file.
func parseThumbnail(text []byte, path string) (*Thumbnail, error) {
	number := int64(0)
	defect := func(found, expected string) error { return thumbnailDefect(path, number, found, expected) }
	bad := func(s *scanner, expected string) error { return defect(s.rest(), expected) }
	line := func() *scanner {
		number++
		l, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		return &scanner{l: l}
	}
	pass := func(s *scanner, c byte) bool {
		if s.skip(); s.i == len(s.l) || s.l[s.i] != c {
			return false
		}
		s.i++
		return true
	}
	s := line()
	if s.hex() != 0 || !pass(s, ':') {
		return nil, bad(s, "0:width,processes")
	}
	width := s.hex()
	if !pass(s, ',') || width > math.MaxInt32 {
		return nil, bad(s, "0:width,processes, of at most 31 bits")
	}
	t := &Thumbnail{Width: int(width)}
	for count := s.hex(); uint64(len(t.Processes)) < count; {
		s := line()
		p := ThumbnailProcess{Process: s.hex()}
		if !pass(s, ':') {
			return nil, bad(s, fmt.Sprintf("the line of process %d of %d", len(t.Processes)+1, count))
		}
		if p.Functions, _ = s.members("", nil); len(p.Functions) != t.Width || !s.end() {
			return nil, defect(plural.Of(len(p.Functions), "function"), fmt.Sprintf("%d, each with a comma", t.Width))
		}
		t.Processes = append(t.Processes, p)
	}
	if s := line(); !s.end() {
		return nil, bad(s, "the end of the file after the last process")
	}
	return t, nil
}

// thumbnailDefect returns a defect in a line of a thumbnail file.
func thumbnailDefect(path string, line int64, found, expected string) *trace.Defect {
	return &trace.Defect{Rule: "otf.thumbnail", Severity: trace.Warning,
		Position: trace.Position{File: path, Line: line}, Found: found, Expected: expected}
}

// visitSum is a checksum of the data that a thumbnail shows: the visits, and the times of the first and the
// last event. It does not depend on the order of the records.
type visitSum struct {
	any         bool
	first, last uint64
	visits      uint64
}

// add updates the checksum with a record of an event file.
func (v *visitSum) add(r *Record) {
	if !v.any {
		v.any, v.first, v.last = true, r.Time, r.Time
	}
	v.first, v.last = min(v.first, r.Time), max(v.last, r.Time)
	if r.Type != Enter && r.Type != Leave {
		return
	}
	function := uint64(0) // stays 0 for a leave, because thumbnails do not depend on its function
	if r.Type == Enter {
		function = r.Function + 1
	}
	h := uint64(1)
	for _, x := range [...]uint64{r.Time, r.Process, function} {
		h = (h ^ x) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	v.visits += h
}

// hasThumbnail reports whether the trace has a thumbnail.
func (r *Reader) hasThumbnail() bool {
	f, _, err := r.src.OpenName(r.stub + thumbnailSuffix)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// keepThumbnails copies the thumbnail of an OTF trace that is written again, if the visits that it shows have
// not changed. Other thumbnails count as lost.
func (e *encoder) keepThumbnails() error {
	if e.original == nil {
		return nil
	}
	// A thumbnail only repeats the events, so the trace itself loses nothing without it.
	lose := func(reason string) { e.loss.Add("trace", "thumbnail", format.Degraded, reason, 1) }
	only := e.original.onlyTrace()
	if only == nil {
		reason := "it may show processes and functions whose definitions were left out"
		if len(e.original.sources) > 1 {
			reason = "it shows only one of the joined traces"
		}
		for _, s := range e.original.sources {
			if s.r.hasThumbnail() {
				lose(reason)
			}
		}
		return nil
	}
	if e.written == nil {
		return nil
	}
	q := *only.r.withoutReport()
	q.opt.OneByOne = true
	c, err := q.Cursor(context.Background(), Events)
	if err != nil {
		return err
	}
	defer c.Close()
	var had visitSum
	for c.Next() {
		had.add(c.Record())
	}
	if err := c.Err(); err != nil {
		return err
	}
	if had != *e.written {
		lose("the events that it shows were removed or moved to other times")
		return nil
	}
	e.files.r, e.files.ctx = only.r, context.Background()
	return e.files.copyThumbnail()
}
