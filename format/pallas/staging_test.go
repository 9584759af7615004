package pallas

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLetter_1_name checks the name of the main file that weft writes for the name of a trace: the format has a folder
// for each trace, and its writer appends .pallas to names that do not end in it.
func TestLetter_1_name(t *testing.T) {
	for _, test := range []struct{ held, path, want string }{
		{"", "t", "t.pallas"},
		{"", "t.pallas", "t.pallas"},
		{"", "t.out", "t.out.pallas"},
		{"archive_1/", "t", "t/t.pallas"},
		{"archive_1/", "t.pallas", "t/t.pallas"},
		{"t/", "t", "t/main.pallas"},
		{"", "t/", "t/main.pallas"},
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, test.held), 0o777); err != nil {
			t.Fatal(err)
		}
		slash := string(filepath.Separator)
		if found, want := mainFileName(dir+slash+filepath.FromSlash(test.path)),
			filepath.Join(dir, filepath.FromSlash(test.want)); found != want {
			t.Errorf("%s beside %q: found %s, expected %s", test.path, test.held, found, want)
		}
	}
}
