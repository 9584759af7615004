package pallas

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/trace"
)

// TestLetter_5_threads checks that a damaged id of a thread in a trace that weft wrote is reported, and that the other
// threads are read.
func TestLetter_5_threads(t *testing.T) {
	for _, x := range []struct {
		name  string
		id    uint32 // of the first thread
		found string
	}{
		{"sound", 0, ""},
		{"no such location", 256, "thread 256"},
		{"twice", 1, "thread 1 twice"},
	} {
		path := writeGenerated(t, generate.Options{Workload: "ring", Locations: 2, Events: 100})
		files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "archive_*", "archive.pallas"))
		if err != nil || len(files) != 1 {
			t.Fatalf("found the archives %q, %v", files, err)
		}
		b, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		locations := le32(le64(nil, 2), 0) // two of them, and the id of the first one
		at := bytes.LastIndex(b, locations)
		if at < 0 {
			t.Fatal("found no list of two locations")
		}
		copy(b[at+8:], le32(nil, x.id))
		if err := os.WriteFile(files[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
		opt := &format.ReadOptions{Report: format.NewReport()}
		d, err := (Format{}).Open(t.Context(), format.FileSource(path), opt)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		defer d.Close()
		var second int // events of the second location
		if err := d.Scan(t.Context(), trace.Everything(), format.PerLocation, format.SinkFuncs{
			OnBatch: func(b *trace.Batch) error {
				if b.Loc == 1 {
					second += b.Len()
				}
				return nil
			}}); err != nil {
			t.Fatal(err)
		}
		var found, want []string
		for _, r := range opt.Report.Rules() {
			if r.Rule == "pallas.carried" {
				found = append(found, fmt.Sprintf("%s: %s", r.First[0].Position.File, r.First[0].Found))
			}
		}
		if x.found != "" {
			want = []string{fmt.Sprintf("%s: %s", files[0], x.found)}
		}
		if second == 0 || !slices.Equal(found, want) {
			t.Errorf("%s: found %d events of the second location and %q, expected some and %q", x.name, second, found, want)
		}
	}
}
