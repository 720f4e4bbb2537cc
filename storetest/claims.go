package storetest

import (
	"sync"
	"testing"

	"parley"
)

func testClaims(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"ExactlyOnceUnderManyClaimers": claimExactlyOnce,
		"FairOverWorkspaces":           claimFair,
		"NoWorkspaceTakesNearlyAll":    claimShare,
		"BackgroundTakesHalf":          claimBackgroundHalf,
		"OldestFirst":                  claimOldest,
		"ForegroundBeforeBackground":   claimForeground,
		"TheFirstUnfinishedTurnAlone":  claimFirstOnly,
		"AtMostAsManyAsAsked":          claimLimit,
		"PostsRaceClaims":              claimRacesPosts,
		"AReleasedTurnIsReadyAgain":    claimReleased,
		"TheAgentsVersionIsFixed":      claimFixesVersion,
		"EpochsRise":                   claimEpochs,
	})
}

func claimExactlyOnce(t *testing.T, w *world) {
	const sessions, claimers = 60, 16
	ready := map[parley.ID]bool{}
	for range sessions {
		id := w.session(t)
		w.post(t, id, w.say("go"))
		ready[id] = true
	}
	var (
		mu    sync.Mutex // guards taken
		taken = map[parley.ID]int{}
	)
	processes := make([]parley.ID, claimers)
	for i := range processes {
		processes[i] = w.register(t)
	}
	atOnce(claimers, func(i int) {
		for {
			claims, err := w.store.Claim(w.ctx, processes[i], 3)
			if err != nil {
				t.Errorf("Claim: %v", err)
				return
			}
			if len(claims) == 0 {
				return
			}
			mu.Lock()
			for _, claim := range claims {
				taken[claim.Fence.SessionID]++
			}
			mu.Unlock()
		}
	})
	for id := range ready {
		if taken[id] != 1 {
			t.Errorf("session %s was claimed %d times", id, taken[id])
		}
		w.check(t, id)
	}
	if len(taken) != sessions {
		t.Errorf("%d sessions were claimed; %d were ready", len(taken), sessions)
	}
}

func claimFair(t *testing.T, w *world) {
	other := w.neighbour(t, "other")
	for range 20 {
		w.post(t, w.session(t), w.say("many"))
	}
	for range 3 {
		other.post(t, other.session(t), other.say("few"))
	}
	claims, err := w.store.Claim(w.ctx, w.process, 6)
	must(t, "Claim", err)
	count := map[parley.ID]int{}
	for _, claim := range claims {
		count[claim.Fence.WorkspaceID]++
	}
	if len(claims) != 6 || count[other.scope.WorkspaceID] != 3 {
		t.Errorf("of %d claims %d are of the workspace with few sessions; want 6 and 3", len(claims), count[other.scope.WorkspaceID])
	}
	rest, err := w.store.Claim(w.ctx, w.process, 100)
	must(t, "Claim", err)
	if len(rest) != 17 {
		t.Errorf("the rest is %d claims; want 17", len(rest))
	}
}

func claimShare(t *testing.T, w *world) {
	const slots, held = 10, 9
	few := w.neighbour(t, "few")
	for range slots + held {
		w.post(t, w.session(t), w.say("many"))
	}
	claims, err := w.store.Claim(w.ctx, w.process, held)
	if err != nil || len(claims) != held {
		t.Fatalf("with nobody else waiting Claim took %d, %v; want %d", len(claims), err, held)
	}
	for range 3 {
		few.post(t, few.session(t), few.say("few"))
	}
	for i := range 2 { // 9 of 10 slots are one workspace's, then 8 of 10: no more for it
		claim := w.claim(t)
		if claim.Fence.WorkspaceID != few.scope.WorkspaceID {
			t.Errorf("claim %d went to the workspace that holds %d of %d slots while another waits", i+1, held-i, slots)
		}
		w.answer(t, claims[i], "done")
	}
}

func claimBackgroundHalf(t *testing.T, w *world) {
	for range 6 {
		w.post(t, w.session(t, func(s *parley.Session) { s.Mode = parley.ModeBackground }), w.say("later"))
	}
	claims, err := w.store.Claim(w.ctx, w.process, 4)
	if err != nil || len(claims) != 2 {
		t.Errorf("of 4 slots background work took %d, %v; want half", len(claims), err)
	}
	w.post(t, w.session(t), w.say("now"))
	if claim := w.claim(t); claim.Session.Mode != parley.ModeForeground {
		t.Errorf("the slots that background work leaves are not for the foreground")
	}
}

func claimOldest(t *testing.T, w *world) {
	var order []parley.ID
	for range 5 {
		id := w.session(t)
		w.post(t, id, w.say("go"))
		order = append(order, id)
	}
	for i, want := range order {
		if claim := w.claim(t); claim.Fence.SessionID != want {
			t.Errorf("claim %d took %s; want the oldest, %s", i+1, claim.Fence.SessionID, want)
		}
	}
}

func claimForeground(t *testing.T, w *world) {
	background := w.session(t, func(s *parley.Session) { s.Mode = parley.ModeBackground })
	w.post(t, background, w.say("later"))
	foreground := w.session(t)
	w.post(t, foreground, w.say("now"))
	if claim := w.claim(t); claim.Fence.SessionID != foreground {
		t.Errorf("background went first")
	}
	if claim := w.claim(t); claim.Fence.SessionID != background {
		t.Errorf("background was not claimed at all")
	}
}

func claimFirstOnly(t *testing.T, w *world) {
	session := w.session(t)
	first := w.post(t, session, w.say("one"))
	second := w.post(t, session, w.say("two"))
	claims, err := w.store.Claim(w.ctx, w.process, 10)
	must(t, "Claim", err)
	if len(claims) != 1 || claims[0].Turn.ID != first.Turn.ID {
		t.Fatalf("Claim took %+v; want the first turn alone", claims)
	}
	w.claimsNothing(t)
	w.answer(t, claims[0], "1")
	if next := w.claim(t); next.Turn.ID != second.Turn.ID {
		t.Errorf("turn %s runs; want the second", next.Turn.ID)
	}
	w.check(t, session)
}

func claimLimit(t *testing.T, w *world) {
	for range 5 {
		w.post(t, w.session(t), w.say("go"))
	}
	for _, want := range []int{2, 2, 1, 0} {
		claims, err := w.store.Claim(w.ctx, w.process, 2)
		must(t, "Claim", err)
		if len(claims) != want {
			t.Errorf("Claim took %d; want %d", len(claims), want)
		}
	}
	claims, err := w.store.Claim(w.ctx, w.process, 0)
	if err != nil || len(claims) != 0 {
		t.Errorf("with no free slot Claim took %d, %v", len(claims), err)
	}
}

func claimRacesPosts(t *testing.T, w *world) {
	const rounds = 10
	for range rounds {
		session := w.session(t)
		var (
			mu     sync.Mutex // guards claims
			claims []parley.Claim
		)
		atOnce(8, func(i int) {
			var got []parley.Claim
			var err error
			if i%2 == 0 {
				var posted parley.Posted
				posted, err = w.store.PostMessage(w.ctx, w.scope, session, w.say("go"), w.process)
				if posted.Claim != nil {
					got = append(got, *posted.Claim)
				}
			} else {
				got, err = w.store.Claim(w.ctx, w.process, 4)
			}
			if err != nil {
				t.Errorf("post or claim: %v", err)
			}
			mu.Lock()
			claims = append(claims, got...)
			mu.Unlock()
		})
		if len(claims) != 1 {
			t.Fatalf("%d claims of one session", len(claims))
		}
		w.answer(t, claims[0], "ok")
		for range 3 {
			w.answer(t, w.claim(t), "ok")
		}
		w.check(t, session)
	}
}

func claimReleased(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	queued := w.post(t, session, w.say("two"))
	must(t, "ReleaseTurn", w.store.ReleaseTurn(w.ctx, claim.Fence))
	if turn := w.turn(t, claim.Turn.ID); turn.Status != parley.TurnQueued {
		t.Errorf("the released turn is %s", turn.Status)
	}
	w.check(t, session)
	again := w.claim(t)
	if again.Turn.ID != claim.Turn.ID || again.Turn.Attempt != 2 || again.Fence.Epoch <= claim.Fence.Epoch || again.Turn.Takeovers != 0 {
		t.Errorf("the next claim is %+v; want attempt 2 of the same turn under a later epoch", again)
	}
	if again.Trigger.ID != claim.Trigger.ID || again.Trigger.Sequence != 1 {
		t.Errorf("the trigger entered again: %+v", again.Trigger)
	}
	refused(t, "the old claim's release", w.store.ReleaseTurn(w.ctx, claim.Fence), parley.CodeFenced)
	w.answer(t, again, "1")
	if next := w.claim(t); next.Turn.ID != queued.Turn.ID {
		t.Errorf("turn %s runs; want the queued one", next.Turn.ID)
	}
	w.check(t, session)
}

func claimFixesVersion(t *testing.T, w *world) {
	session := w.session(t)
	w.post(t, session, w.say("one"))
	changed := w.agent
	changed.SystemPrompt = "Be brief."
	second, err := w.store.UpdateAgent(w.ctx, changed)
	must(t, "UpdateAgent", err)
	claim := w.claim(t)
	if claim.Agent.Version != second.Version || claim.Turn.AgentVersion != second.Version || claim.Agent.SystemPrompt != "Be brief." {
		t.Errorf("the first claim has version %d of the agent; want the current one, %d", claim.Turn.AgentVersion, second.Version)
	}
	third := second
	third.SystemPrompt = "Be long."
	_, err = w.store.UpdateAgent(w.ctx, third)
	must(t, "UpdateAgent", err)
	must(t, "ReleaseTurn", w.store.ReleaseTurn(w.ctx, claim.Fence))
	if again := w.claim(t); again.Turn.AgentVersion != second.Version || again.Agent.SystemPrompt != "Be brief." {
		t.Errorf("a resumed turn has version %d of the agent; want %d kept", again.Turn.AgentVersion, second.Version)
	}
}

func claimEpochs(t *testing.T, w *world) {
	session := w.session(t)
	last := int64(0)
	for range 3 {
		w.post(t, session, w.say("go"))
		claim := w.claim(t)
		if claim.Fence.Epoch <= last {
			t.Errorf("epoch %d follows %d", claim.Fence.Epoch, last)
		}
		last = claim.Fence.Epoch
		w.answer(t, claim, "ok")
	}
}
