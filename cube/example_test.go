package cube_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/weft-trace/weft/cube"
)

// This example writes a cube with one metric, two call paths and one thread, and reads it again.
func Example() {
	c := &cube.Cube{
		Metrics:   []cube.Metric{{Parent: -1, Kind: cube.Exclusive, Name: "time", Unit: "sec", Type: cube.Double}},
		Regions:   []cube.Region{{Name: "main", Begin: -1, End: -1}, {Name: "solve", Begin: -1, End: -1}},
		Paths:     []cube.Path{{Parent: -1, Region: 0}, {Parent: 0, Region: 1}},
		Nodes:     []cube.Node{{Parent: -1, Name: "laptop", Class: "machine"}},
		Groups:    []cube.Group{{Node: 0, Name: "rank 0", Type: "process"}},
		Locations: []cube.Location{{Group: 0, Name: "thread 0", Type: "thread"}},
	}
	c.Metrics[0].Add(0, 0, 0.5)
	c.Metrics[0].Add(1, 0, 2.5)
	var file bytes.Buffer
	if err := c.Write(&file); err != nil {
		fmt.Println(err)
		return
	}
	r, err := cube.Read(bytes.NewReader(file.Bytes()), int64(file.Len()), "profile.cubex")
	if err != nil {
		fmt.Println(err)
		return
	}
	for p := range r.Paths {
		fmt.Println(strings.Join(r.PathNames(p), "/"), r.Metric("time").At(p, 0))
	}
	// Output:
	// main 0.5
	// main/solve 2.5
}
