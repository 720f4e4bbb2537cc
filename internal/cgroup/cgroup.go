// Package cgroup asks Linux how much memory this process's control group may use, as set by containers and systemd
// units.
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

// unbounded: version 1 reports values from here on for groups without a limit.
const unbounded = 1 << 60

// MemoryMax returns the smallest memory limit, in bytes, of this process's control group and its parents; false without
// one, and on other systems.
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

// lesser returns the smallest of a bound and the bounds of a group and its parents. A group that does not exist belongs
// to another namespace; then only its parents count.
func lesser(root fs.FS, mount, group, file string, least int64, bounded bool) (int64, bool) {
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		text, err := fs.ReadFile(root, path.Join(mount, group, file))
		if err == nil {
			most, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is not a number
			if err == nil && most > 0 && most < unbounded && (!bounded || most < least) {
				least, bounded = most, true
			}
		}
		if group == "/" {
			return least, bounded
		}
	}
}
