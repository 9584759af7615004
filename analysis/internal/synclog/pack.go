package synclog

import (
	"encoding/binary"
	"slices"
)

// The flags of packed calls.
const (
	isPoint = 1 << iota
	inTeam
	last
	unteamed
	device
	idle
	fromBegin // the call begins with the trace
	bounded   // the call is a collective operation outside of calls, whose begin and end are known
)

// packBarrier packs a call that is a barrier of threads and ends at time t.
func (w *worker) packBarrier(l *lane, c *openCall, t int64, flag byte, team *teamVisit) error {
	if c.ownEnd < t {
		c.addBusy(t)
	}
	return w.pack(l, delayedCall{node: c.node, enter: c.enter, leave: t, flags: flag, team: *team, busy: c.busy}, c.before)
}

// pack packs a call, at once or when the path of a following parallel region is known. The first entries of
// lane.passed, whose number is before, are the times before the call.
func (w *worker) pack(l *lane, c delayedCall, before int) error {
	c.before, c.inside = l.passed[:before], l.passed[before:]
	wait := len(l.delayed) > 0 || slices.ContainsFunc(l.passed, func(t nodeTime) bool { return t.node == pendingRegion })
	if wait {
		c.packed, c.before, c.inside = slices.Clone(c.packed), slices.Clone(c.before), slices.Clone(c.inside)
		c.busy = slices.Clone(c.busy)
		l.delayed = append(l.delayed, c)
	} else if err := w.write(l, &c); err != nil {
		return err
	}
	l.passed = l.passed[:0]
	// If before is 0 for a call, it is also 0 for all outer calls, because before never decreases from
	// outer to inner calls. So the loop can stop at the first 0.
	for i := len(l.calls) - 1; i >= 0 && l.calls[i].before > 0; i-- {
		l.calls[i].before = 0
	}
	if len(l.delayed) == mostDelayed {
		return w.giveUp(l)
	}
	return nil
}

// write appends a call to the packed calls of a lane.
func (w *worker) write(l *lane, c *delayedCall) error {
	b := append(l.buf, c.flags)
	b = appendNumber(b, uint64(c.node+1))
	b = binary.AppendVarint(b, c.leave-l.end)
	b = appendNumber(b, uint64(c.leave)-uint64(c.enter))
	if c.flags&(inTeam|unteamed) != 0 {
		b = binary.AppendUvarint(b, c.team.communicator)
		b = binary.AppendUvarint(b, c.team.visit)
		b = binary.AppendUvarint(b, c.team.barriers-1)
		b = appendNumber(b, uint64(len(c.busy)))
		since := c.enter
		for _, s := range c.busy {
			b = appendNumber(b, uint64(s.Begin-since))
			b = appendNumber(b, uint64(s.End-s.Begin))
			since = s.End
		}
	}
	b = appendNumber(b, uint64(c.points))
	if c.points > 0 {
		b = appendNumber(b, uint64(len(c.packed)))
		b = append(b, c.packed...)
	}
	if w.times {
		if c.flags&isPoint != 0 {
			l.addOperation(c.inside)
		}
		b = append(b, 0)
		at := len(b)
		b = l.appendTimes(b, c.before)
		b = prependSize(l.appendTimes(b, c.inside), at)
	}
	l.buf, l.end = b, c.leave
	l.packed++
	if len(l.buf) < w.chunk {
		return nil
	}
	return w.flush(l)
}

// prependSize writes the number of bytes of b from at on before them. One byte before at is free for it.
func prependSize(b []byte, at int) []byte {
	n := uint64(len(b) - at)
	if n < 0x80 {
		b[at-1] = byte(n)
		return b
	}
	var size [binary.MaxVarintLen64]byte
	return slices.Replace(b, at-1, at, size[:binary.PutUvarint(size[:], n)]...)
}

// appendTimes appends packed exclusive times, and adds them to the sums of the lane.
func (l *lane) appendTimes(b []byte, list []nodeTime) []byte {
	list = list[:combine(list)]
	l.next.Times += int32(len(list))
	b = appendNumber(b, uint64(len(list)))
	for _, x := range list {
		for int(x.node)+1 >= len(l.sums) {
			l.sums = append(l.sums, 0)
		}
		l.sums[x.node+1] += x.time
		b = appendNumber(b, uint64(x.node+1))
		b = appendNumber(b, uint64(x.time))
	}
	return b
}

// addOperation adds the exclusive times in a collective operation outside of calls to the lane.
func (l *lane) addOperation(list []nodeTime) {
	for _, x := range list {
		for int(x.node)+1 >= len(l.operations) {
			l.operations = append(l.operations, 0)
		}
		l.operations[x.node+1] += x.time
	}
}

// combine sums the times of equal nodes, and sorts them by node. It returns the number of elements
// of list that remain.
func combine(list []nodeTime) int {
	switch {
	case len(list) < 2:
		return len(list)
	case len(list) == 2 && list[0].node < list[1].node:
		return 2
	}
	slices.SortFunc(list, func(a, b nodeTime) int { return int(a.node) - int(b.node) })
	n := 0
	for _, x := range list[1:] {
		if x.node == list[n].node {
			list[n].time += x.time
		} else {
			n++
			list[n] = x
		}
	}
	return n + 1
}

// appendNumber appends a number, which takes one byte if the number is below 128.
func appendNumber(b []byte, x uint64) []byte {
	if x < 0x80 {
		return append(b, byte(x))
	}
	return binary.AppendUvarint(b, x)
}

// flush stores the newest packed calls of a lane as a chunk.
func (w *worker) flush(l *lane) error {
	if len(l.buf) == 0 {
		return nil
	}
	var taken bool
	var err error
	l.next.data, taken, err = w.store.Keep(l.buf)
	l.next.Calls = l.packed - l.next.First
	l.chunks = append(l.chunks, l.next)
	l.next = Chunk{First: l.packed, Since: l.end}
	if taken {
		l.buf = make([]byte, 0, w.chunk+64)
	} else {
		l.buf = l.buf[:0]
	}
	return err
}
