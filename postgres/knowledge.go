package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// CreateKnowledge implements store.Knowledge.
func (s *Store) CreateKnowledge(ctx context.Context, item store.NewKnowledge) (parley.KnowledgeItem, bool, error) {
	created, err := transact(ctx, s, item.Item.WorkspaceID,
		func(a *attempt) (transition.KnowledgeCreated, error) {
			creating := item // the attempt may be repeated
			return a.tx.CreateKnowledge(creating)
		})
	return created.Item, created.Replayed, err
}

// updateKnowledge writes an item whose revision has gone up by one, and voids the batch if the row has moved on.
func (b *batch) updateKnowledge(item *parley.KnowledgeItem) error {
	args, err := updateKnowledgeArgs([]arg{item.WorkspaceID, item.ID}, item)
	if err != nil {
		return err
	}
	b.write("WITH changed AS (UPDATE parley.knowledge SET "+updateKnowledgeSet+
		" WHERE workspace_id = $1 AND id = $2 AND revision = "+updateKnowledgePlace1+
		" RETURNING 1) SELECT parley.stale() WHERE NOT EXISTS (SELECT FROM changed)",
		append(args, item.Revision-1)...)
	return nil
}

// UpdateKnowledge implements store.Knowledge.
func (s *Store) UpdateKnowledge(ctx context.Context, items []parley.KnowledgeItem) ([]parley.KnowledgeItem, error) {
	workspaceID := items[0].WorkspaceID
	audit := store.AuditFrom(ctx)
	b := tenant(workspaceID)
	changed := make([]parley.KnowledgeItem, len(items))
	var sources []parley.ID
	for i := range items {
		changed[i] = items[i]
		changed[i].Revision++
		sources = append(sources, transition.KnowledgeSources(&changed[i])...)
		if err := b.updateKnowledge(&changed[i]); err != nil {
			return nil, err
		}
	}
	b.audit(audit.Entries(parley.ID{}, changed[0].ID))
	var sessions []transition.Readable
	if len(sources) > 0 {
		b.read(readableSessions, func(r *row) error {
			one, err := scanReadable(r)
			sessions = append(sessions, one)
			return err
		}, workspaceID, sources)
	}
	err := s.send(ctx, b)
	if stateOf(err) == stateStale {
		for i := range items {
			if _, err := s.KnowledgeItem(ctx, store.Scope{WorkspaceID: workspaceID}, items[i].ID); err != nil {
				return nil, err
			}
		}
		return nil, transition.KnowledgeMovedOn()
	}
	if err != nil {
		return nil, mapError(err)
	}
	audit.Wrote()
	news := store.Commit{WorkspaceID: workspaceID}
	for i := range changed {
		news.Feed = append(news.Feed, transition.KnowledgeNews(&changed[i], false, sessions)...)
	}
	s.tell([]store.Commit{news})
	return changed, nil
}

const readableSessions = "SELECT id, owner_id, visibility FROM parley.sessions " +
	"WHERE workspace_id = $1 AND id = ANY($2) AND deleted_at IS NULL"

func scanReadable(r *row) (transition.Readable, error) {
	return transition.Readable{ID: r.id(), OwnerID: r.id(), Visibility: parley.Visibility(r.text())}, nil
}

// Readable implements transition.Rows.
func (a *attempt) Readable(workspaceID parley.ID, sessionIDs []parley.ID) ([]transition.Readable, error) {
	return rowsOf(a, scanReadable, readableSessions, workspaceID, sessionIDs)
}

// sources restricts "k" to the items whose sources all lie in sessions that a principal sees; a zero one sees all.
func (l *filter) sources(viewerID parley.ID) {
	const all = "NOT EXISTS (SELECT FROM parley.knowledge_sources x WHERE x.workspace_id = k.workspace_id " +
		"AND x.item_id = k.id AND NOT EXISTS (SELECT FROM parley.sessions s WHERE s.workspace_id = x.workspace_id " +
		"AND s.id = x.session_id AND s.deleted_at IS NULL"
	if viewerID.IsZero() {
		l.must(all + "))")
		return
	}
	l.must(all+" AND (s.owner_id = ? OR s.visibility = 'workspace')))", viewerID)
}

// KnowledgeItem implements store.Knowledge.
func (s *Store) KnowledgeItem(ctx context.Context, scope store.Scope, id parley.ID) (parley.KnowledgeItem, error) {
	var l filter
	l.must("k.workspace_id = "+here+" AND k.id = ?", id)
	l.sources(scope.ViewerID)
	return one(ctx, s, tenant(scope.WorkspaceID), "knowledge item", scanKnowledge,
		"SELECT "+knowledgeColumns+" FROM parley.knowledge k WHERE "+l.where.String(), l.args...)
}

// KnowledgeItems implements store.Knowledge.
func (s *Store) KnowledgeItems(
	ctx context.Context,
	scope store.Scope,
	query store.KnowledgeQuery,
) ([]parley.KnowledgeItem, error) {
	text, rows, args := knowledgeQuery(scope, query)
	return page(ctx, s, ordered(scope.WorkspaceID), scanKnowledge, text, rows, args...)
}

func knowledgeQuery(scope store.Scope, q store.KnowledgeQuery) (text string, rows int, args []arg) {
	var l filter
	l.must("k.workspace_id = " + here)
	if !q.AgentID.IsZero() {
		l.must("k.agent_id = ?", q.AgentID)
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
	limit, rows := limited(q.Limit)
	return "SELECT " + knowledgeColumns + " FROM parley.knowledge k WHERE " + l.where.String() + " ORDER BY k.id " +
		word + limit, rows, l.args
}

// usableQuery reads what prompts of an agent may be told, over the leads above it.
func usableQuery(reach store.KnowledgeReach, proposed bool) (text string, rows int, args []arg) {
	var l filter
	agent := l.arg(reach.AgentID)
	l.must("k.workspace_id = " + here + " AND k.agent_id IN (SELECT id FROM up) " +
		"AND (k.scope = 'team' OR k.agent_id = " + agent + ") AND k.status = 'active'")
	if !proposed {
		l.must("(k.kind <> 'procedure' OR k.approved_at IS NOT NULL)")
	}
	if reach.Since > 0 {
		l.must("k.changed_at >= ?", int64(reach.Since))
	}
	l.sources(reach.ReaderID)
	depth := l.arg(parley.MaxTeamDepth)
	limit, rows := limited(reach.Limit)
	return "WITH RECURSIVE up(id, depth) AS (SELECT " + agent + "::uuid, 0 UNION SELECT a.lead_id, up.depth + 1 " +
		"FROM up JOIN parley.agents a ON a.workspace_id = " + here + " AND a.id = up.id " +
		"WHERE a.lead_id IS NOT NULL AND up.depth < " + depth + ") SELECT " + knowledgeColumns +
		" FROM parley.knowledge k WHERE " + l.where.String() +
		" ORDER BY k.pinned DESC, k.changed_at DESC, k.id DESC" + limit, rows, l.args
}

// UsableKnowledge implements store.Knowledge.
func (s *Store) UsableKnowledge(ctx context.Context, reach store.KnowledgeReach) ([]parley.KnowledgeItem, error) {
	text, rows, args := usableQuery(reach, false)
	return page(ctx, s, ordered(reach.WorkspaceID), scanKnowledge, text, rows, args...)
}

// KnowledgeByID implements store.Knowledge.
func (s *Store) KnowledgeByID(
	ctx context.Context,
	scope store.Scope,
	ids []parley.ID,
) ([]parley.KnowledgeItem, error) {
	var l filter
	l.must("k.workspace_id = " + here)
	l.among("k.id", ids)
	l.sources(scope.ViewerID)
	limit, rows := limited(len(ids))
	return page(ctx, s, tenant(scope.WorkspaceID), scanKnowledge,
		"SELECT "+knowledgeColumns+" FROM parley.knowledge k WHERE "+l.where.String()+limit, rows, l.args...)
}

const chosenKnowledge = "SELECT " + knowledgeBlockColumns + " FROM parley.knowledge_blocks b " +
	"WHERE b.workspace_id = $1 AND b.session_id = $2 ORDER BY b.n DESC LIMIT 1"

// ChosenKnowledge implements store.Knowledge.
func (s *Store) ChosenKnowledge(ctx context.Context, workspaceID, sessionID parley.ID) (*parley.KnowledgeBlock, error) {
	found, err := all(ctx, s, tenant(workspaceID), scanKnowledgeBlock, chosenKnowledge, 1, workspaceID, sessionID)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// KnowledgeBlock implements store.Knowledge.
func (s *Store) KnowledgeBlock(ctx context.Context, scope store.Scope, id parley.ID) (parley.KnowledgeBlock, error) {
	var l filter
	l.must("b.workspace_id = "+here+" AND b.id = ?", id)
	l.visible(scope)
	return one(ctx, s, tenant(scope.WorkspaceID), "knowledge block", scanKnowledgeBlock,
		"SELECT "+knowledgeBlockColumns+" FROM parley.knowledge_blocks b JOIN parley.sessions s "+
			"ON s.workspace_id = b.workspace_id AND s.id = b.session_id WHERE "+l.where.String(), l.args...)
}

// ChooseKnowledge implements store.Knowledge.
func (s *Store) ChooseKnowledge(ctx context.Context, fence store.Fence, block parley.KnowledgeBlock) error {
	_, err := transact(ctx, s, fence.WorkspaceID, func(a *attempt) (struct{}, error) {
		return struct{}{}, a.tx.ChooseKnowledge(fence, block)
	})
	return err
}

// KnowledgeItem implements transition.Rows.
func (a *attempt) KnowledgeItem(workspaceID, id parley.ID) (*parley.KnowledgeItem, error) {
	return first(
		a,
		scanKnowledge,
		"SELECT "+knowledgeColumns+" FROM parley.knowledge k WHERE k.workspace_id = $1 AND k.id = $2",
		workspaceID,
		id,
	)
}

// CreatedKnowledge implements transition.Rows.
func (a *attempt) CreatedKnowledge(workspaceID parley.ID, key string) (transition.Earlier, error) {
	return a.earlier(
		"SELECT id, fingerprint, 0::bigint FROM parley.knowledge WHERE workspace_id = $1 AND idempotency_key = $2",
		workspaceID,
		key,
	)
}

// CountKnowledge implements transition.Rows.
func (a *attempt) CountKnowledge(workspaceID, agentID parley.ID) (int64, error) {
	const count = "SELECT count(*) FROM parley.knowledge WHERE workspace_id = $1 AND agent_id = $2"
	found, err := first(a, func(r *row) (int64, error) { return r.int64(), nil }, count, workspaceID, agentID)
	if err != nil || found == nil || *found >= parley.MaxKnowledgeOfAgent {
		return parley.ValueOf(found), err
	}
	a.requireRow(
		"SELECT 1 FROM ("+count+") counted(n) WHERE n < $3",
		workspaceID,
		agentID,
		parley.MaxKnowledgeOfAgent,
	)
	return *found, nil
}

// UsableKnowledge implements transition.Rows.
func (a *attempt) UsableKnowledge(reach store.KnowledgeReach, proposed bool) ([]parley.KnowledgeItem, error) {
	text, rows, args := usableQuery(reach, proposed)
	found, err := rowsOf(a, scanKnowledge, text, args...)
	return found[:min(rows, len(found))], err
}

// NotedKnowledge implements transition.Rows.
func (a *attempt) NotedKnowledge(workspaceID, agentID, ownerID parley.ID) ([]parley.KnowledgeItem, error) {
	l := filter{args: []arg{workspaceID}}
	l.must("k.workspace_id = $1 AND k.agent_id = ? AND k.status IN ('active', 'forgotten')", agentID)
	l.sources(ownerID)
	limit := l.arg(parley.MaxKnowledgeOfAgent)
	return rowsOf(a, scanKnowledge, "SELECT "+knowledgeColumns+" FROM parley.knowledge k WHERE "+l.where.String()+
		" ORDER BY k.status, k.id LIMIT "+limit, l.args...)
}

// ChosenKnowledge implements transition.Rows.
func (a *attempt) ChosenKnowledge(h *transition.Head) (*parley.KnowledgeBlock, error) {
	return first(a, scanKnowledgeBlock, chosenKnowledge, h.WorkspaceID, h.ID)
}

// InsertKnowledge implements transition.Writer.
func (w *changes) InsertKnowledge(_ *transition.Head, items []transition.NewKnowledge) error {
	for i := range items {
		args, err := insertKnowledgeArgs(nil, &items[i])
		if err != nil {
			return err
		}
		w.write("INSERT INTO parley.knowledge ("+insertKnowledgeColumns+") VALUES ("+insertKnowledgePlaces+")", args...)
		for _, source := range items[i].Sources {
			w.write(
				"INSERT INTO parley.knowledge_sources (item_id, session_id, workspace_id) VALUES ($1, $2, $3) "+
					"ON CONFLICT DO NOTHING",
				items[i].ID,
				source.SessionID,
				items[i].WorkspaceID,
			)
		}
	}
	return nil
}

// UpdateKnowledge implements transition.Writer.
func (w *changes) UpdateKnowledge(_ *transition.Head, items []*parley.KnowledgeItem) error {
	for _, item := range items {
		if err := w.updateKnowledge(item); err != nil {
			return err
		}
	}
	return nil
}

// InsertKnowledgeBlock implements transition.Writer.
func (w *changes) InsertKnowledgeBlock(_ *transition.Head, block *parley.KnowledgeBlock) error {
	args, err := insertKnowledgeBlockArgs(nil, block)
	if err != nil {
		return err
	}
	w.write("INSERT INTO parley.knowledge_blocks ("+insertKnowledgeBlockColumns+") VALUES ("+
		insertKnowledgeBlockPlaces+")", args...)
	return nil
}

// TellKnowledge implements transition.Writer.
func (w *changes) TellKnowledge(_ *transition.Head, block *parley.KnowledgeBlock) error {
	args, err := updateKnowledgeBlockArgs([]arg{block.WorkspaceID, block.ID}, block)
	if err != nil {
		return err
	}
	w.write(
		"UPDATE parley.knowledge_blocks SET "+updateKnowledgeBlockSet+" WHERE workspace_id = $1 AND id = $2",
		args...)
	return nil
}
