package cache_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/picl"
	"github.com/weft-trace/weft/serve/cache"
	"github.com/weft-trace/weft/timeline/index"
)

// This example builds the index of a trace, and finds it in the cache the second time.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	c, err := cache.Open(dir, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	src := format.FileSource("../../examples/ring.trf")
	settings := &cache.Settings{Version: index.Version, Format: "picl"}
	build := func(ctx context.Context, src format.Source, path string) (cache.ReadDefects, error) {
		f, err := picl.Format{}.Open(ctx, src, &format.ReadOptions{})
		if err != nil {
			return cache.ReadDefects{}, err
		}
		defer f.Close()
		return cache.ReadDefects{}, index.Build(ctx, f, path, index.Options{})
	}
	for range 2 {
		e, ok, err := c.Find(src, settings)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("found:", ok)
		if !ok {
			if e, err = c.Build(ctx, src, settings, build); err != nil {
				log.Fatal(err)
			}
		}
		x, err := index.Open(e.Path)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(x.Counts().Spans, "visits of regions", x.Close())
	}
	// Output:
	// found: false
	// 72 visits of regions <nil>
	// found: true
	// 72 visits of regions <nil>
}
