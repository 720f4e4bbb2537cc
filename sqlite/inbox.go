package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// InboxItem implements store.Inbox.
func (s *Store) InboxItem(
	ctx context.Context,
	workspaceID, principalID, id parley.ID,
) (found parley.InboxItem, err error) {
	err = s.read(ctx, func(c *conn) error {
		there, err := c.one(
			"SELECT "+inboxItemColumns+
				" FROM inbox_items i WHERE i.id = ? AND i.workspace_id = ? AND i.principal_id = ?",
			func(r *row) (err error) {
				found, err = scanInboxItem(r)
				return err
			},
			id,
			workspaceID,
			principalID,
		)
		if err == nil && !there {
			err = transition.NotFound("inbox item")
		}
		return err
	})
	return found, err
}

// InboxItems implements store.Inbox.
func (s *Store) InboxItems(
	ctx context.Context,
	workspaceID parley.ID,
	query store.InboxQuery,
) (found []parley.InboxItem, err error) {
	text, args := inboxQuery(workspaceID, query)
	err = s.read(ctx, func(c *conn) error {
		found = []parley.InboxItem{}
		return eachListed(c, &found, scanInboxItem, text, args...)
	})
	return found, err
}

func inboxQuery(workspaceID parley.ID, q store.InboxQuery) (string, []arg) {
	var l list
	word, after := direction(q.Ascending)
	if q.Unread {
		l.by("inbox_items_unread", "i.read_at IS NULL")
	}
	l.must("i.principal_id = ? AND i.workspace_id = ?", q.PrincipalID, workspaceID)
	if q.Type != "" {
		l.must("i.type = ?", string(q.Type))
	}
	if !q.AgentID.IsZero() {
		l.must("i.agent_id = ?", q.AgentID)
	}
	if !q.AfterID.IsZero() {
		l.must("(i.created_at, i.id) "+after+" (?, ?)", int64(q.AfterCreated), q.AfterID[:])
	}
	return "SELECT " + inboxItemColumns + " FROM inbox_items i" + l.indexed("inbox_items_recent") + "WHERE " +
			l.where.String() + " ORDER BY i.created_at " + word + ", i.id " + word + " LIMIT ?",
		append(l.args, limited(q.Limit))
}

// MarkInboxItem implements store.Inbox.
func (s *Store) MarkInboxItem(
	ctx context.Context,
	scope store.Scope,
	principalID, id parley.ID,
	read bool,
) (parley.InboxItem, error) {
	return transact(ctx, s, func(tx *txn) (parley.InboxItem, error) {
		return tx.core.MarkInboxItem(scope, principalID, id, read)
	})
}

// AnswerInboxItem implements store.Inbox.
func (s *Store) AnswerInboxItem(
	ctx context.Context,
	scope store.Scope,
	id parley.ID,
	answer store.InboxAnswer,
) (parley.InboxItem, error) {
	return transact(ctx, s, func(tx *txn) (parley.InboxItem, error) {
		return tx.core.AnswerInboxItem(scope, id, answer)
	})
}

// InboxItem implements transition.Rows.
func (t *txn) InboxItem(workspaceID, id parley.ID) (found *parley.InboxItem, err error) {
	_, err = t.one(
		"SELECT "+inboxItemColumns+" FROM inbox_items i WHERE i.id = ? AND i.workspace_id = ?",
		func(r *row) error {
			item, err := scanInboxItem(r)
			found = &item
			return err
		},
		id, workspaceID)
	return found, err
}

// recipient orders those who can sign in: an owner who is a person, who is to be briefed, the owner, the oldest admin.
const recipient = `SELECT p.id FROM principals p
 WHERE p.workspace_id = ?1 AND (p.id IN (?2, ?3) OR p.role = 'admin')
 AND (p.local_owner = 1 OR EXISTS (SELECT 1 FROM keys k WHERE k.principal_id = p.id AND k.revoked_at IS NULL))
 ORDER BY CASE p.id WHEN ?2 THEN iif(p.kind = 'person', 0, 2) WHEN ?3 THEN 1 ELSE 3 END, p.created_at, p.id LIMIT 1`

// Recipient implements transition.Rows.
func (t *txn) Recipient(workspaceID, ownerID, briefTo parley.ID) (parley.ID, error) {
	found, err := t.id(recipient, workspaceID, ownerID, briefTo)
	if err == nil && found.IsZero() {
		found = ownerID
	}
	return found, err
}

// Cited implements transition.Rows.
func (t *txn) Cited(
	workspaceID, sessionID parley.ID,
	sequence int64,
) (found *transition.CitedMessage, err error) {
	_, err = t.one(
		`SELECT m.id, s.owner_id, m.metadata FROM sessions s CROSS JOIN messages m INDEXED BY messages_sequence
 ON m.log_id = s.log_id AND m.sequence = ?
 WHERE s.id = ? AND s.workspace_id = ? AND s.deleted_at IS NULL AND m.status <> 'streaming'`,
		func(r *row) error {
			found = &transition.CitedMessage{ID: r.id(), OwnerID: r.id(), Metadata: r.json()}
			return nil
		},
		sequence, sessionID, workspaceID)
	return found, err
}

// SharesWork implements transition.Rows.
func (t *txn) SharesWork(workspaceID, sessionID, rootID, senderID parley.ID) (shares bool, err error) {
	_, err = t.one(
		`SELECT EXISTS (SELECT 1 FROM delegations d INDEXED BY delegations_root
 WHERE d.root_id = ?3 AND d.workspace_id = ?1 AND (d.from_session_id = ?2 OR d.to_session_id = ?2)
  AND d.to_principal_id IS NULL)
 OR EXISTS (SELECT 1 FROM delegations d INDEXED BY delegations_to
 WHERE d.to_session_id = ?2 AND d.workspace_id = ?1 AND d.from_session_id = ?4 AND d.to_principal_id IS NULL)`,
		func(r *row) error {
			shares = r.bool()
			return nil
		},
		workspaceID, sessionID, rootID, senderID)
	return shares, err
}

// InsertInbox implements transition.Writer.
func (w changes) InsertInbox(_ *transition.Head, items []*parley.InboxItem) error {
	for _, item := range items {
		args, err := insertInboxItemArgs(w.args[:0], item)
		if err != nil {
			return err
		}
		if _, err := w.exec(
			"INSERT INTO inbox_items ("+insertInboxItemColumns+") VALUES ("+insertInboxItemPlaces+")", args...,
		); err != nil {
			return err
		}
	}
	return nil
}

// UpdateInbox implements transition.Writer.
func (w changes) UpdateInbox(_ *transition.Head, items []*parley.InboxItem) error {
	for _, item := range items {
		if _, err := w.exec(
			"UPDATE inbox_items SET "+updateInboxItemSet+" WHERE id = ?",
			append(updateInboxItemArgs(w.args[:0], item), item.ID)...); err != nil {
			return err
		}
	}
	return nil
}
