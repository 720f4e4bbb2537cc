package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/llm"
	"example.org/parley/store"
)

// interrupted refuses the first batches, like a store with a full disk.
type interrupted struct {
	store.AuditTrail
	mu       sync.Mutex // guards refusals
	refusals int
}

func (i *interrupted) AppendAudit(ctx context.Context, entries []parley.AuditEntry) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.refusals > 0 {
		i.refusals--
		return errors.New("no room")
	}
	return i.AuditTrail.AppendAudit(ctx, entries)
}

// TestAuditSurvivesARefusal: entries that the store refuses wait, and the last ones are written when the log is closed.
func TestAuditSurvivesARefusal(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	session := h.open(t, engine.SessionInput{})
	log := engine.NewAuditLog(&interrupted{AuditTrail: h.store, refusals: 1}, slog.New(slog.DiscardHandler))
	reading := engine.New(engine.Options{Store: h.store, Models: new(llm.Registry), Audit: log})
	const reads = 300 // more than a batch
	for range reads {
		if _, err := reading.Session(t.Context(), h.member, session.ID); err != nil {
			t.Fatal(err)
		}
	}
	log.Close()
	entries := h.auditOf(
		t,
		store.AuditQuery{SessionID: session.ID, Without: []string{"createSession"}, Limit: parley.MaxPage},
	)
	if len(entries) != reads {
		t.Errorf("%d entries of %d", len(entries), reads)
	}
}

// auditOf reads the audit's entries, whoever may see them.
func (h *house) auditOf(t *testing.T, query store.AuditQuery) []parley.AuditEntry {
	t.Helper()
	entries, err := h.store.Audit(t.Context(), h.admin.WorkspaceID, query)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}
