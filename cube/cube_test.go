package cube

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// member is a file in an archive.
type member struct {
	name string
	data []byte
}

// archive returns a tar archive with the given members.
func archive(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		if err := w.WriteHeader(&tar.Header{Name: m.name, Size: int64(len(m.data)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		w.Write(m.data)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sample is a hand-written anchor.xml. Its call paths are a, a/b, a/b/c, a/b/c/f, a/d and a/d/e. The order of
// its locations differs from the order of their ids.
const sample = `<?xml version="1.0" encoding="UTF-8"?>
<cube version="4.4">
 <attr key="Creator" value="by &quot;hand&quot;"/>
 <doc><mirrors><murl>http://example.org/</murl></mirrors></doc>
 <metrics title="Metrics">
  <metric id="7" type="INCLUSIVE"><disp_name>Time</disp_name><uniq_name>time</uniq_name><dtype>DOUBLE</dtype>
   <uom>sec</uom><url></url><descr>Total &lt;time&gt;</descr>
   <metric id="3" type="EXCLUSIVE"><disp_name>Wait</disp_name><uniq_name>wait</uniq_name><dtype>INT16</dtype>
   </metric>
   <metric id="4" type="PREDERIVED_EXCLUSIVE"><uniq_name>comp</uniq_name><dtype>DOUBLE</dtype><cubepl>1</cubepl>
   </metric>
  </metric>
  <metric id="1"><uniq_name>atomic</uniq_name><dtype>TAU_ATOMIC</dtype></metric>
 </metrics>
 <program>
  <region id="10" mod="a.c" begin="1" end="-1"><name>a</name><mangled_name>_a</mangled_name><paradigm>user</paradigm>
   <role>function</role><url/><descr/></region>
  <region id="11" begin="-1" end="-1"><name>b</name></region><region id="12" begin="-1" end="-1"><name>c</name></region>
  <region id="13" begin="-1" end="-1"><name>d</name></region><region id="14" begin="-1" end="-1"><name>e</name></region>
  <region id="15" begin="-1" end="-1"><name>f</name></region>
  <cnode id="0" calleeId="10"><parameter partype="numeric" parkey="n" parvalue="1"/>
   <cnode id="1" calleeId="11"><cnode id="2" calleeId="12"><cnode id="3" calleeId="15"/></cnode></cnode>
   <cnode id="4" calleeId="13"><cnode id="5" calleeId="14"/></cnode></cnode>
 </program>
 <system title="System">
  <systemtreenode Id="0"><name>cluster</name><class>machine</class><attr key="k" value="v"/>
   <systemtreenode Id="1"><name>n0</name><class>node</class>
    <locationgroup Id="0"><name>rank 0</name><rank>0</rank><type>process</type>
     <location Id="1"><name>thread 1</name><rank>1</rank><type>thread</type></location>
     <location Id="0"><name>thread 0</name><rank>0</rank><type>thread</type></location></locationgroup></systemtreenode>
  </systemtreenode><topologies/></system>
</cube>
`

// indexOf returns the index of a metric with values in the given rows.
func indexOf(order binary.AppendByteOrder, rows ...uint32) []byte {
	b := order.AppendUint32([]byte("CUBEX.INDEX"), 1)
	b = append(order.AppendUint16(b, 0), 1)
	b = order.AppendUint32(b, uint32(len(rows)))
	for _, r := range rows {
		b = order.AppendUint32(b, r)
	}
	return b
}

// dense returns the index of a metric with values in all rows. According to cubelib (CubeIndexHeader.cpp and
// CubeDenseIndex.cpp) it has the type 3, CUBE_INDEX_FORMAT_DENSE, and nothing follows the type.
func dense(order binary.AppendByteOrder) []byte {
	return append(order.AppendUint16(order.AppendUint32([]byte("CUBEX.INDEX"), 1), 0), 3)
}

// doubles returns the encoded values of rows.
func doubles(order binary.AppendByteOrder, values ...float64) (b []byte) {
	for _, v := range values {
		b = order.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// compressed returns the data of a metric whose rows are compressed, each row separately.
func compressed(order binary.AppendByteOrder, rows ...[]byte) []byte {
	b := order.AppendUint64([]byte("ZCUBEX.DATA"), uint64(len(rows)))
	var parts []byte
	for _, r := range rows {
		var z bytes.Buffer
		if r != nil {
			w := zlib.NewWriter(&z)
			w.Write(r)
			w.Close()
		}
		b = order.AppendUint64(b, 0)
		b = order.AppendUint64(b, uint64(len(parts)))
		b = order.AppendUint64(b, uint64(z.Len()))
		parts = append(parts, z.Bytes()...)
	}
	return append(b, parts...)
}

// samples returns hand-written files, by name. They all have the same values.
func samples(t testing.TB) map[string][]byte {
	little, big := binary.LittleEndian, binary.BigEndian
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	io.WriteString(w, sample)
	w.Close()
	return map[string][]byte{
		// Files number the paths of inclusive metrics in this order: a, a/b, a/d, a/b/c, a/b/c/f,
		// a/d/e.
		"plain": archive(t, member{"anchor.xml", []byte(sample)},
			member{"7.index", indexOf(little, 0, 2, 4)},
			member{"7.data", append([]byte("CUBEX.DATA"), doubles(little, 1, 2, 0.25, 4, 5, 6)...)},
			member{"3.index", indexOf(little, 3, 5)},
			member{"3.data", append([]byte("CUBEX.DATA"), 0xff, 0xff, 2, 0, 0, 0, 0, 1)}, member{"trace.stat", []byte("other")}),
		"big endian": archive(t,
			member{"7.index", indexOf(big, 0, 2, 4)},
			member{"7.data", append([]byte("CUBEX.DATA"), doubles(big, 1, 2, 0.25, 4, 5, 6)...)},
			member{"3.index", indexOf(big, 3, 5)},
			member{"3.data", append([]byte("CUBEX.DATA"), 0xff, 0xff, 0, 2, 0, 0, 1, 0)}, member{"./anchor.xml", z.Bytes()}),
		"dense": archive(t, member{"anchor.xml", []byte(sample)},
			member{"7.index", dense(little)},
			member{"7.data", append([]byte("CUBEX.DATA"), doubles(little, 1, 2, 0, 0, 0.25, 4, 0, 0, 5, 6, 0, 0)...)},
			member{"3.index", dense(big)},
			member{"3.data", compressed(big, nil, nil, nil, []byte{0xff, 0xff, 0, 2}, nil, []byte{0, 0, 1, 0})}),
		"compressed": archive(t, member{"anchor.xml", z.Bytes()},
			member{"7.index", indexOf(little, 0, 2, 1, 4)},
			member{"7.data", compressed(little, doubles(little, 1, 2), doubles(little, 0.25, 4), nil, doubles(little, 5, 6))},
			member{"3.index", indexOf(big, 3, 5)},
			member{"3.data", compressed(big, []byte{0xff, 0xff, 0, 2}, []byte{0, 0, 1, 0})}),
	}
}

func read(b []byte) (*Cube, error) { return Read(bytes.NewReader(b), int64(len(b)), "x.cubex") }

// values returns the values of a cube that are not 0, each on a line with the names of its metric, path and
// location.
func values(c *Cube) (lines []string) {
	for i := range c.Metrics {
		m := &c.Metrics[i]
		for p := range c.Paths {
			for l := range c.Locations {
				if v := m.At(p, l); v != 0 {
					lines = append(lines, fmt.Sprintf("%s\t%s\t%d\t%g", m.Name, strings.Join(c.PathNames(p), "/"), l, v))
				}
			}
		}
	}
	return lines
}

// TestReadSamples reads the hand-written files and checks their values.
func TestReadSamples(t *testing.T) {
	expected := []string{"time\ta\t0\t1", "time\ta\t1\t2", "time\ta/b/c/f\t0\t5", "time\ta/b/c/f\t1\t6",
		"time\ta/d\t0\t0.25", "time\ta/d\t1\t4", "wait\ta/b/c/f\t0\t-1", "wait\ta/b/c/f\t1\t2", "wait\ta/d/e\t1\t256"}
	for name, b := range samples(t) {
		c, err := read(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if found := values(c); !slices.Equal(found, expected) {
			t.Errorf("%s: found %q, expected %q", name, found, expected)
		}
		found := fmt.Sprintf("%v %v %+v %+v", c.Attributes, c.Nodes, c.Groups, c.Locations)
		if expected := `[{Creator by "hand"}] [{-1 cluster machine} {0 n0 node}] ` +
			`[{Node:1 Name:rank 0 Rank:0 Type:process}] ` +
			`[{Group:0 Name:thread 0 Rank:0 Type:thread} {Group:0 Name:thread 1 Rank:1 Type:thread}]`; found != expected {
			t.Errorf("%s: found %s, expected %s", name, found, expected)
		}
		if r := c.Regions[0]; r != (Region{"a", "_a", "user", "function", "a.c", 1, -1, ""}) ||
			c.Metrics[0].Description != "Total <time>" {
			t.Errorf("%s: found %+v, %+v", name, r, c.Metrics[0])
		}
		if c.Metric("wait").Parent != 0 || c.Metric("comp").HasValues() || c.Metric("atomic").HasValues() ||
			c.Metric("none") != nil {
			t.Errorf("%s: found %+v", name, c.Metrics)
		}
	}
}

// example returns a cube whose lists have a different order than a walk through their trees.
func example() *Cube {
	c := &Cube{
		Attributes: []Attribute{{"Creator", `a <b> & "c" 'd'`}},
		Metrics: []Metric{
			{Parent: -1, Kind: Inclusive, Name: "time", Title: "Time", Unit: "sec", Type: Double, Description: "x < y"},
			{Parent: -1, Kind: Exclusive, Name: "visits", Title: "Visits", Unit: "occ", Type: Uint64},
			{Parent: 0, Kind: Exclusive, Name: "wait", Title: "Wait", Unit: "sec", Type: Double, URL: "u"},
			{Parent: 0, Kind: Exclusive, Name: "none", Type: Double}},
		Regions: []Region{{Name: "main", Begin: -1, End: -1}, {Name: "f(A&B)", Mangled: "_f", Paradigm: "user",
			Role: "function",
			File: "a.c", Begin: 3, End: 4, Description: "d"}},
		// The paths are main, main/f, main/main and main/f/main.
		Paths:     []Path{{-1, 0}, {0, 1}, {0, 0}, {1, 0}},
		Nodes:     []Node{{-1, "m", "machine"}, {0, "n0", "node"}, {0, "n1", "node"}},
		Groups:    []Group{{2, "rank 1", 1, "process"}, {1, "rank 0", 0, "process"}},
		Locations: []Location{{0, "thread 0", 0, "thread"}, {1, "thread 0", 0, "thread"}, {1, "thread 1", 1, "thread"}},
	}
	for p := range c.Paths {
		c.Metrics[0].Add(p, 2, 1.5+float64(p))
		c.Metrics[1].Add(p, 0, float64(1+p))
	}
	c.Metrics[1].Add(3, 1, 1<<53)
	c.Metrics[2].Add(2, 1, 1e-300)
	return c
}

// exampleValues are the values of the example. Locations are numbered in the order of the system
// tree.
var exampleValues = []string{"time\tmain\t1\t1.5", "time\tmain/f(A&B)\t1\t2.5", "time\tmain/f(A&B)/main\t1\t4.5",
	"time\tmain/main\t1\t3.5", "visits\tmain\t2\t1", "visits\tmain/f(A&B)\t2\t2",
	"visits\tmain/f(A&B)/main\t0\t9.007199254740992e+15",
	"visits\tmain/f(A&B)/main\t2\t4", "visits\tmain/main\t2\t3", "wait\tmain/main\t0\t1e-300"}

func write(t testing.TB, c *Cube) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestRoundTrip writes cubes, reads them, and writes them again. Values and bytes must remain the
// same.
func TestRoundTrip(t *testing.T) {
	b := write(t, example())
	c, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	found := values(c)
	if slices.Sort(found); !slices.Equal(found, exampleValues) {
		t.Errorf("found %q, expected %q", found, exampleValues)
	}
	for name, b := range map[string][]byte{"example": b, "sample": samples(t)["compressed"]} {
		c, err := read(b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := read(write(t, c))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := values(c), values(again); !slices.Equal(a, b) {
			t.Errorf("%s: found %q, expected %q", name, b, a)
		}
		for i := range c.Metrics { // lists of zeros are not stored
			c.Metrics[i].Values, again.Metrics[i].Values = nil, nil
		}
		if !reflect.DeepEqual(again, c) {
			t.Errorf("%s: found\n%+v, expected\n%+v", name, again, c)
		}
	}
}

// TestOutside reads the files of this package and the samples with testdata/read.py, which shares
// no code with weft, and compares the values.
func TestOutside(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	dir := t.TempDir()
	files := samples(t)
	files["example"] = write(t, example())
	for name, b := range files {
		path := filepath.Join(dir, "x.cubex")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := read(b)
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(python, "testdata/read.py", path).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		var found []string
		for l := range strings.Lines(string(out)) {
			f := strings.Split(strings.TrimSpace(l), "\t")
			var v float64
			fmt.Sscan(f[3], &v)
			found = append(found, fmt.Sprintf("%s\t%s\t%s\t%g", f[0], f[1], f[2], v))
		}
		expected := values(c)
		slices.Sort(found)
		if slices.Sort(expected); !slices.Equal(found, expected) {
			t.Errorf("%s: found %q, expected %q", name, found, expected)
		}
	}
}

// TestXML checks that xmllint accepts anchor.xml. The test is skipped if xmllint is not installed.
func TestXML(t *testing.T) {
	xmllint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("xmllint is not installed")
	}
	c := example()
	cmd := exec.Command(xmllint, "--noout", "-")
	cmd.Stdin = bytes.NewReader(c.anchor(c.order()))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestErrors reads damaged files and checks the errors.
func TestErrors(t *testing.T) {
	little := binary.LittleEndian
	swap := func(old, new string) []byte {
		if !strings.Contains(sample, old) {
			t.Fatalf("found no %q in the sample", old)
		}
		return archive(t, member{"anchor.xml", []byte(strings.Replace(sample, old, new, 1))})
	}
	with := func(index, data []byte) []byte {
		return archive(t, member{"anchor.xml", []byte(sample)}, member{"3.index", index}, member{"3.data", data})
	}
	good := indexOf(little, 3, 5)
	plain := []byte("CUBEX.DATA12345678")
	z := compressed(little, []byte("1234"), []byte("5678"))
	large := slices.Clone(z)
	little.PutUint64(large[11+8+16:], 1<<40)
	for _, x := range []struct {
		b        []byte
		expected string
	}{
		{nil, `x.cubex: found no member anchor.xml, expected one`},
		{bytes.Repeat([]byte("x"), 600),
			`x.cubex, byte 0x200: found no member of an archive (tar), expected one, or its end`},
		{archive(t, member{"anchor.xml", make([]byte, 600)})[:700],
			`x.cubex, byte 0x200: found 188 bytes of "anchor.xml", expected 600`},
		{archive(t, member{"anchor.xml", nil}), `x.cubex: anchor.xml, line 1: found the end, expected <cube>`},
		{archive(t, member{"anchor.xml", []byte("\x1f\x8bx")}),
			`x.cubex: anchor.xml, byte 0x0: found damaged compressed data, expected data as gzip writes them`},
		{swap("4.4", "3.0"), `x.cubex: anchor.xml, line 2: found <cube version="3.0">, expected <cube version="4.…">`},
		{swap("</cube>", ""), `x.cubex: anchor.xml, line 33: found the end, expected </cube>`},
		{swap("</metrics>", "</x>"), `x.cubex: anchor.xml, line 14: found </x>, expected </metrics>`},
		{swap("&quot;", "&nothing;"), `x.cubex: anchor.xml, line 3: found invalid character entity &nothing;, expected XML`},
		{swap(`calleeId="12"`, `calleeId="99"`),
			`x.cubex: anchor.xml, line 22: found calleeId 99, expected the id of a region before it`},
		{swap(`id="11"`, `id="10"`), `x.cubex: anchor.xml, line 18: found region 10 again, expected another id`},
		{swap(`begin="1"`, `begin="x"`), `x.cubex: anchor.xml, line 16: found begin "x" of <region>, expected a number`},
		{swap(`<location Id="1"`, `<location Id="2"`),
			`x.cubex: anchor.xml, line 33: found location 2, expected each id from 0 to 1 once`},
		{swap("<rank>1", "<rank>one"), `x.cubex: anchor.xml, line 29: found rank "one", expected a number`},
		{archive(t, member{"anchor.xml", []byte(sample)}, member{"3.index", good}),
			`x.cubex: found no member 3.data, expected one beside 3.index`},
		{with(nil, plain), `x.cubex: 3.index, byte 0x0: found 0 bytes "", expected 18 or more that begin with "CUBEX.INDEX"`},
		{with(good[:25], plain), `x.cubex: 3.index, byte 0x12: found 2 call paths in 3 bytes, expected 4 bytes each`},
		{with(indexOf(little, 3, 6), plain), `x.cubex: 3.index, byte 0x1a: found call path 6, expected 0 to 5`},
		{with(indexOf(little, 3, 3), plain), `x.cubex: 3.index, byte 0x1a: found call path 3 again, expected another one`},
		{with(bytes.Replace(good, []byte("\x01\x00\x00\x00\x00\x00"), []byte("\x02\x00\x00\x00\x00\x00"), 1), plain),
			`x.cubex: 3.index, byte 0xb: found 02000000, expected 1 in some order of bytes`},
		{with(bytes.Replace(good, []byte("\x00\x00\x01\x02"), []byte("\x00\x00\x00\x02"), 1), plain),
			`x.cubex: 3.index, byte 0x11: found index type 0, expected 1, a list of call paths, or 3, ` +
				`all call paths`},
		{with(good[:20], plain), `x.cubex: 3.index, byte 0x12: found 2 bytes, expected the number of call paths, of 4 bytes`},
		{with(append(dense(little), 0), plain),
			`x.cubex: 3.index, byte 0x12: found 1 byte, expected the end of an index of all call paths`},
		{with(dense(little), plain),
			`x.cubex: 3.data, byte 0xa: found 18 bytes, expected 34 for 6 call paths at 2 locations`},
		{with(good, plain[:17]), `x.cubex: 3.data, byte 0xa: found 17 bytes, expected 18 for 2 call paths at 2 locations`},
		{with(good, []byte("CUBEX")), `x.cubex: 3.data, byte 0x0: found "CUBEX", expected "CUBEX.DATA" or "ZCUBEX.DATA"`},
		{with(indexOf(little, 3), z), `x.cubex: 3.data, byte 0xb: found 2 compressed parts in 99 bytes, expected 1, ` +
			`one of each call path, of 24 bytes or more`},
		{with(good, z[:70]),
			`x.cubex: 3.data, byte 0x43: found damaged or cut compressed data, expected data as zlib writes them`},
		{with(good, large), `x.cubex: 3.data, byte 0x23: found a compressed part of 1099511627776 bytes, expected up to 99`},
		{with(good, compressed(little, []byte("1234"), []byte("567"))),
			`x.cubex: 3.data, byte 0x53: found a compressed part that has 3 bytes, expected 4 for 2 locations`},
		{with(good, compressed(little, []byte("12345"), []byte("567"))),
			`x.cubex: 3.data, byte 0x43: found a compressed part that has 5 bytes, expected 4 for 2 locations`},
	} {
		_, err := read(x.b)
		if err == nil || err.Error() != x.expected {
			t.Errorf("found  %v\nexpected %s", err, x.expected)
		}
	}
}

// TestWriteErrors checks that Write rejects lists that are not a valid cube.
func TestWriteErrors(t *testing.T) {
	for expected, f := range map[string]func(c *Cube){
		"parent 1 of call path 1":       func(c *Cube) { c.Paths[1].Parent = 1 },
		"region 2 of call path 3":       func(c *Cube) { c.Paths[3].Region = 2 },
		"node -1 of group 0":            func(c *Cube) { c.Groups[0].Node = -1 },
		"group 2 of location 1":         func(c *Cube) { c.Locations[1].Group = 2 },
		"parent 9 of metric 2":          func(c *Cube) { c.Metrics[2].Parent = 9 },
		"values of 5 call paths":        func(c *Cube) { c.Metrics[1].Add(4, 0, 1) },
		"values of 4 locations":         func(c *Cube) { c.Metrics[1].Add(3, 3, 1) },
		"0.5 in visits":                 func(c *Cube) { c.Metrics[1].Add(1, 2, 0.5) },
		"-1 in visits":                  func(c *Cube) { c.Metrics[1].Add(1, 2, -1) },
		`of kind "X" and type "DOUBLE"`: func(c *Cube) { c.Metrics[2].Kind = "X" },
	} {
		c := example()
		f(c)
		if err := c.Write(io.Discard); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("found %v, expected %s", err, expected)
		}
	}
}

// FuzzRead reads arbitrary bytes. A cube that can be read must have the same values after it has
// been written and read again.
func FuzzRead(f *testing.F) {
	for _, b := range samples(f) {
		f.Add(b)
	}
	f.Fuzz(checkRewrite)
}

// FuzzMembers does the same as FuzzRead for archives whose members are arbitrary bytes.
func FuzzMembers(f *testing.F) {
	little := binary.LittleEndian
	index := indexOf(little, 0, 2)
	f.Add([]byte(sample), index, append([]byte("CUBEX.DATA"), doubles(little, 1, 2, 3, 4)...))
	f.Add([]byte(sample), index, compressed(little, doubles(little, 1, 2), doubles(little, 3, 4)))
	f.Fuzz(func(t *testing.T, text, index, data []byte) {
		checkRewrite(t, archive(t, member{"anchor.xml", text}, member{"7.index", index}, member{"7.data", data}))
	})
}

// checkRewrite reads a cube, writes it and reads it again. The values must remain the same. It accepts bytes
// that cannot be read.
func checkRewrite(t *testing.T, b []byte) {
	c, err := read(b)
	if err != nil {
		return
	}
	var w bytes.Buffer
	if c.Write(&w) != nil {
		return // rounding a 64-bit integer has resulted in 2^63 or 2^64, which its type cannot represent
	}
	again, err := read(w.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if a, b := values(c), values(again); len(a) != len(b) {
		t.Errorf("found %q, expected %q", b, a)
	}
}

// TestDeep writes and reads a call path of 200,000 regions, for which a recursive reader would need
// too large a stack.
func TestDeep(t *testing.T) {
	const depth = 200_000
	c := example()
	c.Paths = nil
	for i := range depth {
		c.Paths = append(c.Paths, Path{i - 1, i % 2})
	}
	for i := range c.Metrics {
		c.Metrics[i].Values = nil
	}
	c.Metrics[0].Add(depth-1, 2, 3)
	r, err := read(write(t, c))
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Metrics[0].At(depth-1, 1); v != 3 || len(r.Paths) != depth || r.Paths[depth-1].Parent != depth-2 {
		t.Errorf("found %g at the deepest of %d paths, expected 3", v, len(r.Paths))
	}
}
