package runner

import (
	"context"
	"encoding/json"
	"iter"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// Turn is a claimed turn as its runtime sees it, with everything that a runtime may do to it. Each method that returns
// a Next has done a whole step of the turn: its outcome is durable, under the claim's fence. Each of them notices a
// cancel, the end of the turn's time, a stop of the process and the loss of the claim, settles them, and then returns
// Over. An error is internal: the runtime returns it, and the worker ends the turn. A Turn belongs to one goroutine.
type Turn interface {
	// Claim returns the claim. The runtime must not change it.
	Claim() *store.Claim
	// Context ends with a cancel of the turn, with its time, a stop of the process, or the claim.
	Context() context.Context
	// Cancelled reports whether the turn was cancelled. A turn that waits may go on before RunTurn has returned: then
	// its context has ended too, but what is kept for it must stay.
	Cancelled() bool
	// Project returns the directory of the session's project, "" without one.
	Project() string
	// Instructions returns the agent's and the session's instructions, as in a system prompt. They are known from Begin
	// on.
	Instructions() string
	// Permits reports whether the grants of the session or its agent allow something with a tool's name, and the
	// session's owner has accepted that.
	Permits(name string) (bool, error)
	// Denies reports whether a grant denies a call of a tool, whoever makes it. It is safe for concurrent use.
	Denies(name string, arguments json.RawMessage) bool
	// Record reads the session's messages.
	Record(query store.MessageQuery) ([]parley.Message, error)
	// State returns what the speaker stored with its latest answer in this session, as a chunk of provider data; nil if
	// it stored nothing. It outlives the process and is the same on every server of the database.
	State() (json.RawMessage, error)
	// Shown returns what users' messages contain, by the rules and bounds of requests to models with vision. Only a
	// speaker's Speak may call it, because the memory counts for the step.
	Shown(messages []parley.Message) ([]Shown, error)
	// Unsure reports that an earlier run of the turn may have done something that is not in the record: it died, or one
	// of its calls has no known result. It is known after Begin.
	Unsure() bool
	// Limited returns the failure of a turn that has reached a limit on steps or calls; nil before that.
	Limited() *parley.Failure
	// Affords reports whether the limits on tokens and money leave room for another answer. If not, Ask makes the turn
	// wait.
	Affords() (bool, error)

	// Begin finds out where the turn stands: it settles what an earlier run left open, or lets it wait for its results.
	// Speaker answers instead of the agent's model; nil: the model answers. Begin is called once, before the methods
	// below.
	Begin(speaker Speaker) (Next, error)
	// Ask asks the model, or the speaker, and stores the answer as the next step, with the agent's retries, budgets and
	// middleware.
	Ask() (Next, error)
	// Call brings the calls of the last answer to their results: it decides which of them run, asks people, runs the
	// tools and reports their progress, and opens tool sessions.
	Call() (Next, error)
	// Wait parks the turn until what its calls wait for arrives: from a person, a client or a child. It returns
	// CallNext if that has already arrived.
	Wait() (Next, error)
	// Finish ends the turn with its last answer: completed, or failed if failure is set. It returns AskNext if somebody
	// steered the turn meanwhile.
	Finish(failure *parley.Failure) (Next, error)
}

// Next is what a turn needs next from its runtime.
type Next int

// The values of Next.
const (
	Over       Next = iota // the turn has ended, waits, or was given back: RunTurn returns
	AskNext                // ask for another answer
	CallNext               // get the results of the last answer's calls
	WaitNext               // wait for some of them
	FinishNext             // finish: the last answer asks for nothing
)

// Speaker answers instead of a model: a program that decides, and runs tools, by itself.
type Speaker interface {
	// Model is the model named in messages and calls: "runtime/name".
	Model() parley.ModelID
	// Listens reports whether it accepts input now: steers wait until it does.
	Listens() bool
	// Speak passes on what was said, in order, if anything was, and lets the speaker continue. An error fails the turn.
	Speak(said []parley.Message) (Speech, error)
	// Tool returns the tool that waits for the result of one of the speaker's calls; false if the speaker no longer
	// knows the call. Then a call that it asked permission for has not run, and the effect of any other is unknown. A
	// destructive call is one that it asks permission for; it makes the others by itself.
	Tool(name string, arguments json.RawMessage) (tool.Tool, bool)
}

// Speech is one answer of a speaker.
type Speech struct {
	Request []byte // what it was sent, for the record; nil when it goes on by itself
	// Chunks yields its answer, once, until it ends or needs the results of its calls. An error is a *model.Error.
	// Usage is what the speaker reports, if anything.
	Chunks func(ctx context.Context) iter.Seq2[model.Chunk, error]
	// Cost is the answer's cost, once Chunks has ended; nil as long as the speaker reports none.
	Cost func() *parley.Money
}

// Shown is a piece of a user's message.
type Shown struct {
	Kind      ShownKind
	Text      string // of a text, and in the place of a file that is not shown: why not
	Name      string // of an image, a file or a link
	MediaType string
	URL       string // of a link
	FileID    parley.ID
	Data      []byte // of an image or a file
}

// ShownKind says which fields of a Shown count.
type ShownKind int

// The kinds of pieces.
const (
	ShownText ShownKind = iota
	ShownImage
	ShownFile // of text
	ShownLink
)
