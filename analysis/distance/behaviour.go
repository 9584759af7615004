package distance

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Behaviours holds the classes of the objects of a trace. All objects of a class have equal graphs.
type Behaviours struct {
	Objects int64 `json:"objects"`
	Claims  int64 `json:"claims"`
	// Classes lists the classes by their number of objects, the rarest first. Classes of equal size are
	// in the order of their first objects.
	Classes []Class `json:"classes"`
}

// Class is a class of objects whose distance from each other is 0.
type Class struct {
	Objects        int64    `json:"objects"`
	Representative string   `json:"representative"` // the first object
	Names          []string `json:"names"`          // names of the first objects of the class
	Claims         int64    `json:"claims"`         // number of claims of each object
	// Usual is the distance from the class with the most objects. Difference compares a representative of that
	// class (First) with the representative of this class (Second).
	Usual      int64       `json:"usual"`
	Difference *Difference `json:"difference"`
	// Nearest is the index of the class with the least distance from this class, and Distance is that
	// distance. Nearest is nil if there are more than MostCompared classes, or only one.
	Nearest  *int  `json:"nearest"`
	Distance int64 `json:"distance"`
}

// MostCompared is the greatest number of classes for which all pairs of classes are compared.
const MostCompared = 100

// class is a class of objects together with the graph of its claims.
type class struct {
	Class
	graph *graph
	first int // number of the first object of the class
}

// Classify finds the classes of the objects of a set. Objects without claims, such as iterations without calls, form a
// class, too. Each list of names or differences in the result has
// at most most elements; 0 means no limit. The error is [ErrTooManyDifferences].
//
// For n claims, the time is proportional to n log n, plus n for each of at most MostCompared classes, plus
// the number of differences in the result. The memory is 36 bytes for each claim, and up to 28 more for
// each claim of one object of each class.
func Classify(s *Set, most int) (*Behaviours, error) {
	order := make([]int32, len(s.Claims))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(s.Claims[a].Object, s.Claims[b].Object) })
	labels := make([]uint32, len(s.Labels))
	for i := range labels {
		labels[i] = uint32(i)
	}
	b := &builder{counts: make([]uint32, len(labels))}
	c := newComparer(s.Labels, most)
	h := &hasher{rand.Uint64(), rand.Uint64(), rand.Uint64(), nil}
	known := map[uint64][]*class{}
	var classes []*class
	var list []Claim
	r := &Behaviours{Claims: int64(len(s.Claims)), Classes: []Class{}}
	i := 0
	for object := range s.Objects {
		list = list[:0]
		for ; i < len(order) && int(s.Claims[order[i]].Object) == object; i++ {
			list = append(list, s.Claims[order[i]])
		}
		r.Objects++
		g := b.build(list, labels)
		key := h.hash(g)
		at := slices.IndexFunc(known[key], func(k *class) bool { return c.equal(g, k.graph) })
		if at < 0 {
			k := &class{graph: g.clone(), first: object}
			k.Representative, k.Claims, k.Names = s.Objects[object], int64(len(list)), []string{}
			at = len(known[key])
			known[key] = append(known[key], k)
			classes = append(classes, k)
		}
		k := known[key][at]
		if k.Objects++; most == 0 || len(k.Names) < most {
			k.Names = append(k.Names, s.Objects[object])
		}
	}
	slices.SortFunc(classes, func(a, b *class) int {
		return cmp.Or(cmp.Compare(a.Objects, b.Objects), cmp.Compare(a.first, b.first))
	})
	if err := compareClasses(classes, c); err != nil {
		return nil, err
	}
	for _, k := range classes {
		r.Classes = append(r.Classes, k.Class)
	}
	return r, nil
}

// compareClasses sets the distances of classes, which are sorted by their number of objects.
func compareClasses(classes []*class, c *comparer) error {
	if len(classes) == 0 {
		return nil
	}
	usual := classes[len(classes)-1]
	for i := len(classes) - 2; i >= 0 && classes[i].Objects == usual.Objects; i-- {
		usual = classes[i] // if several classes have equally many objects, the class whose first object comes first
	}
	c.setReference(usual.graph)
	for _, k := range classes {
		var err error
		if k.Difference, err = c.difference(k.graph); err != nil {
			return err
		}
		k.Usual, k.Nearest = k.Difference.Distance, nil
	}
	if len(classes) > MostCompared {
		return nil
	}
	nearest := func(k *class, i int, d int64) {
		if k.Nearest == nil || d < k.Distance {
			k.Nearest, k.Distance = &i, d
		}
	}
	for i, k := range classes {
		c.setReference(k.graph)
		for j, o := range classes[:i] {
			d := c.distance(o.graph)
			nearest(k, j, d)
			nearest(o, i, d)
		}
	}
	return nil
}
