package main

import (
	"bytes"
	"testing"
)

// want has the claims with the greatest difference of their two times, which are in milliseconds in odse.etf. The
// longest is "C 72 27.065 51.359 7 …": 51.359 - 27.065 = 24.294. The others are from lines 70, 184, 147, 174, 40, 86,
// 106, 68 and 30.
const want = `24.294 ms F at M2
21.88 ms F at M2
20.237 ms F at M2
19.784 ms F at M2
19.109 ms F at M2
15.181 ms A at M1
14.128 ms C at M1
13.631 ms C at M1
13.579 ms C at M1
13.258 ms A at M1
`

func TestRun(t *testing.T) {
	var b bytes.Buffer
	if err := run("../odse.etf", &b); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != want {
		t.Errorf("found\n%s\nexpected\n%s", got, want)
	}
}
