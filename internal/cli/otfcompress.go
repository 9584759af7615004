package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// changedFile is a file in the JSON of weft otf compress and decompress (docs/json/otf.md).
type changedFile struct {
	From       string `json:"from"`
	To         string `json:"to"`
	Size       int64  `json:"size"`
	SizeBefore int64  `json:"sizeBefore"`
}

// otfCompressCommand returns the command weft otf compress.
func (a *app) otfCompressCommand() *cobra.Command {
	level := 4
	c := a.otfReplaceCommand(&cobra.Command{
		Use:   "compress TRACE...",
		Short: "Compress the files of a trace in place",
		Long: `Compress the files of OTF 1 traces in place, except their master files. An argument can
also be a single file of a trace. weft appends ".z" to the name of each file. The text is
kept byte for byte, and reading can start at each 10 kB of it. weft removes a file only when
its compressed copy is complete.`,
		Example: "  weft otf compress trace.otf\n  weft otf compress --level 9 --keep trace.1.events",
	}, false, &level)
	c.Flags().Var(newInteger(&level, level, 1, 9), "level", "compression level, from 1 (fastest) to 9 (smallest)")
	return c
}

// otfDecompressCommand returns the command weft otf decompress.
func (a *app) otfDecompressCommand() *cobra.Command {
	return a.otfReplaceCommand(&cobra.Command{
		Use:   "decompress TRACE...",
		Short: "Decompress the files of a trace in place",
		Long: `Decompress the files of OTF 1 traces in place. An argument can also be a single file of a
trace. weft removes ".z" from the name of each file. A damaged or incomplete file stays
unchanged, and the exit code is 1; with --keep, weft writes the readable part of the file.`,
		Example: "  weft otf decompress trace.otf\n  weft otf decompress --keep trace.1.events.z",
	}, true, new(int))
}

// otfReplaceCommand completes a command that compresses or decompresses.
func (a *app) otfReplaceCommand(c *cobra.Command, inflate bool, level *int) *cobra.Command {
	var keep, asJSON bool
	c.Args = someArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		var files []string
		for _, arg := range args {
			l, err := a.otfFiles(c.Context(), arg, inflate)
			if err != nil {
				return err
			}
			files = append(files, l...)
		}
		done, err := a.replaceFiles(c.Context(), files, inflate,
			otf.Compression{Level: *level, Keep: keep, Workers: a.workers})
		if asJSON {
			return errors.Join(a.writeJSON(a.out, done), err)
		}
		for _, x := range done {
			printf(a.out, "%s -> %s: %d -> %s\n", x.From, x.To, x.SizeBefore, plural.Of(x.Size, "byte"))
		}
		if len(files) == 0 {
			fmt.Fprintln(a.out, "Nothing to do.")
		}
		return err
	}
	c.Flags().BoolVarP(&keep, "keep", "k", false, "keep the original files")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	a.defineForceFlag(c)
	return c
}

// otfFiles returns the compressed or the uncompressed files that an argument names. If the argument names the
// master file, these are files of the trace; otherwise it is the named file itself.
func (a *app) otfFiles(ctx context.Context, arg string, compressed bool) ([]string, error) {
	if ok, z := otf.IsPartName(arg); ok {
		if z != compressed {
			return nil, usageError("%s: found %s file, expected %s one", arg,
				map[bool]string{true: "a compressed", false: "a plain"}[z],
				map[bool]string{true: "a compressed", false: "a plain"}[compressed])
		}
		return []string{arg}, nil
	}
	r, err := otf.Open(ctx, format.FileSource(strings.TrimSuffix(arg, ".otf")+".otf"),
		&otf.Options{Read: &format.ReadOptions{Report: a.newReport(&inputFlags{})}})
	if errors.Is(err, fs.ErrNotExist) {
		if _, e := os.Stat(arg); e == nil && !strings.HasSuffix(arg, ".otf") {
			return nil, usageError("%s: found a file name that is not of OTF, expected a file of a trace, or a master file", arg)
		}
	}
	if err != nil {
		return nil, err
	}
	all, err := r.NeededFiles()
	if err != nil {
		return nil, err
	}
	var list []string
	for _, f := range all {
		if f.Compressed == compressed {
			list = append(list, f.Path)
		}
	}
	return list, nil
}

// replaceFiles compresses or decompresses files. After a defect of a file it continues with the next file;
// any other error ends it.
func (a *app) replaceFiles(ctx context.Context, files []string, inflate bool, opt otf.Compression) ([]changedFile,
	error) {
	verb, replace := "compressing", otf.CompressFile
	if inflate {
		verb, replace = "decompressing", otf.DecompressFile
	}
	done := []changedFile{}
	var bad error
	for _, path := range files {
		to := path + ".z"
		if inflate {
			to = strings.TrimSuffix(path, ".z")
		}
		st, err := os.Stat(path)
		if err == nil {
			err = a.checkReplaceable(to)
		}
		if err != nil {
			return done, err
		}
		bar := a.newBar(verb + " " + path)
		opt.Progress = func(read int64) { bar.setProgress(read, st.Size()) }
		size, err := replace(ctx, path, opt)
		bar.remove()
		var d *trace.Defect
		if errors.As(err, &d) {
			fmt.Fprintln(a.err, plain(d.Error()))
			bad = &exitError{code: exitDefects}
			if !opt.Keep {
				continue
			}
		} else if err != nil {
			return done, err
		}
		a.ownFiles.Add([]string{to})
		done = append(done, changedFile{path, to, size, st.Size()})
	}
	return done, bad
}
