package otf2

import (
	"errors"
	"fmt"
	"path/filepath"
)

// SnapshotReader reads the snapshots of a location. A snapshot describes the state of the location at a time
// (docs/formats/otf2.md, "Snapshots"). The reader holds 64 KiB of the file in memory, or a whole record if a
// record is longer.
type SnapshotReader struct{ r EventReader }

// Snapshots opens the snapshots of a location. An archive has snapshots if [Anchor].Snapshots is
// not 0. References and times are returned as they are in the file, without mapping or correction.
func (a *Archive) Snapshots(location uint64) (*SnapshotReader, error) {
	name := fmt.Sprintf("/%d.snap", location)
	c, err := openChunks(a.files, a.src, a.name+name, a.path+name, a.EventChunk)
	if err != nil {
		return nil, err
	}
	return &SnapshotReader{*a.eventReader(c, &localDefinitions{}, snapshotTypes[:], "a record of a snapshot")}, nil
}

// Close closes the file.
func (s *SnapshotReader) Close() { s.r.Close() }

// Next returns the next record, which is valid until the next call. It returns io.EOF after the last record.
// The time of a record is the time of its snapshot; its first value is the time at which the event occurred.
// Unknown records have no values. After a [FileError], the next call resumes after the damage.
func (s *SnapshotReader) Next() (*Event, error) { return s.r.Next() }

// SnapshotWriter writes the snapshots of a location. Only one goroutine at a time may use it.
type SnapshotWriter struct {
	// Count is the number of snapshots that have begun.
	Count uint32
	e     EventWriter
}

// Snapshots returns the writer of a location's snapshots.
func (w *Writer) Snapshots(location uint64) *SnapshotWriter {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.snapshots[location]
	if s == nil {
		file := filepath.Join(w.folder, "locations", fmt.Sprint(location)+".snap")
		s = &SnapshotWriter{e: EventWriter{c: chunkWriter{path: file, chunk: int64(w.Anchor.EventChunk), bufSize: 4 << 10}}}
		w.snapshots[location] = s
	}
	return s
}

// Write writes a record of a snapshot. x.Time is the time of the snapshot. Write returns an [OrderError] if
// this time is less than the time of the previous record. Write uses only the record, time and attributes of
// x.
func (s *SnapshotWriter) Write(x *Event) error {
	if s.e.any && x.Time < s.e.time {
		return &OrderError{s.e.time, x.Time}
	}
	if x.ID == snapshotStart {
		s.Count++
	}
	return s.e.write(&snapshotTypes[x.ID], x)
}

// closeSnapshots closes the snapshot files. If any location has a snapshot file, closeSnapshots creates
// snapshot files for all locations, because OTF2's own library requires them.
func (w *Writer) closeSnapshots() (err error) {
	if w.Anchor.Snapshots = 0; len(w.snapshots) == 0 {
		return nil
	}
	for id := range w.locations {
		w.Snapshots(id)
	}
	for id, s := range w.snapshots {
		w.Location(id)
		err = errors.Join(err, s.e.c.close())
		w.Anchor.Snapshots = max(w.Anchor.Snapshots, s.Count)
	}
	return err
}
