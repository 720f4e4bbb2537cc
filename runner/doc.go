// Package runner is the port between those who ask for turns and those who run them:
// runtimes, which run the turns of agents that name them, and the worker of this
// process, as the engine sees it. What a turn does is durable through the store
// alone; nothing here carries truth.
package runner
