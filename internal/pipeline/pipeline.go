// Package pipeline runs jobs on all cores, and delivers their results in the order of the jobs.
package pipeline

import (
	"context"
	"runtime"
	"sync"
)

// Run gets jobs from next until next returns false, and calls work for each job, on the given number of
// workers. It calls done with the results in the order of the jobs. Different goroutines call next and done,
// but never concurrently. The worker that finishes the job whose turn it is calls done, because the result is
// still in the cache of the worker's core. At most maxAhead jobs per worker have been started and not
// delivered. Run returns the first error in the order of the jobs, and delivers no result after it. work must
// return soon after ctx is cancelled. With one worker, nothing runs concurrently.
func Run[J, R any](ctx context.Context, workers int, next func() (J, bool, error),
	work func(worker int, job J) (R, error), done func(R) error) error {
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
	q := queue[R]{ahead: maxAhead * workers, ready: map[int]R{}}
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
	case q.calledGoexit:
		runtime.Goexit()
	case q.err == nil:
		return ctx.Err()
	}
	return q.err
}

// maxAhead is the largest number of jobs per worker that have been started and not delivered. If all jobs took
// the same time, 1 would suffice. However, waking up a goroutine takes longer than a small job.
const maxAhead = 3

// queue holds results until their jobs' turn comes.
type queue[R any] struct {
	mu     sync.Mutex
	room   sync.Cond // signals that the turn has advanced or the run has ended
	ahead  int
	turn   int  // number of the job whose result is delivered next
	busy   bool // a goroutine is delivering results
	ready  map[int]R
	last   int   // 1 + the number of the first job that does not exist or has failed; 0 if there is none
	failed error // error of the job that has failed
	over   bool
	err    error
	// panicked is the value with which next, work or done has panicked. Run panics with this value.
	panicked     any
	calledGoexit bool
}

// abort ends the run because a worker has panicked with x or, if x is nil, has called runtime.Goexit, as
// failing tests do. In both cases Run does the same.
func (q *queue[R]) abort(x any) {
	q.mu.Lock()
	q.panicked, q.calledGoexit = x, x == nil
	q.end(nil)
	q.mu.Unlock()
}

// deliver calls done. It releases the lock of the queue during the call.
func (q *queue[R]) deliver(done func(R) error, r R) error {
	q.mu.Unlock()
	defer q.mu.Lock()
	return done(r)
}

// wait waits until a job may start. It returns false if the run has ended.
func (q *queue[R]) wait(job int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.over && q.last == 0 && job-q.turn >= q.ahead {
		q.room.Wait()
	}
	return !q.over && q.last == 0
}

// put stores the result of a job. Unless another goroutine is delivering, it delivers all results
// whose turn has come. It returns false if the run has ended.
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
		err := q.deliver(done, r)
		q.turn++
		if err != nil {
			q.end(err)
		}
		q.room.Broadcast()
	}
	q.busy = false
	return !q.over
}

// end ends the run with err, unless the run has already ended.
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

// Turn lets concurrent workers perform a part of their jobs in the order of the jobs. For example, workers add
// definitions in this order, so that the numbers of the definitions do not depend on timing. The first job is
// 0.
type Turn struct {
	mu   sync.Mutex
	cond *sync.Cond
	next int
	out  map[int]bool
}

// NewTurn returns a Turn that starts with job 0.
func NewTurn() *Turn {
	t := &Turn{out: map[int]bool{}}
	t.cond = sync.NewCond(&t.mu)
	return t
}

// Wait waits until Done has been called for all jobs before job.
func (t *Turn) Wait(job int) {
	t.mu.Lock()
	for t.next != job {
		t.cond.Wait()
	}
	t.mu.Unlock()
}

// Done ends the turn of a job. It must be called for every job.
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
