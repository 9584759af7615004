package verify

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// TestSizeRefused checks that a short text with too many formulas is refused before they are created. Each needs
// several hundred MB.
func TestSizeRefused(t *testing.T) {
	for text, want := range map[string]string{
		// 5 formulas for each of a million values
		"check c(i : 0 .. 999999) : globally if {'a' = i} then finally {'b' = i}":       "1:7: found more formulas",
		"check c(i : 0 .. 999999) : globally if {'a' = i} then finally {'a' = 'x' + i}": "1:7: found more formulas",
		// 4 million propositions, and 2000 other ones
		"def a(i : 1 .. 2000) : forall (j : 1 .. 2000) {'x' = i, 'y' = j}\n" +
			"def d(i : 1 .. 2000) : (a(i) and not {'z' = i})": "2:5: found more formulas",
		"check c : forall (i : 1 .. 3000) forall (j : 1 .. 3000) true": "1:7: found more formulas",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse("", []byte(text))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: found %v, expected %s", text, err, want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%s: %d bytes were allocated, expected less than 1 MiB", text, n)
		}
	}
}

// TestSizeBound checks for random specifications that the estimate of a size is not above the size.
func TestSizeBound(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range effort.Rounds(2000) {
		var text strings.Builder
		for k := range 1 + r.IntN(3) {
			fmt.Fprintf(&text, "check c%d(i : %d .. %d) : %s\n", k, r.IntN(2), 1+r.IntN(3), randomText(r, 4, []string{"i"}, k))
		}
		list, names, used, err := parseDeclarations("", text.String())
		if err != nil {
			t.Fatal(err)
		}
		s, b := newSizer(), newBuilder("", text.String(), names, used)
		for _, d := range list {
			s.declare(d)
			b.names[d.name.text] = d
		}
		for _, d := range list {
			if err := b.declare(d); err != nil {
				t.Fatal(err)
			}
		}
		if int(s.instances) != b.instances || int(s.formulas) > len(b.spec.formulas) {
			t.Fatalf("estimated %g instances and %g formulas, expected %d and at most %d:\n%s", s.instances, s.formulas,
				b.instances, len(b.spec.formulas), text.String())
		}
	}
}

// randomText returns a random formula as text, of at most the given depth. The formula may use the parameters
// in scope and the checks before check k.
func randomText(r *rand.Rand, depth int, scope []string, k int) string {
	if depth == 0 || r.IntN(5) == 0 {
		value := []string{"'1'", "''", "'x'"}[r.IntN(3)]
		for range r.IntN(3) {
			value += " + " + scope[r.IntN(len(scope))]
		}
		pairs := fmt.Sprintf("'%s' = %s", []string{"a", "b"}[r.IntN(2)], value)
		if r.IntN(3) == 0 {
			pairs += fmt.Sprintf(", '%s' = %s", []string{"a", "b"}[r.IntN(2)], scope[r.IntN(len(scope))])
		}
		return "{" + pairs + "}"
	}
	a := randomText(r, depth-1, scope, k)
	switch r.IntN(6) {
	case 0:
		return "not " + a
	case 1:
		return "globally " + a
	case 2:
		name := []string{"i", "j", "k"}[r.IntN(3)]
		return fmt.Sprintf("forall (%s : 1 .. %d) %s", name, 1+r.IntN(3), randomText(r, depth-1, append(scope, name), k))
	case 3:
		if k > 0 {
			return fmt.Sprintf("(c%d(1) and %s)", r.IntN(k), a)
		}
		return a
	case 4:
		return "(" + a + " iff " + randomText(r, depth-1, scope, k) + ")"
	}
	return "(" + a + " and " + randomText(r, depth-1, scope, k) + ")"
}
