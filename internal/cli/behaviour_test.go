package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBehaviourOfLongTexts checks 2000 objects, each with a claim A and a claim B. The text is so long that it is
// read in several buffers. The order of the attributes has no meaning.
func TestBehaviourOfLongTexts(t *testing.T) {
	var b strings.Builder
	b.WriteString("TU SECONDS\nR 0 1 false ; name=CPU\n")
	for i := range 20000 {
		attrs := fmt.Sprintf("name=%s, step=%d", []string{"A", "B"}[i%2], i%10)
		if i%3 == 0 {
			attrs = fmt.Sprintf("step=%d, name=%s", i%10, []string{"A", "B"}[i%2])
		}
		fmt.Fprintf(&b, "C %d %d %d 0 1 ; %s, id=%d\n", i, 2*i, 2*i+2, attrs, i/10)
	}
	path := filepath.Join(t.TempDir(), "t.etf")
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	out := weft(t, exitGood, "behaviour", "--by", "id", path)
	if !strings.HasPrefix(out, "2000 objects, 20000 claims, 1 class") {
		t.Errorf("found %.200s", out)
	}
}
