package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommentsOfTRACE checks that comments of a TRACE file come back from every format and are part
// of pieces.
func TestCommentsOfTRACE(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "x.etf")
	if err := os.WriteFile(from, []byte("# about\nT name=one\nT name=two\nE 0 1 ;\nE 1 2 ;\n# more\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x.trf", "x.otf", "x.otf2", "x.pallas"} {
		out := weft(t, 0, "convert", "-q", from, filepath.Join(dir, name))
		if !strings.Contains(out, "opaque definition of another format") {
			t.Errorf("%s: found losses %s, expected a line about comments", name, out)
		}
		path := filepath.Join(dir, name)
		if own, _ := filepath.Glob(filepath.Join(dir, "x", name)); len(own) > 0 {
			path = own[0]
		}
		back := filepath.Join(dir, "back.etf")
		weft(t, 0, "convert", "-q", path, back)
		if got, want := readText(t, back),
			"# about\n# more\nTU SECONDS\nT name=one\nT name=two\nE 0 1 ;\nE 1 2 ;\n"; got != want {
			t.Errorf("%s: found %q, expected %q", name, got, want)
		}
	}
	cut := filepath.Join(dir, "cut.etf")
	if out := weft(t, 0, "cut", "--from", "1s", from, cut); strings.Contains(out, "comment") {
		t.Errorf("found losses %s, expected none of comments", out)
	}
	if got, want := readText(t, cut), "# about\nTU SECONDS\nT name=one\nT name=two\nE 1 2 ;\n# more\n"; got != want {
		t.Errorf("cut: found %q, expected %q", got, want)
	}
}

// TestByteOrderMark checks that a byte-order mark is not taken as a part of the first line.
func TestByteOrderMark(t *testing.T) {
	for name, text := range map[string]string{
		"x.etf": "TU HOURS\nE 0 1 ;\n",
		"x.trf": "-3 -901 0.0 0 0 0\n-3 1 0.5 0 0 0\n-4 1 0.75 0 0 0\n-4 -901 1.0 0 0 0\n",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		var out [2]string
		for i, mark := range []string{"", "\uFEFF"} {
			if err := os.WriteFile(path, []byte(mark+text), 0o644); err != nil {
				t.Fatal(err)
			}
			out[i] = weft(t, 0, "print", path)
			weft(t, 0, "check", path)
			weft(t, 0, "convert", path, filepath.Join(dir, "copy-"+name))
			out[i] += readText(t, filepath.Join(dir, "copy-"+name))
		}
		if out[0] != out[1] {
			t.Errorf("%s: found %s after a mark, expected %s", name, out[1], out[0])
		}
	}
}

// readText returns the text of a file.
func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestTRACEBlankLines checks that edits of a TRACE file keep its blank lines and the places of its comments.
func TestTRACEBlankLines(t *testing.T) {
	const text = "\n# head\n\n# about\nTU MICROSECONDS\n \nT title=x\n\n# resources\nR 0 10 false ; name=CPU\n\n\n" +
		"# claims\nC 0 0 3 0 2 ; name=a\n\nC 1 4 9 0 2 ; name=b\n# event\n\nE 0 2 ; name=e\n\nS 0 ; name=s\n\n" +
		"F 0 0 5 1 0 0\n# middle\n\nF 0 5 9 1 2 0\n# tail\n\n# end\n\n"
	in := textFile(t, "in.etf", text)
	removed := strings.Replace(text, "\nC 1 4 9 0 2 ; name=b\n", "", 1)
	for _, c := range []struct{ command, want string }{
		{"repair", text}, {"filter", text}, {"cut --from=0%", text}, {"merge", text},
		{"align", text}, {"filter --not-region=b", removed},
	} {
		out := filepath.Join(t.TempDir(), "out.etf")
		weft(t, 0, append(append(strings.Fields(c.command), "-q"), in, out)...)
		if got := readText(t, out); got != c.want {
			t.Errorf("%s: found %q, expected %q", c.command, got, c.want)
		}
	}
}
