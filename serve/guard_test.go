package serve

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestGuard checks which requests are allowed.
func TestGuard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	writeSample(t, path)
	opt := options(t)
	opt.Hosts = []string{"traces.example.org"}
	s := newTestServer(t, opt, path)
	for _, x := range []struct {
		name   string
		target string
		header []string
		status int
	}{
		{"nothing", "/api/traces", nil, 401},
		{"page without token", "/", nil, 401},
		{"wrong token", "/?token=wrong", nil, 401},
		{"wrong bearer", "/api/traces", []string{"Authorization", "Bearer wrong"}, 401},
		{"other scheme", "/api/traces", []string{"Authorization", "Basic " + secret}, 401},
		{"bearer", "/api/traces", []string{"Authorization", "Bearer " + secret}, 200},
		{"bearer in small letters", "/api/traces", []string{"Authorization", "bearer  " + secret}, 200},
		{"bearer alone", "/api/traces", []string{"Authorization", "Bearer"}, 401},
		{"cookie", "/api/traces", []string{"Cookie", "weft=" + secret}, 200},
		{"wrong cookie", "/api/traces", []string{"Cookie", "weft=" + secret + "x"}, 401},
		{"other cookie", "/api/traces", []string{"Cookie", "weft-1=" + secret}, 401},
		{"page with token", "/?token=" + secret, nil, 303},
		{"localhost", "/api/traces", []string{"Authorization", "Bearer " + secret, "Host", "localhost:99"}, 200},
		{"IPv6", "/api/traces", []string{"Authorization", "Bearer " + secret, "Host", "[::1]:99"}, 200},
		{"given host", "/api/traces", []string{"Authorization", "Bearer " + secret, "Host", "Traces.Example.org"}, 200},
		{"foreign host", "/api/traces", []string{"Authorization", "Bearer " + secret, "Host", "evil.example.com:1234"}, 403},
		{"like localhost", "/api/traces", []string{"Authorization", "Bearer " + secret, "Host", "localhost.evil.com"}, 403},
		{"no host", "/api/traces", []string{"Authorization", "Bearer " + secret, "Host", ""}, 403},
		{"own origin", "/api/traces", []string{"Authorization", "Bearer " + secret, "Origin", "http://127.0.0.1:1234"}, 200},
		{"other port", "/api/traces", []string{"Authorization", "Bearer " + secret, "Origin", "http://127.0.0.1:9"}, 403},
		{"foreign origin", "/api/traces", []string{"Authorization", "Bearer " + secret, "Origin", "https://evil.example.com"},
			403},
		{"no origin", "/api/traces", []string{"Authorization", "Bearer " + secret, "Origin", "null"}, 403},
		{"link on another site's page", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200},
		{"script of another site", "/api/traces", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"},
			401},
	} {
		w := send(s, "GET", x.target, nil, x.header...)
		if w.Code != x.status {
			t.Errorf("%s: status %d, want %d: %s", x.name, w.Code, x.status, w.Body)
		}
		h := w.Header()
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: found the headers %v", x.name, h)
		}
		if w.Code >= 400 && decoded(t, w)["error"] == "" {
			t.Errorf("%s: no error", x.name)
		}
		if strings.Contains(w.Body.String(), secret) {
			t.Errorf("%s: the answer has the token in it", x.name)
		}
	}
}

// TestWrongToken checks the answers to a wrong token: a page for a browser, and JSON for other
// clients.
func TestWrongToken(t *testing.T) {
	s := newTestServer(t, options(t))
	for accept, kind := range map[string]string{
		"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8": "text/html; charset=utf-8",
		"text/html;q=0.5, application/json;q=0.4":                                    "text/html; charset=utf-8",
		"":                                  "application/json",
		"*/*":                               "application/json",
		"application/json, text/html;q=0.9": "application/json",
		"text/html;q=0":                     "application/json",
		"text/html;q=x":                     "application/json",
	} {
		for _, target := range []string{"/?token=wrong", "/", "/api/traces"} {
			w := send(s, "GET", target, nil, "Accept", accept)
			body := w.Body.String()
			if h := w.Header(); w.Code != 401 || h.Get("Content-Type") != kind || h.Get("Cache-Control") != "no-store" ||
				!slices.Contains(h.Values("Vary"), "Accept") {
				t.Errorf("%s with Accept %q: status %d, headers %v", target, accept, w.Code, h)
			}
			if html := strings.HasPrefix(body, "<!doctype html>"); html != strings.HasPrefix(kind, "text/html") ||
				!strings.Contains(body, "the address that weft printed") {
				t.Errorf("%s with Accept %q: found %q", target, accept, body)
			}
		}
	}
	if w := send(s, "PUT", "/", nil, "Accept", "text/html"); w.Code != 401 ||
		w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("PUT: status %d, headers %v", w.Code, w.Header())
	}
}

// TestCookie checks that a request with the token in its address gets a cookie and a redirect to
// the address without the token.
func TestCookie(t *testing.T) {
	s := newTestServer(t, options(t))
	for target, to := range map[string]string{"/?token=" + secret: "/",
		"/?token=" + secret + "&trace=a%26b": "/?trace=a%26b", "//evil.example.com/?token=" + secret: "/evil.example.com/"} {
		r := httptest.NewRequest("GET", "/", nil)
		u, err := url.ParseRequestURI(target)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(target, "//") {
			u = &url.URL{Path: "//evil.example.com/", RawQuery: "token=" + secret}
		}
		r.URL, r.Host = u, "localhost"
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		c := w.Result().Cookies()
		if w.Code != 303 || w.Header().Get("Location") != to || len(c) != 1 || c[0].Value != secret || !c[0].HttpOnly ||
			c[0].SameSite != http.SameSiteStrictMode || c[0].Path != "/" {
			t.Errorf("%s: status %d, to %q, cookies %v", target, w.Code, w.Header().Get("Location"), c)
		}
	}
	if w := send(s, "PUT", "/?token="+secret, nil); w.Code != 401 {
		t.Errorf("PUT with the token in the address: status %d, want 401", w.Code)
	}
}

// TestTicket checks that the address for the browser works only once.
func TestTicket(t *testing.T) {
	s := newTestServer(t, options(t))
	l := listen(t)
	defer l.Close()
	u, err := url.Parse(s.Ticket(l))
	if err != nil || strings.Contains(u.String(), secret) {
		t.Fatalf("found the ticket %s, %v", u, err)
	}
	if u.Fragment != "" {
		t.Errorf("found the fragment %s though there are no traces", u.Fragment)
	}
	if w := send(s, "GET", "/?"+u.RawQuery, nil); w.Code != 303 || w.Result().Cookies()[0].Value != secret {
		t.Errorf("the first time: status %d", w.Code)
	}
	if w := send(s, "GET", "/?"+u.RawQuery, nil); w.Code != 401 {
		t.Errorf("the second time: status %d, want 401", w.Code)
	}
}

// TestPage checks the page's files and the allowed methods.
func TestPage(t *testing.T) {
	s := newTestServer(t, options(t))
	for _, x := range []struct {
		method, target string
		status         int
		kind           string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8"}, {"HEAD", "/", 200, "text/html; charset=utf-8"},
		{"GET", "/assets/a.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/assets/odd.x", 200, "application/octet-stream"},
		{"GET", "/assets", 404, "application/json"}, {"GET", "/none", 404, "application/json"},
		{"POST", "/", 405, "application/json"}, {"DELETE", "/api/traces", 405, "application/json"},
		{"HEAD", "/api/traces", 200, "application/json"},
		{"GET", "/api/none", 404, "application/json"}, {"GET", "/api/openapi.json", 200, "application/json"},
		{"OPTIONS", "/api/traces", 405, "application/json"},
	} {
		w := ask(s, x.method, x.target)
		if w.Code != x.status || w.Header().Get("Content-Type") != x.kind {
			t.Errorf("%s %s: status %d, %s; want %d, %s", x.method, x.target, w.Code, w.Header().Get("Content-Type"), x.status,
				x.kind)
		}
		if x.method == "HEAD" && w.Body.Len() > 0 {
			t.Errorf("HEAD %s: found a body", x.target)
		}
		if x.status == 405 && !strings.Contains(w.Header().Get("Allow"), "GET") {
			t.Errorf("%s %s: Allow is %q", x.method, x.target, w.Header().Get("Allow"))
		}
	}
	if p := ask(s, "GET", "/").Header().Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'self'") ||
		strings.Contains(p, "script-src") {
		t.Errorf("policy %q", p)
	}
}

// TestNotModified checks that the server does not send an answer again if the client already has it.
func TestNotModified(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	writeSample(t, path)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	tags := map[string]string{}
	for _, q := range []string{"/", api, api + "/profile", api + "/profile?from=1", api + "/calltree",
		api + "/tiles?width=3&tracks=0", api + "/tiles?width=4&tracks=0"} {
		w := ask(s, "GET", q)
		tag := w.Header().Get("ETag")
		if w.Code != 200 || tag == "" {
			t.Fatalf("%s: status %d, ETag %q", q, w.Code, tag)
		}
		if old, ok := tags[tag]; ok {
			t.Errorf("%s and %s have the same ETag", q, old)
		}
		tags[tag] = q
		for _, sent := range []string{tag, `"x", ` + tag} {
			if w := ask(s, "GET", q, "If-None-Match", sent); w.Code != 304 || w.Body.Len() > 0 || w.Header().Get("ETag") != tag {
				t.Errorf("%s: status %d, %d bytes", q, w.Code, w.Body.Len())
			}
		}
		if w := ask(s, "GET", q, "If-None-Match", `"other"`); w.Code != 200 {
			t.Errorf("%s: status %d with another ETag", q, w.Code)
		}
	}
	if w := ask(s, "GET", api+"/profile?from=x"); w.Header().Get("ETag") != "" ||
		w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("an error can be kept: %v", w.Header())
	}
}

// TestCompressed checks that an answer to another machine is compressed if the client accepts compressed
// answers.
func TestCompressed(t *testing.T) {
	s := newTestServer(t, options(t))
	plain := ask(s, "GET", "/api/openapi.json").Body.Bytes()
	for _, x := range []struct {
		from, accept string
		zipped       bool
	}{
		{"192.0.2.7:5", "gzip", true}, {"192.0.2.7:5", "br, gzip;q=0.5", true}, {"192.0.2.7:5", "gzip;q=0", false},
		{"192.0.2.7:5", "", false}, {"127.0.0.1:5", "gzip", false}, {"[::1]:5", "gzip", false}, {"@", "gzip", false}} {
		w := ask(s, "GET", "/api/openapi.json", "From", x.from, "Accept-Encoding", x.accept)
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != x.zipped {
			t.Errorf("%+v: compressed is %t", x, got)
			continue
		}
		var r io.Reader = w.Body
		if x.zipped {
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			r = z
		}
		if body, err := io.ReadAll(r); err != nil || !reflect.DeepEqual(body, plain) {
			t.Errorf("%+v: another body, %v", x, err)
		}
	}
}

// TestSecret checks that an authorised client gets the secret, and that other clients get the page that asks
// for it.
func TestSecret(t *testing.T) {
	s := newTestServer(t, options(t))
	if v := get(t, s, "/api/secret"); v["token"] != secret {
		t.Errorf("found %v", v)
	}
	w := send(s, "GET", "/", nil, "Accept", "text/html")
	if body := w.Body.String(); w.Code != 401 || !strings.Contains(body, "<form>") ||
		!strings.Contains(body, "location.hash") || strings.Contains(body, secret) {
		t.Errorf("status %d: %s", w.Code, body)
	}
	if p := w.Header().Get("Content-Security-Policy"); !strings.Contains(p, "script-src 'sha256-") {
		t.Errorf("found the policy %s", p)
	}
	if w := send(s, "GET", "/api/secret", nil); w.Code != 401 {
		t.Errorf("without the secret: status %d, want 401", w.Code)
	}
}
