package pallas

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// Copy writes a Pallas trace as a trace of ABI 20. It keeps definitions, ids, events with their
// attributes, and grammars. It copies blocks unchanged unless the options ask for another compression.
// It builds a new grammar for a thread from its events if its grammar lacks events, or if the options ask for a new
// grammar.
func (Format) Copy(ctx context.Context, src format.Source, ro *format.ReadOptions, out *format.Output,
	wo *format.WriteOptions) (*format.Loss, error) {
	if err := about.CheckOptions(wo.Values); err != nil {
		return nil, err
	}
	x, err := Format{}.Open(ctx, src, ro)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	d := x.(*decoder)
	d.rows = nil // the metadata with packed rows stay as they are
	p := d.t.Parameters
	o, err := writeOptions(wo, &p)
	if err != nil {
		return nil, err
	}
	st, err := newStaging(out, o)
	if err != nil {
		return nil, err
	}
	c := &copier{d: d, staging: st, newGrammars: wo.Value("pallas.grammar", keepGrammar) != keepGrammar}
	c.r, c.rereader = newBlockReader(p), &threadReader{d: d, sel: trace.Everything(), checksOrder: true}
	defer c.r.close()
	c.rereader.r = c.r
	c.chooseSettings(p, wo)
	unify, err := wo.Bool(unifyOption)
	if err != nil {
		return nil, err
	}
	w := c.w
	w.Definitions, w.LocationGroups, w.Metadata, w.locations = *d.t.Definitions, d.t.LocationGroups, d.t.Metadata,
		d.t.Locations
	if unify && c.newGrammars {
		return nil, &format.OptionError{Option: unifyOption, Value: "true",
			Expected: "also pallas.grammar=keep; only the ids of a copy can be unified"}
	}
	if unify {
		c.unifier = newUnifier(d.t.Definitions, d.archives)
	}
	done, threads := int64(0), int64(len(d.threads))
	for _, a := range d.archives {
		y := w.Archive(a.ID)
		y.Definitions, y.Metadata, y.groups = *a.Definitions, a.Metadata, a.groups
		if c.unifier != nil {
			c.renamed = c.unifier.renamed[a.ID]
			y.Definitions = c.renamed.localDefinitions(a.Definitions)
		}
		y.locations = append(slices.Clone(a.Locations[:a.ownCount]), a.Locations[a.ownCount+a.mainCount:]...)
		for i := range y.locations {
			y.locations[i].Name = c.renamed.newRef(stringTable, y.locations[i].Name)
		}
		for _, l := range a.Locations {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := c.copyThreadByID(ctx, y, l.ID); err != nil {
				return nil, err
			}
			if done++; ro.Progress != nil {
				ro.Progress(min(done, threads), threads)
			}
		}
	}
	if c.unifier != nil {
		w.Definitions = c.defs
	}
	return &format.Loss{}, c.finish()
}

// unifyOption is the name of the option that gives equal events the same ids in all threads.
const unifyOption = "pallas.unify-tokens"

// copier copies the threads of a trace.
type copier struct {
	*staging
	*unifier            // nil if ids do not change
	renamed     *refMap // new refs of the definitions of the current archive
	d           *decoder
	r           *blockReader
	newGrammars bool          // build new grammars from the events
	recode      bool          // encode the blocks again
	rereader    *threadReader // reads the threads that get a new grammar
	values      []uint64
	room        packBuffers
	packed      []byte
}

// chooseSettings sets the settings of the copy: those of the original trace, unless options set others.
func (c *copier) chooseSettings(p Parameters, wo *format.WriteOptions) {
	own := &c.w.p
	asked := func(name string) bool { return wo.Value(name, "") != "" }
	switch {
	case c.newGrammars, asked("pallas.compression"), asked("pallas.encoding"):
		c.recode = c.newGrammars || p.Compression != own.Compression || p.Encoding != own.Encoding || asked("pallas.level") &&
			p.ZSTDLevel != own.ZSTDLevel
	default:
		c.recode = asked("pallas.level") && p.ZSTDLevel != own.ZSTDLevel && p.Compression == ZSTD
	}
	if !c.recode {
		own.Compression, own.Encoding, own.ZSTDLevel = p.Compression, p.stored, p.ZSTDLevel
	}
	if !c.newGrammars {
		own.LoopFinding, own.MaxLoopLength = p.LoopFinding, p.MaxLoopLength
	}
	own.TimestampStorage = p.TimestampStorage
}

// copyThreadByID copies the thread with the given id of an archive.
func (c *copier) copyThreadByID(ctx context.Context, a *ArchiveWriter, id uint32) error {
	t, err := c.d.thread(threadID{a.id, id}, wholeThread)
	if t == nil || err != nil {
		return err
	}
	t.Close()
	// With a lossy codec, times may go back a little. The copy must not keep such times if it uses
	// another codec.
	whole := !c.newGrammars && !(c.recode && c.d.t.Compression.Lossy())
	if whole {
		g := newOutline(t)
		if whole = g.err == nil && g.countsMatch(); whole {
			err := c.copyThread(ctx, t, a, g)
			if err == nil || !isTraceError(err) {
				return err
			}
			// Otherwise read the events of the thread and write it again. Reading the events reports the
			// defect.
		}
	}
	if c.unifier != nil {
		return fmt.Errorf("%s: found a thread that must be encoded again, expected an undamaged thread; convert the trace "+
			"without %s first", t.path, unifyOption)
	}
	return c.record(ctx, t, a)
}

// isTraceError reports whether an error is caused by the original trace.
func isTraceError(err error) bool {
	var f *FileError
	var m *missingFile
	return errors.As(err, &f) || errors.As(err, &m)
}

// folder creates the folder of a thread and returns its path.
func (c *copier) folder(a *ArchiveWriter, id uint32) (string, error) {
	dir := filepath.Join(c.w.dir, filepath.FromSlash(threadFolder(a.id, id)))
	return dir, os.MkdirAll(dir, 0o777)
}

// record reads the events of a thread and writes the thread again with a new grammar.
func (c *copier) record(ctx context.Context, t *Thread, a *ArchiveWriter) error {
	if c.w.p.Compression.Lossy() { // the other threads of the trace keep this codec
		return fmt.Errorf("%s: found a thread that must be encoded again, which weft cannot do with %s; expected --option "+
			"pallas.compression=ZSTD", t.path, c.w.p.Compression)
	}
	x := c.rereader
	t, err := x.open(ctx, threadID{a.id, t.ID})
	if t == nil || err != nil {
		return err
	}
	defer x.close()
	r, err := a.record(t.ID)
	if err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		events, times, bad := x.nextEvents()
		if err := asDefect(c.d.opt, "pallas.damaged", bad); err != nil {
			return err
		}
		if len(events) == 0 && bad == nil {
			return r.Close()
		}
		for i, e := range events {
			x.values = x.values[:0]
			if x.lists != nil && t.Events[e].HasAttributes() {
				if list, ok := x.currentList(i, e); ok {
					if x.values, err = list.values(x.values); err != nil {
						if err := x.reportAttributes(e, err); err != nil {
							return err
						}
					}
				}
			}
			if err := r.Record(times[i], t.Events[e].Record, t.Events[e].Payload, x.values); err != nil {
				return err
			}
		}
	}
}

// copyThread writes a thread with the grammar that it has.
func (c *copier) copyThread(ctx context.Context, t *Thread, a *ArchiveWriter, g *outline) error {
	folder, err := c.folder(a, t.ID)
	if err != nil {
		return err
	}
	counts := g.loops()
	as := t // the thread in the form in which it is written
	if c.unifier != nil {
		if as, err = c.unifier.thread(t, g, c.renamed); err != nil {
			return err
		}
	}
	place := func(_ *Vector, x *Block) (uint64, error) { return x.Offset, nil }
	flush := func() error { return nil }
	if !c.recode {
		for _, d := range []*dataFile{t.times, t.durations} {
			if err := archive.Copy(ctx, d.src, d.name, d.path, filepath.Join(folder, filepath.Base(d.name))); err != nil {
				return err
			}
		}
	} else {
		var w [2]*recoder
		for i, d := range []*dataFile{t.times, t.durations} {
			f, err := os.Create(filepath.Join(folder, filepath.Base(d.name)))
			if err != nil {
				return err
			}
			defer f.Close()
			w[i] = &recoder{d: d, w: bufio.NewWriterSize(f, 64<<10)}
		}
		defer t.Close()
		place = func(v *Vector, x *Block) (uint64, error) {
			if v.event {
				return c.block(w[0], v, x)
			}
			return c.block(w[1], v, x)
		}
		flush = func() error { return errors.Join(w[0].w.Flush(), w[1].w.Flush()) }
	}
	err = replaceFile(filepath.Join(folder, "thread.pallas"),
		func(w *bufio.Writer) error { return writeThread(w, as, counts, place) })
	if err := cmp.Or(err, flush()); err != nil {
		return err
	}
	a.number++
	return nil
}

// recoder writes the blocks of one file with another encoding.
type recoder struct {
	d    *dataFile
	w    *bufio.Writer
	size uint64
}

// block writes a block with another encoding and returns its position.
func (c *copier) block(w *recoder, v *Vector, x *Block) (at uint64, err error) {
	if c.values, err = c.r.read(c.values[:0], w.d, v, x); err != nil {
		return 0, err
	}
	c.packed = c.w.appendBlock(c.packed[:0], &c.room, c.values)
	at = w.size
	w.size += uint64(len(c.packed))
	_, err = w.w.Write(c.packed)
	return at, err
}

// writeThread writes a thread.pallas of ABI 20 (docs/formats/pallas.md, "thread.pallas"). loops holds
// the number of occurrences of each loop, for traces that do not store it. place writes a block to its
// file if necessary, and returns the position of the block.
func writeThread(w *bufio.Writer, t *Thread, loops []uint64, place func(v *Vector, x *Block) (uint64, error)) error {
	b := le32(nil, t.ID, t.Archive.ID)
	b = le64(b, uint64(len(t.Events)), uint64(len(t.Sequences)), uint64(len(t.Loops)))
	b = le64(le32(b, t.Root.ID()), t.Start)
	next := func() {
		w.Write(b) // bufio.Writer keeps errors; the last write of w returns them
		b = b[:0]
	}
	var places []uint64 // positions of the blocks of durations
	vector := func(v, same *Vector) error {
		if v.Size == 0 {
			b = le64(b, 0, 1)
			return nil
		}
		b = le64(b, v.Size, uint64(len(v.Blocks)))
		if v.durations {
			b = le64(b, v.Min, v.Max, v.Mean)
		}
		for i := range v.Blocks {
			x := &v.Blocks[i]
			var at uint64
			if same != nil && i < len(same.Blocks) && same.Blocks[i].Offset == x.Offset && same.Blocks[i].Count == x.Count {
				at = places[i] // both vectors have the same block
			} else {
				var err error
				if at, err = place(v, x); err != nil {
					return err
				}
			}
			if same == nil {
				places = append(places, at)
			}
			if v.durations {
				b = le64(b, x.Count, x.Min, x.Max, x.Mean, at)
			} else {
				b = le64(b, x.Count, x.First, x.Last, at)
			}
		}
		return nil
	}
	ids := func(m []uint32) { b = le32(le64(b, uint64(len(m))), m...) }
	for i := range t.Events {
		e := &t.Events[i]
		if len(e.Payload) > maxPayload {
			return fmt.Errorf("%s: found a payload of %s, expected %d at most", t.path, plural.Of(len(e.Payload), "byte"),
				maxPayload)
		}
		b = append(le32(b, uint32(e.Record)), byte(5+len(e.Payload)))
		b = append(b, e.Payload...)
		b = append(le64(b, uint64(len(e.attributes))), e.attributes...)
		if err := vector(&e.Timestamps, nil); err != nil {
			return err
		}
		next()
	}
	ids(t.eventMap)
	for i := range t.Sequences {
		x := &t.Sequences[i]
		b = le64(le32(b, uint32(x.Type)), uint64(len(x.Tokens)))
		if len(x.Tokens) > 0 {
			for _, k := range x.Tokens {
				b = le32(b, uint32(k))
			}
			places = places[:0]
			if err := cmp.Or(vector(&x.Durations, nil), vector(&x.Exclusive, &x.Durations),
				vector(&x.Timestamps, nil)); err != nil {
				return err
			}
		}
		next()
	}
	ids(t.sequenceMap)
	for i, l := range t.Loops {
		n := l.Occurrences
		if t.Archive.Trace.ABI < 19 && l.Sequence != NoToken {
			n = loops[i] // old versions of the format do not store the number of occurrences
		}
		b = le64(le32(b, uint32(l.Sequence), l.Iterations), n)
	}
	ids(t.loopMap)
	next()
	return nil
}

// loops returns the number of occurrences of each loop.
func (g *outline) loops() []uint64 {
	l := make([]uint64, len(g.t.Loops))
	for i, n := range g.sequences {
		for _, k := range g.t.Sequences[i].Tokens {
			if at, ok := indexOf(g.t.loopMap, k.ID(), len(l)); ok && k.Type() == LoopToken {
				l[at] = saturatingAdd(l[at], n)
			}
		}
	}
	return l
}
