package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-trace/weft/timeline/index"
)

// viewerTrace holds the measurements of a trace in the viewer.
type viewerTrace struct {
	workload  string
	locations int
	events    int64

	decode, build []usage
	bytes         int64 // size of the index
	counts        index.Counts
	ready         []float64 // seconds until the server answers the first request
	tiles         []float64 // seconds for each tile, sorted
	page          []pageTimes
}

// pageTimes holds the measurements of the page, which web/test/bench.mjs makes.
type pageTimes struct {
	First   float64 `json:"first"`   // seconds from the start of the command to the first picture
	Zoom    float64 `json:"zoom"`    // frames per second while zooming
	Pan     float64 `json:"pan"`     // frames per second while panning
	Longest float64 `json:"longest"` // duration of the longest task of the main thread in seconds
}

// viewerReport holds the measurements of the part viewer, and writes its document.
type viewerReport struct {
	result
	browser    string // version of the browser; "" if there is none
	traces     []*viewerTrace
	speedscope float64 // seconds until speedscope shows the trace of a million events; 0 if not measured
	speedTrace string
}

// measure measures the index, the server and the page, for the longest traces and for traces with a
// tenth and a hundredth of their events.
func (r *viewerReport) measure(b *session) error {
	for _, w := range []string{"stencil", "calltree"} {
		for _, n := range []int{64, 4096} {
			for _, part := range []int64{100, 10, 1} {
				r.traces = append(r.traces, &viewerTrace{workload: w, locations: n, events: r.events / part})
			}
		}
	}
	if _, err := os.Stat("web/node_modules/playwright-core"); err == nil {
		if p, err := exec.LookPath("chromium"); err == nil {
			// On standard error, the browser's start script may print warnings about the machine.
			if out, err := exec.CommandContext(b.ctx, p, "--version").Output(); err == nil {
				r.browser = strings.TrimSpace(string(out))
			}
		}
	}
	for _, t := range r.traces {
		if _, err := b.try(&r.problems, t.name(), task{"viewer", func() error { return b.view(r, t) }}); err != nil {
			return err
		}
	}
	return nil
}

const (
	// roundEvents is the least total number of events of the builds of an index for a trace: small
	// traces are built several times. mostRounds is the largest number of builds.
	roundEvents = 30_000_000
	mostRounds  = 9
)

func (t *viewerTrace) name() string {
	return fmt.Sprintf("%s, %d locations, %d events", t.workload, t.locations, t.events)
}

func (b *session) view(r *viewerReport, t *viewerTrace) error {
	dir, err := os.MkdirTemp(b.dir, "viewer-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, file := dir+"/traces.otf2", dir+"/traces.weftidx"
	if _, err := b.run(nil, b.weft, "generate", "--workload", t.workload, "--locations", strconv.Itoa(t.locations),
		"--events", strconv.FormatInt(t.events, 10), "--seed", "1", path); err != nil {
		return err
	}
	// For a small trace, a build takes little more than a tenth of a second, and the times vary by about a
	// tenth of a second.
	rounds := b.runs
	if !b.quick {
		rounds = max(rounds, int(min(mostRounds, roundEvents/t.events)))
	}
	for range rounds {
		// Some file systems write a file to the disk at once if it replaces another one.
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := b.inTurn(1, command{&t.decode, b.weft, []string{"convert", "-q", "--to", "null", path, "-"}},
			command{&t.build, b.weft, []string{"index", "-q", "-o", file, path}}); err != nil {
			return err
		}
	}
	t.bytes = bytesIn(file)
	x, err := index.Open(file)
	if err != nil {
		return err
	}
	defer x.Close()
	t.counts = x.Counts()
	// In the cache, the server finds the index by the files of the trace, as for users.
	if _, err := b.weftRun("index", "-q", path); err != nil {
		return err
	}
	for range b.runs {
		if err := b.serve(t, x, path); err != nil {
			return err
		}
	}
	if r.browser == "" {
		return nil
	}
	for range b.runs {
		var out bytes.Buffer
		if _, err := b.run(&out, "node", mustAbs("web/test/bench.mjs"), b.weft, "view", "--no-open", path); err != nil {
			return err
		}
		var p pageTimes
		if err := json.Unmarshal(out.Bytes(), &p); err != nil {
			return fmt.Errorf("bench.mjs: %w in %q", err, out.String())
		}
		t.page = append(t.page, p)
	}
	if t == r.traces[0] {
		return b.speedscope(r, t, path)
	}
	return nil
}

func mustAbs(path string) string {
	p, err := filepath.Abs(path)
	if err != nil {
		panic(err) // the working directory has been removed
	}
	return p
}

// tileRequests is the number of tiles that the benchmark requests from each server.
const tileRequests = 200

// serve starts a server for a trace with an index. It requests tiles of 200 strips and 1600
// columns, at many zooms and positions, and measures the answers.
func (b *session) serve(t *viewerTrace, x *index.Index, path string) error {
	c := exec.CommandContext(b.ctx, b.weft, "view", "--no-open", "-q", path)
	c.Env, c.Dir = environment(os.Environ(), b.tmp), b.tmp
	endWithParent(c)
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := c.Start(); err != nil {
		return err
	}
	defer func() { c.Process.Signal(os.Interrupt); c.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	client := &http.Client{Jar: jar}
	var answer bytes.Buffer
	get := func(url string) ([]byte, error) {
		resp, err := client.Get(url)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		// The memory for answers is reused, because its allocation is not the server's work.
		answer.Reset()
		answer.Grow(int(max(0, resp.ContentLength)) + bytes.MinRead)
		_, err = answer.ReadFrom(resp.Body)
		body := answer.Bytes()
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s: %s", url, resp.Status, body)
		}
		return body, err
	}
	base := strings.TrimSpace(line)
	if _, err := get(base); err != nil {
		return err
	}
	base, _, _ = strings.Cut(base, "?")
	var list struct {
		Traces []struct{ ID, State string }
	}
	for {
		body, err := get(base + "api/traces")
		if err != nil {
			return err
		}
		if err := json.Unmarshal(body, &list); err != nil {
			return err
		}
		if list.Traces[0].State == "ready" {
			break
		}
		time.Sleep(time.Millisecond)
	}
	t.ready = append(t.ready, time.Since(start).Seconds())
	tracks := x.Tracks()
	first, last, _ := x.Extent()
	rng := rand.New(rand.NewPCG(1, 1))
	for range tileRequests {
		length := (last - first) >> rng.IntN(24)
		from := rng.Int64N(last - first - length + 1)
		var want []string
		strips := 0
		for at, k := rng.IntN(len(tracks)), 0; k < len(tracks) && strips < 200; k++ {
			n := (at + k) % len(tracks)
			strips += max(1, tracks[n].Depth)
			want = append(want, strconv.Itoa(n))
		}
		url := fmt.Sprintf("%sapi/traces/%s/tiles?from=%d&to=%d&width=1600&depths=20&tracks=%s", base, list.Traces[0].ID,
			from, from+max(length, 1), strings.Join(want, ","))
		start := time.Now()
		if _, err := get(url); err != nil {
			return err
		}
		t.tiles = append(t.tiles, time.Since(start).Seconds())
	}
	slices.Sort(t.tiles)
	return nil
}

// speedscope measures how long speedscope takes to show the trace, in its own format, if it is
// installed.
func (b *session) speedscope(r *viewerReport, t *viewerTrace, path string) error {
	if _, err := os.Stat("web/node_modules/speedscope"); err != nil {
		return nil
	}
	file := b.path("trace.speedscope.json")
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer os.Remove(file)
	_, err = b.childRun(f, "speedscope", path)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	var out bytes.Buffer
	if _, err := b.run(&out, "node", mustAbs("web/test/bench-speedscope.mjs"), file); err != nil {
		return err
	}
	r.speedTrace = t.name()
	r.speedscope, err = strconv.ParseFloat(strings.TrimSpace(out.String()), 64)
	return err
}

// quantile returns the q-quantile of a sorted list.
func quantile(l []float64, q float64) float64 {
	if len(l) == 0 {
		return 0
	}
	return l[min(len(l)-1, int(q*float64(len(l))))]
}

// beyond returns the cost of the index in ns per event: the wall-clock time of building it, minus the
// time of decoding the trace.
func (t *viewerTrace) beyond() float64 {
	return (statOver(t.build, wall).median - statOver(t.decode, wall).median) * 1e9 / float64(max(1, t.counts.Events))
}

// size returns the number of bytes per span in the index, without the bytes of links.
func (t *viewerTrace) size() float64 {
	return float64(t.bytes-t.counts.LinkBytes) / float64(max(1, t.counts.Spans))
}

// acceptances evaluates the project's limits.
func (r *viewerReport) acceptances() []acceptance {
	worst := func(text, limit, format string, bound float64, less bool,
		f func(t *viewerTrace) (float64, bool)) acceptance {
		a := acceptance{text: text, limit: limit, pass: true}
		w, any := 0.0, false
		for _, t := range r.traces {
			if v, ok := f(t); ok && (!any || less && v > w || !less && v < w) {
				w, any = v, true
			} else if !ok {
				a.partial = true
			}
		}
		if any {
			a.worst = fmt.Sprintf(format, w)
			a.pass = less && w <= bound || !less && w >= bound
		}
		return a
	}
	pages := func(f func(p pageTimes) float64) func(t *viewerTrace) (float64, bool) {
		return func(t *viewerTrace) (float64, bool) { return statOver(t.page, f).median, len(t.page) > 0 }
	}
	built := func(f func(t *viewerTrace) float64) func(t *viewerTrace) (float64, bool) {
		return func(t *viewerTrace) (float64, bool) { return f(t), len(t.build) > 0 && t.counts.Spans > 0 }
	}
	return []acceptance{
		worst("Building an index beyond decoding, wall", "≤ 60 ns per event", "%.0f ns", 60, true,
			built((*viewerTrace).beyond)),
		worst("Its memory", "≤ 512 MiB", "%.0f MiB", 512, true,
			built(func(t *viewerTrace) float64 { return mib(highest(t.build)) })),
		worst("Its size, without messages", "≤ 6 bytes per span", "%.2f", 6, true,
			built(func(t *viewerTrace) float64 { return t.size() })),
		worst("Server ready, with the index", "≤ 150 ms", "%.0f ms", 150, true, func(t *viewerTrace) (float64, bool) {
			return statOf(t.ready).median * 1e3, len(t.ready) > 0
		}),
		worst("Tile of 200 strips and 1600 columns, p95", "≤ 25 ms", "%.1f ms", 25, true,
			func(t *viewerTrace) (float64, bool) {
				return quantile(t.tiles, 0.95) * 1e3, len(t.tiles) > 0
			}),
		worst("First picture after the command", "≤ 1 s", "%.2f s", 1, true,
			pages(func(p pageTimes) float64 { return p.First })),
		worst("Frames while zooming", "≥ 30 per second", "%.0f", 30, false,
			pages(func(p pageTimes) float64 { return p.Zoom })),
		worst("Frames while panning", "≥ 30 per second", "%.0f", 30, false,
			pages(func(p pageTimes) float64 { return p.Pan })),
		worst("Longest task of the page", "≤ 100 ms", "%.0f ms", 100, true,
			pages(func(p pageTimes) float64 { return p.Longest * 1e3 })),
	}
}

// document returns the report as Markdown.
func (r *viewerReport) document() []byte {
	r.begin("viewer", "the viewer", "small traces",
		"The traces are OTF2 traces of `weft generate`, with calls that are nested 20 deep\n"+
			"(calltree) or with many messages (stencil). The browser has no GPU.")
	r.printf("\n")
	if r.browser != "" {
		r.printf("- %s, headless\n", r.browser)
	}
	r.printf("- Runs: %d (of building indexes up to %d for small traces; medians); of %d tiles each\n\n", r.runs,
		mostRounds, tileRequests)
	r.verdicts("", "Worst", r.acceptances())
	var rows [][]string
	f := func(format string, v float64, ok bool) string {
		if !ok {
			return ""
		}
		return fmt.Sprintf(format, v)
	}
	for _, t := range r.traces {
		built, paged := len(t.build) > 0, len(t.page) > 0
		rows = append(rows, []string{t.name(),
			f("%.2f", statOver(t.decode, wall).median, built), f("%.2f", statOver(t.build, wall).median, built),
			f("%.0f", t.beyond(), built),
			f("%.0f", mib(highest(t.build)), built), f("%.1f", mib(t.bytes), built), f("%.2f", t.size(), built),
			f("%.2f", float64(t.counts.LinkBytes)/float64(max(1, t.counts.Links)), built && t.counts.Links > 0),
			f("%.0f", statOf(t.ready).median*1e3, built), f("%.1f", quantile(t.tiles, 0.5)*1e3, len(t.tiles) > 0),
			f("%.1f", quantile(t.tiles, 0.95)*1e3, len(t.tiles) > 0),
			f("%.2f", statOver(t.page, func(p pageTimes) float64 { return p.First }).median, paged),
			f("%.0f", statOver(t.page, func(p pageTimes) float64 { return p.Zoom }).median, paged),
			f("%.0f", statOver(t.page, func(p pageTimes) float64 { return p.Pan }).median, paged),
			f("%.0f", statOver(t.page, func(p pageTimes) float64 { return p.Longest * 1e3 }).median, paged)})
	}
	r.printf("## Traces\n\nThe columns are: seconds of wall time to decode and to build the index, nanoseconds per\n" +
		"event beyond decoding, MiB of memory and of the index, bytes of the index per span and\n" +
		"per message, milliseconds until the server answers that the trace is ready, and\n" +
		"milliseconds for a tile. The last columns concern the page: seconds from the command to\n" +
		"the first picture with all visible rows, frames per second, and milliseconds of the\n" +
		"longest task.\n\n")
	r.table([]string{"Trace", "decode", "index", "ns", "memory", "size", "bytes per span",
		"per message", "ready", "tile p50",
		"p95", "picture", "zoom", "pan", "task"}, rows)
	if r.speedscope > 0 {
		r.printf("In the same browser, speedscope took %.1f s to show %s; weft took %.2f s from the start\n"+
			"of the command.\n", r.speedscope,
			r.speedTrace, statOver(r.traces[0].page, func(p pageTimes) float64 { return p.First }).median)
	}
	return r.text.Bytes()
}
