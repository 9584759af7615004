package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-trace/weft/internal/await"
)

// serverProcess is a running weft view or weft serve.
type serverProcess struct {
	cmd  *exec.Cmd
	url  string // the printed address
	errs bytes.Buffer
	http http.Client
}

// weftProgram returns a command that runs this test program as weft, with a cache of its own.
func weftProgram(t *testing.T, cache string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// testscript.Main selects the program by the name under which it is called.
	weft := filepath.Join(t.TempDir(), "weft")
	if err := os.Symlink(exe, weft); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(weft, args...)
	cmd.Env = append(os.Environ(), "WEFT_CACHE="+cache, "GORACE=atexit_sleep_ms=0", "DISPLAY=", "WAYLAND_DISPLAY=")
	return cmd
}

// startServer runs weft and reads the address that it prints.
func startServer(t *testing.T, cache string, args ...string) *serverProcess {
	t.Helper()
	s := &serverProcess{cmd: weftProgram(t, cache, args...)}
	s.cmd.Stderr = &s.errs
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.cmd.Process.Kill(); s.cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("weft %s: no address: %v\n%s", strings.Join(args, " "), err, &s.errs)
	}
	s.url = strings.TrimSuffix(line, "\n")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.http.Jar = jar
	return s
}

// get sends a request and returns the status and the text of the answer.
func (s *serverProcess) get(t *testing.T, target string) (int, string) {
	t.Helper()
	ask, err := http.NewRequestWithContext(await.Context(t), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.http.Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

// stop sends a signal and checks that the program exits with code 0.
func (s *serverProcess) stop(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		s.cmd.Process.Kill()
		return
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	if err := await.Receive(t, "the server has stopped", ended); err != nil {
		t.Errorf("stopped with %v\n%s", err, &s.errs)
	}
}

// untilReady repeats a request until the trace is indexed.
func (s *serverProcess) untilReady(t *testing.T, api string) {
	t.Helper()
	await.Until(t, "the trace is indexed", func() bool {
		_, text := s.get(t, api)
		if strings.Contains(text, `"state":"failed"`) {
			t.Fatalf("indexing failed: %s", text)
		}
		return strings.Contains(text, `"state":"ready"`)
	})
}

// traceLines is the part of a list of traces that tests use.
type traceLines struct {
	Traces []struct{ ID, Name, State string }
}

// traces returns the list of traces.
func (s *serverProcess) traces(t *testing.T, base string) (l traceLines) {
	t.Helper()
	_, text := s.get(t, base+"/api/traces")
	if err := json.Unmarshal([]byte(text), &l); err != nil || len(l.Traces) == 0 {
		t.Fatalf("found %s, %v", text, err)
	}
	return l
}

// TestView uses the viewer as a user does: the printed address, the page, the traces, the end.
func TestView(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "g.trf")
	weft(t, 0, "generate", "--events", "5000", path)
	s := startServer(t, filepath.Join(dir, "cache"), "view", "--no-open", path,
		"../../format/etf/testdata/ok/feature-coverage.etf")
	u, err := url.Parse(s.url)
	if err != nil || u.Scheme != "http" || u.Hostname() != "127.0.0.1" || len(u.Query().Get("token")) < 22 {
		t.Fatalf("found the address %q, %v", s.url, err)
	}
	base := "http://" + u.Host
	if code, _ := s.get(t, base+"/"); code != http.StatusUnauthorized {
		t.Errorf("without the token: status %d", code)
	}
	if code, text := s.get(t, s.url); code != 200 || !strings.Contains(text, "<title>") {
		t.Errorf("page: status %d: %s", code, text)
	}
	list := s.traces(t, base)
	if len(list.Traces) != 2 || list.Traces[0].Name != "g.trf" {
		t.Fatalf("found %+v", list)
	}
	// The fragment of the address selects the traces that the page shows.
	if want := "t=" + list.Traces[0].ID + "," + list.Traces[1].ID; u.Fragment != want {
		t.Errorf("found the address %q, want the fragment %s", s.url, want)
	}
	for _, x := range list.Traces {
		s.untilReady(t, base+"/api/traces/"+x.ID)
	}
	api := base + "/api/traces/" + list.Traces[0].ID
	// The answer is the JSON of weft info, with the numbers of weft profile.
	_, text := s.get(t, api+"/info")
	if got, want := compactJSON(t, text), compactJSON(t, weft(t, 0, "info", "--json", path)); got != want {
		t.Errorf("info: found %s, want %s", got, want)
	}
	var served struct {
		Rows []struct {
			Name, Inclusive, Exclusive, Min, Max string
			Count                                int64
		}
	}
	_, text = s.get(t, api+"/profile?from=100000&to=900000")
	if err := json.Unmarshal([]byte(text), &served); err != nil {
		t.Fatal(err)
	}
	var printed struct {
		Regions []struct {
			Name                                  string
			Count, Inclusive, Exclusive, Min, Max int64
		}
	}
	if err := json.Unmarshal([]byte(weft(t, 0, "profile", "--json", "--from", "100000", "--to", "900000", path)),
		&printed); err != nil {
		t.Fatal(err)
	}
	if len(served.Rows) != len(printed.Regions) || len(served.Rows) == 0 {
		t.Fatalf("found %d regions, weft profile %d", len(served.Rows), len(printed.Regions))
	}
	for i, r := range printed.Regions {
		a := served.Rows[i]
		got := fmt.Sprintf("%s %d %s %s %s %s", a.Name, a.Count, a.Inclusive, a.Exclusive, a.Min, a.Max)
		if want := fmt.Sprintf("%s %d %d %d %d %d", r.Name, r.Count, r.Inclusive, r.Exclusive, r.Min, r.Max); got != want {
			t.Errorf("row %d: found %s, want %s", i, got, want)
		}
	}
	sameStates(t, s, api, path)
	var structure struct{ Text string }
	_, text = s.get(t, api+"/structure")
	if err := json.Unmarshal([]byte(text), &structure); err != nil || structure.Text != weft(t, 0, "structure", path) {
		t.Errorf("structure: found %q, %v", structure.Text, err)
	}
	s.stop(t)
	if text := s.errs.String(); text != "" {
		t.Errorf("standard error: %s", text)
	}
}

// sameStates compares the utilisation of the whole trace with the sums of weft states.
func sameStates(t *testing.T, s *serverProcess, api, path string) {
	t.Helper()
	var about struct{ Length string }
	_, text := s.get(t, api)
	if err := json.Unmarshal([]byte(text), &about); err != nil {
		t.Fatal(err)
	}
	var printed struct {
		Processors []struct{ Busy, Overhead, Idle float64 }
	}
	if err := json.Unmarshal([]byte(weft(t, 0, "states", "--json", path)), &printed); err != nil {
		t.Fatal(err)
	}
	var want [3]float64
	all := 0.0
	for _, p := range printed.Processors {
		want[0], want[1], want[2] = want[0]+p.Busy, want[1]+p.Overhead, want[2]+p.Idle
		all += p.Busy + p.Overhead + p.Idle
	}
	for _, width := range []int{1, 7, 1000} {
		var served struct{ Busy, Overhead, Idle []float64 }
		_, text := s.get(t, fmt.Sprintf("%s/utilisation?from=0&to=%s&width=%d", api, about.Length, width))
		if err := json.Unmarshal([]byte(text), &served); err != nil {
			t.Fatal(err)
		}
		for i, list := range [][]float64{served.Busy, served.Overhead, served.Idle} {
			sum := 0.0
			for _, x := range list {
				sum += x
			}
			if len(list) != width || all == 0 || math.Abs(sum/float64(width)-want[i]/all) > 1e-9 {
				t.Errorf("state %d in %d columns: found a part of %g, weft states has %g", i, width, sum/float64(width),
					want[i]/all)
			}
		}
	}
}

// compactJSON returns JSON without white space.
func compactJSON(t *testing.T, text string) string {
	t.Helper()
	v, err := readJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return jsonText(v)
}

// TestViewWithIndex checks that the viewer uses a given index and builds none.
func TestViewWithIndex(t *testing.T) {
	dir := t.TempDir()
	path, index := filepath.Join(dir, "g.trf"), filepath.Join(dir, "g.weftidx")
	weft(t, 0, "generate", "--events", "20000", path)
	t.Setenv("WEFT_CACHE", filepath.Join(dir, "other"))
	weft(t, 0, "index", "-o", index, path)
	cache := filepath.Join(dir, "cache")
	s := startServer(t, cache, "view", "--no-open", "--index", index, path)
	if strings.Contains(s.url, "#") {
		t.Errorf("found the address %q, expected no fragment for one trace", s.url)
	}
	s.get(t, s.url)
	base, _, _ := strings.Cut(s.url, "/?")
	s.untilReady(t, base+"/api/traces/"+s.traces(t, base).Traces[0].ID)
	if made, err := os.ReadDir(cache); err != nil || len(made) > 0 {
		t.Errorf("an index was made although one was given: %v, %v", made, err)
	}
	s.stop(t)
}

// TestSecretLasts checks that a server with a fixed port has the same secret after a restart.
func TestSecretLasts(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "g.trf")
	weft(t, 0, "generate", "--events", "300", path)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	var urls []string
	for _, args := range [][]string{{"view", "--no-open", "--port", port, path},
		{"view", "--no-open", "--port", port, path}, {"serve", "--listen", "127.0.0.1:" + port, dir},
		{"view", "--no-open", path}} {
		s := startServer(t, cache, args...)
		urls = append(urls, s.url[strings.Index(s.url, "token="):])
		s.stop(t)
	}
	if urls[0] != urls[1] || urls[0] != urls[2] || urls[0] == urls[3] {
		t.Errorf("found the secrets %q, want the same three times and another one for any port", urls)
	}
	if st, err := os.Stat(filepath.Join(cache, "secret-"+port)); err != nil ||
		runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Errorf("found %v, %v, want a file that only its owner reads", st, err)
	}
}

// TestServe serves a folder at a port with a token from a file, and at a socket.
func TestServe(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	weft(t, 0, "generate", "--events", "3000", filepath.Join(dir, "g.trf"))
	file := filepath.Join(cache, "token")
	s := startServer(t, cache, "serve", "--token-file", file, "--host", "traces.example.org", dir)
	text, err := os.ReadFile(file)
	token := strings.TrimSpace(string(text))
	if err != nil || !strings.HasSuffix(s.url, "?token="+token) {
		t.Errorf("found the address %q, the token %q, %v", s.url, token, err)
	}
	if code, text := s.get(t, s.url+"&x=y"); code != 200 {
		t.Errorf("page: status %d: %s", code, text)
	}
	base, _, _ := strings.Cut(s.url, "/?")
	if _, text := s.get(t, base+"/api/traces"); !strings.Contains(text, `"readOnly":true`) ||
		!strings.Contains(text, `"path":"g.trf"`) {
		t.Errorf("found %s", text)
	}
	r, err := http.NewRequest("GET", base+"/api/traces", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	for host, want := range map[string]int{"traces.example.org": 200, "evil.example.org": 403} {
		r.Host = host
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("host %s: status %d, want %d", host, resp.StatusCode, want)
		}
	}
	s.stop(t)
	// The secret stays the same.
	s = startServer(t, cache, "serve", "--token-file", file, dir)
	if !strings.HasSuffix(s.url, "?token="+token) {
		t.Errorf("found the address %q, want the token %q", s.url, token)
	}
	s.stop(t)

	if runtime.GOOS == "windows" {
		return
	}
	// Paths of sockets must be short.
	short, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	socket := filepath.Join(short, "s")
	for range 2 { // the second server replaces the socket of the first
		s = startServer(t, cache, "serve", "--listen", "unix:"+socket, "--no-token", dir)
		if st, err := os.Stat(socket); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("socket: %v, %v", st, err)
		}
		s.http.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}}
		if code, text := s.get(t, "http://localhost/api/traces"); code != 200 || !strings.Contains(text, "g.trf") {
			t.Errorf("at the socket: status %d: %s", code, text)
		}
		s.http.CloseIdleConnections()
		s.cmd.Process.Kill()
		s.cmd.Wait()
	}
}

// TestKilledBuild checks that a killed build leaves no index, and that its temporary files do no
// harm.
func TestKilledBuild(t *testing.T) {
	dir := t.TempDir()
	path, cache := filepath.Join(dir, "g.trf"), ""
	index := func() (*exec.Cmd, *bytes.Buffer) {
		cmd, out := weftProgram(t, cache, "index", "--json", path), &bytes.Buffer{}
		cmd.Stdout = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, out
	}
	// If the build ends before it is killed, the test repeats it with a longer trace.
	for events := 50_000; ; events *= 4 {
		cache = filepath.Join(dir, fmt.Sprint("cache for ", events))
		weft(t, 0, "generate", "--events", fmt.Sprint(events), path)
		killed, _ := index()
		ended := make(chan error, 1)
		go func() { ended <- killed.Wait() }()
		await.Until(t, "the build has begun", func() bool {
			begun, _ := filepath.Glob(filepath.Join(cache, ".weft-build-*", ".weft-*"))
			return len(begun) > 0 || len(ended) > 0
		})
		killed.Process.Kill()
		if err := await.Receive(t, "the killed build has ended", ended); err != nil {
			break
		}
	}
	if list, _ := filepath.Glob(filepath.Join(cache, "*.weftidx")); len(list) > 0 {
		t.Errorf("found %q", list)
	}
	run := func() (string, error) {
		cmd, out := index()
		err := cmd.Wait()
		return out.String(), err
	}
	out, err := run()
	if err != nil || !strings.Contains(out, `"built": true`) {
		t.Errorf("the next build: %v, %s", err, out)
	}
	if out, err = run(); err != nil || !strings.Contains(out, `"built": false`) {
		t.Errorf("the one after it: %v, %s", err, out)
	}
}
