package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
	"example.org/parley/store"
	"example.org/parley/stream"
)

// The bounds of beginning a turn.
const (
	MaxRecorded    = 1000 // messages of a history that the server does not know, and records
	MaxAnswerPages = 32   // of a turn that are read to find out what its client has seen
)

// continueText begins a turn whose history ends with results that no waiting turn asked for: a turn needs a message.
const continueText = "Go on: the results of your tools are above."

// IdempotencyHeader makes a request safe to repeat.
const IdempotencyHeader = "Idempotency-Key"

// Book is what all requests of a protocol share. It keeps nothing between them.
type Book struct {
	Engine   *engine.Engine
	Streams  *stream.Streams
	Protocol string // names the hashes among the foreign ids
	Prefix   string // where the protocol is mounted
	Header   string // of a request that names its session
}

// Request is a request on its way to its turn.
type Request struct {
	X        *protocol.Exchange
	Metadata map[string]string // of each message of the user
	Search   bool              // the turn may search the web
	Think    bool              // the model is asked for reasoning
	Note     json.RawMessage   // the metadata of the message that begins or resumes the turn, instead; nil for none
	Agent    parley.Agent
	Settings parley.Settings
	History
	Tags  []string // of a session that is begun; a fork has its parent's unless there are any, even none
	Keeps bool     // what is recorded is wanted, in Kept
	Kept  []parley.Message
	Names []parley.ForeignID // to be kept: the positions that the request adds

	ofAgent    parley.ID // the session of the message must be of it; zero: of any
	operations int       // so far, each with an idempotency key of its own
}

// Turn is one that a request began or resumed.
type Turn struct {
	Session, ID parley.ID
	Event       int64 // the session's last event before
	Sequence    int64 // of the last message that the client sent; 0 while it is queued

	Waits parley.WaitReason // what the turn still waits for: not all of its calls have results; "" if it continues

	Last  parley.Message // the one that began or resumed the turn
	State *parley.Turn   // as that left it
}

// Point is a position of a history in a session's record.
type Point struct {
	Session, Message parley.ID
	At               int // index in Said
}

// Begin finds the session of a history, adds what is new, and returns its turn.
func (b *Book) Begin(ctx context.Context, r *Request) (Turn, error) {
	if named := r.X.R.Header.Get(b.Header); named != "" {
		return b.beginIn(ctx, r, named)
	}
	known, err := b.recognise(ctx, r)
	switch {
	case err != nil:
		return Turn{}, err
	case known == nil:
		return b.Open(ctx, r)
	case known.At < r.First-1:
		return b.Fork(ctx, r, *known)
	}
	last, err := b.Engine.Message(ctx, r.X.Principal, known.Message)
	if err != nil {
		return Turn{}, err
	}
	turn, err := b.GoOn(ctx, r, known.Session, last.Sequence)
	switch code := parley.ErrorCode(err); {
	case code == parley.CodeChanged, code == parley.CodeBusy, code == parley.CodeArchived:
		return b.Fork(ctx, r, *known) // another client has continued from here
	case code == parley.CodeConflict && r.results():
		return b.Open(ctx, r) // the calls have other results, or their turn is over
	}
	return turn, err
}

// beginIn continues the session that the client names with what is new.
func (b *Book) beginIn(ctx context.Context, r *Request, named string) (Turn, error) {
	id, err := parley.ParseID(named)
	if err != nil {
		return Turn{}, parley.InvalidField(b.Header, "is not a session's id")
	}
	other := parley.InvalidField(b.Header, "names a session of another agent than model does")
	if r.Said[r.First].Role != Tool && r.First == len(r.Said)-1 { // its post says the agent
		r.ofAgent = r.Agent.ID
		turn, err := b.GoOn(ctx, r, id, 0)
		var refused *parley.Error
		if errors.As(err, &refused) && refused.Code == parley.CodeInvalid && refused.Field == "agent_id" {
			return Turn{}, other
		}
		return turn, err
	}
	session, err := b.Engine.Session(ctx, r.X.Principal, id)
	if err != nil {
		return Turn{}, err
	}
	if session.AgentID != r.Agent.ID {
		return Turn{}, other
	}
	return b.GoOn(ctx, r, id, 0)
}

// recognise finds the longest beginning of the history that one session has; nil if none has it, or several.
func (b *Book) recognise(ctx context.Context, r *Request) (*Point, error) {
	var names []string
	for i := r.First - 1; i >= 0 && len(names) < parley.MaxForeignIDsAtOnce; i-- {
		names = append(names, r.after[i].String())
	}
	if len(names) == 0 {
		return nil, nil
	}
	found, err := b.Engine.ForeignIDs(ctx, r.X.Principal, b.Protocol, names)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	at := r.First - 1
	for r.after[at].String() != found[0].Name {
		at--
	}
	// The answer behind the known question may have ended without the process that would have noted it.
	if at == r.First-2 {
		var same []Point
		for i := range found {
			last, err := b.answeredWith(ctx, r, &found[i], at)
			if err != nil {
				return nil, err
			}
			if !last.IsZero() {
				same = append(same, Point{found[i].SessionID, last, at + 1})
				b.name(r, at+1, last)
			}
		}
		if len(same) == 1 {
			return &same[0], nil
		}
		r.Names = nil
	}
	if len(found) > 1 {
		return nil, nil
	}
	return &Point{found[0].SessionID, found[0].TargetID, at}, nil
}

// answeredWith returns the last message of what a session answered to a known question, if it is what the client says
// was answered; else zero.
func (b *Book) answeredWith(ctx context.Context, r *Request, known *parley.ForeignID, at int) (parley.ID, error) {
	asked, err := b.Engine.Message(ctx, r.X.Principal, known.TargetID)
	if err != nil || asked.TurnID.IsZero() {
		return parley.ID{}, err
	}
	seen, err := b.Seen(ctx, r.X.Principal, Turn{
		Session: asked.SessionID, ID: asked.TurnID, Sequence: asked.Sequence,
	})
	if parley.ErrorCode(err) == parley.CodeTooLarge {
		return parley.ID{}, nil // no client has seen it
	}
	if err != nil {
		return parley.ID{}, err
	}
	if seen.Answer().Hash(r.after[at]) != r.after[at+1] {
		return parley.ID{}, nil
	}
	return seen.Last, nil
}

// name notes which message of the record corresponds to the history up to an index.
func (b *Book) name(r *Request, at int, message parley.ID) {
	if r.after == nil { // it is named by its id
		return
	}
	r.Names = append(r.Names, parley.ForeignID{
		Protocol: b.Protocol, Name: r.after[at].String(), TargetID: message,
	})
}

// Once is the idempotency of the request's next operation: its own key, numbered if there are several.
func (b *Book) Once(r *Request) store.Idempotency {
	key := r.X.R.Header.Get(IdempotencyHeader)
	if key == "" {
		return store.Idempotency{}
	}
	if r.operations++; r.operations > 1 {
		key = fmt.Sprintf("%s/%d", key, r.operations)
	}
	return r.X.Call.Idempotency(key, b.Prefix, r.X.Body)
}

// GoOn adds the new messages to a session. follows is the sequence that the session's last message must have; 0: any.
func (b *Book) GoOn(ctx context.Context, r *Request, session parley.ID, follows int64) (Turn, error) {
	defer b.Streams.Expect(session).Close()
	if r.Said[r.First].Role != Tool {
		return b.Post(ctx, r, session, r.First, follows)
	}
	results := r.First
	for results < len(r.Said) && r.Said[results].Role == Tool {
		results++
	}
	for i := results; i < len(r.Said); i++ { // said beside the results: the turn hears it at its next step
		input, err := b.UserInput(ctx, r, i)
		if err != nil {
			return Turn{}, err
		}
		input.During = parley.DuringSteer
		posted, err := b.Engine.PostMessage(ctx, r.X.Principal, session, input, b.Once(r))
		if err != nil {
			return Turn{}, err
		}
		b.name(r, i, posted.Message.ID)
	}
	var first *store.Posted
	var turn Turn
	for i := r.First; i < results; i++ {
		input, err := b.ResultInput(ctx, r, &r.Said[i])
		if err != nil {
			return Turn{}, err
		}
		if i == results-1 {
			input.Metadata = r.Note
		}
		posted, err := b.Engine.PostMessage(ctx, r.X.Principal, session, input, b.Once(r))
		if err != nil {
			return Turn{}, err
		}
		b.name(r, i, posted.Message.ID)
		if first == nil {
			first = &posted
		}
		turn = Turn{Session: session, ID: posted.Message.TurnID, Event: first.EventSequence,
			Sequence: posted.Message.Sequence, Last: posted.Message, State: posted.Turn}
		if posted.Turn != nil && posted.Turn.Status == parley.TurnWaiting {
			turn.Waits = posted.Turn.WaitReason
		}
	}
	return turn, nil
}

// Post records said[from:] in a session that has everything before, and begins a turn with the last of it.
func (b *Book) Post(ctx context.Context, r *Request, session parley.ID, from int, follows int64) (Turn, error) {
	last := len(r.Said) - 1
	for i := from; i < last; i++ {
		if err := b.Record(ctx, r, session, i, follows); err != nil {
			return Turn{}, err
		}
		follows = 0
	}
	var input engine.MessageInput
	var err error
	if r.Said[last].Role == Tool {
		if err := b.Record(ctx, r, session, last, follows); err != nil {
			return Turn{}, err
		}
		follows = 0
		input, err = r.trigger(parley.UserContent{Text: continueText})
		if r.Note != nil {
			input.Metadata = r.Note
		}
	} else {
		input, err = b.LastInput(ctx, r)
	}
	if err != nil {
		return Turn{}, err
	}
	input.OfAgent = r.ofAgent
	if input.Follows = follows; follows > 0 {
		input.During = parley.DuringReject
	}
	posted, err := b.Engine.PostMessage(ctx, r.X.Principal, session, input, b.Once(r))
	if err != nil {
		return Turn{}, err
	}
	if r.Said[last].Role != Tool {
		b.name(r, last, posted.Message.ID)
	}
	return turnOf(&posted), nil
}

// turnOf is the turn of a post.
func turnOf(posted *store.Posted) Turn {
	m := &posted.Message
	return Turn{
		Session: m.SessionID, ID: m.TurnID, Event: posted.EventSequence, Sequence: m.Sequence, Last: *m,
		State: posted.Turn,
	}
}

// Fork leaves a session where the history diverges from it.
func (b *Book) Fork(ctx context.Context, r *Request, known Point) (Turn, error) {
	from := known.At + 1
	if r.Said[from].Role == Tool { // a fork begins behind a whole answer, with the results that it got
		return b.Open(ctx, r)
	}
	r.Names = nil
	fork := engine.ForkInput{At: known.Message}
	whole := from == len(r.Said)-1
	if whole {
		input, err := b.LastInput(ctx, r)
		if err != nil {
			return Turn{}, err
		}
		fork.Message = &input
	}
	opened, err := b.Engine.Fork(ctx, r.X.Principal, known.Session, fork, b.Once(r))
	if err != nil {
		return Turn{}, err
	}
	if r.Tags != nil {
		patch := engine.SessionPatch{}
		patch.Tags.Set, patch.Tags.Value = true, r.Tags
		if _, err := b.Engine.UpdateSession(ctx, r.X.Principal, opened.Session.ID, patch); err != nil {
			return Turn{}, err
		}
	}
	if whole {
		b.name(r, from, opened.Posted.Message.ID)
		return turnOf(opened.Posted), nil
	}
	return b.Post(ctx, r, opened.Session.ID, from, 0)
}

// Open opens a session, and records in it what the client says was said.
func (b *Book) Open(ctx context.Context, r *Request) (Turn, error) {
	r.Names = nil
	if len(r.Said) > MaxRecorded {
		return Turn{}, parley.InvalidField(
			"messages",
			"the server does not know this history, and records at most %d messages of one",
			MaxRecorded,
		)
	}
	input := engine.SessionInput{AgentID: r.Agent.ID.String(), Tags: r.Tags}
	whole := len(r.Said) == 1 && r.Said[0].Role == User
	if whole {
		first, err := b.LastInput(ctx, r)
		if err != nil {
			return Turn{}, err
		}
		input.Message = &first
	}
	opened, err := b.Engine.OpenSession(ctx, r.X.Principal, input, b.Once(r))
	if err != nil {
		return Turn{}, err
	}
	if whole {
		b.name(r, 0, opened.Posted.Message.ID)
		return turnOf(opened.Posted), nil
	}
	return b.Post(ctx, r, opened.Session.ID, 0, 0)
}
