package otf2

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// Archive is an open archive. Several goroutines may call its methods at the same time.
type Archive struct {
	Anchor
	src format.Source
	// files limits the number of files that are open at the same time, however many locations there are.
	files *archive.FileManager
	// name of the anchor file without its extension; the names of the other files begin with this name
	name string
	path string // like name, but as the user wrote it
	// defining holds the locations that have a definition file, once listing is done.
	listing  sync.Once
	defining map[uint64]bool
	unlisted error
}

// Open opens an archive by its anchor file. The error is a [FileError] if the anchor file is
// damaged or if this package cannot read the archive. A damaged but readable archive is returned
// together with the error.
func Open(src format.Source) (*Archive, error) {
	if err := refusePart(src); err != nil {
		return nil, err
	}
	b, err := archive.Load(src, src.Name, src.Path, maxAnchor)
	if m := (*missingFile)(nil); errors.As(err, &m) {
		err = m.Err // this error already names the file
	}
	if err != nil {
		return nil, err
	}
	a, err := parseAnchor(src.Path, b)
	if a == nil {
		return nil, err
	}
	return &Archive{Anchor: *a, src: src, files: archive.Shared(),
		name: strings.TrimSuffix(src.Name, ".otf2"), path: strings.TrimSuffix(src.Path, ".otf2")}, err
}

// properties iterates over the names and values of the properties in the anchor file.
func (a *Archive) properties() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, p := range a.Properties {
			if !yield(p.Name, p.Value) {
				return
			}
		}
	}
}

// Definitions calls use for each global definition, in file order, with the record and its offset in the file.
// The record has the values of the file: they are not adapted to later versions, which give some fields
// another meaning. The record is valid only during the call. Unknown definitions have no values. Definitions
// skips damaged records, and returns their errors at the end, as one error if there are several. If use returns an
// error, Definitions returns that error immediately.
func (a *Archive) Definitions(use func(at int64, r *Record) error) error {
	return a.eachRecord(".def", a.definitionChunk(), definitionTypes[:], withoutState(use))
}

// withoutState returns a function that ignores the states of records.
func withoutState(use func(at int64, r *Record) error) func(at int64, r *Record, s recordState) error {
	return func(at int64, r *Record, _ recordState) error { return use(at, r) }
}

// Markers calls use for each record of the archive's marker file. It treats records and errors as
// [Archive.Definitions] does. An archive without such a file has no markers.
func (a *Archive) Markers(use func(at int64, r *Record) error) error {
	if err := a.eachRecord(".marker", a.definitionChunk(), markerTypes[:], withoutState(use)); !archive.IsMissing(err) {
		return err
	}
	return nil
}

// Thumbnail calls use for the header and for each sample of thumbnail k (docs/formats/otf2.md, "Thumbnails"). It
// treats records and errors as [Archive.Definitions] does. [Anchor].Thumbnails is the number of thumbnails.
func (a *Archive) Thumbnail(k int, use func(at int64, r *Record) error) error {
	return a.eachRecord(fmt.Sprintf(".%d.thumb", k), thumbnailChunk, thumbnailTypes[:], withoutState(use))
}

// thumbnailFiles returns the name endings of the thumbnail files that exist. It does not rely on
// the number in the anchor file, which may be damaged.
func (a *Archive) thumbnailFiles() (endings []string, err error) {
	if a.Thumbnails == 0 {
		return nil, nil
	}
	entries, err := fs.ReadDir(a.src.FS, path.Dir(a.name))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		ending, ok := strings.CutPrefix(e.Name(), path.Base(a.name))
		if ok && isThumbnailFile(ending) {
			endings = append(endings, ending)
		}
	}
	return endings, nil
}

// thumbnailChunk is the chunk size of thumbnail files, regardless of the anchor file.
const thumbnailChunk = 1 << 20

// definitionChunk returns the chunk size of definition and marker files.
func (a *Archive) definitionChunk() uint64 { return cmp.Or(a.DefinitionChunk, maxChunk) }

// eachRecord reads a file whose records have the given types and calls use for each record.
func (a *Archive) eachRecord(name string, chunk uint64, types []recordType,
	use func(at int64, r *Record, s recordState) error) error {
	var r, scratch Record
	return a.scan(name, chunk, func(id uint8, c *cursor) recordState {
		return a.readRecord(types, id, c, &scratch)
	}, func(c *chunkReader, h recordHead) (recordState, error) {
		s := a.readRecord(types, h.id, &cursor{b: h.body, big: c.big}, &r)
		if s == unreadable {
			return s, nil
		}
		return s, use(h.at, &r, s) // an incomplete record is passed to use as well
	})
}

// readRecord reads a record of one of the given types. An unknown record has no values.
func (a *Archive) readRecord(types []recordType, id uint8, c *cursor, r *Record) recordState {
	r.ID, r.Values, r.Texts = id, r.Values[:0], r.Texts[:0]
	t := typeByID(types, id)
	if t == nil {
		return unusual
	}
	c.record(t, r)
	switch {
	case c.bad:
		return unreadable
	case c.missing > 0 && (a.Version[0] >= 3 || c.missing > t.added):
		return incomplete
	case c.at < len(c.b) || c.loose:
		return unusual
	}
	return valid
}

// scan reads a file in which every record has a length. It calls use for each record; use also returns the state
// of the record. state returns the state of bytes that may be a record. At the end, scan returns the defects.
// If use returns an error, scan returns that error immediately.
func (a *Archive) scan(name string, chunk uint64, state func(id uint8, c *cursor) recordState,
	use func(c *chunkReader, h recordHead) (recordState, error)) error {
	c, err := openChunks(a.files, a.src, a.name+name, a.path+name, chunk)
	if err != nil {
		return err
	}
	defer c.close()
	s := recordSearch{c: c, state: state, budget: resyncBudget*c.size + partSize}
	var found fileDefects
	later := a.laterVersion()
	skipped := false // whether the bytes up to the end of the chunk have been skipped because of a defect
	for k := int64(0); ; k = c.chunkNumber() + 1 {
		err := c.begin(k)
		for err == nil {
			var h recordHead
			if h, err = c.next(); err == nil && h.id == endOfFile {
				break
			}
			if err != nil {
				var wrong *FileError
				if !errors.As(err, &wrong) || h.at == 0 {
					break
				}
				// Other bytes than zeros after the end of a chunk are no defect.
				if e := s.resume(&h, 0, wrong); h.id > endOfBuffer || c.offset() < c.end || c.end == c.size {
					found.add(e)
				}
				err, skipped = nil, c.offset() == c.end
				continue
			}
			natural := c.offset()
			x, e := use(c, h)
			if e != nil {
				return e
			}
			switch {
			case x == unreadable || x == incomplete:
				e = s.resume(&h, natural, c.errorAt(h.at, "one with all its fields", "record %d of %s", h.id,
					plural.Of(len(h.body), "byte")))
			case x == unusual && !later:
				e = s.resume(&h, natural, nil)
			}
			if skipped = e != nil && c.offset() == c.end; e != nil {
				found.add(e)
			}
		}
		var bad *FileError
		switch {
		case err == nil:
			return found.err()
		case err == io.EOF:
			err = c.missingEnd()
		case !errors.As(err, &bad):
			return err
		}
		if !skipped {
			found.add(err)
		}
		if skipped = false; c.end == c.size {
			return found.err()
		}
	}
}

// maxDefects is the maximum number of defects of a file that are collected.
const maxDefects = 10_000

// fileDefects collects the defects of a file. As an error, it has the text of the first defect.
type fileDefects struct{ list []error }

// add adds a defect, or the defects of another list. It ignores nil.
func (d *fileDefects) add(err error) {
	switch l, ok := err.(*fileDefects); {
	case ok:
		d.list = append(d.list, l.list...)
	case err != nil && len(d.list) < maxDefects:
		d.list = append(d.list, err)
	}
}

// err returns the defects, or nil if there are none.
func (d *fileDefects) err() error {
	switch len(d.list) {
	case 0:
		return nil
	case 1:
		return d.list[0]
	}
	return d
}

// Error returns the text of the first defect.
func (d *fileDefects) Error() string { return d.list[0].Error() }

// Unwrap returns all defects.
func (d *fileDefects) Unwrap() []error { return d.list }

// idMap maps the ids of a location's own file to the ids of the archive. An id without an entry does not
// change.
type idMap struct {
	dense  []uint64
	sparse map[uint64]uint64
}

func (m *idMap) global(id uint64) uint64 {
	if m.sparse != nil {
		if g, ok := m.sparse[id]; ok {
			return g
		}
		return id
	}
	if id < uint64(len(m.dense)) {
		return m.dense[id]
	}
	return id
}

// ClockOffset is the value to add to a location's clock at a time.
type ClockOffset struct {
	Time      uint64 // time of the location's clock
	Offset    int64
	Deviation float64
}

// localDefinitions holds the definitions in a location's own file.
type localDefinitions struct {
	maps    [mappedTables]*idMap
	clocks  []ClockOffset
	unusual bool // check must read the file: it has other records, or unusual ones
}

// localDefinitions reads the definitions in a location's own file, which may be missing. It skips damaged
// records, and returns their errors as [Archive.Definitions] does.
func (a *Archive) localDefinitions(location uint64) (*localDefinitions, error) {
	l := &localDefinitions{}
	var wrong fileDefects
	name := fmt.Sprintf("/%d.def", location)
	err := a.scan(name, a.definitionChunk(), a.localState, func(c *chunkReader, h recordHead) (recordState, error) {
		state, found, expected := a.readLocal(l, h.id, &cursor{b: h.body, big: c.big})
		l.unusual = l.unusual || state != valid || localNames[h.id] == ""
		if found != "" {
			wrong.add(c.errorAt(h.at, expected, "%s", found))
		}
		return state, nil
	})
	if !archive.IsMissing(err) {
		wrong.add(err)
	}
	return l, wrong.err()
}

// localState returns the state of bytes that may be a record of a location's own definition file.
func (a *Archive) localState(id uint8, cur *cursor) recordState {
	state, _, _ := a.readLocal(&localDefinitions{}, id, cur)
	return state
}

// readLocal reads a record of a location's own definition file into l. It returns what is wrong with the contents of a
// record that can be read.
func (a *Archive) readLocal(l *localDefinitions, id uint8, cur *cursor) (state recordState, found, expected string) {
	switch id {
	case localMapping:
		found, expected = l.readMap(cur, a.laterVersion())
	case localClock:
		x := ClockOffset{cur.fixed(8), int64(cur.compressed(8)), math.Float64frombits(cur.fixed(8))}
		if cur.bad {
			break
		}
		n := len(l.clocks)
		switch {
		case n > 0 && l.clocks[n-1].Time == x.Time:
			found = fmt.Sprintf("a second clock offset at %d", x.Time)
			expected = "a clock offset at another time; weft uses the first one"
		case n > 0 && l.clocks[n-1].Time > x.Time:
			found = fmt.Sprintf("a clock offset at %d after one at %d", x.Time, l.clocks[n-1].Time)
			expected = "a clock offset at a later time; weft ignores this one"
		default:
			l.clocks = append(l.clocks, x)
		}
	default: // no reader uses this definition
		return a.readRecord(definitionTypes[:], id, cur, &Record{}), "", ""
	}
	switch {
	case cur.bad:
		return unreadable, "", ""
	case cur.at < len(cur.b) || cur.loose:
		return unusual, found, expected
	}
	return valid, found, expected
}

// readMap reads a mapping table. It returns what is wrong with a table that weft ignores. Later versions of OTF2 may
// have more kinds of tables.
func (l *localDefinitions) readMap(c *cursor, later bool) (found, expected string) {
	kind, n, mode := c.byte(), c.compressed(8), c.byte()
	if mode > 1 && !c.bad {
		c.at = len(c.b)
		return fmt.Sprintf("a mapping table of mode %d", mode), "mode 0 (dense) or 1 (pairs); weft ignores the table"
	}
	m := &idMap{}
	if mode == 1 {
		m.sparse = map[uint64]uint64{}
	}
	if n > uint64(len(c.b)-c.at) {
		c.fail()
	}
	for k := uint64(0); k < n && !c.bad; k++ {
		if mode == 1 {
			id := c.compressed(8)
			m.sparse[id] = c.compressed(8)
		} else {
			m.dense = append(m.dense, c.compressed(8))
		}
	}
	switch {
	case c.bad:
	case n == 0:
		return "a mapping table of no ids", "a table of at least one id"
	case kind >= uint64(len(l.maps)):
		if !later {
			return fmt.Sprintf("a mapping table of kind %d", kind),
				fmt.Sprintf("a kind up to %d; weft ignores the table", len(l.maps)-1)
		}
	case l.maps[kind] != nil:
		return fmt.Sprintf("a second mapping table of kind %d", kind), "one table of each kind; weft uses the first one"
	default:
		l.maps[kind] = m
	}
	return "", ""
}

// clock corrects the times of a location. The times must not decrease from call to call
// (docs/formats/otf2.md, "Clock correction").
type clock struct {
	offsets       []ClockOffset
	at            int // index of the current interval
	slopeInterval int // 1 plus the index of the interval to which slope belongs; 0 if slope is not set
	slope         float64
}

func newClock(l []ClockOffset) *clock {
	if len(l) < 2 {
		return nil
	}
	return &clock{offsets: l}
}

// advance moves to the interval that contains a time. It never moves backwards.
func (c *clock) advance(t uint64) {
	for c.at < len(c.offsets)-2 && t > c.offsets[c.at+1].Time {
		c.at++
	}
}

// correct returns the corrected time for the time t of the file, both in ticks.
func (c *clock) correct(t uint64) uint64 {
	if c == nil {
		return t
	}
	c.advance(t)
	if c.slopeInterval != c.at+1 {
		x, y := &c.offsets[c.at], &c.offsets[c.at+1]
		c.slopeInterval, c.slope = c.at+1, x.slope(y)
	}
	return c.offsets[c.at].apply(c.slope, t)
}

// correctIn returns the time corrected by the offsets of interval i.
func (c *clock) correctIn(i int, t uint64) uint64 {
	x := &c.offsets[i]
	return x.apply(x.slope(&c.offsets[i+1]), t)
}

// slope returns the change of the offset per tick between two clock offsets.
func (c *ClockOffset) slope(y *ClockOffset) float64 {
	return float64(y.Offset-c.Offset) / float64(y.Time-c.Time)
}

// apply returns a time corrected by an offset that changes with the given slope.
func (c *ClockOffset) apply(slope float64, t uint64) uint64 {
	diff := float64(t - c.Time)
	if t < c.Time {
		diff = -float64(c.Time - t)
	}
	return t + uint64(c.Offset) + uint64(int64(math.RoundToEven(slope*diff)))
}

// LocationIDs returns the ids of all defined locations, in file order.
func (a *Archive) LocationIDs() ([]uint64, error) {
	var ids []uint64
	seen := map[uint64]bool{}
	err := a.Definitions(func(_ int64, r *Record) error {
		if r.ID == defLocation && !seen[r.Values[0]] {
			ids = append(ids, r.Values[0])
			seen[r.Values[0]] = true
		}
		return nil
	})
	return slices.Clip(ids), err
}

// reportDefect reports err, or each error of a file, as a defect if the trace is the cause of the error. It returns
// other errors.
func reportDefect(opt *format.ReadOptions, err error) error {
	if d, ok := err.(*fileDefects); ok {
		for _, err := range d.list {
			if err := reportDefect(opt, err); err != nil {
				return err
			}
		}
		return nil
	}
	return archive.ReportDefect(opt, err, damagedRule, "otf2.missing-file", "a file of the archive")
}

// damagedRule is the rule that reports files that cannot be read as a whole.
const damagedRule = "otf2.damaged"

// openArchive opens an archive. It reports the damage of an archive that is readable in spite of it.
func openArchive(src format.Source, opt *format.ReadOptions) (*Archive, error) {
	a, err := Open(src)
	if a == nil {
		return nil, err
	}
	return a, reportDefect(opt, err)
}

// ownDefinitions returns the ids of the locations that have a definition file.
func (a *Archive) ownDefinitions() (map[uint64]bool, error) {
	a.listing.Do(func() { a.defining, a.unlisted = a.locationsWith(".def") })
	return a.defining, a.unlisted
}

// locationsWith returns the ids of the locations that have a file with an extension.
func (a *Archive) locationsWith(extension string) (map[uint64]bool, error) {
	entries, err := fs.ReadDir(a.src.FS, path.Clean(a.name))
	if archive.IsMissing(err) {
		err = nil
	}
	ids := map[uint64]bool{}
	for _, e := range entries {
		if number, ok := strings.CutSuffix(e.Name(), extension); ok {
			if id, err := strconv.ParseUint(number, 10, 64); err == nil {
				ids[id] = true
			}
		}
	}
	return ids, err
}

// requireDefinitions reports a location that has no definition file although other locations have one.
func (a *Archive) requireDefinitions(id uint64, opt *format.ReadOptions) error {
	all, err := a.ownDefinitions()
	if err != nil || len(all) == 0 || all[id] {
		return err
	}
	return opt.Defect(&trace.Defect{Rule: "otf2.missing-definitions", Severity: trace.Error,
		Position: trace.Position{File: fmt.Sprintf("%s/%d.def", a.path, id)}, Found: "no such file",
		Expected: "the local definitions of the location; without them, references and times may be wrong"})
}

// openEvents opens the events of a location. It returns nil if the file is missing.
func (a *Archive) openEvents(id uint64, opt *format.ReadOptions) (*EventReader, error) {
	if err := a.requireDefinitions(id, opt); err != nil {
		return nil, err
	}
	r, err := a.Events(id, EventOptions{RawClocks: opt.Value("otf2.raw-clocks", "false") == "true"})
	if err := reportDefect(opt, err); err != nil {
		if r != nil {
			r.Close()
		}
		return nil, err
	}
	return r, nil
}
