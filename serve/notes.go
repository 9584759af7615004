package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/plural"
)

// note is a text about an interval of time.
type note struct {
	ID      string `json:"id"`
	From    string `json:"from"`
	To      string `json:"to"`
	Track   int    `json:"track"`
	Text    string `json:"text"`
	Created string `json:"created"`
}

// noteList is the list of all notes on a trace, as clients send and receive it.
type noteList struct {
	Notes []note `json:"notes"`
}

// These limits bound the notes of a trace.
const (
	maxNotes     = 10_000
	maxNoteText  = 10_000
	maxNoteBytes = 8 << 20
)

// notesSuffix is the suffix of the name of the file with notes. The name of the index file precedes it.
const notesSuffix = ".notes.json"

// notesPath returns the path of the file with the notes about a trace, or "" if notes cannot be stored.
// The file is next to the index, because weft writes nothing next to a trace.
func (e *entry) notesPath() (string, error) {
	switch {
	case e.base != nil:
		return e.base.notesPath()
	case e.given.Once:
		return "", nil
	case e.given.Index != "":
		return e.given.Index + notesSuffix, nil
	}
	path, err := e.s.opt.Cache.Notes(e.given.Source)
	if errors.Is(err, fs.ErrNotExist) {
		err = notFound("the file " + e.path + " is gone")
	}
	return path, err
}

// getNotes answers with the notes on a trace.
func (s *Server) getNotes(w http.ResponseWriter, r *http.Request) error {
	e, err := s.entry(r)
	if err != nil {
		return err
	}
	l, err := e.notes()
	if err != nil {
		return err
	}
	return s.sendUncachedJSON(w, r, l)
}

// notes reads the notes on a trace. The list is empty if the file does not exist.
func (e *entry) notes() (noteList, error) {
	l := noteList{[]note{}}
	path, err := e.notesPath()
	if path == "" || err != nil {
		return l, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	defer f.Close()
	d := json.NewDecoder(io.LimitReader(f, maxNoteBytes))
	if err := d.Decode(&l); err != nil {
		return l, fmt.Errorf("%s: found notes that weft cannot read: %w", path, err)
	}
	if l.Notes == nil {
		l.Notes = []note{}
	}
	return l, nil
}

// putNotes replaces the notes on a trace by the notes in the body of the request.
func (s *Server) putNotes(w http.ResponseWriter, r *http.Request) error {
	e, err := s.entry(r)
	if err != nil {
		return err
	}
	refused := &problem{http.StatusForbidden, "notes on this trace cannot be written here", 0}
	if s.readOnly() {
		return refused
	}
	path, err := e.notesPath()
	if err != nil {
		return err
	}
	if path == "" {
		return refused
	}
	var l noteList
	c := http.NewResponseController(w)
	c.SetReadDeadline(time.Now().Add(bodyTimeout))
	defer c.SetReadDeadline(time.Time{})
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxNoteBytes))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return &problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("found more than %d bytes of notes", maxNoteBytes), 0}
		}
		return badRequest("notes: " + jsonError(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return badRequest("notes: found more data after them, expected nothing")
	}
	if l.Notes == nil {
		// To remove all notes, a client must send an empty list.
		return badRequest("notes: found no list, expected {\"notes\":[…]}")
	}
	if err := l.check(time.Now()); err != nil {
		return err
	}
	e.s.writing.Lock()
	defer e.s.writing.Unlock()
	if err := writeNotes(path, &l); err != nil {
		return err
	}
	return s.sendUncachedJSON(w, r, l)
}

// jsonError returns the text of an error of package json without the names of Go types.
func jsonError(err error) string {
	var kind *json.UnmarshalTypeError
	switch {
	case err == io.EOF:
		return "found nothing, expected JSON"
	case errors.As(err, &kind) && kind.Field == "":
		return "found JSON of another kind (" + kind.Value + "), expected an object with a list of notes"
	case errors.As(err, &kind):
		return "found JSON of another kind (" + kind.Value + ") in " + kind.Field + ", expected what weft writes"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// check returns an error for an invalid list. It sets the time of creation of new notes.
func (l *noteList) check(now time.Time) error {
	if len(l.Notes) > maxNotes {
		return badRequest(fmt.Sprintf("found %s, expected at most %d", plural.Of(len(l.Notes), "note"), maxNotes))
	}
	seen := map[string]bool{}
	for i := range l.Notes {
		n := &l.Notes[i]
		fail := func(what, expected string) error {
			return badRequest(fmt.Sprintf("note %d: found %s, expected %s", i, what, expected))
		}
		if n.ID == "" || len(n.ID) > 100 || seen[n.ID] {
			return fail("the id "+quote(n.ID), "one of its own of up to 100 bytes")
		}
		seen[n.ID] = true
		from, err1 := strconv.ParseInt(n.From, 10, 64)
		to, err2 := strconv.ParseInt(n.To, 10, 64)
		if err1 != nil || err2 != nil || from > to {
			return fail("the times "+quote(n.From)+" and "+quote(n.To), "ticks as decimal texts, from not after to")
		}
		if n.Track < -1 {
			return fail(fmt.Sprintf("track %d", n.Track), "the number of one, or -1")
		}
		if len(n.Text) > maxNoteText || !utf8.ValidString(n.Text) {
			return fail("a text of "+strconv.Itoa(len(n.Text))+" bytes", "up to "+strconv.Itoa(maxNoteText)+" in UTF-8")
		}
		if n.Created == "" {
			n.Created = now.UTC().Format(time.RFC3339)
		}
		if _, err := time.Parse(time.RFC3339, n.Created); err != nil {
			return fail("the date "+quote(n.Created), "one like "+time.RFC3339)
		}
	}
	return nil
}

// writeNotes writes the file of notes atomically.
func writeNotes(path string, l *noteList) error {
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".weft-notes-*")
	if err != nil {
		return fmt.Errorf("cannot keep notes: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(text, '\n'))
	if st, e := os.Stat(path); err == nil && e == nil {
		err = f.Chmod(st.Mode().Perm()) // CreateTemp makes files that only the owner can read
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
