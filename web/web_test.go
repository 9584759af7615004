package web_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// scratch is the folder for what the tests share: a copy of this one with its packages, and
// the program.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "weft-web-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// missing says why a test cannot run here.
type missing string

func (m missing) Error() string { return string(m) }

// need fails or, where something is missing, skips a test.
func need(t *testing.T, err error) {
	t.Helper()
	if m := missing(""); errors.As(err, &m) {
		t.Skip(m)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// offline are the messages of npm when it cannot reach where packages come from.
var offline = regexp.MustCompile(`ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|ERR_SOCKET|network`)

// installed is a copy of this folder with the packages that package-lock.json names, so that
// the checkout stays as it is.
var installed = sync.OnceValues(func() (string, error) {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", missing(tool + " is not installed")
		}
	}
	v, err := exec.Command("node", "--version").Output()
	if err != nil {
		return "", err
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(v)), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < 20 {
		return "", missing(fmt.Sprintf("node is %s, expected 20 at least", bytes.TrimSpace(v)))
	}
	dir := filepath.Join(scratch, "web")
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "node_modules" || path == "dist" {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(dir, path), 0o755)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, path), b, 0o644)
	})
	if err != nil {
		return "", err
	}
	out, err := npm(dir, "ci", "--prefer-offline", "--fetch-retries=1", "--fetch-timeout=60000")
	if err != nil && offline.MatchString(out) {
		return "", missing("npm cannot get the packages: " + out)
	}
	if err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return dir, nil
})

// npm runs npm in a folder.
func npm(dir string, args ...string) (string, error) {
	c := exec.Command("npm", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "NO_COLOR=1", "CHROMIUM="+chromium())
	// a child that outlives npm holds the pipe
	c.WaitDelay = 5 * time.Second
	out, err := c.CombinedOutput()
	return string(out), err
}

// packages is installed, or skips the test.
func packages(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: the page is not built")
	}
	dir, err := installed()
	need(t, err)
	return dir
}

// dist is what the sources build.
var dist = sync.OnceValues(func() (string, error) {
	dir, err := installed()
	if err != nil {
		return "", err
	}
	if out, err := npm(dir, "run", "build"); err != nil {
		return "", fmt.Errorf("npm run build: %w\n%s", err, out)
	}
	return filepath.Join(dir, "dist"), nil
})

// The committed page is what the sources build, byte for byte.
func TestBuilt(t *testing.T) {
	packages(t)
	built, err := dist()
	need(t, err)
	want, got := files(t, os.DirFS(built)), files(t, os.DirFS("dist"))
	for name, b := range want {
		if g, ok := got[name]; !ok {
			t.Errorf("dist/%s is missing; run make web", name)
		} else if !bytes.Equal(g, b) {
			t.Errorf("dist/%s has %d bytes that are not those of the %d built from the sources; run make web", name, len(g), len(b))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("dist/%s is not built from the sources; run make web", name)
		}
	}
}

func files(t *testing.T, f fs.FS) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := fs.WalkDir(f, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		out[path], err = fs.ReadFile(f, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The page's types and its own tests.
func TestUnits(t *testing.T) {
	dir := packages(t)
	_, err := dist() // which some of them open
	need(t, err)
	for _, script := range []string{"check", "test"} {
		if out, err := npm(dir, "run", script); err != nil {
			t.Errorf("npm run %s: %v\n%s", script, err, out)
		}
	}
}
