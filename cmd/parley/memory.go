package main

import (
	"log/slog"
	"runtime/debug"
)

// memoryShare is the percentage of the control group's memory that Go may use. The rest is for memory that Go does not
// count, such as SQLite's pages.
const memoryShare = 90

// limitMemory sets Go's memory limit from the process's control group, unless GOMEMLIMIT is set. Bounds that depend on
// memory follow that limit (inflight.Scale).
func limitMemory(env func(string) string, memoryMax func() (int64, bool), log *slog.Logger) {
	if env("GOMEMLIMIT") != "" {
		return
	}
	most, bounded := memoryMax()
	if !bounded {
		return
	}
	limit := most / 100 * memoryShare
	debug.SetMemoryLimit(limit)
	log.Info("the memory limit follows the control group's", "limit_bytes", limit, "memory_max_bytes", most)
}
