package otf

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// TestPairsOfDefinitions checks that the loss table counts the key-value pairs of definitions for which the model has
// no attributes, and no others. "K7Y6V5" is the pair of the key 7 with the number 5.
func TestPairsOfDefinitions(t *testing.T) {
	m := filepath.Join(t.TempDir(), "t")
	for suffix, text := range map[string]string{
		".otf": "1:1\n",
		".0.def": "DTR3b9aca00\nDK7Y6NM\"n\"\nK7Y6V1\nK8Y6V2\nDCR\"me\"\nK7Y6V3\nDP1NM\"p\"\nK7Y6V4\nDFG1NM\"g\"\n" +
			"K7Y6V5\nDF1G1NM\"f\"\n",
		".1.events": "1\n*1\nE1\n2\n*1\nL1\n",
	} {
		if err := os.WriteFile(m+suffix, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := tracetest.Open(t, Format{}, format.FileSource(m+".otf"), nil)
	if n := len(d.Defs().Locations.At(0).Attrs) + len(d.Defs().Regions.At(0).Attrs); n != 2 {
		t.Errorf("found %d attributes of the process and the function, expected 2", n)
	}
	loss := &format.Loss{}
	if err := format.LostDefinitions(t.Context(), d, &trace.Definitions{}, "etf", loss); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"DefCreator": 2, "DefFunctionGroup": 1}
	for _, x := range loss.Rows() {
		if x.Field != "key-value pairs" {
			continue
		}
		if x.How != format.Lost || x.Count != want[x.Kind] {
			t.Errorf("found %+v, expected %d lost", x, want[x.Kind])
		}
		delete(want, x.Kind)
	}
	if len(want) > 0 {
		t.Errorf("the loss table lacks %v", want)
	}
}

// TestKeyBehindItsPair checks that a pair of a definition has the name of its key, although the key is defined behind
// it: definitions of OTF may stand in any order.
func TestKeyBehindItsPair(t *testing.T) {
	m := filepath.Join(t.TempDir(), "t")
	for suffix, text := range map[string]string{
		".otf": "1:1\n", ".0.def": "K7Y6V4\nDP1NM\"p\"\nK8Y6V1\nDK7Y6NM\"seven\"T\"\"\nDK8Y6NM\"eight\"T\"\"\n",
		".1.events": "1\n*1\nK7Y6V5\nN\n",
	} {
		if err := os.WriteFile(m+suffix, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	defs := tracetest.Open(t, Format{}, format.FileSource(m+".otf"), nil).Defs()
	if a := defs.Locations.At(0).Attrs; len(a) != 1 || a[0].Key != "seven" {
		t.Errorf("found the attributes %+v of the process, expected seven", a)
	}
	var names []string
	for i := range defs.Attributes.Len() {
		names = append(names, defs.Attributes.At(uint32(i)).Name)
	}
	if !slices.Equal(names, []string{"seven", "eight"}) {
		t.Errorf("found the keys %q, expected seven and eight", names)
	}
}

// TestTypesOfKeys checks the types of defined keys. OTF has byte arrays for texts: the names of a cut piece's
// attributes tell that their values are texts. A key of numbers can have such a name, too.
func TestTypesOfKeys(t *testing.T) {
	for _, x := range []struct {
		name string
		kind ValueType
		want trace.Type
	}{
		{"cut.began", Bytes, trace.String}, {"cutter", Bytes, trace.Bytes}, {"cut.size", Uint64, trace.Uint64},
		{"cut.began", 200, trace.None},
	} {
		if got := definedType(&Record{Name: x.name, Kind: uint64(x.kind)}); got != x.want {
			t.Errorf("%s of type %d: found %v, expected %v", x.name, x.kind, got, x.want)
		}
	}
}
