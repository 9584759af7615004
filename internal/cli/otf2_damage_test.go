package cli

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// TestTruncatedArchive cuts off a file of events at several places. Each command that reads the events must report
// the damage. The archives that commands write must be readable by otf2-print.
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
	for n := 0; n < len(whole); n += effort.Step(len(whole), 8) {
		if err := os.WriteFile(filepath.Join(dir, file), whole[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"convert", "filter --min-duration 0", "cut --to 100%", "merge", "repair",
			"info --details", "profile", "print", "messages"} {
			args, out := strings.Fields(verb), ""
			args = append(args, path)
			switch args[0] {
			case "convert", "filter", "cut", "merge", "repair":
				out = filepath.Join(t.TempDir(), "x.otf2")
				args = append(args, out)
			}
			code, text, errs := runWeft(t, args...)
			if verb == "repair" {
				errs += text // repair lists its repairs on standard output
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

// TestDamagedThumbnailCount checks that commands do not look for as many thumbnails as a damaged anchor file announces,
// and that unknown records of thumbnails are left out.
func TestDamagedThumbnailCount(t *testing.T) {
	path := localArchive(t)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-4] = 0xff // the highest byte of the number of thumbnails, before 02 01 00
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	thumb := strings.TrimSuffix(path, ".otf2") + ".0.thumb"
	b, err = os.ReadFile(thumb)
	if err != nil {
		t.Fatal(err)
	}
	b[18] = 99 // the id of the first record, after the header of the chunk
	if err := os.WriteFile(thumb, b, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"convert", "filter --min-duration 0", "repair -q", "cut --from 50%"} {
		out := filepath.Join(t.TempDir(), "x.otf2")
		code, _, errs := runWeft(t, append(strings.Fields(verb), "--allow-loss", path, out)...)
		if code > 1 {
			t.Errorf("%s: exit code %d: %s", verb, code, errs)
		}
	}
}

// TestDamagedPropertyName checks that a property of the anchor file with a name that OTF2 does not allow is left out
// when an archive is written again.
func TestDamagedPropertyName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.otf2")
	weft(t, 0, "convert", "-q", "--allow-loss", "../../format/etf/testdata/ok/doc-examples.etf", path)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := strings.Replace(string(b), "WEFT::DEFINITIONS::", "WEFT::DEFINITIONS: ", 1)
	if bad == string(b) {
		t.Fatal("the archive has no property")
	}
	writeText(t, path, bad)
	out := filepath.Join(t.TempDir(), "y.otf2")
	if code, _, errs := runWeft(t, "filter", "--min-duration", "0", "--allow-loss", path, out); code != 0 ||
		!strings.Contains(errs, "otf2.damaged") {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if _, text, _ := runWeft(t, "check", out); strings.Contains(text, "otf2.damaged") {
		t.Errorf("check: %s", text)
	}
}

// TestRefusedPropertiesOfOTF2 checks that no written archive has a property with a name that OTF2's library refuses,
// and that the loss table counts the property. otf2-print does not open an archive with such a name.
func TestRefusedPropertiesOfOTF2(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../format/otf2/testdata/ok/rma")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "traces.otf2")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// the number of properties is before the id of the trace, two numbers of 4 bytes, and the end
	at := len(b) - 3 - 8 - 8 - 4
	if n := binary.LittleEndian.Uint32(b[at:]); n != 0 {
		t.Fatalf("found %d properties, expected 0", n)
	}
	b = slices.Concat(b[:at], []byte{2, 0, 0, 0}, []byte("bad name\x00v1\x00GOOD::NAME\x00v2\x00"), b[at+4:])
	if err := errors.Join(os.Remove(path), os.WriteFile(path, b, 0o644)); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{"filter": {"filter", path}, "merge": {"merge", path, path},
		"convert": {"convert", path}, "repair": {"repair", path}} {
		out := filepath.Join(dir, name+".otf2")
		code, printed, _ := runWeft(t, append(args, out)...)
		if code != 0 || !strings.Contains(printed, "OTF2 does not allow the name; the property is left out") {
			t.Errorf("%s: exit code %d, found %s", name, code, printed)
		}
		if _, printed, _ = runWeft(t, "check", out); !strings.Contains(printed, " 0 errors") {
			t.Errorf("%s: check of what was written finds %s", name, printed)
		}
		if _, printed, _ = runWeft(t, "info", out); !strings.Contains(printed, "GOOD::NAME = v2") ||
			strings.Contains(printed, "bad name") {
			t.Errorf("%s: found %s, expected only the property GOOD::NAME", name, printed)
		}
		if _, err := exec.LookPath("otf2-print"); err == nil {
			runTool(t, out, "otf2-print", "-A")
		}
	}
}

// TestRepairClockAndVersion checks that repair defines the clock of an archive without clock properties, and that it
// writes the version of its files: weft check and otf2-print find nothing wrong. The events are at the ticks 1000 to
// 1100, so the trace is 100 ticks long.
func TestRepairClockAndVersion(t *testing.T) {
	for _, x := range []struct {
		name, file, found string
		damage            func(b []byte) []byte
	}{
		{"no clock", "traces.def", "no ClockProperties", func(b []byte) []byte { return slices.Insert(b, 0x1e, 0x89, 0xe4) }},
		{"no resolution", "traces.def", "0 ticks a second", func(b []byte) []byte {
			return slices.Concat(b[:0x12], []byte{5, 15, 0}, b[0x19:])
		}},
		{"version", "traces.otf2", "a trace of version 127", func(b []byte) []byte { b[8] = 127; return b }},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS("../../format/otf2/testdata/ok/rma")); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(filepath.Join(dir, x.file))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, x.file), x.damage(b), 0o666); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "r.otf2")
			code, text, errs := runWeft(t, "repair", filepath.Join(dir, "traces.otf2"), out)
			if code != 0 || !strings.Contains(errs+text, x.found) {
				t.Fatalf("repair: exit code %d, %s%s, expected %q", code, text, errs, x.found)
			}
			if code, text, _ := runWeft(t, "check", out); code != 0 || !strings.Contains(text, "0 errors, 0 warnings") {
				t.Errorf("check: exit code %d, %s", code, text)
			}
			if _, err := exec.LookPath("otf2-print"); err == nil {
				text, _ := runTool(t, out, "otf2-print", "-G")
				if !strings.Contains(string(text), "Global Offset: 1000, Length: 100") {
					t.Errorf("found %s, expected the length of the trace", text)
				}
			}
		})
	}
}
