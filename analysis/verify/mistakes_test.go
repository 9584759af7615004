package verify

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/trace"
)

// everyWord is a specification with the keywords and kinds of names of the language at each place where they may be.
const everyWord = `def confirmed(value) : {'name' = 'A', 'id' = value}
def prepared : start {'name' = 'task'}
signal level : {'name' = 'queue'}
signal busy : usage {'name' = 'CPU'} amount over 10 ms
signal rate : throughput end {'name' = 'task'} over 1 min
signal stay : latency 'id' over 2 min
check one : globally within [0, 5] ms (level <= 5 and not busy > 1000)
check two (number : 0 .. 3) : if confirmed(number) then finally by 5 ms prepared
check three : until within (0, inf) prepared we have that (true or false)
check four : forall (item : 1 .. 2) (confirmed(item) implies next prepared)
check six : during [1, 2] ms not globally start {'name' = 'B'}
check seven : globally (2 * abs(derivative(level)) < 100 or stay <= 5 ms)
check eight : percentile 99 from start {'name' = 'A'} to end {'name' = 'B'} by 'id' < 2 ms
check nine : (one and if level >= 5 then three)
check ten : globally level + busy >= 0
check eleven : globally rate != 7
`

// TestMisspelledWords exchanges, leaves out, doubles and adds a letter of each word of a specification. The error is at
// this word and names the right one.
func TestMisspelledWords(t *testing.T) {
	if _, err := Parse("", []byte(everyWord)); err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?:(?:def|signal|check) (\w+)|[(](\w+)[)]? :|'(\w+)')`)
	names := map[int]bool{} // the positions of names that are declared here, and of texts
	for _, m := range declared.FindAllStringSubmatchIndex(everyWord, -1) {
		for _, i := range m[2:] {
			names[i] = true
		}
	}
	for _, m := range regexp.MustCompile(`[A-Za-z]\w*`).FindAllStringIndex(everyWord, -1) {
		word, n := everyWord[m[0]:m[1]], m[1]-m[0]
		if names[m[0]] {
			continue
		}
		wrong := []string{strings.ToUpper(word), word[:n-1] + word[n-2:n-1] + word[n-1:], word + "x"}
		if n > 2 {
			wrong = append(wrong, word[1:2]+word[:1]+word[2:], word[:n-2]+word[n-1:], word[:1]+word[2:])
		}
		line := 1 + strings.Count(everyWord[:m[0]], "\n")
		column := m[0] - strings.LastIndex(everyWord[:m[0]], "\n")
		for _, w := range wrong {
			if w == word || w == "do" {
				continue
			}
			_, err := Parse("", []byte(everyWord[:m[0]]+w+everyWord[m[1]:]))
			var e *SyntaxError
			if !errors.As(err, &e) {
				if units[w] == nil {
					t.Errorf("line %d: %s for %s is accepted", line, w, word)
				}
				continue
			}
			if hint := nearest.Hint(e.Word, e.Words); e.Line != line || e.Column != column ||
				hint != "; did you mean "+word+"?" && !strings.HasSuffix(e.Expected, "the unit for it is "+word) {
				t.Errorf("line %d, column %d: %s for %s: found %v%s", line, column, w, word, e, hint)
			}
		}
	}
}

// TestForeignSymbols checks messages about comparison operators and arrows of other languages.
func TestForeignSymbols(t *testing.T) {
	for text, want := range map[string]string{
		"s => 5":           `1:32: found "=>", expected one of >= > <= < == !=; did you mean >=?`,
		"s =< 5":           `1:32: found "=<", expected one of >= > <= < == !=; did you mean <=?`,
		"s = 5":            `1:32: found "=", expected one of >= > <= < == !=; did you mean ==?`,
		"s <> -5":          `1:32: found "<>", expected one of >= > <= < == !=; did you mean !=?`,
		"s === 5":          `1:32: found "===", expected one of >= > <= < == !=; did you mean ==?`,
		"(p -> p)":         `1:33: found "-", expected one of >= > <= < == !=; if A then B is the implication`,
		"(p => p)":         `1:33: found "=>", expected one of >= > <= < == !=; if A then B is the implication`,
		"(p <=> p)":        `1:33: found "<=>", expected one of >= > <= < == !=; if A then B is the implication, and (A`,
		"s < = 5":          `1:34: found "=", expected a number`,
		"derivatve(s) * 2": `1:30: found "derivatve", expected a formula`,
	} {
		_, err := Parse("", []byte("signal s : wip 'i' check c : "+text+" def p : true"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: found %v, expected %s", text, err, want)
		}
	}
	for _, text := range []string{"s <=-5", "s >+5", "-s>-5", "s - 5 >= -5"} {
		if _, err := Parse("", []byte("signal s : wip 'i' check c : "+text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestMisspelledProperties checks that misspelled words of properties do not become parts of names.
func TestMisspelledProperties(t *testing.T) {
	for _, x := range []struct{ kind, text, want string }{
		{"response", "A -> B withn 5ms", `found "withn 5ms", expected "within 5ms"; a name that ends like this needs quotes`},
		{"response", "A -> B whitin [1ms, 5ms)", `expected "within [1ms, 5ms)"`},
		{"response", "A -> B bye 5 ms", `expected "by 5 ms"`},
		{"response", "A -> B within 5mss", `found "5mss", expected a time such as 5ms (ns, us, ms, s, min or h); did you`},
		{"response", "A -> B within 5 seconds", "; the unit for it is s"},
		{"latency", "A..B bye id p99 < 2ms", `found "bye id", expected "by id"; a name that ends like this needs quo`},
		{"period", "A every 10mss", "; did you mean ms?"},
	} {
		if _, err := Property(x.kind, "c", x.text); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: found %v, expected %s", x.text, err, x.want)
		}
	}
	for _, text := range []string{"A -> 'B withn 5ms'", "A -> B withn 5", "A -> with 5", "A -> send b", "A -> sort by x"} {
		if _, err := Property("response", "c", text); (err != nil) != (text == "A -> sort by x") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestMisspelledNames checks hints at names that a trace has.
func TestMisspelledNames(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	loc := rec.Location("main")
	rec.Enter(loc, 0, rec.Region("task"))
	rec.Leave(loc, 1, rec.Region("task"))
	spec, err := Parse("", []byte("signal s : {'names' = 'queue'} check a : s <= 5 check b : {'name' = 'strat task'} "+
		"check c : {'name' = 'edn tsk'} check d : {'comunicator' = '0'}"))
	if err != nil {
		t.Fatal(err)
	}
	x, err := Run(context.Background(), format.Recorded(rec), spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range x.Warnings {
		got = append(got, w.Text+nearest.Hint(w.Word, w.Words))
	}
	want := []string{"no event has the attribute 'comunicator'; did you mean communicator?",
		"no event has 'name' = 'edn tsk'; did you mean end task?",
		"no event has 'name' = 'strat task'; did you mean start task?",
		"no signal has the attribute 'names'; did you mean name?"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}
