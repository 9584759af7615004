package main

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

// times matches the seconds since the start, which differ between runs.
var times = regexp.MustCompile(`(?m)^ *[\d.]+ s  (ok|FAIL)|\d+\.\d *$`)

// TestReport checks the report of a run of go test -json: a line for each package when it ends, the
// output of failures, and the table. The events come from a real run and were shortened.
func TestReport(t *testing.T) {
	const module = "github.com/weft-trace/weft/"
	var out strings.Builder
	r := newReport(&out)
	failed, err := r.events(strings.NewReader(strings.ReplaceAll(`{"Action":"start","Package":"M/a"}
{"Action":"run","Package":"M/a","Test":"TestGood"}
{"Action":"output","Package":"M/a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"pass","Package":"M/a","Test":"TestGood","Elapsed":2.5}
{"Action":"output","Package":"M/a","Test":"TestTool","Output":"    a_test.go:7: otfprint is not installed\n"}
{"Action":"output","Package":"M/a","Test":"TestTool","Output":"--- SKIP: TestTool (0.00s)\n"}
{"Action":"skip","Package":"M/a","Test":"TestTool","Elapsed":0}
{"Action":"output","Package":"M/a","Test":"TestOther","Output":"    a_test.go:9: otfprint is not installed\n"}
{"Action":"skip","Package":"M/a","Test":"TestOther","Elapsed":0}
{"Action":"pass","Package":"M/a","Elapsed":3}
{"Action":"output","Package":"M/b","Test":"TestBad/case","Output":"    b_test.go:1: found 2, expected 3\n"}
{"Action":"fail","Package":"M/b","Test":"TestBad/case","Elapsed":0.1}
{"Action":"output","Package":"M/b","Test":"TestBad","Output":"--- FAIL: TestBad (0.10s)\n"}
{"Action":"fail","Package":"M/b","Test":"TestBad","Elapsed":0.1}
{"Action":"fail","Package":"M/b","Elapsed":0.2}
{"ImportPath":"M/c [M/c.test]","Action":"build-output","Output":"c/c.go:3:1: syntax error\n"}
{"ImportPath":"M/c [M/c.test]","Action":"build-fail"}
{"Action":"output","Package":"M/c","Output":"FAIL\tM/c [build failed]\n"}
{"Action":"fail","Package":"M/c","Elapsed":0,"FailedBuild":"M/c [M/c.test]"}
{"Action":"output","Package":"M/e","Test":"TestFirst","Output":"--- FAIL: TestFirst (0.00s)\n"}
{"Action":"fail","Package":"M/e","Test":"TestFirst","Elapsed":0}
{"Action":"output","Package":"M/e","Test":"TestHangs","Output":"=== RUN   TestHangs\n"}
{"Action":"output","Package":"M/e","Test":"TestHangs","Output":"panic: test timed out after 4s\n"}
{"Action":"output","Package":"M/e","Output":"FAIL\tM/e\t4.0s\n"}
{"Action":"fail","Package":"M/e","Elapsed":4}
{"Action":"output","Package":"M/f","Output":"ok  \tM/f\t(cached)\n"}
{"Action":"pass","Package":"M/f","Test":"TestSame","Elapsed":0}
{"Action":"pass","Package":"M/f","Elapsed":9}
{"Action":"output","Package":"M/d","Output":"?   \tM/d\t[no test files]\n"}
{"Action":"skip","Package":"M/d","Elapsed":0}
`, "M/", module)), "")
	if !failed || err != nil {
		t.Errorf("found failed %t, %v", failed, err)
	}
	r.checkFunc("gofmt", func() (string, error) { return "x.go\n", errors.New("gofmt -w would change 1 files") })
	if r.finish() {
		t.Error("a run with failures is called good")
	}
	const want = `ok    a                                   3.0 s  3 tests, 2 skipped
FAIL  b                                   0.2 s  1 tests

    b_test.go:1: found 2, expected 3
--- FAIL: TestBad (0.10s)
FAIL  c                                   0.0 s  1 tests

c/c.go:3:1: syntax error
FAIL	github.com/weft-trace/weft/c [build failed]
FAIL  e                                   4.0 s  1 tests

--- FAIL: TestFirst (0.00s)
FAIL	github.com/weft-trace/weft/e	4.0s
=== RUN   TestHangs
panic: test timed out after 4s
ok    f                                   9.0 s  1 tests (as before)
FAIL  gofmt                               0.0 s  1 tests

x.go
gofmt -w would change 1 files

 PACKAGE  PASSED  FAILED  SKIPPED  SECONDS   
 a             1       0        2  
 b             0       1        0  
 c             0       1        0  
 e             0       1        0  
 f             1       0        0  as before 
 gofmt         0       1        0  
 ALL           2       4        2  

skipped, parts of tests included (2):
  otfprint is not installed: a TestTool, a TestOther

slowest tests:
     2.5 s  a TestGood
     0.1 s  b TestBad
     0.0 s  a TestTool
     0.0 s  a TestOther
     0.0 s  e TestFirst
     0.0 s  f TestSame

2 passed, 4 failed, 2 skipped
`
	if got := times.ReplaceAllString(out.String(), "$1"); got != want {
		t.Errorf("found\n%s\nexpected\n%s", got, want)
	}
}
