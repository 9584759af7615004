package otf

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/flate"

	"github.com/weft-trace/weft/format"
)

// TestTimeSearch_12 checks that the time search finds the time line of the first record at or after a time,
// and the first record of the latest time up to a time. It tests plain and compressed files, and files with
// repeated time lines.
func TestTimeSearch_12(t *testing.T) {
	for _, x := range []struct {
		name     string
		part     Part
		level    int
		repeated bool
	}{
		{"events", Events, 0, false}, {"repeated times", Events, 0, true}, {"compressed", Events, 4, false},
		{"snapshots", Snapshots, 0, false}, {"compressed snapshots", Snapshots, 4, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			// The times are 10, 20, …. Some times have 3000 records, which is more than a block of the search.
			var text bytes.Buffer
			starts := map[uint64]int64{}
			record := map[Part]string{Events: "K1Y6V5\nE1\n", Snapshots: "TE1O0\n"}[x.part]
			const last = 20_000
			for i := uint64(10); i <= last; i += 10 {
				starts[i] = int64(text.Len())
				fmt.Fprintf(&text, "%x\n*1\n%s", i, record)
				for k := 0; i%1000 == 0 && k < 3000; k++ {
					if x.repeated {
						fmt.Fprintf(&text, "%x\n", i)
					}
					fmt.Fprintf(&text, "*%x\n%s", k%2+1, record)
				}
			}
			name, data := "x.1"+suffixes[x.part], text.Bytes()
			if x.level > 0 {
				name, data = name+".z", restartable(t, data, 8<<10)
			}
			s, err := OpenStream(format.Source{FS: fstest.MapFS{name: {Data: data}}, Name: "x", Path: "x"}, 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range []struct{ at, first, latest uint64 }{ // first and latest are positions; 0 means none
				{0, 10, 0}, {10, 10, 10}, {11, 20, 10}, {999, 1000, 990}, {1000, 1000, 1000}, {1001, 1010, 1000},
				{10_000, 10_000, 10_000}, {19_995, last, 19_990}, {last, last, last}, {last + 1, 0, last}, {1<<64 - 1, 0, last},
			} {
				check := func(what string, p Place, ok bool, err error, want uint64) {
					t.Helper()
					if err != nil || ok != (want > 0) || !ok {
						if err != nil || ok != (want > 0) {
							t.Errorf("%s %d: got %v %v %v, want time %d", what, q.at, p, ok, err, want)
						}
						return
					}
					rest := data[p.Offset:]
					if x.level > 0 {
						rest = inflatedFrom(data, p.Offset)
					}
					line := fmt.Sprintf("%x\n*1\n", want)
					if p.Time != want || p.Process != 1 || !bytes.HasPrefix(rest[p.Skip:], []byte(line)) {
						t.Errorf("%s %d: got %+v, before %.20q, want %q", what, q.at, p, rest[p.Skip:], line)
					}
					if x.level == 0 && p.Offset != starts[want] {
						t.Errorf("%s %d: got offset %d, want %d", what, q.at, p.Offset, starts[want])
					}
				}
				p, ok, err := s.Search(t.Context(), x.part, q.at)
				check("first at or after", p, ok, err, q.first)
				p, ok, err = s.SearchBack(t.Context(), x.part, q.at)
				check("latest up to", p, ok, err, q.latest)
			}
		})
	}
	s, err := OpenStream(format.Source{FS: fstest.MapFS{}, Name: "x", Path: "x"}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Search(t.Context(), Events, 1); ok || err != nil {
		t.Errorf("without a file: got %v %v, want no record and no error", ok, err)
	}
}

// restartable compresses a text so that each piece of size bytes can be decompressed independently.
func restartable(t *testing.T, text []byte, size int) []byte {
	var out bytes.Buffer
	out.Write(zlibHeader(4))
	for l := range slices.Chunk(text, size) {
		z, err := flate.NewWriter(&out, 4)
		if err != nil {
			t.Fatal(err)
		}
		z.Write(l)
		z.Flush()
	}
	return out.Bytes()
}

// inflatedFrom returns the text from an offset on.
func inflatedFrom(data []byte, off int64) []byte {
	var b bytes.Buffer
	b.ReadFrom(flate.NewReader(bytes.NewReader(data[off:])))
	return b.Bytes()
}

// TestSelect checks that the interval and the processes of an open reader can be changed, and that a cursor
// keeps the interval and the processes with which it began.
func TestSelect(t *testing.T) {
	src := source(Events, []byte("1\n*1\nE1\n2\n*2\nE2\n3\n*1\nE3\n4\n*2\nE4\n4\n*2\n"), false)
	r, err := Open(t.Context(), src, &Options{To: 2})
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenStream(format.Source{FS: src.FS, Name: "x", Path: "x"}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	two := func(p uint64) bool { return p == 2 }
	old, err := r.Cursor(t.Context(), Events)
	for _, x := range []struct {
		from, to  uint64
		processes func(uint64) bool
		want      []uint64
	}{
		{0, 0, nil, []uint64{1, 2, 3, 4}}, {2, 4, nil, []uint64{2, 3}}, {0, 0, two, []uint64{2, 4}},
		{3, 0, two, []uint64{4}}, {0, 3, nil, []uint64{1, 2}},
	} {
		r.Select(x.from, x.to, x.processes)
		if got := functionsOf(t)(r.Cursor(t.Context(), Events)); !slices.Equal(got, x.want) {
			t.Errorf("reader from %d to %d: got functions %d, want %d", x.from, x.to, got, x.want)
		}
		s.Select(x.from, x.to, x.processes)
		if got := functionsOf(t)(s.Cursor(t.Context(), Events)); !slices.Equal(got, x.want) {
			t.Errorf("stream from %d to %d: got functions %d, want %d", x.from, x.to, got, x.want)
		}
	}
	if got := functionsOf(t)(old, err); !slices.Equal(got, []uint64{1}) {
		t.Errorf("cursor that had begun: got functions %d, want [1]", got)
	}
}

// TestReadBuffer checks that the buffer size determines how much is read at once, for plain and
// compressed files.
func TestReadBuffer(t *testing.T) {
	text := []byte("1\n*1\n" + strings.Repeat("E1\nL\n", 200_000))
	var random bytes.Buffer
	random.WriteString("1\n*1\n")
	for i := range 100_000 {
		fmt.Fprintf(&random, "E%x\n", uint32(i)*2654435761)
	}
	for _, x := range []struct {
		name   string
		text   []byte
		buffer int
		zip    bool
		least  int
		most   int
	}{
		{"usual", text, 0, false, 200 << 10, 1 << 20},
		{"small", text, 10_000, false, 4 << 10, 24 << 10},
		{"tiny", text, 1, false, 1 << 10, 10 << 10},
		{"large", text, 900_000, false, 700_000, 1_900_000},
		{"compressed", restartable(t, random.Bytes(), 1<<20), 0, true, 64 << 10, 64 << 10},
		{"compressed small", restartable(t, random.Bytes(), 1<<20), 4096, true, 4096, 4096},
	} {
		var read reads
		src := source(Events, x.text, x.zip)
		src.FS = counting{src.FS, &read}
		r, err := Open(t.Context(), src, &Options{Buffer: x.buffer})
		if err != nil {
			t.Fatal(err)
		}
		read = reads{}
		c, err := r.Cursor(t.Context(), Events)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for c.Next() {
			n++
		}
		c.Close()
		want := 400_000
		if x.zip {
			want = 100_000
		}
		if n != want || c.Err() != nil {
			t.Errorf("%s: got %d records, error %v, want %d", x.name, n, c.Err(), want)
		}
		if read.most < x.least || read.most > x.most {
			t.Errorf("%s: %d bytes were read at once, want %d to %d", x.name, read.most, x.least, x.most)
		}
	}
}

// TestHandlersCopy checks that Handlers copies all records to the writer of a trace and to the writer of a
// stream. Unknown records go to the part in which they were read. Incomplete lines are left out.
func TestHandlersCopy(t *testing.T) {
	text := map[Part]string{
		Definitions: "DTR3e8\nDZZ9\nDP1NM\"p\"\nDP0NM\"zero\"\n",
		Events:      "1\n*1\nE1\nQX1\nL\n1\n*1\n",
		Snapshots:   "1\n*1\nTE1O0\nTQ1\n1\n*1\n",
		Statistics:  "1\n*1\nSF1N1E1I1\nSQ\n1\n*1\n", Markers: "MD1NM\"m\"Y1\nMQ2\n",
	}
	for part := range numParts {
		id := uint32(1)
		if !part.timed() {
			id = 0
		}
		file := fileName("x", id, part)
		files := fstest.MapFS{"x.otf": {Data: []byte("1:1\n")}, "x.0.def": {}, file: {Data: []byte(text[part] + "E1")}}
		r, err := Open(t.Context(), format.Source{FS: files, Name: "x.otf", Path: "x.otf"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "y")
		whole, alone := Create(name, nil), NewStreamWriter(name+"2", id, nil)
		for _, h := range []*Handlers{whole.Handlers(), alone.Handlers()} {
			c, err := r.Cursor(t.Context(), part)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Each(h, 0); err != nil {
				t.Error(err)
			}
			c.Close()
		}
		if err := errors.Join(whole.Close(), alone.Close()); err != nil {
			t.Fatal(err)
		}
		for _, stub := range []string{name, name + "2"} {
			b, err := os.ReadFile(fileName(stub, id, part))
			got := string(b)
			if part == Definitions && stub == name { // the writer writes its own version and unique id
				_, got, _ = strings.Cut(got, "\n")
				_, got, _ = strings.Cut(got, "\n")
			}
			if err != nil || got != text[part] {
				t.Errorf("%s: got %q, error %v, want %q", filepath.Base(fileName(stub, id, part)), got, err, text[part])
			}
		}
	}
}

// TestPairs_6 checks the bits that the constructors of key-value pairs write to a file for each type.
func TestPairs_6(t *testing.T) {
	for _, x := range []struct {
		pair KeyValue
		want string
	}{
		{CharPair(1, 'A'), "K1Y0V41\n"}, {CharPair(1, 9), "K1Y0V09\n"},
		{Pair(1, int8(-62)), "K1Y1Vc2\n"}, {Pair(1, uint8(6)), "K1Y2V6\n"},
		{Pair(1, int16(-1)), "K1Y3Vffff\n"}, {Pair(1, uint16(0x8000)), "K1Y4V8000\n"},
		{Pair(1, int32(-2)), "K1Y5Vfffffffe\n"}, {Pair(1, uint32(7)), "K1Y6V7\n"},
		{Pair(1, int64(-1)), "K1Y7Vffffffffffffffff\n"}, {Pair(1, uint64(1<<63)), "K1Y8V8000000000000000\n"},
		{Pair(1, float32(93)), "K1Y9V42ba0000\n"}, {Pair(1, 1.0), "K1YaV3ff0000000000000\n"},
		{Pair(1, []byte{0, 255}), "K1YbV00ffL2\n"},
	} {
		r := Record{Type: NoOp, KeyValues: []KeyValue{x.pair}}
		if got := string(r.Append(nil, false)); got != x.want+"N\n" {
			t.Errorf("got %q, want %q", got, x.want+"N\n")
		}
	}
}

// TestTokenZero_8 checks that the writer refuses definitions of token 0, which the format reserves. The error
// names the record and the field, and no part of the record is written. An option allows token 0 for copies.
func TestTokenZero_8(t *testing.T) {
	const field = ": Token: found 0, which the format reserves, expected 1 or more"
	types := []Type{DefProcess, DefProcessGroup, DefAttributeList, DefProcessOrGroupAttributes, DefProcessSubstitutes,
		DefFunctionGroup, DefFunction, DefCollectiveOperation, DefCounterGroup, DefCounter, DefCounterAssignments,
		DefSCLFile, DefSCL, DefFileGroup, DefFile, DefKeyValue, DefMarker}
	for _, typ := range types {
		for _, stream := range []uint32{0, 2} {
			name := filepath.Join(t.TempDir(), "x")
			w, s := Create(name, nil), NewStreamWriter(name, stream, nil)
			for who, err := range map[string]error{
				"Writer":       w.Write(&Record{Type: typ, Stream: stream}),
				"StreamWriter": s.Write(&Record{Type: typ}),
				"WritePart":    s.WritePart(&Record{Type: typ}, typ.Part()),
			} {
				if err == nil || err.Error() != typ.String()+field {
					t.Errorf("%s, %s: got %v, want %s", who, typ, err, typ.String()+field)
				}
			}
			if err := errors.Join(w.Close(), s.Close()); err != nil {
				t.Error(err)
			}
			if l, _ := filepath.Glob(name + ".*.*"); len(l) > 0 {
				t.Errorf("%s: found %v, want no file but the master file", typ, l)
			}
			w = Create(name, &WriterOptions{ZeroTokens: true})
			if err := errors.Join(w.Write(&Record{Type: typ, Stream: stream}), w.Close()); err != nil {
				t.Errorf("%s with ZeroTokens: %v", typ, err)
			}
		}
	}
	// Some other fields may be 0: the group of a function, the parent of a process, the function of a leave.
	w := Create(filepath.Join(t.TempDir(), "x"), nil)
	for _, r := range []Record{
		{Type: DefProcess, Token: 1}, {Type: DefFunction, Token: 1}, {Type: DefCounter, Token: 1},
		{Type: DefFile, Token: 1}, {Type: DefTimerResolution}, {Type: Leave, Process: 1},
	} {
		if err := w.Write(&r); err != nil {
			t.Error(err)
		}
	}
	w.Abort()
}

// TestTokenZeroCopy checks that a copy keeps definitions of token 0.
func TestTokenZeroCopy(t *testing.T) {
	const text = "DV1.c.5\"salmon\"\nDUI1\nDTR3e8\nDP0NM\"p\"\nDF0G0NM\"f\"\nDCNT0G0NM\"c\"P0U\"\"\n"
	files := fstest.MapFS{"x.otf": {Data: []byte("1:0\n")}, "x.0.def": {Data: []byte(text)},
		"x.1.events": {Data: []byte("1\n*0\nE0\nL0\n1\n*0\n")}}
	src := format.Source{FS: files, Name: "x.otf", Path: "x.otf"}
	for _, streams := range []string{"keep", "1"} {
		path := filepath.Join(t.TempDir(), "y.otf")
		out, err := format.CreateFile(path)
		if err != nil {
			t.Fatal(err)
		}
		wo := &format.WriteOptions{Values: map[string]string{"otf.streams": streams}}
		_, err = Format{}.Copy(t.Context(), src, &format.ReadOptions{}, out, wo)
		if err == nil {
			err = out.Commit()
		}
		b, e := os.ReadFile(strings.TrimSuffix(path, ".otf") + ".0.def")
		if err != nil || e != nil || string(b) != text {
			t.Errorf("%s: got %q, errors %v %v, want %q", streams, b, err, e, text)
		}
	}
}

// TestThumbnail_14 checks that the thumbnail equals the thumbnail that otfaux writes.
func TestThumbnail_14(t *testing.T) {
	// Function 1 is entered at time 0 and left at time 50. Function 2 is entered at time 50. The samples are
	// at 0, 9, 19, …, 49, 59. Process 2 has no events. otfaux lists the processes that the trace defines, so it leaves
	// out process 3.
	src := source(Events, []byte("0\n*1\nE1\n0\n*3\nE1\n32\n*1\nL1\nE2\n63\n*1\nL2\n63\n*1\n"), false)
	src.FS.(fstest.MapFS)["x.0.def"] = &fstest.MapFile{Data: []byte("DP1NM\"p\"\nDP2NM\"q\"\n")}
	r, err := Open(t.Context(), src, nil)
	if err != nil {
		t.Fatal(err)
	}
	thumb, err := r.Thumbnail(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	const want = "0:a,2\n1:1,1,1,1,1,1,2,2,2,2,\n2:0,0,0,0,0,0,0,0,0,0,\n"
	if got := string(thumb.AppendTo(nil)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	src.FS.(fstest.MapFS)["x.thumb"] = &fstest.MapFile{Data: []byte(want)}
	again, err := ReadThumbnail(src)
	if err != nil || string(again.AppendTo(nil)) != want {
		t.Errorf("read: got %v, error %v, want the same", again, err)
	}
	delete(src.FS.(fstest.MapFS), "x.thumb")
	if _, err := ReadThumbnail(src); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: got %v, want that there is none", err)
	}
}

// copyTrace copies a trace of testdata to a directory where it may be changed.
func copyTrace(t *testing.T, name string) (master string) {
	dir := t.TempDir()
	files, _ := filepath.Glob("testdata/ok/" + name + "/*.*")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(f)), b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, name+".otf")
}

func TestThumbnailPeer(t *testing.T) {
	otfaux := tool(t, "otfaux")
	for _, name := range []string{"mpi4", "map_1to1", "aux_snapshots", "hand_ties", "hand_unknown"} {
		for _, width := range []int{7, 100, 1000} {
			master := copyTrace(t, name)
			aux := exec.Command(otfaux, "--thumbnail", "--thumbnail-samples", fmt.Sprint(width), master)
			if out, err := aux.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", name, err, out)
			}
			src := format.FileSource(master)
			want, err := ReadThumbnail(src)
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(want.Processes, func(a, b ThumbnailProcess) int { return int(a.Process) - int(b.Process) })
			r, err := Open(t.Context(), src, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Thumbnail(t.Context(), width)
			if err != nil {
				t.Fatal(err)
			}
			if string(got.AppendTo(nil)) != string(want.AppendTo(nil)) {
				t.Errorf("%s, width %d: got %.300q, want %.300q", name, width, got.AppendTo(nil), want.AppendTo(nil))
			}
		}
	}
}

// TestMessageMatchingPeer checks that messages are matched as otfaux --match-messages matches them.
func TestMessageMatchingPeer(t *testing.T) {
	otfaux := tool(t, "otfaux")
	master := copyTrace(t, "mpi4")
	out := filepath.Join(t.TempDir(), "matched.otf")
	if b, err := exec.Command(otfaux, "--match-messages", "-o", out, master).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	r, err := Open(t.Context(), format.FileSource(out), nil)
	if err != nil {
		t.Fatal(err)
	}
	each := func(part Part, use func(r *Record)) {
		c, err := r.Cursor(t.Context(), part)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for c.Next() {
			use(c.Record())
		}
		if c.Err() != nil {
			t.Fatal(c.Err())
		}
	}
	keys := map[string]uint32{}
	each(Definitions, func(r *Record) {
		if r.Type == DefKeyValue {
			keys[strings.Clone(r.Name)] = uint32(r.Token)
		}
	})
	var m MessageMatching
	each(Events, m.Receive)
	sends := 0
	each(Events, func(r *Record) {
		if r.Type != SendMsg {
			return
		}
		sends++
		x, ok := m.Send(r)
		time, there := r.Find(keys["TUD::p2p-received-time"])
		if ok != there || ok && time.Bits != x.Time {
			t.Errorf("send at %d of process %d: got %+v %v, want %v %v", r.Time, r.Process, x, ok, time, there)
		}
	})
	if sends == 0 || len(keys) == 0 {
		t.Errorf("found %d sends and %d keys, want some", sends, len(keys))
	}
}

// TestStreamZero_2_1 checks that stream 0 accepts only global definitions and markers.
func TestStreamZero_2_1(t *testing.T) {
	w := NewStreamWriter(filepath.Join(t.TempDir(), "x"), 0, nil)
	const want = "Enter in stream 0: found a record of a process, expected only definitions and markers"
	if err := w.Write(&Record{Type: Enter, Process: 1, Time: 5}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := errors.Join(w.Write(&Record{Type: DefMarker, Token: 1, Text: "m"}),
		w.Write(&Record{Type: Marker, Token: 1, Process: 1, Time: 5}), w.Close()); err != nil {
		t.Error(err)
	}
}

// TestCreateOverOlderTrace checks that a trace that replaces an older trace has no files of the older trace.
func TestCreateOverOlderTrace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	write := func(opt *WriterOptions, records ...*Record) {
		t.Helper()
		w := Create(name, opt)
		for _, r := range records {
			if err := w.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	enter := func(process uint64) *Record { return &Record{Type: Enter, Process: process, Time: 5, Token: 1} }
	write(nil, enter(1), enter(2), &Record{Type: EnterSnapshot, Process: 2, Time: 6, Token: 1},
		&Record{Type: FunctionSummary, Process: 1, Time: 6})
	if err := os.WriteFile(name+".thumb", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	write(&WriterOptions{Level: 4}, enter(1))
	var got []string
	for _, path := range glob(t, name+".*") {
		got = append(got, filepath.Base(path))
	}
	if want := []string{"x.1.events.z", "x.otf"}; !slices.Equal(got, want) {
		t.Errorf("found the files %v, expected %v", got, want)
	}
}

// glob returns the paths that match a pattern, sorted.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
