package index

import (
	"os"
	"testing"
)

func BenchmarkZZ(b *testing.B) {
	x, err := Open(os.Getenv("IDX"))
	if err != nil {
		b.Skip()
	}
	first, last, _ := x.Extent()
	q := TileRequest{Tracks: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, From: first, To: last, Width: 1600, Depths: 20}
	for range b.N {
		t, err := x.Tile(b.Context(), q)
		if err != nil {
			b.Fatal(err)
		}
		t.AppendBinary(nil)
	}
}
