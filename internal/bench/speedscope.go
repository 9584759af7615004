package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// printSpeedscope prints the visits of a trace in speedscope's JSON format. Each location is a
// profile. Times are in microseconds since the first event.
func printSpeedscope(ctx context.Context, path string, out io.Writer) error {
	src := format.FileSource(path)
	f, err := format.Detect(all.Formats(), src)
	if err != nil {
		return err
	}
	d, err := f.Open(ctx, src, &format.ReadOptions{Workers: 1})
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Prepare(ctx); err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 1<<20)
	type frame struct {
		Name string `json:"name"`
	}
	var frames []frame
	for _, r := range d.Defs().Regions.All() {
		frames = append(frames, frame{r.Name})
	}
	text, err := json.Marshal(frames)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, `{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":%s},"profiles":[`,
		text)
	before := trace.NoRef
	last, unit := int64(0), d.Defs().Clock.Float(1)*1e6
	micros := func(t int64) string { return strconv.FormatFloat(float64(t)*unit, 'f', 3, 64) }
	end := func() {
		if before != trace.NoRef {
			fmt.Fprintf(w, `],"endValue":%s}`, micros(last))
		}
	}
	sink := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		c := b.Cursor()
		for c.Next() {
			kind := map[trace.Kind]string{trace.Enter: "O", trace.Leave: "C"}[c.Kind()]
			if kind == "" {
				continue
			}
			comma := ","
			if c.Location() != before {
				if end(); before != trace.NoRef {
					w.WriteByte(',')
				}
				before, comma = c.Location(), ""
				fmt.Fprintf(w, `{"type":"evented","name":"location %d","unit":"microseconds","startValue":%s,"events":[`, before,
					micros(c.Time()))
			}
			last = c.Time()
			fmt.Fprintf(w, `%s{"type":"%s","frame":%d,"at":%s}`, comma, kind, c.Ref(), micros(last))
		}
		return nil
	}}
	if err := d.Scan(ctx, trace.Everything(), format.PerLocation, sink); err != nil {
		return err
	}
	end()
	w.WriteString("]}\n")
	return w.Flush()
}
