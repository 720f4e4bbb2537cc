package sqlite

import (
	"context"
	"strconv"

	"parley"
)

// MarkMessage replaces a message's marks. Marks that are as they were leave no
// event.
func (s *Store) MarkMessage(ctx context.Context, scope parley.Scope, id parley.ID, marks parley.Marks) (parley.Message, error) {
	return transact(ctx, s, func(tx *txn) (parley.Message, error) {
		message, err := visibleMessage(tx.conn, scope, id)
		if err != nil {
			return parley.Message{}, err
		}
		h, err := tx.lock(scope, message.SessionID)
		if err != nil {
			return parley.Message{}, err
		}
		if message.Marks == marks {
			return message, nil
		}
		message.Marks = marks
		if _, err := tx.exec("UPDATE messages SET pinned = ?, context_edge = ?, set_aside = ? WHERE id = ? AND workspace_id = ?",
			marks.Pinned, marks.ContextEdge, marks.SetAside, id, message.WorkspaceID); err != nil {
			return parley.Message{}, err
		}
		data := appendID(append(make([]byte, 0, 128), `{"message_id":`...), id)
		data = strconv.AppendBool(append(data, `,"marks":{"pinned":`...), marks.Pinned)
		data = strconv.AppendBool(append(data, `,"context_edge":`...), marks.ContextEdge)
		data = strconv.AppendBool(append(data, `,"set_aside":`...), marks.SetAside)
		tx.event(h, parley.EventMessageMarked, parley.ID{}, append(data, "}}"...))
		return message, nil
	})
}
