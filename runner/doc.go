// Package runner is the port between the engine, which asks for turns, and the code that runs them:
// runtimes, each for the agents that name it, and this process's worker. A turn's effects become
// durable only through the store, which is authoritative; nothing here is.
package runner
