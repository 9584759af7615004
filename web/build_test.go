package web_test

import (
	"bytes"
	"encoding/json"
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

// offline matches the messages of npm when it cannot reach the registry.
var offline = regexp.MustCompile(`ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|` +
	`ENOTCACHED|ERR_SOCKET|network`)

// installPackages makes a copy of this folder with the packages of package-lock.json, and returns the
// path of the copy. The checkout stays unchanged.
var installPackages = sync.OnceValues(func() (string, error) {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", missingRequirement(tool + " is not installed")
		}
	}
	v, err := exec.Command("node", "--version").Output()
	if err != nil {
		return "", err
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(v)), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < 20 {
		return "", missingRequirement(fmt.Sprintf("node is %s, expected 20 at least", bytes.TrimSpace(v)))
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
	if linkPackages(dir) {
		return dir, nil
	}
	out, err := npm(dir, "ci", "--prefer-offline", "--no-audit", "--no-fund", "--fetch-retries=1")
	if err != nil && offline.MatchString(out) {
		return "", missingRequirement("npm cannot get the packages: " + out)
	}
	if err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return dir, nil
})

// linkPackages links the packages that are installed in the checkout into a copy of this folder, if
// their versions are those of package-lock.json. The copy gets a folder node_modules of its own,
// because tools write into it. linkPackages reports whether it has linked the packages.
func linkPackages(dir string) bool {
	type lock struct {
		Packages map[string]struct {
			Version, Integrity string
			Optional           bool
		}
	}
	var want, have lock
	for file, l := range map[string]*lock{"package-lock.json": &want, "node_modules/.package-lock.json": &have} {
		if b, err := os.ReadFile(file); err != nil || json.Unmarshal(b, l) != nil {
			return false
		}
	}
	delete(want.Packages, "")
	for name, p := range want.Packages {
		h, ok := have.Packages[name]
		_, err := os.Stat(name)
		// optional packages for other systems are not installed
		if !ok && !p.Optional || ok && (h.Integrity != p.Integrity || h.Version != p.Version || err != nil) {
			return false
		}
	}
	from, err := filepath.Abs("node_modules")
	to := filepath.Join(dir, "node_modules")
	if err != nil || os.Mkdir(to, 0o755) != nil {
		return false
	}
	list, err := os.ReadDir(from)
	for _, e := range list {
		if hidden := strings.HasPrefix(e.Name(), "."); err == nil && (!hidden || e.Name() == ".bin") {
			err = os.Symlink(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
		}
	}
	if err != nil {
		os.RemoveAll(to)
	}
	return err == nil
}

// npm runs npm in a folder.
func npm(dir string, args ...string) (string, error) {
	c := exec.Command("npm", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "NO_COLOR=1", "CHROMIUM="+chromium())
	// a child process that outlives npm keeps the pipe open
	c.WaitDelay = time.Minute
	out, err := c.CombinedOutput()
	return string(out), err
}

// needPackages returns the folder of installPackages, or skips the test if the packages are not
// available.
func needPackages(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: the page is not built")
	}
	dir, err := installPackages()
	failOrSkip(t, err)
	return dir
}

// buildPage builds the page from the sources and returns its folder.
var buildPage = sync.OnceValues(func() (string, error) {
	dir, err := installPackages()
	if err != nil {
		return "", err
	}
	if out, err := npm(dir, "run", "build"); err != nil {
		return "", fmt.Errorf("npm run build: %w\n%s", err, out)
	}
	return filepath.Join(dir, "dist"), nil
})

// TestBuilt checks that the committed page is the result of building the sources, byte for byte.
func TestBuilt(t *testing.T) {
	t.Parallel()
	needPackages(t)
	built, err := buildPage()
	failOrSkip(t, err)
	want, got := files(t, os.DirFS(built)), files(t, os.DirFS("dist"))
	for name, b := range want {
		if g, ok := got[name]; !ok {
			t.Errorf("dist/%s is missing; run make web", name)
		} else if !bytes.Equal(g, b) {
			t.Errorf("dist/%s has %d bytes that are not those of the %d built from the sources; run make web", name, len(g),
				len(b))
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

// TestUnits checks the page's types and runs its own tests.
func TestUnits(t *testing.T) {
	t.Parallel()
	dir := needPackages(t)
	_, err := buildPage() // some of the unit tests open the built page
	failOrSkip(t, err)
	if out, err := npm(dir, "run", "check"); err != nil {
		t.Errorf("npm run check: %v\n%s", err, out)
	}
	if chromium() == "" {
		// run the tests that need no browser
		if out, err := npm(dir, "run", "test"); err != nil {
			t.Errorf("npm run test: %v\n%s", err, out)
		}
		t.Run("in a browser", func(t *testing.T) { t.Skip("chromium is not installed") })
		return
	}
	d, err := startDriver()
	failOrSkip(t, err)
	env := map[string]string{"NO_COLOR": "1", "WEFT_BROWSER": d.browser}
	if end, ok := waitDeadline(t); ok {
		// WEFT_ENDS makes the tests report what they wait for before npm is stopped.
		env["WEFT_ENDS"] = fmt.Sprint(end.Add(-margin / 2).UnixMilli())
	}
	var out struct {
		Text   string
		Failed bool
	}
	d.ask(t, "npm run test", map[string]any{"npm": []string{"run", "test"}, "env": env}, &out)
	if out.Failed {
		t.Errorf("npm run test: %s", out.Text)
	}
}
