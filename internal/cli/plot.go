package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/draw"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/serve"
	"github.com/weft-trace/weft/serve/cache"
	"github.com/weft-trace/weft/timeline"
	"github.com/weft-trace/weft/timeline/index"
)

// drawing holds the flags that say how a picture looks.
type drawing struct {
	width  int
	title  string
	dark   bool
	scale  int
	format string
}

func (a *app) plotCommand() *cobra.Command {
	var r reading
	var s selecting
	var d drawing
	var rows, color, out, from string
	var maxRows int
	var links, messages bool
	c := &cobra.Command{
		Use:   "plot TRACE",
		Short: "Draw the time line as SVG or PNG",
		Long: `Draw the time line of a trace: a row a location, resource or value of an
attribute, coloured by region or attribute; claims as high as their amount,
dependencies and messages as arrows, signals as curves. The picture holds what
fits: of intervals below a pixel the longest shows.

--index draws from the index of the trace, as weft view shows it: at once, whatever the
size of the trace. The index is the one in the cache, which is made if it is not there, or
the one in the file that --index= names (see weft index).`,
		Example: "  weft plot -o trace.svg trace.etf\n  weft plot --rows id --color name --from 10% --to 20% -o part.png trace.etf\n  weft plot --index --from 10% --to 20% -o part.png trace.otf2",
		Args:    exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			if out == "" {
				out = strings.TrimSuffix(filepath.Base(args[0]), filepath.Ext(args[0])) + ".svg"
				if args[0] == "-" {
					out = "-"
				}
			}
			if maxRows < 1 {
				return usageError("--max-rows %d: expected at least 1", maxRows)
			}
			if d.scale < 1 {
				return usageError("--scale %d: expected at least 1", d.scale)
			}
			if from != "" {
				for _, name := range []string{"rows", "color", "region", "kind"} {
					if c.Flags().Changed(name) {
						return usageError("--%s: an index does not have what that needs; expected it without --index", name)
					}
				}
				if links != messages {
					return usageError("--links=%t with --messages=%t: an index has both together; expected the same for both with --index", links, messages)
				}
				return a.plotIndex(ctx, args[0], from, out, &r, &s, d, maxRows, links)
			}
			in, err := a.open(ctx, args[0], &r)
			if err != nil {
				return err
			}
			defer in.Close()
			sel, err := s.selection(ctx, in)
			if err != nil {
				return err
			}
			opt := timeline.Options{RowsBy: rows, ColorBy: color, MaxRows: maxRows, Links: links, Messages: messages, Selection: sel}
			if s.from != "" || s.to != "" {
				first, last, _, err := format.Extent(ctx, in.Events)
				if err != nil {
					return err
				}
				opt.From, opt.To = max(first, sel.From), min(last, sel.To)
				if opt.From >= opt.To {
					return usageError("--from and --to leave no time: from %s s to %s s", in.Defs().Clock.FormatSeconds(opt.From), in.Defs().Clock.FormatSeconds(opt.To))
				}
			}
			if err := a.draw(ctx, in, out, opt, d); err != nil {
				return err
			}
			in.bar.done()
			a.tell(in, r.quiet)
			return nil
		},
	}
	r.flags(c.Flags())
	r.clockFlag(c.Flags())
	s.flags(c.Flags())
	f := c.Flags()
	f.StringVarP(&out, "output", "o", "", "file to draw to, .svg or .png; the trace's name with .svg if not given, - for standard output")
	f.StringVar(&d.format, "to-format", "", "svg or png, if the file's name does not tell")
	f.StringVar(&rows, "rows", "location", "what the rows are: location, resource, or an attribute")
	f.StringVar(&color, "color", "region", "what the colours are: region, or an attribute")
	f.IntVar(&maxRows, "max-rows", 64, "how many rows to draw at most")
	f.BoolVar(&links, "links", true, "draw dependencies")
	f.BoolVar(&messages, "messages", true, "draw messages")
	f.IntVar(&d.width, "width", draw.DefaultWidth, "width of the picture in pixels")
	f.StringVar(&d.title, "title", "", "title; the trace's name if not given")
	f.BoolVar(&d.dark, "dark", false, "light text on dark paper")
	f.IntVar(&d.scale, "scale", 1, "pixels drawn for one in a PNG, for high resolution")
	f.StringVar(&from, "index", "", "draw from the index in the cache, or from that in a `FILE` (--index=FILE)")
	f.Lookup("index").NoOptDefVal = inCache
	return c
}

// inCache is what --index is without a file.
const inCache = "cache"

// mostArrows is how many arrows are drawn from an index, as on the viewer's page.
const mostArrows = 2000

// plotIndex draws from the index of a trace. One in the cache that turns out to be damaged is
// made anew.
func (a *app) plotIndex(ctx context.Context, arg, from, out string, r *reading, s *selecting, d drawing, maxRows int, links bool) error {
	err := a.plotFrom(ctx, arg, from, out, r, s, d, maxRows, links, false)
	if from == inCache && errors.Is(err, index.ErrDamaged) {
		err = a.plotFrom(ctx, arg, from, out, r, s, d, maxRows, links, true)
	}
	return err
}

func (a *app) plotFrom(ctx context.Context, arg, from, out string, r *reading, s *selecting, d drawing, maxRows int, links, anew bool) error {
	kind, err := d.kind(out, maxRows)
	if err != nil {
		return err
	}
	x, path, err := a.openIndex(ctx, arg, from, r, anew)
	if err != nil {
		return err
	}
	defer x.Close()
	sheet := draw.Sheet{Index: x, MaxRows: maxRows, Options: draw.Options{Width: d.width, Title: d.title, Dark: d.dark, Scale: d.scale}}
	if d.title == "" {
		sheet.Title = filepath.Base(path)
	}
	if links {
		sheet.Links = mostArrows
	}
	if sheet.From, sheet.To, err = s.windowOf(x); err != nil {
		return err
	}
	if sheet.Tracks, err = tracksOf(x, s.locations); err != nil {
		return err
	}
	return a.writePicture(out, func(w io.Writer) error {
		if kind == "svg" {
			return sheet.SVG(ctx, w)
		}
		return sheet.PNG(ctx, w)
	})
}

// openIndex opens the index of the trace that an argument names: the one in the cache, or
// in a file. path is what the trace is called.
func (a *app) openIndex(ctx context.Context, arg, from string, r *reading, anew bool) (x *index.Index, path string, err error) {
	if from != inCache {
		if x, err = index.Open(from); errors.Is(err, index.ErrDamaged) {
			err = &exitError{exitDefects, err}
		}
		return x, arg, err
	}
	in := &input{}
	if err := a.locate(ctx, in, arg); err != nil {
		return nil, "", err
	}
	defer in.Close()
	x, err = a.indexOf(ctx, in, r, anew)
	return x, in.src.Path, err
}

// indexOf opens the index of a trace in the cache, and makes it if it is not there, or is to
// be made anew.
func (a *app) indexOf(ctx context.Context, in *input, r *reading, anew bool) (*index.Index, error) {
	how, err := a.forServer(r)
	if err != nil {
		return nil, err
	}
	store, err := cache.Default(0)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	b := a.newBar("indexing " + in.src.Path)
	defer b.done()
	made, err := serve.MakeIndex(ctx, how, store, in.src, serve.IndexOptions{Force: anew, Progress: b.set})
	if err != nil {
		return nil, err
	}
	b.done()
	x, err := index.Open(made.Path)
	if err == nil && made.Defects > 0 && !r.quiet {
		printf(a.err, "%s: %d defects; weft check lists them\n", in.src.Path, made.Defects)
	}
	return x, err
}

// windowOf is the window that the flags choose of an index, within the trace; without them
// it is empty.
func (s *selecting) windowOf(x *index.Index) (from, to int64, err error) {
	if err := s.splitWindow(); err != nil || s.from == "" && s.to == "" {
		return 0, 0, err
	}
	clock := x.Clock()
	first, last, _ := x.Extent()
	from, to = first, last
	if s.from != "" {
		if from, err = clock.ParseTime(s.from, first, last); err != nil {
			return 0, 0, usageError("--from: %w", err)
		}
	}
	if s.to != "" {
		if to, err = clock.ParseTime(s.to, first, last); err != nil {
			return 0, 0, usageError("--to: %w", err)
		}
	}
	if from, to = max(first, from), min(last, to); from >= to {
		return 0, 0, usageError("--from and --to leave no time: from %s s to %s s", clock.FormatSeconds(from), clock.FormatSeconds(to))
	}
	return from, to, nil
}

// tracksOf are the tracks of the locations that patterns choose; nil if there are none.
func tracksOf(x *index.Index, patterns []string) ([]int, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	p, err := newPatterns(patterns)
	if err != nil {
		return nil, err
	}
	tracks, chosen := []int{}, map[uint32]bool{}
	for i, t := range x.Tracks() {
		if t.Kind == index.CommunicatorTrack {
			continue
		}
		// Of the tracks of a location the first one has its name.
		if p.match(t.ID, t.Name) && (t.Parent < 0 || t.Kind != index.CounterTrack) {
			chosen[t.Location] = true
		}
		if chosen[t.Location] {
			tracks = append(tracks, i)
		}
	}
	return tracks, nil
}

// maxWidth is how wide pictures can be, in pixels.
const maxWidth = 65536

// kind is svg or png, as the name of the file or a flag says.
func (d *drawing) kind(path string, maxRows int) (string, error) {
	kind := d.format
	if kind == "" {
		switch kind = strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), "."); {
		case path == "-":
			kind = "svg"
		case kind != "svg" && kind != "png":
			return "", usageError("%s: found the ending %q, expected .svg or .png", path, filepath.Ext(path))
		}
	}
	if kind != "svg" && kind != "png" {
		return "", usageError("--to-format %s: expected svg or png", kind)
	}
	if d.width < 0 || d.width > maxWidth {
		return "", usageError("--width %d: expected 0, for the usual one, to %d", d.width, maxWidth)
	}
	return kind, nil
}

// writePicture writes a file, which appears whole or not at all.
func (a *app) writePicture(path string, f func(io.Writer) error) error {
	out, err := a.createOutput(path)
	if err != nil {
		return err
	}
	defer out.Abort()
	if err := f(out); err != nil {
		return err
	}
	return out.Commit()
}

// draw makes a picture of a trace in a file.
func (a *app) draw(ctx context.Context, in *input, path string, opt timeline.Options, d drawing) error {
	kind, err := d.kind(path, opt.MaxRows)
	if err != nil {
		return err
	}
	opt.Width = draw.Columns(d.width)
	v, err := timeline.Build(ctx, in.Events, opt)
	if err != nil {
		return err
	}
	if v.Title == "" && d.title == "" {
		d.title = filepath.Base(in.src.Path)
	}
	o := draw.Options{Width: d.width, Title: d.title, Dark: d.dark, Scale: d.scale}
	return a.writePicture(path, func(w io.Writer) error {
		if kind == "svg" {
			return draw.SVG(w, v, o)
		}
		return draw.PNG(w, v, o)
	})
}
