package pallas

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/trace"
)

// decoder implements [format.File]: it reads a Pallas trace and delivers its contents in the common
// model. A tick is a nanosecond.
type decoder struct {
	format.EventsOnly
	*model
	opt *format.ReadOptions
}

// Open opens a trace, given its main file.
func (Format) Open(ctx context.Context, src format.Source, opt *format.ReadOptions) (format.File, error) {
	if err := about.CheckOptions(opt.Values); err != nil {
		return nil, err
	}
	if _, err := fs.Stat(src.FS, path.Dir(src.Name)); err != nil {
		return nil, fmt.Errorf("%s: found a single file, expected a main file in a folder: a Pallas trace "+
			"has several files", src.Path)
	}
	t, err := Open(src)
	if err != nil {
		return nil, err
	}
	m, err := newModel(t, opt)
	if err != nil {
		return nil, err
	}
	return &decoder{model: m, opt: opt}, ctx.Err()
}

// Defs returns the definitions. Scans may add to them: stand-ins for undefined regions, and kinds for
// records that only Pallas has.
func (d *decoder) Defs() *trace.Definitions { return d.defs }

// Close does nothing, because each scan closes the threads that it has read.
func (d *decoder) Close() error { return nil }

// asDefect reports err as a defect if the trace is the cause. It returns all other errors.
func asDefect(opt *format.ReadOptions, rule string, err error) error {
	var g *GrammarError
	if errors.As(err, &g) {
		return opt.Defect(&trace.Defect{Rule: rule, Severity: trace.Error, Position: g.position(),
			Found: "sequence " + g.Sequence.String() + ": " + g.Found, Expected: g.Expected})
	}
	return archive.ReportDefect(opt, err, rule, "pallas.missing-file", "a file of the trace")
}

// thread loads the wanted part of a thread, or returns nil if the location has no events. The result is not
// shared with other callers, so the caller may change it.
func (d *decoder) thread(id threadID, wanted threadPart) (*Thread, error) {
	a, err := d.t.Archive(id.archive)
	if err != nil {
		return nil, err
	}
	t, err := a.loadThread(id.id, wanted)
	if archive.IsMissing(err) {
		if _, e := fs.Stat(d.t.src.FS, strings.TrimSuffix(d.t.dir+threadFolder(id.archive, id.id),
			"/")); archive.IsMissing(e) {
			return nil, nil // the location has no events
		}
	}
	if err != nil {
		err = asDefect(d.opt, "pallas.damaged", err)
	}
	if err == nil && t != nil {
		err = d.restoreRows(id, t)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// maxKeptBytes limits the memory of the threads that are kept for later scans.
const maxKeptBytes = 32 << 20

// grammar loads a thread without the blocks of its sequences. If again is set, it keeps the thread for later
// scans, as far as maxKeptBytes allows. Several scans may share the result.
func (d *decoder) grammar(id threadID, again bool) (*Thread, error) {
	d.mu.Lock()
	t := d.grammars[id]
	d.mu.Unlock()
	if t != nil {
		return t, nil
	}
	t, err := d.thread(id, leanThread)
	if t != nil && err == nil && again {
		d.keepGrammar(id, t)
	}
	return t, err
}

// keepGrammar keeps a lean thread without defects for later scans, as far as maxKeptBytes allows.
func (d *decoder) keepGrammar(id threadID, t *Thread) {
	if !t.whole {
		return
	}
	size := t.memory()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.grammarBytes+size <= maxKeptBytes && d.grammars[id] == nil {
		if d.grammars == nil {
			d.grammars = map[threadID]*Thread{}
		}
		d.grammars[id] = t
		d.grammarBytes += size
	}
}

// Prepare does nothing, because opening the trace has already read everything that scans need.
func (d *decoder) Prepare(context.Context) error { return nil }

// withOptions returns a decoder of the same trace with other options.
func (d *decoder) withOptions(opt *format.ReadOptions) *decoder {
	return &decoder{model: d.model, opt: opt}
}

// ScanParallel delivers the events of each thread in the order of its grammar, and several threads at the same
// time. If the times of a thread decrease somewhere, or the trace has a defect, it starts again with a single
// goroutine.
func (d *decoder) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	quiet := *d.opt
	quiet.Report, quiet.Strict = format.NewReport(), false
	err := d.withOptions(&quiet).scan(ctx, sel, begin(), false)
	if errors.Is(err, errTimesGoBack) || err == nil && len(quiet.Report.Rules()) > 0 {
		return d.Scan(ctx, sel, format.PerLocation, begin()(0))
	}
	return err
}

// Scan delivers the events thread by thread, or merges the threads in the order of time. A merge holds one
// block (8 KB) of each event of each thread, and up to 32 MB of compressed blocks. Scan first looks for
// decreasing times in each thread. It sorts the events of a thread with such times, with temporary files if they
// are many.
func (d *decoder) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	if order == format.PerLocation {
		return d.scan(ctx, sel, func(int) format.Sink { return sink }, true)
	}
	rest, done := sel, sel.NoEvents
	if sel.FirstEvents && !sel.NoEvents && !sel.Stacks && sel.OneEventFrom == 0 {
		var err error
		if rest, done, err = d.scanBeginning(ctx, sel, sink); err != nil {
			return err
		}
	}
	if !done {
		part, to := format.ExactScan(d.defs, rest, sink)
		list, closeAll, err := d.Streams(ctx, part)
		defer closeAll()
		if err != nil {
			return err
		}
		if err := format.Merge(ctx, format.Select(d.defs, part, list), to); err != nil {
			return err
		}
	}
	return d.deliverLinks(format.ExactScan(d.defs, sel, sink))
}

func (d *decoder) scan(ctx context.Context, sel trace.Selection, sink func(int) format.Sink, careful bool) error {
	d.opt.Pass()
	if sel.NoEvents {
		return d.deliverLinks(format.ExactScan(d.defs, sel, sink(0)))
	}
	workers := 1
	if !careful {
		workers = max(1, min(d.opt.Cores(), len(d.threads)))
	}
	readers := make([]*threadReader, workers)
	asked := sel
	for w := range readers {
		var to format.Sink
		sel, to = format.ExactScan(d.defs, asked, sink(w))
		readers[w] = &threadReader{d: d, r: newBlockReader(d.t.Parameters), sel: sel, sink: to, checksOrder: careful,
			prefetch: workers < d.opt.Cores()}
		defer readers[w].r.close()
		defer readers[w].stop()
	}
	type job struct {
		id     threadID
		number int
	}
	next, jobs, done := 0, 0, int64(0)
	turn := pipeline.NewTurn()
	err := pipeline.Run(ctx, workers, func() (job, bool, error) {
		for next < len(d.threads) {
			next++
			if id := d.threads[next-1]; sel.Location == nil || sel.Location(d.location[id]) {
				jobs++
				return job{id, jobs - 1}, true, nil
			}
		}
		return job{}, false, nil
	}, func(w int, j job) (struct{}, error) {
		x := readers[w]
		x.described = sync.OnceFunc(func() { turn.Done(j.number) })
		defer x.described()
		x.turn = func() { turn.Wait(j.number) }
		return struct{}{}, x.scan(ctx, j.id)
	}, func(struct{}) error {
		if done++; d.opt.Progress != nil {
			d.opt.Progress(done, int64(len(d.threads)))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return d.deliverLinks(sel, readers[0].sink)
}

// Streams returns a stream of events for each thread.
func (d *decoder) Streams(ctx context.Context, sel trace.Selection) (list []format.Stream, closeAll func(), err error) {
	d.opt.Pass()
	r := newBlockReader(d.t.Parameters)
	var open []*threadReader
	closeAll = func() {
		for _, x := range open {
			x.close()
		}
		r.close()
	}
	for _, id := range d.threads {
		if sel.Location != nil && !sel.Location(d.location[id]) {
			continue
		}
		x := &threadReader{d: d, r: r, sel: sel, checksOrder: true}
		t, err := x.open(ctx, id)
		if err != nil {
			return nil, closeAll, err
		}
		if t != nil {
			open = append(open, x)
			list = append(list, x.Next)
		}
	}
	return list, closeAll, nil
}
