package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestRun compares the counts with those of otf2-print for a real trace.
func TestRun(t *testing.T) {
	const path = "../../format/otf2/testdata/ok/ring/eztrace_log.otf2"
	var b bytes.Buffer
	if err := run(path, &b); err != nil {
		t.Fatal(err)
	}
	tool, err := exec.LookPath("otf2-print")
	if err != nil {
		t.Skip("otf2-print is not installed")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, abs).Output()
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]int{}, map[string]int{}
	for l := range strings.Lines(string(out)) {
		if f := strings.Split(l, `"`); strings.HasPrefix(l, "ENTER ") && len(f) > 1 {
			want[f[1]]++
		}
	}
	for l := range strings.Lines(b.String()) {
		n, name, _ := strings.Cut(strings.TrimSpace(l), " ")
		v, err := strconv.Atoi(n)
		if err != nil {
			t.Fatal(err)
		}
		got[name] += v
	}
	if len(want) == 0 || len(got) != len(want) {
		t.Errorf("found %d regions, want %d", len(got), len(want))
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s: found %d visits, otf2-print shows %d", name, got[name], n)
		}
	}
}
