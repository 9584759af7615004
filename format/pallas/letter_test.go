package pallas

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// The tests of this file are named after the sections of the byte-level description of the format,
// which completes Pallas' own document (docs/formats/pallas.md, "The format to the byte").

// rootOf returns a hand-made trace whose root has one event. The event has the given times.
func rootOf(record Record, blocks ...[]uint64) handMade {
	n := uint32(0)
	for _, l := range blocks {
		n += uint32(len(l))
	}
	return handMade{[]Record{record}, [][][]uint64{blocks},
		[][]Token{{MakeToken(LoopToken, 0)}, {MakeToken(EventToken, 0)}},
		[]Loop{{MakeToken(SequenceToken, 1), n, 1}}, []LocationGroup{{0, NoRef, NoRef}}, nil}
}

func TestLetter_1(t *testing.T) {
	effort.Sequential(t)
	t.Run("the main file has any name", func(t *testing.T) {
		for _, x := range [][2]string{{"eztrace_log", "eztrace_log.pallas"}, {"a.pallas", "a.pallas"},
			{"a.b", "a.b.pallas"}} {
			dir := t.TempDir()
			if err := must(Create(filepath.Join(dir, x[0]), nil))(t).Close(); err != nil {
				t.Fatal(err)
			}
			if list := must(os.ReadDir(dir))(t); len(list) != 1 || list[0].Name() != x[1] {
				t.Errorf("%s: found %v, expected %s", x[0], list, x[1])
			}
			must(Open(format.FileSource(filepath.Join(dir, x[1]))))(t)
		}
	})
	t.Run("a group without an archive, and a location without a folder", func(t *testing.T) {
		h := rootOf(ThreadTaskSwitch, []uint64{1, 2, 3})
		h.groups = []LocationGroup{{5, NoRef, NoRef}, {0, NoRef, 5}}
		m := h.files()
		b := le64(le32(nil, 0, 1), 0, 0, 0, 0, 0, 0, 2) // two locations, only one of which has a thread
		m["archive_0/archive.pallas"] = &fstest.MapFile{Data: le64(le32(b, 0, NoRef, 0, 1, NoRef, 0), 0)}
		if times, rules := readTimes(t, m); fmt.Sprint(times) != "[1 2 3]" || rules != "" {
			t.Errorf("found %v, %q, expected [1 2 3] and nothing wrong", times, rules)
		}
	})
}

func TestLetter_3(t *testing.T) {
	effort.Sequential(t)
	main := must(os.ReadFile("testdata/ok/minimal/trace/main.pallas"))(t)
	opened := func(at int, value byte) (*Trace, error) {
		b := slices.Clone(main)
		b[at] = value
		return Open(format.Source{FS: fstest.MapFS{"main.pallas": {Data: b}}, Name: "main.pallas", Path: "main.pallas"})
	}
	for _, x := range []struct {
		name  string
		at    int
		value byte
		want  func(*Parameters)
	}{
		{"3 ABI", 0, 16, func(p *Parameters) { p.ABI = 16 }},
		{"3 compression", 1, 0, func(p *Parameters) { p.Compression = NoCompression }},
		{"3 encoding", 5, 1, func(p *Parameters) { p.Encoding, p.stored = Masking, Masking }},
		{"3 zstd level", 9, 200, func(p *Parameters) { p.ZSTDLevel = 200 }},
		{"3 loop finding", 17, 0, func(p *Parameters) { p.LoopFinding = NoLoops }},
		{"3 loop length", 21, 1, func(p *Parameters) { p.MaxLoopLength = 1 }},
		{"3 storage of times", 29, 2, func(p *Parameters) { p.TimestampStorage = 2 }},
	} {
		t.Run(x.name, func(t *testing.T) {
			// The library wrote these settings, and pallas_info prints them.
			want := Parameters{ABI: 20, Compression: ZSTD, ZSTDLevel: 5, LoopFinding: BasicTruncated, MaxLoopLength: 100,
				TimestampStorage: 1}
			x.want(&want)
			if got := must(opened(x.at, x.value))(t).Parameters; got != want {
				t.Errorf("found %+v, expected %+v", got, want)
			}
		})
	}
	for _, x := range []struct {
		at    int
		value byte
		want  string
	}{
		{0, 15, "main.pallas:0x0: found a Pallas trace of ABI 15, expected 16 to 20"},
		{0, 21, "main.pallas:0x0: found a Pallas trace of ABI 21, expected 16 to 20"},
		{1, 3, "main.pallas:0x1: found the compression SZ, expected None"},
		{1, 6, "main.pallas:0x1: found the compression unknown (6), expected None"},
		{4, 1, "main.pallas:0x1: found the compression unknown (16777217), expected None"},
		{5, 2, "main.pallas:0x5: found the encoding LeadingZeroes, expected None"},
	} {
		t.Run("3 refused: "+x.want, func(t *testing.T) {
			if _, err := opened(x.at, x.value); !errors.Is(err, format.ErrDamaged) || !strings.HasPrefix(err.Error(), x.want) {
				t.Errorf("found %v, expected %s", err, x.want)
			}
		})
	}
	t.Run("3 a lossy compression has no encoding", func(t *testing.T) {
		for _, stated := range []Encoding{Masking, LeadingZeroes, 9} {
			b := slices.Clone(main)
			b[1], b[5] = byte(Histogram), byte(stated)
			src := format.Source{FS: fstest.MapFS{"main.pallas": {Data: b}}, Name: "main.pallas", Path: "main.pallas"}
			if tr := must(Open(src))(t); tr.Encoding != NoEncoding {
				t.Errorf("%s: found the encoding %s, expected None", stated, tr.Encoding)
			}
			want := 0
			if stated > LeadingZeroes {
				want = 1
			}
			if n := count(checked(t, src), "pallas.settings"); n != want {
				t.Errorf("%s: found %d of pallas.settings, expected %d", stated, n, want)
			}
		}
	})
	t.Run("3 settings on which reading does not depend may be missing", func(t *testing.T) {
		m := rootOf(ThreadTaskSwitch, []uint64{1, 2, 3}).files()
		whole := m["main.pallas"].Data
		for n := 9; n < 33; n++ {
			m["main.pallas"] = &fstest.MapFile{Data: whole[:n]}
			if times, rules := readTimes(t, m); fmt.Sprint(times) != "[1 2 3]" || rules != "pallas.damaged" {
				t.Errorf("%d bytes: found %v, %q, expected [1 2 3] and pallas.damaged", n, times, rules)
			}
		}
	})
	t.Run("3 metadata are sorted by the bytes of their keys", func(t *testing.T) {
		want := le64(nil, 3)
		for _, s := range []string{"\x00", "0\x00", "B\x00", "\x00", "b\x00", "2\x00"} {
			want = append(le64(want, uint64(len(s))), s...)
		}
		if got := appendMetadata(nil, []Metadata{{"b", "2"}, {"", "0"}, {"B", ""}}); !bytes.Equal(got, want) {
			t.Errorf("found %q, expected %q", got, want)
		}
	})
}

func TestLetter_5(t *testing.T) {
	effort.Sequential(t)
	// Each table begins with its number of entries and is sorted by refs as unsigned numbers.
	d := Definitions{Strings: []String{{0x80000000, "ab"}, {2, ""}}, Regions: []Region{{7, 2}, {3, 2}},
		Attributes: []Attribute{{1, 2, NoRef, Float64Value}}, Groups: []Group{{1, 2, 4, 23, []uint32{9, 8}}},
		Comms: []Comm{{1, 2, 3, 4}}}
	want := append(le32(le64(nil, 2), 2, 1), 0)
	want = append(le32(want, 0x80000000, 3), "ab\x00"...)
	want = le32(le64(want, 2), 3, 2, 7, 2)
	want = append(le32(le64(want, 1), 1, 2, 0xffffffff), 10, 0, 0, 0)
	want = le32(le64(want, 1), 1, 2, 4, 23, 2, 9, 8)
	want = le32(le64(want, 1), 1, 2, 3, 4)
	if got := d.append(nil); !bytes.Equal(got, want) {
		t.Errorf("found %x, expected %x", got, want)
	}
	s := &source{b: want, size: len(want)}
	back := s.definitions(MaxABI, nil)
	if s.err != nil || s.left() != 0 || !bytes.Equal(back.append(nil), want) {
		t.Errorf("read %+v (%v, %d bytes left)", back, s.err, s.left())
	}
	// In ABI 16 groups have neither type nor paradigm, and members have 64 bits.
	b := le64(le32(le64(le64(nil, 0, 0, 0), 1), 1, 2, 2), 9, 8)
	s = &source{b: le64(b, 0)}
	s.size = len(s.b)
	if back = s.definitions(16, nil); s.err != nil || fmt.Sprint(back.Groups) != "[{1 2 0 0 [9 8]}]" {
		t.Errorf("found groups %v (%v), expected one of 9 and 8", back.Groups, s.err)
	}
}

// TestLetter_5_order checks that definitions and metadata that are out of order are reported with their places.
func TestLetter_5_order(t *testing.T) {
	effort.Sequential(t)
	text := func(b []byte, s string) []byte { return append(append(b, s...), 0) }
	two := func(before, after int, entry func(b []byte, ref uint32) []byte, a, b uint32) (out []byte) {
		out = le64(out, make([]uint64, before)...)
		return le64(entry(entry(le64(out, 2), a), b), make([]uint64, after)...)
	}
	name := func(b []byte, ref uint32) []byte { return text(le32(b, ref, 2), "x") }
	region := func(b []byte, ref uint32) []byte { return le32(b, ref, NoRef) }
	attribute := func(b []byte, ref uint32) []byte { return le32(b, ref, NoRef, NoRef, 0) }
	group := func(b []byte, ref uint32) []byte { return le32(b, ref, NoRef, 0, 0, 1, 9) }
	comm := func(b []byte, ref uint32) []byte { return le32(b, ref, NoRef, NoRef, NoRef) }
	key := func(b []byte, ref uint32) []byte { return text(le64(text(le64(b, 2), string(rune(ref))), 2), "v") }
	const head = 33 // bytes before the tables; the number of entries takes 8
	for _, x := range []struct {
		name, want string
		b          []byte
	}{
		{"in order", "", two(0, 7, name, 3, 4)},
		{"strings", fmt.Sprintf("main.pallas:%#x: string 3 after 4", head+8+10), two(0, 7, name, 4, 3)},
		{"a string twice", fmt.Sprintf("main.pallas:%#x: string 3 after 3", head+8+10), two(0, 7, name, 3, 3)},
		{"unsigned refs", "", two(0, 7, name, 3, 0x80000000)},
		{"regions", fmt.Sprintf("main.pallas:%#x: region 3 after 4", head+16+8), two(1, 6, region, 4, 3)},
		{"attributes", fmt.Sprintf("main.pallas:%#x: attribute 3 after 4", head+24+16), two(2, 5, attribute, 4, 3)},
		{"groups", fmt.Sprintf("main.pallas:%#x: group 3 after 4", head+32+24), two(3, 4, group, 4, 3)},
		{"communicators", fmt.Sprintf("main.pallas:%#x: communicator 3 after 4", head+40+16), two(4, 3, comm, 4, 3)},
		{"metadata", fmt.Sprintf("main.pallas:%#x: the metadata \"a\" after \"b\"", head+64+20), two(7, 0, key, 'b', 'a')},
	} {
		for _, file := range []string{"main.pallas", "archive_0/archive.pallas"} {
			t.Run("5 "+x.name+" of "+file, func(t *testing.T) {
				m := handMade{groups: []LocationGroup{{0, NoRef, NoRef}}}.files()
				main, archive := slices.Clone(m["main.pallas"].Data[:head]), le64(le32(nil, 0, 0), 0, 0, 0, 0, 0, 0, 0, 0)
				want := x.want
				if file == "main.pallas" {
					main = append(main, x.b...)
				} else {
					main = le64(main, 0, 0, 0, 0, 0, 1)
					main = le64(le32(main, 0, NoRef, NoRef), 0, 0)
					archive = append(archive[:8], x.b...)
					at, found, _ := strings.Cut(strings.TrimPrefix(want, "main.pallas:"), ": ")
					if n, err := strconv.ParseUint(at, 0, 64); err == nil {
						want = fmt.Sprintf("%s:%#x: %s", file, n-head+8, found)
					}
				}
				m = fstest.MapFS{"main.pallas": {Data: main}, "archive_0/archive.pallas": {Data: archive}}
				got := ""
				for _, r := range checked(t, format.Source{FS: m, Name: "main.pallas", Path: "main.pallas"}).Rules() {
					if r.Rule != "pallas.definition-order" && (file != "main.pallas" || r.Rule != "pallas.ids") {
						t.Errorf("found %s", r.First[0])
					} else if r.Rule == "pallas.definition-order" {
						got += fmt.Sprintf("%s:%#x: %s", r.First[0].Position.File, r.First[0].Position.Offset, r.First[0].Found)
					}
				}
				if got != want {
					t.Errorf("found %q, expected %q", got, want)
				}
			})
		}
	}
}

// TestLetter_6_loops checks that a loop that states another number of occurrences than the grammar has is reported.
func TestLetter_6_loops(t *testing.T) {
	effort.Sequential(t)
	// Calls of region 2 hold three calls of region 1, a loop that occurs once in each. Two runs of two calls of region 2
	// are a loop that occurs twice; three of a run of five calls are a loop of their own.
	var list []inputEvent
	at := uint64(0)
	add := func(r Record, k uint32) { list, at = append(list, inputEvent{at, r, region(k), nil}), at+10 }
	calls := 0
	for i, n := range []int{2, 2, 5} {
		for range n {
			add(Enter, 2)
			for range 3 {
				add(Enter, 1)
				add(Leave, 1)
			}
			add(Leave, 2)
			calls++
		}
		add(Enter, uint32(3+i))
		add(Leave, uint32(3+i))
	}
	for _, compatible := range []bool{false, true} {
		th := recorded(t, list, &WriterOptions{Compatible: compatible, Plain: true})
		name := filepath.FromSlash(th.Archive.Trace.src.Path)
		if got := checkRules(t, name); len(got) > 0 {
			t.Errorf("compatible %t: found %v in a sound trace", compatible, got)
		}
		file := filepath.Join(filepath.Dir(name), "archive_3/thread_7/thread.pallas")
		b := must(os.ReadFile(file))(t)
		for i, l := range th.Loops {
			record := len(b) - 8 - 4*len(th.loopMap) - 16*(len(th.Loops)-i)
			var damaged [][]byte
			change := func(at int, n uint32) {
				x := slices.Clone(b)
				binary.LittleEndian.PutUint32(x[record+at:], n)
				damaged = append(damaged, x)
			}
			want := map[uint32]uint64{3: uint64(calls), 2: 2, 5: 1}[l.Iterations]
			if l.Occurrences != want {
				t.Errorf("compatible %t: loop %d of %d iterations occurs %d times, expected %d", compatible, i, l.Iterations,
					l.Occurrences, want)
			}
			if l.Sequence == NoToken { // the entry of a discarded loop is empty
				change(0, uint32(MakeToken(SequenceToken, 1)))
				change(4, 1)
			}
			change(8, uint32(want)+1)
			change(8, uint32(want)-1)
			change(12, math.MaxUint32)
			for k, x := range damaged {
				if err := os.WriteFile(file, x, 0o666); err != nil {
					t.Fatal(err)
				}
				if got := checkRules(t, name); !slices.Equal(got, []string{"pallas.occurrences"}) {
					t.Errorf("compatible %t: loop %d, change %d: found %v", compatible, i, k, got)
				}
			}
		}
	}
}

func TestLetter_7(t *testing.T) {
	effort.Sequential(t)
	for _, x := range []struct {
		name   string
		blocks [][]uint64
	}{
		{"7 sub-arrays of any size", [][]uint64{{1, 2}, {3}, {4, 5, 6, 7}, {8}}},
		{"7 an empty sub-array", [][]uint64{{1, 2}, {}, {3}}},
		{"7 more than 1000 values", [][]uint64{make([]uint64, 2000), {1}}},
	} {
		t.Run(x.name, func(t *testing.T) {
			want := slices.Concat(x.blocks...)
			h := rootOf(ThreadTaskSwitch, x.blocks...)
			tr, _ := openLogged(t, h.files())
			th := must(must(tr.Archive(0))(t).Thread(0))(t)
			v := &th.Events[0].Timestamps
			if got := must(th.Values(nil, v))(t); !slices.Equal(got, want) {
				t.Errorf("found %v, expected %v", got, want)
			}
			for k, n := range want {
				if got := must(th.Value(v, uint64(k)))(t); got != n {
					t.Errorf("value %d: found %d, expected %d", k, got, n)
				}
			}
		})
	}
	t.Run("7 a vector of nothing has two numbers", func(t *testing.T) {
		for _, said := range []uint64{0, 1} { // length in the file; the library writes 1
			s := &source{b: le64(nil, 0, said, 77)}
			s.size = len(s.b)
			var blocks []Block
			v := s.vector(layout{abi: MaxABI, counted: true}, true, false, &blocks)
			if s.err != nil || v.Size != 0 || s.at != 16 {
				t.Errorf("found %+v up to %d (%v), expected nothing up to 16", v, s.at, s.err)
			}
		}
	})
}

func TestLetter_8(t *testing.T) {
	effort.Sequential(t)
	for _, x := range []struct {
		name     string
		p        Parameters
		min, max uint64 // first and last value, as the sub-array of the block states them
		b        []byte
		want     []uint64
	}{
		{"8 None", Parameters{}, 1, 1 << 63, le64(nil, 1, 1<<63, 7), []uint64{1, 1 << 63, 7}},
		{"8 Masking, a byte each", Parameters{Encoding: Masking}, 0, 255, []byte{1, 0, 255}, []uint64{1, 0, 255}},
		{"8 Masking, three bytes each", Parameters{Encoding: Masking}, 0, 1 << 16, []byte{1, 0, 0, 0, 0, 1, 2, 3, 0},
			[]uint64{1, 1 << 16, 0x302}},
		{"8 Masking, zeros alone are plain", Parameters{Encoding: Masking}, 0, 0, le64(nil, 0, 0, 0), []uint64{0, 0, 0}},
		{"8 Masking, 8 bytes are plain", Parameters{Encoding: Masking}, 1, 1 << 63, le64(nil, 1, 1<<63, 7),
			[]uint64{1, 1 << 63, 7}},
		// The range of the values is 510, so that a step is 510/255 = 2.
		{"8 Histogram", Parameters{Compression: Histogram}, 1000, 1510, append(le64(nil, 1000, 1510), 0, 1, 128, 255),
			[]uint64{1000, 1002, 1256, 1510}},
		// The range of the values is 1000, so that a step is 1000/255 = 3.92; times are rounded down.
		{"8 Histogram, odd steps", Parameters{Compression: Histogram}, 0, 1000, append(le64(nil, 0, 1000), 1, 2, 3, 254),
			[]uint64{3, 7, 11, 996}},
		{"8 Histogram of 255 or less, without its head", Parameters{Compression: Histogram}, 1000, 1255,
			append([]byte{0, 255, 7}, bytes.Repeat([]byte{0xaa}, 16)...), []uint64{1000, 1255, 1007}},
		{"8 ZFP of zeros", Parameters{Compression: ZFP}, 0, 0, make([]byte, 16), []uint64{0, 0, 0, 0, 0}},
	} {
		t.Run(x.name, func(t *testing.T) {
			v := &Vector{durations: true}
			c := &Block{Count: uint64(len(x.want)), Min: x.min, Max: x.max}
			for _, packed := range []Compression{x.p.Compression, ZSTD, ZSTDHistogram} {
				p, b := x.p, x.b
				switch {
				case packed == x.p.Compression:
				case x.p.Compression == NoCompression && packed == ZSTD, x.p.Compression == Histogram && packed == ZSTDHistogram:
					p.Compression = packed
					z := must(zstd.NewWriter(nil, zstd.WithSingleSegment(true)))(t)
					b = z.EncodeAll(b, nil)
					z.Close()
				default:
					continue
				}
				r := newBlockReader(p)
				if got, err := r.decode(nil, b, "x", v, c); err != nil || !slices.Equal(got, x.want) {
					t.Errorf("%s: found %v, %v, expected %v", packed, got, err, x.want)
				}
				r.close()
			}
		})
	}
	t.Run("8 frames say how long their content is", func(t *testing.T) {
		for _, n := range []int{3, 4, 30, 32, 100, 1000, 2500} {
			for _, encoding := range []Encoding{NoEncoding, Masking} {
				var list []inputEvent
				for i := range uint64(n) {
					list = append(list, inputEvent{i * i, ThreadTaskSwitch, nil, nil})
				}
				th := recorded(t, list, &WriterOptions{Encoding: encoding})
				file := must(os.ReadFile(filepath.Join(filepath.Dir(filepath.FromSlash(th.Archive.Trace.src.Path)),
					"archive_3/thread_7/event_durations.dat")))(t)
				for _, b := range th.Events[0].Timestamps.Blocks {
					frame := file[b.Offset+8:]
					frame = frame[:binary.LittleEndian.Uint64(file[b.Offset:])]
					width := uint64(8)
					if encoding == Masking {
						width = 0
						for m := b.Last; m > 0; m >>= 8 {
							width++
						}
					}
					var h zstd.Header
					err, size := h.Decode(frame), width*b.Count
					if err != nil || !h.HasFCS || h.FrameContentSize != size || h.HasCheckSum || h.DictionaryID != 0 {
						t.Errorf("%d values, %s: found the head %+v (%v), expected %d bytes, no checksum", n, encoding, h, err, size)
					}
				}
			}
		}
	})
	t.Run("8 the first and the last time are exact", func(t *testing.T) {
		// A step is 1000/255, so that the reader returns the times 392 and 784 for 393 and 785.
		r := newBlockReader(Parameters{Compression: Histogram})
		c := &Block{Count: 4, First: 3, Last: 999}
		b := append(le64(nil, 0, 1000), 0, 100, 200, 255)
		if got, err := r.decode(nil, b, "x", &Vector{}, c); err != nil || !slices.Equal(got, []uint64{3, 392, 784, 999}) {
			t.Errorf("found %v, %v, expected 3, 392, 784 and 999", got, err)
		}
	})
}

func TestLetter_9(t *testing.T) {
	effort.Sequential(t)
	// The table lists the number of each record that has a defined payload, and the sizes of its
	// fields in bytes.
	const m = "4448" // peer, communicator, tag, length
	defined := map[Record]string{0: "", 2: "4", 3: "4", 4: m, 5: m + "8", 6: "8", 7: "8", 8: m, 9: m + "8", 12: "",
		13: "44488", 14: "4", 15: "", 16: "4", 17: "4", 18: "8", 19: "8", 20: "8", 25: "4", 26: "", 27: "", 28: "",
		29: "4", 30: "4", 31: "", 32: "", 33: "", 35: "", 37: "", 58: "4"}
	for r := Record(0); r < 70; r++ {
		widths, ok := defined[r]
		var payload []byte
		var want []uint64
		for i, c := range widths {
			n := uint64(0x01020304) << i
			if want = append(want, n); c == '4' {
				payload = le32(payload, uint32(n))
			} else {
				payload = le64(payload, n)
			}
		}
		if got, is := r.Values(payload); is != ok || ok && !slices.Equal(got, want) {
			t.Errorf("record %d: found %v, %v, expected %v, %v", r, got, is, want, ok)
		}
		if _, is := r.Values(append(payload, 0)); is {
			t.Errorf("record %d: found fields in a payload that is too long", r)
		}
	}
	t.Run("9 records that open and close sequences", func(t *testing.T) {
		for r := Record(0); r < maxRecord; r++ {
			end, opens := r.closing()
			want, is := map[Record]Record{2: 3, 14: 15, 25: 26, 27: 28, 35: 37}[r]
			if opens != is || is && end != want {
				t.Errorf("record %d: found %v, %d, expected %v, %d", r, opens, end, is, want)
			}
		}
	})
	t.Run("9 the same event has the same record and payload, whatever its time and attributes", func(t *testing.T) {
		message := func(tag uint32, length uint64) []byte { return le64(le32(nil, 1, 2, tag), length) }
		th := recorded(t, []inputEvent{{1, MPISend, message(1, 8), nil}, {2, MPISend, message(1, 8), []Value{{3, []byte{1}}}},
			{3, MPISend, message(2, 8), nil}, {4, MPISend, message(1, 9), nil}, {5, MPIRecv, message(1, 8), nil}}, nil)
		var got []uint64
		for i := range th.Events {
			got = append(got, th.Events[i].Timestamps.Size)
		}
		if !slices.Equal(got, []uint64{2, 1, 1, 1}) {
			t.Errorf("found occurrences %v, expected 2, 1, 1 and 1", got)
		}
	})
}

func TestLetter_10(t *testing.T) {
	effort.Sequential(t)
	want := append(le32(nil, 5), 25, 0, 2, 10, 0)
	want = append(le32(want, 7), 1, 2, 3, 4)
	want = append(append(want, 8, 0), append(le32(nil, 0x80000000), 9, 9)...)
	got := must(appendList(nil, 5, []Value{{7, []byte{1, 2, 3, 4}}, {0x80000000, []byte{9, 9}}}))(t)
	if !bytes.Equal(got, want) {
		t.Errorf("found %x, expected %x", got, want)
	}
	values := make([]Value, 128)
	if _, err := appendList(nil, 0, values[:127]); err != nil {
		t.Errorf("127 values: %v", err)
	}
	if _, err := appendList(nil, 0, values); err == nil {
		t.Error("128 values: found no error")
	}
	if _, err := appendList(nil, math.MaxInt32+1, values[:1]); err == nil {
		t.Error("an occurrence after 2³¹−1: found no error")
	}
}

// TestLetter_10_damage checks that attributes that do not follow the rules are reported: there is one list for each
// occurrence that has attributes, in the order of occurrences; a list and a value state their size, and the type of an
// attribute determines the size of its values. The file defines attribute 5 with 4 bytes.
func TestLetter_10_damage(t *testing.T) {
	list := func(occurrence uint32, values ...[]byte) []byte {
		var body []byte
		for _, v := range values {
			body = append(append(append(body, byte(6+len(v)), 0), le32(nil, 5)...), v...)
		}
		return append(append(le32(nil, occurrence), byte(7+len(body)), 0, byte(len(values))), body...)
	}
	two := list(1, []byte{1, 2, 3, 4}, []byte{5, 6, 7, 8})
	two[6] = 1 // the number of values
	for _, x := range []struct {
		name  string
		lists []byte
		found string
	}{
		{"sound", append(list(0, []byte{1, 2, 3, 4}), list(2, []byte{1, 2, 3, 4})...), ""},
		{"back", append(list(2, []byte{1, 2, 3, 4}), list(0, []byte{1, 2, 3, 4})...),
			"the attributes of occurrence 0 behind those of occurrence 2"},
		{"twice", append(list(1, []byte{1, 2, 3, 4}), list(1, []byte{1, 2, 3, 4})...),
			"the attributes of occurrence 1 behind those of occurrence 1"},
		{"no such occurrence", list(3, []byte{1, 2, 3, 4}), "attributes of occurrence 3 of an event with 3 occurrences"},
		{"cut off", list(0, []byte{1, 2, 3, 4})[:16], "16 bytes behind the last attribute list"},
		{"too few values", two, "10 bytes behind the last attribute of a list"},
		{"a short value", list(0, []byte{1, 2}), "2 bytes for a value of attribute 5, whose type has 4"},
		{"a long value", list(0, []byte{1, 2, 3, 4, 5}), "5 bytes for a value of attribute 5, whose type has 4"},
	} {
		hand := rootOf(BufferFlush, []uint64{1, 2, 3})
		hand.lists = map[int][]byte{0: x.lists}
		m := hand.files()
		p := m["main.pallas"]
		attributes := 33 + 8 + 8 // behind the head, no strings and no regions
		if n := binary.LittleEndian.Uint64(p.Data[attributes:]); n != 0 {
			t.Fatalf("found %d attributes, expected none", n)
		}
		defined := append(le64(nil, 1), append(le32(nil, 5, NoRef, NoRef), byte(Uint32Value), 0, 0, 0)...)
		p.Data = slices.Concat(p.Data[:attributes], defined, p.Data[attributes+8:])
		opt := &format.ReadOptions{Report: format.NewReport()}
		var found []string
		opt.Report.Only = func(d *trace.Defect) bool {
			if d.Rule == "pallas.attributes" { // the trace has no sums, which breaks another rule
				found = append(found, d.Found)
			}
			return true
		}
		d, err := (Format{}).Open(t.Context(), format.Source{FS: m, Name: "main.pallas", Path: "main.pallas"}, opt)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Scan(t.Context(), trace.Everything(), format.PerLocation, format.SinkFuncs{}); err != nil {
			t.Fatal(err)
		}
		var want []string
		if x.found != "" {
			want = []string{x.found}
		}
		if !slices.Equal(found, want) {
			t.Errorf("%s: found %q, expected %q", x.name, found, want)
		}
	}
}

func TestLetter_12(t *testing.T) {
	effort.Sequential(t)
	alternating := func(n int) (list []inputEvent) {
		for i := range uint64(n) {
			list = append(list, inputEvent{i, ThreadTaskCreate + Record(i%2), nil, nil})
		}
		return list
	}
	// The writer looks for sequences up to the longest length, and for loops of less than this length.
	for _, x := range []struct {
		length    int
		sequences string
		loops     string
	}{
		{2, "[[E0 E1 E0 E1 E0 E1]]", "[]"},
		{3, "[[L0] [E0 E1]]", "[{S1 3 1}]"},
	} {
		th := recorded(t, alternating(6), &WriterOptions{Compatible: true, MaxLoopLength: x.length})
		var tokens [][]Token
		for _, s := range th.Sequences {
			tokens = append(tokens, s.Tokens)
		}
		if got, loops := fmt.Sprint(tokens), fmt.Sprint(th.Loops); got != x.sequences || loops != x.loops {
			t.Errorf("longest of %d tokens: found %s and %s, expected %s and %s", x.length, got, loops, x.sequences, x.loops)
		}
	}
	t.Run("12 what is open at the end stays so", func(t *testing.T) {
		th := recorded(t, []inputEvent{{1, Enter, region(1), nil}, {2, Enter, region(2), nil}},
			&WriterOptions{Compatible: true})
		if got := events(t, th); len(got) != 2 {
			t.Errorf("found %v, expected the two that were recorded", got)
		}
	})
}

// TestLetter_18 compares the bytes that section 18 shows of the trace "minimal" with the bytes of the file,
// and with the bytes that weft writes. The events are ENTER main at 1000, GENERIC "init" at 1500, LEAVE main
// at 4 s.
func TestLetter_18(t *testing.T) {
	effort.Sequential(t)
	const last = 4_000_000_000
	list := []inputEvent{{1000, Enter, region(0), nil}, {1500, Generic, region(1), nil}, {last, Leave, region(0), nil}}
	th := recorded(t, list, &WriterOptions{Compatible: true, Level: 5})
	dir := filepath.Dir(filepath.FromSlash(th.Archive.Trace.src.Path))
	got := must(os.ReadFile(filepath.Join(dir, "archive_3/thread_7/thread.pallas")))(t)
	real := must(os.ReadFile("testdata/ok/minimal/trace/archive_0/thread_0/thread.pallas"))(t)
	want := le32(le64(le32(nil, 0, 0), 3, 2, 0), 0)
	want = le64(want, 1000)
	for i, f := range list {
		want = append(le32(want, uint32(f.record)), 9)
		want = le64(append(want, f.payload...), 0, 1, 1, 1, f.time, f.time, uint64(25*i))
	}
	want = le32(le64(want, 3), 0, 1, 2)
	duration := uint64(last - 1000)
	once := func(b []byte, n, at uint64) []byte { return le64(b, 1, 1, n, n, n, 1, n, n, n, at) }
	want = le32(le64(le32(want, 0), 1), 6)
	want = le64(once(once(want, duration, 0), 0, 25), 1, 1, 1, 1000, 1000, 50)
	want = le32(le64(le32(want, 0), 3), 1, 5, 9)
	want = le64(once(once(want, duration, 75), duration, 100), 1, 1, 1, 1000, 1000, 125)
	want = le64(le32(le64(want, 2), 0, 1), 0)
	if !bytes.Equal(real, want) {
		t.Errorf("the library's file is\n%x, expected\n%x", real, want)
	}
	copy(want, le32(nil, 7, 3)) // ids of the archive and the thread
	if !bytes.Equal(got, want) {
		t.Errorf("found\n%x, expected\n%x", got, want)
	}
}
