package postgres

import (
	"context"
	"math"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// attempt is one run of a transition's core. It implements transition.Rows, and remembers what it answered from memory
// so that the database can confirm it.
type attempt struct {
	store     *Store
	ctx       context.Context //nolint:containedctx // the call's; the attempt does not outlive it
	workspace parley.ID
	held      *held
	tx        *transition.Tx
	care      care
	exact     bool          // read everything
	talk      *conversation // of a locked attempt: its transaction
	wrote     bool          // a write was sent
	answer    any           // of the core; its type is the caller's

	reads   int // round trips
	guessed bool
	blind   bool // only the write confirms an assumption: a unique index
	heads   []loaded
	agents  map[parley.ID]int  // versions taken from memory
	process parley.ID          // must be confirmed to have a lease
	dead    parley.ID          // must be confirmed to have none
	creates bool               // assumed that the key of a creation is new; holds only if a session is made
	audit   *store.AuditIntent // of the call; nil: none
	found   []statement        // void the batch if other rows that were found are gone
	extra   []statement        // written beside the changes

	// known is the delegation of a reserved errand, unless it has moved meanwhile; presumes: the attempt relies on
	// that, so it counts only if it moves the delegation, which the database then confirms.
	known    *parley.Delegation
	presumes bool
	roomy    bool         // assumed that a chain has room; holds only if a delegation is made
	reserved []*ownErrand // that the attempt leaves
	own      []parley.ID  // sessions that leave nothing else to the outbox now
}

// loaded is a head that the attempt has read.
type loaded struct {
	*transition.Head
	mine bool // read in a lane of ours, so it may be cached
}

// read runs one statement in the workspace and visits its rows. reset empties what visit fills, because the statement
// may be sent again.
func (a *attempt) read(reset func(), query string, visit func(*row) error, args ...arg) error {
	return a.ask(func() *batch {
		reset()
		b := tenant(a.workspace)
		if a.workspace.IsZero() { // a claim, of sessions of any workspace
			b = system()
		}
		b.read(query, visit, args...)
		return b
	})
}

// requireRow makes the batch void if a row that was found, and that no revision covers, is gone by then.
func (a *attempt) requireRow(query string, args ...arg) {
	a.found = append(
		a.found,
		statement{query: "SELECT CASE WHEN EXISTS (" + query + ") THEN 0 ELSE parley.stale() END", args: args},
	)
}

// ask sends a reading batch. build makes it anew each time it is sent.
func (a *attempt) ask(build func() *batch) error {
	a.reads++
	if a.talk != nil {
		b := build()
		b.snapshot = false // nothing changes under the lock
		return a.talk.send(b)
	}
	return a.store.read(a.ctx, build)
}

// rowsOf reads rows of one kind.
func rowsOf[T any](a *attempt, scan func(*row) (T, error), query string, args ...arg) (found []T, err error) {
	err = a.read(func() { found = nil }, query, func(r *row) error {
		value, err := scan(r)
		found = append(found, value)
		return err
	}, args...)
	return found, err
}

// first reads one row; nil if there is none.
func first[T any](a *attempt, scan func(*row) (T, error), query string, args ...arg) (found *T, err error) {
	err = a.read(func() { found = nil }, query, func(r *row) error {
		value, err := scan(r)
		if found == nil {
			found = &value
		}
		return err
	}, args...)
	return found, err
}

func (a *attempt) id(query string, args ...arg) (parley.ID, error) {
	found, err := first(a, func(r *row) (parley.ID, error) { return r.id(), nil }, query, args...)
	if err != nil || found == nil {
		return parley.ID{}, err
	}
	return *found, nil
}

// Head implements transition.Rows: from the cache, for the database to confirm, or in one round trip with everything
// that a step needs.
func (a *attempt) Head(id parley.ID) (*transition.Head, error) {
	mine, err := a.held.enter(a.ctx, id)
	if err != nil {
		return nil, err
	}
	if mine {
		if h := a.store.heads.take(id); h != nil && !a.exact && h.WorkspaceID == a.workspace {
			a.guessed = true
			a.heads = append(a.heads, loaded{h, mine})
			return h, nil
		}
	}
	h, err := a.readHead(id)
	if err != nil || h == nil {
		return nil, err
	}
	a.heads = append(a.heads, loaded{h, mine})
	return h, nil
}

// Queries for the rest of a head: its turn, and that turn's open work.
const (
	turnOfHead = "SELECT " + turnColumns +
		` FROM parley.heads h JOIN parley.turns t ON t.workspace_id = h.workspace_id AND t.id = h.turn_id
 WHERE h.session_id = $1 AND h.workspace_id = $2`
	rowsOfHead = `SELECT m.id, m.sequence, m.call_ordinal, m.role, m.tool_call_id, m.tool_name, m.author_kind,
		m.author_name,
 m.model, m.metadata, m.created_at FROM parley.heads h
 JOIN parley.messages m ON m.workspace_id = h.workspace_id AND m.log_id = h.log_id AND m.status = 'streaming'
  AND m.status <> 'completed' AND m.turn_id = h.turn_id
 WHERE h.session_id = $1 AND h.workspace_id = $2 ORDER BY m.sequence`
	callsOfHead = `SELECT c.id, c.reserved_tokens, c.reserved_cost, c.reserved_from, c.expected FROM parley.heads h
		JOIN parley.calls c ON c.workspace_id = h.workspace_id AND c.turn_id = h.turn_id AND c.outcome = 'open'
 WHERE h.session_id = $1 AND h.workspace_id = $2 ORDER BY c.ordinal`
)

// readHead reads a head and the rows that it caches on one snapshot; nil if there is none.
func (a *attempt) readHead(id parley.ID) (h *transition.Head, err error) {
	var turn *parley.Turn
	var open transition.Open
	workspaceID := a.workspace
	err = a.ask(func() *batch {
		h, turn, open = nil, nil, transition.Open{}
		b := tenant(workspaceID)
		b.snapshot = true
		if a.talk != nil {
			b.write(
				"SELECT 1 FROM parley.heads WHERE session_id = $1 AND workspace_id = $2 FOR NO KEY UPDATE",
				id,
				workspaceID,
			)
		}
		b.read(
			"SELECT "+headColumns+sessionTables+"WHERE h.session_id = $1 AND h.workspace_id = $2",
			func(r *row) (err error) {
				h, err = scanHead(r)
				return err
			},
			id,
			workspaceID,
		)
		b.read(turnOfHead, func(r *row) error {
			found, err := scanTurn(r)
			turn = &found
			return err
		}, id, workspaceID)
		b.read(rowsOfHead, func(r *row) error {
			open.Rows = append(open.Rows, scanOpenRow(r))
			return nil
		}, id, workspaceID)
		b.read(callsOfHead, func(r *row) error {
			open.Calls = append(open.Calls, scanOpenCall(r))
			return nil
		}, id, workspaceID)
		return b
	})
	if err != nil || h == nil {
		return nil, err
	}
	h.Remember(turn, &open)
	return h, nil
}

func scanOpenRow(r *row) transition.OpenRow {
	return transition.OpenRow{
		ID:         r.id(),
		Sequence:   r.int64(),
		Ordinal:    r.int64(),
		Role:       parley.Role(r.text()),
		ToolCallID: r.text(),
		ToolName:   r.text(),
		Author: parley.Author{
			Kind: parley.AuthorKind(r.text()),
			Name: r.text(),
		},
		Model:     parley.ModelID(r.text()),
		Metadata:  r.json(),
		CreatedAt: r.time(),
	}
}

func scanOpenCall(r *row) transition.OpenCall {
	call := transition.OpenCall{ID: r.id()}
	tokens, cost, from := r.maybe(), r.money(), r.bytes()
	call.Expected = transition.ReadExpected(r.text())
	if tokens != nil {
		call.Reserved, call.From = &parley.Reserved{Tokens: *tokens, Cost: cost}, transition.IDsOf(from)
	}
	return call
}

// Turn implements transition.Rows.
func (a *attempt) Turn(h *transition.Head, turnID parley.ID) (*parley.Turn, error) {
	return first(
		a,
		scanTurn,
		"SELECT "+turnColumns+" FROM parley.turns t WHERE t.workspace_id = $1 AND t.id = $2 AND t.session_id = $3",
		h.WorkspaceID,
		turnID,
		h.ID,
	)
}

// LastTurn implements transition.Rows.
func (a *attempt) LastTurn(h *transition.Head) (*parley.Turn, error) {
	return first(
		a,
		scanTurn,
		"SELECT "+turnColumns+" FROM parley.turns t WHERE t.workspace_id = $1 AND t.session_id = $2 "+
			"ORDER BY t.ordinal DESC LIMIT 1",
		h.WorkspaceID,
		h.ID,
	)
}

// QueuedTurns implements transition.Rows.
func (a *attempt) QueuedTurns(h *transition.Head) ([]parley.Turn, error) {
	return rowsOf(
		a,
		scanTurn,
		"SELECT "+turnColumns+` FROM parley.messages m JOIN parley.turns t ON t.workspace_id = m.workspace_id
			AND t.id = m.turn_id
 WHERE m.workspace_id = $1 AND m.session_id = $2 AND m.position IS NOT NULL AND NOT m.steer
  AND t.trigger_message_id = m.id ORDER BY m.position`,
		h.WorkspaceID,
		h.ID,
	)
}

// Open implements transition.Rows.
func (a *attempt) Open(h *transition.Head, turnID parley.ID) (open transition.Open, err error) {
	err = a.ask(func() *batch {
		open = transition.Open{}
		b := tenant(a.workspace)
		b.read(
			`SELECT m.id, m.sequence, m.call_ordinal, m.role, m.tool_call_id, m.tool_name, m.author_kind, m.author_name,
				m.model, m.metadata, m.created_at FROM parley.messages m
 WHERE m.workspace_id = $1 AND m.log_id = $2 AND m.status = 'streaming' AND m.status <> 'completed' AND m.turn_id = $3
  ORDER BY m.sequence`,
			func(r *row) error {
				open.Rows = append(open.Rows, scanOpenRow(r))
				return nil
			},
			h.WorkspaceID,
			h.LogID,
			turnID,
		)
		b.read(
			"SELECT c.id, c.reserved_tokens, c.reserved_cost, c.reserved_from, c.expected FROM parley.calls c "+
				"WHERE c.workspace_id = $1 AND c.turn_id = $2 AND c.outcome = 'open' ORDER BY c.ordinal",
			func(r *row) error {
				open.Calls = append(open.Calls, scanOpenCall(r))
				return nil
			},
			h.WorkspaceID,
			turnID,
		)
		return b
	})
	return open, err
}

// Attempts implements transition.Rows.
func (a *attempt) Attempts(h *transition.Head, turnID parley.ID, step int) (attempts int, err error) {
	err = a.read(
		func() { attempts = 0 },
		"SELECT count(*) FROM parley.calls WHERE workspace_id = $1 AND turn_id = $2 AND step = $3",
		func(r *row) error {
			attempts = r.int()
			return nil
		},
		h.WorkspaceID,
		turnID,
		step,
	)
	return attempts, err
}

// Queue implements transition.Rows.
func (a *attempt) Queue(h *transition.Head, limit int) ([]transition.Entry, error) {
	return rowsOf(a, func(r *row) (transition.Entry, error) {
		return transition.Entry{
			ID:        r.id(),
			TurnID:    r.id(),
			Position:  r.int64(),
			Steer:     r.bool(),
			Revision:  r.int(),
			Iteration: r.int(),
		}, nil
	}, `SELECT id, turn_id, position, steer, revision, iteration FROM parley.messages
 WHERE workspace_id = $1 AND session_id = $2 AND position IS NOT NULL ORDER BY position LIMIT $3`, h.WorkspaceID,
		h.ID, limit)
}

// Versions implements transition.Rows.
func (a *attempt) Versions(h *transition.Head, messageID parley.ID) ([]transition.Piece, error) {
	return a.VersionsBetween(h, messageID, 0, math.MaxInt32)
}

// VersionEnd implements transition.Rows.
func (a *attempt) VersionEnd(
	h *transition.Head,
	messageID parley.ID,
	n int,
) (kind parley.ContentKind, end int, err error) {
	found, err := first(a, func(r *row) (transition.Piece, error) {
		return transition.Piece{Kind: parley.ContentKind(r.text()), Offset: r.int()}, nil
	}, `SELECT kind, "end" FROM parley.versions WHERE workspace_id = $1 AND message_id = $2 AND n = $3`,
		h.WorkspaceID, messageID, n)
	if err != nil || found == nil {
		return "", 0, err
	}
	return found.Kind, found.Offset, nil
}

// VersionsBetween implements transition.Rows.
func (a *attempt) VersionsBetween(
	h *transition.Head,
	messageID parley.ID,
	from, through int,
) ([]transition.Piece, error) {
	return rowsOf(a, func(r *row) (transition.Piece, error) {
		return transition.Piece{
			Kind:   parley.ContentKind(r.text()),
			Offset: r.int(),
			Chunks: r.int(),
			Text:   r.text(),
		}, nil
	}, `SELECT kind, "offset", chunks, text FROM parley.versions WHERE workspace_id = $1 AND message_id = $2
		AND n BETWEEN $3 AND $4 ORDER BY n`, h.WorkspaceID, messageID, from, through)
}
