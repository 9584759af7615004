package pallas

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
)

// The tests of this file are named after the sections of Pallas' presentation of its format
// (docs/formats/pallas.md, "The document, sentence by sentence").

// accesses records which files of a trace are opened and read, as "name" and "name@offset".
type accesses struct {
	fs.FS
	list []string
}

// accessed is a file that records its reads.
type accessed struct {
	fs.File
	at   io.ReaderAt
	name string
	all  *accesses
}

// Open records the name.
func (a *accesses) Open(name string) (fs.File, error) {
	f, err := a.FS.Open(name)
	if err != nil {
		return nil, err
	}
	r, ok := f.(io.ReaderAt)
	if !ok {
		return f, nil
	}
	a.list = append(a.list, name)
	return accessed{f, r, name, a}, nil
}

// Stat does not record anything.
func (a *accesses) Stat(name string) (fs.FileInfo, error) { return fs.Stat(a.FS, name) }

// ReadAt records the offset.
func (f accessed) ReadAt(b []byte, at int64) (int, error) {
	if strings.HasSuffix(f.name, ".dat") {
		f.all.list = append(f.all.list, fmt.Sprint(f.name, "@", at))
	}
	return f.at.ReadAt(b, at)
}

// expect compares the accesses since the last call of expect with the wanted accesses.
func (a *accesses) expect(t *testing.T, when string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, a.list); diff != "" {
		t.Errorf("%s: files (-want +got):\n%s", when, diff)
	}
	a.list = nil
}

// openLogged opens a trace whose accesses are recorded.
func openLogged(t *testing.T, files fs.FS) (*Trace, *accesses) {
	t.Helper()
	log := &accesses{FS: files}
	tr, err := Open(format.Source{FS: log, Name: "main.pallas", Path: "main.pallas"})
	if err != nil {
		t.Fatal(err)
	}
	return tr, log
}

// must returns a function that returns v, or fails the test if err is not nil.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// toolThread holds the output of pallas_info for a thread.
type toolThread struct {
	name             string
	id, archive      uint32
	events           uint64
	kinds, sequences int
	tokens           map[int][]string // tokens of each sequence, as names
}

// toolText parses the output of pallas_info for a trace. It returns the lines before the list of
// archives, without indentation, and the threads.
func toolText(t *testing.T, dir string) (head []string, list []*toolThread) {
	t.Helper()
	const nameWidth = 20 // width of a thread's name
	var x *toolThread
	rows, in, heading := false, -1, true
	byPlace := map[[2]uint32]*toolThread{}
	for s := bufio.NewScanner(strings.NewReader(unzip(t, filepath.Join(dir, "info_full.txt.gz")))); s.Scan(); {
		line := s.Text()
		f := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "#Archive_id"):
			heading = false
		case heading:
			head = append(head, strings.TrimSpace(line))
		case strings.HasPrefix(line, "#"):
			rows = strings.HasPrefix(line, "#Thread_name")
		case strings.HasPrefix(line, "-------------------"):
			if in = -1; strings.HasSuffix(line, "contains:") {
				in = must(strconv.Atoi(f[2]))(t)
				x.tokens[in] = []string{}
			}
		case in >= 0:
			x.tokens[in] = append(x.tokens[in], strings.TrimPrefix(line, "\t"))
		case len(f) == 0:
			rows = false
		case rows && len(line) > nameWidth:
			// the tool may print the first and the last time without a blank between them
			f := strings.Fields(line[nameWidth:])
			number := func(i int) uint64 {
				return must(strconv.ParseUint(f[len(f)-i], 10, 64))(t)
			}
			place := [2]uint32{uint32(number(1)), uint32(number(len(f)))}
			if x = byPlace[place]; x == nil {
				x = &toolThread{name: strings.TrimSpace(line[:nameWidth]), id: place[1], archive: place[0], events: number(5),
					kinds: int(number(4)), sequences: int(number(3)), tokens: map[int][]string{}}
				byPlace[place] = x
				list = append(list, x)
			}
		}
	}
	return head, list
}

// toolFolders returns the folders of real traces that have an output of pallas_info.
func toolFolders(t *testing.T) (list []string) {
	t.Helper()
	for _, dir := range folders(t) {
		if _, err := os.Stat(filepath.Join(dir, "info_full.txt.gz")); err == nil {
			list = append(list, dir)
		}
	}
	if len(list) == 0 {
		t.Fatal("no traces")
	}
	return list
}

// TestDocument_Introduction checks that repetitions compress the grammar: ten times the iterations
// need no more tokens.
func TestDocument_Introduction(t *testing.T) {
	effort.Sequential(t)
	size := func(times int) (tokens int, events uint64) {
		var list []inputEvent
		time := uint64(0)
		put := func(r Record, n uint32) { time += 7; list = append(list, inputEvent{time, r, region(n), nil}) }
		put(Enter, 0)
		for range times {
			put(Enter, 1)
			put(Leave, 1)
			put(Enter, 2)
			put(Leave, 2)
		}
		put(Leave, 0)
		th := recorded(t, list, nil)
		for _, s := range th.Sequences {
			tokens += len(s.Tokens)
		}
		return tokens, th.Count()
	}
	// The root has one token. The sequence of main has three tokens, one of which is the loop. The loop's
	// sequence has two tokens, and each function has two.
	for _, x := range []struct{ times, tokens int }{{10, 10}, {100, 10}, {1000, 10}} {
		if tokens, events := size(x.times); tokens != x.tokens || events != uint64(2+4*x.times) {
			t.Errorf("%d iterations: found %d tokens for %d events, expected %d for %d", x.times, tokens, events,
				x.tokens, 2+4*x.times)
		}
	}
}

func TestDocument_TraceStructure(t *testing.T) {
	effort.Sequential(t)
	t.Run("the main file has definitions and settings", testMainFileContent)
	t.Run("data of the user are kept", testUserData)
	t.Run("processes and threads are identified by location groups and locations", testProcessesAndThreads)
	t.Run("files", testWrittenFiles)
	t.Run("archives, threads and data are loaded on demand", testLoadedOnDemand)
}

func testMainFileContent(t *testing.T) {
	for _, dir := range toolFolders(t) {
		head, _ := toolText(t, dir)
		tr := must(Open(format.FileSource(mainFile(t, dir))))(t)
		d := tr.Definitions
		name := func(r Ref) string { s, _ := d.Text(r); return s }
		got := []string{"Compression Algorithm: " + tr.Compression.String(), "Encoding algorithm: " + tr.stored.String(),
			"Loop-finding algorithm: " + tr.LoopFinding.String(), fmt.Sprint("Max loop length: ", tr.MaxLoopLength),
			fmt.Sprint("ZSTD compression level: ", tr.ZSTDLevel), "Timestamp storage: " + tr.TimestampStorage.String()}
		for _, x := range d.Strings {
			got = append(got, fmt.Sprintf("%d: '%s'", int32(x.Ref), x.Text))
		}
		for _, x := range d.Regions {
			got = append(got, fmt.Sprintf("%d: %s", int32(x.Ref), name(x.Name)))
		}
		for _, x := range d.Groups {
			members := strings.ReplaceAll(fmt.Sprint(x.Members), " ", ", ")
			got = append(got, fmt.Sprintf("%d: '%s' %s", x.Ref, name(x.Name), members))
		}
		for _, x := range d.Comms {
			got = append(got, fmt.Sprintf("%d: '%s' (group, %d, parent: %d)", x.Ref, name(x.Name), int32(x.Group),
				int32(x.Parent)))
		}
		groups := slices.Clone(tr.LocationGroups)
		slices.SortFunc(groups, func(a, b LocationGroup) int { return int(a.ID) - int(b.ID) })
		for _, x := range groups {
			got = append(got, fmt.Sprintf("%d: %s", x.ID, name(x.Name)))
		}
		for _, l := range got {
			if !slices.Contains(head, l) {
				t.Errorf("%s: the tool does not say %q", filepath.Base(dir), l)
			}
		}
		counts := map[string]int{".nb_strings:": len(d.Strings), ".nb_regions:": len(d.Regions),
			".nb_groups:": len(d.Groups), ".nb_comms:": len(d.Comms), ".nb_lg:": len(groups)}
		for _, l := range head {
			if f := strings.Fields(strings.Trim(strings.NewReplacer("{", " ", "}", " ").Replace(l), ": ")); len(f) > 2 {
				if n, ok := counts[f[1]]; ok && f[2] != strconv.Itoa(n) {
					t.Errorf("%s: found %d, the tool says %q", filepath.Base(dir), n, l)
				}
			}
		}
	}
}

func testUserData(t *testing.T) {
	tr := must(Open(format.FileSource(mainFile(t, "testdata/ok/abi17_metadata"))))(t)
	// The wanted values were read from the bytes of the file.
	want := []Metadata{{"app", "stencil"}, {"empty", ""}, {"long", strings.Repeat("x", 3000)}, {"utf8", "hétérogène"}}
	if !slices.Equal(tr.Metadata, want) {
		t.Errorf("found %v, expected %v", tr.Metadata, want)
	}
}

func testProcessesAndThreads(t *testing.T) {
	for _, dir := range toolFolders(t) {
		_, list := toolText(t, dir)
		var got, want []string
		for _, x := range list {
			want = append(want, fmt.Sprint(x.archive, x.id, x.name, x.events, x.kinds, x.sequences))
		}
		for _, th := range threads(t, mainFile(t, dir)) {
			got = append(got, fmt.Sprint(th.Archive.ID, th.ID, th.Name(), th.Count(), len(th.Events), len(th.Sequences)))
		}
		slices.Sort(got)
		slices.Sort(want)
		if strings.HasSuffix(dir, "empty_thread") {
			got = got[:len(want)] // pallas_info crashes when it prints the second thread
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %q, expected %q", filepath.Base(dir), got, want)
		}
	}
}

func testWrittenFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root_folder")
	w := must(Create(filepath.Join(dir, "main"), nil))(t)
	w.LocationGroups = []LocationGroup{{0, NoRef, NoRef}, {1, NoRef, NoRef}}
	for _, at := range [][2]uint32{{0, 0}, {0, 1}, {1, 2}} {
		r := must(w.Archive(at[0]).Record(at[1], NoRef))(t)
		for i := range uint64(5) {
			if err := r.Record(i, ThreadTaskSwitch, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			got = append(got, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"archive_0/archive.pallas",
		"archive_0/thread_0/event_durations.dat", "archive_0/thread_0/sequence_durations.dat",
		"archive_0/thread_0/thread.pallas",
		"archive_0/thread_1/event_durations.dat", "archive_0/thread_1/sequence_durations.dat",
		"archive_0/thread_1/thread.pallas",
		"archive_1/archive.pallas",
		"archive_1/thread_2/event_durations.dat", "archive_1/thread_2/sequence_durations.dat",
		"archive_1/thread_2/thread.pallas",
		"main.pallas"}, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func testLoadedOnDemand(t *testing.T) {
	tr, log := openLogged(t, inMemory(t, "testdata/ok/abi18_mpi"))
	log.expect(t, "the trace", "main.pallas")
	if ids := tr.ArchiveIDs(); !slices.Equal(ids, []uint32{0, 1, 2, 3}) {
		t.Errorf("found archives %v, expected 0 to 3", ids)
	}
	log.expect(t, "the list of archives")
	a := must(tr.Archive(2))(t)
	log.expect(t, "an archive", "archive_2/archive.pallas")
	th := must(a.Thread(2))(t)
	log.expect(t, "a thread", "archive_2/thread_2/thread.pallas")
	at := slices.IndexFunc(th.Events, func(e Event) bool { return e.Timestamps.Size > 2 })
	v := &th.Events[at].Timestamps
	must(th.Value(v, 1))(t)
	times := "archive_2/thread_2/event_durations.dat"
	log.expect(t, "a time", times, fmt.Sprint(times, "@", v.Blocks[0].Offset))
	must(th.Value(v, 2))(t)
	must(tr.Archive(2))(t)
	must(a.Thread(2))(t)
	log.expect(t, "what is there already")
}

// repeatThread returns a trace of one archive with n threads that have the same files.
func repeatThread(h handMade, n int) fstest.MapFS {
	m := h.files()
	b := le64(le32(nil, 0, uint32(n)), 0, 0, 0, 0, 0, 0, uint64(n))
	for i := range uint32(n) {
		b = le32(b, i, NoRef, 0)
		for _, name := range []string{"thread.pallas", "event_durations.dat"} {
			m[fmt.Sprintf("archive_0/thread_%d/%s", i, name)] = m["archive_0/thread_0/"+name]
		}
	}
	m["archive_0/archive.pallas"] = &fstest.MapFile{Data: le64(b, 0)}
	return m
}

// TestDocument_TraceStructure_FIFO checks that the cache drops the thread that was loaded first, even if this
// thread was used last.
func TestDocument_TraceStructure_FIFO(t *testing.T) {
	effort.Sequential(t)
	t.Run("grammars", func(t *testing.T) {
		m := repeatThread(rootOf(ThreadTaskSwitch, []uint64{1, 2, 3}), 5)
		tr, log := openLogged(t, m)
		a := must(tr.Archive(0))(t)
		size := int64(len(m["archive_0/thread_0/thread.pallas"].Data))
		tr.loaded.most = 3*size + size/2
		log.list = nil
		name := func(id uint32) string { return fmt.Sprintf("archive_0/thread_%d/thread.pallas", id) }
		for _, x := range []struct {
			id   uint32
			read bool
		}{{0, true}, {1, true}, {2, true}, {0, false}, // thread 0 is in the cache, and is used
			{3, true}, {0, true}, // thread 3 has displaced thread 0, and thread 0 displaces thread 1
			{2, false}, {3, false}, {0, false}, {1, true}, {3, false}, {0, false}, {2, true}} {
			th := must(a.Thread(x.id))(t)
			if th.ID != x.id || th.Count() != 3 {
				t.Errorf("found thread %d with %d events, expected %d with 3", th.ID, th.Count(), x.id)
			}
			if x.read {
				log.expect(t, fmt.Sprint("thread ", x.id), name(x.id))
			} else {
				log.expect(t, fmt.Sprint("thread ", x.id))
			}
		}
		if len(a.threads) != 3 || len(tr.loaded.order) != 3 || tr.loaded.size != 3*size {
			t.Errorf("found %d threads of %d bytes, expected 3 of %d", len(a.threads), tr.loaded.size, 3*size)
		}
	})
	t.Run("data", func(t *testing.T) {
		// The file has ten blocks of 1 MB; eight blocks fit into the cache.
		const values, blocks = 1 << 17, 10
		times := make([][]uint64, blocks)
		for i := range times {
			for k := range uint64(values) {
				times[i] = append(times[i], uint64(i)*values+k)
			}
		}
		tr, log := openLogged(t, rootOf(ThreadTaskSwitch, times...).files())
		th := must(must(tr.Archive(0))(t).Thread(0))(t)
		v := &th.Events[0].Timestamps
		must(th.Value(v, 0))(t)
		log.list = nil
		for i, x := range []struct {
			block uint64
			read  bool
		}{{0, false}, {1, true}, {2, true}, {3, true}, {4, true}, {5, true}, {6, true}, {7, true},
			{0, false},           // block 0 is in the cache, and is used
			{8, true}, {0, true}, // block 0 was dropped for block 8, and block 1 is dropped for block 0
			{2, false}, {1, true}, {2, true}, {4, false}, {1, false}} {
			k := x.block*values + 5
			if got := must(th.Value(v, k))(t); got != k {
				t.Errorf("found time %d, expected %d", got, k)
			}
			if want := fmt.Sprint("archive_0/thread_0/event_durations.dat@", x.block*(8+8*values)); x.read {
				log.expect(t, fmt.Sprint("step ", i), want)
			} else {
				log.expect(t, fmt.Sprint("step ", i))
			}
			if tr.blocks.size > cacheBytes {
				t.Errorf("step %d: found %d bytes, expected %d at most", i, tr.blocks.size, cacheBytes)
			}
		}
	})
}

// irregular returns the events of a program with few repetitions, so that its grammar is long.
func irregular(seed uint64, events int) (list []inputEvent) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var open []uint32
	for i := range uint64(events) {
		if len(open) > 0 && (rng.IntN(2) == 0 || len(open) > 11) {
			list = append(list, inputEvent{3 * i, Leave, region(open[len(open)-1]), nil})
			open = open[:len(open)-1]
			continue
		}
		open = append(open, rng.Uint32N(50))
		list = append(list, inputEvent{3 * i, Enter, region(open[len(open)-1]), nil})
	}
	return list
}

// TestDocument_TraceStructure_Memory checks that loaded grammars take about three times as much
// memory as their files, and that the trace caches 16 MB of files. The threads of the trace are
// larger.
func TestDocument_TraceStructure_Memory(t *testing.T) {
	effort.Sequential(t)
	dir := filepath.Dir(filepath.FromSlash(recorded(t, irregular(1, 20_000), nil).Archive.Trace.src.Path))
	file := must(os.ReadFile(filepath.Join(dir, "archive_3/thread_7/thread.pallas")))(t)
	n := 4*grammarBytes/len(file) + 1
	m := repeatThread(handMade{nil, nil, [][]Token{{}}, nil, []LocationGroup{{0, NoRef, NoRef}}, nil}, n)
	for i := range n {
		m[fmt.Sprintf("archive_0/thread_%d/thread.pallas", i)] = &fstest.MapFile{Data: file}
	}
	tr, log := openLogged(t, m)
	a := must(tr.Archive(0))(t)
	heap := func() uint64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	before := heap()
	for i := range uint32(n) {
		if th := must(a.Thread(i))(t); len(th.Sequences) < 1000 {
			t.Fatalf("found %d sequences, expected a long grammar", len(th.Sequences))
		}
	}
	taken := heap() - before
	t.Logf("%d threads of %d bytes: %d bytes kept, %.2f times those of the files", n, len(file), taken,
		float64(taken)/grammarBytes)
	if most := uint64(4 * grammarBytes); taken > most {
		t.Errorf("found %d bytes, expected %d at most", taken, most)
	}
	if len(a.threads) < 2 {
		t.Errorf("found %d threads kept, expected those of %d bytes", len(a.threads), grammarBytes)
	}
	runtime.KeepAlive(log)
}

func TestDocument_Grammar(t *testing.T) {
	effort.Sequential(t)
	t.Run("a token has 32 bits: the type in the 2 lowest ones, and an id of 30", testTokenBits)
	t.Run("a sequence is an ordered collection of tokens", testSequencesOfTools)
	t.Run("a loop repeats a sequence", testLoops)
	t.Run("in an event are a record and its data, beside it its times and attributes", testEventParts)
}

func testTokenBits(t *testing.T) {
	for _, x := range []struct {
		bits Token
		typ  TokenType
		id   uint32
		name string
	}{{1, EventToken, 0, "E0"}, {5, EventToken, 1, "E1"}, {6, SequenceToken, 1, "S1"}, {3, LoopToken, 0, "L0"},
		{0x80000002, SequenceToken, 1 << 29, "S536870912"}, {0xffffffff, LoopToken, 1<<30 - 1, "L1073741823"},
		{0xfffffffc, InvalidToken, 1<<30 - 1, "invalid"}} {
		k := MakeToken(x.typ, x.id)
		if x.bits.Type() != x.typ || x.bits.ID() != x.id || x.bits.String() != x.name || k != x.bits {
			t.Errorf("%#x: found type %d, id %d, %s, and %#x of them", uint32(x.bits), x.bits.Type(), x.bits.ID(),
				x.bits, uint32(k))
		}
	}
	// These are the greatest tokens that the format can express. They are written to a file.
	h := rootOf(ThreadTaskSwitch, []uint64{7})
	h.sequences, h.loops = [][]Token{{MakeToken(EventToken, 0)}}, nil
	m := h.files()
	for token, rules := range map[uint32]string{1: "", 0xfffffffd: "pallas.grammar", 0xfffffffe: "pallas.grammar",
		0xffffffff: "pallas.grammar", 0xfffffffc: "pallas.grammar"} {
		b := slices.Clone(h.files()["archive_0/thread_0/thread.pallas"].Data)
		// these bytes are before the vectors and the maps of sequences and loops
		copy(b[len(b)-8-12-48-4:], le32(nil, token))
		m["archive_0/thread_0/thread.pallas"] = &fstest.MapFile{Data: b}
		if times, got := readTimes(t, m); got != rules || fmt.Sprint(times) != "[7]" {
			t.Errorf("%#x: found %v, %q, expected [7], %q", token, times, got, rules)
		}
	}
}

// testSequencesOfTools compares sequences with the output of pallas_info.
func testSequencesOfTools(t *testing.T) {
	compared := 0
	for _, dir := range toolFolders(t) {
		_, list := toolText(t, dir)
		all := threads(t, mainFile(t, dir))
		if len(all) > 0 && all[0].Archive.Trace.ABI < 17 {
			continue // in ABI 16 all sequences have the type "block"
		}
		for _, x := range list {
			th := all[slices.IndexFunc(all, func(y *Thread) bool { return y.ID == x.id && y.Archive.ID == x.archive })]
			for id, want := range x.tokens {
				s := th.Sequence(MakeToken(SequenceToken, uint32(id)))
				if s == nil {
					t.Fatalf("%s: found no sequence %d", dir, id)
				}
				got := []string{}
				for _, k := range s.Tokens {
					switch {
					case th.Event(k) != nil:
						got = append(got, th.Archive.Definitions.describe(th.Event(k)))
					case th.Loop(k) != nil:
						got = append(got, th.sequenceName(th.Loop(k).Sequence))
					default:
						got = append(got, th.sequenceName(k))
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: sequence %d (-tool +weft):\n%s", dir, id, diff)
				}
				// A block is delimited by an enter and a leave. All other sequences except the root have the
				// type "loop".
				block := strings.HasPrefix(want[0], "Enter ") && strings.HasPrefix(want[len(want)-1], "Leave ")
				if root := MakeToken(SequenceToken, uint32(id)) == th.Root; (s.Type == BlockSequence) != (block || root) {
					t.Errorf("%s: sequence %d has type %d: %q", dir, id, s.Type, want)
				}
				compared++
			}
		}
	}
	if compared < 80 {
		t.Errorf("compared %d sequences", compared)
	}
}

func testLoops(t *testing.T) {
	// The root consists of E0 and L0. The loop L0 repeats S1 = E1 E2 three times. S1 is no block.
	h := handMade{[]Record{ThreadBegin, ThreadTaskCreate, ThreadTaskComplete},
		[][][]uint64{{{1}}, {{2, 4, 6}}, {{3, 5, 7}}}, [][]Token{{1, 3}, {5, 9}},
		[]Loop{{MakeToken(SequenceToken, 1), 3, 1}}, []LocationGroup{{0, NoRef, NoRef}}, nil}
	tr, _ := openLogged(t, h.files())
	th := must(must(tr.Archive(0))(t).Thread(0))(t)
	var got []string
	for _, f := range events(t, th) {
		got = append(got, fmt.Sprint(f.time, f.record))
	}
	want := []string{"1 THREAD_BEGIN", "2 THREAD_TASK_CREATE", "3 THREAD_TASK_COMPLETE", "4 THREAD_TASK_CREATE",
		"5 THREAD_TASK_COMPLETE", "6 THREAD_TASK_CREATE", "7 THREAD_TASK_COMPLETE"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
	// In the output of pallas_info, a loop of a single call repeats the call's own block sequence. Otherwise
	// the repeated sequence has the type "loop".
	for name, want := range map[string]SequenceType{"nested": BlockSequence, "attrs": BlockSequence,
		"global_locations": LoopSequence, "vecedge_1001": LoopSequence} {
		th := threads(t, mainFile(t, filepath.Join("testdata/ok", name)))[0]
		if s := th.Sequence(th.Loop(MakeToken(LoopToken, 0)).Sequence); s == nil || s.Type != want {
			t.Errorf("%s: found a loop of %v, expected one of a sequence of type %d", name, s, want)
		}
	}
}

func testEventParts(t *testing.T) {
	// This text is the second loop iteration of the library's trace "attrs" in truth.txt.
	th := threads(t, mainFile(t, "testdata/ok/attrs"))[0]
	lines := strings.Split(unzip(t, "testdata/ok/attrs/truth.txt.gz"), "\n")
	if got := threadText(t, th); !slices.Equal(got, lines[:len(lines)-1]) {
		t.Errorf("found %d events that differ from the %d that were recorded", len(got), len(lines)-1)
	}
	if want := 3; len(th.Sequences) != want || !th.Event(MakeToken(EventToken, 2)).HasAttributes() {
		t.Errorf("found %d sequences, expected %d, and attributes of E2", len(th.Sequences), want)
	}
}
