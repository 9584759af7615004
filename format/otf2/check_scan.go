package otf2

import (
	"github.com/weft-trace/weft/format"
)

// eventCheck checks the events of a location while the decoder has their bytes in memory. It reports
// nothing. It stops at the first defect; [checker.Finish] then reads the location again and reports all
// defects. A nil eventCheck checks nothing.
type eventCheck struct {
	*eventChecker
	read   func(*eventChecker) // called after the last event
	report *format.Report
	defect bool
}

// newEventCheck returns a check of the location's events. It returns nil if no checker is active, or if the
// scan does not read all events.
func (lr *locationReader) newEventCheck() *eventCheck {
	c, id := lr.d.checker.Load(), lr.id
	if c == nil || lr.r.start > 0 || lr.r.c.end > 0 || lr.d.opt.Value("otf2.raw-clocks", "false") == "true" {
		return nil
	}
	quiet, opt := *c, *c.opt
	opt.Report, opt.Strict = format.NewReport(), true
	quiet.opt = &opt
	return &eventCheck{eventChecker: newEventChecker(&quiet, lr.r, id), report: opt.Report,
		read: func(e *eventChecker) { c.read.Store(id, e) }}
}

// add checks an event that the decoder has read completely. If err is not nil, add stops the check.
func (k *eventCheck) add(e *Event, err error) {
	if k == nil || k.defect {
		return
	}
	k.defect = err != nil || k.eventChecker.add(e) != nil
}

// end passes the numbers of all events to the checker if none of the events has a defect.
func (k *eventCheck) end(r *EventReader) {
	if k == nil || k.defect || r.stop > 0 || len(k.report.Rules()) > 0 {
		return
	}
	file := *r.c
	file.f, file.part, file.room = nil, nil, nil
	k.plain.r = &EventReader{c: &file}
	k.read(k.eventChecker)
}

// fillChecked calls fillFast and checks the events that fillFast has added, while their bytes are still in
// memory.
func (lr *locationReader) fillChecked() error {
	if lr.check == nil || lr.check.defect {
		return lr.fillFast()
	}
	r := lr.r
	at, time, number := r.c.offset(), r.time, r.number
	var before, after clock
	if r.clock != nil {
		before = *r.clock
	}
	if err := lr.fillFast(); err != nil {
		return err
	}
	to, saved := r.c.offset(), *r
	if to == at {
		return nil
	}
	if r.clock != nil {
		after, *r.clock = *r.clock, before
	}
	r.c.seek(at)
	r.time, r.number = time, number
	for k := lr.check; !k.defect; {
		k.plain.read(&k.count, &k.times, to)
		if r.c.offset() >= to {
			break
		}
		k.add(r.Next())
	}
	*r = saved
	if r.clock != nil {
		*r.clock = after
	}
	r.c.seek(to)
	return nil
}
