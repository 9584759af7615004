package otf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/flate"

	"github.com/weft-trace/weft/internal/commit"

	"github.com/weft-trace/weft/format/internal/archive"
)

// WriterOptions are the settings of a [Writer] or [StreamWriter]. The zero value writes plain files in
// the short spelling.
type WriterOptions struct {
	// Streams is the maximum number of streams that a Writer makes for processes that Master does not
	// contain; 0 makes one stream for each process.
	Streams uint32
	// Master maps processes to streams. The Writer copies it.
	Master *MasterControl
	// Long selects the long spelling of keywords, such as ENTER for E.
	Long bool
	// InlineSnapshots writes snapshots among the events.
	InlineSnapshots bool
	// Level is the compression level from 1 to 9; 0 writes plain files.
	Level int
	// Buffer is the number of bytes of text that each file collects before writing them. The default 0
	// means 128 KiB, or 64 KiB with compression. A compressed file has a restart point after each
	// buffer.
	Buffer int
	// Files limits the number of open files; nil sets no limit.
	Files *FileManager
	// UniqueID is the unique id of the trace; 0 derives one from the name and the first record of the
	// trace.
	UniqueID uint64
	// ZeroTokens allows definitions with token 0, which the format reserves but libotf writes. Copies
	// of traces need it. Without it they are an error.
	ZeroTokens bool
}

const (
	defaultBuffer = 64 << 10  // with compression
	plainBuffer   = 128 << 10 // fits into the processor's cache
)

// StreamWriter writes one stream of a trace. A program can have one goroutine for each stream. It must
// write the master file itself ([WriteMaster]). The files get their names when the StreamWriter is
// closed.
type StreamWriter struct {
	stub  string
	id    uint32
	opt   WriterOptions
	parts [numParts]*partWriter
	err   error // error of the first write that failed
}

// NewStreamWriter returns a writer for the stream with the number id of the trace whose files begin
// with stub. Stream 0 accepts only global definitions and markers, because readers ignore other
// records there.
func NewStreamWriter(stub string, id uint32, opt *WriterOptions) *StreamWriter {
	w := &StreamWriter{stub: stub, id: id}
	if opt != nil {
		w.opt = *opt
	}
	if w.opt.Buffer <= 0 {
		if w.opt.Buffer = plainBuffer; w.opt.Level > 0 {
			w.opt.Buffer = defaultBuffer
		}
	}
	return w
}

// OrderError reports a record that is earlier than the record before it in its file. Such a record is
// not written. Later records may still be written.
type OrderError struct {
	Record     Type
	Time, Last uint64
}

// Error returns a message with the time that was found and the times that were expected.
func (e *OrderError) Error() string {
	return fmt.Sprintf("%s at %d: found a time before the time of the previous record, expected %d or later, or 0",
		e.Record, e.Time, e.Last)
}

// Write writes a record to the file of its part ([Record.Part]). Times must not decrease, except to 0,
// which starts a new sequence of times. The token of a definition must not be 0 ([WriterOptions.ZeroTokens]).
func (w *StreamWriter) Write(r *Record) error {
	if err := w.opt.checkToken(r); err != nil {
		return err
	}
	return w.copy(r)
}

// Handlers returns handlers that copy every record of a [Cursor], including those of type Unknown and
// definitions of token 0. They leave out a last line without a line end, because with a line end it
// could be taken for a record.
func (w *StreamWriter) Handlers() *Handlers { return copyHandlers(w.copy) }

// copyHandlers returns handlers that copy all records except incomplete lines.
func copyHandlers(write func(*Record) error) *Handlers {
	h := &Handlers{Unknown: func(r *Record) error {
		if r.truncated {
			return nil
		}
		return write(r)
	}}
	for t := range h {
		if specs[t].name != "" {
			h[t] = write
		}
	}
	return h
}

// definesToken is set for the types of records that define a token.
var definesToken = func() (t [256]bool) {
	for i := range specs {
		t[i] = specs[i].part == Definitions && specs[i].hasField(fieldToken) || Type(i) == DefMarker
	}
	return t
}()

// checkToken returns an error if the record defines token 0 although the options do not allow it.
func (o *WriterOptions) checkToken(r *Record) error {
	if definesToken[r.Type] && r.Token == 0 && !o.ZeroTokens {
		return fmt.Errorf("%s: Token: found 0, which the format reserves, expected 1 or more", r.Type)
	}
	return nil
}

// copy is like Write, and allows every token.
func (w *StreamWriter) copy(r *Record) error {
	if w.err != nil {
		return w.err
	}
	if w.writeFrequent(r) {
		return w.err
	}
	if err := r.check(); err != nil {
		return err
	}
	part := r.Part()
	if w.id == 0 && part != Definitions && part != Markers {
		return fmt.Errorf("%s in stream 0: found a record of a process, expected only definitions and markers", r.Type)
	}
	if w.opt.InlineSnapshots && part == Snapshots {
		part = Events
	}
	return w.write(r, part)
}

// writeFrequent writes a record of the most frequent types. It returns false for other records and for
// invalid ones, and then has written nothing.
func (w *StreamWriter) writeFrequent(r *Record) bool {
	p := w.parts[Events]
	if p == nil || len(r.KeyValues) > 0 || w.opt.Long {
		return false
	}
	before, last, process := len(p.buf), p.last, p.process
	if p.writeState(r.Time, r.Process, r.Type) == nil {
		var ok bool
		if p.buf, ok = r.appendFrequent(p.buf); ok {
			if len(p.buf) >= w.opt.Buffer {
				w.err = p.flush()
			}
			return true
		}
	}
	p.buf, p.last, p.process = p.buf[:before], last, process
	return false
}

// writeLine writes an event with the text of its line.
func (w *StreamWriter) writeLine(x *aheadRecord, text []byte) error {
	if w.err != nil {
		return w.err
	}
	p := w.parts[Events]
	if p == nil {
		if p, w.err = w.create(Events); w.err != nil {
			return w.err
		}
	}
	from := x.start
	if from >= 0 && x.time > p.last {
		// The time and process lines of the event precede it in the text, and are copied with it.
		p.last, p.process = x.time, uint64(x.process)
	} else {
		from = x.from
		if err := p.writeState(x.time, uint64(x.process), x.typ); err != nil {
			return err
		}
	}
	p.buf = appendShort(p.buf, text[from:x.to+1])
	if len(p.buf) >= w.opt.Buffer {
		w.err = p.flush()
	}
	return w.err
}

// appendShort appends text. At least slack bytes of memory must follow text. For a short text, appendShort
// copies a fixed number of bytes, which is faster.
func appendShort(b, text []byte) []byte {
	const short = 32
	n := len(b)
	if len(text) > short || cap(b)-n < short || cap(text) < short {
		return append(b, text...)
	}
	from, to := text[:short], b[n:n+short]
	binary.LittleEndian.PutUint64(to, binary.LittleEndian.Uint64(from))
	binary.LittleEndian.PutUint64(to[8:], binary.LittleEndian.Uint64(from[8:]))
	binary.LittleEndian.PutUint64(to[16:], binary.LittleEndian.Uint64(from[16:]))
	binary.LittleEndian.PutUint64(to[24:], binary.LittleEndian.Uint64(from[24:]))
	return b[:n+len(text)]
}

// WritePart writes a record to the given part of the stream regardless of its type. It is for records of
// type Unknown and for snapshots among the events. Readers find other records only in the part of
// their type.
func (w *StreamWriter) WritePart(r *Record, part Part) error {
	if err := w.opt.checkToken(r); err != nil {
		return err
	}
	if w.err != nil {
		return w.err
	}
	if part == Events && w.writeFrequent(r) {
		return w.err
	}
	if err := r.check(); err != nil {
		return err
	}
	return w.write(r, part)
}

func (w *StreamWriter) write(r *Record, part Part) error {
	p := w.parts[part]
	if p == nil {
		var err error
		if p, err = w.create(part); err != nil {
			w.err = err
			return err
		}
	}
	if part.timed() {
		if err := p.writeState(r.Time, r.Process, r.Type); err != nil {
			return err
		}
	}
	p.buf = r.Append(p.buf, w.opt.Long)
	if len(p.buf) >= w.opt.Buffer {
		w.err = p.flush()
	}
	return w.err
}

// writeState writes the time line and process line before a record if they are needed (docs/formats/otf.md,
// "State lines").
func (p *partWriter) writeState(t, process uint64, typ Type) error {
	switch {
	case t > p.last || t == 0:
		p.buf = append(appendHex(p.buf, t), '\n')
		p.last = t
	case t < p.last:
		return &OrderError{typ, t, p.last}
	case process == p.process:
		return nil
	}
	p.buf = append(appendHex(append(p.buf, '*'), process), '\n')
	p.process = process
	return nil
}

// Flush writes the collected text to the files. The files do not have their final names yet, but
// [Open] can read them if the program is killed. With compression each call costs some of the
// compression ratio.
func (w *StreamWriter) Flush() error {
	for _, p := range w.parts {
		if w.err == nil && p != nil && len(p.buf) > 0 {
			w.err = p.flush()
		}
	}
	return w.err
}

// Close writes the remaining text and gives the files their names.
func (w *StreamWriter) Close() error {
	defer w.Abort()
	if err := w.finish(); err != nil {
		return err
	}
	var n commit.Set
	w.addNames(&n)
	return n.Commit()
}

// keepState takes the time and the process of a file that has been read to its end, if no record was written to the
// file of that part. libotf reads no events of the whole trace if a file of events has no time and process.
func (w *StreamWriter) keepState(s *stream) {
	if p := w.parts[s.part]; p != nil && s.begun && p.process > noProcess && s.process <= noProcess {
		p.last, p.process = s.time, s.process
	}
}

// finish writes the remaining text and closes the files.
func (w *StreamWriter) finish() error {
	for part, p := range w.parts {
		if p == nil || w.err != nil {
			continue
		}
		if Part(part).timed() && p.process <= noProcess {
			// Readers find the time of the last event in the last lines of the file.
			p.buf = append(appendHex(p.buf, p.last), '\n')
			p.buf = append(appendHex(append(p.buf, '*'), p.process), '\n')
		}
		if w.err = p.flush(); w.err == nil {
			w.err = p.file.Close()
		}
	}
	return w.err
}

// renamer collects the files to rename and to remove: a [commit.Set] or a [format.Output].
type renamer interface {
	Rename(from, to string)
	Remove(path string)
}

// addNames adds the files of the stream to n.
func (w *StreamWriter) addNames(n renamer) {
	for _, p := range w.parts {
		if p != nil {
			n.Rename(p.temp, p.name)
		}
	}
}

var errClosed = errors.New("otf: the writer is closed")

// Abort removes the files. It does nothing after Close.
func (w *StreamWriter) Abort() {
	for part, p := range w.parts {
		if p != nil {
			p.file.Close()
			os.Remove(p.temp)
			w.parts[part] = nil
		}
	}
	if w.err == nil {
		w.err = errClosed
	}
}

// partWriter writes the file of one part of a stream.
type partWriter struct {
	name, temp string
	file       archive.Handle
	created    bool // the file has been created
	level      int
	zip        *flate.Writer
	zipped     bytes.Buffer
	buf        []byte
	last       uint64 // time of the last record, in ticks
	process    uint64
}

// restart discards what was written to a part.
func (w *StreamWriter) restart(part Part) error {
	if p := w.parts[part]; p != nil {
		p.file.Close()
		os.Remove(p.temp)
	}
	_, err := w.create(part)
	return err
}

// fileError returns an error in one line that names the file.
func fileError(name string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		err = le.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

func (w *StreamWriter) create(part Part) (*partWriter, error) {
	name := fileName(w.stub, w.id, part)
	if w.opt.Level > 0 {
		name += ".z"
	}
	p := &partWriter{name: name, level: min(w.opt.Level, 9), process: noProcess + 1}
	p.temp = filepath.Join(filepath.Dir(name), fmt.Sprintf(".%s.%d.tmp", filepath.Base(name), os.Getpid()))
	p.file = archive.NewHandle(w.opt.Files, func() (io.Closer, error) {
		flags := os.O_WRONLY | os.O_APPEND
		if !p.created {
			flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
		}
		f, err := os.OpenFile(p.temp, flags, 0o666)
		if err != nil {
			return nil, fileError(name, err)
		}
		p.created = true
		return f, nil
	})
	if p.level > 0 {
		var err error
		if p.zip, err = flate.NewWriter(&p.zipped, p.level); err != nil {
			return nil, err
		}
		p.zipped.Write(zlibHeader(p.level))
	}
	w.parts[part] = p
	return p, nil
}

// zlibHeader returns the header of a compressed file.
func zlibHeader(level int) []byte {
	switch {
	case level <= 1:
		return []byte{0x78, 0x01}
	case level <= 5:
		return []byte{0x78, 0x5e}
	case level == 6:
		return []byte{0x78, 0x9c}
	}
	return []byte{0x78, 0xda}
}

// flush writes the collected text to the file.
func (p *partWriter) flush() error {
	text := p.buf
	p.buf = p.buf[:0]
	if p.zip != nil {
		if err := deflate(p.zip, &p.zipped, text); err != nil {
			return err
		}
		text = p.zipped.Bytes()
		defer p.zipped.Reset()
	}
	return p.file.With(func(f io.Closer) error {
		if _, err := f.(*os.File).Write(text); err != nil {
			return fileError(p.name, err)
		}
		return nil
	})
}
