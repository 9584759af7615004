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
	"github.com/weft-trace/weft/trace"
)

// The tests of this file are named after the sections of Pallas' presentation of its format
// (docs/formats/pallas.md, "The document, sentence by sentence").

// accesses are what is opened and read of the files of a trace, as "name" and "name@offset".
type accesses struct {
	fs.FS
	list []string
}

// accessed is a file that notes what is read of it.
type accessed struct {
	fs.File
	at   io.ReaderAt
	name string
	all  *accesses
}

// Open notes the name.
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

// Stat opens nothing.
func (a *accesses) Stat(name string) (fs.FileInfo, error) { return fs.Stat(a.FS, name) }

// ReadAt notes the place.
func (f accessed) ReadAt(b []byte, at int64) (int, error) {
	if strings.HasSuffix(f.name, ".dat") {
		f.all.list = append(f.all.list, fmt.Sprint(f.name, "@", at))
	}
	return f.at.ReadAt(b, at)
}

// expect compares what was opened and read since the last time.
func (a *accesses) expect(t *testing.T, when string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, a.list); diff != "" {
		t.Errorf("%s: files (-want +got):\n%s", when, diff)
	}
	a.list = nil
}

// openLogged opens a trace whose accesses are noted.
func openLogged(t *testing.T, files fs.FS) (*Trace, *accesses) {
	t.Helper()
	log := &accesses{FS: files}
	tr, err := Open(format.Source{FS: log, Name: "main.pallas", Path: "main.pallas"})
	if err != nil {
		t.Fatal(err)
	}
	return tr, log
}

// must is a value that there is.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// toolThread is what pallas_info says of a thread.
type toolThread struct {
	name             string
	id, archive      uint32
	events           uint64
	kinds, sequences int
	tokens           map[int][]string // of sequences, by what they name
}

// toolText is what pallas_info says of a trace: the lines before the list of archives, without
// indentation, and the threads.
func toolText(t *testing.T, dir string) (head []string, list []*toolThread) {
	t.Helper()
	const nameWidth = 20 // of a thread's name
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
			f := strings.Fields(line[nameWidth:]) // the first and the last time may have no blank between them
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

// toolFolders are the real traces of which there is the text of pallas_info.
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

// Repetitions of functions compress the grammar: ten times the iterations are the same tokens.
func TestDocument_Introduction(t *testing.T) {
	effort.Sequential(t)
	size := func(times int) (tokens int, events uint64) {
		var list []fed
		time := uint64(0)
		put := func(r Record, n uint32) { time += 7; list = append(list, fed{time, r, region(n), nil}) }
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
	// The root has one token, main three with the loop, what is repeated two, and so has each function.
	for _, x := range []struct{ times, tokens int }{{10, 10}, {100, 10}, {1000, 10}} {
		if tokens, events := size(x.times); tokens != x.tokens || events != uint64(2+4*x.times) {
			t.Errorf("%d iterations: found %d tokens for %d events, expected %d for %d", x.times, tokens, events,
				x.tokens, 2+4*x.times)
		}
	}
}

func TestDocument_TraceStructure(t *testing.T) {
	effort.Sequential(t)
	t.Run("the main file has definitions and settings", func(t *testing.T) {
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
	})
	t.Run("data of the user are kept", func(t *testing.T) {
		tr := must(Open(format.FileSource(mainFile(t, "testdata/ok/abi17_metadata"))))(t)
		// By the bytes of the file.
		want := []Metadata{{"app", "stencil"}, {"empty", ""}, {"long", strings.Repeat("x", 3000)}, {"utf8", "hétérogène"}}
		if !slices.Equal(tr.Metadata, want) {
			t.Errorf("found %v, expected %v", tr.Metadata, want)
		}
	})
	t.Run("processes and threads are identified by location groups and locations", func(t *testing.T) {
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
				got = got[:len(want)] // the tool dies of the second thread
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: found %q, expected %q", filepath.Base(dir), got, want)
			}
		}
	})
	t.Run("files", func(t *testing.T) {
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
	})
	t.Run("archives, threads and data are loaded on demand", func(t *testing.T) {
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
	})
}

// stacked is a trace of one archive with n threads that have the same files.
func stacked(h handMade, n int) fstest.MapFS {
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

// What was loaded first is unloaded first, whatever was used last.
func TestDocument_TraceStructure_FIFO(t *testing.T) {
	effort.Sequential(t)
	t.Run("grammars", func(t *testing.T) {
		m := stacked(rootOf(ThreadTaskSwitch, []uint64{1, 2, 3}), 5)
		tr, log := openLogged(t, m)
		a := must(tr.Archive(0))(t)
		size := int64(len(m["archive_0/thread_0/thread.pallas"].Data))
		tr.loaded.most = 3*size + size/2
		log.list = nil
		name := func(id uint32) string { return fmt.Sprintf("archive_0/thread_%d/thread.pallas", id) }
		for _, x := range []struct {
			id   uint32
			read bool
		}{{0, true}, {1, true}, {2, true}, {0, false}, // kept, and used
			{3, true}, {0, true}, // the first one was dropped for the fourth, the second one is now
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
		// Ten blocks of 1 MB; eight of them have room.
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
			{0, false},           // kept, and used
			{8, true}, {0, true}, // the first one was dropped for the ninth, the second one is now
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

// irregular is a program of which little repeats, so that its grammar is long.
func irregular(seed uint64, events int) (list []fed) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var open []uint32
	for i := range uint64(events) {
		if len(open) > 0 && (rng.IntN(2) == 0 || len(open) > 11) {
			list = append(list, fed{3 * i, Leave, region(open[len(open)-1]), nil})
			open = open[:len(open)-1]
			continue
		}
		open = append(open, rng.Uint32N(50))
		list = append(list, fed{3 * i, Enter, region(open[len(open)-1]), nil})
	}
	return list
}

// Grammars that are loaded take three times as much memory as their files, about, and 16 MB of
// files are kept; the threads of a trace are more.
func TestDocument_TraceStructure_Memory(t *testing.T) {
	effort.Sequential(t)
	dir := filepath.Dir(filepath.FromSlash(recorded(t, irregular(1, 20_000), nil).Archive.Trace.src.Path))
	file := must(os.ReadFile(filepath.Join(dir, "archive_3/thread_7/thread.pallas")))(t)
	n := 4*grammarBytes/len(file) + 1
	m := stacked(handMade{nil, nil, [][]Token{{}}, nil, []LocationGroup{{0, NoRef, NoRef}}, nil}, n)
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
	t.Run("a token has 32 bits: the type in the 2 lowest ones, and an id of 30", func(t *testing.T) {
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
		// The last tokens that the format can name, in a file.
		h := rootOf(ThreadTaskSwitch, []uint64{7})
		h.sequences, h.loops = [][]Token{{MakeToken(EventToken, 0)}}, nil
		m := h.files()
		for token, rules := range map[uint32]string{1: "", 0xfffffffd: "pallas.grammar", 0xfffffffe: "pallas.grammar",
			0xffffffff: "pallas.grammar", 0xfffffffc: "pallas.grammar"} {
			b := slices.Clone(h.files()["archive_0/thread_0/thread.pallas"].Data)
			copy(b[len(b)-8-12-48-4:], le32(nil, token)) // before the vectors, the map of sequences and that of loops
			m["archive_0/thread_0/thread.pallas"] = &fstest.MapFile{Data: b}
			if times, got := read(t, m); got != rules || fmt.Sprint(times) != "[7]" {
				t.Errorf("%#x: found %v, %q, expected [7], %q", token, times, got, rules)
			}
		}
	})
	// What the tool says is in the sequences.
	t.Run("a sequence is an ordered collection of tokens", func(t *testing.T) {
		compared := 0
		for _, dir := range toolFolders(t) {
			_, list := toolText(t, dir)
			all := threads(t, mainFile(t, dir))
			if len(all) > 0 && all[0].Archive.Trace.ABI < 17 {
				continue // all sequences are blocks
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
					// A block is delimited by an enter and a leave; all other sequences are of the other type, but the root.
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
	})
	t.Run("a loop repeats a sequence", func(t *testing.T) {
		// E0 (L0 of S1 = E1 E2), three times, which is a sequence that is no block.
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
		// Of a single call that is the call's own block, by pallas_info; else it is a loop's.
		for name, want := range map[string]SequenceType{"nested": BlockSequence, "attrs": BlockSequence,
			"global_locations": LoopSequence, "vecedge_1001": LoopSequence} {
			th := threads(t, mainFile(t, filepath.Join("testdata/ok", name)))[0]
			if s := th.Sequence(th.Loop(MakeToken(LoopToken, 0)).Sequence); s == nil || s.Type != want {
				t.Errorf("%s: found a loop of %v, expected one of a sequence of type %d", name, s, want)
			}
		}
	})
	t.Run("in an event are a record and its data, beside it its times and attributes", func(t *testing.T) {
		// The second loop iteration of the library's trace "attrs", by truth.txt.
		th := threads(t, mainFile(t, "testdata/ok/attrs"))[0]
		lines := strings.Split(unzip(t, "testdata/ok/attrs/truth.txt.gz"), "\n")
		if got := told(t, th); !slices.Equal(got, lines[:len(lines)-1]) {
			t.Errorf("found %d events that differ from the %d that were recorded", len(got), len(lines)-1)
		}
		if want := 3; len(th.Sequences) != want || !th.Event(MakeToken(EventToken, 2)).HasAttributes() {
			t.Errorf("found %d sequences, expected %d, and attributes of E2", len(th.Sequences), want)
		}
	})
}

// defined writes a trace with definitions of the trace and of two archives, and a thread in each
// that enters and leaves region 1.
func defined(t *testing.T, w *Writer) string {
	t.Helper()
	for id := range uint32(2) {
		r := must(w.Archive(id).Record(id, 8))(t)
		for i, record := range []Record{Enter, Leave} {
			if err := r.Record(uint64(i), record, region(1), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.path
}

func TestDocument_Definitions(t *testing.T) {
	effort.Sequential(t)
	t.Run("local definitions override global ones", func(t *testing.T) {
		w := must(Create(filepath.Join(t.TempDir(), "main"), nil))(t)
		w.LocationGroups = []LocationGroup{{0, NoRef, NoRef}, {1, NoRef, NoRef}}
		w.Definitions = Definitions{Strings: []String{{1, "everywhere"}, {2, "all"}, {8, "thread"}},
			Regions: []Region{{1, 1}, {2, 2}}, Attributes: []Attribute{{1, 1, NoRef, Uint8Value}},
			Groups: []Group{{1, 1, 1, 0, []uint32{0, 1}}}, Comms: []Comm{{1, 1, 1, NoRef}}}
		w.Archive(1).Definitions = Definitions{Strings: []String{{1, "here"}, {3, "only here"}, {8, "own thread"}},
			Regions: []Region{{1, 3}}, Attributes: []Attribute{{1, 3, NoRef, Uint64Value}},
			Groups: []Group{{1, 3, 2, 0, []uint32{1}}}, Comms: []Comm{{1, 3, 1, 1}}}
		path := defined(t, w)
		for id, want := range [][]any{
			{"everywhere", "all", "everywhere", "all", Uint8Value, []uint32{0, 1}, NoRef, "thread"},
			{"here", "all", "only here", "all", Uint64Value, []uint32{1}, Ref(1), "own thread"},
		} {
			th := threads(t, path)[id]
			d := th.Archive.Definitions
			text := func(s string, ok bool) string {
				if !ok {
					t.Errorf("archive %d: found nothing, expected a definition", id)
				}
				return s
			}
			got := []any{text(d.Text(1)), text(d.Text(2)), text(d.RegionName(1)), text(d.RegionName(2)),
				d.Attribute(1).Type, d.Group(1).Members, d.Comm(1).Parent, th.Name()}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("archive %d (-want +got):\n%s", id, diff)
			}
		}
		// Nothing of an archive holds in another one.
		if s, ok := threads(t, path)[0].Archive.Definitions.Text(3); ok {
			t.Errorf("found %q, expected no string 3", s)
		}
		if got := regionsEntered(t, path); !slices.Equal(got, []string{"everywhere", "only here"}) {
			t.Errorf("the events' regions are %q, expected those of their archives", got)
		}
	})
	t.Run("a global region has its name from the archive's strings", func(t *testing.T) {
		// As pallas_info prints it; the document does not tell.
		w := must(Create(filepath.Join(t.TempDir(), "main"), nil))(t)
		w.LocationGroups = []LocationGroup{{0, NoRef, NoRef}, {1, NoRef, NoRef}}
		w.Definitions = Definitions{Strings: []String{{1, "everywhere"}}, Regions: []Region{{1, 1}}}
		w.Archive(1).Definitions = Definitions{Strings: []String{{1, "here"}}}
		path := defined(t, w)
		for id, want := range []string{"everywhere", "here"} {
			if got, _ := threads(t, path)[id].Archive.Definitions.RegionName(1); got != want {
				t.Errorf("archive %d: found %q, expected %q", id, got, want)
			}
		}
		if got := regionsEntered(t, path); !slices.Equal(got, []string{"everywhere", "here"}) {
			t.Errorf("the events' regions are %q, expected those of their archives", got)
		}
	})
	t.Run("a reference has 32 bits", func(t *testing.T) {
		th := threads(t, mainFile(t, "testdata/ok/sparse_ids"))[0]
		// By truth.txt the last call is of 005ed0b2, little-endian.
		at := slices.IndexFunc(th.Events, func(e Event) bool {
			return e.Record == Enter && fmt.Sprintf("%x", e.Payload) == "005ed0b2"
		})
		if at < 0 {
			t.Fatal("found no such event")
		}
		v, ok := th.Events[at].Record.Values(th.Events[at].Payload)
		if !ok || v[0] != 3_000_000_000 {
			t.Errorf("found %v, expected 3000000000", v)
		}
		if s, _ := th.Archive.Definitions.RegionName(Ref(v[0])); s != "huge ref" {
			t.Errorf("found %q, expected \"huge ref\"", s)
		}
	})
	t.Run("strings, regions, attributes, groups and communicators", func(t *testing.T) {
		// An attribute of each type, in the order of the types, by the strings that pallas_info lists.
		names := strings.Fields("none u8 u16 u32 u64 i8 i16 i32 i64 float double string attribute location region group " +
			"metric comm parameter rma_win src callctx intgen iofile iohandle locgroup")
		th := threads(t, mainFile(t, "testdata/ok/attrs"))[0]
		if n := len(th.Archive.Trace.Definitions.Attributes); n != len(names) {
			t.Fatalf("found %d attributes, expected %d", n, len(names))
		}
		for i, x := range th.Archive.Trace.Definitions.Attributes {
			name, _ := th.Archive.Definitions.Text(x.Name)
			doc, _ := th.Archive.Definitions.Text(x.Description)
			if doc != "an attribute description" || int(x.Type) != i || name != names[i] {
				t.Errorf("found attribute %d of type %s, %q, %q, expected %q", i, x.Type, name, doc, names[i])
			}
		}
		for id, th := range threads(t, mainFile(t, "testdata/ok/abi18_mpi")) {
			d := th.Archive.Definitions
			name := func(r Ref) string { s, _ := d.Text(r); return s }
			// By pallas_info, of the trace and of the archive.
			for ref, want := range map[Ref]string{1: "odd group [1 3] odd comm 1 0", 7: fmt.Sprintf("self [%d] self 7 0", id)} {
				g, c := d.Group(ref), d.Comm(ref)
				if got := fmt.Sprintf("%s %d %s %d %d", name(g.Name), g.Members, name(c.Name), c.Group, c.Parent); got != want {
					t.Errorf("archive %d: found %q, expected %q", id, got, want)
				}
			}
			if p := d.Comm(0).Parent; p != NoRef {
				t.Errorf("found the parent %d, expected none", p)
			}
		}
	})
	t.Run("locations are in their archive, location groups in the main file", func(t *testing.T) {
		w := must(Create(filepath.Join(t.TempDir(), "main"), nil))(t)
		w.Definitions.Strings = []String{{8, "thread"}}
		w.LocationGroups = []LocationGroup{{0, NoRef, NoRef}, {1, NoRef, NoRef}}
		tr := must(Open(format.FileSource(defined(t, w))))(t)
		if len(tr.Locations) != 0 || len(tr.LocationGroups) != 2 {
			t.Errorf("the main file has locations %v and groups %v", tr.Locations, tr.LocationGroups)
		}
		for id := range uint32(2) {
			a := must(tr.Archive(id))(t)
			if !slices.Equal(a.Locations, []Location{{id, 8, id}}) || a.own != 1 || a.main != 0 || len(a.groups) != 0 {
				t.Errorf("archive %d has locations %v and groups %v, expected its own thread", id, a.Locations, a.groups)
			}
		}
		// Those of an old library are in the main file all the same.
		a := must(must(Open(format.FileSource(mainFile(t, "testdata/ok/global_locations"))))(t).Archive(0))(t)
		if a.own != 0 || a.main != 2 || a.Locations[1] != (Location{1, 6, 0}) {
			t.Errorf("found locations %v, %d of the archive, expected two of the main file", a.Locations, a.own)
		}
	})
	t.Run("parents make a hierarchy; the root's is -1", func(t *testing.T) {
		w := must(Create(filepath.Join(t.TempDir(), "main"), nil))(t)
		w.Definitions.Strings = []String{{0, "machine"}, {1, "node"}, {2, "rank"}}
		w.LocationGroups = []LocationGroup{{0, 2, 11}, {11, 1, 10}, {1, 2, 11}, {10, 0, 0xffffffff}}
		d := must((Format{}).Open(t.Context(), format.FileSource(defined(t, w)), &format.ReadOptions{}))(t)
		defer d.Close()
		groups := &d.Defs().Groups
		for i := range d.Defs().Locations.Len() {
			var up []string
			for g := d.Defs().Locations.At(uint32(i)).Group; g != trace.NoRef; g = groups.At(g).Parent {
				up = append(up, groups.At(g).Name+" "+groups.At(g).ID)
			}
			if want := []string{fmt.Sprint("rank ", i), "node 11", "machine 10"}; !slices.Equal(up, want) {
				t.Errorf("location %d is in %q, expected %q", i, up, want)
			}
		}
		// The library's own bytes of a root: id 0, name 4, parent -1.
		tr := must(Open(format.FileSource(mainFile(t, "testdata/ok/minimal"))))(t)
		if want := []LocationGroup{{0, 4, NoRef}}; !slices.Equal(tr.LocationGroups, want) {
			t.Errorf("found %v, expected %v", tr.LocationGroups, want)
		}
	})
}

// regionsEntered are the names of the regions that a trace's events enter, by location.
func regionsEntered(t *testing.T, path string) (list []string) {
	t.Helper()
	d := must((Format{}).Open(t.Context(), format.FileSource(path), &format.ReadOptions{}))(t)
	defer d.Close()
	regions := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		for i, k := range b.Kind {
			if k == trace.Enter {
				list = append(list, d.Defs().Regions.At(b.Ref[i]).Name)
			}
		}
		return nil
	}}
	if err := d.Scan(t.Context(), trace.Everything(), format.PerLocation, regions); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestDocument_PerformanceData(t *testing.T) {
	effort.Sequential(t)
	// Sequences of real traces begin and last as their events say, and so do their exclusive times.
	t.Run("durations are from the first to the last event", func(t *testing.T) {
		compared := 0
		for _, dir := range folders(t) {
			for _, th := range threads(t, mainFile(t, dir)) {
				// What loses digits has other times than durations; ABI 16 has other exclusive ones.
				tr := th.Archive.Trace
				if tr.Compression.Lossy() || tr.ABI < 17 || th.Root != MakeToken(SequenceToken, 0) || !newOutline(th).sound() {
					continue
				}
				durations(t, th)
				compared++
			}
		}
		if compared < 10 {
			t.Errorf("compared %d threads", compared)
		}
	})
	// The picture of the document is not there; these are its functions, with times made up:
	// foo 0-50 with bar 10-30 in it, baz 60-90, again after 100 ns, three times.
	t.Run("exclusive blocks durations, and blocks durations", func(t *testing.T) {
		const main, foo, bar, baz = 0, 1, 2, 3
		list := []fed{{0, Enter, region(main), nil}}
		for i := range uint64(3) {
			at := 1000 + 100*i
			list = append(list, fed{at, Enter, region(foo), nil}, fed{at + 10, Enter, region(bar), nil},
				fed{at + 30, Leave, region(bar), nil}, fed{at + 50, Leave, region(foo), nil},
				fed{at + 60, Enter, region(baz), nil}, fed{at + 90, Leave, region(baz), nil})
		}
		list = append(list, fed{2000, Leave, region(main), nil})
		for _, compatible := range []bool{false, true} {
			th := recorded(t, list, &WriterOptions{Compatible: compatible})
			var got []string
			for i, s := range th.Sequences {
				if i == 0 {
					continue // the root
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
				"loop 1 [90 90 90] [80 80 80] [1000 1100 1200]", // 50 of foo and 30 of baz
				"main 0 [2000] [1760] [0]",                      // without 3 · (50 + 30)
			}, got); diff != "" {
				t.Errorf("compatible %v (-want +got):\n%s", compatible, diff)
			}
			// The sum of the blocks durations of the loop is what its functions take, each counted once:
			// the sum of their exclusive blocks durations.
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
			// A reader says the same of the loop as a whole: 290 ns from its first to its last event.
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
	})
	t.Run("sequences of other records than enter are no blocks", func(t *testing.T) {
		th := threads(t, mainFile(t, "testdata/ok/allrecords"))[0]
		again := recorded(t, events(t, th), &WriterOptions{Compatible: true})
		for _, th := range []*Thread{th, again} {
			// By pallas_info: S1 to S3 are of THREAD_TEAM_BEGIN, OMP_FORK and THREAD_BEGIN, S4 of ENTER; in brackets
			// the type and Total_excl_duration.
			for id, want := range [][2]uint64{{0, 0}, {1, 0}, {1, 0}, {1, 0}, {0, 406}} {
				s := th.Sequence(MakeToken(SequenceToken, uint32(id)))
				if got := [2]uint64{uint64(s.Type), s.Exclusive.Total()}; got != want {
					t.Errorf("sequence %d: found type and exclusive ns %d, expected %d", id, got, want)
				}
			}
		}
	})
}

func TestDocument_CustomVectors(t *testing.T) {
	effort.Sequential(t)
	t.Run("sub-arrays of times have their first and last value", func(t *testing.T) {
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
	})
	t.Run("durations and their sub-arrays have minimum, maximum and mean", func(t *testing.T) {
		// 1500 calls of 1 to 7 ns.
		var list []fed
		var long []uint64
		for i := range uint64(1500) {
			n := 1 + i*i%7
			long = append(long, n)
			list = append(list, fed{10 * i, Enter, region(1), nil}, fed{10*i + n, Leave, region(1), nil})
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
	})
	t.Run("general data are there without the files of data", func(t *testing.T) {
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
	})
	t.Run("data are written during the execution", func(t *testing.T) {
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
		// What is in hand: two blocks, and what is being written.
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
	})
	t.Run("a block is compressed, and its sub-array says where it is", func(t *testing.T) {
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
	})
	t.Run("one value is the read of one block", func(t *testing.T) {
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
		log.expect(t, "a value of the third block", name, name+"@16016") // behind two lengths and 2000 values
	})
}
