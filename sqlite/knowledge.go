package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// CreateKnowledge implements store.Knowledge.
func (s *Store) CreateKnowledge(ctx context.Context, item store.NewKnowledge) (parley.KnowledgeItem, bool, error) {
	created, err := transact(ctx, s, func(tx *txn) (transition.KnowledgeCreated, error) {
		creating := item // the closure may run again
		return tx.core.CreateKnowledge(creating)
	})
	return created.Item, created.Replayed, err
}

// UpdateKnowledge implements store.Knowledge.
func (s *Store) UpdateKnowledge(ctx context.Context, items []parley.KnowledgeItem) ([]parley.KnowledgeItem, error) {
	return transact(ctx, s, func(tx *txn) ([]parley.KnowledgeItem, error) {
		changed := make([]parley.KnowledgeItem, len(items)) // the closure may run again
		for i := range items {
			current, err := tx.KnowledgeItem(items[i].WorkspaceID, items[i].ID)
			switch {
			case err != nil:
				return nil, err
			case current == nil:
				return nil, transition.NotFound("knowledge item")
			case current.Revision != items[i].Revision:
				return nil, transition.KnowledgeMovedOn()
			}
			changed[i] = items[i]
			changed[i].Revision++
		}
		for i := range changed {
			item := &changed[i]
			if err := tx.updateKnowledge(item); err != nil {
				return nil, err
			}
			sessions, err := tx.Readable(item.WorkspaceID, transition.KnowledgeSources(item))
			if err != nil {
				return nil, err
			}
			tx.news = append(tx.news, store.Commit{
				WorkspaceID: item.WorkspaceID, Feed: transition.KnowledgeNews(item, false, sessions),
			})
		}
		tx.means = changed[0].ID
		return changed, nil
	})
}

func (t *txn) updateKnowledge(item *parley.KnowledgeItem) error {
	args, err := updateKnowledgeArgs(nil, item)
	if err != nil {
		return err
	}
	_, err = t.exec(
		"UPDATE knowledge SET "+updateKnowledgeSet+" WHERE id = ? AND workspace_id = ?",
		append(args, item.ID, item.WorkspaceID)...)
	return err
}

// sources restricts "k" to the items whose sources all lie in sessions that a principal sees; a zero one sees all.
func (l *list) sources(viewerID parley.ID) {
	const all = "NOT EXISTS (SELECT 1 FROM knowledge_sources x WHERE x.item_id = k.id AND NOT EXISTS (" +
		"SELECT 1 FROM sessions s WHERE s.id = x.session_id AND s.deleted_at IS NULL"
	if viewerID.IsZero() {
		l.must(all + "))")
		return
	}
	l.must(all+" AND (s.owner_id = ? OR s.visibility = 'workspace')))", viewerID)
}

// KnowledgeItem implements store.Knowledge.
func (s *Store) KnowledgeItem(
	ctx context.Context,
	scope store.Scope,
	id parley.ID,
) (found parley.KnowledgeItem, err error) {
	var l list
	l.must("k.id = ? AND k.workspace_id = ?", id, scope.WorkspaceID)
	l.sources(scope.ViewerID)
	err = s.read(ctx, func(c *conn) error {
		there, err := c.one("SELECT "+knowledgeColumns+" FROM knowledge k WHERE "+l.where.String(),
			func(r *row) (err error) {
				found, err = scanKnowledge(r)
				return err
			}, l.args...)
		if err == nil && !there {
			err = transition.NotFound("knowledge item")
		}
		return err
	})
	return found, err
}

// KnowledgeItems implements store.Knowledge.
func (s *Store) KnowledgeItems(
	ctx context.Context,
	scope store.Scope,
	query store.KnowledgeQuery,
) (found []parley.KnowledgeItem, err error) {
	text, args := knowledgeQuery(scope, query)
	err = s.read(ctx, func(c *conn) error {
		found = []parley.KnowledgeItem{}
		return eachListed(c, &found, scanKnowledge, text, args...)
	})
	return found, err
}

func knowledgeQuery(scope store.Scope, q store.KnowledgeQuery) (string, []arg) {
	var l list
	l.must("k.workspace_id = ?", scope.WorkspaceID)
	if !q.AgentID.IsZero() {
		l.by("knowledge_agent", "k.agent_id = ?", q.AgentID)
	}
	if q.Scope != "" {
		l.must("k.scope = ?", string(q.Scope))
	}
	if q.Kind != "" {
		l.must("k.kind = ?", string(q.Kind))
	}
	if q.Status != "" {
		l.must("k.status = ?", string(q.Status))
	}
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must("k.id "+after+" ?", q.AfterID)
	}
	l.sources(scope.ViewerID)
	return "SELECT " + knowledgeColumns + " FROM knowledge k" + l.indexed("knowledge_workspace") + "WHERE " +
		l.where.String() + " ORDER BY k.id " + word + " LIMIT ?", append(l.args, limited(q.Limit))
}

// leadsUp is an agent with the leads above it.
const leadsUp = "WITH RECURSIVE up(id, depth) AS (SELECT ?, 0 UNION SELECT a.lead_id, up.depth + 1 FROM up " +
	"CROSS JOIN agents a ON a.id = up.id WHERE a.workspace_id = ? AND a.lead_id IS NOT NULL AND up.depth < ?) "

// usableKnowledge reads what prompts of an agent may be told.
func (c *conn) usableKnowledge(
	reach store.KnowledgeReach,
	proposed bool,
) (found []parley.KnowledgeItem, err error) {
	l := list{args: []arg{reach.AgentID, reach.WorkspaceID, parley.MaxTeamDepth}}
	l.must("k.workspace_id = ? AND k.agent_id IN (SELECT id FROM up)", reach.WorkspaceID)
	l.must("(k.scope = 'team' OR k.agent_id = ?) AND k.status = 'active'", reach.AgentID)
	if !proposed {
		l.must("(k.kind <> 'procedure' OR k.approved_at IS NOT NULL)")
	}
	if reach.Since > 0 {
		l.must("k.changed_at >= ?", int64(reach.Since))
	}
	l.sources(reach.ReaderID)
	found = []parley.KnowledgeItem{}
	err = eachListed(c, &found, scanKnowledge, leadsUp+"SELECT "+knowledgeColumns+
		" FROM knowledge k INDEXED BY knowledge_agent WHERE "+l.where.String()+
		" ORDER BY k.pinned DESC, k.changed_at DESC, k.id DESC LIMIT ?", append(l.args, limited(reach.Limit))...)
	return found, err
}

// UsableKnowledge implements store.Knowledge.
func (s *Store) UsableKnowledge(
	ctx context.Context,
	reach store.KnowledgeReach,
) (found []parley.KnowledgeItem, err error) {
	err = s.read(ctx, func(c *conn) (err error) {
		found, err = c.usableKnowledge(reach, false)
		return err
	})
	return found, err
}

// KnowledgeByID implements store.Knowledge.
func (s *Store) KnowledgeByID(
	ctx context.Context,
	scope store.Scope,
	ids []parley.ID,
) (found []parley.KnowledgeItem, err error) {
	var l list
	l.must("k.workspace_id = ?", scope.WorkspaceID)
	l.among("k.id", ids)
	l.sources(scope.ViewerID)
	err = s.read(ctx, func(c *conn) error {
		found = []parley.KnowledgeItem{}
		return eachListed(c, &found, scanKnowledge,
			"SELECT "+knowledgeColumns+" FROM knowledge k WHERE "+l.where.String()+" LIMIT ?",
			append(l.args, limited(len(ids)))...)
	})
	return found, err
}

const chosenKnowledge = "SELECT " + knowledgeBlockColumns + " FROM knowledge_blocks b " +
	"INDEXED BY knowledge_blocks_session WHERE b.session_id = ? AND b.workspace_id = ? ORDER BY b.n DESC LIMIT 1"

func (c *conn) chosenKnowledge(workspaceID, sessionID parley.ID) (block *parley.KnowledgeBlock, err error) {
	_, err = c.one(chosenKnowledge, func(r *row) error {
		found, err := scanKnowledgeBlock(r)
		block = &found
		return err
	}, sessionID, workspaceID)
	return block, err
}

// ChosenKnowledge implements store.Knowledge.
func (s *Store) ChosenKnowledge(
	ctx context.Context,
	workspaceID, sessionID parley.ID,
) (block *parley.KnowledgeBlock, err error) {
	err = s.read(ctx, func(c *conn) (err error) {
		block, err = c.chosenKnowledge(workspaceID, sessionID)
		return err
	})
	return block, err
}

// KnowledgeBlock implements store.Knowledge.
func (s *Store) KnowledgeBlock(
	ctx context.Context,
	scope store.Scope,
	id parley.ID,
) (block parley.KnowledgeBlock, err error) {
	var l list
	l.must("b.id = ?", id)
	l.visible(scope)
	err = s.read(ctx, func(c *conn) error {
		there, err := c.one("SELECT "+knowledgeBlockColumns+
			" FROM knowledge_blocks b CROSS JOIN sessions s ON s.id = b.session_id WHERE "+l.where.String(),
			func(r *row) (err error) {
				block, err = scanKnowledgeBlock(r)
				return err
			}, l.args...)
		if err == nil && !there {
			err = transition.NotFound("knowledge block")
		}
		return err
	})
	return block, err
}

// ChooseKnowledge implements store.Knowledge.
func (s *Store) ChooseKnowledge(ctx context.Context, fence store.Fence, block parley.KnowledgeBlock) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.ChooseKnowledge(fence, block) })
}

// KnowledgeItem implements transition.Rows.
func (t *txn) KnowledgeItem(workspaceID, id parley.ID) (item *parley.KnowledgeItem, err error) {
	_, err = t.one("SELECT "+knowledgeColumns+" FROM knowledge k WHERE k.id = ? AND k.workspace_id = ?",
		func(r *row) error {
			found, err := scanKnowledge(r)
			item = &found
			return err
		}, id, workspaceID)
	return item, err
}

// CreatedKnowledge implements transition.Rows.
func (t *txn) CreatedKnowledge(workspaceID parley.ID, key string) (earlier transition.Earlier, err error) {
	_, err = t.one(
		"SELECT id, fingerprint FROM knowledge WHERE workspace_id = ? AND idempotency_key = ?",
		func(r *row) error {
			earlier = transition.Earlier{ID: r.id(), Fingerprint: r.hash()}
			return nil
		},
		workspaceID,
		key,
	)
	return earlier, err
}

// CountKnowledge implements transition.Rows.
func (t *txn) CountKnowledge(workspaceID, agentID parley.ID) (count int64, err error) {
	_, err = t.one(
		"SELECT count(*) FROM knowledge WHERE workspace_id = ? AND agent_id = ?",
		func(r *row) error {
			count = r.int64()
			return nil
		},
		workspaceID,
		agentID,
	)
	return count, err
}

// UsableKnowledge implements transition.Rows.
func (t *txn) UsableKnowledge(reach store.KnowledgeReach, proposed bool) ([]parley.KnowledgeItem, error) {
	return t.usableKnowledge(reach, proposed)
}

// NotedKnowledge implements transition.Rows.
func (t *txn) NotedKnowledge(workspaceID, agentID, ownerID parley.ID) (found []parley.KnowledgeItem, err error) {
	var l list
	l.must("k.workspace_id = ? AND k.agent_id = ? AND k.status IN ('active', 'forgotten')", workspaceID, agentID)
	l.sources(ownerID)
	err = t.each(
		"SELECT "+knowledgeColumns+" FROM knowledge k INDEXED BY knowledge_agent WHERE "+l.where.String()+
			" ORDER BY k.status, k.id LIMIT ?",
		func(r *row) error {
			item, err := scanKnowledge(r)
			found = append(found, item)
			return err
		},
		append(l.args, parley.MaxKnowledgeOfAgent)...,
	)
	return found, err
}

// Readable implements transition.Rows.
func (t *txn) Readable(workspaceID parley.ID, sessionIDs []parley.ID) (found []transition.Readable, err error) {
	if len(sessionIDs) == 0 {
		return nil, nil
	}
	var l list
	l.must("s.workspace_id = ? AND s.deleted_at IS NULL", workspaceID)
	l.among("s.id", sessionIDs)
	err = t.each("SELECT s.id, s.owner_id, s.visibility FROM sessions s WHERE "+l.where.String(), func(r *row) error {
		found = append(found, transition.Readable{
			ID: r.id(), OwnerID: r.id(), Visibility: parley.Visibility(r.text()),
		})
		return nil
	}, l.args...)
	return found, err
}

// ChosenKnowledge implements transition.Rows.
func (t *txn) ChosenKnowledge(h *transition.Head) (*parley.KnowledgeBlock, error) {
	return t.chosenKnowledge(h.WorkspaceID, h.ID)
}

// InsertKnowledge implements transition.Writer.
func (w changes) InsertKnowledge(_ *transition.Head, items []transition.NewKnowledge) error {
	for i := range items {
		args, err := insertKnowledgeArgs(nil, &items[i])
		if err != nil {
			return err
		}
		if _, err := w.exec(
			"INSERT INTO knowledge ("+insertKnowledgeColumns+") VALUES ("+insertKnowledgePlaces+")",
			args...); err != nil {
			return err
		}
		for _, source := range items[i].Sources {
			if _, err := w.exec(
				"INSERT INTO knowledge_sources (item_id, session_id, workspace_id) VALUES (?, ?, ?) "+
					"ON CONFLICT DO NOTHING",
				items[i].ID, source.SessionID, items[i].WorkspaceID); err != nil {
				return err
			}
		}
	}
	return nil
}

// UpdateKnowledge implements transition.Writer. The one writer has read the rows in this transaction.
func (w changes) UpdateKnowledge(_ *transition.Head, items []*parley.KnowledgeItem) error {
	for _, item := range items {
		if err := w.updateKnowledge(item); err != nil {
			return err
		}
	}
	return nil
}

// InsertKnowledgeBlock implements transition.Writer.
func (w changes) InsertKnowledgeBlock(_ *transition.Head, block *parley.KnowledgeBlock) error {
	args, err := insertKnowledgeBlockArgs(nil, block)
	if err != nil {
		return err
	}
	_, err = w.exec(
		"INSERT INTO knowledge_blocks ("+insertKnowledgeBlockColumns+") VALUES ("+insertKnowledgeBlockPlaces+")",
		args...)
	return err
}

// TellKnowledge implements transition.Writer.
func (w changes) TellKnowledge(_ *transition.Head, block *parley.KnowledgeBlock) error {
	args, err := updateKnowledgeBlockArgs(nil, block)
	if err != nil {
		return err
	}
	_, err = w.exec(
		"UPDATE knowledge_blocks SET "+updateKnowledgeBlockSet+" WHERE id = ? AND workspace_id = ?",
		append(args, block.ID, block.WorkspaceID)...)
	return err
}
