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

// guard refuses requests that the server must not answer, and turns the token in the
// address of the page into a cookie. It reports whether the request has been answered.
//
// The name that a request goes to is checked against pages of other sites whose name was
// made to lead here, the origin against those that send requests here openly.
func (s *Server) guard(w http.ResponseWriter, r *http.Request) bool {
	if !s.known(host(r.Host)) {
		s.fail(w, r, &problem{http.StatusForbidden, "the request goes to the host " + quote(r.Host) + ", expected localhost or a name that the server was told", 0})
		return true
	}
	if o := r.Header.Get("Origin"); o != "" && !sameOrigin(o, r.Host) {
		s.fail(w, r, &problem{http.StatusForbidden, "the request comes from a page of " + quote(o) + ", expected one of this server", 0})
		return true
	}
	if s.opt.Token == "" {
		return false
	}
	query := r.URL.Query()
	if t := query.Get("token"); t != "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		if !s.isToken(t) && !s.ticket.take(t) {
			s.unauthorized(w, r)
			return true
		}
		query.Del("token")
		to := url.URL{Path: r.URL.Path, RawQuery: query.Encode()}
		http.SetCookie(w, &http.Cookie{Name: s.cookie, Value: s.opt.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		w.Header().Set("Cache-Control", "no-store")
		// A path that begins with two slashes would be another host.
		w.Header().Set("Location", "/"+strings.TrimLeft(to.String(), "/"))
		w.WriteHeader(http.StatusSeeOther)
		return true
	}
	if scheme, t, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") && s.isToken(strings.TrimSpace(t)) {
		return false
	}
	if c, err := r.Cookie(s.cookie); err == nil && s.isToken(c.Value) {
		return false
	}
	if h := r.Header; r.URL.Path == "/" && h.Get("Sec-Fetch-Site") == "cross-site" && h.Get("Sec-Fetch-Mode") == "navigate" {
		// A browser does not send a strict cookie when the link was on the page of another
		// site. It does when a page from here leads here.
		s.html(w, r, http.StatusOK, "<!doctype html><meta http-equiv=refresh content=\"0;url=/\"><title>weft</title>\n")
		return true
	}
	s.unauthorized(w, r)
	return true
}

func (s *Server) unauthorized(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="weft"`)
	w.Header().Add("Vary", "Accept")
	if (r.Method == http.MethodGet || r.Method == http.MethodHead) && prefersHTML(r.Header.Get("Accept")) {
		s.html(w, r, http.StatusUnauthorized, unauthorizedPage)
		return
	}
	s.fail(w, r, &problem{http.StatusUnauthorized, "the request lacks the token, or has a wrong one; open the address that weft printed", 0})
}

// html sends a page that stands for itself.
func (s *Server) html(w http.ResponseWriter, r *http.Request, status int, page string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", policy+askPolicy)
	s.write(w, r, status, mediaTypes[".html"], []byte(page))
}

// askScript opens the address that the page stands for, with the view in its fragment, once
// more: with the secret.
const askScript = `document.forms[0].onsubmit = (e) => {
  e.preventDefault();
  const given = document.forms[0].elements[0].value.trim().split(/[?&]token=/);
  location.href = "/?token=" + encodeURIComponent(given[given.length - 1].split(/[&#]/)[0]) + location.hash;
};`

// askPolicy allows that script.
var askPolicy = func() string {
	h := sha256.Sum256([]byte(askScript))
	return "; script-src 'sha256-" + base64.StdEncoding.EncodeToString(h[:]) + "'"
}()

// unauthorizedPage says to people in a browser what programs are told in JSON, and asks for the secret.
const unauthorizedPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>weft: this address does not open</title>
<style>:root { color-scheme: light dark } body { font: 16px/1.5 system-ui, sans-serif; max-width: 36em; margin: 4em auto; padding: 0 1em } input, button { font: inherit } input { width: 24em; max-width: 100% }</style>
<h1>This address does not open</h1>
<p>The address lacks the secret of this server, or has a wrong one. Unless the port was chosen (<code>--port</code>), weft makes a new secret each time that it starts, and those of before are worth nothing.</p>
<p>Open the address that weft printed when it started, all of it with what follows <code>?token=</code>, or give here the secret or that address:</p>
<form><input aria-label="Secret, or the address that weft printed" autocomplete="off" autofocus> <button>Open</button></form>
<script>` + askScript + `</script>
</html>
`

// prefersHTML reads Accept, of which a browser that is to show a page names HTML first.
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

// ticket is a token that is good for one request, and not for long. The program that opens
// a browser gets one: others on the machine can see what programs are called with.
type ticket struct {
	mu    sync.Mutex
	token string
	until time.Time
}

// ticketTime is how long a ticket is good.
const ticketTime = 2 * time.Minute

// take uses a ticket up, and reports whether it was one.
func (t *ticket) take(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == "" || time.Now().After(t.until) || !sameText(token, t.token) {
		return false
	}
	t.token = ""
	return true
}

// Ticket is an address like that of [Server.URL], which works once.
func (s *Server) Ticket(l net.Listener) string {
	if s.opt.Token == "" {
		return s.URL(l)
	}
	s.ticket.mu.Lock()
	defer s.ticket.mu.Unlock()
	s.ticket.token, s.ticket.until = NewToken(), time.Now().Add(ticketTime)
	return s.address(l, s.ticket.token)
}

// secret tells who has it already the secret, for a link that opens in another browser.
func (s *Server) secret(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	return s.json(w, r, map[string]string{"token": s.opt.Token})
}

func (s *Server) isToken(t string) bool { return sameText(t, s.opt.Token) }

// sameText compares in a time that tells nothing.
func sameText(x, y string) bool {
	a, b := sha256.Sum256([]byte(x)), sha256.Sum256([]byte(y))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// known reports whether a host name is one that the server goes by.
func (s *Server) known(name string) bool {
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, name) ||
		slices.ContainsFunc(s.opt.Hosts, func(h string) bool { return host(h) == name })
}

// sameOrigin reports whether an origin is a page that came from a host, whatever the
// scheme: another program may stand between that speaks TLS.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, host)
}

// quote shortens what a client sent, for a message.
func quote(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return `"` + s + `"`
}
