package otf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/trace"
)

// Options are the settings of a [Reader]. The zero value reads everything.
type Options struct {
	// Read says how defects are treated and where they go; nil is lenient.
	Read *format.ReadOptions
	// Files limits the number of open files; nil sets no limit.
	Files *FileManager
	// From and To bound the time of events, snapshots and statistics: From ≤ time
	// < To. A To of 0 is no bound. The beginning is searched for and reading stops
	// at the end, which needs files in the order of time.
	From, To uint64
	// Processes tells which processes are wanted; nil is all. The answer for a
	// process must not change while a cursor is read.
	Processes func(process uint64) bool
	// OneByOne delivers the records stream after stream, not in the order of time.
	OneByOne bool
	// Buffer is how much is read at once from each file, in bytes, at least 4096; 0 is
	// 256 KiB, less where many streams are read together. The longest line that is met
	// needs room too.
	Buffer int
	// AsLibrary follows libotf where it is not as helpful as this package: records
	// of processes that the master file does not name are left out, a malformed
	// record ends all reading of its part, and simultaneous records of several
	// streams come in the order that libotf's heap makes.
	AsLibrary bool

	printing bool // for PrintCompat
}

// Reader reads a trace (docs/formats/otf.md). Its methods but [Reader.Select] may be
// called by several goroutines at once; a [Cursor] serves one at a time.
type Reader struct {
	src      format.Source
	stub     string
	opt      Options
	master   *MasterControl
	maxLine  int
	progress *progress // of a decoder
	listed   *listed
}

// Open opens a trace by its master file, whose name may lack ".otf". Of a trace whose
// writer was killed src may name one of the files that it left, such as
// .NAME.1.events.PID.tmp: what all of them have is then the trace, without a master file.
func Open(ctx context.Context, src format.Source, opt *Options) (*Reader, error) {
	src, err := left(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	r, err := newReader(src, strings.TrimSuffix(src.Name, ".otf"), opt)
	if err != nil {
		return nil, err
	}
	if r.master, err = readMaster(src, r.opt.Read, r.opt.AsLibrary); err != nil {
		return nil, err
	}
	if r.opt.AsLibrary && len(r.master.process) == 0 {
		if r.empty() {
			return nil, format.EmptyError(src)
		}
		return nil, fmt.Errorf("%s: found no process, expected one at least", src.Path)
	}
	return r, nil
}

// empty reports whether the master file has not a byte, and there are no definitions that tell of a trace.
func (r *Reader) empty() bool {
	size := func(name string) int64 {
		st, err := fs.Stat(r.src.FS, name)
		if err != nil {
			return -1
		}
		return st.Size()
	}
	definitions := fileName(r.stub, 0, Definitions)
	return size(r.src.Name) == 0 && size(definitions) < 0 && size(definitions+".z") < 0
}

func newReader(src format.Source, stub string, opt *Options) (*Reader, error) {
	r := &Reader{src: src, stub: stub, listed: &listed{}}
	if opt != nil {
		r.opt = *opt
	}
	if r.opt.Read == nil {
		r.opt.Read = &format.ReadOptions{}
	}
	r.Select(r.opt.From, r.opt.To, r.opt.Processes)
	if r.opt.Buffer > 0 {
		r.opt.Buffer = max(r.opt.Buffer, window)
	}
	max, err := r.opt.Read.Int("otf.max-line", lines.DefaultMaxLine)
	if err != nil {
		return nil, err
	}
	r.maxLine = int(min(max, 1<<30))
	return r, nil
}

// Select changes what the cursors that begin from now on deliver: the times of events,
// snapshots and statistics, and the processes (Options.From, To and Processes). Cursors
// that have begun keep what they had. Nobody may use the reader in the meantime.
func (r *Reader) Select(from, to uint64, processes func(process uint64) bool) {
	if to == 0 {
		to = math.MaxUint64
	}
	r.opt.From, r.opt.To, r.opt.Processes = from, to, processes
}

// ReadMaster reads a master file, whose name may lack ".otf". Lines that are none
// of its own are reported to opt, which may be nil, and skipped.
func ReadMaster(src format.Source, opt *format.ReadOptions) (*MasterControl, error) {
	return readMaster(src, opt, false)
}

func readMaster(src format.Source, opt *format.ReadOptions, library bool) (*MasterControl, error) {
	if opt == nil {
		opt = &format.ReadOptions{}
	}
	f, size, err := src.OpenName(strings.TrimSuffix(src.Name, ".otf") + ".otf")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > maxMaster {
		return nil, fmt.Errorf("%s: found a master file of %d bytes, expected at most %d", src.Path, size, maxMaster)
	}
	text := make([]byte, size)
	if _, err := f.ReadAt(text, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", src.Path, err)
	}
	m, err := parseMaster(text, library, func(line int64, p problem) error {
		return opt.Defect(&trace.Defect{Rule: p.rule, Severity: p.severity, Position: trace.Position{File: src.Path, Line: line}, Found: p.found, Expected: p.expected})
	})
	if errors.Is(err, errMultiplexed) {
		err = fmt.Errorf("%s: %w", src.Path, err)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// StreamReader reads one stream of a trace, without the master file.
type StreamReader struct {
	r  *Reader
	id uint32
}

// OpenStream opens the stream of this number, 0 for the global definitions and
// markers. The name of src is what the names of the trace's files begin with.
func OpenStream(src format.Source, id uint32, opt *Options) (*StreamReader, error) {
	r, err := newReader(src, src.Name, opt)
	if err != nil {
		return nil, err
	}
	return &StreamReader{r, id}, nil
}

// Select changes what the cursors that begin from now on deliver, as [Reader.Select]
// does.
func (s *StreamReader) Select(from, to uint64, processes func(process uint64) bool) {
	s.r.Select(from, to, processes)
}

// Cursor begins to read a part of the stream. A part whose file does not exist has
// no records.
func (s *StreamReader) Cursor(ctx context.Context, part Part) (*Cursor, error) {
	r := *s.r // with what is selected now
	c := &Cursor{ctx: ctx, r: &r, part: part}
	x, err := r.open(s.id, part)
	if err != nil {
		return nil, err
	}
	if x != nil {
		x.c = c
		c.all, c.wait = []*stream{x}, []*stream{x}
	}
	return c, nil
}

// maxMaster bounds the master file: a million processes need 10 MB.
const maxMaster = 256 << 20

// Master says which processes are in which streams. It belongs to the reader.
func (r *Reader) Master() *MasterControl { return r.master }

// wanted tells whether the records of a process are.
func (r *Reader) wanted(process uint64) bool {
	if r.opt.AsLibrary && r.master != nil {
		if _, ok := r.master.Stream(uint32(process)); !ok || process == unset {
			return false
		}
	}
	return r.opt.Processes == nil || r.opt.Processes(process)
}

// path is the name of a trace's file as the user would write it.
func (r *Reader) path(name string) string {
	if f, ok := r.src.FS.(*leftFolder); ok {
		return f.prefix + f.real(name)
	}
	return strings.TrimSuffix(r.src.Path, r.src.Name) + name
}

// open opens a part of a stream; nil if there is none.
func (r *Reader) open(id uint32, part Part) (*stream, error) {
	for _, z := range []string{"", ".z"} {
		name := fileName(r.stub, id, part) + z
		if !r.mayExist(name) {
			continue
		}
		h, err := r.opt.Files.Find(r.src, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s := &stream{r: r, id: id, shown: id, part: part, t: openText(h, r.path(name), z != "", r.maxLine, r.opt.Buffer)}
		s.t.progress = r.progress
		if z != "" && h.Size > 0 {
			var head [2]byte
			if _, err := h.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
				s.t.Close()
				return nil, fmt.Errorf("%s: %w", s.t.name, err)
			}
			if head[0]&15 != 8 || (int(head[0])<<8|int(head[1]))%31 != 0 {
				err := s.report(problem{"otf.corrupt", fmt.Sprintf("the bytes % x", head[:]), "the header of compressed data", trace.Error}, 0)
				if err != nil {
					s.t.Close()
					return nil, err
				}
			}
		}
		if part.timed() && (r.opt.From > 0 || r.opt.To < math.MaxUint64) {
			s.t.few = 4 * window
		}
		if part.timed() && r.opt.From > 0 {
			if err := s.t.search(r.opt.From); err != nil {
				s.t.Close()
				return nil, err
			}
		}
		return s, nil
	}
	return nil, nil
}

// manyStreams is from how many streams on the folder is listed: to ask for each file that
// may be there costs more.
const manyStreams = 64

// listed are the names of the files in the folder of a trace, when they have been listed.
type listed struct {
	once  sync.Once
	names map[string]bool // nil if the folder cannot be listed
}

// mayExist tells whether a file of a trace of many streams can be there.
func (r *Reader) mayExist(name string) bool {
	if r.listed == nil || r.master == nil || r.master.Len() < manyStreams {
		return true
	}
	r.listed.once.Do(func() {
		l, err := fs.ReadDir(r.src.FS, path.Dir(r.stub))
		if err != nil {
			return
		}
		r.listed.names = make(map[string]bool, len(l))
		for _, x := range l {
			r.listed.names[x.Name()] = true
		}
	})
	return r.listed.names == nil || r.listed.names[path.Base(name)]
}

// size is that of all files of some parts, as stored.
func (r *Reader) size(parts ...Part) (size int64, err error) {
	q := r.quiet()
	for _, id := range r.master.Streams() {
		for _, part := range parts {
			s, err := q.open(id, part)
			if err != nil {
				return 0, err
			}
			if s != nil {
				size += s.t.h.Size
				s.t.Close()
			}
		}
	}
	return size, nil
}

// Cursor goes through the records of a part of a trace. It is the caller's to
// close.
type Cursor struct {
	ctx     context.Context
	r       *Reader
	part    Part
	list    []head    // of the streams that have a record, as a heap: the next one is that of list[0]
	wait    []*stream // that come one by one, behind list
	all     []*stream
	cur     *stream
	err     error
	merged  bool // in the order of time
	n       int64
	bound   uint64 // line: as long as cur has earlier records, they are the next ones
	stopped bool   // AsLibrary: a malformed record has ended reading
}

// Cursor begins to read a part of the trace. Definitions and markers come file by
// file, that of stream 0 first; the other parts in the order of time, and of
// equal times in that of the streams, unless the options say otherwise. A stream
// without the file has no records of the part; for events that is reported.
func (r *Reader) Cursor(ctx context.Context, part Part) (*Cursor, error) {
	return r.cursor(ctx, part, r.master.Streams())
}

// cursor is Cursor for some streams.
func (r *Reader) cursor(ctx context.Context, part Part, ids []uint32) (*Cursor, error) {
	own := *r // with what is selected now
	r = &own
	c := &Cursor{ctx: ctx, r: r, part: part}
	if !part.timed() {
		ids = append([]uint32{0}, ids...)
	}
	shared := shareAhead(len(ids))
	place := 0 // of the stream among those that libotf knows
	for _, id := range ids {
		if (part.timed() || r.opt.AsLibrary && id != 0) && !r.anyWanted(id) {
			continue
		}
		s, err := r.open(id, part)
		if err != nil {
			c.Close()
			return nil, err
		}
		if id != 0 || s != nil {
			place++
		}
		if s != nil {
			if r.opt.AsLibrary && !part.timed() {
				// It counts places where streams are left out, or the global file is missing.
				s.shown = ids[place-1]
			}
			s.c = c
			if s.ahead.aheadShared = shared; r.opt.Buffer == 0 {
				s.t.chunk = shared.chunk
			}
			c.all = append(c.all, s)
			continue
		}
		if err := r.needed(id, part); err != nil {
			c.Close()
			return nil, err
		}
		if r.opt.AsLibrary && part == Events {
			c.stopped = true
		}
	}
	if c.stopped {
		c.finish()
		return c, nil
	}
	if !part.timed() || r.opt.OneByOne {
		c.wait = slices.Clone(c.all)
		return c, nil
	}
	c.merged = true
	for _, s := range c.all {
		if err := c.first(s); err != nil {
			c.Close()
			return nil, err
		}
	}
	if c.stopped {
		c.list = nil
	}
	for i := (len(c.list) - 1) / 2; i >= 0 && len(c.list) > 0; i-- {
		c.sift(i)
	}
	return c, nil
}

// needed reports that a file is not there, if it is one that every trace has, or that the master file asks for.
func (r *Reader) needed(id uint32, part Part) error {
	expected := "the events of a stream that the master file names"
	switch {
	case part == Definitions && id == 0:
		expected = "the definitions of the trace; without them times are in ticks of an unknown length"
	case part != Events || id == 0:
		return nil
	}
	return r.opt.Read.Defect(&trace.Defect{Rule: "otf.missing-file", Severity: trace.Error,
		Position: trace.Position{File: r.path(fileName(r.stub, id, part))}, Found: "no such file, nor one with .z", Expected: expected})
}

// there reports that a file is not there that must be.
func (r *Reader) there(id uint32, part Part) error {
	s, err := r.open(id, part)
	if s == nil && err == nil {
		return r.needed(id, part)
	}
	if s != nil {
		s.t.Close()
	}
	return err
}

func (r *Reader) anyWanted(id uint32) bool {
	if r.opt.Processes == nil {
		return true
	}
	for _, p := range r.master.Processes(id) {
		if r.opt.Processes(uint64(p)) {
			return true
		}
	}
	return len(r.master.Processes(id)) == 0
}

// first brings a stream to its first record.
func (c *Cursor) first(s *stream) error {
	ok, err := c.advance(s)
	if err != nil {
		return err
	}
	if ok {
		c.list = append(c.list, c.head(s))
	} else if c.r.opt.AsLibrary && !s.begun {
		c.stopped = true // libotf gives up on all streams
	}
	return nil
}

// advance brings a stream to its next record in the time window.
func (c *Cursor) advance(s *stream) (bool, error) {
	for {
		ok, err := s.next(c.ctx)
		if !ok || err != nil || !c.part.timed() || s.silent {
			return ok, err
		}
		if s.rec.Time >= c.r.opt.To {
			s.end, s.ahead.at = true, len(s.ahead.list)
			return false, nil
		}
		if s.rec.Time >= c.r.opt.From {
			return true, nil
		}
	}
}

// head is a stream with what the order of its record depends on.
type head struct {
	time uint64
	tie  uint32 // the stream's number; libotf leaves ties to its heap
	s    *stream
}

func (c *Cursor) head(s *stream) head {
	h := head{s.rec.Time, s.id, s}
	if c.r.opt.AsLibrary {
		h.tie = 0
	}
	return h
}

func (h *head) less(o *head) bool { return h.time < o.time || h.time == o.time && h.tie < o.tie }

// sift restores the heap below i. Its order of equal streams is that of libotf.
func (c *Cursor) sift(i int) {
	l := c.list
	x := l[i]
	for {
		k := 2*i + 1
		if k >= len(l) {
			break
		}
		if k+1 < len(l) && l[k+1].less(&l[k]) {
			k++
		}
		if x.less(&l[k]) {
			break
		}
		l[i] = l[k]
		i = k
	}
	l[i] = x
}

// Next goes to the next record and reports whether there is one. After false,
// Err tells why.
func (c *Cursor) Next() bool {
	if c.err != nil {
		return false
	}
	ok, err := c.next()
	for ok && err == nil && c.cur.silent {
		ok, err = c.next()
	}
	if err != nil {
		c.err = err
	}
	if !ok || err != nil {
		c.cur = nil
		return false
	}
	if !c.cur.cut {
		c.n++
	}
	return true
}

func (c *Cursor) next() (bool, error) {
	c.bound = 0
	if c.cur != nil && c.merged {
		// The record that was read last is that of the first stream.
		s := c.list[0].s
		ok, err := c.advance(s)
		if err != nil {
			return false, err
		}
		if !ok {
			n := len(c.list) - 1
			c.list[0] = c.list[n]
			c.list = c.list[:n]
		}
		if c.stopped {
			c.list = nil
		}
		if ok && s.cut && c.r.opt.AsLibrary {
			c.cur = s // libotf gives a last line without end as soon as it meets it
			return true, nil
		}
		if ok && len(c.list) > 0 {
			c.list[0].time = s.rec.Time
		}
		if len(c.list) > 0 {
			c.sift(0)
		}
	}
	if c.merged {
		if len(c.list) == 0 {
			return false, nil
		}
		if c.cur = c.list[0].s; c.cur.stale() {
			c.cur.fill()
		}
		if c.cur.failed {
			c.stopped, c.list = true, nil // here libotf meets the malformed record
			return false, nil
		}
		return true, nil
	}
	for len(c.wait) > 0 && !c.stopped {
		s := c.wait[0]
		ok, err := c.advance(s)
		if ok || err != nil {
			c.cur = s
			return ok, err
		}
		s.t.Close()
		c.wait = c.wait[1:]
	}
	return false, nil
}

// line goes to the next record if it is of a usual line, without making a record
// of it. Where it returns nil, Next goes on. It knows no time window.
func (c *Cursor) line() *aheadRecord {
	if s := c.cur; s != nil && s.ahead.at < len(s.ahead.list) {
		if x := &s.ahead.list[s.ahead.at]; x.time < c.bound {
			s.ahead.at++
			c.n++
			return x
		}
	}
	return c.otherLine()
}

// otherLine is line where another stream may have the next record.
//
//go:noinline
func (c *Cursor) otherLine() *aheadRecord {
	if c.cur != nil {
		if !c.cur.advance() {
			return nil
		}
		l := c.list
		if l[0].time = c.cur.current().time; len(l) == 2 {
			if !l[0].less(&l[1]) {
				l[0], l[1] = l[1], l[0]
			}
		} else {
			c.sift(0)
		}
	}
	if len(c.list) == 0 || !c.list[0].s.stepped {
		c.cur = nil
		return nil
	}
	first := &c.list[0]
	bound := uint64(math.MaxUint64)
	for i := 1; i < min(3, len(c.list)); i++ {
		if o := &c.list[i]; o.time < bound {
			bound = o.time
			if first.tie < o.tie {
				bound++
			}
		}
	}
	c.cur, c.bound = first.s, bound
	c.n++
	return c.cur.current()
}

// Record is the record in hand, valid until the next call of Next.
func (c *Cursor) Record() *Record { return &c.cur.rec }

// Err is why Next returned false; nil at the end of the trace.
func (c *Cursor) Err() error { return c.err }

// Count is the number of records so far; a last line without end is none.
func (c *Cursor) Count() int64 { return c.n }

// Progress is how far a cursor is.
type Progress struct {
	// Read and Size count the bytes of the part's files, as stored.
	Read, Size int64
	// Time is that of the record in hand, 0 before the first.
	Time uint64
}

// Progress tells how far the cursor is.
func (c *Cursor) Progress() Progress {
	var p Progress
	for _, s := range c.all {
		p.Read += s.t.read
		p.Size += s.t.h.Size
	}
	if c.cur != nil {
		p.Time = c.cur.rec.Time
	}
	return p
}

func (c *Cursor) finish() { c.list, c.wait = nil, nil }

// Close frees the cursor's files.
func (c *Cursor) Close() {
	for _, s := range c.all {
		s.t.Close()
	}
	c.finish()
}

// Handlers has a function for each type of record, nil for records that nobody
// wants. A function's record is valid during the call.
type Handlers [NumTypes]func(*Record) error

// Each gives the next records to the handlers, at most limit of them, or all if
// limit is less than 1; the next call goes on behind them. It returns how many
// records it read, handled or not. An error of a handler ends it.
func (c *Cursor) Each(h *Handlers, limit int64) (n int64, err error) {
	for (limit < 1 || n < limit) && c.Next() {
		n++
		r := c.Record()
		if f := h[r.Type]; f != nil {
			if err := f(r); err != nil {
				return n, err
			}
		}
	}
	return n, c.Err()
}

// Clone copies a record with all that it refers to.
func (r *Record) Clone() *Record {
	c := *r
	c.byKey = nil
	c.Text, c.Name, c.Unit = strings.Clone(r.Text), strings.Clone(r.Name), strings.Clone(r.Unit)
	c.Members = slices.Clone(r.Members)
	c.KeyValues = slices.Clone(r.KeyValues)
	for i := range c.KeyValues {
		c.KeyValues[i].Bytes = slices.Clone(c.KeyValues[i].Bytes)
	}
	return &c
}
