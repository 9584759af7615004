package web_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// chromium is the browser, "" where there is none. The headless shell is the same engine without
// windows and menus, and takes less time.
func chromium() string {
	if c := os.Getenv("CHROMIUM"); c != "" {
		return c
	}
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// browser skips a test where there is no browser, and runs it beside others.
func browser(t *testing.T) {
	t.Helper()
	t.Parallel()
	packages(t)
	if chromium() == "" {
		t.Skip("chromium is not installed")
	}
}

// weft is the program, built of the packages that make test has compiled already: without the
// race detector and without the profile that guides the compiler.
var weft = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "weft")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	c := exec.Command("go", "build", "-pgo=off", "-o", path, "../cmd/weft")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

func cacheDir() string { return filepath.Join(scratch, "cache") }

// say is what the program prints.
func say(t *testing.T, args ...string) []byte {
	t.Helper()
	path, err := weft()
	need(t, err)
	c := exec.CommandContext(t.Context(), path, args...)
	c.Env = append(os.Environ(), "WEFT_CACHE="+cacheDir())
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("weft %s: %v\n%s", strings.Join(args, " "), err, &errs)
	}
	return out
}

// driver is test/browser/driver.mjs: the process that has the browser and the servers. It ends
// when the tests do, also when they are interrupted, as its standard input ends then.
type driver struct {
	browser string // where it listens
	command *exec.Cmd
	ended   chan struct{} // closed when nothing more comes from it
	errors  bytes.Buffer  // what it writes beside answers; to be read when it has ended

	mu      sync.Mutex
	in      io.WriteCloser
	last    int
	answers map[int]chan answer
}

// answer is one of the driver.
type answer struct {
	ID    int             `json:"id"`
	Out   json.RawMessage `json:"out"`
	Error string          `json:"error"`
}

// theDriver is started once, when it is needed first.
var theDriver = sync.OnceValues(func() (*driver, error) {
	dir, err := installed()
	if err != nil {
		return nil, err
	}
	greeting := make(chan answer, 1)
	d := &driver{ended: make(chan struct{}), answers: map[int]chan answer{0: greeting}}
	d.command = exec.Command("node", filepath.Join("test", "browser", "driver.mjs"))
	d.command.Dir = dir
	d.command.Env = append(os.Environ(), "CHROMIUM="+chromium())
	d.command.Stderr = &d.errors
	d.command.WaitDelay = 5 * time.Second
	out, err := d.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if d.in, err = d.command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := d.command.Start(); err != nil {
		return nil, err
	}
	started = d
	go d.listen(out)
	select {
	case a := <-greeting:
		return d, json.Unmarshal(a.Out, &d.browser)
	case <-d.ended:
		return nil, d.failure()
	}
})

// started is the driver that is to be ended, if there is one.
var started *driver

func endDriver() {
	if started != nil {
		started.in.Close()
		<-started.ended
	}
}

// failure says why the driver has ended.
func (d *driver) failure() error { return fmt.Errorf("the browser's driver ended: %s", &d.errors) }

// listen hands answers to those who wait for them, until there are no more.
func (d *driver) listen(out io.Reader) {
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		var a answer
		if err = errors.Join(err, json.Unmarshal(line, &a)); err != nil {
			break
		}
		d.mu.Lock()
		c := d.answers[a.ID]
		d.mu.Unlock()
		c <- a
	}
	d.command.Wait()
	close(d.ended)
}

// send writes a request, one without an id under a new one; its answer comes through the channel.
func (d *driver) send(request map[string]any) (<-chan answer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, again := request["id"].(int)
	if !again {
		d.last++
		id = d.last
		request["id"], d.answers[id] = id, make(chan answer, 1)
	}
	b, err := json.Marshal(request)
	if err == nil {
		_, err = d.in.Write(append(b, '\n'))
	}
	return d.answers[id], err
}

// ask waits for the answer to a request. When the time of all tests is over the driver is told
// to give up, and says what it waits for.
func (d *driver) ask(t *testing.T, what string, request map[string]any, out any) {
	t.Helper()
	var over <-chan time.Time
	if end, ok := ending(t); ok {
		over = time.After(time.Until(end))
	}
	answers, err := d.send(request)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for {
		select {
		case a := <-answers:
			if a.Error != "" {
				t.Fatalf("%s: %s", what, a.Error)
			}
			x := json.NewDecoder(bytes.NewReader(a.Out))
			x.UseNumber()
			if err := x.Decode(out); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			return
		case <-over:
			if _, err := d.send(map[string]any{"id": request["id"], "stop": true}); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		case <-d.ended:
			t.Fatalf("%s: %v", what, d.failure())
		}
	}
}

// play runs a script of test/browser, which reads in and gives out.
func play(t *testing.T, script string, in map[string]any, out any) {
	t.Helper()
	in["artifacts"] = artifacts(t)
	d, err := theDriver()
	need(t, err)
	d.ask(t, script+".mjs", map[string]any{"script": script, "input": in}, out)
}

// artifacts is where pictures of the steps go, "" for nowhere.
func artifacts(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("WEFT_ARTIFACTS")
	if dir == "" {
		return ""
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// serving runs a command that serves the page until all tests have ended, and gives the address
// that it prints.
func serving(t *testing.T, args ...string) (address string) {
	t.Helper()
	path, err := weft()
	need(t, err)
	d, err := theDriver()
	need(t, err)
	d.ask(t, "weft "+strings.Join(args, " "), map[string]any{
		"serve": append([]string{path}, args...),
		"env":   map[string]string{"WEFT_CACHE": cacheDir()},
	}, &address)
	return address
}
