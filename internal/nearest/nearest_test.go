package nearest

import (
	"slices"
	"testing"
)

// TestDistance compares edit distances with distances that were counted by hand.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"print", "print", 0}, {"pritn", "print", 1}, {"ente", "enter", 1},
		{"exlusive", "exclusive", 1}, {"kitten", "sitting", 3}, {"größe", "grösse", 2}, {"ab", "ba", 1},
	} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestLettersInCommon checks that the word with the most letters in common is chosen of words with equal distances.
func TestLettersInCommon(t *testing.T) {
	for _, c := range []struct {
		word, want string
		list       []string
	}{
		{"star", "start", []string{"stay", "start", "stay"}}, // a missing letter, rather than another one
		{"ont", "not", []string{"one", "not"}},               // exchanged letters
		{"su", "us", []string{"s", "us"}},
		{"nxt", "next", []string{"not", "next"}},
		{"cap", "cat", []string{"cat", "car"}}, // the first one
	} {
		if got := DidYouMean(c.word, slices.Values(c.list), ""); got != "did you mean "+c.want+"?" {
			t.Errorf("DidYouMean(%q, %q) = %q, want %s", c.word, c.list, got, c.want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	list := []string{"enter", "leave", "claim-begin", "claim-end", "MPI_Send", "c", "при", "rank 1"}
	for _, c := range []struct{ word, want string }{
		{"ente", "did you mean enter?"}, {"claim-ent", "did you mean claim-end?"}, {"mpi_send", "did you mean MPI_Send?"},
		{"rnk1", "did you mean rank 1?"}, {"rank1", "did you mean rank 1?"}, {"en ter", "did you mean enter?"},
		{" ", "look"}, {"nosuch", "look"}, {"", "look"}, {"x", "look"}, {"leave", "look"},
		{"α", "look"}, {"κ", "look"}, {"ключ", "look"}, {"прил", "did you mean при?"}, // letters of two bytes each
	} {
		if got := DidYouMean(c.word, slices.Values(list), "look"); got != c.want {
			t.Errorf("DidYouMean(%q) = %q, want %q", c.word, got, c.want)
		}
	}
}
