package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/observe"
	"example.org/parley/prompt"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// Sentences for people about compactions.
const (
	nothingToSumUp = "Nothing of this conversation can be summed up yet: its newest turns stay as they are."
	emptySummary   = "The model gave an empty summary, so nothing was changed."
	longSummary    = "The model's summary was longer than what it was to stand for, so nothing was changed."
	calledTools    = "The model called a tool instead of writing a summary, so nothing was changed."
	cutSummary     = "The model's summary was cut at its token limit, so nothing was changed. Raise max_tokens, or " +
		"choose another model for compaction."
	stillTooLong = "The conversation is longer than the model can read, even after its older part was summed up. " +
		"Shorten the last message, or choose a model with a longer context."
	noSummaryYet = " No summary was begun. While there is none, the oldest messages are left out when no more fits, " +
		"and the request says so; raise compaction.max_cost, or choose a cheaper compaction.model."
	unpricedSummary = "Summaries have a price limit (compaction.max_cost), and the price of the model %s is not " +
		"known." + noSummaryYet
	dearSummary = "This summary could cost %s US dollars, more than its limit of %s (compaction.max_cost)." +
		noSummaryYet
	tooManyParts = "The conversation has too many messages to be summed up from them by this model in %d requests. " +
		"Choose a compaction.model with a longer context, or compact without from."
	tooLongStep = "A step of the conversation is longer than the model that writes summaries can read. Choose a " +
		"compaction.model with a longer context, or compact without from."
	notSummedUp = "The conversation is longer than the model can read, and its older part could not be summed up: "
)

// summary is one attempt at a compaction. One goroutine owns it.
type summary struct {
	*claimed // what a call needs: the session, its model, its middleware

	budgets *budgets
	window  prompt.Budget // of the session's own requests
	wishes  string        // what the summary must hold besides the usual
	maxCost *parley.Money // nil: any
	source  prompt.Source
	part    int // which of the parts the source is, from 1; 0 if it is all
	ofParts int
	call    parley.Call
	text    strings.Builder
	long    bool // the answer outgrew its source and was cut off
	called  bool // the answer called a tool and was cut off
	ended   store.CallSettled
	status  int
	finish  parley.FinishReason
}

// summarise makes one attempt: it reads the messages to summarise, asks the model, and returns the outcome. An error is
// the store's, or means that ctx has ended.
func (w *Worker) summarise(ctx, writes context.Context, claim *store.CompactionClaim) (store.CompactionSettle, error) {
	s := w.newSummary(ctx, writes, claim)
	if err := s.choose(&claim.Compaction); err != nil {
		return store.CompactionSettle{Failure: s.unusable(err)}, nil
	}
	if claim.Compaction.From == parley.FromOriginals {
		return s.writeAnew(claim)
	}
	form, failure, err := s.form(claim)
	if err == nil && failure == nil {
		failure = s.tooDear(s.preview(form))
	}
	if err != nil || failure != nil {
		return store.CompactionSettle{Failure: failure}, err
	}
	return s.ask(claim, form)
}

// newSummary returns an attempt that has done nothing yet.
func (w *Worker) newSummary(ctx, writes context.Context, claim *store.CompactionClaim) *summary {
	s := &summary{claimed: &claimed{
		w: w, ctx: ctx, at: ctx, writes: writes,
		claim:  store.Claim{Session: claim.Session, Agent: claim.Agent},
		fence:  store.Fence{WorkspaceID: claim.Fence.WorkspaceID, SessionID: claim.Fence.SessionID},
		author: parley.Author{Kind: parley.AuthorAgent, ID: claim.Agent.ID, Name: claim.Agent.Name},
	}}
	s.budgets = &budgets{claimed: s.claimed, limits: &limits{claimed: s.claimed}}
	s.budgets.limits.set(parley.ValueOf(claim.Agent.Limits))
	return s
}

// choose resolves the model that writes the summary, and the settings of its call.
func (s *summary) choose(compaction *parley.Compaction) (err error) {
	settings := parley.ValueOf(setting.Compaction.Nearest(&s.claim.Agent.Settings, &s.claim.Session.Settings))
	if s.settings, err = prompt.Resolve(
		s.claim.Agent,
		s.claim.Session,
		nil,
		parley.Message{},
		s.w.models.Default(),
	); err != nil {
		return err
	}
	if s.window, err = s.windowOf(); err != nil {
		return err
	}
	s.wishes, s.maxCost = settings.Instructions, settings.MaxCost
	if also := compaction.Instructions; also != "" && s.wishes != "" {
		s.wishes += "\n\n" + also
	} else if also != "" {
		s.wishes = also
	}
	if settings.Model != "" {
		s.settings.Model = settings.Model
	}
	if s.model, s.info, err = s.w.models.Resolve(s.settings.Model); err != nil {
		return err
	}
	s.layers, err = s.w.layersOf(&s.claim.Session, &s.claim.Agent, &s.info)
	return err
}

// windowOf divides the context of the session's own model, beside its system prompt and tools. A model that is gone
// bounds nothing.
func (s *summary) windowOf() (prompt.Budget, error) {
	_, info, err := s.w.models.Resolve(s.settings.Model)
	if err != nil {
		return prompt.Budget{Ceiling: s.settings.Policy.TokenLimit()}, nil //nolint:nilerr // as documented
	}
	shown, _ := (&tools{claimed: s.claimed}).named()
	definitions, err := s.w.toolsets.of(shown[:min(len(shown), parley.MaxTools)])
	if err != nil {
		return prompt.Budget{}, err
	}
	beside := s.w.weights.of(s.settings.Model, s.settings.System) +
		s.w.weights.of(s.settings.Model, string(definitions.Text()))
	return prompt.NewBudget(
		info,
		s.settings.Parameters,
		s.settings.Policy,
		beside,
		s.w.ratios.Of(s.fence.WorkspaceID, s.settings.Model),
	), nil
}

// read finds what the summary is to cover, as far as most bytes go; it returns false if there is nothing.
func (s *summary) read(claim *store.CompactionClaim, most int) (bool, error) {
	session := &s.claim.Session
	if session.Context.Cleared {
		return false, nil
	}
	head, err := s.w.store.ContextHead(s.writes, session.WorkspaceID, session.ID)
	if err != nil {
		return false, err
	}
	kept, first, err := s.uncovered(claim, head.Summary)
	if err != nil || kept <= first {
		return false, err
	}
	steps, piece := claim.Compaction.Reason == parley.CompactSteps, prompt.LongestPiece
	if steps {
		piece = prompt.StepPiece
	}
	rows, more, err := s.forward(first, kept, most, piece)
	if err != nil {
		return false, err
	}
	var found bool
	s.source, found = prompt.PlanCompaction(rows, head.Summary, more, claim.Compaction.Through, most, steps)
	return found, nil
}

// room returns how many bytes one attempt summarises: a share of the model's context, smaller after each attempt that
// was too large.
func (s *summary) room(claim *store.CompactionClaim) int {
	tokens := s.info.ContextLength
	if tokens <= 0 {
		tokens = prompt.UnknownContext
	}
	room := min(tokens/sourceShare*bytesPerToken, maxTranscript)
	if failed := claim.Compaction.Error; failed != nil && failed.Class == parley.ClassContextLength {
		room >>= 2 * (claim.Compaction.Attempt - 1)
	}
	return max(room, leastTranscript)
}

// uncovered returns the first and last sequence of the source: from the first that no summary covers up to the first
// that stays in full. It counts only messages that existed when the claim was made: later ones belong to newer turns.
func (s *summary) uncovered(claim *store.CompactionClaim, earlier *parley.Message) (kept, first int64, err error) {
	var running parley.Turn
	if id := claim.Session.TurnID; !id.IsZero() {
		if running, err = s.w.store.Turn(s.writes, store.Scope{WorkspaceID: s.fence.WorkspaceID}, id); err != nil {
			return 0, 0, err
		}
	}
	var covered int64
	if earlier != nil {
		covered = *earlier.CoversThrough
	}
	keep := prompt.Keeps(s.settings.Policy, claim.Compaction.Reason, s.window)
	var rows []parley.Message
	for before := claim.Session.LastSequence + 1; ; {
		page, older, err := s.tail(before)
		if err != nil {
			return 0, 0, err
		}
		for i := range page {
			if page[i].Sequence <= covered {
				page, older = page[:i], false
				break
			}
		}
		if n := len(page); n > 0 {
			before, first = page[n-1].Sequence, page[n-1].Sequence
		}
		if kept == 0 {
			rows = append(rows, page...)
			if n, sure := prompt.Kept(rows, running, keep, !older); sure {
				kept, rows = boundary(rows, n, claim.Session.LastSequence), nil
			}
		}
		if !older {
			return kept, first, nil
		}
		if kept > 0 && earlier != nil { // its start is known
			return kept, covered + 1, nil
		}
	}
}

// tail reads a page of the record backwards, of one row where that is longer than a page.
func (s *summary) tail(before int64) (page []parley.Message, older bool, err error) {
	for most := parley.MaxPageBytes; ; most *= 2 {
		page, older, err = s.w.store.ContextTail(
			s.writes,
			s.fence.WorkspaceID,
			s.fence.SessionID,
			before,
			compactionPage,
			most,
		)
		if err != nil || len(page) > 0 || !older {
			return page, older, err
		}
	}
}

// boundary is the sequence of the oldest of the n newest rows.
func boundary(rows []parley.Message, n int, last int64) int64 {
	if n == 0 {
		return last + 1
	}
	return rows[n-1].Sequence
}

// forward reads settled, non-internal messages between two sequences in ascending order, up to most bytes, of each at
// most a piece; more reports that the range continues.
func (s *summary) forward(from, to int64, most, piece int) (rows []parley.Message, more bool, err error) {
	internal, size, held := false, 0, 0
	for after := from - 1; after < to-1; {
		page, err := s.w.store.Messages(
			s.writes,
			store.Scope{WorkspaceID: s.fence.WorkspaceID},
			s.fence.SessionID,
			store.MessageQuery{
				AfterSequence: after, RecordOnly: true, Internal: &internal, Limit: compactionPage, MaxBytes: most,
			},
		)
		if err != nil {
			return nil, false, err
		}
		for i := range page {
			if page[i].Sequence >= to {
				return rows, false, nil
			}
			if page[i].Status.Settled() {
				rows = append(rows, page[i])
			}
			// Long messages are cut, so more may fit than is read.
			size, held = size+min(page[i].Size(), piece), held+page[i].Size()
			if size > 2*most || held > 2*maxTranscript {
				return rows, true, nil
			}
			after = page[i].Sequence
		}
		if len(page) == 0 {
			break
		}
	}
	return rows, false, nil
}

// ask sends the request and judges its answer.
func (s *summary) ask(claim *store.CompactionClaim, form *form) (store.CompactionSettle, error) {
	q := &question{
		system: form.system, tools: form.tools, encoded: form.encoded, filter: form.filter, call: form.call,
	}
	q.call.ID, q.call.WorkspaceID, q.call.SessionID = parley.NewID(), s.fence.WorkspaceID, s.fence.SessionID
	q.call.Purpose, q.call.Attempt, q.call.Outcome = parley.PurposeCompaction, claim.Compaction.Attempt, parley.CallOpen
	q.call.Provider, q.call.Model = s.settings.Model.Provider(), s.settings.Model
	q.call.MiddlewareHash, q.call.EncoderVersion = s.layers.Hash(), q.encoded.Version
	q.call.RequestHash = parley.HashOf(q.encoded.Body)
	q.tokens = int64(len(q.encoded.Body) / bytesPerToken)
	q.call.Expected = s.info.Price.Expected(q.tokens)
	s.call = q.call
	if failure, err := s.reserve(q); err != nil || failure != nil {
		return store.CompactionSettle{Failure: failure}, err
	}
	credential := q.call.Provider
	if s.info.Simulator {
		credential = string(q.call.Model)
	}
	if !s.w.pauses.wait(s.ctx, credential, &s.w.options) {
		return store.CompactionSettle{}, context.Cause(s.ctx)
	}
	err := s.w.store.BeginCompaction(s.writes, claim.Fence, store.CompactionBegin{
		Call: q.call, System: q.system, Tools: q.tools, Middleware: s.layers.Text(), Instruction: form.instruction,
		Reservation: q.reservation,
		CoversFrom:  s.source.From, CoversThrough: s.source.Through, AbsorbsID: s.source.Absorbs,
		Part: s.part, Parts: s.ofParts,
	})
	if parley.ErrorCode(err) == parley.CodeOverBudget { // other calls used up the rest
		return store.CompactionSettle{
			Failure: s.outOfBudget("what was left was taken by other calls"),
			Again:   parley.BaseWait,
		}, nil
	} else if err != nil {
		return store.CompactionSettle{}, err
	}
	if s.w.observer.Contents() {
		q.request = &form.request
	}
	return s.settled(s.stream(q), claim.Compaction.Attempt, credential)
}

// reserve checks whether the call fits into the session's and the agent's budgets. Limits of single turns do not apply
// to it.
func (s *summary) reserve(q *question) (*parley.Failure, error) {
	if capped, err := s.budgets.capped(); err != nil || !capped {
		return nil, err
	}
	scopes, err := s.budgets.readScopes()
	if err != nil || scopes == nil {
		return nil, err
	}
	reservation := &store.Reservation{Reserved: s.budgets.estimate(q), Charges: scopes.charges()}
	if reservation.Cost == nil && scopes.priced() {
		return s.outOfBudget(
			"money is limited here and the price of the model " + string(q.call.Model) + " is not known",
		), nil
	}
	for _, c := range s.budgets.checks(scopes, reservation) {
		if c.scope != parley.BudgetOfTurn && c.spent+c.open+c.needs > c.of {
			return s.outOfBudget(c.sentence()), nil
		}
	}
	q.reservation = reservation
	return nil, nil
}

// tooDear says why a summary with these costs is not begun; nil if it may be.
func (s *summary) tooDear(p *parley.CompactionPreview) *parley.Failure {
	var because string
	switch {
	case s.maxCost == nil:
		return nil
	case p.Cost == nil:
		because = fmt.Sprintf(unpricedSummary, p.Model)
	case *p.Cost > *s.maxCost:
		because = fmt.Sprintf(dearSummary, p.Cost, s.maxCost)
	default:
		return nil
	}
	return &parley.Failure{Class: parley.ClassLimit, Sentence: because}
}

func (s *summary) outOfBudget(why string) *parley.Failure {
	return &parley.Failure{
		Class:    parley.ClassLimit,
		Sentence: s.settings.Retry.Sentence(parley.ClassLimit),
		Detail:   why,
	}
}

// stream collects the answer; its error is why the stream broke.
func (s *summary) stream(q *question) (broken error) {
	ctx := s.w.observer.CallBegan(s.ctx, observe.CallBegun{Call: &s.call, Request: q.request, Reserved: q.reservation})
	began := time.Now()
	var first time.Time
	var usage parley.Usage
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	chunks := s.model.Stream(ctx, q.encoded)
	if q.filter != nil {
		chunks = q.filter(chunks)
	}
	for chunk, err := range chunks {
		if err != nil {
			broken = err
			break
		}
		if first.IsZero() {
			first = time.Now()
		}
		switch chunk.Kind {
		case model.ChunkText:
			s.text.WriteString(chunk.Text)
		case model.ChunkToolCall:
			s.called = true
		case model.ChunkUsage:
			usage = chunk.Usage
		case model.ChunkFinish:
			s.finish = chunk.Finish
		}
		if s.long = s.text.Len() > s.source.Bytes; s.long || s.called {
			break
		}
	}
	total := time.Since(began)
	s.ended = store.CallSettled{
		CallID:  s.call.ID,
		Outcome: parley.CallCompleted,
		Usage:   usage,
		Cost:    s.info.Price.Cost(usage),
		Finish:  s.finish,
		TotalMS: new(total.Milliseconds()),
	}
	if !first.IsZero() {
		s.ended.FirstTokenMS = new(first.Sub(began).Milliseconds())
	}
	var model *model.Error
	if errors.As(broken, &model) {
		s.status = model.Status
	}
	defer func() {
		ended := observe.CallEnded{
			Call:     &s.call,
			Reserved: q.reservation,
			Settled:  &s.ended,
			Took:     total,
			Status:   s.status,
			Answer:   s.parts,
		}
		if !first.IsZero() {
			ended.FirstToken = first.Sub(began)
		}
		s.w.observer.CallEnded(ctx, ended)
	}()
	if failure := s.judge(broken); failure != nil {
		s.ended.Outcome, s.ended.Error = parley.CallFailed, failure
	}
	s.ended.EstimateFrom(s.call.Expected, int64(parley.EstimateTokens(s.text.String())))
	return broken
}

func (s *summary) parts() []model.Part {
	return []model.Part{{Kind: model.PartText, Text: s.text.String()}}
}

// judge says why an answer is not a valid summary; nil if it is one.
func (s *summary) judge(broken error) *parley.Failure {
	text := strings.TrimSpace(s.text.String())
	because := func(class parley.ErrorClass, sentence, detail string) *parley.Failure {
		if sentence == "" {
			sentence = s.settings.Retry.Sentence(class)
		}
		return &parley.Failure{Class: class, Sentence: sentence, Detail: detail, Attempts: s.call.Attempt}
	}
	var model *model.Error
	switch {
	case errors.As(broken, &model):
		return because(model.Class, "", model.Message)
	case broken != nil:
		return because(parley.ClassInternal, "", "")
	case s.called:
		return because(parley.ClassModel, calledTools, "")
	case s.long:
		return because(parley.ClassModel, longSummary, "")
	case s.finish == "":
		return because(parley.ClassStream, "", "the stream ended before the answer was complete")
	case s.finish == parley.FinishRefusal:
		return because(parley.ClassContentFilter, "", "the model declined to write a summary")
	case s.finish == parley.FinishLength:
		return because(parley.ClassModel, cutSummary, "")
	case text == "":
		return because(parley.ClassModel, emptySummary, "")
	}
	return nil
}

// written returns the summary of the source.
func (s *summary) written() string {
	text := strings.TrimSpace(strings.ReplaceAll(s.text.String(), "\x00", "\uFFFD"))
	return s.source.NameDropped(text, s.layers.Edges(s.writes))
}

// settled returns the end of an attempt whose call has ended.
func (s *summary) settled(broken error, attempt int, credential string) (store.CompactionSettle, error) {
	settle := store.CompactionSettle{Call: &s.ended, Failure: s.ended.Error}
	if s.ctx.Err() != nil &&
		!errors.Is(s.ctx.Err(), context.DeadlineExceeded) { // the process stops and gives the claim back
		return settle, context.Cause(s.ctx)
	}
	if settle.Failure == nil {
		text := s.written()
		content, err := parley.EncodeContent(parley.TextContent{Text: text})
		settle.Summary = &store.NewSummary{
			MessageID:     parley.NewID(),
			Author:        s.author,
			Content:       content,
			TokenEstimate: prompt.EstimateTokens(text),
		}
		return settle, err
	}
	settle.Again = max(backoff(s.settings.Retry, attempt, s.w.options.jitter), compactionPause)
	var model *model.Error
	if !errors.As(broken, &model) {
		return settle, nil
	}
	if model.RetryAfter > 0 && model.RetryAfter <= parley.LongestRetryAfter {
		s.w.pauses.set(credential, s.w.options.now().Add(model.RetryAfter))
	}
	switch {
	case model.Class == parley.ClassContextLength: // another attempt covers less
		settle.Again = compactionPause
	case !model.Retryable || model.RetryAfter > parley.LongestRetryAfter:
		settle.Again = 0
	default:
		settle.Again = max(settle.Again, model.RetryAfter)
	}
	return settle, nil
}
