package serve

import (
	"context"
	"fmt"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/distance"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/internal/wildcard"
	"github.com/weft-trace/weft/trace"
)

// maxDifferences is the largest length of the lists of differences and of names of objects. maxClasses
// is the largest number of classes in an answer. maxClaims is the largest number of claims that
// represent a class.
const (
	maxDifferences = 100
	maxClasses     = 500
	maxClaims      = 500
)

// behaviourAnswer holds the classes of objects in a trace, with the rarest classes first.
type behaviourAnswer struct {
	// Missing is the reason why there are no classes, or "".
	Missing string      `json:"missing"`
	Objects int64       `json:"objects"`
	Claims  int64       `json:"claims"`
	Classes []classFact `json:"classes"`
	Left    int         `json:"left"`  // number of classes that the answer leaves out
	Usual   int         `json:"usual"` // index of the class with the most objects, or -1
}

// classFact is a class of objects with the same order of claims. Usual is its distance from the usual class,
// which has the most objects. Difference compares the usual class (first) with this class (second). Nearest is
// the index of the most similar class, and Distance the distance from that class.
type classFact struct {
	Objects        int64          `json:"objects"`
	Representative string         `json:"representative"`
	Names          []string       `json:"names"`
	Claims         int64          `json:"claims"`
	Usual          int64          `json:"usual"`
	Nearest        int            `json:"nearest"` // -1 if it is unknown
	Distance       int64          `json:"distance"`
	Difference     differenceFact `json:"difference"`
	// Shown holds the first claims of the representative. If it is a visit without claims, Shown holds the visit.
	Shown []claimFact `json:"shown"`
}

// differenceFact holds the differences between two lists of claims. The second list lacks the claims in First,
// and the first list lacks the claims in Second.
type differenceFact struct {
	First  sideFact `json:"first"`
	Second sideFact `json:"second"`
}

// sideFact holds the claims (nodes) and the successions of claims (edges) that only one of two lists has. The
// counts include the claims and successions that the answer leaves out.
type sideFact struct {
	NodeCount int64       `json:"nodeCount"`
	EdgeCount int64       `json:"edgeCount"`
	Nodes     []claimFact `json:"nodes"`
	Edges     []edgeFact  `json:"edges"`
}

// edgeFact is a succession: the claim To follows the claim From.
type edgeFact struct {
	From claimFact `json:"from"`
	To   claimFact `json:"to"`
}

// claimFact is a claim or call: its label, the number of its occurrence, and its place.
type claimFact struct {
	Label string `json:"label"`
	Track int    `json:"track"`
	From  ticks  `json:"from"`
	To    ticks  `json:"to"`
}

// distanceAnswer holds the distance of a trace from a reference.
type distanceAnswer struct {
	// Missing is the reason why there is no distance, or "".
	Missing    string         `json:"missing"`
	Reference  int64          `json:"reference"` // number of claims of the reference
	Claims     int64          `json:"claims"`
	Distance   int64          `json:"distance"`
	Difference differenceFact `json:"difference"`
}

// claimOptions reads the parameters that select claims and their labels.
func (p *params) claimOptions() (opt distance.Options) {
	if s := p.values.Get("label"); s != "" {
		var err error
		if opt.Labels, err = wildcard.SplitNames(s); err != nil {
			p.setError("label", "expected names with commas between them: "+err.Error())
		}
	}
	return opt
}

// readClaims returns the claims in a window of a trace. A nil window stands for the whole trace. If there are
// no claims, missing is the reason. Otherwise missing is "".
func readClaims(ctx context.Context, d *reader, w *trace.Window, opt distance.Options) (s *distance.Set, missing string,
	err error) {
	piece, err := cutWindow(ctx, d, w)
	if err != nil {
		return nil, "", err
	}
	sel := trace.Events()
	sel.NoStates = true
	part, err := analysis.Run(ctx, piece, sel, func() *distance.Part { return distance.New(piece.Defs(), opt) })
	if err != nil {
		return nil, "", err
	}
	if s = part.Result(); len(s.Claims) > 0 {
		return s, "", nil
	}
	switch {
	case opt.Calls:
		missing = "found no calls of regions"
	case opt.By != "":
		missing = fmt.Sprintf("found no claims with the attribute %q", opt.By) + attributeHint(d.Defs(), opt.By)
	default:
		missing = "found no claims; choose calls"
	}
	return s, missing, nil
}

// attributeHint returns a hint that contains the name of an attribute of the trace: the name that is most
// similar to the given name.
func attributeHint(d *trace.Definitions, name string) string {
	var names []string
	for _, x := range d.Attributes.All() {
		names = append(names, x.Name)
	}
	return nearest.Hint(name, names)
}

// behaviours computes the classes of objects, of locations, or of the iterations of a region.
func behaviours(e *entry, p *params) func(context.Context) (any, error) {
	opt := p.claimOptions()
	opt.By = p.values.Get("by")
	opt.Locations = p.choice("locations", "0", "1") == "1"
	region := p.values.Get("iterations")
	opt.Calls = opt.By == ""
	chosen := 0
	for _, given := range []bool{opt.By != "", opt.Locations, region != ""} {
		if given {
			chosen++
		}
	}
	if chosen != 1 {
		p.setError("by", "one of by, locations and iterations")
	}
	window, v := p.selectedWindow(), p.x
	return func(ctx context.Context) (any, error) {
		a := &behaviourAnswer{Classes: []classFact{}, Usual: -1}
		err := e.readers.useReader(ctx, func(d *reader) error {
			if region != "" {
				wanted := regionsNamed(d.Defs(), region)
				if len(wanted) == 0 {
					a.Missing = fmt.Sprintf("found no region %q", region)
					return nil
				}
				opt.Iterations = func(r uint32) bool { return wanted[r] }
			}
			s, missing, err := readClaims(ctx, d, window, opt)
			if a.Missing = missing; err != nil || missing != "" {
				return err
			}
			r, err := distance.Classify(s, maxDifferences)
			if err != nil {
				return err
			}
			a.fill(r, newClaimPlaces(v, d.Defs(), s, opt.Calls))
			return nil
		})
		return a, err
	}
}

// regionsNamed returns the regions with the given name.
func regionsNamed(d *trace.Definitions, name string) map[uint32]bool {
	found := map[uint32]bool{}
	for i, r := range d.Regions.All() {
		if r.Name == name {
			found[uint32(i)] = true
		}
	}
	return found
}

// fill sets the fields of the answer from the classes.
func (a *behaviourAnswer) fill(r *distance.Behaviours, places *claimPlaces) {
	a.Objects, a.Claims = r.Objects, r.Claims
	if len(r.Classes) == 0 {
		return
	}
	for i := range r.Classes {
		if a.Usual < 0 || r.Classes[i].Objects > r.Classes[a.Usual].Objects {
			a.Usual = i
		}
	}
	usual := places.claimsOf(r.Classes[a.Usual].Representative)
	// keep the usual class, because all other classes are compared with it
	a.Left = max(0, len(r.Classes)-maxClasses)
	for i := range r.Classes {
		c := &r.Classes[i]
		if i >= maxClasses && i != a.Usual {
			continue
		}
		own, near := places.claimsOf(c.Representative), -1
		if c.Nearest != nil {
			near = *c.Nearest
		}
		a.Classes = append(a.Classes, classFact{c.Objects, c.Representative, c.Names, c.Claims, c.Usual, near, c.Distance,
			differenceFact{places.sideDifferences(&c.Difference.First, usual),
				places.sideDifferences(&c.Difference.Second, own)},
			places.shown(c.Representative)})
	}
	if a.Usual >= maxClasses {
		a.Usual = maxClasses
		a.Left--
	}
}

// claimPlaces finds the claims to which the nodes of differences correspond.
type claimPlaces struct {
	v        *traceView
	set      *distance.Set
	track    func(at uint32) int
	byObject map[uint32][]int32 // indexes into set.Claims; nil if all claims belong to one object
	objects  map[string]uint32
	labels   map[string]uint32
	empty    map[uint32]int32 // indexes into set.Empty, by object
}

func newClaimPlaces(v *traceView, d *trace.Definitions, s *distance.Set, calls bool) *claimPlaces {
	x := &claimPlaces{v: v, set: s, track: v.resourceTracks(d), byObject: map[uint32][]int32{},
		objects: map[string]uint32{}, labels: map[string]uint32{}, empty: map[uint32]int32{}}
	if calls {
		x.track = v.locationTracks()
	}
	for i, o := range s.Objects {
		x.objects[o] = uint32(i)
	}
	for i, l := range s.Labels {
		x.labels[l] = uint32(i)
	}
	for i := range s.Claims {
		o := s.Claims[i].Object
		x.byObject[o] = append(x.byObject[o], int32(i))
	}
	for i := range s.Empty {
		x.empty[s.Empty[i].Object] = int32(i)
	}
	return x
}

// claimsOf returns the claims of an object, as indexes into the claims of the set.
func (cp *claimPlaces) claimsOf(object string) []int32 { return cp.byObject[cp.objects[object]] }

// fact converts a claim for an answer. name is its label in the answer.
func (cp *claimPlaces) fact(c *distance.Claim, name string) claimFact {
	return claimFact{name, cp.track(c.At), cp.v.jsonTime(c.Start), cp.v.jsonTime(c.End)}
}

// shown returns the first claims of an object, or the object itself if it is a visit without claims.
func (cp *claimPlaces) shown(object string) []claimFact {
	out := []claimFact{}
	list := cp.claimsOf(object)
	for _, i := range list[:min(len(list), maxClaims)] {
		c := &cp.set.Claims[i]
		out = append(out, cp.fact(c, cp.set.Labels[c.Label]))
	}
	if i, ok := cp.empty[cp.objects[object]]; ok {
		out = append(out, cp.fact(&cp.set.Empty[i], "no claims"))
	}
	return out
}

// sideDifferences converts the differences on one side of a comparison. list holds the claims of this side.
func (cp *claimPlaces) sideDifferences(d *distance.Differences, list []int32) sideFact {
	type key struct {
		label      uint32
		occurrence int
	}
	wanted := map[key]int32{}
	node := func(n distance.Node) key { return key{cp.labels[n.Label], n.Occurrence} }
	for _, n := range d.Nodes {
		wanted[node(n)] = -1
	}
	for _, e := range d.Edges {
		wanted[node(e.From)], wanted[node(e.To)] = -1, -1
	}
	if len(wanted) > 0 {
		count := map[uint32]int{}
		for _, i := range list {
			k := key{cp.set.Claims[i].Label, count[cp.set.Claims[i].Label]}
			count[k.label]++
			if _, ok := wanted[k]; ok {
				wanted[k] = i
			}
		}
	}
	fact := func(n distance.Node) claimFact { return cp.fact(&cp.set.Claims[wanted[node(n)]], n.String()) }
	f := sideFact{d.NodeCount, d.EdgeCount, []claimFact{}, []edgeFact{}}
	for _, n := range d.Nodes {
		f.Nodes = append(f.Nodes, fact(n))
	}
	for _, e := range d.Edges {
		f.Edges = append(f.Edges, edgeFact{fact(e.From), fact(e.To)})
	}
	return f
}

// distanceFrom compares the claims of a trace with the claims of another trace, the reference.
func (s *Server) distanceFrom(e *entry, p *params) func(context.Context) (any, error) {
	opt := p.claimOptions()
	opt.Calls = p.choice("calls", "0", "1") == "1"
	pieces := s.comparedWindows(e, p)
	return func(ctx context.Context) (any, error) {
		none := sideFact{Nodes: []claimFact{}, Edges: []edgeFact{}}
		a := &distanceAnswer{Difference: differenceFact{none, none}}
		var sets [2]*distance.Set
		var places [2]*claimPlaces
		for i, t := range pieces {
			err := t.e.readers.useReader(ctx, func(d *reader) error {
				s, missing, err := readClaims(ctx, d, t.window, opt)
				if err != nil {
					return err
				}
				if missing != "" {
					a.Missing = t.e.name + ": " + missing
				}
				sets[i], places[i] = s, newClaimPlaces(t.v, d.Defs(), s, opt.Calls)
				return nil
			})
			if err != nil || a.Missing != "" {
				return a, err
			}
		}
		d, err := distance.Compare(sets[0], sets[1], maxDifferences)
		if err != nil {
			return nil, err
		}
		a.Reference, a.Claims, a.Distance = int64(len(sets[0].Claims)), int64(len(sets[1].Claims)), d.Distance
		a.Difference = differenceFact{places[0].sideDifferences(&d.First, places[0].claimsOf("")),
			places[1].sideDifferences(&d.Second, places[1].claimsOf(""))}
		return a, nil
	}
}
