package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// build returns the program for a platform. The program is linked statically, and contains neither
// debugging tables, nor paths of this machine, nor a build ID.
func (src *source) build(ctx context.Context, p platform) ([]byte, error) {
	dir, err := os.MkdirTemp("", "weft-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, p.program())
	const variables = mainModule + "/internal/cli."
	link := strings.Join([]string{
		"-s -w -buildid=",
		"-X " + variables + "releaseVersion=" + src.version,
		"-X " + variables + "releaseCommit=" + src.commit,
		"-X " + variables + "releaseDate=" + src.time.Format(time.RFC3339),
	}, " ")
	c := src.goCommand(ctx, p, "build", "-trimpath", "-buildvcs=false", "-pgo="+src.pgo, "-ldflags", link,
		"-o", name, "./cmd/weft")
	if _, err := output(c); err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}

// goCommand returns a go command that runs in the main module. It ignores settings of the user that
// would change the compiled program.
func (src *source) goCommand(ctx context.Context, p platform, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = src.root
	c.Env = append(os.Environ(), "PWD="+src.root, "GOOS="+p.os, "GOARCH="+p.arch, "CGO_ENABLED=0",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFLAGS=", "GOWORK=off")
	return c
}
