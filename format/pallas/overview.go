package pallas

import (
	"context"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
)

// Overview lists all files of the trace that exist, and the number of definitions of each type.
func (d *decoder) Overview(context.Context) (*format.Overview, error) {
	var names []string
	for _, a := range d.archives {
		names = append(names, archiveFile(a.ID))
	}
	for _, id := range slices.Concat(d.threads, d.laneThreads) {
		for _, name := range []string{"thread.pallas", "event_durations.dat", "sequence_durations.dat"} {
			names = append(names, threadFolder(id.archive, id.id)+name)
		}
	}
	files, err := archive.Files(d.t.src, d.t.dir, d.t.displayDir, names)
	if err != nil {
		return nil, err
	}
	return &format.Overview{Files: files, Definitions: d.definitionRecords()}, nil
}

func (d *decoder) definitionRecords() []format.DefinitionRecords {
	var n [7]int64
	add := func(x *Definitions) {
		for i, k := range []int{len(x.Strings), len(x.Regions), len(x.Attributes), len(x.Groups), len(x.Comms)} {
			n[i] += int64(k)
		}
	}
	add(d.t.Definitions)
	n[5] = int64(len(d.t.LocationGroups))
	for _, a := range d.archives {
		add(a.Definitions)
		n[6] += int64(len(a.Locations))
	}
	var out []format.DefinitionRecords
	for i, name := range []string{"String", "Region", "Attribute", "Group", "Comm", "LocationGroup", "Location"} {
		if n[i] > 0 {
			out = append(out, format.DefinitionRecords{Type: name, Count: n[i]})
		}
	}
	return out
}
