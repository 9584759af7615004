package cli

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/internal/effort"
)

// pythonOTF2 returns a Python that has the bindings of OTF2. It skips the test if there is none.
func pythonOTF2(t *testing.T) string {
	t.Helper()
	name := findPythonOTF2()
	if name == "" {
		t.Skip("python3-otf2 is not installed")
	}
	return name
}

// findPythonOTF2 returns the Python of pythonOTF2, or "". Debian installs the bindings for its own Python.
var findPythonOTF2 = sync.OnceValue(func() string {
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(name, "-c",
			`import sys; sys.path.append("/usr/lib/python3/dist-packages"); import otf2`).Run() == nil {
			return name
		}
	}
	return ""
})

// TestPythonReads checks that OTF2's Python bindings read all archives that weft writes, with the number of events
// that the archive states. The bindings are stricter than the C library.
func TestPythonReads(t *testing.T) {
	effort.Long(t)
	python := pythonOTF2(t)
	dir := t.TempDir()
	var names, paths []string
	write := func(args ...string) {
		path := filepath.Join(dir, fmt.Sprint(len(paths)), "x.otf2")
		mkdir(t, filepath.Dir(path))
		if code, _, errs := runWeft(t, append(args, path)...); code != 0 {
			t.Errorf("%q: exit code %d: %s", args, code, errs)
			return
		}
		names, paths = append(names, strings.Join(args, " ")), append(paths, path)
	}
	for _, workload := range generate.Workloads() {
		write("generate", "--workload", workload.Name, "--events", "1000")
	}
	for _, pattern := range []string{"../../examples/*.*", "../../format/*/testdata/ok/*.*",
		"../../format/otf/testdata/ok/*/*.otf", "../../format/pallas/testdata/ok/*/trace/main.pallas"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			switch filepath.Ext(path) {
			case ".etf", ".trf", ".otf", ".pallas":
				write("convert", "-q", "--allow-loss", path)
			}
		}
	}
	for _, verb := range [][]string{{"cut", "--from", "20%", "--to", "70%"}, {"filter", "--not-region", "*a*"},
		{"repair"}, {"anonymize"}, {"merge", realTraces["otf2"]}} {
		write(append(verb, "-q", "--allow-loss", realTraces["otf2"])...)
	}
	if len(paths) < 60 {
		t.Errorf("found %d traces", len(paths))
	}
	// For a location without events the library reads beyond the end of an array, with an undefined
	// result.
	type archive struct {
		name, path string
		events     int
	}
	archives := map[bool][]archive{}
	for i, path := range paths {
		defs, _ := runTool(t, path, "otf2-print", "-G")
		x, empty := archive{name: names[i], path: path}, false
		for _, l := range locationEvents.FindAllSubmatch(defs, -1) {
			n, err := strconv.Atoi(string(l[2]))
			if err != nil {
				t.Fatal(err)
			}
			x.events, empty = x.events+n, empty || n == 0
		}
		archives[empty] = append(archives[empty], x)
	}
	for empty, list := range archives {
		t.Run(fmt.Sprintf("empty locations %t", empty), func(t *testing.T) {
			args := []string{"../../testdata/readotf2.py"}
			for _, x := range list {
				args = append(args, x.path)
			}
			out, err := exec.Command(python, args...).Output()
			var died *exec.ExitError
			if empty && errors.As(err, &died) && died.ExitCode() < 0 {
				t.Skip("the library dies of a location without events: ", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
				if line != strconv.Itoa(list[i].events) {
					t.Errorf("%s: the bindings say %s, expected %d events", list[i].name, line, list[i].events)
				}
			}
			if len(list) < 15 {
				t.Errorf("found %d archives", len(list))
			}
		})
	}
}
