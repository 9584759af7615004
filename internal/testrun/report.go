package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// event is an event that go test -json prints (see go doc test2json).
type event struct {
	Action     string
	Package    string
	ImportPath string // path of the package that is being built
	Test       string
	Output     string
	Elapsed    float64 // in seconds
	// FailedBuild is the ImportPath of the build that failed, if the package failed because of it.
	FailedBuild string
}

// row is a row of the table at the end: a package, or a check of the source.
type row struct {
	name                    string
	passed, failed, skipped int
	seconds                 float64
	ok                      bool
	note                    string
	cached                  bool // the result is from an earlier run of the same tests
}

// test is a test that has ended. Subtests are parts of their top-level test.
type test struct {
	name    string // name of the package and the test
	seconds float64
	reason  string // reason why it was skipped
}

// report collects the results and prints them.
type report struct {
	mu      sync.Mutex
	out     io.Writer
	begin   time.Time
	rows    []*row
	tests   []test
	skipped []test
}

func newReport(out io.Writer) *report { return &report{out: out, begin: time.Now()} }

// slowest is the number of slowest tests in the summary. namedSkips is the maximum number of skipped tests
// with the same reason that are listed by name.
const (
	slowest    = 10
	namedSkips = 3
)

// events reads the events of go test, and reports each package when it ends. failed reports whether
// a package has failed.
func (r *report) events(in io.Reader, mode string) (failed bool, err error) {
	packages := map[string]*row{}
	outputs := map[string][]string{} // indexed by package and test
	get := func(name string) *row {
		if packages[name] == nil {
			packages[name] = &row{name: title(name, mode)}
		}
		return packages[name]
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				e = event{Action: "output", Output: string(line)}
			}
			if r.event(&e, get, outputs, mode) {
				failed = true
			}
		}
		if err == io.EOF {
			return failed, nil
		}
		if err != nil {
			return failed, fmt.Errorf("cannot read what go test prints: %w", err)
		}
	}
}

// event processes an event. failed reports whether the event is the failure of a package.
func (r *report) event(e *event, get func(string) *row, outputs map[string][]string, mode string) (failed bool) {
	key := cmp.Or(e.Package, e.ImportPath) + "\n" + e.Test
	switch e.Action {
	case "output", "build-output":
		outputs[key] = append(outputs[key], e.Output)
		if e.Test == "" && strings.HasSuffix(e.Output, "\t(cached)\n") {
			get(e.Package).cached = true
		}
		return false
	case "pass", "fail", "skip":
	default:
		return false
	}
	p := get(e.Package)
	if e.Test == "" {
		p.seconds, p.ok = e.Elapsed, e.Action != "fail"
		if e.Action == "skip" && p.passed+p.failed+p.skipped == 0 {
			p.note = "no test files"
		}
		if e.Action == "fail" {
			// The output of tests that have not ended may contain the reason why the package could
			// not be built or ended early.
			rest := ""
			if e.FailedBuild != "" && e.FailedBuild != e.Package {
				rest = strings.Join(outputs[e.FailedBuild+"\n"], "")
			}
			for _, name := range slices.Sorted(maps.Keys(outputs)) {
				if strings.HasPrefix(name, e.Package+"\n") {
					rest += strings.Join(outputs[name], "")
				}
			}
			if p.failed = max(p.failed, 1); strings.Trim(failureEnd.ReplaceAllString(rest, ""), "\n") != "" || p.note == "" {
				p.note += rest
			}
		}
		maps.DeleteFunc(outputs, func(name string, _ []string) bool { return strings.HasPrefix(name, e.Package+"\n") })
		r.end(p)
		return e.Action == "fail"
	}
	if strings.Contains(e.Test, "/") {
		// A failed subtest is reported as its top-level test. A skipped subtest is reported by its own name.
		whole, _, _ := strings.Cut(e.Test, "/")
		if e.Action == "fail" {
			outputs[e.Package+"\n"+whole] = append(outputs[e.Package+"\n"+whole], outputs[key]...)
		}
		if e.Action == "skip" {
			r.skip(title(e.Package, mode)+" "+e.Test, reason(outputs[key]))
		}
		delete(outputs, key)
		return false
	}
	name := title(e.Package, mode) + " " + e.Test
	switch e.Action {
	case "pass":
		p.passed++
	case "fail":
		p.failed++
		p.note += strings.Join(outputs[key], "")
	case "skip":
		p.skipped++
		r.skip(name, reason(outputs[key]))
	}
	delete(outputs, key)
	r.mu.Lock()
	r.tests = append(r.tests, test{name: name, seconds: e.Elapsed})
	r.mu.Unlock()
	return false
}

// failureEnd matches the lines at the end of go test's output that each package with a failed test has.
var failureEnd = regexp.MustCompile(`(?m)^(FAIL(\t.*)?|exit status \d+)$`)

// title returns the name of a package without the module path, followed by mode.
func title(name, mode string) string {
	name = strings.TrimPrefix(name, "github.com/weft-trace/weft/")
	if mode != "" {
		name += " (" + mode + ")"
	}
	return name
}

// reason returns the first line of the last message of a skipped test, without the file and line.
func reason(lines []string) string {
	why := ""
	for _, l := range lines {
		file, rest, ok := strings.Cut(strings.TrimSpace(l), ": ")
		if ok && strings.Contains(path.Ext(file), ".go:") {
			why = strings.TrimSpace(rest)
		}
	}
	return cmp.Or(why, "no reason given")
}

// end prints the result of a row and adds it to the table.
func (r *report) end(p *row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, p)
	p.ok = p.ok && p.failed == 0
	if p.note == "no test files" {
		return
	}
	state := "ok  "
	if !p.ok {
		state = "FAIL"
	}
	fmt.Fprintf(r.out, "%6.1f s  %s  %-32s %6.1f s", time.Since(r.begin).Seconds(), state, p.name, p.seconds)
	if n := p.passed + p.failed + p.skipped; n > 0 {
		fmt.Fprintf(r.out, "  %d tests", n)
	}
	if p.cached {
		fmt.Fprint(r.out, " (as before)")
	}
	if p.skipped > 0 {
		fmt.Fprintf(r.out, ", %d skipped", p.skipped)
	}
	fmt.Fprintln(r.out)
	if !p.ok {
		fmt.Fprintf(r.out, "\n%s\n", strings.TrimRight(p.note, "\n"))
	}
}

// checkFunc runs a check of the source and reports its result.
func (r *report) checkFunc(name string, check func() (output string, err error)) {
	begin := time.Now()
	output, err := check()
	p := &row{name: name, ok: err == nil, seconds: time.Since(begin).Seconds()}
	if err != nil {
		p.failed = 1
		p.note = fmt.Sprintf("%s%v", output, err)
	} else {
		p.passed = 1
	}
	r.end(p)
}

// fail reports a failure that belongs to no test.
func (r *report) fail(mode, what string) {
	r.end(&row{name: title("go test", mode), failed: 1, note: what})
}

// skip stores the name of a skipped test and the reason for the skip.
func (r *report) skip(name, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skipped = append(r.skipped, test{name: name, reason: reason})
}

// finish prints the table. It reports whether nothing has failed.
func (r *report) finish() bool {
	var sum row
	t := table.NewWriter()
	t.SetOutputMirror(r.out)
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.AppendHeader(table.Row{"package", "passed", "failed", "skipped", "seconds"})
	slices.SortFunc(r.rows, func(a, b *row) int { return cmp.Compare(a.name, b.name) })
	ok := true
	for _, p := range r.rows {
		ok = ok && p.ok
		if p.note == "no test files" {
			continue
		}
		seconds := fmt.Sprintf("%.1f", p.seconds)
		if p.cached {
			seconds = "as before"
		}
		t.AppendRow(table.Row{p.name, p.passed, p.failed, p.skipped, seconds})
		sum.passed, sum.failed, sum.skipped = sum.passed+p.passed, sum.failed+p.failed, sum.skipped+p.skipped
	}
	t.AppendFooter(table.Row{"all", sum.passed, sum.failed, sum.skipped,
		fmt.Sprintf("%.1f", time.Since(r.begin).Seconds())})
	fmt.Fprintln(r.out)
	t.Render()
	if len(r.skipped) > 0 {
		fmt.Fprintf(r.out, "\nskipped, parts of tests included (%d):\n", len(r.skipped))
		// Tests with the same reason share a line, because many may need the same missing program.
		var reasons []string
		tests := map[string][]string{}
		for _, x := range r.skipped {
			if tests[x.reason] == nil {
				reasons = append(reasons, x.reason)
			}
			tests[x.reason] = append(tests[x.reason], x.name)
		}
		for _, why := range reasons {
			names, more := tests[why], ""
			if n := len(names) - namedSkips; n > 0 {
				names, more = names[:namedSkips], fmt.Sprintf(" and %d more", n)
			}
			fmt.Fprintf(r.out, "  %s: %s%s\n", why, strings.Join(names, ", "), more)
		}
	}
	slices.SortStableFunc(r.tests, func(a, b test) int { return cmp.Compare(b.seconds, a.seconds) })
	if len(r.tests) > 0 {
		fmt.Fprintf(r.out, "\nslowest tests:\n")
	}
	for _, x := range r.tests[:min(slowest, len(r.tests))] {
		fmt.Fprintf(r.out, "  %6.1f s  %s\n", x.seconds, x.name)
	}
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", sum.passed, sum.failed, sum.skipped)
	return ok
}
