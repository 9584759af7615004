// Package openset tells that something is not among what is open, where to search for it would take
// long: a damaged trace may be deep in calls and leave, again and again, what it never entered.
package openset

// deep is from how many open things on a search that finds nothing is worth avoiding.
const deep = 64

// Counts counts what is open by its key. It costs nothing until a search among many has found nothing,
// and from then on a map of the keys that are open. The zero Counts is ready. Whoever opens and
// closes things says so, each time, with [Counts.Open] and [Counts.Close].
type Counts[K comparable] struct{ open map[K]int }

// Open notes that something is opened.
func (c *Counts[K]) Open(k K) {
	if c.open != nil {
		c.open[k]++
	}
}

// Close notes that something that was open is closed.
func (c *Counts[K]) Close(k K) {
	if c.open != nil {
		c.close(k)
	}
}

func (c *Counts[K]) close(k K) {
	if c.open[k]--; c.open[k] == 0 {
		delete(c.open, k)
	}
	if len(c.open) == 0 {
		c.open = nil
	}
}

// Lacks reports whether it is known that nothing with this key is open. If not, search for it.
func (c *Counts[K]) Lacks(k K) bool { return c.open != nil && c.open[k] == 0 }

// Missed notes that a search among n open things, whose keys at returns, has found nothing.
func (c *Counts[K]) Missed(n int, at func(i int) K) {
	if c.open != nil || n < deep {
		return
	}
	c.open = map[K]int{}
	for i := range n {
		c.open[at(i)]++
	}
}

// Reset forgets everything: nothing is open.
func (c *Counts[K]) Reset() { c.open = nil }
