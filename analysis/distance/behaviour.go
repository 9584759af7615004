package distance

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// Behaviours are the classes of objects of a trace. All objects of a class have the same graph.
type Behaviours struct {
	Objects int64 `json:"objects"`
	Claims  int64 `json:"claims"`
	// Classes has the rare ones first, then by their first objects.
	Classes []Class `json:"classes"`
}

// Class is a class of objects whose distance from each other is 0.
type Class struct {
	Objects        int64    `json:"objects"`
	Representative string   `json:"representative"` // the first object
	Names          []string `json:"names"`          // of the first objects
	Claims         int64    `json:"claims"`         // of each object
	// Usual is the distance from the class with the most objects, and Difference has what the representatives
	// of that class (first) and of this one (second) do not have in common.
	Usual      int64       `json:"usual"`
	Difference *Difference `json:"difference"`
	// Nearest is the index of the class with the least distance from this one, and Distance is that
	// distance. Nearest is -1 if there are more than MostCompared classes, or a single one.
	Nearest  int   `json:"nearest"`
	Distance int64 `json:"distance"`
}

// MostCompared is the greatest number of classes of which each is compared with each other.
const MostCompared = 100

// class is a class with its graph.
type class struct {
	Class
	graph graph
	first int // number of the first object
}

// Classify finds the classes of the objects of a set. Lists of names and differences have at most most elements; 0
// means all. The time is proportional to n log n and the edges of the objects' graphs; the memory is 48 bytes
// for each claim, beside the graph of one object of each class. An error is ErrTooManyEdges.
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
	b := &builder{counts: make([]uint32, len(labels)), most: maxEdges}
	seed := maphash.MakeSeed()
	known := map[uint64][]*class{}
	var classes []*class
	var list []Claim
	r := &Behaviours{Claims: int64(len(s.Claims)), Classes: []Class{}}
	for i := 0; i < len(order); {
		object := s.Claims[order[i]].Object
		list = list[:0]
		for ; i < len(order) && s.Claims[order[i]].Object == object; i++ {
			list = append(list, s.Claims[order[i]])
		}
		r.Objects++
		g, err := b.graph(list, labels)
		if err != nil {
			return nil, err
		}
		key := g.hash(seed)
		at := slices.IndexFunc(known[key], func(c *class) bool { return c.graph.equal(g) })
		if at < 0 {
			c := &class{graph: g, first: int(object)}
			c.Representative, c.Claims, c.Names = s.Objects[object], int64(len(list)), []string{}
			at = len(known[key])
			known[key] = append(known[key], c)
			classes = append(classes, c)
		}
		c := known[key][at]
		if c.Objects++; most == 0 || len(c.Names) < most {
			c.Names = append(c.Names, s.Objects[object])
		}
	}
	slices.SortFunc(classes, func(a, b *class) int {
		return cmp.Or(cmp.Compare(a.Objects, b.Objects), cmp.Compare(a.first, b.first))
	})
	compareClasses(classes, s.Labels, most)
	for _, c := range classes {
		r.Classes = append(r.Classes, c.Class)
	}
	return r, nil
}

// compareClasses sets the distances of classes, which are sorted by their number of objects.
func compareClasses(classes []*class, labels []string, most int) {
	if len(classes) == 0 {
		return
	}
	usual := classes[len(classes)-1]
	for i := len(classes) - 2; i >= 0 && classes[i].Objects == usual.Objects; i-- {
		usual = classes[i] // of equally many objects, the class with the first one
	}
	for i, c := range classes {
		c.Difference = difference(usual.graph, c.graph, labels, most)
		c.Usual, c.Nearest = c.Difference.Distance, -1
		if len(classes) > MostCompared {
			continue
		}
		for k, o := range classes {
			if k == i {
				continue
			}
			if d := distance(o.graph, c.graph); c.Nearest < 0 || d < c.Distance {
				c.Nearest, c.Distance = k, d
			}
		}
	}
}

// distance returns the distance of two graphs.
func distance(a, b graph) (n int64) {
	merge(a.nodes, b.nodes, cmp.Compare[nodeID], func(int, nodeID) { n++ })
	merge(a.edges, b.edges, compareEdges, func(int, edgeID) { n++ })
	return n
}

// hash returns the same number for equal graphs.
func (g graph) hash(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	var b [8]byte
	put := func(n nodeID) {
		binary.LittleEndian.PutUint64(b[:], uint64(n))
		h.Write(b[:])
	}
	for _, n := range g.nodes {
		put(n)
	}
	for _, e := range g.edges {
		put(e.from)
		put(e.to)
	}
	return h.Sum64()
}

// equal reports whether two graphs have the same nodes and edges.
func (g graph) equal(o graph) bool {
	return slices.Equal(g.nodes, o.nodes) && slices.Equal(g.edges, o.edges)
}
