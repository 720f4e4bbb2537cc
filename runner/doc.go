// Package runner is the port between the engine, which asks for turns, and the code that runs them: runtimes, each for
// the agents that name it, and this process's worker. The store is authoritative: a turn's effects become durable only
// there.
package runner
