package otf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-trace/weft/internal/digits"
)

// printer writes records as otfprint --fullkeyvalue does, including its errors (docs/formats/otf.md,
// "otfprint").
type printer struct {
	opt          PrintOptions
	done         bool              // all selected records have been printed
	n            int64             // number of records printed so far
	events       int64             // number of events printed so far
	counters     map[uint64]uint64 // properties of each defined counter
	b            []byte
	number       []byte // text of n
	high         uint64 // high is the last time without its last digits, and highText is the text of high
	highText     []byte
	shortNumbers *[1000]uint32
}

// define stores the properties of a counter.
func (p *printer) define(r *Record) {
	if r.Type != DefCounter {
		return
	}
	if p.counters == nil {
		p.counters = map[uint64]uint64{}
	}
	p.counters[r.Token] = r.Properties
}

// printPart prints the records of a cursor.
func (p *printer) printPart(c *Cursor, w io.Writer) error {
	for {
		if c.merged && c.r.opt.From == 0 && c.r.opt.To == math.MaxUint64 && p.opt.printsAll() {
			for x := c.line(); x != nil; x = c.line() {
				if x.isVisit() {
					p.countRecord()
					p.printVisit(x)
				} else {
					c.cur.fill()
					p.printRecord(&c.cur.rec)
				}
				if len(p.b) >= printBuffer {
					if err := errors.Join(p.flush(w), c.ctx.Err()); err != nil {
						return err
					}
				}
			}
		}
		if !c.Next() || !p.printSelected(c.Record(), c.part) {
			break
		}
		if len(p.b) >= printBuffer {
			if err := p.flush(w); err != nil {
				return err
			}
		}
	}
	return errors.Join(p.flush(w), c.Err())
}

// printsAll reports whether the options print all records in full.
func (o *PrintOptions) printsAll() bool {
	return o.First <= 1 && o.Last == 0 && o.Wanted == nil && o.Pairs == FullPairs && o.Events == 0
}

// printSelected prints a record if it is selected. It returns false when no more records need to be read.
func (p *printer) printSelected(r *Record, part Part) bool {
	if p.opt.Wanted != nil && !p.opt.Wanted(r.Type) {
		p.define(r)
		return true
	}
	before, n := len(p.b), p.n
	p.printRecord(r)
	switch {
	case p.opt.Last > 0 && p.n > p.opt.Last, part == Events && p.opt.Events > 0 && p.events == p.opt.Events:
		p.b, p.done = p.b[:before], true
		return part != Events // in other parts, otfprint continues to the end, to look for malformed records
	case p.n < p.opt.First:
		p.b = p.b[:before]
	case part == Events:
		p.events += p.n - n
	}
	return true
}

var (
	enterWord = [17]byte([]byte(" Enter: function "))
	leaveWord = [17]byte([]byte(" Leave: function "))
)

// printVisit prints an enter or leave.
func (p *printer) printVisit(x *aheadRecord) {
	b := append(append(p.b, "(#"...), p.number...)
	b = p.appendTime(append(b, ") \t"...), x.time)
	word := &enterWord
	if x.typ == Leave {
		word = &leaveWord
	}
	b = p.appendSmall(append(b, word[:]...), uint64(x.function))
	b = p.appendSmall(append(b, ", process "...), uint64(x.process))
	p.b = append(b, ", source 0\n"...)
}

// printBuffer is the number of bytes that are written at once.
const printBuffer = 64 << 10

// flush writes the collected text.
func (p *printer) flush(w io.Writer) error {
	_, err := w.Write(p.b)
	p.b = p.b[:0]
	return err
}

func (p *printer) printf(format string, args ...any) { p.b = fmt.Appendf(p.b, format, args...) }

// cText returns the part of a string that a C program sees, which ends before the first zero byte.
func cText(s string) string {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return s[:i]
	}
	return s
}

func enumName(v uint64, names ...string) string {
	if v < uint64(len(names)) && names[v] != "" {
		return names[v]
	}
	return "UNKNOWN <" + strconv.FormatUint(v, 10) + ">"
}

func joined(members []uint32, text func(uint32) string) string {
	var b []byte
	for i, m := range members {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, text(m)...)
	}
	return string(b)
}

func decimals(members []uint32) string {
	return joined(members, func(m uint32) string { return strconv.FormatUint(uint64(m), 10) })
}

// propertyNames returns the names of the properties of a counter, given its property bits.
func propertyNames(p uint64) string {
	return enumName(p&3, "ACC", "ABS") + "/" + enumName(p&0xc>>2, "START", "POINT", "LAST", "NEXT") + "/" +
		func() string {
			if i := p & 0x1e0 >> 5; i < 10 && i != 6 && i != 7 {
				return [10]string{"UNSIGNED8", "SIGNED8", "UNSIGNED4", "SIGNED4", "UNSIGNED2", "SIGNED2", 8: "FLOAT",
					9: "DOUBLE"}[i]
			}
			return "UNKNOWN <" + strconv.FormatUint(p&0x1e0, 10) + ">"
		}()
}

// counterValue returns the text of a counter's value, which depends on its properties.
func (p *printer) counterValue(counter, v uint64) string {
	switch p.counters[counter] & 0x1e0 {
	case 0, 0x40, 0x80: // unsigned types of 8, 4 and 2 bytes; otfprint does not truncate them
		return strconv.FormatUint(v, 10)
	case 0x20, 0x60, 0xa0:
		return strconv.FormatInt(int64(v), 10)
	case 0x100:
		return cFloat(float64(math.Float32frombits(uint32(v))), 6)
	case 0x120:
		return cFloat(math.Float64frombits(v), 6)
	}
	return fmt.Sprintf("INVALID TYPE <%08x>", v)
}

// cFloat returns a number in the format of printf with %f and the given number of digits.
func cFloat(f float64, digits int) string {
	switch {
	case math.IsNaN(f):
		if math.Signbit(f) {
			return "-nan"
		}
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	return strconv.FormatFloat(f, 'f', digits, 64)
}

var fileFlags = [...]struct {
	bit  uint64
	name string
}{{0x20, "IOFAILED"}, {0x40, "ASYNC"}, {0x80, "COLL"}, {0x100, "DIRECT"}, {0x200, "SYNC"}, {0x400, "ISREADLOCK"}}

// fileOperation returns the names of a file operation and its flags.
func fileOperation(op uint64) string {
	var flags []string
	rest := op &^ 0x1f
	for _, f := range fileFlags {
		if rest&f.bit != 0 {
			flags = append(flags, f.name)
			rest &^= f.bit
		}
	}
	if rest != 0 {
		flags = append(flags, "UNKNOWN <"+strconv.FormatUint(rest, 10)+">")
	}
	if flags == nil {
		flags = []string{"EMPTY"}
	}
	return enumName(op&0x1f, "OPEN", "CLOSE", "READ", "WRITE", "SEEK", "UNLINK", "RENAME", "DUP", "SYNC", "LOCK",
		"UNLOCK") + ", flags " + strings.Join(flags, ", ")
}

// firstValues returns the first pair of each key, for a list of many pairs.
func firstValues(list []KeyValue) map[uint32]*KeyValue {
	first := make(map[uint32]*KeyValue, len(list))
	for i := range list {
		if v := &list[i]; first[v.Key] == nil {
			first[v.Key] = v
		}
	}
	return first
}

// printKeyValues prints the key-value pairs of a record.
func (p *printer) printKeyValues(r *Record) {
	b := p.b
	if p.opt.Pairs == NoPairs {
		return
	}
	// libotf adds an array to a list that has its key. otfprint looks up each value by its key, and thus repeats the
	// first one.
	var first map[uint32]*KeyValue
	if len(r.KeyValues) >= manyPairs {
		first = firstValues(r.KeyValues)
	}
	for i := range r.KeyValues {
		v := &r.KeyValues[i]
		if first != nil {
			v = first[v.Key]
		} else {
			v, _ = r.Find(v.Key)
		}
		if i == 0 {
			b = append(b, ", KeyValue: "...)
		} else {
			b = append(b, ", "...)
		}
		b = append(p.appendSmall(b, uint64(v.Key)), ':')
		switch v.Type {
		case Char:
			b = append(b, byte(v.Bits))
		case Int8, Int16, Int32, Int64:
			b = strconv.AppendInt(b, v.Int(), 10)
		case Float32, Float64:
			b = append(b, cFloat(v.Float(), 3)...)
		case Bytes:
			if p.opt.Pairs == ShortPairs {
				b = append(digits.AppendUint(append(b, "byte-array("...), uint64(len(v.Bytes))), ')')
				break
			}
			for _, x := range v.Bytes {
				const digits = "0123456789ABCDEF"
				b = append(b, digits[x>>4], digits[x&15])
			}
		default:
			b = p.appendSmall(b, v.Bits)
		}
	}
	p.b = b
}

// countRecord increments the number of records and its text.
func (p *printer) countRecord() {
	p.n++
	i := len(p.number) - 1
	for ; i >= 0 && p.number[i] == '9'; i-- {
		p.number[i] = '0'
	}
	if i >= 0 && p.number[i] > 0 {
		p.number[i]++
	} else {
		p.number = strconv.AppendInt(p.number[:0], p.n, 10)
	}
}

// appendTime appends a time. Most of its digits are those of the previous time, whose text is reused.
func (p *printer) appendTime(b []byte, t uint64) []byte {
	high := t / 10_000
	if high == 0 {
		return digits.AppendUint(b, t)
	}
	if high != p.high {
		p.high, p.highText = high, digits.AppendUint(p.highText[:0], high)
	}
	low := uint32(t - high*10_000)
	b = append(b, p.highText...)
	return append(b, byte('0'+low/1000), byte('0'+low/100%10), byte('0'+low/10%10), byte('0'+low%10))
}

// smallTexts returns the texts of small numbers. The lower bytes of an entry are the text and its
// highest byte is the length.
var smallTexts = sync.OnceValue(func() *[1000]uint32 {
	t := new([1000]uint32)
	for i := range t {
		text := strconv.AppendInt(nil, int64(i), 10)
		n := len(text)
		t[i] = binary.LittleEndian.Uint32(append(text, 0, 0, 0, 0)) | uint32(n)<<24
	}
	return t
})

// appendSmall appends a number that is mostly small. For a small number it copies a fixed number of
// bytes, which is faster.
func (p *printer) appendSmall(b []byte, v uint64) []byte {
	n := len(b)
	if v >= uint64(len(p.shortNumbers)) || cap(b)-n < 4 {
		return digits.AppendUint(b, v)
	}
	text := p.shortNumbers[v]
	binary.LittleEndian.PutUint32(b[n:n+4], text)
	return b[:n+int(text>>24)]
}

// printFrequent prints a record of the most frequent types. It returns false for other types.
func (p *printer) printFrequent(r *Record) bool {
	switch r.Type {
	case Enter, Leave, SendMsg, RecvMsg, Counter, NoOp:
	default:
		return false
	}
	b := append(append(p.b, "(#"...), p.number...)
	b = append(p.appendTime(append(b, ") \t"...), r.Time), ' ')
	switch r.Type {
	case Enter:
		b = p.appendSmall(append(b, "Enter: function "...), r.Function)
		b = p.appendSmall(append(b, ", process "...), r.Process)
	case Leave:
		b = p.appendSmall(append(b, "Leave: function "...), r.Function)
		b = p.appendSmall(append(b, ", process "...), r.Process)
	case SendMsg:
		b = p.appendSmall(append(b, "SendMessage: sender "...), r.Process)
		b = p.appendSmall(append(b, ", receiver "...), r.Peer)
	case RecvMsg:
		b = p.appendSmall(append(b, "ReceiveMessage: receiver "...), r.Process)
		b = p.appendSmall(append(b, ", sender "...), r.Peer)
	case Counter:
		b = p.appendSmall(append(b, "Counter: process "...), r.Process)
		b = p.appendSmall(append(b, ", counter "...), r.Counter)
		p.b = append(append(b, ", value "...), p.counterValue(r.Counter, r.Value)...)
		return true
	case NoOp:
		p.b = p.appendSmall(append(b, "NoOp: process "...), r.Process)
		return true
	}
	if r.Type == SendMsg || r.Type == RecvMsg {
		b = p.appendSmall(append(b, ", group "...), r.Communicator)
		b = p.appendSmall(append(b, ", type "...), r.Tag)
		b = p.appendSmall(append(b, ", length "...), r.Length)
	}
	p.b = p.appendSmall(append(b, ", source "...), r.SCL)
	return true
}

// printRecord prints a record.
func (p *printer) printRecord(r *Record) {
	before := len(p.b)
	p.countRecord()
	if p.printFrequent(r) {
		p.printKeyValues(r)
		p.b = append(p.b, '\n')
		return
	}
	timed := r.Type.Part().timed() || r.Type == Marker
	if r.Type == DefMarker {
		p.printf("(#%d) ", p.n)
	} else {
		p.printf("(#%d) \t", p.n)
	}
	if timed {
		p.b = append(strconv.AppendUint(p.b, r.Time, 10), ' ')
	}
	name, text := cText(r.Name), cText(r.Text)
	if r.Unnamed {
		name = "(null)"
	}
	if r.Type == Unknown {
		p.printf("%d Unknown: process %d, record \"%s\"\n", r.Time, r.Process, text)
		return // otfprint prints no pairs for this record
	}
	switch r.Type.Part() {
	case Events:
		p.printEvent(r, text)
	case Statistics:
		if !p.printSummary(r) {
			// otfprint prints nothing for this record.
			p.b, p.n = p.b[:before], p.n-1
			p.number = strconv.AppendInt(p.number[:0], p.n, 10)
			return
		}
	case Snapshots:
		p.printSnapshot(r, text)
	case Markers:
		p.printMarker(r, name, text)
	default:
		p.printDefinition(r, name, text)
	}
	if r.Type != DefVersion && r.Type != DefUniqueID {
		p.printKeyValues(r)
	}
	p.b = append(p.b, '\n')
}

// printDefinition prints a definition. name and text are the texts that otfprint prints for it.
func (p *printer) printDefinition(r *Record, name, text string) {
	switch r.Type {
	case DefVersion:
		p.printf("DefVersion: stream %d, version: %d.%d.%d \"%s\"", r.Stream, r.Major, r.Minor, r.Sub, text)
	case DefUniqueID:
		p.printf("DefUniqueId: stream %d, uid: %d", r.Stream, r.UniqueID)
	case DefCreator:
		p.printf("DefCreator: stream %d, creator \"%s\"", r.Stream, text)
	case DefinitionComment:
		p.printf("DefComment: stream %d, comment \"%s\"", r.Stream, text)
	case DefTimerResolution:
		p.printf("DefTimerResolution: stream %d, TicksPerSecond %d", r.Stream, r.TicksPerSecond)
	case DefTimeRange:
		p.printf("DefTimeRange: stream %d, [%d, %d]", r.Stream, r.MinTime, r.MaxTime)
	case DefProcess:
		p.printf("DefProcess: stream %d, process %d, name \"%s\", parent %d", r.Stream, r.Token, name, r.Parent)
	case DefProcessGroup:
		p.printf("DefProcessGroup: stream %d, group %d, name \"%s\", procs %s", r.Stream, r.Token, name, decimals(r.Members))
	case DefAttributeList:
		p.printf("DefAttributeList: stream %d, attr_token %d, attributes %s", r.Stream, r.Token,
			joined(r.Members, func(m uint32) string {
				return enumName(uint64(m), "", "IsMPIRank", "IsPThread", "IsOMPThread", "IsCellSPUThread", "hasGroupCounters",
					"hasEnterLeaveRecords", "IsCommunicator", "IsCUDAThread", "IsMasterThread")
			}))
	case DefProcessOrGroupAttributes:
		p.printf("DefProcessOrGroupAttributes: stream %d, process %d, attr_token %d", r.Stream, r.Token, r.AttributeList)
	case DefProcessSubstitutes:
		p.printf("DefProcessSubstitutes: stream %d, representative process %d, procs %s", r.Stream, r.Token,
			decimals(r.Members))
	case DefFunctionGroup:
		p.printf("DefFunctionGroup: stream %d, group %d, name \"%s\"", r.Stream, r.Token, name)
	case DefFunction:
		p.printf("DefFunction: stream %d, function %d, name \"%s\", group %d, source %d", r.Stream, r.Token, name, r.Group,
			r.SCL)
	case DefCollectiveOperation:
		p.printf("DefCollective: stream %d, collective %d, name \"%s\", type %s", r.Stream, r.Token, name,
			enumName(r.Kind, "", "BARRIER", "ONE2ALL", "ALL2ONE", "ALL2ALL"))
	case DefCounterGroup:
		p.printf("DefCounterGroup: stream %d, group %d, name \"%s\"", r.Stream, r.Token, name)
	case DefCounter:
		p.define(r)
		p.printf("DefCounter: stream %d, counter %d, name \"%s\", properties %s, group %d, unit \"%s\"", r.Stream, r.Token,
			name, propertyNames(r.Properties), r.Group, cText(r.Unit))
	case DefCounterAssignments:
		p.printf("DefCounterAssignments: stream %d, counter_token %d, assignees %s", r.Stream, r.Token, decimals(r.Members))
	case DefSCLFile:
		p.printf("DefSclFile: stream %d, file %d, name \"%s\"", r.Stream, r.Token, name)
	case DefSCL:
		p.printf("DefScl: stream %d, source %d, file %d, line %d", r.Stream, r.Token, r.File, r.Line)
	case DefFileGroup:
		p.printf("DefFileGroup: %s, token %d, stream %d", name, r.Token, r.Stream)
	case DefFile:
		p.printf("DefFile: %s, stream %d, token %d, group %d", name, r.Stream, r.Token, r.Group)
	case DefKeyValue:
		kind := r.Kind
		p.printf("DefKeyValue: stream %d, token %d, type %s, name \"%s\", desc \"%s\"", r.Stream, r.Token,
			enumName(kind, "CHAR", "INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64", "FLOAT", "DOUBLE",
				"BYTE_ARRAY"), name, text)
	case DefAuxSamplePoint:
		p.printf("DefAuxSamplePoint: stream %d, time %d, type %s", r.Stream, r.SampleTime,
			enumName(r.Kind, "SNAPSHOT", "SUMMARY", "INLINE_SNAPSHOT"))
	}
}

// printEvent prints an event that is not one of the most frequent types.
func (p *printer) printEvent(r *Record, text string) {
	switch r.Type {
	case BeginProcess, EndProcess:
		p.printf("%s: process %d", r.Type, r.Process)
	case CollectiveOperation:
		p.printf("Collective: process %d, collective %d, group %d, root %d, sent %d, received %d, duration %d, source %d",
			r.Process, r.Collective, r.Communicator, r.Root, r.Sent, r.Received, r.Duration, r.SCL)
	case BeginCollective:
		p.printf("BeginCollective: process %d, collective %d, group %d, matchingId %d, root %d, sent %d, received %d, "+
			"source %d", r.Process, r.Collective, r.Communicator, r.Matching, r.Root, r.Sent, r.Received, r.SCL)
	case EndCollective:
		p.printf("EndCollective: process %d, matchingId %d", r.Process, r.Matching)
	case EventComment:
		p.printf("EventComment: process %d, comment \"%s\"", r.Process, text)
	case FileOperation:
		p.printf("FileOperation: file ID %d, process %d, handle ID %d, operation %s, bytes %d, duration %d, source %d",
			r.File, r.Process, uint32(r.Handle), fileOperation(r.Operation), r.Bytes, r.Duration, r.SCL)
	case BeginFileOperation:
		p.printf("BeginFileOperation: process %d, matching ID %d, source %d", r.Process, r.Matching, r.SCL)
	case EndFileOperation:
		p.printf("EndFileOperation: process %d, file ID %d, matching ID %d, handle ID %d, operation %s, bytes %d, source %d",
			r.Process, r.File, r.Matching, r.Handle, fileOperation(r.Operation), r.Bytes, r.SCL)
	case RMAPut, RMAPutRemoteEnd, RMAGet:
		origin := fmt.Sprintf("origin %d", r.Process)
		if r.Origin != 0 {
			origin = fmt.Sprintf("initiator %d, origin %d", r.Process, r.Origin)
		}
		p.printf("%s: %s, target %d, communicator %d, tag %d, bytes %d, source %d", r.Type, origin, r.Peer, r.Communicator,
			r.Tag, r.Bytes, r.SCL)
	case RMAEnd:
		if r.Peer != 0 {
			p.printf("RMAEnd: initiator %d, remote %d, communicator %d, tag %d, source %d", r.Process, r.Peer, r.Communicator,
				r.Tag, r.SCL)
		} else {
			p.printf("RMAEnd: process %d, communicator %d, tag %d, source %d", r.Process, r.Communicator, r.Tag, r.SCL)
		}
	}
}

// printSummary prints a summary. It returns false if otfprint prints nothing for it.
func (p *printer) printSummary(r *Record) bool {
	switch r.Type {
	case FunctionSummary:
		p.printf("StatFunction: process %d, function %d, invocations %d, excltime %d, incltime %d", r.Process, r.Function,
			r.Count, r.Exclusive, r.Inclusive)
	case FunctionGroupSummary:
		p.printf("StatFunctionGroup: process %d, group %d, invocations %d, excltime %d, incltime %d", r.Process, r.Group,
			r.Count, r.Exclusive, r.Inclusive)
	case MessageSummary:
		p.printf("StatMessage: process %d, peer %d, group %d, type %d, numsent %d, numreceived %d, bytessent %d, "+
			"bytesreceived %d", r.Process, r.Peer, r.Communicator, r.Tag, r.SentCount, r.ReceivedCount, r.Sent, r.Received)
	case CollectiveSummary:
		p.printf("StatCollOp: process %d, group %d, col %d, numsent %d, numreceived %d, bytessent %d, bytesreceived %d",
			r.Process, r.Communicator, r.Collective, r.SentCount, r.ReceivedCount, r.Sent, r.Received)
	default:
		return false
	}
	return true
}

// printSnapshot prints a record of a snapshot.
func (p *printer) printSnapshot(r *Record, text string) {
	switch r.Type {
	case SnapshotComment:
		p.printf("SnapComment: process %d, comment \"%s\"", r.Process, text)
	case EnterSnapshot:
		p.printf("SnapEnter: otime %d, process %d, function %d, source %d", r.OriginalTime, r.Process, r.Function, r.SCL)
	case SendSnapshot:
		p.printf("SnapSend: otime %d, sender %d, receiver %d, group %d, tag %d, length %d, source %d", r.OriginalTime,
			r.Process, r.Peer, r.Communicator, r.Tag, r.Length, r.SCL)
	case OpenFileSnapshot:
		p.printf("SnapOpenFile: otime %d, process %d, fileid %d, handle ID %d, source %d", r.OriginalTime, r.Process, r.File,
			uint32(r.Handle), r.SCL)
	case BeginCollectiveSnapshot:
		p.printf("SnapBeginCollop: otime %d, process %d, collOp %d, matchingID %d, group %d, root %d, sent %d, received "+
			"%d, source %d", r.OriginalTime, r.Process, r.Collective, r.Matching, r.Communicator, r.Root, r.Sent, r.Received,
			r.SCL)
	case BeginFileOperationSnapshot:
		p.printf("SnapBeginFileOp: otime %d, process %d, matchingID %d, source %d", r.OriginalTime, r.Process, r.Matching,
			r.SCL)
	case CollectiveCountSnapshot:
		p.printf("SnapCollopCount: process %d, communicator %d, count %d", r.Process, r.Communicator, r.Count)
	case CounterSnapshot:
		// otfprint prints the numbers of the two fields in the wrong order.
		p.printf("SnapCounter: otime %d, process %d, counter %d, value %s", r.Process, uint32(r.OriginalTime), r.Counter,
			p.counterValue(r.Counter, r.Value))
	}
}

// printMarker prints a marker or its definition.
func (p *printer) printMarker(r *Record, name, text string) {
	switch r.Type {
	case DefMarker:
		p.printf("DefMarker: ID %d, name \"%s\", type %s", r.Token, name, enumName(r.Kind, "", "ERROR", "WARNING", "HINT"))
	case Marker:
		p.printf("Marker: ID %d, process %d, text \"%s\"", r.Token, r.Process, text)
	}
}
