package otf

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// previewed returns the preview of a trace as text: the sums of regions and of the messages of
// locations, by their ids. The text is empty if the trace has no preview.
func previewed(t *testing.T, path string) (string, int64) {
	t.Helper()
	d, err := (Format{}).Open(t.Context(), format.FileSource(path), &format.ReadOptions{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	p, err := d.Preview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p == nil {
		return "", 0
	}
	var b strings.Builder
	for _, r := range p.Regions {
		fmt.Fprintln(&b, "region", d.Defs().Regions.At(r.Region).ID, r.Count, r.Exclusive, r.Inclusive)
	}
	for _, l := range p.Locations {
		fmt.Fprintln(&b, "location", d.Defs().Locations.At(l.Location).ID, l.Count, l.Sent, l.Received)
	}
	return b.String(), p.To
}

// TestPreviewOfOtfaux compares the preview with the last statistics in the files that otfaux writes.
func TestPreviewOfOtfaux(t *testing.T) {
	otfaux := tool(t, "otfaux")
	dir := t.TempDir()
	const name = "mpi4"
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "ok", name))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name+".otf")
	if got, _ := previewed(t, path); got != "" {
		t.Errorf("a trace without statistics tells %q", got)
	}
	if out, err := exec.Command(otfaux, "--all", "-n", "7", path).CombinedOutput(); err != nil {
		t.Fatalf("otfaux: %v: %s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.stats"))
	if err != nil || len(files) == 0 {
		t.Fatalf("otfaux wrote %v, %v", files, err)
	}
	want, end := sumsOf(t, files)
	got, to := previewed(t, path)
	if got != want || to != end {
		t.Errorf("found at %d\n%swant at %d\n%s", to, got, end, want)
	}
	if strings.Count(got, "location") != 4 || strings.Count(got, "region") < 2 {
		t.Errorf("found %s, want 4 processes and some functions", got)
	}
}

// sumsOf adds up the last statistics of each process in the files. It returns the sums in the text form of
// [previewed], and the time of the last statistics.
func sumsOf(t *testing.T, files []string) (want string, end int64) {
	t.Helper()
	type sums struct{ count, exclusive, inclusive int64 }
	regions, order := map[int64]*sums{}, []int64{}
	var locations strings.Builder
	lines := regexp.MustCompile(
		`^SF([0-9a-f]+)N([0-9a-f]+)E([0-9a-f]+)I([0-9a-f]+)$|^SM0C0T0NS([0-9a-f]+)NR([0-9a-f]+)S.*$`)
	for _, f := range files {
		for _, b := range lastStatistics(t, f) {
			end = b.time
			calls, sent, received := int64(0), int64(0), int64(0)
			for _, l := range b.records {
				m := lines.FindStringSubmatch(l)
				switch {
				case m == nil:
				case m[1] != "":
					k := hexNumber(t, m[1])
					if regions[k] == nil {
						regions[k] = &sums{}
						order = append(order, k)
					}
					r := regions[k]
					r.count += hexNumber(t, m[2])
					r.exclusive += hexNumber(t, m[3])
					r.inclusive += hexNumber(t, m[4])
					calls += hexNumber(t, m[2])
				default:
					sent, received = hexNumber(t, m[5]), hexNumber(t, m[6])
				}
			}
			fmt.Fprintln(&locations, "location", b.process, calls, sent, received)
		}
	}
	var text strings.Builder
	for _, k := range order {
		fmt.Fprintln(&text, "region", k, regions[k].count, regions[k].exclusive, regions[k].inclusive)
	}
	text.WriteString(locations.String())
	return text.String(), end
}

// statistics are the records of a process at a time.
type statistics struct {
	process, time int64
	records       []string
}

// lastStatistics returns the last statistics of each process in a file. Each process has a block of records at
// each time. For each process, the last block that has records counts.
func lastStatistics(t *testing.T, file string) (list []*statistics) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	last := map[int64]*statistics{}
	now, process := int64(0), int64(0)
	for l := range strings.Lines(string(text)) {
		switch l = strings.TrimSpace(l); {
		case l[0] == '*':
			process = hexNumber(t, l[1:])
		case l[0] == 'S':
			b := last[process]
			if b == nil {
				b = &statistics{process: process, time: now}
				last[process], list = b, append(list, b)
			}
			if b.time != now {
				b.time, b.records = now, nil
			}
			b.records = append(b.records, l)
		default:
			now = hexNumber(t, l)
		}
	}
	return list
}

func hexNumber(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
