package main

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// testPlatform is the platform for which the tests build: Linux on the processor of this machine, if there
// are releases for it.
var testPlatform = func() platform {
	if p := (platform{"linux", runtime.GOARCH}); slices.Contains(platforms, p) {
		return p
	}
	return platform{"linux", "amd64"}
}()

// runs reports whether programs for testPlatform run on this machine.
func runs() bool { return testPlatform.String() == runtime.GOOS+"/"+runtime.GOARCH }

// Properties of the release that the tests build.
const (
	testVersion = "1.2.3-rc.1"
	testCommit  = "0123456789abcdef0123456789abcdef01234567"
	testSeconds = 1700000000 // 2023-11-14T22:13:20Z
)

var testFolder string // folder for the files that the tests build

func TestMain(m *testing.M) {
	// Without a proxy, a build that needs the network fails.
	os.Setenv("GOPROXY", "off")
	code := func() int {
		var err error
		if testFolder, err = os.MkdirTemp("", "weft-release-test-"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(testFolder)
		return m.Run()
	}()
	os.Exit(code)
}

// firstRelease builds a release from a copy of the sources, once, and returns its folder.
var firstRelease = sync.OnceValues(func() (string, error) {
	return releaseOfCopy(filepath.Join(testFolder, "first"), "")
})

// releaseOfCopy copies the sources that a release needs to a folder, adds a comment to the end of each file of
// package cli, builds a release from them, and returns the folder of the release.
func releaseOfCopy(dir, comment string) (string, error) {
	root := filepath.Join(dir, "source")
	if err := copySources(root, comment); err != nil {
		return "", err
	}
	src := &source{root: root, version: testVersion, commit: testCommit, time: time.Unix(testSeconds, 0).UTC(), pgo: "off"}
	out := filepath.Join(dir, "dist")
	return out, buildRelease(context.Background(), src, []platform{testPlatform}, out, io.Discard)
}

// notCopied lists the names of folders that a release does not need.
var notCopied = []string{"node_modules", "testdata", "tools", "bin"}

// copySources copies weft's sources without tests and tools, and adds a comment to the end of each file of package cli.
// The copies have new modification times.
func copySources(to, comment string) error {
	const from = "../.."
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if rel != "." && (strings.HasPrefix(name, ".") || rel == "dist" || slices.Contains(notCopied, name)) {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if strings.HasSuffix(path, "_test.go") || !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".go") && filepath.Base(filepath.Dir(path)) == "cli" {
			data = append(data, comment...)
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o644)
	})
}

// release returns the folder of the release, which all tests share.
func release(t *testing.T) string {
	t.Helper()
	dir, err := firstRelease()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// onlyFile returns the path of the only file of the release that matches a pattern.
func onlyFile(t *testing.T, pattern string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(release(t), pattern))
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: found %v, expected one file", pattern, list)
	}
	return list[0]
}

// unpackedFolder unpacks the archive of the release and returns the folder.
func unpackedFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	mustRun(t, exec.Command("tar", "-xzf", onlyFile(t, "*.tar.gz"), "-C", dir))
	return filepath.Join(dir, "weft-"+testVersion)
}

// mustRun runs a program and returns its output. It fails the test if the program fails.
func mustRun(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	out, err := output(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestSameBytes builds a release of the same commit in another folder, at another time and with another number of
// cores. The bytes must be the same.
func TestSameBytes(t *testing.T) {
	first := release(t)
	t.Setenv("GOMAXPROCS", strconv.Itoa(runtime.NumCPU()+1))
	t.Setenv("TZ", "Asia/Tokyo")
	// A comment changes no compiled byte, but without it, go would take the package of the commands and the program from
	// the first release.
	second, err := releaseOfCopy(filepath.Join(testFolder, "a second folder"), "// The end.\n")
	if err != nil {
		t.Fatal(err)
	}
	a, b := contents(t, first), contents(t, second)
	if len(a) < 5 || len(a) != len(b) {
		t.Errorf("found %d and %d files", len(a), len(b))
	}
	for name, data := range a {
		if !bytes.Equal(data, b[name]) {
			t.Errorf("%s: the two releases differ", name)
		}
	}
	for name, data := range a {
		if bytes.Contains(data, []byte(testFolder)) {
			t.Errorf("%s contains a path of this machine", name)
		}
	}
}

// contents returns the files below a folder, by path.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[rel], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestSums checks that sha256sum accepts the file of checksums, and that it lists all other files.
func TestSums(t *testing.T) {
	if _, err := exec.LookPath("sha256sum"); err != nil {
		t.Skip("sha256sum is not installed")
	}
	c := exec.Command("sha256sum", "--check", "--strict", sumsName)
	c.Dir = release(t)
	if n, want := strings.Count(mustRun(t, c), ": OK\n"), len(contents(t, c.Dir))-1; n != want {
		t.Errorf("sha256sum checked %d files, expected %d", n, want)
	}
}

// TestProgram checks that the program is linked statically, has no debugging tables, and reports
// its version and commit.
func TestProgram(t *testing.T) {
	program := filepath.Join(unpackedFolder(t), "bin", "weft")
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".debug") || strings.HasPrefix(s.Name, ".zdebug") || s.Name == ".symtab" {
			t.Errorf("found the section %s", s.Name)
		}
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("found a segment of type %s: the program is not static", p.Type)
		}
	}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	goroot := strings.TrimSpace(mustRun(t, exec.Command("go", "env", "GOROOT")))
	if bytes.Contains(data, []byte(goroot+"/src")) {
		t.Errorf("the program contains the path %s", goroot)
	}
	if !runs() {
		t.Skipf("programs for %s do not run here", testPlatform)
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(mustRun(t, exec.Command(program, "version", "--json"))), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"version": testVersion, "commit": testCommit, "date": "2023-11-14T22:13:20Z",
		"go": runtime.Version(), "platform": testPlatform.String(),
	} {
		if got[key] != want {
			t.Errorf("weft version --json: %s: got %q, want %q", key, got[key], want)
		}
	}
}
