package otf

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// shrunk copies a trace with the processes for which keep returns true, and returns the name of the copy.
func shrunk(t *testing.T, from string, keep func(uint64) bool, values map[string]string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), filepath.Base(from))
	out, err := format.CreateFile(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	if _, err := Shrink(context.Background(), format.FileSource(from), &format.ReadOptions{}, keep, out,
		&format.WriteOptions{Values: values}); err != nil {
		t.Fatal(err)
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
	if l, _ := filepath.Glob(filepath.Dir(name) + "/.*"); len(l) > 0 {
		t.Errorf("left behind: %v", l)
	}
	return name
}

// allRecords returns a text for each record of a part, except for records for which drop returns true.
func allRecords(t *testing.T, name string, part Part, drop func(*Record) bool) []string {
	t.Helper()
	r, err := Open(context.Background(), format.FileSource(name), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Cursor(context.Background(), part)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var out []string
	for c.Next() {
		if x := c.Record(); !c.cur.cut && !drop(x) {
			out = append(out, describe(x))
		}
	}
	if c.Err() != nil {
		t.Fatal(c.Err())
	}
	return out
}

// TestShrink checks that the records with a time in a shrunk trace are exactly the records of the chosen
// processes.
func TestShrink(t *testing.T) {
	for _, from := range []string{"all_short", "all_kv_short", "all_one_stream_3procs", "all_z4", "aux_snapshots", "mpi4",
		"map_explicit", "localdefs", "hand_markers", "tokens"} {
		path := filepath.Join("testdata/ok", from, from+".otf")
		m, err := ReadMaster(format.FileSource(path), nil)
		if err != nil {
			t.Fatal(err)
		}
		for n, values := range []map[string]string{nil, {"otf.level": "4"}, {"otf.spelling": "long"}} {
			// The first selection has every second process, and the second one has the others.
			i := n
			chosen := map[uint64]bool{}
			for _, id := range m.Streams() {
				for _, p := range m.Processes(id) {
					chosen[uint64(p)] = i%2 == 0
					i++
				}
			}
			if len(chosen) == 1 {
				for p := range chosen {
					chosen[p] = true
				}
			}
			keep := func(p uint64) bool { return chosen[p] }
			to := shrunk(t, path, keep, values)
			for _, part := range []Part{Events, Snapshots, Statistics, Markers} {
				all := func(*Record) bool { return false }
				others := func(r *Record) bool {
					return r.Type != DefMarker && (r.Process != 0 || part != Markers) && !chosen[r.Process]
				}
				if got, want := allRecords(t, to, part, all), allRecords(t, path, part, others); !slices.Equal(got, want) {
					t.Errorf("%s %v: %d %v, want %d", from, values, len(got), part, len(want))
				}
			}
			got, err := ReadMaster(format.FileSource(to), nil)
			if err != nil {
				t.Fatal(err)
			}
			for p, want := range chosen {
				id, ok := got.Stream(uint32(p))
				if home, _ := m.Stream(uint32(p)); ok != want || ok && id != home {
					t.Errorf("%s: process %d is in stream %d (%t), it was in %d", from, p, id, ok, home)
				}
			}
		}
	}
}

// TestOtfshrink checks that otfprint prints the same for a shrunk trace as for the output of
// otfshrink.
func TestOtfshrink(t *testing.T) {
	otfshrink, otfprint := tool(t, "otfshrink"), tool(t, "otfprint")
	print := func(name string) []string {
		out, err := exec.Command(otfprint, "--fullkeyvalue", name).Output()
		if err != nil {
			t.Fatalf("otfprint %s: %v", name, err)
		}
		lines := strings.Split(string(out), "\n")
		return slices.DeleteFunc(lines, func(l string) bool {
			return strings.Contains(l, "DefUniqueId") || strings.HasPrefix(l, "processing time")
		})
	}
	for _, x := range []struct{ trace, list string }{{"mpi4", "1,3"}, {"mpi4", "2-4"}, {"map_explicit", "1,2,5"},
		{"map_1to1", "6"}, {"aux_snapshots", "2,3"}, {"localdefs", "2"}} {
		path, err := filepath.Abs(filepath.Join("testdata/ok", x.trace, x.trace+".otf"))
		if err != nil {
			t.Fatal(err)
		}
		theirs := filepath.Join(t.TempDir(), "x.otf")
		if out, err := exec.Command(otfshrink, "-i", path, "-o", strings.TrimSuffix(theirs, ".otf"), "-l",
			x.list).CombinedOutput(); err != nil {
			t.Fatalf("otfshrink: %v %s", err, out)
		}
		m, err := ReadMaster(format.FileSource(theirs), nil)
		if err != nil {
			t.Fatal(err)
		}
		ours := shrunk(t, path, func(p uint64) bool { _, ok := m.Stream(uint32(p)); return ok }, nil)
		a, b := print(ours), print(theirs)
		for i := range max(len(a), len(b)) {
			if i >= len(a) || i >= len(b) || a[i] != b[i] {
				t.Errorf("%s %s: line %d of %d: %q, otfshrink has %d: %q", x.trace, x.list, i+1, len(a), a[min(i, len(a)-1)],
					len(b), b[min(i, len(b)-1)])
				break
			}
		}
		u, _ := os.ReadFile(theirs)
		if v, _ := os.ReadFile(ours); !bytes.Equal(u, v) {
			t.Errorf("%s %s: master file %q, otfshrink has %q", x.trace, x.list, v, u)
		}
	}
}

// TestShrinkDefinitions checks that processes that are not kept are removed from definitions, and that
// definitions that lose all their processes are omitted. A stream in which the kept process has no events
// stays readable.
func TestShrinkDefinitions(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) { writeFile(t, filepath.Join(dir, name), text) }
	write("a.otf", "1:1,2\n2:3\n5:4,5\n")
	write("a.0.def", "DV1.c.5\"salmon\"\nDUI7\nDP1NM\"one\"\nDP2NM\"two\"PT1\nDP3NM\"three\"PT2\nDP4NM\"four\"\n"+
		"DP9NM\"nowhere\"\n"+
		"DPG64M1,2,3,NM\"all\"\nDPG65M1,4,NM\"gone\"\nDPG66MNM\"empty\"\nDPGA1V1\nDPGA2V1\nDPGA64V1\nDPGA65V1\n"+
		"DPS2M1,3,\nDPS3M1,\nDPS4M2,\nDCA1M1,64,\nDCA2M65,\nDCA3M\nDF1G0NM\"f\"\n")
	write("a.1.events", "1\n*1\nE1\n2\n*1\nL1\n2\n*1\n")
	write("a.2.events", "5\n*3\nE1\n6\n*3\nL1\n6\n*3\n")
	write("a.5.events", "5\n*4\nE1\n6\n*5\nL1\n6\n*5\n")
	write("a.5.def", "DF5G0NM\"local\"\n")
	write("a.0.marker", "MD1NM\"m\"Y1\nMS1T1P0V\"trace\"\nMS1T1P1V\"one\"\nMS1T1P2V\"two\"\nMS1T1P64V\"all\"\n"+
		"MS1T1P65V\"gone\"\n")
	to := shrunk(t, filepath.Join(dir, "a.otf"), func(p uint64) bool { return p == 2 || p == 3 || p == 9 }, nil)
	stub := strings.TrimSuffix(to, ".otf")
	for name, want := range map[string]string{
		".otf": "1:2\n2:3\n",
		".0.def": "DP2NM\"two\"\nDP3NM\"three\"PT2\nDP9NM\"nowhere\"\nDPG64M2,3,NM\"all\"\nDPG66MNM\"empty\"\nDPGA2V1\n" +
			"DPGA64V1\n" +
			"DPS2M3,\nDCA1M64,\nDCA3M\nDF1G0NM\"f\"\n",
		".1.events": "0\n*2\n0\n*2\n",
		".2.events": "5\n*3\nE1\n6\n*3\nL1\n6\n*3\n",
		".0.marker": "MD1NM\"m\"Y1\nMS1T1P0V\"trace\"\nMS1T1P2V\"two\"\nMS1T1P64V\"all\"\n",
	} {
		b, err := os.ReadFile(stub + name)
		if err != nil {
			t.Error(err)
		}
		got := string(b)
		if name == ".0.def" {
			head, rest, _ := strings.Cut(got, "\nDUI")
			id, rest, _ := strings.Cut(rest, "\n")
			if got = rest; head != "DV1.c.5\"salmon\"" || id == "7" {
				t.Errorf("the definitions begin with %q and id %q", head, id)
			}
		}
		if got != want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
	for _, name := range []string{".5.events", ".5.def"} {
		if exists(stub + name) {
			t.Errorf("%s is there", name)
		}
	}
	if otfprint, err := exec.LookPath("otfprint"); err == nil {
		if out, err := exec.Command(otfprint, to).Output(); err != nil ||
			!bytes.Contains(out, []byte("Enter: function 1, process 3")) {
			t.Errorf("otfprint: %v\n%s", err, out)
		}
	}
	out, err := format.CreateFile(filepath.Join(t.TempDir(), "x.otf"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	if _, err := Shrink(context.Background(), format.FileSource(filepath.Join(dir, "a.otf")), nil,
		func(uint64) bool { return false }, out, &format.WriteOptions{}); err == nil {
		t.Error("a trace without processes was made")
	}
}

// TestShrinkWithoutSnapshots checks that a copy has no files of snapshots and statistics if the kept process
// has none. libotf reports an empty file as damaged.
func TestShrinkWithoutSnapshots(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.otf": "1:1,2\n", "a.0.def": "DTR3e8\nDP1NM\"a\"\nDP2NM\"b\"\nDF1G0NM\"f\"\n",
		"a.1.events": "1\n*1\nE1\n1\n*2\nE1\n5\n*1\nL1\n5\n*2\nL1\n",
		"a.1.snaps":  "3\n*2\nTE1O1\n3\n*2\n", "a.1.stats": "3\n*2\nSF1N1E2I2\n3\n*2\n",
	} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	for process, kept := range map[uint64]bool{1: false, 2: true} {
		stub := filepath.Join(dir, fmt.Sprint("kept", process))
		out, err := format.CreateFile(stub + ".otf")
		if err != nil {
			t.Fatal(err)
		}
		defer out.Abort()
		_, err = Shrink(t.Context(), format.FileSource(filepath.Join(dir, "a.otf")), nil,
			func(p uint64) bool { return p == process }, out, &format.WriteOptions{})
		if err == nil {
			err = out.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{".1.snaps", ".1.stats"} {
			if exists(stub+name) != kept {
				t.Errorf("process %d: %s exists: %t, expected %t", process, name, !kept, kept)
			}
		}
	}
}
