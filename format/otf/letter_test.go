package otf

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io/fs"
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

// The tests of this file are named after the sections of the description of the format to the byte,
// which completes the document of 2007 (docs/formats/otf.md, "The format to the byte").

func TestLetter_1(t *testing.T) {
	base := map[string]string{"x.otf": "1:1\na:2\n", "x.0.def": "DTR1\n", "x.1.def": "DF1G0NM\"one\"\n",
		"x.a.def":    "DF1G0NM\"ten\"\n",
		"x.1.events": "1\n*1\nE1\n", "x.a.events": "2\n*2\nE2\n", "x.0.marker": "MD1NM\"m\"Y1\n",
		"x.a.marker": "MD2NM\"n\"Y2\n"}
	events := []string{"1 *1 E1", "2 *2 E2"}
	for _, x := range []struct {
		name string
		file string // that is there too, or instead; "-" in front takes it away
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
			sameRecords(t, inMemory(files), x.part, nil, x.want...)
		})
	}
	t.Run("1 names with and without .otf", func(t *testing.T) {
		for _, name := range []string{"x", "x.otf"} {
			src := inMemory(base)
			src.Name = name
			sameRecords(t, src, Events, nil, events...)
		}
		// One .otf is removed, and streams are opened by the stub as it is.
		src := inMemory(map[string]string{"x.otf.otf": "1:1\n", "x.otf.1.events": "1\n*1\nE1\n"})
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
		src := inMemory(map[string]string{"x.otf.z": zipText(t, "1:1\n", 1, 100), "x.1.events": "1\n*1\nE1\n"})
		if _, err := Open(t.Context(), src, nil); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("found %v, expected that there is no file", err)
		}
	})
	t.Run("1 IOFSL", func(t *testing.T) {
		if got, _ := recordsOf(t, inMemory(map[string]string{"x.otf": "i4:0:8\n"}), Events, nil); len(got) != 1 ||
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
		{"2 strings are what is between quotes", "#\"a\tb\r\\n\\\xc3\xa4\xe4\x01\"", "#\"a\tb\r\\n\\\xc3\xa4\xe4\x01\""},
		{"2 empty strings", "#\"\"", "#\"\""},
	} {
		t.Run(x.name, func(t *testing.T) {
			sameRecords(t, inOneStream(Events, "1\n*1\n"+x.line+"\n"), Events, nil, "1 *1 "+x.want)
		})
	}
	for _, x := range []struct{ name, text, want string }{
		{"2 a comma behind each element", "DPG3M1,2,abcdef,NM\"x\"", "DPG3M1,2,abcdef,NM\"x\""},
		{"2 an element without its comma is dropped", "DA3M1,2", "DA3M1,"},
		{"2 an empty array", "DPG3MNM\"x\"", "DPG3MNM\"x\""},
		{"2 an empty array, long", "DEFPROCESSGROUP 3ea MEMBERS  NAME \"x\"", "DPG3eaMNM\"x\""},
		{"2 keywords of an empty array together, long", "DEFPROCESSGROUP 3ea MEMBERSNAME \"x\"", "DPG3eaMNM\"x\""},
		{"2 blanks in an array", "DA3M 1 , 2\t,3,", "DA3M1,2,3,"},
		{"2 a string over the end of the line", "DP1NM\"a\nb\"", "DP1NM\"a b\""},
	} {
		t.Run(x.name, func(t *testing.T) {
			sameRecords(t, inMemory(map[string]string{"x.otf": "1:1\n", "x.0.def": x.text + "\n"}), Definitions, nil,
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
			r.KeyValues = append(r.KeyValues, KeyValue{Key: uint32(i), Type: typ, Bits: math.MaxUint64}) // -1
		}
		if got, want := string(r.Append(nil, false)),
			"K0Y1Vff\nK1Y3Vffff\nK2Y5Vffffffff\nK3Y7Vffffffffffffffff\nN\n"; got != want {
			t.Errorf("found %q, expected %q", got, want)
		}
	})
}

func TestLetter_3(t *testing.T) {
	for _, x := range []struct {
		name, text, want string
		odd              bool // it is reported
	}{
		{"3 lines as they are written", "1:1\n2:2,3,abcdef\na:10\n", "1:1\n2:2,3,abcdef\na:10\n", false},
		{"3 sorted when they are written", "a:3,2\n1:9,8\n", "1:8,9\na:2,3\n", false},
		{"3 blanks anywhere", " 1 : 2 ,\t3\n2:4 , 5 \n", "1:2,3\n2:4,5\n", false},
		{"3 empty lines", "\n1:1\n\n2:2\n", "1:1\n2:2\n", false},
		{"3 lines without a colon", "# comment\n1:1\nzz\n12\n", "1:1\n", true},
		{"3 a last line without end", "1:1\n2:2", "1:1\n2:2\n", true}, // libotf leaves it out
		{"3 streams 0 and ffffffff", "0:1\nffffffff:2\n1:3\n", "1:3\n", true},
		{"3 a process in two streams", "2:7,8\n1:7,9\n", "1:9\n2:7,8\n", true},
		{"3 a stream on two lines", "1:1\n2:2\n1:3\n", "1:1,3\n2:2\n", false},
		{"3 an empty list", "1:\n", "1:0\n", true},
		{"3 nothing", "", "", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			rep := format.NewReport()
			m, err := ReadMaster(inMemory(map[string]string{"x.otf": x.text}), &format.ReadOptions{Report: rep})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(m.AppendTo(nil)); got != x.want {
				t.Errorf("found %q, expected %q", got, x.want)
			}
			if odd := len(rep.Rules()) > 0; odd != x.odd {
				t.Errorf("found defects %v, expected some: %t", rep.Rules(), x.odd)
			}
		})
	}
	t.Run("3 a master file of no process", func(t *testing.T) {
		if got, ok := written(t, nil, Record{Type: DefTimerResolution, TicksPerSecond: 1})[".otf"]; !ok || got != "" {
			t.Errorf("found %q, expected an empty master file", got)
		}
		// libotf does not open such a trace; it has definitions.
		sameRecords(t, inMemory(map[string]string{"x.otf": "", "x.0.def": "DTR1\n"}), Definitions, nil, "0: DTR1")
		if got, _ := recordsOf(t, inMemory(map[string]string{"x.otf": "", "x.0.def": "DTR1\n"}), Definitions,
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
			if got := written(t, &x.opt, records...)[".otf"]; got != x.want {
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
		files := written(t, &WriterOptions{UniqueID: 1}, Record{Type: DefTimerResolution, TicksPerSecond: 1},
			Record{Type: Enter, Time: 1, Process: 1, Function: 1},
			Record{Type: EnterSnapshot, Time: 2, Process: 1, Function: 1}, Record{Type: FunctionSummary, Time: 3, Process: 1,
				Function: 1}, Record{Type: DefMarker, Token: 1})
		want := map[string]string{".otf": "1:1\n", ".0.def": "DV1.c.5\"salmon\"\nDUI1\nDTR1\n", ".0.marker": "MD1NM\"\"Y0\n",
			".1.events": "1\n*1\nE1\n1\n*1\n", ".1.snaps": "2\n*1\nTE1O0\n2\n*1\n", ".1.stats": "3\n*1\nSF1N0E0I0\n3\n*1\n"}
		if diff := cmp.Diff(want, files); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("4.1 pairs behind the state lines", func(t *testing.T) {
		got := written(t, nil, Record{Type: Enter, Time: 5, Process: 1, Function: 1,
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
			sameRecords(t, inOneStream(Events, x.text), Events, nil, x.want...)
		})
	}
	t.Run("4.2 state lines in files without times", func(t *testing.T) {
		files := map[string]string{"x.otf": "1:1\n", "x.0.def": "5\n*1\nDTR1\n", "x.0.marker": "6\nMD1NM\"\"Y0\n*2\n"}
		sameRecords(t, inMemory(files), Definitions, nil, "0: DTR1")
		sameRecords(t, inMemory(files), Markers, nil, "0: MD1NM\"\"Y0")
	})
	t.Run("4.2 the process that is none for libotf", func(t *testing.T) {
		src := inMemory(map[string]string{"x.otf": "1:1\n", "x.1.events": "5\n*1\nE1\n*ffffffff\nE2\n"})
		sameRecords(t, src, Events, nil, "5 *1 E1", "5 *4294967295 E2")
		sameRecords(t, src, Events, &Options{AsLibrary: true}, "5 *1 E1")
	})
}

// spelled are all types of records in both spellings.
var spelled = []struct {
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

// holding is a trace whose only file of a part has lines in it.
func holding(part Part, lines string) format.Source {
	switch part {
	case Definitions, Markers:
		return inMemory(map[string]string{"x.otf": "1:1\n", "x.0" + suffixes[part]: lines})
	}
	return inOneStream(part, "5\n*1\n"+lines)
}

// sameRecord compares two records, with fields that the first one's type has.
func sameRecord(a, b *Record) bool {
	return a.Type == b.Type && a.Unnamed == b.Unnamed && bytes.Equal(a.Append(nil, true), b.Append(nil, true))
}

func TestLetter_5(t *testing.T) {
	seen := map[Type]bool{}
	for _, x := range spelled {
		seen[x.r.Type] = true
		section := map[Part]string{Definitions: "5.1", Events: "5.2", Snapshots: "5.3", Statistics: "5.4",
			Markers: "5.5"}[x.r.Type.Part()]
		t.Run(section+" "+x.short, func(t *testing.T) {
			for long, want := range map[bool]string{false: x.short, true: x.long} {
				if got := string(x.r.Append(nil, long)); got != want+"\n" {
					t.Errorf("written: found %q, expected %q", got, want)
				}
				// Read field by field: in the middle of other records in the other spelling, and the last one.
				part := x.r.Type.Part()
				r, err := Open(t.Context(), holding(part, x.long+"\n"+x.short+"\n"+want+"\n"), nil)
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
		{"5 what is behind a record without a place is ignored", `CNT1V2 rest`, `CNT1V2`, Events},
	} {
		t.Run(x.name, func(t *testing.T) {
			want := "0: " + x.want
			if x.part.timed() {
				want = "5 *1 " + x.want
			}
			sameRecords(t, holding(x.part, x.line+"\n"), x.part, nil, want)
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
			if _, rules := recordsOf(t, holding(x.part, x.line+"\n"), x.part, nil); !slices.Equal(rules, []string{x.rule}) {
				t.Errorf("found %q, expected %s", rules, x.rule)
			}
		})
	}
	t.Run("5.2 origin, remote, root and communicator 0 are none", func(t *testing.T) {
		d := tracetest.Open(t, Format{}, inMemory(map[string]string{"x.otf": "1:1\n",
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
			files := written(t, &WriterOptions{Long: long, UniqueID: 2}, Record{Type: DefFunction, Stream: 3, Token: 1},
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
		files := written(t, &WriterOptions{InlineSnapshots: true}, Record{Type: Enter, Time: 1, Process: 1, Function: 2},
			Record{Type: EnterSnapshot, Time: 3, Process: 1, Function: 2, OriginalTime: 1})
		if _, ok := files[".1.snaps"]; ok || files[".1.events"] != "1\n*1\nE2\n3\n*1\nTE2O1\n3\n*1\n" {
			t.Errorf("found %q", files)
		}
	})
}

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
			sameRecords(t, inOneStream(Events, "5\n*1\n"+x.text), Events, nil, want...)
		})
	}
	t.Run("6 any record", func(t *testing.T) {
		for _, x := range spelled {
			part := x.r.Type.Part()
			got, _ := recordsOf(t, holding(part, "K1Y6V5\n"+x.long+"\n"+x.short+"\n"), part, nil)
			if len(got) != 2 || !strings.HasSuffix(got[0], "K1Y6V5 | "+x.short) || strings.Contains(got[1], "K1") {
				t.Errorf("found %q", got)
			}
		}
	})
	t.Run("6 state lines between a pair and its record", func(t *testing.T) {
		sameRecords(t, inOneStream(Events, "5\n*1\nK1Y6V5\n6\n*2\nN\n"), Events, nil, "6 *2 K1Y6V5 | N")
	})
	t.Run("6 pairs are no records, for counts and limits", func(t *testing.T) {
		r, err := Open(t.Context(), inOneStream(Events, "5\n*1\nK1Y6V5\nK2Y6V5\nN\nK1Y6V5\nN\nN\n"), nil)
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
		sameRecords(t, inOneStream(Events, "5\n*1\nK1Y6V5\nN\n*2\nK1Y6V6\nN\n"), Events,
			&Options{Processes: func(p uint64) bool { return p == 2 }}, "5 *2 K1Y6V6 | N")
	})
	t.Run("6 what libotf does not read", func(t *testing.T) {
		for text, rule := range map[string]string{"K1Yffffffff V1\nN\n": "otf.malformed", "K1YcV1\nN\n": "otf.malformed",
			"K9YbV" + hexa[:202] + "L65\nN\n": "otf.long-array"} {
			if _, rules := recordsOf(t, inOneStream(Events, "5\n*1\n"+text), Events, nil); !slices.Contains(rules, rule) {
				t.Errorf("%.20q: found %q, expected %s", text, rules, rule)
			}
		}
	})
}

func TestLetter_7(t *testing.T) {
	d := tracetest.Open(t, Format{}, inMemory(map[string]string{"x.otf": "1:1\n", "x.1.events": "1\n*1\nN\n",
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

// The record ids are those of libotf, which its tools and handlers go by.
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
		sameRecords(t, inMemory(ties), Events, nil, "5 *1 E1", "5 *1 E2", "5 *2 E1", "5 *2 E2", "5 *3 E1", "5 *3 E2",
			"7 *1 E3", "7 *2 E3", "7 *3 E3")
	})
	t.Run("9 stream after stream", func(t *testing.T) {
		sameRecords(t, inMemory(ties), Events, &Options{OneByOne: true}, "5 *1 E1", "5 *1 E2", "7 *1 E3", "5 *2 E1",
			"5 *2 E2", "7 *2 E3", "5 *3 E1", "5 *3 E2", "7 *3 E3")
	})
	t.Run("9 equal times by libotf's heap", func(t *testing.T) {
		// A heap of the streams 1, 2 and 3, in which equal ones change their places: 2 first, then 1 and 2 in turn
		// as long as both are at 5, then 3; of those at 7 the order that is left.
		sameRecords(t, inMemory(ties), Events, &Options{AsLibrary: true}, "5 *2 E1", "5 *1 E1", "5 *2 E2", "5 *1 E2",
			"5 *3 E1", "5 *3 E2", "7 *2 E3", "7 *3 E3", "7 *1 E3")
		dir := t.TempDir()
		for name, text := range ties {
			writeFile(t, filepath.Join(dir, name), text)
		}
		writeFile(t, filepath.Join(dir, "x.0.def"), "DTR1\n")
		sameAsPrinted(t, tool(t, "otfprint"), filepath.Join(dir, "x.otf"))
	})
	t.Run("9 half open intervals", func(t *testing.T) {
		src := inOneStream(Events, "4\n*1\nE4\n5\n*1\nE5\n6\n*1\nE6\n7\n*1\nE7\n")
		sameRecords(t, src, Events, &Options{From: 5, To: 7}, "5 *1 E5", "6 *1 E6")
		sameRecords(t, src, Events, &Options{From: 5}, "5 *1 E5", "6 *1 E6", "7 *1 E7")
		sameRecords(t, src, Events, &Options{To: 5}, "4 *1 E4")
	})
	t.Run("9 processes by the state line", func(t *testing.T) {
		sameRecords(t, inOneStream(Events, "4\n*1\nE4\n*2\nE5\n*1\nE6\n"), Events,
			&Options{Processes: func(p uint64) bool { return p == 1 }}, "4 *1 E4", "4 *1 E6")
	})
	t.Run("9 processes that the master file does not name", func(t *testing.T) {
		src := inOneStream(Events, "4\n*1\nE4\n*9\nE5\n")
		sameRecords(t, src, Events, &Options{AsLibrary: true}, "4 *1 E4")
		sameRecords(t, src, Events, nil, "4 *1 E4", "4 *9 E5") // weft reads them
	})
	t.Run("9 a limit of records", func(t *testing.T) {
		r, err := Open(t.Context(), inMemory(ties), nil)
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
		{"10.2 no string", "5\n*1\n#x\nE1\n", []string{"5 *1 E1"}, []string{"otf.malformed"}},
		{"10.2 what is no place in the source", "5\n*1\nE1Y2\nE1\n", []string{"5 *1 E1"}, []string{"otf.malformed"}},
		{"10.2 behind the last field", "5\n*1\nCOPE5Y2\nPBrest\n", []string{"5 *1 COPE5", "5 *1 PB"}, nil},
		{"10.3 blanks that libotf does not take", "5\n*1\n S 2 L 1 T 1 C 1 X 4 \nE1\r\nE1 \n",
			[]string{"5 *1 S2L1T1C1X4", "5 *1 E1", "5 *1 E1"}, nil},
		{"10.3 line ends of Windows", "5\r\n*1\r\nE1\r\nL1X2\r\n", []string{"5 *1 E1", "5 *1 L1X2"}, nil},
		{"10.4 NUL and other bytes", "5\n*1\n\x00E1\n\x80\nE1\n", []string{"5 *1 \x00E1", "5 *1 \x80", "5 *1 E1"},
			[]string{"otf.unknown-record"}},
		{"10.4 there are no comments", "5\n*1\n#\"text\"\n", []string{"5 *1 #\"text\""}, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			if rules := sameRecords(t, inOneStream(Events, x.text), Events, nil, x.want...); !slices.Equal(rules, x.rules) {
				t.Errorf("found defects %q, expected %q", rules, x.rules)
			}
		})
	}
	t.Run("10.1 a long line", func(t *testing.T) {
		text := strings.Repeat("x", 2_500_000)
		sameRecords(t, inOneStream(Events, "5\n*1\n#\""+text+"\"\nE1\n"), Events, nil, "5 *1 #\""+text+"\"", "5 *1 E1")
	})
	t.Run("10.2 strict reading stops at a malformed record", func(t *testing.T) {
		r, err := Open(t.Context(), inOneStream(Events, "5\n*1\nE1\nS1\nE2\n"),
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
	// What is odd reads as the real tool reads it.
	t.Run("10 otfprint", func(t *testing.T) {
		otfprint := tool(t, "otfprint")
		for part, texts := range oddTexts {
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

// sameAsPrinted compares the records of a trace with those that otfprint finds.
func sameAsPrinted(t *testing.T, otfprint, m string) {
	t.Helper()
	want, _ := exec.Command(otfprint, "--fullkeyvalue", m).Output() // it fails where it stops
	var got bytes.Buffer
	if err := PrintCompat(t.Context(), format.FileSource(m), nil, nil, &got); err != nil {
		t.Fatal(err)
	}
	if a, b := printedLines(got.Bytes()), printedLines(want); !slices.Equal(a, b) || len(b) == 0 {
		t.Errorf("%q:\n%s\nwant\n%s", contents(t, filepath.Dir(m)), strings.Join(a, ""), strings.Join(b, ""))
	}
}

// printedLines are the lines of otfprint's text that are records.
func printedLines(text []byte) (l []string) {
	for x := range strings.Lines(string(text)) {
		if strings.HasPrefix(x, "(#") {
			l = append(l, x)
		}
	}
	return l
}

// oddTexts are files that otfprint reads too; definitions and markers stand behind sound ones.
var oddTexts = map[Part][]string{Events: oddEvents, Definitions: {
	"DF3G2N\"f\"\nDP3N\"p\"P2\nDPG1M1,N\"g\"\nDF4G2NM\"f\"S4\nDCO1NM\"b\"T2\nDS1F2L3\nDCNT2G2NM\"c\"P3G4U\"u\"\n" +
		"DCNT3G2NM\"c\"P3G0U\"u\"\n",
	"DFL1N\"f\"G0\nDF3G0NM\"f\"\n", "DFLG1N\"g\"\nDF3G0NM\"f\"\n", "DK1Y6N\"k\"T\"\"\nDF3G0NM\"f\"\n",
	// the old N is not taken
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
}, Snapshots: {
	"5\n*1\nTE1O2\nTE1O2S4\nTS1O2G3T4L5S6\nTS1O2G3T4\nTS1O2G3T4X6\nTOF1O2H3S4\nTC\"c\"\nTBC1CL2H3G4RT5S6R8X7\n" +
		"TBF1MI2X7\nTCOC1N5\nTCNT1CNT1V3\n",
	"5\n*1\nE1\nTE1O2\nTQ1\nTE1O3\n", "5\n*1\nTENTER 1 OTIME 2\nTE1O2X4\n", "5\n*1\nTE1\nTE1O2\n",
}, Statistics: {
	"5\n*1\nSF1C2E3I4\nSG1C2E3I4\nSM1C2A3NS4NR5S6R7\nSF1N2E3I4\nSCO1CL2NS4NR5S6R7\n",
	"5\n*1\nSUMFUNCTION 1 COUNT 2 EXCL 3 INCL 4\nSF1N2E3I4\n",
	"5\n*1\nSQ1\nSF1N2E3I4\nE1\n", "5\n*1\nSF1N2I3E4\nSF1N2E3I4\n",
}, Markers: {
	"MS1T5P1V\"t\"\nMARKERSPOT 1 TIME 5 PROCESS 2 VALUE \"u\"\nMD2NM\"m\"Y3\nMS2T3P1V\"t\"\n",
	"MD2N\"m\"Y1\nMS1T5P1V\"t\"\n",
	"MQ1\nMS1T5P1V\"t\"\n", "K1Y6V5\nMS1T5P1V\"t\"\nMS1T6P1V\"t\"\n",
}}

var oddEvents = []string{
	"5\n*1\nE0000000000000000001\nE1234567890\nCNT1V10123456789abcdef\nE1\n", // numbers wrap
	"5\n*1\nCNTV\nE1\n", "5\n*1\nSLTC\nE1\n", "5\n*1\nE\nE1\n", "5\n*1\nEX3\nE1\n", // numbers are missing
	"5\n*1\nEA\nE1\n", "5\n*1\nCNT1VA\nE1\n", // capitals are no digits
	"5 rest\n*1 rest\nE1\n6X\n*2Y\nE2\n", "E1\n*2\nE1\n5\n*1\nE2\n", "5\nE1\n6\nE1\n*1\nE2\n", "*1\nE1\n", "5\nE1\n",
	"5\n*1\n6\n7\n*2\n*1\nE1\n", "5\n*1\nE1\n3\n*1\nE2\n4\n*1\nE1\n", "0\n*1\nE1\n0\n*2\nE2\n",
	"5\n*1\nE1\n*ffffffff\nE2\n*2\nE1\n", "5\n*1\nE1\nffffffffffffffff\nE2\n*2\nE1\n", "5\n*1\nE1\n*3\nE2\n*2\nE1\n",
	"5\n*1\nE1\nL1", "5\n*1\nE1\n6", "5\n*1\nE1\n ", "5\n*1\nE1\n\n", "5\n*1\nE1\n\nE2\n",
	"5\n*1\nQ1\nE1\nXY\"z\"\nE2\n", "5\n*1\nS1L2T3\nE1\n", "5\n*1\nS1T3L2C4\nE1\n", "5\n*1\n#x\nE1\n", "5\n*1\nE1Y2\n" +
		"E1\n",
	"5\n*1\nCOPE5Y2\nPBrest\nE1\n",
	"5\n*1\nE1S4\nL1S4\nS1L2T3C4S5\nCOP1C2RT3S4R5D6S7\nFE1H2OP3B4X5\nFB5X6\nT1P2C3T4L5\n",  // deprecated spellings
	"5\n*1\nENTER 1 SCL 4\nE1X4\nSEND 1 LEN 2 TAG 3 COMM 4\nS1L2T3C4\nLEAVE \nNOOP \nE1\n", // mixed
	"5\n*1\nK1Y6V5\nK1Y6V6\nE1\n", "5\n*1\nK9Y6V1\nK3Y6V2\nE1\nE2\n", "5\n*1\nK1Y6V5\nQQ\nE1\n",
	"5\n*1\nK1Y6V5\n6\n*2\nE1\n", "5\n*1\nK1YbV5b7c\nE1\n", "5\n*1\nK1YffffffffV1\nE1\n",
	"5\n*1\nF1H2OP0B3D4\nF1H2OP1B3D4\nF1H2OP2B3D4\nF1H2OP3B3D4\nF1H2OP4B3D4\nF1H2OP5B3D4\nF1H2OP6B3D4\nF1H2OP7B3D4\n" +
		"F1H2OP8B3D4\nF1H2OP9B3D4\nF1H2OPaB3D4\nF1H2OP1fB3D4\n",
	"5\n*1\nF1H2OP23B3D4\nF1H2OP43B3D4\nF1H2OP83B3D4\nF1H2OP103B3D4\nF1H2OP203B3D4\nF1H2OP409B3D4\nF1H2OP7e0B3D4\n",
	// codes and flags of file operations
	"5\n*1\n#\"a\x00b\"\nE1\n", "5\n*1\nEN1\nE1\n", "5\n*1\nK1Y6V5\n*3\nK1Y6V6\nE1\n*2\nE2\n", // 3 is in no stream
	"5\n*1\nT0P2C0T4L5\nU1P0C3T4L5X6\nG1P2C3T4L5\nM2C3T4\nTE1O2\nTRMAPUT 1 PROCESS 2 COMM 3 TAG 4 LEN 5\n" +
		"TENTER 1 OTIME 2\n",
	"5\n*1\n\x80\nE1\n", "5\n*1\n#\"a\tb\\n\"\nE1\n",
}

func TestLetter_11(t *testing.T) {
	text := "5\n*1\nE1\n9\n*1\nL1\n9\n*1\n"
	t.Run("11 headers and end of files", func(t *testing.T) {
		for level, head := range map[int]string{1: "\x78\x01", 2: "\x78\x5e", 4: "\x78\x5e", 5: "\x78\x5e", 6: "\x78\x9c",
			7: "\x78\xda", 9: "\x78\xda"} {
			files := written(t, &WriterOptions{Level: level}, Record{Type: Enter, Time: 5, Process: 1, Function: 1},
				Record{Type: Leave, Time: 9, Process: 1, Function: 1})
			z, plain := files[".1.events.z"]
			if !strings.HasPrefix(z, head) || !strings.HasSuffix(z, "\x00\x00\xff\xff") || !plain || files[".otf"] != "1:1\n" ||
				len(files) != 2 {
				t.Errorf("level %d: found %q", level, files)
			}
			sameRecords(t, inMemory(map[string]string{"x.otf": "1:1\n", "x.1.events.z": z}), Events, nil, "5 *1 E1", "9 *1 L1")
		}
	})
	t.Run("11 an empty file", func(t *testing.T) {
		sameRecords(t, inMemory(map[string]string{"x.otf": "1:1\n", "x.0.def.z": "\x78\x5e\x00\x00\x00\xff\xff"}),
			Definitions, nil)
		sameRecords(t, inMemory(map[string]string{"x.otf": "1:1\n", "x.0.def.z": ""}), Definitions, nil)
	})
	zipped := zipText(t, text, 6, 5) // restarts in the middle of lines
	t.Run("11 restarts at any byte", func(t *testing.T) {
		if rules := sameRecords(t, inMemory(map[string]string{"x.otf": "1:1\n", "x.1.events.z": zipped}), Events, nil,
			"5 *1 E1", "9 *1 L1"); len(rules) > 0 {
			t.Errorf("found %q", rules)
		}
	})
	t.Run("11 a stream that is finished", func(t *testing.T) {
		// libotf loses what it is reading then; weft has all of it.
		b, err := os.ReadFile(finished(t, text))
		if err != nil {
			t.Fatal(err)
		}
		sameRecords(t, inMemory(map[string]string{"x.otf": "1:1\n", "x.1.events.z": string(b)}), Events, nil, "5 *1 E1",
			"9 *1 L1")
	})
	t.Run("11 a file that is cut off", func(t *testing.T) {
		// All that can be inflated of it.
		for n := len(zipped); n > 2; n-- {
			got, _ := recordsOf(t, inMemory(map[string]string{"x.otf": "1:1\n", "x.1.events.z": zipped[:n]}), Events, nil)
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
		src := inMemory(map[string]string{"x.otf": "1:1\n", "x.0.def": "DTR1\nDP1NM\"a\"\nDF1G0NM\"f\"\n",
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
		// libotf leaves a part of a line in the file.
		text := strings.Repeat("y", 5000)
		got := written(t, &WriterOptions{Buffer: 64}, Record{Type: EventComment, Time: 1, Process: 1, Text: text},
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
		want := written(t, nil, records...)
		for _, opt := range []WriterOptions{{Buffer: 1}, {Buffer: 100, Files: NewFileManager(1)},
			{Buffer: 1 << 20, Files: NewFileManager(3)}} {
			if diff := cmp.Diff(want, written(t, &opt, records...)); diff != "" {
				t.Errorf("%+v: other files", opt)
			}
		}
	})
}

// The whole example of section 15: read, written, and named.
func TestLetter_15(t *testing.T) {
	files := map[string]string{".otf": "1:1\n2:2\n", ".1.events": "a\n*1\nE1\n10\n*1\nK7Y6V5\nS2L1000T2aC0\nL1\n10\n*1\n",
		".2.events": "0\n*2\nN\n0\n*2\n",
		".0.def": "DV1.c.5\"salmon\"\nDUI4dfeddf561f816ae\nDTRf4240\nDP1NM\"rank 0\"\nDP2NM\"rank 1\"\n" +
			"DFG1NM\"MPI\"\nDF1G1NM\"MPI_Send\"\n"}
	got := written(t, &WriterOptions{UniqueID: 0x4dfeddf561f816ae}, Record{Type: DefTimerResolution,
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

// finished compresses a text as zlib does, with an end, and gives the name of the file.
func finished(t *testing.T, text string) string {
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
