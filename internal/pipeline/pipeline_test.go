package pipeline

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-trace/weft/internal/await"
)

func TestOrder(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 8} {
		n, want := 0, 0
		var inDone atomic.Int32
		err := Run(t.Context(), workers, func() (int, bool, error) {
			n++
			return n - 1, n <= 500, nil
		}, func(_ int, j int) (int, error) {
			if rand.IntN(20) == 0 {
				time.Sleep(time.Millisecond)
			}
			return j * 2, nil
		}, func(r int) error {
			if inDone.Add(1) != 1 {
				t.Error("done runs twice at a time")
			}
			if r != want*2 {
				t.Fatalf("workers %d: result %d, want %d", workers, r, want*2)
			}
			want++
			inDone.Add(-1)
			return nil
		})
		if err != nil || want != 500 {
			t.Errorf("workers %d: %d results, error %v", workers, want, err)
		}
	}
}

// TestErrors checks that exactly the results before the first error are delivered, and that Run
// returns the error of the earliest job.
func TestErrors(t *testing.T) {
	bad := errors.New("bad")
	worse := errors.New("worse")
	for _, workers := range []int{1, 2, 4} {
		for _, where := range []string{"next", "work", "done"} {
			for range 50 {
				n, handed := 0, 0
				err := Run(t.Context(), workers, func() (int, bool, error) {
					if n == 20 && where == "next" {
						return 0, false, bad
					}
					n++
					return n - 1, true, nil
				}, func(_ int, j int) (int, error) {
					switch {
					case where != "work":
					case j == 20:
						time.Sleep(100 * time.Microsecond)
						return 0, bad
					case j > 20:
						return 0, worse
					}
					return j, nil
				}, func(r int) error {
					if r != handed {
						t.Fatalf("result %d, want %d", r, handed)
					}
					if handed == 20 && where == "done" {
						return bad
					}
					handed++
					return nil
				})
				if err != bad || handed != 20 {
					t.Fatalf("workers %d, %s: %d results, error %v", workers, where, handed, err)
				}
			}
		}
	}
}

func TestCancel(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		ctx, cancel := context.WithCancel(t.Context())
		handed := 0
		err := Run(ctx, workers, func() (int, bool, error) { return 0, true, nil },
			func(int, int) (int, error) { return 0, nil },
			func(int) error {
				if handed++; handed == 10 {
					cancel()
				}
				return nil
			})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("workers %d: error %v, want context.Canceled", workers, err)
		}
	}
}

// TestPanic checks that Run panics if a worker panics.
func TestPanic(t *testing.T) {
	for _, where := range []string{"next", "work", "done"} {
		for _, exit := range []bool{false, true} {
			returned := false
			var panicked any
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				defer func() { panicked = recover() }()
				n := 0
				stop := func(at string, j int) {
					switch {
					case at != where || j != 20:
					case exit:
						runtime.Goexit()
					default:
						panic("panic")
					}
				}
				Run(t.Context(), 3, func() (int, bool, error) { n++; stop("next", n); return n, true, nil },
					func(_, j int) (int, error) { stop("work", j); return j, nil },
					func(j int) error { stop("done", j); return nil })
				returned = true
			}()
			await.Receive(t, "Run has ended", ended)
			if returned || exit != (panicked == nil) {
				t.Errorf("%s: returned %t, panicked %v", where, returned, panicked)
			}
		}
	}
}

// TestAhead checks that only a limited number of jobs start while the first job is slow.
func TestAhead(t *testing.T) {
	const workers = 3
	var begun atomic.Int32
	n := 0
	err := Run(t.Context(), workers, func() (int, bool, error) {
		n++
		return n - 1, n <= 100, nil
	}, func(_ int, j int) (int, error) {
		begun.Add(1)
		if j == 0 {
			await.Until(t, "all jobs that may begin have begun", func() bool { return begun.Load() >= workers*maxAhead })
			for range 1000 { // if another job could start, it would start now
				runtime.Gosched()
			}
			if b := begun.Load(); b > workers*maxAhead {
				t.Errorf("%d jobs begun before the first was done", b)
			}
		}
		return j, nil
	}, func(int) error { return nil })
	if err != nil {
		t.Error(err)
	}
}

func TestTurn(t *testing.T) {
	turn := NewTurn()
	var at atomic.Int32
	go func() {
		for _, j := range []int{2, 0, 1} {
			at.Store(int32(j))
			turn.Done(j)
		}
	}()
	turn.Wait(3)
	if at.Load() != 1 {
		t.Errorf("after %d", at.Load())
	}
}
