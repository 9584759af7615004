package pallas

import (
	"cmp"
	"context"
	"encoding/binary"

	"github.com/weft-trace/weft/internal/extsort"
)

// occurrence identifies an occurrence of an event.
type occurrence struct {
	event uint32
	n     int64
}

// sortedThread holds events of a thread, sorted by time. Events with the same time keep the order of the grammar.
type sortedThread struct {
	events      []uint32
	times       []uint64
	occurrences []int64
	lists       map[occurrence]attributeList

	// If all events of the thread are sorted, the slices hold the current ones, and rest has the others.
	sorter *extsort.Sorter
	rest   *extsort.Iterator
}

// sort reads a whole thread and sorts its events.
func (tr *threadReader) sort(ctx context.Context) (result error) {
	defer func() {
		if result != nil {
			tr.sorted.close()
		}
	}()
	s := &sortedThread{lists: map[occurrence]attributeList{},
		sorter: extsort.New(tr.d.opt.SortMemory()/max(1, len(tr.d.threads)), "")}
	tr.sorted, tr.last, tr.ended = s, 0, false
	seen := make([]uint64, len(tr.t.Events))
	var data []byte
	var failed error // of the sorter
	err := tr.t.Replay(ctx, func(events []uint32, times []uint64) error {
		for i, e := range events {
			data = binary.AppendUvarint(binary.AppendUvarint(data[:0], uint64(e)), seen[e])
			seen[e]++
			if failed = s.sorter.Add(int64(times[i]^1<<63), 0, data); failed != nil {
				return failed
			}
		}
		return nil
	})
	if failed == nil {
		s.rest, failed = s.sorter.Sort(ctx)
	}
	if failed != nil {
		return failed
	}
	for e := range tr.t.Events {
		if err != nil {
			break // the numbers of later occurrences are unknown
		}
		for l, rest, ok := nextList(tr.t.Events[e].attributes); ok; l, rest, ok = nextList(rest) {
			s.lists[occurrence{uint32(e), l.occurrence}] = l
		}
	}
	return cmp.Or(ctx.Err(), asDefect(tr.options(), "pallas.damaged", err))
}

// next returns the next events, their times and the numbers of their occurrences.
func (s *sortedThread) next() (events []uint32, times []uint64, occurrences []int64, err error) {
	if s.rest == nil {
		n := min(replayRows, len(s.events))
		events, times, occurrences = s.events[:n], s.times[:n], s.occurrences[:n]
		s.events, s.times, s.occurrences = s.events[n:], s.times[n:], s.occurrences[n:]
		return events, times, occurrences, nil
	}
	s.events, s.times, s.occurrences = s.events[:0], s.times[:0], s.occurrences[:0]
	for len(s.events) < replayRows {
		r, ok, err := s.rest.Next()
		if err != nil || !ok {
			return s.events, s.times, s.occurrences, err
		}
		e, n := binary.Uvarint(r.Data)
		k, _ := binary.Uvarint(r.Data[n:])
		s.events, s.times, s.occurrences = append(s.events, uint32(e)), append(s.times, uint64(r.A)^1<<63),
			append(s.occurrences, int64(k))
	}
	return s.events, s.times, s.occurrences, nil
}

// close removes the temporary files.
func (s *sortedThread) close() {
	if s != nil && s.sorter != nil {
		s.sorter.Close()
	}
}

// Len returns the number of events.
func (s *sortedThread) Len() int { return len(s.events) }

// Less reports whether event i has an earlier time than event k.
func (s *sortedThread) Less(i, k int) bool { return s.times[i] < s.times[k] }

// Swap exchanges two events.
func (s *sortedThread) Swap(i, k int) {
	s.events[i], s.events[k] = s.events[k], s.events[i]
	s.times[i], s.times[k] = s.times[k], s.times[i]
	s.occurrences[i], s.occurrences[k] = s.occurrences[k], s.occurrences[i]
}
