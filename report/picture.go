package report

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weft-trace/weft/draw"
	"github.com/weft-trace/weft/timeline/index"
)

// These limits keep the page small.
const (
	pictureWidth  = 1280
	pictureRows   = 48
	pictureStrips = 120 // largest number of strips of spans in all rows together
	pictureArrows = 400
	smallSVG      = 300 << 10 // largest size of an SVG document in bytes
	smallPNG      = 400 << 10 // largest size of a PNG image in bytes
)

// Draw draws the time line of index x from time from to time to, or the whole time line if the window is
// empty. It sets r.Picture and r.Color. all is the index of the whole trace, which may be x. It determines the
// colours of regions. chosen lists the tracks to draw, in this order; nil selects all tracks.
func (r *Report) Draw(ctx context.Context, x, all *index.Index, from, to int64, chosen []int) error {
	p := &r.Picture
	*p = Picture{Width: pictureWidth}
	sheet := draw.Sheet{Index: x, Colors: all, From: from, To: to,
		Options: draw.Options{Width: pictureWidth, Title: r.Title}}
	if all != x {
		sheet.Times = all
	}
	var rows []int // the tracks that are not curves
	tracks := x.Tracks()
	sheet.Tracks = chosen
	shown := len(chosen)
	if chosen == nil {
		shown = len(tracks)
	}
	for i, t := range tracks {
		if t.Kind != index.CounterTrack && (chosen == nil || slices.Contains(chosen, i)) {
			rows = append(rows, i)
		}
	}
	if shown > pictureRows {
		if n := len(rows); n > pictureRows {
			sheet.Tracks = nil
			for i := range pictureRows {
				sheet.Tracks = append(sheet.Tracks, rows[i*n/pictureRows])
			}
			p.Caption = fmt.Sprintf("%d of %d rows, at equal distances; the times in its legend are theirs. ", pictureRows, n)
		} else {
			sheet.Tracks = rows
			p.Caption = "Without the curves of " + plural(int64(shown-len(rows)), "counter") + ". "
		}
		shown = len(sheet.Tracks)
	}
	sheet.MaxDepth = min(8, max(1, pictureStrips/max(1, shown)))
	first, last, _ := x.Extent()
	q := index.LinkRequest{From: sheet.From, To: sheet.To, Limit: pictureArrows + 1}
	if q.From == q.To {
		q.From, q.To = first, max(last, last+1)
	}
	if links, err := x.Links(ctx, q); err != nil {
		return err
	} else if links.Total <= pictureArrows {
		sheet.Links = pictureArrows
	} else {
		p.Caption += plural(links.Total, "message or dependency is", "messages and dependencies are") + " not drawn. "
	}
	p.Caption = strings.TrimSpace(p.Caption)
	if err := p.paint(ctx, &sheet); err != nil {
		return err
	}
	colors, err := draw.Colors(ctx, x, all)
	palette := draw.Palette(false)
	r.Color = func(ref uint32) string {
		if int(ref) < len(colors) {
			return palette[colors[ref]]
		}
		return ""
	}
	return err
}

// paint draws s in light and in dark colours. If the SVG document is small, it draws SVG, and otherwise PNG.
// If the PNG image is too large, it keeps only the light image.
func (p *Picture) paint(ctx context.Context, s *draw.Sheet) error {
	paint := func(dark bool, f func(context.Context, io.Writer) error) ([]byte, error) {
		var b bytes.Buffer
		s.Dark = dark
		err := f(ctx, &b)
		return b.Bytes(), err
	}
	var err error
	if p.SVG, err = paint(false, s.SVG); err != nil {
		return err
	}
	if len(p.SVG) <= smallSVG {
		p.DarkSVG, err = paint(true, s.SVG)
		return err
	}
	p.SVG = nil
	for s.Scale = 2; ; s.Scale-- {
		if p.PNG, err = paint(false, s.PNG); err != nil {
			return err
		}
		if len(p.PNG) <= smallPNG || s.Scale == 1 {
			break
		}
	}
	if len(p.PNG) > smallPNG {
		return nil // dark mode then also uses the light picture
	}
	p.DarkPNG, err = paint(true, s.PNG)
	return err
}
