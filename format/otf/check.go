package otf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/flate"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// newChecker finds what shows only when records, or files, are held against each
// other (docs/formats/otf.md, "Rules"): calls that do not nest, messages without
// partner or of two sizes, files that the master file does not name, ends of files
// that are missing. For messages it scans the trace once more, in the order of time;
// it holds those that wait for their partner.
func newChecker(dec format.Decoder, _ format.Source, opt *format.ReadOptions) format.Checker {
	return &checker{d: dec.(*decoder), opt: opt, open: map[uint32][]uint32{}, waiting: map[route]*queue{}}
}

type checker struct {
	d        *decoder
	opt      *format.ReadOptions
	open     map[uint32][]uint32 // regions of each location, innermost last
	messages bool                // there are any
	waiting  map[route]*queue
}

// route is where messages go in the order in which they were sent.
type route struct{ from, to, comm, tag uint64 }

// queue is the messages of a channel of which one side has been seen.
type queue struct {
	received bool // the receives, which come first where clocks differ
	list     []half
}

// half is one side of a message.
type half struct {
	time   int64
	length uint64
}

// Batch looks at calls, and whether there are messages.
func (c *checker) Batch(b *trace.Batch) error {
	for i, k := range b.Kind {
		switch k {
		case trace.Enter:
			loc := b.Location(i)
			c.open[loc] = append(c.open[loc], b.Ref[i])
		case trace.Leave:
			if err := c.leave(b.Location(i), b.Time[i], b.Ref[i]); err != nil {
				return err
			}
		case trace.Send, trace.Recv:
			c.messages = true
		}
	}
	return nil
}

// leave closes a region, which should be the one entered last.
func (c *checker) leave(loc uint32, t int64, ref uint32) error {
	l := c.open[loc]
	for i := len(l) - 1; i >= 0; i-- {
		if l[i] != ref {
			continue
		}
		inner := l[len(l)-1]
		c.open[loc] = slices.Delete(l, i, i+1)
		if inner == ref {
			return nil
		}
		return c.event("otf.not-nested", loc, t, "leave of "+c.region(ref), "a leave of "+c.region(inner)+", which was entered last")
	}
	return nil // reported for all formats
}

func (c *checker) region(ref uint32) string {
	if ref == trace.NoRef {
		return "(none)"
	}
	return c.d.defs.Regions.At(int(ref)).Name
}

// event reports what is wrong with an event.
func (c *checker) event(rule string, loc uint32, t int64, found, expected string) error {
	return c.events(rule, loc, t, 1, found, expected)
}

func (c *checker) events(rule string, loc uint32, t, count int64, found, expected string) error {
	return c.opt.Defect(&trace.Defect{Rule: rule, Severity: trace.Warning, Position: trace.Position{File: c.d.r.src.Path},
		Record: "location " + c.d.defs.Locations.At(int(loc)).ID, Found: found + " at " + c.d.defs.Clock.FormatSeconds(t) + " s", Expected: expected, Count: count})
}

// Links does nothing: OTF has none.
func (c *checker) Links([]trace.Link) error { return nil }

// Finish looks at messages and files.
func (c *checker) Finish(ctx context.Context) error {
	if c.messages {
		if err := c.d.ScanOrdered(ctx, trace.Everything(), format.SinkFuncs{OnBatch: c.match}); err != nil {
			return err
		}
		if err := c.unmatched(); err != nil {
			return err
		}
	}
	if err := c.ends(ctx); err != nil {
		return err
	}
	return c.directory()
}

// match pairs the messages of a channel in their order.
func (c *checker) match(b *trace.Batch) error {
	x := b.Cursor()
	for x.Next() {
		k := x.Kind()
		if k != trace.Send && k != trace.Recv {
			continue
		}
		here, there := uint64(x.Location()), x.Op(0)
		ch := route{here, there, x.Op(1), x.Op(2)}
		received := k == trace.Recv
		if received {
			ch.from, ch.to = there, here
		}
		q := c.waiting[ch]
		if q == nil {
			q = &queue{}
			c.waiting[ch] = q
		}
		m := half{x.Time(), x.Op(3)}
		if len(q.list) == 0 || q.received == received {
			q.received, q.list = received, append(q.list, m)
			continue
		}
		other := q.list[0]
		if q.list = q.list[1:]; len(q.list) == 0 {
			delete(c.waiting, ch)
		}
		if !received {
			m, other = other, m // m is the receive
		}
		if m.length != other.length {
			if err := c.event("otf.message-size", uint32(ch.to), m.time, fmt.Sprintf("a receive of %d bytes", m.length),
				fmt.Sprintf("%d bytes, which location %s sent", other.length, c.id(ch.from))); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *checker) id(loc uint64) string { return c.d.defs.Locations.At(int(loc)).ID }

// unmatched reports messages without partner, but for those whose partner's process
// has no stream: it may have been left out on purpose.
func (c *checker) unmatched() error {
	channels := slices.SortedFunc(maps.Keys(c.waiting), func(a, b route) int {
		return slices.Compare([]uint64{a.from, a.to, a.comm, a.tag}, []uint64{b.from, b.to, b.comm, b.tag})
	})
	for _, ch := range channels {
		q := c.waiting[ch]
		n := int64(len(q.list))
		var err error
		switch {
		case q.received && c.recorded(ch.from):
			err = c.events("otf.unmatched-receive", uint32(ch.to), q.list[0].time, n, fmt.Sprintf("a receive from location %s with tag %d", c.id(ch.from), ch.tag), "a send to match")
		case !q.received && c.recorded(ch.to):
			err = c.events("otf.unmatched-send", uint32(ch.from), q.list[0].time, n, fmt.Sprintf("a send to location %s with tag %d", c.id(ch.to), ch.tag), "a receive to match")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recorded tells whether the process of a location has a stream.
func (c *checker) recorded(loc uint64) bool {
	if loc == trace.Undefined {
		return false
	}
	p, err := strconv.ParseUint(c.id(loc), 10, 32)
	if err != nil {
		return true // one of a process that is in several streams
	}
	_, ok := c.d.r.master.Stream(uint32(p))
	return ok
}

// ends looks at the ends of all files with times: a time and a process tell readers
// the last time.
func (c *checker) ends(ctx context.Context) error {
	l, err := c.d.r.Files()
	if err != nil {
		return err
	}
	for _, f := range l {
		if !f.Part.timed() || f.Size == 0 {
			continue
		}
		before, last, err := c.lastLines(ctx, f)
		if err != nil {
			return err
		}
		report := func(rule string, severity trace.Severity, found, expected string) error {
			return c.opt.Defect(&trace.Defect{Rule: rule, Severity: severity, Position: trace.Position{File: f.Path, Offset: f.Size, Binary: true}, Found: found, Expected: expected})
		}
		one, at := lineType(before)
		two, _ := lineType(last)
		switch {
		case one != timeLine || two != processLine:
			err = report("otf.no-trailer", trace.Note, fmt.Sprintf("an end with the line %.40q", last), "the last time and process")
		case bytes.HasPrefix(before[at:], []byte("ffffffffffffffff")):
			err = report("otf.refused", trace.Warning, "the time ffffffffffffffff at the end", "the last time; libotf refused a record that was not in order, and all behind it are missing")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tail is how much of the end of a file holds its last lines.
const tail = 4 << 10

// lastLines are the last two lines of a file, of which those that are longer than
// fits are cut off at their beginning.
func (c *checker) lastLines(ctx context.Context, f File) (before, last []byte, err error) {
	name := fileName(c.d.r.stub, f.Stream, f.Part)
	if f.Compressed {
		name += ".z"
	}
	h, size, err := c.d.r.src.OpenName(name)
	if err != nil {
		return nil, nil, err
	}
	defer h.Close()
	var end []byte
	if f.Compressed {
		z := flate.NewReader(io.NewSectionReader(h, 2, max(0, size-2)))
		defer z.Close()
		end, err = lastBytes(ctx, z)
	} else {
		end = make([]byte, min(size, tail))
		if _, err = h.ReadAt(end, size-int64(len(end))); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	lines := bytes.Split(bytes.TrimSuffix(end, []byte{'\n'}), []byte{'\n'})
	if last = lines[len(lines)-1]; len(lines) > 1 {
		before = lines[len(lines)-2]
	}
	return before, last, nil
}

// lastBytes are the last bytes that a compressed file gives; damage, which readers
// report, ends it.
func lastBytes(ctx context.Context, r io.Reader) ([]byte, error) {
	end, buf := make([]byte, 0, 2*chunk), make([]byte, chunk)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := r.Read(buf)
		if len(end)+n > cap(end) {
			end = end[:copy(end, end[len(end)-tail:])]
		}
		end = append(end, buf[:n]...)
		switch {
		case err == nil:
		case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF), isCorrupt(err):
			return end[max(0, len(end)-tail):], nil
		default:
			return nil, err
		}
	}
}

// directory looks for files beside the trace's that readers do not read.
func (c *checker) directory() error {
	r := c.d.r
	list := r.partFiles()
	there := map[string]bool{}
	for _, f := range list {
		there[f.name] = true
	}
	for _, f := range list {
		at := trace.Position{File: r.path(f.name)}
		if _, named := r.master.streams[f.stream]; f.stream != 0 && !named {
			number := strconv.FormatUint(uint64(f.stream), 16)
			if err := c.opt.Defect(&trace.Defect{Rule: "otf.unlisted-stream", Severity: trace.Warning, Position: at,
				Found: "a file of stream " + number, Expected: "a line " + number + ": in the master file; nobody reads the file"}); err != nil {
				return err
			}
		} else if plain, z := strings.CutSuffix(f.name, ".z"); z && there[plain] {
			if err := c.opt.Defect(&trace.Defect{Rule: "otf.hidden-file", Severity: trace.Note, Position: at,
				Found: "a compressed file beside a plain one", Expected: "one of the two; nobody reads the compressed one"}); err != nil {
				return err
			}
		}
	}
	return nil
}

// partFile is a file with the name of a part of a stream.
type partFile struct {
	name   string
	stream uint32
}

// partFiles are all files beside the master file that have such names, also those of
// streams that it does not name; nil where the source cannot tell what there is.
func (r *Reader) partFiles() (out []partFile) {
	dir, stub := path.Split(r.stub)
	l, err := fs.ReadDir(r.src.FS, path.Clean("./"+dir))
	if err != nil {
		return nil
	}
	for _, e := range l {
		rest, ok := strings.CutPrefix(e.Name(), stub+".")
		if !ok {
			continue
		}
		if ok, _ := IsPartName(e.Name()); !ok {
			continue
		}
		number, _, _ := strings.Cut(rest, ".")
		id, err := strconv.ParseUint(number, 16, 32)
		if err == nil && strconv.FormatUint(id, 16) == number {
			out = append(out, partFile{dir + e.Name(), uint32(id)})
		}
	}
	return out
}
