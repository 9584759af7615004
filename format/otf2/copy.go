package otf2

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/trace"
)

// Copy copies all files of an archive unchanged. This is possible because their contents do not depend on the
// archive's name. Copy reads all files first and reports their defects. If definitions, events or markers are
// damaged, Copy returns format.ErrUnsupported. The caller then encodes the readable parts.
func (Format) Copy(ctx context.Context, src format.Source, ro *format.ReadOptions, dst *format.Output,
	wo *format.WriteOptions) (*format.Loss, error) {
	if err := about.CheckOptions(wo.Values); err != nil {
		return nil, err
	}
	if wo.Value(likeOption, likeWeft) != likeWeft {
		return nil, format.ErrUnsupported // the caller encodes the whole archive
	}
	damaged, err := readAll(ctx, src, ro)
	if err != nil {
		return nil, err
	}
	if damaged {
		return nil, format.ErrUnsupported
	}
	a, err := Open(src)
	if a == nil {
		return nil, err
	}
	w, err := NewWriter(dst, Anchor{})
	if err != nil {
		return nil, err
	}
	files := map[string]string{a.name + ".def": w.definitions.path, a.name + ".marker": w.markers.path}
	thumbnails, err := a.thumbnailFiles()
	if err != nil {
		return nil, err
	}
	for _, ending := range thumbnails {
		files[a.name+ending] = filepath.Join(w.folder, ending[1:])
	}
	entries, err := fs.ReadDir(src.FS, path.Clean(a.name))
	if err != nil && !archive.IsMissing(err) {
		return nil, err
	}
	for _, e := range entries {
		if isLocationFile(e.Name()) {
			files[a.name+"/"+e.Name()] = filepath.Join(w.folder, "locations", e.Name())
		}
	}
	for from, to := range files {
		err := archive.Copy(ctx, src, from, from, to)
		if err != nil && !archive.IsMissing(err) && !errors.Is(err, format.ErrDirectory) {
			return nil, err
		}
	}
	if _, err := os.Stat(w.definitions.path); archive.IsMissing(err) {
		return nil, &trace.Defect{Rule: "otf2.missing-file", Severity: trace.Error,
			Position: trace.Position{File: a.path + ".def"}, Found: "no such file", Expected: "the definitions of the archive"}
	}
	f, _, err := src.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, err = io.Copy(dst, f)
	return &format.Loss{}, err
}

// readAll reads all files of an archive and reports their defects. If definitions, events or markers are damaged, it
// returns true and reports nothing.
func readAll(ctx context.Context, src format.Source, ro *format.ReadOptions) (damaged bool, err error) {
	opt := *ro
	opt.Report = format.NewReport()
	f, err := Format{}.Open(ctx, src, &opt)
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = f.ScanParallel(ctx, trace.Events(), func() func(int) format.Sink {
		return func(int) format.Sink { return format.SinkFuncs{} }
	})
	for _, r := range opt.Report.Rules() {
		damaged = damaged || r.Rule == damagedRule
	}
	if err != nil || damaged {
		return damaged, err
	}
	if ro.Report != nil {
		ro.Report.Merge(opt.Report)
	}
	opt.Report = ro.Report
	return false, f.(*decoder).readStates(ctx)
}

// readStates reads the snapshots and thumbnails, and reports their defects.
func (m *model) readStates(ctx context.Context) error {
	if m.a.Anchor.Snapshots > 0 {
		for _, id := range m.locations {
			err := m.eachSnapshot(id, func(*Event) error { return ctx.Err() })
			if err != nil {
				return err
			}
		}
	}
	return m.eachThumbnail(func(int, *Record) error { return ctx.Err() })
}

// eachThumbnail calls use with each readable record of the thumbnails, and reports the unreadable ones. It
// ends at the first missing file, because the number of thumbnails in the anchor file may be damaged.
func (m *model) eachThumbnail(use func(k int, r *Record) error) error {
	for k := range int(m.a.Anchor.Thumbnails) {
		var failed error
		err := m.a.Thumbnail(k, func(_ int64, r *Record) error {
			if typeByID(thumbnailTypes[:], r.ID) != nil { // skip records of later versions
				failed = use(k, r)
			}
			return failed
		})
		if failed != nil {
			return failed
		}
		if reported := reportDefect(m.opt, err); reported != nil || archive.IsMissing(err) {
			return reported
		}
	}
	return nil
}

// eachSnapshot calls use with each readable record of a location's snapshots, and reports the
// unreadable ones.
func (m *model) eachSnapshot(id uint64, use func(x *Event) error) error {
	s, err := m.a.Snapshots(id)
	if err != nil {
		return reportDefect(m.opt, err)
	}
	defer s.Close()
	for {
		x, err := s.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = use(x)
		} else {
			err = reportDefect(m.opt, err)
		}
		if err != nil {
			return err
		}
	}
}
