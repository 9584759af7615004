package format_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// batches are the batches of a stream.
type batches []*trace.Batch

func (ba *batches) next(context.Context) (*trace.Batch, error) {
	if len(*ba) == 0 {
		return nil, nil
	}
	b := (*ba)[0]
	*ba = (*ba)[1:]
	return b, nil
}

// event is an event with a time, and an order among events with equal times. The order 0 means
// none.
type event struct{ time, order int64 }

// stream returns a stream with one event per batch. All events are at location number, and numbered
// by their region.
func stream(number uint32, list ...event) format.Stream {
	s := &batches{}
	for i, e := range list {
		b := &trace.Batch{}
		b.Reset(number)
		b.Add(number, e.time, trace.Mark, uint32(i))
		if e.order != 0 {
			b.Order = []int64{e.order}
		}
		*s = append(*s, b, &trace.Batch{})
	}
	return s.next
}

// TestMerge checks that events with equal times come by their order number if both events have an order
// number, then by stream, then by their position in the stream.
func TestMerge(t *testing.T) {
	for _, x := range []struct {
		name    string
		streams []format.Stream
		want    []string // stream and number of each event
	}{
		{"none", nil, nil},
		{"one", []format.Stream{stream(0, event{1, 0}, event{1, 0})}, []string{"0.0", "0.1"}},
		{"times", []format.Stream{stream(0, event{2, 0}, event{9, 0}), stream(1), stream(2, event{1, 0}, event{5, 0})},
			[]string{"2.0", "0.0", "2.1", "0.1"}},
		{"equal times", []format.Stream{stream(0, event{5, 0}, event{5, 0}), stream(1, event{5, 0}, event{7, 0}),
			stream(2, event{4, 0}, event{5, 0}, event{5, 0})},
			[]string{"2.0", "0.0", "0.1", "1.0", "2.1", "2.2", "1.1"}},
		{"orders", []format.Stream{stream(0, event{5, 3}, event{5, 4}), stream(1, event{5, 1}, event{5, 6}),
			stream(2, event{5, 2}, event{6, 1})},
			[]string{"1.0", "2.0", "0.0", "0.1", "1.1", "2.1"}},
		{"an order and none", []format.Stream{stream(0, event{5, 0}), stream(1, event{5, 1})}, []string{"0.0", "1.0"}},
		{"none and an order below zero", []format.Stream{stream(0, event{5, 0}), stream(1, event{5, -1})},
			[]string{"0.0", "1.0"}},
		{"an order above zero and none", []format.Stream{stream(0, event{5, 1}), stream(1, event{5, 0})},
			[]string{"0.0", "1.0"}},
	} {
		var got []string
		err := format.Merge(t.Context(), x.streams, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			c := b.Cursor()
			for c.Next() {
				got = append(got, fmt.Sprintf("%d.%d", c.Location(), c.Ref()))
			}
			return nil
		}})
		if err != nil || !slices.Equal(got, x.want) {
			t.Errorf("%s: found %q, %v, expected %q", x.name, got, err, x.want)
		}
	}
}

// TestRegroupTexts checks that Regroup keeps no texts of the batches that it gets: they belong to the decoder, which
// uses the memory again.
func TestRegroupTexts(t *testing.T) {
	var got []string
	r := format.Regroup(format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		for _, v := range b.AttrVal {
			got = append(got, v.Str)
		}
		return nil
	}}, 10)
	text := make([]byte, 5)
	for i, s := range []string{"first", "other", "later"} {
		copy(text, s)
		b := &trace.Batch{Loc: trace.MixedLoc}
		b.Add(uint32(i%2), int64(i), trace.Enter, 0)
		b.AddAttr(0, trace.StringValue(unsafe.String(&text[0], len(text))))
		if err := r.Batch(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"first", "later", "other"}; !slices.Equal(got, want) {
		t.Errorf("found the texts %q, expected %q", got, want)
	}
}
