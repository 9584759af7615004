package otf2

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
)

// Copy copies all files of an archive unchanged, because their contents do not depend on its name.
// It reports the files that a reader of the archive expects and that are missing.
func (Format) Copy(ctx context.Context, src format.Source, ro *format.ReadOptions, dst *format.Output,
	wo *format.WriteOptions) (*format.Loss, error) {
	if err := about.CheckOptions(wo.Values); err != nil {
		return nil, err
	}
	if wo.Value(likeOption, likeWeft) != likeWeft {
		return nil, format.ErrUnsupported // the archive is written anew
	}
	a, err := openArchive(src, ro)
	if err != nil {
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
		if locationFile.MatchString(e.Name()) {
			files[a.name+"/"+e.Name()] = filepath.Join(w.folder, "locations", e.Name())
		}
	}
	for from, to := range files {
		if err := archive.Copy(ctx, src, from, from, to); err != nil && !archive.IsMissing(err) {
			return nil, err
		}
	}
	if _, err := os.Stat(w.definitions.path); archive.IsMissing(err) {
		return nil, &missing{Path: a.path + ".def", Err: fs.ErrNotExist}
	}
	if err := a.reportMissingFiles(files, ro); err != nil {
		return nil, err
	}
	f, _, err := src.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, err = io.Copy(dst, f)
	return &format.Loss{}, err
}

// reportMissingFiles reports the files of locations that are not among the given ones.
func (a *Archive) reportMissingFiles(files map[string]string, opt *format.ReadOptions) error {
	ids, err := a.LocationIDs()
	if err := fail(opt, err); err != nil {
		return err
	}
	endings := []string{".evt"}
	if a.Anchor.Snapshots > 0 {
		endings = append(endings, ".snap")
	}
	for _, id := range ids {
		if err := a.requireDefinitions(id, opt); err != nil {
			return err
		}
		for _, ending := range endings {
			name := fmt.Sprintf("/%d%s", id, ending)
			if _, ok := files[a.name+name]; ok {
				continue
			}
			if err := fail(opt, &missing{Path: a.path + name, Err: fs.ErrNotExist}); err != nil {
				return err
			}
		}
	}
	return nil
}
