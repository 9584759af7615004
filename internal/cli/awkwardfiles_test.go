package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLineEndInName checks that a message about a name with a line end has one line.
func TestLineEndInName(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "no\nfile.etf")
	want := "weft: " + filepath.Join(dir, `no\nfile.etf`) + ": no such file or directory\n"
	if code, _, errs := runWeft(t, "info", name); code != exitIO || errs != want {
		t.Errorf("found exit code %d, %q, expected %q", code, errs, want)
	}
}

// TestStandardInputTwice checks that a command does not take standard input for two traces: the second one would be
// empty.
func TestStandardInputTwice(t *testing.T) {
	var out, errs bytes.Buffer
	args := []string{"merge", "-q", "-", "-", filepath.Join(t.TempDir(), "out.etf")}
	code := Main(args, strings.NewReader("TU SECONDS\nE 0 1 ;\n"), &out, &errs)
	if want := "weft: -: found standard input twice, expected it once\n"; code != exitUsage || errs.String() != want {
		t.Errorf("found exit code %d, %q, expected %q", code, errs.String(), want)
	}
}

// TestLinkWithoutTarget checks that an output creates the missing target of a link, as the shell's > does, and keeps
// the link.
func TestLinkWithoutTarget(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "scratch"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{filepath.Join("scratch", "a.etf"), filepath.Join(dir, "scratch", "b.etf")} {
		link := filepath.Join(dir, filepath.Base(target))
		if err := os.Symlink(target, link); err != nil {
			t.Skip(err)
		}
		weft(t, exitGood, "convert", "-q", "../../examples/odse.etf", link)
		if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
			t.Errorf("found %v (%v) in place of the link", st, err)
		}
		if st, err := os.Lstat(filepath.Join(dir, "scratch", filepath.Base(target))); err != nil || !st.Mode().IsRegular() {
			t.Errorf("found the target %v (%v), expected a file", st, err)
		}
	}
}

// TestDistantTimesOfSelection checks that a report of a part of a trace whose times are 2^62 ticks or more apart says
// so, as the report of the whole trace does.
func TestDistantTimesOfSelection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "far.etf")
	text := "TU NANOSECONDS\nR 0 1 false ; name=r\nE 0 -4611686018427387904 ;\nE 1 4611686018427387903 ;\n" +
		"C 0 -4611686018427387904 4611686018427387903 0 1 ; name=A\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"--location", "*"}} {
		code, out, errs := runWeft(t, append([]string{"report", "-q", "-o", "-", path}, args...)...)
		if code != exitGood || !strings.Contains(out, "found times that are 2^62 ticks or more apart") {
			t.Errorf("%q: found exit code %d, %q, %q", args, code, out, errs)
		}
	}
}

// TestCompatWithoutProcess checks that a damaged trace is no failure of input: print --compat ends with the exit code
// of defects if the master file names no process. otfprint does not open such a trace either.
func TestCompatWithoutProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.otf")
	if err := os.WriteFile(path, []byte("1 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	code, _, errs := runWeft(t, "print", "-q", "--compat", path)
	if code != exitDefects || !strings.Contains(errs, path+": ") || !strings.Contains(errs, "found no process") {
		t.Errorf("found exit code %d, %q", code, errs)
	}
}
