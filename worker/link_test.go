package worker

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// failing is a linker's store that returns an error.
type failing struct {
	store.AuditLinker
	err    error
	linked []parley.ID
}

func (f *failing) LinkAudit(
	_ context.Context,
	_ parley.ID,
	_ time.Duration,
	changed []parley.ID,
	_ *parley.ID,
) (store.LinkStep, error) {
	if f.err == nil {
		f.linked = append(f.linked, changed...)
	}
	return store.LinkStep{Held: true}, f.err
}

// TestSessionsThatMovedAreLinkedAfterAnError: the same holds after a fence.
func TestSessionsThatMovedAreLinkedAfterAnError(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]error{"error": errors.New("the database is away"),
		"fence": parley.Errorf(parley.CodeFenced, "another linker links")} {
		store := &failing{err: fault}
		l := newLinker(store)
		moved := parley.NewID()
		l.note(moved)
		if _, err := l.step(t.Context(), nil); !errors.Is(err, fault) {
			t.Fatalf("%s: the step says %v", name, err)
		}
		store.err = nil
		if _, err := l.step(t.Context(), nil); err != nil || !slices.Contains(store.linked, moved) {
			t.Errorf("%s: the changed session is not linked: %v, %v", name, store.linked, err)
		}
	}
}
