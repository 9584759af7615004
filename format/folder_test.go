package format_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
)

// TestNonUTF8Names checks that files whose names are invalid UTF-8 can be opened, and that names
// that lead out of the folder are still refused.
func TestNonUTF8Names(t *testing.T) {
	dir := t.TempDir()
	name := "x\xff\xfe.trf"
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("here"), 0o600); err != nil {
		t.Skip(err)
	}
	src := format.FileSource(path)
	f, size, err := src.Open()
	if err != nil || size != 4 {
		t.Fatalf("found %d bytes, %v", size, err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); string(b) != "here" {
		t.Errorf("found %q, %v", b, err)
	}
	if st, err := fs.Stat(src.FS, name); err != nil || st.Size() != 4 {
		t.Errorf("found %v, %v", st, err)
	}
	inside := filepath.Join(dir, "inside")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := format.FileSource(filepath.Join(inside, "a")).OpenName("../" + name); err == nil {
		t.Error("a file outside of the folder was opened")
	}
}
