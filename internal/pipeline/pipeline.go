// Package pipeline runs one kind of work on all cores and hands the results on
// in the order of the jobs.
package pipeline

import (
	"context"
	"runtime"
	"sync"
)

// Run takes jobs from next until it reports none, does work on each with the
// given number of workers, and gives the results to done in the order of the
// jobs. next and done are called by one goroutine at a time, though not by the
// same one: whoever finishes a job whose turn it is hands it on, while its
// result is still in the core's cache. At most 3 jobs a worker are begun and not
// handed on. The first error, in the order of the jobs, ends everything and is
// returned; work must return soon after ctx is cancelled. With one worker
// nothing runs concurrently.
func Run[J, R any](ctx context.Context, workers int, next func() (J, bool, error), work func(worker int, job J) (R, error), done func(R) error) error {
	if workers <= 1 {
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			j, ok, err := next()
			if err != nil || !ok {
				return err
			}
			r, err := work(0, j)
			if err != nil {
				return err
			}
			if err := done(r); err != nil {
				return err
			}
		}
	}
	q := queue[R]{ahead: ahead * workers, ready: map[int]R{}}
	q.room.L = &q.mu
	defer context.AfterFunc(ctx, func() { q.stop(ctx.Err()) })()
	var source sync.Mutex // guards next and jobs
	jobs := 0
	var wg sync.WaitGroup
	for w := range workers {
		take := func() (job int, j J, ok bool, err error) {
			source.Lock()
			defer source.Unlock()
			job = jobs
			jobs++
			if !q.wait(job) {
				return -1, j, false, nil
			}
			j, ok, err = next()
			return job, j, ok, err
		}
		wg.Go(func() {
			returned := false
			defer func() {
				if !returned {
					q.abort(recover())
				}
			}()
			for {
				job, j, ok, err := take()
				if job < 0 {
					break
				}
				var r R
				if ok && err == nil {
					r, err = work(w, j)
				}
				if !q.put(job, r, ok, err, done) {
					break
				}
			}
			returned = true
		})
	}
	wg.Wait()
	switch {
	case q.panicked != nil:
		panic(q.panicked)
	case q.exited:
		runtime.Goexit()
	case q.err == nil:
		return ctx.Err()
	}
	return q.err
}

// ahead is how many jobs for each worker may be begun before the first of them
// is handed on. One would do if all took the same time; but a goroutine that
// has to sleep wakes up later than a small job takes.
const ahead = 3

// queue holds results until it is their turn.
type queue[R any] struct {
	mu     sync.Mutex
	room   sync.Cond // the turn has come nearer, or all is over
	ahead  int
	turn   int  // the job to be handed on next
	busy   bool // somebody hands on
	ready  map[int]R
	last   int   // 1 + the first job that next did not give, or that failed; 0: none yet
	failed error // why it failed
	over   bool
	err    error
	// What next, work or done did instead of returning, for the caller.
	panicked any
	exited   bool
}

// abort ends all when a worker panics with x or, for nil, calls runtime.Goexit
// (as tests do), so that this happens to the caller of Run.
func (q *queue[R]) abort(x any) {
	q.mu.Lock()
	q.panicked, q.exited = x, x == nil
	q.end(nil)
	q.mu.Unlock()
}

// hand calls done without the lock.
func (q *queue[R]) hand(done func(R) error, r R) error {
	q.mu.Unlock()
	defer q.mu.Lock()
	return done(r)
}

// wait returns when job may begin; false says that all is over.
func (q *queue[R]) wait(job int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.over && q.last == 0 && job-q.turn >= q.ahead {
		q.room.Wait()
	}
	return !q.over && q.last == 0
}

// put takes the result of a job, and hands on what is ready unless somebody
// else does. It returns false when all is over.
func (q *queue[R]) put(job int, r R, ok bool, err error, done func(R) error) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !ok || err != nil {
		if q.last == 0 || job < q.last-1 {
			q.last, q.failed = job+1, err
		}
		q.room.Broadcast()
	} else {
		q.ready[job] = r
	}
	if q.busy {
		return !q.over
	}
	q.busy = true
	for !q.over {
		if q.last == q.turn+1 {
			q.end(q.failed)
			break
		}
		r, ok := q.ready[q.turn]
		if !ok {
			break
		}
		delete(q.ready, q.turn)
		err := q.hand(done, r)
		q.turn++
		if err != nil {
			q.end(err)
		}
		q.room.Broadcast()
	}
	q.busy = false
	return !q.over
}

// end says that all is over; the first error counts.
func (q *queue[R]) end(err error) {
	if !q.over {
		q.over, q.err = true, err
	}
	q.room.Broadcast()
}

func (q *queue[R]) stop(err error) {
	q.mu.Lock()
	q.end(err)
	q.mu.Unlock()
}

// Turn lets concurrent workers do something in the order of their jobs, such
// as adding definitions whose numbers must not depend on timing. Jobs are
// numbered from 0.
type Turn struct {
	mu   sync.Mutex
	cond *sync.Cond
	next int
	out  map[int]bool
}

// NewTurn starts with job 0.
func NewTurn() *Turn {
	t := &Turn{out: map[int]bool{}}
	t.cond = sync.NewCond(&t.mu)
	return t
}

// Wait returns when all jobs before job are done.
func (t *Turn) Wait(job int) {
	t.mu.Lock()
	for t.next != job {
		t.cond.Wait()
	}
	t.mu.Unlock()
}

// Done says that a job is done.
func (t *Turn) Done(job int) {
	t.mu.Lock()
	t.out[job] = true
	for t.out[t.next] {
		delete(t.out, t.next)
		t.next++
	}
	t.cond.Broadcast()
	t.mu.Unlock()
}
