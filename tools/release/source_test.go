package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSource checks that commit and time are those of Git's latest commit, and that
// SOURCE_DATE_EPOCH takes precedence.
func TestSource(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Setenv("SOURCE_DATE_EPOCH", "")
	dir := t.TempDir()
	find := func(version string) (*source, error) { return findSource(t.Context(), dir, version) }
	if _, err := find("1.2.3"); !errors.Is(err, errUsage) {
		t.Errorf("without a repository: got %v, expected that the time is asked for", err)
	}
	inGit := func(args ...string) string {
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a"}, args...)...)
		c.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2020-02-03T04:05:06+01:00")
		return mustRun(t, c)
	}
	inGit("init", "-q")
	inGit("commit", "-q", "--allow-empty", "-m", "first")
	head := inGit("rev-parse", "HEAD")[:40]
	src, err := find("v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	want := time.Date(2020, 2, 3, 3, 5, 6, 0, time.UTC)
	if src.version != "1.2.3" || src.commit != head || !src.time.Equal(want) {
		t.Errorf("got %s %s %s, want 1.2.3 %s %s", src.version, src.commit, src.time, head, want)
	}
	if err := src.checkUnchanged(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "new.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := src.checkUnchanged(t.Context()); err == nil || !strings.Contains(err.Error(), head+"-dirty") {
		t.Errorf("with a file that appeared during the build: got %v, expected an error", err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	if src, err = find("1.2.3"); err != nil {
		t.Fatal(err)
	}
	if src.commit != head+"-dirty" || src.time.Unix() != 86400 {
		t.Errorf("with a new file: got %s %s", src.commit, src.time)
	}
	for _, version := range []string{"1.2", "1.2.3 rc", "latest"} {
		if _, err := find(version); !errors.Is(err, errUsage) {
			t.Errorf("version %q: got %v, expected a usage error", version, err)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if _, err := find("1.2.3"); !errors.Is(err, errUsage) {
		t.Errorf("SOURCE_DATE_EPOCH=yesterday: got %v, expected a usage error", err)
	}
}
