package picl

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestKeptSums compares sums that are kept between statistics records with sums that are added up again.
func TestKeptSums(t *testing.T) {
	events := []int64{0, 1, 2, -21, -51, -52, -30, -31, -11}
	values := append([]int64{-1, -1001, -1002, -1012, -1013, -2000, -3000}, events...)
	updated := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		pick := func(list ...int64) int64 { return list[r.IntN(len(list))] }
		s, d := NewStatistics(), newDefinitions()
		for _, id := range []int64{-2000, -3000} {
			members := []int64{pick(values...), pick(values...), pick(values...)}
			d.define(setKey{TypeEventSet, id}, slices.DeleteFunc(members, func(m int64) bool { return m == id }))
		}
		d.define(setKey{TypeProcessorSet, -10}, []int64{0, 2})
		own := map[int64]bool{}
		for _, e := range values {
			own[e] = r.IntN(2) == 0
		}
		s.setDefinitions(d, own)
		for i := range int64(300) {
			rec := Record{Type: pick(TypeMark, TypeEntry, TypeExit), Event: pick(events...), Processor: pick(0, 1, 2),
				Process: pick(0, 0, 1), Time: trace.NewDecimal(i, 3)}
			if r.IntN(50) == 0 {
				rec.Event = pick(values...)
			}
			s.Add(&rec)
			about := procKey{pick(0, -1, -10), pick(0, -1)}
			for _, in := range []int64{-1, pick(values...)} {
				if in != -1 && !own[in] {
					continue
				}
				event := pick(-1, -2000, -1012, pick(values...))
				k := sumKey{about, in, event}
				if f := s.sums.kept[k]; f != nil && f.at < int64(len(s.sums.changes)) {
					updated++
				}
				got := s.total(about, in, event)
				delete(s.sums.kept, k)
				want := s.total(about, in, event)
				if got.time.Float() != want.time.Float() || got.count != want.count || got.volume != want.volume ||
					got.unsure != want.unsure {
					t.Fatalf("seed %d, record %d: %v of %d inside %d: found %+v, expected %+v", seed, i, about, event, in, got, want)
				}
				if pick(0, 1) == 0 {
					delete(s.sums.kept, k)
				}
			}
		}
	}
	if updated < 1000 {
		t.Errorf("%d sums were updated, expected at least 1000", updated)
	}
}

// TestNestedStatistics_2_3_7 checks that tables of many event types inside of each other are given up, and that the
// figures of the whole run are compared nevertheless.
func TestNestedStatistics_2_3_7(t *testing.T) {
	s, own := NewStatistics(), map[int64]bool{-1: true}
	const n = 2000
	for i := range int64(n) {
		own[i] = true
	}
	s.setDefinitions(newDefinitions(), own)
	s.sums.updates = maxUpdates // as after many records
	for i := range int64(n) {
		s.Add(&Record{Type: TypeEntry, Event: i})
	}
	for i := range int64(n) {
		s.Add(&Record{Type: TypeExit, Event: n - 1 - i})
	}
	for _, c := range []struct {
		own  int64
		want string
	}{{0, "picl.statistics-unknown"}, {-1, "picl.statistics"}} {
		rec := Record{Type: TypeCounts, Event: c.own, Values: []trace.Value{intValue(1), intValue(2)}}
		list := s.Compare(&rec, trace.NewDecimal(1, 6))
		if len(list) != 1 || list[0].Rule != c.want {
			t.Errorf("inside %d: found %v, expected %s", c.own, list, c.want)
		}
	}
	if most := updatesPerRecord*2*n + maxUpdates + 1; s.sums.updates > int64(most) {
		t.Errorf("found %d updates, expected at most %d", s.sums.updates, most)
	}
}

// TestStatisticsOfDeepEvents_2_3_3 checks that picl.statistics writes the records of all event types, even if events
// are nested so deeply that check does not compare such records. The events of type 600 are inside of all others.
func TestStatisticsOfDeepEvents_2_3_3(t *testing.T) {
	const depth, visits = 600, 1000
	var b strings.Builder
	time := 0
	line := func(record, event int) {
		time++
		fmt.Fprintf(&b, "%d %d %d.%03d 0 0 0\n", record, event, time/1000, time%1000)
	}
	for i := range depth {
		line(-3, i)
	}
	for range visits {
		line(-3, depth)
		line(-4, depth)
	}
	for i := range depth {
		line(-4, depth-1-i)
	}
	got := copyText(t, b.String(), map[string]string{"picl.statistics": "true"})
	for _, outer := range []int{0, depth - 1} {
		expected := regexp.MustCompile(fmt.Sprintf(`(?m)^-102 %d .* %d %d$`, outer, depth, visits))
		if !expected.MatchString(got) {
			t.Errorf("no record of type -102 states %d events of type %d inside of type %d", visits, depth, outer)
		}
	}
}
