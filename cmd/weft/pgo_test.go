package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/pprof/profile"
)

// TestProfileHasNoPaths checks that the profile for the compiler names no program and no folder of the machine on
// which it was recorded.
func TestProfileHasNoPaths(t *testing.T) {
	b, err := os.ReadFile("default.pgo")
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range p.Mapping {
		if m.File != "" {
			t.Errorf("found a profile of %s, expected none to be named", m.File)
		}
	}
	for _, f := range p.Function {
		if len(f.Filename) > 0 && f.Filename[0] == '/' {
			t.Errorf("found the file %s, expected paths without folders of a machine (-trimpath)", f.Filename)
		}
	}
}
