package otf2

import (
	"errors"
	"fmt"
	"path/filepath"
)

// SnapshotReader reads the snapshots of a location: what was going on there at some
// times (docs/formats/otf2.md, "Snapshots"). It holds 64 KiB of the file, or a record if
// one is longer.
type SnapshotReader struct{ r EventReader }

// Snapshots opens the snapshots of a location. An archive has them if [Anchor].Snapshots
// is not 0. Their references and times are those of the archive: they are neither mapped
// nor corrected.
func (a *Archive) Snapshots(location uint64) (*SnapshotReader, error) {
	name := fmt.Sprintf("/%d.snap", location)
	c, err := openChunks(a.files, a.src, a.name+name, a.path+name, a.EventChunk)
	if err != nil {
		return nil, err
	}
	return &SnapshotReader{*a.eventReader(c, &local{}, snapshotTypes[:], "a record of a snapshot")}, nil
}

// Close frees the file.
func (s *SnapshotReader) Close() { s.r.Close() }

// Next is the next record, valid until the next call; io.EOF behind the last one. Its time
// is that of the snapshot; when something happened is its first value. Unknown records
// have no values. After a [FileError] reading goes on behind what is damaged.
func (s *SnapshotReader) Next() (*Event, error) { return s.r.Next() }

// SnapshotWriter writes the snapshots of a location. It must be used by one goroutine at a
// time.
type SnapshotWriter struct {
	// Count is how many snapshots have been begun.
	Count uint32
	e     EventWriter
}

// Snapshots is the writer of a location's snapshots.
func (w *Writer) Snapshots(location uint64) *SnapshotWriter {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.snapshots[location]
	if s == nil {
		file := filepath.Join(w.folder, "locations", fmt.Sprint(location)+".snap")
		s = &SnapshotWriter{e: EventWriter{c: chunkWriter{path: file, chunk: int64(w.Anchor.EventChunk), most: 4 << 10}}}
		w.snapshots[location] = s
	}
	return s
}

// Write writes a record, the time of which is that of its snapshot and must not be less
// than that of the one before: else the error is an [OrderError]. Of x it looks at the
// record, time and attributes.
func (s *SnapshotWriter) Write(x *Event) error {
	if s.e.any && x.Time < s.e.time {
		return &OrderError{s.e.time, x.Time}
	}
	if x.ID == snapshotStart {
		s.Count++
	}
	return s.e.write(&snapshotTypes[x.ID], x)
}

// closeSnapshots ends the files of snapshots, if there are any: then all locations have
// one, as OTF2's own library wants it.
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
