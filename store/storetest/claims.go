package storetest

import (
	"strconv"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testClaims(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"ExactlyOnceUnderManyClaimers": claimExactlyOnce,
		"FairOverWorkspaces":           claimFair,
		"NoWorkspaceTakesTheReserve":   claimShare,
		"NewcomersAreFound":            claimNewcomer,
		"BackgroundPostsAreNotClaimed": claimBackgroundPost,
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
			claims, err := w.store.Claim(w.ctx, processes[i], 3, roomy())
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
	claims, err := w.store.Claim(w.ctx, w.process, 6, roomy())
	must(t, "Claim", err)
	count := map[parley.ID]int{}
	for _, claim := range claims {
		count[claim.Fence.WorkspaceID]++
	}
	if len(claims) != 6 || count[other.scope.WorkspaceID] != 3 {
		t.Errorf(
			"of %d claims %d are of the workspace with few sessions; want 6 and 3",
			len(claims),
			count[other.scope.WorkspaceID],
		)
	}
	rest, err := w.store.Claim(w.ctx, w.process, 100, roomy())
	must(t, "Claim", err)
	if len(rest) != 17 {
		t.Errorf("the rest is %d claims; want 17", len(rest))
	}
}

// claimShare: a workspace that holds all slots gets none of the reserved places, however many of its sessions wait and
// for how long.
func claimShare(t *testing.T, w *world) {
	const slots, reserve = 5, 2
	for range 2 * slots {
		w.post(t, w.session(t), w.say("many"))
	}
	occupancy := store.Occupancy{Slots: slots, Reserve: reserve}
	claims, err := w.store.Claim(w.ctx, w.process, slots+reserve, occupancy)
	if err != nil || len(claims) != slots {
		t.Fatalf("of %d slots and a reserve of %d one workspace alone took %d, %v", slots, reserve, len(claims), err)
	}
	for range slots {
		occupancy.Take(w.scope.WorkspaceID, parley.ModeForeground)
	}
	few := w.neighbour(t, "few")
	for range 3 {
		few.post(t, few.session(t), few.say("few"))
	}
	claims, err = w.store.Claim(w.ctx, w.process, reserve, occupancy)
	if err != nil || len(claims) != 1 || claims[0].Fence.WorkspaceID != few.scope.WorkspaceID {
		t.Fatalf("of the reserve the newcomer got %d, %v; want its first turn alone", len(claims), err)
	}
	occupancy.Take(few.scope.WorkspaceID, parley.ModeForeground)
	claims, err = w.store.Claim(w.ctx, w.process, 1, occupancy)
	if err != nil || len(claims) != 0 {
		t.Fatalf("the last place went to a workspace that holds turns: %d claims, %v", len(claims), err)
	}
}

// claimNewcomer: waiting workspaces that are not admitted, even more of them than free slots, do not hide one that is.
func claimNewcomer(t *testing.T, w *world) {
	const crowd, held = 6, 3
	occupancy := store.Occupancy{Slots: crowd * held, Reserve: 2}
	worlds := []*world{w}
	for i := range crowd {
		worlds = append(worlds, w.neighbour(t, "crowd"+strconv.Itoa(i)))
	}
	// Whichever comes first in the store's order, each is the newcomer once.
	for n, newcomer := range worlds {
		full := occupancy
		full.Held = nil
		for i, other := range worlds {
			if i == n {
				continue
			}
			other.post(t, other.session(t), other.say("more"))
			for range held {
				full.Take(other.scope.WorkspaceID, parley.ModeForeground)
			}
		}
		newcomer.post(t, newcomer.session(t), newcomer.say("first"))
		claims, err := w.store.Claim(w.ctx, w.process, 1, full)
		if err != nil || len(claims) != 1 || claims[0].Fence.WorkspaceID != newcomer.scope.WorkspaceID {
			t.Fatalf("workspace %d has nothing running, and %d claims were made, %v; want its own", n, len(claims), err)
		}
		for {
			rest, err := w.store.Claim(w.ctx, w.process, 2*crowd, roomy())
			must(t, "Claim", err)
			if len(rest) == 0 {
				break
			}
		}
	}
}

func claimBackgroundHalf(t *testing.T, w *world) {
	background := func(s *parley.Session) { s.Mode = parley.ModeBackground }
	for range 6 {
		w.post(t, w.session(t, background), w.say("later"))
	}
	occupancy := store.Occupancy{Slots: 4, Reserve: 1}
	claims, err := w.store.Claim(w.ctx, w.process, 5, occupancy)
	if err != nil || len(claims) != 2 {
		t.Fatalf("of 4 slots background work took %d, %v; want half", len(claims), err)
	}
	for range claims {
		occupancy.Take(w.scope.WorkspaceID, parley.ModeBackground)
	}
	w.post(t, w.session(t), w.say("now"))
	claims, err = w.store.Claim(w.ctx, w.process, 3, occupancy)
	if err != nil || len(claims) != 1 || claims[0].Session.Mode != parley.ModeForeground {
		t.Errorf("foreground work did not get the slots that background work leaves: %d claims, %v", len(claims), err)
	}
}

// claimBackgroundPost: a post does not claim a background turn beyond the background's share.
func claimBackgroundPost(t *testing.T, w *world) {
	background := func(s *parley.Session) { s.Mode = parley.ModeBackground }
	posted, err := w.store.PostMessage(w.ctx, w.scope, w.session(t, background), w.say("later"), w.process)
	if err != nil || posted.Claim != nil {
		t.Fatalf("a post to a background session: %v, claimed %v; want it left to Claim", err, posted.Claim != nil)
	}
	if claim := w.claim(t); claim.Turn.ID != posted.Turn.ID {
		t.Errorf("turn %s was claimed; want the posted one", claim.Turn.ID)
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
	claims, err := w.store.Claim(w.ctx, w.process, 10, roomy())
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
		claims, err := w.store.Claim(w.ctx, w.process, 2, roomy())
		must(t, "Claim", err)
		if len(claims) != want {
			t.Errorf("Claim took %d; want %d", len(claims), want)
		}
	}
	claims, err := w.store.Claim(w.ctx, w.process, 0, roomy())
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
			claims []store.Claim
		)
		atOnce(8, func(i int) {
			var got []store.Claim
			var err error
			if i%2 == 0 {
				var posted store.Posted
				posted, err = w.store.PostMessage(w.ctx, w.scope, session, w.say("go"), w.process)
				if posted.Claim != nil {
					got = append(got, *posted.Claim)
				}
			} else {
				got, err = w.store.Claim(w.ctx, w.process, 4, roomy())
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
	if again.Turn.ID != claim.Turn.ID || again.Turn.Attempt != 2 || again.Fence.Epoch <= claim.Fence.Epoch ||
		again.Turn.Takeovers != 0 {
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
	changed.SystemPrompt = new("Be brief.")
	second, err := w.store.UpdateAgent(w.ctx, changed)
	must(t, "UpdateAgent", err)
	claim := w.claim(t)
	if claim.Agent.Version != second.Version || claim.Turn.AgentVersion != second.Version ||
		*claim.Agent.SystemPrompt != "Be brief." {
		t.Errorf(
			"the first claim has version %d of the agent; want the current one, %d",
			claim.Turn.AgentVersion,
			second.Version,
		)
	}
	third := second
	third.SystemPrompt = new("Be long.")
	_, err = w.store.UpdateAgent(w.ctx, third)
	must(t, "UpdateAgent", err)
	must(t, "ReleaseTurn", w.store.ReleaseTurn(w.ctx, claim.Fence))
	if again := w.claim(t); again.Turn.AgentVersion != second.Version || *again.Agent.SystemPrompt != "Be brief." {
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
