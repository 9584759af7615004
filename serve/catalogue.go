package serve

import (
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/compression"
)

// catalogue is the list of traces that a server shows.
type catalogue interface {
	// all returns all traces. It may read the folder for this purpose.
	all() ([]*entry, error)
	// find returns the trace with an id, or nil if there is none.
	find(id string) *entry
	// entries returns the traces that have been listed or requested so far.
	entries() []*entry
}

// fixedCatalogue is a catalogue that consists of given traces and of uploaded traces.
type fixedCatalogue struct {
	mu        sync.Mutex
	list      []*entry
	temporary []string // folders of uploaded files
}

func newFixedCatalogue(s *Server, traces []ServedTrace) *fixedCatalogue {
	g := &fixedCatalogue{}
	seen := map[string]int{}
	for _, t := range traces {
		p := t.Source.Path
		g.list = append(g.list, s.newEntry(t, traceID(p, seen[p]), path.Base(strings.ReplaceAll(p, "\\", "/"))))
		seen[p]++
	}
	return g
}

func (f *fixedCatalogue) all() ([]*entry, error) { return f.entries(), nil }

func (f *fixedCatalogue) entries() []*entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list
}

func (f *fixedCatalogue) find(id string) *entry {
	list := f.entries()
	if i := slices.IndexFunc(list, func(e *entry) bool { return e.id == id }); i >= 0 {
		return list[i]
	}
	return nil
}

// The limits of a folder's catalogue.
const (
	maxDepth  = 8               // greatest depth of nested folders that are searched
	maxSeen   = 100_000         // largest number of files and folders that are examined
	maxTraces = 2000            // largest number of traces in a list
	maxProbed = 5000            // largest number of files with unknown extensions that are opened
	listAge   = 5 * time.Second // age up to which a list is used again
	probeHead = 8 << 10         // number of bytes that are read from a file to detect its format
	// the confidence with which a format recognises an empty file by its extension
	nameConfidence = 50
	minConfidence  = 90 // the confidence that a file with an unknown extension must reach
)

// folderCatalogue is a catalogue of the traces below a folder. It leaves out files and folders
// whose names begin with a dot.
type folderCatalogue struct {
	s    *Server
	root fs.FS

	mu     sync.Mutex
	at     time.Time // time at which the list was made
	list   []*entry
	byID   map[string]*entry
	probed map[string]probeResult
}

// probeResult is the format that was detected for a file.
type probeResult struct {
	fileStamp
	format format.Format // nil if the file is not a trace
}

func newFolderCatalogue(s *Server, dir *os.Root) *folderCatalogue {
	// Through os.Root, symbolic links cannot lead out of the folder.
	return &folderCatalogue{s: s, root: dir.FS(), byID: map[string]*entry{}, probed: map[string]probeResult{}}
}

func (f *folderCatalogue) entries() []*entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	var l []*entry
	for _, e := range f.byID {
		l = append(l, e)
	}
	return l
}

func (f *folderCatalogue) find(id string) *entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.byID[id]; e != nil {
		return e
	}
	// The id may come from a link that was made before the server started.
	f.refreshList()
	return f.byID[id]
}

func (f *folderCatalogue) all() ([]*entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list, f.refreshList()
}

// refreshList reads the list of the folder again if it is older than listAge.
func (f *folderCatalogue) refreshList() error {
	if time.Since(f.at) < listAge {
		return nil
	}
	var list []*entry
	seen, guesses := 0, 0
	old := f.probed
	f.probed = map[string]probeResult{}
	err := fs.WalkDir(f.root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if name == "." {
				return err
			}
			return nil // leave out entries that cannot be read
		}
		if seen++; seen > maxSeen || len(list) >= maxTraces {
			return fs.SkipAll
		}
		if name != "." && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			if name != "." && strings.Count(name, "/")+1 > maxDepth {
				return fs.SkipDir
			}
			return nil
		}
		st, err := fs.Stat(f.root, name) // if name is a symbolic link, this describes its target
		if err != nil || !st.Mode().IsRegular() {
			return nil
		}
		p, ok := old[name]
		if now := (fileStamp{st.Size(), st.ModTime()}); !ok || p.fileStamp != now {
			p = probeResult{now, nil}
			if named := f.hasKnownExtension(compression.PlainName(name)); named || guesses < maxProbed {
				least := minConfidence
				switch {
				case named && st.Size() == 0:
					least = nameConfidence
				case named:
					// The other files of the trace may have the same extension as the main file.
					least = nameConfidence + 1
				default:
					guesses++
				}
				p.format = f.probe(name, least)
			}
		}
		f.probed[name] = p
		if p.format == nil {
			return nil
		}
		id := traceID(name, 0)
		e := f.byID[id]
		if e == nil {
			e = f.s.newEntry(ServedTrace{Source: f.source(name)}, id, path.Base(name))
			f.byID[id] = e
		}
		e.mu.Lock()
		e.format = p.format
		e.mu.Unlock()
		list = append(list, e)
		return nil
	})
	f.list, f.at = list, time.Now()
	return err
}

// source returns the source of a file. Its file system is the folder that contains the file.
func (f *folderCatalogue) source(name string) format.Source {
	dir, err := fs.Sub(f.root, path.Dir(name))
	if err != nil {
		dir = f.root // cannot happen, because the names from a walk are valid
	}
	return format.Source{FS: dir, Name: path.Base(name), Path: name}
}

// hasKnownExtension reports whether a format uses the extension of a name.
func (f *folderCatalogue) hasKnownExtension(name string) bool {
	return slices.ContainsFunc(f.s.opt.Reading.Formats, func(x format.Format) bool { return x.About().HasExtension(name) })
}

// probe detects the format of a file from its first bytes, or from those of its contents if it is compressed. It
// returns nil if the confidence of every format is less than least.
func (f *folderCatalogue) probe(name string, least int) format.Format {
	file, err := f.root.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	contents, err := compression.NewReader(file)
	if err != nil {
		return nil
	}
	name = path.Base(name)
	if contents.Name != "" {
		name = compression.PlainName(name)
	}
	head := make([]byte, probeHead)
	n, _ := io.ReadFull(contents, head)
	found := format.Probe(f.s.opt.Reading.Formats, name, head[:n], least)
	if contents.Name != "" && found != nil && !found.About().SingleText {
		return nil
	}
	return found
}
