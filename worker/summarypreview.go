package worker

import (
	"context"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/store"
)

// PreviewCompaction implements runner.DryRunner: it makes the request for the summary and sends nothing.
func (w *Worker) PreviewCompaction(
	ctx context.Context,
	session parley.Session,
	agent parley.Agent,
	wanted store.NewCompaction,
) (parley.Compaction, error) {
	c := parley.Compaction{
		WorkspaceID: session.WorkspaceID, SessionID: session.ID, State: parley.CompactionNone, Reason: wanted.Reason,
		Through: wanted.Through, Instructions: wanted.Instructions,
		From: wanted.From,
	}
	claim := &store.CompactionClaim{
		Fence:      store.CompactionFence{WorkspaceID: session.WorkspaceID, SessionID: session.ID},
		Compaction: c, Session: session, Agent: agent,
	}
	claim.Compaction.Attempt = 1
	s := w.newSummary(ctx, ctx, claim)
	if err := s.choose(&claim.Compaction); err != nil {
		return c, refusedBy(s.unusable(err), nil)
	}
	preview, failure, err := s.foretold(claim)
	switch {
	case err != nil:
		return c, err
	case failure != nil:
		return c, parley.Conflict(parley.CompactionNone, "%s", failure.Sentence)
	}
	c.CoversFrom, c.CoversThrough, c.AbsorbsID = s.source.From, s.source.Through, s.source.Absorbs
	c.Preview = preview
	if failure := s.tooDear(c.Preview); failure != nil {
		c.Preview.Refused = &failure.Sentence
	}
	return c, nil
}

// foretold chooses the source of a summary, and estimates what its requests cost.
func (s *summary) foretold(claim *store.CompactionClaim) (*parley.CompactionPreview, *parley.Failure, error) {
	if claim.Compaction.From == parley.FromOriginals {
		plan, failure, err := s.plan(claim)
		if err != nil || failure != nil {
			return nil, failure, err
		}
		preview, failure, err := s.foretoldParts(plan)
		s.source.From, s.source.Through = plan.from, plan.through
		return preview, failure, err
	}
	form, failure, err := s.form(claim)
	if err != nil || failure != nil {
		return nil, failure, err
	}
	return s.preview(form), nil, nil
}

// PreviewCompaction implements runner.DryRunner.
func (d *DryRunner) PreviewCompaction(
	ctx context.Context,
	session parley.Session,
	agent parley.Agent,
	wanted store.NewCompaction,
) (parley.Compaction, error) {
	return d.w.PreviewCompaction(ctx, session, agent, wanted)
}

// preview estimates what a request for a summary covers and costs.
func (s *summary) preview(f *form) *parley.CompactionPreview {
	p := &parley.CompactionPreview{
		Messages: len(s.source.Messages), Parts: 1, Model: s.settings.Model,
		RequestTokens: int64(len(f.encoded.Body) / bytesPerToken),
		OutputTokens: int64(min(s.budgets.longestAnswer(&question{encoded: f.encoded, call: f.call}),
			s.source.Bytes/leastTokenBytes+1)),
		MaxCost: s.maxCost,
	}
	if !s.source.Absorbs.IsZero() {
		p.Messages--
	}
	p.Tokens = tokensOf(s.source.Messages)
	if f.sent > 0 { // counted by the provider
		p.RequestTokens = f.sent + int64(prompt.EstimateTokens(f.instruction))
		if s.info.Caching {
			p.CachedTokens = f.sent
		}
	}
	p.Cost = s.info.Price.Most(p.RequestTokens, p.OutputTokens)
	p.CachedCost = s.info.Price.Cost(parley.Usage{
		InputTokens: &p.RequestTokens, OutputTokens: &p.OutputTokens, CachedTokens: &p.CachedTokens,
	})
	return p
}
