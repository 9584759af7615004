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

// chromium returns the path of the browser, or "". The headless shell is the same engine without
// windows and menus, and is faster.
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

// needBrowser skips a test if there is no browser, and runs it in parallel otherwise.
func needBrowser(t *testing.T) {
	t.Helper()
	t.Parallel()
	needPackages(t)
	if chromium() == "" {
		t.Skip("chromium is not installed")
	}
}

// buildWeft builds the program from the packages that make test has already compiled: without the race
// detector and without profile-guided optimisation.
var buildWeft = sync.OnceValues(func() (string, error) {
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

// runWeft returns the output of the program.
func runWeft(t *testing.T, args ...string) []byte {
	t.Helper()
	path, err := buildWeft()
	failOrSkip(t, err)
	c := exec.CommandContext(t.Context(), path, args...)
	c.Env = append(os.Environ(), "WEFT_CACHE="+cacheDir())
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if c.ProcessState.ExitCode() == 1 && len(out) > 0 {
		return out // the answer of the command is "no", as for the states of a trace without processors
	}
	if err != nil {
		t.Fatalf("weft %s: %v\n%s", strings.Join(args, " "), err, &errs)
	}
	return out
}

// driver is the process test/browser/driver.mjs, which runs the browser and the servers. The process
// ends when its standard input is closed, which also happens if the tests are interrupted.
type driver struct {
	browser string // address of the browser
	command *exec.Cmd
	ended   chan struct{} // closed when the output has ended
	errors  bytes.Buffer  // output other than answers; to be read after the end

	mu      sync.Mutex
	in      io.WriteCloser
	last    int
	answers map[int]chan answer
}

// answer is the driver's answer to a request.
type answer struct {
	ID    int             `json:"id"`
	Out   json.RawMessage `json:"out"`
	Error string          `json:"error"`
}

// startDriver starts the driver at its first call, and returns the driver at each call.
var startDriver = sync.OnceValues(func() (*driver, error) {
	dir, err := installPackages()
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
	runningDriver = d
	go d.listen(out)
	select {
	case a := <-greeting:
		return d, json.Unmarshal(a.Out, &d.browser)
	case <-d.ended:
		return nil, d.failure()
	}
})

// runningDriver is the running driver, or nil.
var runningDriver *driver

func endDriver() {
	if runningDriver != nil {
		runningDriver.in.Close()
		<-runningDriver.ended
	}
}

// failure returns the reason why the driver has ended.
func (d *driver) failure() error { return fmt.Errorf("the browser's driver ended: %s", &d.errors) }

// listen passes answers to the requests that wait for them until the output ends.
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

// send writes a request and returns the channel for the answer. A request without an id gets a new one.
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

// ask sends a request to the driver and decodes the answer into out. When the time of all tests is
// over, ask stops the request; the driver then reports what the request is waiting for.
func (d *driver) ask(t *testing.T, what string, request map[string]any, out any) {
	t.Helper()
	var over <-chan time.Time
	if end, ok := waitDeadline(t); ok {
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

// runScript runs a script of test/browser with an input, and decodes its result into out.
func runScript(t *testing.T, script string, in map[string]any, out any) {
	t.Helper()
	in["artifacts"] = artifacts(t)
	d, err := startDriver()
	failOrSkip(t, err)
	d.ask(t, script+".mjs", map[string]any{"script": script, "input": in}, out)
}

// artifacts returns the folder for pictures of the steps, or "".
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

// startServing runs a command that serves the page until all tests have ended. It returns the address
// that the command prints.
func startServing(t *testing.T, args ...string) (address string) {
	t.Helper()
	path, err := buildWeft()
	failOrSkip(t, err)
	d, err := startDriver()
	failOrSkip(t, err)
	d.ask(t, "weft "+strings.Join(args, " "), map[string]any{
		"serve": append([]string{path}, args...),
		"env":   map[string]string{"WEFT_CACHE": cacheDir()},
	}, &address)
	return address
}
