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
)

// catalogue is the list of traces that a server shows.
type catalogue interface {
	// all lists them.
	all() ([]*entry, error)
	// find finds one that was listed, or nil.
	find(id string) *entry
	// known lists those that were asked for so far.
	known() []*entry
}

// given is a list that grows only by files that are brought to the server.
type given struct {
	mu        sync.Mutex
	list      []*entry
	temporary []string // folders of such files
}

func newGiven(s *Server, traces []Given) *given {
	g := &given{}
	seen := map[string]int{}
	for _, t := range traces {
		p := t.Source.Path
		g.list = append(g.list, s.newEntry(t, traceID(p, seen[p]), path.Base(strings.ReplaceAll(p, "\\", "/"))))
		seen[p]++
	}
	return g
}

func (g *given) all() ([]*entry, error) { return g.known(), nil }

func (g *given) known() []*entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.list
}

func (g *given) find(id string) *entry {
	list := g.known()
	if i := slices.IndexFunc(list, func(e *entry) bool { return e.id == id }); i >= 0 {
		return list[i]
	}
	return nil
}

// Limits of a folder.
const (
	maxDepth  = 8               // of folders in each other
	maxSeen   = 100_000         // files and folders that are looked at
	maxTraces = 2000            // that are listed
	maxProbed = 5000            // files without a known name whose begin is looked at
	listAge   = 5 * time.Second // a list is as good as new
	probeHead = 8 << 10         // bytes of a file that are looked at
	nameAlone = 50              // how sure a format is of an empty file with its name
	surely    = 90              // how sure it must be of files without a known name
)

// folder lists the traces below a folder. Names that begin with a dot are left out.
type folder struct {
	s    *Server
	root fs.FS

	mu     sync.Mutex
	at     time.Time // of the list
	list   []*entry
	byID   map[string]*entry
	probed map[string]probed
}

// probed is what a file was found to be.
type probed struct {
	stamp
	format format.Format // nil for none
}

func newFolder(s *Server, dir *os.Root) *folder {
	// What a link leads to must be in the folder, too: os.Root sees to that.
	return &folder{s: s, root: dir.FS(), byID: map[string]*entry{}, probed: map[string]probed{}}
}

func (f *folder) known() []*entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	var l []*entry
	for _, e := range f.byID {
		l = append(l, e)
	}
	return l
}

func (f *folder) find(id string) *entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.byID[id]; e != nil {
		return e
	}
	// Someone comes with an address from before the server was started anew.
	f.walk()
	return f.byID[id]
}

func (f *folder) all() ([]*entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list, f.walk()
}

// walk makes the list anew if it is old.
func (f *folder) walk() error {
	if time.Since(f.at) < listAge {
		return nil
	}
	var list []*entry
	seen, guesses := 0, 0
	old := f.probed
	f.probed = map[string]probed{}
	err := fs.WalkDir(f.root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if name == "." {
				return err
			}
			return nil // what cannot be read is not shown
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
		st, err := fs.Stat(f.root, name) // of what a link leads to
		if err != nil || !st.Mode().IsRegular() {
			return nil
		}
		p, ok := old[name]
		if now := (stamp{st.Size(), st.ModTime()}); !ok || p.stamp != now {
			p = probed{now, nil}
			if named := f.named(name); named || guesses < maxProbed {
				least := surely
				switch {
				case named && st.Size() == 0:
					least = nameAlone
				case named:
					// Other files of a trace have names of the same sort.
					least = nameAlone + 1
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
			e = f.s.newEntry(Given{Source: f.source(name)}, id, path.Base(name))
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

// source is a file of the folder: the file system of a trace begins where the trace is.
func (f *folder) source(name string) format.Source {
	dir, err := fs.Sub(f.root, path.Dir(name))
	if err != nil {
		dir = f.root // the names come from a walk and are valid
	}
	return format.Source{FS: dir, Name: path.Base(name), Path: name}
}

// named reports whether a format has such names.
func (f *folder) named(name string) bool {
	return slices.ContainsFunc(f.s.opt.Reading.Formats, func(x format.Format) bool { return x.About().HasExtension(name) })
}

// probe looks at the begin of a file; some format must be sure enough that it is its own.
func (f *folder) probe(name string, least int) format.Format {
	file, err := f.root.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	head := make([]byte, probeHead)
	n, _ := io.ReadFull(file, head)
	return format.Probe(f.s.opt.Reading.Formats, path.Base(name), head[:n], least)
}
