package trace

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Rows maps regions to rows: regions with the same name, file and line form one row, since some
// recorders define a region anew in each process. The first region of a row represents it. Regions
// without a name are rows of their own. Rows may be used while definitions are added, and by
// several goroutines. A nil Rows has one row per region.
type Rows struct {
	defs    *Definitions
	mu      sync.Mutex
	first   map[place]uint32
	rowOf   atomic.Pointer[[]uint32] // the row of each region
	several atomic.Bool              // whether any row has several regions
}

// place is the key of a row: what its regions have in common.
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

// table returns the row of each defined region.
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

// Of returns the row of a region. An undefined region is a row of its own.
func (r *Rows) Of(region uint32) uint32 {
	if r == nil {
		return region
	}
	if l := r.table(); int64(region) < int64(len(l)) {
		return l[region]
	}
	return region
}

// Map returns the rows of some regions. It stores them in *buf, which it may grow, or returns the
// regions themselves where each region is a row.
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

// Regions returns the regions of each row that has several, in the order of the definitions.
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

// IDs returns the ids of the regions of each row that has several.
func (r *Rows) IDs() map[uint32][]string {
	ids := map[uint32][]string{}
	for row, list := range r.Regions() {
		for _, region := range list {
			ids[row] = append(ids[row], r.defs.Regions.At(region).ID)
		}
	}
	return ids
}

// Groups returns the groups of the regions of each row that has several regions as one text: each group once, in
// the order of the definitions.
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

// RegionNames returns the displayed names of all regions. If several rows have a name, it is
// followed by the place in the source, or by the id if rows is nil, which has one row per region.
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

// Place returns the place of a region in the source as a text.
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
