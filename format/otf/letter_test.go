package otf

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// The tests of this file are named after the sections of docs/formats/otf.md, "The format to the
// byte", which completes the specification of 2007.

func TestLetter_1(t *testing.T) {
	base := map[string]string{"x.otf": "1:1\na:2\n", "x.0.def": "DTR1\n", "x.1.def": "DF1G0NM\"one\"\n",
		"x.a.def":    "DF1G0NM\"ten\"\n",
		"x.1.events": "1\n*1\nE1\n", "x.a.events": "2\n*2\nE2\n", "x.0.marker": "MD1NM\"m\"Y1\n",
		"x.a.marker": "MD2NM\"n\"Y2\n"}
	events := []string{"1 *1 E1", "2 *2 E2"}
	for _, x := range []struct {
		name string
		file string // name of an added or replaced file; a leading "-" removes the file
		text string
		part Part
		want []string
	}{
		{"1 definitions of all streams", "", "", Definitions, []string{"0: DTR1", "1: DF1G0NM\"one\"", "a: DF1G0NM\"ten\""}},
		{"1 markers of stream 0, then of all streams", "", "", Markers, []string{"0: MD1NM\"m\"Y1", "a: MD2NM\"n\"Y2"}},
		{"1 events of all streams", "", "", Events, events},
		{"1 no global definitions", "-x.0.def", "", Definitions, []string{"1: DF1G0NM\"one\"", "a: DF1G0NM\"ten\""}},
		{"1 no local definitions", "-x.a.def", "", Definitions, []string{"0: DTR1", "1: DF1G0NM\"one\""}},
		{"1 no events of a stream", "-x.a.events", "", Events, []string{"1 *1 E1"}},
		{"1 no snapshots", "", "", Snapshots, nil},
		{"1 definitions without a number", "x.def", "DTR5\n", Definitions, []string{"0: DTR1", "1: DF1G0NM\"one\"",
			"a: DF1G0NM\"ten\""}},
		{"1 the suffix .defs of the document", "x.1.defs", "DTR5\n", Definitions,
			[]string{"0: DTR1", "1: DF1G0NM\"one\"", "a: DF1G0NM\"ten\""}},
		{"1 numbers in capitals", "x.A.events", "0\n*2\nE9\n", Events, events},
		{"1 numbers with leading zeros", "x.0a.events", "0\n*2\nE9\n", Events, events},
		{"1 events of stream 0", "x.0.events", "0\n*2\nE9\n", Events, events},
		{"1 plain before compressed", "x.a.events.z", zipText(t, "0\n*2\nE9\n", 1, 100), Events, events},
		{"1 compressed beside plain streams", "x.a.snaps.z", zipText(t, "3\n*2\nTE2O1\n", 1, 100), Snapshots,
			[]string{"3 *2 TE2O1"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			files := map[string]string{}
			for k, v := range base {
				if k != strings.TrimPrefix(x.file, "-") {
					files[k] = v
				}
			}
			if x.file != "" && x.file[0] != '-' {
				files[x.file] = x.text
			}
			sameRecords(t, memoryTrace(files), x.part, nil, x.want...)
		})
	}
	t.Run("1 names with and without .otf", func(t *testing.T) {
		for _, name := range []string{"x", "x.otf"} {
			src := memoryTrace(base)
			src.Name = name
			sameRecords(t, src, Events, nil, events...)
		}
		// The reader removes only one suffix .otf, and opens the files of streams by the name without it.
		src := memoryTrace(map[string]string{"x.otf.otf": "1:1\n", "x.otf.1.events": "1\n*1\nE1\n"})
		src.Name = "x.otf.otf"
		sameRecords(t, src, Events, nil, "1 *1 E1")
		s, err := OpenStream(format.Source{FS: src.FS, Name: "x.otf", Path: "x.otf"}, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Cursor(t.Context(), Events)
		if err != nil || !c.Next() {
			t.Errorf("found no record of x.otf.1.events (%v)", err)
		}
		c.Close()
	})
	t.Run("1 the master file is never compressed", func(t *testing.T) {
		src := memoryTrace(map[string]string{"x.otf.z": zipText(t, "1:1\n", 1, 100), "x.1.events": "1\n*1\nE1\n"})
		if _, err := Open(t.Context(), src, nil); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("found %v, expected that there is no file", err)
		}
	})
	t.Run("1 IOFSL", func(t *testing.T) {
		if got, _ := recordsOf(t, memoryTrace(map[string]string{"x.otf": "i4:0:8\n"}), Events, nil); len(got) != 1 ||
			!strings.Contains(got[0], "IOFSL") {
			t.Errorf("found %q, expected a refusal", got)
		}
	})
}

func TestLetter_2(t *testing.T) {
	for _, x := range []struct{ name, line, want string }{
		{"2 leading zeros", "E0000000000000000001", "E1"},
		{"2 numbers of 32 bits wrap", "E1234567890", "E34567890"},
		{"2 numbers of 64 bits wrap", "CNT1V10123456789abcdef", "CNT1V123456789abcdef"},
		{"2 capitals are no digits", "S1L2T3C4X5", "S1L2T3C4X5"},
		{"2 a missing number is 0", "E", "E0"},
		{"2 a missing number of a field is 0", "S1L T C4", "S1L0T0C4"},
		{"2 a missing number at the end is 0", "CNT1V", "CNT1V0"},
		{"2 blanks and tabs before fields", "S \t2L\t 1T 1C 4", "S2L1T1C4"},
		{"2 strings are the text between quotes", "#\"a\tb\r\\n\\\xc3\xa4\xe4\x01\"", "#\"a\tb\r\\n\\\xc3\xa4\xe4\x01\""},
		{"2 empty strings", "#\"\"", "#\"\""},
	} {
		t.Run(x.name, func(t *testing.T) {
			sameRecords(t, oneStreamTrace(Events, "1\n*1\n"+x.line+"\n"), Events, nil, "1 *1 "+x.want)
		})
	}
	for _, x := range []struct{ name, text, want string }{
		{"2 a comma after each element", "DPG3M1,2,abcdef,NM\"x\"", "DPG3M1,2,abcdef,NM\"x\""},
		{"2 an element without its comma is dropped", "DA3M1,2", "DA3M1,"},
		{"2 an empty array", "DPG3MNM\"x\"", "DPG3MNM\"x\""},
		{"2 an empty array, long", "DEFPROCESSGROUP 3ea MEMBERS  NAME \"x\"", "DPG3eaMNM\"x\""},
		{"2 keywords of an empty array together, long", "DEFPROCESSGROUP 3ea MEMBERSNAME \"x\"", "DPG3eaMNM\"x\""},
		{"2 blanks in an array", "DA3M 1 , 2\t,3,", "DA3M1,2,3,"},
		{"2 a string over the end of the line", "DP1NM\"a\nb\"", "DP1NM\"a b\""},
	} {
		t.Run(x.name, func(t *testing.T) {
			sameRecords(t, memoryTrace(map[string]string{"x.otf": "1:1\n", "x.0.def": x.text + "\n"}), Definitions, nil,
				"0: "+x.want)
		})
	}
	t.Run("2 line ends and quotes become blanks when they are written", func(t *testing.T) {
		r := Record{Type: EventComment, Text: "a\nb\"c\t\\\r\x80"}
		if got, want := string(r.Append(nil, false)), "#\"a b c\t\\\r\x80\"\n"; got != want {
			t.Errorf("found %q, expected %q", got, want)
		}
	})
	t.Run("2 signed values are two's complements of their width", func(t *testing.T) {
		r := Record{Type: NoOp}
		for i, typ := range []ValueType{Int8, Int16, Int32, Int64} {
			// the value is -1
			r.KeyValues = append(r.KeyValues, KeyValue{Key: uint32(i), Type: typ, Bits: math.MaxUint64})
		}
		if got, want := string(r.Append(nil, false)),
			"K0Y1Vff\nK1Y3Vffff\nK2Y5Vffffffff\nK3Y7Vffffffffffffffff\nN\n"; got != want {
			t.Errorf("found %q, expected %q", got, want)
		}
	})
}

// TestLetter_2_damage reads definitions whose arrays lack a comma or whose strings are missing, as weft and as libotf,
// which stops at the first number without a comma and reads a missing string without a keyword as a null pointer.
func TestLetter_2_damage(t *testing.T) {
	library := &Options{AsLibrary: true}
	for _, x := range []struct {
		name, text string
		opt        *Options
		want       []string
		rules      []string
	}{
		{"2 the last element without its comma", "DA3M1,2\nDTR5\n", nil, []string{"0: DA3M1,", "0: DTR5"},
			[]string{"otf.ignored-text"}},
		{"2 the last element without its comma, as libotf", "DA3M1,2\nDTR5\n", library,
			[]string{"0: DA3M1,", "0: DTR5"}, []string{"otf.ignored-text"}},
		{"2 an element without its comma before a keyword", "DPG3M1,2NM\"x\"\nDTR5\n", nil,
			[]string{"0: DPG3M1,NM\"x\"", "0: DTR5"}, []string{"otf.ignored-text"}},
		{"2 an element without its comma before a keyword, as libotf", "DPG3M1,2NM\"x\"\nDTR5\n", library,
			nil, []string{"otf.malformed"}},
		{"2 a missing string", "DV1.c.5\nDCR\nDCMTx\nDTR5\n", nil, []string{"0: DTR5"}, []string{"otf.malformed"}},
		{"2 a missing string, as libotf", "DV1.c.5\nDCR\nDCMT\nDFG1NM\nDTR5\n", library,
			[]string{"0: DV1.c.5\"(null)\"", "0: DCR\"(null)\"", "0: DCMT\"(null)\""},
			[]string{"otf.malformed"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			src := memoryTrace(map[string]string{"x.otf": "1:1\n", "x.0.def": x.text, "x.1.events": ""})
			rules := sameRecords(t, src, Definitions, x.opt, x.want...)
			if !slices.Equal(rules, x.rules) {
				t.Errorf("found defects %q, expected %q", rules, x.rules)
			}
		})
	}
}

func TestLetter_3(t *testing.T) {
	for _, x := range []struct {
		name, text, want string
		reported         bool // a defect names the line
	}{
		{"3 lines as they are written", "1:1\n2:2,3,abcdef\na:10\n", "1:1\n2:2,3,abcdef\na:10\n", false},
		{"3 sorted when they are written", "a:3,2\n1:9,8\n", "1:8,9\na:2,3\n", false},
		{"3 blanks anywhere", " 1 : 2 ,\t3\n2:4 , 5 \n", "1:2,3\n2:4,5\n", false},
		{"3 empty lines", "\n1:1\n\n2:2\n", "1:1\n2:2\n", false},
		{"3 lines without a colon", "# comment\n1:1\nzz\n12\n", "1:1\n", true},
		{"3 a last line without end", "1:1\n2:2", "1:1\n2:2\n", true}, // libotf ignores the last line
		{"3 streams 0 and ffffffff", "0:1\nffffffff:2\n1:3\n", "1:3\n", true},
		{"3 a process in two streams", "2:7,8\n1:7,9\n", "1:9\n2:7,8\n", true},
		{"3 a stream on two lines", "1:1\n2:2\n1:3\n", "1:1,3\n2:2\n", false},
		{"3 an empty list", "1:\n", "1:0\n", true},
		{"3 nothing", "", "", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			rep := format.NewReport()
			m, err := ReadMaster(memoryTrace(map[string]string{"x.otf": x.text}), &format.ReadOptions{Report: rep})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(m.AppendTo(nil)); got != x.want {
				t.Errorf("found %q, expected %q", got, x.want)
			}
			if reported := len(rep.Rules()) > 0; reported != x.reported {
				t.Errorf("found defects %v, expected some: %t", rep.Rules(), x.reported)
			}
		})
	}
	t.Run("3 a master file of no process", func(t *testing.T) {
		if got, ok := writtenFiles(t, nil, Record{Type: DefTimerResolution, TicksPerSecond: 1})[".otf"]; !ok || got != "" {
			t.Errorf("found %q, expected an empty master file", got)
		}
		// libotf does not open such a trace, although it has definitions.
		sameRecords(t, memoryTrace(map[string]string{"x.otf": "", "x.0.def": "DTR1\n"}), Definitions, nil, "0: DTR1")
		if got, _ := recordsOf(t, memoryTrace(map[string]string{"x.otf": "", "x.0.def": "DTR1\n"}), Definitions,
			&Options{AsLibrary: true}); len(got) != 1 || !strings.Contains(got[0], "no process") {
			t.Errorf("as the library: found %q", got)
		}
	})
	t.Run("3 assigning processes", func(t *testing.T) {
		of := func(m map[uint32]uint32) *MasterControl {
			c := &MasterControl{}
			for p, s := range m {
				c.Assign(p, s)
			}
			return c
		}
		for _, x := range []struct {
			name      string
			opt       WriterOptions
			processes []uint64
			want      string
		}{
			{"m = 0: one stream a process", WriterOptions{}, []uint64{5, 9, 5, 2}, "1:5\n2:9\n3:2\n"},
			{"a new one while there are fewer", WriterOptions{Streams: 3}, []uint64{5, 9}, "1:5\n2:9\n"},
			{"that with the fewest, the lowest of equals", WriterOptions{Streams: 2}, []uint64{5, 9, 1, 2, 3},
				"1:1,3,5\n2:2,9\n"},
			{"highest number + 1", WriterOptions{Master: of(map[uint32]uint32{1: 7, 2: 3})}, []uint64{5}, "3:2\n7:1\n8:5\n"},
			{"explicit streams count", WriterOptions{Streams: 2, Master: of(map[uint32]uint32{1: 7, 2: 7, 3: 9})},
				[]uint64{5, 1, 6}, "7:1,2,6\n9:3,5\n"},
		} {
			var records []Record
			for i, p := range x.processes {
				records = append(records, Record{Type: NoOp, Time: uint64(i), Process: p})
			}
			if got := writtenFiles(t, &x.opt, records...)[".otf"]; got != x.want {
				t.Errorf("%s: found %q, expected %q", x.name, got, x.want)
			}
		}
	})
}

func TestLetter_4(t *testing.T) {
	t.Run("4.1 times may go back to 0, and to nothing else", func(t *testing.T) {
		w := NewStreamWriter(filepath.Join(t.TempDir(), "x"), 1, nil)
		defer w.Abort()
		for _, x := range []struct {
			time uint64
			ok   bool
		}{{0, true}, {3, true}, {2, false}, {0, true}, {1, true}, {0, true}} {
			if err := w.Write(&Record{Type: NoOp, Time: x.time, Process: 1}); (err == nil) != x.ok {
				t.Errorf("time %d: found %v, expected no error: %t", x.time, err, x.ok)
			}
		}
	})
	t.Run("4.1 the trailer", func(t *testing.T) {
		files := writtenFiles(t, &WriterOptions{UniqueID: 1}, Record{Type: DefTimerResolution, TicksPerSecond: 1},
			Record{Type: Enter, Time: 1, Process: 1, Function: 1},
			Record{Type: EnterSnapshot, Time: 2, Process: 1, Function: 1}, Record{Type: FunctionSummary, Time: 3, Process: 1,
				Function: 1}, Record{Type: DefMarker, Token: 1})
		want := map[string]string{".otf": "1:1\n", ".0.def": "DV1.c.5\"salmon\"\nDUI1\nDTR1\n", ".0.marker": "MD1NM\"\"Y0\n",
			".1.events": "1\n*1\nE1\n1\n*1\n", ".1.snaps": "2\n*1\nTE1O0\n2\n*1\n", ".1.stats": "3\n*1\nSF1N0E0I0\n3\n*1\n"}
		if diff := cmp.Diff(want, files); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("4.1 pairs after the state lines", func(t *testing.T) {
		got := writtenFiles(t, nil, Record{Type: Enter, Time: 5, Process: 1, Function: 1,
			KeyValues: []KeyValue{{Key: 7, Type: Uint32, Bits: 5}}})[".1.events"]
		if want := "5\n*1\nK7Y6V5\nE1\n5\n*1\n"; got != want {
			t.Errorf("found %q, expected %q", got, want)
		}
	})
	for _, x := range []struct {
		name, text string
		want       []string
	}{
		{"4.2 the rest of state lines is ignored", "5 rest\n*1 rest\nE1\n6X\n*2Y\nE2\n", []string{"5 *1 E1", "6 *2 E2"}},
		{"4.2 blanks before state lines", " \t5\n  *1\nE1\n", []string{"5 *1 E1"}},
		{"4.2 records before the first time", "E9\n*7\nE9\n5\n*1\nE1\n", []string{"5 *1 E1"}},
		{"4.2 records and times before the first process", "5\nE9\n6\nE9\n*1\nE1\n", []string{"5 *1 E1"}},
		{"4.2 no time line", "*1\nE1\n", nil},
		{"4.2 no process line", "5\nE1\n", nil},
		{"4.2 any number of state lines", "5\n*1\n6\n7\n*2\n*1\nE1\n", []string{"7 *1 E1"}},
		{"4.2 out of order, as they stand in the file", "5\n*1\nE1\n3\n*1\nE2\n4\n*1\nE3\n",
			[]string{"5 *1 E1", "3 *1 E2", "4 *1 E3"}},
		{"4.2 time 0", "0\n*1\nE1\n", []string{"0 *1 E1"}},
		{"4.2 no trailer", "0\n*1\nE1\n2\n*1\nL1\n", []string{"0 *1 E1", "2 *1 L1"}},
		{"4.2 a process of more digits", "5\n*123456789\nE1\n", []string{"5 *591751049 E1"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			sameRecords(t, oneStreamTrace(Events, x.text), Events, nil, x.want...)
		})
	}
	t.Run("4.2 state lines in files without times", func(t *testing.T) {
		files := map[string]string{"x.otf": "1:1\n", "x.0.def": "5\n*1\nDTR1\n", "x.0.marker": "6\nMD1NM\"\"Y0\n*2\n"}
		sameRecords(t, memoryTrace(files), Definitions, nil, "0: DTR1")
		sameRecords(t, memoryTrace(files), Markers, nil, "0: MD1NM\"\"Y0")
	})
	t.Run("4.2 the process that is none for libotf", func(t *testing.T) {
		src := memoryTrace(map[string]string{"x.otf": "1:1\n", "x.1.events": "5\n*1\nE1\n*ffffffff\nE2\n"})
		sameRecords(t, src, Events, nil, "5 *1 E1", "5 *4294967295 E2")
		sameRecords(t, src, Events, &Options{AsLibrary: true}, "5 *1 E1")
		// libotf treats the process ffffffff as "no process set yet" if it is the first of a file. Elsewhere
		// libotf delivers its records if the master file names it.
		src = memoryTrace(map[string]string{"x.otf": "1:1,ffffffff\n",
			"x.1.events": "1\n*ffffffff\nE1\n1\n*1\nE2\n*ffffffff\nE3\n2\n*1\nL2\n"})
		sameRecords(t, src, Events, &Options{AsLibrary: true}, "1 *1 E2", "1 *4294967295 E3", "2 *1 L2")
	})
}

// spellings lists records of all types in both spellings, short and long.
var spellings = []struct {
	r           Record
	short, long string
}{
	{Record{Type: DefVersion, Major: 1, Minor: 12, Sub: 5, Text: "salmon"}, `DV1.c.5"salmon"`, `DEFVERSION 1.c.5"salmon"`},
	{Record{Type: DefUniqueID, UniqueID: 0x4dfeddf561f816ae}, `DUI4dfeddf561f816ae`, `DEFUNIQUEID 4dfeddf561f816ae`},
	{Record{Type: DefCreator, Text: "c"}, `DCR"c"`, `DEFCREATOR "c"`},
	{Record{Type: DefinitionComment, Text: "c"}, `DCMT"c"`, `DEFCOMMENT "c"`},
	{Record{Type: DefTimerResolution, TicksPerSecond: 1_000_000}, `DTRf4240`, `DEFTIMERRESOLUTION f4240`},
	{Record{Type: DefTimeRange, MinTime: 10, MaxTime: 32}, `DTRGaT20`, `DEFTIMERANGE a TIME 20`},
	{Record{Type: DefProcess, Token: 11, Name: "p", Parent: 2}, `DPbNM"p"PT2`, `DEFPROCESS b NAME "p" PARENT 2`},
	{Record{Type: DefProcess, Token: 13, Unnamed: true, Parent: 2}, `DPdPT2`, `DEFPROCESS d PARENT 2`},
	{Record{Type: DefProcess, Token: 14, Unnamed: true}, `DPe`, `DEFPROCESS e`},
	{Record{Type: DefProcess, Token: 14}, `DPeNM""`, `DEFPROCESS e NAME ""`},
	{Record{Type: DefProcessGroup, Token: 1002, Members: []uint32{1, 0xabc}, Name: "g"}, `DPG3eaM1,abc,NM"g"`,
		`DEFPROCESSGROUP 3ea MEMBERS 1,abc, NAME "g"`},
	{Record{Type: DefProcessGroup, Token: 1002, Name: "x"}, `DPG3eaMNM"x"`, `DEFPROCESSGROUP 3ea MEMBERS  NAME "x"`},
	{Record{Type: DefAttributeList, Token: 7, Members: []uint32{1, 7}}, `DA7M1,7,`, `DEFATTRIBUTELIST 7 MEMBERS 1,7,`},
	{Record{Type: DefProcessOrGroupAttributes, Token: 10, AttributeList: 7}, `DPGAaV7`, `DEFPROCESSORGROUPATTR a VALUE 7`},
	{Record{Type: DefProcessSubstitutes, Token: 1, Members: []uint32{16}}, `DPS1M10,`,
		`DEFPROCESSSUBSTITUTES 1 MEMBERS 10,`},
	{Record{Type: DefFunctionGroup, Token: 10, Name: "g"}, `DFGaNM"g"`, `DEFFUNCTIONGROUP a NAME "g"`},
	{Record{Type: DefFunction, Token: 10, Group: 11, Name: "f", SCL: 12}, `DFaGbNM"f"Xc`,
		`DEFFUNCTION a GROUP b NAME "f" SCL c`},
	{Record{Type: DefFunction, Token: 10, Name: "f"}, `DFaG0NM"f"`, `DEFFUNCTION a GROUP 0 NAME "f"`},
	{Record{Type: DefCollectiveOperation, Token: 10, Name: "b", Kind: 2}, `DCOaNM"b"Y2`, `DEFCOLLOP a NAME "b" TYPE 2`},
	{Record{Type: DefCounterGroup, Token: 10, Name: "g"}, `DCGaNM"g"`, `DEFCOUNTERGROUP a NAME "g"`},
	{Record{Type: DefCounter, Token: 10, Group: 11, Name: "c", Properties: 0x109, Unit: "u"}, `DCNTaGbNM"c"P109U"u"`,
		`DEFCOUNTER a GROUP b NAME "c" PROPERTIES 109 UNIT "u"`},
	{Record{Type: DefCounterAssignments, Token: 0x1f5, Members: []uint32{1, 2}}, `DCA1f5M1,2,`,
		`DEFCOUNTERASSIGNMENTS 1f5 MEMBERS 1,2,`},
	{Record{Type: DefCounterAssignments, Token: 0x1f5}, `DCA1f5M`, `DEFCOUNTERASSIGNMENTS 1f5 MEMBERS `},
	{Record{Type: DefSCLFile, Token: 10, Name: "a.c"}, `DSFaNM"a.c"`, `DEFSCLFILE a NAME "a.c"`},
	{Record{Type: DefSCL, Token: 10, File: 11, Line: 255}, `DSaFbLNff`, `DEFSCL a FILE b LINE ff`},
	{Record{Type: DefFileGroup, Token: 10, Name: "g"}, `DFLGaNM"g"`, `DEFFILEGROUP a NAME "g"`},
	{Record{Type: DefFile, Token: 10, Name: "f"}, `DFLaNM"f"G0`, `DEFFILE a NAME "f" GROUP 0`},
	{Record{Type: DefKeyValue, Token: 10, Kind: 6, Name: "k", Text: "t"}, `DKaY6NM"k"T"t"`,
		`DEFKEYVALUE a TYPE 6 NAME "k" TAG "t"`},
	{Record{Type: DefKeyValue, Token: 10, Kind: 0xffffffff}, `DKaYffffffffNM""T""`,
		`DEFKEYVALUE a TYPE ffffffff NAME "" TAG ""`},
	{Record{Type: DefAuxSamplePoint, SampleTime: 1 << 40, Kind: 1}, `DAUX10000000000Y1`,
		`DEFAUXSAMPLEPOINT 10000000000 TYPE 1`},

	{Record{Type: NoOp}, `N`, `NOOP `},
	{Record{Type: Enter, Function: 10}, `Ea`, `ENTER a`},
	{Record{Type: Enter, Function: 10, SCL: 77}, `EaX4d`, `ENTER a SCL 4d`},
	{Record{Type: Leave}, `L`, `LEAVE `},
	{Record{Type: Leave, Function: 10}, `La`, `LEAVE a`},
	{Record{Type: Leave, SCL: 77}, `L0X4d`, `LEAVE 0 SCL 4d`},
	{Record{Type: SendMsg, Peer: 2, Length: 4096, Tag: 42, Communicator: 1001, SCL: 77}, `S2L1000T2aC3e9X4d`,
		`SEND 2 LEN 1000 TAG 2a COMM 3e9 SCL 4d`},
	{Record{Type: RecvMsg, Peer: 2, Length: 4096, Tag: 42, Communicator: 1001}, `R2L1000T2aC3e9`,
		`RECEIVE 2 LEN 1000 TAG 2a COMM 3e9`},
	{Record{Type: Counter, Counter: 10, Value: 1 << 63}, `CNTaV8000000000000000`, `COUNTER a VALUE 8000000000000000`},
	{Record{Type: CollectiveOperation, Collective: 1, Communicator: 2, Root: 3, Sent: 4, Received: 5, Duration: 1 << 32,
		SCL: 7},
		`COP1C2RT3S4R5D100000000X7`, `COLLOP 1 COMM 2 ROOT 3 SENT 4 RECVD 5 DUR 100000000 SCL 7`},
	{Record{Type: BeginCollective, Collective: 1, Matching: 1 << 32, Communicator: 2, Root: 3, Sent: 1 << 33,
		Received: 1 << 34, SCL: 7},
		`COPB1H100000000C2RT3S200000000R400000000X7`,
		`COLLOPBEGIN 1 HANDLEID 100000000 COMM 2 ROOT 3 SENT 200000000 RECVD 400000000 SCL 7`},
	{Record{Type: EndCollective, Matching: 1 << 32}, `COPE100000000`, `COLLOPEND 100000000`},
	{Record{Type: EventComment, Text: "c"}, `#"c"`, `#EVTCOMMENT "c"`},
	{Record{Type: BeginProcess}, `PB`, `PROCESSBEGIN `},
	{Record{Type: EndProcess}, `PE`, `PROCESSEND `},
	{Record{Type: FileOperation, File: 1, Handle: 1 << 40, Operation: 0x43, Bytes: 1 << 41, Duration: 6, SCL: 7},
		`F1H10000000000OP43B20000000000D6X7`, `FILEOP 1 HANDLEID 10000000000 OPERATION 43 BYTES 20000000000 DUR 6 SCL 7`},
	{Record{Type: BeginFileOperation, Matching: 1 << 40, SCL: 7}, `FA10000000000X7`, `FILEOPBEGINNEW 10000000000 SCL 7`},
	{Record{Type: EndFileOperation, File: 1, Matching: 1 << 40, Handle: 1 << 41, Operation: 3, Bytes: 1 << 42, SCL: 7},
		`FF1MI10000000000H20000000000OP3B40000000000X7`,
		`FILEOPENDNEW 1 MATCHID 10000000000 HANDLEID 20000000000 OPERATION 3 BYTES 40000000000 SCL 7`},
	{Record{Type: RMAPut, Origin: 1, Peer: 2, Communicator: 3, Tag: 4, Bytes: 1 << 40, SCL: 7}, `T1P2C3T4L10000000000X7`,
		`TRMAPUT 1 PROCESS 2 COMM 3 TAG 4 LEN 10000000000 SCL 7`},
	{Record{Type: RMAPutRemoteEnd, Origin: 1, Peer: 2, Communicator: 3, Tag: 4, Bytes: 5}, `U1P2C3T4L5`,
		`URMAPUTRE 1 PROCESS 2 COMM 3 TAG 4 LEN 5`},
	{Record{Type: RMAGet, Origin: 1, Peer: 2, Communicator: 3, Tag: 4, Bytes: 5}, `G1P2C3T4L5`,
		`GRMAGET 1 PROCESS 2 COMM 3 TAG 4 LEN 5`},
	{Record{Type: RMAEnd, Peer: 2, Communicator: 3, Tag: 4, SCL: 7}, `M2C3T4X7`, `MRMAEND 2 COMM 3 TAG 4 SCL 7`},

	{Record{Type: SnapshotComment, Text: "c"}, `TC"c"`, `TCOMMENT "c"`},
	{Record{Type: EnterSnapshot, Function: 10, OriginalTime: 1 << 40, SCL: 7}, `TEaO10000000000X7`,
		`TENTER a OTIME 10000000000 SCL 7`},
	{Record{Type: SendSnapshot, Peer: 1, OriginalTime: 2, Communicator: 3, Tag: 4, Length: 5, SCL: 7}, `TS1O2G3T4L5X7`,
		`TSEND 1 OTIME 2 GROUP 3 TAG 4 LEN 5 SCL 7`},
	{Record{Type: OpenFileSnapshot, File: 1, OriginalTime: 2, Handle: 1 << 40, SCL: 7}, `TOF1O2H10000000000X7`,
		`TOPENFILE 1 OTIME 2 HANDLEID 10000000000 SCL 7`},
	{Record{Type: BeginCollectiveSnapshot, OriginalTime: 1, Collective: 2, Matching: 3, Communicator: 4, Root: 5, Sent: 6,
		Received: 8, SCL: 7},
		`TBC1CL2H3G4RT5S6R8X7`, `TBEGINCOLLOP 1 COLL 2 HANDLEID 3 GROUP 4 ROOT 5 SENT 6 RECVD 8 SCL 7`},
	{Record{Type: BeginFileOperationSnapshot, OriginalTime: 1, Matching: 2, SCL: 7}, `TBF1MI2X7`,
		`TBEGINFILEOP 1 MATCHID 2 SCL 7`},
	{Record{Type: CollectiveCountSnapshot, Communicator: 1, Count: 1 << 40}, `TCOC1N10000000000`,
		`TCOLLOPCOUNT 1 COUNT 10000000000`},
	{Record{Type: CounterSnapshot, OriginalTime: 1, Counter: 2, Value: 3}, `TCNT1CNT2V3`, `TCOUNTER 1 COUNTER 2 VALUE 3`},

	{Record{Type: SummaryComment, Text: "c"}, `SC"c"`, `SUMCOMMENT "c"`},
	{Record{Type: FunctionSummary, Function: 1, Count: 2, Exclusive: 3, Inclusive: 4}, `SF1N2E3I4`,
		`SUMFUNCTION 1 COUNT 2 EXCL 3 INCL 4`},
	{Record{Type: FunctionGroupSummary, Group: 1, Count: 2, Exclusive: 3, Inclusive: 4}, `SG1N2E3I4`,
		`SUMFUNCTIONGROUP 1 COUNT 2 EXCL 3 INCL 4`},
	{Record{Type: MessageSummary, Peer: 1, Communicator: 2, Tag: 3, SentCount: 4, ReceivedCount: 5, Sent: 6, Received: 7},
		`SM1C2T3NS4NR5S6R7`, `SUMMESSAGE 1 COMM 2 TAG 3 NUMSENT 4 NUMRECVD 5 SENT 6 RECVD 7`},
	{Record{Type: CollectiveSummary, Communicator: 1, Collective: 2, SentCount: 4, ReceivedCount: 5, Sent: 6, Received: 7},
		`SCO1CL2NS4NR5S6R7`, `SUMCOLLMESSAGE 1 COLL 2 NUMSENT 4 NUMRECVD 5 SENT 6 RECVD 7`},
	{Record{Type: FileOperationSummary, File: 1, Opens: 2, Closes: 3, Reads: 4, Writes: 5, Seeks: 6, BytesRead: 7,
		BytesWritten: 8},
		`SFL1NO2NC3NRD4NW5NSK6BR7BW8`,
		`SUMFILEOPERATION 1 NUMOPEN 2 NUMCLOSE 3 NUMREAD 4 NUMWRITTEN 5 NUMSEEK 6 BYTESREAD 7 BYTESWRITE 8`},
	{Record{Type: FileGroupOperationSummary, Group: 1, Opens: 2, Closes: 3, Reads: 4, Writes: 5, Seeks: 6, BytesRead: 7,
		BytesWritten: 8},
		`SFLG1NO2NC3NRD4NW5NSK6BR7BW8`,
		`SUMFILEGROUPOPERATION 1 NUMOPEN 2 NUMCLOSE 3 NUMREAD 4 NUMWRITTEN 5 NUMSEEK 6 BYTESREAD 7 BYTESWRITE 8`},

	{Record{Type: DefMarker, Token: 1, Name: "m", Kind: 3}, `MD1NM"m"Y3`, `MARKERDEF 1 NAME "m" TYPE 3`},
	{Record{Type: Marker, Token: 1, Time: 1 << 40, Process: 2, Text: "t"}, `MS1T10000000000P2V"t"`,
		`MARKERSPOT 1 TIME 10000000000 PROCESS 2 VALUE "t"`},
}

// traceWith returns a trace whose only file of a part has the given lines.
func traceWith(part Part, lines string) format.Source {
	switch part {
	case Definitions, Markers:
		return memoryTrace(map[string]string{"x.otf": "1:1\n", "x.0" + suffixes[part]: lines})
	}
	return oneStreamTrace(part, "5\n*1\n"+lines)
}

// sameRecord compares two records in the fields that the type of the first record has.
func sameRecord(a, b *Record) bool {
	return a.Type == b.Type && a.Unnamed == b.Unnamed && bytes.Equal(a.Append(nil, true), b.Append(nil, true))
}

func TestLetter_5(t *testing.T) {
	seen := map[Type]bool{}
	for _, x := range spellings {
		seen[x.r.Type] = true
		section := map[Part]string{Definitions: "5.1", Events: "5.2", Snapshots: "5.3", Statistics: "5.4",
			Markers: "5.5"}[x.r.Type.Part()]
		t.Run(section+" "+x.short, func(t *testing.T) {
			for long, want := range map[bool]string{false: x.short, true: x.long} {
				if got := string(x.r.Append(nil, long)); got != want+"\n" {
					t.Errorf("written: found %q, expected %q", got, want)
				}
				// The record is read field by field: between other records in the other spelling, and as the
				// last record.
				part := x.r.Type.Part()
				r, err := Open(t.Context(), traceWith(part, x.long+"\n"+x.short+"\n"+want+"\n"), nil)
				if err != nil {
					t.Fatal(err)
				}
				c, err := r.Cursor(t.Context(), part)
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				for ; c.Next(); n++ {
					got := *c.Record()
					if part.timed() {
						got.Time, got.Process = x.r.Time, x.r.Process
					}
					got.KeyValues = nil
					if !sameRecord(&got, &x.r) {
						t.Errorf("%s: found %+v, expected %+v", want, got, x.r)
					}
					for _, f := range specs[x.r.Type].fields {
						if f.bits > 0 && *got.number(f.f) != *x.r.number(f.f) {
							t.Errorf("%s: found %d in field %s, expected %d", want, *got.number(f.f), f.long, *x.r.number(f.f))
						}
					}
				}
				if c.Close(); n != 3 || c.Err() != nil {
					t.Errorf("%s: found %d records (%v), expected 3", want, n, c.Err())
				}
			}
		})
	}
	eachType(func(typ Type) {
		if !seen[typ] {
			t.Errorf("5: no line for %s", typ)
		}
	})
}

func TestLetter_5_fields(t *testing.T) {
	for _, x := range []struct {
		name, line, want string
		part             Part
	}{
		{"5.1 N for NM", `DF1G2N"f"`, `DF1G2NM"f"`, Definitions},
		{"5.1 N for NM of a process, P for PT", `DP1N"p"P2`, `DP1NM"p"PT2`, Definitions},
		{"5.1 N for NM of groups", `DPG1M1,N"g"`, `DPG1M1,NM"g"`, Definitions},
		{"5.1 S for X", `DF1G2NM"f"S4`, `DF1G2NM"f"X4`, Definitions},
		{"5.1 T for Y", `DCO1NM"b"T2`, `DCO1NM"b"Y2`, Definitions},
		{"5.1 L for LN", `DS1F2L3`, `DS1F2LN3`, Definitions},
		{"5.1 a second group of a counter", `DCNT1G2NM"c"P3G4U"u"`, `DCNT1G4NM"c"P3U"u"`, Definitions},
		{"5.1 a second group 0 of a counter", `DCNT1G2NM"c"P3G0U"u"`, `DCNT1G2NM"c"P3U"u"`, Definitions},
		{"5.2 S for X, enter", `E1S4`, `E1X4`, Events},
		{"5.2 S for X, leave", `L1S4`, `L1X4`, Events},
		{"5.2 S for X, send", `S1L2T3C4S5`, `S1L2T3C4X5`, Events},
		{"5.2 S for X, collective operation", `COP1C2RT3S4R5D6S7`, `COP1C2RT3S4R5D6X7`, Events},
		{"5.2 S for X, begin of a collective operation", `COPB1H2C3RT4S5R6S7`, `COPB1H2C3RT4S5R6X7`, Events},
		{"5.2 old begin of a file operation", `FB5X6`, `FA5X6`, Events},
		{"5.2 old begin of a file operation, long", `FILEOPBEGIN 5 SCL 6`, `FA5X6`, Events},
		{"5.2 old end of a file operation: the handle is the matching number", `FE1H2OP3B4X5`, `FF1MI2H0OP3B4X5`, Events},
		{"5.2 old end of a file operation, long", `FILEOPEND 1 HANDLEID 2 OPERATION 3 BYTES 4`, `FF1MI2H0OP3B4`, Events},
		{"5.2 a put", `T1P2C3T4L5`, `T1P2C3T4L5`, Events},
		{"5.2 a snapshot among the events", `TE1O2`, `TE1O2`, Events},
		{"5.2 a snapshot among the events, long", `TENTER 1 OTIME 2`, `TE1O2`, Events},
		{"5.3 S for X, enter", `TE1O2S4`, `TE1O2X4`, Snapshots},
		{"5.3 S for X, send", `TS1O2G3T4L5S6`, `TS1O2G3T4L5X6`, Snapshots},
		{"5.3 S for X, open file", `TOF1O2H3S4`, `TOF1O2H3X4`, Snapshots},
		{"5.3 no length of a send", `TS1O2G3T4`, `TS1O2G3T4L0`, Snapshots},
		{"5.3 no length of a send, but a place", `TS1O2G3T4X6`, `TS1O2G3T4L0X6`, Snapshots},
		{"5.4 C for N", `SF1C2E3I4`, `SF1N2E3I4`, Statistics},
		{"5.4 C for N, groups", `SG1C2E3I4`, `SG1N2E3I4`, Statistics},
		{"5.4 A for T", `SM1C2A3NS4NR5S6R7`, `SM1C2T3NS4NR5S6R7`, Statistics},
		{"5 keywords of both spellings in one line", `SEND 1 L 2 TAG 3 C 4`, `S1L2T3C4`, Events},
		{"5 what is after a record without a place is ignored", `CNT1V2 rest`, `CNT1V2`, Events},
	} {
		t.Run(x.name, func(t *testing.T) {
			want := "0: " + x.want
			if x.part.timed() {
				want = "5 *1 " + x.want
			}
			sameRecords(t, traceWith(x.part, x.line+"\n"), x.part, nil, want)
		})
	}
	for _, x := range []struct {
		name, line, rule string
		part             Part
	}{
		{"5.1 no N for NM of files", `DFL1N"f"G0`, "otf.malformed", Definitions},
		{"5.1 no N for NM of groups of files", `DFLG1N"g"`, "otf.malformed", Definitions},
		{"5.1 no N for NM of keys", `DK1Y6N"k"T""`, "otf.malformed", Definitions},
		{"5.5 no N for NM of markers", `MD1N"m"Y1`, "otf.malformed", Markers},
		{"5 a keyword ends where capitals end", "EN1", "otf.unknown-record", Events},
		{"5 fields stand in their order", `DF1NM"f"G0`, "otf.malformed", Definitions},
		{"5.4 fields of sums stand in their order", "SF1N2I3E4", "otf.malformed", Statistics},
	} {
		t.Run(x.name, func(t *testing.T) {
			if _, rules := recordsOf(t, traceWith(x.part, x.line+"\n"), x.part, nil); !slices.Equal(rules, []string{x.rule}) {
				t.Errorf("found %q, expected %s", rules, x.rule)
			}
		})
	}
}

func TestLetter_5_none(t *testing.T) {
	t.Run("5.2 origin, remote, root and communicator 0 are none", func(t *testing.T) {
		d := tracetest.Open(t, Format{}, memoryTrace(map[string]string{"x.otf": "1:1\n",
			"x.1.events": "5\n*1\nT0P0C0T4L5\nCOPB5H1C0RT0S1R1\nS1L1T1C0\n"}), nil)
		defer d.Close()
		defs, n := d.Defs(), 0
		err := d.Scan(t.Context(), trace.Everything(), format.GlobalOrder,
			format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				for c := b.Cursor(); c.Next(); n++ {
					for i, o := range defs.Spec(c.Kind()).Operands {
						switch o.Name {
						case "remote", "origin", "root", "communicator":
							if c.Ops()[i] != trace.Undefined {
								t.Errorf("%s: found %d as %s, expected none", defs.Spec(c.Kind()).Name, c.Ops()[i], o.Name)
							}
						}
					}
				}
				return nil
			}})
		if err != nil || n != 3 {
			t.Errorf("found %d events (%v), expected 3", n, err)
		}
	})
	t.Run("5.1 a header is written by the Writer, not by a StreamWriter", func(t *testing.T) {
		for long, want := range map[bool]string{false: "DV1.c.5\"salmon\"\nDUI2\nDTR1\n",
			true: "DEFVERSION 1.c.5\"salmon\"\nDEFUNIQUEID 2\nDEFTIMERRESOLUTION 1\n"} {
			files := writtenFiles(t, &WriterOptions{Long: long, UniqueID: 2}, Record{Type: DefFunction, Stream: 3, Token: 1},
				Record{Type: DefTimerResolution, TicksPerSecond: 1})
			if files[".0.def"] != want || strings.Contains(files[".3.def"], "salmon") {
				t.Errorf("found %q and %q, expected %q", files[".0.def"], files[".3.def"], want)
			}
		}
		dir := t.TempDir()
		w := NewStreamWriter(filepath.Join(dir, "x"), 0, nil)
		if err := w.Write(&Record{Type: DefTimerResolution, TicksPerSecond: 1}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, dir)["x.0.def"]; got != "DTR1\n" {
			t.Errorf("found %q", got)
		}
	})
	t.Run("5 snapshots among the events", func(t *testing.T) {
		files := writtenFiles(t, &WriterOptions{InlineSnapshots: true}, Record{Type: Enter, Time: 1, Process: 1, Function: 2},
			Record{Type: EnterSnapshot, Time: 3, Process: 1, Function: 2, OriginalTime: 1})
		if _, ok := files[".1.snaps"]; ok || files[".1.events"] != "1\n*1\nE2\n3\n*1\nTE2O1\n3\n*1\n" {
			t.Errorf("found %q", files)
		}
	})
}
