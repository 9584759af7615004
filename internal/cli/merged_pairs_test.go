package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// TestPairsOfMergedDefinitions merges two traces whose function group and collective operation differ only in their
// key-value pairs. OTF has one group of a name, so that those of the second trace are not written, and the loss table
// counts them. It counts none if the pairs are equal or if the second trace has none.
func TestPairsOfMergedDefinitions(t *testing.T) {
	write := func(group, operation string) string {
		return writeTrace(t, map[string]string{
			".otf": "1:1\n",
			".0.def": "DTR3e8\nDP1NM\"p\"\nDK1Y2NM\"k\"T\"\"\n" + group + "DFG1NM\"G\"\nDF1G1NM\"f\"\n" + operation +
				"DCO1NM\"c\"Y4\n",
			// the process enters and leaves the function
			".1.events": "1\n*1\nE1\n2\n*1\nL1\n",
		})
	}
	for _, c := range []struct {
		group, operation string
		want             int64
	}{
		{"K1Y2V5\n", "K1Y2V7\n", 0},
		{"", "", 0},
		{"K1Y2V6\n", "K1Y2V7\n", 1},
		{"K1Y2V6\n", "K1Y2V8\n", 2},
		{"K1Y1V5\n", "", 1}, // another type of value
	} {
		path := filepath.Join(t.TempDir(), "m.otf")
		code, out, errs := runWeft(t, "merge", "--json", write("K1Y2V5\n", "K1Y2V7\n"), write(c.group, c.operation), path)
		var r struct {
			Loss []format.LossRow `json:"loss"`
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 {
			t.Fatalf("exit %d, %v, %s", code, err, errs)
		}
		var got int64
		for _, x := range r.Loss {
			if x.Kind == "definition" && x.Field == "key-values" {
				got += x.Count
			}
		}
		if got != c.want {
			t.Errorf("%+v: found %d in %s, expected %d", c, got, out, c.want)
		}
		text, _ := runTool(t, path, "otfprint", "--fullkeyvalue")
		for _, want := range []string{`group 1, name "G", KeyValue: 1:5`, `name "c", type ALL2ALL, KeyValue: 1:7`} {
			if text != nil && strings.Count(string(text), want) != 1 {
				t.Errorf("otfprint does not print %s once:\n%s", want, text)
			}
		}
	}
}
