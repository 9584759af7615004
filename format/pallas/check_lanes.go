package pallas

import "context"

// checkLanes checks the threads for lanes of resources. No scan reads these threads, because they serve other tools. If
// the file of a thread is damaged, checkLanes does not compare its contents.
func (c *checker) checkLanes(ctx context.Context) error {
	if len(c.d.laneThreads) == 0 {
		return nil
	}
	w := &checker{d: c.d, opt: c.opt, r: newBlockReader(c.d.t.Parameters), lane: true}
	defer w.r.close()
	for _, id := range c.d.laneThreads {
		t, err := c.d.thread(id, wholeThread)
		if err == nil && t != nil && t.whole {
			if bad := newOutline(t).err; bad != nil {
				err = asDefect(c.opt, "pallas.grammar", bad)
			}
			if err == nil {
				err = w.checkThread(ctx, t)
			}
			t.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
