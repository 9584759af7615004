package pallas

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
)

func TestDocument_PerformanceData(t *testing.T) {
	effort.Sequential(t)
	t.Run("durations are from the first to the last event", testRealDurations)
	t.Run("exclusive blocks durations, and blocks durations", testBlocksDurations)
	t.Run("sequences of other records than enter are no blocks", testSequencesWithoutEnter)
}

// testRealDurations checks that the times, durations and exclusive durations of sequences agree with
// their events in real traces.
func testRealDurations(t *testing.T) {
	compared := 0
	for _, dir := range folders(t) {
		for _, th := range threads(t, mainFile(t, dir)) {
			// Lossy codecs change times and durations differently. ABI 16 defines exclusive
			// durations differently.
			tr := th.Archive.Trace
			if tr.Compression.Lossy() || tr.ABI < 17 || th.Root != MakeToken(SequenceToken, 0) || !newOutline(th).countsMatch() {
				continue
			}
			durations(t, th)
			compared++
		}
	}
	if compared < 10 {
		t.Errorf("compared %d threads", compared)
	}
}

// testBlocksDurations uses the functions of a figure that the document names but does not show, with made-up
// times: foo runs 0-50 with bar 10-30 inside of it, and baz runs 60-90, three times, 100 ns apart.
func testBlocksDurations(t *testing.T) {
	const main, foo, bar, baz = 0, 1, 2, 3
	list := []inputEvent{{0, Enter, region(main), nil}}
	for i := range uint64(3) {
		at := 1000 + 100*i
		list = append(list, inputEvent{at, Enter, region(foo), nil}, inputEvent{at + 10, Enter, region(bar), nil},
			inputEvent{at + 30, Leave, region(bar), nil}, inputEvent{at + 50, Leave, region(foo), nil},
			inputEvent{at + 60, Enter, region(baz), nil}, inputEvent{at + 90, Leave, region(baz), nil})
	}
	list = append(list, inputEvent{2000, Leave, region(main), nil})
	for _, compatible := range []bool{false, true} {
		th := recorded(t, list, &WriterOptions{Compatible: compatible})
		var got []string
		for i, s := range th.Sequences {
			if i == 0 {
				continue // sequence 0 is the root
			}
			name := "loop"
			if e := th.Event(s.Tokens[0]); e != nil && s.Type == BlockSequence {
				name = []string{"main", "foo", "bar", "baz"}[e.Payload[0]]
			}
			values := func(v *Vector) []uint64 { return must(th.Values(nil, v))(t) }
			got = append(got, fmt.Sprintf("%s %d %v %v %v", name, s.Type, values(&s.Durations), values(&s.Exclusive),
				values(&s.Timestamps)))
		}
		slices.Sort(got)
		if diff := cmp.Diff([]string{
			"bar 0 [20 20 20] [20 20 20] [1010 1110 1210]",
			"baz 0 [30 30 30] [30 30 30] [1060 1160 1260]",
			"foo 0 [50 50 50] [30 30 30] [1000 1100 1200]",
			"loop 1 [90 90 90] [80 80 80] [1000 1100 1200]", // 50 ns of foo and 30 ns of baz
			"main 0 [2000] [1760] [0]",                      // 2000 ns without 3 · (50 + 30) ns
		}, got); diff != "" {
			t.Errorf("compatible %v (-want +got):\n%s", compatible, diff)
		}
		// The sum of the loop's blocks durations is the time of its functions, if each function counts once.
		// This time equals the sum of the functions' exclusive blocks durations.
		var loop, blocks uint64
		for _, s := range th.Sequences[1:] {
			switch e := th.Event(s.Tokens[0]); {
			case s.Type == LoopSequence:
				loop += s.Exclusive.Total()
			case e.Payload[0] != main:
				blocks += s.Exclusive.Total()
			}
		}
		if loop != 240 || blocks != 240 {
			t.Errorf("found %d ns in blocks and %d ns exclusive, expected 240 of both", loop, blocks)
		}
		// A reader returns this duration for the loop as a whole: 290 ns from its first to its last event.
		r := must(NewReader(th))(t)
		for r.Token().Type() != LoopToken {
			if !r.Step(true, false) {
				t.Fatal("found no loop")
			}
		}
		if d, x, err := r.Duration(); d != 290 || x != 240 || err != nil {
			t.Errorf("found %d and %d ns, %v, expected 290 and 240", d, x, err)
		}
	}
}

func testSequencesWithoutEnter(t *testing.T) {
	th := threads(t, mainFile(t, "testdata/ok/allrecords"))[0]
	again := recorded(t, events(t, th), &WriterOptions{Compatible: true})
	for _, th := range []*Thread{th, again} {
		// In the output of pallas_info, the sequences S1 to S3 consist of THREAD_TEAM_BEGIN, OMP_FORK and
		// THREAD_BEGIN, and S4 of ENTER. Each pair has the type and Total_excl_duration.
		for id, want := range [][2]uint64{{0, 0}, {1, 0}, {1, 0}, {1, 0}, {0, 406}} {
			s := th.Sequence(MakeToken(SequenceToken, uint32(id)))
			if got := [2]uint64{uint64(s.Type), s.Exclusive.Total()}; got != want {
				t.Errorf("sequence %d: found type and exclusive ns %d, expected %d", id, got, want)
			}
		}
	}
}

func TestDocument_CustomVectors(t *testing.T) {
	effort.Sequential(t)
	t.Run("sub-arrays of times have their first and last value", testSubArraysOfTimes)
	t.Run("durations and their sub-arrays have minimum, maximum and mean", testStatisticsOfDurations)
	t.Run("general data are there without the files of data", testGeneralDataAlone)
	t.Run("data are written during the execution", testWrittenDuringExecution)
	t.Run("a block is compressed, and its sub-array says where it is", testCompressedBlocks)
	t.Run("one value is the read of one block", testReadOfOneValue)
}

func testSubArraysOfTimes(t *testing.T) {
	th := threads(t, mainFile(t, "testdata/ok/vecedge_1001"))[0]
	var want []uint64
	for i, word := range strings.Fields(unzip(t, "testdata/ok/vecedge_1001/truth.txt.gz")) {
		if i%4 == 1 {
			want = append(want, must(strconv.ParseUint(word, 10, 64))(t))
		}
	}
	v := &th.Events[0].Timestamps
	if got := must(th.Values(nil, v))(t); !slices.Equal(got, want) || v.Size != 1001 || len(v.Blocks) != 2 {
		t.Fatalf("found %d values of %d in %d sub-arrays, expected 1001 in 2", len(got), v.Size, len(v.Blocks))
	}
	for i, x := range [][3]uint64{{1000, want[0], want[999]}, {1, want[1000], want[1000]}} {
		if b := v.Blocks[i]; x != [3]uint64{b.Count, b.First, b.Last} {
			t.Errorf("found the sub-array %+v, expected count, first and last %v", b, x)
		}
	}
}

func testStatisticsOfDurations(t *testing.T) {
	// The thread has 1500 calls, which last 1 to 7 ns.
	var list []inputEvent
	var long []uint64
	for i := range uint64(1500) {
		n := 1 + i*i%7
		long = append(long, n)
		list = append(list, inputEvent{10 * i, Enter, region(1), nil}, inputEvent{10*i + n, Leave, region(1), nil})
	}
	th := recorded(t, list, nil)
	v := &th.Sequences[1].Durations
	stat := func(l []uint64) string {
		sum := uint64(0)
		for _, n := range l {
			sum += n
		}
		return fmt.Sprint(len(l), slices.Min(l), slices.Max(l), sum/uint64(len(l)))
	}
	got := []string{fmt.Sprint(v.Size, v.Min, v.Max, v.Mean)}
	for _, b := range v.Blocks {
		got = append(got, fmt.Sprint(b.Count, b.Min, b.Max, b.Mean))
	}
	if want := []string{stat(long), stat(long[:1000]), stat(long[1000:])}; !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}

func testGeneralDataAlone(t *testing.T) {
	for _, dir := range toolFolders(t) {
		m := inMemory(t, dir)
		for name := range m {
			if strings.HasSuffix(name, ".dat") {
				delete(m, name)
			}
		}
		said := func(files fs.FS, name string) string {
			src, opt := format.Source{FS: files, Name: name, Path: name}, &format.ReadOptions{Report: format.NewReport()}
			d := must((Format{}).Open(t.Context(), src, opt))(t)
			defer d.Close()
			s := must(d.Summary(t.Context()))(t)
			first, last, ok, err := d.Extent(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			list := fmt.Sprint(must(detailsOf(d))(t), first, last, ok)
			if s != nil {
				list += fmt.Sprintf("%+v", *s)
			}
			return list
		}
		name := filepath.Base(mainFile(t, dir))
		if got, want := said(m, name), said(inMemory(t, dir), name); got != want {
			t.Errorf("%s: found\n%s\nexpected\n%s", dir, got, want)
		}
	}
}

func testWrittenDuringExecution(t *testing.T) {
	w := must(Create(filepath.Join(t.TempDir(), "main"), &WriterOptions{Plain: true}))(t)
	w.LocationGroups = []LocationGroup{{0, NoRef, NoRef}}
	r := must(w.Archive(0).Record(0, NoRef))(t)
	const events = 200_000
	for i := range uint64(events) {
		if err := r.Record(i, Enter+Record(i%2), region(1), nil); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(filepath.Dir(w.path), "archive_0/thread_0/event_durations.dat")
	// At most the two current blocks, and the blocks that are being written, are missing in the file.
	if st := must(os.Stat(name))(t); st.Size() < 8*events*3/4 {
		t.Errorf("found %d bytes of %d events before the end", st.Size(), events)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for _, e := range threads(t, w.path)[0].Events {
		blocks += len(e.Timestamps.Blocks)
	}
	if st := must(os.Stat(name))(t); st.Size() != int64(8*events+8*blocks) || blocks < events/1000 {
		t.Errorf("found %d bytes at the end, expected those of all events and %d lengths", st.Size(), blocks)
	}
}

func testCompressedBlocks(t *testing.T) {
	for _, name := range []string{"vecedge_1001", "nested", "cfg_ZSTD_Masking"} {
		th := threads(t, mainFile(t, filepath.Join("testdata/ok", name)))[0]
		file := must(os.ReadFile(filepath.Join("testdata/ok", name, "trace/archive_0/thread_0/event_durations.dat")))(t)
		at := uint64(0)
		for i := range th.Events {
			for _, b := range th.Events[i].Timestamps.Blocks {
				if b.Offset != at || string(file[at+8:at+12]) != "\x28\xb5\x2f\xfd" {
					t.Errorf("%s: found a block at %d of the sub-array at %d", name, at, b.Offset)
				}
				at += 8 + uint64(file[at]) + uint64(file[at+1])<<8
			}
		}
		if at != uint64(len(file)) {
			t.Errorf("%s: found blocks up to %d, expected %d", name, at, len(file))
		}
	}
}

func testReadOfOneValue(t *testing.T) {
	times := make([][]uint64, 3)
	for i := range times {
		for k := range uint64(1000) {
			times[i] = append(times[i], 1000*uint64(i)+k)
		}
	}
	tr, log := openLogged(t, rootOf(ThreadTaskSwitch, times...).files())
	th := must(must(tr.Archive(0))(t).Thread(0))(t)
	log.list = nil
	if got := must(th.Value(&th.Events[0].Timestamps, 2500))(t); got != 2500 {
		t.Errorf("found %d, expected 2500", got)
	}
	const name = "archive_0/thread_0/event_durations.dat"
	log.expect(t, "a value of the third block", name, name+"@16016") // offset after two lengths and 2000 values
}
