package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/analysis/verify"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/compression"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// followFlags holds the flags of weft verify --follow.
type followFlags struct {
	follow bool
	late   string
	idle   string
}

// tickConverter returns a function that converts the value of a flag to ticks.
func (*followFlags) tickConverter(flag, value string) func(trace.Clock) (int64, error) {
	return func(c trace.Clock) (int64, error) {
		t, err := c.ParseDuration(value)
		if err == nil && t < 0 {
			err = fmt.Errorf("found %q, expected a time of at least 0", value)
		}
		if err != nil {
			err = usageError("%s: %w", flag, err)
		}
		return t, err
	}
}

func (s *followFlags) register(f *pflag.FlagSet) {
	f.BoolVar(&s.follow, "follow", false,
		"verify a file while another program writes it, or a pipe, and print each verdict once it is decided")
	f.StringVar(&s.late, "late", "", "with --follow: greatest delay of lines that are out of order, such as 10ms")
	f.StringVar(&s.idle, "idle", "",
		"with --follow: time without events after which an object has left the system, such as 10ms; by default, "+
			"objects leave at the end of the trace")
}

// check returns an error if flags are combined that exclude each other.
func (s *followFlags) check(f *pflag.FlagSet) error {
	excluded := []string{"suggest", "robust", "junit", "compat", "window", "from", "to", "location", "group",
		"region", "clock-correction"}
	if err := checkCombination(f, "follow", s.follow, []string{"late", "idle"}, excluded); err != nil {
		return err
	}
	for flag, value := range map[string]string{"--late": s.late, "--idle": s.idle} {
		if value == "" {
			continue
		}
		if _, err := s.tickConverter(flag, value)(trace.TicksPerSecond(1e9)); err != nil {
			return err
		}
	}
	return nil
}

// followedVerdict is the JSON of a verdict that weft verify --follow prints (docs/json/verify.md).
type followedVerdict struct {
	heading
	States int64 `json:"states"` // number of states so far
	Ended  bool  `json:"ended"`  // the trace has ended
	verify.CheckResult
}

// pollTime is the time between two attempts to read more of a file that grows.
const pollTime = 100 * time.Millisecond

// textPiece is a part of a text that grows.
type textPiece struct {
	text []byte
	err  error
}

// readPieces reads a text in a goroutine. It reads up to the end of the text, or until ctx is done if the text
// grows.
func readPieces(ctx context.Context, r io.Reader, grows bool) <-chan textPiece {
	c := make(chan textPiece, 4)
	go func() {
		defer close(c)
		for {
			buf := make([]byte, 64<<10)
			n, err := r.Read(buf)
			if errors.Is(err, io.EOF) {
				err = nil
				if n == 0 && !grows {
					return
				}
			}
			if n > 0 || err != nil {
				select {
				case c <- textPiece{buf[:n], err}:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
			if n == 0 {
				select {
				case <-time.After(pollTime):
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return c
}

// follower verifies a text while it grows.
type follower struct {
	*app
	flags   *verifyFlags
	spec    *verify.Spec
	in      *input // used for messages and headings; its file is nil
	defs    *trace.Definitions
	monitor *verify.Monitor

	violated bool
	late     int64 // number of lines that came too late
}

// runFollow verifies the trace in args while it grows.
func (a *app) runFollow(ctx context.Context, args []string, flags *verifyFlags) error {
	if _, err := wordIndex("--semantics", flags.semantics, semantics...); err != nil {
		return err
	}
	spec, traces, err := a.specification(args, flags)
	if err != nil {
		return err
	}
	if len(traces) != 1 {
		return usageError("--follow: found %s, expected one; see weft verify --help", plural.Of(len(traces), "trace"))
	}
	path := traces[0]
	if path == "-" && flags.spec == "-" {
		return usageError("--spec -: found standard input for the trace, too, expected a file")
	}
	r, grows, err := a.growingText(ctx, &path)
	if err != nil {
		return err
	}
	defer r.Close()
	f := &follower{app: a, flags: flags, spec: spec, in: &input{src: format.Source{Path: path, Name: path},
		report: a.newReport(&flags.input)}}
	err = f.run(ctx, readPieces(ctx, r, grows), grows)
	if whole := (*format.FollowError)(nil); errors.As(err, &whole) {
		err = usageError("%w", err)
	}
	if err != nil {
		return err
	}
	a.reportDefects(f.in, flags.input.quiet)
	if f.late > 0 && !flags.input.quiet {
		printf(a.err, "%s: %s came too late; --late TIME allows later lines\n", path, plural.Of(f.late, "line"))
	}
	if f.violated || f.late > 0 {
		return &exitError{code: exitDefects}
	}
	return nil
}

// growingText opens a text. grows is set if the text can get longer, so that its present end need not
// be the end of the trace. growingText sets path to the name of the text for messages.
func (a *app) growingText(ctx context.Context, path *string) (r io.ReadCloser, grows bool, err error) {
	if *path == "-" {
		*path = "stdin"
		return io.NopCloser(a.in), false, nil
	}
	if *path == "" {
		return nil, false, usageError("found an empty name, expected that of a trace")
	}
	f, err := openPipe(ctx, *path)
	if err != nil {
		return nil, false, err
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = &exitError{exitIO, fmt.Errorf("%s: found a directory, expected a trace file", *path)}
	}
	if err != nil {
		f.Close()
		return nil, false, err
	}
	if st.Mode().IsRegular() {
		return &growingFile{File: f}, true, nil
	}
	return f, false, nil
}

// openPipe opens a file that may be a named pipe. The operating system opens a pipe only when another program writes to
// it; openPipe waits for this until ctx is done.
func openPipe(ctx context.Context, path string) (*os.File, error) {
	type opened struct {
		f   *os.File
		err error
	}
	c := make(chan opened, 1)
	go func() {
		f, err := os.Open(path)
		c <- opened{f, err}
	}()
	select {
	case x := <-c:
		return x.f, x.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// growingFile is a regular file that another program writes. When Read has reached the end of the file, it returns an
// error if the file is no longer the same text.
type growingFile struct {
	*os.File
	n       int64  // number of bytes that were read
	last    []byte // the last bytes that were read, up to keptBytes
	reached bool   // the last Read has reached the end of the file
}

// keptBytes is the number of bytes that growingFile compares.
const keptBytes = 64

// Read reads the next bytes of the file.
func (f *growingFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	if f.reached || n == 0 {
		if changed := f.checkSame(); changed != nil {
			return 0, changed
		}
	}
	f.reached = n == 0
	f.n += int64(n)
	f.last = append(f.last, b[max(0, n-keptBytes):n]...)
	f.last = f.last[max(0, len(f.last)-keptBytes):]
	return n, err
}

// checkSame returns an error if the text that was read is no longer the beginning of the file, or if another file has
// its name.
func (f *growingFile) checkSame() error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	again := make([]byte, len(f.last))
	if _, err := f.ReadAt(again, f.n-int64(len(again))); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if st.Size() < f.n || !bytes.Equal(again, f.last) {
		return &exitError{exitIO, fmt.Errorf("%s: found other text in the file after reading %s, expected a file that grows",
			f.Name(), plural.Of(f.n, "byte"))}
	}
	if named, err := os.Stat(f.Name()); err == nil && !os.SameFile(st, named) {
		return &exitError{exitIO, fmt.Errorf("%s: found another file with this name, expected the file that was opened",
			f.Name())}
	}
	return nil
}

// errDecided ends the reading of a text when all checks are decided.
var errDecided = errors.New("all checks are decided")

// run verifies the pieces of the text until there are no more, or ctx is done.
func (f *follower) run(ctx context.Context, text <-chan textPiece, grows bool) error {
	lasting := context.WithoutCancel(ctx) // the verdicts at the end are printed after an interrupt, too
	next := func() (textPiece, bool) {
		select {
		case p, more := <-text:
			return p, more
		case <-ctx.Done():
			return textPiece{}, false
		}
	}
	x, opt, head, err := f.begin(ctx, next)
	if err != nil {
		return err
	}
	err = x.Follow(func(yield func([]byte, error) bool) {
		for p, more := (textPiece{text: head}), true; more; p, more = next() {
			if p.err != nil {
				yield(nil, p.err)
				return
			}
			if f.monitor.OpenChecks() > 0 {
				if !yield(p.text, nil) {
					return
				}
				list, err := f.monitor.Decide(lasting, len(text) == 0)
				if err = f.print(list, false, err); err != nil {
					yield(nil, err)
					return
				}
			}
			if grows && f.monitor.OpenChecks() == 0 {
				break // a pipe is read to its end, because the program that writes to it still runs
			}
		}
		if f.monitor.OpenChecks() == 0 {
			yield(nil, errDecided)
		}
	}, opt)
	switch {
	case errors.Is(err, errDecided) && grows:
		return nil
	case err != nil && !errors.Is(err, errDecided):
		return err
	}
	list, err := f.monitor.End(lasting)
	if err = f.print(list, true, err); err != nil || f.flags.input.quiet {
		return err
	}
	printWarnings(f.err, f.in.src.Path, f.monitor.Warnings(), "")
	return nil
}

// headLimit is the number of bytes from the begin of a text by which the format of the text must be clear.
const headLimit = 64 << 10

// begin finds the format of a text, and returns the settings for it. It also returns the part of the text that
// it has already read.
func (f *follower) begin(ctx context.Context, next func() (textPiece, bool)) (x format.Format,
	opt *format.FollowOptions, head []byte, err error) {
	for more := true; x == nil && more; {
		var p textPiece
		if p, more = next(); p.err != nil {
			return nil, nil, nil, p.err
		}
		head = append(head, p.text...)
		if len(head) == 0 && ctx.Err() != nil {
			return nil, nil, nil, ctx.Err()
		}
		if x, err = f.formatOf(head, !more || len(head) >= headLimit); err != nil {
			return nil, nil, nil, err
		}
	}
	r := &f.flags.input
	values, err := f.parseOptions(r.options)
	if err != nil {
		return nil, nil, nil, err
	}
	f.in.format = x
	opt = &format.FollowOptions{ReadOptions: &format.ReadOptions{Strict: r.strict, Report: f.in.report, Values: values,
		Workers: 1}, Name: f.in.src.Path, TooLate: f.tooLate, Begin: f.startMonitor,
		ScaleTimes: func(factor int64) { f.monitor.ScaleTimes(factor) }}
	if late := f.flags.follow.late; late != "" {
		opt.Late = f.flags.follow.tickConverter("--late", late)
	}
	return x, opt, head, nil
}

// startMonitor returns a sink that verifies a trace with the definitions d.
func (f *follower) startMonitor(d *trace.Definitions) (format.Sink, error) {
	f.defs = d
	f.monitor = verify.NewMonitor(f.spec, d, verify.Semantics(f.flags.semantics))
	if f.flags.follow.idle != "" {
		f.monitor.SetIdleTime(f.flags.follow.tickConverter("--idle", f.flags.follow.idle))
	}
	return f.monitor, nil
}

// formatOf finds the format of a text from its beginning. It returns nil if it needs more of the text.
// ended is set if there is no more text.
func (f *follower) formatOf(head []byte, ended bool) (format.Format, error) {
	x, err := f.requestedFormat(&f.flags.input)
	if err != nil {
		return nil, err
	}
	if packed := compression.NameOf(head); packed != "" && x == nil {
		return nil, fmt.Errorf("%s: %w: found a file of %s, expected uncompressed text with --follow", f.in.src.Path,
			format.ErrUnknown, packed)
	}
	if x == nil {
		least := 50
		if ended {
			least = 1
		}
		x = format.Probe(f.formats, f.in.src.Name, head[:bytes.LastIndexByte(head, '\n')+1], least)
	}
	switch {
	case x == nil && !ended:
		return nil, nil
	case len(bytes.TrimSpace(head)) == 0 && ended:
		return nil, format.EmptyError(f.in.src)
	case x == nil:
		return nil, fmt.Errorf("%s: %w: found %q", f.in.src.Path, format.ErrUnknown, head[:min(len(head), 24)])
	case x.About().Follows:
		return x, nil
	}
	var titles []string
	for _, x := range f.formats {
		if x.About().Follows {
			titles = append(titles, x.About().Title)
		}
	}
	return nil, usageError("%s: found %s, expected a text of %s, which can be read while it grows", f.in.src.Path,
		x.About().Title, strings.Join(titles, " or "))
}

// maxLateLines is the number of late lines that are reported one by one.
const maxLateLines = 10

// tooLate reports a line whose time is earlier than least, the time up to which the trace has been
// verified.
func (f *follower) tooLate(line, t, least int64) error {
	f.late++
	c := f.defs.Clock
	text := fmt.Sprintf("%s:%d: found a line at %s s, expected at least %s s, the time of the line before", f.in.src.Path,
		line, c.FormatSeconds(t), c.FormatSeconds(least))
	switch {
	case f.flags.input.strict:
		return &exitError{exitDefects, errors.New(text)}
	case f.late <= maxLateLines && !f.flags.input.quiet:
		fmt.Fprintln(f.app.err, plain(text))
	}
	return nil
}

// print prints verdicts immediately. If err is not nil, it returns err as an error of the trace
// instead.
func (f *follower) print(list []verify.CheckResult, ended bool, err error) error {
	if err != nil {
		return &exitError{exitDefects, fmt.Errorf("%s: %w", f.in.src.Path, err)}
	}
	for _, c := range list {
		f.violated = f.violated || c.Verdict.Violated()
		if f.flags.asJSON {
			h := heading{f.in.src.Path, f.in.format.About().Name, info.NewClock(f.defs.Clock)}
			e := json.NewEncoder(f.out)
			e.SetEscapeHTML(false)
			if err := e.Encode(followedVerdict{h, f.monitor.States(), ended, c}); err != nil {
				return err
			}
			continue
		}
		printf(f.out, "%s is %s: %s\n", plain(c.Name), c.Verdict, plain(c.Formula))
		if c.Verdict.Violated() {
			printReasons(f.out, &c)
		}
	}
	if b, ok := f.out.(interface{ Flush() error }); ok && len(list) > 0 {
		return b.Flush()
	}
	return nil
}
