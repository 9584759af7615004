package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/await"
)

// testSettings are the settings of most tests.
var testSettings = Settings{Version: 1, Format: "x"}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1_700_000_000, 5)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

// readingBuild returns a build function that opens some files of the trace and writes a text as the
// index.
func readingBuild(text string, names ...string) func(context.Context, format.Source, string) (ReadDefects, error) {
	return func(_ context.Context, src format.Source, path string) (ReadDefects, error) {
		for _, n := range names {
			if _, err := fs.ReadFile(src.FS, n); err != nil && !errors.Is(err, fs.ErrNotExist) {
				if _, err := fs.ReadDir(src.FS, n); err != nil {
					return ReadDefects{}, err
				}
			}
		}
		return ReadDefects{Defects: 3}, os.WriteFile(path, []byte(text), 0o644)
	}
}

func open(t *testing.T, size int64) *Cache {
	t.Helper()
	c, err := Open(filepath.Join(t.TempDir(), "a", "b"), size)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func names(t *testing.T, c *Cache) []string {
	t.Helper()
	l, err := os.ReadDir(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, x := range l {
		out = append(out, x.Name())
	}
	return out
}

// TestFind checks that an index is found until a part of the trace changes. It checks changes within the last
// seconds, which metadata does not show, and older changes.
func TestFind(t *testing.T) {
	t.Run("now", func(t *testing.T) { find(t, 0) })
	t.Run("settled", func(t *testing.T) { find(t, 2*settleTime) })
}

// shiftClock moves the clock of a cache by d.
func shiftClock(c *Cache, d time.Duration) { c.now = func() time.Time { return time.Now().Add(d) } }

// waitForTick waits until new files get a later modification time than files that exist now,
// because the clock of a file system may be coarse.
func waitForTick(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clock")
	change := func() time.Time {
		write(t, path, "x")
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		at, _, ok := changeOf(st)
		if !ok {
			at = time.Now()
		}
		return at
	}
	first := change()
	await.Until(t, "the clock of the file system goes on", func() bool { return change().After(first) })
}

// find looks for the indexes of traces after changes of their files. age is the time
// since the changes, by the clock of the cache.
func find(t *testing.T, age time.Duration) {
	long := strings.Repeat("0123456789abcdef", wholeSize/16+100_000)
	tests := []struct {
		name   string
		change func(t *testing.T, dir string)
		found  bool
	}{
		{"nothing", func(*testing.T, string) {}, true},
		{"another file beside it", func(t *testing.T, dir string) { write(t, dir+"/other", "x") }, true},
		{"main file, same length and time", func(t *testing.T, dir string) { write(t, dir+"/main", "MAIN") }, false},
		{"part, same length and time", func(t *testing.T, dir string) { write(t, dir+"/parts/1", "ONE") }, false},
		{"part that is longer", func(t *testing.T, dir string) { write(t, dir+"/parts/1", "one more") }, false},
		{"part is gone", func(t *testing.T, dir string) { os.Remove(dir + "/parts/1") }, false},
		{"part that was missing", func(t *testing.T, dir string) { write(t, dir+"/missing", "") }, false},
		{"new part in a folder that is listed", func(t *testing.T, dir string) { write(t, dir+"/parts/2", "") }, false},
		{"time of a part", func(t *testing.T, dir string) {
			os.Chtimes(dir+"/parts/1", time.Time{}, time.Unix(1_700_000_000, 6))
		}, false},
		{"head of a long file", func(t *testing.T, dir string) { write(t, dir+"/long", "X"+long[1:]) }, false},
		{"tail of a long file", func(t *testing.T, dir string) { write(t, dir+"/long", long[:len(long)-1]+"X") }, false},
		{"a block in a long file", func(t *testing.T, dir string) {
			at := (len(long) - blockSize) / (innerBlocks + 1) * 3
			write(t, dir+"/long", long[:at+9]+"X"+long[at+10:])
		}, false},
		{"a long file between the blocks, its time set back", func(t *testing.T, dir string) {
			write(t, dir+"/long", long[:blockSize+100]+"X"+long[blockSize+101:])
		}, true}, // according to the documentation, this change is not noticed
	}
	folders, made := make([]string, len(tests)), make([]Entry, len(tests))
	caches := make([]*Cache, len(tests))
	for i := range tests {
		folders[i], caches[i] = t.TempDir(), open(t, 0)
		shiftClock(caches[i], age)
		write(t, folders[i]+"/main", "main")
		write(t, folders[i]+"/parts/1", "one")
		write(t, folders[i]+"/long", long)
	}
	waitForTick(t)
	for i, x := range tests {
		src := format.FileSource(folders[i] + "/main")
		if _, ok, err := caches[i].Find(src, &testSettings); ok || err != nil {
			t.Fatalf("in an empty cache: found %t, %v", ok, err)
		}
		var err error
		if made[i], err = caches[i].Build(context.Background(), src, &testSettings,
			readingBuild("index", "main", "parts/1", "missing", "parts", "long", ".")); err != nil {
			t.Fatal(err)
		}
		if m := made[i]; m.Size != 5 || m.Defects != 3 || m.TraceSize != int64(4+3+len(long)) {
			t.Errorf("made %+v", m)
		}
		x.change(t, folders[i])
	}
	for i, x := range tests {
		e, ok, err := caches[i].Find(format.FileSource(folders[i]+"/main"), &testSettings)
		if ok != x.found || err != nil {
			t.Errorf("%s: found is %t, want %t, %v", x.name, ok, x.found, err)
		}
		e.stamp, made[i].stamp, e.settled, made[i].settled = "", "", false, false // both depend on the time
		if ok && !reflect.DeepEqual(e, made[i]) {
			t.Errorf("%s: found %+v, made %+v", x.name, e, made[i])
		}
	}
}

// openCounter is a file system that counts how often each file is opened.
type openCounter struct {
	fs.FS
	names []string
}

func (o *openCounter) Stat(name string) (fs.FileInfo, error) { return fs.Stat(o.FS, name) }

func (o *openCounter) Open(name string) (fs.File, error) {
	o.names = append(o.names, name)
	return o.FS.Open(name)
}

// TestStamp checks that, if the system provides enough metadata, only the main file of an unchanged
// trace is read to find its index. After the trace was copied, all files are read once.
func TestStamp(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the machine does not tell when files were changed")
	}
	dir := t.TempDir()
	write(t, dir+"/main", "main")
	write(t, dir+"/parts/1", "one")
	c := open(t, 0)
	shiftClock(c, 2*settleTime)
	src := format.FileSource(dir + "/main")
	if _, err := c.Build(context.Background(), src, &testSettings, readingBuild("index", "main", "parts/1")); err != nil {
		t.Fatal(err)
	}
	opened := func() []string {
		o := &openCounter{FS: os.DirFS(dir)}
		if _, ok, err := c.Find(format.Source{FS: o, Name: "main", Path: "main"}, &testSettings); !ok || err != nil {
			t.Fatalf("found is %t, %v", ok, err)
		}
		return o.names
	}
	if got := opened(); !slices.Equal(got, []string{"main"}) {
		t.Errorf("files %q were opened to find the index", got)
	}
	e, _, _ := c.Find(src, &testSettings)
	if c.Changed(&e, src) || !c.IsSame(&e, src) {
		t.Error("a trace has changed that nobody touched")
	}
	waitForTick(t)
	os.Rename(dir+"/parts/1", dir+"/parts/old")
	write(t, dir+"/parts/1", "one")
	if !c.Changed(&e, src) {
		t.Error("a trace with another file has not changed")
	}
	// The metadata of a file that has just changed is unreliable, because a second change might result in the
	// same metadata.
	shiftClock(c, 0)
	if c.Changed(&e, src) {
		t.Error("what has changed just now is taken for known")
	}
	if c.IsSame(&e, src) {
		t.Error("what has changed just now is taken for unchanged")
	}
	shiftClock(c, 2*settleTime)
	if got := opened(); !slices.Contains(got, "parts/1") {
		t.Errorf("of a trace with another file only %q were opened", got)
	}
	if got := opened(); !slices.Equal(got, []string{"main"}) {
		t.Errorf("files %q were opened to find the index again", got)
	}
}

// TestTracesWithEqualMainFiles checks that two traces with the same main file keep their own defects and sizes.
func TestTracesWithEqualMainFiles(t *testing.T) {
	c := open(t, 0)
	type run struct {
		src  format.Source
		want ReadDefects
		size int64
	}
	var runs []run
	for i, text := range []string{"good", "damaged"} {
		dir := t.TempDir()
		write(t, dir+"/main", "main")
		write(t, dir+"/part", text)
		if err := os.Chtimes(dir+"/main", time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run{format.FileSource(dir + "/main"), ReadDefects{Defects: int64(i)}, int64(4 + len(text))})
	}
	for range 2 {
		for _, r := range runs {
			e, ok, err := c.Find(r.src, &testSettings)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				build := readingBuild("index", "main", "part")
				e, err = c.Build(t.Context(), r.src, &testSettings,
					func(ctx context.Context, src format.Source, path string) (ReadDefects, error) {
						_, err := build(ctx, src, path)
						return r.want, err
					})
				if err != nil {
					t.Fatal(err)
				}
			}
			if e.Defects != r.want.Defects || e.TraceSize != r.size {
				t.Errorf("%s: found %d defects and %d bytes, want %d and %d", r.src.Path, e.Defects, e.TraceSize,
					r.want.Defects, r.size)
			}
		}
	}
	for _, r := range runs {
		if _, ok, err := c.Find(r.src, &testSettings); !ok || err != nil {
			t.Errorf("%s: the index is not found again: %v", r.src.Path, err)
		}
	}
}

// TestSettings checks that an index is found only with the settings with which it was built.
func TestSettings(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/main", "main")
	c := open(t, 0)
	src := format.FileSource(dir + "/main")
	if _, err := c.Build(context.Background(), src, &testSettings, readingBuild("index", "main")); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Settings{{Version: 2, Format: "x"}, {Version: 1, Format: "y"},
		{Version: 1, Format: "x", Strict: true}, {Version: 1, Format: "x", Values: map[string]string{"a": "b"}},
		{Version: 1, Format: "x", Correction: []byte("c")}, {Version: 1, Format: "x", Color: "id"}} {
		if _, ok, _ := c.Find(src, &s); ok {
			t.Errorf("%+v: found an index", s)
		}
	}
	// The folder of a trace is not a part of its identity.
	other := t.TempDir()
	write(t, other+"/main", "main")
	if _, ok, err := c.Find(format.FileSource(other+"/main"), &testSettings); !ok || err != nil {
		t.Errorf("in another folder: found %t, %v", ok, err)
	}
	// A damaged list is treated like a missing list.
	for _, n := range names(t, c) {
		if strings.HasSuffix(n, listSuffix) {
			write(t, filepath.Join(c.dir, n), `{"files":["../../etc/passwd"]}`)
		}
	}
	if _, ok, err := c.Find(src, &testSettings); ok || err != nil {
		t.Errorf("with a damaged list: found %t, %v", ok, err)
	}
}

// TestUnfinished checks that no files remain after a failed build, and after a build during which the trace
// changes. Files of a killed build are removed when they are old enough.
func TestUnfinished(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/main", "main")
	src := format.FileSource(dir + "/main")
	c := open(t, 0)
	broken := errors.New("broken")
	fail := func(_ context.Context, _ format.Source, path string) (ReadDefects, error) {
		os.WriteFile(path, []byte("half"), 0o644)
		return ReadDefects{}, broken
	}
	_, err := c.Build(context.Background(), src, &testSettings, fail)
	if !errors.Is(err, broken) || len(names(t, c)) > 0 {
		t.Errorf("found %v and %q", err, names(t, c))
	}
	_, err = c.Build(context.Background(), src, &testSettings, func(ctx context.Context, src format.Source,
		path string) (ReadDefects, error) {
		defer os.WriteFile(dir+"/main", []byte("main and more"), 0o644)
		return readingBuild("index", "main")(ctx, src, path)
	})
	if err == nil || !strings.Contains(err.Error(), "main changed") || len(names(t, c)) > 0 {
		t.Errorf("found %v and %q", err, names(t, c))
	}
	for name, age := range map[string]time.Duration{".weft-build-1": 25 * time.Hour, ".weft-index-2": 48 * time.Hour,
		".weft-build-3": time.Hour, ".other": 48 * time.Hour, "mine": 48 * time.Hour} {
		write(t, filepath.Join(c.dir, name), "half")
		at := time.Now().Add(-age)
		os.Chtimes(filepath.Join(c.dir, name), at, at)
	}
	e, err := c.Build(context.Background(), src, &testSettings, readingBuild("index", "main"))
	if err != nil {
		t.Fatal(err)
	}
	left := slices.DeleteFunc(names(t, c), func(n string) bool {
		return strings.HasSuffix(n, suffix) || strings.HasSuffix(n, listSuffix)
	})
	if !slices.Equal(left, []string{".other", ".weft-build-3", "mine"}) {
		t.Errorf("found %q", left)
	}
	if err := c.Remove(e); err != nil {
		t.Error(err)
	}
	if err := c.Remove(e); err != nil {
		t.Errorf("removed twice: %v", err)
	}
	if _, ok, _ := c.Find(src, &testSettings); ok {
		t.Error("found what was removed")
	}
}

// TestTogether runs several builds of the same trace at the same time.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/main", "main")
	src := format.FileSource(dir + "/main")
	c := open(t, 0)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			e, err := c.Build(context.Background(), src, &testSettings, readingBuild(strings.Repeat("index", 1000), "main"))
			if err != nil {
				t.Error(err)
				return
			}
			if b, err := os.ReadFile(e.Path); err != nil || len(b) != 5000 {
				t.Errorf("found %d bytes, %v", len(b), err)
			}
		})
	}
	group.Wait()
	if n := names(t, c); len(n) != 2 {
		t.Errorf("found %q, expected an index and a list", n)
	}
}

// TestSize checks that the least recently used index is removed when the cache exceeds its limit.
func TestSize(t *testing.T) {
	dir := t.TempDir()
	c := open(t, 5000)
	src := make([]format.Source, 6)
	later := time.Now().Add(time.Hour)
	for i := range src {
		// The steps are a minute apart, because the times of files may be coarse.
		now := later.Add(time.Duration(i) * time.Minute)
		c.now = func() time.Time { return now }
		write(t, fmt.Sprint(dir, "/", i), fmt.Sprint("trace ", i))
		src[i] = format.FileSource(fmt.Sprint(dir, "/", i))
		if i == 4 {
			// Make the first index the most recently used index.
			if _, ok, _ := c.Find(src[0], &testSettings); !ok {
				t.Fatal("the first index is not there")
			}
		}
		if _, err := c.Build(context.Background(), src[i], &testSettings,
			readingBuild(strings.Repeat("x", 1000), fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		for _, n := range names(t, c) {
			path := filepath.Join(c.dir, n)
			if st, err := os.Stat(path); err == nil && st.ModTime().Before(later) {
				os.Chtimes(path, now, now)
			}
		}
	}
	var there []int
	for i := range src {
		if _, ok, _ := c.Find(src[i], &testSettings); ok {
			there = append(there, i)
		}
	}
	if !slices.Contains(there, 0) || !slices.Contains(there, 5) || slices.Contains(there, 1) {
		t.Errorf("found %v, expected the first, which was used, and the last ones", there)
	}
	// The newest index stays even if it alone exceeds the limit.
	build := readingBuild(strings.Repeat("x", 9000), "1")
	if _, err := c.Build(context.Background(), src[1], &testSettings, build); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := c.Find(src[1], &testSettings); !ok {
		t.Error("what was just built is gone")
	}
}

// TestDefault checks that the cache is in the folder of WEFT_CACHE, or in a temporary folder.
func TestDefault(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	t.Setenv("WEFT_CACHE", dir)
	c, err := Default(0)
	if err != nil || c.dir != dir || c.size != DefaultSize {
		t.Fatalf("found %+v, %v", c, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("a cache that stays was removed: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	t.Setenv("WEFT_CACHE", filepath.Join(file, "x"))
	if _, err := Default(0); err == nil {
		t.Error("a folder that cannot be made is no error")
	}
	if runtime.GOOS != "linux" {
		// the rest of the test applies only to systems on which an environment variable determines the user's
		// cache folder
		return
	}
	t.Setenv("WEFT_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(file, "x"))
	if c, err = Default(0); err != nil || !c.temp {
		t.Fatalf("found %+v, %v", c, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.dir); err == nil {
		t.Error("a cache for the time being was not removed")
	}
}

// TestNotes checks that the path of the notes depends only on the main file, and that notes stay
// when indexes are removed.
func TestNotes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/main", "main")
	write(t, dir+"/long", strings.Repeat("0123456789abcdef", wholeSize/16+100_000))
	c := open(t, 10)
	// The expected hashes were computed by another program: of the line "weft notes"; of name,
	// length and time; and of the content, or of 16 blocks of a long file. Different hashes would
	// mean that users lose their notes.
	for name, want := range map[string]string{"main": "1e743c5d54bfc1b007845252a932b6be0f876d3494b5a1d2f0406bef41b36e7b",
		"long": "43a963c5464c360776c5902e72df84088170d077127610ff257d80c4d900496a"} {
		path, err := c.Notes(format.FileSource(dir + "/" + name))
		if want = filepath.Join(c.dir, want+".notes.json"); err != nil || path != want {
			t.Errorf("%s: found %s, %v, want %s", name, path, err, want)
		}
	}
	src := format.FileSource(dir + "/main")
	path, err := c.Notes(src)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.Repeat("notes ", 100))
	if err := os.Chtimes(path, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		write(t, dir+"/main", fmt.Sprint("other ", i))
		if _, err := c.Build(context.Background(), src, &testSettings, readingBuild("index", "main")); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(names(t, c)); n != 3 {
		t.Errorf("found %d files, expected the last index, its list and the notes", n)
	}
	if other, err := c.Notes(src); err != nil || other == path {
		t.Errorf("another trace has the same notes: %s, %v", other, err)
	}
	write(t, dir+"/main", "main")
	if again, err := c.Notes(src); err != nil || again != path {
		t.Errorf("found %s, %v, want %s", again, err, path)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("notes were removed: %v", err)
	}
	if _, err := c.Notes(format.FileSource(dir + "/gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a trace that is not there: %v", err)
	}
	if path, err := (&Cache{dir: dir, temp: true}).Notes(src); path != "" || err != nil {
		t.Errorf("a cache for the time being keeps notes in %s, %v", path, err)
	}
}

// TestUnwritable checks that an existing folder in which no file can be created is used only if WEFT_CACHE
// names it.
func TestUnwritable(t *testing.T) {
	base := t.TempDir()
	// No user, not even root, can create a file in /proc/self.
	if err := os.Symlink("/proc/self", filepath.Join(base, "weft")); err != nil {
		t.Skip(err)
	}
	if st, err := os.Stat("/proc/self"); err != nil || !st.IsDir() {
		t.Skip("there is no /proc/self")
	}
	t.Setenv("XDG_CACHE_HOME", base)
	t.Setenv("WEFT_CACHE", "")
	c, err := Default(0)
	if err != nil {
		t.Fatal(err)
	}
	if !c.temp || c.dir == filepath.Join(base, "weft") {
		t.Errorf("found the folder %s, expected one for the time being", c.dir)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	t.Setenv("WEFT_CACHE", filepath.Join(base, "weft"))
	if c, err = Default(0); err != nil || c.temp || c.dir != filepath.Join(base, "weft") {
		t.Errorf("found %+v, %v, expected the folder that was named", c, err)
	}
}
