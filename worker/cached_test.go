package worker

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/sqlite"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// keeping returns overrides that turn the response cache on.
func keeping() parley.Settings {
	return parley.Settings{ResponseCache: &parley.ResponseCacheSettings{}}
}

// converse posts to a new session and waits until the worker has released the turn.
func (r *rig) converse(overrides parley.Settings, text string) (parley.ID, parley.Turn) {
	r.Helper()
	sessionID := r.session(overrides, nil)
	turn := r.ended(r.post(sessionID, text, "").Turn.ID)
	r.idleSlots(r.worker)
	return sessionID, turn
}

func (r *rig) cacheState() parley.ResponseCacheState {
	r.Helper()
	state, err := r.store.ResponseCacheState(r.Context(), r.scope.WorkspaceID)
	r.must(err)
	return state
}

// The second of two equal conversations is answered without the model: the same rows, no usage, no cost, no budget. The
// saved cost is that of the first.
func TestEqualRequestsAreAnsweredFromTheCache(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	in, out := int64(1000), int64(500)
	r.model.play(chunks(
		model.Chunk{Kind: model.ChunkReasoning, Text: "Well."},
		text(1, "Hel"),
		text(1, "lo."),
		model.Chunk{
			Kind:  model.ChunkUsage,
			Usage: parley.Usage{InputTokens: &in, OutputTokens: &out},
		},
		done(parley.FinishStop),
	))
	first, _ := r.converse(keeping(), "Hi")
	poor := keeping()
	limit := int64(1)
	poor.Limits = &parley.Limits{SessionTokens: &limit}
	second, turn := r.converse(poor, "Hi")
	if turn.Status != parley.TurnCompleted || r.model.sent() != 1 {
		t.Fatalf("%d requests were sent; the second turn is %s %+v", r.model.sent(), turn.Status, turn.Error)
	}
	if diff := cmp.Diff(r.record(first), r.record(second)); diff != "" {
		t.Errorf("the records differ:\n%s", diff)
	}
	asked, kept := r.callLog(first)[0], r.callLog(second)[0]
	if asked.Manifest.CachedResponse || !kept.Manifest.CachedResponse || asked.RequestHash != kept.RequestHash {
		t.Errorf("the calls say %+v and %+v", asked.Manifest, kept.Manifest)
	}
	if kept.Cost == nil || *kept.Cost != 0 || kept.Cache.Saved == nil || *kept.Cache.Saved != *asked.Cost ||
		*kept.Usage.InputTokens != 0 ||
		*kept.Usage.OutputTokens != 0 ||
		kept.Finish != parley.FinishStop {
		t.Errorf("the call from the cache is %+v", kept)
	}
	session, err := r.store.Session(t.Context(), r.scope, second)
	r.must(err)
	if s := session.Statistics; s.InputTokens != 0 || s.Cost != 0 || s.Saved != *asked.Cost || s.Calls != 1 {
		t.Errorf("the session's statistics are %+v", s)
	}
	state := r.cacheState()
	if state.Bytes == 0 {
		t.Error("nothing was cached")
	}
	state.Bytes = 0
	if diff := cmp.Diff(
		parley.ResponseCacheState{Entries: 1, Hits: 1, Misses: 1, Stored: 1, Saved: *asked.Cost},
		state,
	); diff != "" {
		t.Errorf("the cache's state:\n%s", diff)
	}
}

// Without the setting, and where a session's 0 overrides its agent's value, the cache is neither read nor written.
func TestResponsesAreKeptOnlyWhereAskedFor(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	r.model.play(says("One."), says("Two."), says("Three."))
	none := 0
	r.converse(parley.Settings{}, "Hi")
	r.converse(parley.Settings{ResponseCache: &parley.ResponseCacheSettings{TTLSeconds: &none}}, "Hi")
	r.converse(keeping(), "Hi")
	if r.model.sent() != 3 {
		t.Errorf("%d requests were sent", r.model.sent())
	}
	if state := r.cacheState(); state.Entries != 1 || state.Misses != 1 || state.Stored != 1 {
		t.Errorf("the cache's state is %+v", state)
	}
}

// The same request in another workspace is asked anew.
func TestCachedAnswersStayInTheirWorkspace(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	other := r.neighbour("other")
	r.model.play(says("Ours."), says("Theirs."))
	mine, _ := r.converse(keeping(), "Hi")
	theirs, _ := other.converse(keeping(), "Hi")
	if r.callLog(mine)[0].RequestHash != other.callLog(theirs)[0].RequestHash {
		t.Fatal("the two requests differ")
	}
	if want := []line{
		{parley.RoleUser, parley.MessageCompleted, "Hi"},
		{parley.RoleAssistant, parley.MessageCompleted, "Theirs."},
	}; r.model.sent() != 2 ||
		cmp.Diff(want, other.record(theirs)) != "" {
		t.Errorf("%d requests; the other workspace reads %v", r.model.sent(), other.record(theirs))
	}
}

// Only whole and final answers are cached: not one that broke off, was cut, was refused, is empty or was cancelled.
func TestOnlyWholeAnswersAreKept(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	broken := model.NewError(parley.ClassStream, false, "broken", nil)
	for name, play := range map[string]answerFunc{
		"broken":  fails(broken, text(0, "Hel")),
		"cut":     chunks(text(0, "Hel"), done(parley.FinishLength)),
		"refused": chunks(text(0, "No."), done(parley.FinishRefusal)),
	} {
		r.model.play(play)
		r.converse(keeping(), name)
	}
	reached := make(chan struct{})
	r.model.play(hangs(reached, text(0, "Hel")))
	posted := r.post(r.session(keeping(), nil), "cancelled", "")
	r.wait("the stall", reached)
	if ended := r.worker.Cancel(posted.Turn.ID); ended != nil {
		r.wait("the cancel", ended)
	}
	if state := r.cacheState(); state.Entries != 0 || state.Stored != 0 {
		t.Errorf("the cache's state is %+v", state)
	}
}

// The calls of a cached answer run again: only the model is not asked.
func TestToolsOfAKeptAnswerRun(t *testing.T) {
	r := newRig(t)
	ran := 0
	r.tools = fakeTools{{name: "look", annotations: parley.ToolAnnotations{ReadOnly: true},
		call: func(context.Context, tool.Call) (json.RawMessage, error) {
			ran++
			return json.RawMessage(`"seen"`), nil
		}}}
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, "look", `{}`), says("Done."), says("Done."))
	overrides := tooled("look")
	overrides.ResponseCache = keeping().ResponseCache
	first, _ := r.converse(overrides, "Look")
	second, _ := r.converse(overrides, "Look")
	if diff := cmp.Diff(r.record(first), r.record(second)); diff != "" {
		t.Errorf("the records differ:\n%s", diff)
	}
	if log := r.callLog(second); ran != 2 || len(log) != 2 || r.cacheState().Hits < 1 {
		t.Errorf("the tool ran %d times; %d calls; %+v", ran, len(log), r.cacheState())
	}
}

// A cache that cannot be read or written does no harm.
func TestBrokenResponseCacheIsIgnored(t *testing.T) {
	r := newRig(t)
	r.start(brokenCache{r.store})
	r.model.play(says("One."), says("Two."))
	for range 2 {
		if _, turn := r.converse(keeping(), "Hi"); turn.Status != parley.TurnCompleted {
			t.Errorf("the turn is %s", turn.Status)
		}
	}
	if r.model.sent() != 2 {
		t.Errorf("%d requests were sent", r.model.sent())
	}
}

// brokenCache is a store whose response cache fails.
type brokenCache struct{ *sqlite.Store }

func (brokenCache) CachedResponse(
	context.Context,
	parley.ID,
	parley.Hash,
	time.Duration,
) (*store.CachedResponse, error) {
	return nil, parley.Errorf(parley.CodeUnavailable, "broken")
}

func (brokenCache) KeepResponses(context.Context, parley.ID, store.ResponsesUsed) (int64, error) {
	return 0, parley.Errorf(parley.CodeUnavailable, "broken")
}
