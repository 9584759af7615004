package serve

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPanelOfEachFinding checks that the page has a panel with the figures of each type of finding. Without one, the
// panel of findings shows nothing.
func TestPanelOfEachFinding(t *testing.T) {
	api, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	if err := json.Unmarshal(regexp.MustCompile(`\[\s*"late",[^]]*\]`).Find(api), &types); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../web/src/panels/findings.ts")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "const sources:")
	list, _, _ = strings.Cut(list, "\n};\n")
	var shown []string
	for _, m := range regexp.MustCompile(`(?m)^  "?([a-z-]+)"?: \{ panel:`).FindAllStringSubmatch(list, -1) {
		shown = append(shown, m[1])
	}
	slices.Sort(types)
	slices.Sort(shown)
	if !slices.Equal(types, shown) {
		t.Errorf("found panels for %q, expected %q", shown, types)
	}
}
