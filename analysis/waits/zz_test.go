package waits_test

import (
	"bytes"
	"os"
	"strconv"
	"testing"

	"github.com/weft-trace/weft/format"
)

func TestDump(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("DUMP"))
	if err != nil {
		t.Skip()
	}
	var b bytes.Buffer
	describe(t, &b, format.Recorded(simulate(programs()[n])))
	os.WriteFile("/tmp/w3/oracle/dump.jsonl", b.Bytes(), 0o644)
}
