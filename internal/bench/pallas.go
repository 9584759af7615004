package main

import (
	"os"
	"path/filepath"
	"strconv"
)

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

// measure measures everything about Pallas.
func (r *pallasReport) measure(b *session) error {
	for _, p := range pallasPatterns {
		x := &pallasResult{pallasPattern: p, events: r.events}
		r.results = append(r.results, x)
		if _, err := b.try(&r.problems, p.name, task{"Pallas", func() error { return b.pallasPattern(x) }}); err != nil {
			return err
		}
	}
	r.long.pallasPattern, r.long.events = pallasPatterns[0], 10*r.events
	_, err := b.try(&r.problems, "ten times as long", task{"Pallas", func() error {
		return b.recordPallas(&r.long, r.long.events, false, &r.long.record, func(path string) error {
			return b.inTurn(b.runs, command{&r.long.one, b.weft, decoding(1, path)})
		})
	}})
	return err
}

// pallasPattern measures a pattern.
func (b *session) pallasPattern(x *pallasResult) error {
	for i := range b.runs {
		for _, k := range []struct {
			events     int64
			compatible bool
			to         *[]usage
		}{{x.events / 10, true, &x.short}, {x.events, true, &x.compatible}, {x.events / 10, false, &x.tenth}, {x.events, false, &x.record}} {
			if err := b.recordPallas(x, k.events, k.compatible, k.to, func(path string) error {
				if i < b.runs-1 || k.to != &x.record {
					return nil
				}
				// The last recording is read.
				dir := filepath.Dir(path)
				x.bytes, x.grammar = bytesIn(dir), bytesIn(filepath.Join(dir, "archive_0", "thread_0", "thread.pallas"))
				return b.inTurn(pairs*b.runs, command{&x.one, b.weft, decoding(1, path)}, command{&x.two, b.weft, decoding(2, path)},
					command{&x.info, b.weft, []string{"info", "-q", path}})
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordPallas records a pattern in a process of its own and has the trace, which is there
// as long as that takes, read.
func (b *session) recordPallas(x *pallasResult, events int64, compatible bool, to *[]usage, read func(path string) error) error {
	dir, err := os.MkdirTemp(b.dir, "pallas-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, way := filepath.Join(dir, "main.pallas"), "0"
	if compatible {
		way = "1"
	}
	if err := b.inTurn(1, command{to, b.self, []string{childMode, "pallas", path, x.name, strconv.FormatInt(events, 10), way}}); err != nil {
		return err
	}
	return read(path)
}

// bytesIn is how many bytes the files of a folder, or a file, have.
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
