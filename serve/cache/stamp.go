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

// settleTime is the age from which on the modification time of a file is reliable: a later change of the file
// results in another time, even if the clock of the file system is coarse.
const settleTime = 2 * time.Second

// stampOf returns a hash of the metadata of some files, without reading the files. Files with equal
// hashes are unchanged. The result is "" if the metadata cannot show that files are unchanged: if the
// system has no change time that users cannot set, or if a file has changed within settleTime before
// now.
func stampOf(src format.Source, files []string, now time.Time) string {
	files = slices.Compact(slices.Sorted(slices.Values(files)))
	said := make([]string, len(files))
	latest := now.Add(-settleTime)
	var wg sync.WaitGroup
	size := len(files)/runtime.GOMAXPROCS(0) + 1
	for from := 0; from < len(files); from += size {
		wg.Go(func() {
			for i := from; i < min(from+size, len(files)); i++ {
				said[i] = metadataText(src.FS, files[i], latest)
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

// metadataText returns the metadata of a file as a text. It returns "" if the file cannot be examined, or has
// changed after latest, because a stamp would not show further changes of such a file.
func metadataText(f fs.FS, name string, latest time.Time) string {
	if name == "." {
		return "trace" // other files in the trace's folder are ignored, as in identity.addFolder
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
