package serve

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// answerCache computes answers that take long, and keeps the latest answers. Requests for the same answer
// share one computation. The number of simultaneous computations is limited.
type answerCache struct {
	ctx   context.Context
	start func(func()) bool // runs a function in the background; returns false if the server is closed
	slots chan struct{}
	limit int // limit on the total size of the answers that are kept, in bytes

	mu      sync.Mutex
	running map[string]*pendingAnswer
	kept    map[string]*cachedAnswer
	bytes   int
	clock   int64 // incremented with each use

	queueTime time.Duration // the value of the constant queueTime; tests set other values
}

// pendingAnswer is an answer that is being computed, or whose computation waits for its turn.
type pendingAnswer struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{}
	value   []byte
	err     error
}

// cachedAnswer is an answer that has been computed.
type cachedAnswer struct {
	value []byte
	used  int64
}

// queueTime is the longest time for which a computation may wait for its turn. After this time, the client is
// asked to try again.
const queueTime = 5 * time.Second

// get returns the answer with a name. It calls f to compute the answer if it is neither cached nor pending. If
// all requests that wait for the answer are cancelled, get cancels the context of f.
func (a *answerCache) get(ctx context.Context, name string, f func(context.Context) ([]byte, error)) ([]byte, error) {
	a.mu.Lock()
	if v := a.find(name); v != nil {
		a.mu.Unlock()
		return v, nil
	}
	r := a.running[name]
	if r == nil {
		inner, cancel := context.WithTimeout(a.ctx, slowTimeout)
		r = &pendingAnswer{cancel: cancel, done: make(chan struct{})}
		a.running[name] = r
		if !a.start(func() { a.compute(inner, name, r, f) }) {
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
		a.removeWaiter(name, r)
		return r.value, r.err
	case <-ctx.Done():
		a.removeWaiter(name, r)
		return nil, ctx.Err()
	}
}

// removeWaiter removes a request that waits for r. If no other request waits for r, it cancels the
// computation.
func (a *answerCache) removeWaiter(name string, r *pendingAnswer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.waiting--; r.waiting == 0 {
		r.cancel()
		if a.running[name] == r {
			delete(a.running, name) // a later request starts the computation again
		}
	}
}

func (a *answerCache) compute(ctx context.Context, name string, r *pendingAnswer,
	f func(context.Context) ([]byte, error)) {
	defer r.cancel()
	wait := time.NewTimer(a.queueTime)
	defer wait.Stop()
	select {
	case a.slots <- struct{}{}:
		r.err = recoverPanic(func() (err error) {
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
		a.store(name, r.value)
	}
	close(r.done)
}

// find returns the answer with a name, or nil.
func (a *answerCache) find(name string) []byte {
	k := a.kept[name]
	if k == nil {
		return nil
	}
	a.clock++
	k.used = a.clock
	return k.value
}

// lookUp sets v, a pointer, to the value that keep has stored. It returns false if there is none.
func (a *answerCache) lookUp(name string, v any) bool {
	a.mu.Lock()
	stored := a.find(name)
	a.mu.Unlock()
	return stored != nil && json.Unmarshal(stored, v) == nil
}

// keep stores a value from which several answers are computed.
func (a *answerCache) keep(name string, v any) error {
	stored, err := json.Marshal(v)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store(name, stored)
	return nil
}

// store stores an answer. It removes the answers that have not been used for the longest time.
func (a *answerCache) store(name string, value []byte) {
	if len(value) > a.limit/4 {
		return
	}
	if old := a.kept[name]; old != nil {
		a.bytes -= len(old.value)
	}
	a.clock++
	a.kept[name] = &cachedAnswer{value, a.clock}
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
