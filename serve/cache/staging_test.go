package cache

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-trace/weft/format"
)

// If these environment variables are set, this test program builds an index. Tests that run the program set
// them.
const (
	builderCache = "WEFT_TEST_BUILDER_CACHE"
	builderTrace = "WEFT_TEST_BUILDER_TRACE"
)

// TestMain runs the tests or, if builderCache is set, a build that does not end.
func TestMain(m *testing.M) {
	dir := os.Getenv(builderCache)
	if dir == "" {
		os.Exit(m.Run())
	}
	c, err := Open(dir, 0)
	if err == nil {
		_, err = c.Build(context.Background(), format.FileSource(os.Getenv(builderTrace)), &testSettings,
			func(_ context.Context, _ format.Source, path string) (ReadDefects, error) {
				if err := errors.Join(os.WriteFile(path, []byte("half"), 0o600),
					os.WriteFile(filepath.Dir(path)+"/.weft-index-7", []byte("half"), 0o600)); err != nil {
					return ReadDefects{}, err
				}
				fmt.Println("building")
				_, err := io.Copy(io.Discard, os.Stdin) // wait until the parent process closes the pipe
				return ReadDefects{}, errors.Join(err, os.WriteFile(path, []byte("whole"), 0o600))
			})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// builder starts another process that builds an index, and waits until the build has begun. Closing
// the result ends the process.
func builder(t *testing.T, c *Cache, trace string) (*exec.Cmd, io.Closer) {
	t.Helper()
	p := exec.Command(os.Args[0])
	p.Env = append(os.Environ(), builderCache+"="+c.dir, builderTrace+"="+trace)
	p.Stderr = os.Stderr
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Process.Kill(); p.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "building\n" {
		t.Fatalf("found %q, %v, expected that it builds", line, err)
	}
	return p, in
}

func stagingDirs(t *testing.T, c *Cache) []string {
	t.Helper()
	return slices.DeleteFunc(names(t, c), func(n string) bool { return !strings.HasPrefix(n, ".") })
}

// TestKilled checks that the files of a killed build are removed when the cache is opened the next time, and
// that the files of running builds stay.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/main", "main")
	c := open(t, 0)
	killed, _ := builder(t, c, dir+"/main")
	living, in := builder(t, c, dir+"/main")
	if n := stagingDirs(t, c); len(n) != 2 {
		t.Fatalf("found %q, expected two builds", n)
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed.Wait()
	if n := stagingDirs(t, c); len(n) != 2 {
		t.Fatalf("found %q, expected that a killed build leaves something", n)
	}
	if _, err := Open(c.dir, 0); err != nil {
		t.Fatal(err)
	}
	if n := stagingDirs(t, c); len(n) != 1 {
		t.Errorf("found %q, expected the build that goes on", n)
	}
	in.Close()
	if err := living.Wait(); err != nil {
		t.Errorf("the other build: %v", err)
	}
	if e, ok, err := c.Find(format.FileSource(dir+"/main"), &testSettings); !ok || err != nil {
		t.Errorf("found %+v, %t, %v, expected the index of the other build", e, ok, err)
	}
	if n := stagingDirs(t, c); len(n) != 0 {
		t.Errorf("found %q, expected nothing that is not finished", n)
	}
}

// TestForeignStagingDir checks that a staging folder of another machine is removed only when it is old.
func TestForeignStagingDir(t *testing.T) {
	c := open(t, 0)
	for name, age := range map[string]time.Duration{"young": time.Hour, "old": 25 * time.Hour, "fed": 25 * time.Hour} {
		dir := filepath.Join(c.dir, ".weft-build-00000000-"+name)
		at := time.Now().Add(-age)
		for _, n := range []string{"lock", ".weft-index-1"} {
			write(t, filepath.Join(dir, n), "half")
			if name == "fed" && n != "lock" {
				at = time.Now()
			}
			os.Chtimes(filepath.Join(dir, n), at, at)
		}
		at = time.Now().Add(-age)
		os.Chtimes(dir, at, at)
	}
	write(t, filepath.Join(c.dir, "weft-build-1", "mine"), "")
	Sweep(c.dir)
	if n := names(t, c); !slices.Equal(n, []string{".weft-build-00000000-fed", ".weft-build-00000000-young",
		"weft-build-1"}) {
		t.Errorf("found %q", n)
	}
}

// TestSweepTogether checks that concurrent sweeps do not harm staging folders in use.
func TestSweepTogether(t *testing.T) {
	dir := t.TempDir()
	done := make(chan bool)
	var sweepers, builders sync.WaitGroup
	for range 3 {
		sweepers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					Sweep(dir)
				}
			}
		})
	}
	for range 4 {
		builders.Go(func() {
			for range 80 {
				r, err := NewStagingDir(dir)
				if err != nil {
					t.Error(err)
					return
				}
				path := r.Path("index")
				err = os.WriteFile(path, []byte("whole"), 0o600)
				runtime.Gosched()
				if err == nil {
					_, err = os.ReadFile(path)
				}
				if err := errors.Join(err, r.Close()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	builders.Wait()
	close(done)
	sweepers.Wait()
	Sweep(dir)
	if l, err := os.ReadDir(dir); err != nil || len(l) > 0 {
		t.Errorf("found %v, %v, expected nothing", l, err)
	}
}
