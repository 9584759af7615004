package otf2

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/weft-trace/weft/format"
)

// Writer writes an archive. Definitions may be written at any time before Close, those
// of locations best after their events, which they count.
type Writer struct {
	// Anchor is what the anchor file is to say; Close counts locations, definitions,
	// snapshots and thumbnails.
	Anchor Anchor

	dst         *format.Output
	folder      string // of the files until they get their names
	definitions chunkWriter
	markers     chunkWriter
	mu          sync.Mutex
	locations   map[uint64]*EventWriter
	snapshots   map[uint64]*SnapshotWriter
	thumbnails  []*chunkWriter
}

// NewWriter begins an archive whose anchor file is dst: the other files appear beside it
// when dst is committed. An archive of the same name is replaced. Chunk sizes that a has
// not are 256 KiB; versions are those of OTF2 3.0.
func NewWriter(dst *format.Output, a Anchor) (*Writer, error) {
	if dst.Path == "-" {
		return nil, errors.New("OTF2 has several files, expected the name of a file to write to")
	}
	a.FileVersion, a.TraceVersion, a.Version, a.Substrate, a.Compression = 3, 2, [3]uint8{3, 0, 2}, 1, 1
	a.EventChunk, a.DefinitionChunk = cmp.Or(a.EventChunk, minChunk), cmp.Or(a.DefinitionChunk, minChunk)
	name := strings.TrimSuffix(dst.Path, ".otf2")
	if err := replaceable(name); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(filepath.Dir(name), "."+filepath.Base(name)+".*.tmp")
	if err != nil {
		return nil, err
	}
	w := &Writer{Anchor: a, dst: dst, folder: folder, locations: map[uint64]*EventWriter{},
		snapshots: map[uint64]*SnapshotWriter{}}
	w.definitions = chunkWriter{path: filepath.Join(folder, "def"), chunk: int64(a.DefinitionChunk), most: 64 << 10}
	w.markers = chunkWriter{path: filepath.Join(folder, "marker"), chunk: int64(a.DefinitionChunk), most: 64 << 10}
	dst.BeforeCommit(func() error { return w.name(name) })
	dst.AtEnd(w.Abort)
	return w, os.Mkdir(filepath.Join(folder, "locations"), 0o777)
}

// setAnchor says what the anchor file is to say, before anything is written.
func (w *Writer) setAnchor(a Anchor) {
	w.Anchor = a
	w.definitions.chunk, w.markers.chunk = int64(a.DefinitionChunk), int64(a.DefinitionChunk)
}

// Abort removes what has been written.
func (w *Writer) Abort() { os.RemoveAll(w.folder) }

// thumbnailFile is what the name of a thumbnail's file has behind that of the archive.
var thumbnailFile = regexp.MustCompile(`^\.[0-9]+\.thumb$`)

// locationFile is a name that an archive's folder has.
var locationFile = regexp.MustCompile(`^[0-9]+\.(evt|def|snap)$`)

// replaceable tells whether the folder of locations may be replaced: it has nothing else,
// or is not there.
func replaceable(name string) error {
	entries, err := os.ReadDir(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !locationFile.MatchString(e.Name()) {
			return fmt.Errorf("%s: found %s in it, expected files of locations only, which are replaced", name, e.Name())
		}
	}
	return nil
}

// name says the names of the files.
func (w *Writer) name(name string) error {
	if err := replaceable(name); err != nil {
		return err
	}
	w.dst.Rename(filepath.Join(w.folder, "locations"), name)
	w.dst.Rename(w.definitions.path, name+".def")
	if _, err := os.Lstat(w.markers.path); err == nil {
		w.dst.Rename(w.markers.path, name+".marker")
	} else {
		w.dst.Remove(name + ".marker") // of an archive that was here before
	}
	made := map[string]bool{}
	thumbnails, _ := filepath.Glob(filepath.Join(w.folder, "*.thumb"))
	for _, path := range thumbnails {
		to := name + "." + filepath.Base(path)
		made[to] = true
		w.dst.Rename(path, to)
	}
	// Thumbnails of an archive that was here before would be taken for those of this one.
	old, _ := filepath.Glob(name + ".*.thumb")
	for _, path := range old {
		if thumbnailFile.MatchString(path[len(name):]) && !made[path] {
			w.dst.Remove(path)
		}
	}
	return nil
}

// Define writes a definition. Its values must be those that docs/formats/otf2.md lists
// for its id.
func (w *Writer) Define(r *Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Anchor.Definitions++
	if r.ID == defLocation {
		w.Anchor.Locations++
	}
	return w.definitions.record(definitionTypes[:], r)
}

// Mark writes a marker or its definition.
func (w *Writer) Mark(r *Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.markers.record(markerTypes[:], r)
}

// Thumbnail writes a record of thumbnail k: its header first, then its samples. Thumbnails
// are numbered from 0 on without gaps.
func (w *Writer) Thumbnail(k int, r *Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(w.thumbnails); i <= k; i++ {
		path := filepath.Join(w.folder, fmt.Sprintf("%d.thumb", i))
		w.thumbnails = append(w.thumbnails, &chunkWriter{path: path, chunk: thumbnailChunk, most: 4 << 10})
	}
	return w.thumbnails[k].record(thumbnailTypes[:], r)
}

// EventWriter writes the events of a location. It must be used by one goroutine at a
// time.
type EventWriter struct {
	// Count is how many events have been written.
	Count uint64
	time  uint64
	any   bool
	c     chunkWriter
	local chunkWriter
	buf   []byte
}

// Location is the writer of a location's events.
func (w *Writer) Location(id uint64) *EventWriter {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.locations[id]
	if e == nil {
		file := filepath.Join(w.folder, "locations", fmt.Sprint(id))
		e = &EventWriter{c: chunkWriter{path: file + ".evt", chunk: int64(w.Anchor.EventChunk), most: 16 << 10},
			local: chunkWriter{path: file + ".def", chunk: int64(w.Anchor.DefinitionChunk), most: 4 << 10}}
		w.locations[id] = e
	}
	return e
}

// stampSize is how many bytes a time has.
const stampSize = 9

// OrderError is an event before the one that was written before it.
type OrderError struct{ Before, Time uint64 }

// Error says both times.
func (e *OrderError) Error() string {
	return fmt.Sprintf("found an event at %d, expected none before %d", e.Time, e.Before)
}

// Write writes an event, the time of which must not be less than that of the one before:
// else the error is an [OrderError]. Of e it looks at the record, time and attributes.
func (e *EventWriter) Write(x *Event) error {
	if e.any && x.Time < e.time {
		return &OrderError{e.time, x.Time}
	}
	t := &eventTypes[x.ID]
	const bare = 10 // bytes of an event without length at most
	if c := &e.c; t.bare && len(x.Attributes) == 0 && e.any &&
		c.base+int64(len(c.buf))+stampSize+bare+atEnd <= c.start+c.chunk {
		// Most events are like this.
		b := c.buf
		if x.Time != e.time {
			b = binary.LittleEndian.AppendUint64(append(b, timestampRecord), x.Time)
			e.time = x.Time
		}
		b = append(b, x.ID)
		if v := x.Values[0]; t.fields[0].enc == enc32 {
			b = appendCompressed(b, v&undefined32, 4)
		} else {
			b = appendCompressed(b, v, 8)
		}
		c.buf = b
		return e.written()
	}
	return e.write(t, x)
}

// write writes a record with its attributes, and its time if that is another one.
func (e *EventWriter) write(t *recordType, x *Event) error {
	b := e.buf[:0]
	if len(x.Attributes) > 0 {
		b = append(b, attributeRecord, 0)
		b = appendCompressed(b, uint64(len(x.Attributes)), 4)
		for _, a := range x.Attributes {
			b = append(appendCompressed(b, uint64(a.ID), 4), a.Type)
			b = appendTyped(b, uint64(a.Type), a.Value)
		}
		b = withLength(b, 1)
	}
	b = appendRecord(b, t, &x.Record)
	e.buf = b
	begun, err := e.c.begin(len(b) + stampSize)
	if err != nil {
		return err
	}
	if begun || !e.any || x.Time != e.time {
		e.c.buf = binary.LittleEndian.AppendUint64(append(e.c.buf, timestampRecord), x.Time)
		e.any, e.time = true, x.Time
	}
	e.c.buf = append(e.c.buf, b...)
	return e.written()
}

// written counts an event.
func (e *EventWriter) written() error {
	e.Count++
	if e.c.last = e.Count; e.c.first == 0 {
		e.c.first = e.Count
	}
	return e.c.added()
}

// Map says what local ids of a table are in the archive: local id i is global[i].
func (e *EventWriter) Map(t Table, global []uint64) error {
	b := appendCompressed([]byte{localMapping, 0, byte(t)}, uint64(len(global)), 8)
	b = append(b, 0)
	for _, g := range global {
		b = appendCompressed(b, g, 8)
	}
	return e.local.append(withLength(b, 1))
}

// MapSome does the same with pairs of a local and a global id, local ones ascending.
func (e *EventWriter) MapSome(t Table, pairs [][2]uint64) error {
	b := appendCompressed([]byte{localMapping, 0, byte(t)}, uint64(len(pairs)), 8)
	b = append(b, 1)
	for _, p := range pairs {
		b = appendCompressed(appendCompressed(b, p[0], 8), p[1], 8)
	}
	return e.local.append(withLength(b, 1))
}

// Clock says what is to be added to the location's clock at a time; times ascend.
func (e *EventWriter) Clock(c ClockOffset) error {
	b := binary.LittleEndian.AppendUint64([]byte{localClock, 0}, c.Time)
	b = appendCompressed(b, uint64(c.Offset), 8)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(c.Deviation))
	return e.local.append(withLength(b, 1))
}

// Close ends the files and writes the anchor file. It does not commit the output.
func (w *Writer) Close() error {
	err := w.definitions.close()
	for _, c := range w.thumbnails {
		err = errors.Join(err, c.close())
	}
	w.Anchor.Thumbnails = uint32(len(w.thumbnails))
	err = errors.Join(err, w.closeSnapshots())
	if w.markers.begun {
		err = errors.Join(err, w.markers.close())
	}
	for _, e := range w.locations {
		err = errors.Join(err, e.c.close(), e.local.close())
	}
	if err != nil {
		return err
	}
	_, err = w.dst.Write(w.Anchor.append(nil))
	return err
}

// chunkWriter writes a file of chunks (docs/formats/otf2.md, "Chunked files"). It keeps
// some of it in memory.
type chunkWriter struct {
	path        string
	chunk       int64 // size of a chunk
	most        int   // bytes in buf
	buf         []byte
	base        int64 // of buf in the file
	start       int64 // of the chunk in hand
	first, last uint64
	begun       bool
}

// atEnd is how many bytes a chunk must have left: for the mark of its end, or of the
// file's.
const atEnd = 2

// begin makes room for n bytes in a chunk, and tells whether one begins.
func (c *chunkWriter) begin(n int) (begun bool, err error) {
	at := c.base + int64(len(c.buf))
	if c.begun && at+int64(n)+atEnd <= c.start+c.chunk {
		return false, nil
	}
	if int64(n)+headerSize+atEnd > c.chunk {
		return false,
			fmt.Errorf("%s: found a record of %d bytes, expected no more than a chunk of %d has room for", c.path, n, c.chunk)
	}
	if c.begun {
		c.buf = append(c.buf, make([]byte, c.start+c.chunk-at)...) // zeros end a chunk
		if err := c.number(); err != nil {
			return false, err
		}
		c.start += c.chunk
	}
	c.begun, c.first, c.last = true, 0, 0
	c.buf = append(c.buf, chunkHeader, littleEndian)
	c.buf = append(c.buf, make([]byte, headerSize-2)...)
	return true, c.added()
}

// number puts the numbers of the events of a chunk into its header.
func (c *chunkWriter) number() error {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], max(c.first, 1))
	binary.LittleEndian.PutUint64(b[8:], c.last)
	at := c.start + 2
	if at >= c.base {
		copy(c.buf[at-c.base:], b[:])
		return nil
	}
	return c.writeAt(b[:], at)
}

// append writes a record to a file that has no events.
func (c *chunkWriter) append(b []byte) error {
	if _, err := c.begin(len(b)); err != nil {
		return err
	}
	c.buf = append(c.buf, b...)
	return c.added()
}

// record writes a record of one of these types.
func (c *chunkWriter) record(types []recordType, r *Record) error {
	return c.append(appendRecord(nil, &types[r.ID], r))
}

// added writes what has been collected, if it is enough.
func (c *chunkWriter) added() error {
	if len(c.buf) < c.most {
		return nil
	}
	return c.flush()
}

func (c *chunkWriter) flush() error {
	err := c.writeAt(c.buf, c.base)
	c.base += int64(len(c.buf))
	c.buf = c.buf[:0]
	return err
}

// writeAt writes to the file, which is not kept open: there may be many.
func (c *chunkWriter) writeAt(b []byte, at int64) error {
	f, err := os.OpenFile(c.path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, at)
	return errors.Join(err, f.Close())
}

// close ends the file.
func (c *chunkWriter) close() error {
	if _, err := c.begin(0); err != nil {
		return err
	}
	c.buf = append(c.buf, endOfFile, endOfBuffer)
	if err := c.number(); err != nil {
		return err
	}
	return c.flush()
}
