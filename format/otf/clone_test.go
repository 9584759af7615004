package otf

import (
	"fmt"
	"strings"
	"testing"
)

// TestCloneWithoutEarlierMembers checks that a copy of a definition does not have the members and the text of earlier
// definitions: those of 1000 processes after a group of 10 000 and a comment of 1 MB would take a gigabyte.
func TestCloneWithoutEarlierMembers(t *testing.T) {
	var b strings.Builder
	b.WriteString("DCMT\"" + strings.Repeat("c", 1<<20) + "\"\nDPG7M")
	for i := range 10_000 {
		fmt.Fprintf(&b, "%x,", i+1)
	}
	b.WriteString("NM\"g\"\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "DP%xNM\"p\"\n", i+1)
	}
	r, err := Open(t.Context(), source(Definitions, []byte(b.String()), false), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Cursor(t.Context(), Definitions)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	texts, members := 0, 0
	for c.Next() {
		x := c.Record().Clone()
		texts += len(x.Text)
		members += len(x.Members)
	}
	if c.Err() != nil || texts != 1<<20 || members != 10_000 {
		t.Errorf("found copies with %d bytes of text and %d members and error %v, expected 1 MiB and 10000", texts, members,
			c.Err())
	}
}
