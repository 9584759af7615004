package otf_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf"
)

// ExampleParseRecord reads one record of text, and shows the error for a faulty text.
func ExampleParseRecord() {
	r, err := otf.ParseRecord("a\n*1\nK7Y6V5\nS2L1000T2aC0\n", otf.Events)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Time, r.Type, r.Process, "to", r.Peer, r.Length, "bytes")
	fmt.Println("key", r.KeyValues[0].Key, "is", r.KeyValues[0].Int())
	_, err = otf.ParseRecord("S2L1000", otf.Events)
	fmt.Println(err)
	// Output:
	// 10 SendMsg 1 to 2 4096 bytes
	// key 7 is 5
	// record:0x0: error: otf.malformed: found SendMsg: the end of the line, expected TAG
}

// ExamplePair gives an event key-value pairs of several types.
func ExamplePair() {
	r := otf.Record{Type: otf.NoOp, KeyValues: []otf.KeyValue{
		otf.Pair(1, int16(-2)), otf.Pair(2, uint64(3)), otf.Pair(3, 0.5),
		otf.Pair(4, []byte("\x00\x01")), otf.CharPair(5, 'x'),
	}}
	fmt.Printf("%s", r.Append(nil, true))
	// Output:
	// KEY 1 TYPE 3 VALUE fffe
	// KEY 2 TYPE 8 VALUE 3
	// KEY 3 TYPE a VALUE 3fe0000000000000
	// KEY 4 TYPE b VALUE 0001LEN2
	// KEY 5 TYPE 0 VALUE 78
	// NOOP
}

// ExampleReader_Select reads one trace in several intervals, for some processes.
func ExampleReader_Select() {
	dir, remove := temp()
	defer remove()
	name := filepath.Join(dir, "test.otf")
	write(name)
	ctx := context.Background()
	r, err := otf.Open(ctx, format.FileSource(name), nil)
	if err != nil {
		log.Fatal(err)
	}
	for from := uint64(0); from < 20_000; from += 10_000 {
		r.Select(from, from+10_000, func(process uint64) bool { return process == 2 })
		c, err := r.Cursor(ctx, otf.Events)
		if err != nil {
			log.Fatal(err)
		}
		n, err := c.Each(&otf.Handlers{}, 0)
		c.Close()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n, "events of process 2 from", from)
	}
	// Output:
	// 6 events of process 2 from 0
	// 4 events of process 2 from 10000
}

// ExampleStreamReader_Search finds the position in a stream where the events reach a time.
func ExampleStreamReader_Search() {
	dir, remove := temp()
	defer remove()
	name := filepath.Join(dir, "test")
	write(name)
	s, err := otf.OpenStream(format.FileSource(name), 1, nil)
	if err != nil {
		log.Fatal(err)
	}
	p, ok, err := s.Search(context.Background(), otf.Events, 9_600)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ok, "at byte", p.Offset, "time", p.Time, "process", p.Process)
	text, _ := os.ReadFile(name + ".1.events")
	fmt.Printf("%.12q\n", text[p.Offset:])
	// Output:
	// true at byte 103 time 10000 process 3
	// "2710\n*3\nE1\n2"
}

// ExampleStreamReader_SearchBack finds the latest snapshot at or before a time.
func ExampleStreamReader_SearchBack() {
	ctx := context.Background()
	s, err := otf.OpenStream(format.FileSource("testdata/ok/aux_snapshots/aux_snapshots"), 1, nil)
	if err != nil {
		log.Fatal(err)
	}
	p, ok, err := s.SearchBack(ctx, otf.Snapshots, 5_000_000)
	if err != nil || !ok {
		log.Fatal(ok, err)
	}
	s.Select(p.Time, p.Time+1, nil)
	c, err := s.Cursor(ctx, otf.Snapshots)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for c.Next() {
		fmt.Println(c.Record().Time, c.Record().Type)
	}
	// Output:
	// 10521 EnterSnapshot
	// 10521 EnterSnapshot
	// 10521 OpenFileSnapshot
	// 10521 CollopCountSnapshot
	// 10521 CounterSnapshot
}

// ExampleStreamWriter_Handlers copies one stream of a trace, record by record.
func ExampleStreamWriter_Handlers() {
	dir, remove := temp()
	defer remove()
	ctx := context.Background()
	s, err := otf.OpenStream(format.FileSource("testdata/ok/hello/hello"), 1, nil)
	if err != nil {
		log.Fatal(err)
	}
	c, err := s.Cursor(ctx, otf.Events)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	w := otf.NewStreamWriter(filepath.Join(dir, "copy"), 1, &otf.WriterOptions{Long: true})
	if _, err := c.Each(w.Handlers(), 0); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "copy.1.events"))
	fmt.Printf("%s", text)
	// Output:
	// 2710
	// *1
	// ENTER 1
	// 4e20
	// *1
	// LEAVE 1
	// 4e20
	// *1
}

// ExampleMessageMatching finds the receive of each message. A first pass over the trace stores the receives,
// and a second pass finds the receive of each send.
func ExampleMessageMatching() {
	var m otf.MessageMatching
	for _, r := range []otf.Record{
		{Type: otf.RecvMsg, Time: 7, Process: 2, Peer: 1, Tag: 5, Length: 8},
		{Type: otf.RecvMsg, Time: 9, Process: 2, Peer: 1, Tag: 5, Length: 8},
	} {
		m.Receive(&r)
	}
	for t := range uint64(3) {
		x, ok := m.Send(&otf.Record{Type: otf.SendMsg, Time: t, Process: 1, Peer: 2, Tag: 5, Length: 8})
		fmt.Println("sent at", t, "received", ok, x.Time)
	}
	// Output:
	// sent at 0 received true 7
	// sent at 1 received true 9
	// sent at 2 received false 0
}

// ExampleReader_Thumbnail makes the thumbnail of a trace, as otfaux writes it.
func ExampleReader_Thumbnail() {
	dir, remove := temp()
	defer remove()
	name := filepath.Join(dir, "test.otf")
	write(name)
	ctx := context.Background()
	r, err := otf.Open(ctx, format.FileSource(name), nil)
	if err != nil {
		log.Fatal(err)
	}
	t, err := r.Thumbnail(ctx, 13)
	if err != nil {
		log.Fatal(err)
	}
	t.WriteTo(os.Stdout)
	// Output:
	// 0:d,4
	// 1:1,0,0,0,0,0,0,0,1,0,0,0,0,
	// 2:0,0,0,0,0,0,1,0,0,0,0,0,0,
	// 3:0,0,0,0,1,0,0,0,0,0,0,0,1,
	// 4:0,0,1,0,0,0,0,0,0,0,1,0,0,
}
