package transition

import (
	"bytes"
	"slices"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// UpdateSession implements the transition of store.Sessions. It is not activity: updated_at stays, and only the feed
// reports it. A change that leaves everything as it is writes nothing.
func (t *Tx) UpdateSession(scope store.Scope, id parley.ID, change store.SessionChange) (parley.Session, error) {
	h, err := t.lock(scope, id)
	if err != nil {
		return parley.Session{}, err
	}
	if change.If != nil {
		if err := change.If(&h.Session); err != nil {
			return parley.Session{}, err
		}
	}
	session := h.Session
	if err := t.applyChange(&session, change); err != nil {
		return parley.Session{}, err
	}
	if len(change.AcceptTools) == 0 {
		if same, err := sameSession(&h.Session, &session); err != nil || same {
			return h.Session, err
		}
	}
	if err := t.acceptTools(h, change.AcceptTools); err != nil {
		return parley.Session{}, err
	}
	h.Changes.Setting = &Setting{TagsBefore: h.Tags}
	before := h.Session
	h.Session = session
	if session.Visibility != before.Visibility {
		if err := t.changeVisibility(h); err != nil {
			return parley.Session{}, err
		}
	}
	if session.ArchivedAt != 0 && before.ArchivedAt == 0 && h.InBackground() {
		h.leave(EndDelegations{SubjectID: h.ID, Session: true, Archived: true, Until: t.now}, 0)
	}
	if err := t.limitsChanged(h, &before); err != nil {
		return parley.Session{}, err
	}
	session = h.Session
	t.updatedFeed(h)
	return session, nil
}

// sameSession reports whether a change left a session as it was.
func sameSession(before, after *parley.Session) (bool, error) {
	was, err := parley.EncodeJSON(before)
	if err != nil {
		return false, err
	}
	is, err := parley.EncodeJSON(after)
	return err == nil && bytes.Equal(was, is), err
}

// applyChange changes the session in memory, after the checks that only the store can make.
func (t *Tx) applyChange(session *parley.Session, change store.SessionChange) error {
	if change.Archived != nil {
		switch {
		case *change.Archived && !session.TurnID.IsZero():
			return parley.Errorf(
				parley.CodeConflict,
				"the session has an unfinished turn; wait for it or cancel it, then archive",
			)
		case *change.Archived && session.ArchivedAt == 0:
			session.ArchivedAt = t.now
		case !*change.Archived:
			session.ArchivedAt = 0
		}
	}
	if change.ProjectID != nil {
		if err := t.checkProject(session.WorkspaceID, *change.ProjectID); err != nil {
			return err
		}
		session.ProjectID = *change.ProjectID
	}
	set(&session.Title, change.Title)
	set(&session.Instructions, change.Instructions)
	set(&session.Pinned, change.Pinned)
	if change.Tags != nil {
		session.Tags = slices.Clone(*change.Tags) // the head outlives this call, so it shares nothing with the caller
	}
	set(&session.Metadata, change.Metadata)
	session.Settings = setting.Patched(session.Settings, &change.Settings)
	set(&session.During, change.During)
	set(&session.Visibility, change.Visibility)
	if session.Tags == nil {
		session.Tags = []string{}
	}
	session.Metadata = ReadableObject(session.Metadata)
	return nil
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// ClearContext implements the transition of store.Messages.
func (t *Tx) ClearContext(scope store.Scope, id parley.ID) (parley.Session, error) {
	h, err := t.lock(scope, id)
	if err != nil || h.Context.Cleared {
		return sessionOf(h), err
	}
	h.Context = parley.Context{ClearedAt: t.now, Cleared: true, Held: h.Context.Held}
	t.event(h, parley.ID{}, event.ContextCleared{ClearedAt: t.now}.Encode())
	h.Changes.ContextCleared = h.LastEvent
	t.updatedFeed(h)
	return h.Session, nil
}

func sessionOf(h *Head) parley.Session {
	if h == nil {
		return parley.Session{}
	}
	return h.Session
}

// MarkMessage changes the marks of a session on a message. It writes no event if nothing changes.
func (t *Tx) MarkMessage(
	scope store.Scope,
	sessionID, id parley.ID,
	change parley.MarksChange,
) (parley.Message, error) {
	h, m, err := t.lockMarked(scope, sessionID, id)
	if err != nil {
		return parley.Message{}, err
	}
	marks, err := m.Marked(change)
	if err != nil {
		return parley.Message{}, err
	}
	if m.Marks == marks {
		return *m, nil
	}
	marked := Marked{Message: m}
	if marks.Pinned && !m.Marks.Pinned {
		marked.PinnedEvent, h.Context.Held = h.LastEvent+1, true
	}
	m.Marks = marks
	h.Changes.Marked = append(h.Changes.Marked, marked)
	t.event(h, parley.ID{}, event.MessageMarked{MessageID: id, Marks: marks}.Encode())
	return *m, nil
}

// lockMarked locks the session that marks a message and reads the message with that session's marks.
func (t *Tx) lockMarked(scope store.Scope, sessionID, id parley.ID) (*Head, *parley.Message, error) {
	if sessionID.IsZero() {
		return t.lockMessage(scope, id)
	}
	h, err := t.lock(scope, sessionID)
	if err != nil {
		return nil, nil, err
	}
	m, err := t.rows.Message(h.WorkspaceID, id)
	if err != nil {
		return nil, nil, err
	}
	if m != nil && m.SessionID == h.ID {
		return h, m, nil
	}
	parts, err := t.parts(h)
	if err == nil && (m == nil || m.Sequence == 0 || !holds(parts, m)) {
		err = NotFound("message")
	}
	if err != nil {
		return nil, nil, err
	}
	m.Marks, err = t.rows.SharedMarks(h, m.Sequence)
	return h, m, err
}
