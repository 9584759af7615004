package otf2

import (
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
)

// TestIncompleteRecords writes records that lack values or have no type. The numbers of fields are those
// of docs/formats/otf2.md: ClockProperties has 4, Enter has 1.
func TestIncompleteRecords(t *testing.T) {
	out, err := format.CreateFile(filepath.Join(t.TempDir(), "traces.otf2"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	w, err := NewWriter(out, Anchor{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	enter := func(values ...uint64) error {
		return w.Location(0).Write(&Event{Time: 1, Record: Record{ID: 12, Values: values}})
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{w.Define(&Record{ID: 5, Values: []uint64{1, 0}}), "ClockProperties: found 2 values, expected 4 or more"},
		{enter(), "Enter: found 0 values, expected 1 or more"},
		{enter(0), ""},
	} {
		got := ""
		if c.err != nil {
			got = c.err.Error()
		}
		if got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	for _, err := range []error{
		w.Define(&Record{ID: 255}), w.Mark(&Record{ID: 255}), w.Location(0).Write(&Event{Time: 1, Record: Record{ID: 255}}),
	} {
		if err == nil {
			t.Error("got no error for a record of type 255")
		}
	}
}
