package otf

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Clock is the clock of the times.
func (r TimeRange) Clock() trace.Clock {
	return trace.Seconds(int64(min(max(r.TicksPerSecond, 1), math.MaxInt64)))
}

// Parse reads a time as [trace.Clock.ParseTime] does. That has 63 bits; times beyond count
// from the first event only.
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
		return 0, fmt.Errorf("time %q: found %d ticks, expected 0 or more", s, t)
	}
	return base + uint64(t), nil
}

// ProcessError is the error of [SumUp] for a name that is not that of one process.
type ProcessError struct{ Found int }

// Error says how many have the name.
func (e *ProcessError) Error() string {
	return fmt.Sprintf("found %d processes of this name, expected the number or name of one", e.Found)
}

// SumUp sums up what a process, which is given by its number or else its name, did in an interval.
// choose chooses the interval of the times of the trace, of which the last one is known if whole is set.
func SumUp(ctx context.Context, src format.Source, opt *Options, process string, whole bool, choose func(TimeRange) (from, to uint64, err error)) (*IntervalSums, error) {
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
	q := &IntervalSums{Process: strconv.FormatUint(id, 10), Name: names[nameKey{0, DefProcess, id}], ticksPerSecond: max(1, span.TicksPerSecond),
		Functions: []CallSums{}, FunctionGroups: []CallSums{}, Collectives: []MessageSums{}, Files: []AccessSums{}, FileGroups: []AccessSums{}}
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
	// IntervalSums is what a process did in an interval.
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
		ticksPerSecond uint64
	}
	// Summed is what figures are of.
	Summed struct {
		ID   string `json:"id,omitempty"`
		Name string `json:"name,omitempty"`
	}
	// CallSums are the calls of a function or function group.
	CallSums struct {
		Summed
		Count     uint64 `json:"count"`
		Exclusive uint64 `json:"exclusive"`
		Inclusive uint64 `json:"inclusive"`
	}
	// MessageSums are messages, or a collective operation.
	MessageSums struct {
		Summed
		Sent          uint64 `json:"sent"`
		Received      uint64 `json:"received"`
		SentBytes     uint64 `json:"sentBytes"`
		ReceivedBytes uint64 `json:"receivedBytes"`
	}
	// AccessSums are the accesses to a file or file group.
	AccessSums struct {
		Summed
		Opens        uint64 `json:"opens"`
		Closes       uint64 `json:"closes"`
		Reads        uint64 `json:"reads"`
		Writes       uint64 `json:"writes"`
		Seeks        uint64 `json:"seeks"`
		BytesRead    uint64 `json:"bytesRead"`
		BytesWritten uint64 `json:"bytesWritten"`
	}
)

// nameKey is what has a name: a token of a type of definition, in a stream, 0 for all.
type nameKey struct {
	stream uint32
	typ    Type
	token  uint64
}

type naming map[nameKey]string

// readNames reads the names of what is summed up, and the resolution.
func readNames(ctx context.Context, r *Reader) (naming, TimeRange, error) {
	names, span := naming{}, TimeRange{TicksPerSecond: 1_000_000} // the format's own word
	c, err := r.Cursor(ctx, Definitions)
	if err != nil {
		return nil, span, err
	}
	defer c.Close()
	for c.Next() {
		switch d := c.Record(); d.Type {
		case DefTimerResolution:
			span.TicksPerSecond = d.TicksPerSecond
		case DefProcess, DefFunction, DefFunctionGroup, DefCollectiveOperation, DefFile, DefFileGroup:
			names[nameKey{d.Stream, d.Type, d.Token}] = trace.Text(strings.Clone(d.Name))
		}
	}
	return names, span, c.Err()
}

// of names something that a record of a stream tells of.
func (n naming) of(stream uint32, typ Type, token uint64) Summed {
	name, ok := n[nameKey{stream, typ, token}]
	if !ok {
		name = n[nameKey{0, typ, token}]
	}
	return Summed{strconv.FormatUint(token, 10), name}
}

// process finds a process by its number, or else by its name.
func (n naming) process(m *MasterControl, s string) (uint64, error) {
	if id, err := strconv.ParseUint(s, 10, 32); err == nil {
		if _, ok := m.Stream(uint32(id)); ok {
			return id, nil
		}
	}
	var found []uint64
	for k, name := range n {
		if _, ok := m.Stream(uint32(k.token)); ok && k.typ == DefProcess && name == s {
			found = append(found, k.token)
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) != 1 {
		return 0, &ProcessError{len(found)}
	}
	return found[0], nil
}

// readSpan finds the time of the first event, and that of the last one if the whole trace
// is to be read for it.
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

// add takes a record of the sums of a process of a stream.
func (q *IntervalSums) add(r *Record, names naming, stream uint32) {
	calls := func(n Summed) CallSums { return CallSums{n, r.Count, r.Exclusive, r.Inclusive} }
	messages := func(n Summed) MessageSums { return MessageSums{n, r.SentCount, r.ReceivedCount, r.Sent, r.Received} }
	accesses := func(n Summed) AccessSums {
		return AccessSums{n, r.Opens, r.Closes, r.Reads, r.Writes, r.Seeks, r.BytesRead, r.BytesWritten}
	}
	switch r.Type {
	case FunctionSummary:
		q.Functions = append(q.Functions, calls(names.of(stream, DefFunction, r.Function)))
	case FunctionGroupSummary:
		q.FunctionGroups = append(q.FunctionGroups, calls(names.of(stream, DefFunctionGroup, r.Group)))
	case MessageSummary:
		q.Messages = messages(Summed{})
	case CollectiveSummary:
		q.Collectives = append(q.Collectives, messages(names.of(stream, DefCollectiveOperation, r.Collective)))
	case FileOperationSummary:
		q.Files = append(q.Files, accesses(names.of(stream, DefFile, r.File)))
	case FileGroupOperationSummary:
		q.FileGroups = append(q.FileGroups, accesses(names.of(stream, DefFileGroup, r.Group)))
	}
}

// Duration writes a length for people; it may have all 64 bits.
func (q *IntervalSums) Duration(ticks uint64) string {
	return trace.FormatFloatSeconds(float64(ticks) / float64(q.ticksPerSecond))
}

// String is the name, or the number of what has none.
func (n Summed) String() string {
	if n.Name == "" {
		return n.ID
	}
	return n.Name
}
