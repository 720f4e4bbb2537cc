package storetest

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

func testCompactions(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"ASummaryEntersAtOnce":                compactIdle,
		"ASummaryEntersAsTheTurnEnds":         compactBesideATurn,
		"ASummaryEntersBeforeANextStep":       compactForATurn,
		"InParts":                             compactInParts,
		"OneAtATime":                          compactOnce,
		"AnAttemptFollows":                    compactAgain,
		"GivenUpItRests":                      compactRests,
		"ASummarySetAsideRests":               compactSetAside,
		"AWaitingSummaryIsTheLast":            compactWaits,
		"ADeadProcessIsTakenOver":             compactTakenOver,
		"CrashesAreBounded":                   compactCrashes,
		"AClaimThatNeverArrived":              compactLost,
		"ReleasedItCountsNoAttempt":           compactReleased,
		"TheBudgetIsCharged":                  compactCharged,
		"ADeletedSession":                     compactDeleted,
		"ScopesAndArchives":                   compactScopes,
		"ClaimedWithALeaseAlone":              compactUnleased,
		"ASummaryThatIsRemovedFromTheQueue":   compactRemoved,
		"BesideATurnThatFailsAndIsTakenAgain": compactThenRetry,
		"APersonRevisesASummary":              compactRevised,
		"AwaitedOnesGoFirst":                  compactAwaited,
		"WorkspacesTakeTurns":                 compactFair,
	})
}

func (w *world) requestCompaction(t reporter, session parley.ID, reason parley.CompactionReason) parley.Compaction {
	t.Helper()
	id := parley.NewID()
	c, err := w.store.RequestCompaction(w.ctx, w.scope, session, store.NewCompaction{ID: id, Reason: reason})
	must(t, "RequestCompaction", err)
	if c.ID != id || c.State != parley.CompactionPending {
		t.Fatalf("RequestCompaction made %+v", c)
	}
	return c
}

func (w *world) claimCompactions(t reporter, process parley.ID, running ...parley.ID) []store.CompactionClaim {
	t.Helper()
	claims, err := w.store.ClaimCompactions(w.ctx, process, running, roomy())
	must(t, "ClaimCompactions", err)
	return claims
}

func (w *world) claimCompaction(t reporter, session parley.ID) store.CompactionClaim {
	t.Helper()
	claims := w.claimCompactions(t, w.process)
	if len(claims) != 1 || claims[0].Session.ID != session || claims[0].Compaction.State != parley.CompactionRunning ||
		claims[0].Agent.ID != w.agent.ID {
		t.Fatalf("ClaimCompactions took %+v; want the one of session %s", claims, session)
	}
	return claims[0]
}

// beginCompaction opens the call of an attempt that sums up messages 1 to through.
func (w *world) beginCompaction(
	t reporter,
	fence store.CompactionFence,
	through int64,
	changes ...func(*store.CompactionBegin),
) store.CompactionBegin {
	t.Helper()
	step := w.stepBegin(0, 1)
	begin := store.CompactionBegin{Call: step.Call, System: step.System, CoversFrom: 1, CoversThrough: through}
	begin.Call.Purpose, begin.Call.MessageID, begin.Call.ToolsHash = parley.PurposeCompaction, parley.ID{},
		parley.Hash{}
	for _, change := range changes {
		change(&begin)
	}
	must(t, "BeginCompaction", w.store.BeginCompaction(w.ctx, fence, begin))
	return begin
}

func (w *world) summary(begin store.CompactionBegin, text string) store.CompactionSettle {
	content, err := parley.EncodeContent(parley.TextContent{Text: text})
	if err != nil {
		panic(err) // text of the tests
	}
	end := callEnd(begin.Call.ID, parley.CallCompleted)
	return store.CompactionSettle{
		Call:    &end,
		Summary: &store.NewSummary{MessageID: parley.NewID(), Author: w.author(), Content: content, TokenEstimate: 3},
	}
}

func (w *world) settleCompaction(
	t reporter,
	fence store.CompactionFence,
	settle store.CompactionSettle,
) parley.Compaction {
	t.Helper()
	c, err := w.store.SettleCompaction(w.ctx, fence, settle)
	must(t, "SettleCompaction", err)
	return c
}

// compacted runs a whole compaction that covers messages 1 to through.
func (w *world) compacted(t reporter, session parley.ID, through int64, text string) parley.Compaction {
	t.Helper()
	w.requestCompaction(t, session, parley.CompactMessages)
	claim := w.claimCompaction(t, session)
	return w.settleCompaction(t, claim.Fence, w.summary(w.beginCompaction(t, claim.Fence, through), text))
}

func (w *world) compaction(t reporter, session parley.ID) parley.Compaction {
	t.Helper()
	c, err := w.store.Compaction(w.ctx, w.scope, session)
	must(t, "Compaction", err)
	return c
}

func (w *world) compactionIs(
	t reporter,
	session parley.ID,
	state parley.CompactionState,
	attempt int,
) parley.Compaction {
	t.Helper()
	c := w.compaction(t, session)
	if c.State != state || c.Attempt != attempt || (c.FinishedAt != 0) != state.Finished() ||
		(c.Holder.IsZero()) == (state == parley.CompactionRunning) {
		t.Fatalf("the compaction is %+v; want %s at attempt %d", c, state, attempt)
	}
	return c
}

func broke(again time.Duration) store.CompactionSettle {
	return store.CompactionSettle{Failure: failed(parley.ClassModel).Failure, Again: again}
}

func compactIdle(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "q", "a")
	if none := w.compaction(
		t,
		session,
	); none.State != parley.CompactionNone || !none.ID.IsZero() ||
		none.SessionID != session {
		t.Errorf("a session that was never compacted has %+v", none)
	}
	c := w.compacted(t, session, 2, "they greeted")
	w.exchange(t, session, "q2", "a2")
	s := w.check(t, session)
	summary := s.Record[2]
	if summary.ID != c.MessageID || summary.Role != parley.RoleSummary || summary.CoversThrough == nil ||
		*summary.CoversThrough != 2 ||
		summary.TokenEstimate != 3 ||
		!summary.TurnID.IsZero() ||
		summary.Usage == nil ||
		string(summary.Content) != `{"text":"they greeted"}` {
		t.Errorf("the summary is %+v", summary)
	}
	if want := (parley.SummaryOrigin{CallID: c.CallID, CompactionID: c.ID, CoversFrom: 1}); parley.OriginOf(
		summary.Metadata,
	) != want {
		t.Errorf("the summary's metadata is %s", summary.Metadata)
	}
	call := s.Calls[1]
	if call.Purpose != parley.PurposeCompaction || call.ID != c.CallID || !call.TurnID.IsZero() ||
		!call.MessageID.IsZero() ||
		call.Outcome != parley.CallCompleted ||
		call.Ordinal == 0 {
		t.Errorf("the call is %+v", call)
	}
	var told []string
	for _, e := range s.Events {
		if strings.HasPrefix(string(e.Type), "compaction.") ||
			e.Type == parley.EventMessageCreated && strings.Contains(string(e.Data), c.MessageID.String()) {
			told = append(told, string(e.Type))
		}
	}
	if want := []string{"compaction.started", "message.created", "compaction.completed"}; !slices.Equal(told, want) {
		t.Errorf("the events are %v; want %v", told, want)
	}
	w.compactionIs(t, session, parley.CompactionCompleted, 1)
	refused(
		t,
		"settling twice",
		second(
			w.store.SettleCompaction(
				w.ctx,
				store.CompactionFence{
					WorkspaceID:  w.scope.WorkspaceID,
					SessionID:    session,
					CompactionID: c.ID,
					Epoch:        c.Epoch,
				},
				broke(0),
			),
		),
		parley.CodeFenced,
	)
}

func second[T any](_ T, err error) error { return err }

// compactBesideATurn: a compaction does not disturb a running turn, and its summary comes before the next trigger,
// whatever was queued earlier.
func compactBesideATurn(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "q", "a")
	posted, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("long"), w.process)
	must(t, "PostMessage", err)
	begin := w.begin(t, posted.Claim.Fence, 1)
	w.post(t, session, w.say("next"))
	c := w.compacted(t, session, 2, "short")
	if s := w.check(
		t,
		session,
	); len(s.Queue) != 2 || s.Queue[0].ID != c.MessageID || s.Queue[0].Role != parley.RoleSummary ||
		len(s.Record) != 4 {
		t.Fatalf("while the turn runs the queue is %+v", s.Queue)
	}
	settle := settlement(begin, "done")
	settle.End = completed()
	w.settle(t, posted.Claim.Fence, settle)
	w.answer(t, w.claim(t), "next answer")
	s := w.check(t, session)
	var roles []parley.Role
	for _, m := range s.Record {
		roles = append(roles, m.Role)
	}
	if want := []parley.Role{
		"user",
		"assistant",
		"user",
		"assistant",
		"summary",
		"user",
		"assistant",
	}; !slices.Equal(
		roles,
		want,
	) {
		t.Errorf("the record is %v; want %v", roles, want)
	}
}

func compactForATurn(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "q", "a")
	posted, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("long"), w.process)
	must(t, "PostMessage", err)
	fence := posted.Claim.Fence
	enter := func() bool {
		t.Helper()
		entered, err := w.store.EnterSummary(w.ctx, fence)
		must(t, "EnterSummary", err)
		return entered != nil
	}
	if enter() {
		t.Errorf("a summary entered without a compaction")
	}
	begin := w.begin(t, fence, 1)
	c := w.compacted(t, session, 2, "short")
	refused(t, "entering into an open step", second(w.store.EnterSummary(w.ctx, fence)), parley.CodeConflict)
	settle := settlement(begin, "")
	settle.Blocks[0].Status, settle.Call = parley.MessageFailed, callEnd(begin.Call.ID, parley.CallFailed)
	w.settle(t, fence, settle)
	if !enter() || enter() {
		t.Errorf("the summary did not enter once")
	}
	if m := w.message(t, c.MessageID); m.Status != parley.MessageCompleted || m.Sequence != 5 {
		t.Errorf("the summary is %+v", m)
	}
	again := w.stepBegin(1, 2)
	must(t, "BeginStep", second(w.store.BeginStep(w.ctx, fence, again)))
	settle = settlement(again, "done")
	settle.End = completed()
	w.settle(t, fence, settle)
	w.check(t, session)
	refused(t, "entering without a claim", second(w.store.EnterSummary(w.ctx, fence)), parley.CodeFenced)

	tools, _ := w.parked(t, 1)
	refused(t, "entering for a turn that waits", second(w.store.EnterSummary(w.ctx, tools.Fence)), parley.CodeFenced)
}

func compactOnce(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "q", "a")
	first := w.requestCompaction(t, session, parley.CompactAsked)
	for _, state := range []parley.CompactionState{parley.CompactionPending, parley.CompactionRunning} {
		for _, reason := range []parley.CompactionReason{parley.CompactMessages, parley.CompactTokens,
			parley.CompactOverflow} {
			c, err := w.store.RequestCompaction(
				w.ctx,
				w.scope,
				session,
				store.NewCompaction{ID: parley.NewID(), Reason: reason},
			)
			if err != nil || c.ID != first.ID || c.State != state {
				t.Errorf("another one by %s is %+v, %v", reason, c, err)
			}
		}
		_, err := w.store.RequestCompaction(
			w.ctx,
			w.scope,
			session,
			store.NewCompaction{ID: parley.NewID(), Reason: parley.CompactAsked},
		)
		refused(t, "asking for another one", err, parley.CodeConflict)
		if state == parley.CompactionPending {
			w.claimCompaction(t, session)
		}
	}
	if claims := w.claimCompactions(t, w.process, first.ID); len(claims) != 0 {
		t.Errorf("a compaction that runs was claimed again: %+v", claims)
	}
	if claims := w.claimCompactions(t, w.register(t)); len(claims) != 0 {
		t.Errorf("a compaction that runs elsewhere was claimed: %+v", claims)
	}
}

func compactAgain(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "q", "a")
	w.requestCompaction(t, session, parley.CompactMessages)
	claim := w.claimCompaction(t, session)
	begin := w.beginCompaction(t, claim.Fence, 2)
	settle := broke(time.Hour)
	end := callEnd(begin.Call.ID, parley.CallFailed)
	settle.Call = &end
	c := w.settleCompaction(t, claim.Fence, settle)
	if c.State != parley.CompactionPending || c.Error == nil ||
		c.NotBefore-c.UpdatedAt != parley.Time(time.Hour.Milliseconds()) {
		t.Errorf("after a first attempt, it is %+v", c)
	}
	if claims := w.claimCompactions(t, w.process); len(claims) != 0 {
		t.Errorf("an attempt was claimed before its time: %+v", claims)
	}
	refused(
		t,
		"a settle of the attempt before",
		second(w.store.SettleCompaction(w.ctx, claim.Fence, broke(0))),
		parley.CodeFenced,
	)
	if s := w.check(t, session); len(s.Record) != 2 {
		t.Errorf("a failed attempt changed the record: %+v", s.Record)
	}
}

// compactRests: a compaction that was given up does not start automatically before the record has grown, but does when
// requested or needed.
func compactRests(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "q", "a")
	w.requestCompaction(t, session, parley.CompactMessages)
	claim := w.claimCompaction(t, session)
	if c := w.settleCompaction(
		t,
		claim.Fence,
		broke(0),
	); c.State != parley.CompactionFailed ||
		c.RestsUntil != 2+parley.CompactionRest {
		t.Fatalf("given up, it is %+v", c)
	}
	c, err := w.store.RequestCompaction(
		w.ctx,
		w.scope,
		session,
		store.NewCompaction{ID: parley.NewID(), Reason: parley.CompactTokens},
	)
	if err != nil || c.ID != claim.Fence.CompactionID || c.RestsUntil != 2+parley.CompactionRest {
		t.Errorf("an automatic one is %+v, %v; want the last one, resting", c, err)
	}
	w.requestCompaction(t, session, parley.CompactAsked)
	w.settleCompaction(t, w.claimCompaction(t, session).Fence, broke(0))
	w.requestCompaction(t, session, parley.CompactOverflow)
	w.settleCompaction(t, w.claimCompaction(t, session).Fence, broke(0))
	for range parley.CompactionRest / 2 {
		w.exchange(t, session, "q", "a")
	}
	w.requestCompaction(t, session, parley.CompactMessages)
	w.check(t, session)
}

func compactSetAside(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "q", "a")
	first := w.compacted(t, session, 2, "short")
	w.mark(t, first.MessageID, parley.MarksChange{SetAside: new(true)})
	c, err := w.store.RequestCompaction(
		w.ctx,
		w.scope,
		session,
		store.NewCompaction{ID: parley.NewID(), Reason: parley.CompactMessages},
	)
	if err != nil || c.ID != first.ID || c.RestsUntil != 3+parley.CompactionRest {
		t.Errorf("after its summary was set aside, an automatic one is %+v, %v", c, err)
	}
	w.mark(t, first.MessageID, parley.MarksChange{SetAside: new(false)})
	w.requestCompaction(t, session, parley.CompactMessages)
}

func (w *world) mark(t reporter, message parley.ID, change parley.MarksChange) {
	t.Helper()
	_, err := w.store.MarkMessage(w.ctx, w.scope, parley.ID{}, message, change)
	must(t, "MarkMessage", err)
}

func compactWaits(t *testing.T, w *world) {
	claim := w.started(t, "long")
	w.compacted(t, claim.Session.ID, 1, "short")
	_, err := w.store.RequestCompaction(
		w.ctx,
		w.scope,
		claim.Session.ID,
		store.NewCompaction{ID: parley.NewID(), Reason: parley.CompactMessages},
	)
	refused(t, "a compaction before the last one's summary is in the record", err, parley.CodeConflict)
	w.answer(t, claim, "done")
	w.requestCompaction(t, claim.Session.ID, parley.CompactMessages)
	w.check(t, claim.Session.ID)
}

func compactCharged(t *testing.T, w *world) {
	session := w.capped(t, parley.Limits{SessionTokens: tokens(100)})
	w.exchange(t, session, "q", "a")
	before := w.budget(t, session)
	w.requestCompaction(t, session, parley.CompactMessages)
	claim := w.claimCompaction(t, session)
	tooMuch := store.CompactionBegin{
		Call:          w.stepBegin(0, 1).Call,
		CoversFrom:    1,
		CoversThrough: 2,
		Reservation:   w.asks(t, session, 101),
	}
	refused(t, "a call beyond the budget", w.store.BeginCompaction(w.ctx, claim.Fence, tooMuch), parley.CodeOverBudget)
	begin := w.beginCompaction(
		t,
		claim.Fence,
		2,
		func(b *store.CompactionBegin) { b.Reservation = w.asks(t, session, 60) },
	)
	if b := w.budget(t, session); b.ReservedTokens != 60 {
		t.Errorf("while the call is open %d tokens are reserved", b.ReservedTokens)
	}
	w.settleCompaction(t, claim.Fence, w.summary(begin, "short"))
	if b := w.budget(t, session); b.ReservedTokens != 0 || b.Tokens != before.Tokens+14 {
		t.Errorf("after it the budget is %+v", b)
	}
	w.requestCompaction(t, session, parley.CompactMessages)
	claim = w.claimCompaction(t, session)
	w.beginCompaction(t, claim.Fence, 2, func(b *store.CompactionBegin) { b.Reservation = w.asks(t, session, 30) })
	w.claimCompaction(t, session) // as after a crash
	if b := w.budget(t, session); b.ReservedTokens != 0 || b.Tokens != before.Tokens+14+30 {
		t.Errorf("an interrupted call left the budget at %+v; its estimate must stay spent", b)
	}
	w.check(t, session)
}

func compactDeleted(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "q", "a")
	w.requestCompaction(t, session, parley.CompactMessages)
	claim := w.claimCompaction(t, session)
	begin := w.beginCompaction(t, claim.Fence, 2)
	waits := w.session(t)
	w.requestCompaction(t, waits, parley.CompactMessages)
	for _, id := range []parley.ID{session, waits} {
		must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, id))
	}
	refused(
		t,
		"SettleCompaction",
		second(w.store.SettleCompaction(w.ctx, claim.Fence, w.summary(begin, "late"))),
		parley.CodeFenced,
	)
	if claims := w.claimCompactions(t, w.process); len(claims) != 0 {
		t.Errorf("the compaction of a deleted session was claimed: %+v", claims)
	}
	refused(t, "Compaction", second(w.store.Compaction(w.ctx, w.scope, session)), parley.CodeNotFound)
	for more := true; more; {
		var err error
		more, err = w.store.ApplyOutbox(w.ctx)
		must(t, "ApplyOutbox", err)
	}
}

func compactScopes(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "q", "a")
	elsewhere, stranger := w.neighbour(
		t,
		"elsewhere",
	).scope, store.Scope{
		WorkspaceID: w.scope.WorkspaceID,
		ViewerID:    parley.NewID(),
	}
	for _, scope := range []store.Scope{elsewhere, stranger} {
		refused(
			t,
			"RequestCompaction",
			second(
				w.store.RequestCompaction(
					w.ctx,
					scope,
					session,
					store.NewCompaction{ID: parley.NewID(), Reason: parley.CompactAsked},
				),
			),
			parley.CodeNotFound,
		)
		refused(t, "Compaction", second(w.store.Compaction(w.ctx, scope, session)), parley.CodeNotFound)
	}
	_, err := w.store.UpdateSession(w.ctx, w.scope, session, store.SessionChange{Archived: new(true)})
	must(t, "UpdateSession", err)
	refused(
		t,
		"asking in an archived session",
		second(
			w.store.RequestCompaction(
				w.ctx,
				w.scope,
				session,
				store.NewCompaction{ID: parley.NewID(), Reason: parley.CompactAsked},
			),
		),
		parley.CodeArchived,
	)
}

func compactUnleased(t *testing.T, w *world) {
	session := w.session(t)
	w.requestCompaction(t, session, parley.CompactMessages)
	_, err := w.store.ClaimCompactions(w.ctx, parley.NewID(), nil, roomy())
	refused(t, "a claim without a lease", err, parley.CodeFenced)
	w.compactionIs(t, session, parley.CompactionPending, 0)
}

func compactRemoved(t *testing.T, w *world) {
	claim := w.started(t, "long")
	c := w.compacted(t, claim.Session.ID, 1, "short")
	_, err := w.store.RemoveQueued(w.ctx, w.scope, c.MessageID)
	must(t, "RemoveQueued", err)
	w.answer(t, claim, "done")
	if s := w.check(t, claim.Session.ID); len(s.Record) != 2 {
		t.Errorf("a removed summary entered the record")
	}
	w.requestCompaction(t, claim.Session.ID, parley.CompactMessages)
}

// compactThenRetry: a summary that enters as a turn fails does not keep the turn from being retried.
func compactThenRetry(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "q", "a")
	posted, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("long"), w.process)
	must(t, "PostMessage", err)
	w.compacted(t, session, 2, "short")
	must(t, "FinishTurn", second(w.store.FinishTurn(w.ctx, posted.Claim.Fence, *failed(parley.ClassStream))))
	resumed, err := w.store.RetryTurn(
		w.ctx,
		w.scope,
		session,
		posted.Turn.ID,
		store.TurnAgain{TurnID: parley.NewID()},
		w.process,
	)
	must(t, "RetryTurn", err)
	w.answer(t, *resumed.Claim, "done")
	w.check(t, session)
}

// sharedCompaction: of two processes that look at once, one takes it.
func sharedCompaction(t *testing.T, w, other *world) {
	session := w.session(t)
	for range 5 {
		w.exchange(t, session, "q", "a")
		w.requestCompaction(t, session, parley.CompactMessages)
		var wait sync.WaitGroup
		taken := make([][]store.CompactionClaim, 2)
		for i, who := range []*world{w, other} {
			wait.Go(func() { taken[i], _ = who.store.ClaimCompactions(who.ctx, who.process, nil, roomy()) })
		}
		wait.Wait()
		claims := append(taken[0], taken[1]...)
		if len(claims) != 1 {
			t.Fatalf("two processes took %d claims of one compaction: %+v", len(claims), claims)
		}
		by := w
		if len(taken[1]) == 1 {
			by = other
		}
		begin := by.beginCompaction(t, claims[0].Fence, 2)
		other.post(t, session, other.say("meanwhile"))
		by.settleCompaction(t, claims[0].Fence, by.summary(begin, "short"))
		w.answer(t, w.claim(t), "answered")
		other.check(t, session)
	}
}

func compactRevised(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "q", "a")
	first := w.compacted(t, session, 2, "short")
	content, err := parley.EncodeContent(parley.TextContent{Text: "shorter"})
	must(t, "EncodeContent", err)
	revise := func(of, latest parley.ID) (parley.Message, error) {
		return w.store.ReviseSummary(w.ctx, w.scope, session, store.SummaryRevision{
			OfID: of, Latest: latest,
			Summary: store.NewSummary{MessageID: parley.NewID(), Author: w.owner.Author(), Content: content},
		})
	}
	before := w.check(t, session)
	_, err = revise(first.MessageID, parley.NewID())
	refused(t, "a revision after another summary", err, parley.CodeConflict)
	_, err = revise(before.Record[0].ID, first.MessageID)
	refused(t, "a revision of a question", err, parley.CodeConflict)
	_, err = revise(parley.NewID(), first.MessageID)
	refused(t, "a revision of nothing", err, parley.CodeNotFound)
	w.unchanged(t, "refused revisions", session, before)
	revised, err := revise(first.MessageID, first.MessageID)
	must(t, "ReviseSummary", err)
	if revised.Sequence != 4 || *revised.CoversThrough != 2 ||
		parley.OriginOf(revised.Metadata).RevisesID != first.MessageID ||
		w.compaction(t, session).MessageID != revised.ID {
		t.Errorf("the revision is %+v", revised)
	}
	head, err := w.store.ContextHead(w.ctx, w.scope.WorkspaceID, session)
	must(t, "ContextHead", err)
	if head.Summary == nil || head.Summary.ID != revised.ID {
		t.Errorf("the context begins with %+v", head.Summary)
	}
	_, err = revise(first.MessageID, first.MessageID)
	refused(t, "the same revision again", err, parley.CodeConflict)
	w.requestCompaction(t, session, parley.CompactAsked)
	_, err = revise(revised.ID, revised.ID)
	refused(t, "a revision beside a compaction", err, parley.CodeConflict)
	w.check(t, session)
}

// awaitCompaction says that a turn waits for a summary of a session.
func (w *world) awaitCompaction(t reporter, session parley.ID) {
	t.Helper()
	c, err := w.store.RequestCompaction(w.ctx, w.scope, session,
		store.NewCompaction{ID: parley.NewID(), Reason: parley.CompactTokens, Awaited: true})
	must(t, "RequestCompaction", err)
	if !c.Awaited {
		t.Fatalf("an awaited compaction is %+v", c)
	}
}

// compactAwaited: those that a turn waits for come before all others, also one that began without; and find a place
// where work that nobody waits for finds none.
func compactAwaited(t *testing.T, w *world) {
	var sessions []parley.ID
	for range 4 {
		session := w.session(t)
		w.exchange(t, session, "q", "a")
		w.requestCompaction(t, session, parley.CompactMessages)
		sessions = append(sessions, session)
	}
	w.awaitCompaction(t, sessions[3]) // its compaction is pending
	occupancy := store.Occupancy{Slots: 2}
	occupancy.Take(parley.NewID(), parley.ModeBackground)
	claims, err := w.store.ClaimCompactions(w.ctx, w.process, nil, occupancy)
	must(t, "ClaimCompactions", err)
	if len(claims) != 1 || claims[0].Session.ID != sessions[3] || !claims[0].Compaction.Awaited {
		t.Fatalf("beside background work %+v was claimed; want the one that is awaited", claims)
	}
	if rest := w.claimCompactions(t, w.process, claims[0].Compaction.ID); len(rest) != 3 {
		t.Fatalf("with places for all %d more were claimed; want 3", len(rest))
	}
}

// compactFair: among those that are awaited the workspaces take turns, one that holds many places gets none of those
// that are kept, and what it has under way counts.
func compactFair(t *testing.T, w *world) {
	other := w.neighbour(t, "other")
	for range 5 {
		session := w.session(t)
		w.exchange(t, session, "q", "a")
		w.awaitCompaction(t, session)
	}
	claim := func(occupancy store.Occupancy, running ...parley.ID) []store.CompactionClaim {
		t.Helper()
		claims, err := w.store.ClaimCompactions(w.ctx, w.process, running, occupancy)
		must(t, "ClaimCompactions", err)
		return claims
	}
	first := claim(store.Occupancy{Slots: 2})
	var running []parley.ID
	kept := store.Occupancy{Slots: 2, Reserve: 2}
	for i := range first {
		running = append(running, first[i].Compaction.ID)
		kept.Take(w.scope.WorkspaceID, parley.ModeForeground)
	}
	if len(first) != 2 {
		t.Fatalf("of two places one workspace alone took %d", len(first))
	}
	if more := claim(kept.Clone(), running...); len(more) != 0 {
		t.Fatalf("a workspace that holds two of four places took %d more; want none", len(more))
	}
	session := other.session(t)
	other.exchange(t, session, "q", "a")
	other.awaitCompaction(t, session)
	if claims := claim(kept, running...); len(claims) != 1 || claims[0].Session.ID != session {
		t.Fatalf("the kept places went to %+v; want the other workspace's", claims)
	}
}

// compactInParts: a summary from originals takes several calls under one claim; only the last one ends it.
func compactInParts(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "q", "a")
	wanted := store.NewCompaction{ID: parley.NewID(), Reason: parley.CompactAsked, From: parley.FromOriginals}
	_, err := w.store.RequestCompaction(w.ctx, w.scope, session, wanted)
	must(t, "RequestCompaction", err)
	claim := w.claimCompaction(t, session)
	if claim.Compaction.From != parley.FromOriginals {
		t.Errorf("claimed, it is %+v", claim.Compaction)
	}
	first := w.beginCompaction(t, claim.Fence, 2)
	ended := w.summary(first, "of the first part")
	ended.Summary = nil
	c, err := w.store.SettleCompaction(w.ctx, claim.Fence, ended)
	must(t, "SettleCompaction", err)
	if c.State != parley.CompactionRunning || c.FinishedAt != 0 {
		t.Errorf("after a part it is %+v", c)
	}
	last := w.beginCompaction(t, claim.Fence, 2)
	w.settleCompaction(t, claim.Fence, w.summary(last, "short"))
	w.compactionIs(t, session, parley.CompactionCompleted, 1)
	s := w.check(t, session)
	if len(s.Record) != 3 || len(s.Calls) != 3 || s.Calls[1].Outcome != parley.CallCompleted ||
		s.Calls[2].Outcome != parley.CallCompleted {
		t.Errorf("the record has %d messages, the calls are %+v", len(s.Record), s.Calls)
	}
}
