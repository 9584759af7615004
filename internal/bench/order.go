package main

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"strconv"
)

// orderChecker reads the output of weft print --json and checks that the times of events never
// decrease. It also sums a hash of every line, so that two texts can be compared regardless of the
// order of their lines. It is an io.Writer that holds one incomplete line.
type orderChecker struct {
	seed   maphash.Seed
	events int64
	links  int64
	sum    uint64 // sum of the hashes of all lines
	last   int64
	late   int64 // events that are earlier than the previous event
	rest   []byte
}

var kindKey = []byte(`,"kind":"`)

// Write processes a piece of the text. It fails at a line that is no event.
func (o *orderChecker) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			o.rest = append(o.rest, p...)
			return n, nil
		}
		line := p[:i]
		if len(o.rest) > 0 {
			o.rest = append(o.rest, line...)
			line = o.rest
		}
		if err := o.line(line); err != nil {
			return 0, err
		}
		o.rest = o.rest[:0]
		p = p[i+1:]
	}
}

// line checks one line without its line feed.
func (o *orderChecker) line(line []byte) error {
	o.sum += maphash.Bytes(o.seed, line)
	// A quote within a string is escaped, so that the first such key is the line's own.
	at := bytes.Index(line, kindKey)
	if at < 0 {
		return fmt.Errorf("found line %q, expected an event with a kind", line)
	}
	if bytes.HasPrefix(line[at+len(kindKey):], []byte(`link"`)) {
		o.links++ // links come last, not in time order
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

// finish returns an error if the text ends within a line.
func (o *orderChecker) finish() error {
	if len(o.rest) > 0 {
		return fmt.Errorf("found unfinished line %q at the end", o.rest)
	}
	return nil
}

// same reports whether two texts have the same lines in any order. Both must have been read with
// the same seed.
func (o *orderChecker) same(p *orderChecker) bool {
	return o.events == p.events && o.links == p.links && o.sum == p.sum
}
