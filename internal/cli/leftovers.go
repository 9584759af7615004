package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// leftoverName matches the end of the names of temporary files and folders. The first group is the part of the trace
// if it has several files, the second one the id of the process that made the file.
var leftoverName = regexp.MustCompile(`^((?:\.[0-9a-f]+)?\.(?:def|events|snaps|stats|marker|thumb)(?:\.z)?)?\.(\d+)` +
	`(?:\.\d+)?\.(?:tmp|tmp\.d|old)$`)

// reportLeftovers reports the temporary files of an output that processes of this machine have left because they were
// killed. It removes nothing: another machine may write to the same folder, and weft repair reads the files of OTF.
func (a *app) reportLeftovers(path string) {
	names := leftovers(path)
	if len(names) == 0 {
		return
	}
	shown := names[:min(len(names), 3)]
	more := ""
	if n := len(names) - len(shown); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	printf(a.err, "%s: a process that was killed has left %s%s; weft repair reads files of OTF, "+
		"all others can be removed\n", plain(path), plain(strings.Join(shown, ", ")), more)
}

// leftovers returns the temporary files and folders of an output whose processes no longer exist.
func leftovers(path string) (names []string) {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil
	}
	defer folder.Close()
	all, _ := folder.Readdirnames(-1)
	base := "." + filepath.Base(path)
	stub := strings.TrimSuffix(base, filepath.Ext(base))
	for _, name := range all {
		end, ok := strings.CutPrefix(name, base)
		x := leftoverName.FindStringSubmatch(end)
		if !ok || x == nil || x[1] != "" {
			if end, ok = strings.CutPrefix(name, stub); !ok {
				continue
			}
			if x = leftoverName.FindStringSubmatch(end); x == nil {
				continue
			}
		}
		if pid, err := strconv.Atoi(x[2]); err == nil && !processExists(pid) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// processExists reports whether a process exists, or may exist.
func processExists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
