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

// mostWhatIf is the greatest length of Finding.WhatIf that fits in a page of text.
const mostWhatIf = 240

// Command returns the command of weft that computes the gain, without the trace. It returns "" if WhatIf is empty, or
// longer than 240 bytes.
func (f *Finding) Command() string {
	if f.WhatIf == "" || len(f.WhatIf) > mostWhatIf {
		return ""
	}
	return "weft path --what-if '" + strings.ReplaceAll(f.WhatIf, "'", `'\''`) + "'"
}

// whatIf returns the changes for weft path --what-if that change all times as the functions Scale, At and Start of opt
// do. It returns "" if no argument of weft path names the regions and locations. If opt has WithoutLocks, it must not
// have other changes.
func (ex *explainer) whatIf(opt retime.Options) string {
	if opt.WithoutLocks {
		if slices.Contains(ex.regions, criticalpath.Locks) {
			return ""
		}
		return criticalpath.Locks + "=0"
	}
	factors := map[uint32]map[uint32]float64{} // by path and location
	for at := range ex.own {
		f := 1.0
		if opt.Scale != nil {
			f = opt.Scale(at.Path)
		}
		if opt.At != nil {
			f *= opt.At(at.Path, at.Location)
		}
		if factors[at.Path] == nil {
			factors[at.Path] = map[uint32]float64{}
		}
		factors[at.Path][at.Location] = f
	}
	subjects := map[string]map[uint32]float64{}
	all := map[string]bool{} // the argument has all factors of these subjects, also 1
	for name, paths := range ex.pathsByName() {
		if merged, ok := merge(paths, factors); ok {
			subjects[name] = merged
			continue
		}
		others := ex.othersThanOutermost(paths)
		for _, p := range paths {
			if factors[p] != nil {
				subjects[ex.pathName(p)] = factors[p]
				all[ex.pathName(p)] = slices.Contains(others, p)
			}
		}
	}
	if f := factors[synclog.NoPath]; f != nil {
		for loc := range f {
			start := 1.0
			if opt.Start != nil {
				start = opt.Start(loc)
			}
			if start != f[loc] && ex.times.Start(loc) > 0 {
				return ""
			}
		}
		subjects[ex.outsideName()] = f
	}
	var list []string
	for _, subject := range slices.Sorted(maps.Keys(subjects)) {
		terms, ok := ex.factorTerms(subject, subjects[subject], all[subject])
		if !ok {
			return ""
		}
		list = append(list, terms...)
	}
	return joinChanges(list)
}

// pathsByName returns the paths by the name of their last region. The name is "" for regions that the trace does not
// define.
func (ex *explainer) pathsByName() map[string][]uint32 {
	byName := map[string][]uint32{}
	for p := range uint32(len(ex.h.Log.Paths)) {
		name, _ := ex.h.Log.RegionName(p, ex.regions)
		byName[name] = append(byName[name], p)
	}
	return byName
}

// othersThanOutermost returns the longer ones of the paths that end in the same region, if there is also the path that
// consists only of this region. The name of that path is also the name of the region, whose change applies to all of
// the paths that have none of their own.
func (ex *explainer) othersThanOutermost(paths []uint32) []uint32 {
	isOutermost := func(p uint32) bool { return len(ex.h.Log.PathNames(p, ex.regions)) == 1 }
	if !slices.ContainsFunc(paths, isOutermost) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(paths), isOutermost)
}

// merge returns the factors by location of all paths in a list. ok is false if the factors of some paths differ.
func merge(paths []uint32, factors map[uint32]map[uint32]float64) (all map[uint32]float64, ok bool) {
	all = map[uint32]float64{}
	for _, p := range paths {
		for loc, f := range factors[p] {
			if other, known := all[loc]; known && other != f {
				return nil, false
			}
			all[loc] = f
		}
	}
	return all, true
}

// factorTerms returns the changes of a region, a call path or the time outside of all regions: those with the factor 1
// only if all is set. ok is false if they cannot be written.
func (ex *explainer) factorTerms(subject string, byLocation map[uint32]float64, all bool) (terms []string, ok bool) {
	locations := slices.Sorted(maps.Keys(byLocation))
	if len(locations) == 0 {
		return nil, true
	}
	first := byLocation[locations[0]]
	differ := slices.ContainsFunc(locations, func(loc uint32) bool { return byLocation[loc] != first })
	for _, loc := range locations {
		f := byLocation[loc]
		if f == 1 && !all {
			continue
		}
		value := strconv.FormatFloat(f, 'g', -1, 64)
		if !ex.canName(subject) || differ && !ex.isUnique(ex.names[loc]) {
			return nil, false
		}
		if !differ {
			return []string{subject + "=" + value}, true
		}
		terms = append(terms, subject+"@"+ex.names[loc]+"="+value)
	}
	return terms, true
}

// whatIfWord returns the changes for weft path --what-if that give a path other times at some locations, or at all
// locations if the list is empty. It returns "" if they cannot be written.
func (ex *explainer) whatIfWord(path uint32, locations []uint32, word criticalpath.Target) string {
	subject := ex.outsideName()
	var list []string
	if path != synclog.NoPath {
		subject, _ = ex.h.Log.RegionName(path, ex.regions)
		if paths := ex.pathsByName()[subject]; len(paths) > 1 {
			subject = ex.pathName(path)
			if others := ex.othersThanOutermost(paths); !slices.Contains(others, path) {
				for _, p := range others {
					list = append(list, ex.pathName(p)+"=1")
				}
			}
		}
	}
	if !ex.canName(subject) {
		return ""
	}
	if len(locations) == 0 {
		return joinChanges(append(list, subject+"="+string(word)))
	}
	for _, loc := range slices.Sorted(slices.Values(locations)) {
		if !ex.isUnique(ex.locationName(loc)) {
			return ""
		}
		list = append(list, subject+"@"+ex.locationName(loc)+"="+string(word))
	}
	return joinChanges(list)
}

// pathName returns the name of a call path as the argument of weft path has it.
func (ex *explainer) pathName(path uint32) string {
	return strings.Join(ex.h.Log.PathNames(path, ex.regions), criticalpath.PathSeparator)
}

// outsideName returns the name for the time outside of all regions, or "" if it means a region.
func (ex *explainer) outsideName() string {
	if slices.Contains(ex.regions, criticalpath.Outside) {
		return ""
	}
	return criticalpath.Outside
}

// canName reports whether the command finds a region, a call path, or the time outside of all regions by its name.
func (ex *explainer) canName(subject string) bool {
	if slices.Contains(ex.regions, subject) {
		return subject != "" && subject != criticalpath.Communication
	}
	parts := strings.Split(subject, criticalpath.PathSeparator)
	return subject == criticalpath.Outside || len(parts) > 1 &&
		!slices.ContainsFunc(parts, func(s string) bool { return !slices.Contains(ex.regions, s) })
}

// joinChanges returns an argument with all changes of a list, in quotes if commas or brackets in names require it. It
// returns "" if a name begins or ends with a blank.
func joinChanges(list []string) string {
	if slices.ContainsFunc(list, func(s string) bool { return s != strings.TrimSpace(s) }) {
		return ""
	}
	all := strings.Join(list, ",")
	if split, err := wildcard.SplitNames(all); err == nil && slices.Equal(split, list) {
		return all
	}
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return strings.Join(quoted, ",")
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
