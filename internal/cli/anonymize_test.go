package cli

import (
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf"
	"github.com/weft-trace/weft/format/otf2"
)

// TestAnonymizeEdits checks that an anonymized archive has the definitions and events of the
// original, record by record, but no texts except words of the format and names of libraries.
func TestAnonymizeEdits(t *testing.T) {
	known := regexp.MustCompile(`^(|-?[0-9.]+|MPI.*|pthread_.*|OpenMP.*|POSIX.*|machine|node)$`)
	// These fields hold words of the format: names of attributes and properties, and units.
	words := map[uint8]int{11: 1, 19: 8, 26: 1, 28: 1, 29: 1}
	for _, name := range []string{"heat2d-mt/traces.otf2", "omp/eztrace_log.otf2", "propvals/traces.otf2",
		"rma/traces.otf2", "thumbnails/t.otf2"} {
		path, out := "../../format/otf2/testdata/ok/"+name, filepath.Join(t.TempDir(), "x.otf2")
		weft(t, 0, "anonymize", "-q", path, out)
		word := map[string]bool{}
		records := func(path string) (kinds map[uint8]int, texts map[string]bool) {
			a, err := otf2.Open(format.FileSource(path))
			if err != nil {
				t.Fatal(err)
			}
			kinds, texts = map[uint8]int{}, map[string]bool{a.Anchor.Machine: true, a.Anchor.Description: true}
			for _, p := range a.Anchor.Properties {
				texts[p.Value] = true
			}
			ids := map[uint64]string{}
			if err := a.Definitions(func(_ int64, r *otf2.Record) error {
				if kinds[r.ID]++; r.ID == 10 {
					ids[r.Values[0]] = r.Texts[0]
				} else if field, ok := words[r.ID]; ok {
					word[ids[r.Values[field]]] = true
				}
				for _, x := range r.Texts {
					texts[x] = true
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			return kinds, texts
		}
		kinds, texts := records(path)
		k, others := records(out)
		if !maps.Equal(k, kinds) {
			t.Errorf("%s: %v definitions, expected %v", name, k, kinds)
		}
		for x := range texts {
			if others[x] && !word[x] && !known.MatchString(x) {
				t.Errorf("%s: found the text %q", name, x)
			}
		}
		if _, err := exec.LookPath("otf2-print"); err != nil {
			continue
		}
		count := func(path string) map[string]int {
			n := map[string]int{}
			for line, times := range toolLines(t, path, "otf2-print", "-A") {
				if words := strings.Fields(line); len(words) > 0 {
					n[words[0]] += times
				}
			}
			return n
		}
		if a, b := count(path), count(out); !maps.Equal(a, b) {
			t.Errorf("%s: otf2-print finds %v, expected %v", name, b, a)
		}
	}
}

// TestAnonymizeEditsOTF checks that an anonymized OTF trace has all records of the original.
// otfprint prints them alike except for texts, source lines and the unique id, and prints none of
// the original names.
func TestAnonymizeEditsOTF(t *testing.T) {
	known := regexp.MustCompile(`^(|-?[0-9.]+|MPI.*|OMP.*|PAPI.*|salmon)$`) // libotf's version is named salmon
	blank := regexp.MustCompile(
		`"[^"]*"|\([^)]*\)|(Def(File|FileGroup|Creator|Comment)|DefinitionComment|DefSclFile): .*|uid: \d+|` +
			`line \d+|, KeyValue: 12:[0-9A-F]*| 20:[0-9A-F]*,|, 22:[0-9A-F]*`)
	for _, name := range []string{"aux_snapshots", "hello", "kv_types", "map_1to1", "map_explicit", "mpi4", "time0",
		"tokens"} {
		path, out := "../../format/otf/testdata/ok/"+name+"/"+name+".otf", filepath.Join(t.TempDir(), "x.otf")
		weft(t, 0, "anonymize", "-q", path, out)
		definitions := func(path string) (kinds map[otf.Type]int, texts map[string]bool) {
			r, err := otf.Open(t.Context(), format.FileSource(path), &otf.Options{})
			if err != nil {
				t.Fatal(err)
			}
			kinds, texts = map[otf.Type]int{}, map[string]bool{}
			c, err := r.Cursor(t.Context(), otf.Definitions)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for c.Next() {
				x := c.Record()
				kinds[x.Type]++
				if x.Type != otf.DefVersion && x.Type != otf.DefKeyValue {
					texts[x.Name], texts[x.Text] = true, true
				}
			}
			if c.Err() != nil {
				t.Fatal(c.Err())
			}
			return kinds, texts
		}
		kinds, texts := definitions(path)
		k, others := definitions(out)
		if !maps.Equal(k, kinds) || len(kinds) < 4 {
			t.Errorf("%s: %v definitions, expected %v", name, k, kinds)
		}
		for x := range texts {
			if others[x] && !known.MatchString(x) {
				t.Errorf("%s: found the text %q", name, x)
			}
		}
		if _, err := exec.LookPath("otfprint"); err != nil {
			continue
		}
		lines := func(path string) map[string]int {
			n := map[string]int{}
			for line, times := range toolLines(t, path, "otfprint", "--fullkeyvalue") {
				n[blank.ReplaceAllString(line, "$2$3")] += times
			}
			return n
		}
		if more, fewer := differences(lines(path), lines(out)); len(more)+len(fewer) > 0 {
			t.Errorf("%s: otfprint prints anew:\n%.500s\nand no longer:\n%.500s", name, strings.Join(more, ""),
				strings.Join(fewer, ""))
		}
	}
}

// TestAnonymizeEditsPallas checks that an anonymized Pallas trace has the events, definitions and
// metadata of the original, with each text replaced by another one.
func TestAnonymizeEditsPallas(t *testing.T) {
	name := regexp.MustCompile(`\(.*\)`)
	for _, trace := range []string{"abi16_attrs", "abi17_metadata", "abi18_mpi", "abi19_loops", "attrs", "deep99",
		"empty_thread", "global_locations", "sparse_ids"} {
		path, out := "../../format/pallas/testdata/ok/"+trace+"/trace/main.pallas", filepath.Join(t.TempDir(), "x.pallas")
		weft(t, 0, "anonymize", "-q", path, out)
		was, is := strings.Split(pallasDefinitions(t, path), "\n"), strings.Split(pallasDefinitions(t, out), "\n")
		if len(was) != len(is) {
			t.Errorf("%s: %d definitions, expected %d", trace, len(is), len(was))
			continue
		}
		words := map[string]bool{} // names of attributes
		other := map[string]string{}
		text := regexp.MustCompile(`^string {(\d+) (.*)}$`)
		byRef := map[string]string{}
		for i := range was {
			a, b := text.FindStringSubmatch(was[i]), text.FindStringSubmatch(is[i])
			if (a == nil) != (b == nil) || a != nil && a[1] != b[1] {
				t.Errorf("%s: found %q, expected %q", trace, is[i], was[i])
			} else if a != nil {
				byRef[a[1]] = a[2]
				if c, twice := other[a[2]]; twice && c != b[2] {
					t.Errorf("%s: %q is %q and %q", trace, a[2], b[2], c)
				}
				other[a[2]] = b[2]
			} else if !strings.HasPrefix(was[i], "metadata") && was[i] != is[i] {
				t.Errorf("%s: found %q, expected %q", trace, is[i], was[i])
			}
		}
		for _, line := range was {
			if f := strings.Fields(line); len(f) > 2 && f[0] == "attribute" {
				words[byRef[f[2]]] = true
			}
		}
		for a, b := range other {
			if a == b && !words[a] && strings.ContainsFunc(a, unicode.IsLetter) && !strings.HasPrefix(a, "MPI_") {
				t.Errorf("%s: found the text %q", trace, a)
			}
		}
		// Times, kinds and refs of events are the same.
		events := func(path string) []string {
			_, s, _ := runWeft(t, "print", "-q", "--compat", path)
			l := strings.Split(s, "\n")
			for i, x := range l {
				if l[i] = name.ReplaceAllString(x, "()"); l[i] == x && len(x) > 20 {
					l[i] = x[:20] // cuts off the text of a generic event
				}
			}
			return l
		}
		if a, b := events(path), events(out); !slices.Equal(a, b) {
			t.Errorf("%s: events are other ones:\n%s", trace, cmp.Diff(a, b))
		}
	}
}
