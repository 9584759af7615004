package pallas

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// WriterOptions are the settings of a [Writer]. The zero value is what Pallas is
// shipped with: zstd, and repetitions of up to 100 tokens.
type WriterOptions struct {
	// Plain leaves out the compression of blocks, which is zstd else: those that lose
	// digits are not written.
	Plain bool
	// Encoding of values before that: NoEncoding or Masking.
	Encoding Encoding
	// Level is that of zstd, 1 to 22; 0 is 1.
	Level int
	// MaxLoopLength is how many tokens the longest repetition has that is looked for;
	// 0 is 100.
	MaxLoopLength int
	// Compatible writes the grammars that Pallas' own library writes, and the blocks in
	// its order, for which they wait in files of their own until a thread is closed: if
	// the program dies before, nothing of it can be read. Leaves close what is innermost,
	// whatever its region. But for the bytes of zstd, thread.pallas and the files of
	// blocks have the library's bytes.
	Compatible bool
	// LoopFinding says how repetitions are looked for in compatible threads: NoLoops,
	// BasicLoops, BasicTruncated, or nil for the latter.
	LoopFinding *LoopFinding
}

// Writer writes a trace of ABI 20. It may be used by several goroutines at once, each
// with a [Recorder] of its own. Its exported fields may be changed until Close.
type Writer struct {
	Definitions    Definitions
	LocationGroups []LocationGroup
	Metadata       []Metadata

	path, dir string
	nested    bool // the main file is somebody else's
	p         Parameters

	compatible bool
	underWay   chan struct{} // for each full block that is not written yet
	rooms      chan []uint64 // for blocks
	spare      chan *packed
	desks      chan *desk
	threads    atomic.Int64    // that have been begun
	zstd       []*zstd.Encoder // the shortest of their frames is taken
	locations  []Location      // that stand in the main file
	mu         sync.Mutex
	archives   []*ArchiveWriter
}

// ArchiveWriter writes a process. Its exported fields may be changed until its trace is
// closed; its threads are added by [ArchiveWriter.Record].
type ArchiveWriter struct {
	Definitions Definitions
	Metadata    []Metadata

	w         *Writer
	id        uint32
	groups    []LocationGroup // that stand in its file
	locations []Location
	threads   []*threadWriter
	number    int // of threads
}

// threadWriter writes the files of a thread.
type threadWriter struct {
	w        *Writer
	id       uint32
	archive  uint32
	folder   string
	r        *Recorder
	data     [2]dataWriter // times of events, and of sequences
	waiting  [2]dataWriter // of compatible threads: blocks whose place is not known yet
	spilled  [2]*os.File   // these, while they are put in place
	settling bool          // their places are known
	flushed  int64         // bytes of blocks, before compression
	last     int64         // of them at the last checkpoint
	enough   int64         // of them for another one
	packing  packing
	desk     *desk             // while it is written
	large    []*recordedVector // whose room counts
	held     int64             // bytes of that
	full     bool              // it is too much
	writing  bool              // the grammar, during which blocks are written at once
	finished bool
}

// desk is what writing the grammar of a thread needs: there may be many threads.
type desk struct {
	room   packRoom
	w      *bufio.Writer
	single [3]recordedVector
	blocks [3][]uint64
	b      []byte           // of the grammar
	data   [2][]byte        // of blocks
	recent [256]recentBlock // by a hash
}

// desksKept is how many are kept for the next thread.
const desksKept = 4

// takeDesk is one for a thread.
func (w *Writer) takeDesk() *desk {
	select {
	case d := <-w.desks:
		clear(d.recent[:]) // they are of another thread's file
		return d
	default:
		return &desk{w: bufio.NewWriterSize(nil, dataBuffer)}
	}
}

// leaveDesk is called when the thread has been written.
func (w *Writer) leaveDesk(d *desk) {
	select {
	case w.desks <- d:
	default:
	}
}

// dataWriter appends blocks to a file.
type dataWriter struct {
	path    string
	threads *atomic.Int64 // of all the writer
	buf     []byte
	size    uint64 // with what is in buf
}

// Create begins a trace. The name of its main file gets ".pallas" if it does not end so.
// Its folder is made if it is not there. Unlike other outputs of weft, files of threads
// appear at once, so that what has been recorded can be read when the program dies, as far
// as it had been written down: see [Recorder.Checkpoint] and [Writer.Checkpoint].
func Create(path string, opt *WriterOptions) (*Writer, error) {
	o := WriterOptions{}
	if opt != nil {
		o = *opt
	}
	compression := ZSTD
	if o.Plain {
		compression = NoCompression
	}
	if o.Encoding > Masking {
		return nil, fmt.Errorf("found the encoding %s, expected None or Masking", o.Encoding)
	}
	if o.MaxLoopLength <= 0 {
		o.MaxLoopLength = 100
	}
	if o.Level == 0 {
		o.Level = 1
	}
	if !strings.HasSuffix(path, ".pallas") {
		path += ".pallas"
	}
	finding := BasicTruncated
	if o.Compatible && o.LoopFinding != nil {
		if finding = *o.LoopFinding; finding > BasicTruncated {
			return nil, fmt.Errorf("found the loop finding %s, expected None, Basic or BasicTruncated", finding)
		}
	}
	w := &Writer{path: path, dir: filepath.Dir(path), compatible: o.Compatible, underWay: make(chan struct{}, blocksUnderWay), rooms: make(chan []uint64, blocksUnderWay), spare: make(chan *packed, blocksUnderWay), desks: make(chan *desk, desksKept),
		p: Parameters{ABI: MaxABI, Compression: compression, Encoding: o.Encoding, ZSTDLevel: uint64(o.Level), LoopFinding: finding, MaxLoopLength: uint64(o.MaxLoopLength), TimestampStorage: 1}}
	if !o.Plain {
		// On numbers, the fastest search finds more at times than those that take longer.
		levels := []zstd.EncoderLevel{zstd.SpeedFastest}
		if l := zstd.EncoderLevelFromZstd(o.Level); l != levels[0] {
			levels = append(levels, l)
		}
		for _, l := range levels {
			// Pallas needs to find the size of the content in a frame's head.
			e, err := zstd.NewWriter(nil, zstd.WithSingleSegment(true), zstd.WithEncoderCRC(false), zstd.WithEncoderLevel(l),
				zstd.WithWindowSize(16<<10), zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithLowerEncoderMem(true))
			if err != nil {
				return nil, err
			}
			w.zstd = append(w.zstd, e)
		}
	}
	if err := os.MkdirAll(w.dir, 0o777); err != nil {
		return nil, err
	}
	return w, nil
}

// Archive is the archive of a location group, which is made when it is first asked for.
func (w *Writer) Archive(id uint32) *ArchiveWriter {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.archives {
		if a.id == id {
			return a
		}
	}
	a := &ArchiveWriter{w: w, id: id}
	w.archives = append(w.archives, a)
	return a
}

// Record begins to record a thread: name is the ref of a string. It writes the main file
// and that of the archive as they are then, as [Writer.Checkpoint] does.
func (a *ArchiveWriter) Record(id uint32, name Ref) (*Recorder, error) {
	a.w.mu.Lock()
	a.locations = append(a.locations, Location{id, name, a.id})
	a.w.mu.Unlock()
	r, err := a.record(id)
	if err != nil || a.w.nested {
		return r, err
	}
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	return r, errors.Join(a.write(), a.w.write())
}

// record begins to record a thread whose location is known.
func (a *ArchiveWriter) record(id uint32) (*Recorder, error) {
	t := &threadWriter{w: a.w, id: id, enough: firstCheckpoint, archive: a.id, folder: filepath.Join(a.w.dir, filepath.FromSlash(threadFolder(a.id, id)))}
	if err := os.MkdirAll(t.folder, 0o777); err != nil {
		return nil, err
	}
	a.w.threads.Add(1)
	for i, name := range []string{"event_durations.dat", "sequence_durations.dat"} {
		path := filepath.Join(t.folder, name)
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			return nil, err
		}
		t.data[i].path, t.data[i].threads, t.waiting[i].threads = path, &a.w.threads, &a.w.threads
		t.waiting[i].path = filepath.Join(t.folder, "."+name+".tmp")
	}
	t.packing.idle.L = &t.packing.mu
	t.r = newRecorder(t)
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	a.threads = append(a.threads, t)
	a.number++
	return t.r, nil
}

// Close ends the thread. What is open ends with the last event, though nothing says so.
func (r *Recorder) Close() error {
	t := r.w
	if t.finished {
		return nil
	}
	t.finished = true
	if err := r.finish(); err != nil {
		return err
	}
	err := t.arrange(func() error { return t.write(r.g.Tokens()) })
	// There may be many threads: what this one needed is needed no more.
	*r = Recorder{w: t}
	t.large, t.packing.places = nil, nil
	for i := range t.data {
		t.data[i].buf, t.waiting[i].buf = nil, nil
	}
	return err
}

// Checkpoint writes the files that say where threads are: main file and archives. What
// threads had at their own last checkpoint, which they make now and then, can be read
// from then on.
func (w *Writer) Checkpoint() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.archives {
		if err := a.write(); err != nil {
			return err
		}
	}
	return w.write()
}

// Close ends all threads and writes the archives and the main file.
func (w *Writer) Close() error {
	for _, a := range w.archives {
		for _, t := range a.threads {
			if err := t.r.Close(); err != nil {
				return err
			}
		}
	}
	for _, e := range w.zstd {
		defer e.Close()
	}
	return w.Checkpoint()
}

// stop waits until nothing is being written any more.
func (w *Writer) stop() {
	for _, a := range w.archives {
		for _, t := range a.threads {
			t.wait() // its error does not matter
		}
	}
}

// replace writes a file whole or not at all.
func replace(path string, write func(w *bufio.Writer) error) error {
	return replaceBy(bufio.NewWriterSize(nil, dataBuffer), path, write)
}

// replaceBy does so with a writer that there is.
func replaceBy(w *bufio.Writer, path string, write func(w *bufio.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	w.Reset(f)
	err = errors.Join(write(w), w.Flush(), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// whole is what replace is to write.
func whole(b []byte) func(*bufio.Writer) error {
	return func(w *bufio.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

func (w *Writer) write() error {
	if w.nested {
		return nil
	}
	return replace(w.path, whole(w.main()))
}

// main is the main file.
func (w *Writer) main() []byte {
	p := &w.p
	b := []byte{p.ABI}
	b = le32(b, uint32(p.Compression), uint32(p.Encoding))
	b = le64(b, p.ZSTDLevel)
	b = le32(b, uint32(p.LoopFinding))
	b = le64(b, p.MaxLoopLength)
	b = le32(b, uint32(p.TimestampStorage))
	b = w.Definitions.append(b)
	b = appendGroups(b, w.LocationGroups)
	return appendMetadata(appendLocations(b, w.locations), w.Metadata)
}

func (a *ArchiveWriter) write() error {
	b := le32(nil, a.id, uint32(a.number))
	b = a.Definitions.append(b)
	b = appendLocations(appendGroups(b, a.groups), a.locations)
	name := filepath.Join(a.w.dir, filepath.FromSlash(archiveFile(a.id)))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return replace(name, whole(appendMetadata(b, a.Metadata)))
}

func appendGroups(b []byte, l []LocationGroup) []byte {
	b = le64(b, uint64(len(l)))
	for _, g := range l {
		b = le32(b, g.ID, g.Name, g.Parent)
	}
	return b
}

func appendLocations(b []byte, list []Location) []byte {
	b = le64(b, uint64(len(list)))
	for _, l := range list {
		b = le32(b, l.ID, l.Name, l.Parent)
	}
	return b
}

func le32(b []byte, values ...uint32) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func le64(b []byte, values ...uint64) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// append writes the five tables, sorted.
func (d *Definitions) append(b []byte) []byte {
	b = le64(b, uint64(len(d.Strings)))
	for _, x := range sorted(d.Strings, func(x String) Ref { return x.Ref }) {
		b = append(append(le32(b, x.Ref, uint32(len(x.Text)+1)), x.Text...), 0)
	}
	b = le64(b, uint64(len(d.Regions)))
	for _, x := range sorted(d.Regions, func(x Region) Ref { return x.Ref }) {
		b = le32(b, x.Ref, x.Name)
	}
	b = le64(b, uint64(len(d.Attributes)))
	for _, x := range sorted(d.Attributes, func(x Attribute) Ref { return x.Ref }) {
		b = le32(b, x.Ref, x.Name, x.Description, uint32(x.Type))
	}
	b = le64(b, uint64(len(d.Groups)))
	for _, x := range sorted(d.Groups, func(x Group) Ref { return x.Ref }) {
		b = le32(le32(b, x.Ref, x.Name, x.Type, x.Paradigm, uint32(len(x.Members))), x.Members...)
	}
	b = le64(b, uint64(len(d.Comms)))
	for _, x := range sorted(d.Comms, func(x Comm) Ref { return x.Ref }) {
		b = le32(b, x.Ref, x.Name, x.Group, x.Parent)
	}
	return b
}

func sorted[T any](l []T, ref func(T) Ref) []T {
	l = slices.Clone(l)
	slices.SortStableFunc(l, func(a, b T) int { return int(int64(ref(a)) - int64(ref(b))) })
	return l
}

func appendMetadata(b []byte, l []Metadata) []byte {
	l = slices.Clone(l)
	slices.SortStableFunc(l, func(a, b Metadata) int { return strings.Compare(a.Key, b.Key) })
	b = le64(b, uint64(len(l)))
	for _, x := range l {
		for _, s := range []string{x.Key, x.Value} {
			b = append(append(le64(b, uint64(len(s)+1)), s...), 0)
		}
	}
	return b
}
