package cli

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/compression"
)

// createOutput creates the output that an argument names; "-" is standard output. Without --force it
// replaces only files that weft wrote and that have not changed since then.
func (a *app) createOutput(arg string) (*format.Output, error) {
	if err := a.checkOtherOutputs(arg, ""); err != nil {
		return nil, err
	}
	if arg == "-" {
		a.outputs = append(a.outputs, arg)
		return format.StreamOutput(a.out), nil
	}
	if st, err := os.Stat(arg); err == nil && st.Mode().IsRegular() {
		if err := a.checkReplaceable(arg); err != nil {
			return nil, err
		}
	}
	out, err := format.CreateFile(arg)
	if err != nil {
		return nil, err
	}
	a.outputs = append(a.outputs, arg)
	out.Guard(func(path string) error {
		if err := a.checkOtherOutputs(path, arg); err != nil {
			return err
		}
		return a.checkReplaceable(path)
	})
	out.AtEnd(func() {
		if out.Names() == nil { // the output was discarded, so its name can be used again
			a.outputs = slices.DeleteFunc(a.outputs, func(name string) bool { return name == arg })
		}
		a.ownFiles.Add(out.Names())
		a.reportLeftovers(arg)
	})
	return out, nil
}

// createText is [app.createOutput] for a single text or picture. It compresses the text if the extension of the name
// demands it.
func (a *app) createText(arg string) (*format.Output, error) {
	ext, pack := compression.WriterFor(arg)
	if ext != "" && pack == nil {
		return nil, usageError("%s: found the extension %s, expected .gz or .zst, with which weft compresses", arg, ext)
	}
	out, err := a.createOutput(arg)
	if err != nil || pack == nil {
		return out, err
	}
	if err := out.Compress(pack); err != nil {
		out.Abort()
		return nil, err
	}
	return out, nil
}

// writeTo writes an output with f. The output becomes visible when it is complete.
func writeTo(out *format.Output, f func(io.Writer) error) error {
	defer out.Abort()
	if err := f(out); err != nil {
		return err
	}
	return out.Commit()
}

// checkNotPacked returns an error if the name of an output demands compression. what is its content, which its
// readers do not uncompress.
func checkNotPacked(arg, what string) error {
	if ext, _ := compression.WriterFor(arg); ext != "" {
		return usageError("%s: found the extension %s, expected another, since %s is not compressed", arg, ext, what)
	}
	return nil
}

// checkReplaceable returns an error for a file or folder that the command reads or that weft did not
// write. It returns nil with --force.
func (a *app) checkReplaceable(path string) error {
	if a.force {
		return nil
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil // nothing exists at the path
	}
	found := a.roleAsInput(st)
	if found == "" && !a.ownFiles.Has(path) {
		found = "a file that weft did not write"
	}
	if found == "" {
		return nil
	}
	return &exitError{exitIO, fmt.Errorf("%s: found %s, expected another name; --force replaces it", path, found)}
}

// defineForceFlag defines --force for a command that writes files.
func (a *app) defineForceFlag(c *cobra.Command) {
	c.Flags().BoolVar(&a.force, "force", false, "also replace files that weft did not write, and input files")
}

// outputFormat returns the format of an output: the format that a flag names, or otherwise the one that
// follows from the output's name.
func (a *app) outputFormat(arg, name, flag string) (format.Format, error) {
	f, ok := (format.Format)(nil), false
	switch {
	case arg == "":
		return nil, usageError("found an empty name, expected that of the file to write")
	case name != "":
		var err error
		if f, err = a.formatNamed(flag, name); err != nil {
			return nil, err
		}
	case arg == "-":
		return nil, usageError("standard output has no name that determines a format; use %s", flag)
	default:
		if f, ok = format.ByExtension(a.formats, compression.PlainName(arg)); !ok {
			return nil, usageError("%s: no format has such names; use %s", arg, flag)
		}
	}
	if arg == "-" && !f.About().SingleText {
		return nil, usageError("a trace of %s has several files and cannot go to standard output", f.About().Title)
	}
	return f, nil
}
