package otf

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// MasterControl maps processes to streams. A stream number is from 1 to 0xfffffffe, and a process is in at
// most one stream. The zero MasterControl is empty and ready to use. It holds the contents of a master file
// (docs/formats/otf.md, "Master file").
type MasterControl struct {
	streams map[uint32][]uint32 // processes of each stream, in ascending order
	process map[uint32]uint32
}

// NoStream is a number that is not the number of any stream.
const NoStream = ^uint32(0)

func validStream(id uint32) bool { return id != 0 && id != NoStream }

// Assign puts a process into a stream. It returns false if the process is in a stream already, or if
// the number of the stream is not valid.
func (m *MasterControl) Assign(process, stream uint32) bool {
	if _, ok := m.process[process]; ok || !validStream(stream) {
		return false
	}
	m.AddStream(stream)
	m.process[process] = stream
	l := m.streams[stream]
	i, _ := slices.BinarySearch(l, process)
	m.streams[stream] = slices.Insert(l, i, process)
	return true
}

// AddStream adds a stream without processes. It returns false if the number of the stream is not
// valid.
func (m *MasterControl) AddStream(stream uint32) bool {
	if !validStream(stream) {
		return false
	}
	if m.process == nil {
		m.process, m.streams = map[uint32]uint32{}, map[uint32][]uint32{}
	}
	if _, ok := m.streams[stream]; !ok {
		m.streams[stream] = nil
	}
	return true
}

// Stream returns the stream of a process. ok is false if the process is in no stream.
func (m *MasterControl) Stream(process uint32) (stream uint32, ok bool) {
	stream, ok = m.process[process]
	return stream, ok
}

// Streams returns the numbers of the streams in ascending order. The caller owns the slice.
func (m *MasterControl) Streams() []uint32 { return slices.Sorted(maps.Keys(m.streams)) }

// Processes returns the processes of a stream in ascending order. The slice belongs to m.
func (m *MasterControl) Processes(stream uint32) []uint32 { return m.streams[stream] }

// Len returns the number of streams.
func (m *MasterControl) Len() int { return len(m.streams) }

// NewStream returns an unused number for a new stream: the highest number in use plus 1.
func (m *MasterControl) NewStream() uint32 {
	last := uint32(0)
	for id := range m.streams {
		last = max(last, id)
	}
	return last + 1
}

// Append adds the entries of o. A process that is already in m keeps its stream.
func (m *MasterControl) Append(o *MasterControl) {
	for _, id := range o.Streams() {
		m.AddStream(id)
		for _, p := range o.streams[id] {
			m.Assign(p, id)
		}
	}
}

// Clone returns a copy of m.
func (m *MasterControl) Clone() *MasterControl {
	c := &MasterControl{}
	c.Append(m)
	return c
}

// AppendTo appends the text of the master file to b. It leaves out streams without processes, because a reader
// would read their lines as if they named process 0.
func (m *MasterControl) AppendTo(b []byte) []byte {
	for _, id := range m.Streams() {
		if len(m.streams[id]) == 0 {
			continue
		}
		b = append(appendHex(b, uint64(id)), ':')
		for i, p := range m.streams[id] {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendHex(b, uint64(p))
		}
		b = append(b, '\n')
	}
	return b
}

// WriteTo writes the master file to w. It returns the number of bytes.
func (m *MasterControl) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(m.AppendTo(nil))
	return int64(n), err
}

// parseMaster parses the text of a master file. It calls report with the number of each faulty line and
// the problem. If library is set, it ignores a last line without a line end, as libotf does.
func parseMaster(text []byte, library bool, report func(line int64, p problem) error) (*MasterControl, error) {
	m := &MasterControl{}
	for number := int64(1); len(text) > 0; number++ {
		defect := func(found, expected string) error {
			return report(number, problem{"otf.master", found, expected, trace.Warning})
		}
		l := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			l, text = text[:i], text[i+1:]
		} else {
			text = nil
			if err := defect("a last line without end", "a line end; libotf does not read the line"); err != nil {
				return m, err
			}
			if library {
				break
			}
		}
		s := scanner{l: l}
		if s.end() {
			continue
		}
		if isMultiplexed(l) {
			return m, errMultiplexed
		}
		if err := m.parseLine(&s, defect); err != nil {
			return m, err
		}
	}
	return m, nil
}

// parseLine adds the processes of a line of a master file. It calls defect for each fault of the line.
func (m *MasterControl) parseLine(s *scanner, defect func(found, expected string) error) error {
	l, start := s.l, s.i
	id := s.hex()
	s.skip()
	if s.i == start || s.i == len(l) || l[s.i] != ':' {
		return defect(strconv.Quote(string(l[:min(len(l), 40)])), "stream:process,process,…; weft skips the line")
	}
	stream := uint32(id)
	if !validStream(stream) {
		return defect("stream "+strconv.FormatUint(id, 16), "a number from 1 to fffffffe; weft skips the line")
	}
	for more := true; more; {
		s.i++ // skip the colon or the comma
		s.skip()
		from := s.i
		p := uint32(s.hex())
		if s.i == from {
			err := defect("an empty entry of stream "+strconv.FormatUint(id, 16), "a process; weft assumes 0")
			if err != nil {
				return err
			}
		}
		if !m.Assign(p, stream) && m.process[p] != stream {
			err := defect(fmt.Sprintf("process %x in streams %x and %x", p, m.process[p], stream),
				"one stream for each process; weft uses the first one")
			if err != nil {
				return err
			}
		}
		s.skip()
		more = s.i < len(l) && l[s.i] == ','
	}
	return nil
}

// isMultiplexed reports whether l is the first line of the master file of a trace whose streams share
// files (IOFSL).
func isMultiplexed(l []byte) bool {
	return len(l) > 2 && l[0] == 'i' && hexValue[l[1]] < 16 && bytes.Count(l, []byte{':'}) == 2
}

var errMultiplexed = fmt.Errorf("found an IOFSL trace, whose streams share files, which weft does not support; " +
	"expected separate files for each stream")
