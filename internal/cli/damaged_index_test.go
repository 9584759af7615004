package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// TestDamagedIndex checks that commands that draw build an index again if it is damaged in the
// middle, and draw the same picture.
func TestDamagedIndex(t *testing.T) {
	effort.Sequential(t)
	dir := t.TempDir()
	t.Setenv("WEFT_CACHE", filepath.Join(dir, "cache"))
	in, picture := filepath.Join(dir, "t.otf2"), filepath.Join(dir, "t.png")
	runReport(t, "generate", "--workload", "stencil", "--locations", "8", "--events", "20000", "--seed", "1", in)
	runReport(t, "plot", "-q", "--index", "-o", picture, in)
	want, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"plot", "-q", "--index", "-o", picture, in},
		{"report", "-q", "-o", filepath.Join(dir, "t.html"), in}} {
		list, err := filepath.Glob(filepath.Join(dir, "cache", "*.weftidx"))
		if err != nil || len(list) != 1 {
			t.Fatalf("found %q, %v, expected an index", list, err)
		}
		b, err := os.ReadFile(list[0])
		if err != nil {
			t.Fatal(err)
		}
		for i := 16; i < len(b)/2; i += 50 {
			b[i] ^= 0xff
		}
		if err := os.WriteFile(list[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
		runReport(t, args...)
		runReport(t, "plot", "-q", "--index", "-o", picture, in)
		if got, err := os.ReadFile(picture); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: found another picture than before the damage, %v", args[0], err)
		}
	}
}

// TestIndexFindsDamage checks that weft index finds damage anywhere in an existing index, reports
// it and builds the index again.
func TestIndexFindsDamage(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("WEFT_CACHE", filepath.Join(dir, "cache"))
	in := filepath.Join(dir, "t.otf2")
	runReport(t, "generate", "--workload", "stencil", "--locations", "4", "--events", "5000", "--seed", "1", in)
	index := func() (r indexResult) {
		t.Helper()
		if err := json.Unmarshal(runReport(t, "index", "-j", "1", "--json", in), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	made := index()
	if !made.Built || made.Damage != "" {
		t.Errorf("found %+v, expected an index that was made", made)
	}
	want, err := os.ReadFile(made.Index)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		b := bytes.Clone(want)
		at := 8 + (len(b)-9)*i/11
		b[at] ^= 1
		if err := os.WriteFile(made.Index, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := index(); !r.Built || r.Damage == "" {
			t.Errorf("byte %d of %d: found %+v, expected that it was made anew", at, len(b), r)
		}
		if got, err := os.ReadFile(made.Index); err != nil || !bytes.Equal(got, want) {
			t.Errorf("byte %d of %d: found another index than before, %v", at, len(b), err)
		}
		if r := index(); r.Built || r.Damage != "" {
			t.Errorf("byte %d of %d: found %+v, expected that it was there", at, len(b), r)
		}
	}
	if text := runReport(t, "index", in); !bytes.Contains(text, []byte("was there")) {
		t.Errorf("found %q", text)
	}
	if err := os.WriteFile(made.Index, want[:len(want)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if text := runReport(t, "index", in); !bytes.Contains(text, []byte("made anew, as it was damaged")) {
		t.Errorf("found %q", text)
	}
}

// TestIndexIsKept checks that weft index fails if no index can be kept, instead of building a
// temporary one.
func TestIndexIsKept(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems do not let a variable say where the user's cache is")
	}
	dir := t.TempDir()
	in := filepath.Join(dir, "t.trf")
	runReport(t, "generate", "--events", "100", in)
	t.Setenv("WEFT_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(in, "x"))
	var out, errs bytes.Buffer
	if code := Main([]string{"index", in}, strings.NewReader(""), &out, &errs); code != exitIO || out.Len() > 0 ||
		!strings.Contains(errs.String(), "cannot keep indexes") {
		t.Errorf("found exit code %d, %q, %q", code, out.String(), errs.String())
	}
	runReport(t, "index", "-o", filepath.Join(dir, "x.weftidx"), in)
}

// TestIndexToLink checks that an index replaces the target of a link, with its permissions, and no device.
func TestIndexToLink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target.weftidx"), filepath.Join(dir, "link")
	weft(t, 0, "index", "-o", target, "../../examples/ring.trf")
	if err := os.Chmod(target, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	before, err := os.Stat(target)
	if err != nil {
		t.Fatal(err)
	}
	weft(t, 0, "index", "-o", link, "../../examples/odse.etf")
	st, err := os.Lstat(link)
	if err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("found %v (%v) in place of the link", st, err)
	}
	after, err := os.Stat(target)
	if err != nil || after.Size() == before.Size() || after.Mode().Perm() != 0o640 {
		t.Errorf("found the target %v (%v), expected another index with the permissions 640", after, err)
	}
	device := filepath.Join(dir, "device")
	if err := os.Symlink(os.DevNull, device); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := runWeft(t, "index", "-o", device, "--force", "../../examples/ring.trf"); code == 0 ||
		!strings.Contains(errs, "expected a file") {
		t.Errorf("index to a device: exit code %d: %s", code, errs)
	}
}
