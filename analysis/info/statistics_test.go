package info_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/picl"
)

// TestStatisticsRows_2_3_2: the statistics records of an event type at a processor and process are one row, also if
// one record has words in the place of numbers (the descriptor 9 is not defined).
func TestStatisticsRows_2_3_2(t *testing.T) {
	const text = "-3 7 1.0 0 0 0\n-4 7 2.0 0 0 0\n" +
		"-101 -1 3.0 0 0 2 9 7 1.5 8 0.5\n-105 -1 3.0 0 0 2 \"%d%d\" 7 64 8 2\n"
	name := filepath.Join(t.TempDir(), "t.trf")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, src := context.Background(), format.FileSource(name)
	f, err := picl.Format{}.Open(ctx, src, &format.ReadOptions{Report: format.NewReport()})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	trace := info.Trace{File: f, Events: f, Format: picl.Format{}, Source: src, Report: format.NewReport()}
	x, _, err := trace.Describe(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, s := range x.Statistics {
		got += fmt.Sprintln(s.Inside, s.Region, s.RegionName, s.Seconds, s.Volume)
	}
	if want := "-1 7 event 7 1.5 64\n-1 8 event 8 0.5 2\n"; got != want {
		t.Errorf("statistics are\n%s, expected\n%s", got, want)
	}
}
