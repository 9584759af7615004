package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestFewFiles checks that weft reads traces of 64 streams, several of them at once, in a process that
// may have 16 files open.
func TestFewFiles(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, command := range [][]string{
		{"generate", "--locations", "64", "--events", "20000", "--option", "otf.streams=0", in("a.otf")},
		{"convert", "-q", in("a.otf"), in("b.otf2")},
		{"convert", "-q", in("a.otf"), in("c.pallas")},
	} {
		if code, out, errs := runWeft(t, command...); code != 0 {
			t.Fatalf("%q: exit code %d: %s%s", command, code, out, errs)
		}
	}
	a, b, c := in("a.otf"), in("b.otf2"), in("c/c.pallas")
	if _, err := os.Stat(c); err != nil {
		c = in("c.pallas")
	}
	for _, command := range [][]string{
		{"profile", a},
		{"merge", a, a, a, in("x.otf")},
		{"merge", b, b, b, in("y.otf2")},
		{"merge", c, c, c, in("z.etf")},
		{"merge", a, b, c, a, b, c, in("m.otf")},
	} {
		x := weftProgram(t, in("cache"), slices.Insert(slices.Clone(command), 1, "-q")...)
		x.Args = append([]string{"sh", "-c", `ulimit -n 16 && exec "$0" "$@"`, x.Path}, x.Args[1:]...)
		sh, err := exec.LookPath("sh")
		if err != nil {
			t.Skip(err)
		}
		x.Path = sh
		if out, err := x.CombinedOutput(); err != nil {
			t.Errorf("%q: %v: %.400s", command, err, out)
		}
	}
}
