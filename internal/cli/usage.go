package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/usage"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// usageFlags holds the flags of weft usage.
type usageFlags struct {
	input                  inputFlags
	selection              selectionFlags
	average                string
	asJSON, asCSV, signals bool
	as                     string
	allowLoss, plain       bool
}

// usageCommand returns the command weft usage.
func (a *app) usageCommand() *cobra.Command {
	var flags usageFlags
	c := &cobra.Command{
		Use:   "usage TRACE [OUT]",
		Short: "Show how resources are used: time by number of claims and by amount",
		Long: `Show how resources are used. For each resource weft prints the number of claims, the mean
amount in use, also in percent of the capacity, and the greatest amount. Then it prints
the time for each number of simultaneous claims, and for each amount in use. --window, or
--from and --to, restricts the figures to a window: only the time of a claim inside the window counts.
--region counts only claims of these regions (activities); the mean amounts of all regions add
up to that of all claims.

The number of claims on a resource and the amount in use are signals, functions of time. --csv
prints the signals; --json --signals prints them in addition to the figures. With OUT, weft
writes the trace with these signals, to view or verify them. Their names are "usage of NAME,
count" and "usage of NAME, amount". With --average, the value of each signal is the average
over the given time before, and weft prints the mean and the limits of each signal. These flags
need memory for each change of a signal.`,
		Example: "  weft usage trace.etf\n  weft usage --window 20%..30% trace.etf\n  weft usage --json trace.etf\n" +
			"  weft usage --average 10ms --csv trace.etf > usage.csv\n  weft usage trace.etf with-usage.etf",
		Args: usageArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 2 {
				return a.addUsage(c, args, &flags)
			}
			return a.runUsage(c.Context(), args[0], &flags)
		},
	}
	f := c.Flags()
	defineAnalysisFlags(f, &flags.input, &flags.selection)
	f.StringVar(&flags.average, "average", "0",
		"average each signal, at each time, over this length of time before it, such as 10ms")
	f.BoolVar(&flags.asCSV, "csv", false, "print the signals as comma-separated values, times in seconds")
	f.BoolVar(&flags.asJSON, "json", false, "print JSON; with OUT, a description of the written trace and its losses")
	f.BoolVar(&flags.signals, "signals", false, "with --json: also print the signals")
	f.StringVar(&flags.as, "as", "", "format of OUT, if its name does not determine it")
	f.BoolVar(&flags.allowLoss, "allow-loss", false, "write OUT even if the format of OUT cannot keep everything")
	definePlainFlag(f, &flags.plain)
	a.defineForceFlag(c)
	return c
}

// runUsage shows the use of the resources of the trace at path.
func (a *app) runUsage(ctx context.Context, path string, flags *usageFlags) error {
	switch {
	case flags.asJSON && flags.asCSV:
		return usageError("--json and --csv: found both, expected one")
	case flags.signals && !flags.asJSON:
		return usageError("--signals: expected --json with it, or --csv instead")
	case flags.as != "" || flags.allowLoss || flags.plain:
		return usageError("--as, --allow-loss, --plain: found no OUT, expected the name of a trace to write")
	}
	in, err := a.open(ctx, path, &flags.input)
	return a.answer(in, err, flags.asJSON, &flags.input, func(in *input) (any, func() error, error) {
		s := &flags.selection
		sel, err := s.selection(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		average, err := parseAverage(in.Defs().Clock, flags.average)
		if err != nil {
			return nil, nil, err
		}
		opt := usage.Options{Regions: sel.Region}
		if _, opt.Window = s.selectedBounds(sel); !flags.asJSON {
			opt.Levels = usageLevels
		}
		if flags.asCSV || flags.signals || average > 0 {
			opt.Steps = math.MaxInt
		}
		x, err := resourceUsage(ctx, in.Events, opt)
		if err != nil {
			return nil, nil, err
		}
		if sel.Location != nil {
			ids := map[string]bool{}
			for i, l := range in.Defs().Locations.All() {
				ids[l.ID] = ids[l.ID] || l.Kind == trace.ResourceLocation && sel.Location(uint32(i))
			}
			x.Resources = slices.DeleteFunc(x.Resources, func(r usage.Resource) bool { return !ids[r.ID] })
		}
		claimed := anyClaim(x)
		if s.anySet() && !claimed {
			in.notFound = "found no claim on a resource"
		}
		answer := usageAnswer{Result: x}
		list := usageSignals(x, average)
		for i := range x.Resources {
			x.Resources[i].Steps = nil // the signals contain the steps
			if flags.signals {
				answer.Signals = append(answer.Signals, resourceSignals{x.Resources[i].Resource, list[2*i].signal,
					list[2*i+1].signal})
			}
		}
		return &answer, func() error {
			switch {
			case flags.asCSV:
				return a.writeSignals(x.Clock, list)
			case !claimed && in.notFound == "":
				fmt.Fprintln(a.out, "The trace has no claims on resources.")
			case len(x.Resources) > 0 && average > 0:
				a.printSignals(list)
			case len(x.Resources) > 0:
				a.printUsage(x)
			}
			return nil
		}, nil
	})
}

// anyClaim reports whether a resource has claims.
func anyClaim(x *usage.Result) bool {
	return slices.ContainsFunc(x.Resources, func(r usage.Resource) bool { return r.Claims > 0 })
}

// usageArgs checks the arguments of weft usage.
func usageArgs(c *cobra.Command, args []string) error {
	if len(args) == 2 {
		return nil
	}
	return exactArgs(1, "one trace, or IN and OUT")(c, args)
}

// usageAnswer is the JSON of weft usage (docs/json/usage.md).
type usageAnswer struct {
	*usage.Result
	Signals []resourceSignals `json:"signals,omitempty"`
}

// resourceSignals holds the signals of a resource: the number of claims on it, and the amount in use.
type resourceSignals struct {
	Resource uint32       `json:"resource"`
	Count    usage.Signal `json:"count"`
	Amount   usage.Signal `json:"amount"`
}

// resourceUsage returns the use of the resources of a trace.
func resourceUsage(ctx context.Context, d format.Events, opt usage.Options) (*usage.Result, error) {
	ask := trace.Selection{From: math.MinInt64, To: math.MaxInt64, NoStates: true, Attribute: trace.NoAttributes,
		NoRegions: opt.Regions == nil}
	if opt.Window != nil {
		ask.From, ask.To, ask.LocationBegins = opt.Window.From, opt.Window.To, true
	}
	p, err := analysis.Run(ctx, d, ask.Surrounding(), func() *usage.Part { return usage.New(d.Defs(), opt) })
	if err != nil {
		return nil, err
	}
	return p.Result(), nil
}

// resourceNames returns the names of resources. It adds the id if another resource has the same name.
func resourceNames(list []usage.Resource) []string {
	names, several := make([]string, len(list)), map[string]int{}
	for i := range list {
		names[i] = cmp.Or(list[i].Name, list[i].ID)
		several[names[i]]++
	}
	for i, name := range names {
		if several[name] > 1 {
			names[i] = name + " (" + list[i].ID + ")"
		}
	}
	return names
}

// usageSignals returns two signals for each resource: the number of claims, and the amount in use.
func usageSignals(x *usage.Result, average int64) (list []namedSignal) {
	names := resourceNames(x.Resources)
	for i := range x.Resources {
		r := &x.Resources[i]
		name := "usage of " + names[i]
		count, amount := x.Signal(r, false).Window(average, false), x.Signal(r, true).Window(average, false)
		list = append(list, namedSignal{name + ", count", "", count, count.Statistics(false)},
			namedSignal{name + ", amount", r.Unit, amount, amount.Statistics(false)})
	}
	return list
}

// addUsage writes the trace again, and adds the use of its resources as signals.
func (a *app) addUsage(c *cobra.Command, args []string, flags *usageFlags) error {
	if flags.asCSV || flags.signals {
		return usageError("--csv and --signals: found OUT, expected none")
	}
	to, err := a.outputFormat(args[1], flags.as, "--as")
	if err != nil {
		return err
	}
	x := flags.selection.partOf(flags.input)
	x.as, x.json, x.allowLoss, x.plain = flags.as, flags.asJSON, flags.allowLoss, flags.plain
	return a.rewriteOne(c, args, x, func(ctx context.Context, d format.Events) (format.Events, error) {
		average, err := parseAverage(d.Defs().Clock, flags.average)
		if err != nil {
			return nil, err
		}
		u, err := resourceUsage(ctx, d, usage.Options{Steps: math.MaxInt})
		if err != nil {
			return nil, err
		}
		var list []transform.AddedSignal
		for _, s := range usageSignals(u, average) {
			if len(s.signal) == 0 {
				continue
			}
			added := transform.AddedSignal{Name: s.name, Unit: s.unit}
			for _, p := range s.signal {
				added.Pieces = append(added.Pieces, transform.AddedPiece(p))
			}
			// Counters are for all tools, fragments only for weft: a counter may only take the place of steps.
			added.Counter = to.About().Mapping(format.Fragments).How != format.Exact && (flags.plain || added.HasSteps())
			list = append(list, added)
		}
		if !anyClaim(u) {
			return nil, &exitError{exitDefects, fmt.Errorf("%s: found no claims on resources, so there is no signal to add",
				args[0])}
		}
		return transform.AddSignals(d, list), nil
	}, nil)
}

// usageLevels is the greatest number of different amounts of a resource that the text lists separately.
// If there are more, they are grouped into ranges.
const usageLevels = 20

// printUsage prints the use of resources as text.
func (a *app) printUsage(x *usage.Result) {
	names := resourceNames(x.Resources)
	name := func(i int) string { return names[i] }
	amount := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	percent := func(part, whole float64) string {
		if whole <= 0 {
			return ""
		}
		return fmt.Sprintf("%.1f", 100*part/whole)
	}
	printTable(a.out, table.Row{"resource", "claims", "mean amount", "% of capacity", "peak", "capacity", "unit"},
		len(x.Resources), 0, func(i int) table.Row {
			q := &x.Resources[i]
			return table.Row{name(i), q.Claims, amount(float64(q.Mean)), percent(float64(q.Mean), q.Capacity),
				amount(float64(q.Peak)), amount(q.Capacity), q.Unit}
		})
	fmt.Fprintln(a.out)
	t := newTable(a.out)
	t.AppendHeader(table.Row{"resource", "claims at once", "% of the time"})
	for i := range x.Resources {
		first := name(i)
		for k := range x.Resources[i].Open {
			t.AppendRow(table.Row{first, k, fmt.Sprintf("%.1f", x.Percent(&x.Resources[i], k))})
			first = ""
		}
	}
	t.Render()
	fmt.Fprintln(a.out)
	t = newTable(a.out)
	t.AppendHeader(table.Row{"resource", "amount", "% of the time"})
	for i := range x.Resources {
		first := name(i)
		for _, l := range x.Resources[i].Amounts {
			held := amount(float64(l.Amount))
			if l.Width > 0 {
				held += " to " + amount(float64(l.Amount+l.Width))
			}
			t.AppendRow(table.Row{first, held, percent(float64(l.Time), float64(x.Last-x.First))})
			first = ""
		}
	}
	t.Render()
}
