package worker

import (
	"errors"
	"slices"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/store"
)

// entering counts steers with the size that they have once a step shows them.
func entering(steers []parley.Message) {
	for i := range steers {
		steers[i].Status = parley.MessageCompleted
	}
}

// noQuestion returns a failure of the turn if its prompt can never fit on this server, otherwise the error that kept
// the request from being built.
func noQuestion(err error) (*question, *parley.Failure, error) {
	if errors.Is(err, errNeverRoom) {
		return nil, &parley.Failure{Class: parley.ClassContextLength, Sentence: neverRoomSentence}, nil
	}
	return nil, nil, err
}

// question builds the request of a step that shows steers. A failure ends the turn; an error is the store's.
func (r *requests) question(at position, steers []parley.Message) (*question, *parley.Failure, error) {
	if r.speaker != nil {
		return r.speech(at, steers), nil, nil
	}
	q := &question{position: at, tools: r.definitions.Text()}
	entering(steers)
	r.unreserve()
	if err := r.weighed(steers); err != nil {
		return noQuestion(err)
	}
	budget, selection, err := r.choose(steers)
	if err == nil {
		err = r.tools.offerFor(&selection)
		q.system, q.tools = r.settings.System, r.definitions.Text()
	}
	if err != nil {
		return noQuestion(err)
	}
	if r.shortening.mustWait(&selection, budget, r.cut) {
		return nil, nil, errFull
	}
	if selection.Excess > 0 {
		return nil, r.tooLong(budget, &selection), nil
	}
	holds, _ := r.weigh()
	q.estimate = selection.Tokens + holds + prompt.TokensShown(selection.Bounds, steers) + r.outputs.tokens(at.step)
	q.tokens = int64(budget.Scaled(q.estimate))
	r.cut = selection.Cut
	q.drops = dropping(r.claim.Session.Context, &selection)
	r.claim.Session.Context.Tokens = int64(selection.Tokens)
	now := &r.claim.Session.Context
	now.Anchor, now.Dropped, now.Stubbed = selection.Anchor, selection.Dropped, selection.Stubbed
	q.window = &store.Window{
		Anchor:   selection.Anchor,
		Messages: int64(len(selection.Messages)),
		Tokens:   int64(selection.Tokens),
		Dropped:  selection.Manifest.Dropped,
		Stubbed:  selection.Stubbed,
	}
	if selection.Cut.Dropped > r.told {
		q.window.Steps = prompt.DroppedSteps(&selection)
	}
	if budget.Assumed && (budget.Scaled(selection.Tokens) >= budget.Due() || selection.Manifest.Dropped != nil) {
		q.window.Assumed = prompt.UnknownContext
	}
	if n := len(selection.Messages); n > 0 {
		r.wrote(selection.Messages[n-1].Sequence)
	}
	r.shortening.look(&selection, budget, q.estimate-selection.Tokens)
	for i := range steers {
		q.steers = append(q.steers, store.Steered{MessageID: steers[i].ID, Revision: steers[i].Revision})
		steers[i].Sequence = r.last + 1 + int64(i) // the sequence that it gets with this step
	}
	if r.keepsInputs {
		q.shown = selection.Messages
		q.outlook = prompt.Foresee(r.settings.Policy, budget, &selection, r.claim.Turn)
	}
	selection.Manifest.Rejected = r.outputs.rejection(at.step)
	selection.Manifest.Offered, selection.Edges = r.tools.offered, r.layers.Edges(r.ctx)
	r.knowledge.name(&selection.Manifest)
	files, failure, err := r.attach(slices.Concat(selection.Messages, steers))
	if err != nil {
		return noQuestion(err)
	}
	if failure != nil {
		return nil, failure, nil
	}
	settings := r.settings
	settings.Parameters = settings.Parameters.OfStep(at.step)
	r.outputs.force(&settings.Parameters, len(r.tools.own) > 1)
	request, manifest, err := prompt.Build(settings, selection, steers, r.definitions, files)
	if _, draws := r.claim.Session.DrawnTurn(); draws {
		request.Purpose = parley.PurposeKnowledge
	}
	q.call = parley.Call{
		WorkspaceID: r.fence.WorkspaceID, SessionID: r.fence.SessionID, TurnID: r.fence.TurnID, Step: at.step,
		Purpose:  request.Purpose,
		Provider: r.settings.Model.Provider(), Model: r.settings.Model, Parameters: settings.Parameters,
		Think: r.settings.Think, Search: r.settings.Search, Manifest: manifest, Outcome: parley.CallOpen,
		Expected: r.info.Price.Expected(q.tokens),
	}
	if err == nil {
		q.images = showsImages(&request)
		if r.w.prefixes != nil {
			q.beginnings, q.size = r.w.prefixes.beginnings(&request)
		}
		q.encoded, q.filter, err = r.encode(&request, &manifest)
		q.filter = r.outputs.filter(q.filter)
		if err == nil {
			err = r.reserve(len(q.encoded.Body))
		}
		if err == nil && r.responses.open() {
			q.key, err = r.responses.key(&request, q.encoded)
		}
		if r.keepsInputs || r.w.observer.Contents() { // otherwise it need not outlive its encoding
			q.request = &request
		}
	}
	if err != nil {
		if parley.ErrorCode(err) == parley.CodeInvalid {
			return q, r.unusable(err), nil
		}
		return noQuestion(err)
	}
	q.call.Manifest, q.call.RequestHash, q.call.EncoderVersion = manifest, parley.HashOf(
		q.encoded.Body,
	), q.encoded.Version
	if q.system != "" {
		q.call.SystemHash = parley.HashOf([]byte(q.system))
	}
	q.call.ToolsHash, q.call.MiddlewareHash = r.definitions.Hash(), r.layers.Hash()
	return q, nil, nil
}

// readCut finds out how an earlier run of the turn showed it, once.
func (r *requests) readCut() error {
	if r.cutKnown || r.claim.Turn.Attempt <= 1 {
		return nil
	}
	calls, err := r.w.store.Calls(
		r.writes,
		store.Scope{WorkspaceID: r.fence.WorkspaceID},
		r.fence.SessionID,
		store.CallQuery{TurnID: r.fence.TurnID, Limit: 1},
	)
	if err != nil {
		return err
	}
	if len(calls) > 0 && calls[0].Manifest.Turn != nil {
		r.cut = *calls[0].Manifest.Turn
		r.told = r.cut.Dropped
	}
	r.cutKnown = true
	return nil
}

// choose chooses the part of the record that a request shows, what it has room for and, if the window has moved, what
// it is told from earlier work.
func (r *requests) choose(steers []parley.Message) (prompt.Budget, prompt.Selection, error) {
	if err := r.knowledge.begin(); err != nil {
		return prompt.Budget{}, prompt.Selection{}, err
	}
	budget, selection, err := r.windowed(steers)
	if err != nil || !r.knowledge.moved(&selection) {
		return budget, selection, err
	}
	if err := r.knowledge.choose(); err != nil {
		return budget, selection, err
	}
	r.unweigh() // the block leaves more room, or less
	if budget, selection, err = r.windowed(steers); err == nil {
		err = r.knowledge.keep(&selection)
	}
	return budget, selection, err
}

// windowed chooses the part of the record that a request with the present system prompt shows.
func (r *requests) windowed(steers []parley.Message) (prompt.Budget, prompt.Selection, error) {
	if r.known == nil {
		r.known = prompt.Known{}
	}
	_, room := r.weigh()
	if err := r.readCut(); err != nil {
		return prompt.Budget{}, prompt.Selection{}, err
	}
	ratio := r.w.ratios.Of(r.fence.WorkspaceID, r.settings.Model)
	bounds := prompt.BoundsFor(r.info, r.settings.Parameters, room, ratio)
	beside := room + prompt.TokensShown(bounds, steers)
	budget := prompt.NewBudget(r.info, r.settings.Parameters, r.settings.Policy, beside, ratio)
	selection, err := prompt.Window(prompt.View{
		Policy:    r.settings.Policy,
		Session:   r.claim.Session,
		Turn:      r.claim.Turn,
		Budget:    budget,
		Bounds:    bounds,
		Steers:    steers,
		CacheTTL:  r.ttl,
		Cut:       r.cut,
		NoSummary: r.shortening.noSummary(),
		Tail:      r.tail,
		Head:      r.head,
		Said:      r.said,
		Known:     r.known,
	})
	return budget, selection, err
}

// speech builds the question to a speaker, which keeps its own context: the message that began the turn, and its steers
// since.
func (r *requests) speech(at position, steers []parley.Message) *question {
	q := &question{position: at, said: steers}
	entering(steers)
	for i := range steers {
		q.steers = append(q.steers, store.Steered{MessageID: steers[i].ID, Revision: steers[i].Revision})
	}
	q.call = parley.Call{
		WorkspaceID: r.fence.WorkspaceID, SessionID: r.fence.SessionID, TurnID: r.fence.TurnID, Step: at.step,
		Provider: r.settings.Model.Provider(), Model: r.settings.Model, Outcome: parley.CallOpen,
	}
	return q
}

// speak sends the question to the speaker as soon as the turn can afford it. A failure ends the turn.
func (r *requests) speak(q *question) (*parley.Failure, error) {
	if q.position.step == 1 {
		trigger := r.claim.Trigger
		if trigger.Content == nil { // too long to be held while it waited
			var err error
			if trigger, err = r.w.store.Message(
				r.writes,
				store.Scope{WorkspaceID: r.fence.WorkspaceID},
				trigger.ID,
			); err != nil {
				return nil, err
			}
		}
		q.said = append([]parley.Message{trigger}, q.said...)
	}
	r.unreserve()
	if err := r.weighed(q.said); err != nil {
		_, failure, err := noQuestion(err)
		return failure, err
	}
	speech, err := r.speaker.Speak(q.said)
	if err != nil {
		_, failure, err := noQuestion(err)
		return failure, err
	}
	q.said = nil
	q.speech, q.cost = speech.Chunks, speech.Cost
	q.encoded.Body, q.call.RequestHash = speech.Request, parley.HashOf(speech.Request)
	return nil, nil
}

// head returns what may precede the window.
func (r *requests) head() (parley.ContextHead, error) {
	head, err := r.w.store.ContextHead(r.writes, r.fence.WorkspaceID, r.fence.SessionID)
	if err != nil {
		return head, err
	}
	for _, m := range []*parley.Message{head.Summary, head.First} {
		if m != nil {
			r.read += m.Size()
		}
	}
	return head, r.weighed(head.Pinned)
}

// mostSaid is how many messages that people sent during a turn stay in its requests once a summary covers them.
const mostSaid = 16

// said returns what people said in the turn up to a sequence: the message that began it, and the newest ones since.
func (r *requests) said(through int64) ([]parley.Message, error) {
	trigger := r.claim.Trigger
	if trigger.Sequence == 0 || trigger.Sequence > through {
		return nil, nil
	}
	scope, internal := store.Scope{WorkspaceID: r.fence.WorkspaceID}, false
	if trigger.Content == nil { // too long to be held while it waited
		var err error
		if trigger, err = r.w.store.Message(r.writes, scope, trigger.ID); err != nil {
			return nil, err
		}
	}
	page, err := r.w.store.Messages(r.writes, scope, r.fence.SessionID, store.MessageQuery{
		Roles: []parley.Role{parley.RoleUser}, Internal: &internal, RecordOnly: true,
		AfterSequence: through + 1, Descending: true, Limit: mostSaid, MaxBytes: promptPageBytes,
	})
	if err != nil {
		return nil, err
	}
	page = slices.DeleteFunc(page, func(m parley.Message) bool { return m.Sequence <= trigger.Sequence })
	rows := append(page, trigger)
	slices.Reverse(rows)
	return rows, r.weighed(rows)
}

// tail returns the end of the record for the model's context. As long as nothing was written after the trigger, the
// trigger is in memory; it is all there is if the record has no other message, or if the policy excludes other turns.
// Such a policy reads only the rows that the turn has written. Rows beyond the first few are read once there is room
// for them.
func (r *requests) tail(before int64, limit int) (rows []parley.Message, more bool, err error) {
	trigger := &r.claim.Trigger
	if before == 0 && trigger.Content != nil && trigger.Sequence == r.last && !trigger.Internal &&
		(r.last == 1 || r.settings.Policy.Kind == parley.PolicySingle) {
		return []parley.Message{*trigger}, false, nil
	}
	most := firstPromptRead
	if before > 0 {
		most = promptPageBytes
		if err := r.reserve(r.read + promptPageBytes); err != nil {
			return nil, false, err
		}
	}
	page := func(limit int) {
		for err == nil {
			rows, more, err = r.w.store.ContextTail(
				r.writes,
				r.fence.WorkspaceID,
				r.fence.SessionID,
				before,
				limit,
				most,
			)
			if err != nil || len(rows) > 0 || !more {
				return
			}
			most, err = r.widen(most) // the next one is longer
		}
	}
	if own := r.last - trigger.Sequence + 1; before == 0 && r.settings.Policy.Kind == parley.PolicySingle &&
		own < int64(limit) {
		page(int(own))
		whole := !more || slices.ContainsFunc(rows, func(m parley.Message) bool { return m.ID == trigger.ID })
		if err == nil && whole { // otherwise others wrote to the turn meanwhile, or its rows are long
			return rows, false, r.weighed(rows)
		}
	}
	if err == nil {
		page(limit)
	}
	if err == nil {
		err = r.weighed(rows)
	}
	return rows, more, err
}
