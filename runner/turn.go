package runner

// Turn is a claimed turn in the hands of its runtime, and all that a runtime may do
// to one. Each method that returns a Next has done a whole step of the turn: what it
// came to is durable, under the claim's fence. A cancel, the end of the turn's time,
// a stop of the process and the loss of the claim are noticed in each of them, and
// settled as they should be; then they say Over. An error is one inside: the runtime
// returns it, and the worker ends the turn. A Turn is for one goroutine.
type Turn interface {
	// Begin finds out where the turn stands: what an earlier run left open is settled
	// or waits for its results. It is called once, before all that follows.
	Begin() (Next, error)
	// Ask asks the model and keeps the answer as the next step, with
	// retries, budgets and middleware as the agent has them.
	Ask() (Next, error)
	// Call brings the calls of the last answer to their results: it decides which run,
	// asks people, runs the tools, which tell their progress by it, and opens tool
	// sessions.
	Call() (Next, error)
	// Wait has the turn wait for what its calls wait for: a person, a client, a child.
	// CallNext when that has come meanwhile.
	Wait() (Next, error)
	// Finish ends the turn with its last answer. AskNext when somebody steered it
	// meanwhile.
	Finish() (Next, error)
}

// Next is what a turn wants of its runtime.
type Next int

// What comes next.
const (
	Over       Next = iota // it has ended, waits, or was given back: RunTurn returns
	AskNext                // another answer
	CallNext               // the results of the last answer's calls
	WaitNext               // to wait for some of them
	FinishNext             // its end: the last answer asks for nothing
)
