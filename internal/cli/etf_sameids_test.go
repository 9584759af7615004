package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// sameIDs is a TRACE file in which several claims, and two events, have the id 1. A dependency with the id 1
// belongs to the claim or event with this id that begins first.
const sameIDs = `TU SECONDS
R 0 9 false ;
R 1 9 false ;
C 1 5 9 0 1 ; name=late
C 1 0 8 0 1 ; name=a
C 1 2 4 0 1 ; name=b
C 1 1 6 1 1 ; name=c
E 1 7.5 ; name=k
E 1 7 ; name=l
D 1 5 1 1 ;
D 2 6 1 1 ;
`

// TestDependenciesOfSameIDs checks that dependencies belong to the same claims and events after each command. It
// also checks that a command that drops some of the claims with one id drops exactly these claims.
func TestDependenciesOfSameIDs(t *testing.T) {
	const (
		head   = "TU SECONDS\nR 0 9 false ;\nR 1 9 false ;\n"
		events = "E 1 7 ; name=l\nE 1 7.5 ; name=k\n"
		links  = "D 1 5 1 1 ;\nD 2 6 1 1 ;\n"
		all    = head + "C 1 0 8 0 1 ; name=a\nC 1 1 6 1 1 ; name=c\nC 1 2 4 0 1 ; name=b\nC 1 5 9 0 1 ; name=late\n" +
			events + links
	)
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"filter"}, all},
		{[]string{"filter", "--prune"}, all},
		{[]string{"cut", "--from", "0%"}, all},
		{[]string{"merge"}, all},
		{[]string{"repair"}, head + "C 1 0 8 0 1 ; name=a\nC 2 1 6 1 1 ; name=c\nC 3 2 4 0 1 ; name=b\nC 4 5 9 0 1 ; " +
			"name=late\n" +
			"E 1 7 ; name=l\nE 2 7.5 ; name=k\n" + links},
		// The claims have the same ids as without a window, although cut reads the trace by locations before it writes.
		{[]string{"repair", "--from", "3s", "--to", "5s"}, head + "C 1 3 5 0 1 ; name=a, cut.began=0, cut.ends=later\n" +
			"C 3 3 4 0 1 ; name=b, cut.began=2\nC 2 3 5 1 1 ; name=c, cut.began=1, cut.ends=later\n"},
		{[]string{"filter", "--not-region", "b"}, head + "C 1 0 8 0 1 ; name=a\nC 1 1 6 1 1 ; name=c\nC 1 5 9 0 1 ; " +
			"name=late\n" +
			events + links},
		{[]string{"filter", "--not-region", "a"}, head + "C 1 1 6 1 1 ; name=c\nC 1 2 4 0 1 ; name=b\nC 1 5 9 0 1 ; " +
			"name=late\n" + events},
		{[]string{"filter", "--not-region", "l"}, head + "C 1 0 8 0 1 ; name=a\nC 1 1 6 1 1 ; name=c\nC 1 2 4 0 1 ; " +
			"name=b\n" +
			"C 1 5 9 0 1 ; name=late\nE 1 7.5 ; name=k\n"},
		{[]string{"filter", "--min-duration", "5s"}, head + "C 1 0 8 0 1 ; name=a\nC 1 1 6 1 1 ; name=c\n" + events + links},
		{[]string{"cut", "--from", "3s", "--to", "5s"}, head + "C 1 3 5 0 1 ; name=a, cut.began=0, cut.ends=later\n" +
			"C 1 3 4 0 1 ; name=b, cut.began=2\nC 1 3 5 1 1 ; name=c, cut.began=1, cut.ends=later\n"},
		{[]string{"cut", "--from", "3s", "--to", "5s", "--min-duration", "2s"}, head +
			"C 1 3 5 0 1 ; name=a, cut.began=0, cut.ends=later\nC 1 3 5 1 1 ; name=c, cut.began=1, cut.ends=later\n"},
	} {
		if got, _ := rewriteTRACE(t, sameIDs, append(x.args, "-q")...); got != x.want {
			t.Errorf("%q: found\n%s\nexpected\n%s", x.args, got, x.want)
		}
	}
	in := textFile(t, "in.etf", sameIDs)
	for _, ext := range []string{".trf", ".otf", ".otf2", ".pallas"} {
		there, back := filepath.Join(t.TempDir(), "there", "x"+ext), filepath.Join(t.TempDir(), "back.etf")
		mustRun(t, "convert", in, inFolder(t, there))
		mustRun(t, "convert", there, back)
		if got := readText(t, back); got != all {
			t.Errorf("%s: found\n%s\nexpected\n%s", ext, got, all)
		}
	}
}

// TestTRACEOfDependenciesAlone checks that a trace that has only dependencies can be converted. OTF
// has no process that could carry them, so its loss table counts them.
func TestTRACEOfDependenciesAlone(t *testing.T) {
	in := textFile(t, "in.etf", "TU SECONDS\nT a=1\nD 1 4 1 2 ;\nD 2 4 1 2 ;\n")
	for _, ext := range []string{".trf", ".otf", ".otf2", ".pallas"} {
		rows, _ := mustRun(t, "convert", "--allow-loss", "--json", in, inFolder(t, filepath.Join(t.TempDir(), "there",
			"x"+ext)))
		lost := int64(0)
		for _, r := range parseLossRows(t, rows) {
			if r.Kind == "link" && r.How == format.Lost {
				lost += r.Count
			}
		}
		if ext == ".otf" && lost != 2 {
			t.Errorf("%s: found %d lost links, expected 2: %s", ext, lost, rows)
		}
	}
}

// TestFiguresOfSameIDs checks that each claim has the times of its own line where claims share an id. By hand: A
// holds the resource from 0 to 10 and from 11 to 20, B from 2 to 12: 19 and 10 of the 20 s, two at once for
// (10 - 2) + (12 - 11) = 9 s. The dependency leads from the end of the first claim with its id, A, to the other A.
func TestFiguresOfSameIDs(t *testing.T) {
	in := textFile(t, "in.etf", `TU SECONDS
R 0 9 false ; name=r
C 1 0 10 0 1 ; name=A
C 1 2 12 0 1 ; name=B
C 2 11 20 0 1 ; name=A
D 1 2 1 2 ;
`)
	for _, x := range []struct{ args, want string }{
		{"profile --json", `"name":"A","count":2,"time":19,"min":9,"max":10,`},
		{"profile --json", `"name":"B","count":1,"time":10,`},
		{"usage --json", `"open":[0,11,9]`},
		{"usage --json", `"amounts":[{"amount":1,"time":11},{"amount":2,"time":9}]`},
		{"plot -o -", "19 s of claims"},
		{"plot -o -", "10 s of claims"},
		{"plot --rows name -o -", "19 s of claims"},
		{"plot --rows name -o -", "10 s of claims"},
		{"path --json", `"regions":[{"region":"A","claims":2,"time":19}]`},
		{"diff --json " + in, `"time":{"a":29,"b":29,`},
	} {
		out, _ := mustRun(t, append(strings.Fields(x.args), "-q", in)...)
		if s := strings.Join(strings.Fields(out), ""); !strings.Contains(s, strings.ReplaceAll(x.want, " ", "")) {
			t.Errorf("%s: found %.3000s, expected %s", x.args, s, x.want)
		}
	}
}

// TestOccurrencesOfSameIDs checks that the piece of a claim ends with its own line regardless of its id. The time
// unit is the tick: the piece of a claim up to 10 ends before 11.
func TestOccurrencesOfSameIDs(t *testing.T) {
	const head = "TU SECONDS\nR 0 9 false ;\n"
	for _, x := range []struct{ claims, region, want string }{
		{"C 1 0 10 0 1 ; name=A\nC 1 2 12 0 1 ; name=B\n", "B",
			"C 1 2 10 0 1 ; name=A, cut.began=0\nC 1 2 12 0 1 ; name=B\n"},
		{"C -1 0 10 0 1 ; name=A\nC 2 11 20 0 1 ; name=B\n", "A", "C -1 0 10 0 1 ; name=A\n"},
	} {
		for _, each := range [][]string{nil, {"--each"}} {
			got, _ := rewriteTRACE(t, head+x.claims, append([]string{"cut", "-q", "--occurrence", x.region}, each...)...)
			if got != head+x.want {
				t.Errorf("%s: found\n%s\nexpected\n%s", x.region, got, x.want)
			}
		}
	}
}

// TestLossOfSameIDs checks that conversions count claims that begin while another one with their id is open: b at 2 and
// late at 5, both in a. Claim c is on another resource.
func TestLossOfSameIDs(t *testing.T) {
	dir, in := t.TempDir(), textFile(t, "in.etf", sameIDs)
	for _, name := range []string{"out.otf", "out.otf2", "out.pallas", "out.trf", "out.etf"} {
		var out, errs bytes.Buffer
		args := []string{"convert", "-q", "--allow-loss", "--json", in, filepath.Join(dir, name)}
		if code := Main(args, strings.NewReader(""), &out, &errs); code != exitGood {
			t.Fatalf("%s: exit code %d, %s", name, code, &errs)
		}
		var rows []format.LossRow
		if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
			t.Fatalf("%s: %v: %s", name, err, &out)
		}
		found := int64(0)
		for _, r := range rows {
			if r.Kind == "claim-begin" && r.Field == "id" && r.How == format.Degraded {
				found += r.Count
			}
		}
		want := int64(2)
		if name == "out.etf" {
			want = 0
		}
		if found != want {
			t.Errorf("%s: found %d claims with the id of an open one, expected %d: %+v", name, found, want, rows)
		}
	}
}
