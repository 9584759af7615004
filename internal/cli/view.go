package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/serve"
	"github.com/weft-trace/weft/serve/cache"
	"github.com/weft-trace/weft/transform"
	"github.com/weft-trace/weft/web"
)

// viewerFlags holds the flags of commands that need indexes.
type viewerFlags struct {
	inputFlags
	size  string
	color string
}

// register defines the flags.
func (v *viewerFlags) register(f *pflag.FlagSet) {
	v.inputFlags.flags(f)
	v.defineClockFlag(f)
	f.StringVar(&v.color, "color", "",
		"attribute whose values determine the names, colours and sums of visits and claims, "+
			"instead of their regions")
	f.StringVar(&v.size, "cache-size", "20G",
		"greatest size of the cache of indexes; the least recently used indexes are "+
			"removed first")
}

// openCache opens the cache of indexes.
func (v *viewerFlags) openCache() (*cache.Cache, error) {
	size, err := parseSize(v.size)
	if err != nil {
		return nil, usageError("--cache-size %s: %w", v.size, err)
	}
	return cache.Default(size)
}

// parseSize parses a number of bytes such as 500M.
func parseSize(s string) (int64, error) {
	body, factor := s, int64(1)
	for i, suffix := range []string{"k", "M", "G", "T"} {
		if t, ok := strings.CutSuffix(s, suffix); ok {
			body, factor = t, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(body, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("expected a number of bytes such as 500M or 20G")
	}
	return n * factor, nil
}

// serverSettings converts the flags into settings of package serve.
func (a *app) serverSettings(r *inputFlags) (serve.ReadSettings, error) {
	x := serve.ReadSettings{Formats: a.formats, Strict: r.strict, Workers: a.workers}
	var err error
	if x.Values, err = a.parseOptions(r.options); err != nil {
		return x, err
	}
	if x.Format, err = a.requestedFormat(r); err != nil {
		return x, err
	}
	if r.correction == "" {
		return x, nil
	}
	if x.CorrectionText, err = os.ReadFile(r.correction); err != nil {
		return x, err
	}
	if x.Correction, err = transform.ReadCorrection(bytes.NewReader(x.CorrectionText), r.correction); err != nil {
		return x, &exitError{exitDefects, err}
	}
	return x, nil
}

// viewerSettings is like serverSettings, but also uses the other flags of the viewer's commands.
func (a *app) viewerSettings(v *viewerFlags) (serve.ReadSettings, error) {
	x, err := a.serverSettings(&v.inputFlags)
	x.Color = v.color
	return x, err
}

// viewCommand returns the command weft view.
func (a *app) viewCommand() *cobra.Command {
	var v viewerFlags
	var port int
	var noOpen bool
	var index string
	var finding int
	c := &cobra.Command{
		Use:   "view TRACE...",
		Short: "Show traces in the browser",
		Long: `Show the time lines of traces in the browser. weft starts a server for this machine only,
prints its address, which contains a secret, and runs until Ctrl-C.

The first time, weft reads the trace to build its index, which it keeps in the cache. The
next time the trace opens without delay (see weft index). Notes are also kept in the
cache, or next to the index that --index names. weft writes nothing next to a trace.

--finding N opens the panel Findings, and goes to the place of the N-th finding of weft explain.`,
		Example: "  weft view trace.otf2\n  weft view --finding 1 trace.otf2\n" +
			"  weft view --no-open --port 8080 before.trf after.trf",
		Args: someArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if flag := "--index"; len(args) > 1 && (index != "" || finding > 0) {
				if index == "" {
					flag = "--finding"
				}
				return usageError("%s: found %s, expected one", flag, plural.Of(len(args), "trace"))
			}
			if index != "" {
				if _, err := os.Stat(index); err != nil {
					return err
				}
			}
			opt := serve.Options{Version: readBuildVersion().Version, Page: web.Files()}
			if finding > 0 {
				opt.Fragment = fmt.Sprintf("p=findings&v=findings.go:%d", finding)
			}
			var err error
			if opt.Reading, err = a.viewerSettings(&v); err != nil {
				return err
			}
			for _, arg := range args {
				in := &input{}
				if err := a.findFile(c.Context(), in, arg, &v.inputFlags); err != nil {
					return err
				}
				defer in.Close()
				if _, err := a.formatOf(in.src, &v.inputFlags); err != nil {
					return err
				}
				opt.Traces = append(opt.Traces, serve.ServedTrace{Source: in.src, Index: index, Once: len(in.close) > 0})
			}
			if opt.Cache, err = v.openCache(); err != nil {
				return err
			}
			defer opt.Cache.Close()
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			if err != nil {
				return err
			}
			opt.Token = persistentToken(opt.Cache, port)
			return a.runServer(c.Context(), opt, l, v.quiet, func(s *serve.Server) {
				if !noOpen {
					openBrowser(s.Ticket(l))
				}
			})
		},
	}
	v.register(c.Flags())
	c.Flags().Var(newInteger(&port, 0, 0, 65535), "port", "port to listen on; default: a free port")
	c.Flags().BoolVar(&noOpen, "no-open", false, "do not open the browser")
	c.Flags().Var(newInteger(&finding, 0, 1, 10), "finding", "number of the finding to show first (see weft explain)")
	c.Flags().StringVar(&index, "index", "", "use this index, which weft index -o has built from the same trace")
	return c
}

// runServer prints the address, calls started, and serves until the context ends. started may begin to
// index traces.
func (a *app) runServer(ctx context.Context, opt serve.Options, l net.Listener, quiet bool,
	started func(*serve.Server)) error {
	bars := &bars{a: a, list: map[string]*bar{}}
	opt.Progress = bars.setProgress
	opt.Ended = func(name string, err error) {
		bars.remove(name)
		if err != nil && !quiet {
			printf(a.err, "weft: %v\n", err)
		}
	}
	a.garbage.tuneForTiles()
	s := serve.New(opt)
	fmt.Fprintln(a.out, s.URL(l))
	if f, ok := a.out.(interface{ Flush() error }); ok {
		if err := f.Flush(); err != nil {
			l.Close()
			s.Close()
			return err
		}
	}
	s.Start()
	started(s)
	return s.Serve(ctx, l)
}

// bars holds a progress bar for each trace that is being indexed.
type bars struct {
	a    *app
	mu   sync.Mutex
	list map[string]*bar
}

// setProgress sets the share of a trace that is indexed.
func (b *bars) setProgress(name string, done, total int64) {
	b.mu.Lock()
	x, ok := b.list[name]
	if !ok {
		x = b.a.newBar("indexing " + name)
		b.list[name] = x
	}
	b.mu.Unlock()
	x.setProgress(done, total)
}

// remove removes the bar of a trace.
func (b *bars) remove(name string) {
	b.mu.Lock()
	x := b.list[name]
	delete(b.list, name)
	b.mu.Unlock()
	x.remove()
}

// openBrowser opens an address in a browser, if there is one. It cannot report a failure; the
// address is printed as well.
func openBrowser(url string) {
	var c *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		c = exec.Command("open", url)
	case "windows":
		c = exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	default:
		if cmp.Or(os.Getenv("WAYLAND_DISPLAY"), os.Getenv("DISPLAY")) == "" {
			return
		}
		c = exec.Command("xdg-open", url)
	}
	if c.Start() == nil {
		go c.Wait()
	}
}
