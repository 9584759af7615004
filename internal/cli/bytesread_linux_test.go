package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// bytesRead returns the number of bytes that the process has read so far.
func bytesRead(t *testing.T) (n int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip(err)
	}
	if _, err := fmt.Sscanf(string(text), "rchar: %d", &n); err != nil {
		t.Skip(err)
	}
	return n
}

// bytesOf returns the number of bytes that a command reads on a number of cores. Files are counted as the command reads
// them, whether the page cache has them or not. On one core the number is the same in each run. On more cores it
// depends on the other work of the machine, since goroutines of Pallas load blocks before they are needed, and a scan
// that ends early may have no use for them. The number of cores is set because the commands divide large files of OTF2
// if there are more cores than files.
func bytesOf(t *testing.T, cores int, args ...string) int64 {
	t.Helper()
	already := bytesRead(t)
	weft(t, exitGood, append(slices.Clone(args), "-j", strconv.Itoa(cores))...)
	return bytesRead(t) - already
}

// readAhead returns the number of bytes that Pallas may read in vain on several cores: a block of each event of each
// location. These blocks are less than a tenth of the traces of this file.
func readAhead(format string, cores int, size int64) int64 {
	if format == "pallas" && cores > 1 {
		return size / 10
	}
	return 0
}

// sizeBelow returns the number of bytes of all files in a folder and those below.
func sizeBelow(t *testing.T, dir string) (size int64) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		st, err := e.Info()
		size += st.Size()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return size
}

// TestOTFReadsLittle checks how much of an OTF trace of four streams commands read: the parts of
// the files for the selected window and locations, and at most a fifth more, as docs/formats/otf.md
// states. With snapshots they read no more than without.
func TestOTFReadsLittle(t *testing.T) {
	dir := t.TempDir()
	trace := filepath.Join(dir, "ring.otf")
	weft(t, exitGood, "generate", "--workload", "ring", "--locations", "4", "--events", "600000", "--option",
		"otf.streams=4", trace)
	var size, stream int64
	for id := 1; id <= 4; id++ {
		st, err := os.Stat(filepath.Join(dir, fmt.Sprintf("ring.%d.events", id)))
		if err != nil {
			t.Fatal(err)
		}
		stream = st.Size()
		size += stream
	}
	part := func(whole int64, percent float64) int64 { return int64(1.2 * percent / 100 * float64(whole)) }
	const ends = 256 << 10 // definitions, the first and last blocks of the files, and blocks read by bisection
	late := []string{"--window", "75%..75.1%"}
	clocks := filepath.Join(dir, "clocks.json")
	weft(t, exitGood, "align", "-q", "--correction", clocks, trace)
	answers := map[string]string{}
	for _, snapshots := range []bool{false, true} {
		before := 75.1
		if snapshots {
			before = 8
			weft(t, exitGood, "otf", "snapshots", "--count", "20", trace)
		}
		for _, x := range []struct {
			args []string
			most int64
			same bool // the same number of bytes with and without snapshots
		}{
			{[]string{"info"}, part(size, 90), false},
			{[]string{"check"}, part(size, 90), false},
			{[]string{"usage"}, part(size, 90), true},
			{[]string{"comm", "--json", "--location", "2"}, part(size, 90), true},
			{[]string{"messages", "--json", "--location", "2"}, part(size, 90), true},
			{[]string{"states", "--waits=false", "--json", "--clock-correction", clocks}, part(size, 90), true},
			{[]string{"profile", "--json"}, part(size, 90), true},
			{append([]string{"profile", "--json"}, late...), part(size, before), true},
			{append([]string{"profile", "--json", "--location", "2"}, late...), part(stream, before), true},
			{[]string{"profile", "--json", "--location", "2", "--window", "25%..25.1%"}, part(stream, 25.1), true},
			{append([]string{"info", "--location", "2"}, late...), part(stream, 75.1), false},
			{append([]string{"cut", "--force", "--location", "2", "--json", "IN", filepath.Join(dir, "piece.otf")}, late...),
				part(stream, 75.1), false},
			{append([]string{"states", "--waits=false", "--json"}, late...), part(size, before), true},
			{append([]string{"usage", "--json"}, late...), part(size, before), true},
			{[]string{"print", "--limit", "5"}, 4 * 64 << 10, true},
			{[]string{"print", "--limit", "5", "--location", "2"}, 64 << 10, true},
			{[]string{"print", "--json", "--window", "30%..30.1%"}, part(size, 0.1), false},
		} {
			args := x.args
			if i := strings.Index(strings.Join(args, " "), " IN "); i < 0 {
				args = append(args, trace)
			} else {
				args = strings.Split(strings.Replace(strings.Join(args, " "), " IN ", " "+trace+" ", 1), " ")
			}
			var out, errs bytes.Buffer
			already := bytesRead(t)
			if code := Main(args, strings.NewReader(""), &out, &errs); code != exitGood {
				t.Fatalf("%v: exit code %d: %s", x.args, code, errs.String())
			}
			if n := bytesRead(t) - already; n > x.most+ends {
				t.Errorf("%v, snapshots %t: found %d bytes read of %d, expected %d at most", x.args, snapshots, n, size,
					x.most+ends)
			}
			question := strings.Join(x.args, " ")
			if snapshots && x.same && out.String() != answers[question] {
				t.Errorf("%s: found another answer with snapshots than without:\n%.2000s", question, out.String())
			}
			answers[question] = out.String()
		}
	}
}

// TestSomeFilesReadLittle checks which part of OTF traces commands read for a window near the beginning, if the trace
// has many small files or compressed ones: the window and the part before it, as much again for each further pass over
// the window, the ends of the files, and the blocks of a bisection.
func TestSomeFilesReadLittle(t *testing.T) {
	for _, x := range []struct {
		streams    string
		compressed bool
		most       map[string]float64 // greatest part of the files, in percent; each file has about 335 kB of text
	}{
		{"64", false, map[string]float64{"profile": 12, "states": 24, "usage": 12, "comm": 12, "print": 20, "info": 40}},
		{"4", true, map[string]float64{"profile": 6, "states": 12, "usage": 6, "comm": 6, "print": 15, "info": 40}},
	} {
		dir := t.TempDir()
		in := filepath.Join(dir, "t.otf")
		weft(t, exitGood, "generate", "--workload", "ring", "--locations", "64", "--events", "1200000", "--option",
			"otf.streams="+x.streams, in)
		if x.compressed {
			weft(t, exitGood, "otf", "compress", in)
		}
		size := sizeBelow(t, dir)
		for command, percent := range x.most {
			most := int64(percent / 100 * float64(size))
			if n := bytesOf(t, 1, command, "-q", "--window", "1%..2%", in); n > most {
				t.Errorf("%s streams, compressed %t: %s: found %d bytes read of %d, expected %d at most", x.streams, x.compressed,
					command, n, size, most)
			}
		}
	}
}

// TestCompressedLocationReadsLittle checks that commands for a location read the compressed file of its stream, and at
// most a fifth more: the ends of the other files, which show the times of the trace and that no links follow.
func TestCompressedLocationReadsLittle(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "t.otf")
	weft(t, exitGood, "generate", "--workload", "ring", "--locations", "4", "--events", "1200000", "--option",
		"otf.streams=4", "--option", "otf.level=4", in)
	st, err := os.Stat(filepath.Join(dir, "t.2.events.z"))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"print", "profile", "info"} {
		if n, most := bytesOf(t, 1, command, "-q", "--location", "1", in), st.Size()*6/5; n > most {
			t.Errorf("%s: found %d bytes read of a file of %d, expected %d at most", command, n, st.Size(), most)
		}
	}
	// A short window needs the ends of each file, about four positions of a search, and a block or two.
	n := int64(0)
	for _, window := range []string{"50%..50.1%", "20%..20.1%"} {
		n += bytesOf(t, 1, "print", "-q", "--window", window, in)
	}
	if most := sizeBelow(t, dir) / 10; n > most {
		t.Errorf("found %d bytes read for two windows, expected %d at most", n, most)
	}
}

// TestCompressedWindowsReadLittle checks how much print reads of compressed files for a window: the blocks of the
// window, from one restart point to another, and at most a fifth more; the ends of the files; and about three positions
// of a search, at each of which half a block passes until the next restart point.
func TestCompressedWindowsReadLittle(t *testing.T) {
	for name, args := range map[string][]string{"weft": {"--option", "otf.level=4"}, "otfcompress": nil} {
		dir := t.TempDir()
		in := filepath.Join(dir, "t.otf")
		weft(t, exitGood, append([]string{"generate", "--workload", "ring", "--locations", "4", "--events", "1200000",
			"--option", "otf.streams=4", in}, args...)...)
		if args == nil {
			weft(t, exitGood, "otf", "compress", in)
		}
		text := readText(t, filepath.Join(dir, "t.1.events.z"))
		size, block := float64(len(text)), float64(len(text))/float64(strings.Count(text, "\x00\x00\xff\xff"))
		for window, part := range map[string]float64{"50%..50.1%": 0.001, "20%..30%": 0.1, "75%..80%": 0.05} {
			most := 4 * (1.2*(part*size+2*block) + 24<<10 + 3*(block/2+4<<10))
			if n := bytesOf(t, 1, "print", "-q", "--window", window, in); float64(n) > most {
				t.Errorf("%s, %s: found %d bytes read of 4 files of %.0f, expected %.0f at most", name, window, n, size, most)
			}
		}
	}
}

// TestTimesReadOnce checks that info and cut read the ends of the files of an OTF2 archive once to find its times. Each
// file has only one chunk here, which has to be read for the time of its last event. cut reads each chunk once more up
// to the window, and info also counts the events of the window.
func TestTimesReadOnce(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "t.otf2")
	weft(t, exitGood, "generate", "--workload", "ring", "--locations", "32", "--events", "800000", in)
	size := sizeBelow(t, dir)
	for _, args := range [][]string{{"info", "-q", "--window", "2%..3%", in},
		{"cut", "-q", "--window", "2%..3%", in, filepath.Join(t.TempDir(), "piece.otf2")}} {
		if n, most := bytesOf(t, 1, args...), size*5/2; n > most {
			t.Errorf("%s: found %d bytes read of %d, expected %d at most", args[0], n, size, most)
		}
	}
}

// TestArchivesReadLittle checks which part of OTF2 and Pallas traces commands read. To print the beginning of a
// Pallas trace, weft needs the lists of events. To cut a piece out of a trace, weft reads the events before the
// piece once, as a profile of the same window does.
func TestArchivesReadLittle(t *testing.T) {
	for _, x := range []struct {
		format, workload, events string
		print, cut               float64 // greatest part of the trace; greatest multiple of a profile's bytes
	}{
		{"pallas", "calltree", "600000", 0.04, 1.15},
		{"pallas", "stencil", "600000", 0.16, 1.3},
		{"otf2", "calltree", "1200000", 0.1, 1.05},
		{"otf2", "masterworker", "1200000", 0.1, 1.05},
	} {
		dir := t.TempDir()
		in := filepath.Join(dir, "in", "t."+x.format)
		if err := os.MkdirAll(filepath.Join(dir, "in"), 0o777); err != nil {
			t.Fatal(err)
		}
		weft(t, exitGood, "generate", "--workload", x.workload, "--locations", "4", "--events", x.events, in)
		size := sizeBelow(t, filepath.Dir(in))
		for _, cores := range []int{1, 2} {
			ahead := readAhead(x.format, cores, size)
			most := int64(x.print*float64(size)) + ahead
			for _, more := range [][]string{nil, {"--location", "2"}, {"--kind", "leave"}} {
				if n := bytesOf(t, cores, append([]string{"print", "--limit", "5", in}, more...)...); n > most {
					t.Errorf("%s of %s: print --limit 5 %v, %d cores: found %d bytes read of %d, expected %d at most", x.format,
						x.workload, more, cores, n, size, most)
				}
			}
			for _, window := range []string{"1%..2%", "50%..51%", "98%..99%"} {
				profile := bytesOf(t, cores, "profile", "-q", "--window", window, in)
				n := bytesOf(t, cores, "cut", "-q", "--force", "--window", window, "--json", in, filepath.Join(dir, "piece.otf"))
				if most := int64(x.cut*float64(profile)) + size/20 + ahead; n > most {
					t.Errorf("%s of %s: cut --window %s, %d cores: found %d bytes read of %d, expected %d at most", x.format,
						x.workload, window, cores, n, size, most)
				}
			}
		}
	}
}

// TestWindowsReadLittle checks that analyses of a window read the blocks of the window and those that a profile of it
// needs, and not the part after the window, except the other sides of messages.
func TestWindowsReadLittle(t *testing.T) {
	for _, x := range []struct{ format, workload string }{
		{"otf", "ring"}, {"otf2", "ring"}, {"pallas", "ring"}, {"otf2", "stencil"}, {"otf", "masterworker"},
	} {
		dir := t.TempDir()
		in := filepath.Join(dir, "t."+x.format)
		weft(t, exitGood, "generate", "--workload", x.workload, "--locations", "4", "--events", "1200000", in)
		size := sizeBelow(t, dir)
		read := func(args ...string) int64 { return bytesOf(t, 2, append(args, "-q", in)...) }
		for _, window := range []string{"1%..2%", "40%..41%"} {
			most := read("profile", "--window", window)*5/4 + size/25
			for _, args := range [][]string{{"comm"}, {"states"}, {"states", "--waits=false"}, {"usage"},
				{"messages"}, {"messages", "--list"}, {"waits"},
				{"waits", "--causes"}, {"waits", "--causes", "--force", "--cube", filepath.Join(t.TempDir(), "t.cubex")},
				{"states", "--roles", os.DevNull}, {"comm", "--location", "1"}, {"waits", "--location", "1"}} {
				most := most
				switch {
				case slices.Contains(args, "--causes"):
					// --causes and --cube each read the trace for an analysis of their own
					most *= int64(len(args)+2) / 2
				case args[0] == "states" && !slices.Contains(args, "--waits=false"):
					most *= 2 // once for the waits, and once for the states
				}
				if n := read(append(args, "--window", window)...); n > most {
					t.Errorf("%s of %s: %v of %s: found %d bytes read of %d, expected %d at most", x.workload, x.format, args, window,
						n, size, most)
				}
			}
		}
	}
}

// TestDetailsReadOnce checks that info reads each grammar of a Pallas trace once, also if it lists the details and if
// the grammars do not have the sums of calls (calltree: regions call themselves).
func TestDetailsReadOnce(t *testing.T) {
	for _, workload := range []string{"stencil", "calltree", "masterworker"} {
		dir := t.TempDir()
		in := filepath.Join(dir, "t.pallas")
		weft(t, exitGood, "generate", "--workload", workload, "--locations", "4", "--events", "300000", in)
		size := sizeBelow(t, dir)
		for _, args := range [][]string{{"info"}, {"info", "--details"}} {
			if n, most := bytesOf(t, 1, append(args, "-q", in)...), int64(1.1*float64(size)); n > most {
				t.Errorf("%s: %v: found %d bytes read of %d, expected %d at most", workload, args, n, size, most)
			}
		}
	}
}

// TestReportReadsTwice checks that report reads a trace once for its analyses and once to check it. The index of the
// trace is in the cache.
func TestReportReadsTwice(t *testing.T) {
	for _, format := range []string{"etf", "picl", "otf", "otf2", "pallas"} {
		dir := t.TempDir()
		in := filepath.Join(dir, "t."+format)
		weft(t, exitGood, "generate", "--workload", "ring", "--locations", "4", "--events", "100000", in)
		weft(t, exitGood, "index", "-q", in)
		most := int64(1<<20) + bytesOf(t, 1, "index", "-q", in) // the index, and whether it is that of the trace
		for _, command := range []string{"profile", "check"} {
			most += bytesOf(t, 1, command, "-q", in)
		}
		if n := bytesOf(t, 1, "report", "-q", "-o", filepath.Join(dir, "t.html"), in); n > most {
			t.Errorf("%s: found %d bytes read, expected %d at most", format, n, most)
		}
	}
}

// TestCheckReadsOnce checks that check reads each part of a trace once, and that print without filters does so,
// too.
func TestCheckReadsOnce(t *testing.T) {
	for _, x := range []struct {
		format, workload string
		check, print     float64 // greatest number of bytes read, as a part of the trace
	}{
		{"otf2", "stencil", 1.05, 1.05}, {"otf2", "calltree", 1.05, 1.05}, {"otf2", "masterworker", 1.05, 1.05},
		{"pallas", "stencil", 1.15, 0.85}, {"pallas", "calltree", 1.05, 0.8}, {"pallas", "masterworker", 1.15, 0.85},
	} {
		dir := t.TempDir()
		in := filepath.Join(dir, "t."+x.format)
		weft(t, exitGood, "generate", "--workload", x.workload, "--locations", "4", "--events", "300000", in)
		size := sizeBelow(t, dir)
		for _, command := range []struct {
			name string
			most float64
		}{{"check", x.check}, {"print", x.print}} {
			if n, most := bytesOf(t, 2, command.name, "-q", in), int64(command.most*float64(size)); n > most {
				t.Errorf("%s of %s: %s: found %d bytes read of %d, expected %d at most", x.workload, x.format, command.name, n,
					size, most)
			}
		}
	}
}
