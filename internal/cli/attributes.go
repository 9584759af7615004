package cli

import (
	"errors"
	"strings"

	"github.com/weft-trace/weft/internal/wildcard"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// attributeList is the value of a flag of the form NAME=VALUE,…: the name of an attribute with patterns for
// its values. The flag may be repeated.
type attributeList []attributeValues

// attributeValues has the patterns of the values of an attribute.
type attributeValues struct {
	name     string
	patterns []string
}

// Set adds the patterns for an attribute. Several patterns for the same attribute are alternatives.
func (l *attributeList) Set(s string) error {
	name, values, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return errors.New("expected NAME=VALUE")
	}
	list, err := wildcard.SplitNames(values)
	if err != nil {
		return err
	}
	for _, p := range list {
		if err := wildcard.Check(p); err != nil {
			return err
		}
	}
	for i := range *l {
		if x := &(*l)[i]; x.name == name {
			x.patterns = append(x.patterns, list...)
			return nil
		}
	}
	*l = append(*l, attributeValues{name, list})
	return nil
}

// String returns the values of the flag for the help text, or "" if there are none.
func (l *attributeList) String() string {
	var list []string
	for _, x := range *l {
		list = append(list, x.name+"="+strings.Join(x.patterns, ","))
	}
	return strings.Join(list, " ")
}

// Type returns the name of the type for the help text.
func (l *attributeList) Type() string { return "attribute" }

// names returns the names of the attributes.
func (l attributeList) names() (list []string) {
	for _, x := range l {
		list = append(list, x.name)
	}
	return list
}

// chooseRows returns a function that reports whether a row matches all attributes in with and none in without.
// It returns nil if both lists are empty.
func chooseRows(d *trace.Definitions, with, without attributeList) func(x *trace.Cursor) bool {
	if len(with)+len(without) == 0 {
		return nil
	}
	has := func(list attributeList) (all []func(x *trace.Cursor) bool) {
		for _, a := range list {
			all = append(all, transform.HasAttribute(d, a.name, func(v string) bool { return wildcard.MatchAny(a.patterns, v) }))
		}
		return all
	}
	yes, no := has(with), has(without)
	return func(x *trace.Cursor) bool {
		for _, f := range yes {
			if !f(x) {
				return false
			}
		}
		for _, f := range no {
			if f(x) {
				return false
			}
		}
		return true
	}
}
