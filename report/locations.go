package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/trace"
)

// A straggler is a location whose work is at least stragglerRatio times the mean work of all
// locations, and exceeds this mean by at least stragglerMinShare of the duration.
const (
	stragglerRatio    = 1.1
	stragglerMinShare = 0.01
)

// worker is a location in which a region was open. Its work is the exclusive time, in ticks, of the
// regions for which Waits returns false, without the waits in them.
type worker struct {
	*profile.Location
	work int64
}

// workers lists the locations in which a region was open, in the order of the report.
type workers []worker

// workers returns the locations in which a region was open, with their work.
func (r *Report) workers() (l workers) {
	definitions := map[uint32][]profile.Region{}
	for _, d := range r.Definitions {
		definitions[d.Location] = d.Regions
	}
	waits := r.waitsAtWork()
	for i := range r.Locations {
		w := worker{&r.Locations[i], -waits[r.Locations[i].Location].Int64()}
		list := w.Regions
		if r.Definitions != nil {
			list = definitions[w.Location.Location]
		}
		for k := range list {
			if x := &list[k]; !r.Waits(x.Region) {
				w.work += x.Exclusive.Int64()
			}
		}
		if w.Covered > 0 {
			l = append(l, w)
		}
	}
	return l
}

// waitsAtWork returns for each location the time of its waits in regions for which Waits returns false, such as
// barriers of threads and critical sections.
func (r *Report) waitsAtWork() map[uint32]trace.Ticks {
	sums := map[uint32]trace.Ticks{}
	if r.WaitStates == nil {
		return sums
	}
	list := r.Definitions
	if list == nil {
		list = r.Locations
	}
	work := map[string]bool{} // by the name of a region
	for i := range list {
		for k := range list[i].Regions {
			x := &list[i].Regions[k]
			only, seen := work[x.Name]
			work[x.Name] = !r.Waits(x.Region) && (only || !seen)
		}
	}
	for i := range r.WaitStates.Patterns {
		p := &r.WaitStates.Patterns[i]
		if p.PartOf != "" {
			continue
		}
		for k := range p.PathLocations {
			x := &p.PathLocations[k]
			if len(x.Path) > 0 && x.Location != nil && work[x.Path[len(x.Path)-1]] {
				sums[*x.Location] = sums[*x.Location].Plus(x.Time)
			}
		}
	}
	return sums
}

// maxAndMean returns the greatest and the mean work.
func (l workers) maxAndMean() (most int64, mean float64) {
	for _, w := range l {
		most = max(most, w.work)
		mean += float64(w.work) / float64(len(l))
	}
	return most, mean
}

// locations returns the section about the locations and the stragglers among them.
func (r *Report) locations() section {
	all := r.workers()
	if len(all) == 0 {
		return section{}
	}
	s := section{ID: "locations", Title: "Locations", Hint: "A location is in regions while any region is open. " +
		"Work is the part of this time outside of regions that communicate, synchronise or wait, without waits for threads " +
		"and locks."}
	length := r.length()
	covered, work := spread{}, spread{}
	for _, w := range all {
		covered.add(w.Covered)
		work.add(w.work)
	}
	t := table{Head: []column{{Name: plural(int64(len(all)), "location")}, {Name: "min", Number: true},
		{Name: "mean", Number: true}, {Name: "max", Number: true}, {Name: "mean / max", Number: true}}}
	row := func(what string, p *spread) []cell {
		return []cell{{Text: what}, r.time(p.least), r.mean(p.sum, p.n), r.time(p.most),
			{Text: meanPercentOfMax(p), Number: true}}
	}
	share := func(n int64) cell { return cell{Text: percent(float64(n), float64(length)), Number: true} }
	t.Rows = [][]cell{row("in regions", &covered),
		{{Text: "in regions, of the duration"}, share(covered.least),
			{Text: percentOf(covered.mean() / float64(max(1, length))), Number: true}, share(covered.most), {}},
		row("work", &work)}
	s.Tables = append(s.Tables, t)

	head := []column{{Name: "location"}, {Name: "in regions", Number: true}, {Name: "part", Hint: "part of the duration"},
		{Name: "work", Number: true},
		{Name: "to mean", Hint: "work, and how much more or less than the mean of all", Number: true},
		{Name: "exclusive time by region"}}
	line := func(w worker) []cell {
		return []cell{r.place(w.Location.Location), r.time(w.Covered), bar(float64(w.Covered), float64(length)),
			r.time(w.work),
			deviation(float64(w.work), work.mean()), {Stack: r.barParts(w.Regions, covered.most)}}
	}
	byWork := slices.Clone(all)
	slices.SortStableFunc(byWork, func(a, b worker) int { return cmp.Compare(b.work, a.work) })
	var late workers
	for _, w := range byWork {
		if more := float64(w.work) - work.mean(); len(all) > 1 && more > (stragglerRatio-1)*work.mean() &&
			more >= stragglerMinShare*float64(length) {
			late = append(late, w)
		}
	}
	rule := fmt.Sprintf("A straggler works over %.0f %% longer than the mean of all locations, and by at least %.0f %% "+
		"of the duration, so that others wait for it. ", 100*(stragglerRatio-1), 100*stragglerMinShare)
	if len(late) == 0 {
		s.Remark = rule + "There is none."
	} else {
		s.Remark = rule + fmt.Sprintf("Here %d of %d do.", len(late), len(all))
		t := table{Title: "Stragglers", Head: head}
		for _, w := range late {
			t.Rows = append(t.Rows, line(w))
		}
		s.table(t, maxStragglers)
	}
	t = table{Title: "All locations", Head: head}
	list := all
	if len(all) > maxLocations {
		t.Title = fmt.Sprintf("The %d locations with most work, and the %d with least", endsShown, endsShown)
		list = slices.Concat(byWork[:endsShown], byWork[len(byWork)-endsShown:])
		t.More = fmt.Sprintf("… and %d more between them", len(all)-2*endsShown)
	}
	for _, w := range list {
		t.Rows = append(t.Rows, line(w))
	}
	s.Tables = append(s.Tables, t)
	return s
}

// spread holds the number, minimum, maximum and sum of some times, in ticks.
type spread struct {
	n, least, most int64
	sum            trace.Ticks
}

// add adds the time t, in ticks.
func (s *spread) add(t int64) {
	if s.n == 0 || t < s.least {
		s.least = t
	}
	s.n++
	s.sum.Add(t)
	s.most = max(s.most, t)
}

// meanPercentOfMax formats the mean time as a percentage of the longest time.
func meanPercentOfMax(s *spread) string {
	if s.most <= 0 {
		return "–"
	}
	return percentOf(s.mean() / float64(s.most))
}

// mean returns the mean time, or 0 if no time has been added.
func (s *spread) mean() float64 { return s.sum.Float() / float64(max(1, s.n)) }

// barParts returns the exclusive times of a location's regions as parts of a bar, with the longest time first.
// The length of the bar represents a time of whole ticks. Regions that would be too narrow to be visible are
// left out.
func (r *Report) barParts(list []profile.Region, whole int64) (out []barPart) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b profile.Region) int { return b.Exclusive.Cmp(a.Exclusive) })
	at := 0.0
	for i := range list {
		x := &list[i]
		w := 1000 * x.Exclusive.Float() / float64(max(1, whole))
		if i == stackParts || w < 0.5 {
			break
		}
		text := name(x.Name) + ": " + r.Clock.FormatSum(x.Exclusive)
		out = append(out, barPart{round(at), round(w), r.Color(x.Region), text})
		at += w
	}
	return out
}

// round rounds f to one decimal.
func round(f float64) float64 { return math.Round(f*10) / 10 }
