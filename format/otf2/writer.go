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
	"strings"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/plural"
)

// Writer writes an archive. Definitions may be written at any time before Close. Definitions of
// locations should follow their events, because they contain the number of events.
type Writer struct {
	// Anchor holds the contents of the anchor file. Close sets the numbers of locations,
	// definitions, snapshots and thumbnails.
	Anchor Anchor

	dst         *format.Output
	folder      string // folder of the files until they get their final names
	definitions chunkWriter
	markers     chunkWriter
	mu          sync.Mutex
	locations   map[uint64]*EventWriter
	snapshots   map[uint64]*SnapshotWriter
	thumbnails  []*chunkWriter
}

// NewWriter begins an archive whose anchor file is dst. The name of dst must end in ".otf2". The other files
// appear in the same folder when dst is committed. The new files replace an existing archive of the same name. The
// default chunk size is 256 KiB. The versions are those of OTF2 3.0, also if a comes from another archive.
func NewWriter(dst *format.Output, a Anchor) (*Writer, error) {
	if dst.Path == "-" {
		return nil, errors.New("OTF2 has several files, expected the name of a file to write to")
	}
	a.FileVersion, a.TraceVersion, a.Version, a.Substrate, a.Compression = 3, 2, [3]uint8{3, 0, 2}, 1, 1
	a.EventChunk, a.DefinitionChunk = cmp.Or(a.EventChunk, minChunk), cmp.Or(a.DefinitionChunk, minChunk)
	a.resetNumbers()
	name, ok := strings.CutSuffix(dst.Path, ".otf2")
	if !ok { // the folder of the events has the name without the extension
		return nil, fmt.Errorf("%s: found a name without .otf2, expected that of an anchor file", dst.Path)
	}
	if err := checkReplaceable(name); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(filepath.Dir(name), fmt.Sprintf(".%s.%d.*.tmp", filepath.Base(name), os.Getpid()))
	if err != nil {
		return nil, err
	}
	w := &Writer{Anchor: a, dst: dst, folder: folder, locations: map[uint64]*EventWriter{},
		snapshots: map[uint64]*SnapshotWriter{}}
	w.definitions = chunkWriter{path: filepath.Join(folder, "def"), chunk: int64(a.DefinitionChunk), bufSize: 64 << 10}
	w.markers = chunkWriter{path: filepath.Join(folder, "marker"), chunk: int64(a.DefinitionChunk), bufSize: 64 << 10}
	dst.BeforeCommit(func() error { return w.renameFiles(name) })
	dst.AtEnd(w.Abort)
	return w, os.Mkdir(filepath.Join(folder, "locations"), 0o777)
}

// setAnchor sets the contents of the anchor file before anything is written.
func (w *Writer) setAnchor(a Anchor) {
	w.Anchor = a
	w.Anchor.resetNumbers()
	w.definitions.chunk, w.markers.chunk = int64(a.DefinitionChunk), int64(a.DefinitionChunk)
}

// Abort removes the files written so far.
func (w *Writer) Abort() { os.RemoveAll(w.folder) }

// isThumbnailFile reports whether a file whose name is the archive's name and then ending is a thumbnail file.
func isThumbnailFile(ending string) bool {
	number, named := strings.CutSuffix(ending, ".thumb")
	number, dotted := strings.CutPrefix(number, ".")
	return named && dotted && archive.ConsistsOf(number, "0123456789")
}

// isLocationFile reports whether name is the name of a file in an archive's folder.
func isLocationFile(name string) bool {
	number, part, _ := strings.Cut(name, ".")
	return (part == "evt" || part == "def" || part == "snap") && archive.ConsistsOf(number, "0123456789")
}

// checkReplaceable returns an error if the folder of locations exists and contains other files than those of
// an archive.
func checkReplaceable(name string) error {
	if st, err := os.Stat(name); err == nil && !st.IsDir() {
		return &fs.PathError{Op: "replace", Path: name, Err: errors.New(
			"found a file, expected nothing or the folder of locations of an archive")}
	}
	entries, err := os.ReadDir(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !isLocationFile(e.Name()) {
			return &fs.PathError{Op: "replace", Path: name, Err: fmt.Errorf(
				"found %s in the folder, expected only files of locations, which weft replaces", e.Name())}
		}
	}
	return nil
}

// renameFiles renames the files to their final names.
func (w *Writer) renameFiles(name string) error {
	if err := checkReplaceable(name); err != nil {
		return err
	}
	w.dst.Rename(filepath.Join(w.folder, "locations"), name)
	w.dst.Rename(w.definitions.path, name+".def")
	if _, err := os.Lstat(w.markers.path); err == nil {
		w.dst.Rename(w.markers.path, name+".marker")
	} else {
		w.dst.Remove(name + ".marker") // remove the file of an archive that is replaced
	}
	written := map[string]bool{}
	thumbnails, _ := filepath.Glob(filepath.Join(w.folder, "*.thumb"))
	for _, path := range thumbnails {
		to := name + "." + filepath.Base(path)
		written[to] = true
		w.dst.Rename(path, to)
	}
	// Otherwise readers would take the thumbnails of a replaced archive as thumbnails of this archive.
	old, _ := filepath.Glob(name + ".*.thumb")
	for _, path := range old {
		if isThumbnailFile(path[len(name):]) && !written[path] {
			w.dst.Remove(path)
		}
	}
	return nil
}

// Define writes a definition. Its values must be those that docs/formats/otf2.md lists for its id. Define
// returns an error if there are fewer.
func (w *Writer) Define(r *Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Anchor.Definitions++
	if r.ID == defLocation {
		w.Anchor.Locations++
	}
	return w.definitions.record(definitionTypes[:], r)
}

// Mark writes a marker or the definition of a marker.
func (w *Writer) Mark(r *Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.markers.record(markerTypes[:], r)
}

// Thumbnail writes a record of thumbnail k: first its header, then its samples. Thumbnails are
// numbered from 0 on without gaps.
func (w *Writer) Thumbnail(k int, r *Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(w.thumbnails); i <= k; i++ {
		path := filepath.Join(w.folder, fmt.Sprintf("%d.thumb", i))
		w.thumbnails = append(w.thumbnails, &chunkWriter{path: path, chunk: thumbnailChunk, bufSize: 4 << 10})
	}
	return w.thumbnails[k].record(thumbnailTypes[:], r)
}

// EventWriter writes the events of a location. Only one goroutine at a time may use it.
type EventWriter struct {
	// Count is the number of events written.
	Count uint64
	time  uint64
	any   bool
	c     chunkWriter
	local chunkWriter
	buf   []byte
}

// Location returns the writer of a location's events.
func (w *Writer) Location(id uint64) *EventWriter {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.locations[id]
	if e == nil {
		file, size := filepath.Join(w.folder, "locations", fmt.Sprint(id)), 16<<10
		if len(w.locations) < 32 {
			size = 128 << 10 // large buffers need fewer calls of the system
		}
		e = &EventWriter{c: chunkWriter{path: file + ".evt", chunk: int64(w.Anchor.EventChunk), bufSize: size},
			local: chunkWriter{path: file + ".def", chunk: int64(w.Anchor.DefinitionChunk), bufSize: 4 << 10}}
		w.locations[id] = e
	}
	return e
}

// removeEvents removes the events of all locations that have been written so far.
func (w *Writer) removeEvents() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.locations {
		for _, path := range []string{e.c.path, e.local.path} {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	clear(w.locations)
	return nil
}

// stampSize is the size of a time record in bytes.
const stampSize = 9

// OrderError reports an event with an earlier time than the event written before it.
type OrderError struct{ Before, Time uint64 }

// Error returns a message with both times.
func (e *OrderError) Error() string {
	return fmt.Sprintf("found an event at %d, expected none before %d", e.Time, e.Before)
}

// Write writes an event. It returns an [OrderError] if the time of the event is less than that of the
// event before it. Of x, Write uses only the record, the time and the attributes.
func (e *EventWriter) Write(x *Event) error {
	if e.any && x.Time < e.time {
		return &OrderError{e.time, x.Time}
	}
	if err := writable(eventTypes[:], &x.Record); err != nil {
		return err
	}
	t := &eventTypes[x.ID]
	const largestFixed = 10 // maximum size in bytes of an event without a length
	if c := &e.c; t.noLength && len(x.Attributes) == 0 && e.any &&
		c.base+int64(len(c.buf))+stampSize+largestFixed+endMarkSize <= c.start+c.chunk {
		// Most events have no length and no attributes, and fit into the current chunk.
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
		return e.countEvent()
	}
	return e.write(t, x)
}

// write writes a record with its attributes. If the time has changed, it writes the time first.
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
	return e.countEvent()
}

// countEvent counts an event.
func (e *EventWriter) countEvent() error {
	e.Count++
	if e.c.last = e.Count; e.c.first == 0 {
		e.c.first = e.Count
	}
	return e.c.flushFull()
}

// Map writes a mapping table: the local id i stands for global[i] in the archive.
func (e *EventWriter) Map(t Table, global []uint64) error {
	b := appendCompressed([]byte{localMapping, 0, byte(t)}, uint64(len(global)), 8)
	b = append(b, 0)
	for _, g := range global {
		b = appendCompressed(b, g, 8)
	}
	return e.local.append(withLength(b, 1))
}

// MapSome writes a mapping table of pairs of a local and a global id. The local ids must ascend.
func (e *EventWriter) MapSome(t Table, pairs [][2]uint64) error {
	b := appendCompressed([]byte{localMapping, 0, byte(t)}, uint64(len(pairs)), 8)
	b = append(b, 1)
	for _, p := range pairs {
		b = appendCompressed(appendCompressed(b, p[0], 8), p[1], 8)
	}
	return e.local.append(withLength(b, 1))
}

// Clock writes a clock offset. Times must ascend.
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

// chunkWriter writes a file of chunks (docs/formats/otf2.md, "Chunked files"). It buffers a part of
// the file.
type chunkWriter struct {
	path        string
	chunk       int64 // size of a chunk in bytes
	bufSize     int   // maximum number of bytes in buf
	buf         []byte
	base        int64 // offset of buf in the file, in bytes
	start       int64 // offset of the current chunk in the file, in bytes
	first, last uint64
	begun       bool
}

// endMarkSize is the number of bytes that must remain in a chunk for the end mark of the chunk or
// of the file.
const endMarkSize = 2

// begin makes room for n bytes in a chunk. It reports whether it has begun a new chunk.
func (c *chunkWriter) begin(n int) (begun bool, err error) {
	at := c.base + int64(len(c.buf))
	if c.begun && at+int64(n)+endMarkSize <= c.start+c.chunk {
		return false, nil
	}
	if int64(n)+headerSize+endMarkSize > c.chunk {
		return false,
			fmt.Errorf("%s: found a record of %s, expected no more than a chunk of %d has room for", c.path, plural.Of(n,
				"byte"), c.chunk)
	}
	if c.begun {
		// Zero bytes fill the rest of the chunk.
		c.buf = append(c.buf, make([]byte, c.start+c.chunk-at)...)
		if err := c.writeEventNumbers(); err != nil {
			return false, err
		}
		c.start += c.chunk
	}
	c.begun, c.first, c.last = true, 0, 0
	c.buf = append(c.buf, chunkHeader, littleEndian)
	c.buf = append(c.buf, make([]byte, headerSize-2)...)
	return true, c.flushFull()
}

// writeEventNumbers writes the numbers of the first and the last event of a chunk into the header of the
// chunk.
func (c *chunkWriter) writeEventNumbers() error {
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

// append writes a record to a file that contains no events.
func (c *chunkWriter) append(b []byte) error {
	if _, err := c.begin(len(b)); err != nil {
		return err
	}
	c.buf = append(c.buf, b...)
	return c.flushFull()
}

// record writes a record of one of the given types.
func (c *chunkWriter) record(types []recordType, r *Record) error {
	if err := writable(types, r); err != nil {
		return err
	}
	return c.append(appendRecord(nil, &types[r.ID], r))
}

// writable returns an error if r has an id without a type, or fewer values than its type.
func writable(types []recordType, r *Record) error {
	if int(r.ID) < len(types) && len(r.Values) >= len(types[r.ID].fields)+len(types[r.ID].after) {
		return nil
	}
	return unwritable(types, r)
}

// unwritable returns the error of writable.
func unwritable(types []recordType, r *Record) error {
	if int(r.ID) >= len(types) {
		return fmt.Errorf("found a record with id %d, expected %d at most", r.ID, len(types)-1)
	}
	t := &types[r.ID]
	return fmt.Errorf("%s: found %d values, expected %d or more", t.name, len(r.Values), len(t.fields)+len(t.after))
}

// flushFull writes the buffer to the file if it is full.
func (c *chunkWriter) flushFull() error {
	if len(c.buf) < c.bufSize {
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

// writeAt writes to the file. It opens and closes the file each time, because there may be many files.
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
	if err := c.writeEventNumbers(); err != nil {
		return err
	}
	return c.flush()
}
