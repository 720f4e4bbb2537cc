// Package observe is the port of observers: a worker reports its turns, calls and tools, and its
// process, to them for metrics and traces. An observer decides nothing: whatever it does, turns run
// the same.
package observe
