package otf

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
)

// dumped maps record types to the field names in the dumps of libotf's handlers.
const dumped = `
DefVersion major=Major minor=Minor sub=Sub string=Text
DefUniqueId uid=UniqueID
DefCreator creator=Text
DefinitionComment comment=Text
DefTimerResolution tps=TicksPerSecond
DefTimeRange min=MinTime max=MaxTime
DefProcess process=Token name=Name parent=Parent
DefProcessGroup group=Token name=Name procs=Members
DefAttributeList attr=Token types=Members
DefProcessOrGroupAttributes proc=Token attr=AttributeList
DefProcessSubstitutes rep=Token procs=Members
DefFunctionGroup group=Token name=Name
DefFunction func=Token name=Name group=Group scl=SCL
DefCollectiveOperation collop=Token name=Name type=Kind
DefCounterGroup group=Token name=Name
DefCounter counter=Token name=Name props=Properties group=Group unit=Unit
DefCounterAssignments counter=Token members=Members
DefSclFile file=Token name=Name
DefScl scl=Token file=File line=Line
DefFileGroup group=Token name=Name
DefFile file=Token name=Name group=Group
DefKeyValue key=Token type=Kind name=Name desc=Text
DefAuxSamplePoint time=SampleTime type=Kind
NoOp
BeginProcess
EndProcess
Enter func=Function scl=SCL
Leave func=Function scl=SCL
SendMsg receiver=Peer group=Communicator tag=Tag length=Length scl=SCL
RecvMsg sender=Peer group=Communicator tag=Tag length=Length scl=SCL
Counter counter=Counter value=Value
CollectiveOperation collop=Collective group=Communicator root=Root sent=Sent recvd=Received duration=Duration scl=SCL
BeginCollectiveOperation collop=Collective matching=Matching group=Communicator root=Root sent=Sent
	recvd=Received scl=SCL
EndCollectiveOperation matching=Matching
EventComment comment=Text
FileOperation file=File handle=Handle op=Operation bytes=Bytes duration=Duration scl=SCL
BeginFileOperation matching=Matching scl=SCL
EndFileOperation file=File matching=Matching handle=Handle op=Operation bytes=Bytes scl=SCL
RMAPut origin=Origin target=Peer comm=Communicator tag=Tag bytes=Bytes scl=SCL
RMAPutRemoteEnd origin=Origin target=Peer comm=Communicator tag=Tag bytes=Bytes scl=SCL
RMAGet origin=Origin target=Peer comm=Communicator tag=Tag bytes=Bytes scl=SCL
RMAEnd remote=Peer comm=Communicator tag=Tag scl=SCL
SummaryComment comment=Text
FunctionSummary func=Function count=Count excl=Exclusive incl=Inclusive
FunctionGroupSummary group=Group count=Count excl=Exclusive incl=Inclusive
MessageSummary peer=Peer comm=Communicator tag=Tag nsent=SentCount nrecvd=ReceivedCount bsent=Sent brecvd=Received
CollopSummary comm=Communicator collop=Collective nsent=SentCount nrecvd=ReceivedCount bsent=Sent brecvd=Received
FileOperationSummary file=File nopen=Opens nclose=Closes nread=Reads nwrite=Writes nseek=Seeks
	bread=BytesRead bwrite=BytesWritten
FileGroupOperationSummary group=Group nopen=Opens nclose=Closes nread=Reads nwrite=Writes
	nseek=Seeks bread=BytesRead bwrite=BytesWritten
SnapshotComment comment=Text
EnterSnapshot otime=OriginalTime func=Function scl=SCL
SendSnapshot otime=OriginalTime receiver=Peer group=Communicator tag=Tag length=Length scl=SCL
OpenFileSnapshot otime=OriginalTime file=File handle=Handle scl=SCL
BeginCollopSnapshot otime=OriginalTime collop=Collective matching=Matching group=Communicator
	root=Root sent=Sent recvd=Received scl=SCL
BeginFileOpSnapshot otime=OriginalTime matching=Matching scl=SCL
CollopCountSnapshot comm=Communicator count=Count
CounterSnapshot otime=OriginalTime counter=Counter value=Value
DefMarker marker=Token name=Name type=Kind
Marker marker=Token text=Text
`

// dumper formats records like the C program that wrote the dumps in testdata.
type dumper map[string][]string

func newDumper() dumper {
	d := dumper{}
	for _, l := range strings.Split(strings.TrimSpace(strings.ReplaceAll(dumped, "\n\t", " ")), "\n") {
		w := strings.Fields(l)
		d[w[0]] = w[1:]
	}
	return d
}

func (d dumper) line(r *Record) string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, "\t"+format, args...) }
	text := func(s string) string {
		var q strings.Builder
		for _, c := range []byte(cText(s)) {
			if c < ' ' || c == '"' || c == '\\' || c > '~' {
				fmt.Fprintf(&q, `\x%02x`, c)
			} else {
				q.WriteByte(c)
			}
		}
		return `"` + q.String() + `"`
	}
	if r.Type == Unknown {
		b.WriteString("Unknown")
		put("time=%d", r.Time)
		put("process=%d", r.Process)
		put("record=%s", text(r.Text))
		return b.String()
	}
	b.WriteString(r.Type.String())
	switch part := r.Type.Part(); {
	case part.timed() || r.Type == Marker:
		put("time=%d", r.Time)
		put("process=%d", r.Process)
	default:
		put("stream=%d", r.Stream)
	}
	numbers := map[string]*uint64{"Token": &r.Token, "Parent": &r.Parent, "Group": &r.Group, "Kind": &r.Kind,
		"Properties": &r.Properties, "AttributeList": &r.AttributeList,
		"Major": &r.Major, "Minor": &r.Minor, "Sub": &r.Sub, "UniqueID": &r.UniqueID, "TicksPerSecond": &r.TicksPerSecond,
		"MinTime": &r.MinTime, "MaxTime": &r.MaxTime,
		"SampleTime": &r.SampleTime, "Function": &r.Function, "Peer": &r.Peer, "Origin": &r.Origin,
		"Communicator": &r.Communicator, "Tag": &r.Tag, "Length": &r.Length,
		"Counter": &r.Counter, "Value": &r.Value, "Collective": &r.Collective, "Root": &r.Root, "Sent": &r.Sent,
		"Received": &r.Received, "Duration": &r.Duration,
		"Matching": &r.Matching, "File": &r.File, "Line": &r.Line, "Handle": &r.Handle, "Operation": &r.Operation,
		"Bytes": &r.Bytes, "SCL": &r.SCL,
		"OriginalTime": &r.OriginalTime, "Count": &r.Count, "Exclusive": &r.Exclusive, "Inclusive": &r.Inclusive,
		"SentCount": &r.SentCount, "ReceivedCount": &r.ReceivedCount,
		"Opens": &r.Opens, "Closes": &r.Closes, "Reads": &r.Reads, "Writes": &r.Writes, "Seeks": &r.Seeks,
		"BytesRead": &r.BytesRead, "BytesWritten": &r.BytesWritten}
	for _, x := range d[r.Type.String()] {
		key, name, _ := strings.Cut(x, "=")
		switch name {
		case "Text":
			put("%s=%s", key, text(r.Text))
		case "Unit":
			put("%s=%s", key, text(r.Unit))
		case "Name":
			if r.Unnamed {
				put("%s=NULL", key)
			} else {
				put("%s=%s", key, text(r.Name))
			}
		case "Members":
			put("%s=[%s]", key, strings.ReplaceAll(decimals(r.Members), ", ", ","))
		default:
			v := *numbers[name]
			if name == "Handle" && r.Type != EndFileOperation {
				v = uint64(uint32(v)) // libotf reads only 32 bits of this field
			}
			put("%s=%d", key, v)
		}
	}
	for i := range r.KeyValues {
		v := &r.KeyValues[i]
		put("kv:%d:", v.Key)
		switch v.Type {
		case Char:
			fmt.Fprintf(&b, "char=0x%02x", v.Bits)
		case Int8, Int16, Int32, Int64:
			fmt.Fprintf(&b, "int%d=%d", v.Type.bits(), v.Int())
		case Float32:
			fmt.Fprintf(&b, "float=%08x", v.Bits)
		case Float64:
			fmt.Fprintf(&b, "double=%016x", v.Bits)
		case Bytes:
			fmt.Fprintf(&b, "bytes(%d,rc0)=%x", len(v.Bytes), v.Bytes)
		default:
			fmt.Fprintf(&b, "uint%d=%d", v.Type.bits(), v.Bits)
		}
	}
	return b.String()
}

// TestDump checks that every field and key-value pair of every record equals the one that libotf passes to its
// handlers.
func TestDump(t *testing.T) {
	effort.Sequential(t)
	d := newDumper()
	eachTrace(t, func(t *testing.T, dir, m string) {
		want := bytes.Split(bytes.TrimRight(gunzip(t, filepath.Join(dir, "expected/libdump.txt.gz")), "\n"), []byte("\n"))
		ctx := context.Background()
		r, err := Open(ctx, format.FileSource(m), &Options{AsLibrary: true})
		if err != nil {
			if bytes.HasPrefix(want[0], []byte("OPENFAIL")) {
				return
			}
			t.Fatal(err)
		}
		i := 0
		line := func() string {
			if i < len(want) {
				return string(want[i])
			}
			return ""
		}
		for _, x := range []struct {
			part Part
			name string
		}{{Definitions, "definitions"}, {Events, "events"}, {Statistics, "statistics"}, {Snapshots, "snapshots"},
			{Markers, "markers"}} {
			if line() != "== "+x.name {
				t.Fatalf("line %d: %q, want %s", i+1, line(), x.name)
			}
			i++
			c, err := r.Cursor(ctx, x.part)
			if err != nil {
				t.Fatal(err)
			}
			for c.Next() {
				if got := d.line(c.Record()); got != line() {
					t.Fatalf("line %d:\n got %.400q\nwant %.400q", i+1, got, line())
				}
				i++
			}
			c.Close()
			if c.Err() != nil {
				t.Fatal(c.Err())
			}
			if !strings.HasPrefix(line(), "== "+x.name+" count="+strconv.FormatInt(c.Count(), 10)) &&
				!strings.HasPrefix(line(), "== "+x.name+" READ_ERROR") {
				t.Fatalf("line %d: %q after %d records", i+1, line(), c.Count())
			}
			for i++; i < len(want) && !strings.HasPrefix(line(), "== "); i++ {
			}
		}
	})
}
