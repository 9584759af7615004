package picl

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// oldHost is the node number of the host in the old format.
const oldHost = -32768

// oldRecord describes a type of record in the old format (docs/formats/picl.md, "Old format"). In the verbose
// spelling, each value follows a word. The field words lists these words in the order of the compact spelling.
type oldRecord struct {
	key   int
	name  string
	words []string
	// values is the number of values, or -1 if the number varies.
	values int
}

var oldTable = []oldRecord{
	{1, "trace_start", []string{"event", "compstats", "commstats"}, 3},
	{2, "open", nil, 0},
	{3, "load", nil, -1},
	{4, "send", []string{"to", "type", "lth"}, 3},
	{5, "probe", []string{"type"}, 1},
	{6, "recv", []string{"from", "type", "lth"}, 3},
	{7, "recv_blocking", []string{"type"}, 1},
	{8, "recv_waking", []string{"from", "type", "lth"}, 3},
	{9, "message", nil, -1},
	{10, "sync", nil, 0},
	{11, "compstats", nil, -1}, // the verbose spelling has more values than the compact one
	{12, "commstats", nil, 5},
	{13, "close", nil, 0},
	{14, "trace_level", []string{"event", "compstats", "commstats"}, 3},
	{15, "trace_mark", []string{"type"}, 1},
	{16, "trace_message", nil, -1},
	{17, "trace_stop", nil, 0},
	{18, "trace_flush", []string{"finished"}, 2},
	{19, "trace_exit", []string{"space"}, 1},
	{20, "block_begin", []string{"block_type", "location_type", "parameter_type"}, 3},
	{21, "block_end", []string{"block_type", "location_type", "parameter_type"}, 3},
	{22, "trace_mark_array", nil, -1},
	{22, "trace_marks", nil, -1},
	{23, "clock_sync", nil, 0},
	{24, "trace_files", []string{"finished"}, 2},
}

// probeOld recognises the old format by the first line that can be read. The confidence is small if more of the lines
// before and after it are damaged.
func probeOld(text []byte) int {
	old, other, first := 0, 0, 0
	for l := range bytes.Lines(text) {
		if old > 0 && other == 0 || old == 20 || old+other == 200 || old+other > 0 && l[len(l)-1] != '\n' {
			break // text may end in the middle of its last line
		}
		var h head
		l = bytes.TrimRight(l, "\r\n")
		s := probeOldLine(l)
		if _, bad := h.parse(l, 6); old == 0 && s == 0 && bad < 0 {
			return 0
		}
		if s > 0 {
			old++
			first = cmp.Or(first, s)
		} else if len(bytes.TrimSpace(l)) > 0 {
			other++
		}
	}
	// A line of the new format has at least six fields, and the sixth is a count. User records of the
	// new format may also begin with a number ≥ 0, but then the third field is a time with a decimal
	// point, or a standard record or a control string follows.
	if first == compactOld && startsNew(text) {
		return 0
	}
	if old <= other {
		return min(first, damagedOld)
	}
	return first
}

// These are confidences that a file has the old format: if it has a line in the compact spelling, and if more lines are
// damaged than not.
const compactOld, damagedOld = 85, 30

// probeOldLine returns the confidence that a line has the old format. The line begins with a number from 1 to 24 and
// then has integers for seconds, microseconds and node, or it begins with a record name that is followed by "clock".
func probeOldLine(l []byte) int {
	f := bytes.Fields(l)
	if len(f) < 4 {
		return 0
	}
	for _, r := range oldTable {
		if string(f[0]) == r.name && string(f[1]) == "clock" {
			return 95
		}
	}
	if n, err := strconv.Atoi(string(f[0])); err != nil || n < 1 || n > 24 {
		return 0
	}
	for _, x := range f[1:4] {
		if _, err := strconv.ParseInt(string(x), 10, 64); err != nil {
			return 0
		}
	}
	return compactOld
}

// startsNew reports whether one of the first lines has the head of a standard record of the new format, or a
// control string after such a head. In the old format, only messages (key 16) have quotes. The last line may
// be incomplete.
func startsNew(text []byte) bool {
	n := 0
	for l := range bytes.Lines(text) {
		var h head
		i, bad := h.parse(bytes.TrimRight(l, "\r\n"), 6)
		if bad < 0 && l[len(l)-1] == '\n' &&
			(h.f[0] < 0 || h.f[0] != 16 && bytes.HasPrefix(bytes.TrimLeft(l[i:], " \t"), []byte{'"'})) {
			return true
		}
		if n++; n == 20 {
			break
		}
	}
	return false
}

// oldConverter converts the lines of an old-format trace to lines of the new format.
type oldConverter struct {
	*linetrace.Rewriter
	open  map[int64]*oldCall // send, receive or barrier of each node whose end is not known yet; indexed by node
	waits map[int64]Record
	// silent holds the nodes that trace no statistics, so that no compstats record states the end of a
	// call.
	silent map[int64]bool
}

func beginOld(w *linetrace.Rewriter) (line func([]byte, int64) error, finish func() error) {
	c := &oldConverter{w, map[int64]*oldCall{}, map[int64]Record{}, map[int64]bool{}}
	return c.convertLine, c.finish
}

// oldCall is a send, a receive or a barrier that two compstats records may follow. The second of these records
// has the time at which the call ends.
type oldCall struct {
	exit  Record
	stats int
}

// convertLine converts one line of the old format.
func (c *oldConverter) convertLine(l []byte, number int64) error {
	f := strings.Fields(string(l))
	if len(f) == 0 {
		return nil
	}
	x := &oldLine{fields: f, text: l, number: number}
	x.bad = func(found, expected string) error {
		return c.Defect("picl.old-record", trace.Warning, number, quote(l), found, expected)
	}
	if found, expected := x.parse(); found != "" {
		c.Skipped++
		return x.bad(found, expected)
	}
	if found, expected := x.checkCount(); found != "" {
		if err := x.bad(found, expected); err != nil {
			return err
		}
	}
	if c.open[x.node] != nil && x.key != 11 && x.key != 12 {
		if err := c.endCall(x.node); err != nil {
			return err
		}
	}
	return c.convert(x)
}

// oldLine is a parsed line of the old format.
type oldLine struct {
	fields []string
	text   []byte // the whole line
	number int64
	key    int
	at     trace.Decimal
	node   int64
	args   []int64
	bad    func(found, expected string) error // called for each defect of the line
}

// parse parses the fields of a line in the compact or the verbose spelling. If they are invalid, it
// returns the text that it found and a description of the text that it expected.
func (o *oldLine) parse() (found, expected string) {
	const (
		compact = "key, seconds, microseconds, node and data"
		verbose = "clock SECONDS MICROSECONDS node NODE"
	)
	f := o.fields
	var n []int64
	key, err := strconv.Atoi(f[0])
	var row *oldRecord // the description of a verbose record
	if err == nil {
		if len(f) < 4 {
			return "too few fields", compact
		}
		n, err = allIntegers(f[1:4])
		if err == nil && key != 16 {
			o.args, err = allIntegers(f[4:])
		}
		if err != nil {
			return "no numbers", compact
		}
	} else {
		for i := range oldTable {
			if r := &oldTable[i]; r.name == f[0] {
				key, row = r.key, r
			}
		}
		if key == 0 || len(f) < 6 || f[1] != "clock" || f[4] != "node" {
			return strconv.Quote(f[0]), "a record name, " + verbose
		}
		if n, err = allIntegers([]string{f[2], f[3], f[5]}); err != nil {
			return "no numbers", verbose
		}
		o.args = row.verboseValues(f[6:])
	}
	o.key, o.node = key, n[2]
	var ok bool
	if o.at, ok = oldTime(n[0], n[1]); !ok {
		return fmt.Sprintf("a time of %s", plural.Of(n[0], "second")), "microseconds that fit 64 bits"
	}
	return "", ""
}

// oldTime returns the time for seconds and microseconds. ok is false if it does not fit.
func oldTime(seconds, micros int64) (t trace.Decimal, ok bool) {
	const most = math.MaxInt64/1_000_000/2 - 1
	ok = seconds <= most && seconds >= -most && micros <= most*1_000_000 && micros >= -most*1_000_000
	return trace.NewDecimal(seconds*1_000_000+micros, 6), ok
}

// verboseValues returns the values of a verbose record in the order of the compact spelling. A value
// belongs to the word before it. Values without a known word keep their order.
func (r *oldRecord) verboseValues(fields []string) (args []int64) {
	at := func(i int, v int64) {
		for len(args) <= i {
			args = append(args, -1)
		}
		args[i] = v
	}
	word := ""
	for _, f := range fields {
		v, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			word = f
			continue
		}
		if i := slices.Index(r.words, word); i >= 0 && len(r.words) == r.values {
			at(i, v)
		} else {
			args = append(args, v)
		}
		word = ""
	}
	return args
}

// checkCount compares the number of values with the number that the record type has. If the numbers
// differ, it returns descriptions of both.
func (o *oldLine) checkCount() (found, expected string) {
	i := slices.IndexFunc(oldTable, func(r oldRecord) bool { return r.key == o.key })
	if i < 0 || oldTable[i].values < 0 || oldTable[i].values == len(o.args) {
		return "", ""
	}
	return plural.Of(len(o.args), "value"),
		fmt.Sprintf("%d of %s; weft uses the values that are there", oldTable[i].values, oldTable[i].name)
}

// textAfter returns the text after the given number of fields, without blanks at its start and end.
func (o *oldLine) textAfter(fields int) string {
	l := bytes.TrimSpace(o.text)
	for range fields {
		i := bytes.IndexAny(l, " \t")
		if i < 0 {
			return ""
		}
		l = bytes.TrimLeft(l[i:], " \t")
	}
	return string(l)
}

// record returns a new-format record with the time and node of the line.
func (o *oldLine) record(typ, event int64, vals ...int64) Record {
	r := Record{Type: typ, Event: event, Time: o.at, Processor: o.node, Line: o.number}
	if o.node == oldHost {
		r.Processor = Host
	}
	for _, v := range vals {
		r.Values = append(r.Values, intValue(v))
	}
	return r
}

// arg returns the value with index i, or -1 if there is none.
func (o *oldLine) arg(i int) int64 {
	if i < len(o.args) {
		return o.args[i]
	}
	return -1
}

// convert writes the new-format records for a line.
func (c *oldConverter) convert(x *oldLine) error {
	rec, arg, args, node, f := x.record, x.arg, x.args, x.node, x.fields
	switch x.key {
	case 1:
		c.silent[node] = arg(1) == 0
		return c.emit(rec(TypeEntry, -901), rec(TypeMark, -904, args...))
	case 2:
		return c.emit(rec(TypeEntry, -11), rec(TypeExit, -11))
	case 4:
		return c.begin(node, rec(TypeEntry, -21, arg(2), arg(1), arg(0), 0), rec(TypeExit, -21))
	case 5:
		return c.emit(rec(TypeMark, -53, arg(0)))
	case 6:
		return c.begin(node, rec(TypeEntry, -51, arg(1), -1, -1), rec(TypeExit, -51, arg(2), arg(1), arg(0), 0))
	case 7:
		c.waits[node] = rec(TypeEntry, -52, arg(0), -1, -1)
		return c.emit(c.waits[node])
	case 8:
		if _, ok := c.waits[node]; !ok {
			if err := x.bad("recv_waking without recv_blocking",
				"recv_blocking before it; weft reads a receive without duration"); err != nil {
				return err
			}
			if err := c.emit(rec(TypeEntry, -52, arg(1), -1, -1)); err != nil {
				return err
			}
		}
		delete(c.waits, node)
		return c.emit(rec(TypeExit, -52, arg(2), arg(1), arg(0), 0))
	case 10:
		return c.begin(node, rec(TypeEntry, -402), rec(TypeExit, -402))
	case 11:
		if s := c.open[node]; s != nil {
			if s.stats++; s.stats == 2 {
				s.exit.Time = x.at
				if err := c.endCall(node); err != nil {
					return err
				}
			}
		}
		// the verbose spelling has the busy time before the idle time
		return c.writeCounts(x, args[max(0, len(args)-2):])
	case 12:
		return c.writeCounts(x, args)
	case 13:
		return c.emit(rec(TypeMark, -12))
	case 14:
		c.silent[node] = arg(1) == 0
		return c.emit(rec(TypeMark, -904, args...))
	case 15:
		return c.emit(rec(TypeMark, max(0, arg(0))))
	case 16:
		r := rec(TypeMessage, -1)
		text := x.textAfter(4)
		if f[0] == "trace_message" {
			text = x.textAfter(6)
		}
		if text != "" {
			r.Values = []trace.Value{trace.StringValue(text)}
		}
		return c.emit(r)
	case 17:
		return c.emit(rec(TypeMark, -913))
	case 18, 24:
		return c.writeCall(x)
	case 19:
		vol := rec(TypeVolumes, -1, -901, arg(0))
		return c.emit(rec(TypeExit, -901), vol)
	case 20, 21:
		return c.writeBlock(x)
	case 22:
		return c.writeMarks(x)
	case 23:
		return c.emit(rec(TypeEntry, -401), rec(TypeExit, -401))
	}
	c.Skipped++
	return x.bad(fmt.Sprintf("record %s", f[0]), "a record whose layout is known; weft skips the record")
}

// writeCall writes the entry and the exit for a record that states the time of its end.
func (c *oldConverter) writeCall(x *oldLine) error {
	event := int64(-912)
	if x.key == 24 {
		event = -903
	}
	end := x.record(TypeExit, event)
	if len(x.args) >= 2 {
		if t, ok := oldTime(x.args[0], x.args[1]); ok {
			end.Time = t
		} else if err := x.bad(fmt.Sprintf("an end after %s", plural.Of(x.args[0], "second")),
			"microseconds that fit 64 bits; weft reads a record without duration"); err != nil {
			return err
		}
	}
	return c.emit(x.record(TypeEntry, event), end)
}

// writeMarks writes a mark for each value of a record that consists of a count and values.
func (c *oldConverter) writeMarks(x *oldLine) error {
	count := x.arg(0)
	if count != int64(len(x.args))-1 {
		err := x.bad(fmt.Sprintf("a count of %d and %s", count, plural.Of(max(0, len(x.args)-1), "value")),
			"the number of values; a negative count means that the values did not fit")
		if err != nil {
			return err
		}
	}
	for i := int64(1); i <= count && int(i) < len(x.args); i++ {
		if err := c.emit(x.record(TypeMark, max(0, x.args[i]))); err != nil {
			return err
		}
	}
	return nil
}

// writeBlock writes the entry or the exit for the begin or end of a block.
func (c *oldConverter) writeBlock(x *oldLine) error {
	rec, arg := x.record, x.arg
	typ := int64(TypeEntry)
	if x.key == 21 {
		typ = TypeExit
	}
	event := arg(0)
	if event >= 0 {
		return c.emit(rec(typ, event, arg(1), arg(2)))
	}
	// The collective operations of the library have numbers: -1 is a barrier, -2 and -3 are broadcasts,
	// -4 is a global operation.
	event = map[int64]int64{-1: -402, -2: -785, -3: -785, -4: -782}[event]
	if event == 0 {
		event = -602
	}
	// The fields of these event types do not fit the numbers of the block. A user record inside the
	// event keeps the numbers.
	own := rec(int64(x.key), event, arg(0), arg(1), arg(2))
	if x.key == 20 {
		return c.emit(rec(typ, event), own)
	}
	return c.emit(own, rec(typ, event))
}

// writeCounts writes the counts that a process has reached as a user record, whose type is the number
// of the old record. A statistics record would be wrong, because the events need not agree with these
// counts.
func (c *oldConverter) writeCounts(x *oldLine, counts []int64) error {
	if len(counts) == 0 {
		return nil
	}
	return c.emit(x.record(int64(x.key), -1, counts...))
}

// begin writes the entry of a call. It also writes the exit if no compstats record can state the time
// of the exit.
func (c *oldConverter) begin(node int64, entry, exit Record) error {
	if c.silent[node] {
		return c.emit(entry, exit)
	}
	c.open[node] = &oldCall{exit: exit}
	return c.emit(entry)
}

// endCall writes the exit of the call that is open at a node.
func (c *oldConverter) endCall(node int64) error {
	s := c.open[node]
	delete(c.open, node)
	return c.emit(s.exit)
}

func (c *oldConverter) finish() error {
	for _, node := range slices.Sorted(maps.Keys(c.open)) {
		if err := c.endCall(node); err != nil {
			return err
		}
	}
	return nil
}

func (c *oldConverter) emit(recs ...Record) error {
	for i := range recs {
		if err := c.Record(recs[i].Line, func(b []byte) []byte { return recs[i].Append(b, 6) }); err != nil {
			return err
		}
	}
	return nil
}

func allIntegers(f []string) ([]int64, error) {
	out := make([]int64, len(f))
	for i, s := range f {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}
