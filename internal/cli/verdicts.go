package cli

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"

	"github.com/weft-trace/weft/analysis/verify"
	"github.com/weft-trace/weft/internal/spool"
)

// verdicts holds the results of the checks of one trace as text. A specification may have very many checks, so the text
// of each result is made at once, and long texts wait in temporary files.
type verdicts struct {
	path    string
	flags   *verifyFlags
	several bool // the trace is one of several

	good, undecided int     // numbers of checks
	violated        []int32 // indexes of the violated checks

	table *spooledTable // for the text of a single trace: the verdicts of all checks
	text  spool.Spool   // elements of JSON or of JUnit XML, or the text that follows the table
	json  jsonList
	xml   *xml.Encoder
}

func newVerdicts(path string, flags *verifyFlags, several bool) *verdicts {
	v := &verdicts{path: path, flags: flags, several: several}
	switch {
	case flags.asJSON:
		v.json = newJSONList(&v.text)
	case flags.junit:
		v.xml = xml.NewEncoder(&v.text)
		v.xml.Indent(casePrefix, "  ")
	case flags.compat || several:
	case flags.robust:
		v.table = newSpooledTable("check", "verdict", "robustness", "formula")
	default:
		v.table = newSpooledTable("check", "verdict", "formula")
	}
	return v
}

func (v *verdicts) close() {
	if v.table != nil {
		v.table.rows.Close()
	}
	v.text.Close()
}

// checks returns the number of checks.
func (v *verdicts) checks() int { return v.good + v.undecided + len(v.violated) }

// add adds the result of the next check.
func (v *verdicts) add(c *verify.CheckResult) error {
	switch {
	case c.Verdict.Violated():
		v.violated = append(v.violated, int32(v.checks()))
	case c.Decided || c.Verdict == verify.Good || c.Verdict == verify.IsTrue:
		v.good++
	default:
		v.undecided++
	}
	switch {
	case v.flags.asJSON:
		return v.json.add(c)
	case v.flags.junit:
		return v.xml.Encode(newJUnitCase(v.path, c))
	case v.flags.compat && c.Verdict.Violated():
		_, err := io.WriteString(&v.text, c.Name+" : BAD\n")
		return err
	case v.table != nil:
		return v.addRow(c)
	}
	return nil
}

// addRow adds the row of a check to the table, and the reasons of a violation to the text after the table.
func (v *verdicts) addRow(c *verify.CheckResult) error {
	row := []string{c.Name, string(c.Verdict), c.Formula}
	if c.Robustness != nil {
		row = []string{c.Name, string(c.Verdict), c.Robustness.String(), c.Formula}
	}
	if err := v.table.add(row...); err != nil || !c.Verdict.Violated() {
		return err
	}
	if err := printf(&v.text, "\n%s is violated:\n", c.Name); err != nil {
		return err
	}
	return printReasons(&v.text, c)
}

// printReasons prints the reasons of a verdict.
func printReasons(w io.Writer, c *verify.CheckResult) error {
	for _, r := range c.Reasons {
		if err := printf(w, "%s%s\n", strings.Repeat("  ", min(r.Depth, 20)+1), r.Text); err != nil {
			return err
		}
	}
	return nil
}

// print prints the verdicts of the trace, and the reasons for violations. With --compat it prints the text of the
// command line of TRACE4CPS. Otherwise it prints nothing about a trace that is one of several.
func (v *verdicts) print(w io.Writer) error {
	switch {
	case v.flags.compat:
		if v.several {
			printf(w, "%s:\n", v.path)
		}
		if err := v.text.CopyTo(w); err != nil {
			return err
		}
		return printf(w, "#UNSAT = %d\n", len(v.violated))
	case v.table == nil:
		return nil
	case v.checks() == 0:
		return printf(w, "The specification has no checks.\n")
	}
	if err := v.table.print(w); err != nil {
		return err
	}
	return v.text.CopyTo(w)
}

// traceVerdicts is the JSON of weft verify for one trace (docs/json/verify.md).
type traceVerdicts struct {
	heading
	Window     *bounds `json:"window,omitempty"`
	ReadErrors int64   `json:"readErrors,omitempty"` // number of errors that were found while the trace was read
	*verify.Result
}

// printJSON prints the verdicts of a trace in the form of writeJSON.
func (a *app) printJSON(v *verified) error {
	const lists = "\"checks\": [],\n  \"warnings\": []\n}\n"
	head := *v.answer
	head.Result = &verify.Result{States: head.States, Violated: head.Violated, Checks: []verify.CheckResult{},
		Warnings: []verify.Warning{}}
	var text bytes.Buffer
	if err := a.writeJSON(&text, head); err != nil {
		return err
	}
	a.out.Write(bytes.TrimSuffix(text.Bytes(), []byte(lists)))
	io.WriteString(a.out, "\"checks\": [")
	if err := v.verdicts.text.CopyTo(a.out); err != nil {
		return err
	}
	io.WriteString(a.out, v.verdicts.json.end()+",\n  \"warnings\": [")
	list := newJSONList(a.out)
	for i := range v.answer.Warnings {
		if err := list.add(&v.answer.Warnings[i]); err != nil {
			return err
		}
	}
	_, err := io.WriteString(a.out, list.end()+"\n}\n")
	return err
}

// jsonList writes the elements of a list that is a field of the outermost object, in the form of writeJSON.
type jsonList struct {
	w       io.Writer
	element *bytes.Buffer
	encoder *json.Encoder
	empty   bool
}

func newJSONList(w io.Writer) jsonList {
	l := jsonList{w: w, element: new(bytes.Buffer), empty: true}
	l.encoder = json.NewEncoder(l.element)
	l.encoder.SetIndent("    ", "  ")
	l.encoder.SetEscapeHTML(false)
	return l
}

// add writes an element, with the comma and the line end before it.
func (l *jsonList) add(element any) error {
	l.element.Reset()
	if !l.empty {
		l.element.WriteByte(',')
	}
	l.empty = false
	l.element.WriteString("\n    ")
	if err := l.encoder.Encode(element); err != nil {
		return err
	}
	_, err := l.w.Write(bytes.TrimSuffix(l.element.Bytes(), []byte("\n")))
	return err
}

// end returns the text after the last element.
func (l *jsonList) end() string {
	if l.empty {
		return "]"
	}
	return "\n  ]"
}
