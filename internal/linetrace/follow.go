package linetrace

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/minheap"
	"github.com/weft-trace/weft/trace"
)

// Grower is a parser for a text that grows.
type Grower interface {
	Parser
	// Grow adds the definitions in the lines of a block, and returns the properties of the times in the block.
	// If Grow reports a defect of a line, the parser must not report it again.
	Grow(b *lines.Block) (*Times, error)
	// SetClock is called when the number of digits of the times has changed.
	SetClock()
	// MostDigits returns the greatest number of digits after the point of all times so far.
	MostDigits() int32
}

// follower delivers the events of a text that grows.
type follower struct {
	text      *Text
	p         Grower
	opt       *format.FollowOptions
	scan      Scan
	assembler Assembler
	out       Block
	sink      format.Sink

	rest      []byte        // the text after the last whole line
	seen      int           // number of bytes of rest that contain no line end
	line      int64         // number of lines so far
	low, high trace.Decimal // least and greatest of all times, including the time 0
	newest    int64         // greatest time of a line, in ticks
	any       bool          // a line with a time has been read
	held      []heldLine    // heap of lines that wait for lines with earlier times
	ready     []byte        // lines that can be parsed, with their numbers
	numbers   []int64
}

// heldLine is a line that waits for lines with earlier times.
type heldLine struct {
	t, number int64
	text      []byte
}

// before orders lines by time. Lines with equal times are in the order of the text.
func (l *heldLine) before(m *heldLine) bool { return l.t < m.t || l.t == m.t && l.number < m.number }

// Follow implements the method Follow of a [format.Format]. The text has no lines yet. wrap returns the sink
// for the events of all pieces.
func Follow(t *Text, p Grower, pieces iter.Seq2[[]byte, error], opt *format.FollowOptions,
	wrap func(format.Sink) format.Sink) error {
	sink, err := opt.Begin(t.Model)
	if err != nil {
		return err
	}
	sel := trace.Events()
	sel.NoStates = true
	f := &follower{text: t, p: p, opt: opt, scan: p.Begin(sel), sink: wrap(sink)}
	defer f.scan.Close()
	f.assembler = f.scan.Assembler(true)
	f.out = f.assembler.Block()
	for piece, err := range pieces {
		if err != nil {
			return err
		}
		if err := f.add(piece); err != nil {
			return err
		}
	}
	return f.finish()
}

// add adds a piece of the text and delivers the events that are now complete. It holds back a last line without a
// line end.
func (f *follower) add(text []byte) error {
	if len(f.rest) > 0 {
		f.rest = append(f.rest, text...)
		text = f.rest
	}
	whole := 0
	if len(f.rest) == 0 || bytes.IndexByte(text[f.seen:], '\n') >= 0 {
		whole = lastLineEnd(text)
	}
	if whole == 0 {
		if len(f.rest) == 0 {
			f.rest = append(f.rest, text...)
		}
		f.seen = len(f.rest)
		if len(f.rest) > lines.DefaultMaxLine {
			return fmt.Errorf("%s:%d: found a line of more than %d bytes, expected fewer", f.text.File.Name,
				f.line+1, lines.DefaultMaxLine)
		}
		return nil
	}
	err := f.addLines(text[:whole])
	f.rest = append(f.rest[:0], text[whole:]...)
	f.seen = len(f.rest)
	return err
}

// lastLineEnd returns the length of the complete lines at the beginning of a text. A backslash at the end of a
// line continues the line.
func lastLineEnd(text []byte) int {
	end := len(text)
	for {
		i := bytes.LastIndexByte(text[:end], '\n')
		if i < 0 || !lines.Continues(text[:i]) {
			return i + 1
		}
		end = i
	}
}

// addLines adds a text that consists of whole lines.
func (f *follower) addLines(text []byte) error {
	if f.line == 0 {
		text = bytes.TrimPrefix(text, []byte(lines.ByteOrderMark))
	}
	b := &lines.Block{Data: text, Line: f.line + 1}
	times, err := f.p.Grow(b)
	if err != nil {
		return err
	}
	if err := f.refineTick(times); err != nil {
		return err
	}
	late := int64(0)
	if f.opt.Late != nil {
		if late, err = f.opt.Late(f.text.Model.Clock); err != nil {
			return err
		}
	}
	f.line += int64(bytes.Count(text, []byte{'\n'}))
	if late <= 0 && times.Unsorted == 0 {
		if first, _, _ := times.First.Ticks(f.text.Digits); !times.Any || !f.any || first >= f.newest {
			if times.Any {
				f.newest, _, _ = times.Last.Ticks(f.text.Digits)
				f.any = true
			}
			return f.parse(b)
		}
	}
	return f.order(f.text.File.Walk(b), late)
}

// order sorts lines by their times, and delivers the events of the lines that need not wait any longer.
func (f *follower) order(w lines.Walker, late int64) error {
	f.ready, f.numbers = f.ready[:0], f.numbers[:0]
	last := int64(math.MinInt64)
	for l, number, ok := w.Next(); ok; l, number, ok = w.Next() {
		last = f.p.SortTime(l, last)
		switch {
		case last == math.MinInt64: // the line has no time
			f.take(l, number)
			continue
		case f.any && last < f.leastTime(late):
			if err := f.opt.TooLate(number, last, f.leastTime(late)); err != nil {
				return err
			}
			continue
		case !f.any || last > f.newest:
			f.newest, f.any = last, true
		}
		if late <= 0 {
			f.take(l, number)
			continue
		}
		minheap.Push(&f.held, heldLine{last, number, slices.Clone(l)}, (*heldLine).before)
		for len(f.held) > 0 && f.held[0].t <= f.leastTime(late) {
			x := minheap.Pop(&f.held, (*heldLine).before)
			f.take(x.text, x.number)
		}
	}
	return f.deliver()
}

// leastTime returns the least time in ticks that further lines may have.
func (f *follower) leastTime(late int64) int64 {
	if f.newest < math.MinInt64+late {
		return math.MinInt64
	}
	return f.newest - late
}

// finish delivers the events that remain at the end of the text.
func (f *follower) finish() error {
	if len(f.rest) > 0 {
		if err := f.addLines(append(f.rest, '\n')); err != nil {
			return err
		}
	}
	f.ready, f.numbers = f.ready[:0], f.numbers[:0]
	for len(f.held) > 0 {
		x := minheap.Pop(&f.held, (*heldLine).before)
		f.take(x.text, x.number)
	}
	if err := f.deliver(); err != nil {
		return err
	}
	return f.assembler.Finish(f.sink)
}

// take adds a line to the lines that are ready to be parsed.
func (f *follower) take(l []byte, number int64) {
	f.ready = append(append(f.ready, l...), '\n')
	f.numbers = append(f.numbers, number)
}

// deliver parses the lines that are ready and delivers their events.
func (f *follower) deliver() error {
	if len(f.numbers) == 0 {
		return nil
	}
	return f.parse(&lines.Block{Data: f.ready, Line: f.numbers[0], Numbers: f.numbers})
}

// parse parses the lines of a block and delivers their events.
func (f *follower) parse(b *lines.Block) error {
	if err := f.out.Parse(b, Place{}); err != nil {
		return err
	}
	return f.assembler.Take(f.out, f.sink)
}

// refineTick makes the tick fine enough for the times of a block.
func (f *follower) refineTick(r *Times) error {
	t := f.text
	if !r.Any {
		return nil
	}
	if r.Min.Cmp(f.low) < 0 {
		f.low = r.Min
	}
	if r.Max.Cmp(f.high) > 0 {
		f.high = r.Max
	}
	fits := func(digits int32) bool {
		_, _, low := f.low.Ticks(digits)
		_, _, high := f.high.Ticks(digits)
		return low && high
	}
	if !fits(t.Digits) {
		return fmt.Errorf("%s: found times from %s to %s, expected a shorter range for times with %d digits after the "+
			"point", t.File.Name, f.low, f.high, t.Digits)
	}
	digits := min(max(t.Digits, r.Scale), f.p.MostDigits())
	for digits > t.Digits && !fits(digits) {
		digits--
	}
	if digits == t.Digits {
		return nil
	}
	factor := int64(math.Pow10(int(digits - t.Digits)))
	t.Digits = digits
	f.p.SetClock()
	f.newest *= factor
	for i := range f.held {
		f.held[i].t *= factor
	}
	if x, ok := f.assembler.(interface{ ScaleTimes(factor int64) }); ok {
		x.ScaleTimes(factor)
	}
	f.opt.ScaleTimes(factor)
	return nil
}
