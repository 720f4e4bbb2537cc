package worker

import (
	"encoding/json"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/runner"
	"example.org/parley/store"
)

// stateLooked is how many answers are searched for a speaker's state.
const stateLooked = 50

// State implements runner.Turn.
func (t *turn) State() (json.RawMessage, error) {
	rows, err := t.Record(store.MessageQuery{
		Roles: []parley.Role{parley.RoleAssistant}, RecordOnly: true, Descending: true, Limit: stateLooked,
	})
	for i := range rows {
		m := &rows[i]
		// What a fork has of its parent is the parent's. A message without a turn was imported: its data is whatever
		// the file says, and could name somebody else's session.
		if m.SessionID == t.fence.SessionID && !m.TurnID.IsZero() && m.Model == t.settings.Model &&
			len(m.ProviderData) > 0 {
			return m.ProviderData, nil
		}
	}
	return nil, err
}

// Unsure implements runner.Turn.
func (t *turn) Unsure() bool { return t.unsure }

// Limited implements runner.Turn.
func (t *turn) Limited() *parley.Failure { return t.limits.reached(t.position) }

// Affords implements runner.Turn.
func (t *turn) Affords() (bool, error) {
	_, refusal, err := t.budgets.afford(&question{position: t.position})
	return refusal == nil, err
}

// Shown implements runner.Turn.
func (t *turn) Shown(messages []parley.Message) (shown []runner.Shown, err error) {
	const images = true // a speaker refuses those that it cannot see
	files, err := prompt.Open(messages, images, func(id parley.ID) (parley.File, error) {
		return t.w.store.File(t.writes, store.Scope{WorkspaceID: t.fence.WorkspaceID}, id)
	}, t.requests.bytes)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		var content parley.UserContent
		if err := json.Unmarshal(messages[i].Content, &content); err != nil {
			return nil, parley.WrapError(parley.CodeInternal, err, "a message's content cannot be read")
		}
		if note := messages[i].ContextNote; note != "" {
			shown = append(shown, runner.Shown{Text: note})
		}
		shown = append(shown, shownOf(&content, messages[i].Content, files)...)
	}
	return shown, nil
}

// shownOf returns the pieces of a content in the order in which models are shown them.
func shownOf(
	content *parley.UserContent,
	raw json.RawMessage,
	files map[parley.ID]prompt.Attached,
) (shown []runner.Shown) {
	for i := range content.Parts {
		switch part := &content.Parts[i]; {
		case part.HoldsFile():
			shown = append(shown, shownFile(part.FileID, files))
		case part.Type == parley.PartLink:
			shown = append(shown, runner.Shown{Kind: runner.ShownLink, URL: part.URL, Name: part.Title})
		default:
			shown = append(shown, runner.Shown{Text: part.Plain()})
		}
	}
	if len(content.Parts) > 0 {
		return shown
	}
	for _, id := range parley.FilesOf(raw) {
		shown = append(shown, shownFile(id, files))
	}
	if content.Text != "" {
		shown = append(shown, runner.Shown{Text: content.Text})
	}
	for _, link := range content.Links {
		shown = append(shown, runner.Shown{Kind: runner.ShownLink, URL: link})
	}
	return shown
}

func shownFile(id parley.ID, files map[parley.ID]prompt.Attached) runner.Shown {
	file := files[id]
	shown := runner.Shown{
		Kind: runner.ShownFile, FileID: id, Name: file.Name, MediaType: file.MediaType, Data: file.Data,
	}
	switch {
	case file.Note != "":
		return runner.Shown{Text: file.Note}
	case file.IsImage():
		shown.Kind = runner.ShownImage
	}
	return shown
}
