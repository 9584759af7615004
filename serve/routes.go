package serve

import (
	"cmp"
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
	"sync"

	"github.com/weft-trace/weft/internal/nearest"
)

//go:embed openapi.json
var openapi []byte

// route is a path of the API, with a handler for each method.
type route struct {
	path    string
	methods map[string]func(http.ResponseWriter, *http.Request) error
}

// An indexHandler answers a request from the index. An analysisHandler reads the parameters of a request, and
// returns a function that computes the answer. Requests for the same answer share a single call of that
// function.
type (
	indexHandler    func(ctx context.Context, x *traceIndex, p *params) (any, error)
	analysisHandler func(e *entry, p *params) func(context.Context) (any, error)
)

// apiRoutes lists all routes of the API.
func (s *Server) apiRoutes() []route {
	type handler = func(http.ResponseWriter, *http.Request) error
	get := func(path string, f handler) route {
		return route{path, map[string]handler{http.MethodGet: f}}
	}
	const one = "/api/traces/{id}"
	return []route{
		{"/api/traces", map[string]handler{http.MethodGet: s.listTraces, http.MethodPost: s.addTraces}},
		get("/api/openapi.json", s.sendOpenAPI),
		get("/api/secret", s.sendSecret),
		get(one, s.showTrace),
		get(one+"/tiles", s.fromIndex(s.limitConcurrency(tiles))),
		get(one+"/summary", s.fromIndex(s.limitConcurrency(summary))),
		get(one+"/span", s.fromIndex(spanAt)),
		get(one+"/edge", s.fromIndex(edgeAt)),
		get(one+"/instant", s.fromIndex(instantAt)),
		get(one+"/find", s.fromIndex(find)),
		get(one+"/calls", s.fromIndex(s.limitConcurrency(listCalls))),
		get(one+"/hit", s.fromIndex(s.limitConcurrency(adjacentCall))),
		get(one+"/links", s.fromIndex(s.limitConcurrency(links))),
		get(one+"/link", s.fromIndex(linkAt)),
		get(one+"/profile", s.fromIndex(s.limitConcurrency(profileOf))),
		get(one+"/locations", s.fromIndex(s.limitConcurrency(locations))),
		get(one+"/matrix", s.fromAnalysis(matrix)),
		get(one+"/counters", s.fromAnalysis(counters)),
		get(one+"/states", s.fromAnalysis(processorStates)),
		get(one+"/calltree", s.fromAnalysis(callTree)),
		get(one+"/waits", s.fromAnalysis(waitStates)),
		get(one+"/path", s.fromStoredFor(criticalPath, storedHead)),
		get(one+"/path/line", s.fromStoredFor(criticalPath, pathLine)),
		get(one+"/efficiency", s.fromAnalysis(efficiencyFactors)),
		get(one+"/efficiency/phases", s.fromAnalysis(s.efficiencyPhases)),
		get(one+"/explain", s.fromAnalysis(explanation)),
		get(one+"/waits/intervals", s.fromStored(waitIntervals, visibleWaits)),
		get(one+"/utilisation", s.fromAnalysis(utilisation)),
		get(one+"/behaviour", s.fromAnalysis(behaviours)),
		get(one+"/flow", s.fromStoredFor(flow, storedHead)),
		get(one+"/flow/signals", s.fromStoredFor(flow, flowSignals)),
		get(one+"/distance", s.fromAnalysis(s.distanceFrom)),
		get(one+"/diff", s.fromAnalysis(s.differences)),
		get(one+"/structure", s.fromAnalysis(structureText)),
		get(one+"/defects", s.fromAnalysis(defects)),
		get(one+"/info", s.fromAnalysis(information)),
		{one + "/verify", map[string]handler{http.MethodPost: s.sendVerdicts}},
		{one + "/notes", map[string]handler{http.MethodGet: s.getNotes, http.MethodPut: s.putNotes}},
	}
}

// routes returns the handler for all routes.
func (s *Server) routes() *http.ServeMux {
	m := http.NewServeMux()
	for _, x := range s.apiRoutes() {
		m.HandleFunc(x.path, s.checkQuery(x, s.handler(x.methods)))
	}
	m.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		s.sendError(w, r, notFound("there is no "+quote(r.URL.Path)+"; /api/openapi.json lists what there is"))
	})
	page := s.handler(map[string]func(http.ResponseWriter, *http.Request) error{http.MethodGet: s.servePage})
	m.HandleFunc("/", page)
	return m
}

// handler returns a handler that calls the function for the method of the request. If the function returns an
// error, the handler answers with the error.
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
			s.sendError(w, r, &problem{http.StatusMethodNotAllowed,
				"found the method " + quote(r.Method) + ", expected " + strings.Join(allowed, " or "), 0})
			return
		}
		if err := recoverPanic(func() error { return f(w, r) }); err != nil {
			s.sendError(w, r, err)
		}
	}
}

// queryNames returns the names of the parameters that openapi.json describes, by path and method.
var queryNames = sync.OnceValue(func() map[string][]string {
	var d struct {
		Paths map[string]map[string]struct{ Parameters []struct{ Name, In string } }
	}
	if err := json.Unmarshal(openapi, &d); err != nil {
		panic(err) // the description is a constant, so no error is possible
	}
	names := map[string][]string{}
	for path, methods := range d.Paths {
		for method, x := range methods {
			key := strings.ToUpper(method) + " " + path
			for _, p := range x.Parameters {
				if p.In == "query" {
					names[key] = append(names[key], p.Name)
				}
			}
		}
	}
	return names
})

// checkQuery returns a handler that refuses requests with parameters that the API does not have, or with two
// values of a parameter. Without this check, a misspelled parameter would result in the answer to another
// question.
func (s *Server) checkQuery(x route, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		if x.methods[method] == nil {
			h(w, r) // answers that the method is wrong
			return
		}
		names := queryNames()[method+" "+x.path]
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			s.sendError(w, r, badRequest("found the query "+quote(r.URL.RawQuery)+", expected NAME=VALUE, joined by &"))
			return
		}
		for name, values := range query {
			switch {
			case !slices.Contains(names, name):
				expected := "none"
				if len(names) > 0 {
					expected = "one of " + strings.Join(names, ", ")
				}
				err = badRequest("found the parameter " + quote(name) + ", expected " + expected + nearest.Hint(name, names))
			case len(values) > 1:
				err = badRequest(fmt.Sprintf("%s: found %d values, expected one", name, len(values)))
			}
		}
		if err != nil {
			s.sendError(w, r, err)
			return
		}
		h(w, r)
	}
}

// entry returns the trace of a request, or an error for the client.
func (s *Server) entry(r *http.Request) (*entry, error) { return s.find(r.PathValue("id")) }

// find returns the trace with an id, or an error for the client.
func (s *Server) find(id string) (*entry, error) {
	base, text, is := strings.Cut(id, configSeparator)
	if e := s.traces.find(base); e != nil {
		if !is {
			return e, nil
		}
		if c, ok := parseConfiguration(text); ok {
			return e.withConfiguration(c)
		}
	}
	return nil, notFound("there is no trace " + quote(id) + "; /api/traces lists them")
}

// openTraceIndex opens the index of the request's trace. The caller must release it.
func (s *Server) openTraceIndex(r *http.Request) (*traceIndex, error) {
	e, err := s.entry(r)
	if err != nil {
		return nil, err
	}
	return e.open()
}

// sendJSON answers with a value as JSON.
func (s *Server) sendJSON(w http.ResponseWriter, r *http.Request, v any) error {
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
	s.sendAnswer(w, r, http.StatusOK, "application/json", append(body, '\n'))
	return nil
}

// sendUncachedJSON answers with a value that clients must not cache.
func (s *Server) sendUncachedJSON(w http.ResponseWriter, r *http.Request, v any) error {
	w.Header().Set("Cache-Control", "no-store")
	return s.sendJSON(w, r, v)
}

// binaryAnswer is an answer that is sent without change, and not as JSON.
type binaryAnswer []byte

// noContent reports that a query finds nothing. The server then answers with 204 No Content.
type noContent struct{}

// partialAnswer is an answer that may be incomplete, because reading the trace completely would have taken too
// long.
type partialAnswer interface{ incomplete() bool }

// etag returns the ETag of a request. It depends on the version of the server, on the key of the index, and on
// the request. The key depends on the contents of the trace.
func (s *Server) etag(x *traceView, r *http.Request) string {
	q, second := r.URL.Query(), ""
	if other, err := s.find(q.Get("reference")); err == nil {
		if _, _, v := other.status(); v != nil {
			second = v.tag // the answer depends on both traces
		}
	}
	h := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%s\n%s", s.opt.Version, x.tag, r.URL.Path, q.Encode(), second))
	return `W/"` + hex.EncodeToString(h[:16]) + `"`
}

// limitConcurrency returns a handler that limits the number of simultaneous requests that use much memory or
// all cores.
func (s *Server) limitConcurrency(f indexHandler) indexHandler {
	return func(ctx context.Context, x *traceIndex, p *params) (any, error) {
		select {
		case s.heavyAnswers <- struct{}{}:
			defer func() { <-s.heavyAnswers }()
			return f(ctx, x, p)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// fromIndex returns an HTTP handler for answers from the index.
func (s *Server) fromIndex(f indexHandler) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		x, err := s.openTraceIndex(r)
		if err != nil {
			return err
		}
		defer x.release()
		if s.sendNotModified(w, r, s.etag(x.traceView, r)) {
			return nil
		}
		ctx, cancel := context.WithTimeout(r.Context(), quickTimeout)
		defer cancel()
		v, err := f(ctx, x, &params{values: r.URL.Query(), x: x.traceView})
		if err != nil {
			return x.e.recoverIndex(err)
		}
		if y, ok := v.(partialAnswer); ok && y.incomplete() {
			// A later request for the same answer may get a complete answer.
			w.Header().Del("ETag")
			w.Header().Set("Cache-Control", "no-store")
		}
		if _, ok := v.(noContent); ok {
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		if b, ok := v.(*binaryAnswer); ok {
			s.sendAnswer(w, r, http.StatusOK, "application/octet-stream", *b)
			s.bodies.Put(b)
			return nil
		}
		return s.sendJSON(w, r, v)
	}
}

// fromAnalysis returns an HTTP handler for answers of an analysis.
func (s *Server) fromAnalysis(f analysisHandler) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		x, err := s.openTraceIndex(r)
		if err != nil {
			return err
		}
		x.release()
		e := x.e
		tag := s.etag(x.traceView, r)
		if s.sendNotModified(w, r, tag) {
			return nil
		}
		p := &params{values: r.URL.Query(), x: x.traceView}
		analyse := f(e, p)
		if p.err != nil {
			return p.err
		}
		body, err := s.analyse(r, x, e.id+tag, func(ctx context.Context) ([]byte, error) {
			v, err := analyse(ctx)
			if err != nil {
				return nil, err
			}
			body, err := json.Marshal(v)
			return append(body, '\n'), err
		})
		if err != nil {
			return e.recoverIndex(err)
		}
		s.sendAnswer(w, r, http.StatusOK, "application/json", body)
		return nil
	}
}

// analyse returns the answer with a name from the answerCache. f computes the answer from the events of the
// trace x and, if the request names a reference, of that trace. If the files of a trace change before f has
// ended, analyse returns an error: the answer would differ from those from the index, and would be kept as the
// answer for the earlier contents.
func (s *Server) analyse(r *http.Request, x *traceIndex, name string, f func(context.Context) ([]byte, error),
) ([]byte, error) {
	views := map[*entry]*traceView{x.e: x.traceView}
	if other, err := s.find(r.URL.Query().Get("reference")); err == nil {
		if _, _, v := other.status(); v != nil {
			views[other] = v
		}
	}
	return s.answers.get(r.Context(), name, func(ctx context.Context) ([]byte, error) {
		body, err := f(ctx)
		for e, v := range views {
			if ctx.Err() == nil {
				err = cmp.Or(e.checkUnchanged(v), err) // the change may be the reason of err
			}
		}
		return body, err
	})
}

// storedAnswer is the result of an analysis of a whole trace. The answerCache keeps it, and several answers
// are computed from it. name identifies the result among the analyses of a trace.
type storedAnswer struct {
	name    string
	compute func(ctx context.Context, e *entry, v *traceView) ([]byte, error)
}

// fromStored returns an HTTP handler. The handler computes answers from a stored answer by calling cut.
func (s *Server) fromStored(a storedAnswer, cut func(stored []byte, p *params) (any, error)) func(http.ResponseWriter,
	*http.Request) error {
	return s.fromStoredFor(func(*params) storedAnswer { return a }, cut)
}

// fromStoredFor is like fromStored, for a stored answer that depends on parameters.
func (s *Server) fromStoredFor(answer func(p *params) storedAnswer, cut func(stored []byte, p *params) (any, error),
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		x, err := s.openTraceIndex(r)
		if err != nil {
			return err
		}
		x.release()
		e, v := x.e, x.traceView
		if s.sendNotModified(w, r, s.etag(v, r)) {
			return nil
		}
		p := &params{values: r.URL.Query(), x: v}
		a := answer(p)
		if p.err != nil {
			return p.err
		}
		stored, err := s.analyse(r, x, e.id+" "+v.tag+" "+a.name, func(ctx context.Context) ([]byte, error) {
			return a.compute(ctx, e, v)
		})
		if err != nil {
			return e.recoverIndex(err)
		}
		answer, err := cut(stored, p)
		if p.err != nil {
			return p.err
		}
		if err != nil {
			return err
		}
		return s.sendJSON(w, r, answer)
	}
}

// sendOpenAPI answers with the description of the API.
func (s *Server) sendOpenAPI(w http.ResponseWriter, r *http.Request) error {
	s.sendAnswer(w, r, http.StatusOK, "application/json", openapi)
	return nil
}

// traceStatus describes a trace in the list of traces.
type traceStatus struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	Path     string  `json:"path"`
	Format   string  `json:"format"`
	Bytes    int64   `json:"bytes"`
	State    state   `json:"state"`
	Progress float64 `json:"progress"`
	Error    string  `json:"error"`
}

// status returns the status of a trace. before is set while the trace is being indexed, and ready when the
// trace is ready. Otherwise both are nil.
func (e *entry) status() (l traceStatus, before *earlyFacts, ready *traceView) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l = traceStatus{e.id, e.name, e.path, "", e.bytes, e.state, e.progress, e.err}
	if e.format != nil {
		l.Format = e.format.About().Name
	}
	return l, e.early, e.view
}

// listTraces answers with the list of all traces.
func (s *Server) listTraces(w http.ResponseWriter, r *http.Request) error {
	all, err := s.traces.all()
	if err != nil {
		return err
	}
	out := struct {
		Version  string        `json:"version"`
		ReadOnly bool          `json:"readOnly"`
		Traces   []traceStatus `json:"traces"`
	}{s.opt.Version, s.readOnly(), []traceStatus{}}
	for _, e := range all {
		l, _, _ := e.status()
		out.Traces = append(out.Traces, l)
	}
	return s.sendUncachedJSON(w, r, out)
}

// readOnly reports whether the server refuses to store notes.
func (s *Server) readOnly() bool { return s.opt.Dir != nil }

// showTrace answers with the description of a trace. It starts indexing if needed.
func (s *Server) showTrace(w http.ResponseWriter, r *http.Request) error {
	e, err := s.entry(r)
	if err != nil {
		return err
	}
	if q := r.URL.Query(); q.Has("color") || q.Has("label") || q.Has("rows") || q.Has("only") {
		c := configuration{q.Get("color"), q.Get("label"), q.Get("rows"), q.Get("only")}
		if e, err = e.withConfiguration(c); err != nil {
			return err
		}
	}
	e.refresh()
	l, before, ready := e.status()
	switch {
	case l.State == stateReady && ready != nil:
		if s.sendNotModified(w, r, s.etag(ready, r)) {
			return nil
		}
		return s.sendJSON(w, r, struct {
			traceStatus
			traceFacts
		}{l, ready.facts})
	case before != nil:
		return s.sendUncachedJSON(w, r, struct {
			traceStatus
			*earlyFacts
		}{l, before})
	}
	return s.sendUncachedJSON(w, r, l)
}
