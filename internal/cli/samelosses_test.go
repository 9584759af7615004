package cli

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
)

// TestSameLosses checks that commands that change nothing state the same losses as weft convert, from each format to
// each other format.
func TestSameLosses(t *testing.T) {
	for _, in := range []string{"otf/testdata/ok/mpi4/mpi4.otf", "otf2/testdata/ok/rma/traces.otf2",
		"pallas/testdata/ok/allrecords/trace/main.pallas", "etf/testdata/ok/feature-coverage.etf",
		"picl/testdata/ok/feature-coverage.trf"} {
		in = filepath.Join("../../format", filepath.FromSlash(in))
		correction := correctionOf(t, in, 0)
		for _, to := range []string{"otf", "otf2", "pallas", "etf", "trf"} {
			if strings.HasSuffix(in, to) {
				continue
			}
			losses := func(command ...string) (rows []format.LossRow) {
				args := append(command, "--allow-loss", "--json", "-q", in, filepath.Join(t.TempDir(), "out."+to))
				text := []byte(weft(t, exitGood, args...))
				var answer struct{ Loss []format.LossRow }
				err := json.Unmarshal(text, &answer)
				if rows = answer.Loss; slices.Contains(command, "convert") {
					err = json.Unmarshal(text, &rows)
				}
				if err != nil {
					t.Fatalf("%v: %v in %s", args, err, text)
				}
				return rows
			}
			want := losses("convert")
			for _, command := range [][]string{{"merge"}, {"cut", "--to", "100%"}, {"filter", "--max-depth", "0"},
				{"convert", "--clock-correction", correction}} {
				if d := gocmp.Diff(want, losses(command...)); d != "" {
					t.Errorf("%s to %s: losses of convert (-) and of %v (+):\n%s", in, to, command, d)
				}
			}
		}
	}
}
