package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/weft-trace/weft/analysis/diff"
	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/cube"
	"github.com/weft-trace/weft/cube/tracecube"
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
