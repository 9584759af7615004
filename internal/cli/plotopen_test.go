package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPicturesOfOpenVisits checks that the visits of a trace that ends too early last until the last event of their
// location in pictures of some regions or kinds, too, as weft profile counts them. The visit of f begins at 1 ms and
// the one of g in it at 5 ms. The last event, at 9 ms, is the visit of another region or a message.
func TestPicturesOfOpenVisits(t *testing.T) {
	trace := func(last string) string {
		return writeTrace(t, map[string]string{
			".otf": "1:1\n", ".0.def": "DTR3e8\nDP1NM\"p\"\nDF1G0NM\"f\"\nDF2G0NM\"g\"\nDF3G0NM\"h\"\n",
			".1.events": "1\n*1\nE1\n5\n*1\nE2\n9\n*1\n" + last + "\n",
		})
	}
	visit, message := trace("E3"), trace("R1L1T0C0")
	dir := t.TempDir()
	for _, x := range []struct {
		path string
		args []string
	}{
		{visit, []string{"plot", "--region", "f"}}, {visit, []string{"plot", "--region", "g"}},
		{message, []string{"plot", "--kind", "enter"}}, {message, []string{"plot", "--messages=false"}},
		{visit, []string{"report", "--region", "f"}},
	} {
		out := filepath.Join(dir, "x.svg")
		if x.args[0] == "report" {
			out = filepath.Join(dir, "x.html")
		}
		mustRun(t, append(x.args, "-q", "--force", "-o", out, x.path)...)
		text := readText(t, out)
		if !strings.Contains(text, ">4 ms exclusive<") || strings.Contains(text, ">1 visit<") {
			t.Errorf("%q: found no 4 ms of exclusive time", x.args)
		}
	}
}
