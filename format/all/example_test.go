package all_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// ExampleOpen reads traces of three formats with the same code. A file of Eclipse TRACE4CPS does not define
// locations. weft makes 10 locations of the file in this example: one for each of its 8 resources, one for its
// signal, and one for its events.
func ExampleOpen() {
	ctx := context.Background()
	for _, name := range []string{
		"../otf2/testdata/ok/ring/eztrace_log.otf2",
		"../../examples/ring.trf",
		"../../examples/odse.etf",
		"all.go",
	} {
		f, err := all.Open(ctx, name, nil)
		if errors.Is(err, format.ErrUnknown) {
			fmt.Println(name, "is no trace")
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		defer f.Close()
		if err := f.Prepare(ctx); err != nil {
			log.Fatal(err)
		}
		d := f.Defs()
		fmt.Printf("%s: %d locations, %d resources, ticks of %s\n",
			d.Format, d.Locations.Len(), d.Resources.Len(), d.Clock.Resolution())
	}
	// Output:
	// otf2: 4 locations, 0 resources, ticks of 1 ns
	// picl: 8 locations, 0 resources, ticks of 10 µs
	// etf: 10 locations, 8 resources, ticks of 1 µs
	// all.go is no trace
}

// ExampleFormats writes a recorded trace in all formats that weft can write.
func ExampleFormats() {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	p, work := r.Location("p"), r.Region("work")
	r.Enter(p, 1, work)
	r.Leave(p, 3, work)
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	for _, f := range all.Formats() {
		about := f.About()
		if about.Writes == "" {
			continue // weft only reads this format
		}
		name := filepath.Join(dir, about.Name, "trace"+about.Extensions[0])
		if err := os.Mkdir(filepath.Dir(name), 0o777); err != nil {
			log.Fatal(err)
		}
		if err := format.Save(ctx, name, f, r); err != nil {
			log.Fatal(err)
		}
		again, err := all.Open(ctx, name, nil)
		if err != nil {
			log.Fatal(err)
		}
		first, last, _, err := again.Extent(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(about.Title, again.Defs().Clock.FormatDuration(last-first), again.Close())
	}
	// Output:
	// Eclipse TRACE4CPS 2 ms <nil>
	// PICL 2 ms <nil>
	// Open Trace Format 1 (OTF) 2 ms <nil>
	// Pallas 2 ms <nil>
	// Open Trace Format 2 (OTF2) 2 ms <nil>
}
