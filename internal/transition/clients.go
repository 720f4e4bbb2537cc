package transition

import (
	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// SetClientSession implements the transition of store.Clients.
func (t *Tx) SetClientSession(scope store.Scope, principalID parley.ID, client string, sessionID parley.ID) error {
	h, err := t.lock(scope, sessionID)
	if err != nil {
		return err
	}
	return t.activate(h, principalID, client)
}

// activate opens a locked session in a client and tells the feed.
func (t *Tx) activate(h *Head, principalID parley.ID, client string) error {
	before, err := t.rows.OpenedIn(h.WorkspaceID, principalID, client)
	if err != nil {
		return err
	}
	if before != h.ID { // otherwise it only confirms
		if err := t.Deactivate(before, client); err != nil {
			return err
		}
		t.feed(h, event.SessionActivated{ClientID: client}.Encode())
	}
	h.Changes.Opened = append(h.Changes.Opened, ClientOpened{PrincipalID: principalID, Client: client})
	return nil
}

// Deactivate tells the feed that a client no longer has a session open.
func (t *Tx) Deactivate(sessionID parley.ID, client string) error {
	if sessionID.IsZero() {
		return nil
	}
	h, err := t.load(sessionID)
	if err != nil || h == nil || h.DeletedAt != 0 {
		return err
	}
	t.feed(h, event.SessionDeactivated{ClientID: client}.Encode())
	return nil
}
