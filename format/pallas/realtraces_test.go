package pallas

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// folders returns the folders of the real traces: the traces of the project and, if they exist, the traces
// beside the specifications.
func folders(t testing.TB) []string {
	t.Helper()
	var l []string
	patterns := []string{"testdata/ok/*", "../../../shared/traces/pallas/*"}
	switch {
	case effort.Race:
		patterns = []string{"testdata/ok/a*"} // the codecs are tested in one goroutine
	case testing.Short():
		patterns = patterns[:1]
	}
	for _, pattern := range patterns {
		m, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range m {
			// Pallas' writer crashed with some settings and left no trace.
			if x, _ := filepath.Glob(filepath.Join(dir, "trace", "*.pallas")); len(x) > 0 {
				l = append(l, dir)
			}
		}
	}
	return l
}

// mainFile returns the main file of a trace.
func mainFile(t testing.TB, dir string) string {
	t.Helper()
	l, err := filepath.Glob(filepath.Join(dir, "trace", "*.pallas"))
	if err != nil || len(l) != 1 {
		t.Fatalf("%s: %v, %v", dir, l, err)
	}
	return l[0]
}

// unzip returns a compressed text.
func unzip(t testing.TB, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// threadText returns the events of a thread in the form of truth.txt.
func threadText(t testing.TB, th *Thread) []string {
	t.Helper()
	lists := make([]map[uint64]string, len(th.Events))
	for i := range th.Events {
		e := &th.Events[i]
		for b := e.attributes; len(b) > 0; {
			l, rest, ok := nextList(b)
			if !ok {
				t.Fatalf("thread %d: event %d has damaged attributes", th.ID, i)
			}
			if lists[i] == nil {
				lists[i] = map[uint64]string{}
			}
			lists[i][uint64(l.occurrence)] = " A" + hex.EncodeToString(l.body)
			b = rest
		}
	}
	seen := make([]uint64, len(th.Events))
	var l []string
	if err := th.Replay(context.Background(), func(events []uint32, times []uint64) error {
		for i, e := range events {
			x := &th.Events[e]
			payload := hex.EncodeToString(x.Payload)
			if payload == "" {
				payload = "-"
			}
			l = append(l, fmt.Sprintf("%d %d %d %s%s", th.ID, times[i], x.Record, payload, lists[e][seen[e]]))
			seen[e]++
		}
		return nil
	}); err != nil {
		t.Fatalf("thread %d: %v", th.ID, err)
	}
	return l
}

// TestTruth checks that real traces are read as they were recorded: order, times, records,
// payloads and attributes. Lossy codecs may change times by their error.
func TestTruth(t *testing.T) {
	dirs := folders(t)
	if len(dirs) == 0 {
		t.Fatal("no traces")
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			tr, err := Open(format.FileSource(mainFile(t, dir)))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string][]string{}
			for s := bufio.NewScanner(strings.NewReader(unzip(t, filepath.Join(dir, "truth.txt.gz")))); s.Scan(); {
				id, _, _ := strings.Cut(s.Text(), " ")
				want[id] = append(want[id], s.Text())
			}
			for _, th := range threads(t, mainFile(t, dir)) {
				id := fmt.Sprint(th.ID)
				compare(t, threadText(t, th), want[id], tr.Compression, th)
				delete(want, id)
			}
			for id, l := range want {
				t.Errorf("thread %s is missing: %d events", id, len(l))
			}
		})
	}
}

func compare(t *testing.T, got, want []string, c Compression, th *Thread) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("thread %d: %d events, want %d", th.ID, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] == want[i] {
			continue
		}
		if c.Lossy() {
			var id, a, b uint64
			var x, y string
			fmt.Sscanf(got[i], "%d %d %s", &id, &a, &x)
			fmt.Sscanf(want[i], "%d %d %s", &id, &b, &y)
			_, restA, _ := strings.Cut(strings.TrimPrefix(got[i], fmt.Sprint(id, " ")), " ")
			_, restB, _ := strings.Cut(strings.TrimPrefix(want[i], fmt.Sprint(id, " ")), " ")
			if restA == restB && max(a, b)-min(a, b) <= lossOf(th, c) {
				continue
			}
		}
		t.Fatalf("thread %d: event %d is\n%s, want\n%s", th.ID, i, got[i], want[i])
	}
}

// lossOf returns the amount by which a codec may change a time: a step of the widest block for histograms, and
// the largest error that was observed for zfp.
func lossOf(th *Thread, c Compression) uint64 {
	if c == ZFP {
		return 2
	}
	width, last := uint64(0), uint64(0)
	for i := range th.Events {
		for _, b := range th.Events[i].Timestamps.Blocks {
			width, last = max(width, b.Last-b.First), max(last, b.Last)
		}
	}
	return width/255 + 2 + last>>52 // conversions to floating-point numbers round large times
}

// TestCompat checks that print --compat prints the same text as pallas_print -T, and the whole trace if the
// tool crashes.
func TestCompat(t *testing.T) {
	effort.Sequential(t)
	for _, dir := range folders(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			want := ""
			if _, err := os.Stat(filepath.Join(dir, "print_T.txt.gz")); err == nil {
				want = unzip(t, filepath.Join(dir, "print_T.txt.gz"))
			}
			var got bytes.Buffer
			if err := (Format{}).Compat(context.Background(), format.FileSource(mainFile(t, dir)), &format.ReadOptions{},
				format.Printing{Selection: trace.Everything()}, &got); err != nil {
				t.Fatal(err)
			}
			events := strings.Count(unzip(t, filepath.Join(dir, "truth.txt.gz")), "\n")
			titles := strings.Count(got.String(), "Timestamp\n")
			if lines := strings.Count(got.String(), "\n"); lines != events+titles {
				t.Errorf("%d lines for %d events of %d threads", lines, events, titles)
			}
			if got.String() == want || strings.HasPrefix(got.String(), want) && strings.Count(want, "\n") < events+titles {
				return
			}
			// A thread without events makes the tool crash in the middle of the output.
			if strings.HasSuffix(filepath.Base(dir), "empty_thread") {
				return
			}
			t.Error("the text differs")
		})
	}
}
