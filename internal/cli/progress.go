package cli

import (
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// bar is a progress bar on standard error. It is visible only on a terminal and only after a second
// of work. A nil bar does nothing.
type bar struct {
	name  string
	start time.Time
	mu    sync.Mutex
	prog  *mpb.Progress
	bar   *mpb.Bar
	ended bool
}

// newBar returns a bar with a name. It returns nil if no progress is to be shown, or if standard error is not
// a terminal.
func (a *app) newBar(name string) *bar {
	f, ok := a.err.(*os.File)
	if !a.progress || !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &bar{name: name, start: time.Now()}
}

// setProgress sets the amount of work that is done.
func (b *bar) setProgress(done, total int64) {
	if b == nil || total <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || b.bar == nil && time.Since(b.start) < time.Second {
		return
	}
	if b.bar == nil {
		b.prog = mpb.New(mpb.WithOutput(os.Stderr), mpb.WithWidth(40), mpb.WithAutoRefresh())
		b.bar = b.prog.AddBar(total, mpb.PrependDecorators(decor.Name(b.name+" ")),
			mpb.AppendDecorators(decor.Percentage(), decor.Name(" "), decor.AverageETA(decor.ET_STYLE_GO)),
			mpb.BarRemoveOnComplete())
	}
	b.bar.SetCurrent(min(done, total))
}

// remove removes the bar.
func (b *bar) remove() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	if b.bar != nil {
		b.bar.Abort(true)
		b.prog.Wait()
		b.bar = nil
	}
}
