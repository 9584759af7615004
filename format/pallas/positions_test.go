package pallas

import (
	"bytes"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestPositionsOfDefects checks that a defect of an event, a sequence, a loop, an id or a definition has the position
// of this object in its file. The expected position is where the bytes of the object are; in a thread, they are behind
// the 44 bytes of its head.
func TestPositionsOfDefects(t *testing.T) {
	e := func(i uint32) Token { return MakeToken(EventToken, i) }
	s := func(i uint32) Token { return MakeToken(SequenceToken, i) }
	l := func(i uint32) Token { return MakeToken(LoopToken, i) }
	event := func(r Record) []byte { return append(le32(nil, uint32(r)), 5) }
	sequence := func(tokens ...uint32) []byte {
		return le32(le64(le32(nil, 0), uint64(len(tokens))), tokens...)
	}
	one := []LocationGroup{{0, NoRef, NoRef}}
	events := []Record{Enter, ThreadBegin}
	times := [][][]uint64{{{1}}, {{2, 3, 4}, {5}}}
	sound := [][]Token{{e(0), l(0)}, {e(1)}}
	const thread = "archive_0/thread_0/thread.pallas"
	for _, x := range []struct {
		rule, file string
		trace      handMade
		object     []byte
	}{
		{"pallas.grammar", thread, handMade{events, times, [][]Token{{e(0), s(1)}, {e(1), s(1)}}, nil, one, nil},
			sequence(uint32(e(1)), uint32(s(1)))},
		{"pallas.grammar", thread, handMade{events, times, [][]Token{{e(0), e(7)}}, nil, one, nil},
			sequence(uint32(e(0)), uint32(e(7)))},
		{"pallas.lost-events", thread, handMade{events, times, sound, []Loop{{s(1), 3, 1}}, one, nil}, event(ThreadBegin)},
		{"pallas.time-order", thread, handMade{events, [][][]uint64{{{3}}, {{2, 3, 4}, {5}}}, sound, []Loop{{s(1), 4, 1}},
			one, nil}, event(ThreadBegin)},
		{"pallas.occurrences", thread, handMade{events, times, sound, []Loop{{s(1), 4, 5}}, one, nil},
			le64(le32(nil, uint32(s(1)), 4), 5)},
		{"pallas.payload", thread, handMade{events, times, sound, []Loop{{s(1), 4, 1}}, one, nil}, event(Enter)},
		{"pallas.attributes", thread, handMade{events, times, sound, []Loop{{s(1), 4, 1}}, one,
			map[int][]byte{1: {1, 2, 3}}}, event(ThreadBegin)},
		{"pallas.time-range", thread, handMade{events, [][][]uint64{{{1}}, {{2, 3, 4}, {1 << 63}}}, sound,
			[]Loop{{s(1), 4, 1}}, one, nil}, event(ThreadBegin)},
		{"pallas.circle", "main.pallas", handMade{events, times, sound, []Loop{{s(1), 4, 1}},
			[]LocationGroup{{0, NoRef, 5}, {5, NoRef, 0}, {6, NoRef, 6}}, nil}, le32(nil, 6, NoRef, 6)},
		{"pallas.undefined", "main.pallas", handMade{events, times, sound, []Loop{{s(1), 4, 1}},
			[]LocationGroup{{0, NoRef, NoRef}, {8, 77, NoRef}}, nil}, le32(nil, 8, 77, NoRef)},
		// the file has a byte more than it should have
		{"pallas.grammar", thread, handMade{events, times, [][]Token{{e(0), e(7)}}, nil, one, map[int][]byte{}},
			sequence(uint32(e(0)), uint32(e(7)))},
	} {
		m := x.trace.files()
		if x.trace.lists != nil && len(x.trace.lists) == 0 {
			m[thread].Data = append(m[thread].Data, 0)
		}
		rep := format.NewReport()
		d, err := (Format{}).Open(t.Context(), format.Source{FS: m, Name: "main.pallas", Path: "main.pallas"},
			&format.ReadOptions{Report: rep})
		if err != nil {
			t.Fatal(err)
		}
		c := d.(*decoder).NewChecker()
		if err := d.Scan(t.Context(), trace.Everything(), format.PerLocation, c); err != nil {
			t.Fatal(err)
		}
		if err := c.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.Close()
		want := map[int64]bool{} // the object may occur several times
		for b, at := m[x.file].Data, 0; ; at++ {
			i := bytes.Index(b[at:], x.object)
			if i < 0 {
				break
			}
			at += i
			want[int64(at)] = true
		}
		found := false
		for _, r := range rep.Rules() {
			for _, d := range r.First {
				if r.Rule == x.rule && d.Position.File == x.file && d.Position.Binary && want[d.Position.Offset] {
					found = true
				}
			}
		}
		if !found || len(want) == 0 {
			t.Errorf("%s: found %+v, expected %s at %v", x.rule, rep.Rules(), x.file, want)
		}
	}
}
