package picl

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// oldHost is the host's node number in the old format.
const oldHost = -32768

// oldRecord is one row of the table of old-format records (docs/formats/
// picl.md, "Old format"): the words that stand before the values in the verbose
// spelling, in the order of the compact one.
type oldRecord struct {
	key   int
	name  string
	words []string
}

var oldTable = []oldRecord{
	{1, "trace_start", []string{"event", "compstats", "commstats"}},
	{2, "open", nil},
	{3, "load", nil},
	{4, "send", []string{"to", "type", "lth"}},
	{5, "probe", []string{"type"}},
	{6, "recv", []string{"from", "type", "lth"}},
	{7, "recv_blocking", []string{"type"}},
	{8, "recv_waking", []string{"from", "type", "lth"}},
	{9, "message", nil},
	{10, "sync", nil},
	{11, "compstats", nil},
	{12, "commstats", nil},
	{13, "close", nil},
	{14, "trace_level", []string{"event", "compstats", "commstats"}},
	{15, "trace_mark", []string{"type"}},
	{16, "trace_message", nil},
	{17, "trace_stop", nil},
	{18, "trace_flush", []string{"finished"}},
	{19, "trace_exit", []string{"space"}},
	{20, "block_begin", []string{"block_type", "location_type", "parameter_type"}},
	{21, "block_end", []string{"block_type", "location_type", "parameter_type"}},
	{22, "trace_mark_array", nil},
	{22, "trace_marks", nil},
	{23, "clock_sync", nil},
	{24, "trace_files", []string{"finished"}},
}

// probeOld recognises the old format: a first field 1 … 24 with integer
// seconds, microseconds and node, or a record name followed by "clock".
func probeOld(head []byte) int {
	l := head
	if i := bytes.IndexByte(head, '\n'); i >= 0 {
		l = head[:i]
	}
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
	// The new format has at least six fields, the sixth a count; its user
	// records begin with a number ≥ 0 too, but then the third is a time stamp
	// with a point.
	return 85
}

// oldConverter writes an old-format trace as new-format lines.
type oldConverter struct {
	*linetrace.Rewriter
	sends map[int64]*oldSend // a send of a node whose end is not known yet
	waits map[int64]Record
}

func beginOld(w *linetrace.Rewriter) (line func([]byte, int64) error, finish func() error) {
	c := &oldConverter{w, map[int64]*oldSend{}, map[int64]Record{}}
	return c.line, c.finish
}

// oldSend is a send that may be followed by compstats records: the second one
// tells when it ended.
type oldSend struct {
	exit  Record
	stats int
}

func (c *oldConverter) line(l []byte, number int64) error {
	f := strings.Fields(string(l))
	if len(f) == 0 {
		return nil
	}
	bad := func(found, expected string) error {
		return c.Defect("picl.old-record", trace.Warning, number, quote(l), found, expected)
	}
	key, err := strconv.Atoi(f[0])
	var sec, usec, node int64
	var args []int64
	if err == nil {
		if len(f) < 4 {
			return bad("too few fields", "key, seconds, microseconds, node and data")
		}
		n, err := allIntegers(f[1:4])
		if err == nil && key != 16 {
			args, err = allIntegers(f[4:])
		}
		if err != nil {
			return bad("no numbers", "key, seconds, microseconds, node and data")
		}
		sec, usec, node = n[0], n[1], n[2]
	} else {
		for _, r := range oldTable {
			if r.name == f[0] {
				key = r.key
			}
		}
		if key == 0 || len(f) < 6 || f[1] != "clock" || f[4] != "node" {
			return bad(strconv.Quote(f[0]), "a record name, clock SECONDS MICROSECONDS node NODE")
		}
		n, err := allIntegers([]string{f[2], f[3], f[5]})
		if err != nil {
			return bad("no numbers", "clock SECONDS MICROSECONDS node NODE")
		}
		sec, usec, node = n[0], n[1], n[2]
		for _, x := range f[6:] {
			if v, err := strconv.ParseInt(x, 10, 64); err == nil {
				args = append(args, v)
			}
		}
	}
	at := trace.NewDecimal(sec*1_000_000+usec, 6)
	processor := node
	if node == oldHost {
		processor = Host
	}
	rec := func(typ, event int64, vals ...int64) Record {
		r := Record{Type: typ, Event: event, Time: at, Processor: processor, Line: number}
		for _, v := range vals {
			r.Values = append(r.Values, intValue(v))
		}
		return r
	}
	arg := func(i int) int64 {
		if i < len(args) {
			return args[i]
		}
		return -1
	}
	if s := c.sends[node]; s != nil && key != 11 && key != 12 {
		if err := c.endSend(node); err != nil {
			return err
		}
	}
	switch key {
	case 1:
		return c.emit(rec(TypeEntry, -901), rec(TypeMark, -904, args...))
	case 2:
		return c.emit(rec(TypeEntry, -11), rec(TypeExit, -11))
	case 4:
		c.sends[node] = &oldSend{exit: rec(TypeExit, -21)}
		return c.emit(rec(TypeEntry, -21, arg(2), arg(1), arg(0), 0))
	case 5:
		return c.emit(rec(TypeMark, -53, arg(0)))
	case 6:
		return c.emit(rec(TypeEntry, -51, arg(1), -1, -1), rec(TypeExit, -51, arg(2), arg(1), arg(0), 0))
	case 7:
		c.waits[node] = rec(TypeEntry, -52, arg(0), -1, -1)
		return c.emit(c.waits[node])
	case 8:
		if _, ok := c.waits[node]; !ok {
			if err := bad("recv_waking without recv_blocking",
				"recv_blocking before it; the receive takes no time"); err != nil {
				return err
			}
			if err := c.emit(rec(TypeEntry, -52, arg(1), -1, -1)); err != nil {
				return err
			}
		}
		delete(c.waits, node)
		return c.emit(rec(TypeExit, -52, arg(2), arg(1), arg(0), 0))
	case 10:
		return c.emit(rec(TypeEntry, -402), rec(TypeExit, -402))
	case 11:
		if s := c.sends[node]; s != nil {
			if s.stats++; s.stats == 2 {
				s.exit.Time = at
				return c.endSend(node)
			}
		}
		return nil
	case 12:
		return nil
	case 13:
		return c.emit(rec(TypeMark, -12))
	case 14:
		return c.emit(rec(TypeMark, -904, args...))
	case 15:
		return c.emit(rec(TypeMark, max(0, arg(0))))
	case 16:
		r := rec(TypeMessage, -1)
		text := f[4:]
		if f[0] == "trace_message" {
			text = f[6:]
		}
		if len(text) > 0 {
			r.Values = []trace.Value{trace.StringValue(strings.Join(text, " "))}
		}
		return c.emit(r)
	case 17:
		return c.emit(rec(TypeMark, -913))
	case 18, 24:
		event := int64(-912)
		if key == 24 {
			event = -903
		}
		end := rec(TypeExit, event)
		if len(args) >= 2 {
			end.Time = trace.NewDecimal(args[0]*1_000_000+args[1], 6)
		}
		return c.emit(rec(TypeEntry, event), end)
	case 19:
		vol := rec(TypeVolumes, -1, -901, arg(0))
		return c.emit(rec(TypeExit, -901), vol)
	case 20, 21:
		typ := int64(TypeEntry)
		if key == 21 {
			typ = TypeExit
		}
		event := arg(0)
		if event < 0 {
			// Library collectives: -1 barrier, -2 and -3 broadcasts, -4 global op.
			event = map[int64]int64{-1: -402, -2: -785, -3: -785, -4: -782}[event]
			if event == 0 {
				event = -602
			}
			return c.emit(rec(typ, event))
		}
		return c.emit(rec(typ, event, arg(1), arg(2)))
	case 22:
		for i := int64(1); i <= arg(0) && int(i) < len(args); i++ {
			if err := c.emit(rec(TypeMark, max(0, args[i]))); err != nil {
				return err
			}
		}
		return nil
	case 23:
		return c.emit(rec(TypeEntry, -401), rec(TypeExit, -401))
	}
	return bad(fmt.Sprintf("record %s", f[0]), "a record whose layout is known; it is skipped")
}

func (c *oldConverter) endSend(node int64) error {
	s := c.sends[node]
	delete(c.sends, node)
	return c.emit(s.exit)
}

func (c *oldConverter) finish() error {
	for _, node := range slices.Sorted(maps.Keys(c.sends)) {
		if err := c.endSend(node); err != nil {
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
