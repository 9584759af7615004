package etf_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/etf"
	"github.com/weft-trace/weft/trace"
)

// This example reads records one by one: the resources, and the claim that ends last.
func ExampleReader() {
	r, err := etf.NewReader(context.Background(), format.FileSource("../../examples/odse.etf"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	var rec etf.Record
	var last int64
	var end float64
	for {
		err := r.Read(&rec)
		if err == io.EOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		switch rec.Keyword {
		case etf.R:
			fmt.Println("resource", rec.ID, "has a capacity of", rec.Capacity)
		case etf.C:
			if t := rec.End.Float(); t > end {
				last, end = rec.ID, t
			}
		}
	}
	fmt.Println("claim", last, "ends at", end)
	// Output:
	// resource 0 has a capacity of 1
	// resource 1 has a capacity of 1
	// resource 2 has a capacity of 1
	// resource 3 has a capacity of 1
	// resource 4 has a capacity of 1
	// resource 5 has a capacity of 1
	// resource 6 has a capacity of 100
	// resource 7 has a capacity of 120
	// claim 196 ends at 121.205
}

// This example writes records one by one. The writer puts them into the order that the
// format requires.
func ExampleWriter() {
	var b bytes.Buffer
	w := etf.NewWriter(&b)
	for _, r := range []etf.Record{
		{Keyword: etf.C, ID: 1, Start: trace.NewDecimal(25, 1), End: trace.NewDecimal(4, 0), Amount: 1},
		{Keyword: etf.R, ID: 0, Capacity: 2, Attrs: []etf.Attr{{Key: "name", Value: "oven"}}},
		{Keyword: etf.TU, Unit: "MINUTES"},
	} {
		if err := w.Write(&r); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Print(b.String())
	// Output:
	// TU MINUTES
	// R 0 2 false ; name=oven
	// C 1 2.5 4 0 1 ;
}
