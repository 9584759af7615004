package cli

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/weft-trace/weft/format/otf"
	"github.com/weft-trace/weft/internal/nearest"
)

// compatFlags holds the flags of otfprint for which weft has no flags of its own.
type compatFlags struct {
	num                string
	records            []string
	omit               [5]bool
	noPairs, fullPairs bool
}

// omitFlags lists the flags that leave out parts of a trace, by otf.Part. what describes the part.
var omitFlags = [5]struct{ flag, what string }{
	otf.Definitions: {"nodef", "definitions"}, otf.Events: {"noevent", "events"}, otf.Snapshots: {"nosnap", "snapshots"},
	otf.Statistics: {"nostat", "statistics"}, otf.Markers: {"nomarker", "markers"},
}

// register defines the flags.
func (c *compatFlags) register(f *pflag.FlagSet) {
	f.StringVar(&c.num, "num", "", "with --compat of OTF: print only the records with these numbers, such as 10..20")
	f.Var((*nameList)(&c.records), "records",
		"with --compat of OTF: print only these types of records, by name or number")
	for i, x := range omitFlags {
		f.BoolVar(&c.omit[i], x.flag, false, "with --compat of OTF: leave out the "+x.what)
	}
	f.BoolVar(&c.noPairs, "nokeyvalue", false, "with --compat of OTF: leave out key-value pairs")
	f.BoolVar(&c.fullPairs, "fullkeyvalue", true, "with --compat of OTF: print the bytes of arrays in key-value pairs")
}

// anySet reports whether any of the flags is set.
func (c *compatFlags) anySet() bool {
	return c.num != "" || len(c.records) > 0 || slices.Contains(c.omit[:], true) || c.noPairs || !c.fullPairs
}

// printOptions returns the options for the flags. It returns nil if no flag is set.
func (c *compatFlags) printOptions() (any, error) {
	if !c.anySet() {
		return nil, nil
	}
	o := &otf.PrintOptions{Omit: c.omit}
	switch {
	case c.noPairs:
		o.Pairs = otf.NoPairs
	case !c.fullPairs:
		o.Pairs = otf.ShortPairs
	}
	if c.num != "" {
		first, last, ok := strings.Cut(c.num, "..")
		if !ok {
			last = first
		}
		var errs [2]error
		if o.First, errs[0] = strconv.ParseInt(first, 10, 64); last != "" {
			o.Last, errs[1] = strconv.ParseInt(last, 10, 64)
		}
		// otfprint accepts 0 as the first number.
		if errs[0] != nil || errs[1] != nil || o.First < 0 || last != "" && o.Last < max(1, o.First) {
			return nil, usageError("--num %s: expected two numbers from 1 on, such as 10..20, or one", c.num)
		}
	}
	if len(c.records) > 0 {
		wanted := map[otf.Type]bool{}
		for _, r := range c.records {
			t, err := recordType(r)
			if err != nil {
				return nil, err
			}
			wanted[t] = true
		}
		o.Wanted = func(t otf.Type) bool { return wanted[t] }
	}
	return o, nil
}

// recordType returns the type of OTF records with a name or number.
func recordType(word string) (otf.Type, error) {
	names := map[string]otf.Type{}
	for t := range otf.Type(otf.NumTypes) {
		if t.String() != "" {
			names[t.String()] = t
		}
	}
	for name, t := range names {
		if strings.EqualFold(name, word) || strconv.Itoa(int(t)) == word {
			return t, nil
		}
	}
	see := nearest.DidYouMean(word, maps.Keys(names), "docs/formats/otf.md lists them")
	return 0, usageError("--records %s: OTF has no such type of records; %s", word, see)
}

// takeLargeTimes moves times from 2^63 - 1 on from --from and --to to the options of otfprint, which takes all of them
// for 2^63 - 1. It returns flags without these times, and the options. tool has options of otfprint, or is nil.
func takeLargeTimes(s *selectionFlags, tool any) (*selectionFlags, any, error) {
	rest := *s
	if err := rest.splitWindow(); err != nil {
		return nil, nil, err
	}
	var o otf.PrintOptions
	if x, ok := tool.(*otf.PrintOptions); ok {
		o = *x
	}
	o.From, o.To = takeLargeTime(&rest.from), takeLargeTime(&rest.to)
	switch {
	case o.From == 0 && o.To == 0:
		return s, tool, nil
	case o.From > 0 && rest.to != "":
		return nil, nil, usageError("--from %s is after --to %s", "@"+strconv.FormatUint(o.From, 10), rest.to)
	}
	return &rest, &o, nil
}

// takeLargeTime returns the time that otfprint uses for a time from 2^63 - 1 on, and removes the time from the flag.
// For other times it returns 0.
func takeLargeTime(flag *string) uint64 {
	ticks, own := strings.CutPrefix(*flag, "@")
	n, err := strconv.ParseUint(ticks, 10, 64)
	if !own || err != nil && !errors.Is(err, strconv.ErrRange) || n < math.MaxInt64 {
		return 0
	}
	*flag = ""
	return math.MaxInt64
}

// withoutLargeEnd returns flags without a --to from 2^63 - 1 on, which otf2-print accepts: no event is that late.
func withoutLargeEnd(s *selectionFlags) (*selectionFlags, error) {
	rest := *s
	err := rest.splitWindow()
	takeLargeTime(&rest.to)
	return &rest, err
}
