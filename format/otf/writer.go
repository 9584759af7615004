package otf

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"path/filepath"
	"strings"

	"github.com/weft-trace/weft/format"
)

// version is the format version that weft writes: that of libotf 1.12.5.
var version = Record{Type: DefVersion, Major: 1, Minor: 12, Sub: 5, Text: "salmon"}

// Writer writes a whole trace. It chooses the stream of each process, begins the global definitions with a
// version and a unique id, and writes the master file. The files get their names when the Writer is closed;
// the master file gets its name last. Only one goroutine at a time may use a Writer. [Writer.Stream] returns a
// writer of one stream for another goroutine.
type Writer struct {
	path    string // path of the master file
	stub    string
	opt     WriterOptions
	master  *MasterControl
	streams map[uint32]*StreamWriter
	headed  bool // the version and unique id have been written
	last    *StreamWriter
	process uint64 // process to whose stream the field last belongs
}

// Create returns a writer for the trace with this name, with or without ".otf".
func Create(name string, opt *WriterOptions) *Writer {
	w := &Writer{stub: strings.TrimSuffix(name, ".otf"), streams: map[uint32]*StreamWriter{}, master: &MasterControl{}}
	w.path = w.stub + ".otf"
	if opt != nil {
		w.opt = *opt
	}
	if w.opt.Master != nil {
		w.master = w.opt.Master.Clone()
	}
	return w
}

// Master returns the map of processes to streams so far. It belongs to the writer. Processes may be
// assigned before their first record.
func (w *Writer) Master() *MasterControl { return w.master }

// Stream returns the writer of a stream, which it makes if necessary. While another goroutine writes to that
// stream, the caller must not write records of its processes with the Writer.
func (w *Writer) Stream(id uint32) *StreamWriter {
	s := w.streams[id]
	if s == nil {
		s = NewStreamWriter(w.stub, id, &w.opt)
		w.streams[id] = s
	}
	return s
}

// assign returns the stream of a process. A process without a stream gets a new stream as long as the options
// allow another one. After that, the process gets the stream with the fewest processes; among equals, the
// stream with the lowest number.
func (w *Writer) assign(process uint32) uint32 {
	if id, ok := w.master.Stream(process); ok {
		return id
	}
	var id uint32
	if w.opt.Streams == 0 || uint32(w.master.Len()) < w.opt.Streams {
		id = w.master.NewStream()
	} else {
		fewest := -1
		for _, s := range w.master.Streams() {
			if n := len(w.master.Processes(s)); fewest < 0 || n < fewest {
				id, fewest = s, n
			}
		}
	}
	w.master.Assign(process, id)
	return id
}

// Write writes a record: a definition to the stream that it names, a marker to stream 0, other records
// to the stream of their process. For a record of type Unknown, [Record.Part] decides. The token of a
// definition must not be 0 ([WriterOptions.ZeroTokens]).
func (w *Writer) Write(r *Record) error {
	if err := w.opt.checkToken(r); err != nil {
		return err
	}
	return w.copy(r)
}

// copy is like Write, but allows token 0 in definitions.
func (w *Writer) copy(r *Record) error {
	switch r.Part() {
	case Definitions:
		if r.Stream == 0 && !w.headed {
			w.headed = true
			if r.Type != DefVersion {
				if err := w.writeHeader(r); err != nil {
					return err
				}
			}
		}
		return w.Stream(r.Stream).copy(r)
	case Markers:
		return w.Stream(0).copy(r)
	}
	if w.last == nil || r.Process != w.process {
		if r.Process > noProcess {
			return fmt.Errorf("%s: process %d: found a number of more than 32 bits", r.Type, r.Process)
		}
		w.last, w.process = w.Stream(w.assign(uint32(r.Process))), r.Process
	}
	return w.last.copy(r)
}

// writeHeader writes the version and the unique id before the first definition.
func (w *Writer) writeHeader(first *Record) error {
	if err := w.Stream(0).Write(&version); err != nil {
		return err
	}
	id := w.opt.UniqueID
	if id == 0 {
		h := fnv.New64a()
		h.Write([]byte(filepath.Base(w.stub)))
		h.Write(first.Append(nil, false))
		id = binary.LittleEndian.Uint64(h.Sum(nil))
	}
	return w.Stream(0).Write(&Record{Type: DefUniqueID, UniqueID: id})
}

// writeMissingFiles writes a file of events for each stream without such a file. If one is missing, libotf
// reads no events of the whole trace.
func (w *Writer) writeMissingFiles() error {
	last := uint64(0)
	for _, s := range w.streams {
		if p := s.parts[Events]; p != nil {
			last = max(last, p.last)
		}
	}
	for _, id := range w.master.Streams() {
		s := w.Stream(id)
		l := w.master.Processes(id)
		if len(l) == 0 || s.parts[Events] != nil {
			continue
		}
		p, err := s.create(Events)
		if err != nil {
			return err
		}
		p.last, p.process = last, uint64(l[0]) // finish writes time and process as the end of the file
	}
	return nil
}

// Handlers returns handlers that copy every record of a [Cursor], including those of type Unknown and
// definitions of token 0. They leave out a last line without a line end, because with a line end it
// could be taken for a record.
func (w *Writer) Handlers() *Handlers { return copyHandlers(w.copy) }

// Flush writes the collected text to the files, as [StreamWriter.Flush] does.
func (w *Writer) Flush() error {
	for _, s := range w.streams {
		if err := s.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// Close writes the remaining text and the master file, and gives all files their names. Close removes files of
// an older trace with the same name.
func (w *Writer) Close() error {
	defer w.Abort()
	for _, s := range w.streams {
		if err := s.finish(); err != nil {
			return err
		}
	}
	out, err := format.CreateFile(w.path)
	if err != nil {
		return err
	}
	defer out.Abort()
	if _, err := w.master.WriteTo(out); err != nil {
		return err
	}
	out.Remove(w.stub + thumbnailSuffix)
	nameTrace(out, w.stub, w.master, maps.Values(w.streams))
	return out.Commit()
}

// nameTrace adds the files of a whole trace to n, except the thumbnail. It also makes n remove files of an
// older trace with the same name, because readers would take these as part of the new trace.
func nameTrace(n renamer, stub string, master *MasterControl, writers iter.Seq[*StreamWriter]) {
	written := map[string]bool{}
	for w := range writers {
		for _, p := range w.parts {
			if p != nil {
				written[p.name] = true
			}
		}
		w.addNames(n)
	}
	ids := append([]uint32{0}, master.Streams()...)
	if old, err := ReadMaster(format.FileSource(stub+".otf"), nil); err == nil {
		ids = append(ids, old.Streams()...)
	}
	for _, id := range ids {
		for part := range numParts {
			for _, z := range []string{"", ".z"} {
				if name := fileName(stub, id, part) + z; !written[name] {
					written[name] = true
					n.Remove(name)
				}
			}
		}
	}
}

// Abort removes the files. It does nothing after Close.
func (w *Writer) Abort() {
	for _, s := range w.streams {
		s.Abort()
	}
}

// WriteMaster writes the master file of the trace with this name, with or without ".otf".
func WriteMaster(name string, m *MasterControl) error {
	out, err := format.CreateFile(strings.TrimSuffix(name, ".otf") + ".otf")
	if err != nil {
		return err
	}
	defer out.Abort()
	if _, err := m.WriteTo(out); err != nil {
		return err
	}
	return out.Commit()
}
