package otf

import (
	"errors"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// TestParseRecord checks records that are parsed from single texts. The names of the cases are sections of
// docs/formats/otf.md.
func TestParseRecord(t *testing.T) {
	for _, x := range []struct {
		name, text string
		part       Part
		want       Record
	}{
		{"5 short", "S2L1000T2aC3e9X4d", Events,
			Record{Type: SendMsg, Peer: 2, Length: 0x1000, Tag: 0x2a, Communicator: 0x3e9, SCL: 0x4d}},
		{"5 long", "SEND 2 LEN 1000 TAG 2a COMM 3e9 SCL 4d\n", Events,
			Record{Type: SendMsg, Peer: 2, Length: 0x1000, Tag: 0x2a, Communicator: 0x3e9, SCL: 0x4d}},
		{"4 state lines", "a\n*1\nE1\n", Events, Record{Type: Enter, Time: 10, Process: 1, Function: 1}},
		{"5.1 definition", `DF1G3e8NM"main"`, Definitions, Record{Type: DefFunction, Token: 1, Group: 1000, Name: "main"}},
		{"5 mixed prefix and keyword", `DEFP3NM"x"`, Definitions, Record{Type: DefProcess, Token: 3, Name: "x"}},
		{"5.2 bare leave", "LEAVE ", Events, Record{Type: Leave}},
		{"5.3 snapshot", "TE1O3", Snapshots, Record{Type: EnterSnapshot, Function: 1, OriginalTime: 3}},
		{"5.4 statistics", "SF1N2E3I4", Statistics,
			Record{Type: FunctionSummary, Function: 1, Count: 2, Exclusive: 3, Inclusive: 4}},
		{"5.5 marker", `MS3T4dP2V"look"`, Markers, Record{Type: Marker, Token: 3, Time: 0x4d, Process: 2, Text: "look"}},
		{"6 pair", "K7Y6V5\nN", Events, Record{Type: NoOp, KeyValues: []KeyValue{{Key: 7, Type: Uint32, Bits: 5}}}},
		{"2 string over a line end", "#\"a\nb\"\n", Events, Record{Type: EventComment, Text: "a\nb"}},
	} {
		got, err := ParseRecord(x.text, x.part)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
		} else if describe(got) != describe(&x.want) {
			t.Errorf("%s: got %s, want %s", x.name, describe(got), describe(&x.want))
		}
	}
}

// TestParseRecordDefects checks that a faulty text gives an error with its position, what was found
// and what was expected.
func TestParseRecordDefects(t *testing.T) {
	for _, x := range []struct {
		name, text string
		part       Part
		rule, want string
		typ        Type // type of the record that ParseRecord returns in spite of the error, 0 for none
	}{
		{"missing field", "S2L8T5", Events, "otf.malformed",
			`record:0x0: error: otf.malformed: found SendMsg: the end of the line, expected COMM`, 0},
		{"malformed pair", "K7Y6V5\nK8X\nN", Events, "otf.malformed",
			`record:0x7: error: otf.malformed: found key-value pair: "X", expected TYPE`, 0},
		{"unknown keyword", "QX1", Events, "otf.unknown-record",
			`record:0x0: note: otf.unknown-record: found a record "QX1", expected a keyword of events files`, Unknown},
		{"long array", "K7YbV" + strings.Repeat("00", 101) + "L65\nN", Events, "otf.long-array",
			`record:0x0: warning: otf.long-array: found 101 bytes of an array on one line, expected at most 100`, NoOp},
		{"another part", "E1", Definitions, "otf.unknown-record",
			`record:0x0: note: otf.unknown-record: found a record "E1", expected a keyword of def files`, Unknown},
		{"two records", "CNT1V2\nN", Events, "otf.malformed",
			`record:0x7: error: otf.malformed: found "N" after the record, expected one record`, 0},
		{"open string", "#\"abc\nE1\n", Events, "otf.malformed",
			`record:0x0: error: otf.malformed: found "\"abc", expected a quote at the end of the string`, 0},
		{"process line", "a\n*X\nE1", Events, "otf.malformed",
			`record:0x2: error: otf.malformed: found process line: "X", expected a number`, 0},
		{"nothing", "a\n*1\n", Events, "otf.malformed",
			`record:0x5: error: otf.malformed: found no record, expected the line of one`, 0},
	} {
		r, err := ParseRecord(x.text, x.part)
		var d *trace.Defect
		if !errors.As(err, &d) || d.Rule != x.rule || d.Error() != x.want {
			t.Errorf("%s: got %v, want %s", x.name, err, x.want)
		}
		if (r != nil) != (x.typ != 0) || r != nil && r.Type != x.typ {
			t.Errorf("%s: got the record %v, want type %d", x.name, r, x.typ)
		}
	}
	if _, err := ParseRecord("E1", Part(9)); err == nil {
		t.Error("part 9: got no error")
	}
}

// FuzzParseRecord checks that any text can be parsed without failure, and that the record stays the
// same when it is written and parsed again.
func FuzzParseRecord(f *testing.F) {
	effort.Sequential(f)
	for _, s := range []string{"S2L1000T2aC3e9X4d", "a\n*1\nK7Y6V5\nE1\n", "SEND 2 LEN 1000 TAG 2a COMM 3e9 SCL 4d",
		"K1YbV00ffL2\nN", `DPG3eaMNM"empty group"`,
		"#\"a\nb\"", "DCNT1G2NM\"c\"P21U\"#\"", "QX1", "K1Y0V9\nK1Y0V9\nL", "FE1H2OP3B4", "\r\n \nE1 \r\n"} {
		for part := range numParts {
			f.Add(s, uint8(part))
		}
	}
	f.Fuzz(func(t *testing.T, text string, n uint8) {
		part := Part(n) % numParts
		r, err := ParseRecord(text, part)
		if r == nil {
			if err == nil {
				t.Fatal("got neither a record nor an error")
			}
			return
		}
		if r.Part() != part && !(part == Events && r.Part() == Snapshots) {
			t.Fatalf("got a record of %s, want %s", r.Part(), part)
		}
		if r.Type == Unknown {
			return
		}
		for _, long := range []bool{false, true} {
			again, err := ParseRecord(string(r.Append(nil, long)), part)
			if err != nil {
				t.Fatal(err)
			}
			again.Time, again.Process = r.Time, r.Process
			// The writer replaces line ends by blanks.
			if got, want := describe(again), describe(r); got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
	})
}

// FuzzThumbnail checks that any text of a thumbnail can be parsed without failure, and has the same
// meaning when it is written again.
func FuzzThumbnail(f *testing.F) {
	for _, s := range []string{"0:2,1\n1:1,2,\n", "0:0,0\n", "0:1,2\n1:0,\n2:ffffffff,\n", "0:ffffffff,1\n",
		"0:1,ffffffffffffffff\n1:1,\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		x, err := parseThumbnail(text, "x")
		if err != nil {
			return
		}
		b := x.AppendTo(nil)
		again, err := parseThumbnail(b, "x")
		if err != nil || string(again.AppendTo(nil)) != string(b) {
			t.Errorf("%q: got %v, error %v", b, again, err)
		}
	})
}
