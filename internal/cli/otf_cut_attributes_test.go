package cli

import (
	"encoding/hex"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestCutAttributesOfOTF checks that print shows the attributes of a piece of an OTF trace as texts. The values are
// those that otfprint shows in hexadecimal.
func TestCutAttributesOfOTF(t *testing.T) {
	out := filepath.Join(t.TempDir(), "piece.otf")
	weft(t, 0, "cut", "-q", "--from", "30%", "--to", "60%", "../../format/otf/testdata/ok/mpi4/mpi4.otf", out)
	printed, _ := runTool(t, out, "otfprint", "--fullkeyvalue")
	if printed == nil {
		t.Skip("otfprint is not installed")
	}
	key := regexp.MustCompile(`DefKeyValue: .*token (\d+), type BYTE_ARRAY, name "cut.began"`).FindSubmatch(printed)
	if key == nil {
		t.Fatalf("otfprint prints no attribute cut.began:\n%s", printed)
	}
	var want, found []string
	value := regexp.MustCompile(`[ ,]` + string(key[1]) + `:([0-9A-F]+)`)
	for _, m := range value.FindAllSubmatch(printed, -1) {
		text, err := hex.DecodeString(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, string(text))
	}
	for _, m := range regexp.MustCompile(`cut\.began=(\S+)`).FindAllStringSubmatch(weft(t, 0, "print", "-q", out), -1) {
		found = append(found, m[1])
	}
	slices.Sort(want)
	slices.Sort(found)
	if len(want) == 0 || !slices.Equal(found, want) {
		t.Errorf("print shows %q, otfprint %q", found, want)
	}
}
