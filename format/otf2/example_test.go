package otf2_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
)

// Example writes an archive and reads it again.
func Example() {
	dir, err := os.MkdirTemp("", "otf2-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "traces.otf2")
	out, err := format.CreateFile(path)
	if err != nil {
		log.Fatal(err)
	}
	w, err := otf2.NewWriter(out, otf2.Anchor{Creator: "an example"})
	if err != nil {
		log.Fatal(err)
	}
	// docs/formats/otf2.md describes these records.
	const clock, text, node, group, location, region, enter, leave = 5, 10, 12, 13, 14, 15, 12, 13
	const none = 1<<32 - 1
	define := func(id uint8, values ...uint64) {
		if err := w.Define(&otf2.Record{ID: id, Values: values}); err != nil {
			log.Fatal(err)
		}
	}
	for i, s := range []string{"machine", "process", "thread", "solve"} {
		if err := w.Define(&otf2.Record{ID: text, Values: []uint64{uint64(i), 0}, Texts: []string{s}}); err != nil {
			log.Fatal(err)
		}
	}
	define(clock, 1_000_000_000, 0, 100, 1<<64-1)
	define(node, 0, 0, 0, none)
	define(group, 0, 1, 1, 0, none)
	define(region, 0, 3, none, 0, none, 0, 0, 3, 1, 1, 0)
	events := w.Location(0)
	for i, id := range []uint8{enter, leave} {
		if err := events.Write(&otf2.Event{Time: uint64(10 + 50*i),
			Record: otf2.Record{ID: id, Values: []uint64{0}}}); err != nil {
			log.Fatal(err)
		}
	}
	define(location, 0, 2, 1, events.Count, 0)
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	if err := out.Commit(); err != nil {
		log.Fatal(err)
	}

	a, err := otf2.Open(format.FileSource(path))
	if err != nil {
		log.Fatal(err)
	}
	r, err := a.Events(0, otf2.EventOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Time, e.ID, e.Values)
	}
	// Output:
	// 10 12 [0]
	// 60 13 [0]
}

// ExampleOpen reads an archive of another tool and counts the events of each location. otf2-print
// shows 20 sends and 20 receives at each.
func ExampleOpen() {
	a, err := otf2.Open(format.FileSource("testdata/ok/ring/eztrace_log.otf2"))
	if err != nil {
		log.Fatal(err)
	}
	ids, err := a.LocationIDs()
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range ids {
		r, err := a.Events(id, otf2.EventOptions{})
		if err != nil {
			log.Fatal(err)
		}
		n, sends := 0, 0
		for {
			e, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				log.Fatal(err)
			}
			n++
			if e.ID == 14 { // record 14 is a send (docs/formats/otf2.md)
				sends++
			}
		}
		r.Close()
		fmt.Println("location", id, "has", n, "events,", sends, "of them sends")
	}
	// Output:
	// location 0 has 286 events, 20 of them sends
	// location 536870911 has 286 events, 20 of them sends
	// location 1073741822 has 286 events, 20 of them sends
	// location 1610612733 has 286 events, 20 of them sends
}
