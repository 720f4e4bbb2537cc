package worker

import (
	"context"
	"errors"
	"iter"
	"time"

	"example.org/parley"
	"example.org/parley/internal/caught"
	"example.org/parley/model"
	"example.org/parley/observe"
	"example.org/parley/store"
)

// question is a step's request, ready to send.
type question struct {
	position position
	request  *model.Request // kept if the turn or an observer needs its contents; else nil
	encoded  model.EncodedRequest
	filter   model.AnswerFilter // the middleware's; nil: answers are stored unchanged
	// said is what a runtime's speaker is told, and speech its answer; nil: the model is asked.
	said    []parley.Message
	speech  func(ctx context.Context) iter.Seq2[model.Chunk, error]
	cost    func() *parley.Money // of that answer, once it has ended; nil: nothing tells
	key     parley.Hash          // in the response cache, if the turn uses it
	served  *served              // the cached answer; nil: the model is asked
	call    parley.Call          // all but ID, MessageID and Attempt
	system  string
	tools   []byte
	steers  []store.Steered
	window  *store.Window    // the part of the record that it shows
	shown   []parley.Message // messages of the record; only if the turn keeps them
	outlook *parley.Outlook  // likewise
	// beginnings are what prefixes compares, with the request's size; drops are the tokens that it leaves out for
	// length and the one before it did not.
	beginnings  []beginning
	size, drops int64
	context     observe.Context // for the observer; empty after the first attempt
	// estimate is the size of the whole request, in the units stored with messages; tokens counts in the model's own.
	estimate int
	tokens   int64
	images   bool // the request shows images
	// reservation is what the call reserves before it is sent; nil without limits.
	reservation *store.Reservation
}

// ask makes attempts at a request until one answers, or fails for good, or the run is interrupted: an interrupted
// answer has neither finish nor failure. Its error is the store's; CodeMore means that the request must be built again.
func (s *asking) ask(q *question) (*answer, error) {
	s.release()
	a := newAnswer(s.claimed, q.position.step)
	s.answering = a
	a.attempt, a.question = q.position.attempt, q
	credential := q.call.Provider
	if s.info.Simulator {
		credential = string(s.settings.Model) // a simulated pause affects only this model
	}
	q.context = s.shows(q)
	for tries := 1; ; tries++ {
		if q.served == nil && !s.w.pauses.wait(s.ctx, credential, &s.w.options) {
			return a, nil
		}
		err := s.attempt(a, q)
		if parley.ErrorCode(err) == parley.CodeOverBudget && a.begun { // other calls used up the rest meanwhile
			a.failure, err = s.budgets.usedUp(q)
			return a, err
		}
		if err != nil {
			a.drop()
			return nil, err
		}
		q.context = observe.Context{}
		s.limits.charge(&a.call, q.reservation)
		a.call.Truncated = s.requests.observe(q, a.call.Usage)
		if a.failure == nil {
			return a, nil
		}
		wait, ok := a.pause(s.settings.Retry, tries)
		if a.retry.after > 0 && a.retry.after <= parley.LongestRetryAfter {
			s.w.pauses.set(credential, s.w.options.now().Add(a.retry.after))
		}
		if !ok {
			return a, nil
		}
		notice := store.RetryNotice{Attempt: a.attempt + 1, Class: a.failure.Class, Wait: wait}
		s.w.observer.CallRetried(s.at, &q.call, notice)
		if err := s.w.store.RetryCall(s.writes, s.fence, a.step, a.call, notice); err != nil {
			a.drop()
			return nil, err
		}
		a.silent = a.failure.Class == parley.ClassNetwork
		a.failure = nil // the pause may be interrupted
		if !s.w.options.sleep(s.ctx, wait) {
			return a, nil
		}
		a.again()
		a.attempt++
	}
}

// errNotBegun cancels a request whose step the store refused to begin.
var errNotBegun = errors.New("worker: the step could not begin")

// attempt sends the request and collects its answer. It sends while the store opens the step (or, for a further
// attempt, the call); it shows nothing of the answer before that has committed. With a reservation, or when the lease
// may be lost, it sends only then.
func (s *asking) attempt(a *answer, q *question) (err error) {
	begin := s.beginning(a, q)
	call := &begin.Call
	s.attempts++
	ctx := model.WithAttempt(s.at, s.attempts)
	if a.silent {
		ctx = model.WithLessPatience(ctx)
	}
	raw := &unprocessed{hub: s.w.hub, of: store.RawPiece{
		SessionID: s.fence.SessionID, TurnID: s.fence.TurnID, CallID: call.ID, MessageID: call.MessageID,
	}}
	ctx = model.WithRaw(ctx, raw)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ctx = s.w.observer.CallBegan(ctx, observe.CallBegun{Call: call, Request: q.request, Reserved: q.reservation})
	defer func() { s.w.observer.CallEnded(ctx, a.observed(call, q.reservation, err)) }()
	waiting, opened := true, make(chan error, 1)
	opening := func() {
		err := s.openContained(a, begin)
		if err != nil {
			stop(errNotBegun)
		}
		opened <- err
	}
	ready := func() error {
		waiting = false
		return <-opened
	}
	defer func() { // on a panic too, the step must be open before the turn is ended
		if waiting {
			_ = ready() // the panic is reported instead
		}
	}()
	if q.reservation == nil && s.lease != nil && !s.lease.expired() {
		go opening() // ends with the transaction; this attempt waits for it
	} else if opening(); ctx.Err() != nil &&
		context.Cause(ctx) == errNotBegun { //nolint:errorlint // the cause is never wrapped
		return ready() // nothing is sent without a reservation, or for a turn that another process has taken over
	}

	a.started = time.Now()
	var broken, refused error
	chunks := s.responses.stream(ctx, a, q)
	if q.filter != nil {
		chunks = q.filter(chunks)
	}
	for chunk, err := range chunks {
		begins := waiting
		if begins {
			if err == nil {
				a.first = time.Now()
			}
			if refused = ready(); refused != nil {
				break
			}
			raw.begin()
		}
		if err == nil {
			err = a.take(&chunk)
		}
		if begins && err == nil {
			s.shortening.shortenBeside(s.shortening.latest.due)
		}
		if err != nil {
			broken = err
			break
		}
	}
	a.ended = time.Now()
	if waiting {
		refused = ready()
	}
	if refused != nil {
		return refused
	}
	return s.judge(a, broken)
}

// beginning returns the record that an attempt starts with.
func (s *asking) beginning(a *answer, q *question) *store.StepBegin {
	begin := &store.StepBegin{
		Call:        q.call,
		System:      q.system,
		Tools:       q.tools,
		Middleware:  s.layers.Text(),
		Author:      s.author,
		AgentType:   s.claim.Trigger.AgentType,
		Steers:      q.steers,
		Window:      q.window,
		Reservation: q.reservation,
	}
	call := &begin.Call
	call.ID, call.MessageID, call.Attempt = parley.NewID(), a.rows[0].id, a.attempt
	a.call = store.CallSettled{CallID: call.ID}
	return begin
}

// openContained runs open and turns its panic into an error: on a goroutine of its own a panic would end the process.
func (s *asking) openContained(a *answer, begin *store.StepBegin) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = caught.New(value)
		}
	}()
	return s.open(a, begin)
}

// open makes the attempt's record. It runs beside the request.
func (s *asking) open(a *answer, begin *store.StepBegin) error {
	if a.begun {
		return s.w.store.BeginCall(s.writes, s.fence, *begin)
	}
	begun, err := s.w.store.BeginStep(s.writes, s.fence, *begin)
	if err != nil {
		return err
	}
	a.begun = true
	s.wrote(begun.Message.Sequence)
	a.rows[0].open(s.w)
	return nil
}

// judge decides the outcome of an attempt. Its error is CodeFenced.
func (s *asking) judge(a *answer, broken error) error {
	var failed *model.Error
	var stored *parley.Error
	switch {
	case (broken != nil || a.finish == "") && (s.ctx.Err() != nil || s.writes.Err() != nil):
		// Interrupted: when the lease ends, its runs learn of it one after the other.
		a.finish = ""
	case broken != nil && !errors.As(broken, &failed) && errors.As(broken, &stored): // a row could not be opened
		if stored.Code == parley.CodeFenced {
			return broken
		}
		s.log().ErrorContext(s.at, "an answer could not be stored whole", "call_id", a.call.CallID, "error", broken)
		a.finish, a.failure = "", brokenFailure(broken)
	case broken != nil:
		a.finish = ""
		a.fail(broken)
	case a.finish == "":
		a.fail(model.NewError(parley.ClassStream, true, "the stream ended before the answer was complete", nil))
	case a.refused():
		a.fail(model.NewError(parley.ClassContentFilter, false, "the model declined to answer", nil))
	case a.question.speech != nil: // it may end without text
	case a.empty() && a.finish == parley.FinishLength:
		a.fail(
			model.NewError(
				parley.ClassModel,
				false,
				"the answer was cut at its token limit before it began; raise max_tokens",
				nil,
			),
		)
	case a.empty():
		a.fail(model.NewError(parley.ClassModel, true, "the model gave an empty answer", nil))
	}
	a.record()
	return nil
}

// record fills in how the call ended.
func (a *answer) record() {
	total := a.ended.Sub(a.started).Milliseconds()
	a.call.TotalMS = &total
	if !a.first.IsZero() {
		first := a.first.Sub(a.started).Milliseconds()
		a.call.FirstTokenMS = &first
	}
	a.call.Usage, a.call.Finish, a.call.Error = a.usage, a.finish, a.failure
	a.call.Cost, a.call.Saved = a.turn.info.Price.Cost(a.usage), a.turn.info.Price.Saved(a.usage)
	if a.question.cost != nil {
		a.call.Cost = a.question.cost()
	}
	if served := a.question.served; served != nil {
		a.call.Cost, a.call.Saved = new(parley.Money), served.cost
	}
	switch {
	case a.failure != nil:
		a.call.Outcome = parley.CallFailed
	case a.finish == "":
		a.call.Outcome = parley.CallCancelled
	default:
		a.call.Outcome = parley.CallCompleted
	}
	if a.question.served == nil {
		a.call.EstimateFrom(a.question.call.Expected, a.streamed())
	}
}

// streamed estimates the tokens of the output that has arrived.
func (a *answer) streamed() (tokens int64) {
	for _, r := range a.rows {
		tokens += int64(parley.EstimateTokens(r.refusal.String()))
		if r.stream == nil {
			continue
		}
		for _, kind := range []parley.ContentKind{parley.KindReasoning, parley.KindText, parley.KindArguments} {
			tokens += int64(parley.EstimateTokens(r.stream.Text(kind)))
		}
	}
	return tokens
}

// observed returns the observer's view of an attempt.
func (a *answer) observed(call *parley.Call, reserved *store.Reservation, broken error) observe.CallEnded {
	ended := observe.CallEnded{
		Call:     call,
		Reserved: reserved,
		Settled:  &a.call,
		Took:     a.ended.Sub(a.started),
		Context:  a.question.context,
		Status:   a.status,
		Answer:   a.parts,
		Broken:   broken,
	}
	if !a.first.IsZero() {
		ended.FirstToken = a.first.Sub(a.started)
	}
	return ended
}

// parts returns the answer's rows in order, in the shape of a request.
func (a *answer) parts() []model.Part {
	var parts []model.Part
	for _, r := range a.rows {
		if r.stream == nil {
			continue
		}
		if r.role == parley.RoleToolCall {
			parts = append(parts, model.Part{
				Kind:      model.PartToolCall,
				CallID:    r.callID,
				Name:      r.toolName,
				Arguments: []byte(r.stream.Text(parley.KindArguments)),
			})
			continue
		}
		if reasoning := r.stream.Text(parley.KindReasoning); reasoning != "" {
			parts = append(parts, model.Part{Kind: model.PartReasoning, Text: reasoning})
		}
		if text := r.stream.Text(parley.KindText); text != "" {
			parts = append(parts, model.Part{Kind: model.PartText, Text: text})
		}
	}
	return parts
}
