package serve

import (
	"context"
	"sync"
	"time"
)

// answers makes the answers that take long: each once for all who wait for it, a few at a
// time, and keeps the last ones.
type answers struct {
	ctx   context.Context
	start func(func()) bool // runs in the background, unless that has ended
	slots chan struct{}
	limit int // bytes that are kept

	mu      sync.Mutex
	running map[string]*run
	kept    map[string]*kept
	bytes   int
	clock   int64 // grows with each use

	queueTime time.Duration // queueTime, but in tests
}

// run is an answer in the making.
type run struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{}
	value   []byte
	err     error
}

// kept is an answer that was given.
type kept struct {
	value []byte
	used  int64
}

// queueTime is how long an answer waits for its turn before the client is told to come
// again.
const queueTime = 5 * time.Second

// get gives the answer of a name; f makes it if nobody has. f goes on as long as anybody
// waits.
func (a *answers) get(ctx context.Context, name string, f func(context.Context) ([]byte, error)) ([]byte, error) {
	a.mu.Lock()
	if k := a.kept[name]; k != nil {
		a.clock++
		k.used = a.clock
		a.mu.Unlock()
		return k.value, nil
	}
	r := a.running[name]
	if r == nil {
		inner, cancel := context.WithTimeout(a.ctx, slowTimeout)
		r = &run{cancel: cancel, done: make(chan struct{})}
		a.running[name] = r
		if !a.start(func() { a.make(inner, name, r, f) }) {
			cancel()
			delete(a.running, name)
			a.mu.Unlock()
			return nil, context.Canceled
		}
	}
	r.waiting++
	a.mu.Unlock()
	select {
	case <-r.done:
		a.leave(name, r)
		return r.value, r.err
	case <-ctx.Done():
		a.leave(name, r)
		return nil, ctx.Err()
	}
}

// leave says that one waits no more; the last one stops the work.
func (a *answers) leave(name string, r *run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.waiting--; r.waiting == 0 {
		r.cancel()
		if a.running[name] == r {
			delete(a.running, name) // who comes now begins anew
		}
	}
}

func (a *answers) make(ctx context.Context, name string, r *run, f func(context.Context) ([]byte, error)) {
	defer r.cancel()
	wait := time.NewTimer(a.queueTime)
	defer wait.Stop()
	select {
	case a.slots <- struct{}{}:
		r.err = guarded(func() (err error) {
			defer func() { <-a.slots }()
			r.value, err = f(ctx)
			return err
		})
	case <-wait.C:
		r.err = unavailable("too many analyses at once")
	case <-ctx.Done():
		r.err = ctx.Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running[name] == r {
		delete(a.running, name)
	}
	if r.err == nil {
		a.keep(name, r.value)
	}
	close(r.done)
}

// keep keeps an answer, and drops those that were not used for longest.
func (a *answers) keep(name string, value []byte) {
	if len(value) > a.limit/4 {
		return
	}
	if old := a.kept[name]; old != nil {
		a.bytes -= len(old.value)
	}
	a.clock++
	a.kept[name] = &kept{value, a.clock}
	a.bytes += len(value)
	for a.bytes > a.limit {
		oldest := ""
		for n, k := range a.kept {
			if oldest == "" || k.used < a.kept[oldest].used {
				oldest = n
			}
		}
		a.bytes -= len(a.kept[oldest].value)
		delete(a.kept, oldest)
	}
}
