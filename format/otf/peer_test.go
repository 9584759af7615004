package otf

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/weft-trace/weft/format"
)

// tool returns the path of a program, or skips the test.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// peerTrace writes the trace that testdata/peer.c writes.
func peerTrace(t *testing.T, name string, streams uint32, long bool, uid uint64) {
	t.Helper()
	var m MasterControl
	m.Assign(4, 7)
	w := Create(name, &WriterOptions{Streams: streams, Master: &m, Long: long, UniqueID: uid, Files: NewFileManager(2)})
	put := func(r Record) {
		t.Helper()
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	put(Record{Type: DefTimerResolution, TicksPerSecond: 1000000})
	put(Record{Type: DefCreator, Text: "peer \"test\"\nof two lines"})
	for p := uint64(1); p <= 4; p++ {
		r := Record{Type: DefProcess, Token: p, Name: "process"}
		if p == 3 {
			r.Name, r.Unnamed = "", true
		}
		if p == 4 {
			r.Parent = 1
		}
		put(r)
	}
	put(Record{Type: DefProcessGroup, Token: 100, Name: "MPI_COMM_WORLD", Members: []uint32{1, 2, 3, 4}})
	put(Record{Type: DefProcessGroup, Token: 101, Name: "none"})
	put(Record{Type: DefFunctionGroup, Token: 1, Name: "group"})
	put(Record{Type: DefFunction, Token: 1, Name: "main", Group: 1, SCL: 9})
	put(Record{Type: DefFunction, Stream: 2, Token: 1, Name: "local", Group: 1})
	put(Record{Type: DefCollectiveOperation, Token: 5, Name: "MPI_Bcast", Kind: 2})
	put(Record{Type: DefCounter, Token: 6, Name: "FLOPS", Properties: 8, Unit: "flop"})
	put(Record{Type: DefKeyValue, Token: 7, Kind: uint64(Uint32), Name: "key", Text: "a number"})
	array := make([]byte, 250)
	for i := range array {
		array[i] = byte(i)
	}
	for n := range uint64(1000) {
		p := n%4 + 1
		kv := []KeyValue{{Key: 7, Type: Uint32, Bits: n}, Pair(8, float64(n)/3)}
		if n%100 == 0 {
			kv = append(kv, Pair(9, array))
		}
		put(Record{Type: Enter, Time: n / 2, Process: p, Function: 1, SCL: n % 3, KeyValues: kv})
		put(Record{Type: SendMsg, Time: n / 2, Process: p, Peer: p%4 + 1, Communicator: 100, Tag: n, Length: 8 * n})
		put(Record{Type: RecvMsg, Time: n / 2, Process: p, Peer: (p+2)%4 + 1, Communicator: 100, Tag: n, Length: 8 * n,
			SCL: n % 2})
		put(Record{Type: BeginCollective, Time: n / 2, Process: p, Collective: 5, Matching: n, Communicator: 100, Root: 1,
			Sent: n << 33})
		put(Record{Type: EndCollective, Time: n / 2, Process: p, Matching: n})
		put(Record{Type: Counter, Time: n / 2, Process: p, Counter: 6, Value: n * n * n * n * n})
		leave := Record{Type: Leave, Time: n / 2, Process: p}
		if n%5 > 0 {
			leave.Function = 1
		}
		put(leave)
	}
	put(Record{Type: DefMarker, Token: 1, Name: "here", Kind: 3})
	put(Record{Type: Marker, Time: 77, Process: 2, Token: 1, Text: "look"})
	put(Record{Type: EnterSnapshot, Time: 100, Process: 2, OriginalTime: 50, Function: 1})
	put(Record{Type: FunctionSummary, Time: 100, Process: 2, Function: 1, Count: 3, Exclusive: 4, Inclusive: 5})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestPeerWrites checks that a program that uses libotf and a program that uses this package write the same
// files.
func TestPeerWrites(t *testing.T) {
	gcc := tool(t, "gcc")
	program := filepath.Join(t.TempDir(), "peer")
	if out, err := exec.Command(gcc, "-o", program, "testdata/peer.c", "-lopen-trace-format",
		"-lz").CombinedOutput(); err != nil {
		t.Skipf("libotf is not installed: %s", out)
	}
	for _, x := range []struct {
		streams uint32
		long    bool
	}{{0, false}, {1, false}, {2, false}, {3, true}} {
		dir := t.TempDir()
		long := 0
		if x.long {
			long = 1
		}
		name := filepath.Join(dir, "peer")
		if out, err := exec.Command(program, name, fmt.Sprint(x.streams), fmt.Sprint(long)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		// The trace gets the unique id that the library chose.
		r, err := Open(t.Context(), format.FileSource(name+".otf"), nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.Cursor(t.Context(), Definitions)
		if err != nil {
			t.Fatal(err)
		}
		uid := uint64(0)
		for c.Next() {
			if c.Record().Type == DefUniqueID {
				uid = c.Record().UniqueID
			}
		}
		c.Close()
		ours := t.TempDir()
		peerTrace(t, filepath.Join(ours, "peer"), x.streams, x.long, uid)
		theirs, _ := filepath.Glob(dir + "/*")
		mine, _ := filepath.Glob(ours + "/*")
		if len(mine) != len(theirs) {
			t.Errorf("%+v: %d files, want %d", x, len(mine), len(theirs))
		}
		for _, f := range theirs {
			want, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(ours, filepath.Base(f)))
			if err != nil {
				t.Error(err)
				continue
			}
			if !bytes.Equal(got, want) {
				a, b := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
				for i := range min(len(a), len(b)) {
					if !bytes.Equal(a[i], b[i]) {
						t.Errorf("%+v %s line %d: %.100q, want %.100q", x, filepath.Base(f), i+1, a[i], b[i])
						break
					}
				}
				t.Errorf("%+v %s: %d lines, want %d", x, filepath.Base(f), len(a), len(b))
			}
		}
	}
}

// TestPeerReads checks that libotf's tools read every record type that this package writes.
func TestPeerReads(t *testing.T) {
	otfprint, otfinfo := tool(t, "otfprint"), tool(t, "otfinfo-trace")
	for n, opt := range []WriterOptions{{}, {Long: true}, {Streams: 1}, {Streams: 2, Buffer: 100}, {Level: 4}} {
		rng := rand.New(rand.NewPCG(7, uint64(n)))
		name := filepath.Join(t.TempDir(), "x")
		opt.ZeroTokens = true // some random tokens are 0
		w := Create(name, &opt)
		count := 40
		if opt.Level > 0 {
			count = 1 // libotf cannot read compressed events of more than 4 KiB
		}
		time := uint64(0)
		for typ := range Type(NumTypes) {
			if specs[typ].name == "" || typ == DefVersion || typ == DefUniqueID || opt.Level > 0 && typ.Part() != Events &&
				typ.Part() != Definitions {
				continue
			}
			for range count {
				r := randomRecord(rng, typ)
				for i := range r.KeyValues {
					if v := &r.KeyValues[i]; v.Type == Char {
						v.Bits |= 0x20 // otfprint prints the byte unchanged
					} else if v.Type == Float32 || v.Type == Float64 {
						v.Type, v.Bits = Float64, 0x4000000000000000|v.Bits&0xfffff<<32
					}
				}
				if typ.Part().timed() {
					time += rng.Uint64N(5) + 1
					r.Time, r.Process = time, rng.Uint64N(5)+1
				}
				if err := w.Write(r); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(otfprint, "--fullkeyvalue", name)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%+v: otfprint: %v: %s", opt, err, cmd.Stderr)
		}
		if i := bytes.Index(out, []byte("processing time:")); i >= 0 {
			out = append(out[:i:i], bytes.TrimLeft(out[i+bytes.IndexByte(out[i:], '\n')+1:], "")...)
		}
		var got bytes.Buffer
		if err := PrintCompat(context.Background(), format.FileSource(name+".otf"), nil, nil, &got); err != nil {
			t.Fatal(err)
		}
		a, b := bytes.Split(got.Bytes(), []byte("\n")), bytes.Split(out, []byte("\n"))
		for i := range min(len(a), len(b)) {
			if !bytes.Equal(a[i], b[i]) {
				t.Fatalf("%+v: line %d: %s, otfprint says %s", opt, i+1, strconv.Quote(string(a[i])), strconv.Quote(string(b[i])))
			}
		}
		if len(a) < len(b)-2 || len(a) > len(b)+2 {
			t.Fatalf("%+v: %d lines, otfprint has %d", opt, len(a), len(b))
		}
		if out, err := exec.Command(otfinfo, "-l", "1", name).CombinedOutput(); err != nil {
			t.Errorf("%+v: otfinfo: %v: %s", opt, err, out)
		}
	}
}

// TestCompatLines checks that weft prints the same as otfprint for lines that libotf reads differently from
// the specification.
func TestCompatLines(t *testing.T) {
	otfprint := tool(t, "otfprint")
	// If the first line of an array announces six bytes and has three, libotf leaves the last three bytes
	// uninitialised. otfprint prints random bytes for them, and PrintCompat prints zeros.
	unset := regexp.MustCompile(`8:5B7C4A[0-9A-F]{6}`)
	for _, lines := range []string{
		"E1 ", "L1 ", "S2L1T1C1 ", "L1\t", "ENTER 1 ", // libotf finds no source code location in these lines
		// libotf finds a source code location in these lines
		"E1X4 ", "E1X4\r", "S2L1T1C1X4 ", "ENTER 1 SCL 4 ", "E2X4X5", "E2Xg",
		"K8YbV5b7c4aL3\nK8YbV5b7c4aL3\nE2", "K8YbV5b7c4aL3\nK7Y8V5\nK8YbV5b7c4aL3\nE2", "K8YbV5b7c4aL6\nK8YbV5b7c4aL3\nE2",
		"K8YbV5b7c4aL6\nb\nK8YbV112233L3\nE2",
		" K7Y8V5\nE2", "K7Y8V5\n K8Y8V5\nE2", "K7Y8V5\n\tKEY 8 TYPE 8 VALUE 5\nK9Y8V5\nE2", "K7Y8V5\n K8\nE2",
	} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "t.otf"), "1:1\n")
		writeFile(t, filepath.Join(dir, "t.0.def"),
			"DTR3e8\nDP1NM\"a\"\nDP2NM\"b\"\nDF1G0NM\"f\"\nDF2G0NM\"g\"\nDK7Y8NM\"n\"T\"\"\nDK8YbNM\"b\"T\"\"\n")
		writeFile(t, filepath.Join(dir, "t.1.events"), "a\n*1\nE1\n"+lines+"\nL2\nc\n*1\nL1\nd\n*1\n")
		name := filepath.Join(dir, "t.otf")
		// otfprint fails at the record where it stops reading
		want, _ := exec.Command(otfprint, "--fullkeyvalue", name).Output()
		var kept [][]byte
		for _, l := range bytes.SplitAfter(want, []byte("\n")) {
			if !bytes.HasPrefix(l, []byte("processing time:")) {
				kept = append(kept, l)
			}
		}
		var got bytes.Buffer
		if err := PrintCompat(context.Background(), format.FileSource(name), nil, nil, &got); err != nil {
			t.Fatal(err)
		}
		if want := unset.ReplaceAll(bytes.TrimSpace(bytes.Join(kept, nil)),
			[]byte("8:5B7C4A000000")); !bytes.Equal(bytes.TrimSpace(got.Bytes()), want) {
			t.Errorf("%q:\n%s\nwant\n%s", lines, got.Bytes(), want)
		}
	}
}
