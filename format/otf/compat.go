package otf

import (
	"context"
	"fmt"
	"io"
	"maps"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Compat prints the text that otfprint prints. p.Tool may be a [PrintOptions]. The selection of kinds in p
// applies to all records except definitions.
func (Format) Compat(ctx context.Context, src format.Source, opt *format.ReadOptions, p format.Printing,
	w io.Writer) error {
	o, sel := &Options{Read: opt}, p.Selection
	var print PrintOptions
	switch x := p.Tool.(type) {
	case nil:
	case *PrintOptions:
		print = *x
	default:
		return format.ErrUnsupported
	}
	if p.Limit > 0 {
		print.Events = p.Limit
	}
	if p.Kind != nil {
		wanted := print.Wanted
		print.Wanted = func(t Type) bool {
			defines := t.Part() == Definitions && t != Unknown || t == DefMarker
			return (wanted == nil || wanted(t)) && (defines || p.Kind(kindOf(t)))
		}
		sel.Kind = nil
	}
	if !sel.All() {
		d, ok := p.File.(*decoder)
		if !ok {
			f, err := Format{}.Open(ctx, src, &format.ReadOptions{Values: OwnRecords(opt.Values)})
			if err != nil {
				return err
			}
			defer f.Close()
			d = f.(*decoder)
		}
		m := d.model
		if from, ok := m.clock.toFile(sel.From); ok {
			o.From = from
		}
		if to, ok := m.clock.toFile(sel.To); ok {
			if o.To = to; to == 0 {
				o.From, o.To = 1, 1 // an empty selection
			}
		}
		if sel.Location != nil {
			o.Processes = func(process uint64) bool {
				i, ok := m.locations[process]
				return ok && sel.Location(i)
			}
		}
	}
	if print.From > 0 {
		o.From = print.From
	}
	if print.To > 0 {
		o.To = print.To
	}
	return PrintCompat(ctx, src, o, &print, w)
}

// OwnRecords returns options with which a reader delivers the processes and times of OTF's own records,
// unless values choose otherwise.
func OwnRecords(values map[string]string) map[string]string {
	own := map[string]string{CarriedOption: "false"}
	maps.Copy(own, values)
	return own
}

// kindOf returns the kind of event that records of a type become, or [trace.NoKind] for definitions.
func kindOf(t Type) trace.Kind {
	switch t {
	case Enter:
		return trace.Enter
	case Leave:
		return trace.Leave
	case Counter:
		return trace.Metric
	case EventComment, SnapshotComment, SummaryComment:
		return trace.Comment
	case Unknown:
		return trace.Generic
	}
	return eventModels[t].kind
}

// PrintOptions select what [PrintCompat] prints, like the flags of otfprint. The zero PrintOptions
// print everything, including the contents of byte arrays.
type PrintOptions struct {
	// First and Last are the numbers of the first and last record to print (otfprint --num). A Last of 0 means
	// no bound. Only selected records are numbered.
	First, Last int64
	// Omit selects the parts to leave out, by [Part] (--nodef, --noevent, --nosnap, --nostat and
	// --nomarker).
	Omit [numParts]bool
	// Wanted reports whether records of a type are printed (--records); nil selects all.
	Wanted func(Type) bool
	// Pairs selects how the values of key-value pairs are printed (--nokeyvalue, --fullkeyvalue).
	Pairs PairText
	// From and To are times in ticks of the file (--time), in place of those of the selection, or 0. To is exclusive.
	From, To uint64
	// Events is the maximum number of events to print; 0 means all. Printing ends after these events. otfprint
	// has no such flag.
	Events int64
}

// PairText is the way in which the values of key-value pairs are printed.
type PairText uint8

// These values choose how key-value pairs are printed.
const (
	FullPairs  PairText = iota // print the bytes of arrays
	ShortPairs                 // print only the lengths of arrays
	NoPairs
)

// PrintCompat writes the text that libotf's otfprint prints for the trace, including its errors. It
// leaves out the line with the running time. print may be nil.
func PrintCompat(ctx context.Context, src format.Source, opt *Options, print *PrintOptions, w io.Writer) error {
	o := Options{}
	if opt != nil {
		o = *opt
	}
	o.AsLibrary, o.printing = true, true
	if o.Files == nil {
		values := map[string]string(nil)
		if o.Read != nil {
			values = o.Read.Values
		}
		var err error
		if o.Files, err = FileManagerOf(values); err != nil {
			return err
		}
	}
	r, err := Open(ctx, src, &o)
	if err != nil {
		return err
	}
	p := printer{shortNumbers: smallTexts()}
	if print != nil {
		p.opt = *print
	}
	for _, x := range []struct {
		part  Part
		title string
	}{
		{Definitions, "definitions"}, {Events, "events"}, {Statistics, "statistics"}, {Snapshots, "snapshots"},
		{Markers, "markers"},
	} {
		if p.opt.Omit[x.part] {
			continue
		}
		if _, err := fmt.Fprintf(w, "\n%s:\n\n", x.title); err != nil {
			return err
		}
		c, err := r.Cursor(ctx, x.part)
		if err != nil {
			return err
		}
		err = p.printPart(c, w)
		c.Close()
		if err != nil {
			return err
		}
		if c.Err() != nil {
			return c.Err()
		}
		if c.stopped && x.part != Events {
			return nil // otfprint also ends here without an error
		}
		if p.done || x.part == Events && p.opt.Events > 0 && p.events == p.opt.Events {
			break
		}
	}
	_, err = io.WriteString(w, "\ndone\n")
	return err
}
