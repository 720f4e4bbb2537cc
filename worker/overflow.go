package worker

import (
	"time"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/runner"
	"example.org/parley/store"
)

// latestRequest describes the context of a turn's latest request.
type latestRequest struct {
	messages int64 // messages that no summary covers; a summary counts as one
	others   int64 // those of other turns
	tokens   int64 // size of the whole context
	last     int64 // the record's last sequence at that time

	due parley.CompactionReason // why a summary is due; "" if none is
}

// look notes what a request shows of the record, and whether a summary is due. The summary is requested once the answer
// has begun, so that it never delays a first token.
func (s *shortening) look(selection *prompt.Selection) {
	if s.settings.Policy.Kind != parley.PolicySummary {
		return
	}
	s.latest.messages, s.latest.others = prompt.Uncovered(*selection, s.claim.Turn)
	s.latest.tokens, s.latest.last = int64(selection.Tokens), s.last
	s.latest.due = prompt.CompactionDue(s.settings.Policy, s.info, s.latest.messages, s.latest.tokens)
}

// compactAtEnd requests a summary if the context has reached its limit when the run ends.
func (s *shortening) compactAtEnd() {
	s.shortenBeside(
		prompt.CompactionDue(s.settings.Policy, s.info, s.latest.messages+s.last-s.latest.last, s.latest.tokens),
	)
}

// shortenBeside requests a summary for a reason ("" for none): once per run, and only if there are turns that it could
// cover.
func (s *shortening) shortenBeside(reason parley.CompactionReason) {
	if reason == "" || s.latest.others == 0 || s.compacting {
		return
	}
	s.compacting = true
	s.w.wantCompaction(s.writes, &s.claim.Session, s.last, reason)
}

// noteUsed corrects the estimate upwards by the provider's count.
func (s *shortening) noteUsed(usage parley.Usage) {
	if usage.InputTokens != nil && usage.OutputTokens != nil {
		s.latest.tokens = max(s.latest.tokens, *usage.InputTokens+*usage.OutputTokens)
	}
}

// overflows reports whether a request was refused as too long and a summary may help: once per run, and only before
// anything was shown.
func (s *shortening) overflows(a *answer) bool {
	if a.failure == nil || a.failure.Class != parley.ClassContextLength || a.shown ||
		s.settings.Policy.Kind != parley.PolicySummary {
		return false
	}
	if s.overflowed {
		a.failure.Sentence = stillTooLong
		if a.call.Error != nil {
			a.call.Error.Sentence = stillTooLong
		}
		return false
	}
	return s.latest.others > 0 // else there is nothing to summarise
}

// shorten recovers from a request that was too long: it settles its message as failed, has the older part of the
// conversation summarised, and asks the step again.
func (t *turn) shorten(a *answer) (runner.Next, error) {
	t.shortening.overflowed = true
	if _, err := t.asking.settleAs(a, parley.MessageFailed, nil); err != nil {
		return runner.Over, err
	}
	t.position = position{step: a.step, attempt: a.attempt + 1, steers: true}
	failure, err := t.shortening.compactNow(a.failure)
	switch {
	case err != nil:
		return runner.Over, err
	case t.ctx.Err() != nil:
		return runner.Over, t.leave(nil)
	case failure != nil:
		return t.finish(store.TurnEnd{Status: parley.TurnFailed, Failure: failure})
	}
	return runner.AskNext, nil
}

// compactNow waits for a compaction of the session, requesting one unless one is under way, and enters its summary into
// the record. A failure says why there is none; an error is the store's.
func (s *shortening) compactNow(because *parley.Failure) (*parley.Failure, error) {
	scope := store.Scope{WorkspaceID: s.fence.WorkspaceID}
	c, err := s.w.store.RequestCompaction(
		s.writes,
		scope,
		s.fence.SessionID,
		store.NewCompaction{ID: parley.NewID(), Reason: parley.CompactOverflow},
	)
	if err != nil && parley.ErrorCode(err) != parley.CodeConflict { // a conflict: its summary is waiting already
		return nil, err
	}
	for err == nil && !c.State.Finished() {
		poke(s.w.compactor.now)
		if !s.await(c.ID) {
			return nil, nil
		}
		if c, err = s.w.store.Compaction(s.writes, scope, s.fence.SessionID); err != nil {
			return nil, err
		}
	}
	entered, err := s.w.store.EnterSummary(s.writes, s.fence)
	if err != nil {
		return nil, err
	}
	if entered == nil {
		if c.Error == nil || c.Error.Sentence == nothingToSumUp {
			return because, nil
		}
		return &parley.Failure{
			Class:    parley.ClassContextLength,
			Sentence: notSummedUp + c.Error.Sentence,
			Detail:   because.Detail,
			Attempts: because.Attempts,
		}, nil
	}
	s.wrote(entered.Sequence)
	s.claim.Session.Context.Held = true
	return nil, nil
}

// await returns when there may be news of a compaction; false if the turn's context ended first.
func (s *shortening) await(compactionID parley.ID) bool {
	look := time.NewTimer(overflowLook)
	defer look.Stop()
	select {
	case <-s.ctx.Done():
		return false
	case <-s.w.compactor.news(compactionID):
	case <-look.C:
	}
	return s.ctx.Err() == nil
}
