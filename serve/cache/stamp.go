package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/weft-trace/weft/format"
)

// settleTime is the age from which the modification time of a file is reliable: a later change
// gives another time, even with a coarse clock of the file system.
const settleTime = 2 * time.Second

// stampOf returns a hash of the files' metadata, which takes no reading of the files. Equal hashes
// mean unchanged files. stampOf returns "" if the metadata is not sufficient: if the system has no
// change time that users cannot set, or if a file has changed within [settleTime] before now.
func stampOf(src format.Source, files []string, now time.Time) string {
	files = slices.Compact(slices.Sorted(slices.Values(files)))
	said := make([]string, len(files))
	latest := now.Add(-settleTime)
	var wg sync.WaitGroup
	size := len(files)/runtime.GOMAXPROCS(0) + 1
	for from := 0; from < len(files); from += size {
		wg.Go(func() {
			for i := from; i < min(from+size, len(files)); i++ {
				said[i] = describe(src.FS, files[i], latest)
			}
		})
	}
	wg.Wait()
	h := sha256.New()
	for i, s := range said {
		if s == "" {
			return ""
		}
		fmt.Fprintf(h, "%q %s\n", files[i], s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// describe returns the metadata of a file as a text, or "" if it is not sufficient.
func describe(f fs.FS, name string, latest time.Time) string {
	if name == "." {
		return "trace" // see [identity.folder]
	}
	st, err := fs.Stat(f, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "missing"
	}
	if err != nil {
		return ""
	}
	changed, number, ok := changeOf(st)
	if !ok || changed.After(latest) {
		return ""
	}
	return fmt.Sprint(st.Mode(), st.Size(), st.ModTime().UnixNano(), changed.UnixNano(), number)
}
