package otf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// The tests of this file check sections 6 to 15 of the same chapter as letter_test.go.

func TestLetter_6(t *testing.T) {
	array := make([]byte, 250)
	for i := range array {
		array[i] = byte(i)
	}
	hexa := fmt.Sprintf("%x", array)
	lines := "K9YbV" + hexa[:200] + "Lfa\nK9YbV" + hexa[200:400] + "L96\nK9YbV" + hexa[400:] + "L32\n"
	long := "KEY 9 TYPE b VALUE " + hexa[:200] + "LENfa\nKEY 9 TYPE b VALUE " + hexa[200:400] +
		"LEN96\nKEY 9 TYPE b VALUE " + hexa[400:] + "LEN32\n"
	t.Run("6 pairs of all types, written", func(t *testing.T) {
		r := Record{Type: NoOp, KeyValues: []KeyValue{
			{Key: 1, Type: Char, Bits: 'A'}, {Key: 2, Type: Char, Bits: 9}, {Key: 3, Type: Int8, Bits: 0xc2},
			{Key: 4, Type: Uint8, Bits: 6}, {Key: 5, Type: Int16, Bits: 0xfffe},
			{Key: 6, Type: Uint16, Bits: 7}, {Key: 7, Type: Int32, Bits: 8}, {Key: 8, Type: Uint32, Bits: 9},
			{Key: 10, Type: Int64, Bits: 1 << 63}, {Key: 11, Type: Uint64, Bits: 10},
			{Key: 12, Type: Float32, Bits: 0x42ba0000}, {Key: 13, Type: Float64, Bits: math.Float64bits(1)},
			{Key: 14, Type: Bytes, Bytes: []byte{0, 0xab}}, {Key: 15, Type: Bytes}, {Key: 9, Type: Bytes, Bytes: array}}}
		const short = "K1Y0V41\nK2Y0V09\nK3Y1Vc2\nK4Y2V6\nK5Y3Vfffe\nK6Y4V7\nK7Y5V8\nK8Y6V9\nKaY7V8000000000000000\n" +
			"KbY8Va\nKcY9V42ba0000\nKdYaV3ff0000000000000\nKeYbV00abL2\n"
		if got := string(r.Append(nil, false)); got != short+lines+"N\n" {
			t.Errorf("found %q", got)
		}
		r.KeyValues = []KeyValue{{Key: 7, Type: Uint32, Bits: 5}, {Key: 9, Type: Bytes, Bytes: array}}
		if got := string(r.Append(nil, true)); got != "KEY 7 TYPE 6 VALUE 5\n"+long+"NOOP \n" {
			t.Errorf("long: found %q", got)
		}
	})
	joined := strings.ReplaceAll(strings.TrimSuffix(lines, "\n"), "\n", " | ")
	for _, x := range []struct {
		name, text string
		want       []string
	}{
		{"6 an array of several lines", lines + "N\n", []string{joined + " | N"}},
		{"6 an array of several lines, long", long + "N\n", []string{joined + " | N"}},
		{"6 a single digit of a character", "K1Y0V9\nN\n", []string{"K1Y0V09 | N"}},
		{"6 L is missing", "K1YbV5b7c\nN\n", []string{"K1YbV5b7cL2 | N"}},
		{"6 an odd last digit is dropped", "K1YbV5b7cfL2\nK2YbV5b7L2\nN\n", []string{"K1YbV5b7cL2 | K2YbV5bL1 | N"}},
		{"6 the first of two pairs with a key", "K1Y6V5\nK1Y6V6\nN\n", []string{"K1Y6V5 | N"}},
		{"6 order", "K9Y6V1\nK3Y6V2\nK5Y6V3\nN\n", []string{"K9Y6V1 | K3Y6V2 | K5Y6V3 | N"}},
		{"6 the next record has them, and no other", "K1Y6V5\nN\nE1\n", []string{"K1Y6V5 | N", "E1"}},
		{"6 an unknown record has them", "K1Y6V5\nQQ\nE1\n", []string{"K1Y6V5 | QQ", "E1"}},
		{"6 values wrap to their width", "K1Y2Vfff\nK2Y6V123456789\nN\n", []string{"K1Y2Vff | K2Y6V23456789 | N"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			var want []string
			for _, w := range x.want {
				want = append(want, "5 *1 "+w)
			}
			sameRecords(t, oneStreamTrace(Events, "5\n*1\n"+x.text), Events, nil, want...)
		})
	}
	t.Run("6 any record", func(t *testing.T) {
		for _, x := range spellings {
			part := x.r.Type.Part()
			got, _ := recordsOf(t, traceWith(part, "K1Y6V5\n"+x.long+"\n"+x.short+"\n"), part, nil)
			if len(got) != 2 || !strings.HasSuffix(got[0], "K1Y6V5 | "+x.short) || strings.Contains(got[1], "K1") {
				t.Errorf("found %q", got)
			}
		}
	})
	t.Run("6 state lines between a pair and its record", func(t *testing.T) {
		sameRecords(t, oneStreamTrace(Events, "5\n*1\nK1Y6V5\n6\n*2\nN\n"), Events, nil, "6 *2 K1Y6V5 | N")
	})
	t.Run("6 pairs are no records, for counts and limits", func(t *testing.T) {
		r, err := Open(t.Context(), oneStreamTrace(Events, "5\n*1\nK1Y6V5\nK2Y6V5\nN\nK1Y6V5\nN\nN\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.Cursor(t.Context(), Events)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, want := range []int64{2, 1, 0} {
			if n, err := c.Each(&Handlers{}, 2); n != want || err != nil {
				t.Errorf("found %d records (%v), expected %d", n, err, want)
			}
		}
		if c.Count() != 3 {
			t.Errorf("found %d records, expected 3", c.Count())
		}
	})
	t.Run("6 pairs of processes that are not wanted", func(t *testing.T) {
		sameRecords(t, oneStreamTrace(Events, "5\n*1\nK1Y6V5\nN\n*2\nK1Y6V6\nN\n"), Events,
			&Options{Processes: func(p uint64) bool { return p == 2 }}, "5 *2 K1Y6V6 | N")
	})
	t.Run("6 what libotf does not read", func(t *testing.T) {
		for text, rule := range map[string]string{"K1Yffffffff V1\nN\n": "otf.malformed", "K1YcV1\nN\n": "otf.malformed",
			"K9YbV" + hexa[:202] + "L65\nN\n": "otf.long-array"} {
			if _, rules := recordsOf(t, oneStreamTrace(Events, "5\n*1\n"+text), Events, nil); !slices.Contains(rules, rule) {
				t.Errorf("%.20q: found %q, expected %s", text, rules, rule)
			}
		}
	})
}

func TestLetter_7(t *testing.T) {
	d := tracetest.Open(t, Format{}, memoryTrace(map[string]string{"x.otf": "1:1\n", "x.1.events": "1\n*1\nN\n",
		"x.0.marker": "MD1NM\"u\"Y0\nMD2NM\"e\"Y1\nMD3NM\"w\"Y2\nMD4NM\"h\"Y3\n",
		"x.0.def": "DCO1NM\"unknown\"Y0\nDCO2NM\"barrier\"Y1\nDCO3NM\"one-to-all\"Y2\nDCO4NM\"all-to-one\"Y3\n" +
			"DCO5NM\"all-to-all\"Y4\n" +
			"DCNT1G0NM\"acc start\"P0U\"\"\nDCNT2G0NM\"abs point\"P5U\"\"\nDCNT3G0NM\"acc last\"P8U\"\"\n" +
			"DCNT4G0NM\"abs next\"PdU\"\"\n" +
			"DCNT5G0NM\"s8\"P20U\"\"\nDCNT6G0NM\"u4\"P40U\"\"\nDCNT7G0NM\"s4\"P60U\"\"\nDCNT8G0NM\"u2\"P80U\"\"\n" +
			"DCNT9G0NM\"s2\"Pa0U\"\"\nDCNTaG0NM\"float\"P100U\"\"\nDCNTbG0NM\"double\"P120U\"\"\n"}), nil)
	defer d.Close()
	t.Run("7 properties of counters", func(t *testing.T) {
		got := map[string]string{}
		for _, m := range d.Defs().Metrics.All() {
			got[m.Name] = fmt.Sprint(m.Mode, " ", m.Type)
		}
		want := map[string]string{"acc start": "ACC/START/UNSIGNED8 uint64", "abs point": "ABS/POINT/UNSIGNED8 uint64",
			"acc last": "ACC/LAST/UNSIGNED8 uint64",
			"abs next": "ABS/NEXT/UNSIGNED8 uint64", "s8": "ACC/START/SIGNED8 int64", "u4": "ACC/START/UNSIGNED4 uint64",
			"s4": "ACC/START/SIGNED4 int64",
			"u2": "ACC/START/UNSIGNED2 uint64", "s2": "ACC/START/SIGNED2 int64", "float": "ACC/START/FLOAT float32",
			"double": "ACC/START/DOUBLE float64"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("7 types of collective operations", func(t *testing.T) {
		for _, o := range d.Defs().Operations.All() {
			if o.Attrs[0].Key != "type" || o.Attrs[0].Value.Str != o.Name {
				t.Errorf("%s: found %+v", o.Name, o.Attrs)
			}
		}
		if n := d.Defs().Operations.Len(); n != 5 {
			t.Errorf("found %d, expected 5", n)
		}
	})
	t.Run("7 types of markers", func(t *testing.T) {
		var got []string
		for _, m := range d.Defs().Markers.All() {
			got = append(got, m.Name+" "+m.Attrs[0].Value.Str)
		}
		if want := []string{"u unknown", "e error", "w warning", "h hint"}; !slices.Equal(got, want) {
			t.Errorf("found %q, expected %q", got, want)
		}
	})
}

// TestLetter_7_records checks that the numbers of record types equal the numbers that libotf, its tools and
// its handlers use.
func TestLetter_7_records(t *testing.T) {
	want := map[Type]int{EventComment: 0, Counter: 1, Enter: 2, CollectiveOperation: 5, RecvMsg: 10, SendMsg: 11,
		Leave: 12, DefTimerResolution: 13, DefProcess: 14, DefProcessGroup: 15,
		DefFunction: 16, DefFunctionGroup: 17, DefCounter: 18, DefCounterGroup: 19, DefCollectiveOperation: 20, DefSCL: 21,
		DefSCLFile: 22, DefVersion: 23, DefCreator: 24, DefFile: 25,
		DefFileGroup: 26, FunctionSummary: 28, FunctionGroupSummary: 29, MessageSummary: 30, FileOperationSummary: 31,
		FileGroupOperationSummary: 32, DefinitionComment: 34, BeginProcess: 35,
		EndProcess: 36, EnterSnapshot: 37, SendSnapshot: 38, SummaryComment: 39, SnapshotComment: 40, Unknown: 41,
		FileOperation: 42, OpenFileSnapshot: 43, CollectiveSummary: 44,
		DefMarker: 45, Marker: 46, RMAPut: 47, RMAPutRemoteEnd: 48, RMAGet: 49, RMAEnd: 50, BeginCollective: 51,
		EndCollective: 52, BeginFileOperation: 53, EndFileOperation: 54,
		DefAttributeList: 55, DefProcessOrGroupAttributes: 56, DefKeyValue: 57, NoOp: 58, BeginCollectiveSnapshot: 59,
		BeginFileOperationSnapshot: 60, DefTimeRange: 61,
		DefCounterAssignments: 62, DefProcessSubstitutes: 63, DefUniqueID: 64, DefAuxSamplePoint: 65,
		CollectiveCountSnapshot: 66, CounterSnapshot: 67}
	named := 0
	eachType(func(Type) { named++ })
	for typ, n := range want {
		if int(typ) != n {
			t.Errorf("7 record ids: found %d for %s, expected %d", typ, typ, n)
		}
	}
	if NumTypes != 68 || len(want) != named+1 {
		t.Errorf("7 record ids: found %d types, expected 68 numbers and a name for each of %d", NumTypes, named)
	}
}

func TestLetter_8(t *testing.T) {
	files := map[string]string{"x.otf": "1:1\n2:2\n", "x.0.def": "DF1G0NM\"global\"\nDTR1\nDP2NM\"q\"\nDP1NM\"p\"\n",
		"x.2.def":    "DCNT1G0NM\"counter\"P0U\"\"\nDF1G0NM\"local\"\n",
		"x.1.events": "1\n*1\nE1\nE7\n", "x.2.events": "2\n*2\nE1\nCNT1V5\n"}
	want := []string{"1 p enter global", "1 p enter undefined function 7", "2 q enter local", "2 q metric counter"}
	if got := namedEvents(t, files); !slices.Equal(got, want) {
		t.Errorf("8 local, then global, in any order, missing: found %q, expected %q", got, want)
	}
}

func TestLetter_9(t *testing.T) {
	ties := map[string]string{"x.otf": "1:1\n2:2\n3:3\n"}
	for s := range 3 {
		ties[fmt.Sprintf("x.%d.events", s+1)] = fmt.Sprintf("5\n*%d\nE1\nE2\n7\n*%d\nE3\n", s+1, s+1)
	}
	t.Run("9 merged by time, equal times by stream", func(t *testing.T) {
		sameRecords(t, memoryTrace(ties), Events, nil, "5 *1 E1", "5 *1 E2", "5 *2 E1", "5 *2 E2", "5 *3 E1", "5 *3 E2",
			"7 *1 E3", "7 *2 E3", "7 *3 E3")
	})
	t.Run("9 stream after stream", func(t *testing.T) {
		sameRecords(t, memoryTrace(ties), Events, &Options{OneByOne: true}, "5 *1 E1", "5 *1 E2", "7 *1 E3", "5 *2 E1",
			"5 *2 E2", "7 *2 E3", "5 *3 E1", "5 *3 E2", "7 *3 E3")
	})
	t.Run("9 equal times by libotf's heap", func(t *testing.T) {
		// libotf merges streams with a heap, in which streams with equal times change places. Streams 1, 2 and
		// 3 are read as follows: first stream 2, then streams 1 and 2 in turn while both are at time 5, then
		// stream 3. The records at time 7 come in the order of the heap at that time.
		sameRecords(t, memoryTrace(ties), Events, &Options{AsLibrary: true}, "5 *2 E1", "5 *1 E1", "5 *2 E2", "5 *1 E2",
			"5 *3 E1", "5 *3 E2", "7 *2 E3", "7 *3 E3", "7 *1 E3")
		dir := t.TempDir()
		for name, text := range ties {
			writeFile(t, filepath.Join(dir, name), text)
		}
		writeFile(t, filepath.Join(dir, "x.0.def"), "DTR1\n")
		sameAsPrinted(t, tool(t, "otfprint"), filepath.Join(dir, "x.otf"))
	})
	t.Run("9 equal times of an interval by libotf's heap", func(t *testing.T) {
		// libotf begins at the first time of the interval: pairs and malformed records before it do not count.
		// Pairs and blank lines in the interval are steps of the heap.
		// The last stream takes the place of a stream without a time in the interval.
		otfprint, m := tool(t, "otfprint"), filepath.Join(t.TempDir(), "x.otf")
		for name, text := range map[string]string{
			"x.otf": "1:1\n2:2\n3:3\n4:4\n", "x.0.def": "DTR1\n",
			"x.1.events": "5\n*1\nE1\n5\n*1\n",
			"x.2.events": "5\n*2\nK1Y6V1\nK2Y6V1\nE1\n*9\nE1\n9\n*2\nE2\na\n*2\nE3\n13\n*2\nE4\nE5\n15\n*2\n\nE6\nE7\n15\n*2\n",
			"x.3.events": "5\n*3\nE1 \nE1\n9\n*3\nE2\na\n*3\nE3\na\n*3\n",
			"x.4.events": "5\n*4\nE1\n9\n*4\nE2\na\n*4\nE3\n13\n*4\nK1YbVaaL1\nE4\n15\n*4\nE5\nE6\n15\n*4\n",
			"x.3.stats":  "5\n*3\nSF1\nSF1N1E1I1\n9\n*3\nSF1N2E1I1\n9\n*3\n",
		} {
			writeFile(t, filepath.Join(filepath.Dir(m), name), text)
		}
		for _, from := range []uint64{0, 1, 5, 6, 8, 9, 10, 11} {
			want := untimed(t, "--fullkeyvalue", m, "--time", fmt.Sprint(from), "50")
			var got bytes.Buffer
			if err := PrintCompat(t.Context(), format.FileSource(m), &Options{From: from, To: 50}, nil, &got); err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("%s from %d: found\n%s\nexpected\n%s", otfprint, from, &got, want)
			}
		}
	})
	t.Run("9 half open intervals", func(t *testing.T) {
		src := oneStreamTrace(Events, "4\n*1\nE4\n5\n*1\nE5\n6\n*1\nE6\n7\n*1\nE7\n")
		sameRecords(t, src, Events, &Options{From: 5, To: 7}, "5 *1 E5", "6 *1 E6")
		sameRecords(t, src, Events, &Options{From: 5}, "5 *1 E5", "6 *1 E6", "7 *1 E7")
		sameRecords(t, src, Events, &Options{To: 5}, "4 *1 E4")
	})
	t.Run("9 processes by the state line", func(t *testing.T) {
		sameRecords(t, oneStreamTrace(Events, "4\n*1\nE4\n*2\nE5\n*1\nE6\n"), Events,
			&Options{Processes: func(p uint64) bool { return p == 1 }}, "4 *1 E4", "4 *1 E6")
	})
	t.Run("9 processes that the master file does not name", func(t *testing.T) {
		src := oneStreamTrace(Events, "4\n*1\nE4\n*9\nE5\n")
		sameRecords(t, src, Events, &Options{AsLibrary: true}, "4 *1 E4")
		sameRecords(t, src, Events, nil, "4 *1 E4", "4 *9 E5") // weft reads these records, libotf does not
	})
	t.Run("9 a limit of records", func(t *testing.T) {
		r, err := Open(t.Context(), memoryTrace(ties), nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.Cursor(t.Context(), Events)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var got []uint64
		h := &Handlers{Enter: func(r *Record) error {
			got = append(got, 10*r.Process+r.Function)
			return nil
		}}
		for _, want := range [][]uint64{{11, 12, 21, 22}, {31, 32, 13, 23}, {33}, nil} {
			got = nil
			if n, err := c.Each(h, 4); int(n) != len(want) || err != nil || !slices.Equal(got, want) {
				t.Errorf("found %d records, %v (%v), expected %v", n, got, err, want)
			}
		}
	})
}

func TestLetter_10(t *testing.T) {
	for _, x := range []struct {
		name, text string
		want       []string
		rules      []string
	}{
		{"10.1 a last line without end is unknown", "5\n*1\nE1\n" +
			"L1", []string{"5 *1 E1", "5 *1 L1"}, []string{"otf.cut-off"}},
		{"10.1 a last state line without end", "5\n*1\nE1\n6", []string{"5 *1 E1", "5 *1 6"}, []string{"otf.cut-off"}},
		{"10.2 unknown records", "5\n*1\nQ1\nE1\nXY\"z\"\n", []string{"5 *1 Q1", "5 *1 E1", "5 *1 XY\"z\""},
			[]string{"otf.unknown-record"}},
		{"10.2 a missing field", "5\n*1\nS1L2T3\nE1\n", []string{"5 *1 E1"}, []string{"otf.malformed"}},
		{"10.2 fields in another order", "5\n*1\nS1T3L2C4\nE1\n", []string{"5 *1 E1"}, []string{"otf.malformed"}},
		{"10.2 no number before another keyword", "5\n*1\nE1\nS1LT2C3\nR1L2TC3\nS1L2T3CX4\nR1L2T3C\n",
			[]string{"5 *1 E1", "5 *1 R1L2T3C0"}, []string{"otf.malformed"}},
		{"10.2 no string", "5\n*1\n#x\nE1\n", []string{"5 *1 E1"}, []string{"otf.malformed"}},
		{"10.2 what is no place in the source", "5\n*1\nE1Y2\nE1\n", []string{"5 *1 E1"}, []string{"otf.malformed"}},
		{"10.2 after the last field", "5\n*1\nCOPE5Y2\nPBrest\n", []string{"5 *1 COPE5", "5 *1 PB"},
			[]string{"otf.ignored-text"}},
		{"10.2 after a place in the source", "5\n*1\nE1X2E3\n", []string{"5 *1 E1X2"}, []string{"otf.ignored-text"}},
		{"10.2 after a string of two lines", "5\n*1\n#\"a\nb\"c\nE1\n", []string{"5 *1 #\"a b\"", "5 *1 E1"},
			[]string{"otf.ignored-text"}},
		{"4.2 after a time", "5\n*1\nE1\n6E2\nE3\n", []string{"5 *1 E1", "6 *1 E3"}, []string{"otf.ignored-text"}},
		{"4.2 after the first time", "5x\n*1\nE1\n", []string{"5 *1 E1"}, []string{"otf.ignored-text"}},
		{"4.2 a time in capital letters", "5\n*1\nE1\n1F\nE2\n", []string{"5 *1 E1", "1 *1 E2"},
			[]string{"otf.ignored-text"}},
		{"4.2 after a process", "5\n*1E1\nE2\n*1,6\nE3\n", []string{"5 *1 E2", "5 *1 E3"},
			[]string{"otf.ignored-text"}},
		{"6 after a pair", "5\n*1\nK1Y6V2E1\nE2\n", []string{"5 *1 K1Y6V2 | E2"}, []string{"otf.ignored-text"}},
		{"10.3 blanks that libotf does not take", "5\n*1\n S 2 L 1 T 1 C 1 X 4 \nE1\r\nE1 \n",
			[]string{"5 *1 S2L1T1C1X4", "5 *1 E1", "5 *1 E1"}, nil},
		{"10.3 line ends of Windows", "5\r\n*1\r\nE1\r\nL1X2\r\n", []string{"5 *1 E1", "5 *1 L1X2"}, nil},
		{"10.4 NUL and other bytes", "5\n*1\n\x00E1\n\x80\nE1\n", []string{"5 *1 \x00E1", "5 *1 \x80", "5 *1 E1"},
			[]string{"otf.unknown-record"}},
		{"10.4 there are no comments", "5\n*1\n#\"text\"\n", []string{"5 *1 #\"text\""}, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			if rules := sameRecords(t, oneStreamTrace(Events, x.text), Events, nil, x.want...); !slices.Equal(rules, x.rules) {
				t.Errorf("found defects %q, expected %q", rules, x.rules)
			}
		})
	}
	t.Run("10.4 a definition that begins with a digit", func(t *testing.T) {
		rules := sameRecords(t, oneStreamTrace(Definitions, "DFG1NM\"a\"\ndF2G1NM\"b\"\n"), Definitions, nil,
			"1: DFG1NM\"a\"")
		if want := []string{"otf.ignored-text", "otf.missing-file"}; !slices.Equal(rules, want) {
			t.Errorf("found defects %q, expected %q", rules, want)
		}
	})
	t.Run("10.1 a long line", func(t *testing.T) {
		text := strings.Repeat("x", 2_500_000)
		sameRecords(t, oneStreamTrace(Events, "5\n*1\n#\""+text+"\"\nE1\n"), Events, nil, "5 *1 #\""+text+"\"", "5 *1 E1")
	})
	t.Run("10.2 strict reading stops at a malformed record", func(t *testing.T) {
		r, err := Open(t.Context(), oneStreamTrace(Events, "5\n*1\nE1\nS1\nE2\n"),
			&Options{Read: &format.ReadOptions{Strict: true}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.Cursor(t.Context(), Events)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if !c.Next() || c.Record().Function != 1 || c.Next() || c.Err() == nil {
			t.Errorf("found %v, expected one record and an error", c.Err())
		}
	})
	// weft and otfprint read unusual text alike.
	t.Run("10 otfprint", func(t *testing.T) {
		otfprint := tool(t, "otfprint")
		for part, texts := range unusualTexts {
			for _, x := range texts {
				files := map[Part]string{
					Definitions: "DTR3e8\nDP1NM\"a\"\nDP2NM\"b\"\nDF1G0NM\"f\"\nDF2G0NM\"g\"\nDCNT1G0NM\"c\"P0U\"\"\n",
					Events:      "5\n*1\nE1\n6\n*1\nL1\n6\n*1\n", Markers: "MD1NM\"m\"Y1\n"}
				if part == Definitions || part == Markers {
					x = files[part] + x
				}
				files[part] = x
				m := filepath.Join(t.TempDir(), "t.otf")
				writeFile(t, m, "1:1,2\n")
				for part, text := range files {
					stream := uint32(1)
					if !part.timed() {
						stream = 0
					}
					writeFile(t, fileName(strings.TrimSuffix(m, ".otf"), stream, part), text)
				}
				sameAsPrinted(t, otfprint, m)
			}
		}
	})
}

// sameAsPrinted compares the records of a trace with those that otfprint prints.
func sameAsPrinted(t *testing.T, otfprint, m string) {
	t.Helper()
	// otfprint fails at the record where it stops reading
	want, _ := exec.Command(otfprint, "--fullkeyvalue", m).Output()
	var got bytes.Buffer
	if err := PrintCompat(t.Context(), format.FileSource(m), nil, nil, &got); err != nil {
		t.Fatal(err)
	}
	if a, b := printedLines(got.Bytes()), printedLines(want); !slices.Equal(a, b) || len(b) == 0 {
		t.Errorf("%q:\n%s\nwant\n%s", contents(t, filepath.Dir(m)), strings.Join(a, ""), strings.Join(b, ""))
	}
}

// printedLines returns those lines of otfprint's text that show records.
func printedLines(text []byte) (l []string) {
	for x := range strings.Lines(string(text)) {
		if strings.HasPrefix(x, "(#") {
			l = append(l, x)
		}
	}
	return l
}

// unusualTexts holds texts in unusual spelling that both otfprint and this package read, by part. In the files of
// definitions and markers, each text follows valid records.
var unusualTexts = map[Part][]string{Events: unusualEvents, Definitions: {
	"DF3G2N\"f\"\nDP3N\"p\"P2\nDPG1M1,N\"g\"\nDF4G2NM\"f\"S4\nDCO1NM\"b\"T2\nDS1F2L3\nDCNT2G2NM\"c\"P3G4U\"u\"\n" +
		"DCNT3G2NM\"c\"P3G0U\"u\"\n",
	"DFL1N\"f\"G0\nDF3G0NM\"f\"\n", "DFLG1N\"g\"\nDF3G0NM\"f\"\n", "DK1Y6N\"k\"T\"\"\nDF3G0NM\"f\"\n",
	// otfprint does not read the old keyword N in these records
	"DPdPT2\nDPe\nDPfNM\"\"\nDP10NM\"x\"\n", "DPG3eaMNM\"x\"\nDPG3eaM1,2,abcdef,NM\"x\"\nDA3M1,2,\nDA4M\nDA5M1,2\n" +
		"DCA1M\n",
	"DEFPROCESSGROUP 3ea MEMBERS  NAME \"x\"\nDEFPROCESSGROUP 3eb MEMBERSNAME \"x\"\n" +
		"DEFCOUNTERASSIGNMENTS 1f5 MEMBERS \n",
	"5\n*1\nDF3G0NM\"f\"\n*2\n", "QQ\nDQ1\nDF3G0NM\"f\"\n", "E1\nDF3G0NM\"f\"\n", "K1Y6V5\nDF3G0NM\"f\"\nDF4G0NM\"f\"\n",
	"DF3G0NM\"a\tb\\n\xc3\xa4\xe4\"\n", "DF3G0NM\"a\x00b\"\n",
	"DV1.c.5\"salmon\"\nDEFVERSION 1.c.5\"salmon\"\nDUI4dfeddf561f816ae\n",
	"DP2 NM \"x\"\nDF3G0NM\"f\"\n", "DP2 NAME \"x\"\nDF3G0NM\"f\"\n",
	"DAUX5Y0\nDAUX6Y1\nDAUX7Y2\nDTRG1T9\nDPS1M2,\nDPGA1V3\n",
	"DCNT4G0NM\"c\"P20U\"\"\nDCNT5G0NM\"c\"PdU\"\"\nDCNT6G0NM\"c\"P120U\"\"\nDCO2NM\"b\"Y0\nDCO3NM\"b\"Y4\n" +
		"DA6M0,1,2,3,4,5,6,7,8,9,\n",
	// the prefix of one spelling and the keyword of the other
	"DEFP3NM\"x\"\nDPROCESS 4 NAME \"y\"\n DPROCESS 5 NAME \"z\"\n DEFP6NM\"x\"\nDF3G0NM\"f\"\n",
	"DCA3MZ9\nDF3G0NM\"f\"\n", "DPG3MNAME \"x\"\nDF3G0NM\"f\"\n",
	"KZ\nDF3G0NM\"f\"\n", " KEYS\nDF3G0NM\"f\"\n", // libotf stops at other keywords that begin with K
	"K1Y6V5\n K2Y6V5\nK3Y6V5\nDF3G0NM\"f\"\n", // and drops pairs before a pair after blanks
}, Snapshots: {
	"5\n*1\nTE1O2\nKE1\nTE1O2\n",
	"5\n*1\nTE1O2\nTE1O2S4\nTS1O2G3T4L5S6\nTS1O2G3T4\nTS1O2G3T4X6\nTOF1O2H3S4\nTC\"c\"\nTBC1CL2H3G4RT5S6R8X7\n" +
		"TBF1MI2X7\nTCOC1N5\nTCNT1CNT1V3\n",
	"5\n*1\nE1\nTE1O2\nTQ1\nTE1O3\n", "5\n*1\nTENTER 1 OTIME 2\nTE1O2X4\n", "5\n*1\nTE1\nTE1O2\n",
}, Statistics: {
	"5\n*1\nSF1C2E3I4\nSG1C2E3I4\nSM1C2A3NS4NR5S6R7\nSF1N2E3I4\nSCO1CL2NS4NR5S6R7\n",
	"5\n*1\nSUMFUNCTION 1 COUNT 2 EXCL 3 INCL 4\nSF1N2E3I4\n",
	"5\n*1\n SUMFUNCTION 1 COUNT 2 EXCL 3 INCL 4\n SF1N2E3I4\n",
	"5\n*1\nSUMF1N2E3I4\nSFUNCTION 1 COUNT 2 EXCL 3 INCL 4\nSF1N2E3I4\nKZ\nSF1N2E3I4\n",
	"5\n*1\nSFL1NO1NC1NRD1NW1NSK1BR1BW1\nK1YCV5\nSF1N2E3I4\n", // otfprint does not print, nor check, SFL
	"5\n*1\nSQ1\nSF1N2E3I4\nE1\n", "5\n*1\nSF1N2I3E4\nSF1N2E3I4\n",
}, Markers: {
	"MS1T5P1V\"t\"\nMARKERSPOT 1 TIME 5 PROCESS 2 VALUE \"u\"\nMD2NM\"m\"Y3\nMS2T3P1V\"t\"\n",
	"MD2N\"m\"Y1\nMS1T5P1V\"t\"\n", "MDEF 2 NAME \"m\" TYPE 1\nMARKERS1T5P1V\"t\"\nKZ\nMD3NM\"m\"Y1\n",
	" MARKERSPOT 1 TIME 5 PROCESS 2 VALUE \"u\"\n MS1T5P1V\"t\"\n MARKERX\n",
	"MQ1\nMS1T5P1V\"t\"\n", "K1Y6V5\nMS1T5P1V\"t\"\nMS1T6P1V\"t\"\n",
}}

var unusualEvents = []string{
	// numbers that are too large wrap around
	"5\n*1\nE0000000000000000001\nE1234567890\nCNT1V10123456789abcdef\nE1\n",
	"5\n*1\nE1\nS1LT2C3\nE1\n", "5\n*1\nE1\nR1L2TC3\nE1\n", "5\n*1\nE1\nR1L2T3CX4\nE1\n", "5\n*1\nE1\nR1L2T3C\nE1\n",
	"5\n*1\nCNTV\nE1\n", "5\n*1\nSLTC\nE1\n", "5\n*1\nE\nE1\n", "5\n*1\nEX3\nE1\n", // numbers are missing
	"5\n*1\nEA\nE1\n", "5\n*1\nCNT1VA\nE1\n", // capital letters are not digits
	"5 rest\n*1 rest\nE1\n6X\n*2Y\nE2\n", "E1\n*2\nE1\n5\n*1\nE2\n", "5\nE1\n6\nE1\n*1\nE2\n", "*1\nE1\n", "5\nE1\n",
	"5\n*1\n6\n7\n*2\n*1\nE1\n", "5\n*1\nE1\n3\n*1\nE2\n4\n*1\nE1\n", "0\n*1\nE1\n0\n*2\nE2\n",
	"5\n*1\nE1\n*ffffffff\nE2\n*2\nE1\n", "5\n*1\nE1\nffffffffffffffff\nE2\n*2\nE1\n", "5\n*1\nE1\n*3\nE2\n*2\nE1\n",
	"5\n*1\nE1\nL1", "5\n*1\nE1\n6", "5\n*1\nE1\n ", "5\n*1\nE1\n\n", "5\n*1\nE1\n\nE2\n",
	"5\n*1\nQ1\nE1\nXY\"z\"\nE2\n", "5\n*1\nS1L2T3\nE1\n", "5\n*1\nS1T3L2C4\nE1\n", "5\n*1\n#x\nE1\n", "5\n*1\nE1Y2\n" +
		"E1\n",
	"5\n*1\nCOPE5Y2\nPBrest\nE1\n", "5\n*1\nE1\nKZ\nE2\n",
	// records in deprecated spellings
	"5\n*1\nE1S4\nL1S4\nS1L2T3C4S5\nCOP1C2RT3S4R5D6S7\nFE1H2OP3B4X5\nFB5X6\nT1P2C3T4L5\n",
	// records in mixed spellings
	"5\n*1\nENTER 1 SCL 4\nE1X4\nSEND 1 LEN 2 TAG 3 COMM 4\nS1L2T3C4\nLEAVE \nNOOP \nE1\n",
	// libotf adds an array to a list that already has its key, unless the last pair of the list has this key. The
	// field L determines the length.
	"5\n*1\nK1Y6V1\nK2Y6V2\nK1YbVbbL1\nE1\n", "5\n*1\nK1YbVaaL1\nK2Y6V2\nK1YbVbbL1\nK2YbVccL1\nK1Y6V3\nE1\n",
	"5\n*1\nE1\nK1YbV" + strings.Repeat("a", 200) + "L64\nE2\nK1YbV" + strings.Repeat("a", 201) + "L64\nE3\n",
	"5\n*1\nK1Y6V1\nK1YbVbbL1\nE1\n", "5\n*1\nK3YbVaabbccL1\nE1\n", "5\n*1\nK3YbV00L0\nE1\n",
	// keywords of pairs after blanks
	"5\n*1\nE1\nKEY 1 Y6V2\nE2\n", "5\n*1\nE1\nKEY 1Y6 VALUE 2\nE2\n", "5\n*1\nE1\nK1 Y6V2\nE2\n",
	"5\n*1\nK1Y6V5\nK1Y6V6\nE1\n", "5\n*1\nK9Y6V1\nK3Y6V2\nE1\nE2\n", "5\n*1\nK1Y6V5\nQQ\nE1\n",
	"5\n*1\nK1Y6V5\n6\n*2\nE1\n", "5\n*1\nK1YbV5b7c\nE1\n", "5\n*1\nK1YffffffffV1\nE1\n",
	"5\n*1\nF1H2OP0B3D4\nF1H2OP1B3D4\nF1H2OP2B3D4\nF1H2OP3B3D4\nF1H2OP4B3D4\nF1H2OP5B3D4\nF1H2OP6B3D4\nF1H2OP7B3D4\n" +
		"F1H2OP8B3D4\nF1H2OP9B3D4\nF1H2OPaB3D4\nF1H2OP1fB3D4\n",
	"5\n*1\nF1H2OP23B3D4\nF1H2OP43B3D4\nF1H2OP83B3D4\nF1H2OP103B3D4\nF1H2OP203B3D4\nF1H2OP409B3D4\nF1H2OP7e0B3D4\n",
	// These records have operations and flags of files.
	"5\n*1\n#\"a\x00b\"\nE1\n", "5\n*1\nEN1\nE1\n", "5\n*1\nK1Y6V5\n*3\nK1Y6V6\nE1\n*2\nE2\n", // process 3 is in no stream
	"5\n*1\nT0P2C0T4L5\nU1P0C3T4L5X6\nG1P2C3T4L5\nM2C3T4\nTE1O2\nTRMAPUT 1 PROCESS 2 COMM 3 TAG 4 LEN 5\n" +
		"TENTER 1 OTIME 2\n",
	"5\n*1\n\x80\nE1\n", "5\n*1\n#\"a\tb\\n\"\nE1\n",
}

func TestLetter_11(t *testing.T) {
	text := "5\n*1\nE1\n9\n*1\nL1\n9\n*1\n"
	t.Run("11 headers and end of files", func(t *testing.T) {
		for level, head := range map[int]string{1: "\x78\x01", 2: "\x78\x5e", 4: "\x78\x5e", 5: "\x78\x5e", 6: "\x78\x9c",
			7: "\x78\xda", 9: "\x78\xda"} {
			files := writtenFiles(t, &WriterOptions{Level: level}, Record{Type: Enter, Time: 5, Process: 1, Function: 1},
				Record{Type: Leave, Time: 9, Process: 1, Function: 1})
			z, plain := files[".1.events.z"]
			if !strings.HasPrefix(z, head) || !strings.HasSuffix(z, "\x00\x00\xff\xff") || !plain || files[".otf"] != "1:1\n" ||
				len(files) != 2 {
				t.Errorf("level %d: found %q", level, files)
			}
			sameRecords(t, memoryTrace(map[string]string{"x.otf": "1:1\n", "x.1.events.z": z}), Events, nil, "5 *1 E1",
				"9 *1 L1")
		}
	})
	t.Run("11 an empty file", func(t *testing.T) {
		sameRecords(t, memoryTrace(map[string]string{"x.otf": "1:1\n", "x.0.def.z": "\x78\x5e\x00\x00\x00\xff\xff"}),
			Definitions, nil)
		sameRecords(t, memoryTrace(map[string]string{"x.otf": "1:1\n", "x.0.def.z": ""}), Definitions, nil)
	})
	zipped := zipText(t, text, 6, 5) // the restart points are in the middle of lines
	t.Run("11 restarts at any byte", func(t *testing.T) {
		if rules := sameRecords(t, memoryTrace(map[string]string{"x.otf": "1:1\n", "x.1.events.z": zipped}), Events, nil,
			"5 *1 E1", "9 *1 L1"); len(rules) > 0 {
			t.Errorf("found %q", rules)
		}
	})
	t.Run("11 a stream that is finished", func(t *testing.T) {
		// libotf loses the rest of the piece after the end marker; weft reads the rest.
		b, err := os.ReadFile(terminated(t, text))
		if err != nil {
			t.Fatal(err)
		}
		sameRecords(t, memoryTrace(map[string]string{"x.otf": "1:1\n", "x.1.events.z": string(b)}), Events, nil, "5 *1 E1",
			"9 *1 L1")
	})
	t.Run("11 a file that is cut off", func(t *testing.T) {
		// weft reads all data that can be decompressed.
		for n := len(zipped); n > 2; n-- {
			got, _ := recordsOf(t, memoryTrace(map[string]string{"x.otf": "1:1\n", "x.1.events.z": zipped[:n]}), Events, nil)
			if n == len(zipped) && len(got) != 2 || len(got) > 3 || len(got) > 0 && !strings.HasPrefix(got[0], "5 *1 E") {
				t.Errorf("%d bytes: found %q", n, got)
			}
		}
	})
}

func TestLetter_12(t *testing.T) {
	t.Run("12 times of a file from its ends", func(t *testing.T) {
		var b strings.Builder
		const n = 200_000
		for i := range n {
			fmt.Fprintf(&b, "%x\n*1\nE1\n", 10*i+10)
		}
		fmt.Fprintf(&b, "%x\n*1\n", 10*n)
		src := memoryTrace(map[string]string{"x.otf": "1:1\n", "x.0.def": "DTR1\nDP1NM\"a\"\nDF1G0NM\"f\"\n",
			"x.1.events": b.String()})
		watch := &watchedFS{FS: src.FS}
		src.FS = watch
		d := tracetest.Open(t, Format{}, src, nil)
		defer d.Close()
		first, last, ok, err := d.Extent(t.Context())
		if first != 10 || last != 10*n || !ok || err != nil {
			t.Errorf("found [%d, %d] %t %v, expected [10, %d]", first, last, ok, err, 10*n)
		}
		if watch.read > int64(b.Len())/10 {
			t.Errorf("found %d bytes read, expected few of %d", watch.read, b.Len())
		}
	})
}

func TestLetter_13(t *testing.T) {
	t.Run("13 a string larger than the buffer", func(t *testing.T) {
		// libotf would leave a part of a line in the file. weft does not.
		text := strings.Repeat("y", 5000)
		got := writtenFiles(t, &WriterOptions{Buffer: 64}, Record{Type: EventComment, Time: 1, Process: 1, Text: text},
			Record{Type: NoOp, Time: 2, Process: 1})[".1.events"]
		if want := "1\n*1\n#\"" + text + "\"\n2\n*1\nN\n2\n*1\n"; got != want {
			t.Errorf("found %d bytes, expected %d", len(got), len(want))
		}
	})
	t.Run("13 the same bytes whatever buffers and files", func(t *testing.T) {
		var records []Record
		for i := range uint64(500) {
			records = append(records, Record{Type: Enter, Time: i, Process: i%5 + 1, Function: i%7 + 1},
				Record{Type: FunctionSummary, Time: i, Process: i%5 + 1, Function: 1})
		}
		want := writtenFiles(t, nil, records...)
		for _, opt := range []WriterOptions{{Buffer: 1}, {Buffer: 100, Files: NewFileManager(1)},
			{Buffer: 1 << 20, Files: NewFileManager(3)}} {
			if diff := cmp.Diff(want, writtenFiles(t, &opt, records...)); diff != "" {
				t.Errorf("%+v: other files", opt)
			}
		}
	})
}

// TestLetter_15 reads and writes the whole example of section 15, and names its parts.
func TestLetter_15(t *testing.T) {
	files := map[string]string{".otf": "1:1\n2:2\n", ".1.events": "a\n*1\nE1\n10\n*1\nK7Y6V5\nS2L1000T2aC0\nL1\n10\n*1\n",
		".2.events": "0\n*2\nN\n0\n*2\n",
		".0.def": "DV1.c.5\"salmon\"\nDUI4dfeddf561f816ae\nDTRf4240\nDP1NM\"rank 0\"\nDP2NM\"rank 1\"\n" +
			"DFG1NM\"MPI\"\nDF1G1NM\"MPI_Send\"\n"}
	got := writtenFiles(t, &WriterOptions{UniqueID: 0x4dfeddf561f816ae}, Record{Type: DefTimerResolution,
		TicksPerSecond: 1_000_000}, Record{Type: DefProcess, Token: 1, Name: "rank 0"},
		Record{Type: DefProcess, Token: 2, Name: "rank 1"}, Record{Type: DefFunctionGroup, Token: 1, Name: "MPI"},
		Record{Type: DefFunction, Token: 1, Group: 1, Name: "MPI_Send"},
		Record{Type: Enter, Time: 10, Process: 1, Function: 1},
		Record{Type: SendMsg, Time: 16, Process: 1, Peer: 2, Length: 4096, Tag: 42,
			KeyValues: []KeyValue{{Key: 7, Type: Uint32, Bits: 5}}},
		Record{Type: Leave, Time: 16, Process: 1, Function: 1}, Record{Type: NoOp, Process: 2})
	if diff := cmp.Diff(files, got); diff != "" {
		t.Errorf("15 written (-want +got):\n%s", diff)
	}
	src := fstest.MapFS{}
	for name, text := range files {
		src["t"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	d := tracetest.Open(t, Format{}, format.Source{FS: src, Name: "t.otf", Path: "t.otf"}, nil)
	defer d.Close()
	if c := d.Defs().Clock; c.Num != 1_000_000 || c.Den != 1 {
		t.Errorf("15 clock: found %+v", c)
	}
	if r := d.Defs().Regions.All(); len(r) != 1 || r[0].Name != "MPI_Send" || r[0].Group != "MPI" {
		t.Errorf("15 function: found %+v", r)
	}
	if n := len(tracetest.Dump(t, d, trace.Everything())); n != 4 {
		t.Errorf("15 events: found %d, expected 4", n)
	}
}

// terminated compresses a text in the usual form of zlib, with a check sum at the end, and returns the name of
// the file.
func terminated(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "z")
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write([]byte(text))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, name, b.String())
	return name
}
