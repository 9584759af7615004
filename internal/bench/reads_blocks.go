package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/format/pallas"
)

// A reader of a window of an OTF trace reads at least this much of each file: both ends, which show
// the extent of the times, and a piece of records.
const (
	otfEnds  = 2 * 16 << 10
	otfPiece = 256 << 10
)

// otf2Chunk is the size of the chunks of events that weft writes, in bytes.
const otf2Chunk = 1 << 20

// tracePart is the part of a trace that is needed for the answer to a question.
type tracePart struct {
	from, to    int64 // window [from, to) on the clock of the trace
	first, last int64 // times of the first and last event of the trace
	location    int   // id of the location that is needed; -1 for all locations
}

// share returns the share of the trace's time that lies in the window, from 0 to 1.
func (p tracePart) share() float64 { return float64(p.to-p.from) / float64(p.last+1-p.first) }

// has reports whether the part contains the location with an id.
func (p tracePart) has(id string) bool { return p.location < 0 || id == strconv.Itoa(p.location) }

// tracePartOf returns the part of the trace at path for a window, which is given in thousandths of
// the trace's time.
func tracePartOf(ctx context.Context, path string, from, to, location int) (tracePart, error) {
	f, err := all.Open(ctx, path, nil)
	if err != nil {
		return tracePart{}, err
	}
	defer f.Close()
	first, last, ok, err := f.Extent(ctx)
	if err == nil && !ok {
		err = fmt.Errorf("%s: found no event", path)
	}
	at := func(k int) int64 { return first + int64(float64(k)/1000*float64(last-first)) }
	p := tracePart{at(from), at(to), first, last, location}
	if to == 1000 {
		p.to = last + 1
	}
	return p, err
}

// leastBytes returns the number of bytes that a reader must read at least for the events of the part.
func (p tracePart) leastBytes(path string) (int64, error) {
	if filepath.Ext(path) == ".pallas" {
		return p.pallasBlocks(path)
	}
	var sum int64
	err := filepath.WalkDir(filepath.Dir(path), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		n := st.Size()
		switch id, ext, _ := strings.Cut(strings.TrimPrefix(d.Name(), "ring."), "."); {
		case ext == "events" && p.has(id):
			n = min(n, int64(p.share()*float64(n))+otfEnds+otfPiece)
		case ext == "events":
			n = min(n, otfEnds)
		case ext == "evt" && p.has(id):
			n, err = p.otf2Chunks(path, n)
		case ext == "evt":
			n = 0
		}
		sum += n
		return err
	})
	return sum, err
}

// otf2Chunks returns the total size of the chunks of a file that have events in the window.
func (p tracePart) otf2Chunks(path string, size int64) (sum int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	const header, timestamp = 18, 5 // bytes of a chunk before its first record; type of that record
	var times []int64
	for at := int64(0); at < size; at += otf2Chunk {
		var b [header + 9]byte
		if _, err := f.ReadAt(b[:], at); err != nil {
			return 0, err
		}
		if b[header] != timestamp {
			return 0, fmt.Errorf("%s:%d: found record %d, expected %d, a time", path, at+header, b[header], timestamp)
		}
		times = append(times, int64(binary.LittleEndian.Uint64(b[header+1:])))
	}
	for k, t := range times {
		if t < p.to && (k+1 == len(times) || times[k+1] > p.from) {
			sum += min(otf2Chunk, size-int64(k)*otf2Chunk)
		}
	}
	return sum, nil
}

// pallasBlocks returns the total size of the trace's files without data, and of the blocks that
// have times in the window.
func (p tracePart) pallasBlocks(path string) (int64, error) {
	t, err := pallas.Open(format.FileSource(path))
	if err != nil {
		return 0, err
	}
	sum := bytesIn(path)
	for _, id := range t.ArchiveIDs() {
		a, err := t.Archive(id)
		if err != nil {
			return 0, err
		}
		dir := filepath.Join(filepath.Dir(path), fmt.Sprintf("archive_%d", id))
		sum += bytesIn(filepath.Join(dir, "archive.pallas"))
		for _, l := range a.Locations {
			if !p.has(strconv.FormatUint(uint64(l.ID), 10)) {
				continue
			}
			thread, err := a.Thread(l.ID)
			if err != nil {
				return 0, err
			}
			dir := filepath.Join(dir, fmt.Sprintf("thread_%d", l.ID))
			sum += bytesIn(filepath.Join(dir, "thread.pallas"))
			sum += p.blocksOf(thread, bytesIn(filepath.Join(dir, "event_durations.dat")))
			thread.Close()
		}
	}
	return sum, nil
}

// blocksOf returns the total size of the blocks of a thread that have times in the window. A block
// ends where the next one begins, or where the file of the given size ends.
func (p tracePart) blocksOf(t *pallas.Thread, size int64) (sum int64) {
	ends := map[uint64]uint64{}
	offsets := []uint64{uint64(size)}
	for _, e := range t.Events {
		for _, b := range e.Timestamps.Blocks {
			offsets = append(offsets, b.Offset)
		}
	}
	slices.Sort(offsets)
	for i, o := range offsets[1:] {
		ends[offsets[i]] = o
	}
	for _, e := range t.Events {
		for _, b := range e.Timestamps.Blocks {
			if int64(b.First) < p.to && int64(b.Last) >= p.from {
				sum += int64(ends[b.Offset] - b.Offset)
			}
		}
	}
	return sum
}
