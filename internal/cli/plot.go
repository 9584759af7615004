package cli

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/draw"
	"github.com/weft-trace/weft/timeline"
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
	var rows, color, out string
	var maxRows int
	var links, messages bool
	c := &cobra.Command{
		Use:   "plot TRACE",
		Short: "Draw the time line as SVG or PNG",
		Long: `Draw the time line of a trace: a row a location, resource or value of an
attribute, coloured by region or attribute; claims as high as their amount,
dependencies and messages as arrows, signals as curves. The picture holds what
fits: of intervals below a pixel the longest shows.`,
		Example: "  weft plot -o trace.svg trace.etf\n  weft plot --rows id --color name --from 10% --to 20% -o part.png trace.etf",
		Args:    exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			if out == "" {
				out = strings.TrimSuffix(filepath.Base(args[0]), filepath.Ext(args[0])) + ".svg"
				if args[0] == "-" {
					out = "-"
				}
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
			if maxRows == 0 || d.scale == 0 {
				return usageError("--max-rows and --scale: found 0, expected at least 1")
			}
			opt := timeline.Options{RowsBy: rows, ColorBy: color, MaxRows: maxRows, Links: links, Messages: messages, Selection: sel}
			if s.from != "" || s.to != "" {
				first, last, _, err := in.extent(ctx)
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
	return c
}

// draw makes a picture of a trace in a file.
func (a *app) draw(ctx context.Context, in *input, path string, opt timeline.Options, d drawing) error {
	kind := d.format
	if kind == "" {
		switch kind = strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), "."); {
		case path == "-":
			kind = "svg"
		case kind != "svg" && kind != "png":
			return usageError("%s: found the ending %q, expected .svg or .png", path, filepath.Ext(path))
		}
	}
	if kind != "svg" && kind != "png" {
		return usageError("--to-format %s: expected svg or png", kind)
	}
	if d.scale < 0 || opt.MaxRows < 0 {
		return usageError("--scale and --max-rows must not be negative")
	}
	opt.Width = draw.Columns(d.width)
	v, err := timeline.Build(ctx, in.Decoder, opt)
	if err != nil {
		return err
	}
	out, err := a.createOutput(path)
	if err != nil {
		return err
	}
	defer out.Abort()
	if v.Title == "" && d.title == "" {
		d.title = filepath.Base(in.src.Path)
	}
	o := draw.Options{Width: d.width, Title: d.title, Dark: d.dark, Scale: d.scale}
	if kind == "svg" {
		err = draw.SVG(out, v, o)
	} else {
		err = draw.PNG(out, v, o)
	}
	if err != nil {
		return err
	}
	return out.Commit()
}
