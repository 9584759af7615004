package extsort

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

type rec struct {
	a, b int64
	data string
}

// TestSort checks that records are returned in the order of their keys. Records with equal keys must keep the
// order in which they were added. The test uses numbers of records that fit into memory and numbers that do
// not.
func TestSort(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 200_000} {
		r := rand.New(rand.NewPCG(uint64(n), 1))
		dir := t.TempDir()
		s := New(1<<20, dir)
		var want []rec
		for i := range n {
			data := make([]byte, 8+r.IntN(40))
			binary.LittleEndian.PutUint64(data, uint64(i))
			x := rec{r.Int64N(50) - 25, r.Int64N(1000), string(data)}
			want = append(want, x)
			if err := s.Add(x.a, x.b, data); err != nil {
				t.Fatal(err)
			}
		}
		if s.Len() != int64(n) || s.Spilled() != (n > 100_000) {
			t.Errorf("%d records: length %d, spilled %t", n, s.Len(), s.Spilled())
		}
		slices.SortStableFunc(want, func(x, y rec) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) })
		it, err := s.Sort(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			x, ok, err := it.Next()
			if err != nil || !ok || (rec{x.A, x.B, string(x.Data)}) != want[i] {
				t.Fatalf("%d records: number %d is %v, %t, %v, want %v", n, i, x, ok, err, want[i])
			}
		}
		if _, ok, _ := it.Next(); ok {
			t.Errorf("%d records: more come out than went in", n)
		}
		s.Close()
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%d records: %d temporary files are left", n, len(left))
		}
	}
}

// TestRuns checks that records which arrive in order form one run, that others begin a new run, and that the order
// is right either way, also of extreme keys and of data that exceeds the buffers.
func TestRuns(t *testing.T) {
	const n = 60_000
	long := strings.Repeat("x", 3*readBuffer)
	for _, test := range []struct {
		name string
		key  func(i int) (a, b int64)
		runs int // 0 for any number
	}{
		{"ascending", func(i int) (a, b int64) { return int64(i/100 - 300), int64(i%100 - 50) }, 1},
		{"extremes", func(i int) (a, b int64) {
			return [3]int64{math.MinInt64, 0, math.MaxInt64}[i*3/n], [2]int64{math.MinInt64, math.MaxInt64}[i*6/n%2]
		}, 1},
		{"equal", func(int) (a, b int64) { return 0, -1 }, 1},
		{"nearly ascending", func(i int) (a, b int64) { return int64(i^31) / 3, 0 }, 0},
		{"two ascending sequences", func(i int) (a, b int64) { return int64(i % (n / 2)), 0 }, 0},
	} {
		s := New(1<<20, t.TempDir())
		defer s.Close()
		var want []rec
		for i := range n {
			x := rec{data: strconv.Itoa(i)}
			if x.a, x.b = test.key(i); i%(n/3) == 5 {
				x.data += long
			}
			if want = append(want, x); s.Add(x.a, x.b, []byte(x.data)) != nil {
				t.Fatal("cannot add")
			}
		}
		it, err := s.Sort(t.Context())
		if err != nil || test.runs > 0 && len(s.runs) != test.runs {
			t.Errorf("%s: %d runs (%v), expected %d", test.name, len(s.runs), err, test.runs)
		}
		slices.SortStableFunc(want, func(x, y rec) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) })
		for i, w := range want {
			if x, ok, err := it.Next(); err != nil || !ok || (rec{x.A, x.B, string(x.Data)}) != w {
				t.Fatalf("%s: number %d is (%d, %d) (%t, %v), expected (%d, %d)", test.name, i, x.A, x.B, ok, err, w.a, w.b)
			}
		}
	}
}

// TestManyRuns sorts records in more runs than are merged at the same time.
func TestManyRuns(t *testing.T) {
	s := New(1, t.TempDir()) // 1 MiB, the smallest amount of memory
	defer s.Close()
	data := make([]byte, 64<<10)
	const n = 16 * (maxRuns + 20)
	for i := range n {
		if err := s.Add(int64(n-i), 0, data); err != nil {
			t.Fatal(err)
		}
	}
	it, err := s.Sort(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if x, ok, err := it.Next(); err != nil || !ok || x.A != int64(i+1) {
			t.Fatalf("number %d has key %d (%t, %v)", i, x.A, ok, err)
		}
	}
}

// TestGroups checks that the groups of a sorter can be read independently of each other, whether
// they are in memory or in a file.
func TestGroups(t *testing.T) {
	for _, n := range []int{0, 1000, 100_000} {
		s := New(1<<20, t.TempDir())
		want := map[int64][]int64{}
		for i := range n {
			a, b := int64(i%7)-3, int64(i*7919%1000)
			want[a] = append(want[a], b)
			if err := s.Add(a, b, []byte("data of a record")); err != nil {
				t.Fatal(err)
			}
		}
		groups, err := s.Groups(t.Context())
		if err != nil || len(groups) != len(want) || len(s.runs) > 1 {
			t.Fatalf("%d records: %d groups in %d files (%v), expected %d in one at most", n, len(groups), len(s.runs), err,
				len(want))
		}
		got := map[int64][]int64{}
		for more := len(groups); more > 0; {
			more = 0
			for _, g := range groups {
				r, ok, err := g.Records.Next()
				if err != nil || ok && (r.A != g.A || string(r.Data) != "data of a record") {
					t.Fatalf("%d records: found %+v in group %d (%v)", n, r, g.A, err)
				}
				if ok {
					got[g.A] = append(got[g.A], r.B)
					more++
				}
			}
		}
		for a, l := range want {
			if slices.Sort(l); !slices.Equal(got[a], l) {
				t.Errorf("%d records: group %d has %d records in another order, expected %d", n, a, len(got[a]), len(l))
			}
		}
		s.Close()
	}
}
