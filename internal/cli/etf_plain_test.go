package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
)

// TestLossOfPlainTRACE checks that --plain counts what only weft's own data keep: that calls have no end, and the part
// of the epoch below a millisecond. Claims of TRACE without an end cannot come from a TRACE file.
func TestLossOfPlainTRACE(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open.trf")
	const text = "-3 7 0.1 0 0 0\n-3 8 0.2 0 0 0\n-4 8 0.3 0 0 0\n-3 9 0.4 1 0 0\n-2 9 0.5 0 0 0\n"
	if err := os.WriteFile(open, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	const epoch = "../../format/otf2/testdata/ok/rma/traces.otf2" // begins 1795548485.653762328 s after 1970
	for _, x := range []struct {
		in, kind, field string
		plain           bool
		want            int64
	}{
		{open, "enter", "", true, 2},
		{open, "enter", "", false, 0},
		{epoch, "clock", "epoch", true, 1},
		{epoch, "clock", "epoch", false, 0},
	} {
		args := []string{"convert", "-q", "--json", "--allow-loss", "--force", x.in, filepath.Join(dir, "x.etf")}
		if x.plain {
			args = append(args, "--plain")
		}
		var rows []format.LossRow
		if err := json.Unmarshal([]byte(weft(t, 0, args...)), &rows); err != nil {
			t.Fatal(err)
		}
		count := int64(0)
		for _, r := range rows {
			if r.Kind == x.kind && r.Field == x.field && r.How == format.Degraded {
				count += r.Count
			}
		}
		if count != x.want {
			t.Errorf("%q: counted %d, expected %d", args, count, x.want)
		}
	}
}
