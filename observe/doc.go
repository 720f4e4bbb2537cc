// Package observe is the port of observers: what a worker tells of the turns, calls
// and tools that it runs, and of its process, for metrics and traces. An observer
// decides nothing: whatever it does, turns run the same.
package observe
