package worker

import (
	"context"
	"errors"
	"slices"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
	"example.org/parley/store"
)

// When a summary is asked for behind the conversation's own request, which the provider has in its cache.
const (
	leastBehind    = 8000 // tokens of that request, at least: a shorter one costs little anyway
	leastSummary   = 2000 // tokens that its answers may have, at least
	latestCalls    = 16   // calls among which the latest request is looked for
	instructionMax = 1024 // tokens of an instruction, without what people ask for
)

// form is how a summary is asked for.
type form struct {
	request     model.Request
	encoded     model.EncodedRequest
	filter      model.AnswerFilter
	call        parley.Call // what is recorded of the request itself: hashes of texts, parameters, manifest
	system      string
	tools       []byte
	instruction string
	sent        int64 // tokens of the request that it follows, as its provider counted; 0 for a transcript
}

// form decides how the summary is asked for, and chooses its source. An error is the store's, or the context's end.
func (s *summary) form(claim *store.CompactionClaim) (*form, *parley.Failure, error) {
	nothing := &parley.Failure{
		Class:    parley.ClassContextLength,
		Sentence: nothingToSumUp,
		Attempts: claim.Compaction.Attempt,
	}
	latest, err := s.latest(claim)
	if err != nil {
		return nil, nil, err
	}
	if latest != nil {
		found, err := s.read(claim, maxTranscript)
		if err != nil || !found {
			return nil, nothing, err
		}
		if form, err := s.behind(latest); form != nil || err != nil {
			return form, nil, err
		}
	}
	found, err := s.read(claim, s.room(claim))
	if err != nil || !found {
		return nil, nothing, err
	}
	return s.transcript()
}

// transcript asks for a summary of a transcript, which any model can read.
func (s *summary) transcript() (*form, *parley.Failure, error) {
	s.settings.System, s.settings.Parameters = prompt.SummarySystem(s.wishes), parley.Parameters{}
	f := &form{system: s.settings.System}
	var err error
	f.request, err = prompt.CompactionRequest(s.settings.Model, f.system, s.source, s.layers.Edges(s.ctx))
	if err != nil {
		return nil, nil, err
	}
	f.call.Manifest, f.call.SystemHash = s.source.Manifest, parley.HashOf([]byte(f.system))
	if s.source.Draft != "" {
		f.instruction = prompt.DraftInstruction(s.source.Draft)
		f.call.InstructionHash = parley.HashOf([]byte(f.instruction))
		f.request = prompt.Instructed(f.request, f.instruction)
	}
	f.encoded, f.filter, err = s.encode(&f.request, &f.call.Manifest)
	switch {
	case err != nil && s.ctx.Err() != nil:
		return nil, nil, context.Cause(s.ctx)
	case err != nil:
		return nil, s.unusable(err), nil
	}
	return f, nil, nil
}

// latest returns the call of the conversation's latest answered request, if a summary can be asked for behind it; else
// nil. A second attempt shows a transcript, and so does one after a request that was too long.
func (s *summary) latest(claim *store.CompactionClaim) (*parley.Call, error) {
	if claim.Compaction.Attempt > 1 || claim.Compaction.Reason == parley.CompactOverflow {
		return nil, nil
	}
	scope := store.Scope{WorkspaceID: s.fence.WorkspaceID}
	calls, err := s.w.store.Calls(s.writes, scope, s.fence.SessionID, store.CallQuery{Limit: latestCalls})
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(calls, func(c parley.Call) bool {
		return c.Purpose == parley.PurposeStep && c.Outcome == parley.CallCompleted && !c.Manifest.CachedResponse
	})
	if at < 0 || !s.suits(&calls[at]) {
		return nil, nil
	}
	return &calls[at], nil
}

// suits reports whether a summary can be asked for with a call's settings: by its model, in free text, and where both
// the request and a summary fit.
func (s *summary) suits(c *parley.Call) bool {
	switch {
	case c.Model != s.settings.Model, c.Usage.InputTokens == nil, *c.Usage.InputTokens < leastBehind,
		c.ResponseFormat != nil, c.ToolChoice != nil && parley.Forces(*c.ToolChoice),
		c.MaxTokens != nil && *c.MaxTokens < leastSummary:
		return false
	case s.info.ContextLength == 0:
		return true
	}
	asks := int64(instructionMax + prompt.EstimateTokens(s.wishes))
	return *c.Usage.InputTokens+asks+int64(prompt.Reserve(s.info, c.Parameters)) <= int64(s.info.ContextLength)
}

// behind asks for the summary behind the request of a call, so that the provider reads all but the instruction from its
// cache. It returns nil if the request shows less than the source, cannot be rebuilt byte for byte, or leaves no space
// for the instruction. Errors are the store's.
func (s *summary) behind(latest *parley.Call) (*form, error) {
	if !s.source.ShowsAll(latest.Manifest) {
		return nil, nil
	}
	r := &requests{claimed: s.claimed}
	defer r.unreserve()
	f, err := s.repeat(r, latest)
	if errors.Is(err, errNoRoom) || errors.Is(err, errNeverRoom) {
		return nil, nil
	}
	if err != nil || f == nil {
		return nil, err
	}
	s.info.Price = s.info.Price.Keeping(latest.Manifest.CacheTTL)
	f.instruction = prompt.SummaryInstruction(
		s.wishes,
		s.source,
		&f.request,
		len(f.encoded.Body),
		s.layers.Edges(s.ctx),
	)
	f.call.InstructionHash = parley.HashOf([]byte(f.instruction))
	f.request = prompt.Instructed(f.request, f.instruction)
	if f.encoded, f.filter, err = s.encodeWith(
		f.call.Manifest.CacheKey,
		f.call.Manifest.CacheTTL,
		&f.request,
		&f.call.Manifest,
	); err != nil {
		return nil, nil
	}
	return f, nil
}

// repeat makes the request of a call again; nil if it comes out otherwise than it was sent.
func (s *summary) repeat(r *requests, latest *parley.Call) (*form, error) {
	f := &form{sent: *latest.Usage.InputTokens, call: parley.Call{
		Parameters: latest.Parameters, Think: latest.Think, Search: latest.Search, Manifest: latest.Manifest,
		SystemHash: latest.SystemHash, ToolsHash: latest.ToolsHash,
	}}
	system, err := s.callText(latest.SystemHash)
	if err != nil {
		return nil, err
	}
	f.system = string(system)
	if f.tools, err = s.callText(latest.ToolsHash); err != nil {
		return nil, err
	}
	definitions, err := prompt.DecodeTools(f.tools)
	if err != nil {
		return nil, err
	}
	rows, err := s.spanned(r, latest.Manifest)
	if err != nil {
		return nil, err
	}
	files, failure, err := r.attach(rows)
	if err != nil || failure != nil {
		return nil, err
	}
	f.request, err = prompt.Rebuild(
		*latest,
		s.layers.Edges(s.ctx),
		f.system,
		definitions,
		rows,
		func([]parley.Message) (prompt.Attachments, error) { return files, nil },
	)
	if err != nil {
		return nil, err
	}
	sent, manifest := f.request, latest.Manifest
	sent.Messages = slices.Clone(sent.Messages) // middleware changes what it is given
	for i := range sent.Messages {
		sent.Messages[i].Parts = slices.Clone(sent.Messages[i].Parts)
	}
	f.encoded, _, err = s.encodeWith(latest.Manifest.CacheKey, latest.Manifest.CacheTTL, &sent, &manifest)
	if err != nil || parley.HashOf(f.encoded.Body) != latest.RequestHash {
		return nil, nil //nolint:nilerr // the transcript says what is wrong
	}
	return f, nil
}

// callText returns a text of a call; nil without a hash.
func (s *summary) callText(hash parley.Hash) ([]byte, error) {
	if hash.IsZero() {
		return nil, nil
	}
	return s.w.store.CallText(s.writes, s.fence.WorkspaceID, hash)
}

// spanned reads the messages that a manifest spans, as far as there is room for them.
func (s *summary) spanned(r *requests, manifest parley.Manifest) (rows []parley.Message, err error) {
	for _, span := range prompt.Spans(manifest) {
		for after := span[0] - 1; after < span[1]; {
			page, err := s.w.store.Messages(
				s.writes,
				store.Scope{WorkspaceID: s.fence.WorkspaceID},
				s.fence.SessionID,
				store.MessageQuery{
					AfterSequence: after, RecordOnly: true,
					Limit: int(min(span[1]-after, compactionPage)), MaxBytes: promptPageBytes,
				},
			)
			if err != nil {
				return nil, err
			}
			if len(page) == 0 {
				break
			}
			if err := r.weighed(page); err != nil {
				return nil, err
			}
			rows, after = append(rows, page...), page[len(page)-1].Sequence
		}
	}
	return rows, nil
}
