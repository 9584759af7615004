package pallas

import (
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
)

// Trace is an opened trace (in Pallas: GlobalArchive). Its methods may be called by
// several goroutines at once.
type Trace struct {
	Parameters
	// Definitions are those that hold for all archives.
	Definitions *Definitions
	// LocationGroups are the processes and what is above them. Each that has threads
	// has an archive of the same number.
	LocationGroups []LocationGroup
	// Locations are those of old writers; archives have theirs.
	Locations []Location
	Metadata  []Metadata
	// Truncated is what is wrong with the main file behind the definitions, nil if
	// nothing.
	Truncated *FileError

	src      format.Source
	dir      string // of the archives, with a slash behind unless it is empty
	shown    string // the same as the user would write it
	mu       sync.Mutex
	archives map[uint32]*opened[*Archive]
	blocks   blockCache
	loaded   threadCache
	files    openFiles
	small    smallFiles
}

// opened is something that is loaded once.
type opened[T any] struct {
	once sync.Once
	v    T
	err  error
}

// metadata are the keys and values of the trace's own.
func (t *Trace) metadata() iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for _, m := range t.Metadata {
			if !yield(m.Key, m.Value) {
				return
			}
		}
	}
}

// Open opens a trace by its main file and reads no other.
func Open(src format.Source) (*Trace, error) {
	s, err := load(src, src.Name, src.Path)
	if err != nil {
		return nil, err
	}
	t := &Trace{Parameters: s.parameters(), src: src, archives: map[uint32]*opened[*Archive]{}, loaded: threadCache{most: grammarBytes}}
	if s.err != nil {
		return nil, s.err
	}
	if t.dir = path.Dir(src.Name) + "/"; t.dir == "./" {
		t.dir = ""
	}
	t.shown = src.Path[:len(src.Path)-len(path.Base(src.Name))]
	t.Definitions = s.definitions(t.ABI, nil)
	t.LocationGroups, t.Locations, t.Metadata = s.locationGroups(), s.locations(), s.metadata(t.ABI)
	if s.err == nil && s.left() > 0 && t.ABI > 16 {
		s.bad(s.at, "the end of the file", "%d bytes more", s.left())
	}
	if t.Truncated = s.wrong(); s.err != nil {
		t.search()
	}
	return t, nil
}

// Archive is a process with threads.
type Archive struct {
	Trace *Trace
	ID    uint32
	// Definitions are the archive's own, behind which the trace's are looked up.
	Definitions *Definitions
	Locations   []Location // its threads
	Metadata    []Metadata
	// Truncated is what is wrong with the archive's file, nil if nothing.
	Truncated *FileError

	gone                error           // there is no file
	fileID, fileThreads uint32          // which its file says
	groups              []LocationGroup // that its file has, though they have no place there
	own, main           int             // of Locations: those of its file, and behind them those of the main file

	mu      sync.Mutex
	threads map[uint32]*opened[*Thread]
}

// search adds the archives that the damaged main file does not name.
func (t *Trace) search() {
	for _, id := range numbered(t.src.FS, path.Clean(t.dir+"."), "archive_") {
		if !slices.ContainsFunc(t.LocationGroups, func(g LocationGroup) bool { return g.ID == id }) {
			t.LocationGroups = append(t.LocationGroups, LocationGroup{id, NoRef, NoRef})
		}
	}
}

// present is how many of the archive's threads have a file.
func (a *Archive) present() (n uint32) {
	for _, l := range a.Locations {
		if _, err := fs.Stat(a.Trace.src.FS, a.Trace.dir+threadFolder(a.ID, l.ID)+"thread.pallas"); err == nil {
			n++
		}
	}
	return n
}

// search adds the threads that the damaged file does not name.
func (a *Archive) search() {
	for _, id := range numbered(a.Trace.src.FS, a.Trace.dir+path.Dir(archiveFile(a.ID)), "thread_") {
		if !slices.ContainsFunc(a.Locations, func(l Location) bool { return l.ID == id }) {
			a.Locations = append(a.Locations, Location{id, NoRef, a.ID})
		}
	}
}

// numbered are the numbers of the folders in a folder whose names begin so.
func numbered(f fs.FS, dir, prefix string) (ids []uint32) {
	list, _ := fs.ReadDir(f, dir) // what cannot be listed has none
	for _, x := range list {
		if rest, ok := strings.CutPrefix(x.Name(), prefix); ok {
			if n, err := strconv.ParseUint(rest, 10, 32); err == nil && strconv.FormatUint(n, 10) == rest {
				ids = append(ids, uint32(n))
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// ArchiveIDs are the location groups that have an archive, in the order in which they
// are defined. It reads no file but the trace's folders.
func (t *Trace) ArchiveIDs() []uint32 {
	var l []uint32
	for _, g := range t.LocationGroups {
		if _, err := fs.Stat(t.src.FS, path.Dir(t.dir+archiveFile(g.ID))); err == nil && !slices.Contains(l, g.ID) {
			l = append(l, g.ID)
		}
	}
	return l
}

func archiveFile(id uint32) string { return fmt.Sprintf("archive_%d/archive.pallas", id) }

func threadFolder(archive, id uint32) string {
	return fmt.Sprintf("archive_%d/thread_%d/", archive, id)
}

// Archive loads the archive of a location group. The error is an [fs.ErrNotExist] if
// there is none.
func (t *Trace) Archive(id uint32) (*Archive, error) {
	t.mu.Lock()
	o := t.archives[id]
	if o == nil {
		o = &opened[*Archive]{}
		t.archives[id] = o
	}
	t.mu.Unlock()
	o.once.Do(func() { o.v, o.err = t.loadArchive(id) })
	return o.v, o.err
}

func (t *Trace) loadArchive(id uint32) (*Archive, error) {
	name := archiveFile(id)
	a := &Archive{Trace: t, ID: id, threads: map[uint32]*opened[*Thread]{}}
	s, err := load(t.src, t.dir+name, t.shown+name)
	if archive.IsMissing(err) {
		// Its threads may be there all the same.
		a.Definitions, a.gone = &Definitions{global: t.Definitions}, err
		a.Definitions.index()
		if a.search(); len(a.Locations) > 0 {
			return a, nil
		}
	}
	if err != nil {
		return nil, err
	}
	a.fileID, a.fileThreads = s.u32(), s.u32() // which folder and locations say too
	a.Definitions = s.definitions(t.ABI, t.Definitions)
	a.groups = s.locationGroups()
	a.Locations, a.Metadata = s.locations(), s.metadata(t.ABI)
	a.own = len(a.Locations)
	for _, l := range t.Locations {
		if l.Parent == id {
			a.Locations = append(a.Locations, l)
			a.main++
		}
	}
	if s.err == nil && s.left() > 0 && t.ABI > 16 {
		s.bad(s.at, "the end of the file", "%d bytes more", s.left())
	}
	if a.Truncated = s.wrong(); s.err != nil {
		a.search()
	}
	return a, nil
}

// Thread loads the grammar of a location. The error is an [fs.ErrNotExist] if there is
// none, and a [FileError] if its file is damaged: what could be read comes with it
// then. The trace keeps the threads that were loaded last, as long as their files have 16 MB
// together at most: a grammar takes three times as much memory as its file, about. One that
// was dropped is loaded anew when it is asked for again.
func (a *Archive) Thread(id uint32) (*Thread, error) {
	a.mu.Lock()
	o := a.threads[id]
	if o == nil {
		o = &opened[*Thread]{}
		a.threads[id] = o
	}
	a.mu.Unlock()
	o.once.Do(func() {
		if o.v, o.err = a.loadThread(id, wholeThread); o.v != nil {
			a.Trace.loaded.add(loadedThread{a, id, o.v.size})
		}
	})
	return o.v, o.err
}

func (a *Archive) loadThread(id uint32, wanted threadPart) (*Thread, error) {
	folder := threadFolder(a.ID, id)
	file := func(name string) (string, string) { return a.Trace.dir + folder + name, a.Trace.shown + folder + name }
	name, path := file("thread.pallas")
	open := stream
	if a.Trace.ABI == 17 {
		open = load // it may have to be read twice
	}
	s := a.Trace.small.take(name, path)
	if s == nil {
		var err error
		if s, err = open(a.Trace.src, name, path); err != nil {
			return nil, err
		}
	}
	if s.f != nil {
		defer s.f.Close()
	}
	t, bad := parseThread(s, a.Trace.ABI, wanted)
	if wanted == threadEvents && bad == nil {
		a.Trace.small.keep(name, s)
	}
	t.ID, t.Archive = id, a
	t.size = int64(s.size)
	// The trace's list of open files knows these, and not the thread.
	t.times = &dataFile{src: a.Trace.src, all: &a.Trace.files}
	t.durations = &dataFile{src: a.Trace.src, all: &a.Trace.files}
	t.times.name, t.times.path = file("event_durations.dat")
	t.durations.name, t.durations.path = file("sequence_durations.dat")
	for _, l := range a.Locations {
		if l.ID == id {
			t.name, _ = a.Definitions.Text(l.Name)
			break
		}
	}
	t.path = path
	if bad != nil {
		return t, bad
	}
	return t, nil
}
