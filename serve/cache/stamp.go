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

// settled is how long ago a file must have been changed before the clock of a file system
// surely tells a further change from that.
const settled = 2 * time.Second

// stampOf hashes what the machine says of the files of a trace, without reading them: if it
// says the same later, they are the same. It returns "" where that is unknown: where there is
// no time of change that cannot be set, or a file has changed within [settled] before now.
func stampOf(src format.Source, files []string, now time.Time) string {
	files = slices.Compact(slices.Sorted(slices.Values(files)))
	said := make([]string, len(files))
	latest := now.Add(-settled)
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

// describe is what the machine says of a file, "" if that is not enough.
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
