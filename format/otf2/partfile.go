package otf2

import (
	"fmt"
	"regexp"

	"github.com/weft-trace/weft/format"
)

// partName matches the names of the files of an archive other than the anchor file. The first group is the path of the
// anchor file without its extension, which is unknown if a file of a location is named without its folder.
var partName = regexp.MustCompile(`^(?:(.+)[/\\]\d+\.(?:evt|def|snap)|\d+\.(?:evt|def|snap)|` +
	`(.+?)(?:\.\d+)?\.(?:def|marker|thumb))$`)

// isPart reports whether a file with the given name and beginning is a file of an archive other than the anchor file.
func isPart(name string, head []byte) bool {
	return len(head) > 1 && head[0] == chunkHeader && (head[1] == littleEndian || head[1] == bigEndian) &&
		partName.MatchString(name)
}

// refusePart returns an error that names the anchor file if src is another file of an archive.
func refusePart(src format.Source) error {
	if !partName.MatchString(src.Path) {
		return nil
	}
	f, _, err := src.Open()
	if err != nil {
		return nil // the error of reading the anchor file says more
	}
	defer f.Close()
	var head [2]byte
	if n, _ := f.ReadAt(head[:], 0); !isPart(src.Path, head[:n]) {
		return nil
	}
	x := partName.FindStringSubmatch(src.Path)
	anchor := ", whose name ends in .otf2"
	if stub := x[1] + x[2]; stub != "" {
		anchor = " " + stub + ".otf2"
	}
	return fmt.Errorf("%s: found a file of an archive, expected its anchor file%s", src.Path, anchor)
}
