package check_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/check"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
)

// archive is a trace in memory.
type archive struct {
	fstest.MapFS
	main string // name of the main file
}

// load reads the files of a folder into memory. main is the trace's main file.
func load(t *testing.T, dir, main string) archive {
	t.Helper()
	a := archive{fstest.MapFS{}, main}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".gz") {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		a.MapFS[filepath.ToSlash(rel)] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// withChange returns a copy of the trace in which change(content) replaces the content of the file name. If
// change returns nil, the copy does not have the file.
func (a archive) withChange(t *testing.T, name string, change func([]byte) []byte) archive {
	t.Helper()
	f := a.MapFS[name]
	if f == nil {
		t.Fatalf("no file %s", name)
	}
	out := archive{fstest.MapFS{}, a.main}
	for k, v := range a.MapFS {
		out.MapFS[k] = v
	}
	if b := change(bytes.Clone(f.Data)); b != nil {
		out.MapFS[name] = &fstest.MapFile{Data: b}
	} else {
		delete(out.MapFS, name)
	}
	return out
}

// brokenRules returns the rules that a trace breaks, or the error of reading it. It fails the test
// if one worker and several workers find different ones.
func brokenRules(t *testing.T, a archive) (rules []string, err error) {
	t.Helper()
	var first []format.RuleCount
	for _, workers := range []int{1, 4} {
		opt := &format.ReadOptions{Report: format.NewReport(), Workers: workers}
		if err := checkAll(t, a, opt); err != nil {
			return nil, err
		}
		found := opt.Report.Rules()
		if workers == 1 {
			first = found
		} else if !reflect.DeepEqual(found, first) {
			t.Errorf("%s: %d workers found %v, one %v", a.main, workers, found, first)
		}
	}
	for _, r := range first {
		rules = append(rules, r.Rule)
	}
	return rules, nil
}

// checkAll reports the defects of a trace to opt. For a trace that cannot be opened it reports
// [check.Unreadable].
func checkAll(t *testing.T, a archive, opt *format.ReadOptions) error {
	ctx := context.Background()
	src := format.Source{FS: a.MapFS, Name: a.main, Path: a.main}
	f, err := format.Detect(all.Formats(), src)
	if err != nil {
		return err
	}
	d, err := f.Open(ctx, src, opt)
	if err != nil {
		defect := check.Unreadable(a.main, err)
		if defect.Position.File != a.main || !defect.Position.Binary || defect.Record != "" || defect.Found == "" ||
			defect.Expected == "" {
			t.Errorf("%v: %v", err, defect)
		}
		return opt.Defect(defect)
	}
	defer d.Close()
	if err := check.All(ctx, d, d, a.main, opt); err != nil {
		t.Fatal(err)
	}
	return nil
}

// remove returns no content, so that the file is removed.
func remove([]byte) []byte { return nil }

// half returns the first half of a file.
func half(b []byte) []byte { return b[:len(b)/2] }

// cut returns a function that removes the last n bytes of a file.
func cut(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:len(b)-n] } }

// flip returns a function that flips a bit of the byte at an offset, from the end of the file if it
// is negative.
func flip(at, bit int) func([]byte) []byte {
	return func(b []byte) []byte {
		if at < 0 {
			at += len(b)
		}
		b[at] ^= 1 << bit
		return b
	}
}

// replace returns a function that replaces the first occurrence of a text.
func replace(old, new string) func([]byte) []byte {
	return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) }
}

// TestDamage checks that a rule reports each kind of damage of small real traces.
func TestDamage(t *testing.T) {
	otf2 := load(t, "../format/otf2/testdata/ok/heat2d-mt", "traces.otf2")
	otf := load(t, "../format/otf/testdata/ok/mpi4", "mpi4.otf")
	pallas := load(t, "../format/pallas/testdata/ok/abi18_mpi/trace", "main.pallas")
	picl := load(t, "../format/picl/testdata/ok", "conceptual-ring8.trf")
	etf := load(t, "../format/etf/testdata/ok", "doc-examples.etf")
	for _, x := range []struct {
		trace  archive
		what   string
		file   string
		change func([]byte) []byte
		rule   string // the reported rule, or the beginning of its name
	}{
		{otf2, "missing event file", "traces/1.evt", remove, "otf2.missing-file"},
		{otf2, "missing definitions", "traces.def", remove, "otf2.missing-file"},
		{otf2, "missing local definitions", "traces/1.def", remove, "otf2.missing-definitions"},
		{otf2, "truncated events", "traces/1.evt", half, "otf2.damaged"},
		{otf2, "truncated definitions", "traces.def", half, "otf2.damaged"},
		{otf2, "truncated local definitions", "traces/1.def", half, "otf2.damaged"},
		{otf2, "truncated anchor", "traces.otf2", half, "otf2.damaged"},
		{otf2, "no end-of-file mark", "traces/1.evt", func(b []byte) []byte { return b[:bytes.LastIndexByte(b, 2)] },
			"otf2.damaged"},
		{otf2, "bad magic of the anchor", "traces.otf2", flip(2, 0), "trace.unreadable"},
		{otf2, "bad magic of a chunk", "traces/1.evt", flip(0, 4), "otf2.damaged"},
		{otf2, "a flipped bit in a chunk's header", "traces/1.evt", flip(4, 4), "otf2.chunk-numbers"},
		{otf2, "a time that goes back", "traces/1.evt", flip(2018, 6), "otf2.time-order"},

		{otf, "missing event file", "mpi4.2.events", remove, "otf.missing-file"},
		{otf, "missing definitions", "mpi4.0.def", remove, "otf.undefined"},
		{otf, "truncated events", "mpi4.2.events", half, "otf.no-trailer"},
		{otf, "truncated within a line", "mpi4.2.events", cut(2), "otf.cut-off"},
		{otf, "no end", "mpi4.2.events", func(b []byte) []byte { return b[:bytes.LastIndex(b[:len(b)-4], []byte("\n*"))-3] },
			"otf.no-trailer"},
		{otf, "bad magic", "mpi4.otf", func([]byte) []byte { return []byte("\x7fELF\x02\x01\x01") }, "otf.master"},
		{otf, "a flipped bit in a keyword", "mpi4.2.events", replace("\nE", "\nD"), "otf.unknown-record"},

		{pallas, "missing thread", "archive_1/thread_1/thread.pallas", remove, "pallas.missing-file"},
		{pallas, "missing times", "archive_1/thread_1/event_durations.dat", remove, "pallas.missing-file"},
		{pallas, "missing archive", "archive_1/archive.pallas", remove, "pallas.missing-file"},
		{pallas, "truncated thread", "archive_1/thread_1/thread.pallas", half, "pallas.damaged"},
		{pallas, "truncated times", "archive_1/thread_1/event_durations.dat", half, "pallas.damaged"},
		{pallas, "truncated definitions", "archive_1/archive.pallas", half, "pallas.damaged"},
		{pallas, "bad magic", "main.pallas", flip(0, 7), "trace.unreadable"},
		{pallas, "a flipped bit in times", "archive_1/thread_1/event_durations.dat", flip(40, 5), "pallas."},

		{picl, "truncated", "conceptual-ring8.trf", half, "trace.enter-without-leave"},
		{picl, "truncated within a record", "conceptual-ring8.trf", cut(20), "trace."},
		{picl, "bad magic", "conceptual-ring8.trf", flip(0, 6), "picl."},
		{picl, "a flipped bit in a time", "conceptual-ring8.trf", flip(2000, 6), "picl."},

		{etf, "truncated within a line", "doc-examples.etf",
			func(b []byte) []byte { return b[:bytes.LastIndexByte(b[:len(b)-1], ' ')] }, "etf."},
		{etf, "a resource is missing", "doc-examples.etf", replace("\nR 0", "\n# 0"), "etf.unknown-resource"},
		{etf, "a flipped bit in a keyword", "doc-examples.etf", replace("\nC 0", "\nG 0"), "etf."},
		{etf, "a flipped bit in a number", "doc-examples.etf", replace("\nC 0", "\nC p"), "etf.number"},
	} {
		before, err := brokenRules(t, x.trace)
		if err != nil {
			t.Fatal(err)
		}
		rules, err := brokenRules(t, x.trace.withChange(t, x.file, x.change))
		if err != nil {
			t.Fatalf("%s: %s: %v", x.trace.main, x.what, err)
		}
		named := slices.DeleteFunc(slices.Clone(rules), func(r string) bool { return slices.Contains(before, r) })
		if !slices.ContainsFunc(named, func(r string) bool { return strings.HasPrefix(r, x.rule) }) {
			t.Errorf("%s: %s: found %v, expected %s", x.trace.main, x.what, named, x.rule)
		}
	}
}
