// Package standard is the built-in runtime: it asks the model, runs the tool calls in the answer, and asks again, until
// an answer has no calls.
package standard

import (
	"example.org/parley"
	"example.org/parley/runner"
)

// Runtime implements runner.Runtime. It keeps nothing.
type Runtime struct{}

var _ runner.Runtime = Runtime{}

// Name implements runner.Runtime.
func (Runtime) Name() string { return parley.StandardRuntime }

// RunTurn implements runner.Runtime.
func (Runtime) RunTurn(turn runner.Turn) error {
	next, err := turn.Begin(nil)
	for err == nil && next != runner.Over {
		switch next {
		case runner.AskNext:
			next, err = turn.Ask()
		case runner.CallNext:
			next, err = turn.Call()
		case runner.WaitNext:
			next, err = turn.Wait()
		default:
			next, err = turn.Finish(nil)
		}
	}
	return err
}

// Cancel does nothing: the runtime keeps nothing for a turn.
func (Runtime) Cancel(parley.ID) {}

// Close does nothing: the runtime keeps nothing for a session.
func (Runtime) Close(parley.ID) {}

// Waiting is nothing: what a turn waits for is in the store.
func (Runtime) Waiting() []runner.Waiting { return nil }
