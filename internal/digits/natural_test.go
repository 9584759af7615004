package digits

import (
	"slices"
	"strings"
	"testing"
)

func TestNatural(t *testing.T) {
	list := strings.Fields("job10 job9 job09 a 2 10 job 1b")
	slices.SortFunc(list, CompareNatural)
	if got := strings.Join(list, " "); got != "1b 2 10 a job job09 job9 job10" {
		t.Error(got)
	}
}
