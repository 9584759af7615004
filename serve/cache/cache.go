// Package cache keeps the indexes of traces in a folder, so that a trace that was indexed
// once is there at once the next time.
//
// An index is KEY.weftidx; KEY is a SHA-256 hash of the settings that it was made with and
// of what tells the trace's files from others ([Key]). Which files those are is known once
// the trace has been read: the build records every name that the decoder asked for. The
// list is kept in MAIN.files, where MAIN is the hash of the settings and of the main file
// alone. So finding an index takes two steps, neither of which reads more than 64 MiB, or
// looks into the trace.
//
// Notes that people write on a trace are MAIN.notes.json, where MAIN is the hash of the main
// file alone, whatever the settings and the version of indexes. They are not removed, and
// not counted when the cache is kept small.
//
// Files appear whole or not at all. Two builds of the same trace, in one program or two,
// do the work twice, and the later one's file takes the place of the other's. What a build
// that was killed has left is removed by the next program that opens the cache ([Room]).
package cache

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weft-trace/weft/format"
)

// Names of the files in the folder.
const (
	suffix     = ".weftidx"
	listSuffix = ".files"
	noteSuffix = ".notes.json"
	unfinished = "." // begins the names of files that are being written
)

// old is the age of unfinished files that nobody can be writing to any more, whatever locks
// say.
const old = 24 * time.Hour

// DefaultSize is how many bytes a cache may have when nobody says otherwise.
const DefaultSize = 20 << 30

// Cache is a folder of indexes.
type Cache struct {
	dir  string
	size int64
	temp bool
	now  func() time.Time
}

// Open opens the cache in a folder, which is made if it is not there, and removes what killed
// builds have left in it. size bounds it; 0 is [DefaultSize].
func Open(dir string, size int64) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot keep indexes: %w", err)
	}
	c := &Cache{dir: dir, size: cmp.Or(size, DefaultSize), now: time.Now}
	c.sweep()
	return c, nil
}

// Default opens the cache of the user: the folder that WEFT_CACHE names, or weft in the
// user's cache folder. Where that can be neither made nor written to it is a folder that
// Close removes. That which WEFT_CACHE names is taken as it is: indexes that are in it can be
// used without writing.
func Default(size int64) (*Cache, error) {
	dir := os.Getenv("WEFT_CACHE")
	if dir == "" {
		if base, err := os.UserCacheDir(); err == nil {
			dir = filepath.Join(base, "weft")
		}
	}
	if dir != "" {
		c, err := Open(dir, size)
		if os.Getenv("WEFT_CACHE") != "" || err == nil && c.writable() {
			return c, err
		}
	}
	dir, err := os.MkdirTemp("", "weft-cache-*")
	if err != nil {
		return nil, fmt.Errorf("cannot keep indexes: %w", err)
	}
	return &Cache{dir: dir, size: cmp.Or(size, DefaultSize), temp: true, now: time.Now}, nil
}

// writable reports whether files can be made in the folder.
func (c *Cache) writable() bool {
	f, err := os.CreateTemp(c.dir, unfinished+"weft-try-*")
	if err != nil {
		return false
	}
	f.Close()
	return os.Remove(f.Name()) == nil
}

// Secret is the file for the secret of a server on a port, by which addresses outlive it; ""
// where nothing outlives it.
func (c *Cache) Secret(port string) string {
	if c.temp {
		return ""
	}
	return filepath.Join(c.dir, "secret-"+port)
}

// Lasts reports whether the cache outlasts the program: Close removes one that does not.
func (c *Cache) Lasts() bool { return !c.temp }

// Close removes the cache if it was made for the time being.
func (c *Cache) Close() error {
	if c.temp {
		return os.RemoveAll(c.dir)
	}
	return nil
}

// Found is what reading a trace reported.
type Found struct {
	Defects int64    `json:"defects"`           // how many there were
	Missing []string `json:"missing,omitempty"` // those that are missing files, in words
}

// Entry is an index in the cache.
type Entry struct {
	Key  string
	Path string
	Size int64
	Found
	TraceSize int64 // bytes of all files of the trace

	files []string // of the trace
	stamp string   // what the machine said of them, "" if nothing
}

// Changed reports whether the machine says that files of the trace have changed since its
// index e was found. Where it does not tell, and of what has changed in the last seconds, it
// is false.
func (c *Cache) Changed(e *Entry, src format.Source) bool {
	if len(e.files) == 0 {
		return false
	}
	stamp := stampOf(src, e.files, c.now())
	return stamp != "" && stamp != e.stamp
}

// list is what is in a file of names.
type list struct {
	Files []string `json:"files"`
	Found
	Size int64 `json:"size"` // of all files, in bytes
	// Stamp is what the machine said of the files when their key was Key, "" if nothing.
	Stamp string `json:"stamp,omitempty"`
	Key   string `json:"key,omitempty"`
}

// maxList bounds what is read of a list; it is beyond the traces of any machine.
const maxList = 256 << 20

// Find finds the index of a trace; ok is false if there is none. Finding counts as use.
func (c *Cache) Find(src format.Source, s *Settings) (e Entry, ok bool, err error) {
	main, err := Key(src, []string{src.Name}, s)
	if err != nil {
		return e, false, err
	}
	listPath := filepath.Join(c.dir, main+listSuffix)
	l, err := readList(listPath)
	if err != nil {
		return e, false, nil // not there, or damaged: built anew
	}
	stamp := stampOf(src, l.Files, c.now())
	known := stamp != "" && stamp == l.Stamp && l.Key != ""
	if e.Key = l.Key; !known {
		if e.Key, err = Key(src, l.Files, s); err != nil {
			return e, false, nil
		}
	}
	e.Path, e.Found, e.TraceSize = filepath.Join(c.dir, e.Key+suffix), l.Found, l.Size
	st, err := os.Stat(e.Path)
	if err != nil {
		return e, false, nil
	}
	e.Size, e.files, e.stamp = st.Size(), l.Files, stamp
	now := c.now()
	// Where times cannot be set the oldest build goes first.
	os.Chtimes(e.Path, now, now)
	os.Chtimes(listPath, now, now)
	if !known && stamp != "" {
		// Next time they need not be read.
		l.Stamp, l.Key = stamp, e.Key
		if room, err := NewRoom(c.dir); err == nil {
			c.writeList(room, main, l)
			room.Close()
		}
	}
	return e, true, nil
}

func readList(path string) (*list, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var l list
	if err := json.NewDecoder(io.LimitReader(f, maxList)).Decode(&l); err != nil {
		return nil, err
	}
	for _, name := range l.Files {
		if !fs.ValidPath(name) {
			return nil, fmt.Errorf("%s: found the name %q, expected one below the trace's folder", path, name)
		}
	}
	return &l, nil
}

// Build makes the index of a trace. build writes it to a path, reading the trace from the
// source that it is given.
func (c *Cache) Build(ctx context.Context, src format.Source, s *Settings,
	build func(ctx context.Context, src format.Source, path string) (Found, error)) (e Entry, err error) {
	c.sweep()
	main, err := Key(src, []string{src.Name}, s)
	if err != nil {
		return e, err
	}
	room, err := NewRoom(c.dir)
	if err != nil {
		return e, fmt.Errorf("cannot keep indexes: %w", err)
	}
	defer room.Close()
	made := room.Path("index")
	recorded, files := Record(src)
	if e.Found, err = build(ctx, recorded, made); err != nil {
		return e, err
	}
	names := append(files.Files(), src.Name)
	stamp := stampOf(src, names, c.now()) // before they are read for the key
	if e.Key, err = Key(src, names, s); err != nil {
		return e, err
	}
	if name := files.Changed(); name != "" {
		return e, fmt.Errorf("%s: %s changed while the trace was being indexed; expected a trace that is complete", src.Path, name)
	}
	st, err := os.Stat(made)
	if err != nil {
		return e, err
	}
	e.files, e.stamp = names, stamp
	e.Path, e.Size, e.TraceSize = filepath.Join(c.dir, e.Key+suffix), st.Size(), files.Size()
	if err := replace(made, e.Path); err != nil {
		return e, err
	}
	if err := c.writeList(room, main, &list{names, e.Found, e.TraceSize, stamp, e.Key}); err != nil {
		return e, err
	}
	c.limit(e.Key, main)
	return e, nil
}

// replace gives a file its name. Where a file that is open cannot be replaced, as on
// Windows, the one that is there is as good.
func replace(from, to string) error {
	err := os.Rename(from, to)
	if err != nil {
		if st, e := os.Stat(to); e == nil && st.Size() > 0 {
			return nil
		}
	}
	return err
}

func (c *Cache) writeList(room *Room, main string, l *list) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	made := room.Path("list")
	if err := os.WriteFile(made, text, 0o600); err != nil {
		return err
	}
	return replace(made, filepath.Join(c.dir, main+listSuffix))
}

// Notes is the file of the notes on a trace, which need not be there; "" if the cache will
// not outlast the program. An error wraps [fs.ErrNotExist] if the trace is not there.
func (c *Cache) Notes(src format.Source) (string, error) {
	if c.temp {
		return "", nil
	}
	key, err := notesKey(src)
	return filepath.Join(c.dir, key+noteSuffix), err
}

// Remove takes an index out of the cache: it was found to be damaged.
func (c *Cache) Remove(e Entry) error {
	err := os.Remove(e.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sweep removes what killed builds have left, and old files of other sorts that were not
// finished.
func (c *Cache) sweep() {
	Sweep(c.dir)
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, x := range entries {
		if !strings.HasPrefix(x.Name(), unfinished+"weft-") {
			continue
		}
		if st, err := x.Info(); err == nil && st.Mode().IsRegular() && time.Since(st.ModTime()) > old {
			os.Remove(filepath.Join(c.dir, x.Name()))
		}
	}
}

// limit removes what was not used for longest while the cache is too large. What was
// just built stays.
func (c *Cache) limit(keep ...string) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var files []fs.FileInfo
	sum := int64(0)
	for _, x := range entries {
		st, err := x.Info()
		if err != nil || !st.Mode().IsRegular() || !strings.HasSuffix(x.Name(), suffix) && !strings.HasSuffix(x.Name(), listSuffix) {
			continue
		}
		sum += st.Size()
		key, _, _ := strings.Cut(x.Name(), ".")
		if !slices.Contains(keep, key) {
			files = append(files, st)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, st := range files {
		if sum <= c.size {
			return
		}
		// Who has it open can go on reading; where that keeps it, it stays.
		if os.Remove(filepath.Join(c.dir, st.Name())) == nil {
			sum -= st.Size()
		}
	}
}
