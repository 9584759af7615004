package pallas

import (
	"fmt"
	"io/fs"
	"iter"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/plural"
)

// Trace is an open trace (in Pallas: GlobalArchive). Several goroutines may call its methods at the
// same time.
type Trace struct {
	Parameters
	// Definitions holds the definitions that apply to all archives.
	Definitions *Definitions
	// LocationGroups holds the processes and their parent groups. Each process with threads has an
	// archive of the same id.
	LocationGroups []LocationGroup
	// Locations holds the locations in the main file. Only old writers store locations there; newer writers
	// store them in the archives.
	Locations []Location
	Metadata  []Metadata
	// Truncated describes a defect of the main file after its settings. It is nil if the file has no such
	// defect.
	Truncated *FileError

	src   format.Source
	order *FileError // the first definition or metadata of the main file that is out of order
	// children has the ids of groups that contain other groups. placed has the locations in the main file by their
	// group. Both are made when the trace is opened.
	children map[uint32]bool
	placed   map[uint32][]Location

	dir        string // folder of the archives: "", or a path that ends in a slash
	displayDir string // the same folder in the form that messages show
	mu         sync.Mutex
	archives   map[uint32]*lazy[*Archive]
	blocks     blockCache
	loaded     threadCache
	small      smallFiles
}

// lazy holds a value that is loaded on first use, and only once.
type lazy[T any] struct {
	once sync.Once
	v    T
	err  error
}

// metadata iterates over the keys and values of the trace's own metadata.
func (t *Trace) metadata() iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for _, m := range t.Metadata {
			if !yield(m.Key, m.Value) {
				return
			}
		}
	}
}

// partPath matches the paths of files in the folder of a trace that are not its main file.
var partPath = regexp.MustCompile(`(?:^|[/\\])archive_\d+[/\\](?:archive|thread_\d+[/\\]thread)\.pallas$`)

// partNames describes the files of a trace that are not its main file.
var partNames = map[string]string{"archive.pallas": "the file of an archive", "thread.pallas": "the file of a thread"}

// partOf describes a file that is not the main file, and returns "" for all others. unknown is set if the file does not
// begin as a main file does. Some files of archives and threads do, because they begin with a number.
func partOf(src format.Source, unknown bool) string {
	if unknown || partPath.MatchString(src.Path) {
		return partNames[path.Base(src.Name)]
	}
	return ""
}

// Open opens a trace, given its main file. It reads no other file.
func Open(src format.Source) (*Trace, error) {
	s, err := load(src, src.Name, src.Path)
	if err != nil {
		return nil, err
	}
	t := &Trace{Parameters: s.parameters(), src: src, archives: map[uint32]*lazy[*Archive]{},
		loaded: threadCache{most: grammarBytes}}
	if part := partOf(src, s.err != nil && s.err.Offset == 0); part != "" {
		return nil, archive.Damaged(src.Path, 0, part, "the main file of the trace, which is beside the folders archive_N")
	}
	if s.err != nil && s.err.Offset <= encodingOffset {
		return nil, s.err
	}
	if t.dir = path.Dir(src.Name) + "/"; t.dir == "./" {
		t.dir = ""
	}
	t.displayDir = src.Path[:len(src.Path)-len(path.Base(src.Name))]
	t.Definitions = s.definitions(t.ABI, nil)
	t.LocationGroups, t.Locations = s.locationGroups(t.Definitions), s.locations(t.Definitions)
	t.Metadata = s.metadata(t.ABI)
	if s.err == nil && s.left() > 0 && t.ABI > 16 {
		s.fail(s.at, "the end of the file", "%s more", plural.Of(s.left(), "byte"))
	}
	t.order = s.order
	if t.Truncated = s.defect(); s.err != nil {
		t.search()
	}
	t.children, t.placed = map[uint32]bool{}, map[uint32][]Location{}
	for _, g := range t.LocationGroups {
		t.children[g.Parent] = true
	}
	for _, l := range t.Locations {
		t.placed[l.Parent] = append(t.placed[l.Parent], l)
	}
	return t, nil
}

// Archive is a process and its threads.
type Archive struct {
	Trace *Trace
	ID    uint32
	// Definitions holds the archive's own definitions. A lookup that fails here continues in the definitions
	// of the trace.
	Definitions *Definitions
	Locations   []Location // locations of the archive's threads
	Metadata    []Metadata
	// Truncated describes a defect of the archive's file. It is nil if the file has no defect.
	Truncated *FileError

	order               *FileError // the first definition or metadata of the file that is out of order
	missingErr          error      // error for the missing file of the archive; nil if the file exists
	fileID, fileThreads uint32     // the archive's id and number of threads, as its file states them
	// location groups in the archive's file, where the format does not expect any
	groups []LocationGroup
	// ownCount is the number of Locations that the archive's own file lists. mainCount is the number that
	// follows from the main file.
	ownCount, mainCount int

	mu      sync.Mutex
	threads map[uint32]*lazy[*Thread]
	index   map[uint32]int // places in Locations by id; nil until location needs it
}

// location returns the first location of the archive with an id.
func (a *Archive) location(id uint32) (l Location, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.index == nil {
		a.index = map[uint32]int{}
		for i, l := range slices.Backward(a.Locations) {
			a.index[l.ID] = i
		}
	}
	if i, ok := a.index[id]; ok {
		return a.Locations[i], true
	}
	return l, false
}

// search adds archives that the damaged main file does not list, but whose folders exist.
func (t *Trace) search() {
	listed := t.listedGroups()
	for _, id := range folderNumbers(t.src.FS, path.Clean(t.dir+"."), "archive_") {
		if !listed[id] {
			t.LocationGroups = append(t.LocationGroups, LocationGroup{id, NoRef, NoRef})
		}
	}
}

// listedGroups returns the ids of the location groups.
func (t *Trace) listedGroups() map[uint32]bool {
	ids := map[uint32]bool{}
	for _, g := range t.LocationGroups {
		ids[g.ID] = true
	}
	return ids
}

// present returns the number of the archive's threads that have a file.
func (a *Archive) present() (n uint32) {
	for _, l := range a.Locations {
		if _, err := fs.Stat(a.Trace.src.FS, a.Trace.dir+threadFolder(a.ID, l.ID)+"thread.pallas"); err == nil {
			n++
		}
	}
	return n
}

// search adds threads that the damaged archive file does not list, but whose folders exist.
func (a *Archive) search() {
	listed := map[uint32]bool{}
	for _, l := range a.Locations {
		listed[l.ID] = true
	}
	for _, id := range folderNumbers(a.Trace.src.FS, a.Trace.dir+path.Dir(archiveFile(a.ID)), "thread_") {
		if !listed[id] {
			a.Locations = append(a.Locations, Location{id, NoRef, a.ID})
		}
	}
}

// folderNumbers returns the numbers N, in ascending order, for which dir contains a folder whose name is
// prefix followed by N.
func folderNumbers(f fs.FS, dir, prefix string) (ids []uint32) {
	list, _ := fs.ReadDir(f, dir) // a folder that cannot be listed counts as empty
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

// ArchiveIDs returns the ids of the location groups that have an archive, in the order of their
// definitions. It looks for folders, and reads no file.
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

// Archive loads the archive of a location group. If the group has no archive, the error wraps
// [fs.ErrNotExist].
func (t *Trace) Archive(id uint32) (*Archive, error) {
	t.mu.Lock()
	o := t.archives[id]
	if o == nil {
		o = &lazy[*Archive]{}
		t.archives[id] = o
	}
	t.mu.Unlock()
	o.once.Do(func() { o.v, o.err = t.loadArchive(id) })
	return o.v, o.err
}

func (t *Trace) loadArchive(id uint32) (*Archive, error) {
	name := archiveFile(id)
	a := &Archive{Trace: t, ID: id, threads: map[uint32]*lazy[*Thread]{}}
	s, err := load(t.src, t.dir+name, t.displayDir+name)
	if archive.IsMissing(err) {
		// The archive's threads may exist even if its own file is missing.
		a.Definitions, a.missingErr = &Definitions{global: t.Definitions}, err
		a.Definitions.index()
		if a.search(); len(a.Locations) > 0 {
			return a, nil
		}
	}
	if err != nil {
		return nil, err
	}
	a.fileID, a.fileThreads = s.u32(), s.u32() // the folder and the locations also state both numbers
	a.Definitions = s.definitions(t.ABI, t.Definitions)
	a.groups = s.locationGroups(a.Definitions)
	a.Locations, a.Metadata = s.locations(a.Definitions), s.metadata(t.ABI)
	a.ownCount = len(a.Locations)
	a.Locations, a.mainCount = append(a.Locations, t.placed[id]...), len(t.placed[id])
	if s.err == nil && s.left() > 0 && t.ABI > 16 {
		s.fail(s.at, "the end of the file", "%s more", plural.Of(s.left(), "byte"))
	}
	a.order = s.order
	if a.Truncated = s.defect(); s.err != nil {
		a.search()
	}
	return a, nil
}

// Thread loads the grammar of a location. If the location has no thread, the error wraps [fs.ErrNotExist]. If
// the file is damaged, the error is a [FileError], and Thread also returns the part that it could read. The
// trace caches the last threads that were loaded, as long as their files have at most 16 MB together. A
// grammar takes about three times as much memory as its file. Thread loads a thread again if the cache has
// dropped it.
func (a *Archive) Thread(id uint32) (*Thread, error) {
	a.mu.Lock()
	o := a.threads[id]
	if o == nil {
		o = &lazy[*Thread]{}
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
	file := func(name string) (string, string) {
		return a.Trace.dir + folder + name, a.Trace.displayDir + folder + name
	}
	name, path := file("thread.pallas")
	open := openInParts
	if a.Trace.ABI == 17 {
		open = load // the file may have to be read twice
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
	// The manager of open files refers to these files. They must not refer to the thread, because the thread would
	// then stay in memory.
	times, timesPath := file("event_durations.dat")
	durations, durationsPath := file("sequence_durations.dat")
	t.times, t.durations = newDataFile(a.Trace.src, times, timesPath), newDataFile(a.Trace.src, durations, durationsPath)
	for i := range t.Events {
		t.times.countValues(&t.Events[i].Timestamps)
	}
	for i := range t.Sequences {
		x := &t.Sequences[i]
		for _, v := range []*Vector{&x.Timestamps, &x.Durations, &x.Exclusive} {
			t.durations.countValues(v)
		}
	}
	if l, ok := a.location(id); ok {
		t.name, _ = a.Definitions.Text(l.Name)
	}
	t.path = path
	if bad != nil {
		return t, bad
	}
	t.whole = true
	return t, nil
}
