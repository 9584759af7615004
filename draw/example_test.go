package draw_test

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-trace/weft/draw"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/timeline/index"
)

// ExampleSheet draws a picture of a trace to a file.
func ExampleSheet() {
	ctx := context.Background()
	f, err := all.Open(ctx, "../examples/odse.etf", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	x, err := index.BuildTemporary(ctx, f, index.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "odse.png")
	out, err := os.Create(name)
	if err != nil {
		log.Fatal(err)
	}
	s := draw.Sheet{Index: x, Links: 100, Options: draw.Options{Title: "A printer", Width: 800, Scale: 2}}
	if err := s.PNG(ctx, out); err != nil {
		log.Fatal(err)
	}
	if err := out.Close(); err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		log.Fatal(err)
	}
	c, err := png.DecodeConfig(bytes.NewReader(text))
	fmt.Println(c.Width, "pixels wide", err)
	// Output: 1600 pixels wide <nil>
}

// ExampleSheet_SVG draws two of the resources, from 20 to 40 ms, for a web page. The picture
// contains the names of these resources only.
func ExampleSheet_SVG() {
	ctx := context.Background()
	f, err := all.Open(ctx, "../examples/odse.etf", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	x, err := index.BuildTemporary(ctx, f, index.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	s := draw.Sheet{Index: x, From: 20_000, To: 40_000} // ticks of 1 µs
	for i, t := range x.Tracks() {
		if t.Name == "CPU" || t.Name == "M1" {
			s.Tracks = append(s.Tracks, i)
		}
	}
	var b strings.Builder
	if err := s.SVG(ctx, &b); err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"CPU", "GPU", "M1", "M2"} {
		fmt.Println(name, strings.Contains(b.String(), ">"+name+"<"))
	}
	// Output:
	// CPU true
	// GPU false
	// M1 true
	// M2 false
}
