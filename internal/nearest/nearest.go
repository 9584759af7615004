// Package nearest finds the word that is most similar to a misspelled word.
package nearest

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// DidYouMean returns a hint about an unknown word: the nearest word of a list. Of equally near words, it is the one
// with the most letters in common, because exchanged, missing and double letters are more frequent than other letters.
// Blanks do not count.
// If no word is near, it is the shortest word of the list that begins with the unknown word. If there is none, or if
// the list contains the word itself, the result is the text otherwise.
func DidYouMean(word string, list iter.Seq[string], otherwise string) string {
	folded := fold(word)
	letters := utf8.RuneCountInString(folded)
	best, longer, limit := "", "", (letters+1)/3+1
	for s := range list {
		if s == word {
			return otherwise // the word is not misspelled
		}
		lower := fold(s)
		if letters > 1 && strings.HasPrefix(lower, folded) && (longer == "" || len(s) < len(longer)) {
			longer = s
		}
		if n := utf8.RuneCountInString(lower) - letters; n > limit || -n > limit {
			continue
		}
		if d := editDistance(folded, lower); d < limit || d == limit && best != "" &&
			differentLetters(folded, lower) < differentLetters(folded, fold(best)) {
			best, limit = s, d
		}
	}
	if best = cmp.Or(best, longer); best == "" {
		return otherwise
	}
	return "did you mean " + best + "?"
}

// fold returns a word without blanks and in lower case.
func fold(word string) string { return strings.ToLower(strings.ReplaceAll(word, " ", "")) }

// Hint returns the end of a message that lists the valid words: "; did you mean …?", or "" if no
// word is near.
func Hint(word string, list []string) string {
	if near := DidYouMean(word, slices.Values(list), ""); near != "" {
		return "; " + near
	}
	return ""
}

// differentLetters returns the number of characters of a and b that the other text does not have, each as often as it
// occurs.
func differentLetters(a, b string) (n int) {
	count := map[rune]int{}
	for _, r := range a {
		count[r]++
	}
	for _, r := range b {
		count[r]--
	}
	for _, c := range count {
		n += max(c, -c)
	}
	return n
}

// editDistance returns the number of characters that must be inserted, deleted, replaced or exchanged
// with their successor to turn a into b.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := func(n int) []int {
		r := make([]int, len(y)+1)
		r[0] = n
		return r
	}
	// row holds the distances for a prefix of a; these are the rows for the first i-2 and i-1 characters
	before, last := row(0), row(0)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		this := row(i)
		for j := 1; j <= len(y); j++ {
			replaced := last[j-1]
			if x[i-1] != y[j-1] {
				replaced++
			}
			this[j] = min(replaced, last[j]+1, this[j-1]+1)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				this[j] = min(this[j], before[j-2]+1)
			}
		}
		before, last = last, this
	}
	return last[len(y)]
}
