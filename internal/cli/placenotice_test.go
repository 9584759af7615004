package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoticeOfName checks the line about the name of the main file of a Pallas trace. A folder gets a file main.pallas,
// and a folder that holds another trace gets none. The line comes only if a trace is written.
func TestNoticeOfName(t *testing.T) {
	full, fresh := filepath.Join(t.TempDir(), "full"), filepath.Join(t.TempDir(), "fresh")
	if err := os.Mkdir(full, 0o755); err != nil {
		t.Fatal(err)
	}
	in := realTraces["otf"]
	weft(t, 0, "convert", "-q", in, filepath.Join(full, "a.pallas"))
	slash := string(filepath.Separator)
	for _, x := range []struct {
		args []string
		code int
		want string // text of the line, or "" if there is none
	}{
		{[]string{"--option", "pallas.level=23", in, filepath.Join(t.TempDir(), "level") + slash}, exitUsage, ""},
		{[]string{in, full + slash}, exitUsage, ""},
		{[]string{in, fresh + slash}, 0, "because " + fresh + slash + " is a folder\n"},
		{[]string{in, fresh}, 0, "because " + fresh + " is a folder\n"},
		{[]string{in, filepath.Join(full, "b")}, 0, "because it needs a separate folder\n"},
		{[]string{in, filepath.Join(t.TempDir(), "c")}, 0, "because the name of its main file ends in .pallas\n"},
	} {
		code, _, errs := runWeft(t, append([]string{"convert", "--to", "pallas"}, x.args...)...)
		if code != x.code || strings.Contains(errs, "writes the trace to") != (x.want != "") ||
			!strings.Contains(errs, x.want) {
			t.Errorf("%q: exit code %d, found %q, expected exit code %d and %q", x.args, code, errs, x.code, x.want)
		}
	}
}
