package otf

import (
	"slices"
	"strings"
)

// Grouping maps functions and files to their groups, and collective operations to their kinds. A
// [State] uses it to compute sums. Without definitions, functions and files have group 0, and the kind
// of collective operations is unknown.
type Grouping struct {
	// Global is searched for tokens that this Grouping does not define. It may be nil.
	Global *Grouping

	function, file, collective map[uint64]uint64
	// carried contains the keys of pairs that only weft uses. Such a pair belongs to its event, and snapshots
	// do not repeat it.
	carried map[uint64]uint64
}

// Define adds a definition. It ignores definitions of other types. A later definition of the same token
// replaces the earlier definition.
func (g *Grouping) Define(r *Record) {
	set := func(m *map[uint64]uint64, v uint64) {
		if *m == nil {
			*m = map[uint64]uint64{}
		}
		(*m)[r.Token] = v
	}
	switch r.Type {
	case DefFunction:
		set(&g.function, r.Group)
	case DefFile:
		set(&g.file, r.Group)
	case DefCollectiveOperation:
		set(&g.collective, r.Kind)
	case DefKeyValue:
		if strings.HasPrefix(r.Name, carriedName) {
			set(&g.carried, 1)
		}
	}
}

// find looks up a token in one of the tables, first in g and then in g.Global.
func (g *Grouping) find(table func(*Grouping) map[uint64]uint64, token uint64) uint64 {
	if v, ok := table(g)[token]; ok || g.Global == nil {
		return v
	}
	return g.Global.find(table, token)
}

func functionGroupsOf(g *Grouping) map[uint64]uint64  { return g.function }
func fileGroupsOf(g *Grouping) map[uint64]uint64      { return g.file }
func carriedKeysOf(g *Grouping) map[uint64]uint64     { return g.carried }
func collectiveKindsOf(g *Grouping) map[uint64]uint64 { return g.collective }

// State replays the events of one process. At each time it holds the open calls, messages and operations, for
// snapshots, and the sums so far, for summaries. The memory grows with the number of calls, messages and
// operations that are open at the same time, and with the number of functions, counters and files. It does not
// grow with the number of events.
type State struct {
	process uint64
	group   *Grouping
	now     uint64 // time of the last event, in ticks
	counted uint64 // time up to which the exclusive time of the function on top of the stack is complete

	stack       []frame
	sends       openTable[pendingSend]
	files       openTable[openFile]       // open files by handle
	collectives openTable[openCollective] // open collective operations by matching id
	operations  openTable[openOperation]  // open file operations by matching id
	counters    tokenTable[counterValue]
	collected   tokenTable[uint64] // sums of collective operations by communicator

	functions tokenTable[callSum]
	messages  transferSum
	transfers tokenTable[transferSum] // sums of collective operations by operation
	accesses  tokenTable[accessSum]   // sums of file operations by file
}

// repeatedEvent is the part of an event that its record in a snapshot repeats.
type repeatedEvent struct {
	time, scl uint64
	pairs     []KeyValue
}

// frame is a function that has been entered and not left.
type frame struct {
	repeatedEvent
	sum  *tokenEntry[callSum]
	from uint64 // time in ticks from which the inclusive time of the function counts
}

type pendingSend struct {
	repeatedEvent
	peer, communicator, tag, length uint64
}

type openFile struct {
	repeatedEvent
	file, handle uint64
}

type openCollective struct {
	repeatedEvent
	collective, matching, communicator, root, sent, received uint64
}

type openOperation struct {
	repeatedEvent
	matching uint64
}

// counterValue is the last value of a counter.
type counterValue struct {
	repeatedEvent
	value uint64
}

type callSum struct {
	count, exclusive uint64
	inclusive        wideSum
}

type transferSum struct {
	sentCount, receivedCount uint64
	sent, received           wideSum
}

type accessSum struct {
	opens, closes, reads, writes, seeks uint64
	bytesRead, bytesWritten             wideSum
}

// NewState returns the state of a process before its first event. The state retains g, which must not change
// while the state is in use. A nil g means an empty Grouping.
func NewState(process uint64, g *Grouping) *State {
	if g == nil {
		g = &Grouping{}
	}
	return &State{process: process, group: g}
}

// Event replays an event of the process. Times must not decrease: for an earlier time, Event returns an
// [OrderError]. Event ignores records that are not events, and ends of operations that have not begun. A leave
// ends the function on top of the stack even if it names another one, as in otfaux.
func (s *State) Event(r *Record) error {
	if r.Time < s.now {
		return &OrderError{r.Type, r.Time, s.now}
	}
	s.now = r.Time
	switch r.Type {
	case Enter:
		s.addExclusive(r.Time)
		f := s.functions.at(r.Function)
		f.v.count++
		s.stack = append(s.stack, frame{s.repeat(r, r.Time), f, r.Time})
	case Leave:
		if len(s.stack) == 0 {
			break
		}
		s.addExclusive(r.Time)
		top := len(s.stack) - 1
		f := &s.stack[top]
		f.sum.v.inclusive.add(r.Time - f.from)
		*f = frame{}
		s.stack = s.stack[:top]
	case SendMsg:
		s.messages.sentCount++
		s.messages.sent.add(r.Length)
	case RecvMsg:
		s.messages.receivedCount++
		s.messages.received.add(r.Length)
	case Counter:
		s.counters.at(r.Counter).v = counterValue{s.repeat(r, r.Time), r.Value}
	case CollectiveOperation:
		s.countCollective(&openCollective{collective: r.Collective, communicator: r.Communicator, root: r.Root, sent: r.Sent,
			received: r.Received})
	case BeginCollective:
		s.collectives.begin(r.Matching, s.collectiveOf(r, r.Time))
	case EndCollective:
		if c, ok := s.collectives.end(r.Matching); ok {
			s.countCollective(&c)
		}
	case FileOperation:
		s.countAccess(r)
	case BeginFileOperation:
		s.operations.begin(r.Matching, openOperation{s.repeat(r, r.Time), r.Matching})
	case EndFileOperation:
		s.operations.end(r.Matching)
		s.countAccess(r)
	}
	return nil
}

// repeat returns the part of an event that later snapshots repeat.
func (s *State) repeat(r *Record, time uint64) repeatedEvent {
	h := repeatedEvent{time: time, scl: r.SCL}
	for _, v := range r.KeyValues {
		if s.group.find(carriedKeysOf, uint64(v.Key)) == 0 {
			v.Bytes = slices.Clone(v.Bytes)
			h.pairs = append(h.pairs, v)
		}
	}
	return h
}

func (s *State) collectiveOf(r *Record, time uint64) openCollective {
	return openCollective{s.repeat(r, time), r.Collective, r.Matching, r.Communicator, r.Root, r.Sent, r.Received}
}

// addExclusive adds the time since the last call of addExclusive to the exclusive time of the function on top
// of the stack.
func (s *State) addExclusive(t uint64) {
	if n := len(s.stack); n > 0 {
		s.stack[n-1].sum.v.exclusive += t - s.counted
	}
	s.counted = t
}

// The kinds of collective operations, from DefCollectiveOperation.
const (
	barrier  = 1
	oneToAll = 2
	allToOne = 3
	allToAll = 4
)

// countCollective counts a collective operation that has ended. The kind of the operation determines whether
// the process has sent data, received data, or both. Like otfaux, countCollective counts a barrier as data
// sent only.
func (s *State) countCollective(c *openCollective) {
	s.collected.at(c.communicator).v++
	x := &s.transfers.at(c.collective).v
	x.sent.add(c.sent)
	x.received.add(c.received)
	root := c.root == s.process
	switch kind := s.group.find(collectiveKindsOf, c.collective); kind {
	case barrier, oneToAll, allToOne, allToAll:
		if root || kind != oneToAll {
			x.sentCount++
		}
		if root && kind != barrier || kind == oneToAll || kind == allToAll {
			x.receivedCount++
		}
	}
}

// The operations on files (FileOperation), and masks of their bits.
const (
	fileOpen       = 0
	fileClose      = 1
	fileRead       = 2
	fileWrite      = 3
	fileSeek       = 4
	fileOperations = 31 // mask of the operation
	fileFailed     = 32
)

// countAccess counts an operation on a file. A failed open does not open a file, but otfaux still writes a
// snapshot of it.
func (s *State) countAccess(r *Record) {
	op, good := r.Operation&fileOperations, r.Operation&fileFailed == 0
	if op > fileSeek {
		return
	}
	x := &s.accesses.at(r.File).v
	switch op {
	case fileOpen:
		x.opens++
		if good {
			s.files.begin(r.Handle, openFile{s.repeat(r, r.Time), r.File, r.Handle})
		}
	case fileClose:
		x.closes++
		if good {
			s.files.end(r.Handle)
		}
	case fileRead:
		x.reads++
		x.bytesRead.add(r.Bytes)
	case fileWrite:
		x.writes++
		x.bytesWritten.add(r.Bytes)
	case fileSeek:
		x.seeks++
	}
}

// Pend marks a message that the process has sent as pending. Only the events of other processes show whether a
// message is received, so the caller decides whether to call Pend. The returned id is for [State.Deliver].
func (s *State) Pend(send *Record) (id uint64) {
	id = s.sends.last
	s.sends.begin(id, pendingSend{s.repeat(send, send.Time), send.Peer, send.Communicator, send.Tag, send.Length})
	return id
}

// Deliver marks a message as received, so that it is not pending any more.
func (s *State) Deliver(id uint64) { s.sends.end(id) }

// Restore sets the state from the records of a snapshot and of the statistics of one time. The caller calls it
// for each of these records, and the replay then begins at that time. The functions on the stack count their
// time from then on, because the statistics already contain the earlier time.
func (s *State) Restore(r *Record) {
	s.now, s.counted = r.Time, r.Time
	switch r.Type {
	case EnterSnapshot:
		s.stack = append(s.stack, frame{s.repeat(r, r.OriginalTime), s.functions.at(r.Function), r.Time})
	case SendSnapshot:
		s.sends.begin(s.sends.last, pendingSend{s.repeat(r, r.OriginalTime), r.Peer, r.Communicator, r.Tag, r.Length})
	case OpenFileSnapshot:
		s.files.begin(r.Handle, openFile{s.repeat(r, r.OriginalTime), r.File, r.Handle})
	case BeginCollectiveSnapshot:
		s.collectives.begin(r.Matching, s.collectiveOf(r, r.OriginalTime))
	case BeginFileOperationSnapshot:
		s.operations.begin(r.Matching, openOperation{s.repeat(r, r.OriginalTime), r.Matching})
	case CollectiveCountSnapshot:
		s.collected.at(r.Communicator).v = r.Count
	case CounterSnapshot:
		s.counters.at(r.Counter).v = counterValue{s.repeat(r, r.OriginalTime), r.Value}
	case FunctionSummary:
		s.functions.at(r.Function).v = callSum{r.Count, r.Exclusive, wideSum{lo: r.Inclusive}}
	case MessageSummary:
		s.messages = r.transferSum()
	case CollectiveSummary:
		s.transfers.at(r.Collective).v = r.transferSum()
	case FileOperationSummary:
		s.accesses.at(r.File).v = accessSum{r.Opens, r.Closes, r.Reads, r.Writes, r.Seeks,
			wideSum{lo: r.BytesRead}, wideSum{lo: r.BytesWritten}}
	}
}

// Snapshot calls put with the records of a snapshot at time t: all calls, messages and operations that are
// open. Events at time t do not count, and must not have been replayed yet. The records of each kind are in
// the order in which their entries began, with the bottom of the stack first. Counts and counters are in the
// order of their tokens. A record is valid during the call. An error of put ends the snapshot.
func (s *State) Snapshot(t uint64, put func(*Record) error) error {
	o, err := s.output(t, EnterSnapshot, func(r *Record, _ [2]uint64) error { return put(r) })
	if err != nil {
		return err
	}
	r := &o.rec
	for i := range s.stack {
		f := &s.stack[i]
		r.Function = f.sum.token
		o.repeat(EnterSnapshot, &f.repeatedEvent)
	}
	for _, x := range s.sends.list() {
		r.Peer, r.Communicator, r.Tag, r.Length = x.peer, x.communicator, x.tag, x.length
		o.repeat(SendSnapshot, &x.repeatedEvent)
	}
	for _, x := range s.files.list() {
		r.File, r.Handle = x.file, x.handle
		o.repeat(OpenFileSnapshot, &x.repeatedEvent)
	}
	for _, x := range s.collectives.list() {
		r.Collective, r.Matching, r.Communicator, r.Root, r.Sent, r.Received = x.collective, x.matching, x.communicator,
			x.root, x.sent, x.received
		o.repeat(BeginCollectiveSnapshot, &x.repeatedEvent)
	}
	for _, x := range s.collected.all() {
		r.Communicator, r.Count = x.token, x.v
		o.put(CollectiveCountSnapshot)
	}
	for _, x := range s.operations.list() {
		r.Matching = x.matching
		o.repeat(BeginFileOperationSnapshot, &x.repeatedEvent)
	}
	for _, x := range s.counters.all() {
		r.Counter, r.Value = x.token, x.v.value
		o.repeat(CounterSnapshot, &x.v.repeatedEvent)
	}
	return o.err
}

// Summary calls put with the records of a summary at time t: the sums from the beginning up to t. Events at
// time t do not count, and must not have been replayed yet. Functions that are running at t count with their
// time up to t. The records of each kind are in the order of their tokens.
//
// As in otfaux, the inclusive time of a function is the sum over its calls, and the inclusive time of a group
// is the sum over its functions, so time in recursive calls counts more than once. Messages are summed over
// all peers, communicators and tags, and collective operations over all communicators; these fields of the
// records are 0. Sums beyond 64 bits wrap around, as in otfaux. A record is valid during the call. An error of put ends
// the summary.
func (s *State) Summary(t uint64, put func(*Record) error) error {
	return s.wideSummary(t, func(r *Record, _ [2]uint64) error { return put(r) })
}

// wideSummary is [State.Summary] with the high halves of the sums of 128 bits: of the inclusive time, or of the
// bytes sent or read and the bytes received or written.
func (s *State) wideSummary(t uint64, put func(r *Record, high [2]uint64) error) error {
	o, err := s.output(t, FunctionSummary, put)
	if err != nil {
		return err
	}
	r := &o.rec
	s.addExclusive(t)
	running := map[*tokenEntry[callSum]]wideSum{}
	for i := range s.stack {
		x := running[s.stack[i].sum]
		x.add(t - s.stack[i].from)
		running[s.stack[i].sum] = x
	}
	var groups tokenTable[callSum]
	for _, x := range s.functions.all() {
		v := x.v
		v.inclusive.addWide(running[x])
		g := &groups.at(s.group.find(functionGroupsOf, x.token)).v
		g.count += v.count
		g.exclusive += v.exclusive
		g.inclusive.addWide(v.inclusive)
		r.Function = x.token
		v.fill(o)
		o.put(FunctionSummary)
	}
	for _, x := range groups.all() {
		r.Group = x.token
		x.v.fill(o)
		o.put(FunctionGroupSummary)
	}
	if s.messages.sentCount+s.messages.receivedCount > 0 {
		s.messages.fill(o)
		o.put(MessageSummary)
	}
	for _, x := range s.transfers.all() {
		r.Collective = x.token
		x.v.fill(o)
		o.put(CollectiveSummary)
	}
	var fileGroups tokenTable[accessSum]
	for _, x := range s.accesses.all() {
		fileGroups.at(s.group.find(fileGroupsOf, x.token)).v.add(&x.v)
		r.File = x.token
		x.v.fill(o)
		o.put(FileOperationSummary)
	}
	for _, x := range fileGroups.all() {
		r.Group = x.token
		x.v.fill(o)
		o.put(FileGroupOperationSummary)
	}
	return o.err
}

func (c *callSum) fill(o *recordOutput) {
	r := &o.rec
	r.Count, r.Exclusive, r.Inclusive = c.count, c.exclusive, c.inclusive.lo
	o.high[0] = c.inclusive.hi
}

func (t *transferSum) fill(o *recordOutput) {
	r := &o.rec
	r.SentCount, r.ReceivedCount, r.Sent, r.Received = t.sentCount, t.receivedCount, t.sent.lo, t.received.lo
	o.high = [2]uint64{t.sent.hi, t.received.hi}
}

// transferSum returns the sums of a record.
func (r *Record) transferSum() transferSum {
	return transferSum{r.SentCount, r.ReceivedCount, wideSum{lo: r.Sent}, wideSum{lo: r.Received}}
}

func (a *accessSum) fill(o *recordOutput) {
	r := &o.rec
	r.Opens, r.Closes, r.Reads, r.Writes, r.Seeks = a.opens, a.closes, a.reads, a.writes, a.seeks
	r.BytesRead, r.BytesWritten = a.bytesRead.lo, a.bytesWritten.lo
	o.high = [2]uint64{a.bytesRead.hi, a.bytesWritten.hi}
}

func (a *accessSum) add(y *accessSum) {
	a.opens += y.opens
	a.closes += y.closes
	a.reads += y.reads
	a.writes += y.writes
	a.seeks += y.seeks
	a.bytesRead.addWide(y.bytesRead)
	a.bytesWritten.addWide(y.bytesWritten)
}

// recordOutput passes records with the same time to a function until the function returns an error.
type recordOutput struct {
	rec     Record    // the next record, except for its type
	high    [2]uint64 // see State.wideSummary
	time    uint64
	process uint64
	to      func(*Record, [2]uint64) error
	err     error
}

func (s *State) output(t uint64, first Type, to func(*Record, [2]uint64) error) (*recordOutput, error) {
	if t < s.now {
		return nil, &OrderError{first, t, s.now}
	}
	return &recordOutput{time: t, process: s.process, to: to}, nil
}

func (o *recordOutput) put(typ Type) {
	if o.err == nil {
		o.rec.Type, o.rec.Time, o.rec.Process = typ, o.time, o.process
		o.err = o.to(&o.rec, o.high)
	}
	o.rec, o.high = Record{}, [2]uint64{}
}

// repeat writes a record of a snapshot for an earlier event, with the original time, source line and pairs
// of that event.
func (o *recordOutput) repeat(typ Type, h *repeatedEvent) {
	o.rec.OriginalTime, o.rec.SCL, o.rec.KeyValues = h.time, h.scl, h.pairs
	o.put(typ)
}
