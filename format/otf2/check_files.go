package otf2

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// checkRecord checks a record of a definition, marker or thumbnail file: its id, its bytes, its texts and the values of
// its enumerations.
func (c *checker) checkRecord(path string, at int64, types []recordType, r *Record, s recordState) error {
	t := typeByID(types, r.ID)
	if t == nil {
		return c.report("otf2.unknown-record", trace.Warning, path, at, fmt.Sprintf("%s %d", recordWord(types), r.ID),
			fmt.Sprintf("a %s of OTF2 3.0; weft ignores it", recordWord(types)))
	}
	wrong := func(rule, found, expected string) error {
		return c.report(rule, trace.Warning, path, at, t.name+" with "+found, expected)
	}
	if s == unusual && !c.a.laterVersion() {
		if err := wrong("otf2.record-bytes", extraBytes, "none"); err != nil {
			return err
		}
	}
	for _, text := range r.Texts {
		if !utf8.ValidString(text) {
			if err := wrong("otf2.value", fmt.Sprintf("the text %.60q", text),
				"UTF-8; weft reads other bytes as Latin-1"); err != nil {
				return err
			}
		}
	}
	for i, v := range r.Values {
		f := t.field(i, len(r.Values))
		if f.show != showEnum || v == undefined8 || v < uint64(len(f.words)) && f.words[v] != "" || c.a.laterVersion() {
			continue
		}
		if err := wrong("otf2.value", fmt.Sprintf("%s %d", f.name, v), "a value of OTF2 3.0"); err != nil {
			return err
		}
	}
	return nil
}

// recordWord returns the word for the records of a file in messages.
func recordWord(types []recordType) string {
	if len(types) == len(definitionTypes) {
		return "definition"
	}
	return "record"
}

// maxKnown is the maximum number of definitions whose contents are compared.
const maxKnown = 1 << 18

// knownDefinitions holds hashes of the contents of definitions, to find different definitions of the same id.
type knownDefinitions struct {
	seed maphash.Seed
	sums map[definitionName]uint64
}

type definitionName struct {
	kind uint8
	id   uint64
}

// add reports a definition whose id belongs to another definition of the same kind.
func (k *knownDefinitions) add(c *checker, at int64, r *Record) error {
	t := typeByID(definitionTypes[:], r.ID)
	if t == nil || len(r.Values) == 0 || t.fields[0].name != "self" {
		return nil
	}
	if k.sums == nil {
		k.seed, k.sums = maphash.MakeSeed(), map[definitionName]uint64{}
	}
	var h maphash.Hash
	h.SetSeed(k.seed)
	for _, v := range r.Values {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], v)
		h.Write(b[:])
	}
	for _, text := range r.Texts {
		h.WriteString(text)
		h.WriteByte(0)
	}
	key, sum := definitionName{r.ID, r.Values[0]}, h.Sum64()
	before, ok := k.sums[key]
	switch {
	case ok && before != sum:
		return c.report("otf2.duplicate", trace.Note, c.a.path+".def", at,
			fmt.Sprintf("another %s with id %d", t.name, key.id), "one definition of an id")
	case !ok && len(k.sums) < maxKnown:
		k.sums[key] = sum
	}
	return nil
}

// localNames holds the names of the records that only local definition files have.
var localNames = map[uint8]string{localMapping: "MappingTable", localClock: "ClockOffset"}

// checkLocalDefinitions checks the records in a location's own definition file. The decoder has already reported the
// damaged ones.
func (c *checker) checkLocalDefinitions(ctx context.Context, location uint64) error {
	name := fmt.Sprintf("/%d.def", location)
	var r Record
	var stop error
	c.a.scan(name, c.a.definitionChunk(), c.a.localState, func(k *chunkReader, h recordHead) (recordState, error) {
		cur := cursor{b: h.body, big: k.big}
		var s recordState
		if local := localNames[h.id]; local == "" {
			if s = c.a.readRecord(definitionTypes[:], h.id, &cur, &r); s != unreadable {
				stop = c.checkRecord(k.path, h.at, definitionTypes[:], &r, s)
			}
		} else if s = c.a.localState(h.id, &cur); s == unusual && !c.a.laterVersion() {
			stop = c.report("otf2.record-bytes", trace.Warning, k.path, h.at, local+" with "+extraBytes, "none")
		}
		stop = cmp.Or(stop, ctx.Err())
		return s, stop
	})
	return stop
}

// extraBytes says what is wrong with the bytes of a record that is not damaged.
const extraBytes = "bytes after its fields, or a number with unnecessary bytes"

// checkMarkers checks the records of the marker file. The decoder has already reported damaged records and times that
// are too large.
func (c *checker) checkMarkers(ctx context.Context) error {
	path := c.a.path + ".marker"
	defined := map[uint64]bool{}
	c.a.Markers(func(_ int64, r *Record) error {
		if r.ID == defMarker {
			defined[r.Values[0]] = true
		}
		return ctx.Err()
	})
	var stop error
	c.a.eachRecord(".marker", c.a.definitionChunk(), markerTypes[:], func(at int64, r *Record, s recordState) error {
		if stop = c.checkRecord(path, at, markerTypes[:], r, s); stop != nil || r.ID != markerEvent {
			return stop
		}
		undefined := func(what string, v uint64) error {
			return c.report("otf2.undefined", trace.Warning, path, at,
				fmt.Sprintf("Marker with %s %d, which the trace does not define", what, v), "a defined one")
		}
		v := r.Values
		if !defined[v[2]] {
			stop = undefined("marker", v[2])
		}
		if scope := v[3]; stop == nil && scope < uint64(len(scopeTables)) && scopeTables[scope] != noTable &&
			!c.defined(scopeTables[scope], v[4]) {
			stop = undefined("scopeRef", v[4])
		}
		return stop
	})
	return cmp.Or(stop, ctx.Err())
}

// checkThumbnails checks the thumbnails that the anchor file announces.
func (c *checker) checkThumbnails(ctx context.Context) error {
	endings, err := c.a.thumbnailFiles()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var numbers []int
	for _, ending := range endings {
		k, err := strconv.Atoi(strings.Split(ending, ".")[1])
		if err == nil && uint64(k) < uint64(c.a.Anchor.Thumbnails) && ending == fmt.Sprintf(".%d.thumb", k) {
			numbers = append(numbers, k)
		}
	}
	slices.Sort(numbers)
	if missing := int64(c.a.Anchor.Thumbnails) - int64(len(numbers)); missing > 0 {
		first := 0
		for first < len(numbers) && numbers[first] == first {
			first++
		}
		if err := c.opt.Defect(&trace.Defect{Rule: "otf2.missing-file", Severity: trace.Error, Count: missing,
			Position: trace.Position{File: fmt.Sprintf("%s.%d.thumb", c.a.path, first)}, Found: "no such file",
			Expected: fmt.Sprintf("%s, as the anchor file states", plural.Of(c.a.Anchor.Thumbnails, "thumbnail"))}); err != nil {
			return err
		}
	}
	for _, k := range numbers {
		if err := c.checkThumbnail(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// thumbnailTables holds, for each type of thumbnail, the table of the definitions that it counts.
var thumbnailTables = [...]Table{Regions, Metrics, Attributes}

// checkThumbnail checks the records of a thumbnail.
func (c *checker) checkThumbnail(ctx context.Context, k int) error {
	ending := fmt.Sprintf(".%d.thumb", k)
	path := c.a.path + ending
	headers, samples, announced, values := 0, uint64(0), uint64(0), uint64(0)
	var stop error
	err := c.a.eachRecord(ending, thumbnailChunk, thumbnailTypes[:], func(at int64, r *Record, s recordState) error {
		if stop = c.checkRecord(path, at, thumbnailTypes[:], r, s); stop != nil {
			return stop
		}
		v := r.Values
		switch r.ID {
		case thumbnailHeader:
			if headers++; headers > 1 {
				stop = c.report("otf2.counts", trace.Warning, path, at, "a second Header", "one in each thumbnail")
				return stop
			}
			announced, values = v[3], v[4]
			for _, id := range v[5:] {
				if t := v[2]; t < uint64(len(thumbnailTables)) && !c.defined(thumbnailTables[t], id) && stop == nil {
					stop = c.report("otf2.undefined", trace.Warning, path, at,
						fmt.Sprintf("Header with ref %d, which the trace does not define", id), "a defined one")
				}
			}
		case thumbnailSample:
			samples++
			switch {
			case headers == 0 && samples == 1:
				stop = c.report("otf2.counts", trace.Warning, path, at, "a Sample", "a Header before it")
			case headers > 0 && v[1] != values:
				stop = c.report("otf2.counts", trace.Warning, path, at, "Sample with "+plural.Of(v[1], "value"),
					fmt.Sprintf("%d, as in the Header", values))
			}
		}
		return cmp.Or(stop, ctx.Err())
	})
	if stop != nil {
		return stop
	}
	if reported := reportDefect(c.opt, err); reported != nil || archive.IsMissing(err) {
		return reported
	}
	if err == nil && headers > 0 && samples != announced {
		return c.report("otf2.counts", trace.Warning, path, 0, fmt.Sprintf("%s announced", plural.Of(announced, "sample")),
			fmt.Sprintf("%d, the actual number", samples))
	}
	return nil
}
