package cli

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"

	"github.com/weft-trace/weft/analysis/verify"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/internal/spool"
	"github.com/weft-trace/weft/trace"
)

// Elements of JUnit XML, which build pipelines read. Attributes and the order of elements are those that the schemas of
// Maven Surefire and of Jenkins's xUnit plugin both allow.
type (
	junitSuites struct {
		XMLName  xml.Name    `xml:"testsuites"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		suites   spool.Spool // each with the line end before it
	}
	junitSuite struct {
		XMLName  xml.Name `xml:"testsuite"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Skipped  int      `xml:"skipped,attr"`
	}
	junitCase struct {
		XMLName xml.Name      `xml:"testcase"`
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

// casePrefix is the indentation of the lines of a test case.
const casePrefix = "    "

// add adds the suite of a trace, with a case for each check. A check without a definite verdict is a skipped case. A
// trace that could not be read, or has errors, has a further case with an error.
func (s *junitSuites) add(v *verified) error {
	x := v.verdicts
	one := junitSuite{Name: v.path, Tests: x.checks(), Failures: len(x.violated), Skipped: x.undecided}
	head := "\n" // before the cases of the checks
	if m := v.junitError(); m != nil {
		b, err := xml.MarshalIndent(junitCase{Class: v.path, Name: readCase, Error: m}, casePrefix, "  ")
		if err != nil {
			return err
		}
		head += string(b)
		if one.Tests > 0 {
			head += "\n"
		}
		one.Tests, one.Errors = one.Tests+1, 1
	}
	s.Tests, s.Failures, s.Errors = s.Tests+one.Tests, s.Failures+one.Failures, s.Errors+one.Errors
	if one.Tests > 0 {
		if err := x.text.Insert(0, []byte(head)); err != nil {
			return err
		}
		if _, err := io.WriteString(&x.text, "\n  "); err != nil {
			return err
		}
	}
	return writeElement(&s.suites, "\n  ", one, &x.text, "")
}

// print prints the suites.
func (s *junitSuites) print(w io.Writer) error {
	if _, err := io.WriteString(&s.suites, "\n"); err != nil {
		return err
	}
	return writeElement(w, xml.Header, s, &s.suites, "\n")
}

// writeElement writes an element that has a text, and no other elements, as its content. It writes the texts before
// and after in front of the element and behind it.
func writeElement(w io.Writer, before string, element any, content *spool.Spool, after string) error {
	b, err := xml.Marshal(element)
	if err != nil {
		return err
	}
	end := bytes.LastIndex(b, []byte("</"))
	if _, err := io.WriteString(w, before+string(b[:end])); err != nil {
		return err
	}
	if err := content.CopyTo(w); err != nil {
		return err
	}
	_, err = io.WriteString(w, string(b[end:])+after)
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
func newJUnitCase(path string, c *verify.CheckResult) *junitCase {
	one := &junitCase{Class: path, Name: c.Name}
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
