package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// guard refuses requests that the server must not answer. If the address of the page contains a token, guard
// replaces the token by a cookie. guard reports whether it has answered the request. If it has, the caller
// must not answer the request.
//
// The check of the Host header prevents DNS rebinding. The check of the Origin header prevents cross-site
// requests.
func (s *Server) guard(w http.ResponseWriter, r *http.Request) bool {
	if !s.isKnownHost(hostName(r.Host)) {
		s.sendError(w, r, &problem{http.StatusForbidden,
			"the request goes to the host " + quote(r.Host) + ", expected localhost or a host name given to the server", 0})
		return true
	}
	if o := r.Header.Get("Origin"); o != "" && !sameOrigin(o, r.Host) {
		s.sendError(w, r, &problem{http.StatusForbidden,
			"the request comes from a page of " + quote(o) + ", expected one of this server", 0})
		return true
	}
	if s.opt.Token == "" {
		return false
	}
	query := r.URL.Query()
	if t := query.Get("token"); t != "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		if !s.isToken(t) && !s.ticket.take(t) {
			s.sendUnauthorized(w, r)
			return true
		}
		query.Del("token")
		to := url.URL{Path: r.URL.Path, RawQuery: query.Encode()}
		http.SetCookie(w, &http.Cookie{Name: s.cookie, Value: s.opt.Token, Path: "/", HttpOnly: true,
			SameSite: http.SameSiteStrictMode})
		w.Header().Set("Cache-Control", "no-store")
		// A path that begins with two slashes would be taken as an address on another host.
		w.Header().Set("Location", "/"+strings.TrimLeft(to.String(), "/"))
		w.WriteHeader(http.StatusSeeOther)
		return true
	}
	if scheme, t, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") &&
		s.isToken(strings.TrimSpace(t)) {
		return false
	}
	if c, err := r.Cookie(s.cookie); err == nil && s.isToken(c.Value) {
		return false
	}
	if h := r.Header; r.URL.Path == "/" && h.Get("Sec-Fetch-Site") == "cross-site" &&
		h.Get("Sec-Fetch-Mode") == "navigate" {
		// If the user follows a link on another site, the browser does not send a strict cookie with the
		// request. It does send the cookie after a redirect from a page of this server.
		s.sendHTML(w, r, http.StatusOK, "<!doctype html><meta http-equiv=refresh content=\"0;url=/\"><title>weft</title>\n")
		return true
	}
	s.sendUnauthorized(w, r)
	return true
}

// sendUnauthorized answers a request without a valid token: with a page for a browser, and with JSON for
// other clients.
func (s *Server) sendUnauthorized(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="weft"`)
	w.Header().Add("Vary", "Accept")
	if (r.Method == http.MethodGet || r.Method == http.MethodHead) && prefersHTML(r.Header.Get("Accept")) {
		s.sendHTML(w, r, http.StatusUnauthorized, unauthorizedPage)
		return
	}
	s.sendError(w, r, &problem{http.StatusUnauthorized,
		"the request lacks the token, or has a wrong one; open the address that weft printed", 0})
}

// sendHTML sends a self-contained page.
func (s *Server) sendHTML(w http.ResponseWriter, r *http.Request, status int, page string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", pagePolicy+tokenFormPolicy)
	s.sendAnswer(w, r, status, mediaTypes[".html"], []byte(page))
}

// tokenFormScript opens the requested address again, with the secret. It keeps the fragment of the address,
// because the fragment contains the view.
const tokenFormScript = `document.forms[0].onsubmit = (e) => {
  e.preventDefault();
  const given = document.forms[0].elements[0].value.trim().split(/[?&]token=/);
  location.href = "/?token=" + encodeURIComponent(given[given.length - 1].split(/[&#]/)[0]) + location.hash;
};`

// tokenFormPolicy is a Content-Security-Policy that allows tokenFormScript.
var tokenFormPolicy = func() string {
	h := sha256.Sum256([]byte(tokenFormScript))
	return "; script-src 'sha256-" + base64.StdEncoding.EncodeToString(h[:]) + "'"
}()

// unauthorizedPage tells the user of a browser that the token is missing, and asks for the secret. Other
// clients get JSON instead.
const unauthorizedPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>weft: this address does not open</title>
<style>
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 36em; margin: 4em auto; padding: 0 1em }
input, button { font: inherit }
input { width: 24em; max-width: 100% }
</style>
<h1>This address does not open</h1>
<p>The address lacks the secret of this server, or has a wrong one.
Unless the port was chosen (<code>--port</code>), weft makes a new secret each time it starts,
and earlier secrets no longer work.</p>
<p>Open the complete address that weft printed when it started, including the part after <code>?token=</code>,
or enter the secret or that address here:</p>
<form>
<input aria-label="Secret, or the address that weft printed" autocomplete="off" autofocus>
<button>Open</button>
</form>
<script>` + tokenFormScript + `</script>
</html>
`

// prefersHTML reports whether an Accept header ranks HTML above JSON, as browsers do for pages.
func prefersHTML(accept string) bool {
	weight := func(kind string) (best float64) {
		for f := range strings.SplitSeq(accept, ",") {
			name, rest, _ := strings.Cut(f, ";")
			if !strings.EqualFold(strings.TrimSpace(name), kind) {
				continue
			}
			v := 1.0
			for p := range strings.SplitSeq(rest, ";") {
				if q, ok := strings.CutPrefix(strings.TrimSpace(p), "q="); ok {
					v, _ = strconv.ParseFloat(q, 64)
				}
			}
			best = max(best, v)
		}
		return best
	}
	html := weight("text/html")
	return html > 0 && html > weight("application/json")
}

// ticket is a token for a single request within a short time. The browser is started with a ticket
// instead of the secret, because other users of the machine can see the arguments of programs.
type ticket struct {
	mu    sync.Mutex
	token string
	until time.Time
}

// ticketTime is the time for which a ticket is valid.
const ticketTime = 2 * time.Minute

// take reports whether a token is the valid ticket. After a successful call, the ticket is no longer valid.
func (t *ticket) take(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == "" || time.Now().After(t.until) || !equalText(token, t.token) {
		return false
	}
	t.token = ""
	return true
}

// Ticket returns an address like the result of [Server.URL], but it works only once.
func (s *Server) Ticket(l net.Listener) string {
	if s.opt.Token == "" {
		return s.URL(l)
	}
	s.ticket.mu.Lock()
	defer s.ticket.mu.Unlock()
	s.ticket.token, s.ticket.until = NewToken(), time.Now().Add(ticketTime)
	return s.address(l, s.ticket.token)
}

// sendSecret answers with the secret, so that the page can make a link for another browser.
func (s *Server) sendSecret(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	return s.sendJSON(w, r, map[string]string{"token": s.opt.Token})
}

// isToken reports whether a text is the secret of the server.
func (s *Server) isToken(t string) bool { return equalText(t, s.opt.Token) }

// equalText reports whether two texts are equal. The time that it takes does not depend on the contents of the
// texts.
func equalText(x, y string) bool {
	a, b := sha256.Sum256([]byte(x)), sha256.Sum256([]byte(y))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// isKnownHost reports whether the server answers requests to a host name.
func (s *Server) isKnownHost(name string) bool {
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, name) ||
		slices.ContainsFunc(s.opt.Hosts, func(h string) bool { return hostName(h) == name })
}

// sameOrigin reports whether an Origin header belongs to a host. The scheme may differ, because a
// proxy may add TLS.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, host)
}

// quote returns the quoted beginning of a text from a client, for a message.
func quote(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return `"` + s + `"`
}
