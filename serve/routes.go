package serve

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

//go:embed openapi.json
var openapi []byte

// api is a route and what it answers to.
type api struct {
	path    string
	methods map[string]func(http.ResponseWriter, *http.Request) error
}

// quick answers from the index; slow prepares an analysis, which is made once for all who
// ask for the same.
type (
	quick func(ctx context.Context, x *opened, p *params) (any, error)
	slow  func(e *entry, p *params) func(context.Context) (any, error)
)

// table lists all routes of the API.
func (s *Server) table() []api {
	type handler = func(http.ResponseWriter, *http.Request) error
	get := func(path string, f handler) api {
		return api{path, map[string]handler{http.MethodGet: f}}
	}
	const one = "/api/traces/{id}"
	return []api{
		{"/api/traces", map[string]handler{http.MethodGet: s.listTraces, http.MethodPost: s.addTraces}},
		get("/api/openapi.json", s.describe),
		get("/api/secret", s.secret),
		get(one, s.showTrace),
		get(one+"/tiles", s.quickly(s.inTurn(tiles))),
		get(one+"/summary", s.quickly(s.inTurn(summary))),
		get(one+"/span", s.quickly(spanAt)),
		get(one+"/edge", s.quickly(edgeAt)),
		get(one+"/instant", s.quickly(instantAt)),
		get(one+"/find", s.quickly(find)),
		get(one+"/calls", s.quickly(s.inTurn(callsOf))),
		get(one+"/hit", s.quickly(s.inTurn(hit))),
		get(one+"/links", s.quickly(s.inTurn(links))),
		get(one+"/link", s.quickly(linkAt)),
		get(one+"/profile", s.quickly(s.inTurn(profileOf))),
		get(one+"/locations", s.quickly(s.inTurn(locations))),
		get(one+"/matrix", s.slowly(matrix)),
		get(one+"/counters", s.slowly(counters)),
		get(one+"/states", s.slowly(processorStates)),
		get(one+"/calltree", s.slowly(callTree)),
		get(one+"/utilisation", s.slowly(utilisation)),
		get(one+"/structure", s.slowly(structureText)),
		get(one+"/defects", s.slowly(defects)),
		get(one+"/info", s.slowly(information)),
		{one + "/notes", map[string]handler{http.MethodGet: s.getNotes, http.MethodPut: s.putNotes}},
	}
}

// routes makes the mux.
func (s *Server) routes() *http.ServeMux {
	m := http.NewServeMux()
	for _, x := range s.table() {
		m.HandleFunc(x.path, s.handler(x.methods))
	}
	m.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, notFound("there is no "+quote(r.URL.Path)+"; /api/openapi.json lists what there is"))
	})
	page := s.handler(map[string]func(http.ResponseWriter, *http.Request) error{http.MethodGet: s.page})
	m.HandleFunc("/", page)
	return m
}

// handler checks the method and answers with errors.
func (s *Server) handler(methods map[string]func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	var allowed []string
	for m := range methods {
		allowed = append(allowed, m)
	}
	if methods[http.MethodGet] != nil {
		allowed = append(allowed, http.MethodHead)
	}
	slices.Sort(allowed)
	return func(w http.ResponseWriter, r *http.Request) {
		m := r.Method
		if m == http.MethodHead {
			m = http.MethodGet
		}
		f := methods[m]
		if f == nil {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			s.fail(w, r, &problem{http.StatusMethodNotAllowed, "found the method " + quote(r.Method) + ", expected " + strings.Join(allowed, " or "), 0})
			return
		}
		if err := guarded(func() error { return f(w, r) }); err != nil {
			s.fail(w, r, err)
		}
	}
}

// entry finds the trace of a request.
func (s *Server) entry(r *http.Request) (*entry, error) {
	id := r.PathValue("id")
	base, color, colored := strings.Cut(id, colorMark)
	if e := s.traces.find(base); e != nil {
		if !colored {
			return e, nil
		}
		if name, err := url.PathUnescape(color); err == nil {
			return e.in(name)
		}
	}
	return nil, notFound("there is no trace " + quote(id) + "; /api/traces lists them")
}

// opened opens the index of the trace of a request.
func (s *Server) opened(r *http.Request) (*opened, error) {
	e, err := s.entry(r)
	if err != nil {
		return nil, err
	}
	return e.open()
}

// json answers with a value.
func (s *Server) json(w http.ResponseWriter, r *http.Request, v any) error {
	var body []byte
	var err error
	if x, ok := v.(interface{ appendJSON([]byte) ([]byte, error) }); ok {
		body, err = x.appendJSON(nil)
	} else {
		body, err = json.Marshal(v)
	}
	if err != nil {
		return err
	}
	s.write(w, r, http.StatusOK, "application/json", append(body, '\n'))
	return nil
}

// now answers with a value that may be another one at once.
func (s *Server) now(w http.ResponseWriter, r *http.Request, v any) error {
	w.Header().Set("Cache-Control", "no-store")
	return s.json(w, r, v)
}

// binary is an answer that is no JSON.
type binary []byte

// nothing is the answer that there is nothing at a place that one may well ask for: no error.
type nothing struct{}

// unfinished is an answer that may lack what took too long to read.
type unfinished interface{ lacks() bool }

// tag is the ETag of what a request asks of a trace: of the content of the trace and the
// version of its index, which are in its key, and of the question.
func (s *Server) tag(x *shown, r *http.Request) string {
	q := r.URL.Query()
	h := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%s", s.opt.Version, x.tag, r.URL.Path, q.Encode()))
	return `W/"` + hex.EncodeToString(h[:16]) + `"`
}

// inTurn makes answers that may need much memory, or all cores, a few at a time.
func (s *Server) inTurn(f quick) quick {
	return func(ctx context.Context, x *opened, p *params) (any, error) {
		select {
		case s.making <- struct{}{}:
			defer func() { <-s.making }()
			return f(ctx, x, p)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// quickly answers from the index.
func (s *Server) quickly(f quick) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		x, err := s.opened(r)
		if err != nil {
			return err
		}
		defer x.release()
		if s.unchanged(w, r, s.tag(x.shown, r)) {
			return nil
		}
		ctx, cancel := context.WithTimeout(r.Context(), quickTimeout)
		defer cancel()
		v, err := f(ctx, x, &params{values: r.URL.Query(), x: x.shown})
		if err != nil {
			return x.e.lost(err)
		}
		if y, ok := v.(unfinished); ok && y.lacks() {
			// The next answer has more.
			w.Header().Del("ETag")
			w.Header().Set("Cache-Control", "no-store")
		}
		if _, ok := v.(nothing); ok {
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		if b, ok := v.(*binary); ok {
			s.write(w, r, http.StatusOK, "application/octet-stream", *b)
			s.bodies.Put(b)
			return nil
		}
		return s.json(w, r, v)
	}
}

// slowly answers with an analysis.
func (s *Server) slowly(f slow) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		x, err := s.opened(r)
		if err != nil {
			return err
		}
		x.release()
		e := x.e
		tag := s.tag(x.shown, r)
		if s.unchanged(w, r, tag) {
			return nil
		}
		p := &params{values: r.URL.Query(), x: x.shown}
		analyse := f(e, p)
		if p.err != nil {
			return p.err
		}
		body, err := s.answers.get(r.Context(), e.id+tag, func(ctx context.Context) ([]byte, error) {
			v, err := analyse(ctx)
			if err != nil {
				return nil, err
			}
			body, err := json.Marshal(v)
			return append(body, '\n'), err
		})
		if err != nil {
			return e.lost(err)
		}
		s.write(w, r, http.StatusOK, "application/json", body)
		return nil
	}
}

func (s *Server) describe(w http.ResponseWriter, r *http.Request) error {
	s.write(w, r, http.StatusOK, "application/json", openapi)
	return nil
}

// traceLine is a trace in the list.
type traceLine struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	Path     string  `json:"path"`
	Format   string  `json:"format"`
	Bytes    int64   `json:"bytes"`
	State    state   `json:"state"`
	Progress float64 `json:"progress"`
	Error    string  `json:"error"`
}

// line describes a trace; the early facts and those of a ready one are nil where there
// are none.
func (e *entry) line() (l traceLine, before *earlyFacts, ready *shown) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l = traceLine{e.id, e.name, e.path, "", e.bytes, e.state, e.progress, e.err}
	if e.format != nil {
		l.Format = e.format.About().Name
	}
	return l, e.early, e.shown
}

func (s *Server) listTraces(w http.ResponseWriter, r *http.Request) error {
	all, err := s.traces.all()
	if err != nil {
		return err
	}
	out := struct {
		Version  string      `json:"version"`
		ReadOnly bool        `json:"readOnly"`
		Traces   []traceLine `json:"traces"`
	}{s.opt.Version, s.readOnly(), []traceLine{}}
	for _, e := range all {
		l, _, _ := e.line()
		out.Traces = append(out.Traces, l)
	}
	return s.now(w, r, out)
}

// readOnly reports whether nobody may write notes.
func (s *Server) readOnly() bool { return s.opt.Dir != nil }

func (s *Server) showTrace(w http.ResponseWriter, r *http.Request) error {
	e, err := s.entry(r)
	if err != nil {
		return err
	}
	if q := r.URL.Query(); q.Has("color") {
		if e, err = e.in(q.Get("color")); err != nil {
			return err
		}
	}
	e.refresh()
	l, before, ready := e.line()
	switch {
	case l.State == stateReady && ready != nil:
		if s.unchanged(w, r, s.tag(ready, r)) {
			return nil
		}
		return s.json(w, r, struct {
			traceLine
			traceFacts
		}{l, ready.facts})
	case before != nil:
		return s.now(w, r, struct {
			traceLine
			*earlyFacts
		}{l, before})
	}
	return s.now(w, r, l)
}
