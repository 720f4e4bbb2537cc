package transition

import (
	"encoding/json"

	"example.org/parley"
	"example.org/parley/store"
)

// Changes are the writes of one transition to one session, grouped by kind, in order of origin. At is the time of
// changes whose rows hold none. A row that the transition both makes and changes appears only under New…, in its final
// state. The set of kinds is closed: Writer has a method for each.
type Changes struct {
	At parley.Time

	// insert listed row, head row and tags, all from the Head; the next three are void then
	New   *Creation
	Head  bool // update the head row
	Claim bool // with Head: also epoch, holder, turn, cancel and deleted_at
	// update status, wait_reason, title, updated_at, started_at and finished_at of the listed row
	Listed   bool
	Accepted *parley.Accepted // update what the session's owner has accepted
	Setting  *Setting         // update the columns of the listed row that a patch may change, and the index of tags
	// ContextCleared is the event that cleared the context, at At; 0: not cleared.
	ContextCleared int64
	// write the tombstone: set deleted_at and status cancelled in the listed row, remove its idempotency columns, tags
	// and clients, cancel unfinished turns and pending approvals
	Buried bool

	NewMessages []NewMessage
	// left the queue: sequence, turn, status, content_hash, chain_version, call_ordinal; position null, steer false
	Entered  []*parley.Message
	Requeued []Entry           // in the queue: turn, position, steer; after Entered
	Edited   []*parley.Message // in the queue: content, token_estimate, revision
	Removed  []parley.ID       // from the queue: status cancelled, position null
	// only the marks; updated_at stays. After New… and Entered. On a shared message (another log's) they belong to the
	// session
	Marked  []Marked
	Settled []SettledRow // update the message, and set the text of its versions to null

	OutsideOpened *Outside // insert, due after Timeout by the database's clock
	// insert the version if it has text; write the open message's row from the Head, with a new deadline
	OutsideGrown  *Grown
	OutsideClosed bool // delete the row

	NewLoops []NewLoop
	Loops    []NewLoop // state, reason, iteration, turn and finished_at
	NewTurns []*parley.Turn
	Resumed  []Resumed      // those of NewTurns that resume another turn; after NewTurns
	Turns    []*parley.Turn // everything that may change in a turn, except
	Suspect  *parley.Turn   // the processes that caught and accused it

	NewSchedules []NewSchedule
	Schedules    []MovedSchedule // update all of each, and insert its run if missing

	NewKnowledge []NewKnowledge          // with the sessions of their sources
	Knowledge    []*parley.KnowledgeItem // whose revision has gone up by one
	Chosen       *parley.KnowledgeBlock  // insert it as the session's block in use
	Told         *parley.KnowledgeBlock  // update told

	NewTransform *parley.Transform // insert it with its inputs and outputs; before Transform
	Transform    *MovedTransform   // status, chunks, times and failure; what it has written

	Replay   *store.NewReplay // the replay row of a call in NewCalls
	NewCalls []NewCall
	Calls    []store.CallSettled // calls that end

	NewApprovals []*parley.Approval
	Approvals    []*parley.Approval // state, scope, covers, decided_…, comment, used_at and approved_by

	NewDelegations []*parley.Delegation
	Delegations    []MovedDelegation
	Heard          []Heard // set heard_at At of the answers and reports, unless it is set

	NewInbox []*parley.InboxItem
	Inbox    []*parley.InboxItem // read_at, answered_at and closed_at

	Compaction *parley.Compaction // insert the session's row, or update all of it

	Spent     []Spent // reservations that end: charge the budgets and wake sessions that wait for room
	Parked    *Parked
	Warned    *Warned
	Rated     *Rated
	Relimited bool // with Setting: the limits changed; delete budgets without a limit, wake waiting sessions

	Unready bool // delete the session's ready row; before Ready
	Ready   bool // insert it with ready_at At, if missing

	Unfiled   []parley.ID // messages whose file uses are deleted; before Filed
	Filed     []FileUse   // insert if missing
	Opened    []ClientOpened
	Delivered []Delivery // insert: deliveries from other sessions
	Outbox    []Errand
	Events    []Event
}

// Creation is how a session was created.
type Creation struct {
	Idempotency store.Idempotency
	Inherited   *Inherited       // of a fork
	Accepted    *parley.Accepted // by the owner, with the session
}

// NewMessage is a message to insert. Only posts have idempotency columns.
type NewMessage struct {
	*parley.Message
	PostedEvent int64 // the session's last event before the post, to rebuild its answer
	Idempotency store.Idempotency
}

// NewLoop is a loop with the columns that only its row has. The idempotency columns are for new loops.
type NewLoop struct {
	*parley.Loop
	Content     json.RawMessage // of its messages
	PostedEvent int64
	Idempotency store.Idempotency
}

// Resumed has the extra columns of a turn that resumes another one.
type Resumed struct {
	TurnID      parley.ID
	ContinuesID parley.ID
	PostedEvent int64 // the session's last event before, to rebuild the answer
	Idempotency store.Idempotency
}

// Marked is a message with its new marks.
type Marked struct {
	*parley.Message
	PinnedEvent int64 // the event that pinned it; 0: not pinned now
}

// SettledRow is the settled state of a streaming message.
type SettledRow struct {
	store.BlockSettled
	ContentHash  parley.Hash // next hash of the chain
	ChainVersion int         // version of the rule for what the hash covers
}

// NewCall is a call to insert with outcome open and created_at At. The texts of its hashes are stored once per
// workspace and hash.
type NewCall struct {
	store.StepBegin
	TurnID parley.ID
}

// Setting is the session's listed row after a patch; TagsBefore is the previous content of the index of tags.
type Setting struct {
	TagsBefore []string
	Visibility bool // visibility changed here and in all tool sessions below; none may be added meanwhile
}

// ClientOpened makes this session the one that a client has open.
type ClientOpened struct {
	PrincipalID parley.ID
	Client      string
}

// FileUse records that a message of the session uses a file.
type FileUse struct {
	MessageID parley.ID
	FileID    parley.ID
}

// Event is an event with its stored form.
type Event struct {
	parley.Event
	Stored json.RawMessage // nil: same as Data
}
