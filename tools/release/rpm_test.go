package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRPM installs the RPM package in an empty system, runs the program, and removes the package.
func TestRPM(t *testing.T) {
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip("rpm is not installed")
	}
	if !runs() {
		t.Skipf("programs for %s do not run here", testPlatform)
	}
	if os.Getuid() != 0 {
		t.Skip("rpm --root needs root")
	}
	system, name := t.TempDir(), onlyFile(t, "*.rpm")
	rpm := func(args ...string) string {
		t.Helper()
		return mustRun(t, exec.Command("rpm", append([]string{"--root=" + system}, args...)...))
	}
	got := mustRun(t, exec.Command("rpm", "-qp", "--qf", "%{VERSION} %{LICENSE} %{BUILDTIME} %{BUILDHOST}", name))
	if want := "1.2.3~rc.1 Apache-2.0 AND BSD-3-Clause AND MIT AND Unlicense 1700000000 localhost"; got != want {
		t.Errorf("rpm -q prints %q, expected %q", got, want)
	}
	rpm("--initdb")
	rpm("--install", "--nodeps", name)
	rpm("--verify", "weft")
	program := filepath.Join(system, "usr/bin/weft")
	if got := mustRun(t, exec.Command(program, "version")); !strings.HasPrefix(got, "weft "+testVersion+" ") {
		t.Errorf("weft version prints %q", got)
	}
	for _, path := range []string{
		"share/man/man1/weft.1.gz", "share/licenses/weft/LICENSE", "share/zsh/site-functions/_weft",
	} {
		if _, err := os.Stat(filepath.Join(system, "usr", path)); err != nil {
			t.Error(err)
		}
	}
	rpm("--erase", "weft")
	left := slices.DeleteFunc(installedPaths(t, system), func(path string) bool {
		info, err := os.Stat(filepath.Join(system, path))
		return err == nil && info.IsDir() || strings.Contains(path, "/.rpmdb/") // folders of the system stay
	})
	if len(left) > 0 {
		t.Errorf("rpm --erase leaves %v", left)
	}
}
