package pallas

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Compat prints the output of pallas_print -T, complete and in order. The tool itself crashes for some
// traces (docs/formats/pallas.md, "pallas_print").
func (Format) Compat(ctx context.Context, src format.Source, opt *format.ReadOptions, p format.Printing,
	w io.Writer) error {
	if p.Tool != nil {
		return format.ErrUnsupported
	}
	if p.Limit == 0 {
		p.Limit = math.MaxInt64
	}
	t, err := Open(src)
	if err != nil {
		return err
	}
	m, err := newModel(t, opt)
	if err != nil {
		return err
	}
	d := &decoder{model: m, opt: opt}
	out := bufio.NewWriterSize(w, 64<<10)
	// The tool prints archives in the order of their ids.
	threads := slices.Concat(d.threads, d.laneThreads)
	slices.SortStableFunc(threads, func(a, b threadID) int { return cmp.Compare(a.archive, b.archive) })
	for _, id := range threads {
		if p.Location != nil {
			if loc, ok := d.location[id]; !ok || !p.Location(loc) {
				continue
			}
		}
		err := d.printThread(ctx, id, &p, out)
		if errors.Is(err, errLimit) {
			break
		}
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

// errLimit ends the printing after the last wanted event.
var errLimit = errors.New("pallas: the limit of printed events is reached")

// printThread prints the events of a thread. It reduces p.Limit by the number of printed events.
func (d *decoder) printThread(ctx context.Context, id threadID, p *format.Printing, w *bufio.Writer) error {
	t, err := d.thread(id, leanThread)
	if t == nil || err != nil {
		return err
	}
	defer t.Close()
	fmt.Fprintf(w, "%21s\n", "Timestamp")
	texts := make([]string, len(t.Events)) // indexed by event; empty for events that are not wanted
	for i := range t.Events {
		if p.Kind == nil || p.Kind(kindOf(t.Events[i].Record)) {
			texts[i] = "    " + t.Archive.Definitions.describe(&t.Events[i]) + "\n"
		}
	}
	var line []byte
	err = t.replay(ctx, true, func(events []uint32, times []uint64) error {
		for i, e := range events {
			at := times[i]
			outside := at <= math.MaxInt64 && (int64(at) < p.From || int64(at) >= p.To && p.To != math.MaxInt64)
			if outside || texts[e] == "" {
				continue
			}
			if p.Limit == 0 {
				return errLimit
			}
			p.Limit--
			line = appendSeconds(line[:0], times[i])
			w.Write(line)
			if _, err := w.WriteString(texts[e]); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errLimit) {
		return err
	}
	return asDefect(d.opt, "pallas.damaged", err)
}

// kindOf returns the kind of a record, or [trace.NoKind] if the common model has no kind for it.
func kindOf(r Record) trace.Kind {
	if int(r) < len(recordKinds) {
		return recordKinds[r].kind
	}
	return trace.NoKind
}

// appendSeconds appends a time in seconds, formatted like a double with %21.9f of printf.
func appendSeconds(b []byte, t uint64) []byte {
	if t < 1<<53 {
		return fmt.Appendf(b, "%11d.%09d", t/1e9, t%1e9)
	}
	return fmt.Appendf(b, "%21.9f", float64(t)/1e9)
}

// describe returns the text of an event as pallas_print prints it.
func (d *Definitions) describe(e *Event) string {
	v, ok := e.Record.Values(e.Payload)
	if !ok {
		return fmt.Sprintf("{.record=%d, .size=%d}", uint32(e.Record), len(e.Payload)+5)
	}
	with := func(names string) string {
		var b strings.Builder
		for i, n := range strings.Fields(names) {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s=%d", n, v[i])
		}
		return b.String()
	}
	switch e.Record {
	case Enter, Leave:
		name, _ := d.RegionName(Ref(v[0]))
		word := "Enter"
		if e.Record == Leave {
			word = "Leave"
		}
		return fmt.Sprintf("%s %d (%s)", word, v[0], name)
	case MPISend:
		return "MPI_SEND(" + with("dest comm tag len") + ")"
	case MPIIsend:
		return "MPI_ISEND(" + with("dest comm tag len req") + ")"
	case MPIIsendComplete, MPIIrecvRequest:
		return e.Record.String() + "(" + with("req") + ")"
	case MPIRecv:
		return "MPI_RECV(" + with("src comm tag len") + ")"
	case MPIIrecv:
		v[4] = v[2] // the tool prints the tag in the place of the length, too
		return "MPI_IRECV(" + with("src comm tag len tag") + ")"
	case MPICollectiveEnd:
		return "MPI_COLLECTIVE_END(" + with("op comm root sent recv") + ")"
	case OMPFork:
		return "OMP_FORK(" + with("nThreads") + ")"
	case ThreadFork:
		return fmt.Sprintf("THREAD_FORK(nThreads= %d)", v[0])
	case ThreadJoin:
		return "THREAD_JOIN"
	case OMPAcquireLock, OMPReleaseLock, ThreadAcquireLock, ThreadReleaseLock:
		return e.Record.String() + "(" + with("lockID") + ")"
	case OMPTaskCreate, OMPTaskSwitch, OMPTaskComplete:
		return e.Record.String() + "(" + with("taskID") + ")"
	case Generic:
		text, _ := d.Text(Ref(v[0]))
		return text
	case Invalid:
		return fmt.Sprintf("{.record=0, .size=%d}", len(e.Payload)+5)
	}
	return e.Record.String() + "()"
}
