package worker

import (
	"fmt"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// knowledge keeps the block of knowledge behind the turn's system prompt. It is chosen when the window moves, and stays
// the same until the window moves again, so that requests keep their beginning; only what must not be told any more
// changes it before.
type knowledge struct {
	*claimed

	begun  bool
	tokens int                    // most of the block; 0: the turn is told nothing
	off    bool                   // because knowledge_tokens says so
	system string                 // the system prompt without the block
	block  *parley.KnowledgeBlock // nil: none was chosen yet
	number int                    // of the latest block, in use or not; 0: none
	stale  bool                   // it holds what must not be told any more
}

// begin puts the session's block behind the system prompt, once.
func (k *knowledge) begin() error {
	if k.begun {
		return nil
	}
	k.begun, k.system = true, k.settings.System
	session := &k.claim.Session
	set := setting.KnowledgeTokens.Nearest(&k.claim.Agent.Settings, &session.Settings)
	if k.tokens = session.KnowledgeTokens(set); k.tokens == 0 {
		k.off = set != nil
		return nil
	}
	block, err := k.w.store.ChosenKnowledge(k.writes, k.fence.WorkspaceID, k.fence.SessionID)
	if err != nil || block == nil {
		return err
	}
	k.number = block.N
	if k.stale, err = k.outlived(block); err != nil || k.stale {
		return err
	}
	k.show(block)
	return nil
}

// outlived reports whether a block, or a context note since, tells an item that was forgotten, whose words somebody has
// changed, or whose sources not all readers of the session may read. One that a later item contradicts may stay: a
// context note tells of that.
func (k *knowledge) outlived(block *parley.KnowledgeBlock) (bool, error) {
	var ids []parley.ID
	told := map[parley.ID]parley.Time{}
	tells := func(id parley.ID, changed parley.Time) {
		if _, known := told[id]; !known {
			ids = append(ids, id)
		}
		if told[id] == 0 || changed < told[id] { // of several wordings, the oldest is out of date
			told[id] = changed
		}
	}
	for i := range block.Items {
		tells(block.Items[i].ItemID, block.Items[i].ChangedAt)
	}
	for _, one := range block.Told {
		if one.Noted {
			tells(one.ItemID, one.ChangedAt)
		}
	}
	if len(ids) == 0 {
		return false, nil
	}
	scope := store.Scope{WorkspaceID: k.fence.WorkspaceID, ViewerID: k.claim.Session.ReaderID()}
	items, err := k.w.store.KnowledgeByID(k.writes, scope, ids)
	if err != nil {
		return false, err
	}
	for i := range items {
		if items[i].Status == parley.KnowledgeForgotten || items[i].ChangedAt != told[items[i].ID] {
			return true, nil
		}
	}
	return len(items) < len(ids), nil
}

// show makes a block the one behind the system prompt.
func (k *knowledge) show(block *parley.KnowledgeBlock) {
	k.block, k.stale = block, false
	k.settings.System = prompt.WithKnowledge(k.system, block.Text)
}

// name notes in a manifest which block the request is told.
func (k *knowledge) name(manifest *parley.Manifest) {
	if k.off {
		manifest.KnowledgeBlock = parley.MaxKnowledgeBlock
	}
	if k.block == nil {
		return
	}
	if k.block.Text != "" {
		manifest.KnowledgeID = k.block.ID
	}
	if k.block.N > 1 {
		manifest.KnowledgeBlock = k.block.N
	}
}

// beginning names where a window begins.
func (k *knowledge) beginning(selection *prompt.Selection) string {
	covered := int64(0)
	for i := range selection.Messages {
		if through := selection.Messages[i].CoversThrough; through != nil {
			covered = max(covered, *through)
		}
	}
	return fmt.Sprintf("%d/%d/%d", selection.Anchor, covered, k.claim.Session.Context.ClearedAt)
}

// moved reports whether a request with this window needs another block.
func (k *knowledge) moved(selection *prompt.Selection) bool {
	return k.tokens > 0 && (k.block == nil || k.block.Beginning != k.beginning(selection))
}

// choose chooses another block, to be stored by keep.
func (k *knowledge) choose() error {
	session := &k.claim.Session
	items, err := k.w.store.UsableKnowledge(k.writes, store.KnowledgeReach{
		WorkspaceID: k.fence.WorkspaceID, AgentID: k.claim.Agent.ID, ReaderID: session.ReaderID(),
		Limit: parley.KnowledgeCandidates,
	})
	if err != nil {
		return err
	}
	subject := session.Title + "\n" + session.Task + "\n" + session.Feature + "\n" + string(k.claim.Trigger.Content)
	chosen := prompt.ChooseKnowledge(items, subject, k.tokens)
	k.number++
	block := &parley.KnowledgeBlock{
		ID: parley.NewID(), WorkspaceID: k.fence.WorkspaceID, SessionID: k.fence.SessionID, N: k.number,
		Text: parley.KnowledgeText(chosen), Items: make([]parley.KnowledgeShown, len(chosen)),
		Told: make([]parley.KnowledgeTold, 0, len(items)),
	}
	for i := range chosen {
		one := &chosen[i]
		block.Items[i] = parley.KnowledgeShown{
			ItemID: one.ID, Kind: one.Kind, ChangedAt: one.ChangedAt, Sources: one.Sources,
		}
	}
	for i := range items { // what did not fit is no news either
		block.Told = append(block.Told, parley.KnowledgeTold{ItemID: items[i].ID, ChangedAt: items[i].ChangedAt})
	}
	k.show(block)
	return nil
}

// keep stores the chosen block for the window that it is shown with.
func (k *knowledge) keep(selection *prompt.Selection) error {
	k.block.Beginning = k.beginning(selection)
	return k.w.store.ChooseKnowledge(k.writes, k.fence, *k.block)
}
