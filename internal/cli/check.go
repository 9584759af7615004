package cli

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/check"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/internal/wildcard"
	"github.com/weft-trace/weft/trace"
)

// checkResult is the JSON of weft check (docs/json/check.md).
type checkResult struct {
	Path     string      `json:"path"`
	Format   string      `json:"format"`
	Errors   int64       `json:"errors"`
	Warnings int64       `json:"warnings"`
	Notes    int64       `json:"notes"`
	Rules    []checkRule `json:"rules"`
}

// checkRule is a broken rule in the JSON.
type checkRule struct {
	Rule     string       `json:"rule"`
	Severity string       `json:"severity"`
	Doc      string       `json:"doc"`
	Count    int64        `json:"count"`
	Places   []checkPlace `json:"places"`
	severity trace.Severity
}

// checkPlace is a place where a rule is broken, in the JSON.
type checkPlace struct {
	File     string `json:"file"`
	Line     int64  `json:"line,omitempty"`
	Offset   *int64 `json:"offset,omitempty"`
	Record   string `json:"record,omitempty"`
	Location string `json:"location,omitempty"` // id
	Time     *int64 `json:"time,omitempty"`     // ticks
	Found    string `json:"found"`
	Expected string `json:"expected"`
	seconds  string // the time in seconds
	defect   *trace.Defect
}

// checkCommand returns the command weft check.
func (a *app) checkCommand() *cobra.Command {
	var r inputFlags
	var s selectionFlags
	var asJSON, rules bool
	var places int
	var only []string
	c := &cobra.Command{
		Use:   "check TRACE... | --rules",
		Short: "Find what is wrong with traces",
		Long: `Check traces for violations of their format, and for events that contradict each other.
For each broken rule weft prints its id, its severity and the first places. --rules lists
the rules of all formats.

--window, or --from and --to, --location and --group restrict the check to defects at
these times and locations. Defects without a time or location, such as damaged records, are
always shown. There is no --region, because many defects belong to no
call. weft always reads the whole trace: the send of a receive, the other members of a
collective operation and the sums of statistics may be at other times and locations.

The exit code is 1 if there is an error (with --strict, also a warning), else 0. --strict
stops at the first error or warning. If a trace cannot be read, weft still checks the
others; the exit code is the highest of all.`,
		Example: "  weft check trace.etf\n  weft check --json --rule 'etf.*' trace.etf\n  weft check --rules",
		Args: func(c *cobra.Command, args []string) error {
			if rules {
				return exactArgs(0, "none with --rules")(c, args)
			}
			return someArgs(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.checkRuleNames(only); err != nil {
				return err
			}
			if rules {
				return a.listRules(asJSON, only)
			}
			worst := exitGood
			for _, arg := range args {
				res, err := a.checkOne(c.Context(), arg, &r, &s, places, only)
				if err != nil {
					code := codeOf(err)
					if len(args) == 1 || code == exitUsage || c.Context().Err() != nil {
						return err
					}
					a.printError(err) // continue with the other traces
					worst = max(worst, code)
					continue
				}
				if res.Errors > 0 || r.strict && res.Warnings > 0 {
					worst = max(worst, exitDefects)
				}
				if asJSON {
					if err := a.writeJSON(a.out, res); err != nil {
						return err
					}
					continue
				}
				a.printCheck(res)
			}
			a.reports = nil // the printed rules contain these defects, and determine the exit code
			if worst > exitGood {
				return &exitError{code: worst}
			}
			return nil
		},
	}
	r.flags(c.Flags())
	r.defineClockFlag(c.Flags())
	s.defineTimeFlags(c.Flags())
	s.definePlaceFlags(c.Flags())
	refuseRegion(c.Flags(), "many defects belong to no call; --location and --window choose defects by place and time")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().Var(newInteger(&places, 10, 1, 0), "places", "how many places to name for each rule")
	c.Flags().BoolVar(&rules, "rules", false, "list the rules, with a sentence and an example of each")
	c.Flags().Var((*nameList)(&only), "rule", "only rules with these ids; * and ? match anything")
	return c
}

// checkOne checks the trace named by an argument.
func (a *app) checkOne(ctx context.Context, arg string, r *inputFlags, s *selectionFlags, places int,
	only []string) (*checkResult, error) {
	in, err := a.findSource(ctx, arg, r)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	res, err := a.checkInput(ctx, in, r, s, places, only)
	err = in.firstInFile(err, func(again *input) error {
		lenient := *r
		lenient.strict = false
		_, err := a.checkInput(ctx, again, &lenient, s, places, only)
		return err
	})
	a.closeStrict() // err is the first defect already
	if err == nil && !r.quiet {
		a.reportFlagNames(in)
	}
	return res, err
}

// ruleInfo is a rule in the JSON of weft check --rules (docs/json/check.md).
type ruleInfo struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Doc      string `json:"doc"`
	Example  string `json:"example"`
}

// allRules returns the rules for all formats and those of each format.
func (a *app) allRules() []format.Rule {
	l := check.Rules()
	for _, f := range a.formats {
		l = append(l, f.About().Rules...)
	}
	return l
}

// checkRuleNames returns an error for a pattern that matches no rule.
func (a *app) checkRuleNames(list []string) error {
	var ids []string
	for _, r := range a.allRules() {
		ids = append(ids, r.ID)
	}
	for _, s := range list {
		if !slices.ContainsFunc(ids, func(id string) bool { return wildcard.MatchAny([]string{s}, id) }) {
			near := nearest.DidYouMean(s, slices.Values(ids), "")
			return usageError("--rule %s: no such rule; %s", s, strings.TrimSpace(near+" weft check --rules lists them"))
		}
	}
	return nil
}

// listRules prints the table of rules.
func (a *app) listRules(asJSON bool, only []string) error {
	list := []ruleInfo{}
	for _, r := range a.allRules() {
		if len(only) == 0 || wildcard.MatchAny(only, r.ID) {
			list = append(list, ruleInfo{r.ID, r.Severity.String(), r.Doc, r.Example})
		}
	}
	if asJSON {
		return a.writeJSON(a.out, list)
	}
	printTable(a.out, table.Row{"RULE", "SEVERITY", "MEANING", "EXAMPLE"}, len(list), 0, func(i int) table.Row {
		return table.Row{list[i].Rule, list[i].Severity, list[i].Doc, list[i].Example}
	})
	return nil
}

// checkInput checks a trace that is not opened yet.
func (a *app) checkInput(ctx context.Context, in *input, r *inputFlags, s *selectionFlags, places int,
	only []string) (*checkResult, error) {
	in.report.Keep = places
	window := trace.Window{From: math.MinInt64, To: math.MaxInt64}
	inPart := func(*trace.Place) bool { return true }
	also := in.report.Only
	in.report.Only = func(d *trace.Defect) bool {
		return (len(only) == 0 || wildcard.MatchAny(only, d.Rule)) && inPart(&d.Event) && (also == nil || also(d))
	}
	if err := in.openTrace(ctx, r); err != nil {
		if r.strict || !check.IsDamage(err) {
			return nil, err
		}
		in.report.Add(check.Unreadable(in.src.Path, err))
		return in.checkResult(a.allRules()), nil
	}
	if s.anySet() {
		sel, err := s.selection(ctx, in)
		if err != nil {
			return nil, err
		}
		window = trace.Window{From: sel.From, To: sel.To}
		inPart = func(e *trace.Place) bool {
			return (!e.HasTime || e.Time >= sel.From && e.Time < sel.To) &&
				(!e.HasLocation || sel.Location == nil || sel.Location(e.Location))
		}
	}
	if err := check.All(ctx, in.Events, in.file, in.src.Path, in.opt); err != nil {
		return nil, err
	}
	if s.from != "" || s.to != "" {
		first, last, ok, err := format.Extent(ctx, in.Events)
		if err != nil {
			return nil, err
		}
		if !ok || last < window.From || !trace.Before(max(first, window.From), window.To) {
			in.notFound = "found no event in the window"
		}
	}
	in.bar.remove()
	return in.checkResult(a.allRules()), nil
}

// checkResult returns the defects found so far.
func (in *input) checkResult(rules []format.Rule) *checkResult {
	res := &checkResult{Path: in.src.Path, Format: in.format.About().Name, Rules: []checkRule{}}
	for _, x := range in.report.Rules() {
		switch x.Severity {
		case trace.Error:
			res.Errors += x.Count
		case trace.Warning:
			res.Warnings += x.Count
		default:
			res.Notes += x.Count
		}
		res.Rules = append(res.Rules, newCheckRule(x, rules, in.Events))
	}
	return res
}

// newCheckRule returns a broken rule for JSON, with its description from rules. d is the trace; it is
// nil if the trace could not be opened.
func newCheckRule(x format.RuleCount, rules []format.Rule, d format.Events) checkRule {
	rule := checkRule{Rule: x.Rule, Severity: x.Severity.String(), severity: x.Severity, Count: x.Count}
	if i := slices.IndexFunc(rules, func(r format.Rule) bool { return r.ID == x.Rule }); i >= 0 {
		rule.Doc = rules[i].Doc
	}
	for _, x := range x.First {
		p := checkPlace{File: x.Position.File, Line: x.Position.Line, Record: x.Record, Found: x.Found,
			Expected: x.Expected, defect: x}
		if x.Position.Binary {
			p.Offset = &x.Position.Offset
		}
		if e := x.Event; e.HasLocation && d != nil && int64(e.Location) < int64(d.Defs().Locations.Len()) {
			p.Location = d.Defs().Locations.At(e.Location).ID
		}
		if x.Event.HasTime {
			p.Time = &x.Event.Time
			if d != nil {
				p.seconds = d.Defs().Clock.FormatSeconds(x.Event.Time)
			}
		}
		rule.Places = append(rule.Places, p)
	}
	return rule
}

// printCheck prints the result of checking a trace.
func (a *app) printCheck(res *checkResult) {
	for _, x := range res.Rules {
		a.printRule(x)
	}
	printf(a.out, "%s: %s: %s, %s, %s\n", res.Path, res.Format, plural.Of(res.Errors, "error"), plural.Of(res.Warnings,
		"warning"), plural.Of(res.Notes, "note"))
}

// printRule prints the recorded places of a rule. If the rule has more places than were recorded, it
// prints one line with the first place, the number of all places, and the other recorded places.
func (a *app) printRule(x checkRule) {
	kept := int64(0)
	for _, p := range x.Places {
		kept += max(1, p.defect.Count)
	}
	for i, p := range x.Places {
		d := *p.defect
		d.Severity = x.severity
		if x.Count > kept {
			d.Count = 0
			text := fmt.Sprintf("%s (%d times", d.Error(), x.Count)
			before := "; also "
			for _, other := range x.Places[i+1:] {
				text += before + other.shortPlace(&d)
				before = ", "
			}
			fmt.Fprintln(a.out, plain(text+")"))
			return
		}
		fmt.Fprintln(a.out, plain(d.Error()))
	}
}

// shortPlace describes a place in few words. The line already names first, the first place of the same
// rule.
func (p *checkPlace) shortPlace(first *trace.Defect) string {
	where := p.defect.Position.String()
	if p.seconds != "" && (p.Line == 0 || p.defect.Record == "") { // a record is in its line
		where = "at " + p.seconds + " s"
		if p.defect.Record == "" && p.Found != first.Found && strings.HasSuffix(p.Found, " "+where) {
			where = p.Found // the text contains the place
		}
	} else if p.Line > 0 && p.File == first.Position.File {
		where = fmt.Sprintf("in line %d", p.Line)
	} else if rest, ok := strings.CutPrefix(where, first.Position.File+":"); ok {
		where = "at " + rest
	} else if where == first.Position.String() {
		// no place within the file is known
		if p.defect.Record != first.Record {
			where = ""
		} else if p.Found != first.Found {
			where = p.Found
		}
	}
	if p.defect.Record != first.Record {
		where = strings.TrimSpace(p.defect.Record + " " + where)
	}
	return where
}
