package main

import (
	"log/slog"
	"runtime/debug"
)

// memoryShare is how much of the memory of its control group, in percent, the Go runtime may
// take: the rest is for what it does not count, SQLite's pages among it.
const memoryShare = 90

// limitMemory has the runtime heed the bound of the process's control group, unless
// GOMEMLIMIT says what it is to heed. What is bounded by memory follows it
// (inflight.Scale).
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
