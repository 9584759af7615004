package verify

import (
	"slices"
	"strconv"
	"strings"
)

// sizer computes lower bounds of the sizes of a specification from its syntax trees, so that weft refuses a short
// text with too many formulas before it creates them. Numbers are floats, because they can be very large.
type sizer struct {
	instances float64 // number of formulas in the scope of parameters
	formulas  float64 // number of different formulas
	known     map[*node]nodeSize
	shapes    map[string]int32  // numbers of shapes, from 1 on
	most      map[int32]float64 // greatest number of formulas of a shape
}

// nodeSize describes a node. Formulas of different shapes differ for all values of parameters, and formulas of the same
// shape differ if one of the parameters of the node has different values.
type nodeSize struct {
	shape      int32    // 0 if unknown
	parameters []*scope // the parameters of the node, the outermost first, each once
}

// scope is a parameter whose scope contains a node.
type scope struct {
	name   string
	values float64
	depth  int
	all    float64 // product of the numbers of values, with those of outer parameters
	outer  *scope
}

func newScope(name string, from, to int64, outer *scope) *scope {
	s := &scope{name: name, values: float64(uint64(to)-uint64(from)) + 1, outer: outer}
	if s.values > maxParameter {
		s.values = 1 // another message reports it
	}
	s.all = s.values
	if outer != nil {
		s.depth, s.all = outer.depth+1, s.values*outer.all
	}
	return s
}

// checkSize returns an error if the declarations certainly have too many formulas.
func (b *builder) checkSize(list []*declaration) error {
	s := newSizer()
	for _, d := range list {
		b.declared = d.name
		s.declare(d)
		if s.instances > maxInstances {
			return b.tooMany(maxInstances)
		}
		if s.formulas > maxFormulas {
			return b.tooMany(maxFormulas)
		}
	}
	return nil
}

func newSizer() *sizer {
	return &sizer{known: map[*node]nodeSize{}, shapes: map[string]int32{}, most: map[int32]float64{}}
}

// declare adds the formulas of a declaration.
func (s *sizer) declare(d *declaration) {
	clear(s.known) // declarations share no nodes
	switch {
	case d.body == nil: // a signal, or a formula without parameters
	case d.parameter == "":
		s.add(d.body, nil)
	case d.bounded:
		s.add(d.body, newScope(d.parameter, d.from, d.to, nil))
	default:
		s.add(d.body, newScope(d.parameter, 0, 0, nil))
	}
}

// add adds the formulas of a node and its arguments.
func (s *sizer) add(n *node, in *scope) nodeSize {
	if known, ok := s.known[n]; ok {
		return known // the formula is shared
	}
	if in != nil {
		s.instances += in.all
	}
	var size nodeSize
	switch {
	case n.ref != nil: // the definition is counted once, for each of its values
	case n.forall != nil:
		s.add(n.forall.body, newScope(n.forall.parameter, n.forall.from, n.forall.to, in))
	case n.op == Prop:
		size = s.proposition(n.prop, in)
	default:
		size = s.operation(n, in)
	}
	s.known[n] = size
	if size.shape != 0 {
		count := 1.0
		for _, p := range size.parameters {
			count *= p.values
		}
		if more := count - s.most[size.shape]; more > 0 {
			s.formulas += more
			s.most[size.shape] = count
		}
	}
	return size
}

// operation adds the arguments of a node, and returns its size.
func (s *sizer) operation(n *node, in *scope) nodeSize {
	var size nodeSize
	text := []byte("op " + strconv.Itoa(int(n.op)))
	unknown := false
	for _, a := range n.args {
		x := s.add(a, in)
		unknown = unknown || x.shape == 0
		text = strconv.AppendInt(append(text, ' '), int64(x.shape), 10)
		size.parameters = append(size.parameters, x.parameters...)
	}
	if unknown {
		return nodeSize{}
	}
	slices.SortFunc(size.parameters, func(a, b *scope) int { return a.depth - b.depth })
	size.parameters = slices.Clip(slices.Compact(size.parameters))
	size.shape = s.shape(string(text))
	return size
}

// proposition returns the size of a proposition. A text with a single parameter differs for each value of it.
func (s *sizer) proposition(n *propositionNode, in *scope) nodeSize {
	var size nodeSize
	var keys, begins []string
	for _, pair := range n.pairs {
		if slices.ContainsFunc(pair.key, func(t token) bool { return t.kind == word }) {
			return nodeSize{}
		}
		key := strconv.Quote(joinTexts(pair.key))
		if slices.Contains(keys, key) { // a value can equal the other one, which leaves one attribute
			return nodeSize{}
		}
		names := []string{}
		for _, t := range pair.value {
			if t.kind == word {
				names = append(names, t.text)
			}
		}
		keys = append(keys, key)
		begins = append(begins, key+firstLetter(pair.value))
		if len(names) != 1 {
			continue
		}
		for p := in; p != nil; p = p.outer {
			if p.name == names[0] {
				size.parameters = append(size.parameters, p)
				break
			}
		}
	}
	slices.Sort(begins)
	slices.SortFunc(size.parameters, func(a, b *scope) int { return a.depth - b.depth })
	size.parameters = slices.Clip(slices.Compact(size.parameters))
	size.shape = s.shape("prop " + strconv.Itoa(int(n.event)) + strings.Join(begins, ","))
	return size
}

// firstLetter returns the first letter of a text with parameters, and "0" for each first letter of a number.
func firstLetter(list []token) string {
	for _, t := range list {
		switch {
		case t.kind == word || t.text != "" && strings.Contains("-0123456789", t.text[:1]):
			return "0"
		case t.text != "":
			return t.text[:1]
		}
	}
	return ""
}

// shape returns the number of a shape.
func (s *sizer) shape(text string) int32 {
	if s.shapes[text] == 0 {
		s.shapes[text] = int32(len(s.shapes) + 1)
	}
	return s.shapes[text]
}
