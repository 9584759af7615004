package wildcard

import (
	"slices"
	"testing"
)

func TestMatchAny(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		match         bool
	}{
		{"a*", "abc", true}, {"a?c", "abc", true}, {"a?", "abc", false}, {"*", "a/b", true}, {"src/*.c", "src/x/y.c", true},
		{"[ab]c", "bc", true}, {"f[1]", "f[1]", true}, {"", "", true}, {"b", "abc", false},
	} {
		if found := MatchAny([]string{"never", c.pattern}, c.name); found != c.match {
			t.Errorf("%q, %q: found %t", c.pattern, c.name, found)
		}
	}
}

func TestCheck(t *testing.T) {
	if Check("a[") == nil {
		t.Error("found no error for an open bracket")
	}
	if err := Check("a*[b-d]?"); err != nil {
		t.Error(err)
	}
}

func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"a,b": {"a", "b"}, "": {""}, "f(int, int),g": {"f(int, int)", "g"}, "map<int,int>::at": {"map<int,int>::at"},
		"re:a{1,3},b": {"re:a{1,3}", "b"}, "operator<,b": {"operator<", "b"}, "a),b": {"a)", "b"}, "(a],b": {"(a]", "b"},
	} {
		if got := Split(text); !slices.Equal(got, want) {
			t.Errorf("%s: found %q, expected %q", text, got, want)
		}
	}
}
