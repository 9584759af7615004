package pallas

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
)

func TestLetter_16(t *testing.T) {
	effort.Sequential(t)
	// Record 0 is BUFFER_FLUSH before ABI 19, and record 59 from then on.
	h := rootOf(Invalid, []uint64{1, 2})
	for abi, want := range map[byte]string{20: "INVALID", 18: "BUFFER_FLUSH"} {
		m := h.files()
		m["main.pallas"].Data[0] = abi
		if abi == 18 { // ABI 18 has no root and no maps, and its loops have 8 bytes
			b := m["archive_0/thread_0/thread.pallas"].Data
			events := b[44 : 44+4+1+8+16+32]
			sequences := b[44+len(events)+8+4:]
			sequences = sequences[:2*(4+8+4+48)]
			b = slices.Concat(b[:32], b[36:44], events, sequences, le32(nil, uint32(MakeToken(SequenceToken, 1)), 2))
			m["archive_0/thread_0/thread.pallas"] = &fstest.MapFile{Data: b}
		}
		tr, _ := openLogged(t, m)
		th := must(must(tr.Archive(0))(t).Thread(0))(t)
		if got := events(t, th); len(got) != 2 || got[1].record.String() != want || got[1].time != 2 {
			t.Errorf("ABI %d: found %v, expected two of %s", abi, got, want)
		}
	}
}

// TestLetter_16_blocks checks that all sequences are blocks in ABI 16. The exclusive time of a repeated
// sequence is its time without its calls. Later versions store the time of the calls instead.
func TestLetter_16_blocks(t *testing.T) {
	effort.Sequential(t)
	var all [2][]uint64
	for i, name := range []string{"abi16_loops", "abi18_loops"} { // both traces are of the same program
		th := threads(t, mainFile(t, filepath.Join("testdata/ok", name)))[0]
		s := th.Sequence(MakeToken(SequenceToken, 4))
		if want := SequenceType(i); s.Type != want {
			t.Errorf("%s: found type %d, expected %d", name, s.Type, want)
		}
		all[i] = must(th.Values(nil, &s.Exclusive))(t)
		if i == 0 {
			continue
		}
		if d := must(th.Values(nil, &s.Durations))(t); all[0][0]+all[1][0] != d[0] || d[0] != 86 || all[0][0] != 21 {
			t.Errorf("found %d ns without calls and %d in calls of %d ns, expected 21 and 65 of 86", all[0][0], all[1][0], d[0])
		}
	}
}

// TestLetter_16_means checks that means of ABI 16 and 17 may be sums, even if all values but one
// are 0.
func TestLetter_16_means(t *testing.T) {
	effort.Sequential(t)
	for _, x := range []struct {
		values []uint64
		stored uint64
		want   uint64
	}{
		{[]uint64{2, 4, 7}, 13, 4}, {[]uint64{2, 4, 7}, 4, 4}, {[]uint64{0, 5, 0}, 5, 1}, {[]uint64{5, 5, 5}, 5, 5},
		{[]uint64{5, 5, 5}, 15, 5}, {[]uint64{0, 0, 0}, 0, 0}, {[]uint64{9}, 9, 9},
	} {
		n, low, high := uint64(len(x.values)), slices.Min(x.values), slices.Max(x.values)
		for abi := range uint8(3) {
			s := &source{b: le64(nil, n, 1, low, high, x.stored, n, low, high, x.stored, 0)}
			s.size = len(s.b)
			var blocks []Block
			v, want := s.vector(layout{abi: 16 + abi, counted: true}, false, true, &blocks), x.want
			if 16+abi == 18 {
				want = x.stored
			}
			if s.err != nil || v.Mean != want || len(blocks) != 1 || blocks[0].Mean != want {
				t.Errorf("ABI %d, %v with the mean %d: found %d and %v (%v), expected %d", 16+abi, x.values, x.stored,
					v.Mean, blocks, s.err, want)
			}
		}
	}
}

// TestLetter_16_metadata checks that the metadata of ABI 16 are skipped, and that their end may not be missing.
func TestLetter_16_metadata(t *testing.T) {
	effort.Sequential(t)
	real := must(os.ReadFile("testdata/ok/abi16_loops/trace/main.pallas"))(t)
	head := real[:len(real)-16]
	for _, x := range []struct {
		name, want string
		end        []byte
	}{
		{"none", "", nil}, {"no items", "", le64(nil, 0, 0)}, {"opaque bytes", "", append(le64(nil, 3, 1), 7, 8, 9)},
		{"cut number of items", "4 bytes", le32(le64(nil, 0), 0)}, {"cut number of bytes", "1 byte", []byte{0}},
		{"cut bytes", "3 bytes of metadata", append(le64(nil, 3, 1), 7, 8)},
		{"large number", "18446744073709551615 bytes of metadata", le64(nil, math.MaxUint64, 0)},
	} {
		m := fstest.MapFS{"main.pallas": {Data: slices.Concat(head, x.end)}}
		tr, err := Open(format.Source{FS: m, Name: "main.pallas", Path: "main.pallas"})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if tr.Truncated != nil {
			got = tr.Truncated.Found
		}
		if got != x.want || len(tr.Metadata) > 0 || len(tr.LocationGroups) == 0 {
			t.Errorf("%s: found %q, expected %q", x.name, got, x.want)
		}
	}
}

// TestLetter_16_sums checks that the sums of ABI 16 and 17 are compared with the durations, and the times and durations
// of ABI 16 with the events. The exclusive durations of ABI 16 do not follow from the events.
func TestLetter_16_sums(t *testing.T) {
	effort.Sequential(t)
	src := mainFile(t, "testdata/ok/abi16_loops")
	v := threads(t, src)[0].Sequences[1].Durations
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/ok/abi16_loops/trace")); err != nil {
		t.Fatal(err)
	}
	main := format.FileSource(filepath.Join(dir, "main.pallas"))
	if l := checked(t, main).Rules(); len(l) > 0 {
		t.Fatalf("found %+v, expected no defects", l)
	}
	name := filepath.Join(dir, "archive_0/thread_0/thread.pallas")
	b := must(os.ReadFile(name))(t)
	stated := le64(nil, v.Size, v.Min, v.Max) // the sums of the vector
	b = bytes.Replace(b, stated, le64(nil, v.Size, v.Min, v.Max+1), 1)
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	l := checked(t, main).Rules()
	if len(l) != 1 || l[0].Rule != "pallas.sums" || !strings.HasPrefix(l[0].First[0].Found, "durations of sequence 1 ") {
		t.Errorf("found %+v, expected other durations of sequence 1", l)
	}
}

// TestLetter_13_lossy checks that the sums of a vector of durations are compared with those of its blocks if the
// compression is lossy. The values of its blocks are then not exact.
func TestLetter_13_lossy(t *testing.T) {
	effort.Sequential(t)
	const name = "edited_bigts_ZFP"
	v := threads(t, mainFile(t, "testdata/ok/"+name))[0].Sequences[1].Durations
	for _, x := range []struct {
		sums [3]uint64
		want int
	}{
		{[3]uint64{v.Min, v.Max, v.Mean}, 0}, {[3]uint64{v.Min - 1, v.Max, v.Mean}, 1},
		{[3]uint64{v.Min, v.Max + 1, v.Mean}, 1}, {[3]uint64{v.Min, v.Max, v.Mean - 1}, 1},
		{[3]uint64{v.Min, v.Max, v.Mean + 2}, 1}, {[3]uint64{v.Min, 1 << 63, v.Mean}, 1},
		{[3]uint64{v.Min, v.Max, math.MaxUint64}, 1},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("testdata/ok/"+name+"/trace")); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "archive_0/thread_0/thread.pallas")
		head := le64(nil, v.Size, uint64(len(v.Blocks)))
		b := bytes.Replace(must(os.ReadFile(file))(t), le64(slices.Clone(head), v.Min, v.Max, v.Mean),
			le64(slices.Clone(head), x.sums[:]...), 1)
		if err := os.WriteFile(file, b, 0o666); err != nil {
			t.Fatal(err)
		}
		if n := count(checked(t, format.FileSource(filepath.Join(dir, "main.pallas"))), "pallas.sums"); n != x.want {
			t.Errorf("%d: found %d defects, expected %d", x.sums, n, x.want)
		}
	}
}
