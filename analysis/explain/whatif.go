package explain

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/analysis/internal/retime"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/internal/wildcard"
)

// whatIf returns the changes of regions for weft path --what-if that change all times as the functions Scale and At of
// opt do. It returns "" if there are no such changes: the argument of weft path names regions and locations. It names
// neither call paths nor the time outside of all regions. If opt has WithoutLocks, it must not have other changes.
func (ex *explainer) whatIf(opt retime.Options) string {
	if opt.Start != nil || opt.WithoutLocks && slices.Contains(ex.regions, criticalpath.Locks) {
		return ""
	}
	if opt.WithoutLocks {
		return criticalpath.Locks + "=0"
	}
	factors := map[string]map[uint32]float64{} // by region and location
	for at := range ex.own {
		f := 1.0
		if opt.Scale != nil {
			f = opt.Scale(at.Path)
		}
		if opt.At != nil {
			f *= opt.At(at.Path, at.Location)
		}
		if at.Path == synclog.NoPath {
			if f != 1 {
				return ""
			}
			continue
		}
		name := ex.regions[ex.h.Log.Paths[at.Path].Region]
		if factors[name] == nil {
			factors[name] = map[uint32]float64{}
		}
		if other, known := factors[name][at.Location]; known && other != f {
			return ""
		}
		factors[name][at.Location] = f
	}
	var list []string
	add := func(name string, f float64) {
		list = append(list, name+"="+strconv.FormatFloat(f, 'g', -1, 64))
	}
	for _, name := range slices.Sorted(maps.Keys(factors)) {
		byLocation := factors[name]
		locations := slices.Sorted(maps.Keys(byLocation))
		first := byLocation[locations[0]]
		differ := slices.ContainsFunc(locations, func(loc uint32) bool { return byLocation[loc] != first })
		if !differ {
			if first != 1 {
				add(name, first)
			}
			continue
		}
		for _, loc := range locations {
			if f := byLocation[loc]; f != 1 {
				if !ex.isUnique(ex.names[loc]) {
					return ""
				}
				add(name+"@"+ex.names[loc], f)
			}
		}
	}
	// A name may have commas or blanks with which the command splits the argument in another way.
	all := strings.Join(list, ",")
	bad := func(s string) bool {
		return s != strings.TrimSpace(s) || strings.HasPrefix(s, criticalpath.Communication+"=") ||
			strings.HasPrefix(s, criticalpath.Communication+"@")
	}
	split, err := wildcard.SplitNames(all)
	if err != nil || !slices.Equal(split, list) || slices.ContainsFunc(list, bad) {
		return ""
	}
	return all
}

// isUnique reports whether the command finds exactly one location by a full name: not another one with this name or id,
// and not a pattern.
func (ex *explainer) isUnique(name string) bool {
	n := 0
	for i, l := range ex.h.Log.Defs.Locations.All() {
		if l.ID == name || l.Name == name || ex.names[i] == name {
			n++
		}
	}
	return n == 1 && !strings.ContainsAny(name, `*?[\`)
}
