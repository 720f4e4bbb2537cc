package main

import (
	"bytes"
	"log/slog"
	"math"
	"runtime/debug"
	"strings"
	"testing"
)

// TestTheMemoryLimitFollowsTheControlGroup unless GOMEMLIMIT is set, and the log says so.
func TestTheMemoryLimitFollowsTheControlGroup(t *testing.T) { // not parallel: the limit is the process's
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	const most = 4 << 30
	bounded := func() (int64, bool) { return most, true }
	for _, test := range []struct {
		name, env string
		memoryMax func() (int64, bool)
		want      int64
	}{
		{"a bound", "", bounded, most / 100 * memoryShare},
		{"a limit that was set", "2GiB", bounded, math.MaxInt64},
		{"a limit that was set to none", "off", bounded, math.MaxInt64},
		{"no bound", "", func() (int64, bool) { return 0, false }, math.MaxInt64},
	} {
		debug.SetMemoryLimit(math.MaxInt64)
		var said bytes.Buffer
		limitMemory(func(name string) string {
			if name != "GOMEMLIMIT" {
				t.Errorf("%s: %s was asked for", test.name, name)
			}
			return test.env
		}, test.memoryMax, slog.New(slog.NewTextHandler(&said, nil)))
		if got := debug.SetMemoryLimit(-1); got != test.want {
			t.Errorf("%s: the limit is %d; want %d", test.name, got, test.want)
		}
		if told := strings.Contains(said.String(), "limit_bytes="); told != (test.want != math.MaxInt64) {
			t.Errorf("%s: the log says %q", test.name, said.String())
		}
	}
}
