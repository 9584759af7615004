package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/diff"
	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/cube"
	"github.com/weft-trace/weft/cube/tracecube"
	"github.com/weft-trace/weft/trace"
)

// isCube reports whether a file is a tar archive, like all Cube files. No trace format is a tar
// archive.
func isCube(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [512]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && string(head[257:262]) == "ustar"
}

// addCubeProfile adds the profile in a Cube file to a side.
func (a *app) addCubeProfile(cmp *diff.Comparison, side diff.Side, path string, s *selectionFlags) (*heading, error) {
	if s.anySet() {
		return nil, usageError("%s: found a file of Cube, expected a trace with --window, --from, --to, --location and "+
			"--group", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	size, err := file.Stat()
	if err != nil {
		return nil, err
	}
	f, err := cube.Open(file, size.Size(), path)
	var bad *cube.Error
	if errors.As(err, &bad) {
		return nil, &exitError{exitDefects, err}
	}
	if err != nil {
		return nil, err
	}
	p, err := tracecube.Profile(f)
	if errors.As(err, &bad) {
		return nil, &exitError{exitDefects, err}
	}
	if err == nil {
		err = cmp.AddProfile(side, p)
	}
	if err != nil {
		return nil, &exitError{exitDefects, fmt.Errorf("%s: %w", path, err)}
	}
	return &heading{path, "cube", info.NewClock(p.Clock)}, nil
}

// addAsCube adds a trace to a side with the call paths that its Cube file would have.
func addAsCube(ctx context.Context, cmp *diff.Comparison, side diff.Side, in *input) error {
	if err := in.Events.Prepare(ctx); err != nil {
		return err
	}
	rows := trace.NewRows(in.Defs())
	b, err := tracecube.New(ctx, in.Events, trace.Events(), calltree.Options{Rows: rows})
	if err != nil {
		return err
	}
	if b.Empty() {
		return cmp.Scan(ctx, side, in.Events, rows)
	}
	var file bytes.Buffer
	if err := b.Cube().Write(&file); err != nil {
		return err
	}
	f, err := cube.Open(bytes.NewReader(file.Bytes()), int64(file.Len()), in.src.Path)
	if err != nil {
		return err
	}
	p, err := tracecube.Profile(f)
	if err != nil {
		return err
	}
	return cmp.AddProfile(side, p)
}
