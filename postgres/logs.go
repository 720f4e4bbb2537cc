package postgres

import (
	"context"
	"slices"
	"strings"
	"sync"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// A session's record is a list of parts: what a fork shares of other logs, each up to a sequence, and the session's own
// log. A page is first requested with only the session's own log, in one round trip that also tells whether the session
// is a fork, unless it is known to be one. What a fork shares never changes, so it is read once and cached.

// cachedForks bounds the cache of forks' parts, which is emptied when full.
const cachedForks = 4096

// forkCache caches the parts that forks share.
type forkCache struct {
	mu    sync.Mutex // guards parts
	parts map[parley.ID][]transition.Part
}

func (c *forkCache) of(sessionID parley.ID) []transition.Part {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.parts[sessionID]
}

func (c *forkCache) keep(sessionID parley.ID, parts []transition.Part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parts == nil || len(c.parts) >= cachedForks {
		c.parts = map[parley.ID][]transition.Part{}
	}
	c.parts[sessionID] = parts
}

// readersOf joins the forks "s" that share a message "m" of a log.
const readersOf = "parley.session_logs g ON g.workspace_id = m.workspace_id AND g.log_id = m.log_id " +
	"AND g.through >= m.sequence" +
	" JOIN parley.sessions s ON s.workspace_id = g.workspace_id AND s.id = g.session_id"

const sharedOf = "SELECT log_id, writer_id, through FROM parley.session_logs " +
	"WHERE workspace_id = $1 AND session_id = $2 " +
	"ORDER BY through"

func scanPart(r *row) (transition.Part, error) {
	return transition.Part{LogID: r.id(), Writer: r.id(), Through: r.int64()}, nil
}

// record is page for reading the record: fill gets what a fork shares.
func (s *Store) record(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	fill func(b *batch, shared []transition.Part),
) error {
	shared := s.forks.of(sessionID)
	var found bool
	var forked int64
	ask := func() *batch {
		var l filter
		l.visible(scope)
		l.must("s.id = ?", sessionID)
		found, forked = false, 0
		b := ordered(scope.WorkspaceID)
		b.snapshot = true
		b.read(
			"SELECT coalesce(s.forked_through, 0) FROM parley.sessions s WHERE "+l.where.String(),
			func(r *row) error {
				found, forked = true, r.int64()
				return nil
			},
			l.args...)
		fill(b, shared)
		return b
	}
	err := s.read(ctx, ask)
	if err == nil && !found {
		err = transition.NotFound("session")
	}
	if err != nil || forked == 0 || len(shared) > 0 {
		return err
	}
	if shared, err = all(
		ctx,
		s,
		tenant(scope.WorkspaceID),
		scanPart,
		sharedOf,
		store.MaxForkedLogs,
		scope.WorkspaceID,
		sessionID,
	); err != nil {
		return err
	}
	s.forks.keep(sessionID, shared)
	if err = s.read(ctx, ask); err == nil && !found {
		err = transition.NotFound("session")
	}
	return err
}

// logs returns the terms for the parts of a record: the own log, and the shared ones.
func (l *filter) logs(own string, shared []transition.Part) []string {
	terms := []string{"m.workspace_id = " + here + " AND m.log_id = " + own + " AND m.sequence IS NOT NULL"}
	for _, p := range shared {
		terms = append(
			terms,
			"m.workspace_id = "+here+" AND m.log_id = "+l.arg(
				p.LogID,
			)+" AND m.sequence IS NOT NULL AND m.sequence <= "+l.arg(
				p.Through,
			),
		)
	}
	return terms
}

// touchedParts returns the shared parts that may have rows on a page.
func touchedParts(shared []transition.Part, q store.MessageQuery) []transition.Part {
	if q.Descending {
		return shared
	}
	first := slices.IndexFunc(shared, func(p transition.Part) bool { return p.Through > q.AfterSequence })
	if first < 0 {
		return nil
	}
	return shared[first:]
}

// merged combines queries that are each in order.
func merged(arms []string, order string) string {
	if len(arms) == 1 {
		return "SELECT *" + arms[0]
	}
	return "SELECT * FROM ((SELECT *" + strings.Join(arms, ") UNION ALL (SELECT *") + ")) m" + order
}

// ownMarks makes columns read the marks of a fork on what it shares, through the join that must follow its messages
// "m".
func (l *filter) ownMarks(columns string, sessionID parley.ID, shared []transition.Part) (own, join string) {
	if len(shared) == 0 || !strings.Contains(columns, marksColumns) {
		return columns, ""
	}
	through := l.arg(shared[len(shared)-1].Through)
	mark := func(name string) string {
		return "CASE WHEN m.sequence > " + through + " THEN m." + name + " ELSE coalesce(k." + name + ", false) END"
	}
	join = " LEFT JOIN parley.session_marks k ON k.workspace_id = " + here + " AND k.session_id = " + l.arg(
		sessionID,
	) + " AND k.sequence = m.sequence"
	return strings.Replace(
		columns,
		marksColumns,
		mark("pinned")+", "+mark("context_edge")+", "+mark("set_aside"),
		1,
	), join
}

// Shared implements transition.Rows.
func (a *attempt) Shared(h *transition.Head) ([]transition.Part, error) {
	return rowsOf(a, scanPart, sharedOf, h.WorkspaceID, h.ID)
}

// Stretch implements transition.Rows.
func (a *attempt) Stretch(
	h *transition.Head,
	parts []transition.Part,
	from int64,
	limit int,
) (links []transition.Link, err error) {
	for _, p := range parts {
		if p.Through < from || len(links) >= limit {
			continue
		}
		some, err := rowsOf(a, func(r *row) (transition.Link, error) {
			return transition.Link{
				ID:          r.id(),
				Sequence:    r.int64(),
				TurnID:      r.id(),
				Step:        r.int(),
				Role:        parley.Role(r.text()),
				Status:      parley.MessageStatus(r.text()),
				Ordinal:     r.int64(),
				ContentHash: r.hash(),
			}, nil
		}, `SELECT id, sequence, turn_id, step, role, status, call_ordinal, content_hash FROM parley.messages
 WHERE workspace_id = $1 AND log_id = $2 AND sequence IS NOT NULL AND sequence BETWEEN $3 AND $4 ORDER BY sequence
  LIMIT $5`, h.WorkspaceID, p.LogID, from, p.Through, limit-len(links))
		if err != nil {
			return nil, err
		}
		links = append(links, some...)
	}
	return links, nil
}

// Tally implements transition.Rows.
func (a *attempt) Tally(h *transition.Head, parts []transition.Part) (tally transition.Tally, err error) {
	for _, p := range parts {
		some, err := first(
			a,
			func(r *row) (transition.Tally, error) {
				return transition.Tally{Internal: r.int64(), Calls: r.int64()}, nil
			},
			`SELECT (SELECT count(*) FROM parley.messages WHERE workspace_id = $1 AND log_id = $2 AND internal
				AND sequence IS NOT NULL AND sequence <= $3),
 coalesce((SELECT call_ordinal FROM parley.messages WHERE workspace_id = $1 AND log_id = $2 AND role = 'tool_call'
  AND sequence IS NOT NULL AND sequence <= $3
  ORDER BY sequence DESC LIMIT 1), 0)`,
			h.WorkspaceID,
			p.LogID,
			p.Through,
		)
		if err != nil {
			return tally, err
		}
		tally.Internal, tally.Calls = tally.Internal+some.Internal, max(tally.Calls, some.Calls)
	}
	return tally, nil
}

// SharedMarks implements transition.Rows.
func (a *attempt) SharedMarks(h *transition.Head, sequence int64) (parley.Marks, error) {
	marks, err := first(a, func(r *row) (parley.Marks, error) {
		return parley.Marks{Pinned: r.bool(), ContextEdge: r.bool(), SetAside: r.bool()}, nil
	}, "SELECT pinned, context_edge, set_aside FROM parley.session_marks "+
		"WHERE workspace_id = $1 AND session_id = $2 AND sequence = $3", h.WorkspaceID, h.ID, sequence)
	if err != nil || marks == nil {
		return parley.Marks{}, err
	}
	return *marks, nil
}

// Marks of a stretch: from the messages that the parent wrote, otherwise from its own copy.
const (
	copyMarks = `INSERT INTO parley.session_marks (session_id, sequence, workspace_id, message_id, pinned, context_edge,
		set_aside, pinned_event)
 SELECT $2, sequence, workspace_id, id, pinned, context_edge, set_aside,
 CASE WHEN pinned_event < (SELECT cleared_event FROM parley.heads
  WHERE workspace_id = $1 AND session_id = $6) THEN -1 ELSE 0 END FROM parley.messages
 WHERE workspace_id = $1 AND log_id = $3 AND sequence > $4 AND sequence <= $5 AND (pinned OR context_edge OR set_aside)`
	copySharedMarks = `INSERT INTO parley.session_marks (session_id, sequence, workspace_id, message_id, pinned,
		context_edge, set_aside, pinned_event)
 SELECT $2, sequence, workspace_id, message_id, pinned, context_edge, set_aside,
 CASE WHEN pinned_event < (SELECT cleared_event FROM parley.heads
  WHERE workspace_id = $1 AND session_id = $6) THEN -1 ELSE 0 END FROM parley.session_marks
  	WHERE workspace_id = $1 AND session_id = $3 AND sequence > $4 AND sequence <= $5`
)

// inherit adds what a fork inherits: the parts that it reads, and its own copy of the marks.
func (b *batch) inherit(h *transition.Head, from *transition.Inherited) {
	begins := int64(0)
	for _, p := range from.Parts {
		b.write(
			"INSERT INTO parley.session_logs (session_id, through, workspace_id, log_id, writer_id) "+
				"VALUES ($1, $2, $3, $4, $5)",
			h.ID,
			p.Through,
			h.WorkspaceID,
			p.LogID,
			p.Writer,
		)
		statement, source := copySharedMarks, from.From
		if p.LogID == from.Own {
			statement, source = copyMarks, p.LogID
		}
		b.write(statement, h.WorkspaceID, h.ID, source, begins, p.Through, from.From)
		begins = p.Through
	}
}

// mark writes changed marks; on a shared message they are the fork's own.
func (b *batch) mark(h *transition.Head, m transition.Marked) {
	marks := m.Marks
	if m.LogID == h.LogID {
		b.write(
			"UPDATE parley.messages SET pinned = $3, context_edge = $4, set_aside = $5, "+
				"pinned_event = greatest(pinned_event, $6) WHERE workspace_id = $1 AND id = $2",
			h.WorkspaceID,
			m.ID,
			marks.Pinned,
			marks.ContextEdge,
			marks.SetAside,
			m.PinnedEvent,
		)
		return
	}
	b.write(
		`INSERT INTO parley.session_marks AS k (session_id, sequence, workspace_id, message_id, pinned, context_edge,
			set_aside, pinned_event) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
 ON CONFLICT (workspace_id, session_id, sequence) DO UPDATE SET pinned = excluded.pinned,
  context_edge = excluded.context_edge, set_aside = excluded.set_aside,
 pinned_event = greatest(k.pinned_event, excluded.pinned_event)`,
		h.ID,
		m.Sequence,
		h.WorkspaceID,
		m.ID,
		marks.Pinned,
		marks.ContextEdge,
		marks.SetAside,
		m.PinnedEvent,
	)
}
