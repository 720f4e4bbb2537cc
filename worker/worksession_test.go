package worker

import (
	"context"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
)

// works returns the background session of an agent whose context may hold so many messages.
func (r *rig) works(limit int) parley.ID {
	r.Helper()
	agent, _, err := r.store.CreateAgent(r.Context(), parley.Agent{
		WorkspaceID: r.scope.WorkspaceID, Slug: "digger", Name: "Digger", Runtime: parley.StandardRuntime,
		OwnerID: r.owner.ID,
		Settings: parley.Settings{
			Model:      r.agent.Model,
			Compaction: &parley.CompactionSettings{Model: summaryID},
			Policy:     &parley.Policy{Kind: parley.PolicySummary, Limit: limit},
		},
	}, store.Idempotency{})
	r.must(err)
	opened, err := r.store.BackgroundSession(r.Context(), r.scope, agent.ID, 0)
	r.must(err)
	return opened.Session.ID
}

// TestCompactionIsCheckedAfterEachWorkSession: what a work session leaves behind counts when it ends, whether or not
// another one follows (E6).
func TestCompactionIsCheckedAfterEachWorkSession(t *testing.T) {
	t.Parallel()
	r := newSummedRig(t, says("they worked"))
	r.start(nil)
	sessionID := r.works(4)
	r.exchange(sessionID, 0)
	r.exchange(sessionID, 1) // its answer is the fourth message
	r.happened(sessionID, parley.EventCompactionCompleted)
	if c := r.compaction(sessionID); c.State != parley.CompactionCompleted || c.Reason != parley.CompactMessages {
		t.Errorf("the compaction is %+v", c)
	}
}

// TestCompactionIsCheckedAfterAnAddition: a task that fills the context is answered while a summary is being written; the
// end of the work session is not waited for (E6).
func TestCompactionIsCheckedAfterAnAddition(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	r := newSummedRig(t, func(ctx context.Context, yield func(model.Chunk, error) bool) {
		close(asked)
		says("they worked")(ctx, yield)
	})
	r.start(nil)
	sessionID := r.works(5)
	r.exchange(sessionID, 0)
	r.exchange(sessionID, 1)
	r.model.play(func(ctx context.Context, yield func(model.Chunk, error) bool) {
		if !yield(text(0, "answer 2"), nil) {
			return
		}
		select {
		case <-asked:
			yield(done(parley.FinishStop), nil)
		case <-ctx.Done():
		}
	})
	turn := r.post(sessionID, "question 2", "").Turn.ID // the fifth message
	r.wait("the summary to be asked for while the turn runs", asked)
	if ended := r.ended(turn); ended.Status != parley.TurnCompleted {
		t.Errorf("the turn is %+v", ended)
	}
	r.happened(sessionID, parley.EventCompactionCompleted)
}
