package raster_test

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"log"

	"github.com/weft-trace/weft/draw/raster"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// ExampleSpans draws a strip of 10 columns of 10 ms each. It has two visits, from 20 to 50 ms and from 60 to
// 100 ms. The second visit is four columns wide. Therefore its last column stays empty as a separator.
func ExampleSpans() {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	p, work := r.Location("p"), r.Region("work")
	for _, t := range [][2]int64{{20, 50}, {60, 100}} {
		r.Enter(p, t[0], work)
		r.Leave(p, t[1], work)
	}
	ctx := context.Background()
	x, err := index.BuildTemporary(ctx, format.Recorded(r), index.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	tile, err := x.Tile(ctx, index.TileRequest{Tracks: []int{0}, From: 0, To: 100, Width: 10, Depths: 1})
	if err != nil {
		log.Fatal(err)
	}
	img := image.NewRGBA(image.Rect(0, 0, tile.Width, 1))
	white, red := color.RGBA{255, 255, 255, 255}, color.RGBA{200, 0, 0, 255}
	colors := &raster.Colors{Region: func(uint32) color.RGBA { return red }}
	for _, s := range tile.Strips {
		if s.Kind == index.SpanStrip {
			raster.Spans(img, 0, 0, 1, raster.LeastClaim, tile, s, white, colors)
		}
	}
	for c := range tile.Width {
		if img.RGBAAt(c, 0) == red {
			fmt.Print("#")
		} else {
			fmt.Print(".")
		}
	}
	fmt.Println()
	// Output: ..###.###.
}
