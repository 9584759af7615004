package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/weft-trace/weft/format"
)

// readFile is a file that a command reads, by itself or with others.
type readFile struct {
	path string
	what string // for messages
	// parts are the other files of a trace; nil for a file that stands alone.
	parts func() []format.TraceFile
}

// reads notes that a command reads the trace of this name.
func (a *app) reads(ctx context.Context, arg string, in *input) {
	a.read = append(a.read, readFile{arg, "the trace that is read",
		sync.OnceValue(func() []format.TraceFile { return a.parts(ctx, in) })})
}

// parts are the files of a trace, as far as they can be told.
func (a *app) parts(ctx context.Context, in *input) []format.TraceFile {
	file := in.file
	if file == nil {
		f, err := in.format, error(nil)
		if f == nil {
			f, err = format.Detect(a.formats, in.src)
		}
		opt := &format.ReadOptions{Workers: a.workers}
		if in.opt != nil {
			opt.Values = in.opt.Values
		}
		if err == nil {
			file, err = f.Open(ctx, in.src, opt)
		}
		if err != nil {
			return nil
		}
		defer file.Close()
	}
	o, _ := file.Overview(ctx)
	if o == nil {
		return nil
	}
	return o.Files
}

// readsFile says that the value of a flag is the name of a file that is read.
func readsFile(f *pflag.FlagSet, name string) { f.SetAnnotation(name, readsFlag, nil) }

const readsFlag = "weft_reads"

// readsFlags notes the files that the flags name.
func (a *app) readsFlags(f *pflag.FlagSet) {
	f.Visit(func(x *pflag.Flag) {
		if _, ok := x.Annotations[readsFlag]; ok {
			a.read = append(a.read, readFile{path: x.Value.String(), what: "the file of --" + x.Name})
		}
	})
}

// readAs says what a file is, or has in it if it is a folder, that the command reads; "" for nothing.
func (a *app) readAs(st os.FileInfo) string {
	for _, r := range a.read {
		if isOrHas(st, r.path) {
			return r.what
		}
	}
	for _, r := range a.read {
		if r.parts == nil {
			continue
		}
		for _, f := range r.parts() {
			if isOrHas(st, f.Path) {
				return "a file of " + r.what
			}
		}
	}
	return ""
}

// otherOutput is the error for a file or folder, which need not be there, that is an output of the command already, or
// has one in it. The output of the name but does not count.
func (a *app) otherOutput(path, but string) error {
	path = resolved(path)
	for _, out := range a.outputs {
		if full := resolved(out); out != but && (full == path || strings.HasPrefix(full, path+string(filepath.Separator))) {
			return usageError("%s: found the name of two outputs, expected a name for each", out)
		}
	}
	return nil
}

// resolved is the full name of a file without links, those of its folder if it is not there; "-" stays.
func resolved(path string) string {
	if path == "-" {
		return path
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if x, err := filepath.EvalSymlinks(path); err == nil {
		return x
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// isOrHas reports whether a file is that of a path, or a folder in which that is.
func isOrHas(st os.FileInfo, path string) bool {
	path, err := filepath.Abs(path)
	for err == nil {
		x, e := os.Stat(path)
		if e == nil && os.SameFile(st, x) {
			return true
		}
		if up := filepath.Dir(path); up == path || !st.IsDir() {
			break
		} else {
			path = up
		}
	}
	return false
}
