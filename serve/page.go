package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

// pagePolicy is the Content-Security-Policy of the page: all content must come from this server, and only
// scripts in files may run.
const pagePolicy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
	"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// mediaTypes maps extensions to media types, because the table of the system may lack some.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".json": "application/json",
	".map":  "application/json", ".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon",
	".woff2": "font/woff2", ".wasm": "application/wasm", ".txt": "text/plain; charset=utf-8",
}

// pageFiles holds the files of the page and the hashes of their content.
type pageFiles struct {
	fs   fs.FS
	tags sync.Map
}

// servePage answers with a file of the page.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) error {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	if s.pages.fs == nil || !fs.ValidPath(name) {
		return notFound("there is no " + quote(r.URL.Path))
	}
	st, err := fs.Stat(s.pages.fs, name)
	if err != nil || !st.Mode().IsRegular() {
		return notFound("there is no " + quote(r.URL.Path))
	}
	body, err := fs.ReadFile(s.pages.fs, name)
	if err != nil {
		return err
	}
	tag, ok := s.pages.tags.Load(name)
	if !ok {
		h := sha256.Sum256(body)
		tag = `W/"` + hex.EncodeToString(h[:16]) + `"`
		s.pages.tags.Store(name, tag)
	}
	w.Header().Set("Content-Security-Policy", pagePolicy)
	if s.sendNotModified(w, r, tag.(string)) {
		return nil
	}
	kind := mediaTypes[path.Ext(name)]
	if kind == "" {
		kind = "application/octet-stream"
	}
	s.sendAnswer(w, r, http.StatusOK, kind, body)
	return nil
}
