package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/trace"
)

// printCommand returns the command weft print.
func (a *app) printCommand() *cobra.Command {
	var flags printFlags
	c := &cobra.Command{
		Use:   "print TRACE",
		Short: "Print events in time order, one per line",
		Long: `Print the events of a trace in time order, one per line: the time in seconds on the
trace's own clock, the location, the kind, the region, and all other data of the event. Links
(dependencies) come last.

--json prints JSON Lines: one object per event with at least time (integer ticks),
location (the file's own id), kind and region; docs/json/print.md lists all names. --raw prints
the records as the text of the format. --compat prints them as the format's own tool does
(OTF: otfprint --fullkeyvalue). --raw cannot be combined with filters. --compat accepts all
filters except --region; --kind and --limit then apply only to events, not to other records. For
OTF it also accepts flags of otfprint: --num, --records, --nodef, --noevent, --nostat,
--nosnap, --nomarker, --nokeyvalue, and --fullkeyvalue=false, which prints only the
lengths of arrays.`,
		Example: "  weft print --from 10ms --to 20ms --kind enter,leave trace.trf\n  weft print --json trace.etf | head",
		Args:    exactArgs(1, "one trace"),
		RunE:    func(c *cobra.Command, args []string) error { return a.runPrint(c, args, &flags) },
	}
	flags.register(c)
	return c
}

// printFlags holds the flags of weft print.
type printFlags struct {
	input               inputFlags
	selection           selectionFlags
	tool                compatFlags
	asJSON, raw, compat bool
	limit               int64
}

// register adds the flags to the command.
func (f *printFlags) register(c *cobra.Command) {
	f.input.flags(c.Flags())
	f.input.defineClockFlag(c.Flags())
	f.selection.register(c.Flags())
	f.tool.register(c.Flags())
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON Lines")
	c.Flags().BoolVar(&f.raw, "raw", false, "print the format's own records")
	c.Flags().BoolVar(&f.compat, "compat", false, "print the same text as the format's own tool")
	c.Flags().Var(newInteger(&f.limit, 0, 0, 0), "limit", "stop after this many events; 0 prints all")
}

// runPrint prints the events of the trace in args.
func (a *app) runPrint(c *cobra.Command, args []string, flags *printFlags) error {
	ctx := c.Context()
	if flags.raw || flags.compat {
		return a.printRecords(ctx, args[0], flags)
	}
	if flags.tool.anySet() {
		return usageError("expected --compat with flags of otfprint")
	}
	in, err := a.open(ctx, args[0], &flags.input)
	if err != nil {
		return err
	}
	defer in.Close()
	sel, err := flags.selection.selection(ctx, in)
	if err != nil {
		return err
	}
	p := &printer{app: a, defs: in.Defs(), json: flags.asJSON, left: math.MaxInt64}
	p.location, _ = locationNames(p.defs)
	p.factor, p.scale, p.finite = p.defs.Clock.Decimal()
	if flags.limit > 0 {
		p.left, sel.FirstEvents = flags.limit, true
	}
	err = in.Scan(ctx, sel, format.GlobalOrder, p)
	if errors.Is(err, errEnough) {
		err = nil
	}
	in.bar.remove()
	if err == nil && !p.anyRow {
		in.notFound = noEventToPrint
	}
	a.reportDefectsBut(err, in, flags.input.quiet)
	return err
}

// printRecords prints the records of a trace, as the text of the format itself or as the format's own
// tool prints them.
func (a *app) printRecords(ctx context.Context, arg string, flags *printFlags) error {
	flag := map[bool]string{true: "--raw", false: "--compat"}[flags.raw]
	filtered := flags.selection.anySet() || flags.limit > 0 || flags.tool.anySet()
	takes := ""
	switch {
	case flags.raw && flags.compat:
		takes = "no --compat"
	case flags.asJSON:
		takes = "no --json"
	case flags.input.correction != "":
		takes = "no --clock-correction"
	case flags.raw && filtered:
		takes = "no filters"
	case len(flags.selection.regions) > 0:
		takes = "no --region"
	}
	if takes != "" {
		return usageError("%s prints records as they are; it takes %s", flag, takes)
	}
	own, err := flags.tool.printOptions()
	if err != nil {
		return err
	}
	in, err := a.findSource(ctx, arg, &flags.input)
	if err != nil {
		return err
	}
	defer in.Close()
	if flags.raw {
		err = in.format.Raw(ctx, in.src, in.opt, a.out)
	} else {
		err = a.printCompat(ctx, in, &flags.selection, format.Printing{Limit: flags.limit, Tool: own},
			flags.input.quiet || flags.tool.omit[otf.Events])
	}
	if errors.Is(err, format.ErrUnsupported) && own != nil {
		return usageError("%s: found flags of otfprint, which only OTF supports", in.format.About().Title)
	}
	if errors.Is(err, format.ErrUnsupported) {
		return usageError("%s has no text for %s", in.format.About().Title, flag)
	}
	in.bar.remove()
	a.reportDefectsBut(err, in, flags.input.quiet)
	return err
}

// noEvent and noEventToPrint are the messages for an empty result.
const (
	noEvent        = "found no event"
	noEventToPrint = noEvent + " to print"
)

// chooseRestored selects locations by the names in the trace that weft has converted, if the flags name no
// location of the opened trace, which has the names of OTF2's own records. changed is true if it does so.
func (in *input) chooseRestored(ctx context.Context, s *selectionFlags, sel *trace.Selection) (changed bool,
	err error) {
	for i := range in.Defs().Locations.Len() {
		if sel.Location(uint32(i)) {
			return false, nil
		}
	}
	if err := in.file.Close(); err != nil {
		return false, err
	}
	if err := in.openFile(ctx, &format.ReadOptions{Values: in.opt.Values}); err != nil {
		return false, err
	}
	sel.Location, err = s.locationFilter(in)
	return true, err
}

// printCompat prints the text of the format's own tool. p has options in addition to the selection
// s. Unless quiet is set, printCompat reports a text without events.
func (a *app) printCompat(ctx context.Context, in *input, s *selectionFlags, p format.Printing, quiet bool) error {
	p.Selection = trace.Everything()
	if s.anySet() {
		values := in.opt.Values
		var err error
		switch in.format.About().Name {
		case (otf.Format{}).About().Name:
			values = otf.OwnRecords(values)
			s, p.Tool, err = takeLargeTimes(s, p.Tool)
		case (otf2.Format{}).About().Name:
			values = otf2.OwnRecords(values)
			fallthrough
		default:
			s, err = withoutLargeEnd(s)
		}
		if err != nil {
			return err
		}
		// Opening the trace reports no defects, since printing does.
		err = in.openFile(ctx, &format.ReadOptions{Values: values})
		if err != nil {
			return err
		}
		if p.Selection, err = s.selection(ctx, in); err != nil {
			return err
		}
		if in.format.About().Name == (otf2.Format{}).About().Name && p.Selection.Location != nil {
			changed, err := in.chooseRestored(ctx, s, &p.Selection)
			if err != nil {
				return err
			}
			quiet = quiet || changed && s.from+s.to != "" // the times are those of OTF2's own records
		}
		p.File = in.file
	}
	out := &recordWriter{w: a.out}
	if err := in.format.Compat(ctx, in.src, in.opt, p, out); err != nil || quiet {
		return err
	}
	if !s.anySet() {
		if p.Tool != nil && !out.found {
			in.notFound = "found no record to print"
		}
		return nil
	}
	err := in.Prepare(ctx)
	if err != nil {
		return err
	}
	err = in.Scan(ctx, p.Selection, format.PerLocation, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		if b.Len() > 0 {
			return errEnough
		}
		return nil
	}, OnLinks: func(l []trace.Link) error {
		if len(l) > 0 {
			return errEnough
		}
		return nil
	}})
	if errors.Is(err, errEnough) {
		return nil
	}
	if err == nil {
		in.notFound = noEventToPrint
	}
	return err
}

// recordWriter writes a text of otfprint, and remembers whether it contains a record. A record begins
// with its number.
type recordWriter struct {
	w     io.Writer
	found bool
	last  byte // the last byte written
}

// Write writes a part of the text.
func (r *recordWriter) Write(text []byte) (int, error) {
	if len(text) > 0 && !r.found {
		r.found = bytes.Contains(text, []byte("(#")) || r.last == '(' && text[0] == '#'
		r.last = text[len(text)-1]
	}
	return r.w.Write(text)
}

// errEnough ends a scan that has delivered the requested number of events.
var errEnough = errors.New("enough")

// printer prints events.
type printer struct {
	*app
	defs *trace.Definitions
	json bool
	left int64
	// anyRow is set as soon as the printer has printed an event or a link.
	anyRow bool
	// location returns the full name of a location.
	location func(loc uint32) string
	// communicators holds the names of the communicators for text.
	communicators []string
	// If finite is set, a tick is factor × 10^-scale seconds.
	factor int64
	scale  int
	finite bool
	// the names so far of the attributes of the current row, with the number of their uses; used only for rows
	// with many attributes
	seen map[string]int
	buf  []byte
}

// Batch prints the rows of a batch.
func (p *printer) Batch(b *trace.Batch) error {
	p.buf = p.buf[:0]
	p.anyRow = p.anyRow || b.Len() > 0
	c := b.Cursor() // declared before the loop, because it would be copied for each row in it
	for c.Next() {
		if p.left == 0 {
			p.out.Write(p.buf)
			return errEnough
		}
		p.left--
		if p.json {
			p.writeJSONRow(&c)
		} else {
			p.textRow(&c)
		}
	}
	_, err := p.out.Write(p.buf)
	return err
}

// appendOperand appends an operand for JSON or for text. quoted adds the quotes that JSON needs.
func (p *printer) appendOperand(b []byte, c *trace.Cursor, t trace.OperandType, v uint64, quoted bool) []byte {
	str := func(s string) []byte {
		if quoted {
			return appendJSONString(b, s)
		}
		return append(b, s...)
	}
	if s, ok := p.defs.OperandName(t, v); ok {
		return str(s)
	}
	switch t {
	case trace.OpInt:
		return digits.AppendInt(b, int64(v))
	case trace.OpTime, trace.OpDuration:
		if quoted {
			return digits.AppendInt(b, int64(v))
		}
		return append(append(b, p.defs.Clock.FormatSeconds(int64(v))...), " s"...)
	case trace.OpFloat:
		return appendJSONFloat(b, math.Float64frombits(v))
	case trace.OpBits:
		typ := trace.Uint64
		if k := p.defs.Spec(c.Kind()); k.Ref == trace.RefMetric && p.defs.Metrics.Has(c.Ref()) {
			typ = p.defs.Metrics.At(c.Ref()).Type
		}
		val := trace.Value{Num: v, Type: typ}
		return appendJSONValue(b, &val)
	}
	if v == trace.Undefined {
		if quoted {
			return append(b, "null"...)
		}
		return append(b, '?')
	}
	return digits.AppendUint(b, v)
}

// writeJSONRow writes an event as JSON (docs/json/print.md).
func (p *printer) writeJSONRow(c *trace.Cursor) {
	b := append(p.buf, `{"time":`...)
	b = digits.AppendInt(b, c.Time())
	b = append(b, `,"location":`...)
	b = appendJSONString(b, p.defs.Locations.At(c.Location()).ID)
	spec := p.defs.Spec(c.Kind())
	b = append(b, `,"kind":`...)
	b = appendJSONString(b, spec.Name)
	b = append(b, `,"region":`...)
	if spec.Ref != trace.RefRegion && spec.Ref != trace.RefNone {
		b = append(b, `null,"`...)
		b = append(b, spec.Ref.String()...)
		b = append(b, `":`...)
	}
	if s, ok := p.defs.RefName(spec.Ref, c.Ref()); ok {
		b = appendJSONString(b, s)
	} else {
		b = append(b, "null"...)
	}
	ops := c.Ops()
	for i := 0; i < len(ops) && i < len(spec.Operands); i++ {
		o := &spec.Operands[i]
		b = append(b, ',', '"')
		b = append(b, o.Name...)
		b = append(b, `":`...)
		if spec.Variadic && i == len(spec.Operands)-1 {
			b = append(b, '[')
			for j, v := range ops[i:] {
				if j > 0 {
					b = append(b, ',')
				}
				b = p.appendOperand(b, c, o.Type, v, true)
			}
			b = append(b, ']')
			break
		}
		b = p.appendOperand(b, c, o.Type, ops[i], true)
		if name, ok := p.defs.EnumName(c.Kind(), o, ops[i]); ok {
			b = append(append(append(b, `,"`...), o.Name...), `Name":`...)
			b = appendJSONString(b, name)
		}
	}
	if keys, vals := c.Attrs(); len(keys) > 0 {
		b = append(b, `,"attributes":{`...)
		for i := range keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSONString(b, p.uniqueName(keys, i))
			b = append(b, ':')
			if name, ok := p.defs.ValueName(keys[i], vals[i]); ok {
				b = appendJSONString(b, name)
			} else {
				b = appendJSONValue(b, &vals[i])
			}
		}
		b = append(b, '}')
	}
	if c.Derived() {
		b = append(b, `,"derived":true`...)
	}
	p.buf = append(b, '}', '\n')
}

// uniqueName returns the name of attribute i of a row. A repeated name gets a number, because JSON
// readers keep only one of several equal keys.
func (p *printer) uniqueName(keys []uint32, i int) string {
	name := p.defs.Attributes.At(keys[i]).Name
	n := 1
	if len(keys) <= 16 {
		for _, k := range keys[:i] {
			if p.defs.Attributes.At(k).Name == name {
				n++
			}
		}
	} else {
		if i == 0 {
			p.seen = map[string]int{}
		}
		p.seen[name]++
		n = p.seen[name]
	}
	if n > 1 {
		return name + "#" + strconv.Itoa(n)
	}
	return name
}

// textRow writes an event as text.
func (p *printer) textRow(c *trace.Cursor) {
	b := p.buf
	line := len(b)
	from := line
	b = p.appendSeconds(b, c.Time())
	b = padColumn(b, from, 14)
	from = len(b)
	b = append(b, p.location(c.Location())...)
	b = padColumn(b, from, 10)
	spec := p.defs.Spec(c.Kind())
	from = len(b)
	b = append(b, spec.Name...)
	b = padColumn(b, from, 12)
	if s, ok := p.defs.RefName(spec.Ref, c.Ref()); ok {
		b = append(b, s...)
	}
	ops := c.Ops()
	for i, v := range ops {
		o := &spec.Operands[min(i, len(spec.Operands)-1)]
		b = append(b, ' ', ' ')
		b = append(b, o.Name...)
		b = append(b, '=')
		if name, ok := p.textOperand(c.Kind(), o, v); ok {
			b = append(b, name...)
		} else {
			b = p.appendOperand(b, c, o.Type, v, false)
		}
		if o.Unit != "" {
			b = append(append(b, ' '), o.Unit...)
		}
	}
	keys, vals := c.Attrs()
	for i, k := range keys {
		b = append(b, ' ', ' ')
		b = append(b, p.defs.Attributes.At(k).Name...)
		b = append(b, '=')
		b = p.appendValue(b, k, &vals[i])
	}
	if c.Derived() {
		b = append(b, "  (derived)"...)
	}
	p.buf = append(plainTail(b, line), '\n')
}

// appendValue appends the value of an attribute for text.
func (p *printer) appendValue(b []byte, key uint32, v *trace.Value) []byte {
	text, ok := v.Str, v.Type == trace.String
	if !ok {
		text, ok = p.defs.ValueName(key, *v)
	}
	switch {
	case v.Type == trace.LocationRef && ok:
		text = p.location(uint32(v.Num))
	case v.Type == trace.CommRef && ok:
		text = cmp.Or(p.communicator(int(v.Num)), text)
	case !ok:
		return v.Append(b)
	}
	if strings.ContainsAny(text, " \t") {
		return strconv.AppendQuote(b, text)
	}
	return append(b, text...)
}

// textOperand returns the name of an operand's value for text. The value can be that of an enumeration,
// a communicator, a location, an I/O handle or a set. It returns false for other values.
func (p *printer) textOperand(k trace.Kind, o *trace.Operand, v uint64) (string, bool) {
	if o.Type == trace.OpCommunicator && v < uint64(p.defs.Communicator.Len()) {
		name := p.communicator(int(v))
		return name, name != ""
	}
	if o.Type == trace.OpLocation && v < uint64(p.defs.Locations.Len()) {
		return p.location(uint32(v)), true
	}
	if name, ok := p.defs.LabelOf(o.Type, v); ok {
		return name, true
	}
	return p.defs.EnumName(k, o, v)
}

// communicator returns the name of a communicator, with its id if other communicators have the same
// name. It returns "" if the communicator has no name.
func (p *printer) communicator(i int) string {
	if n := p.defs.Communicator.Len(); len(p.communicators) < n {
		p.communicators = p.defs.CommunicatorNames()
	}
	return p.communicators[i]
}

// appendSeconds appends a time formatted as by [trace.Clock.FormatSeconds].
func (p *printer) appendSeconds(b []byte, t int64) []byte {
	if v := t * p.factor; p.finite && (t == 0 || v/t == p.factor && v != math.MinInt64) {
		return trace.NewDecimal(v, p.scale).AppendTrim(b)
	}
	return append(b, p.defs.Clock.FormatSeconds(t)...)
}

// padColumn fills a column with spaces. The column begins at offset from, and has at least n characters and a
// gap.
func padColumn(b []byte, from, n int) []byte {
	for len(b)-from < n {
		b = append(b, ' ')
	}
	return append(b, ' ', ' ')
}

// Links prints the links that the trace stores.
func (p *printer) Links(links []trace.Link) error {
	p.buf = p.buf[:0]
	p.anyRow = p.anyRow || len(links) > 0
	for i := range links {
		if p.left == 0 {
			p.out.Write(p.buf)
			return errEnough
		}
		p.left--
		l := &links[i]
		if p.json {
			p.writeJSONLink(l)
		} else {
			p.writeTextLink(l)
		}
	}
	_, err := p.out.Write(p.buf)
	return err
}

// locationID returns the id of a location. It returns false if the location is undefined.
func (p *printer) locationID(loc uint32) (string, bool) {
	if !p.defs.Locations.Has(loc) {
		return "", false
	}
	return p.defs.Locations.At(loc).ID, true
}

// writeJSONLink writes a link as JSON (docs/json/print.md).
func (p *printer) writeJSONLink(l *trace.Link) {
	loc := func(b []byte, e *trace.End) []byte {
		if s, ok := p.locationID(e.Location); ok {
			return appendJSONString(b, s)
		}
		return append(b, "null"...)
	}
	time := func(b []byte, e *trace.End) []byte {
		if _, ok := p.locationID(e.Location); ok {
			return digits.AppendInt(b, e.Time)
		}
		return append(b, "null"...)
	}
	end := func(b []byte, e *trace.End) []byte {
		b = append(b, `{"kind":"`...)
		b = append(b, e.Kind.String()...)
		b = append(b, `","id":`...)
		b = digits.AppendInt(b, e.ID)
		b = append(b, `,"location":`...)
		b = loc(b, e)
		b = append(b, `,"time":`...)
		b = time(b, e)
		return append(b, '}')
	}
	b := append(p.buf, `{"time":`...)
	b = time(b, &l.Src)
	b = append(b, `,"location":`...)
	b = loc(b, &l.Src)
	b = append(b, `,"kind":"link","region":null,"id":`...)
	b = digits.AppendInt(b, l.ID)
	b = append(b, `,"source":`...)
	b = end(b, &l.Src)
	b = append(b, `,"destination":`...)
	b = end(b, &l.Dst)
	if len(l.Attrs) > 0 {
		b = append(b, `,"attributes":{`...)
		for i := range l.Attrs {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSONString(b, l.Attrs[i].Key)
			b = append(b, ':')
			b = appendJSONValue(b, &l.Attrs[i].Value)
		}
		b = append(b, '}')
	}
	p.buf = append(b, '}', '\n')
}

// writeTextLink writes a link as text.
func (p *printer) writeTextLink(l *trace.Link) {
	line := len(p.buf)
	b := append(p.buf, "link "...)
	b = digits.AppendInt(b, l.ID)
	for i, e := range [2]*trace.End{&l.Src, &l.Dst} {
		b = append(b, [2]string{"  from ", " to "}[i]...)
		b = append(b, e.Kind.String()...)
		b = append(b, ' ')
		b = digits.AppendInt(b, e.ID)
		if p.defs.Locations.Has(e.Location) {
			b = append(b, " at "...)
			b = append(b, p.defs.Clock.FormatSeconds(e.Time)...)
			b = append(b, " s on "...)
			b = append(b, p.location(e.Location)...)
		} else {
			b = append(b, " (not in the trace)"...)
		}
	}
	for i := range l.Attrs {
		b = append(b, ' ', ' ')
		b = append(b, l.Attrs[i].Key...)
		b = append(b, '=')
		b = l.Attrs[i].Value.Append(b)
	}
	p.buf = append(plainTail(b, line), '\n')
}
