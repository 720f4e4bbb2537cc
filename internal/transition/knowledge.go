package transition

import (
	"slices"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// NewKnowledge is an item with the columns that only its row has.
type NewKnowledge struct {
	*parley.KnowledgeItem
	Idempotency store.Idempotency
}

// KnowledgeCreated is the result of CreateKnowledge.
type KnowledgeCreated struct {
	Item     parley.KnowledgeItem
	Replayed bool
}

// CreateKnowledge implements the transition of store.Knowledge.
func (t *Tx) CreateKnowledge(creating store.NewKnowledge) (created KnowledgeCreated, err error) {
	if earlier, err := t.knownBefore(&creating); err != nil || earlier != nil {
		if earlier == nil {
			return created, err
		}
		return KnowledgeCreated{*earlier, true}, nil
	}
	item := &creating.Item
	if err := t.checkAgent(item.WorkspaceID, item.AgentID); err != nil {
		return created, err
	}
	h, err := t.background(item.WorkspaceID, item.AgentID, creating.MaxSessions)
	if err != nil {
		return created, err
	}
	made, err := t.learn(h, NewKnowledge{item, creating.Idempotency}, creating.OwnerID)
	if err != nil {
		return created, err
	}
	t.about = Subject{SessionID: h.ID, TargetID: made.ID}
	return KnowledgeCreated{Item: *made}, t.tellKnowledge(h)
}

// knownBefore returns the item that was created under an idempotency key, or has the id; nil if both are new.
func (t *Tx) knownBefore(creating *store.NewKnowledge) (*parley.KnowledgeItem, error) {
	workspaceID := creating.Item.WorkspaceID
	if key := creating.Idempotency.Key; key != "" {
		earlier, err := t.rows.CreatedKnowledge(workspaceID, key)
		if err != nil {
			return nil, err
		}
		if !earlier.ID.IsZero() {
			if earlier.Fingerprint != creating.Idempotency.Fingerprint {
				return nil, KeyReused()
			}
			return t.rows.KnowledgeItem(workspaceID, earlier.ID)
		}
	}
	return t.rows.KnowledgeItem(workspaceID, creating.Item.ID)
}

// learn adds an item under the lock of the agent's background session, or confirms the one that says the same and whose
// sources a principal may read. What a person writes takes the place of what an agent noted in the same words. What was
// forgotten only a person brings back: CodeConflict. All items of a transition are one agent's.
func (t *Tx) learn(h *Head, k NewKnowledge, ownerID parley.ID) (*parley.KnowledgeItem, error) {
	if t.noted == nil {
		var err error
		if t.noted, err = t.rows.NotedKnowledge(h.WorkspaceID, k.AgentID, ownerID); err != nil {
			return nil, err
		}
	}
	for i := range h.Changes.NewKnowledge { // of the same answer
		if made := h.Changes.NewKnowledge[i].KnowledgeItem; parley.SameKnowledge(made.Text, k.Text) {
			return made, nil
		}
	}
	for i := range t.noted {
		same := &t.noted[i]
		if !parley.SameKnowledge(same.Text, k.Text) {
			continue
		}
		if same.Status == parley.KnowledgeForgotten {
			if k.Person() {
				continue
			}
			return nil, knowledgeForgotten()
		}
		if same.Scope != k.Scope || same.Kind != k.Kind {
			continue
		}
		if k.Person() && !same.Person() && k.SupersedesID.IsZero() {
			k.SupersedesID = same.ID
			break
		}
		same.Confidence, same.Pinned = max(same.Confidence, k.Confidence), same.Pinned || k.Pinned
		h.confirm(same, t.now)
		return same, nil
	}
	count, err := t.rows.CountKnowledge(h.WorkspaceID, k.AgentID)
	switch {
	case err != nil:
		return nil, err
	case count >= parley.MaxKnowledgeOfAgent:
		return nil, KnowledgeFull(count)
	}
	k.Status, k.Revision = parley.KnowledgeActive, 1
	k.CreatedAt, k.ChangedAt, k.ConfirmedAt = t.now, t.now, t.now
	if k.ApprovedAt != 0 {
		k.ApprovedAt = t.now
	}
	if k.Sources == nil {
		k.Sources = []parley.KnowledgeSource{}
	}
	if !k.SupersedesID.IsZero() {
		if err := t.supersede(h, k.KnowledgeItem); err != nil {
			return nil, err
		}
	}
	h.Changes.NewKnowledge = append(h.Changes.NewKnowledge, k)
	return k.KnowledgeItem, nil
}

// confirm notes that an item was learned anew.
func (h *Head) confirm(item *parley.KnowledgeItem, now parley.Time) {
	item.ConfirmedAt = now
	h.changeKnowledge(item)
}

// changeKnowledge writes an item that has changed, once.
func (h *Head) changeKnowledge(item *parley.KnowledgeItem) {
	if slices.ContainsFunc(h.Changes.Knowledge, func(k *parley.KnowledgeItem) bool { return k.ID == item.ID }) {
		return
	}
	item.Revision++
	h.Changes.Knowledge = append(h.Changes.Knowledge, item)
}

// supersede marks the item that a new one contradicts. A procedure that nobody has approved yet takes no other's place,
// and nothing that an agent notes takes the place of what a person wrote, pinned or approved.
func (t *Tx) supersede(h *Head, by *parley.KnowledgeItem) error {
	old, err := t.rows.KnowledgeItem(h.WorkspaceID, by.SupersedesID)
	if err != nil {
		return err
	}
	if old == nil || old.AgentID != by.AgentID {
		return NotFound("knowledge item")
	}
	theirs := old.Person() || old.Pinned || old.ApprovedAt != 0
	if by.Usable() && old.Status == parley.KnowledgeActive && (by.Person() || !theirs) {
		old.Status, old.SupersededByID = parley.KnowledgeSuperseded, by.ID
		h.changeKnowledge(old)
	}
	return nil
}

// tellKnowledge tells the feed of the items that the transition makes and changes under a session's lock, once they are
// final.
func (t *Tx) tellKnowledge(h *Head) error {
	made, changed := h.Changes.NewKnowledge, h.Changes.Knowledge
	items := slices.Clone(changed)
	for i := range made {
		items = append(items, made[i].KnowledgeItem)
	}
	var sessions []Readable
	if ids := KnowledgeSources(items...); len(ids) > 0 {
		var err error
		if sessions, err = t.rows.Readable(h.WorkspaceID, ids); err != nil {
			return err
		}
	}
	for i, item := range items {
		h.hint.Feed = append(h.hint.Feed, KnowledgeNews(item, i >= len(changed), sessions)...)
	}
	return nil
}

// KnowledgeSources returns the sessions that items come from, each once.
func KnowledgeSources(items ...*parley.KnowledgeItem) (ids []parley.ID) {
	for _, item := range items {
		for _, source := range item.Sources {
			if !slices.Contains(ids, source.SessionID) {
				ids = append(ids, source.SessionID)
			}
		}
	}
	return ids
}

// KnowledgeNews tells the feed of a new or changed item, if its source sessions are among these: nobody may read an
// item of a deleted one. It names no session, since an item may be readable where the session of its agent is not.
func KnowledgeNews(item *parley.KnowledgeItem, created bool, sessions []Readable) []store.FeedEvent {
	news := event.KnowledgeUpdated{ItemID: item.ID, AgentID: item.AgentID, Status: item.Status}.Encode()
	if created {
		news = event.KnowledgeCreated{ItemID: item.ID, AgentID: item.AgentID, Status: item.Status}.Encode()
	}
	told := store.FeedEvent{
		WorkspaceID: item.WorkspaceID, Type: news.Type(), Visibility: parley.VisibilityWorkspace, Data: news.Data(),
	}
	for _, id := range KnowledgeSources(item) {
		at := slices.IndexFunc(sessions, func(s Readable) bool { return s.ID == id })
		switch {
		case at < 0:
			return nil
		case sessions[at].Visibility == parley.VisibilityWorkspace:
		case told.Visibility == parley.VisibilityWorkspace:
			told.Visibility, told.OwnerID = parley.VisibilityPrivate, sessions[at].OwnerID
		case told.OwnerID != sessions[at].OwnerID:
			told.OwnerID = parley.ID{} // of two owners neither may read both; those who see everything may
		}
	}
	return []store.FeedEvent{told}
}

// KnowledgeFull is the error for an item of an agent that has as many as it may.
func KnowledgeFull(count int64) error {
	return parley.Errorf(
		parley.CodeConflict,
		"this agent has %d knowledge items, and no more are kept; delete a session that many of them come from",
		count,
	)
}

// knowledgeForgotten is the error for what an agent notes in the words of an item that was forgotten.
func knowledgeForgotten() error {
	return parley.Errorf(parley.CodeConflict, "this was known and forgotten; only a person may note it again")
}

// KnowledgeMovedOn is the error for a change of an item that somebody else changed meanwhile.
func KnowledgeMovedOn() error {
	return parley.Errorf(parley.CodeConflict, "the knowledge item was changed meanwhile; read it again")
}

// ChooseKnowledge implements the transition of store.Knowledge.
func (t *Tx) ChooseKnowledge(fence store.Fence, block parley.KnowledgeBlock) error {
	h, _, err := t.lockTurn(fence)
	if err != nil {
		return err
	}
	before, err := t.rows.ChosenKnowledge(h)
	if err != nil {
		return err
	}
	block.N = 1
	if before != nil {
		block.N = before.N + 1
	}
	block.WorkspaceID, block.SessionID, block.ChosenAt = h.WorkspaceID, h.ID, t.now
	h.Changes.Chosen = &block
	return nil
}
