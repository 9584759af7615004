package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/weft-trace/weft/internal/cli"
)

// mainModule is the path of weft's module.
const mainModule = "github.com/weft-trace/weft"

// source is the source code from which a release is built.
type source struct {
	root    string // folder of the main module
	version string // without the leading v
	commit  string // commit of the sources; "" if unknown
	time    time.Time
	pgo     string // value for the flag -pgo of go build
}

// findSource determines the commit and its time with Git. SOURCE_DATE_EPOCH, in seconds since 1970,
// takes precedence over that time. It is required if the sources are not in a Git repository.
func findSource(ctx context.Context, root, version string) (*source, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if version == "" {
		version = cli.Version
	}
	version = strings.TrimPrefix(version, "v")
	if _, err := semver.StrictNewVersion(version); err != nil {
		return nil, fmt.Errorf("%w: version: found %q, expected one such as 1.2.3 or 1.2.3-rc.1", errUsage, version)
	}
	src := &source{root: root, version: version, pgo: "auto"}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	commit, committed, err := latestCommit(ctx, root)
	if err != nil && seconds == "" {
		return nil, fmt.Errorf("%w: time of the release: %w; expected SOURCE_DATE_EPOCH to be set there", errUsage, err)
	}
	src.commit = commit
	if seconds == "" {
		seconds = committed
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("%w: SOURCE_DATE_EPOCH: found %q, expected seconds since 1970", errUsage, seconds)
	}
	src.time = time.Unix(n, 0).UTC()
	return src, nil
}

// latestCommit returns the latest commit of a Git repository and its time in seconds since 1970. The commit has the
// suffix -dirty if files have changed since.
func latestCommit(ctx context.Context, root string) (commit, seconds string, err error) {
	head, err := git(ctx, root, "log", "-1", "--format=%H %ct")
	if err != nil {
		return "", "", err
	}
	changed, err := git(ctx, root, "status", "--porcelain")
	if err != nil {
		return "", "", err
	}
	commit, seconds, _ = strings.Cut(head, " ")
	if changed != "" {
		commit += "-dirty"
	}
	return commit, seconds, nil
}

// checkUnchanged returns an error if the sources have another commit than at the begin of the build: some programs
// of the release may then have been built from it.
func (s *source) checkUnchanged(ctx context.Context) error {
	commit, _, err := latestCommit(ctx, s.root)
	if err != nil || commit == s.commit { // sources without a repository have no commit to compare
		return nil
	}
	return fmt.Errorf("%s: found commit %s after the build, expected %s as before it", s.root, commit, s.commit)
}

// git runs a Git command in the repository with the top folder root, and returns its output.
func git(ctx context.Context, root string, args ...string) (string, error) {
	// If root is a folder inside of another repository, that repository does not track it.
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		return "", fmt.Errorf("%s is no Git repository", root)
	}
	out, err := output(exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...))
	return strings.TrimSpace(string(out)), err
}

// output runs a program and returns its output. If the program fails, the error contains its error
// messages.
func output(c *exec.Cmd) ([]byte, error) {
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		err = errors.Join(fmt.Errorf("%s: %w", strings.Join(c.Args, " "), err), errors.New(errs.String()))
	}
	return out, err
}
