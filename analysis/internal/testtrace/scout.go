package testtrace

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Figure is a figure of Scalasca's analyser.
type Figure struct {
	Metric string // its unique name
	// Path is the names of a call path with / between them. The file shows the last 34 characters of
	// long ones.
	Path     string
	Location uint32
	Value    float64
}

// PathLength is the number of characters of paths that the files show.
const PathLength = 34

// Scout reads the figures of a file scout.txt.
func Scout(t testing.TB, path string) []Figure {
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

// ShownPath returns a path as the files show it.
func ShownPath(names []string) string {
	path := strings.Join(names, "/")
	return path[max(0, len(path)-PathLength):]
}
