package carrier

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// Pairs and links are found among other texts by their keys, and what is wrong with a
// link is told.
func TestTexts(t *testing.T) {
	l := trace.Link{ID: 7, Src: trace.End{Time: 3}}
	texts := map[string]string{"a/0": `{"Key":"k","Value":"v"}`, "b/0": Link(&l), "other": "x"}
	pairs, err := ParsePairs(maps.All(texts), "a/")
	if err != nil || !slices.Equal(pairs, []Pair{{"k", "v"}}) {
		t.Errorf("%v, %v", pairs, err)
	}
	bad := 0
	links, err := ParseLinks(maps.All(texts), "b/", func(err error) error { bad++; return err })
	if err != nil || bad > 0 || len(links) != 1 || Link(&links[0]) != Link(&l) {
		t.Errorf("%v, %v", links, err)
	}
	texts["a/1"], texts["b/1"] = "{", "{"
	if pairs, err := ParsePairs(maps.All(texts), "a/"); err == nil {
		t.Errorf("%v", pairs)
	}
	if links, err := ParseLinks(maps.All(texts), "b/", func(error) error { bad++; return nil }); err != nil || bad != 1 || len(links) != 1 {
		t.Errorf("%v, %v, %d bad", links, err, bad)
	}
	stop := errors.New("stop")
	if _, err := ParseLinks(maps.All(texts), "b/", func(error) error { return stop }); err != stop {
		t.Errorf("%v", err)
	}
}
