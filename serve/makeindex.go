package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/serve/cache"
	"github.com/weft-trace/weft/timeline/index"
)

// indexBuild holds the parameters for building an index.
type indexBuild struct {
	settings *ReadSettings
	format   format.Format
	indexes  indexer
	progress func(done, total int64)
	// early is called with the facts that are known before the events are read. It may be nil.
	early func(*earlyFacts)
}

// run builds an index and writes it to path.
func (i *indexBuild) run(ctx context.Context, src format.Source, path string) (f cache.ReadDefects, err error) {
	d, err := i.settings.open(ctx, i.format, src, i.progress)
	if err != nil {
		return f, err
	}
	defer d.Close()
	var early *earlyFacts
	if i.early != nil {
		if early, err = i.reportEarly(ctx, d); err != nil {
			return f, err
		}
	}
	events := configuration{rows: i.settings.rows, only: i.settings.only}.arrangeEvents(d.Events)
	if err := events.Prepare(ctx); err != nil {
		return f, err
	}
	if early != nil && len(early.Tracks) < d.Defs().Locations.Len() {
		more := newEarlyFacts(d.Defs())
		more.Overview = early.Overview
		i.early(more)
	}
	if err := i.indexes.build(ctx, events, path,
		index.Options{Workers: i.settings.Workers, Color: i.settings.Color, Label: i.settings.label}); err != nil {
		return f, err
	}
	return d.defects(), nil
}

// reportEarly calls i.early with the facts that are known before the events are read. It returns the same
// facts. It ignores errors of the summary, because reading the events reports the same defects.
func (i *indexBuild) reportEarly(ctx context.Context, d *reader) (*earlyFacts, error) {
	f := newEarlyFacts(d.Defs())
	i.early(f)
	var o *overview
	if d.Events == format.Events(d.file) { // the times in a summary are not corrected
		if s, err := d.file.Summary(ctx); s != nil && err == nil {
			o = newOverview(d.Defs(), s)
		} else if p, err := d.file.Preview(ctx); p != nil && err == nil {
			o = newPreviewOverview(d.Defs(), p)
		}
	}
	if o != nil {
		early := *f
		early.Overview = o
		f = &early
		i.early(f)
	}
	return f, ctx.Err()
}

// cacheSettings returns the settings on which the index of a trace depends.
func (r *ReadSettings) cacheSettings(f format.Format) *cache.Settings {
	return &cache.Settings{Version: index.Version, Format: f.About().Name, Strict: r.Strict, Values: r.Values,
		Correction: r.CorrectionText, Color: r.Color,
		Label: r.label, Rows: r.rows, Only: r.only}
}

// IndexOptions holds the options of [MakeIndex].
type IndexOptions struct {
	Path     string // path of the index; "" means that the index is in the cache
	Force    bool   // build the index even if it already exists
	Verify   bool   // read an existing index completely, and build it again if it is damaged
	Progress func(done, total int64)
}

// IndexResult describes the index that [MakeIndex] has found or built.
type IndexResult struct {
	Path  string
	Size  int64
	Built bool // false if the index existed before
	// Damage is the error of the damaged index that was replaced, or nil.
	Damage error
	Format format.Format
	cache.ReadDefects
}

// MakeIndex builds the index of a trace unless it exists, in the cache or in a separate file.
func MakeIndex(ctx context.Context, r ReadSettings, c *cache.Cache, src format.Source,
	o IndexOptions) (*IndexResult, error) {
	f := r.Format
	if f == nil {
		var err error
		if f, err = format.Detect(r.Formats, src); err != nil {
			return nil, err
		}
	}
	m := &indexBuild{settings: &r, format: f, indexes: fileIndexer{}, progress: o.Progress}
	if o.Path != "" {
		if isMainFile(src, o.Path) {
			return nil, fmt.Errorf("%s: found the trace itself, expected another file for its index", o.Path)
		}
		if !o.Force {
			if _, err := os.Lstat(o.Path); err == nil && !index.IsIndexFile(o.Path) {
				return nil, fmt.Errorf("%s: found a file that is not an index, expected an index or no file; --force replaces it",
					o.Path)
			}
		}
		found, err := m.runToFile(ctx, src, o.Path)
		if err != nil {
			return nil, err
		}
		st, err := os.Stat(o.Path)
		if err != nil {
			return nil, err
		}
		return &IndexResult{Path: o.Path, Size: st.Size(), Built: true, Format: f, ReadDefects: found}, nil
	}
	settings := r.cacheSettings(f)
	var damage error
	if !o.Force {
		e, ok, err := c.Find(src, settings)
		if err != nil {
			return nil, err
		}
		if ok {
			if damage = m.checkIndex(ctx, e.Path, o.Verify); damage == nil {
				return &IndexResult{Path: e.Path, Size: e.Size, Format: f, ReadDefects: e.ReadDefects}, nil
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			c.Remove(e)
		}
	}
	e, err := c.Build(ctx, src, settings, m.run)
	if err != nil {
		return nil, err
	}
	return &IndexResult{Path: e.Path, Size: e.Size, Built: true, Damage: damage, Format: f,
		ReadDefects: e.ReadDefects}, nil
}

// runToFile builds an index in a separate file, atomically. If path is a symbolic link, runToFile replaces the
// target of the link. A new file gets the permissions of the file that it replaces.
func (i *indexBuild) runToFile(ctx context.Context, src format.Source, path string) (f cache.ReadDefects, err error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
	case st.IsDir():
		return f, fmt.Errorf("%s: found a folder, expected a file for the index", path)
	case !st.Mode().IsRegular():
		return f, fmt.Errorf("%s: found a device or a pipe, expected a file for the index", path)
	default:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return f, err
		}
	}
	cache.Sweep(filepath.Dir(path))
	staging, err := cache.NewStagingDir(filepath.Dir(path))
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return f, fmt.Errorf("%s: cannot create: %w", path, err)
	}
	defer staging.Close()
	temporary := staging.Path("index")
	if f, err = i.run(ctx, src, temporary); err != nil {
		return f, err
	}
	if st != nil {
		os.Chmod(temporary, st.Mode().Perm()) // an error is ignored, because the owner can read the file
	}
	return f, os.Rename(temporary, path)
}

// checkIndex opens an index, and reads all of it if whole is set. It returns an error if the index is
// damaged.
func (i *indexBuild) checkIndex(ctx context.Context, path string, whole bool) error {
	if whole {
		return i.indexes.verify(ctx, path)
	}
	x, err := i.indexes.open(path)
	if err != nil {
		return err
	}
	return x.Close()
}

// isMainFile reports whether path is the main file of a trace.
func isMainFile(src format.Source, path string) bool {
	a, err := fs.Stat(src.FS, src.Name)
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}
