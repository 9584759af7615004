package format_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/etf"
	"github.com/weft-trace/weft/format/picl"
	"github.com/weft-trace/weft/trace"
)

// ExampleBatches reads in time order the messages that the first process sends. In the file, the lines of
// these messages begin with -3 -21 and have 0 after the time.
func ExampleBatches() {
	ctx := context.Background()
	f, err := picl.Format{}.Open(ctx, format.FileSource("../examples/ring.trf"), &format.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	sel := trace.Everything()
	sel.Location = func(loc uint32) bool { return loc == 0 }
	sel.Kind = func(k trace.Kind) bool { return k == trace.Send }
	for b, err := range format.Batches(ctx, f, sel, format.GlobalOrder) {
		if err != nil {
			log.Fatal(err)
		}
		c := b.Cursor()
		for c.Next() {
			fmt.Println(f.Defs().Clock.FormatDuration(c.Time()), c.Kind().Spec().Name, "to location", c.Op(0))
		}
	}
	// Output:
	// 10 µs send to location 1
	// 90 µs send to location 1
	// 170 µs send to location 1
	// 250 µs send to location 1
}

// ExampleSave writes a recorded trace in a format that the program chooses. Times are in seconds in
// the file: 20 ticks of a millisecond are 0.02.
func ExampleSave() {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	baker, knead, bake := r.Location("baker"), r.Region("knead"), r.Region("bake")
	r.Enter(baker, 0, knead)
	r.Leave(baker, 20, knead)
	r.Enter(baker, 25, bake, trace.Attr{Key: "loaves", Value: trace.IntValue(12)})
	r.Leave(baker, 65, bake)
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "bakery.etf")
	if err := format.Save(context.Background(), name, etf.Format{}, r); err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		// lines that begin with T hold data for which the format has no other line
		if !strings.HasPrefix(line, "T ") {
			fmt.Print(line)
		}
	}
	// Output:
	// TU SECONDS
	// R 0 1 false ; name=baker
	// C 1 0 0.02 0 1 ; name=knead, depth=1, weft=0
	// C 3 0.025 0.065 0 1 ; name=bake, depth=1, @loaves#int64=12, weft=1
}

// ExampleConvert writes a trace in another format, and prints the number of losses that the encoder
// reports. The last claim of the original is in line C 196, and ends at 121.205 ms.
func ExampleConvert() {
	ctx := context.Background()
	f, err := etf.Format{}.Open(ctx, format.FileSource("../examples/odse.etf"), &format.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "odse.trf")
	out, err := format.CreateFile(name)
	if err != nil {
		log.Fatal(err)
	}
	defer out.Abort()
	e, err := picl.Format{}.Create(out, &format.WriteOptions{})
	if err != nil {
		log.Fatal(err)
	}
	if err := format.Convert(ctx, f, trace.Everything(), e); err != nil {
		log.Fatal(err)
	}
	if err := out.Commit(); err != nil {
		log.Fatal(err)
	}
	t, err := picl.Format{}.Open(ctx, format.FileSource(name), &format.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	first, last, _, err := t.Extent(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Loss().Lost(), "dropped;", t.Defs().Format, "of", t.Defs().Clock.FormatDuration(last-first))
	// Output: 0 dropped; picl of 121.205 ms
}

// ExampleDetect finds formats by the content of files. all.Formats returns the formats that weft has.
func ExampleDetect() {
	formats := []format.Format{etf.Format{}, picl.Format{}}
	for _, name := range []string{"../examples/odse.etf", "../examples/ring.trf", "doc.go"} {
		f, err := format.Detect(formats, format.FileSource(name))
		if err != nil {
			fmt.Println(name, "is none:", errors.Is(err, format.ErrUnknown))
			continue
		}
		fmt.Println(name, "is", f.About().Title)
	}
	// Output:
	// ../examples/odse.etf is Eclipse TRACE4CPS
	// ../examples/ring.trf is PICL
	// doc.go is none: true
}
