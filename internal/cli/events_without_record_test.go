package cli

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGenericEventsInPICL converts a Pallas trace with generic events to PICL. The events are marks of a labelled event
// type, at the times that pallas_print shows, with and without --plain.
func TestGenericEventsInPICL(t *testing.T) {
	const dir = "../../format/pallas/testdata/ok/cfg_ZSTD_Masking/"
	f, err := os.Open(dir + "print_T.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	printed, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^ *(\S+) +init$`).FindAllSubmatch(printed, -1) {
		want = append(want, strings.TrimRight(string(m[1]), "0"))
	}
	if len(want) != 1500 {
		t.Fatalf("pallas_print shows %d generic events, expected 1500", len(want))
	}
	for _, plain := range []string{"--plain=false", "--plain"} {
		path := filepath.Join(t.TempDir(), "x.trf")
		weft(t, 0, "convert", "-q", "--allow-loss", plain, dir+"trace/main.pallas", path)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		label := regexp.MustCompile(`(?m)^-5 (\d{7}) -1\.0* -1 -1 4 0 init$`).FindSubmatch(text)
		if label == nil {
			t.Fatalf("%s: found no label for the event type of generic events", plain)
		}
		var found []string
		for _, m := range regexp.MustCompile(`(?m)^-2 `+string(label[1])+` (\S+) 0 0 0$`).FindAllSubmatch(text, -1) {
			found = append(found, strings.TrimRight(string(m[1]), "0"))
		}
		if a, b := strings.Join(found, " "), strings.Join(want, " "); a != b {
			t.Errorf("%s: found marks at\n%.300s\nexpected\n%.300s", plain, a, b)
		}
		if a, b := weft(t, 0, "print", dir+"trace/main.pallas"), weft(t, 0, "print", path); plain != "--plain" && a != b {
			t.Errorf("weft print shows other events after the conversion")
		}
	}
}

// TestLabelledEventsInPICL converts an archive with events of threads, tasks and locks to PICL, with and without
// --plain. Each is a mark of an event type with the kind as label. The numbers of events are those of otf2-print.
func TestLabelledEventsInPICL(t *testing.T) {
	const archive = "../../format/otf2/testdata/ok/omp/eztrace_log.otf2"
	printed, _ := runTool(t, archive, "otf2-print")
	if printed == nil {
		t.Skip("otf2-print is not installed")
	}
	for _, plain := range []string{"--plain=false", "--plain"} {
		path := filepath.Join(t.TempDir(), "x.trf")
		weft(t, 0, "convert", "-q", "--allow-loss", plain, archive, path)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for record, label := range map[string]string{"THREAD_TASK_SWITCH": "task-switch", "THREAD_TASK_CREATE": "task-create",
			"THREAD_RELEASE_LOCK": "lock-release", "THREAD_ACQUIRE_LOCK": "lock-acquire",
			"THREAD_TEAM_BEGIN": "thread-team-begin", "THREAD_END": "thread-end"} {
			want := len(regexp.MustCompile(`(?m)^`+record+` `).FindAll(printed, -1))
			m := regexp.MustCompile(`(?m)^-5 (\d+) -1\.0* -1 -1 \d+ 0 ` + label + `$`).FindSubmatch(text)
			if m == nil {
				t.Errorf("%s: found no label %s", plain, label)
				continue
			}
			if n := strings.Count(string(text), "\n-2 "+string(m[1])+" "); n != want || n == 0 {
				t.Errorf("%s: found %d marks %s, expected the %d of otf2-print", plain, n, label, want)
			}
		}
		// otf2-print shows this switch with the generation number 2.
		if !regexp.MustCompile(`(?m)^-2 \d+ 0.007837167 0 0 3 2 -1 0 2$`).Match(text) {
			t.Errorf("%s: found no switch to task 2 of thread 0 at 7.837167 ms", plain)
		}
	}
}

// TestPlainTexts converts generic events and comments with --plain. They become parameters of OTF2, and generic events
// become comments of OTF, with their texts. The loss table counts them as degraded.
func TestPlainTexts(t *testing.T) {
	otf := writeTrace(t, map[string]string{
		".otf":      "1:1\n",
		".0.def":    "DTR3b9aca00\nDP1NM\"p\"\n",
		".1.events": "2\n*1\n#\"half time\"\n",
	})
	const pallas = "../../format/pallas/testdata/ok/cfg_ZSTD_Masking/trace/main.pallas"
	for _, x := range []struct{ from, to, tool, kind, want string }{
		{otf, "x.otf2", "otf2-print", "comment", `PARAMETER_STRING +0 +2 +Parameter: "event" <0>, Value: "half time"`},
		{pallas, "x.otf2", "otf2-print", "generic", `PARAMETER_STRING +0 +5447 +Parameter: "event" <0>, Value: "init"`},
		{pallas, "x.otf", "otfprint", "generic", `5447 EventComment: process 1, comment "generic init"`},
	} {
		out := filepath.Join(t.TempDir(), x.to)
		loss := weft(t, 0, "convert", "-q", "--plain", "--allow-loss", x.from, out)
		if !regexp.MustCompile(`(?m)^` + x.kind + ` +degraded `).MatchString(loss) {
			t.Errorf("%s to %s: found the losses\n%s\nexpected that %s is degraded", x.from, x.to, loss, x.kind)
		}
		if printed, _ := runTool(t, out, x.tool); printed != nil && !regexp.MustCompile(x.want).Match(printed) {
			t.Errorf("%s to %s: %s shows no %s", x.from, x.to, x.tool, x.want)
		}
	}
}
