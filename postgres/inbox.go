package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// InboxItem implements store.Inbox.
func (s *Store) InboxItem(ctx context.Context, workspaceID, principalID, id parley.ID) (parley.InboxItem, error) {
	return one(
		ctx,
		s,
		tenant(workspaceID),
		"inbox item",
		scanInboxItem,
		"SELECT "+inboxItemColumns+
			" FROM parley.inbox_items i WHERE i.workspace_id = $1 AND i.id = $2 AND i.principal_id = $3",
		workspaceID, id, principalID)
}

// InboxItems implements store.Inbox.
func (s *Store) InboxItems(
	ctx context.Context,
	workspaceID parley.ID,
	query store.InboxQuery,
) ([]parley.InboxItem, error) {
	text, rows, args := inboxQuery(query)
	return page(ctx, s, ordered(workspaceID), scanInboxItem, text, rows, args...)
}

func inboxQuery(q store.InboxQuery) (text string, rows int, args []arg) {
	var l filter
	word, after := direction(q.Ascending)
	l.must("i.workspace_id = "+here+" AND i.principal_id = ?", q.PrincipalID)
	if q.Unread {
		l.must("i.read_at IS NULL")
	}
	if q.Type != "" {
		l.must("i.type = ?", string(q.Type))
	}
	if !q.AgentID.IsZero() {
		l.must("i.agent_id = ?", q.AgentID)
	}
	if !q.AfterID.IsZero() {
		l.must("(i.created_at, i.id) "+after+" (?, ?)", int64(q.AfterCreated), q.AfterID)
	}
	limit, rows := limited(q.Limit)
	return "SELECT " + inboxItemColumns + " FROM parley.inbox_items i WHERE " + l.where.String() +
		" ORDER BY i.created_at " + word + ", i.id " + word + limit, rows, l.args
}

// MarkInboxItem implements store.Inbox.
func (s *Store) MarkInboxItem(
	ctx context.Context,
	scope store.Scope,
	principalID, id parley.ID,
	read bool,
) (parley.InboxItem, error) {
	return transact(ctx, s, scope.WorkspaceID, func(a *attempt) (parley.InboxItem, error) {
		return a.tx.MarkInboxItem(scope, principalID, id, read)
	})
}

// AnswerInboxItem implements store.Inbox.
func (s *Store) AnswerInboxItem(
	ctx context.Context,
	scope store.Scope,
	id parley.ID,
	answer store.InboxAnswer,
) (parley.InboxItem, error) {
	return transact(ctx, s, scope.WorkspaceID, func(a *attempt) (parley.InboxItem, error) {
		return a.tx.AnswerInboxItem(scope, id, answer)
	})
}

// InboxItem implements transition.Rows.
func (a *attempt) InboxItem(workspaceID, id parley.ID) (*parley.InboxItem, error) {
	return first(
		a,
		scanInboxItem,
		"SELECT "+inboxItemColumns+" FROM parley.inbox_items i WHERE i.workspace_id = $1 AND i.id = $2",
		workspaceID,
		id,
	)
}

// recipient orders those who can sign in: an owner who is a person, who is to be briefed, the owner, the oldest admin.
const recipient = `SELECT p.id FROM parley.principals p
 WHERE p.workspace_id = $1 AND (p.id = $2 OR p.id = $3 OR p.role = 'admin')
 AND (p.local_owner OR EXISTS (SELECT 1 FROM parley.keys k WHERE k.workspace_id = $1 AND k.principal_id = p.id
  AND k.revoked_at IS NULL))
 ORDER BY CASE WHEN p.id = $2 AND p.kind = 'person' THEN 0 WHEN p.id = $2 THEN 2 WHEN p.id = $3 THEN 1 ELSE 3 END,
  p.created_at, p.id LIMIT 1`

// Recipient implements transition.Rows.
func (a *attempt) Recipient(workspaceID, ownerID, briefTo parley.ID) (parley.ID, error) {
	found, err := a.id(recipient, workspaceID, ownerID, briefTo)
	if err == nil && found.IsZero() {
		found = ownerID
	}
	return found, err
}

// Cited implements transition.Rows.
func (a *attempt) Cited(
	workspaceID, sessionID parley.ID,
	sequence int64,
) (*transition.CitedMessage, error) {
	return first(a, func(r *row) (transition.CitedMessage, error) {
		return transition.CitedMessage{ID: r.id(), OwnerID: r.id(), Metadata: r.json()}, nil
	}, `SELECT m.id, s.owner_id, m.metadata FROM parley.sessions s
 JOIN parley.messages m ON m.workspace_id = $1 AND m.log_id = s.log_id AND m.sequence = $3
 WHERE s.workspace_id = $1 AND s.id = $2 AND s.deleted_at IS NULL AND m.status <> 'streaming'`,
		workspaceID, sessionID, sequence)
}

// SharesWork implements transition.Rows.
func (a *attempt) SharesWork(workspaceID, sessionID, rootID, senderID parley.ID) (bool, error) {
	found, err := first(a, func(r *row) (bool, error) { return r.bool(), nil },
		`SELECT EXISTS (SELECT FROM parley.delegations WHERE workspace_id = $1 AND root_id = $3
  AND (from_session_id = $2 OR to_session_id = $2) AND to_principal_id IS NULL)
 OR EXISTS (SELECT FROM parley.delegations WHERE workspace_id = $1 AND to_session_id = $2 AND from_session_id = $4
  AND to_principal_id IS NULL)`,
		workspaceID, sessionID, rootID, senderID)
	return found != nil && *found, err
}

// InsertInbox implements transition.Writer.
func (w *changes) InsertInbox(_ *transition.Head, items []*parley.InboxItem) error {
	for _, item := range items {
		args, err := insertInboxItemArgs(nil, item)
		if err != nil {
			return err
		}
		w.write(
			"INSERT INTO parley.inbox_items ("+insertInboxItemColumns+") VALUES ("+insertInboxItemPlaces+")", args...)
	}
	return nil
}

// UpdateInbox implements transition.Writer.
func (w *changes) UpdateInbox(_ *transition.Head, items []*parley.InboxItem) error {
	for _, item := range items {
		w.write(
			"UPDATE parley.inbox_items SET "+updateInboxItemSet+" WHERE workspace_id = $1 AND id = $2",
			updateInboxItemArgs([]arg{item.WorkspaceID, item.ID}, item)...)
	}
	return nil
}
