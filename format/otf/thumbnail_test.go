package otf

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// thumbnailTrace writes a trace with the events of [TestThumbnail_14] and a thumbnail of 10 samples, which are at 0, 9,
// 19, …, 49, 59. Process 1 is in function 1 from 0 to 50 and then in function 2, process 2 has no events.
func thumbnailTrace(t *testing.T, thumbnail string) (master string) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"x.otf": "1:1\n2:2\n", "x.0.def": "DTR1\nDP1NM\"p\"\nDP2NM\"q\"\nDF1G0NM\"f\"\nDF2G0NM\"g\"\n",
		"x.1.events": "0\n*1\nE1\n32\n*1\nL1\nE2\n63\n*1\nL2\n63\n*1\n", "x.2.events": "0\n*2\n0\n*2\n",
		"x.thumb": thumbnail,
	} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	return filepath.Join(dir, "x.otf")
}

const soundThumbnail = "0:a,2\n2:0,0,0,0,0,0,0,0,0,0,\n1:1,1,1,1,1,1,2,2,2,2,\n"

// TestThumbnailCheck_14 checks that a checker reports the line of a thumbnail that is damaged or that differs from the
// events, and that it finds nothing in a sound thumbnail of all or of some processes.
func TestThumbnailCheck_14(t *testing.T) {
	for thumbnail, want := range map[string]string{
		soundThumbnail:                    "",
		"0:a,1\n1:1,1,1,1,1,1,2,2,2,2,\n": "",
		"":                                "1: found the end of the line, expected 0:width,processes",
		"garbage":                         `1: found "garbage", expected 0:width,processes`,
		soundThumbnail[:len("0:a,2\n")]:   "2: found the end of the line, expected the line of process 1 of 2",
		soundThumbnail[:40]:               "3: found 4 functions, expected 10, each with a comma",
		soundThumbnail + "3:0,\n":         `4: found "3:0,", expected the end of the file after the last process`,
		"0:64,0\n":                        "1: found 100 samples, expected at most 99, the ticks between the first",
		"0:1,2\n1:1,\n3:0,\n":             "3: found process 3, expected a process that the trace defines",
		"0:1,2\n1:1,\n1:1,\n":             "3: found process 1 again, expected one line for each process",
		"0:a,1\n1:1,1,1,1,1,2,2,2,0,2,\n": "2: found function 2 in sample 5 of process 1, expected function 1, as in the " +
			"events at tick 49",
		"0:2,2\n2:0,0,\n1:1,0,\n": "3: found no function in sample 1 of process 1, expected function 1, as in the " +
			"events at tick 49",
	} {
		rep := format.NewReport()
		opt := &format.ReadOptions{Report: rep}
		master := thumbnailTrace(t, thumbnail)
		c := tracetest.Open(t, Format{}, format.FileSource(master), opt).NewChecker()
		if err := c.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, r := range rep.Rules() {
			got += strings.TrimPrefix(r.First[0].Position.String(), strings.TrimSuffix(master, "otf")+"thumb:") + ": " +
				r.First[0].Message()
			if r.Rule != "otf.thumbnail" || r.First[0].Severity != trace.Warning {
				t.Errorf("%q: found %s, a %s", thumbnail, r.Rule, r.First[0].Severity)
			}
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q: got %q, want %q", thumbnail, got, want)
		}
	}
}

// TestShrinkThumbnail checks that Shrink keeps the thumbnail with all processes, and otherwise says that it is lost.
func TestShrinkThumbnail(t *testing.T) {
	for process, want := range map[uint64]int{0: 0, 2: 1} { // 0 leaves out no process
		master, dir := thumbnailTrace(t, soundThumbnail), t.TempDir()
		out, err := format.CreateFile(filepath.Join(dir, "y.otf"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Abort()
		loss, err := Shrink(t.Context(), format.FileSource(master), nil, func(p uint64) bool { return p != process }, out,
			&format.WriteOptions{})
		if err == nil {
			err = out.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
		if rows := loss.Rows(); len(rows) != want || want == 1 && rows[0].Field != "thumbnail" {
			t.Errorf("without process %d: got the losses %v, want %d", process, rows, want)
		}
		b, err := os.ReadFile(filepath.Join(dir, "y.thumb"))
		if want == 0 && string(b) != soundThumbnail || want == 1 && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without process %d: got the thumbnail %q and %v", process, b, err)
		}
	}
}
