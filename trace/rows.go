package trace

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Rows groups regions into rows: regions with the same name, file and line are one row, because
// some recorders define a region again for each process. A row is identified by its first region. A
// region without a name has its own row. Rows is safe for concurrent use, also while definitions
// are added. A nil *Rows has a row for each region.
type Rows struct {
	defs    *Definitions
	mu      sync.Mutex
	first   map[place]uint32
	rowOf   atomic.Pointer[[]uint32] // row of each region; indexed by region
	several atomic.Bool              // whether a row has several regions
}

// place is the key of a row: the name, file and line that its regions have in common.
type place struct {
	name, file string
	line       int64
}

// NewRows returns the rows of a trace's regions.
func NewRows(d *Definitions) *Rows {
	r := &Rows{defs: d, first: map[place]uint32{}}
	r.rowOf.Store(new([]uint32))
	return r
}

// table returns the row of each region that has been defined so far.
func (r *Rows) table() []uint32 {
	if l := *r.rowOf.Load(); len(l) == r.defs.Regions.Len() {
		return l
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := *r.rowOf.Load()
	for n := r.defs.Regions.Len(); len(l) < n; {
		i := uint32(len(l))
		x := r.defs.Regions.At(i)
		row, ok := r.first[place{x.Name, x.File, x.Line}]
		switch {
		case x.Name == "":
			row = i
		case ok:
			r.several.Store(true)
		default:
			row = i
			r.first[place{x.Name, x.File, x.Line}] = i
		}
		l = append(l, row)
	}
	r.rowOf.Store(&l)
	return l
}

// Of returns the row of a region. A region that is not defined is a row by itself.
func (r *Rows) Of(region uint32) uint32 {
	if r == nil {
		return region
	}
	if l := r.table(); int64(region) < int64(len(l)) {
		return l[region]
	}
	return region
}

// Map returns the rows of some regions. The result is in *buf, which Map may replace by a larger slice.
// If each region has its own row, the result is regions itself.
func (r *Rows) Map(buf *[]uint32, regions []uint32) []uint32 {
	if r == nil {
		return regions
	}
	l := r.table()
	if !r.several.Load() {
		return regions
	}
	rows := append((*buf)[:0], regions...)
	for i, x := range rows {
		if int64(x) < int64(len(l)) {
			rows[i] = l[x]
		}
	}
	*buf = rows
	return rows
}

// Regions returns, by row, the regions of rows with several regions, in the order of the
// definitions.
func (r *Rows) Regions() map[uint32][]uint32 {
	if r == nil {
		return nil
	}
	l := r.table()
	if !r.several.Load() {
		return nil
	}
	all := map[uint32][]uint32{}
	for region, row := range l {
		if uint32(region) != row {
			if all[row] == nil {
				all[row] = []uint32{row}
			}
			all[row] = append(all[row], uint32(region))
		}
	}
	return all
}

// IDs returns, by row, the ids of the regions of rows with several regions.
func (r *Rows) IDs() map[uint32][]string {
	ids := map[uint32][]string{}
	for row, list := range r.Regions() {
		for _, region := range list {
			ids[row] = append(ids[row], r.defs.Regions.At(region).ID)
		}
	}
	return ids
}

// Groups returns, by row, the groups of the regions of rows with several regions, as a text. Each
// group occurs once, in the order of the definitions.
func (r *Rows) Groups() map[uint32]string {
	all := map[uint32]string{}
	for row, list := range r.Regions() {
		var groups []string
		for _, region := range list {
			if g := r.defs.Regions.At(region).Group; g != "" && !slices.Contains(groups, g) {
				groups = append(groups, g)
			}
		}
		all[row] = strings.Join(groups, ", ")
	}
	return all
}

// RegionNames returns the names of all regions for display. If several rows have the same name, the
// place in the source follows it or, if rows is nil, the id.
func (d *Definitions) RegionNames(rows *Rows) []string {
	list := d.Regions.All()
	count := map[string]int{}
	for i, x := range list {
		if rows.Of(uint32(i)) == uint32(i) {
			count[x.Name]++
		}
	}
	names := make([]string, len(list))
	for i, x := range list {
		switch names[i] = x.Name; {
		case x.Name == "" || count[x.Name] < 2:
		case rows == nil:
			names[i] += " (" + x.ID + ")"
		default:
			names[i] += " (" + x.Place() + ")"
		}
	}
	return names
}

// Place returns file and line of a region's definition as a text, or "no place" if both are
// unknown.
func (r Region) Place() string {
	switch {
	case r.File == "" && r.Line <= 0:
		return "no place"
	case r.File == "":
		return fmt.Sprint("line ", r.Line)
	case r.Line <= 0:
		return r.File
	}
	return fmt.Sprint(r.File, ":", r.Line)
}
