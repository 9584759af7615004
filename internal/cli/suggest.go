package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/weft-trace/weft/analysis/suggest"
	"github.com/weft-trace/weft/analysis/usage"
	"github.com/weft-trace/weft/analysis/verify"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/internal/plural"
)

// suggestFlags holds the flags of weft verify --suggest.
type suggestFlags struct {
	suggest bool
	by      string
	least   int
	most    int
}

func (s *suggestFlags) register(f *pflag.FlagSet) {
	f.BoolVar(&s.suggest, "suggest", false, "print a specification with properties that hold in all the traces")
	f.StringVar(&s.by, "by", "", "with --suggest: attribute that identifies objects by integers, such as id")
	f.Var(newInteger(&s.least, 5, 1, 0), "least", "with --suggest: least number of observations of each property")
	f.Var(newInteger(&s.most, 50, 1, 0), "most", "with --suggest: greatest number of properties to print")
}

// check returns an error if flags are combined that exclude each other.
func (s *suggestFlags) check(f *pflag.FlagSet) error {
	excluded := []string{"spec", "semantics", "junit", "compat"}
	for _, p := range propertyFlags {
		excluded = append(excluded, p.name)
	}
	return checkCombination(f, "suggest", s.suggest, []string{"by", "least", "most"}, excluded)
}

// checkCombination returns an error if one of the flags in parts, which belong to a flag with the given name, is used
// without that flag, or one of those in excluded with it. isSet states whether the flag is set.
func checkCombination(f *pflag.FlagSet, name string, isSet bool, parts, excluded []string) error {
	if isSet {
		if i := slices.IndexFunc(excluded, f.Changed); i >= 0 {
			return usageError("--%s: found it with --%s, expected it without", excluded[i], name)
		}
	} else if i := slices.IndexFunc(parts, f.Changed); i >= 0 {
		return usageError("--%s: found it without --%s, expected it with --%s", parts[i], name, name)
	}
	return nil
}

// maxInstances is the greatest number of values of a parameter, multiplied by the number of properties,
// in a specification.
const maxInstances = 300_000

// runSuggest prints a specification with properties that hold in the traces.
func (a *app) runSuggest(ctx context.Context, traces []string, flags *verifyFlags) error {
	m := suggest.NewMiner(flags.suggest.by)
	var known []string // attributes that may identify objects
	for _, path := range traces {
		in, err := a.open(ctx, path, &flags.input)
		err = a.answer(in, err, false, &flags.input, func(in *input) (any, func() error, error) {
			sel, err := flags.selection.selectionOfPart(ctx, in)
			if err != nil {
				return nil, nil, err
			}
			opt := suggest.Options{Location: sel.Location}
			_, opt.Window = flags.selection.selectedBounds(sel)
			err = m.Add(ctx, in.Events, opt)
			known = append(known, usage.Identifiers(in.Defs())...)
			var limit *suggest.LimitError
			if errors.As(err, &limit) {
				err = usageError("%s: %w", in.src.Path, limit)
			}
			return nil, func() error { return nil }, err
		})
		if err != nil {
			return err
		}
	}
	if m.By != "" && !m.Any {
		return &exitError{exitDefects, fmt.Errorf("%s: found no event whose attribute %q is a whole number%s", traces[0],
			m.By, nearest.Hint(m.By, known))}
	}
	most := flags.suggest.most
	if m.By != "" {
		most = max(1, min(most, maxInstances/int(m.To-m.From+1)))
	}
	list := m.Properties(int64(flags.suggest.least), most)
	if !flags.input.quiet {
		if m.LeftOut > 0 {
			printf(a.err, "%s left out: more than %d, or with line breaks\n", plural.Of(m.LeftOut, "name"), suggest.MaxNames)
		}
		if m.Other > 0 {
			printf(a.err, "%s of %s left out: no whole numbers\n", plural.Of(m.Other, "value"), plain(m.By))
		}
	}
	if len(list) == 0 {
		return &exitError{exitDefects, fmt.Errorf("%s: found no property with %s, expected at least one; "+
			"--least lowers their number", traces[0], plural.Of(flags.suggest.least, "observation"))}
	}
	x, text := specification(m, list, traces, flags.suggest.least)
	if flags.asJSON {
		return a.writeJSON(a.out, x)
	}
	_, err := a.out.Write(text)
	return err
}

// specification returns the properties as JSON and as a specification. It leaves out the last properties if the
// specification would otherwise be larger than weft verify accepts.
func specification(m *suggest.Miner, list []suggest.Property, traces []string, least int) (*suggestions, []byte) {
	for {
		var text bytes.Buffer
		x := newSuggestions(m, list, traces)
		x.writeSpecification(&text, least)
		if m.By == "" || len(list) == 1 {
			return x, text.Bytes()
		}
		if _, err := verify.Parse("", text.Bytes()); err == nil {
			return x, text.Bytes()
		}
		list = list[:max(1, len(list)*4/5)]
	}
}

// suggestions is the JSON of weft verify --suggest (docs/json/verify.md).
type suggestions struct {
	Traces []string `json:"traces"`
	By     string   `json:"by,omitempty"`
	From   *int64   `json:"from,omitempty"` // least value of By
	// greatest value of By
	To         *int64              `json:"to,omitempty"`
	Properties []suggestedProperty `json:"properties"`
}

// suggestedProperty is a property that holds in traces. Times are in seconds; a precedence has none.
type suggestedProperty struct {
	Check     string       `json:"check"`
	Kind      suggest.Kind `json:"kind"`
	A         string       `json:"a"`
	B         string       `json:"b"`
	Support   int64        `json:"support"`
	Undecided int64        `json:"undecided"`
	Objects   int64        `json:"objects"`
	Min       *float64     `json:"min,omitempty"`
	Mean      *float64     `json:"mean,omitempty"`
	Max       *float64     `json:"max,omitempty"`
	Formula   string       `json:"formula"`
	comment   string
}

// newSuggestions returns properties as checks of a specification, with a name for each.
func newSuggestions(m *suggest.Miner, list []suggest.Property, traces []string) *suggestions {
	x := &suggestions{Traces: traces, By: m.By, Properties: []suggestedProperty{}}
	each := ""
	if m.By != "" {
		x.From, x.To = &m.From, &m.To
		each = fmt.Sprintf("forall (i : %d .. %d) ", m.From, m.To)
	}
	used := map[string]int{}
	for i := range list {
		p := &list[i]
		name := checkName(p)
		if used[name]++; used[name] > 1 {
			name = fmt.Sprintf("%s_%d", name, used[name])
			used[name]++
		}
		y := suggestedProperty{Check: name, Kind: p.Kind, A: eventName(p.A), B: eventName(p.B), Support: p.Support,
			Undecided: p.Undecided, Objects: p.Objects, Formula: each + suggestionFormula(p, m.By),
			comment: suggestionComment(p, m.By)}
		if p.Kind != suggest.Precedence {
			low, _ := p.Min.Float64()
			high, _ := p.Max.Float64()
			y.Min, y.Mean, y.Max = &low, &p.Mean, &high
		}
		x.Properties = append(x.Properties, y)
	}
	return x
}

// writeSpecification writes the properties as a specification. least is the smallest number of observations of a
// property.
func (s *suggestions) writeSpecification(w io.Writer, least int) {
	in := plural.Of(len(s.Traces), "trace")
	fmt.Fprintf(w, "// Properties that hold in %s, each observed at least %d times. The most informative come first.\n",
		in, least)
	if s.By != "" {
		fmt.Fprintf(w, "// They concern events with the same value of %s.\n", plain(s.By))
	}
	for _, p := range s.Properties {
		fmt.Fprintf(w, "\n// %s\ncheck %s : %s\n", p.comment, p.Check, p.Formula)
	}
}

// checkName returns a name for the check of a property. The name is a single word, without blanks.
func checkName(p *suggest.Property) string {
	name := string(p.Kind) + " " + eventName(p.A)
	if p.Kind != suggest.Period {
		name += " " + eventName(p.B)
	}
	r := []rune(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name))
	return string(r[:min(len(r), 80)])
}

// eventName returns the name of events in the syntax of the property flags.
func eventName(n suggest.Name) string {
	return [...]string{suggest.Plain: "", suggest.Start: "start ", suggest.End: "end "}[n.Event] + n.Name
}

// suggestionComment returns a text about the observations of a property. by is the attribute that identifies
// objects, or "".
func suggestionComment(p *suggest.Property, by string) string {
	a, b := plain(eventName(p.A)), plain(eventName(p.B))
	if p.Kind == suggest.Precedence {
		where := "traces"
		if by != "" {
			where = "objects"
		}
		if p.Objects == 1 {
			where = strings.TrimSuffix(where, "s")
		}
		return fmt.Sprintf("No %s before the first %s: %s %s, in %d %s.", b, a, plural.Of(p.Support, "time"), b,
			p.Objects, where)
	}
	// 1 us as a floating point number is less than 1 us
	mean, _ := new(big.Rat).SetString(strconv.FormatFloat(p.Mean, 'g', 12, 64))
	what := fmt.Sprintf("Each %s is followed by %s", a, b)
	if p.Kind == suggest.Period {
		middle := new(big.Rat).Add(p.Min, p.Max)
		middle.Quo(middle, big.NewRat(2, 1))
		what = fmt.Sprintf("%s every %s ± %s", a, fourDigits(middle), fourDigits(new(big.Rat).Sub(p.Max, middle)))
	}
	s := fmt.Sprintf("%s: %s, min %s, mean %s, max %s", what, plural.Of(p.Support, "time"), fourDigits(p.Min),
		fourDigits(mean), fourDigits(p.Max))
	if p.Undecided > 0 {
		s += fmt.Sprintf("; %d undecided at the end of a trace", p.Undecided)
	}
	return s + "."
}

// suggestionFormula returns the formula of a property. by is the attribute that identifies objects, or "". The formula
// of a property of objects has a parameter i, which stands for the value of that attribute.
func suggestionFormula(p *suggest.Property, by string) string {
	proposition := func(n suggest.Name) string {
		e := [...]verify.Event{suggest.Plain: verify.AnyEvent, suggest.Start: verify.StartEvent,
			suggest.End: verify.EndEvent}[n.Event]
		s := (&verify.Proposition{Event: e, Attributes: []verify.Attribute{{Key: "name", Value: n.Name}}}).String()
		if by != "" {
			object := (&verify.Proposition{Attributes: []verify.Attribute{{Key: by, Value: "i"}}}).String()
			s = strings.TrimSuffix(s, "}") + ", " + strings.TrimSuffix(object[1:], "'i'}") + "i}"
		}
		return s
	}
	a, b := proposition(p.A), proposition(p.B)
	switch p.Kind {
	case suggest.Response:
		unit := unitOf(p.Max)
		return fmt.Sprintf("globally if %s then finally within [0, %s] %s %s", a, decimalIn(p.Max, unit, true), unit.name, b)
	case suggest.Precedence:
		return fmt.Sprintf("not until (%s and not %s) we have that not %s", b, a, a)
	}
	unit := unitOf(p.Max)
	low, high := decimalIn(p.Min, unit, false), decimalIn(p.Max, unit, true)
	// The second operand of "or" is there for the last A, which no other A follows.
	const pattern = "globally if %s then (globally within (0, %s) %s not %s\n" +
		"\tand (finally within [%s, %s] %s %s or globally within (0, inf) not %s))"
	return fmt.Sprintf(pattern, a, low, unit.name, a, low, high, unit.name, a, a)
}

// timeUnit is a unit of times in specifications.
type timeUnit struct {
	name   string
	digits int // a second is 10^digits of the unit
}

// unitOf returns the unit in which people give a time in seconds: the greatest unit that does not
// exceed the time.
func unitOf(t *big.Rat) timeUnit {
	units := [...]timeUnit{{"s", 0}, {"ms", 3}, {"us", 6}, {"ns", 9}}
	for _, u := range units {
		if convertToUnit(t, u).Cmp(big.NewRat(1, 1)) >= 0 || t.Sign() == 0 {
			return u
		}
	}
	return units[len(units)-1]
}

// convertToUnit returns a time in a unit.
func convertToUnit(t *big.Rat, u timeUnit) *big.Rat { return new(big.Rat).Mul(t, powerOfTen(u.digits)) }

// powerOfTen returns a power of 10.
func powerOfTen(n int) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
}

// decimalIn returns a time in a unit. It is exact, unless it has more than 15 decimals: then it is
// rounded up or down to 9 decimals.
func decimalIn(t *big.Rat, u timeUnit, up bool) string {
	x := convertToUnit(t, u)
	for n := range 16 {
		if y := new(big.Rat).Mul(x, powerOfTen(n)); y.IsInt() {
			return x.FloatString(n)
		}
	}
	y := new(big.Rat).Mul(x, powerOfTen(9))
	whole := new(big.Int).Div(y.Num(), y.Denom())
	if up {
		whole.Add(whole, big.NewInt(1))
	}
	return new(big.Rat).Quo(new(big.Rat).SetInt(whole), powerOfTen(9)).FloatString(9)
}

// fourDigits returns a time for people, with four digits.
func fourDigits(t *big.Rat) string {
	u := unitOf(t)
	f, _ := convertToUnit(t, u).Float64()
	return fmt.Sprintf("%.4g %s", f, u.name)
}
