package store

import (
	"context"
	"slices"
	"sync"

	"example.org/parley"
)

// AuditQuery lists entries, newest first.
type AuditQuery struct {
	SessionID   parley.ID // zero: any
	PrincipalID parley.ID
	Without     []string // actions that are left out
	Ascending   bool
	AfterAt     parley.Time // the last row of the page before; with AfterID
	AfterID     parley.ID
	Limit       int
}

// AuditTrail keeps the audit: entries are added, and never changed or removed.
//
// Every transition that a caller asks for writes its own entry: a store looks for
// an AuditIntent in the context of a method that changes something, and writes its
// entries in the transaction of the change.
type AuditTrail interface {
	// AppendAudit adds entries of any workspaces in one transaction. Entries that
	// are there already stay as they are, so that a batch can be sent again.
	AppendAudit(ctx context.Context, entries []parley.AuditEntry) error
	Audit(ctx context.Context, workspaceID parley.ID, query AuditQuery) ([]parley.AuditEntry, error)
}

// AuditIntent is what one call wants to have written down. It travels in the
// context to the store, which writes it in the transaction of the first change
// that it makes for the call: the entry is there if the change is, and the other
// way round. Ids and time are fixed when the intent is made, so that a transaction
// that runs again writes the same rows. It is safe for concurrent use.
type AuditIntent struct {
	mu       sync.Mutex          // guards all below: a transition may go on when its caller has gone
	template parley.AuditEntry   // without session and target
	entries  []parley.AuditEntry // what the call is known to be about
	further  parley.ID           // of an entry for a session that only the transition knows; zero: not made yet
	written  bool
}

// NewAuditIntent makes an intent. The entry names who, what and by which request.
func NewAuditIntent(entry parley.AuditEntry) *AuditIntent {
	entry.ID, entry.At, entry.SessionID, entry.TargetID = parley.NewID(), parley.Now(), parley.ID{}, parley.ID{}
	return &AuditIntent{template: entry}
}

// About notes a session that the call concerns, and a row of it that it means:
// zero for the session itself. A call about something outside sessions has a zero
// session. What is known of one session is one entry.
func (i *AuditIntent) About(session, target parley.ID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	at := i.entryOf(i.entries, session)
	switch {
	case at < 0 && session.IsZero() && len(i.entries) > 0:
		return // it is known better already
	case at < 0:
		entry := i.template
		if len(i.entries) > 0 {
			entry.ID = parley.NewID()
		}
		i.entries = append(i.entries, entry)
		at = len(i.entries) - 1
	}
	nameAudited(&i.entries[at], session, target)
}

// Sessions are those that the call is known to concern so far.
func (i *AuditIntent) Sessions() (ids []parley.ID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for at := range i.entries {
		if id := i.entries[at].SessionID; !id.IsZero() {
			ids = append(ids, id)
		}
	}
	return ids
}

// entryOf is the place of a session's entry, or of one whose session is not known
// yet; -1 when there is none.
func (i *AuditIntent) entryOf(entries []parley.AuditEntry, session parley.ID) int {
	open := -1
	for at := range entries {
		switch known := entries[at].SessionID; {
		case known == session:
			return at
		case known.IsZero():
			open = at
		}
	}
	return open
}

// nameAudited has an entry say what it is about.
func nameAudited(e *parley.AuditEntry, session, target parley.ID) {
	e.SessionID = session
	if !target.IsZero() {
		e.TargetID = target
	}
}

// Entries are what a transaction has to write that changes a session, and a row of
// it: zero for one that changes no session, or means no row. None once they were
// written (Wrote). A nil intent has none.
func (i *AuditIntent) Entries(session, target parley.ID) []parley.AuditEntry {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.written {
		return nil
	}
	entries := append(make([]parley.AuditEntry, 0, len(i.entries)+1), i.entries...)
	at := i.entryOf(entries, session)
	switch {
	case at < 0 && session.IsZero() && len(entries) > 0:
		return entries
	case at < 0:
		entry := i.template
		if len(entries) > 0 {
			if i.further.IsZero() {
				i.further = parley.NewID()
			}
			entry.ID = i.further
		}
		entries = append(entries, entry)
		at = len(entries) - 1
	}
	nameAudited(&entries[at], session, target)
	return entries
}

// Wrote notes that a transaction with the entries was committed: later ones of the
// call write none.
func (i *AuditIntent) Wrote() {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.written = true
}

// Of is the intent of one of several transactions that a call makes, each about a
// session of its own.
func (i *AuditIntent) Of(session parley.ID) *AuditIntent {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	own := &AuditIntent{template: i.template}
	own.template.ID = parley.NewID()
	own.About(session, parley.ID{})
	return own
}

// DeleteSessionAction is what the audit calls the deletion of a session, whoever it is
// done for and by. Each deleted session has an entry of its own that says so: without
// one, a verification takes it for removed by another hand.
const DeleteSessionAction = "deleteSession"

// parleyItself stands for the principal where nobody asked: Parley did it by itself.
func parleyItself() parley.AuditEntry {
	return parley.AuditEntry{PrincipalID: parley.ID{len(parley.ID{}) - 1: 1}, PrincipalName: "parley"}
}

// Deletions are the entries of sessions that a transaction deletes and that entries,
// which it writes too, do not say so of: children, the sessions of a project. A nil
// intent is that of Parley itself.
func (i *AuditIntent) Deletions(
	workspaceID parley.ID,
	deleted []parley.ID,
	entries []parley.AuditEntry,
) (further []parley.AuditEntry) {
	template := parleyItself()
	if i != nil {
		template = i.template
	} else if len(deleted) > 0 {
		template.RequestID = parley.NewID()
	}
	for _, id := range deleted {
		if slices.ContainsFunc(
			entries,
			func(e parley.AuditEntry) bool { return e.SessionID == id && e.Action == DeleteSessionAction },
		) {
			continue
		}
		entry := template
		entry.ID, entry.At, entry.WorkspaceID, entry.Action, entry.SessionID = parley.NewID(), parley.Now(),
			workspaceID, DeleteSessionAction, id
		further = append(further, entry)
	}
	return further
}

type auditKey struct{}

// WithAudit carries an intent to the store. With nil, what is stored under ctx
// writes no entry: a change that only prepares the one that the call is about.
func WithAudit(ctx context.Context, intent *AuditIntent) context.Context {
	return context.WithValue(ctx, auditKey{}, intent)
}

// AuditFrom is the intent that ctx carries; nil for none.
func AuditFrom(ctx context.Context) *AuditIntent {
	intent, _ := ctx.Value(auditKey{}).(*AuditIntent)
	return intent
}
