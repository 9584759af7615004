package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// TestTruncatedArchive checks that each command that reads the events of an archive reports a file of events that is
// cut off, wherever that is, and that what the commands write is an archive that otf2-print reads.
func TestTruncatedArchive(t *testing.T) {
	const file = "eztrace_log/0.evt"
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../format/otf2/testdata/ok/ring")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "eztrace_log.otf2")
	whole, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	_, tool := exec.LookPath("otf2-print")
	for n := 0; n < len(whole); n += effort.Step(len(whole), 16) {
		if err := os.WriteFile(filepath.Join(dir, file), whole[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"convert", "filter --min-duration 0", "cut --to 100%", "merge", "repair", "info --details",
			"profile", "print", "messages"} {
			args, out := strings.Fields(verb), ""
			args = append(args, path)
			switch args[0] {
			case "convert", "filter", "cut", "merge", "repair":
				out = filepath.Join(t.TempDir(), "x.otf2")
				args = append(args, out)
			}
			code, text, errs := runWeft(t, args...)
			if verb == "repair" {
				errs += text // it lists what it repairs
			}
			if code != 0 || !strings.Contains(errs, "0.evt:") || !strings.Contains(errs, "otf2.damaged") {
				t.Fatalf("%s of %d bytes: exit code %d: %s", verb, n, code, errs)
			}
			if out != "" && tool == nil {
				runTool(t, out, "otf2-print", "-A")
			}
		}
		if code, _, errs := runWeft(t, "convert", "--strict", path, filepath.Join(t.TempDir(), "x.otf2")); code != 1 {
			t.Fatalf("strict, %d bytes: exit code %d: %s", n, code, errs)
		}
	}
}

// TestDamagedStates checks that commands report snapshots, thumbnails and markers of an archive that are cut off or
// missing.
func TestDamagedStates(t *testing.T) {
	marked := t.TempDir()
	if err := os.CopyFS(marked, os.DirFS("../../format/otf2/testdata/ok/heat2d-mt")); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ path, ending string }{{localArchive(t), "/0.snap"}, {localArchive(t), ".0.thumb"},
		{filepath.Join(marked, "traces.otf2"), ".marker"}} {
		name := strings.TrimSuffix(x.path, ".otf2") + x.ending
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{-1, 0, 20, len(b) / 2, len(b) - 3, len(b) - 2} {
			os.Remove(name)
			if n >= 0 {
				if err := os.WriteFile(name, b[:n], 0o666); err != nil {
					t.Fatal(err)
				}
			} else if x.ending == ".marker" {
				continue // an archive need not have markers
			}
			for _, verb := range []string{"convert", "filter --min-duration 0", "cut --to 100%"} {
				out := filepath.Join(t.TempDir(), "x.otf2")
				code, _, errs := runWeft(t, append(strings.Fields(verb), x.path, out)...)
				want, rule := 0, "otf2.damaged"
				if n < 0 {
					want, rule = 1, "otf2.missing-file"
				}
				if code != want || !strings.Contains(errs, rule) || !strings.Contains(errs, filepath.Base(name)) {
					t.Errorf("%s: %s of %d bytes: exit code %d, expected %d and %s: %s", verb, x.ending, n, code, want, rule, errs)
				}
			}
		}
	}
}
