package cli

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/cube"
)

const waitsTraces = "../../analysis/waits/testdata/"

// pythonCubeValues returns the values of a file of Cube, in microseconds or counts, by "metric path location". A
// program that shares no code with package cube reads them. Scalasca's figures show the last 34 characters of
// paths.
func pythonCubeValues(t *testing.T, file string) map[string]float64 {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	out, err := exec.Command(python, "../../cube/testdata/read.py", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := map[string]float64{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		v, err := strconv.ParseFloat(f[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		if f[0] != "visits" {
			v *= 1e6
		}
		path := f[1]
		add := func() { found[f[0]+" "+path[max(0, len(path)-34):]+" "+f[2]] += v }
		if add(); f[0] == "time" { // Scalasca's figures of time are inclusive
			for i := strings.LastIndex(path, "/"); i >= 0; i = strings.LastIndex(path, "/") {
				path = path[:i]
				add()
			}
		}
	}
	return found
}

// TestCubeScout compares the cubes of weft waits --causes with the figures of Scalasca's analyser, for each
// metric, call path and location, to a microsecond.
func TestCubeScout(t *testing.T) {
	dir := t.TempDir()
	// theirs lists metrics of Scalasca that weft does not write. ours lists metrics of weft that Scalasca does not
	// have.
	theirs := []string{"syncs_", "comms_", "bytes_", "mpi_wait_indirect_", "mpi_wait_propagating_", "omp_management"}
	ours := []string{"delay ", "performance_impact ", "weft_delay_", "delay_n21"}
	has := func(list []string, key string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return strings.HasPrefix(key, p) })
	}
	// docs/analyses/waits.md and path.md list these differences, which are intended.
	differs := func(trace, key string) bool {
		switch trace {
		case "p2p":
			return strings.HasPrefix(key, "mpi_latesender_wo ") || strings.HasPrefix(key, "mpi_lswo_different ")
		case "omp":
			metric, path, _ := strings.Cut(key, " ")
			switch metric {
			case "time":
				return strings.HasPrefix(path, "main/!$omp parallel @a.c:1 ") || path == "main 1" || path == "main 2"
			case "critical_path_activities", "non_critical_path_activities":
				return has([]string{"main/!$omp parallel @a.c:1 ", ".c:1/!$omp implicit barrier @a.c:2 ",
					"allel @a.c:1/!$omp critical @a.c:3 "}, path)
			}
			return metric == "critical_imbalance_impact"
		}
		return false
	}
	for _, name := range []string{"hand", "p2p", "omp"} {
		file := filepath.Join(dir, name+".cubex")
		weft(t, 0, "waits", "-q", "--causes", "--cube", file, waitsTraces+name+"/traces.otf2")
		found := pythonCubeValues(t, file)
		text, err := os.ReadFile(waitsTraces + name + "/scout.txt")
		if err != nil {
			t.Fatal(err)
		}
		metric, compared := "", map[string]bool{}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, " ") {
				metric = strings.Fields(line)[0]
				continue
			}
			path, figures, _ := strings.Cut(line, "[")
			for loc, n := range strings.Split(strings.Trim(figures, "]\n"), ",") {
				expected, err := strconv.ParseFloat(strings.Trim(n, " '"), 64)
				if err != nil {
					t.Fatal(err)
				}
				key := fmt.Sprint(metric, " ", strings.TrimSpace(path), " ", loc)
				v := found[key]
				delete(found, key)
				switch {
				case has(theirs, key) || differs(name, key):
				case math.Abs(v-expected) > 1:
					t.Errorf("%s: %s: found %g, expected %g", name, key, v, expected)
				default:
					compared[metric] = true
				}
			}
		}
		for key, v := range found {
			if math.Abs(v) > 1e-9 && !has(ours, key) && !differs(name, key) {
				t.Errorf("%s: %s: found %g, expected nothing", name, key, v)
			}
		}
		if least := map[string]int{"hand": 21, "p2p": 11, "omp": 8}[name]; len(compared) < least {
			t.Errorf("%s: compared %d metrics, expected %d", name, len(compared), least)
		}
	}
}

// readCube reads a file with package cube.
func readCube(t *testing.T, file string) *cube.Cube {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cube.Read(bytes.NewReader(b), int64(len(b)), file)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCubeProfile checks the files of weft profile --cube: the total time, the times of two adjacent windows,
// which must add up to it, and the definitions.
func TestCubeProfile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.cubex")
	total := func(args ...string) (seconds float64) {
		weft(t, 0, append([]string{"profile", "-q", "--cube", file}, args...)...)
		c := readCube(t, file)
		m := c.Metric("time")
		for p := range c.Paths {
			for l := range c.Locations {
				seconds += m.At(p, l)
			}
		}
		return seconds
	}
	hand := waitsTraces + "hand/traces.otf2"
	// Three locations are in app for 1820 µs each.
	all, parts := total(hand), total("--to", "0.0007s", hand)+total("--from", "0.0007s", hand)
	if math.Abs(all-0.00546) > 1e-12 || math.Abs(parts-all) > 1e-12 {
		t.Errorf("found %g s, %g s in two windows, expected 0.00546 s", all, parts)
	}
	if one := total("--location", "0", hand); math.Abs(one-0.00182) > 1e-12 {
		t.Errorf("found %g s at a location, expected 0.00182 s", one)
	}
	c := readCube(t, file)
	found := fmt.Sprintf("%v %v %v", c.Nodes, c.Groups, c.Locations)
	expected := "[{-1 machine machine} {0 node0 node}] [{1 MPI Rank 0 0 process}] [{0 Master thread 0 thread}]"
	if found != expected {
		t.Errorf("found %s, expected %s", found, expected)
	}
	if r := c.Regions[c.Paths[0].Region]; r.Name != "app" || c.Metric("visits").Unit != "occ" || len(c.Metrics) != 2 {
		t.Errorf("found %+v, %+v", r, c.Metrics)
	}
}

// TestCubeOfNothing checks that a selection that finds nothing gives a file of Cube without values, which other
// programs can read.
func TestCubeOfNothing(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	dir := t.TempDir()
	hand := waitsTraces + "hand/traces.otf2"
	for i, choice := range []string{"--window=10s..11s", "--from=20s", "--to=@0", "--location=nobody", "--group=nowhere"} {
		for _, command := range [][]string{{"profile"}, {"profile", "--tree"}, {"waits"}, {"waits", "--causes"}} {
			file := filepath.Join(dir, fmt.Sprintf("%d.cubex", i))
			weft(t, exitGood, append(command, "-q", choice, "--cube", file, hand)...)
			c := readCube(t, file)
			if len(c.Paths) != 1 || c.Metric("time") == nil || c.Metric("visits") == nil {
				t.Errorf("%v %s: found paths %v, expected one", command, choice, c.Paths)
			}
		}
		out, err := exec.Command(python, "../../cube/testdata/read.py", filepath.Join(dir, fmt.Sprintf("%d.cubex", i))).
			CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: read.py: found %q (%v), expected no value", choice, out, err)
		}
	}
}

// TestCubeNodes checks the system trees of traces without processes: each location gets a process, and one machine
// contains all of them.
func TestCubeNodes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "t.cubex")
	for name, expected := range map[string]string{
		"t.trf": "[{-1 machine machine} {0 node node}]",
		// Four ranks are on a node.
		"t.otf2": "[{-1 machine machine} {0 node 0 node} {0 node 1 node}]",
	} {
		in := filepath.Join(dir, name)
		weft(t, 0, "generate", fmt.Sprintf("--plain=%t", name == "t.trf"), "--workload", "ring", "--locations", "6",
			"--events", "2000", in)
		weft(t, 0, "profile", "-q", "--cube", file, in)
		c := readCube(t, file)
		if found := fmt.Sprint(c.Nodes); found != expected || len(c.Groups) != 6 || len(c.Locations) != 6 {
			t.Errorf("%s: found %s, %v, %v, expected %s and 6 processes of a thread", name, found, c.Groups,
				c.Locations, expected)
		}
		pythonCubeValues(t, file)
	}
}

// TestCubeFiles checks when files are written and replaced.
func TestCubeFiles(t *testing.T) {
	dir := t.TempDir()
	hand := waitsTraces + "hand/traces.otf2"
	file := filepath.Join(dir, "x.cubex")
	if err := os.WriteFile(file, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"waits", "profile"} {
		weft(t, 3, command, "--cube", file, hand)
		if b, _ := os.ReadFile(file); string(b) != "other" {
			t.Fatalf("%s: found %q, expected that the file stays", command, b)
		}
		weft(t, 2, command, "--cube", "-", hand)
		weft(t, 3, command, "--cube", filepath.Join(dir, "none", "x.cubex"), hand)
	}
	weft(t, 0, "waits", "-q", "--force", "--cube", file, hand)
	if c := readCube(t, file); c.Metric("mpi_latesender") == nil || c.Metric("delay") != nil ||
		c.Metric("critical_path") == nil {
		t.Errorf("found %+v", c.Metrics)
	}
	// weft may replace a file that it has written.
	weft(t, 0, "waits", "-q", "--window", "0..0.0005s", "--cube", file, hand)
	if c := readCube(t, file); c.Metric("critical_path") != nil {
		t.Error("found the critical path of a window")
	}
	weft(t, 2, "profile", "--region", "work", "--cube", file, hand)
	// A trace in which nothing can be judged has no file.
	none := filepath.Join(dir, "none.cubex")
	silent := filepath.Join(dir, "silent.otf2")
	weft(t, 0, "filter", "-q", "--region", "work", "--kind", "enter", "--kind", "leave", hand, silent)
	weft(t, 1, "waits", "-q", "--cube", none, silent)
	if _, err := os.Stat(none); err == nil {
		t.Error("found a file of a trace without waits")
	}
}
