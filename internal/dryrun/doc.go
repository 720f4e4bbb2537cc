// Package dryrun is an in-memory store for one turn that leaves no trace: it reads existing rows
// from a real store, and keeps the turn's writes in memory until the turn is over.
//
// It owns no rules. Package transition decides what each step does, so a dry run meets the same
// refusals and writes the same events as a real one; this package gives it rows to read and keeps
// its changes. The real store is authoritative for everything that existed when the dry run began;
// the dry run does not see what others write meanwhile.
package dryrun

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// Reads is the part of the real store that a dry run reads. It has no writing methods.
type Reads interface {
	Session(ctx context.Context, scope store.Scope, id parley.ID) (parley.Session, error)
	Messages(
		ctx context.Context,
		scope store.Scope,
		sessionID parley.ID,
		query store.MessageQuery,
	) ([]parley.Message, error)
	Turn(ctx context.Context, scope store.Scope, id parley.ID) (parley.Turn, error)
	Calls(ctx context.Context, scope store.Scope, sessionID parley.ID, query store.CallQuery) ([]parley.Call, error)
	CallText(ctx context.Context, workspaceID parley.ID, hash parley.Hash) ([]byte, error)
	ContextTail(
		ctx context.Context,
		workspaceID, sessionID parley.ID,
		before int64,
		limit, most int,
	) (rows []parley.Message, more bool, err error)
	ContextHead(ctx context.Context, workspaceID, sessionID parley.ID) (parley.ContextHead, error)
	Agent(ctx context.Context, workspaceID parley.ID, idOrSlug string) (parley.Agent, error)
	AgentVersion(ctx context.Context, workspaceID, agentID parley.ID, version int) (parley.Agent, error)
	AgentVersionBy(ctx context.Context, workspaceID, agentID, principalID parley.ID, through int) (parley.Agent, error)
	Accepted(ctx context.Context, workspaceID, sessionID parley.ID) (parley.Accepted, error)
	Message(ctx context.Context, scope store.Scope, id parley.ID) (parley.Message, error)
	Project(ctx context.Context, workspaceID, id parley.ID) (parley.Project, error)
	Artifact(ctx context.Context, scope store.Scope, id parley.ID) (parley.Artifact, error)
	ArtifactVersion(ctx context.Context, scope store.Scope, id parley.ID, number int) (parley.ArtifactVersion, error)
	ArtifactContent(ctx context.Context, workspaceID parley.ID, hash parley.Hash) ([]store.ArtifactContent, error)
	Transform(ctx context.Context, scope store.Scope, id parley.ID) (parley.Transform, error)
	TransformDefinition(ctx context.Context, workspaceID parley.ID, idOrSlug string) (parley.TransformDefinition, error)
	TransformDefinitions(
		ctx context.Context, workspaceID parley.ID, query store.TransformDefinitionQuery,
	) ([]parley.TransformDefinition, error)
	File(ctx context.Context, scope store.Scope, id parley.ID) (parley.File, error)
	FileChunk(ctx context.Context, workspaceID, blobID parley.ID, n int) ([]byte, error)
	UsableKnowledge(ctx context.Context, reach store.KnowledgeReach) ([]parley.KnowledgeItem, error)
	KnowledgeByID(ctx context.Context, scope store.Scope, ids []parley.ID) ([]parley.KnowledgeItem, error)
	ChosenKnowledge(ctx context.Context, workspaceID, sessionID parley.ID) (*parley.KnowledgeBlock, error)
	Budgets(ctx context.Context, workspaceID parley.ID, subjects []store.BudgetSubject) ([]store.Budget, error)
}

// Memory is the store of one dry run. It is safe for concurrent use and has no goroutines.
type Memory struct {
	Reads
	agent parley.Agent
	fresh bool // the session is not in the real store
	base  int64
	hints store.Hints // receives would-be commits

	charges Charges                       // nil: nobody is charged
	changed map[parley.ID]*parley.Message // messages of the real store that are read so

	mu        sync.Mutex // guards all fields below
	tx        *transition.Tx
	head      transition.Head
	turns     map[parley.ID]parley.Turn
	messages  []parley.Message // by sequence
	calls     []parley.Call
	events    []parley.Event
	approvals map[parley.ID]parley.Approval
	spent     parley.Reserved
}

// New creates a store for a dry run of a session with an agent. It uses the session as recorded: a turn that runs in it
// now is not visible. fresh says that the session is not in the real store. hints may be nil.
func New(reads Reads, session parley.Session, agent parley.Agent, fresh bool, log *slog.Logger) *Memory {
	session.TurnID, session.Status, session.WaitReason = parley.ID{}, parley.SessionPending, ""
	session.Mode = parley.ModeForeground // this process runs its turn
	return &Memory{
		Reads: reads, agent: agent, fresh: fresh, base: session.LastSequence,
		tx: transition.New(log), head: transition.Head{Session: session},
		turns: map[parley.ID]parley.Turn{}, approvals: map[parley.ID]parley.Approval{},
	}
}

// Charges makes the budgets that a dry run is charged to.
type Charges interface {
	MakeBudgets(ctx context.Context, workspaceID parley.ID, subjects []store.BudgetSubject) error
}

// Charge makes the run's limits have real budgets; call it before the first transition.
func (m *Memory) Charge(charges Charges) { m.charges = charges }

// Change makes messages of the real store be read with the marks that they have here, and the summary that is shown
// with the text that it has here; call it before the first transition.
func (m *Memory) Change(messages []parley.Message) {
	m.changed = make(map[parley.ID]*parley.Message, len(messages))
	for i := range messages {
		m.changed[messages[i].ID] = &messages[i]
	}
}

// marksOf returns the marks that a message of the real store has here.
func (m *Memory) marksOf(message *parley.Message) parley.Marks {
	if changed := m.changed[message.ID]; changed != nil {
		return changed.Marks
	}
	return message.Marks
}

// Tell sets the listener for events; call it before the first transition.
func (m *Memory) Tell(hints store.Hints) { m.hints = hints }

// transact runs a transition and keeps its changes, all or none.
func transact[T any](m *Memory, step func(*transition.Tx) (T, error)) (T, error) {
	m.mu.Lock()
	m.tx.Begin(rows{m}, parley.Now())
	result, err := step(m.tx)
	if err != nil {
		m.mu.Unlock()
		return result, err
	}
	commits := m.tx.Finish()
	for _, h := range m.tx.Locked() {
		if h.ID == m.head.ID {
			m.keep(h)
			err = errors.Join(err, h.Write(changes{m}), h.WriteBudgets(changes{m}))
		}
	}
	m.mu.Unlock()
	if err != nil {
		return result, err
	}
	if m.hints != nil {
		for i := range commits {
			m.hints.Committed(commits[i])
		}
	}
	return result, nil
}

// keep stores a session as a transition left it.
func (m *Memory) keep(h *transition.Head) {
	m.head = transition.Head{
		Session:    h.Session,
		Epoch:      h.Epoch,
		Holder:     h.Holder,
		TurnStatus: h.TurnStatus,
		Cancel:     h.Cancel,
		Back:       h.Back,
		Front:      h.Front,
		NextCall:   h.NextCall,
		Queued:     h.Queued,
		Steers:     h.Steers,
		LastHash:   h.LastHash,
		DeletedAt:  h.DeletedAt,
	}
}

func (m *Memory) settle(row *transition.SettledRow, at parley.Time) {
	for i := range m.messages {
		if one := &m.messages[i]; one.ID == row.MessageID {
			one.Status, one.Content, one.ProviderData, one.ToolName = row.Status, row.Content, row.ProviderData,
				row.ToolName
			one.Error, one.Usage, one.Metadata, one.TokenEstimate, one.UpdatedAt = row.Error, row.Usage, row.Metadata,
				row.TokenEstimate, at
			return
		}
	}
}

func (m *Memory) settleCall(settled *store.CallSettled) {
	for i := range m.calls {
		c := &m.calls[i]
		if c.ID != settled.CallID {
			continue
		}
		c.Outcome, c.Usage, c.Cost, c.Finish, c.Error = settled.Outcome, settled.Usage, settled.Cost, settled.Finish,
			settled.Error
		c.FirstTokenMS, c.TotalMS = settled.FirstTokenMS, settled.TotalMS
		c.Estimated, c.Estimate, c.Truncated = settled.Estimated, settled.Estimate, settled.Truncated
		c.Cache = parley.CacheOf(settled.Usage, settled.Saved)
		if c.Reserved != nil {
			used, _ := settled.Charged(*c.Reserved)
			m.spent.Tokens += used.Tokens
			if used.Cost != nil {
				cost := *used.Cost
				if m.spent.Cost != nil {
					cost += *m.spent.Cost
				}
				m.spent.Cost = &cost
			}
		}
	}
}

// Outcome returns what the dry run would have written: the turn, its messages by sequence and its calls by time. It
// omits hashes, which would chain to messages that do not exist.
func (m *Memory) Outcome(turnID parley.ID) (parley.Turn, []parley.Message, []parley.Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	messages := slices.Clone(m.messages)
	for i := range messages {
		messages[i].ContentHash, messages[i].ChainVersion = parley.Hash{}, 0
	}
	return m.turns[turnID], messages, slices.Clone(m.calls)
}
