package postgres

import (
	"context"
	"strconv"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// OpenChild implements store.Children. The parent's head must keep its revision until the child is written, so whoever
// ends the call finds the child.
func (s *Store) OpenChild(ctx context.Context, fence store.Fence, child store.NewSession) (parley.Session, error) {
	return transact(ctx, s, fence.WorkspaceID, func(a *attempt) (parley.Session, error) {
		opened, err := a.tx.OpenChild(fence, child)
		for _, l := range a.heads {
			if err == nil && l.ID == fence.SessionID {
				a.requireRow(
					"SELECT 1 FROM parley.heads WHERE workspace_id = $1 AND session_id = $2 "+
						"AND revision = $3 FOR SHARE",
					l.WorkspaceID,
					l.ID,
					l.Revision,
				)
			}
		}
		return opened, err
	})
}

// statisticsColumns reads what a session's head "h" counts.
const statisticsColumns = `h.messages, h.user_facing, h.turns, h.input_tokens, h.output_tokens, h.cached_tokens,
 h.unknown_calls, h.cost, h.unpriced_calls, h.calls, h.cache_hits, h.cache_write_tokens, h.saved`

func scanStatistics(r *row) parley.Statistics {
	return parley.Statistics{
		Messages:   r.int64(),
		UserFacing: r.int64(),
		Turns:      r.int64(),
		Tokens: parley.Tokens{
			InputTokens:  r.int64(),
			OutputTokens: r.int64(),
			CachedTokens: r.int64(),
			Unknown:      r.int64(),
		},
		Cost:             parley.Money(r.int64()),
		Unpriced:         r.int64(),
		Calls:            r.int64(),
		CacheHits:        r.int64(),
		CacheWriteTokens: r.int64(),
		Saved:            parley.Money(r.int64()),
	}
}

// nodeColumns reads "s", its head "h", its agent "a" and the call "m" that opened it.
const nodeColumns = `s.id, s.parent_session_id, s.parent_message_id, s.agent_id, coalesce(a.slug, ''), s.kind, s.title,
	s.status, s.wait_reason, ` + statisticsColumns + `,
 s.created_at, s.updated_at, s.finished_at, coalesce(m.sequence, 0)`

func scanNode(r *row) parley.TreeNode {
	return parley.TreeNode{
		ID:              r.id(),
		ParentSessionID: r.id(),
		ParentMessageID: r.id(),
		AgentID:         r.id(),
		AgentSlug:       r.text(),
		Kind:            parley.SessionKind(r.text()),
		Title:           r.text(),
		Status:          parley.SessionStatus(r.text()),
		WaitReason:      parley.WaitReason(r.text()),
		Statistics:      scanStatistics(r),
		CreatedAt:       r.time(),
		UpdatedAt:       r.time(),
		FinishedAt:      r.time(),
		CallSequence:    r.int64(),
	}
}

// treeQuery selects a session and the tool sessions below it, level by level, one more than are shown.
func treeQuery(scope store.Scope, sessionID parley.ID) (string, []arg) {
	var root, below filter
	root.must("s.id = ?", sessionID)
	root.visible(scope)
	below.args = root.args // continue the numbering
	below.visible(scope)
	return `WITH RECURSIVE tree (id) AS (SELECT s.id FROM parley.sessions s WHERE ` + root.where.String() + `
 UNION ALL SELECT s.id FROM tree t JOIN parley.sessions s ON s.parent_session_id = t.id AND s.kind = 'tool' AND ` +
		below.where.String() + `)
 SELECT ` + nodeColumns + ` FROM (SELECT id FROM tree LIMIT ` + strconv.Itoa(parley.MaxTreeSessions+1) + `) t
 JOIN parley.sessions s ON s.workspace_id = ` + here + ` AND s.id = t.id` + headOfSession +
		`LEFT JOIN parley.agents a ON a.workspace_id = s.workspace_id AND a.id = s.agent_id
 LEFT JOIN parley.messages m ON m.workspace_id = s.workspace_id AND m.id = s.parent_message_id`, below.args
}

// Tree implements store.Children.
func (s *Store) Tree(ctx context.Context, scope store.Scope, sessionID parley.ID) (parley.Tree, error) {
	text, args := treeQuery(scope, sessionID)
	nodes, err := all(
		ctx,
		s,
		tenant(scope.WorkspaceID),
		func(r *row) (parley.TreeNode, error) { return scanNode(r), nil },
		text,
		parley.MaxTreeSessions+1,
		args...)
	if err != nil {
		return parley.Tree{}, err
	}
	if len(nodes) == 0 {
		return parley.Tree{}, transition.NotFound("session")
	}
	return parley.NewTree(sessionID, nodes), nil
}
