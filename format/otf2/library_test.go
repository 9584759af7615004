package otf2

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/await"
	"github.com/weft-trace/weft/internal/effort"
)

// libraryWriter builds the program that writes archives with OTF2's own library. The returned function writes
// an archive into a new folder and returns the path of the anchor file.
func libraryWriter(t *testing.T) (write func(seed, events int) string) {
	t.Helper()
	for tool, pkg := range map[string]string{"otf2-config": "libotf2-trace-dev", "cc": "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (Debian package %s)", tool, pkg)
		}
	}
	run := func(name string, args ...string) []byte {
		t.Helper()
		var errs bytes.Buffer
		c := exec.CommandContext(await.Context(t), name, args...)
		c.Stderr = &errs
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, lastLines(errs.Bytes()))
		}
		return out
	}
	program := filepath.Join(t.TempDir(), "otf2-all")
	args := []string{"-o", program, "testdata/programs/otf2-all.c"}
	for _, what := range []string{"--cflags", "--ldflags", "--libs"} {
		args = append(args, strings.Fields(string(run("otf2-config", what)))...)
	}
	run("cc", args...)
	return func(seed, events int) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "archive")
		run(program, dir, fmt.Sprint(seed), fmt.Sprint(events))
		return filepath.Join(dir, "all.otf2")
	}
}

// TestLibraryPrint checks that archives of OTF2's own library print as otf2-print prints them. The archives
// have every kind of definition, event, attribute and record of snapshots.
func TestLibraryPrint(t *testing.T) {
	effort.Sequential(t)
	tool, err := exec.LookPath("otf2-print")
	if err != nil {
		t.Skip("otf2-print is not installed (Debian package otf2-tools)")
	}
	write := libraryWriter(t)
	for seed := range effort.Rounds(6) {
		anchor := write(seed, 300+seed%3*2000)
		want, err := exec.Command(tool, "-A", anchor).Output()
		if err != nil {
			t.Fatalf("seed %d: %v: %s", seed, err, lastLines(want))
		}
		if sameLines(t, compat(t, anchor), want); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestLibrarySnapshots reads the snapshots and thumbnails of an archive that a C program wrote with OTF2's own
// library. It checks that their records have the values and the order of the program's calls, and that their number is
// the one that the files announce.
func TestLibrarySnapshots(t *testing.T) {
	a, err := Open(format.FileSource(libraryWriter(t)(2, 300)))
	if err != nil {
		t.Fatal(err)
	}
	if a.Anchor.Snapshots != 3 || a.Anchor.Thumbnails != 3 {
		t.Errorf("%d snapshots, %d thumbnails", a.Anchor.Snapshots, a.Anchor.Thumbnails)
	}
	for _, location := range []uint64{0, 1, 7, 1 << 33, 1 << 40} {
		s, err := a.Snapshots(location)
		if err != nil {
			t.Fatal(err)
		}
		starts, ends, left := 0, 0, uint64(0)
		for {
			e, err := s.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch e.ID {
			case snapshotStart:
				starts++
				left = e.Values[0]
			case snapshotEnd:
				if ends++; left != 0 {
					t.Errorf("location %d: %d records less than announced", location, left)
				}
			default:
				if left--; e.Values[0] > e.Time {
					t.Errorf("location %d: at %d what happened at %d", location, e.Time, e.Values[0])
				}
			}
		}
		s.Close()
		if starts != 3 || ends != 3 {
			t.Errorf("location %d: %d beginnings of snapshots, %d ends", location, starts, ends)
		}
	}
	for k, want := range []struct {
		texts   []string
		samples uint64
	}{{[]string{"regions", "what it shows"}, 4}, {[]string{"", ""}, 4}, {[]string{"attributes", "what it shows"}, 60000}} {
		header, samples := Record{}, uint64(0)
		if err := a.Thumbnail(k, func(_ int64, r *Record) error {
			if r.ID == thumbnailHeader {
				header = Record{r.ID, slices.Clone(r.Values), slices.Clone(r.Texts)}
				return nil
			}
			if r.Values[0] != samples || r.Values[1] != header.Values[4] {
				t.Errorf("thumbnail %d: sample %d: %d", k, samples, r.Values)
			}
			samples++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(header.Texts, want.texts) || header.Values[2] != uint64(k) || header.Values[3] != want.samples ||
			samples != want.samples {
			t.Errorf("thumbnail %d: %v, %d samples, want %v with %d", k, header, samples, want.texts, want.samples)
		}
	}
}
