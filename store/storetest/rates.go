package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

func (w *world) take(t reporter, subject parley.ID, perMinute int) time.Duration {
	t.Helper()
	wait, err := w.store.TakeRate(w.ctx, w.scope.WorkspaceID, subject, perMinute)
	must(t, "TakeRate", err)
	return wait
}

// rateBounds: a burst of the limit, then one by one; subjects do not share.
func rateBounds(t *testing.T, w *world) {
	subject := parley.NewID()
	for i := range 3 {
		if wait := w.take(t, subject, 3); wait != 0 {
			t.Fatalf("request %d waits %s", i+1, wait)
		}
	}
	asks := func(subject parley.ID) time.Duration {
		wait, err := w.store.RateWait(w.ctx, w.scope.WorkspaceID, subject, 3)
		must(t, "RateWait", err)
		return wait
	}
	free := parley.NewID()
	for range 4 { // RateWait counts nothing
		if wait := asks(free); wait != 0 {
			t.Fatalf("without requests the next one waits %s", wait)
		}
	}
	if wait := asks(subject); wait <= 0 || wait > 20*time.Second {
		t.Errorf("the fourth request of three a minute would wait %s", wait)
	}
	if wait := w.take(t, subject, 3); wait <= 0 || wait > 20*time.Second {
		t.Errorf("the fourth request of three a minute waits %s", wait)
	}
	if wait := w.take(t, parley.NewID(), 3); wait != 0 {
		t.Errorf("another subject waits %s", wait)
	}
	if wait := w.neighbour(t, "other").take(t, subject, 3); wait != 0 {
		t.Errorf("the same subject of another workspace waits %s", wait)
	}
}

func rateRaces(t *testing.T, w *world) { ratesRace(t, w, w) }

// ratesRace: however many callers ask concurrently, and wherever, no more are admitted.
func ratesRace(t *testing.T, w, other *world) {
	const limit, callers = 5, 40
	subject := parley.NewID()
	var admitted atomic.Int64
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			if wait, err := []*world{w, other}[i%2].store.TakeRate(
				w.ctx,
				w.scope.WorkspaceID,
				subject,
				limit,
			); err != nil {
				t.Errorf("TakeRate: %v", err)
			} else if wait == 0 {
				admitted.Add(1)
			}
		})
	}
	group.Wait()
	if got := admitted.Load(); got != limit {
		t.Errorf("%d of %d requests were admitted; want %d", got, callers, limit)
	}
}

// rateWaits: a turn that waits for its rate resumes automatically, and not too early.
func rateWaits(t *testing.T, w *world) {
	id := w.session(t)
	w.post(t, id, w.say("Go"))
	refusal := store.Refusal{Reason: parley.WaitRateLimit, Sentence: "Too fast.", After: time.Hour}
	turn, err := w.store.ParkRefused(w.ctx, w.claim(t).Fence, refusal)
	must(t, "ParkRefused", err)
	if turn.WaitReason != parley.WaitRateLimit {
		t.Errorf("the turn waits for %s", turn.WaitReason)
	}
	w.drainOutbox(t)
	w.claimsNothing(t)
	other := w.session(t)
	w.post(t, other, w.say("Go"))
	refusal.After = time.Millisecond
	_, err = w.store.ParkRefused(w.ctx, w.claim(t).Fence, refusal)
	must(t, "ParkRefused", err)
	for deadline := time.Now().Add(patience); w.sessionState(t, other).Status == parley.SessionWaiting; {
		w.drainOutbox(t)
		if time.Now().After(deadline) {
			t.Fatalf("the turn did not resume")
		}
	}
	if claim := w.claim(t); claim.Session.ID != other {
		t.Errorf("%s resumed", claim.Session.ID)
	}
}

// ratePosts: messages that start a turn are counted, whoever posts them; a refusal leaves nothing. Repeats and other
// messages are not counted.
func ratePosts(t *testing.T, w *world) {
	agent := w.createAgent(t, "slow")
	agent.Limits = &parley.Limits{RequestsPerMinute: new(2)}
	_, err := w.store.UpdateAgent(w.ctx, agent)
	must(t, "UpdateAgent", err)
	for name, change := range map[string]func(*parley.Session){
		"the session's": func(s *parley.Session) { s.Limits = &parley.Limits{RequestsPerMinute: new(2)} },
		"its agent's":   func(s *parley.Session) { s.AgentID = agent.ID },
	} {
		id := w.session(t, change)
		for i, process := range []parley.ID{w.process, {}} {
			post := w.say("Go", keyed("key "+string(rune('a'+i)), "body"))
			_, err := w.store.PostMessage(w.ctx, w.scope, id, post, process)
			must(t, "PostMessage", err)
			_, err = w.store.PostMessage(w.ctx, w.scope, id, post, process)
			must(t, "PostMessage again", err)
		}
		w.post(t, id, w.say("a note", alone))
		before := w.snapshot(t, id)
		for _, process := range []parley.ID{w.process, {}} {
			_, err := w.store.PostMessage(w.ctx, w.scope, id, w.say("Go"), process)
			refused(t, name, err, parley.CodeRateLimited)
			var known *parley.Error
			if !errors.As(err, &known) || known.RetryAfter < time.Second || known.RetryAfter > 31*time.Second {
				t.Errorf("%s limit: %v after %s", name, err, known.RetryAfter)
			}
		}
		w.unchanged(t, "a post that came too early", id, before)
	}
}
