package storetest

import (
	"slices"
	"strings"
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

func (w *world) mark(t reporter, message parley.ID, change parley.MarksChange) {
	t.Helper()
	_, err := w.store.MarkMessage(w.ctx, w.scope, parley.ID{}, message, change)
	must(t, "MarkMessage", err)
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
		_, more, err = w.store.ApplyOutbox(w.ctx, parley.ID{})
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
