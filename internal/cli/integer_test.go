package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestWholeNumbers checks every integer flag of every command: values outside of its range are
// rejected in one sentence before a trace is read. For counts that may be 0, the help text states
// that 0 stands for all, or for the value without the flag.
func TestWholeNumbers(t *testing.T) {
	const none = -1
	type bounds struct{ least, most int64 }
	ranges := map[string]bounds{
		"jobs": {1, none}, "top": {0, none}, "places": {1, none}, "events": {1, none}, "locations": {0, none},
		"threads": {0, none}, "finding": {1, 10},
		"seed": {0, none}, "bins": {0, 1_000_000}, "count": {1, 1 << 20}, "files": {1, none}, "level": {1, 9},
		"max-rows": {1, none}, "width": {280, 32768}, "scale": {1, 8}, "limit": {0, none}, "depth": {1, none},
		"max-depth": {0, none}, "port": {0, 65535}, "worst": {0, 1_000_000}, "pieces": {0, 1_000_000},
		"least": {1, none}, "most": {1, none},
		"violations": {0, none}, "stragglers": {0, none}, "anomalies": {0, none},
	}
	root := Command()
	seen := map[string]bool{}
	for _, c := range withSubcommands(root.Commands()) {
		if !c.Runnable() {
			continue
		}
		c.InheritedFlags() // adds the inherited flags to c.Flags
		c.Flags().VisitAll(func(f *pflag.Flag) {
			b, ok := ranges[f.Name]
			if number := strings.Contains(f.Value.Type(), "int"); !ok || !number && f.Name != "files" {
				if number {
					t.Errorf("%s --%s: found no range in the table", c.CommandPath(), f.Name)
				}
				return
			}
			seen[f.Name] = true
			values := map[string]bool{"x": false, "1.5": false, "": false, fmt.Sprint(b.least - 1): false, "-9": false,
				fmt.Sprint(b.least): true}
			if b.most != none {
				values[fmt.Sprint(b.most+1)], values[fmt.Sprint(b.most)] = false, true
			}
			for value, good := range values {
				args := append(strings.Fields(c.CommandPath())[1:], "--"+f.Name, value, "nosuch/trace.otf", "nosuch/out.svg")
				var out, errs bytes.Buffer
				code := Main(args, strings.NewReader(""), &out, &errs)
				refused := strings.HasPrefix(errs.String(), fmt.Sprintf("weft: --%s %s: expected %d ", f.Name, value, b.least))
				if refused == good || !good && (code != exitUsage || out.Len() > 0) {
					t.Errorf("%v: found exit code %d and %q, expected the number refused: %t", args, code, errs.String(), !good)
				}
			}
		})
	}
	for name := range ranges {
		if !seen[name] {
			t.Errorf("--%s: found it in no command", name)
		}
	}
}
