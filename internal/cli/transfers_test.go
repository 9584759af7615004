package cli

import (
	"regexp"
	"strings"
	"testing"
)

// TestTransfersInOTF2 converts transfers of OTF, which belong to a communicator, to OTF2, which needs a window. A put
// whose end is recorded at the target is a put, too. Its end matches nothing there, because OTF2 matches the operations
// of one location.
func TestTransfersInOTF2(t *testing.T) {
	path := writeTrace(t, map[string]string{
		".otf":      "1:1,2\n",
		".0.def":    "DTR3b9aca00\nDP1NM\"p\"\nDP2NM\"q\"\nDPG1M1,2,NM\"all\"\n",
		".1.events": "2\n*1\nT1P2C1T7L40\n5\nM2C1T7\n6\nG1P2C1T8L20\n8\nM2C1T8\n9\nU1P2C1T9L10\na\n*2\nM1C1T9\n",
	})
	want := `RMA_PUT 0 2 Window: "memory of all" <0>, Remote: 1 ("q" <1>), Bytes: 64, Matching: 7
RMA_OP_COMPLETE_BLOCKING 0 5 Window: "memory of all" <0>, Matching: 7
RMA_GET 0 6 Window: "memory of all" <0>, Remote: 1 ("q" <1>), Bytes: 32, Matching: 8
RMA_OP_COMPLETE_BLOCKING 0 8 Window: "memory of all" <0>, Matching: 8
RMA_PUT 0 9 Window: "memory of all" <0>, Remote: 1 ("q" <1>), Bytes: 16, Matching: 9
RMA_OP_COMPLETE_BLOCKING 1 10 Window: "memory of all" <0>, Matching: 9`
	for _, plain := range []string{"--plain=false", "--plain"} {
		there := t.TempDir() + "/x.otf2"
		weft(t, 0, "convert", "-q", "--allow-loss", plain, path, there)
		printed, _ := runTool(t, there, "otf2-print")
		if printed == nil {
			t.Skip("otf2-print is not installed")
		}
		var found []string
		for _, line := range regexp.MustCompile(`(?m)^RMA_.*$`).FindAllString(string(printed), -1) {
			found = append(found, strings.Join(strings.Fields(line), " "))
		}
		if got := strings.Join(found, "\n"); got != want {
			t.Errorf("%s: otf2-print prints\n%s\nexpected\n%s", plain, got, want)
		}
		if plain == "--plain" {
			continue
		}
		if a, b := weft(t, 0, "print", "-q", path), weft(t, 0, "print", "-q", there); a != b {
			t.Errorf("weft print shows\n%s\nexpected\n%s", b, a)
		}
	}
}
