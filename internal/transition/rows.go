package transition

import (
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// Rows is what a store reads for a transition. Every method sees the rows as
// they were before the transition, however far it has come, and what belongs to
// a session is read after its Head. What is not there is nil or zero, not an
// error. A store that fences by revision may answer from memory what it then has
// the database confirm together with the writes, and run the transition again
// when that fails.
type Rows interface {
	// Head reads a session, deleted ones too; nil when there is none.
	Head(sessionID parley.ID) (*Head, error)
	// Turn reads a turn of a session, LastTurn the one with the highest ordinal.
	Turn(h *Head, turnID parley.ID) (*parley.Turn, error)
	LastTurn(h *Head) (*parley.Turn, error)
	// TurnAtEnd reads the newest turn of the message whose answer the record ends
	// with; messages without a turn do not count.
	TurnAtEnd(h *Head) (*parley.Turn, error)
	// ResumedTurn finds the turn that was taken up under an idempotency key.
	ResumedTurn(h *Head, key string) (Earlier, error)
	// Loop reads a loop of the session, with its Content; RunningLoop the one that runs.
	Loop(h *Head, id parley.ID) (*NewLoop, error)
	RunningLoop(h *Head) (*parley.Loop, error)
	// StartedLoop finds the loop that was started under an idempotency key.
	StartedLoop(h *Head, key string) (Earlier, error)
	// QueuedTurns reads the turns that entries of the queue are to start, by position.
	QueuedTurns(h *Head) ([]parley.Turn, error)
	// Open reads what stands open of a turn of the session.
	Open(h *Head, turnID parley.ID) (Open, error)
	// Attempts counts the calls of a step.
	Attempts(h *Head, turnID parley.ID, step int) (int, error)
	// Queue reads the first entries of the queue by position, steers among them.
	Queue(h *Head, limit int) ([]Entry, error)
	// Versions reads the flushed pieces of a message by n.
	Versions(h *Head, messageID parley.ID) ([]Piece, error)

	// Outside reads the message of a session that an agent outside streams, and
	// OutsideDue whether its time is over by the database's clock.
	Outside(h *Head) (*Outside, error)
	OutsideDue(h *Head) (bool, error)

	// SessionOf is the session of a message of a workspace.
	SessionOf(workspaceID, messageID parley.ID) (parley.ID, error)
	// Message reads a message of a workspace.
	Message(workspaceID, messageID parley.ID) (*parley.Message, error)
	// Queued reads entries of the queue whole, in the order of their position.
	Queued(h *Head, ids []parley.ID) ([]parley.Message, error)
	// TurnMessages reads the messages of a turn that are in the record, by sequence.
	TurnMessages(h *Head, turnID parley.ID) ([]parley.Message, error)
	// Answers reads what the assistant said in a step of a turn, by sequence.
	Answers(h *Head, turnID parley.ID, step int) ([]parley.Message, error)
	// FirstMessage reads the first message that the session itself wrote.
	FirstMessage(h *Head) (*parley.Message, error)
	// Shared reads the parts of a fork's record before its own log, in order.
	Shared(h *Head) ([]Part, error)
	// Stretch reads a record that consists of these parts from a sequence on,
	// ascending, Tally what it has in them.
	Stretch(h *Head, parts []Part, from int64, limit int) ([]Link, error)
	Tally(h *Head, parts []Part) (Tally, error)
	// SharedMarks reads the marks that a fork has on a message that it shares.
	SharedMarks(h *Head, sequence int64) (parley.Marks, error)
	// tool.Call reads the latest tool_call with an id of other systems, and whether
	// it has a result that was not cancelled.
	ToolCall(h *Head, callID string) (call *parley.Message, answered bool, err error)
	// OpenToolCalls reads the completed tool_calls of the first unfinished turn
	// that have no result that was not cancelled, by sequence.
	OpenToolCalls(h *Head) ([]parley.Message, error)

	// SessionOfApproval is the session of an approval of a workspace.
	SessionOfApproval(workspaceID, approvalID parley.ID) (parley.ID, error)
	// Approval reads an approval of a workspace.
	Approval(workspaceID, approvalID parley.ID) (*parley.Approval, error)
	// TurnApprovals reads the approvals of a turn of a session, by creation.
	TurnApprovals(h *Head, turnID parley.ID) ([]parley.Approval, error)

	// Delivered reports whether something has arrived in the session before.
	Delivered(h *Head, what Delivery) (bool, error)

	// Accepted reads what a session's owner has accepted; nil for one from before
	// acceptances were kept.
	Accepted(h *Head) (*parley.Accepted, error)

	// Compaction reads the session's compaction; nil when it never had one.
	Compaction(h *Head) (*parley.Compaction, error)
	// OpenCall reads a call of the session; nil when it is not open.
	OpenCall(h *Head, callID parley.ID) (*OpenCall, error)

	// Posted finds the message that was posted under an idempotency key.
	Posted(h *Head, key string) (Earlier, error)
	// Created finds the session that was created under an idempotency key.
	Created(workspaceID parley.ID, key string) (Earlier, error)
	// SessionByKey finds the session that has a key.
	SessionByKey(workspaceID parley.ID, key string) (parley.ID, error)
	// ToolChildren names the sessions of kind tool that a session opened and that
	// are not deleted.
	ToolChildren(h *Head) ([]parley.ID, error)
	// OpenedIn is the session that a client has open.
	OpenedIn(workspaceID, principalID parley.ID, client string) (parley.ID, error)

	// Agent reads the current version and status of an agent.
	Agent(workspaceID, agentID parley.ID) (version int, status parley.AgentStatus, err error)
	// AgentVersion reads an agent as it was in a version; nil when there is none.
	AgentVersion(workspaceID, agentID parley.ID, version int) (*parley.Agent, error)
	// Project reads a project of a workspace; nil when there is none.
	Project(workspaceID, projectID parley.ID) (*parley.Project, error)
	// HasProject reports whether a workspace has a project.
	HasProject(workspaceID, projectID parley.ID) (bool, error)

	// Fits reports whether a budget has room for an estimate; Refuses whether what a
	// turn was refused for still holds; Warned whether a budget's limit was warned of.
	// A store may leave that to the write, which is void then.
	Fits(workspaceID parley.ID, charge *store.Charge, estimate parley.Reserved) (bool, error)
	Refuses(workspaceID parley.ID, refusal *store.Refusal) (bool, error)
	Warned(workspaceID, subject parley.ID, limit parley.Limit) (bool, error)
	// Rate is how long a subject has to wait for its next request; 0 when the store
	// leaves that to the write.
	Rate(workspaceID, subject parley.ID, perMinute int) (time.Duration, error)

	// CountSessions counts the sessions of a workspace that are not deleted, of one
	// owner's unless that is zero, as far as most. Fewer than most are fewer when the
	// transition is written, too.
	CountSessions(workspaceID, ownerID parley.ID, most int64) (int64, error)
	// SessionsAllowed is the quota of sessions that a principal's keys give, the largest
	// of them; 0: not limited.
	SessionsAllowed(workspaceID, principalID parley.ID) (int64, error)
	// HasFile reports whether a workspace has a file; it stays till the transition
	// is written.
	HasFile(workspaceID, fileID parley.ID) (bool, error)

	// MayClaim reports whether a process may take claims.
	MayClaim(processID parley.ID) (bool, error)
	// Alive reports whether the lease of a process has not expired.
	Alive(processID parley.ID) (bool, error)
}

// Earlier is what an idempotency key was used for; the zero id: nothing.
type Earlier struct {
	ID          parley.ID
	Fingerprint parley.Hash
	PostedEvent int64 // of a message, a turn that was taken up, a loop
}

// Waiting is what a store reads to choose the sessions of one Claim.
type Waiting interface {
	// NextWorkspace is the first workspace behind another one, by id, that has a
	// ready session of a rank; zero at the end.
	NextWorkspace(after parley.ID, rank Rank) (parley.ID, error)
	// NextReady is the oldest ready session of a workspace and rank behind another
	// one; the zero value when none may run now.
	NextReady(workspaceID parley.ID, rank Rank, after Ready) (Ready, error)
	// Suspects are the suspected turns that bear on a claim of a process.
	Suspects(processID parley.ID) (Suspects, error)
}

// Ready is a place in the order of a workspace's ready sessions.
type Ready struct {
	SessionID parley.ID
	At        parley.Time
}

// Rank is the column "priority" of a ready session: which claims see it.
type Rank int

// RankOf is the rank of a turn: 0 in the foreground, 1 in the background, and two
// more for each degree of suspicion.
func RankOf(mode parley.Mode, suspicion parley.Suspicion) Rank {
	rank := 2 * Rank(suspicion)
	if mode == parley.ModeBackground {
		rank++
	}
	return rank
}

// The ranks from which on turns are suspected, and accused.
const (
	FirstSuspected = 2 * Rank(parley.Suspected)
	FirstAccused   = 2 * Rank(parley.Accused)
)

// Mode is the mode of the sessions of a rank.
func (r Rank) Mode() parley.Mode {
	if r%2 == 1 {
		return parley.ModeBackground
	}
	return parley.ModeForeground
}

// Suspicion is that of the turns of a rank.
func (r Rank) Suspicion() parley.Suspicion { return parley.Suspicion(r / 2) }

// Rank is that of the session's first unfinished turn. One that was not read has
// never run.
func (h *Head) Rank() Rank {
	if h.turn == nil || h.turn.ID != h.TurnID {
		return RankOf(h.Mode, parley.Unsuspected)
	}
	return RankOf(h.Mode, h.turn.Suspicion())
}
