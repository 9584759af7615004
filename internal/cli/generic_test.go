package cli

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGenericEventsInPICL converts a Pallas trace with generic events to PICL. The events are marks of a labelled event
// type, at the times that pallas_print shows, with and without --plain.
func TestGenericEventsInPICL(t *testing.T) {
	const dir = "../../format/pallas/testdata/ok/cfg_ZSTD_Masking/"
	f, err := os.Open(dir + "print_T.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	printed, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^ *(\S+) +init$`).FindAllSubmatch(printed, -1) {
		want = append(want, strings.TrimRight(string(m[1]), "0"))
	}
	if len(want) != 1500 {
		t.Fatalf("pallas_print shows %d generic events, expected 1500", len(want))
	}
	for _, plain := range []string{"--plain=false", "--plain"} {
		path := filepath.Join(t.TempDir(), "x.trf")
		weft(t, 0, "convert", "-q", "--allow-loss", plain, dir+"trace/main.pallas", path)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		label := regexp.MustCompile(`(?m)^-5 (\d{7}) -1\.0* -1 -1 4 0 init$`).FindSubmatch(text)
		if label == nil {
			t.Fatalf("%s: found no label for the event type of generic events", plain)
		}
		var found []string
		for _, m := range regexp.MustCompile(`(?m)^-2 `+string(label[1])+` (\S+) 0 0 0$`).FindAllSubmatch(text, -1) {
			found = append(found, strings.TrimRight(string(m[1]), "0"))
		}
		if a, b := strings.Join(found, " "), strings.Join(want, " "); a != b {
			t.Errorf("%s: found marks at\n%.300s\nexpected\n%.300s", plain, a, b)
		}
		if a, b := weft(t, 0, "print", dir+"trace/main.pallas"), weft(t, 0, "print", path); plain != "--plain" && a != b {
			t.Errorf("weft print shows other events after the conversion")
		}
	}
}
