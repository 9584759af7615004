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
	"sync/atomic"
	"time"

	"github.com/weft-trace/weft/format"
)

// settleTime is the age from which on the modification time of a file is reliable: a later change of the file
// results in another time, even if the clock of the file system is coarse.
const settleTime = 2 * time.Second

// stampOf returns a hash of the metadata of some files, without reading the files. Files with equal
// hashes are unchanged. The result is "" if the system has no change time that users cannot set. settled is set
// unless a file has changed within settleTime before now: further changes might then result in the same hash.
func stampOf(src format.Source, files []string, now time.Time) (stamp string, settled bool) {
	files = slices.Compact(slices.Sorted(slices.Values(files)))
	said := make([]string, len(files))
	latest := now.Add(-settleTime)
	var recent atomic.Bool
	var wg sync.WaitGroup
	size := len(files)/runtime.GOMAXPROCS(0) + 1
	for from := 0; from < len(files); from += size {
		wg.Go(func() {
			for i := from; i < min(from+size, len(files)); i++ {
				var changed time.Time
				if said[i], changed = metadataText(src.FS, files[i]); changed.After(latest) {
					recent.Store(true)
				}
			}
		})
	}
	wg.Wait()
	h := sha256.New()
	for i, s := range said {
		if s == "" {
			return "", false
		}
		fmt.Fprintf(h, "%q %s\n", files[i], s)
	}
	return hex.EncodeToString(h.Sum(nil)), !recent.Load()
}

// metadataText returns the metadata of a file as a text, and the time at which the file was changed. The text is
// "" if the file cannot be examined.
func metadataText(f fs.FS, name string) (text string, changed time.Time) {
	if name == "." {
		return "trace", changed // other files in the trace's folder are ignored, as in identity.addFolder
	}
	st, err := fs.Stat(f, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "missing", changed
	}
	if err != nil {
		return "", changed
	}
	changed, number, ok := changeOf(st)
	if !ok {
		return "", changed
	}
	return fmt.Sprint(st.Mode(), st.Size(), st.ModTime().UnixNano(), changed.UnixNano(), number), changed
}
