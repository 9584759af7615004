package otf2

import (
	"github.com/weft-trace/weft/format"
)

// writeSnapshotsAndThumbnails writes the parts of an archive that repeat its events: the snapshots of
// locations that have kept all events, and the thumbnails if all locations have kept all events. In a
// pruned archive, they get the new ids of definitions.
func (e *encoder) writeSnapshotsAndThumbnails() error {
	o := e.original
	if len(o.parts) > 1 {
		const reason = "the ids of the definitions to which they refer have changed"
		for _, p := range o.parts {
			a := &p.m.a.Anchor
			e.loss.Add("trace", "snapshots", format.Lost, reason, int64(a.Snapshots)*int64(len(p.m.locations)))
			e.loss.Add("trace", "thumbnails", format.Lost, reason, int64(a.Thumbnails))
		}
		return nil
	}
	p := o.parts[0]
	return e.copySnapshots(p, e.defs.Retimed || p.retimed || o.clocks > 0, p.m.locations, p.m.eventCount)
}

// copySnapshots writes the snapshots of those locations of an archive that have kept all events, whose numbers count
// returns, and the thumbnails if all locations have. shifted is set if times of events have changed.
func (e *encoder) copySnapshots(p *source, shifted bool, locations []uint64, count func(location uint64) uint64) error {
	m, dropped, all := p.m, int64(0), true
	for _, id := range locations {
		written := p.id(Locations, id)
		w, there := e.w.locations[written]
		if whole := !shifted && there && w.Count == count(id) || !there && count(id) == 0; !whole {
			all, dropped = false, dropped+int64(m.a.Anchor.Snapshots)
			continue
		}
		if m.a.Anchor.Snapshots == 0 || p.index != nil && !there {
			continue
		}
		if err := e.writeSnapshots(p, id, written); err != nil {
			return err
		}
	}
	e.loss.Add("trace", "snapshots", format.Lost,
		"the events that they describe were removed or moved to other times", dropped)
	if !all {
		e.loss.Add("trace", "thumbnails", format.Lost,
			"the events that they describe were removed or moved to other times",
			int64(m.a.Anchor.Thumbnails))
		return nil
	}
	return e.writeThumbnails(p)
}

// copyRestoredSnapshots writes the snapshots and thumbnails that another tool has added to an archive that weft wrote
// and has restored. Only the ids of strings and of classes of metrics may differ in the written archive.
func (e *encoder) copyRestoredSnapshots() error {
	m := e.restored.m
	if m.a.Anchor.Snapshots == 0 && m.a.Anchor.Thumbnails == 0 {
		return nil
	}
	var locations []uint64 // also the lanes, which are no locations of the model
	counts := map[uint64]uint64{}
	err := m.a.Definitions(func(_ int64, r *Record) error {
		if r.ID == defLocation {
			locations = append(locations, r.Values[0])
			counts[r.Values[0]] = r.Values[3]
		}
		return nil
	})
	if err := reportDefect(m.opt, err); err != nil {
		return err
	}
	p := &source{m: m, defs: m.defs, renumber: func(t Table, id uint64) uint64 {
		if t == Strings && id >= firstPooled {
			if text, ok := m.ranks.text(id); ok {
				return e.string(text)
			}
		}
		if t == Metrics && len(m.metrics[id]) > 0 {
			return e.class(m.metrics[id][0])
		}
		return id
	}}
	shifted := e.defs.Retimed || e.base != m.base
	if err := e.copySnapshots(p, shifted, locations, func(id uint64) uint64 { return counts[id] }); err != nil {
		return err
	}
	return e.err
}

// chooseSnapshots decides whether the snapshots and thumbnails of an archive can be copied. If the archive is encoded
// in another layout, or without weft's own attributes, they are left out and counted, because their ranks or their
// ids would be wrong. likeScorep is set if the layout is that of Score-P.
func (e *encoder) chooseSnapshots(native any, likeScorep bool) {
	var m *model
	switch x := native.(type) {
	case *restoredArchive:
		e.rows.Continue(e.defs, x.m.restorer)
		if (x.m.defs.Layout == likeScoreP) == likeScorep && !e.plain {
			e.restored = x
			e.w.Anchor.TraceID = x.m.a.TraceID // otf2-snapshots sets it
			return
		}
		m = x.m
	case *model:
		if !likeScorep {
			return // the archive is rewritten
		}
		m = x
	default:
		return
	}
	e.loss.Add("snapshot", "", format.Recomputed, "repeats what the events hold", int64(m.a.Anchor.Snapshots))
	e.loss.Add("thumbnail", "", format.Recomputed, "repeats what the events hold", int64(m.a.Anchor.Thumbnails))
}

// writeSnapshots writes the snapshots of a location except for damaged records. written is the written id of
// the location.
func (e *encoder) writeSnapshots(p *source, location, written uint64) error {
	to := func(t Table, id uint64) uint64 {
		id = p.id(t, id)
		if e.original != nil && t == Strings {
			e.original.refer(id)
		}
		return id
	}
	return p.m.eachSnapshot(location, func(x *Event) error {
		if int(x.ID) >= len(snapshotTypes) || snapshotTypes[x.ID].name == "" {
			return nil
		}
		x.replaceReferences(&snapshotTypes[x.ID], to)
		return e.w.Snapshots(written).Write(x)
	})
}

// writeThumbnails writes the thumbnails. It leaves out the columns of definitions that are not written.
func (e *encoder) writeThumbnails(p *source) error {
	tables := [...]Table{Regions, Metrics, Attributes} // by the type of the thumbnail
	const headerFields, sampleFields = 5, 2            // the columns follow
	var removed []bool                                 // by column
	return p.m.eachThumbnail(func(k int, r *Record) error {
		e.renameTexts(r)
		if r.ID == thumbnailSample {
			r.removeColumns(sampleFields, removed)
			return e.w.Thumbnail(k, r)
		}
		removed = removed[:0]
		if t := noTable; r.Values[2] < uint64(len(tables)) {
			t = tables[r.Values[2]]
			for i, ref := range r.Values[headerFields:] {
				id := p.id(t, ref)
				removed = append(removed, p.removed[definition{t, ref}])
				if id == undefined32 && id != ref && !removed[i] {
					e.loss.Add("thumbnail", "reference", format.Degraded, "the referenced definition is missing", 1)
				}
				r.Values[headerFields+i] = id
			}
			r.removeColumns(headerFields, removed)
		}
		return e.w.Thumbnail(k, r)
	})
}

// removeColumns removes columns of a record of a thumbnail. The columns follow the given number of fields, of which
// the last one is the number of columns.
func (r *Record) removeColumns(fields int, removed []bool) {
	kept := r.Values[:fields]
	for i, v := range r.Values[fields:] {
		if i >= len(removed) || !removed[i] {
			kept = append(kept, v)
		}
	}
	r.Values = kept
	r.Values[fields-1] = uint64(len(kept) - fields)
}
