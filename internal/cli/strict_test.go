package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestStrictOnce checks that a command which stops at the first defect reports it once, and nothing else.
func TestStrictOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"a.trf": "-3 -21 0.1 0 0 3 2 10 1 1\nfoo bar\n-4 -21 0.2 0 0 0\n-4 -52 x 0 0 0\n",
		"a.etf": "TU SECONDS\nR 1 1 true ; name=r\nC 1 2 x ; name=a\nC 2 3 x ; name=b\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"print"}, {"print", "--json"}, {"print", "--limit", "3"}, {"print", "--raw"},
			{"messages"}, {"messages", "--list"}, {"profile"}, {"info"}, {"check"}, {"states"}, {"comm"}} {
			var out, errs bytes.Buffer
			code := Main(append(args, "--strict", name), strings.NewReader(""), &out, &errs)
			if args[len(args)-1] == "--raw" && code == exitGood {
				continue // the format's text is printed as it is
			}
			text := errs.String()
			if n := strings.Count(text, "\n"); code != exitDefects || n != 1 || !strings.Contains(text, name+":") {
				t.Errorf("%v --strict %s: found exit code %d and %d lines, expected %d and 1:\n%s", args, name, code, n,
					exitDefects, text)
			}
		}
	}
}
