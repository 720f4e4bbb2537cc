package transition

import (
	"encoding/json"

	"example.org/parley"
	"example.org/parley/store"
)

// Changes are the writes of one transition to one session, each kind together,
// in the order in which they came to be. Times that are not in a row stand in At.
// Rows that were made and changed in one transition stand in their last state
// under New… alone. The kinds are closed: each has a method of Writer.
type Changes struct {
	At parley.Time

	// insert listed row, head row and tags, all as they stand in the Head; the next three are void then
	New   *Creation
	Head  bool // update the head row
	Claim bool // of it also epoch, holder, turn, cancel and deleted_at
	// update status, wait_reason, title, updated_at, started_at and finished_at of the listed row
	Listed   bool
	Accepted *parley.Accepted // update what the session's owner has accepted
	Setting  *Setting         // update what a PATCH may change of the listed row, and the index of tags
	// ContextCleared is the event with which the context was cleared, at At; 0: it was not.
	ContextCleared int64
	// the tombstone: deleted_at and status cancelled in the listed row, its idempotency columns, tags and clients go;
	// unfinished turns and pending approvals are cancelled
	Buried bool

	NewMessages []NewMessage
	// left the queue: sequence, turn, status, content_hash, chain_version, call_ordinal; position null, steer false
	Entered  []*parley.Message
	Requeued []Entry           // in the queue: turn, position, steer; after Entered
	Edited   []*parley.Message // in the queue: content, token_estimate, revision
	Removed  []parley.ID       // from the queue: status cancelled, position null
	// marks alone; updated_at stays. After New… and Entered. Of a shared message (another log's) they are the
	// session's own
	Marked  []Marked
	Settled []SettledRow // update the message, and set the text of its versions to null

	OutsideOpened *Outside // insert, due after Timeout by the database's clock
	// insert the version, if it has a text; the open message's row as it stands in the Head, due anew
	OutsideGrown  *Grown
	OutsideClosed bool // delete the row

	NewLoops []NewLoop
	Loops    []NewLoop // state, reason, iteration, turn and finished_at
	NewTurns []*parley.Turn
	Resumed  []Resumed      // of NewTurns those that take up another; after them
	Turns    []*parley.Turn // all that may change in a turn, but for
	Suspect  *parley.Turn   // who caught and who accused it

	Replay   *store.NewReplay // of NewCalls: its row
	NewCalls []NewCall
	Calls    []store.CallSettled // open calls of the turn that end

	NewApprovals []*parley.Approval
	Approvals    []*parley.Approval // state, scope, covers, decided_…, comment, used_at and approved_by

	Compaction *parley.Compaction // insert the session's row, or update all of it

	Spent     []Spent // reservations that end: the budgets are charged, and who waits for room there may go on
	Parked    *Parked
	Warned    *Warned
	Rated     *Rated
	Relimited bool // of Setting: the limits are others; budgets without a limit go, who waits may go on

	Unready bool // delete the session's ready row; before Ready
	Ready   bool // insert it with ready_at At, if there is none

	Unfiled   []parley.ID // messages whose uses of files are forgotten; before Filed
	Filed     []FileUse   // insert, if it is not there
	Opened    []ClientOpened
	Delivered []Delivery // insert: what other sessions sent
	Outbox    []Errand
	Events    []Event
}

// Creation is how a session came to be.
type Creation struct {
	Idempotency store.Idempotency
	Inherited   *Inherited       // of a fork
	Accepted    *parley.Accepted // by the owner, with the session
}

// NewMessage is a message to insert. The idempotency columns belong to posts alone.
type NewMessage struct {
	*parley.Message
	PostedEvent int64 // the session's last event before the post, to rebuild its answer
	Idempotency store.Idempotency
}

// NewLoop is a loop with what only its row holds. The idempotency columns belong
// to those that are made.
type NewLoop struct {
	*parley.Loop
	Content     json.RawMessage // of its messages
	PostedEvent int64
	Idempotency store.Idempotency
}

// Resumed is what a turn that takes up another one has more than others.
type Resumed struct {
	TurnID      parley.ID
	ContinuesID parley.ID
	PostedEvent int64 // the session's last event before, to rebuild the answer
	Idempotency store.Idempotency
}

// Marked is a message with the marks that it has from now on.
type Marked struct {
	*parley.Message
	PinnedEvent int64 // the event with which it was pinned, 0: not now
}

// SettledRow is what a streaming message becomes.
type SettledRow struct {
	store.BlockSettled
	ContentHash  parley.Hash // next of the chain
	ChainVersion int         // what it covers
}

// NewCall is a call to insert with outcome open and created_at At. The texts
// behind its hashes are kept once per workspace and hash.
type NewCall struct {
	store.StepBegin
	TurnID parley.ID
}

// Setting is the session's listed row after a PATCH; TagsBefore what the index
// of tags holds until then.
type Setting struct {
	TagsBefore []string
	Visibility bool // it was changed with that of all tool sessions below: none may be new
}

// ClientOpened makes this session the one that a client has open.
type ClientOpened struct {
	PrincipalID parley.ID
	Client      string
}

// FileUse says that a message of the session uses a file.
type FileUse struct {
	MessageID parley.ID
	FileID    parley.ID
}

// Event is an event with the form in which it is stored.
type Event struct {
	parley.Event
	Stored json.RawMessage // nil: as it is told
}
