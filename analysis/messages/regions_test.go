package messages

import (
	"fmt"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/testtrace"
	"github.com/weft-trace/weft/trace"
)

// TestRegions counts three messages of location 0: of 10 bytes, sent in region 0 and received in region 1; of 20
// bytes, sent and received in region 1; of 40 bytes, sent and received outside of both. A fourth one, of 80 bytes, is
// sent in region 0 and never received.
func TestRegions(t *testing.T) {
	d := testtrace.Defs(2, 2, 0)
	rows := []testtrace.Row{testtrace.Enter(0, 0, 0), testtrace.Send(0, 1, 1, 1, 10), testtrace.Send(0, 2, 1, 9, 80),
		testtrace.Leave(0, 3, 0), testtrace.Enter(0, 4, 1), testtrace.Send(0, 5, 1, 2, 20), testtrace.Leave(0, 6, 1),
		testtrace.Leave(0, 6, 0), testtrace.Send(0, 7, 1, 3, 40),
		testtrace.Enter(1, 8, 1), testtrace.Recv(1, 9, 0, 1, 10), testtrace.Recv(1, 10, 0, 2, 20),
		testtrace.Leave(1, 11, 1), testtrace.Recv(1, 12, 0, 3, 40)}
	for _, test := range []struct {
		regions []uint32
		window  *trace.Window
		// number and bytes of the sent messages; of the received ones; of the matched ones; unmatched sends and
		// receives; listed messages
		want string
	}{
		// The sum of both regions has message 1 twice: in the region of its sender and in that of its receiver.
		{[]uint32{0}, nil, "2 90 1 10 1 10 1 0 2"},
		{[]uint32{1}, nil, "2 30 2 30 2 30 0 0 2"},
		{[]uint32{0, 1}, nil, "3 110 2 30 2 30 1 0 3"},
		{[]uint32{}, nil, "0 0 0 0 0 0 0 0 0"},
		// Message 1 is sent in the window, and received after it in region 1.
		{[]uint32{1}, &trace.Window{From: 0, To: 4}, "1 10 0 0 1 10 0 0 1"},
	} {
		opt := Options{Window: test.window, Latency: true, Regions: func(region uint32) bool {
			for _, r := range test.regions {
				if r == region {
					return true
				}
			}
			return false
		}}
		listed := 0
		whole, merged := New(d, opt), New(d, opt)
		opt.List = func(*Message) error { listed++; return nil }
		list := New(d, opt)
		opt.List = nil
		for _, p := range []*Part{whole, list} {
			if err := p.Batch(testtrace.Mixed(d, rows)); err != nil {
				t.Fatal(err)
			}
		}
		if err := list.Finish(); err != nil {
			t.Fatal(err)
		}
		for _, b := range testtrace.PerLocation(d, rows) {
			p := New(d, opt)
			if err := p.Batch(b); err != nil {
				t.Fatal(err)
			}
			if err := merged.Merge(p); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range []*Part{whole, merged} {
			r := p.Result()
			s := fmt.Sprint(r.Sent, r.SentBytes, r.Received, r.ReceivedBytes, r.Matched, r.MatchedBytes, r.SendsUnmatched,
				r.ReceivesUnmatched, listed)
			if s != test.want || r.Latency.Count != r.Matched {
				t.Errorf("regions %v, window %v: found %s and %d latencies, expected %s", test.regions, test.window, s,
					r.Latency.Count, test.want)
			}
		}
	}
}
