package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/cube/tracecube"
	"github.com/weft-trace/weft/trace"
)

// defineCubeFlag defines --cube and --force.
func (a *app) defineCubeFlag(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "cube", "",
		"also write the figures by call path and location to this file of Cube (.cubex)")
	a.defineForceFlag(c)
}

// checkCube returns an error if --cube names standard output, because the text goes there, or a compressed file.
func checkCube(file string) error {
	if file == "-" {
		return usageError("--cube -: expected the name of a file, since the text goes to standard output")
	}
	return checkNotPacked(file, "a file of Cube")
}

// writeCube writes the metrics of a trace to a Cube file. It returns an error if the whole trace is selected and
// has no visits of regions.
func (a *app) writeCube(file string, in *input, s *selectionFlags, f *tracecube.Builder) error {
	if f.Empty() && !s.anySet() {
		return &exitError{exitDefects, fmt.Errorf("%s: found no visits of regions, expected some for --cube", in.src.Path)}
	}
	out, err := a.createOutput(file)
	if err != nil {
		return err
	}
	return writeTo(out, f.Cube().Write)
}

// writeProfileCube writes the times and visits of a trace to a file. It does nothing if file is empty.
func (a *app) writeProfileCube(ctx context.Context, file string, in *input, s *selectionFlags, by string) error {
	if file == "" {
		return nil
	}
	sel, err := s.selection(ctx, in)
	if err != nil {
		return err
	}
	_, window := s.selectedBounds(sel)
	f, err := tracecube.New(ctx, in.Events, sel, calltree.Options{Window: window, Rows: rowsBy(in.Defs(), by)})
	if err != nil {
		return err
	}
	return a.writeCube(file, in, s, f)
}

// writeWaitsCube writes the waits of a trace to a Cube file, together with the results of other analyses.
func (a *app) writeWaitsCube(ctx context.Context, flags *waitsFlags, in *input, x *waitsResult, sel trace.Selection,
	opt calltree.Options) error {
	f, err := tracecube.New(ctx, in.Events, sel, opt)
	if err != nil {
		return err
	}
	f.AddWaits(x.Result)
	if x.Causes != nil {
		f.AddCauses(x.Causes)
	}
	if opt.Window == nil && sel.Location == nil { // the critical path is defined for the whole run only
		path, err := criticalpath.Find(ctx, in.Events, criticalpath.Options{Rows: opt.Rows, Paths: true})
		if err != nil {
			return err
		}
		f.AddPath(path)
	}
	return a.writeCube(flags.cubeFile, in, &flags.selection, f)
}
