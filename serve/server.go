package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/serve/cache"
	"github.com/weft-trace/weft/transform"
)

// Reading says how traces are read.
type Reading struct {
	Formats []format.Format
	Format  format.Format // nil: the content of each trace tells
	Values  map[string]string
	Strict  bool
	Workers int // number of cores; 0 is all
	// Correction puts clocks right, and CorrectionText is the file that it was read from;
	// nil for none.
	Correction     *transform.Correction
	CorrectionText []byte
	// Color is the attribute that spans are named and coloured by, "" for their region.
	Color string
}

// Given is a trace that the server is told to show.
type Given struct {
	Source format.Source
	// Index is the file of its index, beside which its notes are; "" for one from the cache.
	Index string
	// Once is set for a trace that came from standard input: it cannot be known again, and
	// so has no notes.
	Once bool
}

// Options are the settings of a server.
type Options struct {
	Version string
	Reading Reading
	Cache   *cache.Cache
	// Page has the files of the viewer's page, index.html among them.
	Page fs.FS
	// Token is the secret of requests; "" asks for none. See [NewToken].
	Token string
	// Hosts are names that requests may go to beside localhost, 127.0.0.1 and [::1].
	Hosts []string
	// Traces are the traces to show. With Dir those in that folder are shown instead, and
	// nothing can be changed. Notes are kept beside the index of a trace.
	Traces []Given
	Dir    *os.Root
	// Builds, Analyses and Indexes are how many indexes are made, how many analyses run,
	// and how many indexes are open at a time; 0 is 2, the number of cores but at least 2,
	// and 16.
	Builds, Analyses, Indexes int
	// Progress is told how far indexing has come; may be nil. Ended is told of each trace
	// that is ready, or failed with an error; may be nil.
	Progress func(name string, done, total int64)
	Ended    func(name string, err error)
}

// Server answers requests. It can be used by many at a time.
type Server struct {
	opt     Options
	ctx     context.Context // ends with the server
	stop    context.CancelFunc
	indexes indexer
	traces  catalogue
	builds  chan struct{}
	busy    chan struct{} // requests that are being answered
	making  chan struct{} // answers that are being made and may need much memory
	sending atomic.Int64  // bytes of large answers that are being sent
	shelf   shelf
	answers answers
	tables  linkTables
	pages   pages
	zips    sync.Pool
	bodies  sync.Pool // binary answers that were sent, of which the memory is used again
	work    struct {  // what runs in the background
		sync.Mutex
		sync.WaitGroup
		ended bool
	}
	writing sync.Mutex // of notes
	cookie  string
	ticket  ticket
	mux     *http.ServeMux

	detailTime time.Duration // detailTime, but in tests
}

// NewToken makes a secret of 192 random bits.
func NewToken() string {
	b := make([]byte, 24)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// Limits of requests.
const (
	maxRequests    = 256              // at a time
	headerTimeout  = 10 * time.Second // to get the header
	bodyTimeout    = 30 * time.Second // to get the body of a request
	idleTimeout    = 2 * time.Minute  // between requests
	writeTimeout   = time.Minute      // to take an answer, once it is there
	quickTimeout   = 30 * time.Second // to make an answer from an index
	slowTimeout    = 10 * time.Minute // to make an analysis
	maxHeader      = 32 << 10
	graceOfStop    = 3 * time.Second
	maxAnswerBytes = 64 << 20 // of analyses that are kept
	largeAnswer    = 1 << 20  // bytes, from which on those that are being sent are counted
	maxSending     = 512 << 20
)

// New makes a server. It reads nothing yet.
func New(opt Options) *Server {
	return newServer(opt, files{})
}

func newServer(opt Options, indexes indexer) *Server {
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{opt: opt, ctx: ctx, stop: stop, indexes: indexes, cookie: "weft", detailTime: detailTime}
	s.builds = make(chan struct{}, cmp.Or(opt.Builds, 2))
	s.tables.turn = make(chan struct{}, maxLinkTables)
	s.making = make(chan struct{}, max(4, 2*runtime.GOMAXPROCS(0)))
	s.busy = make(chan struct{}, maxRequests)
	s.shelf.limit = cmp.Or(opt.Indexes, 16)
	s.answers = answers{ctx: ctx, start: s.background, slots: make(chan struct{}, cmp.Or(opt.Analyses, max(2, runtime.GOMAXPROCS(0)))), limit: maxAnswerBytes, running: map[string]*run{}, kept: map[string]*kept{}, queueTime: queueTime}
	s.pages.fs = opt.Page
	s.bodies.New = func() any { return &binary{} }
	s.zips.New = func() any {
		w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		if err != nil {
			panic(err) // the level is wrong
		}
		return w
	}
	if opt.Dir == nil {
		s.traces = newGiven(s, opt.Traces)
	} else {
		s.traces = newFolder(s, opt.Dir)
	}
	s.mux = s.routes()
	return s
}

// Start begins to index all traces that the server was given.
func (s *Server) Start() {
	if g, ok := s.traces.(*given); ok {
		for _, e := range g.list {
			e.start()
		}
	}
}

// URL is where a browser finds a server that listens at an address. Of several traces that
// it was given the page shows all: their ids are in the fragment.
func (s *Server) URL(l net.Listener) string { return s.address(l, s.opt.Token) }

func (s *Server) address(l net.Listener, token string) string {
	a, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		a = &net.TCPAddr{IP: net.IPv6unspecified} // a socket that something leads to
	}
	host := a.String()
	switch {
	case !ok:
		host = "localhost"
	case a.IP.IsUnspecified():
		host = net.JoinHostPort("localhost", port(l))
	}
	u := "http://" + host + "/"
	if token != "" {
		u += "?token=" + token
	}
	if g, ok := s.traces.(*given); ok && len(g.list) > 1 {
		var ids []string
		for _, e := range g.list {
			ids = append(ids, e.id)
		}
		u += "#t=" + strings.Join(ids, ",")
	}
	return u
}

func port(l net.Listener) string {
	if _, p, err := net.SplitHostPort(l.Addr().String()); err == nil {
		return p
	}
	return "unix"
}

// Serve answers requests until the context ends; then it waits a short time for those in
// hand, and closes all. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.cookie = "weft-" + port(l)
	// ReadTimeout would end the context of what takes longer to answer.
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return s.ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		grace, cancel := context.WithTimeout(context.Background(), graceOfStop)
		defer cancel()
		// Builds and analyses give way at once, and tell those who wait.
		s.stop()
		if h.Shutdown(grace) != nil {
			h.Close()
		}
		<-ended
	}
	s.Close()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// background runs a function that Close waits for; it reports whether it does, which it
// does not any more once the server is closed.
func (s *Server) background(f func()) bool {
	s.work.Lock()
	defer s.work.Unlock()
	if s.work.ended {
		return false
	}
	s.work.Go(f)
	return true
}

// Close ends what runs in the background and closes the traces and indexes.
func (s *Server) Close() {
	s.stop()
	s.work.Lock()
	s.work.ended = true
	s.work.Unlock()
	s.work.Wait()
	s.shelf.close()
	for _, e := range s.traces.known() {
		e.decoders.close()
	}
	if g, ok := s.traces.(*given); ok {
		g.close()
	}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	default:
		s.fail(w, r, &problem{http.StatusServiceUnavailable, "too many requests at once", retrySoon})
		return
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	if done := s.guard(w, r); done {
		return
	}
	s.mux.ServeHTTP(w, r)
}

// host is a name without port and brackets, in lower case.
func host(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		hostport = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]"))
}
