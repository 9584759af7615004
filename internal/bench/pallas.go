package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// pallasEvents is how many events the traces have, unless the flag says otherwise; the
// longest one has ten times as many.
const pallasEvents = 10_000_000

// pallasResult is what was measured of a pattern.
type pallasResult struct {
	pallasPattern
	events            int64
	record, tenth     []usage // recording all, and a tenth of the events
	compatible, short []usage // the same in the compatible way
	one, two          []usage // reading on one core and on two
	info              []usage
	bytes             int64 // of the trace
	grammar           int64 // of its thread.pallas
}

// pallas measures everything about Pallas.
func (b *session) pallas(r *pallasReport) error {
	for _, p := range pallasPatterns {
		x := &pallasResult{pallasPattern: p, events: b.pallasEvents}
		r.results = append(r.results, x)
		if err := b.try(&r.problems, p.name, "Pallas", func() error { return b.pallasPattern(r, x) }); err != nil {
			return err
		}
	}
	r.long.pallasPattern, r.long.events = pallasPatterns[0], 10*b.pallasEvents
	return b.try(&r.problems, "ten times as long", "Pallas", func() error {
		dir, err := b.recordPallas(&r.long, r.long.events, false, &r.long.record)
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		for range b.runs {
			u, err := b.readPallas(dir, 1)
			if err != nil {
				return err
			}
			r.long.one = append(r.long.one, u)
		}
		return nil
	})
}

// pallasPattern measures a pattern.
func (b *session) pallasPattern(r *pallasReport, x *pallasResult) error {
	for i := range b.runs {
		for _, k := range []struct {
			events     int64
			compatible bool
			to         *[]usage
		}{{x.events / 10, true, &x.short}, {x.events, true, &x.compatible}, {x.events / 10, false, &x.tenth}, {x.events, false, &x.record}} {
			dir, err := b.recordPallas(x, k.events, k.compatible, k.to)
			if err != nil {
				return err
			}
			if i < b.runs-1 || k.to != &x.record {
				os.RemoveAll(dir)
				continue
			}
			// The last recording is read.
			defer os.RemoveAll(dir)
			x.bytes = bytesIn(dir)
			if st, err := os.Stat(filepath.Join(dir, "archive_0", "thread_0", "thread.pallas")); err == nil {
				x.grammar = st.Size()
			}
			for range pairs * b.runs {
				for _, c := range []struct {
					jobs int
					to   *[]usage
				}{{1, &x.one}, {2, &x.two}} {
					u, err := b.readPallas(dir, c.jobs)
					if err != nil {
						return err
					}
					*c.to = append(*c.to, u)
				}
				u, err := b.weftRun("info", "-q", filepath.Join(dir, "main.pallas"))
				if err != nil {
					return err
				}
				x.info = append(x.info, u)
			}
		}
	}
	return nil
}

// recordPallas records a pattern in a process of its own.
func (b *session) recordPallas(x *pallasResult, events int64, compatible bool, to *[]usage) (dir string, err error) {
	if dir, err = os.MkdirTemp(b.dir, "pallas-"); err != nil {
		return "", err
	}
	u, err := b.childRun(nil, "pallas", filepath.Join(dir, "main.pallas"), x.name, strconv.FormatInt(events, 10), strconv.FormatBool(compatible))
	if err != nil {
		os.RemoveAll(dir)
		return "", err
	}
	*to = append(*to, u)
	return dir, nil
}

// readPallas decodes a trace.
func (b *session) readPallas(dir string, jobs int) (usage, error) {
	return b.weftRun("convert", "-q", "-j", fmt.Sprint(jobs), "--to", "null", filepath.Join(dir, "main.pallas"), "-")
}

// bytesIn is how many bytes the files of a folder have.
func bytesIn(dir string) (n int64) {
	filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if st, err := d.Info(); err == nil {
			n += st.Size()
		}
		return nil
	})
	return n
}
