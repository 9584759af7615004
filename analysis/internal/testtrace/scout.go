package testtrace

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Figure is a number that Scalasca's analyser has printed for a metric at a call path and location.
type Figure struct {
	Metric string // unique name of the metric
	// Path holds the names of the regions of a call path, separated by /. If this text is longer than 34
	// characters, regions at its begin are left out.
	Path     string
	Location uint32
	Value    float64
}

// PathLength is the maximum length of a path in a file scout.txt. Of a longer path, the file has only the last
// PathLength characters.
const PathLength = 34

// ReadScout reads a file scout.txt and returns the figures of Scalasca in it.
func ReadScout(t testing.TB, path string) []Figure {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []Figure
	metric := ""
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		if !strings.HasPrefix(line, " ") {
			metric = strings.Fields(line)[0]
			continue
		}
		name, figures, ok := strings.Cut(line, "[")
		if !ok {
			t.Fatalf("%s: found %q, expected a path and figures", path, line)
		}
		for loc, x := range strings.Split(strings.Trim(figures, "]"), ",") {
			v, err := strconv.ParseFloat(strings.Trim(x, " '"), 64)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, Figure{metric, strings.TrimSpace(name), uint32(loc), v})
		}
	}
	if len(list) == 0 {
		t.Fatalf("%s: found no figures", path)
	}
	return list
}

// ShownPath returns a path as a file scout.txt has it: its last PathLength characters.
func ShownPath(names []string) string {
	path := strings.Join(names, "/")
	return path[max(0, len(path)-PathLength):]
}
