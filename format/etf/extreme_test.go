package etf

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestExtremeTimes checks that times up to the ends of the range are read as they are, and written again without a
// loss.
func TestExtremeTimes(t *testing.T) {
	for _, x := range []struct {
		first, last string
		ticks       [2]int64
	}{
		{"0", "9223372036854775807", [2]int64{0, 9223372036854775807}},
		{"0", "922337203685477580.7", [2]int64{0, 9223372036854775807}},
		{"8500000000000000000", "8500000000000000001", [2]int64{8500000000000000000, 8500000000000000001}},
		{"850000000000000000.1", "850000000000000000.5", [2]int64{8500000000000000001, 8500000000000000005}},
		{"-9223372036854775807", "1", [2]int64{-9223372036854775807, 1}},
		{"-400000000000000000.5", "400000000000000000.5", [2]int64{-4000000000000000005, 4000000000000000005}},
	} {
		text := "TU NANOSECONDS\nE 1 " + x.first + " ; name=a\nE 2 " + x.last + " ; name=b\n"
		in := filepath.Join(t.TempDir(), "in.etf")
		if err := os.WriteFile(in, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		f, err := Format{}.Open(ctx, format.FileSource(in), &format.ReadOptions{Report: format.NewReport()})
		if err != nil {
			t.Fatalf("%s: %v", x.last, err)
		}
		first, last, _, err := f.Extent(ctx)
		if err != nil || first != x.ticks[0] || last != x.ticks[1] {
			t.Errorf("found %d to %d, %v, expected %d to %d", first, last, err, x.ticks[0], x.ticks[1])
		}
		path := filepath.Join(t.TempDir(), "out.etf")
		out, err := format.CreateFile(path)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Format{}.Create(out, &format.WriteOptions{})
		if err == nil {
			err = format.Convert(ctx, f, trace.Everything(), e)
		}
		if err != nil {
			t.Fatalf("%s: %v", x.last, err)
		}
		if rows := e.Loss().Rows(); len(rows) > 0 {
			t.Errorf("%s: found the losses %+v, expected none", x.last, rows)
		}
		if err := out.Commit(); err != nil {
			t.Fatal(err)
		}
		written, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(written, []byte(text)) {
			t.Errorf("found %q, %v, expected %q", written, err, text)
		}
		f.Close()
	}
}
