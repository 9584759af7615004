package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLeftovers checks that a command reports the temporary files that a killed process has left beside its output,
// that it does not report those of a running process or of another output, and that it removes none.
func TestLeftovers(t *testing.T) {
	ended := exec.Command(os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, pid int) string {
		name = fmt.Sprintf(name, pid)
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	old, running := ended.Process.Pid, os.Getpid()
	write(".w.etf.%d.9.tmp", running)
	write(".w.w.etf.%d.0.tmp", old)
	write(".w.etf.%d.txt", old)
	for _, x := range []struct {
		output string
		found  []string
	}{
		{"x.otf", []string{write(".x.1.events.%d.tmp", old), write(".x.a.def.z.%d.tmp", old),
			write(".x.otf.%d.0.tmp", old)}},
		{"y.otf2", []string{write(".y.%d.123.tmp", old), write(".y.otf2.%d.0.tmp", old), write(".y.def.%d.0.old", old)}},
		{"z.etf", []string{write(".z.etf.%d.0.tmp", old), write(".z.etf.%d.0.old", old)}},
		{"w.etf", nil},
	} {
		code, out, errText := runWeft(t, "convert", "--allow-loss", "../../format/etf/testdata/ok/doc-examples.etf",
			filepath.Join(dir, x.output))
		if code != 0 {
			t.Fatalf("%s: exit %d, %s%s", x.output, code, out, errText)
		}
		for _, name := range x.found {
			if !strings.Contains(errText, name) {
				t.Errorf("%s: found %q, expected %s in it", x.output, errText, name)
			}
			if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
		if says := strings.Contains(errText, "was killed"); says != (len(x.found) > 0) {
			t.Errorf("%s: found %q", x.output, errText)
		}
	}
}
