package cli

import (
	"encoding/xml"
	"io"
	"strings"

	"github.com/weft-trace/weft/analysis/verify"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// Elements of JUnit XML, which build pipelines read. Attributes and the order of elements are those that the schemas of
// Maven Surefire and of Jenkins's xUnit plugin both allow.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    int           `xml:"time,attr"` // 0: the checks of a trace are evaluated together
		Failure *junitMessage `xml:"failure"`
		Skipped *junitMessage `xml:"skipped"`
		Error   *junitMessage `xml:"error"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// readCase is the name of the test case for errors in a trace. It contains spaces, so no check has this name.
const readCase = "read the trace"

// add adds a test case to the suite.
func (s *junitSuite) add(c junitCase) {
	c.Class = s.Name
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// writeJUnit writes the verdicts as JUnit XML: a suite for each trace, a case for each check. A check without a
// definite verdict is a skipped case. A trace that could not be read, or has errors, has a further case with an error.
func writeJUnit(w io.Writer, list []*verified) error {
	var all junitSuites
	for _, v := range list {
		s := junitSuite{Name: v.path}
		if m := v.junitError(); m != nil {
			s.add(junitCase{Name: readCase, Error: m})
		}
		if v.answer != nil {
			for i := range v.answer.Checks {
				s.add(newJUnitCase(&v.answer.Checks[i]))
			}
		}
		all.Suites = append(all.Suites, s)
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// junitError returns the message about the errors of a trace, or nil if it has none. The text of the message has the
// first errors of each rule.
func (v *verified) junitError() *junitMessage {
	if v.err != nil {
		return &junitMessage{Message: v.err.Error(), Type: "read"}
	}
	if v.answer.ReadErrors == 0 {
		return nil
	}
	var text []string
	for _, r := range v.reports {
		for _, rule := range r.report.Rules() {
			if rule.Severity != trace.Error {
				continue
			}
			for _, d := range rule.First {
				text = append(text, d.Error())
			}
		}
	}
	return &junitMessage{plural.Of(v.answer.ReadErrors, "error") +
		"; the verdicts are about the part of the trace that could be read", "read", strings.Join(text, "\n")}
}

// newJUnitCase returns the test case of a check.
func newJUnitCase(c *verify.CheckResult) junitCase {
	one := junitCase{Name: c.Name}
	if c.Robustness != nil {
		one.Output = "robustness: " + c.Robustness.String()
	}
	switch {
	case c.Verdict.Violated():
		var text []string
		for _, r := range c.Reasons {
			text = append(text, r.Text)
		}
		one.Failure = &junitMessage{c.Formula, "violated", strings.Join(text, "\n")}
	case !c.Decided && c.Verdict != verify.Good && c.Verdict != verify.IsTrue:
		one.Skipped = &junitMessage{Message: string(c.Verdict)}
	}
	return one
}
