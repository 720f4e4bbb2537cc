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
	Without     []string // actions to leave out
	Ascending   bool
	AfterAt     parley.Time // last row of the previous page; set together with AfterID
	AfterID     parley.ID
	Limit       int
}

// AuditTrail stores the audit: entries are added, and never changed or removed.
//
// Every transition on behalf of a caller writes its own entry: a method that changes something looks for an AuditIntent
// in its context and writes the entries in the transaction of the change.
type AuditTrail interface {
	// AppendAudit adds entries of any workspaces in one transaction. It leaves existing entries unchanged, so a batch
	// may be sent again.
	AppendAudit(ctx context.Context, entries []parley.AuditEntry) error
	Audit(ctx context.Context, workspaceID parley.ID, query AuditQuery) ([]parley.AuditEntry, error)
}

// AuditIntent holds the audit entries of one call. It travels in the context to the store, which writes it in the
// transaction of the first change that it makes for the call: the entry exists exactly when the change does. Ids and
// time are fixed when the intent is made, so a repeated transaction writes the same rows. It is safe for concurrent
// use.
type AuditIntent struct {
	mu       sync.Mutex          // guards all fields below: a transition may outlive its caller
	template parley.AuditEntry   // without session and target
	entries  []parley.AuditEntry // one for each session that the call is known to concern
	further  parley.ID           // id of an entry for a session that only the transition knows; zero: not minted yet
	written  bool
}

// NewAuditIntent makes an intent from an entry that names the principal, the action and the request.
func NewAuditIntent(entry parley.AuditEntry) *AuditIntent {
	entry.ID, entry.At, entry.SessionID, entry.TargetID = parley.NewID(), parley.Now(), parley.ID{}, parley.ID{}
	return &AuditIntent{template: entry}
}

// About notes a session that the call concerns, and the row of it that the call targets: zero means the session itself.
// A call about something outside sessions has a zero session. Each session has one entry.
func (i *AuditIntent) About(session, target parley.ID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	at := i.entryOf(i.entries, session)
	switch {
	case at < 0 && session.IsZero() && len(i.entries) > 0:
		return // a more exact entry exists
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

// Rename gives the entries another action. Call it before the call changes anything.
func (i *AuditIntent) Rename(action string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.template.Action = action
	for n := range i.entries {
		i.entries[n].Action = action
	}
}

// Sessions returns the sessions that the call is known to concern so far.
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

// entryOf returns the index of a session's entry, or else of an entry without a session; -1 if there is neither.
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

// nameAudited sets the session and the target of an entry.
func nameAudited(e *parley.AuditEntry, session, target parley.ID) {
	e.SessionID = session
	if !target.IsZero() {
		e.TargetID = target
	}
}

// Entries returns the entries that a transaction must write when it changes a session and a row of it; zero ids mean no
// session or no row. It returns none after Wrote, or for a nil intent.
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

// Wrote notes that a transaction committed the entries; later transactions of the call write none.
func (i *AuditIntent) Wrote() {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.written = true
}

// Of returns the intent for one of several transactions of a call, each about a session of its own.
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

// DeleteSessionAction is the action of every audit entry about a deleted session, whoever deleted it. Each deleted
// session has its own entry: a verification reports a session that is gone without one as tampering.
const DeleteSessionAction = "deleteSession"

// parleyItself is the template of entries for what Parley does on its own, without a principal.
func parleyItself() parley.AuditEntry {
	return parley.AuditEntry{PrincipalID: parley.ID{len(parley.ID{}) - 1: 1}, PrincipalName: "parley"}
}

// Deletions returns entries for the sessions that a transaction deletes and that its other entries do not report as
// deleted: children, the sessions of a project. With a nil intent Parley itself is the principal.
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

// WithAudit carries an intent to the store. With nil, changes under ctx write no entry; use it for a change that only
// prepares the audited one.
func WithAudit(ctx context.Context, intent *AuditIntent) context.Context {
	return context.WithValue(ctx, auditKey{}, intent)
}

// AuditFrom returns the intent that ctx carries, or nil.
func AuditFrom(ctx context.Context) *AuditIntent {
	intent, _ := ctx.Value(auditKey{}).(*AuditIntent)
	return intent
}
