// Package cache keeps the indexes of traces in a folder, so that a trace needs to be indexed only once.
//
// The file of an index is KEY.weftidx, where KEY is a SHA-256 hash of the settings and of the identity of the
// trace's files ([Key]). The list of these files is complete only after the trace has been read. Build records
// each name that the decoder opens, and stores the list in MAIN.files, where MAIN is the hash of the settings
// and of the main file alone. Therefore Find first reads the list, and then computes KEY. Each of these two
// steps reads at most 64 MiB, without decoding the trace. Traces with the same main file share a list, which
// describes each of them.
//
// The file of the notes on a trace is MAIN.notes.json, where MAIN is the hash of the main file alone,
// independent of the settings and of the version of indexes. Notes are never removed, and do not count towards
// the size of the cache.
//
// All files are written atomically. If the same index is built twice at the same time, by one program or by
// two, both builds are completed, and the file of the later build replaces the file of the earlier one. Files
// of a killed build are removed when a program opens the cache the next time ([StagingDir]).
package cache

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weft-trace/weft/format"
)

// The names of the files in the folder.
const (
	suffix           = ".weftidx"
	listSuffix       = ".files"
	noteSuffix       = ".notes.json"
	unfinishedPrefix = "." // prefix of files that are being written
)

// staleAge is the age above which an unfinished file is removed even if it is locked, because no build takes
// this long.
const staleAge = 24 * time.Hour

// DefaultSize is the default limit of a cache's size in bytes.
const DefaultSize = 20 << 30

// Cache is a folder of indexes.
type Cache struct {
	dir  string
	size int64
	temp bool
	now  func() time.Time
}

// Open opens the cache in a folder. It creates the folder if necessary, and removes the files of killed
// builds. size is the limit in bytes; 0 means [DefaultSize].
func Open(dir string, size int64) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot keep indexes: %w", err)
	}
	c := &Cache{dir: dir, size: cmp.Or(size, DefaultSize), now: time.Now}
	c.sweep()
	return c, nil
}

// Default opens the user's cache. It is the folder in the environment variable WEFT_CACHE, or the folder weft
// in the user's cache folder. If the folder in the user's cache folder cannot be created or written to,
// Default uses a temporary folder that Close removes. The folder in WEFT_CACHE may be read-only: existing
// indexes can be used without writing.
func Default(size int64) (*Cache, error) {
	dir := os.Getenv("WEFT_CACHE")
	if dir == "" {
		if base, err := os.UserCacheDir(); err == nil {
			dir = filepath.Join(base, "weft")
		}
	}
	if dir != "" {
		c, err := Open(dir, size)
		if os.Getenv("WEFT_CACHE") != "" || err == nil && c.isWritable() {
			return c, err
		}
	}
	dir, err := os.MkdirTemp("", "weft-cache-*")
	if err != nil {
		return nil, fmt.Errorf("cannot keep indexes: %w", err)
	}
	return &Cache{dir: dir, size: cmp.Or(size, DefaultSize), temp: true, now: time.Now}, nil
}

// isWritable reports whether files can be created in the folder.
func (c *Cache) isWritable() bool {
	f, err := os.CreateTemp(c.dir, unfinishedPrefix+"weft-try-*")
	if err != nil {
		return false
	}
	f.Close()
	return os.Remove(f.Name()) == nil
}

// Secret returns the path of the file with the secret of the server on a port. A server that is restarted on
// the port uses the same secret, so that its addresses stay valid. The result is "" for a temporary cache.
func (c *Cache) Secret(port string) string {
	if c.temp {
		return ""
	}
	return filepath.Join(c.dir, "secret-"+port)
}

// IsPersistent reports whether the cache exists after the program has ended. If it does not, Close
// removes it.
func (c *Cache) IsPersistent() bool { return !c.temp }

// Close removes the folder of a temporary cache. Other caches remain.
func (c *Cache) Close() error {
	if c.temp {
		return os.RemoveAll(c.dir)
	}
	return nil
}

// ReadDefects describes the defects that were found when a trace was read for its index.
type ReadDefects struct {
	Defects int64    `json:"defects"`           // the number of defects
	Missing []string `json:"missing,omitempty"` // descriptions of the files that are missing
}

// Entry describes an index file in the cache.
type Entry struct {
	Key  string
	Path string
	Size int64
	ReadDefects
	TraceSize int64 // total size of all files of the trace in bytes

	files []string // names of the files of the trace
	stamp string   // hash of the metadata of the files; "" if it is unknown
	// settled states whether further changes of the files result in another stamp
	settled bool
}

// Changed reports whether the metadata of the trace's files has changed since e was found. It
// returns false if the system has no sufficient metadata, or if a file has changed within the last
// seconds.
func (c *Cache) Changed(e *Entry, src format.Source) bool {
	if len(e.files) == 0 {
		return false
	}
	stamp, settled := stampOf(src, e.files, c.now())
	return settled && !(e.settled && stamp == e.stamp)
}

// IsSame reports whether the trace's files have the same metadata as when e was found. It returns true if the
// system has no sufficient metadata. In contrast to Changed, it also finds changes within the last seconds.
func (c *Cache) IsSame(e *Entry, src format.Source) bool {
	stamp, _ := stampOf(src, e.files, c.now())
	return e.stamp == "" || stamp == e.stamp
}

// fileList is the content of a .files file.
type fileList struct {
	Files []string `json:"files"`
	traceSummary
	// Others has the summaries of other traces with the same main file and an index, by the key of the index. Such
	// traces are, for example, earlier states of a trace whose other files have changed.
	Others map[string]traceSummary `json:"others,omitempty"`
	// Stamp is the hash of the metadata that the files had when their key was Key. It is "" if the metadata
	// was not sufficient.
	Stamp string `json:"stamp,omitempty"`
	Key   string `json:"key,omitempty"`
}

// traceSummary describes the trace of an index.
type traceSummary struct {
	ReadDefects
	Size int64 `json:"size"` // total size of all files in bytes
}

// use makes the list describe the trace whose index has the key. It returns false if the list does not know the
// trace.
func (l *fileList) use(key string) bool {
	if key == l.Key || l.Key == "" {
		l.Key = key
		return true
	}
	found, ok := l.Others[key]
	if ok {
		delete(l.Others, key)
		l.Others[l.Key] = l.traceSummary
		l.Key, l.traceSummary, l.Stamp = key, found, ""
	}
	return ok
}

// maxList is the largest size of a list that is read, in bytes. Lists of real traces are smaller.
const maxList = 256 << 20

// Find returns the index of a trace, and records that the index has been used. ok is false if the cache has no
// index of the trace.
func (c *Cache) Find(src format.Source, s *Settings) (e Entry, ok bool, err error) {
	main, err := Key(src, []string{src.Name}, s)
	if err != nil {
		return e, false, err
	}
	listPath := filepath.Join(c.dir, main+listSuffix)
	l, err := readList(listPath)
	if err != nil {
		return e, false, nil // the list is missing or damaged, so the index must be built again
	}
	stamp, settled := stampOf(src, l.Files, c.now())
	known := settled && stamp == l.Stamp && l.Key != ""
	if e.Key = l.Key; !known {
		if e.Key, err = Key(src, l.Files, s); err != nil || !l.use(e.Key) {
			return e, false, nil
		}
	}
	e.Path, e.ReadDefects, e.TraceSize = filepath.Join(c.dir, e.Key+suffix), l.ReadDefects, l.Size
	st, err := os.Stat(e.Path)
	if err != nil {
		return e, false, nil
	}
	e.Size, e.files, e.stamp, e.settled = st.Size(), l.Files, stamp, settled
	now := c.now()
	// Without these times, the index would count as used when it was built.
	os.Chtimes(e.Path, now, now)
	os.Chtimes(listPath, now, now)
	if !known && settled {
		// With this stamp, the next Find compares metadata instead of reading the files.
		l.Stamp = stamp
		if staging, err := NewStagingDir(c.dir); err == nil {
			c.writeList(staging, main, l)
			staging.Close()
		}
	}
	return e, true, nil
}

func readList(path string) (*fileList, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var l fileList
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

// others returns the summaries of all traces that have an index and the main file main, except for the trace key. The
// list of the main file contains them.
func (c *Cache) others(main, key string) map[string]traceSummary {
	l, err := readList(filepath.Join(c.dir, main+listSuffix))
	if err != nil {
		return nil
	}
	all := map[string]traceSummary{l.Key: l.traceSummary}
	maps.Copy(all, l.Others)
	maps.DeleteFunc(all, func(k string, _ traceSummary) bool {
		_, err := os.Stat(filepath.Join(c.dir, k+suffix))
		return k == key || err != nil
	})
	return all
}

// Build makes the index of a trace. It calls build, which must read the trace from the source that
// it gets and write the index to path.
func (c *Cache) Build(ctx context.Context, src format.Source, s *Settings,
	build func(ctx context.Context, src format.Source, path string) (ReadDefects, error)) (e Entry, err error) {
	c.sweep()
	main, err := Key(src, []string{src.Name}, s)
	if err != nil {
		return e, err
	}
	staging, err := NewStagingDir(c.dir)
	if err != nil {
		return e, fmt.Errorf("cannot keep indexes: %w", err)
	}
	defer staging.Close()
	temporary := staging.Path("index")
	recorded, files := Record(src)
	if e.ReadDefects, err = build(ctx, recorded, temporary); err != nil {
		return e, err
	}
	names := append(files.Files(), src.Name)
	stamp, settled := stampOf(src, names, c.now()) // computed before the files are read for the key
	if e.Key, err = Key(src, names, s); err != nil {
		return e, err
	}
	if name := files.Changed(); name != "" {
		return e, fmt.Errorf("%s: %s changed while the trace was being indexed; expected a trace that is complete", src.Path,
			name)
	}
	st, err := os.Stat(temporary)
	if err != nil {
		return e, err
	}
	e.files, e.stamp, e.settled = names, stamp, settled
	e.Path, e.Size, e.TraceSize = filepath.Join(c.dir, e.Key+suffix), st.Size(), files.Size()
	if err := replace(temporary, e.Path); err != nil {
		return e, err
	}
	l := &fileList{names, traceSummary{e.ReadDefects, e.TraceSize}, c.others(main, e.Key), "", e.Key}
	if settled {
		l.Stamp = stamp
	}
	if err := c.writeList(staging, main, l); err != nil {
		return e, err
	}
	c.limitSize(e.Key, main)
	return e, nil
}

// replace renames a file. If the system cannot replace an open file (as Windows), replace keeps the existing
// file, which has the same content.
func replace(from, to string) error {
	err := os.Rename(from, to)
	if err != nil {
		if st, e := os.Stat(to); e == nil && st.Size() > 0 {
			return nil
		}
	}
	return err
}

func (c *Cache) writeList(staging *StagingDir, main string, l *fileList) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	temporary := staging.Path("list")
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	return replace(temporary, filepath.Join(c.dir, main+listSuffix))
}

// Notes returns the path of the file with the notes on a trace. The file need not exist. Notes
// returns "" for a temporary cache. The error wraps [fs.ErrNotExist] if the trace does not exist.
func (c *Cache) Notes(src format.Source) (string, error) {
	if c.temp {
		return "", nil
	}
	key, err := notesKey(src)
	return filepath.Join(c.dir, key+noteSuffix), err
}

// Remove removes an index from the cache, because it is damaged.
func (c *Cache) Remove(e Entry) error {
	err := os.Remove(e.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sweep removes the files of killed builds, and unfinished files older than staleAge.
func (c *Cache) sweep() {
	Sweep(c.dir)
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, x := range entries {
		if !strings.HasPrefix(x.Name(), unfinishedPrefix+"weft-") {
			continue
		}
		if st, err := x.Info(); err == nil && st.Mode().IsRegular() && time.Since(st.ModTime()) > staleAge {
			os.Remove(filepath.Join(c.dir, x.Name()))
		}
	}
}

// limitSize removes the least recently used files until the size of the cache is within its limit. It
// never removes the files with the keys in keep.
func (c *Cache) limitSize(keep ...string) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var files []fs.FileInfo
	sum := int64(0)
	for _, x := range entries {
		st, err := x.Info()
		if err != nil || !st.Mode().IsRegular() ||
			!strings.HasSuffix(x.Name(), suffix) && !strings.HasSuffix(x.Name(), listSuffix) {
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
		// A program that has the file open can still read it. If the system cannot remove an open file, the
		// file stays.
		if os.Remove(filepath.Join(c.dir, st.Name())) == nil {
			sum -= st.Size()
		}
	}
}
