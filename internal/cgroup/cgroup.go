// Package cgroup asks Linux how much memory the control group of this process may have, as
// containers and units of systemd bound it.
package cgroup

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// Where a system without namespaces of its own has its groups, below the root: version 2, and
// version 1 with a hierarchy for memory.
const (
	mount   = "sys/fs/cgroup"
	mountV1 = "sys/fs/cgroup/memory"
)

// unbounded is from where on version 1 means that there is no bound.
const unbounded = 1 << 60

// MemoryMax is the least bound, in bytes, of the group that this process is in and of those
// above it; false where there is none, and on other systems.
func MemoryMax() (int64, bool) { return memoryMax(os.DirFS("/")) }

func memoryMax(root fs.FS) (least int64, bounded bool) {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	for lines := bufio.NewScanner(bytes.NewReader(groups)); lines.Scan(); {
		hierarchy, rest, _ := strings.Cut(lines.Text(), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		switch {
		case hierarchy == "0" && controllers == "":
			least, bounded = lesser(root, mount, group, "memory.max", least, bounded)
		case strings.Contains(","+controllers+",", ",memory,"):
			least, bounded = lesser(root, mountV1, group, "memory.limit_in_bytes", least, bounded)
		}
	}
	return least, bounded
}

// lesser is the least of a bound and those of a group and all above it. A group that is not
// there is another namespace's: only what is above it counts.
func lesser(root fs.FS, mount, group, file string, least int64, bounded bool) (int64, bool) {
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		text, err := fs.ReadFile(root, path.Join(mount, group, file))
		if err == nil {
			most, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is no number
			if err == nil && most > 0 && most < unbounded && (!bounded || most < least) {
				least, bounded = most, true
			}
		}
		if group == "/" {
			return least, bounded
		}
	}
}
