package serve

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/weft-trace/weft/format"
)

// These limits bound the files of an upload.
const (
	maxUpload      = 64 << 30 // largest size of an upload in bytes
	maxUploadFiles = 20_000
)

// addTraces stores uploaded files in a temporary folder, and adds the traces among them to the
// catalogue. The name of each part of the form is the path of a file.
func (s *Server) addTraces(w http.ResponseWriter, r *http.Request) error {
	g, ok := s.traces.(*fixedCatalogue)
	if !ok || s.readOnly() {
		return &problem{http.StatusForbidden, "this server takes no files: it shows those of a folder", 0}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
	form, err := r.MultipartReader()
	if err != nil {
		return badRequest("files: " + err.Error())
	}
	dir, err := os.MkdirTemp("", "weft-dropped-*")
	if err != nil {
		return err
	}
	list, err := s.takeFiles(dir, form)
	if err != nil {
		os.RemoveAll(dir)
		return err
	}
	ids := []string{}
	for _, e := range g.add(s, dir, list) {
		e.startIndexing()
		ids = append(ids, e.id)
	}
	return s.sendUncachedJSON(w, r, map[string][]string{"traces": ids})
}

// takeFiles writes the files of a form to the folder dir, and returns the traces among them.
func (s *Server) takeFiles(dir string, form *multipart.Reader) ([]*entry, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var names []string
	for {
		p, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, asUploadProblem(err)
		}
		name := p.FormName()
		if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\\x00") {
			return nil, badRequest("files: found the name " + quote(name) + ", expected the path of a file")
		}
		if len(names) >= maxUploadFiles {
			return nil, badRequest("files: found more than " + strconv.Itoa(maxUploadFiles))
		}
		// MkdirAll fails if the form uses the same name for a file and a folder.
		err = root.MkdirAll(path.Dir(name), 0o700)
		var f *os.File
		if err == nil {
			f, err = root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		}
		if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) {
			return nil, badRequest("files: found " + quote(name) + " twice, or as a folder too")
		}
		if errors.Is(err, syscall.ENAMETOOLONG) {
			return nil, badRequest("files: found the name " + quote(name) + ", expected a shorter one")
		}
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(f, p)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, asUploadProblem(err)
		}
		names = append(names, name)
	}
	list, err := newFolderCatalogue(s, root).all()
	if err == nil && len(list) == 0 {
		err = s.noTraceError(dir, names)
	}
	return list, err
}

// maxReasons is the largest number of files for which noTraceError gives the reason.
const maxReasons = 3

// noTraceError returns an error with the reasons why no file of a folder is a trace. The reasons are the same
// as in the messages of the commands for such files.
func (s *Server) noTraceError(dir string, names []string) error {
	var why []string
	for _, name := range names[:min(len(names), maxReasons)] {
		src := format.FileSource(filepath.Join(dir, filepath.FromSlash(name)))
		src.Path = name
		_, err := format.Detect(s.opt.Reading.Formats, src)
		switch {
		case err != nil:
			why = append(why, err.Error())
		case strings.Contains("/"+name, "/."), strings.Count(name, "/") > maxDepth:
			why = append(why, fmt.Sprintf("%s: found a name that begins with a dot, or is more than %d folders deep", name,
				maxDepth))
		default:
			why = append(why, name+": found a part of a trace, expected its main file too")
		}
	}
	text := "files: found " + strconv.Itoa(len(names)) + ", none of which is a trace of a format that weft reads"
	if len(why) > 0 {
		text += ": " + strings.Join(why, "; ")
	}
	return badRequest(text)
}

// asUploadProblem converts an error that the client has caused to a problem. It returns other errors
// unchanged.
func asUploadProblem(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &problem{http.StatusRequestEntityTooLarge, "files: found more than " + strconv.Itoa(maxUpload>>30) + " GiB", 0}
	}
	var here *fs.PathError
	if errors.As(err, &here) {
		return err
	}
	return badRequest("files: " + err.Error())
}

// add adds traces in a temporary folder to the catalogue. The folder is removed when the server is
// closed.
func (f *fixedCatalogue) add(s *Server, dir string, list []*entry) (out []*entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.temporary = append(f.temporary, dir)
	for _, x := range list {
		src := format.FileSource(filepath.Join(dir, filepath.FromSlash(x.path)))
		src.Path = x.path
		// The server cannot recognise the trace later, because the folder will have another name.
		e := s.newEntry(ServedTrace{Source: src, Once: true}, traceID(filepath.Join(dir, x.path), 0), x.name)
		e.format = x.format
		out = append(out, e)
	}
	f.list = append(f.list[:len(f.list):len(f.list)], out...)
	return out
}

// close removes the temporary folders of uploaded traces.
func (f *fixedCatalogue) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, dir := range f.temporary {
		os.RemoveAll(dir)
	}
}
