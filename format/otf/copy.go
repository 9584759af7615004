package otf

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/trace"
)

// Copy writes a trace as OTF, record by record. It keeps the streams or distributes the processes over
// other streams. It sorts files that are not in the order of time. A trace that libotf has written is
// copied byte for byte.
func (Format) Copy(ctx context.Context, src format.Source, ro *format.ReadOptions, out *format.Output,
	wo *format.WriteOptions) (*format.Loss, error) {
	if err := about.CheckOptions(wo.Values); err != nil {
		return nil, err
	}
	return copyAll(ctx, src, ro, out, wo, false)
}

// Sort copies a trace with the records of each file in the order of time, even where times go back to
// 0, which the format allows. The format's writing options apply. The trace appears when out is
// committed.
func Sort(ctx context.Context, src format.Source, ro *format.ReadOptions, out *format.Output,
	wo *format.WriteOptions) error {
	_, err := copyAll(ctx, src, ro, out, wo, true)
	return err
}

func copyAll(ctx context.Context, src format.Source, ro *format.ReadOptions, out *format.Output,
	wo *format.WriteOptions, sort bool) (*format.Loss, error) {
	files, err := FileManagerOf(ro.Values)
	if err != nil {
		return nil, err
	}
	r, err := Open(ctx, src, &Options{Read: ro, Files: files})
	if err != nil {
		return nil, err
	}
	opt, streams, err := r.copyOptions(wo)
	if err != nil {
		return nil, err
	}
	unify, err := r.boolOption(unifyOption, "false")
	if err != nil {
		return nil, err
	}
	global := unify
	if streams >= 0 && !global {
		if global, err = r.hasLocalDefinitions(ctx); err != nil {
			return nil, err
		}
	}
	if global {
		return r.copyThroughModel(ctx, ro, out, opt, streams)
	}
	c := &copier{r: r, ctx: ctx, stub: strings.TrimSuffix(out.Path, ".otf"), opt: opt, writers: map[uint32]*StreamWriter{},
		sort: sort, loss: &format.Loss{}}
	c.attach(out)
	if streams < 0 {
		c.master = r.master
		err = c.copyStreams(ro)
	} else {
		err = c.spread(uint32(streams))
	}
	if err != nil {
		return nil, err
	}
	for _, w := range c.writers {
		if err := w.finish(); err != nil {
			return nil, err
		}
	}
	if err := c.copyThumbnail(); err != nil {
		return nil, err
	}
	_, err = c.master.WriteTo(out)
	return c.loss, err
}

// hasLocalDefinitions reports whether a stream has definitions of its own.
func (r *Reader) hasLocalDefinitions(ctx context.Context) (local bool, err error) {
	for x, err := range r.withoutReport().records(ctx, Definitions, Markers) {
		if err != nil || x.Stream != 0 && x.Type != Marker {
			return err == nil, err
		}
	}
	return false, nil
}

// copyThroughModel copies a trace through the model, where the definitions of all streams are known.
func (r *Reader) copyThroughModel(ctx context.Context, ro *format.ReadOptions, out *format.Output, opt WriterOptions,
	streams int64) (*format.Loss, error) {
	d, err := Format{}.Open(ctx, r.src, ro)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if opt.Streams = 1; streams >= 0 {
		opt.Streams = uint32(streams)
	} else {
		opt.Master = r.master
	}
	e := newEncoder(out, &opt)
	return e.Loss(), format.Convert(ctx, d, trace.Everything(), e)
}

// writerOptions returns the options for writing files. streams is -1 if the copy keeps the streams of the
// original trace. Level is -1 if it keeps the compression.
func writerOptions(wo *format.WriteOptions) (opt WriterOptions, streams int64, err error) {
	number := func(name string, max uint64) (int64, error) {
		s := wo.Value(name, "keep")
		if s == "keep" {
			return -1, nil
		}
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil || n > max {
			return 0, &format.OptionError{Option: name, Value: s, Expected: fmt.Sprintf("keep or a number from 0 to %d", max)}
		}
		return int64(n), nil
	}
	if v := wo.Value("otf.streams", ""); strings.Contains(v, ":") {
		streams = 0
		opt.Master, err = parseMaster([]byte(strings.ReplaceAll(v, ";", "\n")+"\n"), false, func(_ int64, p problem) error {
			return &format.OptionError{Option: "otf.streams", Value: v,
				Expected: "stream:process,process;stream:…, as in a master file; " + p.found + " is not an entry of this form"}
		})
	} else {
		streams, err = number("otf.streams", 1<<20)
	}
	if err != nil {
		return opt, 0, err
	}
	level, err := number("otf.level", 9)
	if err != nil {
		return opt, 0, err
	}
	opt.Level = int(level)
	switch s := wo.Value("otf.spelling", "keep"); s {
	case "short", "keep":
	case "long":
		opt.Long = true
	default:
		return opt, 0, &format.OptionError{Option: "otf.spelling", Value: s, Expected: "keep, short or long"}
	}
	opt.Files, err = FileManagerOf(wo.Values)
	opt.ZeroTokens = true // the original trace may have tokens 0
	return opt, streams, err
}

// copyOptions returns the options for a copy. streams is -1 if the streams of the trace are kept.
func (r *Reader) copyOptions(wo *format.WriteOptions) (opt WriterOptions, streams int64, err error) {
	if opt, streams, err = writerOptions(wo); err != nil {
		return opt, 0, err
	}
	if opt.Level < 0 {
		opt.Level = 0
		for _, id := range r.master.Streams() {
			s, err := r.open(id, Events)
			if err != nil {
				return opt, 0, err
			}
			if s != nil {
				if s.t.zip != nil {
					opt.Level = 4
				}
				s.t.Close()
			}
		}
	}
	if wo.Value("otf.spelling", "keep") == "keep" {
		opt.Long, err = r.isLong()
	}
	return opt, streams, err
}

// isLong reports whether the definitions are in the long spelling.
func (r *Reader) isLong() (bool, error) {
	d, err := r.open(0, Definitions)
	if d == nil || err != nil {
		return false, err
	}
	defer d.t.Close()
	l, _, _, _, err := d.t.line()
	return bytes.HasPrefix(l, []byte("DEF")), err
}

// copier writes the files of a copy.
type copier struct {
	ctx     context.Context
	r       *Reader
	stub    string
	opt     WriterOptions
	master  *MasterControl
	writers map[uint32]*StreamWriter
	shareOf map[uint32]int // index of the share that writes each stream
	sort    bool           // also sort files in which times go back to 0
	loss    *format.Loss
	thumb   string // temporary name of the copied thumbnail; "" if there is no thumbnail
	// edit changes a record before it is written. If it returns false, the record is left out. A nil
	// edit changes nothing.
	edit func(*Record) bool
}

// selects reports whether the current record belongs in the copy. An incomplete last line does not belong in
// the copy: with a line end, the line could be taken for a record.
func (c *copier) selects(s *stream) bool { return !s.cut && (c.edit == nil || c.edit(&s.rec)) }

func (c *copier) writer(id uint32) *StreamWriter {
	w := c.writers[id]
	if w == nil {
		w = NewStreamWriter(c.stub, id, &c.opt)
		c.writers[id] = w
	}
	return w
}

// copyStreams copies each file to a file of the same stream.
func (c *copier) copyStreams(ro *format.ReadOptions) error {
	ids := append([]uint32{0}, c.master.Streams()...)
	for _, f := range c.r.partFiles() {
		// Readers ignore files of streams that the master file does not list. These files still belong
		// to the trace, so they are copied.
		if !slices.Contains(ids, f.stream) && c.edit == nil {
			ids = append(ids, f.stream)
		}
	}
	for _, id := range ids {
		for part := range numParts {
			if err := c.copyFile(id, part, ro); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *copier) copyFile(id uint32, part Part, ro *format.ReadOptions) error {
	s, err := c.r.open(id, part)
	if err != nil {
		return err
	}
	if s == nil {
		return c.r.reportMissing(id, part)
	}
	defer func() { s.t.Close() }()
	w := c.writer(id)
	if c.edit == nil || part != Snapshots && part != Statistics {
		// Create the file even if it stays empty. Snapshots and statistics are an exception: libotf
		// does not accept empty files of these, so a file that an edit leaves empty is not created.
		if _, err := w.create(part); err != nil {
			return err
		}
	}
	for last := uint64(0); ; {
		if c.edit == nil && !c.opt.Long {
			// Most lines are copied unchanged.
			for n := 1; s.advance(); n++ {
				x := s.current()
				if x.time < last && (x.time > 0 || c.sort) {
					return c.recopySorted(s, w, part, ro)
				}
				last = x.time
				if err := w.writeLine(x, s.t.buf); err != nil {
					return err
				}
				if n%aheadRows == 0 && c.ctx.Err() != nil {
					return c.ctx.Err()
				}
			}
		}
		ok, err := s.next(c.ctx)
		if !ok || err != nil {
			if c.edit == nil {
				w.keepState(s)
				err = cmp.Or(err, s.reportNoState())
			}
			return err
		}
		if !c.selects(s) {
			continue
		}
		if part.timed() && s.rec.Time < last && (s.rec.Time > 0 || c.sort) {
			return c.recopySorted(s, w, part, ro)
		}
		last = s.rec.Time
		if err := w.WritePart(&s.rec, part); err != nil {
			return err
		}
	}
}

// recopySorted copies a file again, in the order of time, after the first attempt has found records out of
// order.
func (c *copier) recopySorted(s *stream, w *StreamWriter, part Part, ro *format.ReadOptions) error {
	if err := w.restart(part); err != nil {
		return err
	}
	again, err := c.r.open(s.id, part)
	if err != nil {
		return err
	}
	defer again.t.Close()
	return c.copySorted(again, w, part, ro)
}

// copySorted copies a file in the order of time.
func (c *copier) copySorted(s *stream, w *StreamWriter, part Part, ro *format.ReadOptions) error {
	var f fileStream
	defer f.close()
	err := f.sort(c.ctx, ro.SortMemory(), func() (*Record, error) {
		for {
			ok, err := s.next(c.ctx)
			if !ok || err != nil {
				return nil, err
			}
			if c.selects(s) {
				return &s.rec, nil
			}
		}
	})
	for err == nil {
		x, ok, e := f.it.Next()
		if !ok || e != nil {
			return e
		}
		f.restore(x)
		err = w.WritePart(&f.rec, part)
	}
	return err
}

// spread distributes the processes over new streams as otfmerge does: stream after stream, each with
// the same number of processes. Groups of streams that exchange no processes are copied at the same
// time.
func (c *copier) spread(streams uint32) error {
	err := c.distribute(streams, true)
	if errors.Is(err, errSeveralStreams) {
		c.abort()
		c.loss = &format.Loss{}
		err = c.distribute(streams, false)
	}
	return err
}

// errSeveralStreams reports a process in a stream to which the master file does not assign it. Streams then
// cannot be copied separately.
var errSeveralStreams = errors.New("otf: a process in several streams")

// share is a part of a copy. Its original streams and its new streams belong to no other share.
type share struct {
	number  int // -1 if the share contains all streams
	in, out []uint32
}

// shares distributes the processes and returns the shares that can be copied separately. It returns
// nil if they must be copied together.
func (c *copier) shares(streams uint32) []share {
	var all []uint32
	for _, id := range c.r.master.Streams() {
		all = append(all, c.r.master.Processes(id)...)
	}
	// Processes that a given map does not contain get streams of their own.
	all = slices.DeleteFunc(all, func(p uint32) bool {
		_, ok := c.master.Stream(p)
		return ok
	})
	n := int(streams)
	if n == 0 || n > len(all) {
		n = len(all)
	}
	for i, at := 0, 0; i < n; i++ {
		size := len(all) / n
		if i < len(all)%n {
			size++
		}
		id := c.master.NewStream()
		for _, p := range all[at : at+size] {
			c.master.Assign(p, id)
		}
		at += size
	}
	// Streams on both sides that have a process in common belong to one share.
	c.shareOf = map[uint32]int{}
	var list []share
	for at, in := range c.r.master.Streams() {
		list = append(list, share{in: []uint32{in}})
		for _, p := range c.r.master.Processes(in) {
			out, _ := c.master.Stream(p)
			old, ok := c.shareOf[out]
			switch {
			case !ok:
				list[at].out = append(list[at].out, out)
				c.shareOf[out] = at
			case old != at:
				list[at].in = append(list[at].in, list[old].in...)
				list[at].out = append(list[at].out, list[old].out...)
				for _, o := range list[old].out {
					c.shareOf[o] = at
				}
				list[old] = share{}
			}
		}
	}
	for i := range list {
		list[i].number = i
		slices.Sort(list[i].in)
	}
	list = slices.DeleteFunc(list, func(x share) bool { return len(x.in) == 0 })
	slices.SortFunc(list, func(a, b share) int { return cmp.Compare(a.in[0], b.in[0]) })
	for i := 1; i < len(list); i++ {
		// The copies of separate shares cannot count the simultaneous records that change places with each
		// other.
		if a, b := &list[i-1], &list[i]; slices.Max(a.in) > b.in[0] || len(b.out) > 0 && len(a.out) > 0 &&
			slices.Max(a.out) > slices.Min(b.out) {
			return nil
		}
	}
	return list
}

// moveCounter counts records that change their order relative to other records of the same time. Readers order
// such records by the number of the stream, which the copy may change.
type moveCounter struct {
	time uint64
	tie  uint32 // greatest stream number so far among the records with that time
	n    int64
}

func (m *moveCounter) record(time uint64, stream uint32) {
	switch {
	case time != m.time:
		m.time, m.tie = time, stream
	case stream < m.tie:
		m.n++
	default:
		m.tie = stream
	}
}

func (c *copier) distribute(streams uint32, apart bool) error {
	opt := c.opt
	opt.Streams = streams
	w := Create(c.stub, &opt)
	c.writers, c.master = w.streams, w.master
	list := c.shares(streams)
	if !apart || list == nil {
		list = []share{{number: -1, in: c.r.master.Streams()}}
	}
	for _, id := range c.master.Streams() {
		w.Stream(id)
	}
	for _, part := range []Part{Definitions, Markers} {
		if err := c.copyUntimed(w, part); err != nil {
			return err
		}
	}
	next := 0
	err := pipeline.Run(c.ctx, min(c.r.opt.Read.Cores(), max(1, len(list))), func() (share, bool, error) {
		next++
		if next > len(list) {
			return share{}, false, nil
		}
		return list[next-1], true, nil
	}, func(_ int, x share) (struct{}, error) {
		for part := range numParts {
			if part.timed() {
				if err := c.copyShare(w, x, part); err != nil {
					return struct{}{}, err
				}
			}
		}
		return struct{}{}, nil
	}, func(struct{}) error { return nil })
	if err != nil {
		return err
	}
	return w.writeMissingFiles()
}

// copyUntimed copies the definitions or markers of all streams to the files of stream 0.
func (c *copier) copyUntimed(w *Writer, part Part) error {
	cur, err := c.r.Cursor(c.ctx, part)
	if err != nil {
		return err
	}
	defer cur.Close()
	for cur.Next() {
		r := cur.Record()
		if cur.cur.cut {
			continue
		}
		if err := w.Stream(0).WritePart(r, part); err != nil {
			return fmt.Errorf("%s: %w", c.r.src.Path, err)
		}
	}
	return cur.Err()
}

// copyShare copies a part of each stream of a share.
func (c *copier) copyShare(w *Writer, x share, part Part) error {
	// This is a cache of the destinations of processes.
	var known [256]struct {
		process uint64
		w       *StreamWriter
	}
	to := func(process uint64) (*StreamWriter, error) {
		k := &known[process%uint64(len(known))]
		if k.w == nil || k.process != process {
			id, ok := c.master.Stream(uint32(process))
			switch {
			case x.number < 0:
				id = w.assign(uint32(process))
			case !ok || c.shareOf[id] != x.number:
				return nil, errSeveralStreams
			}
			k.process, k.w = process, w.Stream(id)
		}
		return k.w, nil
	}
	cur, err := c.r.cursor(c.ctx, part, x.in)
	if err != nil {
		return err
	}
	defer cur.Close()
	var moved moveCounter
	defer func() {
		c.loss.Add("record", "order", format.Degraded,
			"records with the same time in different files change their order", moved.n)
	}()
	for {
		if part == Events && !c.opt.Long {
			// Most lines are copied unchanged.
			for l := cur.line(); l != nil; l = cur.line() {
				w, err := to(uint64(l.process))
				if err == nil {
					moved.record(l.time, w.id)
					err = w.writeLine(l, cur.cur.t.buf)
				}
				if err == nil && cur.n%aheadRows == 0 {
					err = c.ctx.Err()
				}
				if err != nil {
					return c.wrapError(err)
				}
			}
		}
		if !cur.Next() {
			err := cur.Err()
			for _, s := range cur.all {
				err = cmp.Or(err, s.reportNoState())
			}
			return err
		}
		if cur.cur.cut {
			continue
		}
		r := cur.Record()
		w, err := to(r.Process)
		if err == nil {
			moved.record(r.Time, w.id)
			err = w.WritePart(r, part)
		}
		if err != nil {
			return c.wrapError(err)
		}
	}
}

// wrapError adds the name of the trace to an error.
func (c *copier) wrapError(err error) error {
	if c.ctx.Err() != nil || errors.Is(err, errSeveralStreams) {
		return err
	}
	return fmt.Errorf("%s: %w", c.r.src.Path, err)
}

// attach makes the files of a copy get their names when the output is committed.
func (c *copier) attach(out *format.Output) {
	out.BeforeCommit(func() error {
		c.addNames(out)
		return nil
	})
	out.AtEnd(c.abort)
}

// thumbnailSuffix is the suffix of the file with a small picture of the trace. The tool otfaux makes this
// file.
const thumbnailSuffix = ".thumb"

// copyThumbnail copies the thumbnail, which stays valid because times, processes and functions do not
// change.
func (c *copier) copyThumbnail() error {
	name := c.r.stub + thumbnailSuffix
	c.thumb = filepath.Join(filepath.Dir(c.stub),
		fmt.Sprintf(".%s%s.%d.tmp", filepath.Base(c.stub), thumbnailSuffix, os.Getpid()))
	err := archive.Copy(c.ctx, c.r.src, name, c.r.path(name), c.thumb)
	if archive.IsMissing(err) {
		c.thumb = ""
		return nil
	}
	return err
}

// addNames adds the files of the copy to n.
func (c *copier) addNames(n renamer) {
	nameTrace(n, c.stub, c.master, maps.Values(c.writers))
	if name := c.stub + thumbnailSuffix; c.thumb != "" {
		n.Rename(c.thumb, name)
	} else {
		n.Remove(name)
	}
}

func (c *copier) abort() {
	for _, w := range c.writers {
		w.Abort()
	}
	if c.thumb != "" {
		os.Remove(c.thumb)
	}
}
