package worker

import (
	"context"
	"sync/atomic"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
	"example.org/parley/tool"
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
			// Its call would take what the model was told to say.
			DrawKnowledge: new(false),
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

// TestCompactionIsCheckedAfterAnAddition: a task that fills the context is answered while a summary is being written;
// the end of the work session is not waited for (E6).
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

// slowTeam cannot read the team at first, as a store that is busy.
type slowTeam struct{ refusals, asked atomic.Int64 }

func (s *slowTeam) ToolsOf(context.Context, parley.ID, parley.ID) ([]tool.Tool, error) {
	if s.asked.Add(1) <= s.refusals.Load() {
		return nil, parley.Errorf(parley.CodeUnavailable, "this read took too long")
	}
	return nil, nil
}

// Knowing implements tool.Background.
func (*slowTeam) Knowing() []tool.Tool { return nil }

// takingTools are scripted models that may be offered tools.
type takingTools struct{ *scripted }

func (m takingTools) Resolve(id parley.ModelID) (model.Model, model.Info, error) {
	found, info, err := m.scripted.Resolve(id)
	info.Tools = true
	return found, info, err
}

// TestATeamThatCannotBeReadFailsNoTurn: the database did not answer in time when the tools of a team were read. The
// turn is given back and runs again, and does not fail as if the agent's settings were wrong.
func TestATeamThatCannotBeReadFailsNoTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	team := &slowTeam{}
	team.refusals.Store(2)
	r.options.Background, r.models = team, takingTools{r.model}
	r.start(nil)
	r.exchange(r.works(50), 0)
	if n := team.asked.Load(); n != 3 {
		t.Errorf("the team was read %d times", n)
	}
}
