package otf2

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// TestReturningDefinitions checks which interrupt generators return to an archive. The bytes are those of a record with
// id 36, without a string id, and the name: a generator 0 with mode 0, base 1, exponent 0 and period 10
// (docs/formats/otf2.md). In a merge of two traces, an id with two meanings does not return.
func TestReturningDefinitions(t *testing.T) {
	const record = "\x24\x07\x00\x00\x00\x01\x00\x01\x0a"
	timer, cycles := record+"timer\x00", record+"cycles\x00"
	for _, x := range []struct {
		data  []string
		found int
	}{{[]string{timer}, 1}, {[]string{timer, timer}, 1}, {[]string{timer, cycles}, 0}, {[]string{record}, 0},
		{[]string{record[:5]}, 0}} {
		d := &trace.Definitions{}
		for _, data := range x.data {
			d.Opaque.Add(trace.Opaque{Format: "otf2", Type: "InterruptGenerator", Data: data})
		}
		got := returningDefinitions(d)
		if len(got) != x.found || returnedTypes(d)["InterruptGenerator"] != x.found*len(x.data) {
			t.Errorf("%q: found %v, expected %d", x.data, got, x.found)
		}
		if r := got[definition{InterruptGenerators, 0}]; x.found > 0 && (r.Texts[0] != "timer" || r.Values[5] != 10) {
			t.Errorf("%q: found %v, expected the timer with period 10", x.data, r)
		}
	}
}

// TestReturningBytes checks the bytes of the source code locations of an archive that python3-otf2 has written: id 33,
// the length, the number, 0 for the name of the file, and the line, each after the number of its bytes unless it is 0;
// then the name. The number of the name's string in the archive is not among them, because that of another archive
// differs.
func TestReturningBytes(t *testing.T) {
	d := tracetest.Open(t, Format{}, format.FileSource("testdata/ok/rich/traces.otf2"), nil).Defs()
	var found []string
	for _, o := range d.Opaque.All() {
		if o.Type == "SourceCodeLocation" {
			found = append(found, o.Data)
		}
	}
	want := []string{"\x21\x04\x00\x00\x01\x0cmain.c\x00", "\x21\x05\x01\x01\x00\x01\x21solve.c\x00",
		"\x21\x05\x01\x02\x00\x01\x2cio.c\x00"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}

// TestNameOfIOParadigm checks the name of an I/O paradigm in an event: otf2-print shows that paradigm 0 of the trace
// has the name "POSIX I/O".
func TestNameOfIOParadigm(t *testing.T) {
	d := tracetest.Open(t, Format{}, format.FileSource("testdata/ok/rich/traces.otf2"), nil).Defs()
	paradigm := &trace.IOFileDelete.Spec().Operands[0]
	if name, ok := d.EnumName(trace.IOFileDelete, paradigm, 0); name != "POSIX I/O" || !ok {
		t.Errorf("found %q, expected POSIX I/O", name)
	}
	if name, ok := d.EnumName(trace.IOFileDelete, paradigm, 1); ok {
		t.Errorf("paradigm 1: found %q, expected no name", name)
	}
}
