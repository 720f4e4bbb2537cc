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

// recipient orders the owner, if they can sign in, before the admins who can, oldest first.
const recipient = `SELECT p.id FROM parley.principals p WHERE p.workspace_id = $1 AND (p.id = $2 OR p.role = 'admin')
 AND (p.local_owner OR EXISTS (SELECT 1 FROM parley.keys k WHERE k.workspace_id = $1 AND k.principal_id = p.id
  AND k.revoked_at IS NULL))
 ORDER BY p.id <> $2, p.created_at, p.id LIMIT 1`

// Recipient implements transition.Rows.
func (a *attempt) Recipient(workspaceID, ownerID parley.ID) (parley.ID, error) {
	found, err := a.id(recipient, workspaceID, ownerID)
	if err == nil && found.IsZero() {
		found = ownerID
	}
	return found, err
}

// InsertInbox implements transition.Writer.
func (w *changes) InsertInbox(_ *transition.Head, items []*parley.InboxItem) error {
	for _, item := range items {
		w.write(
			"INSERT INTO parley.inbox_items ("+insertInboxItemColumns+") VALUES ("+insertInboxItemPlaces+")",
			insertInboxItemArgs(nil, item)...)
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
