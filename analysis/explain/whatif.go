package explain

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/analysis/internal/retime"
	"github.com/weft-trace/weft/analysis/internal/synclog"
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
	add := func(name string, f float64) (ok bool) {
		list = append(list, name+"="+strconv.FormatFloat(f, 'g', -1, 64))
		return !strings.ContainsAny(name, ",*?[\\")
	}
	for _, name := range slices.Sorted(maps.Keys(factors)) {
		byLocation := factors[name]
		locations := slices.Sorted(maps.Keys(byLocation))
		first := byLocation[locations[0]]
		differ := slices.ContainsFunc(locations, func(loc uint32) bool { return byLocation[loc] != first })
		if !differ && first != 1 && !add(name, first) {
			return ""
		}
		for _, loc := range locations {
			if f := byLocation[loc]; differ && f != 1 && !add(name+"@"+ex.names[loc], f) {
				return ""
			}
		}
	}
	return strings.Join(list, ",")
}
