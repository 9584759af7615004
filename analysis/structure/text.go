package structure

import (
	"fmt"
	"strings"

	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// printer formats a result as indented trees.
type printer struct {
	x     *Result
	clock trace.Clock
	depth int
}

// Text returns the structure as a table of indented steps, one tree per shape, at most depth levels
// deep. Clock c determines the units of times.
func (r *Result) Text(c trace.Clock, depth int) string {
	return (&printer{r, c, depth}).text()
}

// text returns the trees of all shapes, and the numbers of unclosed and orphaned events.
func (p *printer) text() string {
	b := &strings.Builder{}
	// The heading states that the figures are sums over several locations, because the duration above belongs
	// to a single location.
	over := ""
	if n := p.x.locations(); n > 1 {
		over = fmt.Sprintf("figures over all %d locations", n)
	}
	for i, s := range p.x.Shapes {
		longest := ""
		if len(s.Locations) > 1 {
			longest = " each at most"
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		names := make([]string, 0, len(s.IDs))
		for k, id := range s.IDs {
			if s.Names[k] != "" {
				id = s.Names[k]
			}
			if names = append(names, id); len(names) == 5 && len(s.IDs) > 6 {
				names = append(names, fmt.Sprintf("… %d in all", len(s.IDs)))
				break
			}
		}
		fmt.Fprintf(b, "%s: %s, %s%s\n", strings.Join(names, ", "), plural.Of(s.Events, "event"),
			p.clock.FormatDuration(s.Span), longest)
		fmt.Fprintf(b, "%-44s %9s %11s %11s %11s %11s %6s\n", over, "COUNT", "MEAN", "MIN", "MAX", "SUM", "WAIT")
		p.steps(b, s.Steps, 1, false)
	}
	if p.x.Unclosed > 0 {
		fmt.Fprintf(b, "\n%s never left: the end is that of the location or of the call around it\n",
			plural.Of(p.x.Unclosed, "call"))
	}
	if p.x.Orphans > 0 {
		fmt.Fprintf(b, "%s without enter\n", plural.Of(p.x.Orphans, "leave"))
	}
	return b.String()
}

// locations returns the number of locations with events.
func (r *Result) locations() (n int) {
	for _, s := range r.Shapes {
		n += len(s.Locations)
	}
	return n
}

// stepsShown is the largest number of steps of a sequence that are printed.
const stepsShown = 40

// steps prints the steps of a sequence. It leaves out the enter and leave of a call, since the line
// above the steps has the name of its region.
func (p *printer) steps(b *strings.Builder, steps []Step, depth int, call bool) {
	if call {
		steps = steps[1:]
		if n := len(steps); n > 0 && steps[n-1].Kind == "leave" {
			steps = steps[:n-1]
		}
	}
	indent := strings.Repeat("  ", depth-1)
	for i := 0; i < len(steps); i++ {
		s := steps[i]
		if i == stepsShown {
			fmt.Fprintf(b, "%s… %d more\n", indent, len(steps)-i)
			return
		}
		if s.Sequence < 0 {
			name := s.Kind
			if s.Name != "" {
				name += " " + s.Name
			}
			fmt.Fprintf(b, "%s· %s\n", indent, name)
			continue
		}
		x := &p.x.Sequences[s.Sequence]
		name := "loop"
		if x.Call {
			name = x.Name
		}
		if s.Iterations > 1 {
			name += fmt.Sprintf(" ×%d", s.Iterations)
		}
		f := p.clock.FormatDuration
		fmt.Fprintf(b, "%-44s %9d %11s %11s %11s %11s %6.3f\n", indent+name, x.Count,
			p.clock.FormatMean(x.Sum, x.Count), f(x.Min), f(x.Max), p.clock.FormatSum(x.Sum), x.Contention)
		if depth < p.depth {
			p.steps(b, x.Steps, depth+1, x.Call)
		}
	}
}
