package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// TestProcessBesideSubset checks that process -1 is a location of its own if the other process of the processor
// is a subset.
func TestProcessBesideSubset(t *testing.T) {
	in := textFile(t, "in.trf", "-202 -1 0.0 -1 -1 3 2 -6 0 1\n-3 5 1.0 10 0 0\n-4 5 2.0 10 0 0\n-2 5 2.5 20 -6 0\n-3 "+
		"5 3.0 20 -1 0\n"+
		"-4 5 4.0 20 -1 0\n")
	if got := weft(t, 0, "print", "--json", in); strings.Count(got, `"location":"20/-1"`) != 2 {
		t.Errorf("expected two events of 20/-1: %s", got)
	}
}

// TestCutKeepsLabelOfOpenRegion checks that a region that is open where a piece begins keeps its name, which a
// label before all events gives it.
func TestCutKeepsLabelOfOpenRegion(t *testing.T) {
	for _, label := range []string{"-5 5 -1.0 -1 -1 4 0 task\n", "-5 5 0.0 -1 -1 4 0 task\n"} {
		in := textFile(t, "in.trf", label+"-3 -901 0.0 0 0 0\n-3 5 1.0 0 0 0\n-4 5 3.0 0 0 0\n-4 -901 6.0 0 0 0\n")
		out := filepath.Join(t.TempDir(), "out.trf")
		weft(t, 0, "cut", "--from", "2s", in, out)
		if got := weft(t, 0, "print", out); strings.Count(got, "task") != 2 || strings.Contains(got, "event 5") {
			t.Errorf("%s: found\n%s\nexpected an enter and a leave of task", label, got)
		}
	}
}

// TestUserRecordFirst checks that a file is not taken for one of the old format because its first record is a
// user record with an integer time.
func TestUserRecordFirst(t *testing.T) {
	in := textFile(t, "in.trf", "5 0 2 0 0 1 2 5\n-3 -901 3 0 0 0\n-2 5 4 0 0 0\n-4 -901 5 0 0 0\n")
	if got := weft(t, 0, "print", in); !strings.Contains(got, "record 5") || strings.Count(got, "\n") != 4 {
		t.Errorf("found\n%s\nexpected a record 5 and 3 other events", got)
	}
}

// TestUnreadablePICLLines checks that lines that cannot be read are lost in other formats and where texts are renamed,
// and stay, or are left out by repair, where PICL is edited.
func TestUnreadablePICLLines(t *testing.T) {
	for _, line := range []string{"-3 7 x 0 0 0\n", "-2 8 2.1 zero 0 0\n", "-2 5 2.3 0 0 1.5\n"} {
		in := textFile(t, "in.trf", "-3 5 1.0 0 0 0\n-4 5 2.0 0 0 0\n"+line)
		for _, args := range []string{"convert", "cut --from 0s", "filter --kind enter,leave", "sort", "merge",
			"anonymize", "repair"} {
			for _, ext := range []string{".trf", ".etf"} {
				if args == "sort" && ext == ".etf" { // sort writes no other format
					continue
				}
				out := filepath.Join(t.TempDir(), "out"+ext)
				code, _, errs := runWeft(t, append(strings.Fields(args), in, out)...)
				want := 0
				if args != "repair" && (ext == ".etf" || args == "anonymize") {
					want = 1
				}
				if code != want {
					t.Errorf("%s %s of %q: exit code %d, expected %d: %s", args, ext, line, code, want, errs)
				}
				if code == 0 && args != "repair" && !strings.HasSuffix(readText(t, out), "\n"+line) {
					t.Errorf("%s %s: found no %q in\n%s", args, ext, line, readText(t, out))
				}
			}
		}
	}
}

// TestUnknownLengths checks that an unknown length of a message is not counted as a size or as 0 bytes.
func TestUnknownLengths(t *testing.T) {
	in := textFile(t, "in.trf", "-3 -21 1.0 0 0 4 2 -1 6 1 0\n-4 -21 1.1 0 0 0\n-3 -51 1.2 1 0 1 2 6\n-4 -51 1.3 1 0 4 "+
		"2 -1 6 0 0\n"+
		"-3 -21 2.0 0 0 4 2 0 6 1 0\n-4 -21 2.1 0 0 0\n-3 -21 3.0 0 0 4 2 -1 7 1 0\n-4 -21 3.1 0 0 0\n-3 -51 3.2 1 0 1 2 7\n"+
		"-4 -51 3.3 1 0 4 2 40 7 0 0\n")
	got := weft(t, 0, "messages", "--list", "--json", in)
	for _, want := range []string{`"tag":6,"bytes":null,"send":10,`, `"tag":6,"bytes":0,"send":20,`,
		`"tag":7,"bytes":40,"send":30,`} {
		if !strings.Contains(got, want) {
			t.Errorf("found no %s in %s", want, got)
		}
	}
	if got := weft(t, 0, "messages", "--sizes", in); !strings.HasSuffix(got,
		"SIZE  MESSAGES  BYTES  \n0            1      0  \n") {
		t.Errorf("found %s, expected one message of 0 bytes", got)
	}
}

// TestClaimsOfOneID checks that claims that share an id are kept as separate claims.
func TestClaimsOfOneID(t *testing.T) {
	in := textFile(t, "in.etf", "R 0 4 false ;\nC 0 1 2 0 1 ; name=b\nC 0 0 3 0 1 ; name=a\n")
	_, got, errs := runWeft(t, "check", in)
	if got += errs; strings.Contains(got, "trace.claim") || !strings.Contains(got, "etf.duplicate-id") {
		t.Errorf("found %s, expected etf.duplicate-id alone", got)
	}
}

// TestMessageNumbersThatDoNotFit checks that the loss table counts each number of a message that does not fit the
// fields of OTF or OTF2, and that OTF has 0 for an unknown length. Both formats have 32 bits for the type of a
// message, and OTF also has 32 bits for the length. OTF has no record for a message without a partner.
func TestMessageNumbersThatDoNotFit(t *testing.T) {
	in := textFile(t, "in.trf", "-3 -901 0 0 0 0\n-3 -901 0 1 0 0\n"+
		"-3 -21 0.1 0 0 3 2 6000000000 5 1\n-4 -21 0.2 0 0 0\n-3 -51 0.2 1 0 1 2 5\n-4 -51 0.3 1 0 3 2 6000000000 5 0\n"+
		"-3 -21 0.4 0 0 3 2 -1 6 1\n-4 -21 0.5 0 0 0\n-3 -21 0.6 0 0 3 2 8 -9 1\n-4 -21 0.7 0 0 0\n"+
		"-3 -21 0.8 0 0 3 2 8 5000000000 1\n-4 -21 0.85 0 0 0\n-3 -21 0.9 0 0 2 2 8 7\n-4 -21 0.95 0 0 0\n"+
		"-4 -901 1 0 0 0\n-4 -901 1 1 0 0\n")
	for _, x := range []struct {
		ext  string
		rows []string
	}{
		{".otf", []string{"send length 2", "recv length 1", "send tag 2", "send  1"}},
		{".otf2", []string{"send tag 2"}},
	} {
		for _, plain := range []bool{true, false} {
			args, how := []string{"convert", "--json"}, format.WeftOnly
			if plain {
				args, how = append(args, "--plain", "--allow-loss"), format.Lost
			}
			out := filepath.Join(t.TempDir(), "out"+x.ext)
			_, table, errs := runWeft(t, append(args, in, out)...)
			var rows []format.LossRow
			if err := json.Unmarshal([]byte(table), &rows); err != nil {
				t.Fatal(err, errs)
			}
			var got []string
			for _, r := range rows {
				if r.How == how && (r.Kind == "send" || r.Kind == "recv") && r.Field != "communicator" {
					got = append(got, fmt.Sprint(r.Kind, " ", r.Field, " ", r.Count))
				}
			}
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(x.rows)); !slices.Equal(got, want) {
				t.Errorf("%s, plain %t: found %q, expected %q", x.ext, plain, got, want)
			}
			if x.ext == ".otf" && plain {
				list := weft(t, 0, "print", out)
				for _, want := range []string{"tag=5  length=4294967295 bytes", "tag=6  length=0 bytes"} {
					if !strings.Contains(list, want) {
						t.Errorf("found no %q in\n%s", want, list)
					}
				}
			}
		}
	}
}

// TestShiftOfNegativeTimes checks that the loss table has the time by which a plain trace is shifted in formats
// without negative times.
func TestShiftOfNegativeTimes(t *testing.T) {
	in := textFile(t, "in.trf", "-3 0 -1.5 0 0 0\n-4 0 2 0 0 0\n")
	for _, ext := range []string{".otf", ".otf2", ".pallas"} {
		_, table, _ := runWeft(t, "convert", "--plain", "--json", in, filepath.Join(t.TempDir(), "out"+ext))
		if !strings.Contains(table, `"shifted by 1.5 s, since the format has no times before 0"`) {
			t.Errorf("%s: found %s", ext, table)
		}
	}
}

// TestNumbersOfACopy checks that a conversion to the same format keeps numbers that no float has.
func TestNumbersOfACopy(t *testing.T) {
	for name, text := range map[string]string{
		"in.trf": "0 0 1.000000 0 0 1 4 16777217\n0 0 1.000000 0 0 1 5 0.12345678901234567890\n0 0 1.000000 0 0 1 5 -0\n" +
			"0 0 1.000000 0 0 1 5 1e22\n0 0 1.000000 0 0 1 2 +5\n0 0 1.000000 0 0 1 2 3000000000\n",
		"in.etf": "R 0 18446744073709551615 true ;\nR 1 100 false ;\nC 0 0 1 0 0 9007199254740993 ;\nC 1 0 1 1 -0 ;\n",
	} {
		in, out := textFile(t, name, text), filepath.Join(t.TempDir(), name)
		weft(t, 0, "convert", "-q", in, out)
		if got, err := os.ReadFile(out); err != nil || string(got) != text {
			t.Errorf("%v: found\n%sexpected\n%s", err, got, text)
		}
	}
}

// TestPlainNameOfEvent checks that a TRACE line that is written with --plain has a single attribute called name.
// It is the name of the event, even if the data of the event also have a field called name.
func TestPlainNameOfEvent(t *testing.T) {
	in := textFile(t, "in.trf", "-3 -201 0.1 0 0 5 0 a.txt\n-4 -201 0.2 0 0 1 2 3\n-2 -201 0.3 0 0 5 0 b.txt\n")
	out := filepath.Join(t.TempDir(), "out.etf")
	weft(t, 0, "convert", "-q", "--plain", in, out)
	text := strings.Join(lineList(t, out), "\n")
	for _, want := range []string{"name=file open, depth=1, @name=a.txt, @descriptor=3",
		"name=file open, location=0/0, kind=mark, @name=b.txt"} {
		if !strings.Contains(text, want) {
			t.Errorf("found no %q in\n%s", want, text)
		}
	}
	weft(t, 0, "check", out)
}

// TestRepairInsideOfTracing checks that repair closes a region before the last exit of -901, so that check finds
// no event outside of the traced time.
func TestRepairInsideOfTracing(t *testing.T) {
	in := textFile(t, "in.trf", "-3 -901 0 0 0 0\n-3 0 0.1 0 0 0\n-3 1 0.2 0 0 0\n-4 -901 0.3 0 0 0\n-3 -901 0.5 0 0 0\n"+
		"-4 1 0.6 0 0 0\n-4 -901 1 0 0 0\n")
	out := filepath.Join(t.TempDir(), "out.trf")
	weft(t, 0, "repair", "-q", in, out)
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	const want = "-4 1 0.6 0 0 0\n-4 0 1.000000 0 0 20 0 weft:repair=not left\n-4 -901 1 0 0 0\n"
	if !strings.HasSuffix(string(b), want) {
		t.Errorf("found\n%sexpected at the end\n%s", b, want)
	}
	if got := weft(t, 0, "check", out); !strings.Contains(got, "0 errors, 0 warnings") {
		t.Error(got)
	}
}

// TestPlainTRACEKeepsMessages checks that a plain TRACE file has a line for each message of a PICL trace, and the loss
// table a row with their number.
func TestPlainTRACEKeepsMessages(t *testing.T) {
	in := textFile(t, "in.trf", "-3 -21 0.1 0 0 3 2 8 7 1\n-4 -21 0.2 0 0 0\n-3 -51 0.1 1 0 1 2 7\n"+
		"-4 -51 0.3 1 0 3 2 8 7 0\n-2 -913 0.4 1 0 0\n")
	out := filepath.Join(t.TempDir(), "out.etf")
	rows := parseLossRows(t, weft(t, 0, "convert", "--plain", "--json", in, out))
	for _, kind := range []string{"send", "recv", "gap"} {
		if n := strings.Count(readText(t, out), "kind="+kind); n != 1 {
			t.Errorf("found %d lines of %s in\n%s", n, kind, readText(t, out))
		}
		if !slices.ContainsFunc(rows, func(r format.LossRow) bool {
			return r.Kind == kind && r.How == format.Degraded && r.Count == 1
		}) {
			t.Errorf("found no row of %s in %v", kind, rows)
		}
	}
}
