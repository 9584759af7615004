package otf

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// untimed returns the output of otfprint without the line with the running time.
func untimed(t *testing.T, args ...string) []byte {
	t.Helper()
	// otfprint fails at the record where it stops reading
	out, _ := exec.Command(tool(t, "otfprint"), args...).Output()
	if i := bytes.LastIndex(out, []byte("processing time:")); i >= 0 {
		return out[:i]
	}
	return out
}

// TestPrintOptions_2 checks that each flag of otfprint has an option that prints the same.
func TestPrintOptions_2(t *testing.T) {
	tool(t, "otfprint")
	only := func(types ...Type) func(Type) bool { return func(t Type) bool { return slices.Contains(types, t) } }
	omit := func(parts ...Part) (o [numParts]bool) {
		for _, p := range parts {
			o[p] = true
		}
		return o
	}
	for _, x := range []struct {
		flags string
		opt   PrintOptions
	}{
		{"--fullkeyvalue", PrintOptions{}},
		{"", PrintOptions{Pairs: ShortPairs}},
		{"--nokeyvalue", PrintOptions{Pairs: NoPairs}},
		{"--fullkeyvalue --nodef", PrintOptions{Omit: omit(Definitions)}},
		{"--fullkeyvalue --noevent", PrintOptions{Omit: omit(Events)}},
		{"--fullkeyvalue --nostat", PrintOptions{Omit: omit(Statistics)}},
		{"--fullkeyvalue --nosnap", PrintOptions{Omit: omit(Snapshots)}},
		{"--fullkeyvalue --nomarker", PrintOptions{Omit: omit(Markers)}},
		{"--nokeyvalue --nodef --nostat", PrintOptions{Omit: omit(Definitions, Statistics), Pairs: NoPairs}},
		{"--num 1 1", PrintOptions{First: 1, Last: 1, Pairs: ShortPairs}},
		{"--nosnap --num 0 6", PrintOptions{Omit: omit(Snapshots), Last: 6, Pairs: ShortPairs}},
		{"--num 3 7", PrintOptions{First: 3, Last: 7, Pairs: ShortPairs}},
		{"--num 5 40", PrintOptions{First: 5, Last: 40, Pairs: ShortPairs}},
		{"--num 60 64", PrintOptions{First: 60, Last: 64, Pairs: ShortPairs}},
		{"--num 100 150", PrintOptions{First: 100, Last: 150, Pairs: ShortPairs}},
		{"--num 64 100000", PrintOptions{First: 64, Last: 100000, Pairs: ShortPairs}},
		{"--nodef --num 2 12", PrintOptions{Omit: omit(Definitions), First: 2, Last: 12, Pairs: ShortPairs}},
		{"--fullkeyvalue --records 2 12", PrintOptions{Wanted: only(Enter, Leave)}},
		{"--fullkeyvalue --records 1 18", PrintOptions{Wanted: only(Counter, DefCounter)}},
		{"--fullkeyvalue --records 1", PrintOptions{Wanted: only(Counter)}},
		{"--fullkeyvalue --records 67 41 16 57",
			PrintOptions{Wanted: only(CounterSnapshot, Unknown, DefFunction, DefKeyValue)}},
		{"--fullkeyvalue --records 28 37 46 45",
			PrintOptions{Wanted: only(FunctionSummary, EnterSnapshot, Marker, DefMarker)}},
		{"--num 2 5 --records 2 12 11",
			PrintOptions{First: 2, Last: 5, Wanted: only(Enter, Leave, SendMsg), Pairs: ShortPairs}},
		{"--nodef --nokeyvalue --records 1", PrintOptions{Omit: omit(Definitions), Wanted: only(Counter), Pairs: NoPairs}},
	} {
		t.Run(x.flags, func(t *testing.T) {
			eachTrace(t, func(t *testing.T, dir, m string) {
				if filepath.Base(dir) == "all_z4" {
					t.Skip("libotf with a new zlib reads no compressed events of more than 4 KiB")
				}
				// The file name precedes the flags: after --records, otfprint would take the name for a record
				// type.
				want := untimed(t, append([]string{m}, strings.Fields(x.flags)...)...)
				var got bytes.Buffer
				err := PrintCompat(t.Context(), format.FileSource(m), nil, &x.opt, &got)
				sameText(t, got.Bytes(), want, err)
			})
		})
	}
}

// TestPrintWindows_9 checks the order of simultaneous events in windows. Streams whose next event is after the window
// stay in libotf's heap.
func TestPrintWindows_9(t *testing.T) {
	for _, name := range []string{"map_1to1", "mpi4", "hand_ties"} {
		m := filepath.Join("testdata/ok", name, name+".otf")
		for from := uint64(1500); from < 6000; from += 1100 {
			for to := from; to < from+4000; to += 149 {
				want := untimed(t, m, "--nodef", "--time", fmt.Sprint(from), fmt.Sprint(to))
				var got bytes.Buffer
				err := PrintCompat(t.Context(), format.FileSource(m), &Options{From: from, To: to},
					&PrintOptions{Omit: [numParts]bool{Definitions: true}, Pairs: ShortPairs}, &got)
				sameText(t, got.Bytes(), want, err)
			}
		}
	}
}

// TestPrintWindowBlanks_10 checks windows of files with blanks before and after state lines.
func TestPrintWindowBlanks_10(t *testing.T) {
	tool(t, "otfprint")
	for _, events := range []string{
		"1\n*1\nE1\n \t5\nL1\n7\n*1\nE1\n",
		" 1\n*1\nE1\n 5\n*1\nL1\n\t7\n*1\nE1\n",
		"1 \n*1\t\nE1\n5\n *1\nL1\n 7\n *1\n E1\n",
		"1\n*1\n\n \nE1\n \n5\n\n*1\nL1\n7\n\n*1\nE1\n",
	} {
		m := filepath.Join(t.TempDir(), "t.otf")
		writeFile(t, m, "1:1\n2:2\n")
		writeFile(t, strings.TrimSuffix(m, "otf")+"0.def", "DP1NM\"p\"\nDF1G0NM\"f\"\n")
		writeFile(t, strings.TrimSuffix(m, "otf")+"1.events", events)
		writeFile(t, strings.TrimSuffix(m, "otf")+"2.events", "1\n*2\nE1\n\n5\n*2\nL1\n7\n*2\nE1\n")
		for from := range uint64(9) {
			want := untimed(t, m, "--nodef", "--time", fmt.Sprint(from), "9")
			var got bytes.Buffer
			err := PrintCompat(t.Context(), format.FileSource(m), &Options{From: from, To: 9},
				&PrintOptions{Omit: [numParts]bool{Definitions: true}, Pairs: ShortPairs}, &got)
			sameText(t, got.Bytes(), want, err)
		}
	}
}

// sameText reports the first line in which two texts differ.
func sameText(t *testing.T, got, want []byte, err error) {
	t.Helper()
	a, b := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range max(len(a), len(b)) {
		var x, y []byte
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if !bytes.Equal(x, y) || i == len(a) || i == len(b) {
			t.Fatalf("line %d of %d (want %d):\n got %.300q\nwant %.300q (error %v)", i+1, len(a), len(b), x, y, err)
		}
	}
}

// TestPrintProcesses_2 checks a selection of processes. For such a selection, otfprint reads and numbers only
// the definitions of the streams of these processes.
func TestPrintProcesses_2(t *testing.T) {
	tool(t, "otfprint")
	compare := func(t *testing.T, m string, processes []uint32) {
		args := []string{m, "--fullkeyvalue"}
		if len(processes) > 0 {
			args = append(args, "--procs")
		}
		for _, p := range processes {
			args = append(args, strconv.FormatUint(uint64(p), 10))
		}
		opt := &Options{}
		if len(processes) > 0 {
			opt.Processes = func(p uint64) bool { return slices.Contains(processes, uint32(p)) }
		}
		var got bytes.Buffer
		err := PrintCompat(t.Context(), format.FileSource(m), opt, nil, &got)
		sameText(t, got.Bytes(), untimed(t, args...), err)
	}
	eachTrace(t, func(t *testing.T, dir, m string) {
		if filepath.Base(dir) == "all_z4" {
			t.Skip("libotf with a new zlib reads no compressed events of more than 4 KiB")
		}
		control, err := ReadMaster(format.FileSource(m), nil)
		if err != nil {
			t.Skip(err)
		}
		for _, id := range control.Streams() {
			if l := control.Processes(id); len(l) > 0 {
				compare(t, m, l[:1])
				compare(t, m, l)
			}
		}
	})
	for _, missing := range [][]uint32{{}, {0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}} {
		m := copyTrace(t, "localdefs")
		for id := range uint32(4) {
			stub := strings.TrimSuffix(m, ".otf")
			writeFile(t, fileName(stub, id, Markers), fmt.Sprintf("MD%dNM\"m\"Y1\nZ%d\n", id+1, id))
			if slices.Contains(missing, id) {
				os.Remove(fileName(stub, id, Definitions))
				os.Remove(fileName(stub, id, Markers))
			}
		}
		for _, processes := range [][]uint32{nil, {1}, {2}, {3}, {1, 3}, {2, 3}} {
			t.Run(fmt.Sprint("without ", missing, " processes ", processes), func(t *testing.T) { compare(t, m, processes) })
		}
	}
}

// reads counts the reads of the files of a directory.
type reads struct {
	bytes, opens int
	most         int // greatest number of bytes of a single read
}

// counting is a file system that counts the reads of its files.
type counting struct {
	fs.FS
	*reads
}

type countedFile struct {
	fs.File
	*reads
}

func (c counting) Open(name string) (fs.File, error) {
	c.opens++
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return countedFile{f, c.reads}, nil
}

func (c counting) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(c.FS, name) }

func (f countedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.(io.ReaderAt).ReadAt(p, off)
	f.bytes, f.most = f.bytes+n, max(f.most, len(p))
	return n, err
}

// TestCompatReadsLittle checks that printing a small window of one of many processes reads at most twice as
// much as otfprint, and does not look for files of other streams. otfprint reads about 110 kB of a stream of 2
// MB.
func TestCompatReadsLittle(t *testing.T) {
	files := fstest.MapFS{"x.0.def": {Data: []byte("DTR3e8\nDP1NM\"p\"\nDF1G0NM\"f\"\n")}}
	var control strings.Builder
	for id := range uint32(200) {
		fmt.Fprintf(&control, "%x:%x\n", id+1, id+1)
		var text bytes.Buffer
		for i := range 100_000 {
			if id > 0 && i > 10 {
				break
			}
			fmt.Fprintf(&text, "%x\n*%x\n%s\n", i+1, id+1, [2]string{"E1", "L1"}[i%2])
		}
		files[fileName("x", id+1, Events)] = &fstest.MapFile{Data: text.Bytes()}
	}
	files["x.otf"] = &fstest.MapFile{Data: []byte(control.String())}
	var read reads
	src := format.Source{FS: counting{files, &read}, Name: "x.otf", Path: "x.otf"}
	f, err := Format{}.Open(t.Context(), src, &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := format.Printing{Selection: trace.Everything(), File: f}
	p.From, p.To, p.Location = 50_000, 50_010, func(loc uint32) bool { return loc == 0 }
	var out bytes.Buffer
	if err := (Format{}).Compat(t.Context(), src, &format.ReadOptions{}, p, &out); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out.Bytes(), []byte("process 1, source")); n != 10 {
		t.Errorf("got %d events, want 10:\n%s", n, out.Bytes())
	}
	if size := len(files["x.1.events"].Data); read.bytes > 100_000 || read.opens > 12 || size < 1_000_000 {
		t.Errorf("%d bytes of a stream of %d were read, and files opened %d times, want 100000 and 12 at most",
			read.bytes, size, read.opens)
	}
}
