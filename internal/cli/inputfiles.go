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

// inputFile is a file that a command reads. It can stand for all files of a trace.
type inputFile struct {
	path string
	what string // description for messages
	// files returns the files of a trace. It is nil for a file that does not belong to a trace.
	files func() []format.TraceFile
}

// addInput records that a command reads the trace named by an argument.
func (a *app) addInput(ctx context.Context, arg string, in *input) {
	a.inputs = append(a.inputs, inputFile{arg, "the trace that is read",
		sync.OnceValue(func() []format.TraceFile { return a.traceFiles(ctx, in) })})
}

// traceFiles returns the files of a trace, or nil if the trace cannot be opened.
func (a *app) traceFiles(ctx context.Context, in *input) []format.TraceFile {
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

// markInputFlag marks a flag whose value is the name of a file that is read.
func markInputFlag(f *pflag.FlagSet, name string) { f.SetAnnotation(name, inputFlag, nil) }

// inputFlag is the annotation of flags that name a file to read.
const inputFlag = "weft_reads"

// addInputFlags records the files that the flags name.
func (a *app) addInputFlags(f *pflag.FlagSet) {
	f.Visit(func(x *pflag.Flag) {
		if _, ok := x.Annotations[inputFlag]; ok {
			a.inputs = append(a.inputs, inputFile{path: x.Value.String(), what: "the file of --" + x.Name})
		}
	})
}

// roleAsInput returns a description of the input to which a file belongs, or of the input that a folder
// contains. It returns "" if the command does not read it.
func (a *app) roleAsInput(st os.FileInfo) string {
	for _, r := range a.inputs {
		if containsFile(st, r.path) {
			return r.what
		}
	}
	for _, r := range a.inputs {
		if r.files == nil {
			continue
		}
		for _, f := range r.files() {
			if containsFile(st, f.Path) {
				return "a file of " + r.what
			}
		}
	}
	return ""
}

// checkOtherOutputs returns an error if a path is already an output of the command, or a folder that contains
// an output. The path need not exist. The output named by the parameter but is ignored.
func (a *app) checkOtherOutputs(path, but string) error {
	path = resolvePath(path)
	for _, out := range a.outputs {
		full := resolvePath(out)
		if out != but && (full == path || strings.HasPrefix(full, path+string(filepath.Separator))) {
			return usageError("%s: found the name of two outputs, expected a name for each", out)
		}
	}
	return nil
}

// resolvePath returns the absolute path of a file with links resolved. If the file does not exist, it
// resolves the links of its folder. "-" stays as it is.
func resolvePath(path string) string {
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

// containsFile reports whether st describes the file at a path or a folder that contains it.
func containsFile(st os.FileInfo, path string) bool {
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
