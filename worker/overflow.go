package worker

import (
	"context"
	"errors"
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
	tokens   int64 // size of the messages, in the model's tokens
	beside   int64 // size of the rest of the request
	last     int64 // the record's last sequence at that time
	budget   prompt.Budget

	stubbable int64                   // what stubs of older turns would save of it
	due       parley.CompactionReason // why a summary is due; "" if none is
}

// look notes what a request shows of the record, and whether a summary is due. The summary is requested once the answer
// has begun, so that it never delays a first token.
func (s *shortening) look(selection *prompt.Selection, budget prompt.Budget, beside int) {
	if !s.settings.Policy.Summarises() {
		return
	}
	s.latest.messages, s.latest.others = prompt.Uncovered(*selection, s.claim.Turn)
	s.latest.tokens, s.latest.last = int64(budget.Scaled(selection.Tokens)), s.last
	s.latest.budget, s.latest.beside = budget, int64(budget.Scaled(beside))
	if d := selection.Manifest.Dropped; d != nil { // a summary can cover them
		s.latest.others += d.Count
		s.latest.messages += d.Count
	}
	s.latest.stubbable = int64(budget.Scaled(selection.Stubbable))
	s.latest.due = prompt.CompactionDue(s.settings.Policy, budget, s.latest.messages, s.latest.tokens)
	if s.latest.due == "" && selection.Lapsed && s.latest.tokens > int64(budget.Half()) { // it costs no prefix now
		s.latest.due = parley.CompactTokens
	}
}

// errFull says that a request waits for a summary, instead of leaving out what the summary will cover.
var errFull = errors.New("worker: the window waits for a summary")

// mustWait reports whether a window comes so near its bound, or would newly drop messages or steps of the running turn,
// that the request waits for a summary first. cut is how the request before showed the turn.
func (s *shortening) mustWait(selection *prompt.Selection, budget prompt.Budget, cut parley.TurnCut) bool {
	if !s.settings.Policy.Summarises() || selection.Excess > 0 { // what must be shown is too long
		return false
	}
	if selection.Cut.Dropped > cut.Dropped && s.inVain != s.last {
		s.wanted = parley.CompactSteps
		return true
	}
	if s.waited {
		return false
	}
	s.wanted = parley.CompactTokens
	before := s.claim.Session.Context
	drops := selection.Dropped > 0 && (selection.Anchor != before.Anchor || selection.Dropped != before.Dropped)
	if line := budget.Wait(); !drops && (line == 0 || budget.Scaled(selection.Tokens) <= line) {
		return false
	}
	_, others := prompt.Uncovered(*selection, s.claim.Turn)
	return drops || others > 0
}

// noSummary reports whether no summary of the running turn's steps is to be had now: this run has waited in vain for
// one, and it failed, or is still being written.
func (s *shortening) noSummary() bool {
	return s.inVain > 0 && (s.inVain == s.last || s.late || s.last < s.rests)
}

// awaitSummary gives the session's summary a while to be written, and enters it. Without one the request drops what no
// longer fits. Other prompts have the room of this one meanwhile. An error is the store's.
func (s *shortening) awaitSummary() error {
	waited, last := s.waited, s.last
	s.unreserve()
	ctx, stop := context.WithTimeout(s.ctx, s.w.options.summaryPatience)
	defer stop()
	entered, c, err := s.summaryNow(ctx, s.wanted)
	switch {
	case entered != nil: // it may not have covered enough
		s.waited = false
	case s.wanted == parley.CompactSteps:
		s.waited, s.inVain, s.rests = waited, last, c.RestsUntil
	default:
		s.waited = true
	}
	s.late = entered == nil && !c.State.Finished()
	return err
}

// enterLate enters a summary that arrived after this run had stopped waiting for it.
func (s *shortening) enterLate() error {
	if !s.late {
		return nil
	}
	c, err := s.w.store.Compaction(s.writes, store.Scope{WorkspaceID: s.fence.WorkspaceID}, s.fence.SessionID)
	if err != nil || !c.State.Finished() {
		return err
	}
	s.late = false
	_, err = s.enter()
	return err
}

// compactAtEnd requests a summary if the context has reached its limit when the run ends, unless the next request makes
// room by stubs.
func (s *shortening) compactAtEnd() {
	if !s.settings.Policy.Summarises() {
		return
	}
	if saves := s.latest.stubbable; saves > 0 && s.latest.tokens-saves <= int64(s.latest.budget.Half()) {
		return
	}
	s.shortenBeside(prompt.CompactionDue(
		s.settings.Policy,
		s.latest.budget,
		s.latest.messages+s.last-s.latest.last,
		s.latest.tokens,
	))
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
		s.latest.tokens = max(s.latest.tokens, *usage.InputTokens+*usage.OutputTokens-s.latest.beside)
	}
}

// overflows reports whether a request was refused as too long and a summary may help: once per run, and only before
// anything was shown.
func (s *shortening) overflows(a *answer) bool {
	if a.failure == nil || a.failure.Class != parley.ClassContextLength || a.shown ||
		!s.settings.Policy.Summarises() {
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
// the record. Without a summary it returns a failure that says why; errors are the store's.
func (s *shortening) compactNow(because *parley.Failure) (*parley.Failure, error) {
	entered, c, err := s.summaryNow(s.ctx, parley.CompactOverflow)
	switch {
	case err != nil:
		return nil, err
	case entered != nil || s.ctx.Err() != nil:
		return nil, nil //nolint:nilerr // whoever called sees that the turn was stopped
	case c.Error == nil || c.Error.Sentence == nothingToSumUp:
		return because, nil
	}
	return &parley.Failure{
		Class:    parley.ClassContextLength,
		Sentence: notSummedUp + c.Error.Sentence,
		Detail:   because.Detail,
		Attempts: because.Attempts,
	}, nil
}

// summaryNow waits until ctx ends for a compaction of the session, requesting one unless one is under way, and enters
// its summary into the record. It returns nil if none was written.
func (s *shortening) summaryNow(
	ctx context.Context,
	reason parley.CompactionReason,
) (*parley.Message, parley.Compaction, error) {
	scope := store.Scope{WorkspaceID: s.fence.WorkspaceID}
	c, err := s.w.store.RequestCompaction(
		s.writes,
		scope,
		s.fence.SessionID,
		store.NewCompaction{ID: parley.NewID(), Reason: reason, Awaited: true},
	)
	if err != nil && parley.ErrorCode(err) != parley.CodeConflict { // a conflict: its summary is waiting already
		return nil, c, err
	}
	for err == nil && !c.State.Finished() {
		poke(s.w.compactor.now)
		if !s.await(ctx, c.ID) {
			return nil, c, nil
		}
		if c, err = s.w.store.Compaction(s.writes, scope, s.fence.SessionID); err != nil {
			return nil, c, err
		}
	}
	entered, err := s.enter()
	return entered, c, err
}

// enter enters a written summary into the record and returns it; nil if none waits.
func (s *shortening) enter() (*parley.Message, error) {
	entered, err := s.w.store.EnterSummary(s.writes, s.fence)
	if err != nil || entered == nil {
		return nil, err
	}
	s.wrote(entered.Sequence)
	now := &s.claim.Session.Context
	now.Held, now.Anchor, now.Dropped = true, 0, 0
	return entered, nil
}

// await returns when there may be news of a compaction; false if ctx ended first.
func (s *shortening) await(ctx context.Context, compactionID parley.ID) bool {
	look := time.NewTimer(overflowLook)
	defer look.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-s.w.compactor.news(compactionID):
	case <-look.C:
	}
	return ctx.Err() == nil
}
