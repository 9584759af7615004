package otf

import (
	"context"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Overview lists the files of the trace that are read, beginning with the master file. It counts the
// definitions, including those of markers, by type.
func (d *decoder) Overview(ctx context.Context) (*format.Overview, error) {
	files, err := d.fileList()
	if err != nil {
		return nil, err
	}
	records, err := d.definitionRecords(ctx)
	o := &format.Overview{Files: files, Definitions: records}
	if d.r.hasThumbnail() {
		o.Thumbnails = 1
	}
	return o, err
}

func (d *decoder) fileList() ([]format.TraceFile, error) {
	f, size, err := d.r.src.OpenName(d.r.stub + ".otf")
	if err != nil {
		return nil, err
	}
	f.Close()
	out := []format.TraceFile{{Path: d.r.path(d.r.stub + ".otf"), Size: size}}
	l, err := d.r.Files()
	for _, x := range l {
		out = append(out, format.TraceFile{Path: x.Path, Size: x.Size})
	}
	return out, err
}

func (d *decoder) definitionRecords(ctx context.Context) ([]format.DefinitionRecords, error) {
	var all [NumTypes]format.DefinitionRecords
	take := func(r *Record) {
		x := &all[r.Type]
		x.Count++
		switch r.Type {
		case DefFunctionGroup, DefCounterGroup, DefFileGroup, DefSCLFile, DefCollectiveOperation:
			x.Names = append(x.Names, trace.Named{ID: definitionID(r.Stream, r.Token), Name: trace.ToUTF8(r.Name)})
		}
		switch r.Type {
		case DefProcess, DefProcessGroup, DefFunction, DefCounter, DefFile: // the model keeps their pairs
		default:
			for _, v := range r.KeyValues {
				if !d.carried || v.Key > lastKey {
					x.Pairs++
				}
			}
		}
	}
	for r, err := range d.r.withoutReport().records(ctx, Definitions, Markers) {
		if err != nil {
			return nil, err
		}
		take(r)
	}
	var out []format.DefinitionRecords
	for t := range all {
		if typ := Type(t); all[t].Count > 0 && typ != Marker {
			all[t].Type = typ.String()
			out = append(out, all[t])
		}
	}
	return out, nil
}
