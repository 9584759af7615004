package otf

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
)

// openTable holds entries that have begun and not ended, such as visits, by key.
type openTable[V any] struct {
	last uint64 // number of the next entry
	open map[uint64]numbered[V]
}

type numbered[V any] struct {
	n uint64
	v V
}

// begin adds an entry. It replaces an earlier entry with the same key.
func (o *openTable[V]) begin(key uint64, v V) {
	if o.open == nil {
		o.open = map[uint64]numbered[V]{}
	}
	o.open[key] = numbered[V]{o.last, v}
	o.last++
}

func (o *openTable[V]) end(key uint64) (V, bool) {
	x, ok := o.open[key]
	delete(o.open, key)
	return x.v, ok
}

// list returns the entries in the order in which they began.
func (o *openTable[V]) list() []V {
	sorted := slices.SortedFunc(maps.Values(o.open), func(a, b numbered[V]) int { return cmp.Compare(a.n, b.n) })
	list := make([]V, len(sorted))
	for i := range sorted {
		list[i] = sorted[i].v
	}
	return list
}

// tokenTable holds a value for each token. An entry is added when its token is first used.
type tokenTable[V any] struct {
	entry  map[uint64]*tokenEntry[V]
	list   []*tokenEntry[V]
	sorted bool
}

type tokenEntry[V any] struct {
	token uint64
	v     V
}

// at returns the entry of a token, and adds it if necessary.
func (t *tokenTable[V]) at(token uint64) *tokenEntry[V] {
	if e := t.entry[token]; e != nil {
		return e
	}
	if t.entry == nil {
		t.entry = map[uint64]*tokenEntry[V]{}
	}
	e := &tokenEntry[V]{token: token}
	t.entry[token] = e
	t.list = append(t.list, e)
	t.sorted = false
	return e
}

// all returns the entries in the order of their tokens. The slice belongs to the table.
func (t *tokenTable[V]) all() []*tokenEntry[V] {
	if !t.sorted {
		slices.SortFunc(t.list, func(a, b *tokenEntry[V]) int { return cmp.Compare(a.token, b.token) })
		t.sorted = true
	}
	return t.list
}

// wideSum is a sum of 128 bits.
type wideSum struct{ hi, lo uint64 }

func (w *wideSum) add(v uint64) { w.addWide(wideSum{lo: v}) }

func (w *wideSum) addWide(x wideSum) {
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, x.lo, 0)
	w.hi, _ = bits.Add64(w.hi, x.hi, carry)
}
