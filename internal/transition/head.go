package transition

import (
	"encoding/json"
	"slices"

	"example.org/parley"
	"example.org/parley/store"
)

// Head is a session as its transitions see it: its listed row, its head row,
// and what else of it was read. A store makes it from its rows, may keep it in a
// cache for as long as nobody else changes these rows, and must drop it when a
// transition that locked it was refused, failed, or was not committed.
type Head struct {
	parley.Session
	Epoch      int64
	Holder     parley.ID // process that runs the turn; zero: nobody
	TurnStatus parley.TurnStatus
	Cancel     parley.ID // turn asked to stop
	Back       int64     // queue position of the next entry at its end
	Front      int64     // and at its front, counting down
	NextCall   int64     // ordinal of the next tool_call
	Queued     int64     // messages in the queue
	Steers     int64     // of them undelivered steers of TurnID
	LastHash   parley.Hash
	DeletedAt  parley.Time
	Revision   int64 // the store's own: of the rows that this was read from

	// Changes are what the running transition has to write.
	Changes Changes

	turn  *parley.Turn // the first unfinished one, once read
	open  *Open        // of turn, once read
	queue *queue       // its beginning, once read

	outside *Outside // the message that an agent outside streams, once read

	hint   store.Commit
	status parley.SessionStatus // as it was before the transition
	reason parley.WaitReason
	claim  claim
}

// claim is the part of the head row that indexes hold.
type claim struct {
	epoch                int64
	holder, turn, cancel parley.ID
	deletedAt            parley.Time
}

// Remember notes what was read together with the head: its first unfinished turn
// and what stands open of that; nil was not read.
func (h *Head) Remember(turn *parley.Turn, open *Open) {
	if turn != nil {
		h.turn, h.open = turn, open
	}
}

// Outside is the open message whose row Changes.OutsideGrown writes.
func (h *Head) Outside() *Outside { return h.outside }

// RunsAgent is the agent's version that the first unfinished turn is bound to;
// version 0 when it is not yet, or not known.
func (h *Head) RunsAgent() (agentID parley.ID, version int) {
	if h.turn == nil {
		return parley.ID{}, 0
	}
	return h.turn.AgentID, h.turn.AgentVersion
}

// RunsLoop is the loop that the first unfinished turn belongs to; zero when to
// none, or when it is not known.
func (h *Head) RunsLoop() parley.ID {
	if h.turn == nil {
		return parley.ID{}
	}
	return h.turn.LoopID
}

func (h *Head) claimed() claim {
	return claim{h.Epoch, h.Holder, h.TurnID, h.Cancel, h.DeletedAt}
}

// Open is what stands open of a turn.
type Open struct {
	Rows  []OpenRow  // streaming messages, in the order of their sequence
	Calls []OpenCall // by ordinal

	// unanswered are the turn's tool calls that were opened and settled under this head
	// and have no result yet: of each what it takes to record one.
	unanswered []*parley.Message
}

// waitsFor finds a call that is known to have no result; nil when only the record
// can tell.
func (h *Head) waitsFor(callID string) *parley.Message {
	if h.open != nil {
		for _, call := range h.open.unanswered {
			if call.ToolCallID == callID {
				return call
			}
		}
	}
	return nil
}

// answered forgets a call that has a result now, or a namesake.
func (h *Head) answered(callID string) {
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

	opened    bool   // under this head: agentType is known
	agentType string // of a row that was
}

// settled is the row's message as a block settles it, as far as the hash chain
// sees it.
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

// Entry is a message in the queue, without what only its reading needs.
type Entry struct {
	ID        parley.ID
	TurnID    parley.ID // zero: it starts nothing
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
