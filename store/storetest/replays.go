package storetest

import (
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testReplays(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"RecordedAtOnce":         replayRecorded,
		"CountedToBudgets":       replayCharged,
		"NeverInTheConversation": replayApart,
		"OtherScopesSeeNone":     replayScopes,
	})
}

// replayed records a replay of a session's newest call.
func (w *world) replayed(t reporter, session parley.ID, change func(*store.NewReplay)) store.NewReplay {
	t.Helper()
	calls, err := w.store.Calls(w.ctx, w.scope, session, store.CallQuery{Limit: 1})
	must(t, "Calls", err)
	input, output, cost := int64(30), int64(12), parley.Money(700)
	replay := store.NewReplay{
		Call:   calls[0],
		OfID:   calls[0].ID,
		Answer: parley.ReplayAnswer{Text: "Другой ответ 😀", ToolCalls: []parley.ToolCallContent{}},
		Settled: store.CallSettled{
			Outcome: parley.CallCompleted,
			Usage:   parley.Usage{InputTokens: &input, OutputTokens: &output},
			Cost:    &cost,
			Finish:  parley.FinishStop,
		},
	}
	replay.Call.ID, replay.Call.SystemHash, replay.Call.ToolsHash = parley.NewID(), parley.Hash{}, parley.Hash{}
	replay.Settled.CallID = replay.Call.ID
	if change != nil {
		change(&replay)
	}
	must(t, "RecordReplay", w.store.RecordReplay(w.ctx, w.scope, replay))
	return replay
}

func replayRecorded(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "a question", "an answer")
	before, err := w.store.Session(w.ctx, w.scope, session)
	must(t, "Session", err)
	replay := w.replayed(t, session, func(r *store.NewReplay) {
		r.Layers, r.Call.MiddlewareHash = []byte(`{}`), parley.HashOf([]byte(`{}`))
	})
	call, err := w.store.Call(w.ctx, w.scope, replay.Call.ID)
	must(t, "Call", err)
	if call.Purpose != parley.PurposeReplay || !call.TurnID.IsZero() || call.Outcome != parley.CallCompleted ||
		call.Usage.InputTokens == nil ||
		*call.Usage.InputTokens != 30 ||
		call.Cost == nil ||
		*call.Cost != 700 {
		t.Errorf("the call is %+v", call)
	}
	for _, id := range []parley.ID{replay.Call.ID, replay.OfID} {
		replays, err := w.store.Replays(w.ctx, w.scope, id)
		must(t, "Replays", err)
		if len(replays) != 1 || replays[0].Answer.Text != replay.Answer.Text || replays[0].CallID != replay.Call.ID ||
			replays[0].OfID != replay.OfID ||
			replays[0].CreatedAt == 0 {
			t.Errorf("the replays of %s: %+v", id, replays)
		}
	}
	after, err := w.store.Session(w.ctx, w.scope, session)
	must(t, "Session", err)
	if after.Statistics.InputTokens != before.Statistics.InputTokens+30 ||
		after.Statistics.Cost != before.Statistics.Cost+700 ||
		after.LastEvent != before.LastEvent+1 {
		t.Errorf("the statistics are %+v, before %+v", after.Statistics, before.Statistics)
	}
	w.check(t, session)
}

// replayCharged: a replay's usage is charged immediately; unknown usage is charged as its estimate.
func replayCharged(t *testing.T, w *world) {
	session := w.capped(t, parley.Limits{SessionTokens: tokens(1000)})
	posted, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("first"), w.process)
	must(t, "PostMessage", err)
	begin, err := w.budgeted(posted.Claim.Fence, 1, w.asks(t, session, 80))
	must(t, "BeginStep", err)
	settle := used(begin, 70)
	settle.End = completed()
	w.settle(t, posted.Claim.Fence, settle)
	before := w.budget(t, session)
	w.replayed(t, session, func(r *store.NewReplay) { r.Charged = []parley.ID{session} })
	if b := w.budget(t, session); b.Tokens != before.Tokens+42 || b.ReservedTokens != before.ReservedTokens {
		t.Errorf("the budget is %+v, before %+v", b, before)
	}
	w.replayed(t, session, func(r *store.NewReplay) {
		first := int64(1)
		r.Charged, r.Estimate, r.Settled.Usage, r.Settled.Cost, r.Settled.FirstTokenMS = []parley.ID{
			session,
		}, parley.Reserved{
			Tokens: 100,
		}, parley.Usage{}, nil, &first
	})
	if b := w.budget(t, session); b.Tokens != before.Tokens+142 {
		t.Errorf("the budget is %+v, before %+v", b, before)
	}
}

// replayApart: a replay is not a message, and no turn notices it.
func replayApart(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "a question", "an answer")
	running := w.session(t)
	w.exchange(t, running, "one", "two")
	posted, err := w.store.PostMessage(w.ctx, w.scope, running, w.say("three"), w.process)
	must(t, "PostMessage", err)
	begin := w.begin(t, posted.Claim.Fence, 1)
	for _, id := range []parley.ID{session, running} {
		messages, err := w.store.Messages(w.ctx, w.scope, id, store.MessageQuery{Limit: 10})
		must(t, "Messages", err)
		w.replayed(t, id, nil)
		again, err := w.store.Messages(w.ctx, w.scope, id, store.MessageQuery{Limit: 10})
		must(t, "Messages", err)
		if len(again) != len(messages) {
			t.Errorf("%d messages, before %d", len(again), len(messages))
		}
	}
	settle := settlement(begin, "four")
	settle.End = completed()
	w.settle(t, posted.Claim.Fence, settle)
	w.check(t, running)
}

func replayScopes(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "a question", "an answer")
	replay := w.replayed(t, session, nil)
	other := w.neighbour(t, "other")
	replays, err := other.store.Replays(other.ctx, other.scope, replay.OfID)
	must(t, "Replays", err)
	if len(replays) != 0 {
		t.Errorf("another workspace reads %+v", replays)
	}
	stranger := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	if replays, err = w.store.Replays(w.ctx, stranger, replay.OfID); err != nil || len(replays) != 0 {
		t.Errorf("a stranger reads %+v, %v", replays, err)
	}
	replay.Call.ID = parley.NewID()
	refused(t, "RecordReplay", w.store.RecordReplay(w.ctx, stranger, replay), parley.CodeNotFound)
	refused(t, "RecordReplay", other.store.RecordReplay(other.ctx, other.scope, replay), parley.CodeNotFound)
}
