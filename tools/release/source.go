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
	if head, err := git(ctx, root, "log", "-1", "--format=%H %ct"); err == nil {
		commit, committed, _ := strings.Cut(head, " ")
		src.commit = commit
		changed, err := git(ctx, root, "status", "--porcelain")
		if err != nil {
			return nil, err
		}
		if changed != "" {
			src.commit += "-dirty"
		}
		if seconds == "" {
			seconds = committed
		}
	} else if seconds == "" {
		return nil, fmt.Errorf("%w: time of the release: %w; expected SOURCE_DATE_EPOCH to be set there", errUsage, err)
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("%w: SOURCE_DATE_EPOCH: found %q, expected seconds since 1970", errUsage, seconds)
	}
	src.time = time.Unix(n, 0).UTC()
	return src, nil
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
