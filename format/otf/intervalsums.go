package otf

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// Clock returns the clock of the times in r.
func (r TimeRange) Clock() trace.Clock {
	return trace.TicksPerSecond(int64(min(max(r.TicksPerSecond, 1), math.MaxInt64)))
}

// Parse parses a time in the same way as [trace.Clock.ParseTime], which supports 63 bits. If the last
// event is later than that, times are relative to the first event.
func (r TimeRange) Parse(s string) (uint64, error) {
	base := uint64(0)
	if r.Last > math.MaxInt64 && !strings.HasPrefix(strings.TrimSpace(s), "@") {
		base = r.First
	}
	t, err := r.Clock().ParseTime(s, int64(r.First-base), int64(min(r.Last-base, math.MaxInt64)))
	if err != nil {
		return 0, err
	}
	if t < 0 && uint64(-t) > base {
		return 0, fmt.Errorf("time %q: found %s, expected 0 or more", s, plural.Of(t, "tick"))
	}
	return base + uint64(t), nil
}

// ProcessError reports that a name given to [SumInterval] is not the name of exactly one process.
type ProcessError struct {
	Found int
	Names []string // the names of all processes, sorted
}

// Error returns a message with the number of processes that have the name.
func (e *ProcessError) Error() string {
	return fmt.Sprintf("found %s of this name, expected the number or name of one", plural.Of(e.Found, "process",
		"processes"))
}

// ProcessLocations returns the definitions of a trace and the location of each process. In a trace that was converted
// from another format, the id of a location differs from the number of its process, and the processes of resources
// have no location.
func ProcessLocations(ctx context.Context, src format.Source, opt *format.ReadOptions) (*trace.Definitions,
	map[uint64]uint32, error) {
	f, err := Format{}.Open(ctx, src, opt)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	d := f.(*decoder)
	if err := d.Prepare(ctx); err != nil {
		return nil, nil, err
	}
	return d.defs, d.model.locations, nil
}

// SumInterval computes the sums over the events of a process in an interval. process is the number or the name
// of the process. SumInterval calls choose with the time range of the trace, and choose returns the interval.
// The last time of the range is set only if whole is set.
func SumInterval(ctx context.Context, src format.Source, opt *Options, process string, whole bool,
	choose func(TimeRange) (from, to uint64, err error)) (*IntervalSums, error) {
	r, err := Open(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	names, span, err := readNames(ctx, r)
	if err != nil {
		return nil, err
	}
	id, err := names.process(r.Master(), process)
	if err != nil {
		return nil, err
	}
	if err := readSpan(ctx, r, &span, whole); err != nil {
		return nil, err
	}
	q := &IntervalSums{Process: strconv.FormatUint(id, 10), Name: names[nameKey{0, DefProcess, id}],
		ticksPerSecond: max(1, span.TicksPerSecond),
		Functions:      []CallSums{}, FunctionGroups: []CallSums{}, Collectives: []MessageSums{}, Files: []AccessSums{},
		FileGroups: []AccessSums{}}
	if q.From, q.To, err = choose(span); err != nil {
		return nil, err
	}
	list, err := r.Summary(ctx, id, q.From, q.To)
	if err != nil {
		return nil, err
	}
	stream, _ := r.Master().Stream(uint32(id))
	for i := range list {
		q.add(&list[i], names, stream)
	}
	return q, nil
}

type (
	// IntervalSums holds the sums of a process in an interval.
	IntervalSums struct {
		Process        string        `json:"process"`
		Name           string        `json:"name,omitempty"`
		From           uint64        `json:"from"`
		To             uint64        `json:"to"`
		Functions      []CallSums    `json:"functions"`
		FunctionGroups []CallSums    `json:"functionGroups"`
		Messages       MessageSums   `json:"messages"`
		Collectives    []MessageSums `json:"collectives"`
		Files          []AccessSums  `json:"files"`
		FileGroups     []AccessSums  `json:"fileGroups"`
		// Saturated reports that a sum exceeds 64 bits.
		Saturated      bool `json:"saturated,omitempty"`
		ticksPerSecond uint64
	}
	// SumOwner identifies the process, function or other definition to which sums belong.
	SumOwner struct {
		ID   string `json:"id,omitempty"`
		Name string `json:"name,omitempty"`
	}
	// CallSums holds the sums of a function or function group.
	CallSums struct {
		SumOwner
		Count     uint64 `json:"count"`
		Exclusive uint64 `json:"exclusive"`
		Inclusive uint64 `json:"inclusive"`
	}
	// MessageSums holds the sums of messages or of a collective operation.
	MessageSums struct {
		SumOwner
		Sent          uint64 `json:"sent"`
		Received      uint64 `json:"received"`
		SentBytes     uint64 `json:"sentBytes"`
		ReceivedBytes uint64 `json:"receivedBytes"`
	}
	// AccessSums holds the sums of a file or file group.
	AccessSums struct {
		SumOwner
		Opens        uint64 `json:"opens"`
		Closes       uint64 `json:"closes"`
		Reads        uint64 `json:"reads"`
		Writes       uint64 `json:"writes"`
		Seeks        uint64 `json:"seeks"`
		BytesRead    uint64 `json:"bytesRead"`
		BytesWritten uint64 `json:"bytesWritten"`
	}
)

// nameKey identifies a definition: its type, its token, and the stream it belongs to, 0 for global
// ones.
type nameKey struct {
	stream uint32
	typ    Type
	token  uint64
}

type definitionNames map[nameKey]string

// readNames reads the names of definitions and the resolution of the clock.
func readNames(ctx context.Context, r *Reader) (definitionNames, TimeRange, error) {
	names, span := definitionNames{}, TimeRange{TicksPerSecond: 1_000_000} // the format's default
	for d, err := range r.records(ctx, Definitions) {
		if err != nil {
			return nil, span, err
		}
		switch d.Type {
		case DefTimerResolution:
			span.TicksPerSecond = d.TicksPerSecond
		case DefProcess, DefFunction, DefFunctionGroup, DefCollectiveOperation, DefFile, DefFileGroup:
			names[nameKey{d.Stream, d.Type, d.Token}] = trace.ToUTF8(strings.Clone(d.Name))
		}
	}
	return names, span, nil
}

// summed returns the owner of the sums in a record of a stream: the definition with the given type and token.
func (n definitionNames) summed(stream uint32, typ Type, token uint64) SumOwner {
	name, ok := n[nameKey{stream, typ, token}]
	if !ok {
		name = n[nameKey{0, typ, token}]
	}
	return SumOwner{strconv.FormatUint(token, 10), name}
}

// process returns the process with the number s, or else with the name s.
func (n definitionNames) process(m *MasterControl, s string) (uint64, error) {
	if id, err := strconv.ParseUint(s, 10, 32); err == nil {
		if _, ok := m.Stream(uint32(id)); ok {
			return id, nil
		}
	}
	var found []uint64
	var names []string
	for k, name := range n {
		if _, ok := m.Stream(uint32(k.token)); !ok || k.typ != DefProcess {
			continue
		}
		names = append(names, name)
		if name == s {
			found = append(found, k.token)
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) != 1 {
		slices.Sort(names)
		return 0, &ProcessError{len(found), slices.Compact(names)}
	}
	return found[0], nil
}

// readSpan sets the time of the first event. If whole is set, it reads the whole trace and sets the
// time of the last event, too.
func readSpan(ctx context.Context, r *Reader, span *TimeRange, whole bool) error {
	c, err := r.Cursor(ctx, Events)
	if err != nil {
		return err
	}
	defer c.Close()
	if c.Next() {
		span.First, span.Last = c.Record().Time, c.Record().Time
	}
	for whole && c.Next() {
		span.Last = max(span.Last, c.Record().Time)
	}
	return c.Err()
}

// add adds the sums of a summary record. stream is the stream that contains the process.
func (q *IntervalSums) add(r *Record, names definitionNames, stream uint32) {
	calls := func(n SumOwner) CallSums { return CallSums{n, r.Count, r.Exclusive, r.Inclusive} }
	messages := func(n SumOwner) MessageSums { return MessageSums{n, r.SentCount, r.ReceivedCount, r.Sent, r.Received} }
	accesses := func(n SumOwner) AccessSums {
		return AccessSums{n, r.Opens, r.Closes, r.Reads, r.Writes, r.Seeks, r.BytesRead, r.BytesWritten}
	}
	most := max(r.Inclusive, r.Sent, r.Received, r.BytesRead, r.BytesWritten)
	q.Saturated = q.Saturated || most == math.MaxUint64
	switch r.Type {
	case FunctionSummary:
		q.Functions = append(q.Functions, calls(names.summed(stream, DefFunction, r.Function)))
	case FunctionGroupSummary:
		q.FunctionGroups = append(q.FunctionGroups, calls(names.summed(stream, DefFunctionGroup, r.Group)))
	case MessageSummary:
		q.Messages = messages(SumOwner{})
	case CollectiveSummary:
		q.Collectives = append(q.Collectives, messages(names.summed(stream, DefCollectiveOperation, r.Collective)))
	case FileOperationSummary:
		q.Files = append(q.Files, accesses(names.summed(stream, DefFile, r.File)))
	case FileGroupOperationSummary:
		q.FileGroups = append(q.FileGroups, accesses(names.summed(stream, DefFileGroup, r.Group)))
	}
}

// Duration formats a number of ticks as a duration for people. ticks may use all 64 bits.
func (q *IntervalSums) Duration(ticks uint64) string {
	return trace.FormatFloatSeconds(float64(ticks) / float64(q.ticksPerSecond))
}

// String returns the name, or the number if there is no name.
func (n SumOwner) String() string {
	if n.Name == "" {
		return n.ID
	}
	return n.Name
}
