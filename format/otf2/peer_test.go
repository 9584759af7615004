package otf2

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/await"
	"github.com/weft-trace/weft/internal/effort"
)

// randomArchive is an archive of random records.
type randomArchive struct {
	rng *rand.Rand
	w   *Writer
	t   testing.TB
	ids [tables][]uint64 // defined ids
}

// pick returns a random reference to a definition of a table, the reference to nothing, or an undefined id.
func (m *randomArchive) pick(t Table, width uint64) uint64 {
	switch l := m.ids[t]; {
	case len(l) > 0 && m.rng.IntN(8) > 0:
		return l[m.rng.IntN(len(l))]
	case m.rng.IntN(3) == 0 || width == 0xff:
		return m.rng.Uint64N(200)
	}
	return width
}

// edge returns a random number, often a number at the limit of a range.
func (m *randomArchive) edge(width uint64) uint64 {
	switch m.rng.IntN(6) {
	case 0:
		return 0
	case 1:
		return width
	case 2:
		return width - m.rng.Uint64N(4)
	case 3:
		return m.rng.Uint64N(300)
	}
	return m.rng.Uint64() & (1<<m.rng.IntN(64) - 1) & width
}

// value returns a random value of a type.
func (m *randomArchive) value(typ uint64) uint64 {
	v := m.edge(undefined64)
	switch typ {
	case typeUint8:
		return v & 0xff
	case typeInt8:
		return uint64(int64(int8(v)))
	case typeUint16:
		return v & 0xffff
	case typeInt16:
		return uint64(int64(int16(v)))
	case typeUint32:
		return v & undefined32
	case typeInt32:
		return uint64(int64(int32(v)))
	case typeFloat:
		return uint64(math.Float32bits(float32(m.rng.NormFloat64() * math.Pow(10, float64(m.rng.IntN(20)-10)))))
	case typeDouble:
		return math.Float64bits(m.rng.NormFloat64() * math.Pow(10, float64(m.rng.IntN(40)-20)))
	case typeLocation:
		return m.pick(Locations, undefined64)
	}
	if t := tableOf(typ); t != noTable {
		return m.pick(t, undefined32)
	}
	return v
}

// fields returns random values for the given fields.
func (m *randomArchive) fields(v []uint64, l []field) []uint64 {
	first := len(v)
	for i, f := range l {
		x := uint64(0)
		switch {
		case f.enc == encTyped && f.other >= 0:
			x = m.value(v[first+f.other])
		case f.enc == encTyped:
			x = m.value(v[len(v)-1])
		case f.show == showRef && f.enc == enc32:
			x = m.pick(f.table, undefined32)
		case f.show == showRef && f.enc == encByte:
			x = m.pick(f.table, 0xff)
		case f.show == showRef:
			x = m.pick(f.table, undefined64)
		case f.show == showEnum && m.rng.IntN(10) > 0:
			for x = m.rng.Uint64N(uint64(len(f.words))); f.words[x] == ""; x = m.rng.Uint64N(uint64(len(f.words))) {
			}
		case f.show == showFlags:
			x = m.rng.Uint64N(2 << len(f.words))
		case f.show == showRank || f.show == showWinRank || f.show == showRoot || f.show == showWinRoot ||
			f.show == showTopoRank:
			if x = m.rng.Uint64N(6); x == 5 {
				x = undefined32 - m.rng.Uint64N(4)
			}
		case f.enc == encByte:
			x = m.rng.Uint64N(256)
		case f.enc == enc32:
			x = m.edge(undefined32)
		case i > 0 || f.name != "self":
			x = m.edge(undefined64)
		}
		v = append(v, x)
	}
	return v
}

// define adds a random definition. The function change modifies values that would be invalid.
func (m *randomArchive) define(id uint8, change func(v []uint64)) {
	t := &definitionTypes[id]
	r := Record{ID: id, Values: m.fields(nil, t.fields)}
	if t.each != nil {
		n := m.rng.Uint64N(5)
		r.Values[len(r.Values)-1] = n
		for range n {
			r.Values = m.fields(r.Values, t.each)
		}
		r.Values = m.fields(r.Values, t.after)
	}
	if id == defString {
		r.Values[1], r.Texts = 0, []string{fmt.Sprintf("text %d ü", len(m.ids[Strings]))}
		if len(m.ids[Strings]) == 3 {
			r.Texts[0] = ""
		}
	}
	tables := map[uint8]Table{defParadigm: Paradigms, defIOParadigm: IOParadigms, defString: Strings,
		defAttribute: Attributes, defTreeNode: SystemTreeNodes, defLocationGroup: LocationGroups, defLocation: Locations,
		defRegion: Regions, defCallsite: Callsites, defCallpath: Callpaths, defGroup: Groups, defMetricMember: MetricMembers,
		defMetricClass: Metrics, defMetricInst: Metrics, defComm: Comms, defInterComm: Comms, defParameter: Parameters,
		defWindow: Windows, defCartDimension: CartDimensions, defCartTopology: CartTopologies, defSourceLoc: SourceLocations,
		defContext: CallingContexts, defInterrupt: InterruptGenerators, defIOFile: IOFiles, defIODirectory: IOFiles,
		defIOHandle: IOHandles}
	table, ok := tables[id]
	if ok {
		r.Values[0] = uint64(len(m.ids[table]))
		if id == defLocation && m.rng.IntN(2) == 0 {
			r.Values[0] = 1<<40 + uint64(len(m.ids[table]))
		}
	}
	if change != nil {
		change(r.Values)
	}
	if err := m.w.Define(&r); err != nil {
		m.t.Fatal(err)
	}
	if ok {
		m.ids[table] = append(m.ids[table], r.Values[0])
	}
}

// property gives a property a valid type. otf2-print shows uninitialized memory for other types.
func (m *randomArchive) property(v []uint64, names uint64) {
	switch {
	case v[0] < names:
		v[1] = typeString
	case v[0] == 2 && names == 2:
		v[1] = typeUint8
	default:
		v[1] = typeUint64
	}
	v[2] = m.value(v[1])
}

// randomText returns the id of a random string.
func (m *randomArchive) randomText() uint64 { return m.ids[Strings][m.rng.IntN(len(m.ids[Strings]))] }

// definitions adds some definitions of each kind.
func (m *randomArchive) definitions() {
	m.define(defClock, func(v []uint64) {
		v[0] = 1 + m.rng.Uint64N(1e10)
		v[3] = []uint64{undefined64, 1700000000123456789}[m.rng.IntN(2)]
	})
	for range 12 {
		m.define(defString, nil)
	}
	m.define(defParadigm, func(v []uint64) { v[0] = 4 })
	for range 3 {
		m.define(defIOParadigm, func(v []uint64) {
			v[2] = m.randomText()
			for l := v[6:]; len(l) > 0; l = l[3:] {
				m.property(l, 1)
			}
		})
		m.define(defParadigmProp, func(v []uint64) {
			v[0] = 4
			m.property(v[1:], 2)
		})
		m.define(defAttribute, nil)
		m.define(defTreeNode, func(v []uint64) { v[1], v[2] = m.randomText(), m.randomText() })
		m.define(defLocationGroup, nil)
		m.define(defLocation, nil)
		m.define(defLocation, nil)
		m.define(defRegion, func(v []uint64) { v[1] = m.randomText() })
	}
	m.define(defGroup, func(v []uint64) { m.members(v, communicatingLocations, Locations) })
	for range 4 {
		for typ := range uint64(7) {
			if typ != communicatingLocations {
				m.define(defGroup, func(v []uint64) { m.members(v, typ, noTable) })
			}
		}
		m.define(defMetricMember, nil)
		m.define(defMetricClass, nil)
		m.define(defMetricInst, nil)
		m.define(defComm, nil)
		m.define(defParameter, nil)
		m.define(defWindow, nil)
		m.define(25, nil)
		m.define(26, nil)
		m.define(27, nil)
		m.define(28, nil)
		m.define(29, nil)
		m.define(defCartDimension, nil)
		m.define(defCartTopology, nil)
		m.define(defCartCoord, nil)
		m.define(defSourceLoc, func(v []uint64) { v[1] = m.randomText() })
		m.define(defCallsite, nil)
		m.define(defCallpath, nil)
		m.define(defContext, nil)
		m.define(35, nil)
		m.define(defInterrupt, nil)
		m.define(defIOFile, func(v []uint64) { v[1] = m.randomText() })
		m.define(defIODirectory, func(v []uint64) { v[1] = m.randomText() })
		m.define(37, nil)
		m.define(defIOHandle, func(v []uint64) {
			v[1], v[2], v[3] = m.randomText(), m.ids[IOFiles][0], 0
			if m.rng.IntN(2) == 0 {
				v[1] = undefined32
			}
		})
		m.define(41, nil)
		m.define(42, nil)
	}
	var ranks []uint64 // ids of groups of ranks
	for i, id := range m.ids[Groups] {
		if (i-1)%6 == 4 {
			ranks = append(ranks, id)
		}
	}
	for range 3 {
		m.define(defInterComm, func(v []uint64) {
			v[2], v[3] = ranks[m.rng.IntN(len(ranks))], ranks[m.rng.IntN(len(ranks))]
		})
	}
}

// members gives a group members that are valid for its type.
func (m *randomArchive) members(v []uint64, typ uint64, of Table) {
	n := int(v[3])
	after := v[4+n:]
	after[0], after[1], after[2] = typ, 4, m.rng.Uint64N(2)
	for i := range v[4 : 4+n] {
		switch {
		case of != noTable:
			v[4+i] = m.ids[of][m.rng.IntN(len(m.ids[of]))]
		case typ == commGroup && n > 0:
			v[4+i] = 0 // id 0 exists in each table
		default:
			v[4+i] = m.rng.Uint64N(8)
		}
	}
}

// events makes events of all kinds at a location.
func (m *randomArchive) events(location uint64, n int) {
	e := m.w.Location(location)
	time := m.rng.Uint64N(1000)
	for i := range n {
		id := uint8(firstEvent + m.rng.IntN(len(eventTypes)-firstEvent))
		if i < len(eventTypes)-firstEvent {
			id = uint8(firstEvent + i)
		}
		x := &Event{Time: time, Record: Record{ID: id, Values: m.values(&eventTypes[id])}}
		x.Attributes = m.attributes()
		if err := e.Write(x); err != nil {
			m.t.Fatal(err)
		}
		if m.rng.IntN(3) > 0 {
			time += m.rng.Uint64N(1 << m.rng.IntN(40))
		}
	}
}

// values makes the values of an event or of a snapshot record.
func (m *randomArchive) values(t *recordType) []uint64 {
	v := m.fields(nil, t.fields)
	if t.each != nil {
		k := m.rng.Uint64N(4)
		if m.rng.IntN(20) == 0 {
			k = 100
		}
		v[len(v)-1] = k
		for range k {
			v = m.fields(v, t.each)
		}
	}
	return v
}

// attributes makes a list of attributes, which is usually empty.
func (m *randomArchive) attributes() (l []Attribute) {
	if m.rng.IntN(3) > 0 {
		return nil
	}
	var used []uint64
	for range 1 + m.rng.IntN(3) {
		a := m.ids[Attributes][m.rng.IntN(len(m.ids[Attributes]))]
		if slices.Contains(used, a) {
			continue // each attribute occurs once
		}
		used = append(used, a)
		typ := uint8(1 + m.rng.IntN(25))
		l = append(l, Attribute{uint32(a), typ, m.value(uint64(typ))})
	}
	return l
}

// snapshots makes some snapshots of a location, with records of all kinds.
func (m *randomArchive) snapshots(location uint64) {
	s := m.w.Snapshots(location)
	time := uint64(0)
	for range m.rng.IntN(3) {
		time += m.rng.Uint64N(1 << m.rng.IntN(40))
		n := m.rng.IntN(50)
		write := func(id uint8, v []uint64) {
			if err := s.Write(&Event{Time: time, Record: Record{ID: id, Values: v}, Attributes: m.attributes()}); err != nil {
				m.t.Fatal(err)
			}
		}
		write(snapshotStart, []uint64{uint64(n)})
		for i := range n {
			id := uint8(snapshotEnd + 1 + i%(len(snapshotTypes)-snapshotEnd-1))
			write(id, m.values(&snapshotTypes[id]))
		}
		write(snapshotEnd, []uint64{m.edge(undefined64)})
	}
}

// thumbnail makes a thumbnail.
func (m *randomArchive) thumbnail(k int) {
	metrics, samples := m.rng.Uint64N(5), m.rng.Uint64N(5)
	header := Record{ID: thumbnailHeader, Values: []uint64{0, 1, m.rng.Uint64N(3), samples, metrics},
		Texts: []string{fmt.Sprint("thumbnail ", k), ""}}
	for range metrics {
		header.Values = append(header.Values, m.edge(undefined64))
	}
	err := m.w.Thumbnail(k, &header)
	for range samples {
		sample := Record{ID: thumbnailSample, Values: []uint64{m.edge(undefined64), metrics}}
		for range metrics {
			sample.Values = append(sample.Values, m.edge(undefined64))
		}
		err = errors.Join(err, m.w.Thumbnail(k, &sample))
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// maps makes mapping tables and clock offsets of a location.
func (m *randomArchive) maps(location uint64) {
	e := m.w.Location(location)
	for t := Table(0); t < mappedTables; t++ {
		if t == Attributes { // otherwise two attributes of an event could become one attribute
			l := slices.Clone(m.ids[t])
			slices.Reverse(l)
			if err := e.Map(t, l); err != nil {
				m.t.Fatal(err)
			}
			continue
		}
		switch m.rng.IntN(3) {
		case 0:
			var l []uint64
			for range m.ids[t] {
				l = append(l, m.ids[t][m.rng.IntN(len(m.ids[t]))])
			}
			if err := e.Map(t, l); err != nil {
				m.t.Fatal(err)
			}
		case 1:
			var l [][2]uint64
			for i := range m.ids[t] {
				l = append(l, [2]uint64{uint64(3 * i), m.ids[t][m.rng.IntN(len(m.ids[t]))]})
			}
			if err := e.MapSome(t, l); err != nil {
				m.t.Fatal(err)
			}
		}
	}
	time := uint64(0)
	for range m.rng.IntN(4) {
		if err := e.Clock(ClockOffset{time, int64(m.rng.Uint64N(1 << 50)), 0.5}); err != nil {
			m.t.Fatal(err)
		}
		time += 1 + m.rng.Uint64N(1<<41)
	}
}

// random writes an archive with every kind of record and returns its anchor file.
func random(t testing.TB, seed uint64, events int) string {
	path := filepath.Join(t.TempDir(), "made.otf2")
	dst, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(dst,
		Anchor{Machine: "machine", Creator: "a test", TraceID: seed, Properties: []Property{{"TEST::A", "x"}}})
	if err != nil {
		t.Fatal(err)
	}
	m := &randomArchive{rng: rand.New(rand.NewPCG(seed, 2)), w: w, t: t}
	m.definitions()
	for i, id := range m.ids[Locations] {
		if i%2 == 1 {
			m.maps(id)
		}
		m.events(id, events)
		if seed%4 > 0 && i < 3 { // the other locations get files without records
			m.snapshots(id)
		}
	}
	for k := range int(seed % 3) {
		m.thumbnail(k)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := dst.Commit(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPeerPrint checks that otf2-print reads the archives that the writer writes, and that weft prints the
// same text as otf2-print. The archives have every kind of record, with values at the limits of all ranges.
func TestPeerPrint(t *testing.T) {
	effort.Sequential(t)
	tool, err := exec.LookPath("otf2-print")
	if err != nil {
		t.Skip("otf2-print is not installed (Debian package otf2-tools)")
	}
	for seed := range uint64(effort.Rounds(6)) {
		path := random(t, seed, 300+int(seed%3)*4000)
		want, err := exec.Command(tool, "-A", path).Output()
		if err != nil {
			t.Fatalf("seed %d: %v: %s", seed, err, lastLines(want))
		}
		sameLines(t, compat(t, path), want)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func lastLines(b []byte) []byte { return b[max(0, len(b)-400):] }

// traced builds a program, runs it under EZTrace and returns the anchor file. It skips the test if
// one of the tools is missing.
func traced(t *testing.T, name, compiler, module string, launch ...string) string {
	t.Helper()
	for tool, pkg := range map[string]string{compiler: "libopenmpi-dev, gcc", "eztrace": "eztrace",
		"otf2-print": "otf2-tools", launch[0]: "openmpi-bin"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (Debian packages %s)", tool, pkg)
		}
	}
	source, err := filepath.Abs("testdata/programs/" + name + ".c")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(fail func(string, ...any), args ...string) {
		c := exec.CommandContext(await.Context(t), args[0], args[1:]...)
		c.Dir = dir
		c.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
		if out, err := c.CombinedOutput(); err != nil {
			fail("%s does not run here: %v\n%s", args[0], err, out)
		}
	}
	run(t.Fatalf, compiler, "-pthread", "-o", name, source)
	run(t.Skipf, append(launch, "eztrace", "-t", module, "./"+name)...)
	return anchorOf(t, dir)
}

// TestEZTrace runs real programs under EZTrace and checks that weft prints the archives like otf2-print and
// that the model has the operations of the programs.
func TestEZTrace(t *testing.T) {
	effort.Long(t)
	for _, x := range []struct {
		name, compiler, module string
		launch                 []string
		want                   map[string]int
	}{
		// Each of 3 ranks sends 10 messages with non-blocking and 5 with blocking calls, and takes part in
		// three collective operations. EZTrace does not record when messages of non-blocking calls are
		// received.
		{"exchange", "mpicc", "openmpi", []string{"mpirun", "--oversubscribe", "-np", "3"},
			map[string]int{"send": 45, "recv": 15, "recv-begin": 30, "collective-end": 9}},
		// The program has 3 threads and the main thread.
		{"workers", "gcc", "pthread", []string{"env"}, map[string]int{"thread-begin": 4, "thread-end": 4}},
	} {
		t.Run(x.name, func(t *testing.T) {
			anchor := traced(t, x.name, x.compiler, x.module, x.launch...)
			want, err := exec.Command("otf2-print", "-A", anchor).Output()
			if err != nil {
				t.Fatal(err)
			}
			sameLines(t, compat(t, anchor), want)
			n, rules, _ := scanned(t, format.FileSource(anchor), nil)
			if rules != "" {
				t.Errorf("%s", rules)
			}
			if n["enter"] == 0 || n["enter"] != n["leave"] {
				t.Errorf("%d enters, %d leaves", n["enter"], n["leave"])
			}
			for kind, k := range x.want {
				if n[kind] != k {
					t.Errorf("%d events %s, want %d: %v", n[kind], kind, k, n)
				}
			}
		})
	}
}

// reordered rewrites an archive with some definitions at other positions and some twice with other
// values. The files of locations are unchanged.
func reordered(t *testing.T, anchor string, rng *rand.Rand) string {
	a, err := Open(format.FileSource(anchor))
	if err != nil {
		t.Fatal(err)
	}
	var texts, rest []Record // texts has the definitions that come first: otf2-print ends at once without them
	if err := a.Definitions(func(_ int64, r *Record) error {
		l := &rest
		if r.ID == defString || r.ID == defClock {
			l = &texts
		}
		*l = append(*l, Record{r.ID, slices.Clone(r.Values), slices.Clone(r.Texts)})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for range rng.IntN(5) {
		i, k := rng.IntN(len(rest)), rng.IntN(len(rest))
		rest[i], rest[k] = rest[k], rest[i]
	}
	for range 10 {
		twice, other := rest[rng.IntN(len(rest))], Record{}
		for other.ID != twice.ID {
			other = rest[rng.IntN(len(rest))]
		}
		if definitionTypes[twice.ID].fields[0].name == "self" {
			twice.Values = append([]uint64{other.Values[0]}, twice.Values[1:]...)
		}
		if twice.ID != defLocation { // otf2-print would read the files of a repeated location twice
			rest = append(rest, twice)
		}
	}
	path := filepath.Join(t.TempDir(), "made.otf2")
	dst, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(dst, Anchor{})
	for _, r := range append(texts, rest...) {
		err = errors.Join(err, w.Define(&r))
	}
	name := func(anchor string) string { return anchor[:len(anchor)-len(".otf2")] }
	if err := errors.Join(err, w.Close(), dst.Commit(), os.Remove(name(path)),
		os.CopyFS(name(path), os.DirFS(name(anchor)))); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPeerOrder checks that definitions may come in any order and more than once, and that weft then prints
// the same names as otf2-print. The test skips archives for which otf2-print crashes, which happens often.
func TestPeerOrder(t *testing.T) {
	effort.Sequential(t)
	tool, err := exec.LookPath("otf2-print")
	if err != nil {
		t.Skip("otf2-print is not installed (Debian package otf2-tools)")
	}
	equal := 0
	for seed := range uint64(effort.Rounds(12)) {
		path := reordered(t, random(t, seed, 300), rand.New(rand.NewPCG(seed, 3)))
		want, err := exec.Command(tool, "-A", path).Output()
		if err != nil {
			continue
		}
		if sameLines(t, compat(t, path), want); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		equal++
	}
	if t.Logf("%d archives that otf2-print can read", equal); equal < effort.Rounds(6) {
		t.Error("too few of them")
	}
}
