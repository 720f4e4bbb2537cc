package storetest

import (
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

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
