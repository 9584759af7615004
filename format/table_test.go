package format

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestTable checks that the rows of a table can be read any number of times, for short and long
// tables.
func TestTable(t *testing.T) {
	for _, n := range []int{0, 1, 5, 100_000} {
		x := Table{Key: "x"}
		defer x.Close()
		row := func(i int) []any {
			return []any{int64(i), int64(math.MinInt64) + int64(i), fmt.Sprint("row ", i), "", nil, trace.Real(float64(i) / 3)}
		}
		for i := range n {
			if err := x.Add(row(i)...); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			i := 0
			for r, err := range x.Rows() {
				if err != nil {
					t.Fatal(err)
				}
				if want := row(i); !reflect.DeepEqual(r, want) {
					t.Fatalf("found %v, expected %v", r, want)
				}
				i++
			}
			if i != n || x.Len() != n {
				t.Errorf("found %d rows of %d, expected %d", i, x.Len(), n)
			}
			for _, err := range x.Rows() {
				if err != nil {
					t.Error(err)
				}
				break
			}
		}
	}
	if err := (&Table{Key: "x"}).Add(7); err == nil {
		t.Error("found no error, expected one of a value of another type")
	}
}

// TestTableMemory checks that a long table does not keep its rows in memory.
func TestTableMemory(t *testing.T) {
	var x Table
	defer x.Close()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range int64(300_000) {
		if err := x.Add(i, i, i, "some text of a row"); err != nil {
			t.Fatal(err)
		}
	}
	if now := heap(); now > before+4<<20 {
		t.Errorf("found %d bytes more than before, expected 4 MiB at most", now-before)
	}
	runtime.KeepAlive(&x)
}
