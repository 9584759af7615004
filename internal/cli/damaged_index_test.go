package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// An index in the cache that is damaged in the middle is made anew by what draws from it, and
// the picture is the same.
func TestDamagedIndex(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("WEFT_CACHE", filepath.Join(dir, "cache"))
	in, picture := filepath.Join(dir, "t.otf2"), filepath.Join(dir, "t.png")
	run(t, "generate", "--workload", "stencil", "--locations", "8", "--events", "20000", "--seed", "1", in)
	run(t, "plot", "-q", "--index", "-o", picture, in)
	want, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"plot", "-q", "--index", "-o", picture, in}, {"report", "-q", "-o", filepath.Join(dir, "t.html"), in}} {
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
		run(t, args...)
		run(t, "plot", "-q", "--index", "-o", picture, in)
		if got, err := os.ReadFile(picture); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: found another picture than before the damage, %v", args[0], err)
		}
	}
}
