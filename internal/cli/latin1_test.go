package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestArgumentsInLatin1 checks that commands that change nothing keep a program's argument that is no UTF-8, by
// otf2-print. Such an argument is the name of a file from a system with another encoding.
func TestArgumentsInLatin1(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../format/otf2/testdata/ok/heat2d-mt")); err != nil {
		t.Fatal(err)
	}
	path, defs := filepath.Join(dir, "traces.otf2"), filepath.Join(dir, "traces.def")
	data, err := os.ReadFile(defs)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte("-arg1\x00")); n != 1 {
		t.Fatalf("found %d texts to replace", n)
	}
	data = bytes.Replace(data, []byte("-arg1\x00"), []byte("-\xe4rg1\x00"), 1)
	if err := os.WriteFile(defs, data, 0o644); err != nil {
		t.Fatal(err)
	}
	want := toolLines(t, path, "otf2-print", "-A")
	for _, verb := range [][]string{{"filter", "--min-duration", "0"}, {"cut", "--to", "100%"}, {"merge"}, {"repair"}} {
		out := filepath.Join(t.TempDir(), "x.otf2")
		weft(t, 0, append(verb, "-q", path, out)...)
		more, fewer := differences(want, toolLines(t, out, "otf2-print", "-A"))
		if len(more)+len(fewer) > 0 {
			t.Errorf("%q: otf2-print prints anew:\n%sand no longer:\n%s", verb, strings.Join(more, ""),
				strings.Join(fewer, ""))
		}
	}
	// An anonymized archive has one replacement of the text.
	out := filepath.Join(t.TempDir(), "x.otf2")
	weft(t, 0, "anonymize", "-q", path, out)
	before, _ := runTool(t, path, "otf2-print", "-G")
	after, _ := runTool(t, out, "otf2-print", "-G")
	if b, a := bytes.Count(before, []byte("\nSTRING ")), bytes.Count(after, []byte("\nSTRING ")); a != b || b == 0 {
		t.Errorf("the anonymized archive has %d strings, the archive %d", a, b)
	}
}
