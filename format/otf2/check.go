package otf2

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// checker holds what the files of an archive say of each other against what is there.
type checker struct {
	a   *Archive
	opt *format.ReadOptions
}

// Batch needs nothing of the events.
func (c *checker) Batch(*trace.Batch) error { return nil }

// Links needs nothing of the links.
func (c *checker) Links([]trace.Link) error { return nil }

func newChecker(d format.Decoder, src format.Source, opt *format.ReadOptions) format.Checker {
	return &checker{a: d.(*decoder).a, opt: opt}
}

// report says what is wrong at an offset of a file.
func (c *checker) report(rule string, severity trace.Severity, path string, at int64, found, expected string) error {
	return c.opt.Defect(&trace.Defect{Rule: rule, Severity: severity, Position: trace.Position{File: path, Offset: at, Binary: true}, Found: found, Expected: expected})
}

// location is what a definition says of a location.
type location struct {
	id, events uint64
	at         int64
}

// Finish checks numbers and local definitions.
func (c *checker) Finish(ctx context.Context) error {
	a := c.a
	var locations []location
	definitions, named := uint64(0), uint64(0)
	seen := map[uint64]bool{}
	a.Definitions(func(at int64, r *Record) error { // what is wrong has been reported
		definitions++
		if r.ID != defLocation {
			return nil
		}
		named++
		if id := r.Values[0]; !seen[id] {
			seen[id] = true
			locations = append(locations, location{id, r.Values[3], at})
		}
		return ctx.Err()
	})
	if definitions != a.Anchor.Definitions {
		if err := c.report("otf2.counts", trace.Warning, a.src.Path, 0, fmt.Sprintf("%d global definitions announced", a.Anchor.Definitions), fmt.Sprintf("%d, which is how many there are", definitions)); err != nil {
			return err
		}
	}
	if named != a.Anchor.Locations {
		if err := c.report("otf2.counts", trace.Warning, a.src.Path, 0, fmt.Sprintf("%d locations announced", a.Anchor.Locations), fmt.Sprintf("%d, which is how many are defined", named)); err != nil {
			return err
		}
	}
	var with, without []uint64 // definitions of their own
	for _, l := range locations {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.events(ctx, l); err != nil {
			return err
		}
		f, _, err := a.src.OpenName(fmt.Sprintf("%s/%d.def", a.name, l.id))
		switch {
		case isMissing(err):
			without = append(without, l.id)
		case err != nil:
			return err
		default:
			f.Close()
			with = append(with, l.id)
		}
	}
	if len(with) == 0 {
		return nil // it does without
	}
	for _, id := range without {
		if err := c.report("otf2.missing-definitions", trace.Error, fmt.Sprintf("%s/%d.def", a.path, id), 0, "no such file", "one, as other locations have; references and times may be wrong without"); err != nil {
			return err
		}
	}
	return nil
}

// events counts those of a location, and holds the numbers in its chunks against them.
func (c *checker) events(ctx context.Context, l location) error {
	r, err := c.a.Events(l.id, EventOptions{RawClocks: true, RawIDs: true})
	if r == nil {
		return nil // which has been reported
	}
	defer r.Close()
	n, damaged := uint64(0), err != nil
	begin := int64(-1)
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		var bad *FileError
		if err != nil && !errors.As(err, &bad) {
			return err
		}
		if err != nil {
			damaged = true // and has been reported
			continue
		}
		if n++; n&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if at := r.c.number(); at != begin {
			begin = at
			if r.c.first != n && !damaged {
				if err := c.report("otf2.chunk-numbers", trace.Error, r.c.path, at*r.c.chunk+2, fmt.Sprintf("a chunk that begins with event %d", r.c.first), fmt.Sprintf("event %d, by those before", n)); err != nil {
					return err
				}
				damaged = true // once is enough
			}
		}
		if e.Number > r.c.last && !damaged {
			if err := c.report("otf2.chunk-numbers", trace.Error, r.c.path, e.Offset, fmt.Sprintf("event %d", e.Number), fmt.Sprintf("none behind %d, which is the last one by the chunk's header", r.c.last)); err != nil {
				return err
			}
			damaged = true
		}
	}
	if !damaged && n < r.c.last {
		if err := c.report("otf2.chunk-numbers", trace.Error, r.c.path, r.c.size, fmt.Sprintf("%d events", n), fmt.Sprintf("%d, by the last chunk's header", r.c.last)); err != nil {
			return err
		}
	}
	if n != l.events && !damaged {
		return c.report("otf2.counts", trace.Note, c.a.path+".def", l.at, fmt.Sprintf("location %d with %d events", l.id, l.events), fmt.Sprintf("%d, which is how many it has", n))
	}
	return nil
}
