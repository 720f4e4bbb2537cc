package transition

import (
	"encoding/json"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// Rows reads for a transition. Every method returns the rows as they were before the transition, at any point of it; a
// session's Head is read before its other rows. Missing rows are nil or zero, not errors. A store that fences by
// revision may answer from memory, have the database confirm that together with the writes, and repeat the transition
// if it was wrong.
type Rows interface {
	// Head reads a session, also a deleted one; nil if there is none.
	Head(sessionID parley.ID) (*Head, error)
	// Turn reads a turn of a session; LastTurn reads the one with the highest ordinal.
	Turn(h *Head, turnID parley.ID) (*parley.Turn, error)
	LastTurn(h *Head) (*parley.Turn, error)
	// TurnAtEnd reads the newest turn of the message whose answer ends the record; messages without a turn do not
	// count.
	TurnAtEnd(h *Head) (*parley.Turn, error)
	// ResumedTurn finds the turn that an idempotency key resumed.
	ResumedTurn(h *Head, key string) (Earlier, error)
	// Loop reads a loop of the session, with its Content; RunningLoop reads the running one.
	Loop(h *Head, id parley.ID) (*NewLoop, error)
	RunningLoop(h *Head) (*parley.Loop, error)
	// StartedLoop finds the loop that an idempotency key started.
	StartedLoop(h *Head, key string) (Earlier, error)
	// QueuedTurns reads the turns that queue entries will start, by position.
	QueuedTurns(h *Head) ([]parley.Turn, error)
	// Open reads the open work of a turn of the session.
	Open(h *Head, turnID parley.ID) (Open, error)
	// Attempts counts the calls of a step.
	Attempts(h *Head, turnID parley.ID, step int) (int, error)
	// Queue reads the first entries of the queue by position, including steers.
	Queue(h *Head, limit int) ([]Entry, error)
	// Versions reads the flushed pieces of a message by n.
	Versions(h *Head, messageID parley.ID) ([]Piece, error)
	// VersionsBetween is Versions for the pieces from first to last. VersionEnd tells of one piece what it is of and
	// where it ends, without its text; kind is "" if there is none.
	VersionsBetween(h *Head, messageID parley.ID, first, last int) ([]Piece, error)
	VersionEnd(h *Head, messageID parley.ID, n int) (kind parley.ContentKind, end int, err error)

	// Outside reads the message of a session that an outside agent streams; OutsideDue reports whether it has passed
	// its deadline by the database's clock.
	Outside(h *Head) (*Outside, error)
	OutsideDue(h *Head) (bool, error)

	// SessionOf returns the session of a message of a workspace.
	SessionOf(workspaceID, messageID parley.ID) (parley.ID, error)
	// MessageStatus reads the status of a message of a workspace; "" if there is none.
	MessageStatus(workspaceID, messageID parley.ID) (parley.MessageStatus, error)
	// Message reads a message of a workspace.
	Message(workspaceID, messageID parley.ID) (*parley.Message, error)
	// QueuedBytes sums the Size of the messages in the queue.
	QueuedBytes(h *Head) (int64, error)
	// Queued reads entries of the queue whole, in the order of their position.
	Queued(h *Head, ids []parley.ID) ([]parley.Message, error)
	// TurnMessages reads the latest messages of a turn that are in the record, at most limit, by sequence. A turn may
	// hold gigabytes: keep, which may be called again for the same message, drops what is not needed of each as soon as
	// it has been read.
	TurnMessages(h *Head, turnID parley.ID, limit int, keep func(*parley.Message)) ([]parley.Message, error)
	// Answers reads the assistant's messages in a step of a turn, by sequence.
	Answers(h *Head, turnID parley.ID, step int) ([]parley.Message, error)
	// FirstMessage reads the first message that the session itself wrote.
	FirstMessage(h *Head) (*parley.Message, error)
	// Shared reads the parts of a fork's record before its own log, in order.
	Shared(h *Head) ([]Part, error)
	// Stretch reads a record with these parts from a sequence on, ascending; Tally counts what it has in them.
	Stretch(h *Head, parts []Part, from int64, limit int) ([]Link, error)
	Tally(h *Head, parts []Part) (Tally, error)
	// SharedMarks reads the marks of a fork on a message that it shares.
	SharedMarks(h *Head, sequence int64) (parley.Marks, error)
	// ToolCall reads the latest tool_call with an id from outside, and whether it has a result that was not cancelled.
	ToolCall(h *Head, callID string) (call *parley.Message, answered bool, err error)
	// OpenToolCalls reads the completed tool_calls of the first unfinished turn that lack a result or have only
	// cancelled ones, by sequence.
	OpenToolCalls(h *Head) ([]parley.Message, error)

	// SessionOfApproval returns the session of an approval of a workspace.
	SessionOfApproval(workspaceID, approvalID parley.ID) (parley.ID, error)
	// Approval reads an approval of a workspace.
	Approval(workspaceID, approvalID parley.ID) (*parley.Approval, error)
	// TurnApprovals reads the approvals of a turn of a session, by creation.
	TurnApprovals(h *Head, turnID parley.ID) ([]parley.Approval, error)

	// Delivered reports whether a delivery has arrived in the session.
	Delivered(h *Head, what Delivery) (bool, error)

	// Delegation reads a delegation of a workspace; DelegationOf the one that a message of the session carries, or
	// brings the end of.
	Delegation(workspaceID, id parley.ID) (*parley.Delegation, error)
	DelegationOf(h *Head, messageID parley.ID) (*parley.Delegation, error)
	// CountDelegations counts the delegations of a root, and those of them from one agent to another.
	CountDelegations(h *Head, rootID, fromAgentID, toAgentID parley.ID) (all, pair int, err error)
	// UnheardBelow reads the tasks and questions that were sent for a delegation and whose answer no turn has begun
	// with.
	UnheardBelow(h *Head, delegationID parley.ID) ([]Unheard, error)
	// WakeTurns returns the turn of every answer and report in the session for the work (zero: none) of a root that no
	// turn has begun with yet: a turn with several of them several times.
	WakeTurns(h *Head, rootID, workID parley.ID) ([]parley.ID, error)

	// InboxItem reads an item of a workspace's inboxes.
	InboxItem(workspaceID, id parley.ID) (*parley.InboxItem, error)
	// Recipient returns the principal who gets what is for an owner, the first of these who can sign in: the owner, if
	// they are known to be a person; briefTo, unless that is zero; the owner; the oldest admin. The owner if none can.
	Recipient(workspaceID, ownerID, briefTo parley.ID) (parley.ID, error)
	// Cited finds a message by its sequence in an undeleted session of a workspace, with the session's owner; nil if
	// there is none, or it is still being written.
	Cited(workspaceID, sessionID parley.ID, sequence int64) (*CitedMessage, error)
	// SharesWork reports whether a session worked for a root, or for what another session sent: whether it sent or
	// received a delegation of the root, or received one of that session. What goes to people does not count.
	SharesWork(workspaceID, sessionID, rootID, senderID parley.ID) (bool, error)

	// PipelineRun reads a run of a workspace; nil if there is none.
	PipelineRun(workspaceID, id parley.ID) (*parley.PipelineRun, error)
	// TransformOfRun reads a transform with its outputs, without its inputs; nil if there is none. The head of its
	// session is read before it.
	TransformOfRun(workspaceID, id parley.ID) (*parley.Transform, error)

	// Schedule reads a schedule of a workspace; nil if there is none. CreatedSchedule finds the one that was created
	// under an idempotency key. CountSchedules counts those of an agent and of its workspace; counts within the bounds
	// still hold when the transition is written.
	Schedule(workspaceID, id parley.ID) (*parley.Schedule, error)
	CreatedSchedule(workspaceID parley.ID, key string) (Earlier, error)
	CountSchedules(workspaceID, agentID parley.ID) (ofAgent, ofWorkspace int64, err error)

	// KnowledgeItem reads an item of a workspace; nil if there is none. CreatedKnowledge finds the one that was created
	// under an idempotency key. CountKnowledge counts those of an agent; a count within the bounds still holds when the
	// transition is written.
	KnowledgeItem(workspaceID, id parley.ID) (*parley.KnowledgeItem, error)
	CreatedKnowledge(workspaceID parley.ID, key string) (Earlier, error)
	CountKnowledge(workspaceID, agentID parley.ID) (int64, error)
	// UsableKnowledge reads what prompts of an agent may be told, pinned items first, then the latest changed; with
	// proposed also procedures that nobody has approved.
	UsableKnowledge(reach store.KnowledgeReach, proposed bool) ([]parley.KnowledgeItem, error)
	// NotedKnowledge reads the items of an agent itself that are in use, a proposed procedure too, and after them those
	// that were forgotten. It looks at no more than an agent may have.
	NotedKnowledge(workspaceID, agentID, ownerID parley.ID) ([]parley.KnowledgeItem, error)
	// Readable returns who may read some sessions of a workspace, without deleted ones, in any order.
	Readable(workspaceID parley.ID, sessionIDs []parley.ID) ([]Readable, error)
	// ChosenKnowledge reads the block in use of a session; nil if there is none.
	ChosenKnowledge(h *Head) (*parley.KnowledgeBlock, error)

	// Accepted reads what a session's owner has accepted; nil for a session older than recorded acceptances.
	Accepted(h *Head) (*parley.Accepted, error)

	// Compaction reads the session's compaction; nil if it never had one.
	Compaction(h *Head) (*parley.Compaction, error)
	// OpenCall reads an open call of the session; nil if it is not open.
	OpenCall(h *Head, callID parley.ID) (*OpenCall, error)

	// Posted finds the message that was posted under an idempotency key.
	Posted(h *Head, key string) (Earlier, error)
	// Created finds the session that was created under an idempotency key.
	Created(workspaceID parley.ID, key string) (Earlier, error)
	// SessionByKey finds the session with a key.
	SessionByKey(workspaceID parley.ID, key string) (parley.ID, error)
	// ToolChildren returns the tool sessions that a session opened, without deleted ones.
	ToolChildren(h *Head) ([]parley.ID, error)
	// OpenedIn returns the session that a client has open.
	OpenedIn(workspaceID, principalID parley.ID, client string) (parley.ID, error)

	// Agent reads the current version and status of an agent.
	Agent(workspaceID, agentID parley.ID) (version int, status parley.AgentStatus, err error)
	// AgentVersion reads a version of an agent; nil if there is none.
	AgentVersion(workspaceID, agentID parley.ID, version int) (*parley.Agent, error)
	// Teammates locks the teams of a workspace until the commit, and reads agents, those that they lead, directly or
	// through others, and the whole teams of their leads: without archived agents, unless they are asked for or lead
	// one that is.
	Teammates(workspaceID parley.ID, agentIDs []parley.ID) ([]Teammate, error)
	// Project reads a project of a workspace; nil if there is none.
	Project(workspaceID, projectID parley.ID) (*parley.Project, error)
	// HasProject reports whether a workspace has a project.
	HasProject(workspaceID, projectID parley.ID) (bool, error)

	// Fits reports whether a budget has room for an estimate; Refuses reports whether the reason for a turn's refusal
	// still holds; Warned reports whether a budget's limit has a warning. A store may leave these to the write, which
	// is then void.
	Fits(workspaceID parley.ID, charge *store.Charge, estimate parley.Reserved) (bool, error)
	Refuses(workspaceID parley.ID, refusal *store.Refusal) (bool, error)
	Warned(workspaceID, subject parley.ID, limit parley.Limit) (bool, error)
	// Rate returns how long a subject must wait for its next request; 0 if the store leaves that to the write.
	Rate(workspaceID, subject parley.ID, perMinute int) (time.Duration, error)

	// CountSessions counts the sessions of a workspace (of one owner unless that is zero) that are not deleted, up to
	// most. A count below most still holds when the transition is written.
	CountSessions(workspaceID, ownerID parley.ID, most int64) (int64, error)
	// SessionsAllowed returns the largest session quota of a principal's keys; 0: unlimited.
	SessionsAllowed(workspaceID, principalID parley.ID) (int64, error)
	// HasFile reports whether a workspace has a file; the file stays until the transition is written.
	HasFile(workspaceID, fileID parley.ID) (bool, error)

	// MayClaim reports whether a process may take claims.
	MayClaim(processID parley.ID) (bool, error)
	// Alive reports whether a process has an unexpired lease.
	Alive(processID parley.ID) (bool, error)
}

// CitedMessage is what a citation leads to.
type CitedMessage struct {
	ID       parley.ID
	OwnerID  parley.ID // of its session
	Metadata json.RawMessage
}

// Readable is an undeleted session, with what decides who may read it.
type Readable struct {
	ID         parley.ID
	OwnerID    parley.ID
	Visibility parley.Visibility
}

// Earlier is what an idempotency key was used for; zero id: nothing.
type Earlier struct {
	ID          parley.ID
	Fingerprint parley.Hash
	PostedEvent int64 // of a message, a resumed turn, a loop
}

// Waiting reads what a store needs to choose the sessions of one Claim.
type Waiting interface {
	// NextWorkspace returns the first workspace after another one, by id, with a ready session of a rank; zero at the
	// end.
	NextWorkspace(after parley.ID, rank Rank) (parley.ID, error)
	// NextReady returns the oldest ready session of a workspace and rank after another one; the zero value if none may
	// run now.
	NextReady(workspaceID parley.ID, rank Rank, after Ready) (Ready, error)
	// Suspects returns the suspected turns that matter for a claim of a process.
	Suspects(processID parley.ID) (Suspects, error)
}

// Ready is a position in the order of a workspace's ready sessions.
type Ready struct {
	SessionID parley.ID
	At        parley.Time
}

// Rank is the column "priority" of a ready session; it decides which claims see the session.
type Rank int

// RankOf returns the rank of a turn: 0 in the foreground, 1 in the background, plus two for each degree of suspicion.
func RankOf(mode parley.Mode, suspicion parley.Suspicion) Rank {
	rank := 2 * Rank(suspicion)
	if mode == parley.ModeBackground {
		rank++
	}
	return rank
}

// First ranks of suspected turns and of accused turns.
const (
	FirstSuspected = 2 * Rank(parley.Suspected)
	FirstAccused   = 2 * Rank(parley.Accused)
)

// Mode returns the mode of the sessions of a rank.
func (r Rank) Mode() parley.Mode {
	if r%2 == 1 {
		return parley.ModeBackground
	}
	return parley.ModeForeground
}

// Suspicion returns the suspicion of the turns of a rank.
func (r Rank) Suspicion() parley.Suspicion { return parley.Suspicion(r / 2) }

// Rank returns the rank of the session's first unfinished turn. A turn that was not read has never run.
func (h *Head) Rank() Rank {
	if h.turn == nil || h.turn.ID != h.TurnID {
		return RankOf(h.Mode, parley.Unsuspected)
	}
	return RankOf(h.turn.Mode(h.Mode), h.turn.Suspicion())
}
