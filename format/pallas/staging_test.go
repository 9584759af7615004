package pallas

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLetter_1_name checks the name of the main file that weft writes for the name of a trace: the format has a folder
// for each trace, and its writer appends .pallas to names that do not end in it. A trace replaces the one that was
// written for the same name.
func TestLetter_1_name(t *testing.T) {
	main, err := os.ReadFile("testdata/ok/minimal/trace/main.pallas")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ held, path, want string }{ // held is a folder, or the main file of a trace
		{"", "t", "t.pallas"},
		{"", "t.pallas", "t.pallas"},
		{"", "t.out", "t.out.pallas"},
		{"archive_1/", "t", "t/t.pallas"},
		{"archive_1/", "t.pallas", "t/t.pallas"},
		{"t/", "t", "t/main.pallas"},
		{"", "t/", "t/main.pallas"},
		{"t", "t", "t"},
		{"t.pallas", "t", "t.pallas"},
		{"t/t.pallas", "t", "t/t.pallas"},
		{"t/t.pallas", "t/", "t/t.pallas"},
		{"t/x.pallas", "t", "t/main.pallas"},
	} {
		dir, slash := t.TempDir(), string(filepath.Separator)
		held := dir + slash + filepath.FromSlash(test.held)
		if err := os.MkdirAll(filepath.Dir(held), 0o777); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(held, slash) {
			if err := os.WriteFile(held, main, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if found, want := mainFileName(dir+slash+filepath.FromSlash(test.path)),
			filepath.Join(dir, filepath.FromSlash(test.want)); found != want {
			t.Errorf("%s beside %q: found %s, expected %s", test.path, test.held, found, want)
		}
	}
}
