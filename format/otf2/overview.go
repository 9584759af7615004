package otf2

import (
	"context"
	"fmt"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
)

// Overview lists the files of the archive that exist and counts the global definitions by type.
func (d *decoder) Overview(context.Context) (*format.Overview, error) {
	files, err := d.files()
	if err != nil {
		return nil, err
	}
	records, err := d.definitionRecords()
	return &format.Overview{Files: files, Definitions: records, Snapshots: int64(d.a.Anchor.Snapshots),
		Thumbnails: int64(d.a.Anchor.Thumbnails)}, err
}

func (d *decoder) files() ([]format.TraceFile, error) {
	endings := []string{".def", ".marker"}
	for _, id := range d.locations {
		endings = append(endings, fmt.Sprintf("/%d.def", id), fmt.Sprintf("/%d.evt", id), fmt.Sprintf("/%d.snap", id))
	}
	thumbnails, err := d.a.thumbnailFiles()
	if err != nil {
		return nil, err
	}
	return archive.Files(d.a.src, d.a.name, d.a.path, append(endings, thumbnails...))
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
	quiet := *d.opt // the decoder has already reported damaged records
	quiet.Report, quiet.Strict = nil, false
	return out, reportDefect(&quiet, err)
}
