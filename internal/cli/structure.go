package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/structure"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// structureResult is the JSON of weft structure.
type structureResult struct {
	Path   string    `json:"path"`
	Format string    `json:"format"`
	Clock  clockInfo `json:"clock"`
	*structure.Result
}

func (a *app) structureCommand() *cobra.Command {
	var r reading
	var s selecting
	var asJSON bool
	depth := 0
	c := &cobra.Command{
		Use:   "structure TRACE",
		Short: "Show the calls and loops that locations repeat",
		Long: `Show what repeats at each location as a tree of calls and loops, with how often
and how long: × says how often it is repeated there; count, mean, min, max and sum
are those of all its occurrences in the trace. Locations that do the same are one
tree, and what is the same at several locations or places is one in the figures.

Events are the same if their kind and region are; snapshots, summaries, markers and
links are left out. What comes twice in a row or more, up to 100 steps of it, is a loop. WAIT is the share of the time of all locations that
would be saved if each occurrence took no longer than the shortest one (in Pallas:
contention score). It is worked out of the events, whatever the trace's format.`,
		Example: "  weft structure trace.otf\n  weft structure --depth 3 trace.pallas\n  weft structure --location 'rank 0' --json trace.trf",
		Args:    exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			if depth < 1 {
				return usageError("--depth %d: expected 1 or more", depth)
			}
			in, err := a.openOnly(c.Context(), args[0], &r)
			if err != nil {
				return err
			}
			defer in.Close()
			x, err := a.structure(c.Context(), in, &s)
			if err != nil {
				return err
			}
			in.bar.done()
			if asJSON {
				return a.writeJSON(structureResult{in.src.Path, in.format.Name, newClockInfo(in.Defs().Clock), x})
			}
			if err := (&structurePrinter{x, in.Defs().Clock, depth}).print(a.out); err != nil {
				return err
			}
			a.tell(in, r.quiet)
			return nil
		},
	}
	r.flags(c.Flags())
	r.clockFlag(c.Flags())
	c.Flags().StringSliceVar(&s.locations, "location", nil, "locations by id or name; * and ? match anything")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().IntVar(&depth, "depth", 8, "how deep the tree is shown; --json has all of it")
	return c
}

// structure scans a trace: each worker fills a part of its own.
func (a *app) structure(ctx context.Context, in *input, s *selecting) (*structure.Result, error) {
	sel, err := s.selection(ctx, in)
	if err != nil {
		return nil, err
	}
	sel.Links = false
	d := in.Defs()
	var mu sync.Mutex
	var parts []*structure.Part
	if err := format.ScanAnew(ctx, in.Decoder, sel, func() func(int) format.Sink {
		parts = nil
		return func(int) format.Sink {
			mu.Lock()
			defer mu.Unlock()
			parts = append(parts, structure.New(d))
			return parts[len(parts)-1]
		}
	}); err != nil {
		return nil, err
	}
	sum := structure.New(d)
	for _, p := range parts {
		if err := sum.Merge(p); err != nil {
			return nil, err
		}
	}
	return sum.Result()
}

// structurePrinter prints trees.
type structurePrinter struct {
	x     *structure.Result
	clock trace.Clock
	depth int
}

func (p *structurePrinter) print(w io.Writer) error {
	b := &strings.Builder{}
	for i, s := range p.x.Shapes {
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
		fmt.Fprintf(b, "%s: %d events, %s\n", strings.Join(names, ", "), s.Events, p.clock.FormatDuration(s.Span))
		fmt.Fprintf(b, "%-44s %9s %11s %11s %11s %11s %6s\n", "", "COUNT", "MEAN", "MIN", "MAX", "SUM", "WAIT")
		p.steps(b, s.Steps, 1, false)
	}
	if p.x.Unclosed > 0 {
		fmt.Fprintf(b, "\n%d calls are never left; they end with their location or with what they are in\n", p.x.Unclosed)
	}
	if p.x.Orphans > 0 {
		fmt.Fprintf(b, "%d leaves have no enter\n", p.x.Orphans)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// stepsShown is how many steps of a sequence are shown.
const stepsShown = 40

// steps prints the steps of a sequence; those of a call begin and end with its enter and
// leave, which the line before them has said.
func (p *structurePrinter) steps(b *strings.Builder, steps []structure.Step, depth int, call bool) {
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
		fmt.Fprintf(b, "%-44s %9d %11s %11s %11s %11s %6.3f\n", indent+name, x.Count, f(x.Sum/max(1, x.Count)), f(x.Min), f(x.Max), f(x.Sum), x.Contention)
		if depth < p.depth {
			p.steps(b, x.Steps, depth+1, x.Call)
		}
	}
}
