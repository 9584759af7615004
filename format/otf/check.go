package otf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/klauspost/compress/flate"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// NewChecker returns the checker of the files of a trace. It finds defects that appear only when files
// are compared (docs/formats/otf.md, "Rules"): files that the master file does not name, and files
// without an end. Scans that follow check the key-value pairs of events. The package check examines calls and messages
// for all formats.
func (d *decoder) NewChecker() format.Checker {
	r := *d.r
	r.opt.checkPairs = true
	d.r = &r
	return &checker{d: d, opt: d.opt}
}

type checker struct {
	format.SinkFuncs // ignores events and links

	d   *decoder
	opt *format.ReadOptions
}

// Finish checks the files.
func (c *checker) Finish(ctx context.Context) error {
	if err := c.checkDefinitions(ctx); err != nil {
		return err
	}
	if err := c.checkEnds(ctx); err != nil {
		return err
	}
	if err := c.checkThumbnail(ctx); err != nil {
		return err
	}
	return c.checkDirectory()
}

// checkEnds checks the end of each file with times. It must be a time line and a process line, from which
// readers take the time of the last event.
func (c *checker) checkEnds(ctx context.Context) error {
	l, err := c.d.r.Files()
	if err != nil {
		return err
	}
	for _, f := range l {
		if !f.Part.timed() || f.Size == 0 {
			continue
		}
		before, last, err := c.lastLines(ctx, f)
		if err != nil {
			return err
		}
		report := func(rule string, severity trace.Severity, found, expected string) error {
			return c.opt.Defect(&trace.Defect{Rule: rule, Severity: severity,
				Position: trace.Position{File: f.Path, Offset: f.Size, Binary: true}, Found: found, Expected: expected})
		}
		one, at := lineType(before)
		two, _ := lineType(last)
		switch {
		case one != timeLine || two != processLine:
			err = report("otf.no-trailer", trace.Note, fmt.Sprintf("an end with the line %.40q", last),
				"the last time and process")
		case bytes.HasPrefix(before[at:], []byte("ffffffffffffffff")):
			err = report("otf.refused", trace.Warning, "the time ffffffffffffffff at the end",
				"the last time; libotf rejected a record that was not in the order of time, and all later records are missing")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tailBytes is the number of bytes at the end of a file that contain its last lines.
const tailBytes = 4 << 10

// lastLines returns the last two lines of a file. A line that does not fit into the last bytes lacks
// its beginning.
func (c *checker) lastLines(ctx context.Context, f File) (before, last []byte, err error) {
	name := fileName(c.d.r.stub, f.Stream, f.Part)
	if f.Compressed {
		name += ".z"
	}
	h, size, err := c.d.r.src.OpenName(name)
	if err != nil {
		return nil, nil, err
	}
	defer h.Close()
	var end []byte
	if f.Compressed {
		z := flate.NewReader(io.NewSectionReader(h, 2, max(0, size-2)))
		defer z.Close()
		end, err = lastBytes(ctx, z)
	} else {
		end = make([]byte, min(size, tailBytes))
		if _, err = h.ReadAt(end, size-int64(len(end))); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	lines := bytes.Split(bytes.TrimSuffix(end, []byte{'\n'}), []byte{'\n'})
	if last = lines[len(lines)-1]; len(lines) > 1 {
		before = lines[len(lines)-2]
	}
	return before, last, nil
}

// lastBytes returns the last decompressed bytes of a file. If the file is damaged, these are the bytes before
// the damage, which readers report.
func lastBytes(ctx context.Context, r io.Reader) ([]byte, error) {
	end, buf := make([]byte, 0, 2*readSize), make([]byte, readSize)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := r.Read(buf)
		if len(end)+n > cap(end) {
			end = end[:copy(end, end[len(end)-tailBytes:])]
		}
		end = append(end, buf[:n]...)
		switch {
		case err == nil:
		case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF), isCorrupt(err):
			return end[max(0, len(end)-tailBytes):], nil
		default:
			return nil, err
		}
	}
}

// checkDirectory looks for files in the directory of the trace that look like parts of it but that readers
// ignore.
func (c *checker) checkDirectory() error {
	r := c.d.r
	list := r.partFiles()
	there := map[string]bool{}
	for _, f := range list {
		there[f.name] = true
	}
	for _, f := range list {
		at := trace.Position{File: r.path(f.name)}
		if _, named := r.master.streams[f.stream]; f.stream != 0 && !named {
			number := strconv.FormatUint(uint64(f.stream), 16)
			if err := c.opt.Defect(&trace.Defect{Rule: "otf.unlisted-stream", Severity: trace.Warning, Position: at,
				Found:    "a file of stream " + number,
				Expected: "a line " + number + ": in the master file; neither weft nor libotf reads the file"}); err != nil {
				return err
			}
		} else if plain, z := strings.CutSuffix(f.name, ".z"); z && there[plain] {
			if err := c.opt.Defect(&trace.Defect{Rule: "otf.hidden-file", Severity: trace.Note, Position: at,
				Found:    "a file both with and without compression",
				Expected: "one of the two; neither weft nor libotf reads the compressed one"}); err != nil {
				return err
			}
		}
	}
	return nil
}

// partFile is a file with the name of a part of a stream.
type partFile struct {
	name   string
	stream uint32
}

// partFiles returns all files next to the master file whose names are names of parts of the trace. It includes
// the files of streams that the master file does not name. It returns nil if the source cannot list its files.
func (r *Reader) partFiles() (out []partFile) {
	dir, stub := path.Split(r.stub)
	l, err := fs.ReadDir(r.src.FS, path.Clean("./"+dir))
	if err != nil {
		return nil
	}
	for _, e := range l {
		rest, ok := strings.CutPrefix(e.Name(), stub+".")
		if !ok {
			continue
		}
		if ok, _ := IsPartName(e.Name()); !ok {
			continue
		}
		number, part, ok := strings.Cut(strings.TrimSuffix(rest, ".z"), ".")
		if !ok || strings.Contains(part, ".") {
			// the file belongs to a trace of another format, or to a trace whose name begins with the name of
			// this trace
			continue
		}
		id, err := strconv.ParseUint(number, 16, 32)
		if err == nil && strconv.FormatUint(id, 16) == number {
			out = append(out, partFile{dir + e.Name(), uint32(id)})
		}
	}
	return out
}
