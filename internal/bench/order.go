package main

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"strconv"
)

// orderChecker is an io.Writer for the output of weft print --json. It checks that the times of
// events never decrease. It also adds up hashes of all lines, so that two outputs can be compared
// without regard to the order of lines. It keeps at most one incomplete line in memory.
type orderChecker struct {
	seed        maphash.Seed
	events      int64
	links       int64
	sum         uint64 // sum of the hashes of the lines
	last        int64
	late        int64 // number of events whose time is before that of the previous event
	partialLine []byte
}

var kindKey = []byte(`,"kind":"`)

// Write checks a piece of the output. It returns an error at a line that is not an event or link.
func (o *orderChecker) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			o.partialLine = append(o.partialLine, p...)
			return n, nil
		}
		line := p[:i]
		if len(o.partialLine) > 0 {
			o.partialLine = append(o.partialLine, line...)
			line = o.partialLine
		}
		if err := o.line(line); err != nil {
			return 0, err
		}
		o.partialLine = o.partialLine[:0]
		p = p[i+1:]
	}
}

// line checks a line, which has no line feed.
func (o *orderChecker) line(line []byte) error {
	o.sum += maphash.Bytes(o.seed, line)
	// In texts, quotes are escaped. The first match is therefore the key itself.
	at := bytes.Index(line, kindKey)
	if at < 0 {
		return fmt.Errorf("found line %q, expected an event with a kind", line)
	}
	if bytes.HasPrefix(line[at+len(kindKey):], []byte(`link"`)) {
		o.links++ // links follow the events, and are not in time order
		return nil
	}
	t, ok := bytes.CutPrefix(line, []byte(`{"time":`))
	end := bytes.IndexByte(t, ',')
	if !ok || end < 0 {
		return fmt.Errorf("found line %q, expected an event with a time", line)
	}
	time, err := strconv.ParseInt(string(t[:end]), 10, 64)
	if err != nil {
		return fmt.Errorf("found line %q, expected a time in integer ticks", line)
	}
	if o.events > 0 && time < o.last {
		o.late++
	}
	o.last = time
	o.events++
	return nil
}

// finish returns an error if the output ends with an incomplete line.
func (o *orderChecker) finish() error {
	if len(o.partialLine) > 0 {
		return fmt.Errorf("found unfinished line %q at the end", o.partialLine)
	}
	return nil
}

// equal reports whether two outputs consist of the same lines, in any order. Both checkers must have
// the same seed.
func (o *orderChecker) equal(p *orderChecker) bool {
	return o.events == p.events && o.links == p.links && o.sum == p.sum
}
