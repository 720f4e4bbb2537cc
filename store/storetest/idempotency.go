package storetest

import (
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testIdempotency(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"ARepeatGivesTheFirstAnswer":    repeatPost,
		"AnotherBodyIsRefused":          repeatOtherBody,
		"FiftyAtOnceMakeOneTurn":        repeatConcurrently,
		"ARefusalIsNotRemembered":       repeatAfterRefusal,
		"KeysAreOfOneSession":           repeatInAnotherSession,
		"CreationOfASession":            repeatCreation,
		"FiftyCreationsMakeOneSession":  repeatCreationConcurrently,
		"GetOrCreateAtOnceMakesOne":     ensureConcurrently,
		"ArchivingDoesNotForget":        repeatAfterArchiving,
		"FirstMessageByKeyIsRepeatable": repeatFirstByKey,
	})
}

func repeatPost(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "zero", "0")
	first := w.post(t, session, w.say("one", keyed("k", "body")))
	before := w.snapshot(t, session)
	again, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("one", keyed("k", "body")), w.process)
	must(t, "the repeat", err)
	if !again.Replayed || again.Message.ID != first.Message.ID || again.Turn == nil || again.Turn.ID != first.Turn.ID ||
		again.EventSequence != first.EventSequence {
		t.Errorf("the repeat gives %+v; want %+v", again, first)
	}
	if first.Replayed || again.Claim != nil {
		t.Errorf("first replayed: %t; claim of the repeat: %+v", first.Replayed, again.Claim)
	}
	w.unchanged(t, "a repeat", session, before)
	w.answer(t, w.claim(t), "1")
	later, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("one", keyed("k", "body")), parley.ID{})
	if err != nil || !later.Replayed || later.Message.ID != first.Message.ID ||
		later.EventSequence != first.EventSequence {
		t.Errorf("a repeat after the turn gives %+v, %v", later, err)
	}
	w.check(t, session)
}

func repeatOtherBody(t *testing.T, w *world) {
	session := w.session(t)
	w.post(t, session, w.say("one", keyed("k", "body")))
	before := w.snapshot(t, session)
	_, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("two", keyed("k", "other")), parley.ID{})
	refused(t, "another body under the key", err, parley.CodeKeyReused)
	w.unchanged(t, "another body under the key", session, before)
}

// atOnce runs n calls concurrently and waits for all.
func atOnce(n int, run func(i int)) {
	var (
		ready, done sync.WaitGroup
		start       = make(chan struct{})
	)
	ready.Add(n)
	for i := range n {
		done.Go(func() { // ends with its call
			ready.Done()
			<-start
			run(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

func repeatConcurrently(t *testing.T, w *world) {
	const n = 50
	session := w.session(t)
	answers, errs := make([]store.Posted, n), make([]error, n)
	atOnce(n, func(i int) {
		answers[i], errs[i] = w.store.PostMessage(w.ctx, w.scope, session, w.say("once", keyed("k", "body")), w.process)
	})
	first, claims := 0, 0
	for i, posted := range answers {
		must(t, "a concurrent repeat", errs[i])
		if posted.Message.ID != answers[0].Message.ID || posted.Turn == nil || posted.Turn.ID != answers[0].Turn.ID {
			t.Errorf("two answers differ: %s and %s", posted.Message.ID, answers[0].Message.ID)
		}
		if !posted.Replayed {
			first++
		}
		if posted.Claim != nil {
			claims++
		}
	}
	if s := w.check(t, session); first != 1 || claims != 1 || len(s.Turns) != 1 || len(s.Record)+len(s.Queue) != 1 {
		t.Errorf(
			"%d first answers, %d claims, %d turns, %d messages; want one each",
			first,
			claims,
			len(s.Turns),
			len(s.Record)+len(s.Queue),
		)
	}
}

func repeatAfterRefusal(t *testing.T, w *world) {
	claim := w.started(t, "one")
	message := w.say("two", keyed("k", "body"), during(parley.DuringReject))
	_, err := w.store.PostMessage(w.ctx, w.scope, claim.Fence.SessionID, message, parley.ID{})
	refused(t, "a rejected post", err, parley.CodeBusy)
	w.answer(t, claim, "1")
	posted, err := w.store.PostMessage(w.ctx, w.scope, claim.Fence.SessionID, message, parley.ID{})
	if err != nil || posted.Replayed {
		t.Errorf("the same key after a refusal: %+v, %v; only success is remembered", posted, err)
	}
}

func repeatInAnotherSession(t *testing.T, w *world) {
	one, two := w.session(t), w.session(t)
	first := w.post(t, one, w.say("x", keyed("k", "body")))
	second := w.post(t, two, w.say("x", keyed("k", "other body")))
	if second.Replayed || first.Message.ID == second.Message.ID {
		t.Errorf("the key of one session works in another: %+v", second)
	}
}

func (w *world) creation(key, body string) store.NewSession {
	first := w.say("hello")
	return store.NewSession{Session: w.newSession(), First: &first,
		Idempotency: store.Idempotency{Key: key, Fingerprint: parley.HashOf([]byte(body))}}
}

func repeatCreation(t *testing.T, w *world) {
	first, err := w.store.EnsureSession(w.ctx, w.scope, w.creation("k", "body"), parley.ID{})
	must(t, "EnsureSession", err)
	again, err := w.store.EnsureSession(w.ctx, w.scope, w.creation("k", "body"), w.process)
	must(t, "the repeat", err)
	if !again.Replayed || again.Session.ID != first.Session.ID || again.Posted == nil ||
		again.Posted.Message.ID != first.Posted.Message.ID ||
		again.Posted.Claim != nil {
		t.Errorf("the repeat gives %+v; want %+v", again, first)
	}
	if !again.Created {
		t.Errorf("the first result has Created, the repeat does not")
	}
	_, err = w.store.EnsureSession(w.ctx, w.scope, w.creation("k", "other"), parley.ID{})
	refused(t, "another body under the key", err, parley.CodeKeyReused)
	elsewhere := w.neighbour(t, "other")
	other, err := w.store.EnsureSession(w.ctx, elsewhere.scope, elsewhere.creation("k", "other"), parley.ID{})
	if err != nil || other.Replayed {
		t.Errorf("another workspace's key: %+v, %v", other, err)
	}
	if s := w.check(t, first.Session.ID); len(s.Record) != 1 {
		t.Errorf("the first message exists %d times", len(s.Record))
	}
}

func repeatCreationConcurrently(t *testing.T, w *world) {
	const n = 50
	answers, errs := make([]store.Opened, n), make([]error, n)
	atOnce(n, func(i int) {
		answers[i], errs[i] = w.store.EnsureSession(w.ctx, w.scope, w.creation("k", "body"), w.process)
	})
	first := 0
	for i, opened := range answers {
		must(t, "a concurrent creation", errs[i])
		if opened.Session.ID != answers[0].Session.ID {
			t.Errorf("two sessions were made")
		}
		if !opened.Replayed {
			first++
		}
	}
	sessions, err := w.store.Sessions(w.ctx, w.scope, store.SessionQuery{Limit: parley.MaxPage})
	must(t, "Sessions", err)
	if s := w.check(t, answers[0].Session.ID); first != 1 || len(sessions) != 1 || len(s.Turns) != 1 {
		t.Errorf("%d first answers, %d sessions, %d turns; want one each", first, len(sessions), len(s.Turns))
	}
}

func ensureConcurrently(t *testing.T, w *world) {
	const n = 30
	answers, errs := make([]store.Opened, n), make([]error, n)
	atOnce(n, func(i int) {
		session, first := w.newSession(), w.say("hello")
		session.Key = "the-one"
		answers[i], errs[i] = w.store.EnsureSession(
			w.ctx,
			w.scope,
			store.NewSession{Session: session, First: &first},
			w.process,
		)
	})
	created, claims := 0, 0
	for i, opened := range answers {
		must(t, "a concurrent get-or-create", errs[i])
		if opened.Session.ID != answers[0].Session.ID {
			t.Errorf("two sessions have one key")
		}
		if opened.Created {
			created++
		}
		if opened.Posted != nil && opened.Posted.Claim != nil {
			claims++
		}
	}
	if s := w.check(t, answers[0].Session.ID); created != 1 || claims != 1 || len(s.Turns) != n || len(s.Queue) != n-1 {
		t.Errorf(
			"%d created, %d claims, %d turns, %d queued; want 1, 1, %d, %d",
			created,
			claims,
			len(s.Turns),
			len(s.Queue),
			n,
			n-1,
		)
	}
}

func repeatAfterArchiving(t *testing.T, w *world) {
	session := w.session(t)
	first := w.post(t, session, w.say("one", keyed("k", "body")))
	w.answer(t, w.claim(t), "1")
	archived := true
	_, err := w.store.UpdateSession(w.ctx, w.scope, session, store.SessionChange{Archived: &archived})
	must(t, "archiving", err)
	again, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("one", keyed("k", "body")), parley.ID{})
	if err != nil || !again.Replayed || again.Message.ID != first.Message.ID {
		t.Errorf("a repeat on the archived session: %+v, %v; want the first answer", again, err)
	}
}

func repeatFirstByKey(t *testing.T, w *world) {
	session := w.newSession()
	session.Key = "s"
	_, err := w.store.EnsureSession(w.ctx, w.scope, store.NewSession{Session: session}, parley.ID{})
	must(t, "EnsureSession", err)
	post := func() (store.Opened, error) {
		again, first := w.newSession(), w.say("hello", keyed("k", "body"))
		again.Key = "s"
		return w.store.EnsureSession(w.ctx, w.scope, store.NewSession{Session: again, First: &first}, parley.ID{})
	}
	one, err := post()
	must(t, "the first message", err)
	two, err := post()
	must(t, "its repeat", err)
	if one.Posted == nil || two.Posted == nil || !two.Posted.Replayed ||
		one.Posted.Message.ID != two.Posted.Message.ID {
		t.Errorf("the repeat gives %+v; want %+v", two.Posted, one.Posted)
	}
	if s := w.check(t, session.ID); len(s.Turns) != 1 {
		t.Errorf("%d turns", len(s.Turns))
	}
}
