package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/weft-trace/weft/analysis/verify"
	"github.com/weft-trace/weft/internal/nearest"
)

// maxSpecification is the largest size of a specification in bytes.
const maxSpecification = 1 << 20

// verifyAnswer holds the verdicts of a specification. If Syntax is set, the specification has an error,
// and all other fields are empty.
type verifyAnswer struct {
	Syntax   *syntaxFact `json:"syntax,omitempty"`
	States   int64       `json:"states"`
	Violated int         `json:"violated"`
	Checks   []checkFact `json:"checks"`
	Warnings []string    `json:"warnings"`
}

// syntaxFact reports a syntax error in a specification. Lines and columns are counted from 1.
type syntaxFact struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// checkFact is a check with its verdict. Decided is false if the trace does not determine whether the
// formula holds.
type checkFact struct {
	Check    string         `json:"check"`
	Formula  string         `json:"formula"`
	Verdict  verify.Verdict `json:"verdict"`
	Violated bool           `json:"violated"`
	Holds    bool           `json:"holds"`
	Decided  bool           `json:"decided"`
	// Robustness is "" unless the request asks for it.
	Robustness string       `json:"robustness"`
	Reasons    []reasonFact `json:"reasons"`
}

// reasonFact explains why a part of the formula holds or does not hold. From and To are the times of the
// interval that decides this.
type reasonFact struct {
	Depth   int    `json:"depth"`
	Formula string `json:"formula"`
	Holds   bool   `json:"holds"`
	From    ticks  `json:"from"`
	To      ticks  `json:"to"`
	Text    string `json:"text"`
}

// sendVerdicts answers with the verdicts of the specification in the body of the request.
func (s *Server) sendVerdicts(w http.ResponseWriter, r *http.Request) error {
	x, err := s.openTraceIndex(r)
	if err != nil {
		return err
	}
	x.release()
	e, v := x.e, x.traceView
	p := &params{values: r.URL.Query(), x: v}
	opt := verify.Options{Semantics: verify.Semantics(p.choice("semantics", string(verify.Compatible),
		string(verify.TwoValued), string(verify.ThreeValued), string(verify.FourValued))), Window: p.selectedWindow(),
		Robust: p.choice("robust", "0", "1") == "1"}
	if p.err != nil {
		return p.err
	}
	text, err := readText(w, r, maxSpecification, "specification")
	if err != nil {
		return err
	}
	spec, wrong := parseSpecification(text)
	if wrong != nil {
		return s.sendUncachedJSON(w, r, &verifyAnswer{Syntax: wrong, Checks: []checkFact{}, Warnings: []string{}})
	}
	h := sha256.Sum256([]byte(text))
	name := fmt.Sprintf("%s %s verify %s %t %s", e.id, v.tag, opt.Semantics, opt.Robust, hex.EncodeToString(h[:]))
	if opt.Window != nil {
		name += fmt.Sprintf(" %d %d", opt.Window.From, opt.Window.To)
	}
	body, err := s.analyse(r, x, name, func(ctx context.Context) ([]byte, error) {
		var result *verify.Result
		err := e.readers.useReader(ctx, func(d *reader) (err error) {
			result, err = verify.Run(ctx, d.Events, spec, opt)
			return err
		})
		if err != nil {
			return nil, err
		}
		return json.Marshal(newVerifyAnswer(v, result))
	})
	if err != nil {
		return e.recoverIndex(err)
	}
	w.Header().Set("Cache-Control", "no-store")
	s.sendAnswer(w, r, http.StatusOK, "application/json", append(body[:len(body):len(body)], '\n'))
	return nil
}

// readText reads the body of a request. The body may have up to `most` bytes. what is the name of the body in
// messages.
func readText(w http.ResponseWriter, r *http.Request, most int64, what string) (string, error) {
	c := http.NewResponseController(w)
	c.SetReadDeadline(time.Now().Add(bodyTimeout))
	defer c.SetReadDeadline(time.Time{})
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return "", &problem{http.StatusRequestEntityTooLarge,
			fmt.Sprintf("found a %s of more than %d bytes, expected a shorter one", what, most), 0}
	case err != nil:
		return "", badRequest(what + ": " + err.Error())
	}
	return string(b), nil
}

func newVerifyAnswer(v *traceView, x *verify.Result) *verifyAnswer {
	a := &verifyAnswer{States: x.States, Violated: x.Violated, Checks: []checkFact{}, Warnings: []string{}}
	for _, c := range x.Checks {
		f := checkFact{c.Name, c.Formula, c.Verdict, c.Verdict.Violated(), c.Holds, c.Decided, "", []reasonFact{}}
		if c.Robustness != nil {
			f.Robustness = c.Robustness.String()
		}
		for _, r := range c.Reasons {
			f.Reasons = append(f.Reasons, reasonFact{r.Depth, r.Formula, r.Holds, v.jsonTime(r.From.Tick),
				v.jsonTime(r.To.Tick), r.Text})
		}
		a.Checks = append(a.Checks, f)
	}
	for _, w := range x.Warnings {
		a.Warnings = append(a.Warnings, w.Text+nearest.Hint(w.Word, w.Words))
	}
	return a
}

// propertyLine is a line of a specification with a property in plain words.
type propertyLine struct {
	line, column   int // position of the first character of the property; both numbers count from 1
	kind, property string
}

// parseSpecification reads a specification. The text may contain formulas in the language ETL, and lines such
// as "--never overflow" with a property in plain words, in the form of the command line's flags. wrong is nil
// unless the text has a syntax error.
func parseSpecification(text string) (spec *verify.Spec, wrong *syntaxFact) {
	lines := strings.Split(text, "\n")
	var properties []propertyLine
	count := map[string]int{}
	for i, l := range lines {
		if p, ok := cutProperty(l); ok {
			p.line = i + 1
			properties = append(properties, p)
			count[p.kind]++
			lines[i] = "" // an empty line keeps the numbers of the other lines
		}
	}
	number := map[string]int{}
	origin := make([]int, len(lines)) // number of the line in text, for each line of the parsed specification
	for i := range origin {
		origin[i] = i + 1
	}
	for _, p := range properties {
		name := p.kind
		if count[p.kind] > 1 {
			number[p.kind]++
			name += fmt.Sprint(number[p.kind])
		}
		s, err := verify.Property(p.kind, name, p.property)
		if err == nil {
			_, err = verify.Parse("", []byte(s))
		}
		var syntax *verify.SyntaxError
		switch {
		case errors.As(err, &syntax):
			return nil, &syntaxFact{p.line, p.column, fmt.Sprintf("found %s, expected %s", syntax.Found, syntax.Expected) +
				nearest.Hint(syntax.Word, syntax.Words)}
		case err != nil:
			return nil, &syntaxFact{p.line, p.column, err.Error()}
		}
		for _, l := range strings.Split(s, "\n") {
			lines, origin = append(lines, l), append(origin, p.line)
		}
	}
	spec, err := verify.Parse("", []byte(strings.Join(lines, "\n")))
	var syntax *verify.SyntaxError
	switch {
	case errors.As(err, &syntax):
		at := min(max(syntax.Line, 1), len(origin)) - 1
		wrong = &syntaxFact{origin[at], syntax.Column, fmt.Sprintf("found %s, expected %s", syntax.Found, syntax.Expected) +
			nearest.Hint(syntax.Word, syntax.Words)}
		if origin[at] != at+1 {
			wrong.Column = 1
		}
		return nil, wrong
	case err != nil:
		return nil, &syntaxFact{1, 1, err.Error()}
	}
	return spec, nil
}

// cutProperty reads a line with a property. The line consists of two hyphens, the kind of the property, blanks
// or =, and the property, which may be in quotes. ok is false for all other lines, which belong to the
// language ETL.
func cutProperty(line string) (p propertyLine, ok bool) {
	text := strings.TrimLeft(line, " \t")
	if !strings.HasPrefix(text, "--") {
		return p, false
	}
	kind, rest := text[2:], ""
	if i := strings.IndexAny(kind, " \t="); i >= 0 {
		kind, rest = kind[:i], kind[i+1:]
	}
	rest = strings.TrimLeft(rest, " \t")
	property := strings.TrimRight(rest, " \t\r")
	for _, quote := range []string{"'", `"`} {
		inner, begins := strings.CutPrefix(property, quote)
		inner, ends := strings.CutSuffix(inner, quote)
		if begins && ends && !strings.Contains(inner, quote) {
			property = inner
			break
		}
	}
	before := line[:len(line)-len(rest)]
	return propertyLine{column: len([]rune(before)) + 1, kind: cmp.Or(strings.TrimSpace(kind), "-"), property: property},
		true
}
