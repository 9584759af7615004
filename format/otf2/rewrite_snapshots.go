package otf2

import (
	"github.com/weft-trace/weft/format"
)

// writeSnapshotsAndThumbnails writes the parts of an archive that repeat its events: the snapshots of
// locations that have kept all events, and the thumbnails if all locations have kept all events.
func (e *encoder) writeSnapshotsAndThumbnails() error {
	o, all := e.original, true
	if o.partOf != nil {
		reason := "the ids of the definitions to which they refer have changed"
		if len(o.parts) == 1 { // the archive was pruned
			reason = "definitions to which they refer may have been removed, or have other ids"
		}
		for _, p := range o.parts {
			a := &p.m.a.Anchor
			e.loss.Add("trace", "snapshots", format.Lost, reason, int64(a.Snapshots)*int64(len(p.m.locations)))
			e.loss.Add("trace", "thumbnails", format.Lost, reason, int64(a.Thumbnails))
		}
		return nil
	}
	m := o.parts[0].m
	shifted := e.defs.Retimed || o.clocks > 0
	dropped := int64(0)
	for _, id := range m.locations {
		w, there := e.w.locations[id]
		if whole := !shifted && there && w.Count == m.eventCount(id) || !there && m.eventCount(id) == 0; !whole {
			all, dropped = false, dropped+int64(m.a.Anchor.Snapshots)
			continue
		}
		if m.a.Anchor.Snapshots == 0 {
			continue
		}
		if err := e.writeSnapshots(id); err != nil {
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
	return m.eachThumbnail(func(k int, r *Record) error {
		e.renameTexts(r)
		return e.w.Thumbnail(k, r)
	})
}

// writeSnapshots writes the snapshots of a location except for damaged records.
func (e *encoder) writeSnapshots(id uint64) error {
	return e.original.parts[0].m.eachSnapshot(id, func(x *Event) error {
		if int(x.ID) >= len(snapshotTypes) || snapshotTypes[x.ID].name == "" {
			return nil
		}
		return e.w.Snapshots(id).Write(x)
	})
}
