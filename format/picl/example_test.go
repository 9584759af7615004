package picl_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/picl"
	"github.com/weft-trace/weft/trace"
)

// ExampleReader reads record by record and prints how many bytes each processor sends. The records of type -3
// with event type -21 have this number.
func ExampleReader() {
	r, err := picl.NewReader(context.Background(), format.FileSource("testdata/ok/conceptual-pingpong2.trf"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	var rec picl.Record
	for {
		err := r.Read(&rec)
		if err == io.EOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		if rec.Type == picl.TypeEntry && rec.Event == -21 {
			fmt.Printf("line %d: processor %d sends %s bytes\n", rec.Line, rec.Processor, rec.Values[0])
		}
	}
	// Output:
	// line 3: processor 0 sends 32768 bytes
	// line 8: processor 1 sends 256 bytes
}

// ExampleWriter writes record by record: a label, which names an event type and precedes all
// events, and a visit of 3 ms.
func ExampleWriter() {
	var b bytes.Buffer
	w := picl.NewWriter(&b, picl.WriterOptions{})
	for _, r := range []picl.Record{
		{Type: picl.TypeEntry, Event: 7, Time: trace.NewDecimal(10, 3)},
		{Type: picl.TypeExit, Event: 7, Time: trace.NewDecimal(13, 3)},
	} {
		if err := w.Write(&r); err != nil {
			log.Fatal(err)
		}
	}
	w.Header(picl.Record{Type: picl.TypeLabel, Event: 7, Fields: 1, Values: []trace.Value{trace.StringValue("solve")}})
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Print(b.String())
	// Output:
	// -5 7 -1.000000 0 0 5 0 solve
	// -3 7 0.010000 0 0 0
	// -4 7 0.013000 0 0 0
}
