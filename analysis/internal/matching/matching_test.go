package matching

import (
	"math/rand/v2"
	"testing"
)

// waiting is an end in the list of the definition: the ends of a channel that wait, the oldest first.
type waiting struct {
	side      Side
	tag       int64
	value     int
	cancelled bool
}

// TestMatcher compares a matcher with a search through a list of all ends of the channel that wait.
func TestMatcher(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 7))
		m := New[int, int]()
		lists := map[Channel][]waiting{}
		handles := map[int]Handle{}
		tags := 2 + random.Int64N(40)
		for step := range 3000 {
			at := Channel{uint32(random.IntN(4)), uint32(random.IntN(30)), uint64(random.IntN(2))}
			side, tag := Side(random.IntN(2)), random.Int64N(tags)-1
			if h, ok := handles[random.IntN(step+1)]; ok && random.IntN(10) == 0 {
				cancel(t, m, lists, h)
				continue
			}
			list := lists[at]
			found := -1
			for i := range list {
				w := &list[i]
				if found < 0 && w.side == 1-side && !w.cancelled && (w.tag == tag || w.tag == UnknownTag || tag == UnknownTag) {
					found = i
				}
			}
			c := m.Conversation(at, side)
			v, ok := m.Take(c, 1-side, tag)
			if ok != (found >= 0) || ok && v != list[found].value {
				t.Fatalf("seed %d, step %d: found end %d, %v; expected that at %d of %v", seed, step, v, ok, found, list)
			}
			if ok {
				lists[at] = append(list[:found:found], list[found+1:]...)
				continue
			}
			handles[step] = m.Add(c, side, tag, step)
			lists[at] = append(list, waiting{side, tag, step, false})
		}
		checkEach(t, m, lists)
	}
}

// cancel cancels an end in a matcher and in the lists.
func cancel(t *testing.T, m *Matcher[int, int], lists map[Channel][]waiting, h Handle) {
	t.Helper()
	v, ok := m.Cancel(h)
	for _, list := range lists {
		for i := range list {
			if w := &list[i]; ok && w.value == v && !w.cancelled {
				w.cancelled = true
				return
			}
		}
	}
	if ok {
		t.Fatalf("cancelled end %d, which does not wait", v)
	}
}

// checkEach compares the ends that wait in a matcher with those in the lists.
func checkEach(t *testing.T, m *Matcher[int, int], lists map[Channel][]waiting) {
	t.Helper()
	type key struct {
		at   Channel
		side Side
	}
	found := map[key][]int{}
	m.Each(func(at Channel, side Side, _ int64, _ Handle, v int) {
		found[key{at, side}] = append(found[key{at, side}], v)
	})
	for at, list := range lists {
		for _, w := range list {
			k := key{at, w.side}
			if w.cancelled {
				continue
			}
			if len(found[k]) == 0 || found[k][0] != w.value {
				t.Fatalf("%v: found ends %v, expected %d first", k, found[k], w.value)
			}
			found[k] = found[k][1:]
		}
	}
	for k, list := range found {
		if len(list) > 0 {
			t.Fatalf("%v: found ends %v, expected none", k, list)
		}
	}
}

// TestMemory checks that a matcher does not keep ends that have been taken, and only recent channels.
func TestMemory(t *testing.T) {
	m := New[int, int]()
	for i := range 10000 {
		at := Channel{0, uint32(i % 1000), 0}
		m.Add(m.Conversation(at, Sends), Sends, int64(i), i)
		if _, ok := m.Take(m.Conversation(at, Receives), Sends, int64(i)); !ok {
			t.Fatalf("message %d: found no send", i)
		}
	}
	// The matcher keeps a channel for each of the 1000 receivers. For the sender, location 0, it keeps only the
	// recent channels.
	if m.nodes.Places() > 2 || len(m.conversations) > 1000+recentPlaces {
		t.Errorf("found %d nodes and %d channels, expected 1 and about 1000", m.nodes.Places(), len(m.conversations))
	}
}
