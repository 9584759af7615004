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
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
)

// Archive is an opened archive. Its methods may be called by several goroutines at once.
type Archive struct {
	Anchor
	src format.Source
	// files bounds how many files are open at once, whatever the number of locations.
	files *archive.FileManager
	name  string // of the anchor file without its ending: what the other names begin with
	path  string // the same as the user wrote it
}

// mostOpen is how many files of an archive are open at once.
const mostOpen = 128

// Open opens an archive by its anchor file. The error is a [FileError] if that is damaged,
// or says that such archives cannot be read.
func Open(src format.Source) (*Archive, error) {
	b, err := archive.Load(src, src.Name, src.Path, maxAnchor)
	if m := (*missing)(nil); errors.As(err, &m) {
		err = m.Err // which names the file
	}
	if err != nil {
		return nil, err
	}
	a, err := parseAnchor(src.Path, b)
	if a == nil {
		return nil, err
	}
	return &Archive{*a, src, archive.NewFileManager(archive.MostOpen(mostOpen)), strings.TrimSuffix(src.Name, ".otf2"),
		strings.TrimSuffix(src.Path, ".otf2")}, err
}

// properties are the names and values of those that the anchor file has.
func (a *Archive) properties() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, p := range a.Properties {
			if !yield(p.Name, p.Value) {
				return
			}
		}
	}
}

// Definitions calls use with each global definition, in the order of the file, and the
// place of the record in it. Values are those that the file says: no later meaning of an
// old field is put in. The record is valid during the call. Unknown definitions come
// without values. What is damaged is left out; the first such error is returned at the
// end, an error of use at once.
func (a *Archive) Definitions(use func(at int64, r *Record) error) error {
	return a.records(".def", a.definitionChunk(), definitionTypes[:], use)
}

// Markers does the same with the archive's markers, if it has any.
func (a *Archive) Markers(use func(at int64, r *Record) error) error {
	if err := a.records(".marker", a.definitionChunk(), markerTypes[:], use); !archive.IsMissing(err) {
		return err
	}
	return nil
}

// Thumbnail does the same with the records of thumbnail k, of which the archive has
// [Anchor].Thumbnails: its header, and its samples (docs/formats/otf2.md, "Thumbnails").
func (a *Archive) Thumbnail(k int, use func(at int64, r *Record) error) error {
	return a.records(fmt.Sprintf(".%d.thumb", k), thumbnailChunk, thumbnailTypes[:], use)
}

// thumbnailFiles are the endings of the names of the thumbnails that there are. How many
// the anchor file says may be a wrong bit.
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
		if ok && thumbnailFile.MatchString(ending) {
			endings = append(endings, ending)
		}
	}
	return endings, nil
}

// thumbnailChunk is the size of a chunk of thumbnails, whatever the anchor file says.
const thumbnailChunk = 1 << 20

// definitionChunk is the size of a chunk of definitions and of markers.
func (a *Archive) definitionChunk() uint64 { return cmp.Or(a.DefinitionChunk, maxChunk) }

// records reads a file of records of these types.
func (a *Archive) records(name string, chunk uint64, types []recordType, use func(at int64, r *Record) error) error {
	var r Record
	return a.scan(name, chunk, func(c *chunkReader, h head) (whole bool, err error) {
		r.ID, r.Values, r.Texts = h.id, r.Values[:0], r.Texts[:0]
		whole = true
		if t := known(types, h.id); t != nil {
			cur := cursor{b: h.body, big: c.big}
			if cur.record(t, &r); cur.bad {
				return false, nil
			}
			whole = cur.missing == 0 || a.Version[0] < 3 && cur.missing <= t.added // else it is used all the same
		}
		return whole, use(h.at, &r)
	})
}

// scan goes through a file of records that all have a length. use tells whether the
// record was as it should be. The first thing that is wrong is returned at the end; an
// error of use at once.
func (a *Archive) scan(name string, chunk uint64, use func(c *chunkReader, h head) (ok bool, err error)) (first error) {
	c, err := openChunks(a.files, a.src, a.name+name, a.path+name, chunk)
	if err != nil {
		return err
	}
	defer c.close()
	for k := int64(0); ; k = c.number() + 1 {
		err := c.begin(k)
		for err == nil {
			var h head
			if h, err = c.next(); err != nil || h.id == endOfFile {
				break
			}
			ok, e := use(c, h)
			if e != nil {
				return e
			}
			if !ok && first == nil {
				first = c.bad(h.at, "one with all its fields", "record %d of %d bytes", h.id, len(h.body))
			}
		}
		var bad *FileError
		switch {
		case err == nil:
			return first
		case err == io.EOF:
			err = c.lacking()
		case !errors.As(err, &bad):
			return err
		}
		if first = cmp.Or(first, err); c.end == c.size {
			return first
		}
	}
}

// idMap says what the ids of a location are in the archive. Others are the same.
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

// ClockOffset is what is to be added to a location's clock at a time.
type ClockOffset struct {
	Time      uint64 // of the location's clock
	Offset    int64
	Deviation float64
}

// local are a location's own definitions.
type local struct {
	maps   [mappedTables]*idMap
	clocks []ClockOffset
}

// local reads the own definitions of a location; it may have none. What is damaged is
// left out, and the error says so.
func (a *Archive) local(location uint64) (*local, error) {
	l := &local{}
	var first error
	err := a.scan(fmt.Sprintf("/%d.def", location), a.definitionChunk(), func(c *chunkReader, h head) (bool, error) {
		cur := cursor{b: h.body, big: c.big}
		wrong := func(expected, found string, args ...any) {
			first = cmp.Or[error](first, c.bad(h.at, expected, found, args...))
		}
		switch h.id {
		case localMapping:
			switch mode, n := l.table(&cur); {
			case cur.bad:
			case mode > 1:
				wrong("0, a dense one, or 1, one of pairs; it is left out", "a mapping table of mode %d", mode)
			case n == 0:
				wrong("one of an id at least", "a mapping table of no ids")
			}
		case localClock:
			x := ClockOffset{cur.fixed(8), int64(cur.compressed(8)), math.Float64frombits(cur.fixed(8))}
			if cur.bad {
				break
			}
			n := len(l.clocks)
			switch {
			case n > 0 && l.clocks[n-1].Time == x.Time:
				wrong("one at another time; the first one counts", "a second clock offset at %d", x.Time)
			case n > 0 && l.clocks[n-1].Time > x.Time:
				wrong("one at a later time; it is left out", "a clock offset at %d behind one at %d", x.Time, l.clocks[n-1].Time)
			default:
				l.clocks = append(l.clocks, x)
			}
		default: // a definition that nothing reads
			if t := known(definitionTypes[:], h.id); t != nil {
				cur.record(t, &Record{})
				return !cur.bad && (cur.missing == 0 || a.Version[0] < 3), nil
			}
		}
		return !cur.bad, nil
	})
	if archive.IsMissing(err) {
		err = nil
	}
	return l, cmp.Or(first, err)
}

// table reads a mapping table. Only 0 and 1 are modes.
func (l *local) table(c *cursor) (mode, n uint64) {
	kind, n, mode := c.byte(), c.compressed(8), c.byte()
	if mode > 1 {
		return mode, n
	}
	m := &idMap{}
	if mode == 1 {
		m.sparse = map[uint64]uint64{}
	}
	if n > uint64(len(c.b)-c.at) {
		c.fail()
		return mode, n
	}
	for range n {
		if mode == 1 {
			id := c.compressed(8)
			m.sparse[id] = c.compressed(8)
		} else {
			m.dense = append(m.dense, c.compressed(8))
		}
	}
	if kind < uint64(len(l.maps)) && !c.bad {
		l.maps[kind] = m
	}
	return mode, n
}

// clock corrects times of a location, which must not decrease from call to call
// (docs/formats/otf2.md, "Clock correction").
type clock struct {
	offsets []ClockOffset
	at      int // the interval in hand
	sloped  int // 1 and the interval that slope is of, 0 for none
	slope   float64
}

func newClock(l []ClockOffset) *clock {
	if len(l) < 2 {
		return nil
	}
	return &clock{offsets: l}
}

// moveOn goes to the interval of a time, if that is not before the one in hand.
func (c *clock) moveOn(t uint64) {
	for c.at < len(c.offsets)-2 && t > c.offsets[c.at+1].Time {
		c.at++
	}
}

// correct is the corrected time.
func (c *clock) correct(t uint64) uint64 {
	if c == nil {
		return t
	}
	c.moveOn(t)
	if c.sloped != c.at+1 {
		x, y := &c.offsets[c.at], &c.offsets[c.at+1]
		c.sloped, c.slope = c.at+1, x.slope(y)
	}
	return c.offsets[c.at].apply(c.slope, t)
}

// within is the time corrected as in an interval of offsets.
func (c *clock) within(i int, t uint64) uint64 {
	x := &c.offsets[i]
	return x.apply(x.slope(&c.offsets[i+1]), t)
}

// slope is how the offset grows with time up to another one.
func (x *ClockOffset) slope(y *ClockOffset) float64 {
	return float64(y.Offset-x.Offset) / float64(y.Time-x.Time)
}

// apply is a time corrected by an offset that grows.
func (x *ClockOffset) apply(slope float64, t uint64) uint64 {
	diff := float64(t - x.Time)
	if t < x.Time {
		diff = -float64(x.Time - t)
	}
	return t + uint64(x.Offset) + uint64(int64(math.RoundToEven(slope*diff)))
}

// LocationIDs are those of all locations that are defined, in the order of the file.
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
