package otf

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/trace"
)

// survey holds the result of the first pass over a file.
type survey struct {
	id            uint32
	part          Part
	hasRecords    bool
	first         uint64
	last          uint64
	unnamedLeaves bool // some leaves have no function
	namedLeaves   bool // some leaves have a function
	process       map[uint64]bool
	unsorted      int64
	unsortedAt    int64
	begun         bool       // the file has a time line and a process line
	from          int64      // position of the first surveyed record, if the survey searched for its beginning
	kept          *readCache // bytes of the file that the survey has read
	complete      bool       // the whole file was surveyed
}

// Prepare surveys the beginnings and the ends of the files. If it finds a violation of the format
// there, it surveys all files completely.
func (d *decoder) Prepare(ctx context.Context) error {
	x, err := d.surveyEnds(ctx)
	if err != nil || x.trusted {
		return err
	}
	return d.survey(ctx)
}

// survey surveys all files: their order, times and processes.
func (d *decoder) survey(ctx context.Context) error {
	if d.indexed {
		return nil
	}
	if err := d.surveyAll(ctx); err != nil {
		return err
	}
	d.indexed = true
	return nil
}

// surveyedFile identifies a file of a trace.
type surveyedFile struct {
	id   uint32
	part Part
}

// surveyed is a file with the result of its survey. The stream is nil if the file does not exist.
type surveyed struct {
	surveyedFile
	s     *stream
	found survey
}

func (d *decoder) surveyAll(ctx context.Context) error {
	size, err := d.r.size(Snapshots, Statistics, Events)
	if err != nil {
		return err
	}
	// each file is read twice; the second time, its bytes may come from the cache
	d.r.progress = newProgress(d.opt, 2*size)
	d.files, d.hasEvents = nil, false
	d.first, d.last = 0, 0
	room := newCacheBudget()
	err = d.surveyFiles(ctx, d.r.master.Streams(), func(s *stream) (survey, error) {
		if f, ok := d.complete[surveyedFile{s.id, s.part}]; ok {
			return f, nil
		}
		if size <= maxCachedBytes {
			s.t.cache(room)
		}
		return surveyWhole(ctx, s)
	}, func(x surveyed) error {
		if x.s == nil {
			return d.r.reportMissing(x.id, x.part)
		}
		return d.addSurvey(x.found, x.s)
	})
	if err != nil {
		return err
	}
	if d.last > math.MaxInt64/4 && !d.carried {
		// Times in the model are signed, and the difference of two times must fit as well.
		d.clock.base, d.defs.Clock.Base = d.first, d.first
		d.defs.Properties.Add(trace.Attr{Key: baseName, Value: trace.Value{Num: d.first, Type: trace.Uint64}})
		d.last = min(d.last, d.first+math.MaxInt64) // reportTooLate reports later times
	}
	if d.carried {
		d.last = min(d.last, math.MaxInt64)
	}
	return nil
}

// surveyFiles surveys the files of streams on all cores. It calls take with the results in order:
// stream after stream, and snapshots and statistics before events. It does not report defects, because
// the following scan does.
func (d *decoder) surveyFiles(ctx context.Context, streams []uint32, look func(*stream) (survey, error),
	take func(surveyed) error) error {
	quiet := d.r.withoutReport()
	var files []surveyed
	for _, id := range streams {
		for _, part := range []Part{Snapshots, Statistics, Events} {
			files = append(files, surveyed{surveyedFile: surveyedFile{id, part}})
		}
	}
	return pipeline.Run(ctx, d.opt.Cores(), func() (x surveyed, ok bool, err error) {
		if ok = len(files) > 0; ok {
			x, files = files[0], files[1:]
		}
		return x, ok, nil
	}, func(_ int, x surveyed) (surveyed, error) {
		s, err := quiet.open(x.id, x.part)
		if s == nil || err != nil {
			return x, err
		}
		defer s.t.Close()
		x.s = s
		x.found, err = look(s)
		x.found.kept = s.t.kept.finish()
		return x, err
	}, take)
}

func (d *decoder) addSurvey(f survey, s *stream) error {
	for _, p := range slices.Sorted(maps.Keys(f.process)) {
		home, ok := d.r.master.Stream(uint32(p))
		if ok && home == f.id {
			continue
		}
		if !ok {
			if home, ok = d.homeStreams[p]; !ok {
				d.homeStreams[p], home = f.id, f.id
				d.location(p)
			}
		}
		if key := (scopedToken{processes, f.id, p}); home != f.id && d.model.index[key] == 0 {
			// Each of the two streams is in the order of time, but both together are not.
			l := *d.defs.Locations.At(d.location(p))
			l.ID, l.Name = fmt.Sprintf("%d@%x", p, f.id), fmt.Sprintf("%s in stream %x", l.Label(), f.id)
			d.model.index[key], d.severalStreams = d.defs.Locations.Add(l), true
		}
		if err := lenientOptions(d.opt).Defect(&trace.Defect{Rule: "otf.unlisted-process", Severity: trace.Warning,
			Position: trace.Position{File: s.t.name},
			Found:    fmt.Sprintf("process %d in stream %x", p, f.id),
			Expected: "processes that the master file lists for the stream; libotf does not read other ones"}); err != nil {
			return err
		}
	}
	if !f.begun {
		if err := d.opt.Defect(noState(s.t.name)); err != nil {
			return err
		}
	}
	if f.unsorted > 0 {
		if err := lenientOptions(d.opt).Defect(&trace.Defect{Rule: "otf.unsorted", Severity: trace.Warning,
			Position: trace.Position{File: s.t.name, Offset: f.unsortedAt, Binary: true},
			Found:    "records that are not in the order of time",
			Expected: "ascending times; weft sorts the records while it reads the trace",
			Count:    f.unsorted}); err != nil {
			return err
		}
	}
	if f.hasRecords {
		if !d.hasEvents {
			d.first, d.hasEvents = f.first, true
		}
		d.first, d.last = min(d.first, f.first), max(d.last, f.last)
	}
	d.unnamedLeaves, d.namedLeaves = d.unnamedLeaves || f.unnamedLeaves, d.namedLeaves || f.namedLeaves
	d.model.onlyUnnamedLeaves = d.unnamedLeaves && !d.namedLeaves
	f.process = nil
	d.files = append(d.files, f)
	return nil
}

// surveyWhole surveys a whole file.
func surveyWhole(ctx context.Context, s *stream) (survey, error) {
	f, err := surveyFile(ctx, s, math.MaxUint64)
	f.complete = err == nil
	return f, err
}

// surveyFile surveys a file up to the first record at or after time to.
func surveyFile(ctx context.Context, s *stream, to uint64) (survey, error) {
	f := survey{id: s.id, part: s.part, process: map[uint64]bool{}}
	x := surveyor{f: &f}
	timed := false
	for n := 0; ; n++ {
		if n&0xff == 0 && ctx.Err() != nil {
			return f, ctx.Err()
		}
		for k := 1; s.advance(); k++ { // advance reads only the frequent lines of events
			r := s.current()
			if r.time >= to {
				f.begun = s.begun
				return f, nil
			}
			if r.typ == Leave {
				f.unnamedLeaves, f.namedLeaves = f.unnamedLeaves || r.function == 0, f.namedLeaves || r.function != 0
			}
			x.record(r.time, uint64(r.process), s.t.base+int64(r.from))
			if k%aheadRows == 0 && ctx.Err() != nil {
				return f, ctx.Err()
			}
		}
		l, off, whole, ok, err := s.t.line()
		if err != nil || !ok {
			f.begun = s.begun
			return f, err
		}
		kind, i := lineType(l)
		if !whole {
			// The last line without a line end becomes an unknown record.
			if f.begun = s.begun; s.begun && kind != blankLine && s.time < to &&
				(s.t.zip != nil || off+int64(len(l)) >= s.t.h.Size) {
				x.record(s.time, s.process, off)
			}
			return f, nil
		}
		switch kind {
		case timeLine:
			if !timed || s.begun {
				s.time, _ = parseHex(l, i)
				timed = true
			}
		case processLine:
			if !timed {
				break
			}
			c := scanner{l: l, i: i + 1}
			if c.skip(); c.i == len(l) || hexValue[l[c.i]] > 15 {
				break // stream.next reports the defect
			}
			s.process, s.begun = c.hex()&noProcess, true
		case recordLine:
			if s.begun && s.time >= to {
				f.begun = true
				return f, nil
			}
			if s.begun {
				x.record(s.time, s.process, off)
				if l[i] == 'L' && s.part == Events {
					unnamed := isUnnamedLeave(l[i:])
					f.unnamedLeaves, f.namedLeaves = f.unnamedLeaves || unnamed, f.namedLeaves || !unnamed
				}
			}
		}
	}
}

// surveyor adds records to a survey.
type surveyor struct {
	f             *survey
	highest, last uint64 // times in ticks
	known         [64]struct {
		process uint64
		set     bool
	}
}

func (s *surveyor) record(time, process uint64, off int64) {
	f := s.f
	if k := &s.known[process%uint64(len(s.known))]; !k.set || k.process != process {
		k.process, k.set = process, true
		f.process[process] = true
	}
	if !f.hasRecords {
		f.first, f.last, f.hasRecords = time, time, true
	}
	if time == s.last {
		if time < s.highest {
			f.unsorted++
		}
		return
	}
	f.first, f.last = min(f.first, time), max(f.last, time)
	if time < s.highest {
		if f.unsorted++; f.unsorted == 1 {
			f.unsortedAt = off
		}
	}
	s.highest, s.last = max(s.highest, time), time
}

// isUnnamedLeave reports whether a line that begins with L is a leave without a function, or with function 0.
func isUnnamedLeave(l []byte) bool {
	if len(l) > 1 && hexValue[l[1]]-1 < 15 {
		return false // a digit other than 0 follows: the leave names a function, like most leaves
	}
	var r Record
	return r.parse(l, 0, Events, false).rule == "" && r.Type == Leave && r.Function == 0
}

// Extent returns the times of the first and the last event. It reads the beginnings and the ends of the files,
// or the whole trace if these do not suffice.
func (d *decoder) Extent(ctx context.Context) (first, last int64, ok bool, err error) {
	e, err := d.recordExtent(ctx)
	if err != nil {
		return 0, 0, false, err
	}
	if d.marks.any {
		highest := d.clock.base + math.MaxInt64 // markers with later times are no events
		e.add(min(d.marks.first, highest))
		e.add(min(d.marks.last, highest))
	}
	return d.clock.toModel(e.first), d.clock.toModel(e.last), e.any, nil
}

// recordExtent returns the times of the first and the last record, without markers.
func (d *decoder) recordExtent(ctx context.Context) (extent, error) {
	if !d.indexed {
		if x, err := d.surveyEnds(ctx); x.trusted || err != nil {
			return extent{x.any, x.first, x.last}, err
		}
	}
	err := d.survey(ctx)
	return extent{d.hasEvents, d.first, d.last}, err
}

// timeBounds holds the times of the first and the last record of a trace.
type timeBounds struct {
	any         bool
	first, last uint64
	size        int64 // size on disk of all files
	// trusted is set if the surveyed parts of the files are in the order of time. Otherwise the whole trace
	// must be surveyed.
	trusted bool
}

// endBytes is the number of bytes at the beginning and at the end of a file that are surveyed first to find
// its times.
const endBytes = 4 << 10

// surveyEnds finds the time bounds of the trace in the beginnings and the ends of its files.
func (d *decoder) surveyEnds(ctx context.Context) (timeBounds, error) {
	if d.bounds != nil {
		return *d.bounds, nil
	}
	e := timeBounds{trusted: true}
	d.complete = map[surveyedFile]survey{}
	err := d.surveyFiles(ctx, d.r.master.Streams(), func(s *stream) (survey, error) { return surveyEnds(ctx, s) },
		func(x surveyed) error {
			if x.s == nil {
				e.trusted = e.trusted && x.part != Events
				return nil
			}
			f := x.found
			if f.complete {
				d.complete[x.surveyedFile] = f
			}
			e.size += x.s.t.h.Size
			e.trusted = e.trusted && f.begun && d.trustworthy(&f) && f.last <= math.MaxInt64/4
			if f.hasRecords {
				if !e.any {
					e.first, e.any = f.first, true
				}
				e.first, e.last = min(e.first, f.first), max(e.last, f.last)
			}
			return nil
		})
	if err == nil {
		d.bounds = &e
	}
	return e, err
}

// surveyEnds surveys the beginning and the end of a file. It surveys the whole file if the file is small, or if it is
// compressed and has no restart point near its end.
func surveyEnds(ctx context.Context, s *stream) (survey, error) {
	size := s.t.h.Size
	if size <= 4*endBytes {
		return surveyWhole(ctx, s)
	}
	var tail int64
	buf := make([]byte, endBytes)
	for back := int64(endBytes); ; back *= 2 {
		if back >= size {
			return surveyWhole(ctx, s)
		}
		var err error
		if s.t.zip == nil {
			tail, _, err = s.t.timeAfter(size-back, size, buf)
		} else {
			tail, err = s.t.restartNearEnd(back)
		}
		if err != nil {
			return survey{}, err
		}
		if tail >= 0 {
			break
		}
	}
	s.t.stop = endBytes
	f, err := surveyFile(ctx, s, math.MaxUint64)
	if err != nil || !f.hasRecords {
		f.begun = false // the time line of the first record may be missing
		return f, err
	}
	if s.t.zip == nil {
		s.t.readFrom(tail)
	} else if err := s.t.beginAfter(tail); err != nil {
		return f, err
	}
	s.begun, s.process = false, 0
	end, err := surveyFile(ctx, s, math.MaxUint64)
	if err != nil || !end.hasRecords || end.first < f.last || s.t.bad != nil {
		f.begun = false
		return f, err
	}
	f.last, f.unsorted, f.unnamedLeaves = end.last, f.unsorted+end.unsorted, f.unnamedLeaves || end.unnamedLeaves
	maps.Copy(f.process, end.process)
	if s.t.zip != nil && f.last > f.first {
		s.t.probes.setEnds(s.t.name, fileTimes{f.first, f.last})
	}
	return f, nil
}

// surveySelected surveys only the parts of the trace that sel selects: in the streams of the selected
// locations, it finds the records in the selected times by bisection. It assumes that the rest of the files is
// in the order of time, as the format demands. ok is false if sel selects everything, or if the survey finds a
// record whose meaning depends on all earlier records. In both cases, the whole trace must be surveyed.
func (d *decoder) surveySelected(ctx context.Context, sel trace.Selection) (list []survey, ok bool, err error) {
	if d.indexed || d.unnamedLeaves || len(d.async) > 0 || sel.From == math.MinInt64 && sel.To == math.MaxInt64 &&
		sel.Location == nil {
		return nil, false, nil
	}
	streams, ok := d.streamsOf(sel)
	if !ok {
		return nil, false, nil
	}
	whole, err := d.surveyEnds(ctx)
	if !whole.trusted || err != nil {
		return nil, false, err
	}
	from, later := d.clock.toFile(sel.From)
	to, bounded := d.clock.toFile(sel.To)
	if later = later && from > whole.first; !later {
		from = whole.first
	}
	if !bounded {
		to = math.MaxUint64
	}
	part := float64(min(to, whole.last)-min(from, to, whole.last)) / float64(max(whole.last-whole.first, 1))
	share := float64(len(streams)) / float64(max(d.r.master.Len(), 1))
	d.r.progress = newProgress(d.opt, int64(2*part*share*float64(whole.size))) // the files are read twice
	room := newCacheBudget()
	err = d.surveyFiles(ctx, streams, func(s *stream) (f survey, err error) {
		if f, ok := d.complete[surveyedFile{s.id, s.part}]; ok {
			return f, nil
		}
		s.t.cache(room)
		var at int64
		if later {
			if err := s.t.search(from); err != nil {
				return f, err
			}
			at = s.t.base
		} else if bounded {
			s.t.expectFew()
		}
		f, err = surveyFile(ctx, s, to)
		f.from = at
		return f, err
	}, func(x surveyed) error {
		if x.s == nil {
			ok = ok && x.part != Events
			return nil
		}
		f := x.found
		ok = ok && f.begun && d.trustworthy(&f)
		f.process = nil
		list = append(list, f)
		return nil
	})
	return list, ok && err == nil, err
}

// trustworthy reports whether the surveyed part of a file is in the order of time, contains only
// processes that the master file lists for the stream, and has no leaves without a function.
func (d *decoder) trustworthy(f *survey) bool {
	for p := range f.process {
		if home, listed := d.r.master.Stream(uint32(p)); !listed || home != f.id {
			return false
		}
	}
	return f.unsorted == 0 && !f.unnamedLeaves
}

// streamsOf returns the streams of the locations that sel selects. ok is false if the master file does not
// list the process of such a location, because such a process can have events in any stream.
func (d *decoder) streamsOf(sel trace.Selection) (streams []uint32, ok bool) {
	if sel.Location == nil {
		return d.r.master.Streams(), true
	}
	listed := map[uint32]bool{}
	for _, id := range d.r.master.Streams() {
		wanted := false
		for _, p := range d.r.master.Processes(id) {
			if l, ok := d.locations[uint64(p)]; ok && sel.Location(l) {
				listed[l], wanted = true, true
			}
		}
		if wanted {
			streams = append(streams, id)
		}
	}
	for l := range uint32(d.defs.Locations.Len()) {
		if !listed[l] && sel.Location(l) {
			return nil, false
		}
	}
	return streams, true
}
