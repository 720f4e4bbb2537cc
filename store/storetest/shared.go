package storetest

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// OpenTwo opens two stores on one empty database, like two processes, and closes them at the end of the test.
type OpenTwo func(t *testing.T) (one, other store.Store)

// RunShared is the part of the contract for databases that several processes use at once: whatever one of them caches
// must not override what another has written.
func RunShared(t *testing.T, open OpenTwo) {
	for name, test := range map[string]func(*testing.T, *world, *world){
		"InTurns":                          sharedInTurns,
		"ARefusalIsNotRemembered":          sharedRefusals,
		"EachLeavesItsEntry":               sharedAudit,
		"WhatAnotherTookIsFenced":          sharedFenced,
		"ConcurrentPostsHaveNoGap":         sharedPosts,
		"ClaimedOnce":                      sharedClaims,
		"RepeatsOfOnePost":                 sharedRepeats,
		"OneSessionPerKey":                 sharedKey,
		"AnAgentsNewVersion":               sharedAgent,
		"ChangesOfDifferentParts":          changesMeet,
		"OneOfEachName":                    sharedNames,
		"AChildThatIsMadeMeanwhile":        deleteWhileChildren,
		"WhoSeesWhatIsOpenedMeanwhile":     visibilityWhileChildren,
		"AnExpiredLeaseClaimsNothing":      sharedExpired,
		"TakeoverWhileItsHolderStillFlows": sharedTakeover,
		"ATreeCannotOverspend":             treeCannotOverspend,
		"RatesOfManyAtOnce":                ratesRace,
		"ACompactionIsTakenOnce":           sharedCompaction,
		"ADueScheduleIsPostedOnce":         sharedSchedules,
		"AJoinBeginsOnce":                  joins,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var second store.Store
			w := newWorld(t, func(t *testing.T) (first store.Store) {
				first, second = open(t)
				return first
			})
			other := *w
			other.store = second
			other.process = other.register(t)
			test(t, w, &other)
		})
	}
}

// sharedInTurns: two processes take turns in writing one session.
func sharedInTurns(t *testing.T, w, other *world) {
	session := w.session(t)
	for n := range 3 {
		posted, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("go"), w.process)
		must(t, "PostMessage", err)
		claim := *posted.Claim
		queued := other.post(t, session, other.say("next")).Message
		begin := w.begin(t, claim.Fence, 1)
		steer := other.post(t, session, other.say("by the way", during(parley.DuringSteer))).Message
		_, err = w.store.EditQueued(w.ctx, w.scope, w.owner.ID, queued.ID, []byte(`{"text":"next, better"}`))
		must(t, "EditQueued", err)
		settle := settlement(begin, "answer "+strconv.Itoa(n))
		settle.End = completed()
		if settled := w.settle(t, claim.Fence, settle); !settled.More {
			t.Fatalf("a steer of another process was missed")
		}
		steers, err := w.store.PendingSteers(w.ctx, claim.Fence)
		if err != nil || len(steers) != 1 || steers[0].ID != steer.ID {
			t.Fatalf("PendingSteers reads %+v, %v", steers, err)
		}
		second := w.begin(t, claim.Fence, 2, steers...)
		settle = settlement(second, "to both")
		settle.End = completed()
		w.settle(t, claim.Fence, settle)
		next := other.claim(t)
		if string(next.Trigger.Content) != `{"text":"next, better"}` {
			t.Errorf("the next turn begins with %s", next.Trigger.Content)
		}
		other.answer(t, next, "answered elsewhere")
		w.check(t, session)
	}
}

// sharedRefusals: a refusal, or a result without writes, that is based on cached rows is checked again.
func sharedRefusals(t *testing.T, w, other *world) {
	session := w.session(t)
	posted, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("go"), w.process)
	must(t, "PostMessage", err)
	fence := posted.Claim.Fence
	_, err = other.store.RequestCancel(w.ctx, w.scope, session, parley.ID{}, false)
	must(t, "RequestCancel", err)
	_, err = other.store.TakeCancel(w.ctx, w.scope, session, posted.Turn.ID)
	must(t, "TakeCancel", err)
	_, err = w.store.PendingSteers(w.ctx, fence)
	refused(t, "PendingSteers under a claim that another ended", err, parley.CodeFenced)
	again, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("go", during(parley.DuringReject)), w.process)
	if err != nil || again.Claim == nil {
		t.Fatalf("a session that another process made idle refuses a post: %v", err)
	}
	w.answer(t, *again.Claim, "done")
	yes, no := true, false
	_, err = other.store.UpdateSession(w.ctx, w.scope, session, store.SessionChange{Archived: &yes})
	must(t, "UpdateSession", err)
	_, err = w.store.PostMessage(w.ctx, w.scope, session, w.say("go"), w.process)
	refused(t, "a post to a session that another archived", err, parley.CodeArchived)
	_, err = other.store.UpdateSession(w.ctx, w.scope, session, store.SessionChange{Archived: &no})
	must(t, "UpdateSession", err)
	w.exchange(t, session, "go", "on")
	must(t, "DeleteSession", other.store.DeleteSession(w.ctx, w.scope, session))
	_, err = w.store.PostMessage(w.ctx, w.scope, session, w.say("go"), w.process)
	refused(t, "a post to a session that another deleted", err, parley.CodeNotFound)
	_, err = w.store.EnsureSession(w.ctx, w.scope, store.NewSession{Session: func() parley.Session {
		child := w.newSession()
		child.ParentSessionID = session
		return child
	}()}, parley.ID{})
	refused(t, "a child of a session that another deleted", err, parley.CodeNotFound)
}

// sharedFenced: a process that lost its claim to another can write nothing more.
func sharedFenced(t *testing.T, w, other *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	begin := w.begin(t, claim.Fence, 1)
	other.expire(t, w.process)
	again := other.claimAs(t, other.process)
	before := other.snapshot(t, session)
	settle := settlement(begin, "too late")
	settle.End = completed()
	_, err := w.store.SettleStep(w.ctx, claim.Fence, settle)
	refused(t, "SettleStep", err, parley.CodeFenced)
	appended, err := w.store.AppendVersions(
		w.ctx,
		[]store.FencedVersion{
			{
				Fence: claim.Fence,
				Version: parley.Version{
					MessageID: begin.Call.MessageID,
					N:         1,
					Kind:      parley.KindText,
					End:       4,
					Text:      "late",
				},
			},
		},
	)
	if err != nil || skipped(appended) != 1 || !slices.Contains(appended.Fenced, claim.Fence) {
		t.Errorf("a late flush: %+v, %v", appended, err)
	}
	refused(t, "ReleaseTurn", w.store.ReleaseTurn(w.ctx, claim.Fence), parley.CodeFenced)
	_, err = w.store.RenewLease(w.ctx, w.process, longLease)
	refused(t, "RenewLease", err, parley.CodeFenced)
	other.unchanged(t, "a writer that lost its claim", session, before)
	_, err = other.store.RecoverTurn(w.ctx, again.Fence)
	must(t, "RecoverTurn", err)
	other.answer(t, again, "done")
	other.check(t, session)
}

func sharedPosts(t *testing.T, w, other *world) {
	const n = 60
	session := w.session(t)
	errs := make([]error, n)
	atOnce(n, func(i int) {
		from := w
		if i%2 == 0 {
			from = other
		}
		_, errs[i] = from.store.PostMessage(w.ctx, w.scope, session, from.say(strconv.Itoa(i), alone), parley.ID{})
	})
	for _, err := range errs {
		must(t, "a concurrent post", err)
	}
	if s := w.check(t, session); len(s.Record) != n {
		t.Errorf("%d of %d messages exist", len(s.Record), n)
	}
}

// sharedClaims: both processes claim, and post turns that they may claim, concurrently.
func sharedClaims(t *testing.T, w, other *world) {
	const n = 40
	var mu sync.Mutex
	claimed := map[parley.ID]int{}
	count := func(claims ...store.Claim) {
		mu.Lock()
		defer mu.Unlock()
		for _, claim := range claims {
			claimed[claim.Turn.ID]++
		}
	}
	for range n {
		w.post(t, w.session(t), w.say("wait"))
	}
	atOnce(8, func(i int) {
		from := w
		if i%2 == 0 {
			from = other
		}
		for round := range 6 {
			claims, err := from.store.Claim(w.ctx, from.process, 5, roomy())
			if err != nil {
				t.Errorf("Claim: %v", err)
				return
			}
			count(claims...)
			if round%2 == 0 {
				posted, err := from.store.PostMessage(w.ctx, w.scope, from.session(t), from.say("now"), from.process)
				if err != nil || posted.Claim == nil {
					t.Errorf("PostMessage: %v, claimed %t", err, posted.Claim != nil)
					return
				}
				count(*posted.Claim)
			}
		}
	})
	for {
		claims, err := w.store.Claim(w.ctx, w.process, 100, roomy())
		must(t, "Claim", err)
		if len(claims) == 0 {
			break
		}
		count(claims...)
	}
	for turn, times := range claimed {
		if times != 1 {
			t.Errorf("turn %s was claimed %d times", turn, times)
		}
	}
	if want := n + 8*3; len(claimed) != want {
		t.Errorf("%d of %d turns were claimed", len(claimed), want)
	}
}

// sharedRepeats: repeats of one request reach both processes concurrently.
func sharedRepeats(t *testing.T, w, other *world) {
	const n = 10
	session := w.session(t)
	firsts, ids := 0, map[parley.ID]bool{}
	var mu sync.Mutex
	atOnce(n, func(i int) {
		from := w
		if i%2 == 0 {
			from = other
		}
		posted, err := from.store.PostMessage(
			w.ctx,
			w.scope,
			session,
			from.say("once", keyed("key", "body")),
			from.process,
		)
		if err != nil {
			t.Errorf("PostMessage: %v", err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		ids[posted.Message.ID] = true
		if !posted.Replayed {
			firsts++
		}
	})
	if firsts != 1 || len(ids) != 1 {
		t.Errorf("%d posts claim to be the first, of %d messages", firsts, len(ids))
	}
	_, err := other.store.PostMessage(
		w.ctx,
		w.scope,
		session,
		other.say("another", keyed("key", "another body")),
		parley.ID{},
	)
	refused(t, "the key with another body", err, parley.CodeKeyReused)
	w.check(t, session)
}

func sharedKey(t *testing.T, w, other *world) {
	const n = 10
	made, ids := 0, map[parley.ID]bool{}
	var mu sync.Mutex
	atOnce(n, func(i int) {
		from := w
		if i%2 == 0 {
			from = other
		}
		session, first := from.newSession(), from.say(strconv.Itoa(i))
		session.Key = "the key"
		opened, err := from.store.EnsureSession(
			w.ctx,
			w.scope,
			store.NewSession{Session: session, First: &first},
			parley.ID{},
		)
		if err != nil {
			t.Errorf("EnsureSession: %v", err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		ids[opened.Session.ID] = true
		if opened.Created {
			made++
		}
	})
	if made != 1 || len(ids) != 1 {
		t.Fatalf("%d sessions were made, %d found", made, len(ids))
	}
	for id := range ids {
		if s := w.check(t, id); len(s.Record)+len(s.Queue) != n {
			t.Errorf("%d of %d messages exist", len(s.Record)+len(s.Queue), n)
		}
	}
}

// sharedAgent: a turn is bound to the current version of its agent, whichever process made it.
func sharedAgent(t *testing.T, w, other *world) {
	session := w.session(t)
	w.exchange(t, session, "go", "old")
	changed := w.agent
	changed.Description = "changed elsewhere"
	changed, err := other.store.UpdateAgent(w.ctx, changed)
	must(t, "UpdateAgent", err)
	posted, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("go"), w.process)
	must(t, "PostMessage", err)
	if posted.Claim == nil || posted.Claim.Turn.AgentVersion != changed.Version ||
		posted.Claim.Agent.Description != changed.Description {
		t.Errorf("the turn runs version %d of the agent; want %d", posted.Claim.Turn.AgentVersion, changed.Version)
	}
}

// sharedExpired: leases expire by the database's clock, not by the process's.
func sharedExpired(t *testing.T, w, other *world) {
	session := w.session(t)
	w.exchange(t, session, "go", "on")
	_, err := other.store.RenewLease(w.ctx, w.process, 0)
	must(t, "RenewLease", err)
	posted, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("go"), w.process)
	if err != nil || posted.Claim != nil || posted.Turn.Status != parley.TurnQueued {
		t.Errorf(
			"a process without a lease posts: %v, claimed %t, the turn is %s",
			err,
			posted.Claim != nil,
			posted.Turn.Status,
		)
	}
	_, err = w.store.Claim(w.ctx, w.process, 5, roomy())
	refused(t, "a claim without a lease", err, parley.CodeFenced)
	if claim := other.claim(t); claim.Turn.ID != posted.Turn.ID {
		t.Errorf("the turn is not ready for others")
	}
	w.check(t, session)
}

// sharedTakeover: a session is taken over while its holder continues to write: each transition belongs entirely to one
// of them.
func sharedTakeover(t *testing.T, w, other *world) {
	for range 5 {
		claim := w.started(t, "go")
		done := make(chan struct{})
		go func() { // ends when fenced
			defer close(done)
			for step := 1; ; step++ {
				begin := w.stepBegin(step, 1)
				if _, err := w.store.BeginStep(w.ctx, claim.Fence, begin); err != nil {
					if parley.ErrorCode(err) != parley.CodeFenced {
						t.Errorf("BeginStep: %v", err)
					}
					return
				}
				if _, err := w.store.SettleStep(w.ctx, claim.Fence, settlement(begin, "more")); err != nil {
					if parley.ErrorCode(err) != parley.CodeFenced {
						t.Errorf("SettleStep: %v", err)
					}
					return
				}
			}
		}()
		for deadline := time.Now().Add(patience); w.turn(t, claim.Turn.ID).Step < 3 && time.Now().Before(deadline); {
		}
		other.expire(t, w.process)
		<-done
		again := other.claimAs(t, other.process)
		state, err := other.store.RecoverTurn(w.ctx, again.Fence)
		must(t, "RecoverTurn", err)
		if len(state.Messages) == 0 {
			t.Errorf("nothing was recovered")
		}
		_, err = other.store.FinishTurn(w.ctx, again.Fence, *completed())
		must(t, "FinishTurn", err)
		w.check(t, claim.Fence.SessionID)
		w.process = w.register(t)
	}
}

// sharedNames: an object with a unique name is made once, however many concurrent calls make it in either process.
func sharedNames(t *testing.T, w, other *world) {
	const makers = 12
	stores := []store.Store{w.store, other.store}
	every := func(what string, made int, try func(store.Store) (parley.ID, bool, error)) {
		t.Helper()
		var (
			ids   [makers]parley.ID
			isNew [makers]bool
			errs  [makers]error
			group sync.WaitGroup
		)
		for i := range makers {
			group.Go(func() { ids[i], isNew[i], errs[i] = try(stores[i%2]) }) // ends with its call
		}
		group.Wait()
		different, news := map[parley.ID]bool{}, 0
		for i, err := range errs {
			switch {
			case err == nil:
				different[ids[i]] = true
			case parley.ErrorCode(err) != parley.CodeConflict:
				t.Errorf("%s: %v", what, err)
			}
			if err == nil && isNew[i] {
				news++
			}
		}
		if len(different) != 1 || news != made {
			t.Errorf(
				"%s: %d exist, %d reported as new; want one, and %d reports",
				what,
				len(different),
				news,
				made,
			)
		}
	}
	every("a workspace", 0, func(s store.Store) (parley.ID, bool, error) {
		id, err := s.Workspace(w.ctx, "another")
		return id, false, err
	})
	every("its owner", 0, func(s store.Store) (parley.ID, bool, error) {
		owner, err := s.LocalOwner(w.ctx, w.scope.WorkspaceID)
		return owner.ID, false, err
	})
	agent := parley.Agent{
		WorkspaceID: w.scope.WorkspaceID,
		Slug:        "named",
		Name:        "Named",
		Runtime:     parley.StandardRuntime,
	}
	every("an agent", 1, func(s store.Store) (parley.ID, bool, error) {
		made, _, err := s.CreateAgent(w.ctx, agent, store.Idempotency{})
		return made.ID, true, err
	})
	agent.Slug = "repeated"
	every("a repeated agent", 1, func(s store.Store) (parley.ID, bool, error) {
		made, repeat, err := s.CreateAgent(
			w.ctx,
			agent,
			store.Idempotency{Key: "k", Fingerprint: parley.HashOf([]byte("body"))},
		)
		return made.ID, !repeat, err
	})
	every("a key", 1, func(s store.Store) (parley.ID, bool, error) {
		id := parley.NewID()
		made, err := s.CreateKey(
			w.ctx,
			store.NewKey{
				Key:  parley.Key{ID: id, WorkspaceID: w.scope.WorkspaceID, Name: "named", Role: parley.RoleMember},
				Hash: parley.HashOf(id[:]),
			},
		)
		return made.ID, true, err
	})
	every("a project", 1, func(s store.Store) (parley.ID, bool, error) {
		return project(
			s.ChooseProject(w.ctx, parley.Project{WorkspaceID: w.scope.WorkspaceID, Path: "/srv/named", Name: "named"}),
		)
	})
}

func project(chosen parley.Project, isNew bool, err error) (parley.ID, bool, error) {
	return chosen.ID, isNew, err
}
