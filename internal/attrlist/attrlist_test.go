package attrlist

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNext checks examples from the format's documentation and from files of other programs.
func TestNext(t *testing.T) {
	for list, want := range map[string]string{
		` name = experiment 1, origin = prototype X, date = Jan 12\, 2020`: "name=experiment 1|origin=prototype " +
			"X|date=Jan 12, 2020",
		`name=E2, att = E2's name \= E2`: "name=E2|att=E2's name = E2",
		`a\=b=c`:                         "a=b=c",
		`k=a=b`:                          "k=a=b!3",
		`k=\\,l=\x`:                      `k=\|l=x!4`,
		`k=`:                             "k=",
		``:                               "",
		"  \t\r":                         "",
		`k`:                              "k=!1",
		`=v`:                             "=v!2",
		`k= v\ `:                         "k=v ",
		`k=C:\ docs`:                     "k=C: docs!4",
		`a\ b=v`:                         "a b=v!4",
		"k=a\\\tb":                       "k=a\tb!4",
		`k=\ v\ , l=\\ x`:                `k= v |l=\ x`,
		`a=1,`:                           "a=1!5",
		`a=1, b=2 , `:                    "a=1|b=2!5",
		"task=A\r":                       "task=A",
	} {
		var got []string
		rest := []byte(list)
		for {
			k, v, r, p, more := Next(rest)
			if !more {
				break
			}
			s := k + "=" + v
			if p != NoProblem {
				s += "!" + string('0'+rune(p))
			}
			got = append(got, s)
			rest = r
		}
		if g := strings.Join(got, "|"); g != want {
			t.Errorf("%q: %s, want %s", list, g, want)
		}
	}
}

// TestRoundTrip checks that Next returns the keys and values that Append has written, with blanks
// in place of line ends.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abc ,=\\\té;#\"")), 0, 20, -1)
		k, v := "k"+text.Draw(t, "key"), text.Draw(t, "value")
		b, replaced := Append(nil, k, v)
		k2, v2, rest, p, more := Next(b)
		if !more || p != NoProblem || replaced || k2 != k || v2 != v || len(rest) > 0 {
			t.Fatalf("%q=%q written %q, read %q=%q, rest %q, problem %d", k, v, b, k2, v2, rest, p)
		}
	})
}
