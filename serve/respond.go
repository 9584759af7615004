package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// problem is an error that the client receives as an HTTP status with a message.
type problem struct {
	status  int
	message string
	retry   int // number of seconds after which the client may retry; 0 if it must not retry
}

// Error returns the message for the client.
func (p *problem) Error() string { return p.message }

// retrySoon is the number of seconds after which a client may retry if the server is busy.
const retrySoon = 2

func badRequest(message string) error { return &problem{http.StatusBadRequest, message, 0} }
func notFound(message string) error   { return &problem{http.StatusNotFound, message, 0} }
func unavailable(message string) error {
	return &problem{http.StatusServiceUnavailable, message, retrySoon}
}

// sendError answers a request with an error. If the error is not of type problem, sendError chooses the
// status.
func (s *Server) sendError(w http.ResponseWriter, r *http.Request, err error) {
	var p *problem
	var defect *trace.Defect
	switch {
	case errors.As(err, &p):
	case errors.Is(err, context.DeadlineExceeded):
		p = &problem{http.StatusServiceUnavailable, "the answer took too long", retrySoon}
	case errors.Is(err, context.Canceled):
		p = &problem{http.StatusServiceUnavailable, "the request was given up", retrySoon}
	case errors.As(err, &defect), errors.Is(err, format.ErrUnknown), errors.Is(err, format.ErrDamaged):
		p = &problem{http.StatusUnprocessableEntity, err.Error(), 0}
	default:
		p = &problem{http.StatusInternalServerError, err.Error(), 0}
	}
	if p.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.retry))
	}
	h := w.Header()
	h.Del("ETag")
	h.Set("Cache-Control", "no-store")
	body, _ := json.Marshal(map[string]string{"error": p.message})
	s.sendAnswer(w, r, p.status, "application/json", append(body, '\n'))
}

// sendAnswer sends an answer. It compresses the answer if that saves time.
func (s *Server) sendAnswer(w http.ResponseWriter, r *http.Request, status int, kind string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Add("Vary", "Accept-Encoding")
	if len(body) >= 1024 && !isLocal(r) && acceptsGzip(r.Header.Get("Accept-Encoding")) {
		var b bytes.Buffer
		z := s.zips.Get().(*gzip.Writer)
		z.Reset(&b)
		_, err := z.Write(body)
		if e := z.Close(); err == nil && e == nil && b.Len() < len(body) {
			h.Set("Content-Encoding", "gzip")
			body = b.Bytes()
		}
		s.zips.Put(z)
	}
	if n := int64(len(body)); n >= largeAnswer {
		// A slow client keeps the answer in memory until the client has read all of it.
		defer s.sending.Add(-n)
		if sum := s.sending.Add(n); sum > maxSending && sum > n {
			h.Del("Content-Encoding")
			s.sendError(w, r, unavailable("too many large answers at once"))
			return
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	// The deadline starts here, because computing the answer may have taken long.
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(body)
	}
}

// isLocal reports whether the client is on this machine. In that case, it takes longer to compress an
// answer than to send it.
func isLocal(r *http.Request) bool {
	h, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return true // the address of a Unix socket has no port
	}
	ip := net.ParseIP(h)
	return ip != nil && ip.IsLoopback()
}

// acceptsGzip reports whether an Accept-Encoding header allows gzip.
func acceptsGzip(accept string) bool {
	for f := range strings.SplitSeq(accept, ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(f), ";")
		if name = strings.TrimSpace(name); name != "gzip" && name != "*" {
			continue
		}
		q, ok := strings.CutPrefix(strings.TrimSpace(weight), "q=")
		v, err := strconv.ParseFloat(q, 64)
		return !ok || err == nil && v > 0
	}
	return false
}

// sendNotModified answers with status 304 if the client already has the answer with this ETag. It reports
// whether it has answered. The ETag does not depend on the contents of the answer. Therefore it is known
// before the answer is computed.
func (s *Server) sendNotModified(w http.ResponseWriter, r *http.Request, tag string) bool {
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "private, no-cache")
	for f := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if f = strings.TrimSpace(f); f == "*" || f == tag {
			h.Set("Vary", "Accept-Encoding")
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	return false
}

// ticks is a time or duration. Its JSON is a decimal string, because JSON readers may round large
// numbers.
type ticks int64

// MarshalText returns the number in decimal.
func (t ticks) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(t), 10), nil }

// sum is a sum of durations in ticks. Its JSON is a decimal string.
type sum trace.Ticks

// MarshalText returns the number in decimal.
func (s sum) MarshalText() ([]byte, error) { return trace.Ticks(s).Append(nil), nil }

// addTicks adds o to the sum.
func (s *sum) addTicks(o trace.Ticks) { *s = sum(trace.Ticks(*s).Plus(o)) }

// mean is the mean of n durations. Its JSON is a string with the number of ticks, rounded to three
// decimals, or "" if n is 0.
type mean struct {
	sum trace.Ticks
	n   int64
}

// MarshalText returns the number in decimal.
func (m mean) MarshalText() ([]byte, error) { return m.append(nil), nil }

func (m mean) append(b []byte) []byte {
	if m.n <= 0 {
		return b
	}
	if n := m.sum.Int64(); n >= 0 && n < 1<<51 && m.n < 1<<60 { // this is the most frequent case
		x := (2000*n + m.n) / (2 * m.n)
		return appendFraction(strconv.AppendInt(b, x/1000, 10), x%1000)
	}
	x, n := m.sum.Big(), big.NewInt(m.n)
	negative := x.Sign() < 0
	x.Abs(x).Mul(x, big.NewInt(2000)).Add(x, n).Quo(x, n.Lsh(n, 1))
	if negative && x.Sign() > 0 {
		b = append(b, '-')
	}
	whole, part := new(big.Int).QuoRem(x, big.NewInt(1000), new(big.Int))
	return appendFraction(whole.Append(b, 10), part.Int64())
}

// appendFraction appends a decimal point and a number of thousandths, without trailing zeros. It appends
// nothing if the number is 0.
func appendFraction(b []byte, thousandths int64) []byte {
	if thousandths > 0 {
		b = append(b, strings.TrimRight(fmt.Sprintf(".%03d", thousandths), "0")...)
	}
	return b
}
