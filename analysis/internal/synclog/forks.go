package synclog

// setAhead sets the node for times before a parallel region, and packs the calls that have waited for
// it.
func (w *worker) setAhead(l *lane, node int32) error {
	set := func(list []nodeTime) {
		for i := range list {
			if list[i].node == pendingRegion {
				list[i].node = node
			}
		}
	}
	set(l.passed)
	for i := range l.delayed {
		c := &l.delayed[i]
		set(c.before)
		set(c.inside)
		if err := w.write(l, c); err != nil {
			return err
		}
	}
	l.delayed = l.delayed[:0]
	return nil
}

// endFork ends the innermost parallel construct or visit of a team.
func (w *worker) endFork(l *lane) error {
	n := len(l.forks)
	if n == 0 {
		return nil
	}
	l.forks = l.forks[:n-1]
	if n := len(l.forks); n > 0 && l.forks[n-1].node == pendingRegion {
		return nil
	}
	return w.setAhead(l, l.innermost())
}

// addPending adds the times that belong to a parallel region, because the piece of a trace ends before the thread
// enters the region.
func (l *lane) addPending() {
	n := len(l.forks)
	if n == 0 || l.forks[n-1].node != pendingRegion || l.forks[n-1].entered || l.innermost() != -1 {
		return
	}
	add := func(list []nodeTime) {
		for _, t := range list {
			if t.node == pendingRegion {
				l.pending += t.time
			}
		}
	}
	add(l.passed)
	for i := range l.delayed {
		add(l.delayed[i].before)
		add(l.delayed[i].inside)
	}
}

// giveUp packs the calls that wait for a parallel region. The path of the region counts as unknown.
func (w *worker) giveUp(l *lane) error {
	for i := range l.forks {
		if l.forks[i].node == pendingRegion {
			l.forks[i].node = -1
		}
	}
	return w.setAhead(l, l.innermost())
}

// wake ends the time in which a thread sleeps until it works in a team again.
func (l *lane) wake(t int64) {
	if l.asleep {
		if l.worker.times {
			l.addTime(t)
		}
		l.asleep = false
	}
}
