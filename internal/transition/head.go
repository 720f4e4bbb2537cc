package transition

import (
	"encoding/json"
	"slices"

	"example.org/parley"
	"example.org/parley/store"
)

// Head is a session as its transitions see it: its listed row, its head row, and whatever else was read. A store builds
// it from its rows and may cache it for as long as nobody else changes these rows. It must drop the Head if a
// transition that locked it was refused, failed, or did not commit.
type Head struct {
	parley.Session
	Epoch      int64
	Holder     parley.ID // process that runs the turn; zero: nobody
	TurnStatus parley.TurnStatus
	Cancel     parley.ID // turn that is asked to stop
	Back       int64     // queue position of the next entry at the end
	Front      int64     // and at the front, counting down
	NextCall   int64     // ordinal of the next tool_call
	Queued     int64     // messages in the queue
	Steers     int64     // of these, undelivered steers of TurnID
	LastHash   parley.Hash
	DeletedAt  parley.Time
	Revision   int64 // used by the store: revision of the rows read

	// Changes are the writes of the running transition.
	Changes Changes

	turn  *parley.Turn // first unfinished turn, once read
	open  *Open        // of turn, once read
	queue *queue       // the beginning of the queue, once read

	outside *Outside // the message that an outside agent streams, once read
	carried *carried // what the trigger of turn carries, once read; nil while no turn runs

	hint   store.Commit
	status parley.SessionStatus // status before the transition
	reason parley.WaitReason
	claim  claim
}

// claim is the part of the head row that indexes hold.
type claim struct {
	epoch                int64
	holder, turn, cancel parley.ID
	deletedAt            parley.Time
}

// Remember caches what was read with the head: its first unfinished turn and that turn's open rows; nil was not read.
func (h *Head) Remember(turn *parley.Turn, open *Open) {
	if turn != nil {
		h.turn, h.open = turn, open
	}
}

// Outside returns the open message whose row Changes.OutsideGrown writes.
func (h *Head) Outside() *Outside { return h.outside }

// RunsAgent returns the agent version of the first unfinished turn; version 0 if it is not bound yet or unknown.
func (h *Head) RunsAgent() (agentID parley.ID, version int) {
	if h.turn == nil {
		return parley.ID{}, 0
	}
	return h.turn.AgentID, h.turn.AgentVersion
}

// RunsLoop returns the loop of the first unfinished turn; zero if none or unknown.
func (h *Head) RunsLoop() parley.ID {
	if h.turn == nil {
		return parley.ID{}
	}
	return h.turn.LoopID
}

func (h *Head) claimed() claim {
	return claim{h.Epoch, h.Holder, h.TurnID, h.Cancel, h.DeletedAt}
}

// Open is the open work of a turn.
type Open struct {
	Rows  []OpenRow  // streaming messages, in the order of their sequence
	Calls []OpenCall // by ordinal

	// unanswered are tool calls of the turn that this head has seen open and settle, and that lack a result: each with
	// what recording one needs.
	unanswered []*parley.Message
}

// unansweredCall finds a call that is known to lack a result; nil if only the record can tell.
func (h *Head) unansweredCall(callID string) *parley.Message {
	if h.open != nil {
		for _, call := range h.open.unanswered {
			if call.ToolCallID == callID {
				return call
			}
		}
	}
	return nil
}

// forgetAnswered forgets a call that now has a result, or a call with the same id.
func (h *Head) forgetAnswered(callID string) {
	if callID == "" || h.open == nil {
		return
	}
	h.open.unanswered = slices.DeleteFunc(
		h.open.unanswered,
		func(call *parley.Message) bool { return call.ToolCallID == callID },
	)
}

// OpenRow is a streaming message of the running step.
type OpenRow struct {
	ID         parley.ID
	Sequence   int64
	Ordinal    int64 // of a tool_call
	Role       parley.Role
	ToolCallID string
	ToolName   string
	Author     parley.Author // its kind and name
	Model      parley.ModelID
	Metadata   json.RawMessage
	CreatedAt  parley.Time

	opened    bool   // opened under this head, so agentType is known
	agentType string // set if opened
}

// settled returns the row's message as a block settles it, as far as the hash chain sees it.
func (r *OpenRow) settled(block *store.BlockSettled) parley.Message {
	m := parley.Message{
		Role:         r.Role,
		Status:       block.Status,
		Content:      block.Content,
		CallOrdinal:  r.Ordinal,
		ProviderData: block.ProviderData,
		Author:       r.Author,
		Model:        r.Model,
		Metadata:     r.Metadata,
		CreatedAt:    r.CreatedAt,
	}
	if block.Model != "" {
		m.Model = block.Model
	}
	if block.Metadata != nil {
		m.Metadata = block.Metadata
	}
	return m
}

// Entry is a message in the queue, without what only readers need.
type Entry struct {
	ID        parley.ID
	TurnID    parley.ID // zero: it starts no turn
	Position  int64
	Steer     bool
	Revision  int
	Iteration int
}

// Piece is a version of a streaming message.
type Piece struct {
	Kind   parley.ContentKind
	Offset int
	Chunks int
	Text   string
}
