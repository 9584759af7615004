package transform

import "github.com/weft-trace/weft/trace"

// implicitTasks holds the visits of the region of tasks which only show that the implicit task of a thread continues. A
// row before each of them switches to this task.
type implicitTasks struct {
	resumed openRow        // the latest switch, if it was to the implicit task and no visit has begun since then
	visits  []resumedVisit // outermost first
}

// resumedVisit is an open visit, with the row before it that switches to the implicit task. depth is the number of open
// visits around it.
type resumedVisit struct {
	depth int
	seq   int64
	begin openRow
}

// switchTask processes a row that switches to another task.
func (i *implicitTasks) switchTask(x *trace.Cursor) {
	i.resumed = openRow{}
	if x.Op(2) == 0 {
		i.resumed = openRow{x.Kind(), x.Ref(), x.Time(), 0, copyRow(x)}
	}
}

// begin processes the begin of a visit after a switch to the implicit task. s has this visit.
func (i *implicitTasks) begin(d *trace.Definitions, s *state) {
	depth := len(s.regions) - 1
	for n := len(i.visits); n > 0 && i.visits[n-1].depth >= depth; n-- {
		i.visits = i.visits[:n-1]
	}
	if o := &s.regions[depth]; d.IsTask(o.ref) {
		i.visits = append(i.visits, resumedVisit{depth, o.seq, i.resumed})
	}
	i.resumed = openRow{}
}

// before returns the row that switched to the implicit task before an open visit. ok is false if there is none.
func (i *implicitTasks) before(visit *openRow) (begin openRow, ok bool) {
	for _, v := range i.visits {
		if v.seq == visit.seq {
			return v.begin, true
		}
	}
	return openRow{}, false
}
