package cli

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/internal/wildcard"
)

// otfShrinkCommand returns the command weft otf shrink.
func (a *app) otfShrinkCommand() *cobra.Command {
	var r inputFlags
	var list, locations []string
	var invert, asJSON bool
	c := &cobra.Command{
		Use:   "shrink TRACE OUT",
		Short: "Copy a trace with only some of its processes",
		Long: `Copy some processes of an OTF 1 trace: their definitions, events, snapshots, statistics
and markers. Streams keep their numbers. The other processes are removed from process
groups, and groups without members are left out. Records of the kept processes that refer
to removed ones, such as messages to them, stay.

--processes takes numbers, ranges of numbers (4-8), and names, in which * and ? match
anything. Numbers are those in the files, as otfprint shows them. --location takes ids and
names as weft info shows them and all commands take them; the ids differ from the numbers
in a trace that was converted from another format. --invert copies all other processes
instead.`,
		Example: "  weft otf shrink --processes 1,4-8 trace.otf part.otf\n  weft otf shrink --processes 'GPU*' --invert " +
			"trace.otf hosts.otf",
		Args: exactArgs(2, "TRACE and OUT"),
		RunE: func(c *cobra.Command, args []string) error {
			x, err := a.otfShrink(c.Context(), args[0], args[1], &r, list, locations, invert)
			if err != nil {
				return err
			}
			if asJSON {
				return a.writeJSON(a.out, x)
			}
			printf(a.out, "%s: kept %d of %s in %d of %s\n", x.Path, x.Processes, plural.Of(x.ProcessesBefore, "process",
				"processes"),
				x.Streams, plural.Of(x.StreamsBefore, "stream"))
			return a.printLoss(x.loss, false, false)
		},
	}
	r.flags(c.Flags())
	defineFilesFlag(c, &r)
	c.Flags().Var((*nameList)(&list), "processes", "processes by number, range of numbers or name; * and ? match "+
		"anything")
	for _, flag := range []string{"location", "locations"} {
		c.Flags().Var((*nameList)(&locations), flag,
			"processes by id or name, as weft info shows them; * and ? match anything, re: begins a regular expression")
	}
	c.Flags().Lookup("locations").Hidden = true // another name of --location
	c.Flags().BoolVarP(&invert, "invert", "v", false, "leave out the chosen processes, and keep the others")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	a.defineForceFlag(c)
	return c
}

// shrinkResult is the JSON of weft otf shrink (docs/json/otf.md).
type shrinkResult struct {
	Path            string   `json:"path"`
	Processes       int      `json:"processes"`
	ProcessesBefore int      `json:"processesBefore"`
	Streams         int      `json:"streams"`
	StreamsBefore   int      `json:"streamsBefore"`
	Kept            []uint32 `json:"kept"`

	Loss []format.LossRow `json:"loss"`
	loss *format.Loss
}

// otfShrink writes a trace with some of its processes.
func (a *app) otfShrink(ctx context.Context, from, to string, r *inputFlags, list,
	locations []string, invert bool) (*shrinkResult, error) {
	if len(list)+len(locations) == 0 {
		return nil, usageError("found no --processes, expected numbers, ranges or names")
	}
	in, err := a.otfSource(ctx, from, r)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	quiet := *in.opt
	quiet.Report, quiet.Strict = nil, false // the copy reports defects
	files, err := otf.FileManagerOf(in.opt.Values)
	if err != nil {
		return nil, err
	}
	rd, err := otf.Open(ctx, in.src, &otf.Options{Read: &quiet, Files: files})
	if err != nil {
		return nil, err
	}
	all, err := rd.Processes(ctx)
	if err != nil {
		return nil, err
	}
	chosen, err := chooseProcesses(all, list)
	if err != nil {
		return nil, err
	}
	if len(locations) > 0 {
		some, err := processesOf(ctx, in, all, locations)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, some...)
	}
	keep := func(p uint64) bool { return chosen.has(p) != invert }
	if to == "-" {
		return nil, usageError("an OTF trace has several files and cannot be written to standard output")
	}
	if sameFile(in.src.Path, in.format.About().Place(to)) {
		return nil, usageError("%s: found the trace itself, expected another name", to)
	}
	x := &shrinkResult{ProcessesBefore: len(all), StreamsBefore: rd.Master().Len(), Kept: []uint32{}}
	streams := map[uint32]bool{}
	for _, p := range all {
		if keep(uint64(p.ID)) {
			x.Kept = append(x.Kept, p.ID)
			streams[p.Stream] = p.Stream != otf.NoStream
		}
	}
	delete(streams, otf.NoStream)
	x.Processes, x.Streams = len(x.Kept), len(streams)
	if len(streams) == 0 {
		return nil, usageError("--processes: found no kept process with a stream, expected at least one")
	}
	out, err := a.createTraceOutput(in.format, to)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	x.Path = out.Path
	x.loss, err = otf.Shrink(ctx, in.src, in.opt, keep, out,
		&format.WriteOptions{Values: in.opt.Values, Workers: a.workers})
	if err != nil {
		return nil, err
	}
	x.Loss = x.loss.Rows()
	in.bar.remove()
	if err := out.Commit(); err != nil {
		return nil, err
	}
	a.reportDefects(in, r.quiet)
	return x, nil
}

// sameFile reports whether two paths lead to the same file.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// processSet is a set of processes: ranges of their numbers.
type processSet []struct{ from, to uint64 }

// has reports whether the set contains a process.
func (s processSet) has(p uint64) bool {
	for _, x := range s {
		if p >= x.from && p <= x.to {
			return true
		}
	}
	return false
}

// chooseProcesses converts numbers, ranges of numbers and names into a set. It returns an error for an
// unknown process, since the result would not show that it is missing.
func chooseProcesses(all []otf.Process, list []string) (processSet, error) {
	var s processSet
	add := func(from, to uint64) { s = append(s, struct{ from, to uint64 }{from, to}) }
	for _, w := range list {
		w = strings.TrimSpace(w)
		if err := wildcard.Check(w); err != nil {
			return nil, usageError("--processes %s: %w", w, err)
		}
		from, to, numbers := parseRange(w)
		found := false
		for _, p := range all {
			id := uint64(p.ID)
			switch {
			case numbers && id >= from && id <= to:
				found = true
			case p.Defined && wildcard.MatchAny([]string{w}, p.Name):
				add(id, id)
				found = true
			}
		}
		if !found {
			names := make([]string, len(all))
			for i, p := range all {
				names[i] = p.Name
			}
			return nil, usageError("--processes %s: found no such process, expected a number, a range of numbers or a name; %s",
				w, nearest.DidYouMean(w, slices.Values(names), "weft info --top 0 lists them"))
		}
		if numbers {
			add(from, to)
		}
	}
	return s, nil
}

// processesOf returns the processes of the locations that patterns of --location match. Each pattern must match one.
// The processes of a resource have no location. They belong to the location with the name of the resource.
func processesOf(ctx context.Context, in *input, all []otf.Process, patterns []string) (s processSet, err error) {
	d, locations, err := in.processLocations(ctx)
	if err != nil {
		return nil, err
	}
	for _, pattern := range patterns {
		matches, err := choose(d, aLocation, []string{pattern})
		if err != nil {
			return nil, err
		}
		names := map[string]bool{}
		for i := range d.Locations.Len() {
			if matches(uint32(i)) {
				names[d.Locations.At(uint32(i)).Name] = true
			}
		}
		found := len(s)
		for _, p := range all {
			loc, ok := locations[uint64(p.ID)]
			resource, _, _ := strings.Cut(p.Name, " (")
			if ok && matches(loc) || !ok && (names[p.Name] || names[resource]) {
				s = append(s, struct{ from, to uint64 }{uint64(p.ID), uint64(p.ID)})
			}
		}
		if len(s) == found {
			return nil, usageError("--location %s: the trace has no such location; %s", pattern,
				aLocation.nearestHint(d, pattern))
		}
	}
	return s, nil
}

// parseRange parses "5" and "5-9".
func parseRange(w string) (from, to uint64, ok bool) {
	lo, hi, isRange := strings.Cut(w, "-")
	from, err := strconv.ParseUint(lo, 10, 32)
	if err != nil {
		return 0, 0, false
	}
	if !isRange {
		return from, from, true
	}
	to, err = strconv.ParseUint(hi, 10, 32)
	return from, to, err == nil && from <= to
}
