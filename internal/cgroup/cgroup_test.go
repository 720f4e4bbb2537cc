package cgroup

import (
	"testing"
	"testing/fstest"
)

func TestMemoryMax(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files map[string]string
		want  int64 // 0: there is none
	}{
		"no groups": {},
		"a container": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n",
		}, 1 << 30},
		"no bound": {map[string]string{
			"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n",
		}, 0},
		"a unit in a slice with less": {map[string]string{
			"proc/self/cgroup":                           "0::/a.slice/b.service\n",
			"sys/fs/cgroup/a.slice/memory.max":           "1000000\n",
			"sys/fs/cgroup/a.slice/b.service/memory.max": "2000000\n",
		}, 1_000_000},
		"a group of another namespace": {map[string]string{
			"proc/self/cgroup": "0::/../elsewhere\n", "sys/fs/cgroup/memory.max": "3000000\n",
		}, 3_000_000},
		"version 1": {map[string]string{
			"proc/self/cgroup": "5:cpu,memory:/docker/x\n4:pids:/y\n0::/\n",
			"sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": "4000000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":          "9223372036854771712\n",
		}, 4_000_000},
		"version 1 without a bound": {map[string]string{
			"proc/self/cgroup":                           "5:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 0},
		"what is no number": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "-1\n",
		}, 0},
	} {
		root := fstest.MapFS{}
		for path, text := range test.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		got, bounded := memoryMax(root)
		if got != test.want || bounded != (test.want > 0) {
			t.Errorf("%s: %d, %t; want %d", name, got, bounded, test.want)
		}
	}
}
