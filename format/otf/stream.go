package otf

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"unsafe"

	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// noProcess is the number that means no process in libotf.
const noProcess = math.MaxUint32

// stream reads the records of one part of one stream.
type stream struct {
	r        *Reader
	c        *Cursor // the cursor to which the stream belongs; may be nil
	id       uint32
	reported uint32 // the stream number to use in defects about records
	part     Part
	t        *lineReader
	rec      Record
	n        int // number of lines so far; the context is checked after every few lines
	// The following fields hold the state that the lines so far have set.
	time           uint64
	process        uint64
	begun          bool  // a time line and a process line have been read
	hasTime        bool  // a time line has been read
	skip           bool  // the current process is not selected
	stateless      int64 // number of records before the first time line and process line
	processAnswers [64]struct {
		process uint64
		answer  uint8 // answer of Options.Processes for a process: 1 no, 2 yes, 0 not asked yet
	}
	byLine    bool // read line by line, without reading ahead
	ahead     readAhead
	stepped   bool // the current record was read ahead
	end       bool
	delivered bool         // a record or a step (see the method step) has already been delivered
	failed    bool         // the current record is malformed, and libotf stops at it
	silent    bool         // the current record is a step: libotf counts it but does not deliver it
	empty     bool         // the last line was empty
	cut       bool         // the current record is a line without a line end
	pairs     *pairChecker // nil unless key-value pairs are checked
}

func (s *stream) position(off int64) trace.Position {
	return trace.Position{File: s.t.name, Offset: off, Binary: true}
}

func (s *stream) report(p problem, off int64) error {
	return s.r.opt.Read.Defect(&trace.Defect{Rule: p.rule, Severity: p.severity, Position: s.position(off), Found: p.found,
		Expected: p.expected})
}

// reportNoState reports a file of timed records that has been read to its end and has no state.
func (s *stream) reportNoState() error {
	if !s.part.timed() || s.begun {
		return nil
	}
	return s.r.opt.Read.Defect(noState(s.t.name))
}

// noState is the defect of a file of timed records without a time line and a process line.
func noState(file string) *trace.Defect {
	return &trace.Defect{Rule: "otf.no-state", Severity: trace.Error, Position: trace.Position{File: file},
		Found:    "no time line and process line",
		Expected: "both at the beginning; libotf then reads no stream"}
}

// stringOf returns a string with the bytes of b, without copying them.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// asLibrary reports whether blanks are accepted only in the places where libotf accepts them. This also
// applies to strict reading, which stops where libotf stops.
func (s *stream) asLibrary() bool { return s.r.opt.AsLibrary || s.r.opt.Read.Strict }

// selects reports whether the records of a process are selected. It caches the answer.
func (s *stream) selects(process uint64) bool {
	x := &s.processAnswers[process%uint64(len(s.processAnswers))]
	if x.answer == 0 || x.process != process {
		x.process, x.answer = process, 1
		if s.r.selects(process) {
			x.answer = 2
		}
	}
	return x.answer == 2
}

// next reads the next selected record. ok is false at the end.
func (s *stream) next(ctx context.Context) (ok bool, err error) {
	if !s.byLine && s.advance() {
		s.fill()
		if s.ahead.at == 1 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		return true, nil
	}
	s.stepped = false
	if s.pairs != nil {
		if err := s.checkArrayEnd(); err != nil {
			return false, err
		}
	}
	ok, err = s.nextLine(ctx)
	s.delivered = s.delivered || ok
	return ok, err
}

// nextLine does the same as next. It reads the file line by line, without the fast path.
func (s *stream) nextLine(ctx context.Context) (ok bool, err error) {
	if s.end {
		return false, nil
	}
	r := &s.rec
	if !s.silent {
		r.KeyValues = r.KeyValues[:0]
	}
	s.silent = false
	library := s.r.opt.AsLibrary && s.part.timed()
	for {
		if s.n++; s.n&0xfff == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		l, off, whole, more, err := s.t.line()
		if err != nil {
			return false, err
		}
		if s.t.long > 0 {
			if err := s.reportLong(off); err != nil {
				return false, err
			}
		}
		if !more {
			return s.endReading(library)
		}
		s.empty = len(l) == 0
		if whole && len(l) > 0 && s.begun && s.part == Events {
			// Nearly all lines are of the following kinds.
			switch c := l[0]; {
			case hexValue[c] < 16:
				if v, i := parseHex(l, 0); i == len(l) {
					s.time = v
					continue
				}
			case c == '*':
				if v, i := parseHex(l, 1); i > 1 && i == len(l) && v <= noProcess {
					if v != s.process {
						s.process, s.skip = v, !s.selects(v)
					}
					continue
				}
			case c == ' ' || c == '\t' || c == '\r': // the line may be of any kind
			case library && s.time < s.r.opt.From:
				continue
			case s.skip:
				if library {
					return s.makeStep(), nil
				}
				continue
			case r.parseFrequent(l):
				r.Stream, r.Time, r.Process = s.reported, s.time, s.process
				return true, nil
			}
		}
		kind, i := s.lineType(l)
		if !whole {
			return s.readCutLine(l, kind, off)
		}
		switch kind {
		case blankLine:
			if s.r.opt.AsLibrary {
				r.KeyValues = r.KeyValues[:0]
			}
			if library && s.begun && s.time >= s.r.opt.From {
				return s.makeStep(), nil
			}
			continue
		case timeLine, processLine:
			if ok, err := s.readState(kind, l, i, off); ok || err != nil {
				return ok, err
			}
			continue
		}
		if s.part.timed() && !s.begun {
			if err := s.reportStateless(l, off); err != nil {
				return false, err
			}
			continue
		}
		if library && s.time < s.r.opt.From {
			continue // libotf searches for the first time and process of the interval, and skips other lines
		}
		if s.part.timed() && s.skip {
			if library {
				return s.makeStep(), nil
			}
			continue
		}
		if kind == pairLine {
			if ok, err := s.readPair(l, i, off); ok || err != nil || s.end {
				return ok, err
			}
			continue
		}
		if ok, err := s.readRecord(l, i, off); ok || err != nil || s.end {
			return ok, err
		}
	}
}

// lineType returns the kind of a line and the index of its first byte that is not a blank. If the reader
// follows libotf, only blanks and tabs count as blanks.
func (s *stream) lineType(l []byte) (kind lineKind, i int) {
	kind, i = lineType(l)
	if s.r.opt.AsLibrary && kind != recordLine && bytes.IndexByte(l[:i], '\r') >= 0 {
		return recordLine, bytes.IndexByte(l, '\r')
	}
	return kind, i
}

// readState parses a time line or a process line from i on. ok is true if the line is delivered as an unknown record.
func (s *stream) readState(kind lineKind, l []byte, i int, off int64) (ok bool, err error) {
	if kind == timeLine {
		return false, s.readTime(l, i, off)
	}
	return s.readProcess(l, i, off)
}

// readTime parses a time line from i on. At the beginning of a file, libotf uses the first of several
// successive time lines.
func (s *stream) readTime(l []byte, i int, off int64) error {
	sc := scanner{l: l, i: i}
	if v := sc.hex(); s.part.timed() && (s.begun || !s.hasTime) {
		s.time, s.hasTime = v, true
	}
	return s.reportPassedOver(sc.ignored("time line"), off)
}

// reportPassedOver reports a defect, if there is one, that does not stop libotf and therefore not strict reading.
func (s *stream) reportPassedOver(p problem, off int64) error {
	if p.rule == "" {
		return nil
	}
	return lenientOptions(s.r.opt.Read).Defect(&trace.Defect{Rule: p.rule, Severity: p.severity,
		Position: s.position(off), Found: p.found, Expected: p.expected})
}

// readPair parses a line with a key-value pair from i on. If the reader follows libotf, ok is true if libotf
// treats the line as a step, or stops at the line. s.end is set if the line ends all reading.
func (s *stream) readPair(l []byte, i int, off int64) (ok bool, err error) {
	if s.pairs != nil {
		if err := s.checkPair(l, i, off); err != nil {
			return false, err
		}
	}
	if bad := s.rec.pair(l, i, s.r.opt.AsLibrary); bad.rule == ignoredText {
		if err := s.reportPassedOver(bad, off); err != nil {
			return false, err
		}
	} else if bad.rule != "" {
		s.rec.Type = NoOp // the record before the pair does not matter
		if err := s.reportMalformed(bad, off); err != nil {
			return false, err
		}
	}
	if s.end {
		s.setState()
		return s.failed, nil
	}
	if !s.r.opt.AsLibrary || !s.part.timed() {
		return false, nil
	}
	s.delivered = true
	return s.countsSteps() && s.makeStep(), nil
}

// readRecord parses the line of a record from i on. If a string of the record does not end on that line, it
// continues with further lines. ok is false if the record is malformed. In that case the record has been
// reported, and s.end is set if it ends all reading.
func (s *stream) readRecord(l []byte, i int, off int64) (ok bool, err error) {
	r := &s.rec
	bad := r.parse(l, i, s.part, s.asLibrary())
	if bad.expected == noQuote {
		if bad, err = s.parseOn(bad, l, i); err != nil {
			return false, err
		}
	}
	switch {
	case bad.harmless():
		s.setState()
		if s.pairs != nil && s.part.timed() && bad.rule == "" {
			bad = findZero(l[i:])
		}
		return true, s.reportPassedOver(bad, off)
	case r.Type == Unknown:
		if err := s.report(bad, off); err != nil {
			return false, err
		}
		s.setUnknown(l, i)
		return true, nil
	}
	if err := s.reportMalformed(bad, off); err != nil {
		return false, err
	}
	if s.end {
		s.setState()
		return s.failed, nil
	}
	r.KeyValues = r.KeyValues[:0]
	return false, nil
}

// reportLong reports the lines that were skipped because of their length.
func (s *stream) reportLong(off int64) error {
	p := problem{"otf.line-too-long", fmt.Sprintf("a line of %s", plural.Of(s.t.long, "byte")),
		fmt.Sprintf("at most %d (option otf.max-line); weft skips the line", s.t.max), trace.Error}
	s.t.long = 0
	return s.report(p, off)
}

// reportStateless counts a record before the first time line and process line. It reports the first such
// record.
func (s *stream) reportStateless(l []byte, off int64) error {
	if s.stateless++; s.stateless > 1 {
		return nil
	}
	return s.report(problem{"otf.no-state",
		fmt.Sprintf("a record %q before the first time and process", l[:min(len(l), 40)]),
		"a time line and a process line; weft skips the records before them", trace.Error}, off)
}

// endReading ends reading at the end of the file. If the reader follows libotf, endReading may still deliver a
// record or a step. The results mean the same as the results of nextLine.
func (s *stream) endReading(library bool) (ok bool, err error) {
	s.end = true
	if err := s.reportCorrupt(); err != nil {
		return false, err
	}
	if s.pairs != nil {
		if err := s.checkPairsEnd(); err != nil {
			return false, err
		}
	}
	if s.r.opt.AsLibrary && s.empty && !s.skip && s.delivered && (s.begun || !s.part.timed()) {
		s.setUnknown(nil, 0) // libotf reports an empty last line as unknown
		s.cut, s.rec.truncated = true, true
		return true, nil
	}
	return library && s.begun && !s.delivered && s.time >= s.r.opt.From && s.makeStep(), nil
}

// readCutLine reports a last line that has no line end, and reads it as an unknown record. The file is truncated
// there, so a number in the line may lack digits. ok is false if the line is not delivered.
func (s *stream) readCutLine(l []byte, kind lineKind, off int64) (ok bool, err error) {
	s.end = true
	if err := s.report(problem{"otf.cut-off", fmt.Sprintf("%q without a line end", l[:min(len(l), 40)]),
		"a line end; weft reads the line as unknown, and leaves it out of copies as OTF", trace.Error}, off); err != nil {
		return false, err
	}
	if err := s.reportCorrupt(); err != nil || kind == blankLine && !s.r.opt.AsLibrary || s.part.timed() && !s.begun ||
		s.skip || s.r.opt.AsLibrary && !s.delivered {
		return false, err
	}
	s.setUnknown(nil, 0)
	s.rec.Text = stringOf(l)
	s.cut, s.rec.truncated = true, true
	s.r.cut.add(&s.rec)
	return true, nil
}

// cutLines collects the last lines without a line end that a reader and its copies have found. Each file has
// at most one such line.
type cutLines struct {
	mu   sync.Mutex
	list map[cutLine]bool
}

// cutLine identifies a last line without a line end.
type cutLine struct {
	time, process uint64
	text          string
}

func (c *cutLines) add(r *Record) {
	if c == nil {
		return // the caller does not need these lines
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		c.list = map[cutLine]bool{}
	}
	c.list[cutLine{r.Time, r.Process, strings.Clone(r.Text)}] = true
}

// has reports whether a record was read from one of these lines.
func (c *cutLines) has(r *Record) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list[cutLine{r.Time, r.Process, r.Text}]
}

// readProcess parses a process line from i on. ok is true if the line is delivered as an unknown record. This
// is the case if the reader follows libotf and libotf does not accept the line.
func (s *stream) readProcess(l []byte, i int, off int64) (ok bool, err error) {
	library := s.r.opt.AsLibrary
	sc := scanner{l: l, i: i + 1}
	if !s.part.timed() {
		// In this part, records do not depend on the process.
		if sc.skip(); library && (sc.i == len(l) || hexValue[l[sc.i]] > 15) {
			s.setUnknown(l, i)
			return true, nil
		}
		return false, nil
	}
	if !s.hasTime {
		return false, nil
	}
	if sc.skip(); sc.i == len(l) || hexValue[l[sc.i]] > 15 {
		if err := s.report(problem{"otf.malformed", "process line: " + sc.rest(), "a number; weft skips the line",
			trace.Error}, off); err != nil {
			return false, err
		}
		if library && s.begun && !s.skip {
			s.setUnknown(l, i)
			return true, nil
		}
		return false, nil
	}
	if s.process = sc.hex() & noProcess; s.process == noProcess && !s.begun && library {
		return false, nil // libotf uses this number for "no process"
	}
	s.begun = true
	s.skip = !s.selects(s.process)
	return false, s.reportPassedOver(sc.ignored("process line"), off)
}

// countsSteps reports whether steps matter: whether they determine, as in libotf, which stream's record comes first.
func (s *stream) countsSteps() bool {
	return s.r.opt.AsLibrary && (s.c == nil || s.c.merged && len(s.c.all) > 1)
}

// makeStep turns the current line into a step: a line that libotf's heap counts as a record, although
// libotf does not deliver it.
func (s *stream) makeStep() bool {
	s.silent = true
	s.rec.Time, s.rec.Process = s.time, s.process
	return true
}

// setState sets the stream, time and process of the current record.
func (s *stream) setState() {
	r := &s.rec
	r.Stream = s.reported
	switch {
	case s.part.timed():
		r.Time, r.Process = s.time, s.process
	case r.Type != Marker:
		r.Time, r.Process = 0, 0
	}
}

// setUnknown makes the current record a record of type Unknown with the line from i on as its text.
func (s *stream) setUnknown(l []byte, i int) {
	l = l[i:]
	r := &s.rec
	r.truncated = false
	if s.r.opt.AsLibrary {
		// For libotf, the prefix belongs to the file and not to the record.
		for _, prefix := range prefixes[s.part][min(i, 1):] {
			if rest, ok := bytes.CutPrefix(l, []byte(prefix)); ok {
				l, r.truncated = rest, true
				break
			}
		}
	}
	r.Type, r.Text, r.Unnamed, r.in = Unknown, stringOf(l), false, s.part
	s.setState()
	switch s.part {
	case Definitions:
		r.Time, r.Process = math.MaxUint64, uint64(s.reported)
	case Markers:
		r.Time, r.Process = 0, uint64(s.reported)
	}
}

// reportMalformed reports a line that is skipped. If the reader follows libotf, the line ends all reading.
func (s *stream) reportMalformed(p problem, off int64) error {
	if t := s.rec.Type; s.r.opt.printing &&
		(t == SummaryComment || t == FileOperationSummary || t == FileGroupOperationSummary) {
		return nil // otfprint has no handler for these records, so libotf does not parse them
	}
	if s.r.opt.AsLibrary {
		s.end = true
		if s.c != nil && s.c.merged {
			s.failed = true // this takes effect when the merge reaches the record
		} else if s.c != nil {
			s.c.stopped = true
		}
	}
	return s.report(p, off)
}

// parseOn parses a record again if one of its strings continues after the end of the line. If the
// string does not end at all, only the first line is skipped.
func (s *stream) parseOn(bad problem, l []byte, i int) (problem, error) {
	size := len(l)
	for {
		l, more, ok, err := s.t.extend()
		if err != nil {
			return bad, err
		}
		if ok && bytes.IndexByte(l[len(l)-more:], '"') < 0 {
			continue
		}
		next := bad
		if ok {
			next = s.rec.parse(l, i, s.part, s.asLibrary())
		}
		switch {
		case ok && next.harmless():
			return next, nil
		case !ok || next.expected != noQuote:
			s.t.from = s.t.at + size + 1
			return bad, nil
		}
	}
}

// reportCorrupt reports damaged compressed data at the end of the file.
func (s *stream) reportCorrupt() error {
	if s.t.bad != nil {
		p := problem{"otf.corrupt", s.t.bad.Error(), "compressed data; the following data is lost", trace.Error}
		s.t.bad = nil
		return s.report(p, s.t.read)
	}
	return nil
}
