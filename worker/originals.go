package worker

import (
	"context"
	"fmt"
	"slices"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/store"
)

// partShare divides the room for a source: each part of a summary that takes several requests has one share, and the
// summary of the parts before it may have the other.
const partShare = 2

// partPlan says what a summary from originals covers, and in which parts it is written.
type partPlan struct {
	from, through int64 // of all parts
	most          int   // bytes of a part
	parts         []sourcePart
}

// sourcePart is what one request shows of the messages.
type sourcePart struct {
	from, through   int64
	messages, bytes int
	tokens          int64
}

// plan divides the messages that a summary from originals is to cover: into one part if they fit, else into smaller
// ones, which leave room for the summary of those before.
func (s *summary) plan(claim *store.CompactionClaim) (*partPlan, *parley.Failure, error) {
	nothing := &parley.Failure{
		Class:    parley.ClassContextLength,
		Sentence: nothingToSumUp,
		Attempts: claim.Compaction.Attempt,
	}
	from, through, err := s.originals(claim)
	if err != nil || through < from {
		return nil, nothing, err
	}
	room := s.room(claim)
	plan := &partPlan{from: from, through: through, most: room}
	whole, err := s.divide(plan, 1)
	if err == nil && !whole {
		plan.most = room / partShare
		whole, err = s.divide(plan, parley.MaxCompactionParts)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case !whole && len(plan.parts) == parley.MaxCompactionParts:
		nothing.Sentence = fmt.Sprintf(tooManyParts, parley.MaxCompactionParts)
		return nil, nothing, nil
	case !whole:
		nothing.Sentence = tooLongStep
		return nil, nothing, nil
	case len(plan.parts) == 0:
		return nil, nothing, nil
	}
	return plan, nil, nil
}

// divide fills a plan with at most so many parts; it returns false if they do not reach its end.
func (s *summary) divide(plan *partPlan, most int) (bool, error) {
	plan.parts = nil
	for from := plan.from; from <= plan.through; {
		rows, more, err := s.forward(from, plan.through+1, plan.most, prompt.LongestPiece)
		if err != nil {
			return false, err
		}
		if len(rows) == 0 { // all the rest is internal
			break
		}
		part, fits := prompt.PlanPart(rows, more, plan.most)
		if !fits || len(part.Messages) > 0 && len(plan.parts) == most {
			return false, nil
		}
		if len(part.Messages) > 0 {
			plan.parts = append(plan.parts, sourcePart{
				from: from, through: part.Through, messages: len(part.Messages), bytes: part.Bytes,
				tokens: tokensOf(part.Messages),
			})
		}
		from = part.Through + 1
	}
	return true, nil
}

// tokensOf returns the size of messages in a request, in stored estimates.
func tokensOf(messages []parley.Message) (tokens int64) {
	for i := range messages {
		tokens += int64(prompt.TokensOf(&messages[i]))
	}
	return tokens
}

// originals returns the first and the last sequence that a summary from originals covers: all but the newest turn,
// though never less than the summary that it replaces.
func (s *summary) originals(claim *store.CompactionClaim) (from, through int64, err error) {
	session := &s.claim.Session
	if session.Context.Cleared {
		return 1, 0, nil
	}
	head, err := s.w.store.ContextHead(s.writes, session.WorkspaceID, session.ID)
	if err != nil {
		return 0, 0, err
	}
	kept, _, err := s.uncovered(claim, head.Summary)
	if err != nil {
		return 0, 0, err
	}
	var covered int64
	if head.Summary != nil {
		covered = *head.Summary.CoversThrough
	}
	through = kept - 1
	if asked := claim.Compaction.Through; asked > 0 {
		through = min(through, asked)
	}
	through, err = s.endOfTurn(max(through, covered), covered)
	return max(1, head.Edge), through, err
}

// endOfTurn returns the last sequence up to the given one that ends a turn, or covered if none does since.
func (s *summary) endOfTurn(through, covered int64) (int64, error) {
	last := s.claim.Session.LastSequence
	upTo := min(through+compactionPage, last)
	var rows []parley.Message // descending
	for before := upTo + 1; through > covered; {
		page, older, err := s.tail(before)
		if err != nil {
			return 0, err
		}
		for i := range page {
			if page[i].Sequence <= covered {
				page, older = page[:i], false
				break
			}
		}
		rows = append(rows, page...)
		ascending := slices.Clone(rows)
		slices.Reverse(ascending)
		if end := prompt.LastEnd(ascending, upTo < last, through); end > 0 {
			return end, nil
		}
		if !older || len(page) == 0 {
			break
		}
		before = page[len(page)-1].Sequence
	}
	return covered, nil
}

// writeAnew writes a summary from originals, part by part. Each request shows a part of the messages, and behind them
// the summary of the parts before. Only the last one's answer becomes the summary: if a part fails, nothing changes,
// and the next attempt begins with the first.
func (s *summary) writeAnew(claim *store.CompactionClaim) (store.CompactionSettle, error) {
	plan, failure, err := s.plan(claim)
	if err != nil || failure != nil {
		return store.CompactionSettle{Failure: failure}, err
	}
	if s.maxCost != nil {
		preview, failure, err := s.foretoldParts(plan)
		if err == nil && failure == nil {
			failure = s.tooDear(preview)
		}
		if err != nil || failure != nil {
			return store.CompactionSettle{Failure: failure}, err
		}
	}
	attempt, draft := s.ctx, ""
	for i := range plan.parts {
		settle, err := s.writePart(attempt, claim, plan, i, draft)
		if err != nil || settle.Failure != nil || i+1 == len(plan.parts) {
			return settle, err
		}
		draft = s.written()
		settle.Summary = nil
		if _, err := s.w.store.SettleCompaction(s.writes, claim.Fence, settle); err != nil {
			return store.CompactionSettle{}, err
		}
	}
	return store.CompactionSettle{}, nil
}

// writePart asks for the summary of one part and of the draft, which is the summary of those before.
func (s *summary) writePart(
	attempt context.Context,
	claim *store.CompactionClaim,
	plan *partPlan,
	at int,
	draft string,
) (store.CompactionSettle, error) {
	ctx, stop := context.WithTimeout(attempt, compactionBound)
	defer stop()
	s.ctx, s.part, s.ofParts = ctx, at+1, len(plan.parts)
	s.text.Reset()
	s.finish, s.status = "", 0
	form, failure, err := s.formOf(plan, at, draft)
	if err != nil || failure != nil {
		return store.CompactionSettle{Failure: failure}, err
	}
	return s.ask(claim, form)
}

// formOf reads a part again and makes the request for it. The draft's and the part's summary together must not outgrow
// what the next part leaves of the room.
func (s *summary) formOf(plan *partPlan, at int, draft string) (*form, *parley.Failure, error) {
	part := &plan.parts[at]
	rows, _, err := s.forward(part.from, part.through+1, plan.most, prompt.LongestPiece)
	if err != nil {
		return nil, nil, err
	}
	source, fits := prompt.PlanPart(rows, false, plan.most)
	if !fits || len(source.Messages) == 0 { // marks have changed meanwhile
		return nil, &parley.Failure{Class: parley.ClassContextLength, Sentence: nothingToSumUp}, nil
	}
	s.source = source
	s.source.Draft, s.source.From, s.source.Through = draft, plan.from, plan.through
	if len(plan.parts) > 1 {
		s.source.Bytes = min(source.Bytes+len(draft), plan.most)
	}
	return s.transcript()
}

// foretoldParts estimates what a summary from originals covers, and what all of its requests may cost.
func (s *summary) foretoldParts(plan *partPlan) (*parley.CompactionPreview, *parley.Failure, error) {
	form, failure, err := s.formOf(plan, 0, "")
	if err != nil || failure != nil {
		return nil, failure, err
	}
	p := s.preview(form)
	p.Parts = len(plan.parts)
	beside := max(0, len(form.encoded.Body)-plan.parts[0].bytes)
	longest := s.budgets.longestAnswer(&question{encoded: form.encoded, call: form.call})
	draft := p.OutputTokens
	for i := 1; i < len(plan.parts); i++ {
		part := &plan.parts[i]
		input := int64((beside+part.bytes)/bytesPerToken) + draft
		output := int64(min(longest, plan.most/leastTokenBytes+1))
		p.Messages, p.Tokens = p.Messages+part.messages, p.Tokens+part.tokens
		p.RequestTokens, p.OutputTokens = p.RequestTokens+input, p.OutputTokens+output
		draft = output
	}
	p.Cost = s.info.Price.Most(p.RequestTokens, p.OutputTokens)
	p.CachedCost = s.info.Price.Cost(parley.Usage{InputTokens: &p.RequestTokens, OutputTokens: &p.OutputTokens})
	return p, nil, nil
}
