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

// WriterOptions holds the settings of a [Writer]. The zero value selects the defaults of Pallas: compression
// with zstd, and repetitions of up to 100 tokens.
type WriterOptions struct {
	// Plain turns off the compression of blocks. Otherwise blocks are compressed with zstd. The writer does
	// not support lossy compression.
	Plain bool
	// Encoding is the encoding of values before compression: NoEncoding or Masking.
	Encoding Encoding
	// Level is the level of zstd, from 1 to 22. 0 means 1.
	Level int
	// MaxLoopLength is the maximum number of tokens in a repetition for which the writer searches. 0 means
	// 100.
	MaxLoopLength int
	// Compatible makes the writer produce the same grammars as Pallas' own library, and the blocks in the same
	// order. Blocks then wait in temporary files until a thread is closed. If the program dies before, no part
	// of the thread can be read. A leave ends the innermost visit, even of another region. The files
	// thread.pallas and the block files have the same bytes as the library's files, except for the bytes that
	// zstd produces.
	Compatible bool
	// LoopFinding is the method of finding repetitions in compatible threads: NoLoops, BasicLoops
	// or BasicTruncated. Nil means BasicTruncated.
	LoopFinding *LoopFinding
}

// Writer writes a trace of ABI 20. Several goroutines may use it at the same time, each with its own
// [Recorder]. The exported fields may be changed until Close.
type Writer struct {
	Definitions    Definitions
	LocationGroups []LocationGroup
	Metadata       []Metadata

	path, dir string
	nested    bool // the caller writes the main file
	p         Parameters

	compatible  bool
	underWay    chan struct{} // holds an element for each full block that is not written yet
	freeBlocks  chan []uint64 // free buffers for blocks
	freePacked  chan *pendingBlock
	freeBuffers chan *threadBuffers
	threads     atomic.Int64    // number of threads that have begun
	zstd        []*zstd.Encoder // encoders; the shortest of the frames that they make is written
	locations   []Location      // locations for the main file
	mu          sync.Mutex
	archives    []*ArchiveWriter
}

// ArchiveWriter writes the archive of a process. Its exported fields may be changed until the trace is
// closed. [ArchiveWriter.Record] adds a thread.
type ArchiveWriter struct {
	Definitions Definitions
	Metadata    []Metadata

	w         *Writer
	id        uint32
	groups    []LocationGroup // location groups for the archive's file
	locations []Location
	threads   []*threadWriter
	number    int // number of threads
}

// threadWriter writes the files of a thread.
type threadWriter struct {
	w        *Writer
	id       uint32
	archive  uint32
	folder   string
	r        *Recorder
	data     [2]dataWriter // files of the times of events, and of the times and durations of sequences
	waiting  [2]dataWriter // blocks of compatible threads whose position is not known yet
	spilled  [2]*os.File   // the files of the waiting blocks, while these are moved to their positions
	moving   bool          // waiting blocks are being moved
	flushed  int64         // number of bytes in written blocks, before compression
	last     int64         // value of flushed at the last checkpoint
	enough   int64         // value of flushed at which the next checkpoint is written
	packing  blockPacker
	buffers  *threadBuffers    // not nil while the grammar is being written
	large    []*recordedVector // the vectors whose buffers are included in held
	held     int64             // total size of large buffers, in bytes
	full     bool              // held exceeds the limit for large buffers
	writing  bool              // the grammar is being written, and blocks are written directly
	finished bool
}

// threadBuffers holds the buffers for writing the grammar of a thread. Threads share these buffers, because
// there may be many threads.
type threadBuffers struct {
	room   packBuffers
	w      *bufio.Writer
	single [3]recordedVector
	blocks [3][]uint64
	b      []byte           // bytes of the grammar
	data   [2][]byte        // bytes of blocks
	recent [256]recentBlock // recent short blocks; indexed by hash
}

// maxFreeBuffers limits how many threadBuffers are kept for reuse.
const maxFreeBuffers = 4

// takeBuffers returns buffers for writing a thread.
func (w *Writer) takeBuffers() *threadBuffers {
	select {
	case d := <-w.freeBuffers:
		clear(d.recent[:]) // the old blocks are in the file of another thread
		return d
	default:
		return &threadBuffers{w: bufio.NewWriterSize(nil, dataBuffer)}
	}
}

// returnBuffers makes buffers available again after the thread has been written.
func (w *Writer) returnBuffers(d *threadBuffers) {
	select {
	case w.freeBuffers <- d:
	default:
	}
}

// dataWriter appends blocks to a file.
type dataWriter struct {
	path    string
	threads *atomic.Int64 // number of threads of the writer
	buf     []byte
	size    uint64 // size of the file, including the bytes in buf
}

// Create begins a trace. It appends ".pallas" to the name of the main file, unless the name already ends in
// ".pallas". It creates the folder if necessary. Unlike other outputs of weft, the files of threads appear
// immediately. If the program dies, everything up to the last checkpoint can be read; see
// [Recorder.Checkpoint] and [Writer.Checkpoint].
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
	w := &Writer{path: path, dir: filepath.Dir(path), compatible: o.Compatible,
		underWay: make(chan struct{}, blocksUnderWay), freeBlocks: make(chan []uint64, blocksUnderWay),
		freePacked: make(chan *pendingBlock, blocksUnderWay), freeBuffers: make(chan *threadBuffers, maxFreeBuffers),
		p: Parameters{ABI: MaxABI, Compression: compression, Encoding: o.Encoding, ZSTDLevel: uint64(o.Level),
			LoopFinding: finding, MaxLoopLength: uint64(o.MaxLoopLength), TimestampStorage: 1}}
	if !o.Plain {
		// For numbers, the fastest search sometimes finds shorter frames than the slower searches.
		levels := []zstd.EncoderLevel{zstd.SpeedFastest}
		if l := zstd.EncoderLevelFromZstd(o.Level); l != levels[0] {
			levels = append(levels, l)
		}
		for _, l := range levels {
			// Pallas requires that the header of a frame states the size of the contents.
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

// Archive returns the archive of a location group, and creates it on first use.
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

// Record begins to record a thread. name is the ref of a string. Record also writes the main file and
// the archive's file in their current state, as [Writer.Checkpoint] does.
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

// record begins to record a thread whose location has already been added.
func (a *ArchiveWriter) record(id uint32) (*Recorder, error) {
	t := &threadWriter{w: a.w, id: id, enough: firstCheckpoint, archive: a.id,
		folder: filepath.Join(a.w.dir, filepath.FromSlash(threadFolder(a.id, id)))}
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

// Close ends the thread. Open visits end at the last event, without an event of their own.
func (r *Recorder) Close() error {
	t := r.w
	if t.finished {
		return nil
	}
	t.finished = true
	if err := r.finish(); err != nil {
		return err
	}
	err := t.withWaiting(func() error { return t.write(r.g.Tokens()) })
	// Release the buffers of this thread, because there may be many threads.
	*r = Recorder{w: t}
	t.large, t.packing.places = nil, nil
	for i := range t.data {
		t.data[i].buf, t.waiting[i].buf = nil, nil
	}
	return err
}

// Checkpoint writes the files that list the threads: the main file and the files of the archives. From then
// on, everything up to the last checkpoint of each thread can be read. Threads write their own checkpoints
// from time to time.
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

// Close closes all threads and writes the archives and the main file.
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

// waitForBlocks waits until no block is being written any more.
func (w *Writer) waitForBlocks() {
	for _, a := range w.archives {
		for _, t := range a.threads {
			t.wait() // this function ignores the error
		}
	}
}

// replaceFile writes a file such that it appears either completely or not at all. It replaces an existing
// file.
func replaceFile(path string, write func(w *bufio.Writer) error) error {
	return replaceFileBy(bufio.NewWriterSize(nil, dataBuffer), path, write)
}

// replaceFileBy is like replaceFile, with a writer that already exists.
func replaceFileBy(w *bufio.Writer, path string, write func(w *bufio.Writer) error) error {
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

// writeBytes returns a function that writes b, as an argument for replaceFile.
func writeBytes(b []byte) func(*bufio.Writer) error {
	return func(w *bufio.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

func (w *Writer) write() error {
	if w.nested {
		return nil
	}
	return replaceFile(w.path, writeBytes(w.mainFile()))
}

// mainFile returns the contents of the main file.
func (w *Writer) mainFile() []byte {
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
	return replaceFile(name, writeBytes(appendMetadata(b, a.Metadata)))
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

// append appends the five tables of definitions, sorted by ref.
func (d *Definitions) append(b []byte) []byte {
	b = le64(b, uint64(len(d.Strings)))
	for _, x := range sortedByRef(d.Strings, func(x String) Ref { return x.Ref }) {
		b = append(append(le32(b, x.Ref, uint32(len(x.Text)+1)), x.Text...), 0)
	}
	b = le64(b, uint64(len(d.Regions)))
	for _, x := range sortedByRef(d.Regions, func(x Region) Ref { return x.Ref }) {
		b = le32(b, x.Ref, x.Name)
	}
	b = le64(b, uint64(len(d.Attributes)))
	for _, x := range sortedByRef(d.Attributes, func(x Attribute) Ref { return x.Ref }) {
		b = le32(b, x.Ref, x.Name, x.Description, uint32(x.Type))
	}
	b = le64(b, uint64(len(d.Groups)))
	for _, x := range sortedByRef(d.Groups, func(x Group) Ref { return x.Ref }) {
		b = le32(le32(b, x.Ref, x.Name, x.Type, x.Paradigm, uint32(len(x.Members))), x.Members...)
	}
	b = le64(b, uint64(len(d.Comms)))
	for _, x := range sortedByRef(d.Comms, func(x Comm) Ref { return x.Ref }) {
		b = le32(b, x.Ref, x.Name, x.Group, x.Parent)
	}
	return b
}

func sortedByRef[T any](l []T, ref func(T) Ref) []T {
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
