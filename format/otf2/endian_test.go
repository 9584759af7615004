package otf2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// big writes records in big-endian byte order, which this package only reads.
type big []byte

func (b big) compressed(v uint64, size int) big {
	switch {
	case v == 0:
		return append(b, 0)
	case v == 1<<(8*size-1)<<1-1:
		return append(b, 0xff)
	}
	n := (bits.Len64(v) + 7) / 8
	b = append(b, byte(n))
	for i := n - 1; i >= 0; i-- {
		b = append(b, byte(v>>(8*i)))
	}
	return b
}

func (b big) typed(typ, v uint64) big {
	switch typ {
	case typeUint8, typeInt8:
		return append(b, byte(v))
	case typeUint16, typeInt16:
		return binary.BigEndian.AppendUint16(b, uint16(v))
	case typeUint32, typeInt32:
		return b.compressed(v&undefined32, 4)
	case typeFloat:
		return binary.BigEndian.AppendUint32(b, uint32(v))
	case typeDouble:
		return binary.BigEndian.AppendUint64(b, v)
	}
	if t := tableOf(typ); t != noTable && t != Locations {
		return b.compressed(v&undefined32, 4)
	}
	return b.compressed(v, 8)
}

func (b big) fields(l []field, v []uint64, texts []string) big {
	for i, f := range l {
		switch f.enc {
		case encByte:
			b = append(b, byte(v[i]))
		case enc32:
			b = b.compressed(v[i]&undefined32, 4)
		case enc64:
			b = b.compressed(v[i], 8)
		case encFixed:
			b = binary.BigEndian.AppendUint64(b, v[i])
		case encText:
			b = append(append(b, texts[v[i]]...), 0)
		case encTyped:
			b = b.typed(v[i-1], v[i])
		}
	}
	return b
}

func (b big) record(t *recordType, r *Record) big {
	b = append(b, r.ID)
	if t.noLength {
		return b.fields(t.fields, r.Values, nil)
	}
	v := r.Values
	body := big{}.fields(t.fields, v, r.Texts)
	if t.each != nil {
		for v = v[len(t.fields):]; len(v) >= len(t.each)+len(t.after); v = v[len(t.each):] {
			body = body.fields(t.each, v, nil)
		}
		body = body.fields(t.after, v, nil)
	}
	return append(b.length(len(body)), body...)
}

func (b big) length(n int) big {
	if n < 0xff {
		return append(b, byte(n))
	}
	return binary.BigEndian.AppendUint64(append(b, 0xff), uint64(n))
}

// file returns a file of one chunk.
func (b big) file(events uint64) []byte {
	head := binary.BigEndian.AppendUint64([]byte{chunkHeader, bigEndian}, 1)
	return append(append(binary.BigEndian.AppendUint64(head, events), b...), endOfFile, endOfBuffer)
}

// otherEnd returns a big-endian file with the records of a source of little-endian events, and closes the
// source.
func otherEnd(t *testing.T, r eventSource, types []recordType) []byte {
	defer r.Close()
	var b big
	for n := uint64(0); ; n++ {
		e, err := r.Next()
		if err == io.EOF {
			return b.file(n)
		}
		if err != nil {
			t.Fatal(err)
		}
		b = binary.BigEndian.AppendUint64(append(b, timestampRecord), e.Time)
		if len(e.Attributes) > 0 {
			list := big{}.compressed(uint64(len(e.Attributes)), 4)
			for _, x := range e.Attributes {
				list = append(list.compressed(uint64(x.ID), 4), x.Type).typed(uint64(x.Type), x.Value)
			}
			b = append(append(b, attributeRecord).length(len(list)), list...)
		}
		b = b.record(&types[e.ID], &e.Record)
	}
}

// TestBigEndian checks that big-endian archives print as otf2-print prints them, and like the same
// archives in little-endian order.
func TestBigEndian(t *testing.T) {
	small := random(t, 5, 300)
	path := withOtherEnd(t, small)
	got := compat(t, path)
	if tool, err := exec.LookPath("otf2-print"); err != nil {
		t.Log("otf2-print is not installed (Debian package otf2-tools)")
	} else if want, err := exec.Command(tool, "-A", path).Output(); err != nil {
		t.Fatalf("otf2-print: %v: %s", err, lastLines(want))
	} else {
		sameLines(t, got, want)
	}
	one, _, _ := scanned(t, format.FileSource(path), nil)
	two, _, _ := scanned(t, format.FileSource(small), nil)
	if fmt.Sprint(one) != fmt.Sprint(two) {
		t.Errorf("%v, want %v", one, two)
	}
}

// withOtherEnd writes a little-endian archive again in big-endian byte order, and returns its path.
func withOtherEnd(t *testing.T, small string) (path string) {
	a, err := Open(format.FileSource(small))
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "made.otf2")
	write := func(ending string, b []byte) {
		if err := os.WriteFile(path[:len(path)-len(".otf2")]+ending, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(path[:len(path)-len(".otf2")], 0o777); err != nil {
		t.Fatal(err)
	}
	b := append(big{chunkHeader, bigEndian}, "OTF2\x00\x03\x02\x03\x00\x02"...)
	for _, n := range []uint64{a.EventChunk, a.DefinitionChunk} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	b = append(b, 1, 1)
	for _, n := range []uint64{a.Anchor.Locations, a.Anchor.Definitions} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	b = append(b, a.Machine+"\x00"+a.Creator+"\x00"+a.Description+"\x00"...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(a.Properties)))
	for _, p := range a.Properties {
		b = append(b, p.Name+"\x00"+p.Value+"\x00"...)
	}
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, a.TraceID), a.Anchor.Snapshots)
	b = append(b, 0, 0, 0, 0, 2, 1, 0)
	write(".otf2", b)
	var defs big
	if err := a.Definitions(func(_ int64, r *Record) error {
		defs = defs.record(&definitionTypes[r.ID], r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	write(".def", defs.file(0))
	ids, err := a.LocationIDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		write(fmt.Sprintf("/%d.def", id), big{}.file(0))
		r, err := a.Events(id, EventOptions{RawClocks: true})
		if err != nil {
			t.Fatal(err)
		}
		write(fmt.Sprintf("/%d.evt", id), otherEnd(t, r, eventTypes[:]))
		s, err := a.Snapshots(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		write(fmt.Sprintf("/%d.snap", id), otherEnd(t, s, snapshotTypes[:]))
	}
	return path
}

// TestRestoredRows checks that an archive restores claims, marks and calls with attributes, in both byte orders: only
// little-endian archives are read by the fast path.
func TestRestoredRows(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000_000))
	rng := rand.New(rand.NewPCG(3, 9))
	p, resource := r.Location("p"), r.Resource("cpu", 2, "")
	var open []int64
	for at := range int64(3000) {
		x := []trace.Attr{{Key: "id", Value: trace.StringValue(strings.Repeat("i", rng.IntN(9)))},
			{Key: "n", Value: trace.Value{Type: trace.Int16, Num: uint64(int16(rng.Uint32()))}},
			{Key: "x", Value: trace.Value{Type: trace.Float64, Num: math.Float64bits(rng.NormFloat64())}},
			{Key: "bytes", Value: trace.Value{Type: trace.Bytes, Str: "\x00\xff"}}}[:rng.IntN(5)]
		switch rng.IntN(4) {
		case 0, 1:
			open = append(open, r.Claim(resource, at, r.Region("a"), []float64{0, 1, 0.1, -3e99}[rng.IntN(4)], x...))
		case 2:
			r.Mark(p, at, r.Region("m"), x...)
		default:
			r.Enter(p, at, r.Region("a"), x...)
		}
		if n := len(open); n > 0 && rng.IntN(2) == 0 {
			i := rng.IntN(n)
			r.Release(open[i], at)
			open = slices.Delete(open, i, i+1)
		}
	}
	path := filepath.Join(t.TempDir(), "x.otf2")
	if err := format.Save(t.Context(), path, Format{}, r); err != nil {
		t.Fatal(err)
	}
	want := tracetest.Dump(t, format.Recorded(r), trace.Everything())
	for _, path := range []string{path, withOtherEnd(t, path)} {
		rep := format.NewReport()
		d, err := Format{}.Open(t.Context(), format.FileSource(path), &format.ReadOptions{Report: rep})
		if err != nil {
			t.Fatal(err)
		}
		got := tracetest.Dump(t, d, trace.Everything())
		if slices.Sort(got); len(rep.Rules()) > 0 {
			t.Errorf("%s: found defects: %v", path, rep.Rules())
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			for i := range got {
				if i >= len(want) || got[i] != want[i] {
					t.Errorf("%s: found %s, expected %s", path, got[i], want[min(i, len(want)-1)])
					break
				}
			}
		}
		d.Close()
	}
}
