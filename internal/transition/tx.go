package transition

import (
	"log/slog"
	"slices"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// Tx runs one transition at a time and holds the sessions that it locked. A store keeps one per writer: call Begin, one
// transition, Finish, then write the Changes of the Locked heads. It is not safe for concurrent use.
type Tx struct {
	// LastServed is the workspace that the last claim served: the next claim starts after it.
	LastServed parley.ID
	// ClaimBy is the process with a place for the turn that a delegation's message starts; zero: none. Begin forgets
	// it.
	ClaimBy parley.ID
	// Claimed is the turn that the transition has claimed for ClaimBy; nil: none.
	Claimed *store.Claim

	log    *slog.Logger
	rows   Rows
	now    parley.Time
	locked []*Head
	known  knownAgent // the agent read last
	// answers are what the step that the transition settles answers to the delegation that its turn carries, if that is
	// short enough to be kept with the errand that brings it home
	answers []parley.Message
	noted   []parley.KnowledgeItem // what the agent that learns knows already, or has forgotten, once read

	about Subject
}

// Subject is what an audited transition is about: the session that it makes or, if it makes none, the session that the
// caller named.
type Subject struct {
	SessionID parley.ID // zero: none
	TargetID  parley.ID // the row that it makes in the session; zero: none
}

// Subject returns what the transition is about. It is valid once the transition has run.
func (t *Tx) Subject() Subject { return t.about }

// Means says that the transition is about a row outside its sessions, such as an agent.
func (t *Tx) Means(id parley.ID) { t.about = Subject{TargetID: id} }

// New makes a Tx. It logs to log what it can report to nobody else.
func New(log *slog.Logger) *Tx { return &Tx{log: log} }

// Begin starts a transition over rows, at a time by the store's clock.
func (t *Tx) Begin(rows Rows, now parley.Time) {
	t.rows, t.now, t.known, t.about, t.answers, t.noted = rows, now, knownAgent{}, Subject{}, nil, nil
	t.ClaimBy, t.Claimed = parley.ID{}, nil
	clear(t.locked)
	t.locked = t.locked[:0]
}

// Now returns the time of the transition.
func (t *Tx) Now() parley.Time { return t.now }

// Locked returns the sessions that the transition locked, in order. Their Changes are complete after Finish.
func (t *Tx) Locked() []*Head { return t.locked }

// Finish completes the changes of a transition that was not refused, and returns what to tell listeners after the
// commit.
func (t *Tx) Finish() (commits []store.Commit) {
	for _, h := range t.locked {
		if commit, tells := t.complete(h); tells {
			commits = append(commits, commit)
		}
	}
	return commits
}

// complete derives dependent changes: the kinds of updates, and the status for the feed.
func (t *Tx) complete(h *Head) (commit store.Commit, tells bool) {
	c := &h.Changes
	c.Claim = c.Head && h.claimed() != h.claim
	if h.Status != h.status || h.WaitReason != h.reason {
		c.Listed = true
		t.feed(h, event.SessionStatusChanged{
			SessionID: h.ID, Status: h.Status, WaitReason: nilIfZero(&h.WaitReason),
		}.Encode())
	}
	h.queue.trim()
	commit = h.hint
	h.hint = store.Commit{}
	for _, run := range []*parley.PipelineRun{c.NewPipelineRun, c.PipelineRun} {
		commit.Pipeline = commit.Pipeline || run != nil && run.DueAt != 0
	}
	commit.Ready, commit.Outbox = c.Ready, len(c.Spent) > 0 || c.Relimited ||
		slices.ContainsFunc(c.Outbox, func(errand Errand) bool { return errand.Delay <= 0 }) // polling finds the rest
	if n := len(c.Events); n > 0 {
		commit.Events = make([]parley.Event, n)
		for i := range c.Events {
			commit.Events[i] = c.Events[i].Event
		}
	}
	if len(commit.Events) == 0 && len(commit.Feed) == 0 && len(commit.Settled)+len(commit.Pieces) == 0 &&
		!commit.Compaction && !commit.Pipeline &&
		!commit.Ready &&
		!commit.Outbox &&
		commit.Cancel.IsZero() {
		return commit, false
	}
	commit.WorkspaceID, commit.SessionID, commit.Epoch = h.WorkspaceID, h.ID, h.Epoch
	return commit, true
}

// load locks a session for this transition; nil if there is none.
func (t *Tx) load(id parley.ID) (*Head, error) {
	for _, h := range t.locked {
		if h.ID == id {
			return h, nil
		}
	}
	h, err := t.rows.Head(id)
	if err != nil || h == nil {
		return nil, err
	}
	t.take(h)
	h.status, h.reason = h.Status, h.WaitReason
	return h, nil
}

func (t *Tx) take(h *Head) {
	h.Changes, h.hint, h.claim = Changes{At: t.now}, store.Commit{}, h.claimed()
	if h.queue != nil {
		h.queue.changed = false
	}
	t.locked = append(t.locked, h)
}

// lock locks a session that a scope may see: CodeNotFound if it does not exist, is deleted or is hidden from the scope.
func (t *Tx) lock(scope store.Scope, id parley.ID) (*Head, error) {
	h, err := t.load(id)
	if err != nil {
		return nil, err
	}
	if h == nil || h.DeletedAt != 0 || !visible(scope, &h.Session) {
		return nil, NotFound("session")
	}
	if t.about.SessionID.IsZero() {
		t.about.SessionID = id
	}
	return h, nil
}

// Holds locks a session for the holder of a claim, or is CodeFenced.
func (t *Tx) Holds(fence store.Fence) (*Head, error) {
	h, err := t.load(fence.SessionID)
	if err != nil {
		return nil, err
	}
	if h == nil || h.DeletedAt != 0 || h.WorkspaceID != fence.WorkspaceID || h.Epoch != fence.Epoch ||
		h.TurnID != fence.TurnID || h.TurnStatus != parley.TurnRunning || h.Holder.IsZero() {
		return nil, parley.Errorf(parley.CodeFenced, "the claim of this turn has passed to someone else")
	}
	return h, nil
}

// lockTurn locks a claimed session and reads the claimed turn.
func (t *Tx) lockTurn(fence store.Fence) (*Head, *parley.Turn, error) {
	h, err := t.Holds(fence)
	if err != nil {
		return nil, nil, err
	}
	turn, err := t.currentTurn(h)
	return h, turn, err
}

// lockMessage locks the session of a message and reads the message.
func (t *Tx) lockMessage(scope store.Scope, messageID parley.ID) (*Head, *parley.Message, error) {
	sessionID, err := t.rows.SessionOf(scope.WorkspaceID, messageID)
	if err != nil {
		return nil, nil, err
	}
	if sessionID.IsZero() {
		return nil, nil, NotFound("message")
	}
	h, err := t.lock(scope, sessionID)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return nil, nil, NotFound("message")
	} else if err != nil {
		return nil, nil, err
	}
	m, err := t.rows.Message(h.WorkspaceID, messageID)
	if err == nil && m == nil {
		err = NotFound("message")
	}
	return h, m, err
}

// visible reports whether a scope may see a session.
func visible(scope store.Scope, s *parley.Session) bool {
	return s.WorkspaceID == scope.WorkspaceID &&
		(scope.ViewerID.IsZero() || s.OwnerID == scope.ViewerID || s.Visibility == parley.VisibilityWorkspace)
}

// currentTurn returns the first unfinished turn of a locked session that has one.
func (t *Tx) currentTurn(h *Head) (*parley.Turn, error) {
	if h.turn != nil && h.turn.ID == h.TurnID {
		return h.turn, nil
	}
	for _, made := range h.Changes.NewTurns {
		if made.ID == h.TurnID {
			h.turn = made
			return made, nil
		}
	}
	turn, err := t.readTurn(h, h.TurnID)
	if err != nil {
		return nil, err
	}
	h.turn = turn
	return turn, nil
}

// readTurn reads a turn of a session; CodeNotFound if there is none.
func (t *Tx) readTurn(h *Head, turnID parley.ID) (*parley.Turn, error) {
	turn, err := t.rows.Turn(h, turnID)
	if err == nil && turn == nil {
		err = NotFound("turn")
	}
	return turn, err
}

// openOf returns the open work of the first unfinished turn.
func (t *Tx) openOf(h *Head, turn *parley.Turn) (*Open, error) {
	if h.open == nil {
		var open Open
		if turn.Step > 0 { // otherwise nothing ever began
			var err error
			if open, err = t.rows.Open(h, turn.ID); err != nil {
				return nil, err
			}
		}
		h.open = &open
	}
	return h.open, nil
}

// event adds a durable event to a locked session.
func (t *Tx) event(h *Head, turnID parley.ID, told event.Encoded) {
	h.LastEvent++
	h.Changes.Head = true
	h.Changes.Events = append(h.Changes.Events, Event{Stored: told.Stored(), Event: parley.Event{
		SessionID: h.ID, Sequence: h.LastEvent, Type: told.Type(), CreatedAt: t.now, TurnID: turnID, Data: told.Data(),
	}})
}

// feed adds a hint for the workspace feed.
func (t *Tx) feed(h *Head, told event.Encoded) {
	h.hint.Feed = append(h.hint.Feed, store.FeedEvent{
		WorkspaceID: h.WorkspaceID, SessionID: h.ID, Type: told.Type(), OwnerID: h.OwnerID, Visibility: h.Visibility,
		Data: told.Data(),
	})
}

// feedTo adds a hint for the workspace feed that only one principal gets.
func (t *Tx) feedTo(h *Head, principalID parley.ID, told event.Encoded) {
	t.feed(h, told)
	h.hint.Feed[len(h.hint.Feed)-1].PrincipalID = principalID
}

// updatedFeed tells the lists that a session changed.
func (t *Tx) updatedFeed(h *Head) {
	updated, err := event.SessionUpdated{Session: h.Session}.Encode()
	if err != nil { // unlikely, since its parts came from JSON; losing a hint is fine
		t.log.Warn("a session could not be encoded for the feed", "session", h.ID.String(), "error", err)
		return
	}
	t.feed(h, updated)
}

// touch notes activity: the session moves to the top of the lists.
func (t *Tx) touch(h *Head) {
	h.UpdatedAt, h.Changes.Listed = t.now, true
}

// NotFound is the same error for what does not exist and for what may not be seen.
func NotFound(what string) error {
	return parley.Errorf(parley.CodeNotFound, "the %s does not exist", what)
}

// SignedOut is the error for a browser's secret that is unknown or no longer counts.
func SignedOut() error {
	return parley.Errorf(parley.CodeUnauthenticated, "this sign-in has ended; sign in again")
}

// KeyReused is the error for an idempotency key that was used with a different request.
func KeyReused() error {
	return parley.Errorf(
		parley.CodeKeyReused,
		"this idempotency key was used with a different request; use a new key for a new request",
	)
}
