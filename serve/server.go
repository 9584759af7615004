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

// ReadSettings holds the settings with which traces are read.
type ReadSettings struct {
	Formats []format.Format
	Format  format.Format // if nil, the format of each trace is detected
	Values  map[string]string
	Strict  bool
	Workers int // number of cores; 0 means all cores
	// Correction is the correction of the clocks. CorrectionText is the text of the file that contains the
	// correction. Both are nil if there is no correction.
	Correction     *transform.Correction
	CorrectionText []byte
	// Color is the attribute whose values name and colour spans. It is "" if regions name and colour
	// spans.
	Color string
	// These fields are set by the user of the viewer, for a configuration of a trace; "" means that the
	// attribute is not set. label is the attribute whose values name spans. rows is the attribute whose values
	// are the rows of the time line. only selects spans by the values of an attribute.
	label, rows, only string
}

// ServedTrace is a trace that a server shows.
type ServedTrace struct {
	Source format.Source
	// Index is the path of the trace's index file. Notes are stored next to it. If it is "", the index
	// is in the cache.
	Index string
	// Once is set for a trace from standard input. Such a trace cannot have notes, because it cannot be
	// recognised later.
	Once bool
}

// Options holds the options of a server.
type Options struct {
	Version string
	Reading ReadSettings
	Cache   *cache.Cache
	// Page holds the files of the viewer's page, including index.html.
	Page fs.FS
	// Token is the secret that requests must contain. If it is "", requests need no secret. See [NewToken].
	Token string
	// Fragment is the part of the page's address after "#", which states what the page shows first.
	Fragment string
	// Hosts lists the host names that requests may use, in addition to localhost, 127.0.0.1 and
	// [::1].
	Hosts []string
	// Traces lists the traces to show. If Dir is set, the server shows the traces in that folder instead, and
	// refuses uploads and notes. If Dir is not set, the server stores notes next to the index of a trace.
	Traces []ServedTrace
	Dir    *os.Root
	// Builds and Analyses are the largest numbers of builds and analyses that run at the same time. Indexes is
	// the largest number of open indexes. 0 means 2 builds, as many analyses as there are cores but at least
	// 2, and 16 indexes.
	Builds, Analyses, Indexes int
	// Progress is called while a trace is indexed. Ended is called when a trace is ready or has failed.
	// err is nil if the trace is ready. Both functions may be nil.
	Progress func(name string, done, total int64)
	Ended    func(name string, err error)
}

// Server is the HTTP handler of the viewer. It is safe for concurrent use.
type Server struct {
	opt          Options
	ctx          context.Context // ends when the server is closed
	stop         context.CancelFunc
	indexes      indexer
	traces       catalogue
	builds       chan struct{}
	requests     chan struct{} // contains an element for each request that is being answered
	heavyAnswers chan struct{} // contains an element for each request that may need much memory
	sending      atomic.Int64  // total size of the large answers that are being sent
	open         openIndexes
	answers      answerCache
	linkCaches   linkCaches
	pages        pageFiles
	zips         sync.Pool
	bodies       sync.Pool // buffers of binary answers, for reuse
	work         struct {  // work in the background, which Close waits for
		sync.Mutex
		sync.WaitGroup
		ended bool
	}
	writing sync.Mutex // guards the files of notes
	cookie  string
	ticket  ticket
	mux     *http.ServeMux

	detailTime time.Duration // the value of the constant detailTime; tests set other values
}

// NewToken returns a secret of 192 random bits.
func NewToken() string {
	b := make([]byte, 24)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// These limits bound the requests, the time for each of them, and the memory of answers.
const (
	maxRequests    = 256              // number of requests at the same time
	headerTimeout  = 10 * time.Second // to read the header of a request
	bodyTimeout    = 30 * time.Second // to read the body of a request
	idleTimeout    = 2 * time.Minute  // between two requests on a connection
	writeTimeout   = time.Minute      // to send the whole answer
	quickTimeout   = 30 * time.Second // to compute an answer from an index
	slowTimeout    = 10 * time.Minute // to compute an analysis
	maxHeader      = 32 << 10
	shutdownGrace  = 3 * time.Second
	maxAnswerBytes = 64 << 20 // largest total size of the analyses that are kept, in bytes
	largeAnswer    = 1 << 20  // smallest size in bytes of an answer that counts for maxSending
	maxSending     = 512 << 20
)

// New returns a server. It does not read the traces.
func New(opt Options) *Server {
	return newServer(opt, fileIndexer{})
}

func newServer(opt Options, indexes indexer) *Server {
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{opt: opt, ctx: ctx, stop: stop, indexes: indexes, cookie: "weft", detailTime: detailTime}
	s.builds = make(chan struct{}, cmp.Or(opt.Builds, 2))
	s.linkCaches.slots = make(chan struct{}, maxLinkTables)
	s.heavyAnswers = make(chan struct{}, max(4, 2*runtime.GOMAXPROCS(0)))
	s.requests = make(chan struct{}, maxRequests)
	s.open.limit = cmp.Or(opt.Indexes, 16)
	s.answers = answerCache{ctx: ctx, start: s.runInBackground,
		slots: make(chan struct{}, cmp.Or(opt.Analyses, max(2, runtime.GOMAXPROCS(0)))), limit: maxAnswerBytes,
		running: map[string]*pendingAnswer{}, kept: map[string]*cachedAnswer{}, queueTime: queueTime}
	s.pages.fs = opt.Page
	s.bodies.New = func() any { return &binaryAnswer{} }
	s.zips.New = func() any {
		w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		if err != nil {
			panic(err) // the level is a constant, so no error is possible
		}
		return w
	}
	if opt.Dir == nil {
		s.traces = newFixedCatalogue(s, opt.Traces)
	} else {
		s.traces = newFolderCatalogue(s, opt.Dir)
	}
	s.mux = s.routes()
	return s
}

// Start starts to index the given traces. It does nothing for a server of a folder.
func (s *Server) Start() {
	if g, ok := s.traces.(*fixedCatalogue); ok {
		for _, e := range g.list {
			e.startIndexing()
		}
	}
}

// URL returns the address that a browser needs for a server that listens on l. If several traces are
// given, the fragment of the address lists their ids. The page then shows all of them.
func (s *Server) URL(l net.Listener) string { return s.address(l, s.opt.Token) }

func (s *Server) address(l net.Listener, token string) string {
	a, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		a = &net.TCPAddr{IP: net.IPv6unspecified} // the address of a Unix socket has no port
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
	fragment := s.opt.Fragment
	if g, ok := s.traces.(*fixedCatalogue); ok && len(g.list) > 1 {
		var ids []string
		for _, e := range g.list {
			ids = append(ids, e.id)
		}
		fragment = strings.TrimSuffix("t="+strings.Join(ids, ",")+"&"+fragment, "&")
	}
	if fragment != "" {
		u += "#" + fragment
	}
	return u
}

func port(l net.Listener) string {
	if _, p, err := net.SplitHostPort(l.Addr().String()); err == nil {
		return p
	}
	return "unix"
}

// Serve answers requests on l until the context ends. After that, it waits a short time for the
// requests that are being answered. Then it closes the server and l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.cookie = "weft-" + port(l)
	// A ReadTimeout would cancel the context of requests whose answers take longer than that.
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
		grace, cancel := context.WithTimeout(context.Background(), shutdownGrace)
		defer cancel()
		// Builds and analyses end first, so that the requests that wait for these are answered.
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

// runInBackground runs f in a goroutine, for which Close waits. If the server is closed, runInBackground
// returns false and does not run f.
func (s *Server) runInBackground(f func()) bool {
	s.work.Lock()
	defer s.work.Unlock()
	if s.work.ended {
		return false
	}
	s.work.Go(f)
	return true
}

// Close ends the background work, waits until it has ended, and closes the traces and indexes.
func (s *Server) Close() {
	s.stop()
	s.work.Lock()
	s.work.ended = true
	s.work.Unlock()
	s.work.Wait()
	s.open.close()
	for _, e := range s.traces.entries() {
		e.closeReaders()
	}
	if g, ok := s.traces.(*fixedCatalogue); ok {
		g.close()
	}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case s.requests <- struct{}{}:
		defer func() { <-s.requests }()
	default:
		s.sendError(w, r, &problem{http.StatusServiceUnavailable, "too many requests at once", retrySoon})
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

// hostName returns the host of a Host header in lower case, without port and brackets.
func hostName(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		hostport = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]"))
}
