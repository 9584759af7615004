package otf2

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/weft-trace/weft/format"
)

// Overview lists the anchor file and all others of the archive that are there, and counts the
// global definitions by type.
func (d *decoder) Overview(context.Context) (*format.Overview, error) {
	files, err := d.files()
	if err != nil {
		return nil, err
	}
	records, err := d.definitionRecords()
	return &format.Overview{Files: files, Definitions: records}, err
}

func (d *decoder) files() ([]format.TraceFile, error) {
	endings := []string{".otf2", ".def", ".marker"}
	for _, id := range d.locations {
		endings = append(endings, fmt.Sprintf("/%d.def", id), fmt.Sprintf("/%d.evt", id), fmt.Sprintf("/%d.snap", id))
	}
	thumbnails, err := d.a.thumbnailFiles()
	if err != nil {
		return nil, err
	}
	endings = append(endings, thumbnails...)
	var l []format.TraceFile
	for i, ending := range endings {
		file, path := d.a.name+ending, d.a.path+ending
		if i == 0 {
			file, path = d.a.src.Name, d.a.src.Path
		}
		st, err := fs.Stat(d.a.src.FS, file)
		if isMissing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		l = append(l, format.TraceFile{Path: path, Size: st.Size()})
	}
	return l, nil
}

func (d *decoder) definitionRecords() ([]format.DefinitionRecords, error) {
	var n [len(definitionTypes)]int64
	err := d.a.Definitions(func(_ int64, r *Record) error {
		if int(r.ID) < len(n) {
			n[r.ID]++
		}
		return nil
	})
	var out []format.DefinitionRecords
	for id, count := range n {
		if name := definitionTypes[id].name; count > 0 && name != "" {
			out = append(out, format.DefinitionRecords{Type: name, Count: count})
		}
	}
	return out, fail(d.opt, err)
}
