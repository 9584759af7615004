package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// readRoles reads a file with the roles of regions. A line has a role and a pattern for names or
// ids; # begins a comment. The first matching line determines the role of a region.
func readRoles(path string) (func(*trace.Region) trace.Role, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	type rule struct {
		role  trace.Role
		names *patterns
	}
	var rules []rule
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		l := strings.TrimSpace(s.Text())
		if l == "" || l[0] == '#' {
			continue
		}
		name, pattern, ok := strings.Cut(l, " ")
		role, known := trace.RoleByName(name)
		if !ok || !known {
			return nil, usageError("--roles: %s:%d: found %q, expected a role and a pattern for names or ids of regions, "+
				"such as: lock my_mutex_*", path, n, l)
		}
		p, err := newPatterns([]string{strings.TrimSpace(pattern)})
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		rules = append(rules, rule{role, p})
	}
	return func(r *trace.Region) trace.Role {
		for _, x := range rules {
			if x.names.match(r.Name, r.ID) || x.names.match(shownRegionNames(r)...) {
				return x.role
			}
		}
		return trace.UnknownRole
	}, s.Err()
}
