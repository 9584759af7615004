package cli

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// junitAttributes lists the attributes that an element of JUnit XML must have, and those that it may have. These are
// the lists of the schemas of Maven Surefire (surefire-test-report.xsd) and Jenkins's xUnit plugin (junit-10.xsd): all
// attributes that either of them demands, and only those that both allow. Surefire has no element testsuites.
var junitAttributes = map[string]struct{ must, may []string }{
	"testsuites": {nil, []string{"name", "time", "tests", "failures", "errors"}},
	"testsuite":  {[]string{"name", "tests", "failures", "errors", "skipped"}, []string{"group", "time"}},
	"testcase":   {[]string{"name", "time"}, []string{"classname", "group"}},
	"failure":    {[]string{"type"}, []string{"message"}},
	"error":      {[]string{"type"}, []string{"message"}},
	"skipped":    {nil, []string{"message"}},
	"system-out": {},
}

// junitOrder is the order of the elements in a test case by the schema of Maven Surefire.
var junitOrder = []string{"failure", "skipped", "error", "system-out"}

// checkJUnit compares a text with the schemas of JUnit XML. It returns the number of its errors and failures.
func checkJUnit(t *testing.T, text string) (errors, failures int) {
	t.Helper()
	var path []string // of element names
	counts := map[string]int{}
	var suite map[string]string
	last := 0 // index of the last element of the test case in junitOrder
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return errors, failures
		} else if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			name := x.Name.Local
			rule, ok := junitAttributes[name]
			if !ok {
				t.Errorf("found the element %s in %q", name, path)
			}
			values := map[string]string{}
			for _, a := range x.Attr {
				values[a.Name.Local] = a.Value
				if !slices.Contains(rule.must, a.Name.Local) && !slices.Contains(rule.may, a.Name.Local) {
					t.Errorf("found the attribute %s of %s", a.Name.Local, name)
				}
			}
			for _, must := range rule.must {
				if _, ok := values[must]; !ok {
					t.Errorf("found no attribute %s of %s", must, name)
				}
			}
			switch len(path) {
			case 1:
				suite, counts = values, map[string]int{}
			case 2:
				last = 0
			case 3:
				at := slices.Index(junitOrder, name)
				if at < last {
					t.Errorf("found %s after %s", name, junitOrder[last])
				}
				last = at
			}
			counts[name]++
			path = append(path, name)
		case xml.EndElement:
			path = path[:len(path)-1]
			if x.Name.Local != "testsuite" {
				continue
			}
			errors, failures = errors+counts["error"], failures+counts["failure"]
			found := []string{suite["tests"], suite["failures"], suite["errors"], suite["skipped"]}
			expected := strings.Fields(fmt.Sprint(counts["testcase"], counts["failure"], counts["error"], counts["skipped"]))
			if !slices.Equal(found, expected) {
				t.Errorf("%s: found the counts %q, expected %q", suite["name"], found, expected)
			}
		}
	}
}

// TestVerifyJUnit checks the structure of JUnit XML, and that each trace that cannot be read, or has errors, has a test
// case with an error.
func TestVerifyJUnit(t *testing.T) {
	good := textFile(t, "good.etf", "TU SECONDS\nE 0 1 ; name=p\nS 0 ; name=s\nF 0 1 3 1 0 0\n")
	damaged := textFile(t, "damaged.etf", "TU SECONDS\nE 0 1 ; name=p\nE x 2 ; name=p\nE 3 y ; name=p\nR 0\n")
	empty := textFile(t, "empty.etf", "")
	spec := textFile(t, "spec.etl", "signal s : {'name' = 's'}\ncheck a : globally s <= 0\n"+
		"check b : globally not {'name' = 'p'}\ncheck c : globally not {'name' = 'q'}\n")
	for _, x := range []struct {
		args                   []string
		code, errors, failures int
	}{
		{[]string{good}, 1, 0, 2},
		{[]string{"--robust", "--semantics", "4", good}, 1, 0, 2},
		{[]string{damaged}, 1, 1, 2}, // a is false where s has no value
		{[]string{"--strict", damaged}, 1, 1, 0},
		{[]string{empty}, 1, 1, 0},
		{[]string{"missing.etf"}, 3, 1, 0},
		{[]string{good, damaged, empty, "missing.etf", t.TempDir()}, 3, 4, 4},
	} {
		code, out, _ := runWeft(t, slices.Concat([]string{"verify", "--junit", spec}, x.args)...)
		errors, failures := checkJUnit(t, out)
		if code != x.code || errors != x.errors || failures != x.failures {
			t.Errorf("%q: found exit code %d, %d errors, %d failures, expected %d, %d, %d:\n%s", x.args, code, errors, failures,
				x.code, x.errors, x.failures, out)
		}
	}
	_, out, _ := runWeft(t, "verify", "--junit", spec, damaged)
	for _, s := range []string{`name="read the trace"`, `message="3 errors; `, "damaged.etf:3: ", "damaged.etf:4: ",
		"damaged.etf:5: "} {
		if !strings.Contains(out, s) {
			t.Errorf("found no %s in\n%s", s, out)
		}
	}
	_, out, _ = runWeft(t, "verify", "--json", spec, damaged)
	if !strings.Contains(out, `"readErrors": 3,`) {
		t.Errorf("found no readErrors in %s", out)
	}
}
