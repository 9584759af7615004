// Package pipeline runs one kind of work on all cores and hands the results on
// in the order of the jobs.
package pipeline

import (
	"context"
	"sync"
)

// Run takes jobs from next until it reports none, does work on each with the
// given number of workers, and gives the results to done in the order of the
// jobs, in the caller's goroutine. At most workers+1 results wait at a time.
// The first error ends everything and is returned; work must return soon after
// ctx is cancelled. With one worker nothing runs concurrently.
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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		r   R
		err error
	}
	type task struct {
		job J
		out chan result
	}
	tasks := make(chan task)
	order := make(chan task, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for t := range tasks {
				r, err := work(w, t.job)
				t.out <- result{r, err}
			}
		})
	}
	wg.Go(func() {
		defer close(tasks)
		defer close(order)
		for ctx.Err() == nil {
			j, ok, err := next()
			if err != nil {
				t := task{out: make(chan result, 1)}
				t.out <- result{err: err}
				select {
				case order <- t:
				case <-ctx.Done():
				}
				return
			}
			if !ok {
				return
			}
			t := task{j, make(chan result, 1)}
			select {
			case order <- t:
			case <-ctx.Done():
				return
			}
			select {
			case tasks <- t:
			case <-ctx.Done():
				return
			}
		}
	})
	err := func() error {
		for t := range order {
			select {
			case r := <-t.out:
				if r.err != nil {
					return r.err
				}
				if err := done(r.r); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return ctx.Err()
	}()
	cancel()
	wg.Wait()
	return err
}

// Turn lets concurrent workers do something in the order of their jobs, such
// as adding definitions whose numbers must not depend on timing. The zero Turn
// is ready; jobs are numbered from 0.
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
