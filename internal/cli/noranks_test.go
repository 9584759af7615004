package cli

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// noRanks returns an archive with ranks that its communicator does not have, and with attributes that refer to a place
// in the source and to an interrupt generator.
func noRanks(t *testing.T, flags ...string) string {
	path := filepath.Join(t.TempDir(), "in", "traces.otf2")
	args := append([]string{"testdata/programs/noranks.py", filepath.Dir(path)}, flags...)
	out, err := exec.Command(pythonOTF2(t), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// TestRanksWithoutLocationReturn converts an archive to each other format and back. otf2-print must then print the same
// events: a rank that no location has is the rank of the message again.
func TestRanksWithoutLocationReturn(t *testing.T) {
	path := noRanks(t)
	number := regexp.MustCompile(`<\d+>`) // definitions may get other ids
	events := func(path string) string {
		out, _ := runTool(t, path, "otf2-print")
		if out == nil {
			t.Skip("otf2-print is not installed")
		}
		_, out, _ = bytes.Cut(out, []byte("Events"))
		return number.ReplaceAllString(string(out), "")
	}
	want := events(path)
	for _, rank := range []string{"Receiver: 4294967294 (INVALID)", "Receiver: 5 (INVALID)", "Sender: UNDEFINED"} {
		if !strings.Contains(want, rank) {
			t.Fatalf("the archive has no %s:\n%s", rank, want)
		}
	}
	for _, ext := range []string{"otf", "etf", "trf", "pallas"} {
		there, back := filepath.Join(t.TempDir(), "a."+ext), filepath.Join(t.TempDir(), "back.otf2")
		weft(t, 0, "convert", "-q", "--option", "pallas.requests=keep", path, there)
		weft(t, 0, "convert", "-q", there, back)
		if got := events(back); got != want {
			t.Errorf("back from %s, otf2-print prints\n%s\nexpected\n%s", ext, got, want)
		}
	}
}

// TestKeysHaveTypesOfTheirValues converts attributes that are numbers of definitions to OTF. otfprint prints the value
// of the key as a number, and the definition of the key must say so.
func TestKeysHaveTypesOfTheirValues(t *testing.T) {
	there := filepath.Join(t.TempDir(), "a.otf")
	weft(t, 0, "convert", "-q", noRanks(t), there)
	printed, _ := runTool(t, there, "otfprint")
	if printed == nil {
		t.Skip("otfprint is not installed")
	}
	for _, name := range []string{"place", "generator"} {
		want := `type UINT64, name "` + name + `"`
		if !strings.Contains(string(printed), want) {
			t.Errorf("otfprint does not print %s:\n%s", want, printed)
		}
	}
}

// TestRowForRanksOfSmallCommunicators converts a message to rank 1 of a communicator of one location, in an archive
// of two, to OTF and back. The written communicator could have the rank, so that otf2-print prints no rank, and the
// loss table says so. A rank beyond all locations is in the record again, and has no row.
func TestRowForRanksOfSmallCommunicators(t *testing.T) {
	for rank, c := range map[string]struct {
		rows    int
		printed string
	}{
		"1": {1, "Receiver: UNDEFINED"},
		"2": {0, "Receiver: 2 (INVALID)"},
	} {
		there, back := filepath.Join(t.TempDir(), "a.otf"), filepath.Join(t.TempDir(), "back.otf2")
		weft(t, 0, "convert", "-q", noRanks(t, rank), there)
		_, out, _ := runWeft(t, "convert", "-q", there, back)
		if n := strings.Count(out, "in the attribute otf2.rank; other tools see no rank"); n != c.rows {
			t.Errorf("rank %s: found %s\nexpected %d rows for the rank", rank, out, c.rows)
		}
		if printed, _ := runTool(t, back, "otf2-print"); printed != nil && !strings.Contains(string(printed), c.printed) {
			t.Errorf("rank %s: otf2-print prints no %s:\n%s", rank, c.printed, printed)
		}
	}
}
