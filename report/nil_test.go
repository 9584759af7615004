package report

import (
	"bytes"
	"testing"

	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/trace"
)

// TestWithoutFunctions checks that a report without functions shows regions without colours, and locations by
// their numbers.
func TestWithoutFunctions(t *testing.T) {
	r := Report{Title: "t", Info: &info.Info{}, Covered: trace.TicksOf(10),
		Regions:  []profile.Region{{Name: "solve", Count: 1, Exclusive: trace.TicksOf(10), Inclusive: trace.TicksOf(10)}},
		Messages: &messages.Result{Sent: 1, Matrix: []messages.Cell{{Source: 3, Destination: 4, Count: 1}}}}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"solve", "location 3", "location 4"} {
		if !bytes.Contains(b.Bytes(), []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
